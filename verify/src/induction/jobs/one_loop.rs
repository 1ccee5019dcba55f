//! Jobs that run-time values choose, as one loop over their number.
//!
//! ```text
//!   for e in 0..experts:                 for job in 0..jobs:
//!     for m in 0..rows(e):        ─▶       <body>            blocks of e and m: other ones in each job
//!       <body>
//! ```
//!
//! Every role makes the same iterations of `<body>`, in the same order: bounds and conditions around it read only indices
//! of the loops, values of the launch, and values known only at run time, which all roles share. If the indices name
//! blocks of global matrices and decide nothing, the jobs differ only in their blocks. So a proof for any number of jobs
//! with blocks of their own is one for all run-time values.
//!
//! The same holds for the blocks of a loop over jobs as written: `job % rows` and `job / rows` have long periods that
//! decide nothing. `block_names` says which numbers stand for the blocks.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Binary, Expr, Instr, Loop, ParamId, Pc, Program, Symbol, VarId, each};

use crate::induction::jobs::block_names::{self, BlockNames};
use crate::induction::trip_count::Trips;
use crate::induction::uneven_jobs::is_launch_index;
use crate::induction::while_loops::{lives_behind, sets};
use crate::limits;

/// A kernel whose jobs are one loop.
#[derive(Clone, Debug)]
pub(crate) struct OneLoop {
    pub(crate) kernel: Program,
    /// The line of the first loop or condition that reads a value known only at run time; `None` where the loop over jobs
    /// is as written, and only blocks are others.
    pub(crate) chosen: Option<u32>,
    /// The first instructions of the loops over jobs.
    pub(crate) heads: Vec<Pc>,
}

/// Jobs of a cluster in the kernel as given.
const GIVEN: i64 = 4;

/// Placeholder of the index of the outermost loop; the next loop has the next smaller number.
const FIRST_INDEX: VarId = VarId::MAX;

/// A condition around the body of a job: a loop, or a test.
#[derive(Clone, Debug, PartialEq)]
enum Level {
    Loop { first: Expr, bound: Expr, step: Expr },
    Test(Expr),
}

/// The loops over jobs of one role.
pub(super) struct Nest {
    pub(super) over: Loop,
    levels: Vec<Level>,
    /// Variables that the code around the body sets, as functions of the indices.
    values: BTreeMap<VarId, Expr>,
    pub(super) body: std::ops::Range<usize>,
    /// The line of the first loop or condition that reads a value known only at run time.
    chosen: Option<u32>,
}

