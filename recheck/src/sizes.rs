//! Lemma 11: parameters that only set the grid and the ends of matrices, so that one proof holds for all their values.
//!
//! The cell of such a proof is the largest grid, and its matrices do not end. This module decides from the text what
//! runs with such matrices cannot show. No instruction reads the parameters. Distinct clusters store distinct blocks.
//! Each access begins inside its matrix.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Class, Env, Expr, Instr, MoveKind, Op, ParamId, Place, Program, VarId, each};

/// Largest number of values of a parameter that are tried.
const PERIOD: i64 = 1 << 13;
/// Largest depth of variables in the definitions of variables.
const DEPTH: u32 = 8;

/// Checks that a proof for the largest grid, with matrices without an end, is a proof for all values of these
/// parameters. `any` is the program of that proof, in which only values of loops are symbols.
pub(crate) fn check(prog: &Program, sizes: &BTreeSet<ParamId>, any: &Program) -> Result<(), String> {
    if prog.cooperative || prog.hands_out() || !prog.counters.is_empty() || !prog.tapes.is_empty() {
        return Err("the kernel is about the grid as a whole".into());
    }
    let reads = |e: &Expr| !prog.parameters_of(e).is_disjoint(sizes);
    let mut read = prog.loops.iter().filter_map(|l| l.bound.as_ref()).any(reads);
    prog.code.iter().for_each(|i| each(prog, i, &mut |_, e| read |= reads(e)));
    if read {
        return Err("an instruction reads it".into());
    }
    let Some(grid) = &prog.forms.grid else { return Err("no dimension of the grid depends on it".into()) };
    let varied = |p: &ParamId| any.symbols.iter().any(|s| s.name == prog.symbols[*p as usize].name);
    if grid.iter().any(|e| !reads(e) && prog.parameters_of(e).iter().any(varied)) {
        return Err("another dimension of the grid is varied".into());
    }
    let of = Text { prog, any, sizes, grid };
    let mut stored: Vec<&Place> = Vec::new();
    for i in &any.code {
        let Instr::Op { op: Op::Move { how, src, dst, masked, .. }, .. } = i else { continue };
        let stores = matches!(how, MoveKind::Store | MoveKind::TmaStore);
        let place = if stores { dst } else { src };
        let o = &prog.objects[place.obj as usize];
        if o.class != Class::Global {
            continue;
        }
        if stores {
            let other = stored.iter().find(|p| p.obj == place.obj);
            if other.is_some_and(|p| (&p.at, p.elements) != (&place.at, place.elements)) || !of.tells_the_cluster(place)
            {
                return Err(format!("two clusters may store one block of {}", o.name));
            }
            stored.push(place);
        }
        let checked = !*masked && !matches!(how, MoveKind::TmaLoad | MoveKind::TmaStore);
        if checked && !(0..2).all(|axis| of.begins_inside(place, axis)) {
            return Err(format!("an access to {} may begin outside", o.name));
        }
    }
    let loads = |obj| {
        any.code.iter().any(|i| match i {
            Instr::Op { op: Op::Move { how, src, .. }, .. } => {
                src.obj == obj && !matches!(how, MoveKind::Store | MoveKind::TmaStore)
            }
            _ => false,
        })
    };
    match stored.iter().find(|p| loads(p.obj)) {
        Some(p) => Err(format!("the kernel reads and stores {}", prog.objects[p.obj as usize].name)),
        None => Ok(()),
    }
}

/// A coordinate: multiples of the CTA's coordinates, and a rest with its smallest and largest value.
#[derive(Clone, Copy, Debug, Default)]
struct Coordinate {
    /// Row, column, plane and launch index of the cluster, and the rank of the CTA in the cluster.
    factors: [i64; 5],
    rest: (i64, i64),
}

impl Coordinate {
    fn number(c: i64) -> Coordinate {
        Coordinate { rest: (c, c), ..Coordinate::default() }
    }

