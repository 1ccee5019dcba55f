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
//! An index, or a quotient or remainder of one, becomes a large multiple of the number of the job. Two coordinates
//! are then equal only if they are the same sum of such terms, because factors and constants are small (`spacing`).

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    ANY_EXTENT, Binary, Class, Expr, ExprUse, Instr, Loop, MoveKind, Op, ParamId, Pc, Program, Symbol, Unary, VarId,
    each, each_mut,
};

use crate::induction::uneven_jobs::is_launch_index;
use crate::induction::while_loops::{lives_behind, sets};
use crate::limits;

/// A kernel whose jobs are one loop.
#[derive(Clone, Debug)]
pub(crate) struct OneLoop {
    pub(crate) kernel: Program,
    /// The line of the first loop or condition that reads a value known only at run time.
    pub(crate) line: u32,
}

/// Jobs of a cluster in the kernel as given.
const GIVEN: i64 = 4;

/// Placeholder of the index of the outermost loop; the next loop has the next smaller number.
const FIRST_INDEX: VarId = VarId::MAX;

/// Largest constant in a coordinate.
const CONSTANTS: i64 = 1 << 19;

/// The smallest multiple that an index becomes, and the logarithm of the factor between two of them, for this many
/// different terms. Factors of terms in coordinates are below half of that factor. `None` for too many terms.
fn spacing(terms: usize) -> Option<(u32, u32)> {
    match terms {
        ..=2 => Some((20, 10)),
        3 => Some((20, 8)),
        _ => None,
    }
}

/// A condition around the body of a job: a loop, or a test.
#[derive(Clone, Debug, PartialEq)]
enum Level {
    Loop { first: Expr, bound: Expr, step: Expr },
    Test(Expr),
}

/// The loops over jobs of one role.
struct Nest {
    over: Loop,
    levels: Vec<Level>,
    /// Variables that the code around the body sets, as functions of the indices.
    values: BTreeMap<VarId, Expr>,
    body: std::ops::Range<usize>,
    line: u32,
}

impl OneLoop {
    /// `None` where no value known only at run time chooses jobs, or where it does more than that.
    pub(crate) fn of(prog: &Program) -> Option<OneLoop> {
        if prog.hands_out() || prog.cooperative || !prog.counters.is_empty() || prog.opaque_globals {
            return None;
        }
        limits::run_time(prog)?;
        let outermost = |l: &&Loop| !prog.loops.iter().any(|o| o.head < l.head && l.end < o.end);
        let chosen = |l: &&Loop| (l.head..l.end).any(|pc| reads(prog, pc as usize, |x| matches!(x, Expr::Tape(..))));
        let nests = prog.loops.iter().filter(outermost).filter(chosen).map(|l| nest(prog, l));
        let nests: Vec<Nest> = nests.collect::<Option<_>>()?;
        let first = nests.first()?;
        if nests.iter().any(|nest| nest.levels != first.levels) {
            return None;
        }
        let (start, step) = first_and_step(prog, &first.levels)?;
        let inner = |l: &&Loop| !nests.iter().any(|n| n.over.head <= l.head && l.end <= n.over.end && !n.contains(l));
        let bounds = prog.loops.iter().filter(inner).filter_map(|l| l.bound.as_ref());
        let varied: BTreeSet<ParamId> = bounds.flat_map(|e| prog.parameters_of(e)).collect();
        let terms = terms_of(prog, &nests, &varied)?;
        let stores_apart = stores_apart(prog, &nests)?;
        let mut kernel = prog.clone();
        let jobs = kernel.symbols.len() as ParamId;
        let line = first.line;
        let name = format!("the number of jobs ({line})");
        kernel.symbols.push(Symbol { name, value: GIVEN * prog.grid.len(), definition: None, tape: None });
        kernel.forms.requires.push(Expr::binary(Binary::Ge, Expr::Param(jobs), Expr::Const(0)));
        for nest in &nests {
            nest.flatten(prog, &mut kernel, &terms, (&start, &Expr::Param(jobs), &step))?;
        }
        let inner = |l: &Loop| nests.iter().any(|n| n.over.head < l.head && l.end < n.over.end && !n.contains(l));
        kernel.loops.retain(|l| !inner(l));
        let kernel = kernel.with(&[])?;
        (stores_apart && limits::run_time(&kernel).is_none()).then_some(OneLoop { kernel, line })
    }
}

