//! Systems of linear inequalities over the integers: which conditions cannot hold together.

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Env, Expr, Program, Unary};

/// Largest number of inequalities of a system.
const INEQUALITIES: usize = 200;
/// Largest number of cases into which conditions are split.
const CASES: usize = 32;
/// Largest coefficient.
const COEFFICIENT: i128 = 1 << 40;

/// A sum of terms with factors, plus a constant. A term is an expression that is not taken apart, by its index.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    terms: BTreeMap<usize, i128>,
    constant: i128,
}

impl Sum {
    fn of(constant: i64) -> Sum {
        Sum { terms: BTreeMap::new(), constant: constant.into() }
    }

    fn term(ix: usize) -> Sum {
        Sum { terms: BTreeMap::from([(ix, 1)]), constant: 0 }
    }

    /// This sum, plus another one times a factor.
    fn plus(mut self, other: &Sum, factor: i128) -> Sum {
        self.constant += factor * other.constant;
        for (ix, by) in &other.terms {
            let sum = self.terms.entry(*ix).or_insert(0);
            *sum += factor * by;
            if *sum == 0 {
                self.terms.remove(ix);
            }
        }
        self
    }

    fn is_small(&self) -> bool {
        self.terms.values().chain([&self.constant]).all(|x| x.abs() <= COEFFICIENT)
    }

    /// The same inequality `sum >= 0`, divided by the greatest common divisor of its factors. The terms are integers, so
    /// the constant is rounded down.
    fn reduced(mut self) -> Sum {
        let gcd = self.terms.values().fold(0, |a, b| gcd(a, b.abs()));
        if gcd > 1 {
            self.terms.values_mut().for_each(|x| *x /= gcd);
            self.constant = self.constant.div_euclid(gcd);
        }
        self
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What is known of the values that an agent reads.
pub(super) struct Known<'p> {
    pub(super) prog: &'p Program,
    /// Whether each variable is never negative.
    pub(super) natural: Vec<bool>,
}

/// Whether the conditions cannot hold together. Each is an expression, and whether it is nonzero.
pub(super) fn contradict(known: &Known<'_>, conditions: &[(&Expr, bool)]) -> bool {
    let system = System { known, terms: Vec::new(), all: Vec::new() };
    system.unsatisfiable(conditions.to_vec(), &mut { CASES })
}

#[derive(Clone)]
struct System<'a, 'p> {
    known: &'a Known<'p>,
    terms: Vec<Expr>,
    /// Sums that are not negative.
    all: Vec<Sum>,
}

impl System<'_, '_> {
    /// Whether no values satisfy the system and these conditions. `cases` is the number of cases left.
    fn unsatisfiable(mut self, mut open: Vec<(&Expr, bool)>, cases: &mut usize) -> bool {
        while let Some((e, holds)) = open.pop() {
            let either = match (e, holds) {
                (Expr::Unary(Unary::Not, x), _) => {
                    open.push((x, !holds));
                    continue;
                }
                (Expr::Binary(Binary::And, p), true) | (Expr::Binary(Binary::Or, p), false) => {
                    open.extend([(&p.0, holds), (&p.1, holds)]);
                    continue;
                }
                (Expr::Binary(Binary::And, p), false) | (Expr::Binary(Binary::Or, p), true) => {
                    Some([vec![(&p.0, holds)], vec![(&p.0, !holds), (&p.1, holds)]])
                }
                _ => None,
            };
            let rest = |more: Vec<_>| open.iter().copied().chain(more).collect::<Vec<_>>();
            if let Some(either) = either {
                if *cases < 2 {
                    continue;
                }
                *cases -= 1;
                return either.into_iter().all(|more| self.clone().unsatisfiable(rest(more), cases));
            }
            let Some((x, op, y)) = self.comparison(e, holds) else { continue };
            let by = y.plus(&x, -1);
            let less = |by: Sum| Sum { constant: by.constant - 1, ..by };
            match op {
                Binary::Le => self.all.push(by),
                Binary::Lt => self.all.push(less(by)),
                Binary::Eq => self.all.extend([Sum::default().plus(&by, -1), by]),
                // One is smaller than the other.
                _ => {
                    if *cases < 2 {
                        continue;
                    }
                    *cases -= 1;
                    return [less(by.clone()), less(Sum::default().plus(&by, -1))].into_iter().all(|part| {
                        let mut system = self.clone();
                        system.all.push(part);
                        system.unsatisfiable(open.clone(), cases)
                    });
                }
            }
        }
        self.contradicts()
    }

    /// The comparison of two sums that a condition makes: `<`, `<=`, `==` or `!=`.
    fn comparison(&mut self, e: &Expr, holds: bool) -> Option<(Sum, Binary, Sum)> {
        let Expr::Binary(op, p) = e else {
            return Some((self.sum(e)?, if holds { Binary::Ne } else { Binary::Eq }, Sum::default()));
        };
        let (x, y) = match op {
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
                (self.sum(&p.0)?, self.sum(&p.1)?)
            }
            _ => return Some((self.sum(e)?, if holds { Binary::Ne } else { Binary::Eq }, Sum::default())),
        };
        Some(match (op, holds) {
            (Binary::Lt, true) | (Binary::Ge, false) => (x, Binary::Lt, y),
            (Binary::Le, true) | (Binary::Gt, false) => (x, Binary::Le, y),
            (Binary::Gt, true) | (Binary::Le, false) => (y, Binary::Lt, x),
            (Binary::Ge, true) | (Binary::Lt, false) => (y, Binary::Le, x),
            (Binary::Eq, true) | (Binary::Ne, false) => (x, Binary::Eq, y),
            _ => (x, Binary::Ne, y),
        })
    }

