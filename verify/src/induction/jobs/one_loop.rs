//! Jobs that run-time values choose, as one loop over their number.
//!
//! ```text
//!   for e in 0..experts:                 for job in 0..jobs:
//!     for m in 0..rows(e):        ─▶       <body>            blocks of e and m: other ones in each job
//!       <body>
//! ```
//!
//! Every role makes the same iterations of `<body>`, in the same order. Bounds and conditions around the body read only
//! indices of the loops, values of the launch, and values known only at run time. All roles share these values. If the
//! indices name blocks of global matrices and decide nothing, the jobs differ only in their blocks. So a proof for any
//! number of jobs with blocks of their own is one for all run-time values.
//!
//! The same holds for the blocks of a loop over jobs as written: `job % rows` and `job / rows` have long periods that
//! decide nothing. `block_names` says which numbers stand for the blocks.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, ExprUse, Instr, Loop, ParamId, Pc, Program, Symbol, each};

use crate::induction::jobs::any_length::outermost;
use crate::induction::jobs::block_names::{self, BlockNames};
use crate::induction::jobs::nest::{self, Level, Nest, is_tape};
use crate::induction::trip_count::Trips;
use crate::induction::uneven_jobs::is_launch_index;
use crate::induction::while_loops::reads;
use crate::limits;

/// A kernel whose jobs are one loop.
#[derive(Clone, Debug)]
pub(crate) struct OneLoop {
    pub(crate) kernel: Program,
    /// The line of the first loop or condition that reads a value known only at run time. `None` where loops are as written
    /// and only blocks are others.
    pub(crate) chosen: Option<u32>,
    /// The first instructions of the loops over jobs.
    pub(crate) heads: Vec<Pc>,
}

/// Jobs of a cluster in the kernel as given.
const GIVEN: i64 = 4;

impl OneLoop {
    /// `None` where a job's number does more than name blocks. Also `None` where no value known only at run time chooses
    /// jobs, and no block is a quotient or remainder of its job. `trips` is what the kernel is varied by.
    pub(crate) fn of(prog: &Program, trips: Option<&Trips>) -> Option<OneLoop> {
        if limits::run_time(prog).is_none() {
            return OneLoop::with(prog, trips, as_written(prog)?);
        }
        // A loop inside, over the columns of a block of rows, may be one over jobs, too.
        [1, 0].into_iter().find_map(|more| OneLoop::with(prog, trips, chosen(prog, more)?))
    }

    /// The same where loops around the body have bounds that are known at launch: three loops, or two.
    pub(crate) fn of_nest(prog: &Program, trips: Option<&Trips>) -> Option<OneLoop> {
        if limits::run_time(prog).is_some() {
            return None;
        }
        // Without a loop inside, it is one over a range of jobs.
        [2, 1, 0].into_iter().find_map(|more| OneLoop::with(prog, trips, nested(prog, more)?))
    }

    fn with(prog: &Program, trips: Option<&Trips>, nests: Vec<Nest>) -> Option<OneLoop> {
        if prog.hands_out() || prog.cooperative || !prog.counters.is_empty() || prog.opaque_globals {
            return None;
        }
        let first = nests.first()?;
        let (start, step) = first_and_step(prog, &first.levels)?;
        // Loops inside the body or elsewhere.
        let around = |l: &Loop| nests.iter().any(|n| n.over.head <= l.head && l.end <= n.over.end && !n.contains(l));
        if limits::run_time(prog).is_none() && first.chosen.is_some() && knows_numbers(prog, &nests) {
            return None;
        }
        let chosen = first.chosen;
        let varied: BTreeSet<ParamId> = match chosen {
            Some(_) => {
                let bounds = prog.loops.iter().filter(|l| !around(l)).filter_map(|l| l.bound.as_ref());
                bounds.flat_map(|e| prog.parameters_of(e)).collect()
            }
            None => trips?.given().symbols.iter().filter_map(|s| prog.symbol(&s.name)).collect(),
        };
        let names = BlockNames::of(prog, &nests, &varied)?;
        let heads = nests.iter().flat_map(Nest::naming).map(|l| l.head).collect();
        let mut kernel = prog.clone();
        names.put_into(&mut kernel, &nests, &varied)?;
        if let Some(line) = chosen {
            if !block_names::stores_apart(prog, &nests) {
                return None;
            }
            let jobs = kernel.symbols.len() as ParamId;
            let name = format!("the number of jobs ({line})");
            kernel.symbols.push(Symbol { name, value: GIVEN * prog.grid.len(), definition: None, tape: None });
            kernel.forms.requires.push(Expr::binary(Binary::Ge, Expr::Param(jobs), Expr::Const(0)));
            for nest in &nests {
                flatten(nest, prog, &mut kernel, (&start, &Expr::Param(jobs), &step))?;
            }
            let over = |l: &Loop| nests.iter().any(|nest| nest.over.head == l.head);
            kernel.loops.retain(|l| over(l) || !around(l));
        }
        let kernel = kernel.with(&[])?;
        // A verdict is for every value of the parameter that sets trip counts of the kernel as written.
        let other = |symbol: ParamId| Trips::find(&kernel).and_then(|t| kernel.symbol(&t.name)) != Some(symbol);
        let symbol = trips.and_then(|trips| prog.symbol(&trips.name));
        if symbol.is_some_and(|symbol| depends_on(&kernel, symbol) && other(symbol)) {
            return None;
        }
        limits::run_time(&kernel).is_none().then_some(OneLoop { kernel, chosen, heads })
    }
}

