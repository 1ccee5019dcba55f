//! What keeps a verdict from being about every trip count, whatever the runs show.

use warpline_sim::ir::{Instr, Op, Program};

/// Why a proof for one set of run-time values is not one for all, or `None`.
pub(crate) fn run_time(prog: &Program) -> Option<String> {
    let op = |what: fn(&Op) -> bool| {
        prog.code.iter().position(|i| matches!(i, Instr::Op { op, .. } if what(op))).map(|pc| prog.site(pc as u32))
    };
    if let Some(site) = op(|o| matches!(o, Op::NextTile { .. })) {
        return Some(format!(
            "line {}: no tile beside a CTA's first is handed out here, at run time some are",
            site.line
        ));
    }
    let t = prog.tapes.first()?;
    Some(format!("`{}` is known at run time only; the value that the kernel gives for runs was taken", t.name))
}

/// Registers that change hands in an order the schedule chooses: then one run decides nothing.
pub(crate) fn registers(prog: &Program) -> Option<String> {
    let mut grown: Option<usize> = None;
    for (pc, i) in prog.code.iter().enumerate() {
        let Instr::Op { op: Op::Regs { inc, .. }, .. } = i else { continue };
        let looped = prog.loops.iter().any(|l| (l.head..l.end).contains(&(pc as u32)));
        if looped || (!inc && grown.is_some()) {
            let line = prog.site(pc as u32).line;
            return Some(format!(
                "line {line}: registers change hands more than once, and who gets them first can matter"
            ));
        }
        if *inc {
            grown = Some(pc);
        }
    }
    None
}
