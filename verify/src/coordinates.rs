//! Coordinates of blocks as functions of the CTA's place: `constant + sum of factor * digit`.
//!
//! A digit is a coordinate of the CTA, the number of a loop's iteration, or a part of the warp index. Each digit counts
//! from 0 on, up to an end that may be known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use warpline_sim::ir::{Binary, Env, Executors, Expr, Instr, Loop, Op, Pc, Program, VarId, apply};

/// A part of a coordinate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Digit {
    ClusterM,
    ClusterN,
    ClusterZ,
    ClusterId,
    Rank,
    /// The number of a loop's iteration, by the loop's first instruction.
    Turn(Pc),
    /// A term that depends only on the warp, as text, and the number of values from 0, or the least, to the largest.
    OfWarp(String, i64),
    /// The number of a copy of the statement, of as many copies: members of a role may have a copy each.
    Copy(i64),
    /// `x / c` and `x % c`.
    Quotient(Box<Form>, i64),
    Remainder(Box<Form>, i64),
}

impl Digit {
    /// `x / c`. A quotient of a quotient is one by the product.
    pub(crate) fn quotient(x: Form, c: i64) -> Digit {
        let terms: Vec<(&Digit, &i64)> = x.terms.iter().collect();
        if let [(Digit::Quotient(inner, by), 1)] = terms[..]
            && x.constant == 0
            && let Some(all) = by.checked_mul(c)
        {
            return Digit::Quotient(inner.clone(), all);
        }
        Digit::Quotient(Box::new(x), c)
    }
}

/// `constant + sum of factor * digit`, with each digit from 0 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Form {
    pub(crate) constant: i64,
    pub(crate) terms: BTreeMap<Digit, i64>,
}

impl Form {
    fn constant(constant: i64) -> Form {
        Form { constant, terms: BTreeMap::new() }
    }

    fn digit(d: Digit, factor: i64) -> Form {
        Form { constant: 0, terms: BTreeMap::from([(d, factor)]) }
    }

    fn plus(mut self, other: &Form, times: i64) -> Option<Form> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        for (d, f) in &other.terms {
            let sum = self.terms.get(d).copied().unwrap_or(0).checked_add(f.checked_mul(times)?)?;
            self.terms.insert(d.clone(), sum);
        }
        self.terms.retain(|_, f| *f != 0);
        Some(self)
    }
}

/// One form for the copies of a coordinate: their forms are equal but for a constant, which grows by the same number from
/// each copy to the next. `None` where they differ otherwise.
pub(crate) fn of_copies(forms: &[Form]) -> Option<Form> {
    let (first, rest) = forms.split_first()?;
    if rest.iter().all(|f| f == first) {
        return Some(first.clone());
    }
    if rest.iter().all(|f| f.terms == first.terms) {
        let by = rest[0].constant.checked_sub(first.constant)?;
        let even = forms.windows(2).all(|two| two[1].constant.checked_sub(two[0].constant) == Some(by));
        return even.then(|| first.clone().plus(&Form::digit(Digit::Copy(forms.len() as i64), by), 1))?;
    }
    // The copies differ inside of one quotient or remainder.
    let inner = |f: &Form| match f.terms.iter().collect::<Vec<_>>()[..] {
        [(Digit::Quotient(x, c), factor)] if f.constant == 0 => Some((false, (**x).clone(), *c, *factor)),
        [(Digit::Remainder(x, c), factor)] if f.constant == 0 => Some((true, (**x).clone(), *c, *factor)),
        _ => None,
    };
    let all: Vec<_> = forms.iter().map(inner).collect::<Option<_>>()?;
    let (rem, _, c, factor) = all[0].clone();
    if all.iter().any(|x| (x.0, x.2, x.3) != (rem, c, factor)) {
        return None;
    }
    let x = Box::new(of_copies(&all.into_iter().map(|x| x.1).collect::<Vec<_>>())?);
    Some(Form::digit(if rem { Digit::Remainder(x, c) } else { Digit::Quotient(x, c) }, factor))
}

