//! Counted loops that are written with `while`: `while i < n` whose last statement is `i += 1`.
//!
//! Lowering records the index and the bound of a `for` loop. For the verifier, a counting `while` loop is the same
//! loop, so [`counted`] records its index and its bound too.

use std::ops::Range;

use warpline_sim::ir::{Binary, CounterAct, Expr, Instr, Loop, Op, ParamId, Program, VarId, each};

use crate::induction::loop_bounds;

/// The kernel with an index and a bound for each counting `while` loop.
pub(crate) fn counted(prog: &Program) -> Program {
    let mut prog = prog.clone();
    for at in 0..prog.loops.len() {
        let Some((set, var, bound)) = count(&prog, &prog.loops[at]) else { continue };
        // As in a `for` loop, the index is set right before the test.
        let head = prog.loops[at].head as usize;
        prog.code[set..head].rotate_left(1);
        prog.at[set..head].rotate_left(1);
        prog.loops[at].var = Some(var);
        prog.loops[at].bound = Some(bound);
    }
    prog
}

/// The instruction before the loop that sets the index, the index, and the bound; `None` where the loop does not count.
fn count(prog: &Program, l: &Loop) -> Option<(usize, VarId, Expr)> {
    if l.var.is_some() || l.passed.is_some() {
        return None;
    }
    let (head, end) = (l.head as usize, l.end as usize);
    let Instr::Unless(test, to) = prog.code.get(head)? else { return None };
    let (var, bound) = upper_bound(test)?;
    if !is_steady(prog, &bound, head..end) {
        return None;
    }
    let Some(Instr::Set(of, Expr::Binary(Binary::Add, p))) = prog.code.get(end.checked_sub(2)?) else { return None };
    let step = p.0 == Expr::Var(var) && prog.launch_value(&p.1).is_some_and(|s| s >= 1);
    let again = prog.code[end - 1] == Instr::Jump(l.head);
    let once = (head..end - 2).all(|pc| sets(&prog.code[pc]) != Some(var));
    // No jump skips the addition.
    let reached = !(head + 1..end - 2).any(|pc| prog.code[pc].target().is_some_and(|to| to as usize > end - 2));
    if *of != var || *to as usize != end || !step || !p.1.is_launch_constant() || !again || !once || !reached {
        return None;
    }
    let set = start(prog, head, var)?;
    let inside = |pc: usize| (head..end).contains(&pc);
    let entered = (0..prog.code.len())
        .any(|pc| !inside(pc) && prog.code[pc].target().is_some_and(|to| (set + 1..end).contains(&(to as usize))));
    (!entered && !lives_behind(prog, end, var)).then_some((set, var, bound))
}

/// Whether a bound has one value in all iterations. It reads values of the launch, or one that is known only at run time
/// at an index of loops around.
fn is_steady(prog: &Program, bound: &Expr, body: Range<usize>) -> bool {
    let (mut tape, mut steady) = (false, true);
    bound.visit(&mut |x| match x {
        Expr::Tape(..) => tape = true,
        Expr::Var(v) => steady &= prog.code[body.clone()].iter().all(|i| sets(i) != Some(*v)),
        Expr::Env(_) => steady = false,
        _ => {}
    });
    bound.is_launch_constant() || tape && steady
}

/// The variable and its exclusive upper bound.
fn upper_bound(test: &Expr) -> Option<(VarId, Expr)> {
    let Expr::Binary(op, p) = test else { return None };
    let more = |e: &Expr| Expr::Binary(Binary::Add, Box::new((e.clone(), Expr::Const(1))));
    let (var, bound) = match (op, &**p) {
        (Binary::Lt, (Expr::Var(v), n)) | (Binary::Gt, (n, Expr::Var(v))) => (*v, n.clone()),
        (Binary::Le, (Expr::Var(v), n)) | (Binary::Ge, (n, Expr::Var(v))) => (*v, more(n)),
        _ => return None,
    };
    Some((var, bound))
}

/// The instruction that sets the variable, if only other variables are set after it and their definitions do not read
/// it.
fn start(prog: &Program, head: usize, var: VarId) -> Option<usize> {
    for pc in (0..head).rev() {
        let Instr::Set(of, _) = &prog.code[pc] else { return None };
        if *of == var {
            return Some(pc);
        }
        if reads_variable(prog, pc, var) {
            return None;
        }
    }
    None
}

/// Whether the last value may be read after the loop; another variable may then share its slot.
pub(crate) fn lives_behind(prog: &Program, end: usize, var: VarId) -> bool {
    let Some(first) =
        (end..prog.code.len()).find(|&pc| reads_variable(prog, pc, var) || sets(&prog.code[pc]) == Some(var))
    else {
        return false;
    };
    if reads_variable(prog, first, var) {
        return true;
    }
    // An agent that skips this assignment still has the old value.
    let skipped =
        (end..first).filter_map(|pc| prog.code[pc].target()).map(|to| to as usize).filter(|to| *to > first).min();
    skipped.is_some_and(|to| {
        let next = (to..prog.code.len()).find(|&pc| reads_variable(prog, pc, var) || sets(&prog.code[pc]) == Some(var));
        next.is_some_and(|pc| reads_variable(prog, pc, var))
    })
}

/// Whether the exit of a `while` loop depends on a parameter, and the code divides by a number that depends on it.
pub(crate) fn deals_out_by(prog: &Program, p: ParamId) -> bool {
    let exits = |l: &Loop| loop_bounds::exit_parameters(prog, l).is_some_and(|of| of.contains(&p));
    if !prog.loops.iter().any(|l| l.var.is_none() && l.bound.is_none() && l.passed.is_none() && exits(l)) {
        return false;
    }
    let mut divides = false;
    for i in &prog.code {
        each(prog, i, &mut |_, e| {
            divides |= e.any(|x| match x {
                Expr::Binary(Binary::Div | Binary::Rem | Binary::CeilDiv, pair) => {
                    prog.parameters_of(&pair.1).contains(&p)
                }
                _ => false,
            });
        });
    }
    divides
}

/// The variable that an instruction sets.
pub(crate) fn sets(i: &Instr) -> Option<VarId> {
    match i {
        Instr::Set(v, _) | Instr::Op { op: Op::Get { var: v, .. }, .. } => Some(*v),
        Instr::Op { op: Op::Counter { act: CounterAct::Fetch(v) | CounterAct::Load(v), .. }, .. } => Some(*v),
        _ => None,
    }
}

/// Whether an instruction has an expression of this kind.
pub(crate) fn reads(prog: &Program, pc: usize, kind: impl Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    each(prog, &prog.code[pc], &mut |_, e| found |= e.any(&kind));
    found
}

fn reads_variable(prog: &Program, pc: usize, var: VarId) -> bool {
    reads(prog, pc, |x| *x == Expr::Var(var))
}