impl Nest {
    /// Whether a loop is inside the body.
    fn contains(&self, l: &Loop) -> bool {
        self.body.contains(&(l.head as usize))
    }

    /// An expression of the body as a function of the indices.
    fn resolved(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        self.values.iter().for_each(|(v, value)| e.replace(&Expr::Var(*v), value));
        e
    }

    /// Makes the loop over jobs in the place of the nest.
    fn flatten(
        &self,
        prog: &Program,
        kernel: &mut Program,
        terms: &[Expr],
        (start, jobs, step): (&Expr, &Expr, &Expr),
    ) -> Option<()> {
        let (head, end) = (self.over.head as usize, self.over.end as usize);
        let job = self.over.var?;
        let (base, apart) = spacing(terms.len())?;
        for pc in self.body.clone() {
            each_mut(prog, &mut kernel.code[pc], &mut |what, e| {
                let mut of = self.resolved(e);
                let indexed = reads_index(&of);
                for (k, term) in terms.iter().enumerate() {
                    let multiple = Expr::Const(1 << (base + apart * k as u32));
                    of.replace(term, &Expr::binary(Binary::Mul, Expr::Var(job), multiple));
                }
                *e = of;
                if let ExprUse::Tile(obj, dim) = what
                    && indexed
                    && let Some(Some(extents)) = kernel.forms.extents.get_mut(obj as usize)
                {
                    extents[dim] = Expr::Const(ANY_EXTENT);
                }
            });
        }
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
    let (mut levels, mut values, mut line) = (Vec::new(), BTreeMap::new(), None);
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
        line = line.or_else(|| chooses(pc).then(|| prog.site(pc as Pc).line));
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
    let nest = Nest { over: over.clone(), levels, values, body: body.clone(), line: line? };
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
fn levels_only(e: &Expr) -> bool {
    let mut only = true;
    e.visit(&mut |x| only &= !matches!(x, Expr::Var(v) if !is_index(*v)));
    only
}

fn is_index(v: VarId) -> bool {
    v > FIRST_INDEX - 16
}

fn reads_index(e: &Expr) -> bool {
    let mut reads = false;
    e.visit(&mut |x| reads |= matches!(x, Expr::Var(v) if is_index(*v)));
    reads
}

fn reads_tape(e: &Expr) -> bool {
    let mut reads = false;
    e.visit(&mut |x| reads |= matches!(x, Expr::Tape(..)));
    reads
}

/// Whether an instruction has a term of this kind.
fn reads(prog: &Program, pc: usize, kind: impl Fn(&Expr) -> bool) -> bool {
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

/// The different terms of coordinates that read indices.
fn terms_of(prog: &Program, nests: &[Nest], varied: &BTreeSet<ParamId>) -> Option<Vec<Expr>> {
    let mut list: Vec<Expr> = Vec::new();
    let mut sums: Vec<Expr> = Vec::new();
    for nest in nests {
        for pc in nest.body.clone() {
            let mut known = true;
            each(prog, &prog.code[pc], &mut |what, e| {
                let e = nest.resolved(e);
                if !reads_index(&e) {
                    return;
                }
                known &= matches!(what, ExprUse::Tile(..)) && add_terms(&e, &mut list);
                sums.push(e);
            });
            if !known {
                return None;
            }
        }
    }
    // An index that is part of another term is replaced after this term.
    list.sort_by_key(|term| matches!(term, Expr::Var(_)));
    let (_, apart) = spacing(list.len())?;
    let steady = |e: &Expr| {
        // A block's number may be a sum with a varied number, but no multiple of it.
        let mut steady = true;
        e.visit(&mut |x| {
            if matches!(x, Expr::Binary(Binary::Mul, _)) {
                steady &= prog.parameters_of(x).is_disjoint(varied);
            }
        });
        steady
    };
    sums.iter().all(|e| steady(e) && is_small(prog, e, &list, 1 << (apart - 1))).then_some(list)
}

/// Adds the terms of a sum that read indices to a list. Returns whether no term reads anything else.
fn add_terms(e: &Expr, list: &mut Vec<Expr>) -> bool {
    if !reads_index(e) {
        return true;
    }
    match e {
        Expr::Binary(Binary::Add | Binary::Sub, p) => add_terms(&p.0, list) && add_terms(&p.1, list),
        Expr::Binary(Binary::Mul, p) if p.0.is_launch_constant() => add_terms(&p.1, list),
        Expr::Binary(Binary::Mul, p) if p.1.is_launch_constant() => add_terms(&p.0, list),
        Expr::Unary(Unary::Neg, x) => add_terms(x, list),
        _ => {
            if !list.contains(e) {
                list.push(e.clone());
            }
            let mut only = levels_only(e);
            e.visit(&mut |x| only &= !matches!(x, Expr::Tape(..) | Expr::Env(_)));
            only
        }
    }
}

/// Whether each factor of a sum is below a limit, and so is each constant.
fn is_small(prog: &Program, e: &Expr, terms: &[Expr], factors: i64) -> bool {
    let first = VarId::MAX / 2;
    let mut e = e.clone();
    let numbered = |k: usize| first + k as VarId;
    terms.iter().enumerate().for_each(|(k, term)| e.replace(term, &Expr::Var(numbered(k))));
    (0..).zip(&prog.symbols).for_each(|(id, s)| e.replace(&Expr::Param(id), &Expr::Const(s.value)));
    let mut vars = Vec::new();
    let mut constants = true;
    e.visit(&mut |x| match x {
        Expr::Var(v) => vars.push(*v),
        Expr::Const(c) => constants &= c.abs() < CONSTANTS,
        _ => {}
    });
    let factor = |var: VarId| e.gain(&|v| Some((v == var) as i64));
    constants && vars.iter().all(|v| factor(*v).is_some_and(|f| f.abs() < factors))
}

/// Whether the block of each store determines its job, as far as its form can tell: each index is a term of it, or a
/// quotient and a remainder of the index are. `None` where a matrix is both read and written.
fn stores_apart(prog: &Program, nests: &[Nest]) -> Option<bool> {
    let indices = nests.first()?.levels.iter().filter(|l| matches!(l, Level::Loop { .. })).count() as VarId;
    let global = |obj: u16| prog.objects[obj as usize].class == Class::Global;
    let (mut read, mut written, mut apart) = (Vec::new(), Vec::new(), true);
    for (pc, i) in prog.code.iter().enumerate() {
        let Instr::Op { op: Op::Move { how, src, dst, .. }, .. } = i else { continue };
        if !matches!(how, MoveKind::Store | MoveKind::TmaStore) {
            read.push(src.obj);
            continue;
        }
        if !global(dst.obj) {
            continue;
        }
        written.push(dst.obj);
        let Some(nest) = nests.iter().find(|nest| nest.body.contains(&pc)) else { continue };
        let mut terms = Vec::new();
        dst.at.iter().for_each(|e| _ = add_terms(&nest.resolved(e), &mut terms));
        apart &= (0..indices).map(|k| Expr::Var(FIRST_INDEX - k)).all(|index| {
            let parts = terms.iter().any(|t| match t {
                Expr::Binary(Binary::Div, p) if p.0 == index => terms.contains(&Expr::Binary(Binary::Rem, p.clone())),
                _ => false,
            });
            terms.contains(&index) || parts
        });
    }
    (!written.iter().any(|obj| read.contains(obj))).then_some(apart)
}