/// The loops around copies of one statement, by the loop around the first copy. All coordinates of a copy use one list:
/// `O[i, j]` and `O[i, i]` are no copies of each other.
#[derive(Default)]
pub(crate) struct CommonLoops(BTreeMap<(usize, Pc), Pc>);

impl CommonLoops {
    /// Whether a loop of a copy can stand for this loop of the first copy, for which no other loop of the copy stands.
    fn agree(&mut self, copy: usize, own: Pc, first: Pc) -> bool {
        let taken = self.0.iter().any(|((c, x), y)| *c == copy && *x != own && *y == first);
        !taken && *self.0.entry((copy, own)).or_insert(first) == first
    }
}

/// The warps that evaluate an expression, as bits.
#[derive(Clone, Copy)]
struct Warps {
    own: u64,
    /// Those of all copies of the statement.
    copies: u64,
}

impl Warps {
    fn alone(own: u64) -> Warps {
        Warps { own, copies: own }
    }
}

/// The variables of a program that have a form.
pub(crate) struct Forms<'p> {
    pub(crate) prog: &'p Program,
    /// Every assignment, by variable. Roles have variables of their own under equal numbers.
    sets: HashMap<VarId, Vec<(Pc, &'p Expr)>>,
    /// The warps that may perform each instruction.
    warps: Vec<u64>,
}

/// Largest depth of variables in the definitions of variables.
const DEPTH: u32 = 16;

