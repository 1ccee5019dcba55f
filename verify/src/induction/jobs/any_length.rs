//! The kernel in which a trip count that differs by job is a symbol.
//!
//! The bound of the loop reads the index of the loop around it, as in `0..n(job)` or `0..job + 1`. The part of the bound
//! that differs by job becomes a symbol. A proof lets the symbol have any value from its least one on, another for each
//! job. So it covers more than the kernel does, and a fault of it may be none of the kernel.

use warpline_sim::ir::{Binary, Env, Expr, ExprUse, Instr, Loop, ParamId, Program, Symbol, TapeId, VarId, each_mut};

use crate::induction::while_loops::sets;
use crate::limits;

/// A kernel with a symbol for the trip count of each job.
#[derive(Clone, Debug)]
pub(crate) struct AnyLength {
    pub(crate) kernel: Program,
    pub(crate) symbol: ParamId,
    /// The value of the symbol in the kernel as given.
    pub(crate) given: i64,
    /// The line of the first loop with such a trip count.
    pub(crate) line: u32,
    pub(crate) lengths: Lengths,
    /// The run-time trip count, if it is read at the index of the loop over jobs, and this index.
    pub(crate) tape: Option<(TapeId, VarId)>,
}

/// The trip counts of jobs that a kernel has, of those that are varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// All: they are known only at run time. A fault is one of the kernel.
    All,
    /// Some: they are computed from the job.
    Some,
}

/// The value of the symbol in the program as given.
const GIVEN: i64 = 4;

impl AnyLength {
    /// `None` where no trip count differs by job, or where these trip counts are not functions of one value of the job.
    pub(crate) fn of(prog: &Program) -> Option<AnyLength> {
        if prog.hands_out() || prog.cooperative || !prog.counters.is_empty() {
            return None;
        }
        let varying: Vec<&Loop> =
            prog.loops.iter().filter(|l| l.bound.as_ref().is_some_and(|b| !b.is_launch_constant())).collect();
        let parts = varying.iter().map(|l| part(prog, l, over_jobs(prog, l)?)).collect::<Option<Vec<Expr>>>()?;
        let first = parts.first()?;
        if parts.iter().any(|part| part != first) {
            return None;
        }
        let (least, lengths, name) = match first {
            Expr::Tape(t, _) => (0, Lengths::All, prog.tapes[*t as usize].name.clone()),
            e => (
                least(prog, e).filter(|_| numbers_from_zero(prog, &varying))?,
                Lengths::Some,
                format!("the length of a job ({})", prog.site(varying[0].head).line),
            ),
        };
        let symbol = prog.symbols.len() as ParamId;
        let mut kernel = prog.clone();
        kernel.symbols.push(Symbol { name, value: least + GIVEN, definition: None, tape: None });
        for over in prog.loops.iter().filter(|o| outermost(prog, o)) {
            replace(first, prog, over, &mut kernel, symbol)?;
        }
        let at_least = Expr::binary(Binary::Ge, Expr::Param(symbol), Expr::Const(least));
        kernel.forms.requires.push(at_least);
        let tape = match first {
            Expr::Tape(t, at) if **at == Expr::Env(Env::TapeIndex) => over_jobs(prog, varying[0])?.var.map(|v| (*t, v)),
            _ => None,
        };
        limits::run_time(&kernel).is_none().then(|| AnyLength {
            line: prog.site(varying[0].head).line,
            kernel,
            symbol,
            given: least + GIVEN,
            lengths,
            tape,
        })
    }
}

/// The outermost loop around a loop, if it counts to a value known at launch.
fn over_jobs<'p>(prog: &'p Program, l: &Loop) -> Option<&'p Loop> {
    let over = prog.loops.iter().find(|o| o.head < l.head && l.end < o.end)?;
    (outermost(prog, over) && over.var.is_some() && over.bound.as_ref()?.is_launch_constant()).then_some(over)
}

/// Whether no job has a negative number.
fn numbers_from_zero(prog: &Program, varying: &[&Loop]) -> bool {
    varying.iter().all(|l| match over_jobs(prog, l).and_then(|over| prog.first_index(over)) {
        Some(Expr::Env(_)) => true,
        Some(first) => least(prog, first).is_some_and(|n| n >= 0),
        None => false,
    })
}

pub(super) fn outermost(prog: &Program, l: &Loop) -> bool {
    !prog.loops.iter().any(|o| o.head < l.head && l.end < o.end)
}

/// The part of a loop's bound that differs by job, with [`Env::TapeIndex`] in place of the index of the loop over jobs.
fn part(prog: &Program, l: &Loop, over: &Loop) -> Option<Expr> {
    let job = over.var?;
    let bound = defined(prog, l.bound.as_ref()?, over, job)?;
    let mut tapes: Vec<&Expr> = Vec::new();
    collect(&bound, &mut tapes);
    let mut expr = match tapes.first() {
        Some(first) if tapes.iter().all(|t| t == first) => (*first).clone(),
        Some(_) => return None,
        None => without_constants(&bound).clone(),
    };
    expr.replace(&Expr::Var(job), &Expr::Env(Env::TapeIndex));
    let mut other = false;
    expr.visit(&mut |x| other |= matches!(x, Expr::Var(_)) || matches!(x, Expr::Env(env) if *env != Env::TapeIndex));
    (!other).then_some(expr)
}

fn collect<'e>(e: &'e Expr, tapes: &mut Vec<&'e Expr>) {
    match e {
        Expr::Tape(..) => tapes.push(e),
        _ => e.operands().for_each(|x| collect(x, tapes)),
    }
}

