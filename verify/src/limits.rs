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
        .then(|| format!("line {line}: all remaining tiles of the grid are handed out, while fewer can be at run time"))
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
    Some(format!("`{}` is known only at run time; it has the value that the kernel states for runs", t.name))
}