impl OneLoop {
    /// `None` where no value known only at run time chooses jobs and no block is a quotient or remainder of its job, or
    /// where a job's number does more than name blocks.
    pub(crate) fn of(prog: &Program) -> Option<OneLoop> {
        if prog.hands_out() || prog.cooperative || !prog.counters.is_empty() || prog.opaque_globals {
            return None;
        }
        let nests = nests(prog)?;
        let first = nests.first()?;
        let (start, step) = first_and_step(prog, &first.levels)?;
        // Loops inside the body or elsewhere.
        let around = |l: &Loop| nests.iter().any(|n| n.over.head <= l.head && l.end <= n.over.end && !n.contains(l));
        let bounds = prog.loops.iter().filter(|l| !around(l)).filter_map(|l| l.bound.as_ref());
        let varied: BTreeSet<ParamId> = bounds.flat_map(|e| prog.parameters_of(e)).collect();
        let names = BlockNames::of(prog, &nests, &varied)?;
        let chosen = first.chosen;
        let heads = nests.iter().map(|nest| nest.over.head).collect();
        let mut kernel = prog.clone();
        names.put_into(&mut kernel, &nests)?;
        if let Some(line) = chosen {
            if !block_names::stores_apart(prog, &nests)? {
                return None;
            }
            let jobs = kernel.symbols.len() as ParamId;
            let name = format!("the number of jobs ({line})");
            kernel.symbols.push(Symbol { name, value: GIVEN * prog.grid.len(), definition: None, tape: None });
            kernel.forms.requires.push(Expr::binary(Binary::Ge, Expr::Param(jobs), Expr::Const(0)));
            for nest in &nests {
                nest.flatten(prog, &mut kernel, (&start, &Expr::Param(jobs), &step))?;
            }
            let over = |l: &Loop| nests.iter().any(|nest| nest.over.head == l.head);
            kernel.loops.retain(|l| over(l) || !around(l));
        }
        let kernel = kernel.with(&[])?;
        // A verdict is for every value of the parameter that sets trip counts of the kernel as written.
        let varied = |prog: &Program| Trips::find(prog).and_then(|trips| prog.symbol(&trips.name));
        if let Some(symbol) = varied(prog)
            && Some(symbol) != varied(&kernel)
            && depends_on(&kernel, symbol)
        {
            return None;
        }
        limits::run_time(&kernel).is_none().then_some(OneLoop { kernel, chosen, heads })
    }
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

/// The loops over jobs of all roles.
fn nests(prog: &Program) -> Option<Vec<Nest>> {
    let outermost = |l: &&Loop| !prog.loops.iter().any(|o| o.head < l.head && l.end < o.end);
    let outer = prog.loops.iter().filter(outermost);
    if limits::run_time(prog).is_none() {
        let all: Vec<Nest> = outer.filter_map(|l| nest(prog, l)).collect();
        let like = all.iter().find(|nest| block_names::has_quotients(prog, nest))?.levels.clone();
        return Some(all.into_iter().filter(|nest| nest.levels == like).collect());
    }
    let chosen = |l: &&Loop| (l.head..l.end).any(|pc| reads(prog, pc as usize, |x| matches!(x, Expr::Tape(..))));
    let nests: Vec<Nest> = outer.filter(chosen).map(|l| nest(prog, l)).collect::<Option<_>>()?;
    let first = nests.first()?;
    (first.chosen.is_some() && nests.iter().all(|nest| nest.levels == first.levels)).then_some(nests)
}

impl Nest {
    /// Whether a loop is inside the body.
    fn contains(&self, l: &Loop) -> bool {
        self.body.contains(&(l.head as usize))
    }

    /// The indices of its loops.
    pub(super) fn indices(&self) -> impl Iterator<Item = Expr> {
        let loops = self.levels.iter().filter(|l| matches!(l, Level::Loop { .. }));
        (0..).zip(loops).map(|(k, _)| Expr::Var(FIRST_INDEX - k))
    }

    /// An expression of the body as a function of the indices.
    pub(super) fn resolved(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        self.values.iter().for_each(|(v, value)| e.replace(&Expr::Var(*v), value));
        e
    }

