//! Blocks that threads access in any number of jobs: whether each begins inside its matrix.
//!
//! Runs check the blocks of the given number of jobs. For other numbers, the largest value of a coordinate and the end of
//! the matrix are compared as functions of the parameter that sets the number of jobs. These are sums of the parameter's
//! multiples and quotients, so their difference grows by the same number with each period of the quotients. Where a
//! coordinate has no such bound, the verdict lists the assumption.

use std::collections::BTreeSet;

use warpline_sim::ir::{
    Binary, Class, Env, Expr, Instr, Loop, MoveKind, Op, ParamId, Pc, Place, Program, Symbol, VarId, apply, lcm,
};

use crate::coordinates::Forms;
use crate::induction::trip_count::Trips;
use crate::induction::while_loops::sets;

/// Largest period of quotients.
const PERIOD: i64 = 1 << 14;
/// Largest depth of variables in the definitions of variables.
const DEPTH: u32 = 16;

/// The matrices whose blocks are assumed to begin inside, each with the line of an access, where a proof varies the number
/// of jobs. A proof that gives a `let` another value does not compare blocks with the ends of matrices
/// ([`Program::loose`]).
pub fn assumed_inside(prog: &Program, trips: &Trips) -> Vec<(String, u32)> {
    let jobs = trips.turns_name().and_then(|name| prog.symbol(name));
    match jobs {
        Some(jobs) if prog.symbols[jobs as usize].definition.is_some() => not_inside(prog, trips),
        _ => Vec::new(),
    }
}

/// Whether some block is not known to begin inside its matrix for every number of jobs.
pub(crate) fn unknown(prog: &Program, trips: &Trips) -> bool {
    !not_inside(prog, trips).is_empty()
}

/// The matrices with a block that is not known to begin inside, each with a line. Any one parameter may set the number of
/// jobs; the others are as given.
fn not_inside(prog: &Program, trips: &Trips) -> Vec<(String, u32)> {
    let Some(jobs) = trips.turns_name().and_then(|name| prog.symbol(name)) else { return Vec::new() };
    if prog.hands_out() || prog.opaque_globals {
        return Vec::new();
    }
    let parameters = prog.parameters_of(&Expr::Param(jobs)).into_iter();
    let lists = parameters.map(|p| {
        let kernel = prog.bind_all_but(&BTreeSet::from([p]));
        Inside { forms: Forms::of(&kernel), prog: &kernel }.not_inside()
    });
    lists.min_by_key(Vec::len).unwrap_or_default()
}

/// A kernel in which the parameter that sets the number of jobs is the first symbol, and all others depend on it.
struct Inside<'p> {
    prog: &'p Program,
    forms: Forms<'p>,
}

/// The parameter.
const JOBS: ParamId = 0;