impl<'p> Forms<'p> {
    pub(crate) fn of(prog: &'p Program) -> Forms<'p> {
        let mut sets: HashMap<VarId, Vec<(u32, &Expr)>> = HashMap::new();
        for (pc, i) in (0..).zip(&prog.code) {
            match i {
                Instr::Set(v, e) => sets.entry(*v).or_default().push((pc, e)),
                // A value from memory has no form; two assignments outside a loop mark the variable so.
                Instr::Op { op: Op::Get { var, .. }, .. } => {
                    sets.entry(*var).or_default().extend([(pc, &Expr::Const(0)), (pc, &Expr::Const(1))]);
                }
                _ => {}
            }
        }
        let mut warps = vec![u64::MAX; prog.code.len()];
        for (pc, i) in prog.code.iter().enumerate() {
            if let Instr::Only(Executors::Warps(who), to) = i
                && let Some(block) = warps.get_mut(pc + 1..*to as usize)
            {
                block.iter_mut().for_each(|w| *w &= who);
            }
        }
        Forms { prog, sets, warps }
    }

    /// The assignments to a variable by these warps.
    pub(crate) fn sets(&self, v: VarId, warps: u64) -> Vec<(Pc, &'p Expr)> {
        let all = self.sets.get(&v).into_iter().flatten();
        all.filter(|(pc, _)| self.warps[*pc as usize] & warps != 0).copied().collect()
    }

    /// The warps that may perform an instruction, as bits.
    pub(crate) fn warps_of(&self, pc: Pc) -> u64 {
        self.warps[pc as usize]
    }

    /// Number of values of a digit, at most; `None` where unknown.
    pub(crate) fn count(&self, d: &Digit) -> Option<i64> {
        Some(match d {
            Digit::ClusterM => self.prog.grid.m,
            Digit::ClusterN => self.prog.grid.n,
            Digit::ClusterZ => self.prog.grid.z,
            Digit::ClusterId => self.prog.grid.len(),
            Digit::Rank => self.prog.cluster as i64,
            Digit::OfWarp(_, count) => *count,
            Digit::Copy(n) => *n,
            Digit::Remainder(_, c) => *c,
            Digit::Turn(head) => {
                let l = self.prog.loops.iter().find(|l| l.head == *head)?;
                let by = Warps::alone(self.warps[l.head as usize]);
                let (first, step) = self.loop_of(l, by.own)?;
                // A bound that a proof varies is no constant. A loop that starts with the CTA's index starts later.
                let (Form { constant: from, terms }, to) = (self.form(first, by, 0)?, l.bound.as_ref()?.constant()?);
                if terms.values().any(|factor| *factor < 0) {
                    return None;
                }
                ((to - from).max(0) as u64).div_ceil(step as u64) as i64
            }
            Digit::Quotient(x, c) => self.largest(x)?.checked_div(*c)?.checked_add(1)?,
        })
    }

    /// The largest value of a form without negative parts.
    fn largest(&self, f: &Form) -> Option<i64> {
        let sum = |sum: i64, (d, factor): (&Digit, &i64)| {
            let most = self.count(d)?.max(1) - 1;
            sum.checked_add(factor.checked_mul(most)?).filter(|_| *factor >= 0)
        };
        f.terms.iter().try_fold(f.constant, sum).filter(|_| f.constant >= 0)
    }

    /// First value and step of the variable of a `for` loop of these warps. A loop in steps of the grid's size has the
    /// step of the given grid: the step is the number of CTAs on every other grid, too.
    fn loop_of(&self, l: &Loop, warps: u64) -> Option<(&'p Expr, i64)> {
        let (first, step) = self.range_of(l, warps)?;
        let step = step.constant().or_else(|| self.is_grid_size(step).then(|| self.prog.launch_value(step))?)?;
        (step > 0).then_some((first, step))
    }

    /// First value and step of the variable of a `for` loop of these warps, as expressions.
    fn range_of(&self, l: &Loop, warps: u64) -> Option<(&'p Expr, &'p Expr)> {
        let [(_, first), (_, next)] = self.sets(l.var?, warps)[..] else { return None };
        let Expr::Binary(Binary::Add, pair) = next else { return None };
        (pair.0 == Expr::Var(l.var?)).then_some((first, &pair.1))
    }

    /// The given size of the grid, where it is the step of the digit's loop and no constant.
    fn grid_step(&self, d: &Digit) -> Option<i64> {
        let Digit::Turn(head) = d else { return None };
        let l = self.prog.loops.iter().find(|l| l.head == *head)?;
        let (_, step) = self.range_of(l, self.warps[l.head as usize])?;
        Some(step).filter(|step| step.constant().is_none()).and_then(|step| self.prog.launch_value(step))
    }

    /// Whether an expression is the number of CTAs, or of clusters, on every grid.
    fn is_grid_size(&self, e: &Expr) -> bool {
        let grid = self.prog.forms.grid.as_ref();
        grid.is_some_and(|[m, n, z]| m == e && [n, z].iter().all(|x| x.constant() == Some(1)))
    }

    /// The form of a coordinate of the instruction at `pc`; `None` without a form. A value that a proof varies has none.
    pub(crate) fn of_coordinate(&self, e: &Expr, pc: Pc) -> Option<Form> {
        let own = *self.warps.get(pc as usize)?;
        let copies = self.warps.iter().zip(&self.prog.at).filter(|(_, at)| **at == self.prog.at[pc as usize]);
        self.form(e, Warps { own, copies: copies.fold(own, |all, (warps, _)| all | warps) }, 0)
    }

    /// The form of `x` and the loop of `i` in a coordinate `x * n + i` with `i` in `0..n`. A proof may vary `n`. They are the
    /// quotient and the remainder by `n`, so the coordinate determines both.
    pub(crate) fn of_rows(&self, e: &Expr, pc: Pc) -> Option<(Form, Digit)> {
        let Expr::Binary(Binary::Add, sum) = e else { return None };
        let own = *self.warps.get(pc as usize)?;
        [(&sum.0, &sum.1), (&sum.1, &sum.0)].into_iter().find_map(|(product, i)| {
            let (Expr::Binary(Binary::Mul, pair), Expr::Var(v)) = (product, i) else { return None };
            let around = |l: &&Loop| l.var == Some(*v) && (l.head..l.end).contains(&pc);
            let l = self.prog.loops.iter().find(around)?;
            let (first, step) = self.loop_of(l, own)?;
            let n = l.bound.as_ref().filter(|n| n.is_launch_constant() && first.constant() == Some(0) && step == 1)?;
            let x = [(&pair.0, &pair.1), (&pair.1, &pair.0)].into_iter().find(|(_, by)| by == &n)?.0;
            Some((self.of_coordinate(x, pc)?, Digit::Turn(l.head)))
        })
    }

    /// The form of an expression that these warps evaluate.
    fn form(&self, e: &Expr, by: Warps, depth: u32) -> Option<Form> {
        if depth > DEPTH {
            return None;
        }
        let size = self.prog.cluster as i64;
        let with_rank = |d: Digit| Form::digit(d, size).plus(&Form::digit(Digit::Rank, 1), 1);
        match e {
            Expr::Const(c) => Some(Form::constant(*c)),
            Expr::Env(env) => match env {
                Env::CtaRank => Some(Form::digit(Digit::Rank, 1)),
                Env::CtaM => with_rank(Digit::ClusterM),
                Env::CtaId => with_rank(Digit::ClusterId),
                Env::CtaN | Env::ClusterN => Some(Form::digit(Digit::ClusterN, 1)),
                Env::CtaZ => Some(Form::digit(Digit::ClusterZ, 1)),
                Env::ClusterM => Some(Form::digit(Digit::ClusterM, 1)),
                Env::ClusterId => Some(Form::digit(Digit::ClusterId, 1)),
                Env::Warp => self.of_warp(e, by),
                Env::TapeIndex => None,
            },
            Expr::Var(v) => match self.sets(*v, by.own)[..] {
                [(_, once)] => self.form(once, by, depth + 1),
                _ => {
                    let own = |l: &&Loop| l.var == Some(*v) && self.warps[l.head as usize] & by.own != 0;
                    let l = self.prog.loops.iter().find(own)?;
                    let (first, step) = self.loop_of(l, by.own)?;
                    self.form(first, by, depth + 1)?.plus(&Form::digit(Digit::Turn(l.head), step), 1)
                }
            },
            Expr::Binary(op, pair) => {
                if matches!(op, Binary::Div | Binary::Rem) && of_warp(e, 0).is_some() {
                    return self.of_warp(e, by);
                }
                let (x, y) = (self.form(&pair.0, by, depth + 1)?, self.form(&pair.1, by, depth + 1)?);
                let number = |f: &Form| f.terms.is_empty().then_some(f.constant);
                match (op, number(&x), number(&y)) {
                    (Binary::Add, ..) => x.plus(&y, 1),
                    (Binary::Sub, ..) => x.plus(&y, -1),
                    (Binary::Mul, _, Some(c)) => Form::default().plus(&x, c),
                    (Binary::Mul, Some(c), _) => Form::default().plus(&y, c),
                    (Binary::Div, _, Some(1)) => Some(x),
                    (Binary::Div, _, Some(c)) if c > 1 => Some(Form::digit(Digit::quotient(x, c), 1)),
                    (Binary::Rem, _, Some(c)) if c > 1 => Some(Form::digit(Digit::Remainder(Box::new(x), c), 1)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A term of the warp as a digit. Its range is that of the warps of all copies of the statement, which have one form.
    fn of_warp(&self, e: &Expr, by: Warps) -> Option<Form> {
        let warps = (0..i64::from(self.prog.warps)).filter(|w| by.copies >> w & 1 == 1);
        let values: Vec<i64> = warps.map(|w| of_warp(e, w)).collect::<Option<_>>()?;
        // Digits count from 0 on.
        let (least, most) = ((*values.iter().min()?).min(0), *values.iter().max()?);
        Some(Form::digit(Digit::OfWarp(format!("{e:?}"), most.checked_sub(least)?.checked_add(1)?), 1))
    }

    /// The form of each copy's coordinate, with the loops of the first copy: members of a role may have loops of their
    /// own. `None` where a loop of one copy has no counterpart in the first, or another number of iterations.
    pub(crate) fn in_common_loops(&self, forms: Vec<Form>, names: &mut CommonLoops) -> Option<Vec<Form>> {
        let first = forms.first()?.clone();
        forms.iter().zip(0..).map(|(f, copy)| self.renamed(f, &first, copy, names)).collect()
    }

    /// `form` with the loops of `like`, which has the same digits otherwise. A form that has other digits stays
    /// as it is.
    fn renamed(&self, form: &Form, like: &Form, copy: usize, names: &mut CommonLoops) -> Option<Form> {
        let mut new = Form::constant(form.constant);
        let mut free: Vec<(&Digit, &i64)> = like.terms.iter().collect();
        for (digit, factor) in &form.terms {
            let fits = |other: &Digit| match (digit, other) {
                (Digit::Turn(_), Digit::Turn(_)) => true,
                (Digit::Quotient(_, c), Digit::Quotient(_, d)) | (Digit::Remainder(_, c), Digit::Remainder(_, d)) => {
                    c == d
                }
                _ => digit == other,
            };
            let Some(at) = free.iter().position(|(other, f)| *f == factor && fits(other)) else {
                return Some(form.clone());
            };
            let (other, _) = free.remove(at);
            let name = match (digit, other) {
                (Digit::Turn(own), Digit::Turn(first)) => {
                    if self.count(digit) != self.count(other) || !names.agree(copy, *own, *first) {
                        return None;
                    }
                    other.clone()
                }
                (Digit::Quotient(x, c), Digit::Quotient(y, _)) => {
                    Digit::Quotient(Box::new(self.renamed(x, y, copy, names)?), *c)
                }
                (Digit::Remainder(x, c), Digit::Remainder(y, _)) => {
                    Digit::Remainder(Box::new(self.renamed(x, y, copy, names)?), *c)
                }
                _ => digit.clone(),
            };
            new = new.plus(&Form::digit(name, *factor), 1)?;
        }
        Some(new)
    }

    /// The digits that a number determines, if it determines all of its digits. `width` is the length of a range that
    /// starts at the number.
    pub(crate) fn told(&self, f: &Form, width: i64) -> Option<BTreeSet<Digit>> {
        // A digit that is always 0 is always determined.
        let counts = f.terms.iter().filter(|(d, _)| self.count(d) != Some(1));
        let mut terms: Vec<(i64, &Digit)> = counts.map(|(d, f)| (f.abs(), d)).collect();
        terms.sort();
        // On a larger grid, a loop in steps of the grid's size passes the CTA's index only if its factor reaches that one's.
        let of_cta = |d: &Digit| matches!(d, Digit::ClusterM | Digit::ClusterN | Digit::ClusterZ | Digit::ClusterId);
        let farthest = terms.iter().filter(|(_, d)| of_cta(d)).map(|(factor, _)| *factor).max().unwrap_or(0);
        let short = |(factor, d): &(i64, &Digit)| self.grid_step(d).is_some_and(|size| factor / size.max(1) < farthest);
        if terms.iter().any(short) {
            return None;
        }
        let mut span = Some(width);
        for (factor, d) in &terms {
            // Beyond a digit without a known end, nothing is determined.
            if *factor < span? {
                return None;
            }
            span = self.count(d).and_then(|n| span?.checked_add(factor.checked_mul(n.max(1) - 1)?));
        }
        Some(f.terms.keys().cloned().collect())
    }
}

/// The value of an expression in a warp, if it is computed from the warp's index by differences, quotients and
/// remainders with constants.
fn of_warp(e: &Expr, warp: i64) -> Option<i64> {
    match e {
        Expr::Env(Env::Warp) => Some(warp),
        Expr::Binary(op @ (Binary::Div | Binary::Rem | Binary::Sub), p) => {
            let by = p.1.constant().filter(|c| *c > 0 || *c == 0 && *op == Binary::Sub)?;
            apply(*op, of_warp(&p.0, warp)?, by)
        }
        _ => None,
    }
}