    /// Makes the loop over jobs in the place of the nest.
    fn flatten(&self, prog: &Program, kernel: &mut Program, (start, jobs, step): (&Expr, &Expr, &Expr)) -> Option<()> {
        let (head, end) = (self.over.head as usize, self.over.end as usize);
        let job = self.over.var?;
        let around = (head + 1..self.body.start).chain(self.body.end..end - 2);
        // As unreachable code: a jump to the next instruction.
        around.for_each(|pc| kernel.code[pc] = Instr::Jump(pc as Pc + 1));
        let index = Expr::Var(job);
        kernel.code[first_set(prog, &self.over)?] = Instr::Set(job, start.clone());
        kernel.code[head] = Instr::Unless(Expr::binary(Binary::Lt, index.clone(), jobs.clone()), end as Pc);
        kernel.code[end - 2] = Instr::Set(job, Expr::binary(Binary::Add, index, step.clone()));
        kernel.loops.iter_mut().filter(|l| l.head == self.over.head).for_each(|l| l.bound = Some(jobs.clone()));
        Some(())
    }
}

/// The loops and conditions around the body of a job, from the outermost loop to the last one that reads a value known
/// only at run time.
fn nest(prog: &Program, over: &Loop) -> Option<Nest> {
    let (mut levels, mut values, mut chosen) = (Vec::new(), BTreeMap::new(), None);
    let value = |values: &BTreeMap<VarId, Expr>, e: &Expr| {
        let mut e = e.clone();
        values.iter().for_each(|(v, value)| e.replace(&Expr::Var(*v), value));
        let known = levels_only(&e);
        known.then_some(e)
    };
    let mut pc = first_set(prog, over)?;
    let mut end = prog.code.len();
    let mut indices = 0;
    loop {
        let chooses = |pc: usize| {
            reads(prog, pc, |x| match x {
                Expr::Tape(..) => true,
                Expr::Var(v) => values.get(v).is_some_and(reads_tape),
                _ => false,
            })
        };
        if pc > over.head as usize && !(pc..end).any(chooses) {
            break;
        }
        chosen = chosen.or_else(|| chooses(pc).then(|| prog.site(pc as Pc).line));
        match &prog.code[pc] {
            Instr::Set(v, e) => {
                let e = value(&values, e)?;
                values.insert(*v, e);
            }
            Instr::Unless(test, to) => match prog.loops.iter().find(|l| l.head as usize == pc) {
                Some(l) => {
                    let (next, index) = ((l.end as usize).checked_sub(2)?, l.var?);
                    let around = l.head == over.head || next + 2 == end;
                    let (Instr::Set(v, Expr::Binary(Binary::Add, p)), true) = (&prog.code[next], around) else {
                        return None;
                    };
                    let counts = *v == index && p.0 == Expr::Var(index) && p.1.is_launch_constant();
                    let Expr::Binary(Binary::Lt, ends) = test else { return None };
                    if !counts
                        || ends.0 != Expr::Var(index)
                        || *to != l.end
                        || lives_behind(prog, l.end as usize, index)
                    {
                        return None;
                    }
                    let first = values.remove(&index)?;
                    values.insert(index, Expr::Var(FIRST_INDEX - indices));
                    indices += 1;
                    levels.push(Level::Loop { first, bound: value(&values, &ends.1)?, step: p.1.clone() });
                    end = next;
                }
                None if *to as usize == end => levels.push(Level::Test(value(&values, test)?)),
                None => return None,
            },
            _ => return None,
        }
        pc += 1;
    }
    let body = pc..end;
    let nest = Nest { over: over.clone(), levels, values, body: body.clone(), chosen };
    // Nothing else sets these variables, and no jump leaves the body.
    let inside = |pc: usize| body.contains(&pc);
    let whole = body.clone().all(|pc| {
        let to = prog.code[pc].target().is_none_or(|to| inside(to as usize) || to as usize == body.end);
        to && sets(&prog.code[pc]).is_none_or(|v| !nest.values.contains_key(&v))
    });
    let behind = nest.values.keys().any(|v| lives_behind(prog, over.end as usize, *v));
    (whole && !behind && !body.is_empty()).then_some(nest)
}

/// Whether an expression reads nothing but indices of the nest, values of the launch and values known only at run time.
pub(super) fn levels_only(e: &Expr) -> bool {
    let mut only = true;
    e.visit(&mut |x| only &= !matches!(x, Expr::Var(v) if !is_index(*v)));
    only
}

pub(super) fn is_index(v: VarId) -> bool {
    v > FIRST_INDEX - 16
}

fn reads_tape(e: &Expr) -> bool {
    let mut reads = false;
    e.visit(&mut |x| reads |= matches!(x, Expr::Tape(..)));
    reads
}

/// Whether an instruction has a term of this kind.
pub(super) fn reads(prog: &Program, pc: usize, kind: impl Fn(&Expr) -> bool) -> bool {
    let mut reads = false;
    each(prog, &prog.code[pc], &mut |_, e| e.visit(&mut |x| reads |= kind(x)));
    reads
}

/// The instruction before a loop that sets its index. Ends that are computed once are set between it and the test.
fn first_set(prog: &Program, l: &Loop) -> Option<usize> {
    let mut pc = l.head as usize;
    loop {
        pc = pc.checked_sub(1)?;
        match sets(&prog.code[pc])? {
            v if Some(v) == l.var => return Some(pc),
            _ => {}
        }
    }
}

/// Where the loop over jobs starts, and its step. CTAs share out the iterations of one loop, or all make all of them.
fn first_and_step(prog: &Program, levels: &[Level]) -> Option<(Expr, Expr)> {
    let fixed = |e: &Expr| {
        let mut fixed = true;
        e.visit(&mut |x| fixed &= !matches!(x, Expr::Env(_)));
        fixed
    };
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
