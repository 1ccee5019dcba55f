//! Blocks that threads access with any trip count and number of jobs: whether each begins inside its matrix.
//!
//! Runs compare the blocks of a kernel with the ends of its matrices. They do not where a proof has other blocks in the
//! place of the kernel's, or gives a `let` a value that no parameter gives it. There, the largest value of a coordinate
//! is compared with the end of the matrix. Both are functions of the parameter that sets the trip count or the number of
//! jobs: sums of its multiples and quotients. So their difference grows by the same number with each period of the
//! quotients. A coordinate without such a bound is not known to be inside, or the verdict lists the assumption.

use std::collections::BTreeSet;

use warpline_sim::ir::{
    Binary, Class, Env, Expr, ExprUse, Instr, Loop, MoveKind, ObjId, Op, ParamId, Pc, Place, Program, Symbol, VarId,
    apply, each, lcm,
};

use crate::coordinates::Forms;
use crate::induction::trip_count::Trips;
use crate::induction::uneven_jobs::is_launch_index;
use crate::induction::while_loops::sets;

/// Largest period of quotients.
const PERIOD: i64 = 1 << 14;
/// Largest depth of variables in the definitions of variables.
const DEPTH: u32 = 16;

/// The matrices whose blocks are assumed to begin inside, each with the line of an access, where a proof varies the number
/// of jobs. A proof that gives a `let` another value does not compare blocks with the ends of matrices
/// ([`Program::loose`]).
pub fn assumed_inside(prog: &Program, trips: &Trips) -> Vec<(String, u32)> {
    if sets_a_let(prog, trips) { not_inside(prog, Some(trips), &OtherBlocks::Of(&[])) } else { Vec::new() }
}

/// Whether a proof over the number of jobs gives a `let` another value.
pub(crate) fn sets_a_let(prog: &Program, trips: &Trips) -> bool {
    let jobs = trips.turns_name().and_then(|name| prog.symbol(name));
    jobs.is_some_and(|jobs| prog.symbols[jobs as usize].definition.is_some())
}

/// Whether some block is not known to begin inside its matrix for every trip count and number of jobs. The proof has
/// other blocks in the place of those that the indices of these loops name.
pub(crate) fn unknown(prog: &Program, trips: &Trips, named: &[Pc]) -> bool {
    !not_inside(prog, Some(trips), &OtherBlocks::Of(named)).is_empty()
}

/// The same where the proof has other blocks along these dimensions.
pub(crate) fn unknown_along(prog: &Program, trips: Option<&Trips>, dims: &BTreeSet<(ObjId, usize)>) -> bool {
    !not_inside(prog, trips, &OtherBlocks::Along(dims)).is_empty()
}

/// Where a proof has other blocks than the kernel.
enum OtherBlocks<'a> {
    /// Those that the indices of loops name, which begin with these instructions.
    Of(&'a [Pc]),
    /// Along these dimensions of matrices.
    Along(&'a BTreeSet<(ObjId, usize)>),
}

/// The matrices with a block that is not known to begin inside, each with a line. Any one parameter may set the number of
/// jobs, and one sets the trip count of the main loop; the others are as given.
fn not_inside(prog: &Program, trips: Option<&Trips>, other: &OtherBlocks<'_>) -> Vec<(String, u32)> {
    if prog.hands_out() || prog.opaque_globals {
        return Vec::new();
    }
    let jobs = trips.and_then(Trips::turns_name).and_then(|name| prog.symbol(name));
    let by = jobs.map(|jobs| prog.parameters_of(&Expr::Param(jobs))).unwrap_or_default();
    let by: Vec<Option<ParamId>> = if by.is_empty() { vec![None] } else { by.into_iter().map(Some).collect() };
    let steps = trips.and_then(|trips| prog.symbol(&trips.name));
    let along = matches!(other, OtherBlocks::Along(_));
    let compared = along || !trips.is_some_and(|trips| sets_a_let(prog, trips));
    let lists = by.into_iter().map(|jobs| {
        let varied: BTreeSet<ParamId> = steps.into_iter().chain(jobs).collect();
        let kernel = prog.bind_all_but(&varied);
        let varied = varied.iter().filter_map(|p| kernel.symbol(&prog.symbols[*p as usize].name)).collect();
        let mut inside = Inside { forms: Forms::of(&kernel), prog: &kernel, varied, compared, other: BTreeSet::new() };
        inside.other = match other {
            OtherBlocks::Of(loops) => inside.named_by(loops),
            OtherBlocks::Along(dims) => (*dims).clone(),
        };
        inside.not_inside()
    });
    lists.min_by_key(Vec::len).unwrap_or_default()
}

/// A kernel in which the parameters that set the trip count and the number of jobs are symbols.
struct Inside<'p> {
    prog: &'p Program,
    forms: Forms<'p>,
    /// These parameters.
    varied: BTreeSet<ParamId>,
    /// Whether runs of the proof compare blocks with the ends of matrices.
    compared: bool,
    /// The matrices that have no end along a dimension in the proof, because it uses other blocks there.
    other: BTreeSet<(ObjId, usize)>,
}