    fn of_cta(factors: [i64; 5]) -> Coordinate {
        Coordinate { factors, rest: (0, 0) }
    }

    fn plus(self, other: Coordinate, times: i64) -> Option<Coordinate> {
        let mut sum = self;
        for (f, g) in sum.factors.iter_mut().zip(other.factors) {
            *f = f.checked_add(g.checked_mul(times)?)?;
        }
        let (a, b) = (other.rest.0.checked_mul(times)?, other.rest.1.checked_mul(times)?);
        sum.rest = (sum.rest.0.checked_add(a.min(b))?, sum.rest.1.checked_add(a.max(b))?);
        Some(sum)
    }

    /// The constant, if it is one.
    fn constant(self) -> Option<i64> {
        (self.factors == [0; 5] && self.rest.0 == self.rest.1).then_some(self.rest.0)
    }
}

/// The text of a kernel, and its parameters that set sizes.
struct Text<'p> {
    prog: &'p Program,
    any: &'p Program,
    sizes: &'p BTreeSet<ParamId>,
    grid: &'p [Expr; 3],
}

impl Text<'_> {
    /// The coordinate that an expression computes, whichever warp evaluates it.
    fn coordinate(&self, e: &Expr, depth: u32) -> Option<Coordinate> {
        let size = i64::from(self.any.cluster);
        match e {
            Expr::Const(c) => Some(Coordinate::number(*c)),
            Expr::Env(env) => Some(match env {
                Env::CtaM => Coordinate::of_cta([size, 0, 0, 0, 1]),
                Env::ClusterM => Coordinate::of_cta([1, 0, 0, 0, 0]),
                Env::CtaN | Env::ClusterN => Coordinate::of_cta([0, 1, 0, 0, 0]),
                Env::CtaZ => Coordinate::of_cta([0, 0, 1, 0, 0]),
                Env::CtaId => Coordinate::of_cta([0, 0, 0, size, 1]),
                Env::ClusterId => Coordinate::of_cta([0, 0, 0, 1, 0]),
                Env::CtaRank => Coordinate::of_cta([0, 0, 0, 0, 1]),
                Env::Warp => Coordinate { rest: (0, i64::from(self.any.warps) - 1), ..Coordinate::default() },
                Env::TapeIndex => return None,
            }),
            Expr::Var(v) if depth < DEPTH => self.variable(*v, depth + 1),
            Expr::Binary(op, pair) => {
                let (x, y) = (self.coordinate(&pair.0, depth)?, self.coordinate(&pair.1, depth)?);
                match (op, x.constant(), y.constant()) {
                    (Binary::Add, ..) => x.plus(y, 1),
                    (Binary::Sub, ..) => x.plus(y, -1),
                    (Binary::Mul, _, Some(c)) => Coordinate::default().plus(x, c),
                    (Binary::Mul, Some(c), _) => Coordinate::default().plus(y, c),
                    (Binary::Div, _, Some(c)) if c > 0 && x.factors == [0; 5] => {
                        Some(Coordinate { rest: (x.rest.0.div_euclid(c), x.rest.1.div_euclid(c)), ..x })
                    }
                    (Binary::Rem, _, Some(c)) if c > 0 && x.factors == [0; 5] => {
                        Some(Coordinate { rest: (0, c - 1), ..x })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A variable that is set once, or the index of a loop with constant bounds.
    fn variable(&self, v: VarId, depth: u32) -> Option<Coordinate> {
        let code = &self.any.code;
        let received = |i: &Instr| matches!(i, Instr::Op { op: Op::Get { var, .. }, .. } if *var == v);
        if code.iter().any(received) {
            return None;
        }
        let sets: Vec<&Expr> =
            code.iter().filter_map(|i| if let Instr::Set(x, e) = i { (*x == v).then_some(e) } else { None }).collect();
        match sets[..] {
            [once] => self.coordinate(once, depth),
            [first, next] => {
                let l = self.any.loops.iter().find(|l| l.var == Some(v))?;
                let Expr::Binary(Binary::Add, p) = next else { return None };
                let counts = p.0 == Expr::Var(v) && p.1.constant().is_some_and(|step| step > 0);
                let (from, to) = (self.coordinate(first, depth)?.constant()?, l.bound.as_ref()?.constant()?);
                counts.then_some(Coordinate { rest: (from, from.max(to - 1)), ..Coordinate::default() })
            }
            _ => None,
        }
    }

    /// Number of values of each coordinate of a CTA in the largest grid.
    fn counts(&self) -> [i64; 5] {
        let g = &self.any.grid;
        [g.m, g.n, g.z, g.len(), i64::from(self.any.cluster)]
    }

    /// Whether CTAs of distinct clusters access distinct blocks, in any grid. Along an axis, each factor must exceed the
    /// sum of all smaller terms. A run decides about the CTAs of one cluster.
    fn tells_the_cluster(&self, place: &Place) -> bool {
        let block = self.prog.objects[place.obj as usize].block;
        let counts = self.counts();
        let mut told = counts.map(|count| count == 1);
        for (axis, e) in place.at.iter().enumerate() {
            let Some(c) = self.coordinate(e, 0) else { continue };
            let mut digits: Vec<usize> = (0..5).filter(|i| c.factors[*i] != 0 && counts[*i] > 1).collect();
            digits.sort_by_key(|i| c.factors[*i].abs());
            let width = if place.elements { block[axis] } else { 1 };
            let mut span = i128::from(width) + i128::from(c.rest.1) - i128::from(c.rest.0);
            let all = digits.iter().all(|i| {
                let factor = i128::from(c.factors[*i].abs());
                let apart = factor >= span;
                span += factor * i128::from(counts[*i] - 1);
                apart
            });
            digits.iter().filter(|_| all).for_each(|i| told[*i] = true);
        }
        told[3] || told[0] && told[1] && told[2]
    }

    /// Whether an access begins inside its matrix along an axis, for every size. Runs check axes that no size reaches.
    fn begins_inside(&self, place: &Place, axis: usize) -> bool {
        let Some(Some(extents)) = self.prog.forms.extents.get(place.obj as usize) else { return true };
        let (extent, Some(e)) = (&extents[axis], place.at.get(axis)) else { return true };
        if self.prog.parameters_of(extent).is_disjoint(self.sizes) {
            return true;
        }
        let by = if place.elements { 1 } else { self.prog.objects[place.obj as usize].block[axis] };
        self.coordinate(e, 0).and_then(|c| self.inside_for_all(c, by, extent)).unwrap_or(false)
    }

    /// Whether `coordinate * by < extent` for all values of the one size that occurs. Both sides grow by a constant from
    /// any value to the value a period later, so two periods decide.
    fn inside_for_all(&self, c: Coordinate, by: i64, extent: &Expr) -> Option<bool> {
        let axes: Vec<usize> = (0..3).filter(|i| c.factors[*i] != 0).collect();
        if c.factors[3] != 0 || c.factors.iter().any(|f| *f < 0) {
            return None;
        }
        let exprs: Vec<&Expr> = axes.iter().map(|i| &self.grid[*i]).chain([extent]).collect();
        let of: BTreeSet<ParamId> = exprs.iter().flat_map(|e| self.prog.parameters_of(e)).collect();
        let symbols = |p: &ParamId| self.any.symbols.iter().any(|s| s.name == self.prog.symbols[*p as usize].name);
        let [p] = of.intersection(self.sizes).copied().collect::<Vec<_>>()[..] else { return None };
        if of.iter().any(symbols) {
            return None;
        }
        let required: Vec<(&Expr, i64)> = self.prog.forms.requires.iter().filter_map(|e| self.multiple(e, p)).collect();
        let mut period = 1;
        for e in &exprs {
            period = lcm(period, self.period(e)?)?;
        }
        for (e, by) in &required {
            period = lcm(period, self.period(e)?.checked_mul(*by)?)?;
        }
        if period > PERIOD {
            return None;
        }
        // Elements from the start of the last block to the end of the matrix; `None` where the kernel refuses the value.
        let room = |v: i64| {
            let mut prog = self.prog.clone();
            prog.symbols[p as usize].value = v;
            for id in 0..prog.symbols.len() {
                if let Some(e) = prog.symbols[id].definition.clone() {
                    prog.symbols[id].value = prog.launch_value(&e)?;
                }
            }
            let mut last = c.rest.1.checked_add(c.factors[4].checked_mul(self.counts()[4] - 1)?)?;
            let mut some = true;
            for i in &axes {
                let n = prog.launch_value(&self.grid[*i])?;
                some &= n >= 1;
                last = last.checked_add(c.factors[*i].checked_mul(n.checked_sub(1)?)?)?;
            }
            let refused = required.iter().any(|(e, by)| prog.launch_value(e).is_none_or(|v| v % by != 0));
            let end = prog.launch_value(extent)?;
            Some((some, end, refused, end.checked_sub(last.checked_mul(by)?)?))
        };
        let mut all = Vec::new();
        for v in 1 - period..=2 * period {
            all.push(room(v)?);
        }
        let n = period as usize;
        // No value below 1 has a matrix, and later values all have a grid.
        let refuses = |i: usize| all[i].2;
        let below = (0..n).all(|i| all[i].1 < 1 && all[i].1 <= all[i + n].1);
        let grows = (n..2 * n).all(|i| all[i + n].0 && all[i + n].1 >= 1 && all[i + n].3 >= all[i].3);
        let inside = (n..3 * n).all(|i| refuses(i) || !all[i].0 || all[i].1 < 1 || all[i].3 > 0);
        Some(below && grows && inside)
    }

    /// An expression of one size that the kernel requires to be a multiple of a number.
    fn multiple<'e>(&self, cond: &'e Expr, p: ParamId) -> Option<(&'e Expr, i64)> {
        let Expr::Binary(Binary::Eq, pair) = cond else { return None };
        let Expr::Binary(Binary::Rem, of) = &pair.0 else { return None };
        let by = self.number(&of.1).filter(|by| *by > 0)?;
        let only = self.prog.parameters_of(&of.0).iter().all(|q| *q == p);
        (pair.1 == Expr::Const(0) && only).then_some((&of.0, by))
    }

    /// The value of an expression that depends on no size and on nothing varied.
    fn number(&self, e: &Expr) -> Option<i64> {
        let of = self.prog.parameters_of(e);
        let symbols = |p: &ParamId| self.any.symbols.iter().any(|s| s.name == self.prog.symbols[*p as usize].name);
        if of.is_disjoint(self.sizes) && !of.iter().any(symbols) { self.prog.launch_value(e) } else { None }
    }

    /// A period after which an expression has grown by the same whole number, whatever the value of the parameter.
    fn period(&self, e: &Expr) -> Option<i64> {
        if self.number(e).is_some() {
            return Some(1);
        }
        match e {
            Expr::Param(q) => match &self.prog.symbols[*q as usize].definition {
                Some(e) => self.period(e),
                None => Some(1),
            },
            Expr::Binary(op, pair) => match op {
                Binary::Add | Binary::Sub => lcm(self.period(&pair.0)?, self.period(&pair.1)?),
                Binary::Mul if self.number(&pair.0).is_some() => self.period(&pair.1),
                Binary::Mul if self.number(&pair.1).is_some() => self.period(&pair.0),
                Binary::Div | Binary::CeilDiv => {
                    let by = self.number(&pair.1).filter(|by| *by > 0)?;
                    self.period(&pair.0)?.checked_mul(by)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn lcm(a: i64, b: i64) -> Option<i64> {
    (a / warpline_sim::ir::gcd(a, b)).checked_mul(b)
}