/// Whether code other than loops over jobs decides by what their bounds are computed from. It may name blocks by that.
fn knows_numbers(prog: &Program, nests: &[Nest]) -> bool {
    let mut bounds: BTreeSet<ParamId> = BTreeSet::new();
    for level in nests.iter().flat_map(|nest| &nest.levels) {
        match level {
            Level::Loop { first, bound, .. } => {
                bounds.extend(prog.parameters_of(first));
                bounds.extend(prog.parameters_of(bound));
            }
            Level::Test(e) => bounds.extend(prog.parameters_of(e)),
        }
    }
    let first = |nest: &Nest| nest::first_set(prog, &nest.over).unwrap_or(nest.over.head as usize);
    let around = |pc: usize| {
        let of = |nest: &Nest| (first(nest)..nest.over.end as usize).contains(&pc) && !nest.body.contains(&pc);
        nests.iter().any(of)
    };
    let mut known = false;
    for (_, i) in prog.code.iter().enumerate().filter(|(pc, _)| !around(*pc)) {
        each(prog, i, &mut |what, e| {
            known |= !matches!(what, ExprUse::Tile(..)) && !prog.parameters_of(e).is_disjoint(&bounds);
        });
    }
    known
}

/// Whether the code, the grid or the end of a matrix depends on a symbol's parameters.
fn depends_on(prog: &Program, symbol: ParamId) -> bool {
    let parameters = prog.parameters_of(&Expr::Param(symbol));
    let depends = |e: &Expr| !prog.parameters_of(e).is_disjoint(&parameters);
    let mut reads = false;
    prog.code.iter().for_each(|i| each(prog, i, &mut |_, e| reads |= depends(e)));
    let numbers = prog.forms.grid.iter().flatten().chain(prog.forms.extents.iter().flatten().flatten());
    reads || numbers.into_iter().any(depends)
}

/// The outermost loops.
fn outer(prog: &Program) -> impl Iterator<Item = &Loop> {
    prog.loops.iter().filter(|l| outermost(prog, l))
}

/// The loops over jobs of all roles, which stay as written.
fn as_written(prog: &Program) -> Option<Vec<Nest>> {
    let all: Vec<Nest> = outer(prog).filter_map(|l| Some(Nest::of(prog, l, 0)?.with_inner(prog))).collect();
    let like = all.iter().find(|nest| block_names::has_quotients(prog, nest))?.levels.clone();
    Some(all.into_iter().filter(|nest| nest.levels == like).collect())
}

/// The loops over jobs that values known only at run time choose, of all roles, and `more` loops inside.
fn chosen(prog: &Program, more: usize) -> Option<Vec<Nest>> {
    let chosen = |l: &&Loop| (l.head..l.end).any(|pc| reads(prog, pc as usize, is_tape));
    let nests: Vec<Nest> = outer(prog).filter(chosen).map(|l| Nest::of(prog, l, more)).collect::<Option<_>>()?;
    let first = nests.first()?;
    (first.chosen.is_some() && nests.iter().all(|nest| nest.levels == first.levels)).then_some(nests)
}