/// An expression inside a loop over jobs, with definitions in place of variables that the loop sets once.
fn defined(prog: &Program, e: &Expr, over: &Loop, job: VarId) -> Option<Expr> {
    let mut e = e.clone();
    // A definition can name variables that are defined before it.
    for _ in 0..prog.vars.len() {
        let mut var = None;
        e.visit(&mut |x| {
            if let Expr::Var(v) = x
                && *v != job
            {
                var = Some(*v);
            }
        });
        let Some(var) = var else { return Some(e) };
        e.replace(&Expr::Var(var), definition(prog, var, over)?);
    }
    None
}

/// The expression that a loop sets a variable to, if it does so once and from other variables.
fn definition<'p>(prog: &'p Program, var: VarId, over: &Loop) -> Option<&'p Expr> {
    let mut of = prog.code[over.head as usize..over.end as usize].iter().filter(|i| sets(i) == Some(var));
    let (Some(Instr::Set(_, e)), None) = (of.next(), of.next()) else { return None };
    let mut own = false;
    e.visit(&mut |x| own |= *x == Expr::Var(var));
    (!own).then_some(e)
}

/// An expression less the launch constants that are added to it.
fn without_constants(e: &Expr) -> &Expr {
    match e {
        Expr::Binary(Binary::Add | Binary::Sub, p) if p.1.is_launch_constant() => without_constants(&p.0),
        Expr::Binary(Binary::Add, p) if p.0.is_launch_constant() => without_constants(&p.1),
        e => e,
    }
}

/// A lower bound of an expression for any job: jobs are numbered from 0 on, and so are values that are varied.
fn least(prog: &Program, e: &Expr) -> Option<i64> {
    let least = |e: &Expr| least(prog, e);
    match e {
        Expr::Const(c) => Some(*c),
        Expr::Param(q) => match &prog.symbols[*q as usize] {
            Symbol { definition: Some(e), .. } => least(e),
            symbol => Some(symbol.value.min(0)),
        },
        Expr::Env(Env::TapeIndex) => Some(0),
        Expr::Binary(Binary::Add, p) => least(&p.0)?.checked_add(least(&p.1)?),
        Expr::Binary(Binary::Mul, p) => match (least(&p.0)?, least(&p.1)?) {
            (a @ 0.., b @ 0..) => a.checked_mul(b),
            _ => None,
        },
        Expr::Binary(Binary::Rem, _) => Some(0),
        Expr::Binary(Binary::Div | Binary::CeilDiv, p) => match (least(&p.0)?, least(&p.1)?) {
            (0.., 0..) => Some(0),
            _ => None,
        },
        Expr::Binary(Binary::Max, p) => match (least(&p.0), least(&p.1)) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        },
        Expr::Binary(Binary::Min, p) => Some(least(&p.0)?.min(least(&p.1)?)),
        _ => None,
    }
}

/// Puts the symbol in the place of a part of bounds in a loop over jobs. Coordinates of tiles keep the job, which tells
/// stores of different jobs apart. A bare index of the loop over jobs is replaced only where it decides.
fn replace(part: &Expr, prog: &Program, over: &Loop, kernel: &mut Program, symbol: ParamId) -> Option<()> {
    let Some(job) = over.var else { return Some(()) };
    let mut part = part.clone();
    part.replace(&Expr::Env(Env::TapeIndex), &Expr::Var(job));
    let (tape, bare) = (matches!(part, Expr::Tape(..)), part == Expr::Var(job));
    let of_bounds = bound_vars(prog, over);
    let by = Expr::Param(symbol);
    for pc in over.head as usize..over.end as usize {
        let own = pc == over.head as usize || pc + 2 == over.end as usize;
        let set = sets(&prog.code[pc]);
        each_mut(prog, &mut kernel.code[pc], &mut |what, e| {
            let here = match what {
                _ if tape => true,
                ExprUse::Guard => !own,
                ExprUse::Set => !bare || set.is_some_and(|v| of_bounds.contains(&v)),
                ExprUse::Slot | ExprUse::Tile(..) => false,
            };
            if here {
                e.replace(&part, &by);
            }
        });
    }
    for l in kernel.loops.iter_mut().filter(|l| over.head < l.head && l.end < over.end) {
        let Some(bound) = &l.bound else { continue };
        if bound.is_launch_constant() {
            continue;
        }
        let mut bound = defined(prog, bound, over, job)?;
        bound.replace(&part, &by);
        if !bound.is_launch_constant() {
            return None;
        }
        l.bound = Some(bound);
    }
    Some(())
}

/// The variables that bounds inside a loop over jobs are computed from.
fn bound_vars(prog: &Program, over: &Loop) -> Vec<VarId> {
    let mut list: Vec<VarId> = Vec::new();
    let mut open: Vec<Expr> = Vec::new();
    for l in prog.loops.iter().filter(|l| over.head < l.head && l.end < over.end) {
        open.extend(l.bound.clone().filter(|b| !b.is_launch_constant()));
        if let Some(Instr::Unless(Expr::Binary(_, p), _)) = prog.code.get(l.head as usize) {
            open.push(p.1.clone());
        }
    }
    while let Some(e) = open.pop() {
        e.visit(&mut |x| {
            if let Expr::Var(v) = x
                && Some(*v) != over.var
                && !list.contains(v)
            {
                list.push(*v);
                open.extend(definition(prog, *v, over).cloned());
            }
        });
    }
    list
}