impl Inside<'_> {
    /// The matrices of which some block is not known to begin inside, each with a line.
    fn not_inside(&self) -> Vec<(String, u32)> {
        let outer = |l: &&Loop| l.bound.as_ref().is_some_and(|b| self.depends(b));
        let mut list: Vec<(String, u32)> = Vec::new();
        for l in self.prog.loops.iter().filter(outer) {
            for pc in l.head..l.end {
                let Instr::Op { op: Op::Move { how, src, dst, masked: false, .. }, .. } = &self.prog.code[pc as usize]
                else {
                    continue;
                };
                // TMA checks where a matrix ends.
                if matches!(how, MoveKind::TmaLoad | MoveKind::TmaStore) {
                    continue;
                }
                for place in [src, dst] {
                    let o = &self.prog.objects[place.obj as usize];
                    let known = list.iter().any(|(name, _)| *name == o.name);
                    if o.class == Class::Global && !known && !self.begins_inside(place, pc) {
                        list.push((o.name.clone(), self.prog.site(pc).line));
                    }
                }
            }
        }
        list
    }

    fn depends(&self, e: &Expr) -> bool {
        self.prog.parameters_of(e).contains(&JOBS)
    }

    /// Whether a block begins inside its matrix for every number of jobs, as far as its form shows. A coordinate that does
    /// not depend on the job is checked by runs.
    fn begins_inside(&self, place: &Place, pc: Pc) -> bool {
        let o = &self.prog.objects[place.obj as usize];
        let extents = self.prog.forms.extents.get(place.obj as usize).and_then(Option::as_ref);
        place.at.iter().enumerate().all(|(axis, e)| {
            if place.begins_inside[axis] || self.is_run(e, pc) {
                return true;
            }
            let tile = if place.elements { 1 } else { o.block[axis] };
            let given = Expr::Const([o.rows, o.cols][axis]);
            let end = extents.map_or(&given, |of| &of[axis]);
            let Some((0.., most)) = self.range(e, pc, 0) else { return false };
            let begins = Expr::binary(Binary::Mul, most, Expr::Const(tile));
            self.always_below(&begins, end)
        })
    }

    /// Whether every value of a coordinate occurs in runs: it reads indices of loops inside the loop over jobs only.
    fn is_run(&self, e: &Expr, pc: Pc) -> bool {
        let mut run = true;
        e.visit(&mut |x| match x {
            Expr::Var(v) => {
                let end = self.loop_of(*v, pc).and_then(|l| l.bound.as_ref());
                run &= end.is_some_and(|end| end.is_launch_constant() && !self.depends(end));
            }
            Expr::Param(_) => run &= !self.depends(x),
            _ => {}
        });
        run
    }

    /// The loop around an instruction whose index is a variable.
    fn loop_of(&self, v: VarId, pc: Pc) -> Option<&Loop> {
        self.prog.loops.iter().find(|l| l.var == Some(v) && (l.head..l.end).contains(&pc))
    }

    /// The least value of an expression, and an upper bound: also one that a condition around the instruction states.
    fn range(&self, e: &Expr, pc: Pc, depth: u32) -> Option<(i64, Expr)> {
        let (least, most) = self.without_conditions(e, pc, depth)?;
        let end = (0..pc).zip(&self.prog.code).find_map(|(at, i)| match i {
            Instr::Unless(Expr::Binary(Binary::Lt, p), to) if *to > pc && p.0 == *e => {
                (p.1.is_launch_constant() && self.keeps(e, at, pc)).then_some(&p.1)
            }
            _ => None,
        });
        Some((least, end.map_or(most, |end| Expr::binary(Binary::Sub, end.clone(), Expr::Const(1)))))
    }

    /// Whether the variables of an expression keep their values between two instructions.
    fn keeps(&self, e: &Expr, from: Pc, to: Pc) -> bool {
        let mut keeps = true;
        e.visit(&mut |x| {
            if let Expr::Var(v) = x {
                keeps &= (from..to).all(|pc| sets(&self.prog.code[pc as usize]) != Some(*v));
            }
        });
        keeps
    }

    fn without_conditions(&self, e: &Expr, pc: Pc, depth: u32) -> Option<(i64, Expr)> {
        if depth > DEPTH {
            return None;
        }
        let range = |e: &Expr| self.range(e, pc, depth + 1);
        let below = |n: i64| Some((0, Expr::Const((n - 1).max(0))));
        let (grid, size) = (&self.prog.grid, self.prog.cluster as i64);
        match e {
            Expr::Const(c) => Some((*c, e.clone())),
            Expr::Param(p) => (self.prog.symbols[*p as usize].value >= 0).then(|| (0, e.clone())),
            Expr::Env(Env::CtaRank) => below(size),
            Expr::Env(Env::ClusterM) => below(grid.m),
            Expr::Env(Env::ClusterN | Env::CtaN) => below(grid.n),
            Expr::Env(Env::CtaZ) => below(grid.z),
            Expr::Env(Env::ClusterId) => below(grid.len()),
            Expr::Env(Env::CtaId) => below(grid.len() * size),
            Expr::Env(Env::CtaM) => below(grid.m * size),
            Expr::Env(Env::Warp) => below(self.prog.warps as i64),
            Expr::Var(v) => match self.loop_of(*v, pc) {
                Some(l) => {
                    let (_, end) = range(l.bound.as_ref()?)?;
                    Some((range(self.prog.first_index(l)?)?.0, Expr::binary(Binary::Sub, end, Expr::Const(1))))
                }
                None => match self.forms.sets(*v, self.forms.warps_of(pc))[..] {
                    [(_, once)] => range(once),
                    _ => None,
                },
            },
            Expr::Binary(op, p) => {
                let ((a, x), (b, y)) = (range(&p.0)?, range(&p.1)?);
                let constant = p.1.constant();
                match (op, constant) {
                    (Binary::Add, _) => Some((a.checked_add(b)?, Expr::binary(*op, x, y))),
                    (Binary::Sub, Some(c)) => Some((a.checked_sub(c)?, Expr::binary(*op, x, y))),
                    (Binary::Mul, _) if a >= 0 && b >= 0 && (constant.or(p.0.constant())).is_some() => {
                        Some((a.checked_mul(b)?, Expr::binary(*op, x, y)))
                    }
                    (Binary::Div, Some(1..)) if a >= 0 => Some((0, Expr::binary(*op, x, y))),
                    (Binary::Rem, Some(c @ 1..)) if a >= 0 => Some((0, Expr::Const(c - 1))),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a number is below another one for every number of jobs that the kernel accepts.
    fn always_below(&self, number: &Expr, end: &Expr) -> bool {
        let difference = Expr::binary(Binary::Sub, end.clone(), number.clone());
        let Some((difference, period)) = self.sum(&difference) else { return false };
        // A sum has constants and the number of jobs only.
        fn value(e: &Expr, jobs: i64) -> Option<i64> {
            match e {
                Expr::Const(c) => Some(*c),
                Expr::Binary(op, p) => apply(*op, value(&p.0, jobs)?, value(&p.1, jobs)?),
                _ => Some(jobs),
            }
        }
        let at = |jobs: i64| value(&difference, jobs);
        let Symbol { name, value, .. } = &self.prog.symbols[JOBS as usize];
        // Behind the given value, two periods: all later numbers follow.
        let last = (*value).max(0) + 2 * period;
        let accepted = |jobs: &i64| self.prog.with(&[(name.as_str(), *jobs)]).is_some_and(|p| !p.grid.is_empty());
        let grows = |jobs: i64| at(jobs + period).zip(at(jobs)).is_some_and(|(later, now)| later >= now);
        (1..=last).all(|jobs| at(jobs).is_some_and(|d| d > 0) || !accepted(&jobs))
            && (last - period..=last).all(|jobs| grows(jobs) || !accepted(&jobs))
    }

    /// An expression over the number of jobs alone, if it is a sum of multiples and quotients, with their period.
    fn sum(&self, e: &Expr) -> Option<(Expr, i64)> {
        match e {
            Expr::Const(_) => Some((e.clone(), 1)),
            Expr::Param(JOBS) => Some((e.clone(), 1)),
            Expr::Param(p) => self.sum(self.prog.symbols[*p as usize].definition.as_ref()?),
            Expr::Binary(op, p) => {
                let ((x, a), (y, b)) = (self.sum(&p.0)?, self.sum(&p.1)?);
                let period = lcm(a, b);
                let period = match (op, y.constant()) {
                    (Binary::Add | Binary::Sub, _) => period,
                    (Binary::Mul, _) if y.constant().or(x.constant()).is_some() => period,
                    (Binary::Div | Binary::Rem | Binary::CeilDiv, Some(c @ 1..)) => period.checked_mul(c)?,
                    _ => return None,
                };
                (period <= PERIOD).then(|| (Expr::binary(*op, x, y), period))
            }
            _ => None,
        }
    }
}
