//! The index and bound of a loop. A certificate names a place in a run by them; the states at that place are then
//! compared.

use warpline_sim::ir::{Binary, Expr, Instr, Loop, Program, VarId};

/// The variable whose value differs in each iteration: the index of a `for`, the tile of a `while` over tiles that are
/// handed out, or the variable that a `while` compares with a bound.
pub(crate) fn index(prog: &Program, l: &Loop) -> Option<VarId> {
    l.index().or_else(|| Some(tested(prog, l)?.0))
}

/// The bound of the index.
pub(crate) fn bound<'p>(prog: &'p Program, l: &'p Loop) -> Option<&'p Expr> {
    l.bound.as_ref().or_else(|| Some(tested(prog, l)?.1))
}

/// The step of the index; the last but one instruction of the loop adds it.
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
