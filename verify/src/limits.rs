//! Reasons why a verdict cannot cover every trip count, whatever the runs show.

use warpline_sim::ir::{Expr, Instr, Op, Program, VarId};

use warpline_sim::ir::each;

/// The reason why a proof for one number of handed-out tiles is not a proof for every number: some instruction reads
/// the result of `clc`. `None` without such an instruction.
pub(crate) fn handed(prog: &Program) -> Option<String> {
    let asks = prog.code.iter().position(|i| matches!(i, Instr::Op { op: Op::NextTile { .. }, .. }))?;
    let answers =
        |v: VarId| prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::Get { var, .. }, .. } if *var == v));
    let mut looked_at = false;
    for i in &prog.code {
        each(prog, i, &mut |_, e| e.visit(&mut |x| looked_at |= matches!(x, Expr::Var(v) if answers(*v))));
    }
    let line = prog.site(asks as u32).line;
    looked_at
        .then(|| format!("line {line}: as many tiles are handed out as the grid has left, at run time fewer can be"))
}

/// The reason why a proof for one set of run-time values is not a proof for all; `None` where it is.
pub(crate) fn run_time(prog: &Program) -> Option<String> {
    let mut first = None;
    for i in &prog.code {
        each(prog, i, &mut |_, e| {
            e.visit(&mut |x| {
                if let Expr::Tape(t, _) = x {
                    first.get_or_insert(*t);
                }
            });
        });
    }
    let t = &prog.tapes[first? as usize];
    Some(format!("`{}` is known at run time only; the value that the kernel gives for runs was taken", t.name))
}