/// Loops over jobs with `more` loops inside, of all roles.
fn nested(prog: &Program, more: usize) -> Option<Vec<Nest>> {
    let nest = |l: &Loop| {
        let mut nest = Nest::of(prog, l, more)?;
        nest.chosen = Some(prog.site(l.head).line);
        Some(nest)
    };
    let nests: Vec<Nest> = outer(prog).filter_map(nest).collect();
    let first = nests.first()?;
    // Of the other loops, none is around another one.
    let others = outer(prog).filter(|l| nests.iter().all(|nest| nest.over.head != l.head));
    let plain = |o: &Loop| !prog.loops.iter().any(|l| o.head < l.head && l.end < o.end);
    (others.into_iter().all(plain) && nests.iter().all(|nest| nest.levels == first.levels)).then_some(nests)
}

/// Makes the loop over jobs in the place of the nest.
fn flatten(
    nest: &Nest,
    prog: &Program,
    kernel: &mut Program,
    (start, jobs, step): (&Expr, &Expr, &Expr),
) -> Option<()> {
    let (head, end) = (nest.over.head as usize, nest.over.end as usize);
    let job = nest.over.var?;
    let around = (head + 1..nest.body.start).chain(nest.body.end..end - 2);
    // As unreachable code: a jump to the next instruction.
    around.for_each(|pc| kernel.code[pc] = Instr::Jump(pc as Pc + 1));
    let index = Expr::Var(job);
    // As in other loops, the index is set right before the test. Nothing reads an end that was computed once.
    let first = nest::first_set(prog, &nest.over)?;
    (first..head - 1).for_each(|pc| kernel.code[pc] = Instr::Jump(pc as Pc + 1));
    kernel.code[head - 1] = Instr::Set(job, start.clone());
    kernel.code[head] = Instr::Unless(Expr::binary(Binary::Lt, index.clone(), jobs.clone()), end as Pc);
    kernel.code[end - 2] = Instr::Set(job, Expr::binary(Binary::Add, index, step.clone()));
    kernel.loops.iter_mut().filter(|l| l.head == nest.over.head).for_each(|l| l.bound = Some(jobs.clone()));
    Some(())
}

/// Where the loop over jobs starts, and its step. CTAs share out the iterations of one loop, or all make all of them.
fn first_and_step(prog: &Program, levels: &[Level]) -> Option<(Expr, Expr)> {
    if let [Level::Loop { first, bound, step: Expr::Const(1) }] = levels
        && let Some(own) = start_of_range(prog, first, bound)
    {
        return Some((own, grid_size(prog)?));
    }
    let fixed = |e: &Expr| !e.any(|x| matches!(x, Expr::Env(_)));
    let mut shared = None;
    for level in levels {
        match level {
            Level::Loop { first, bound, step } if fixed(bound) => {
                if !fixed(first) {
                    if !is_launch_index(prog, first) || shared.is_some() {
                        return None;
                    }
                    shared = Some((first.clone(), step.clone()));
                }
            }
            Level::Test(e) if fixed(e) => {}
            _ => return None,
        }
    }
    Some(shared.unwrap_or((Expr::Const(0), Expr::Const(1))))
}

/// The launch index of a range of jobs, such as from `cta.id * jobs / 4` to `(cta.id + 1) * jobs / 4`. The range begins at
/// a multiple of the index. It ends where the range of the next index begins, or before.
fn start_of_range(prog: &Program, first: &Expr, bound: &Expr) -> Option<Expr> {
    let own = own_multiple(prog, first)?;
    let mut next = first.clone();
    next.replace(&own, &Expr::binary(Binary::Add, own.clone(), Expr::Const(1)));
    let before = match bound {
        Expr::Binary(Binary::Min, p) => p.0 == next || p.1 == next,
        bound => *bound == next,
    };
    before.then_some(own)
}

/// The launch index in a multiple of it, which grows with it; possibly divided by a number.
fn own_multiple(prog: &Program, e: &Expr) -> Option<Expr> {
    let grows = |e: &Expr| e.is_launch_constant() && prog.launch_value(e).is_some_and(|x| x > 0);
    match e {
        e if is_launch_index(prog, e) => Some(e.clone()),
        Expr::Binary(Binary::Mul, p) if grows(&p.1) => own_multiple(prog, &p.0),
        Expr::Binary(Binary::Mul, p) if grows(&p.0) => own_multiple(prog, &p.1),
        Expr::Binary(Binary::Div, p) if grows(&p.1) => own_multiple(prog, &p.0),
        _ => None,
    }
}

/// The number of units that are launched.
fn grid_size(prog: &Program) -> Option<Expr> {
    let fixed = prog.forms.grid.iter().flatten().all(|e| e.constant().is_some());
    prog.symbol("grid.size").map(Expr::Param).or_else(|| fixed.then(|| Expr::Const(prog.grid.len())))
}
