//! What counts the iterations of a loop: only a way to name a place in a run, which the states there are then held to.

use warpline_sim::ir::{Binary, Expr, Instr, Loop, Program, VarId};

/// The variable that is another one in each iteration: of a `for`, of a `while` over tiles that are handed out, or the one that
/// the test of a `while` compares with a bound.
pub(crate) fn index(prog: &Program, l: &Loop) -> Option<VarId> {
    l.index().or_else(|| Some(tested(prog, l)?.0))
}

/// The bound of the index.
pub(crate) fn bound<'p>(prog: &'p Program, l: &'p Loop) -> Option<&'p Expr> {
    l.bound.as_ref().or_else(|| Some(tested(prog, l)?.1))
}

/// By how much the index grows in an iteration: the last instruction but one of the loop adds it.
pub(crate) fn step(prog: &Program, l: &Loop) -> i64 {
    match prog.code.get((l.end as usize).wrapping_sub(2)) {
        Some(Instr::Set(v, Expr::Binary(Binary::Add, p))) if l.passed.is_none() && index(prog, l) == Some(*v) => {
            prog.launch_value(&p.1).unwrap_or(1).max(1)
        }
        _ => 1,
    }
}

fn tested<'p>(prog: &'p Program, l: &Loop) -> Option<(VarId, &'p Expr)> {
    let Instr::Unless(Expr::Binary(op, p), _) = prog.code.get(l.head as usize)? else { return None };
    match (op, &**p) {
        (Binary::Lt | Binary::Le, (Expr::Var(v), n)) | (Binary::Gt | Binary::Ge, (n, Expr::Var(v))) => Some((*v, n)),
        _ => None,
    }
}