impl Inside<'_> {
    /// The matrices of which some block is not known to begin inside, each with a line.
    fn not_inside(&self) -> Vec<(String, u32)> {
        let mut list: Vec<(String, u32)> = Vec::new();
        for (pc, i) in (0..).zip(&self.prog.code) {
            let Instr::Op { op: Op::Move { how, src, dst, masked: false, .. }, .. } = i else { continue };
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
        list
    }

    /// The dimensions of matrices along which the indices of loops name blocks.
    fn named_by(&self, loops: &[Pc]) -> BTreeSet<(ObjId, usize)> {
        let mut list = BTreeSet::new();
        for (pc, i) in (0..).zip(&self.prog.code) {
            let index = |v| self.loop_of(v, pc).is_some_and(|l| loops.contains(&l.head));
            each(self.prog, i, &mut |what, e| {
                if let ExprUse::Tile(obj, dim) = what
                    && !loops.is_empty()
                    && self.may_read(e, pc, &index, 0)
                {
                    list.insert((obj, dim));
                }
            });
        }
        list
    }

    /// Whether an expression may read a variable with this property, also through the definitions of other variables.
    fn may_read(&self, e: &Expr, pc: Pc, of: &dyn Fn(VarId) -> bool, depth: u32) -> bool {
        depth > DEPTH
            || e.any(|x| match x {
                Expr::Var(v) if self.loop_of(*v, pc).is_some() => of(*v),
                Expr::Var(v) => {
                    let sets = self.forms.sets(*v, self.forms.warps_of(pc));
                    sets.is_empty() || sets.iter().any(|(at, e)| self.may_read(e, *at, of, depth + 1))
                }
                _ => false,
            })
    }

    /// Whether an expression may have another value with other trip counts or numbers of jobs.
    fn varies(&self, e: &Expr, pc: Pc, depth: u32) -> bool {
        let reads = |e: &Expr| !self.prog.parameters_of(e).is_disjoint(&self.varied);
        depth > DEPTH
            || reads(e)
            || e.any(|x| match x {
                Expr::Var(v) => match self.loop_of(*v, pc) {
                    Some(l) => {
                        let ends = [l.bound.as_ref(), self.prog.first_index(l)];
                        ends.iter().any(|e| e.is_none_or(|e| self.varies(e, l.head, depth + 1)))
                    }
                    None => {
                        let sets = self.forms.sets(*v, self.forms.warps_of(pc));
                        sets.is_empty() || sets.iter().any(|(at, e)| self.varies(e, *at, depth + 1))
                    }
                },
                Expr::Tape(..) => true,
                _ => false,
            })
    }

    /// Whether a block begins inside its matrix for every trip count and number of jobs, as far as runs or its form show.
    fn begins_inside(&self, place: &Place, pc: Pc) -> bool {
        let o = &self.prog.objects[place.obj as usize];
        let extents = self.prog.forms.extents.get(place.obj as usize).and_then(Option::as_ref);
        place.at.iter().enumerate().all(|(axis, e)| {
            let given = Expr::Const([o.rows, o.cols][axis]);
            let end = extents.map_or(&given, |of| &of[axis]);
            let in_runs = self.compared && !self.other.contains(&(place.obj, axis));
            if place.begins_inside[axis] || in_runs {
                return true;
            }
            let tile = if place.elements { 1 } else { o.block[axis] };
            let below = self
                .range(e, pc, 0)
                .filter(|(least, _)| *least >= 0)
                .is_some_and(|(_, most)| self.always_below(&Expr::binary(Binary::Mul, most, Expr::Const(tile)), end));
            // The run of the kernel as given has all blocks of an access that every run has, and with the same numbers.
            below || !self.varies(e, pc, 0) && !self.varies(end, pc, 0) && self.always_reached(pc)
        })
    }

    /// Whether the kernel as given reaches an instruction in every CTA if another kernel does.
    fn always_reached(&self, pc: Pc) -> bool {
        let around = (0..pc).zip(&self.prog.code).filter_map(|(at, i)| match i {
            Instr::Unless(e, to) if *to > pc => Some((at, e)),
            _ => None,
        });
        around.into_iter().all(|(at, test)| match self.prog.loops.iter().find(|l| l.head == at) {
            Some(l) => {
                let (first, end) = (self.prog.first_index(l), l.bound.as_ref().and_then(|e| self.prog.launch_value(e)));
                let from = first.and_then(|e| match is_launch_index(self.prog, e) {
                    true => Some(self.prog.grid.len() - 1),
                    false => self.prog.launch_value(e),
                });
                from.zip(end).is_some_and(|(from, end)| from < end)
            }
            None => !self.varies(test, pc, 0),
        })
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
            Expr::Env(Env::Warp) => {
                let who = self.forms.warps_of(pc);
                let last = (63 - i64::from(who.leading_zeros())).min(self.prog.warps as i64 - 1);
                (who != 0).then(|| (i64::from(who.trailing_zeros()), Expr::Const(last)))
            }
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
                    (Binary::Max, _) => {
                        let most = x.constant().zip(y.constant()).map(|(x, y)| Expr::Const(x.max(y)))?;
                        Some((a.max(b), most))
                    }
                    (Binary::Min, _) => Some((a.min(b), if x.constant().is_some() { x } else { y })),
                    (Binary::Div, Some(1..)) if a >= 0 => Some((0, Expr::binary(*op, x, y))),
                    (Binary::Rem, Some(c @ 1..)) if a >= 0 => Some((0, Expr::Const(c - 1))),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a number is below another one for all values of a parameter that the kernel accepts. A difference that
    /// depends on two parameters is not decided.
    fn always_below(&self, number: &Expr, end: &Expr) -> bool {
        let difference = Expr::binary(Binary::Sub, end.clone(), number.clone());
        let of = self.prog.parameters_of(&difference);
        let Some(parameter) = of.first().copied().filter(|_| of.len() == 1) else {
            return of.is_empty() && self.prog.launch_value(&difference).is_some_and(|d| d > 0);
        };
        let Some((difference, period)) = self.sum(&difference) else { return false };
        // A sum has constants and the parameter only.
        fn value(e: &Expr, of: i64) -> Option<i64> {
            match e {
                Expr::Const(c) => Some(*c),
                Expr::Binary(op, p) => apply(*op, value(&p.0, of)?, value(&p.1, of)?),
                _ => Some(of),
            }
        }
        let at = |of: i64| value(&difference, of);
        let Symbol { name, value, .. } = &self.prog.symbols[parameter as usize];
        // Behind the given value, two periods: all later numbers follow.
        let last = (*value).max(0) + 2 * period;
        let alone = self.is_refused_alone(parameter);
        let accepted = |of: &i64| !alone || self.prog.with(&[(name.as_str(), *of)]).is_some_and(|p| !p.grid.is_empty());
        let grows = |of: i64| at(of + period).zip(at(of)).is_some_and(|(later, now)| later >= now);
        (1..=last).all(|of| at(of).is_some_and(|d| d > 0) || !accepted(&of))
            && (last - period..=last).all(|of| grows(of) || !accepted(&of))
    }

    /// Whether the kernel refuses values of a parameter whatever the values of the others are.
    fn is_refused_alone(&self, parameter: ParamId) -> bool {
        let forms = &self.prog.forms;
        let numbers = forms.grid.iter().flatten().chain(forms.extents.iter().flatten().flatten());
        forms.requires.iter().chain(numbers).all(|e| {
            let of = self.prog.parameters_of(e);
            of.len() < 2 || !of.contains(&parameter)
        })
    }

    /// An expression over one parameter alone, if it is a sum of multiples and quotients, with their period.
    fn sum(&self, e: &Expr) -> Option<(Expr, i64)> {
        match e {
            Expr::Const(_) => Some((e.clone(), 1)),
            Expr::Param(p) => match &self.prog.symbols[*p as usize].definition {
                Some(definition) => self.sum(definition),
                None => Some((e.clone(), 1)),
            },
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