    /// The value of an expression as a sum; `None` where the sum is too large.
    fn sum(&mut self, e: &Expr) -> Option<Sum> {
        let sum = match e {
            Expr::Const(v) => Sum::of(*v),
            Expr::Unary(Unary::Neg, x) => Sum::default().plus(&self.sum(x)?, -1),
            Expr::Binary(Binary::Add, p) => self.sum(&p.0)?.plus(&self.sum(&p.1)?, 1),
            Expr::Binary(Binary::Sub, p) => self.sum(&p.0)?.plus(&self.sum(&p.1)?, -1),
            Expr::Binary(Binary::Mul, p) => match (self.sum(&p.0)?, self.sum(&p.1)?) {
                (x, y) if y.terms.is_empty() => Sum::default().plus(&x, y.constant),
                (x, y) if x.terms.is_empty() => Sum::default().plus(&y, x.constant),
                _ => self.whole(e)?,
            },
            _ => self.whole(e)?,
        };
        sum.is_small().then_some(sum)
    }

    /// An expression as one term, with what is known of its value.
    fn whole(&mut self, e: &Expr) -> Option<Sum> {
        if let Some(ix) = self.terms.iter().position(|x| x == e) {
            return Some(Sum::term(ix));
        }
        self.terms.push(e.clone());
        let own = Sum::term(self.terms.len() - 1);
        let from = |low: i64| own.clone().plus(&Sum::of(low), -1);
        let upto = |high: i64| Sum::of(high).plus(&own, -1);
        let known = self.known;
        match e {
            Expr::Env(env) if *env != Env::TapeIndex => {
                self.all.push(from(0));
                self.all.extend(known.largest(*env).map(upto));
            }
            Expr::Var(v) if known.natural[*v as usize] => self.all.push(from(0)),
            Expr::Binary(op @ (Binary::Rem | Binary::Div), p) => {
                let divisor = p.1.constant().filter(|c| (1..=1 << 20).contains(c));
                if let Some(c) = divisor {
                    // x = c * (x / c) + x % c, and 0 <= x % c < c.
                    let x = self.sum(&p.0)?;
                    let other = if *op == Binary::Rem { Binary::Div } else { Binary::Rem };
                    let rest = if *op == Binary::Rem {
                        self.all.extend([from(0), upto(c - 1)]);
                        let quotient = self.whole(&Expr::Binary(other, p.clone()))?;
                        x.plus(&quotient, -i128::from(c)).plus(&own, -1)
                    } else {
                        let left = x.plus(&own, -i128::from(c));
                        self.all.push(left.clone());
                        self.all.push(Sum::of(c - 1).plus(&left, -1));
                        Sum::default()
                    };
                    self.all.extend([Sum::default().plus(&rest, -1), rest]);
                }
            }
            Expr::Binary(Binary::Min, p) => {
                for x in [&p.0, &p.1] {
                    let x = self.sum(x)?;
                    self.all.push(x.plus(&own, -1));
                }
            }
            Expr::Binary(Binary::Max, p) => {
                for x in [&p.0, &p.1] {
                    let x = self.sum(x)?;
                    self.all.push(own.clone().plus(&x, -1));
                }
            }
            _ => {}
        }
        Some(own)
    }

    /// Whether no integers satisfy the inequalities, as far as eliminating one term after the other shows.
    fn contradicts(self) -> bool {
        let mut all: Vec<Sum> = self.all.into_iter().map(Sum::reduced).collect();
        loop {
            all.sort();
            all.dedup();
            if all.iter().any(|x| x.terms.is_empty() && x.constant < 0) {
                return true;
            }
            all.retain(|x| !x.terms.is_empty());
            let counts = |ix: usize| {
                let signs = all.iter().filter_map(|x| x.terms.get(&ix));
                let up = signs.clone().filter(|by| **by > 0).count();
                (up, signs.count() - up)
            };
            let terms = all.iter().flat_map(|x| x.terms.keys().copied());
            let Some(ix) = terms.min_by_key(|ix| {
                let (up, down) = counts(*ix);
                (up * down, *ix)
            }) else {
                return false;
            };
            let (with, mut without): (Vec<Sum>, Vec<Sum>) = all.into_iter().partition(|x| x.terms.contains_key(&ix));
            let (up, down): (Vec<&Sum>, Vec<&Sum>) = with.iter().partition(|x| x.terms[&ix] > 0);
            if without.len() + up.len() * down.len() > INEQUALITIES {
                return false;
            }
            for (a, b) in up.iter().flat_map(|a| down.iter().map(move |b| (a, b))) {
                let (x, y) = (a.terms[&ix], -b.terms[&ix]);
                let both = Sum::default().plus(a, y).plus(b, x).reduced();
                if both.is_small() {
                    without.push(both);
                }
            }
            all = without;
        }
    }
}

impl Known<'_> {
    /// The largest value of a coordinate, where no symbol sets the grid.
    fn largest(&self, env: Env) -> Option<i64> {
        let Program { grid, cluster, warps, .. } = self.prog;
        let cluster = i64::from(*cluster);
        // CTAs of a cooperative launch are one unit of the grid.
        let fixed = !self.prog.cooperative && self.prog.forms.grid.iter().flatten().all(|e| e.constant().is_some());
        match env {
            Env::Warp => Some(i64::from(*warps) - 1),
            Env::CtaRank => Some(cluster - 1),
            Env::CtaM if fixed => Some(grid.m * cluster - 1),
            Env::ClusterM if fixed => Some(grid.m - 1),
            Env::CtaN | Env::ClusterN if fixed => Some(grid.n - 1),
            Env::CtaZ if fixed => Some(grid.z - 1),
            Env::ClusterId if fixed => Some(grid.len() - 1),
            Env::CtaId if fixed => Some(grid.len() * cluster - 1),
            _ => None,
        }
    }
}
