//! Moving instructions: every jump and every loop still means the statement it meant.

use std::ops::Range;

use warpline_sim::ir::{Executors, Instr, Pc, Program};

/// Calls `f` on every place that names an instruction.
fn targets(prog: &mut Program, f: impl Fn(&mut Pc)) {
    for i in &mut prog.code {
        i.target_mut().into_iter().for_each(&f);
    }
    for l in &mut prog.loops {
        f(&mut l.head);
        f(&mut l.end);
    }
}

/// Puts instructions at `at`, with the source place of the statement in front of it (`behind`) or of the one that stood
/// there. Who skips the statement in front skips what is put behind it, and nothing else.
pub(crate) fn insert(prog: &mut Program, at: usize, code: Vec<Instr>, behind: bool) {
    let n = code.len();
    let site = prog.at[at - behind as usize];
    targets(prog, |to| {
        if *to as usize > at || (behind && *to as usize == at) {
            *to += n as Pc;
        }
    });
    prog.code.splice(at..at, code);
    prog.at.splice(at..at, std::iter::repeat_n(site, n));
}

/// Whether an instruction is a condition or a choice of warps that skips to `end`.
pub(crate) fn guards(i: &Instr, end: usize) -> bool {
    let chooses = match i {
        Instr::Unless(..) => true,
        Instr::Only(who, _) => *who != Executors::Elected,
        _ => false,
    };
    chooses && i.target() == Some(end as Pc)
}

/// The statement that begins at `pc`: the operations of one, or a whole block or condition without a loop in it.
pub(crate) fn unit(prog: &Program, pc: usize) -> Option<Range<usize>> {
    let mut end = pc + 1;
    match prog.code.get(pc)? {
        Instr::Op { .. } => {
            let more = |at: usize| prog.at.get(at) == Some(&prog.at[pc]) && matches!(prog.code[at], Instr::Op { .. });
            while more(end) {
                end += 1;
            }
        }
        Instr::Only(..) | Instr::Unless(..) => {
            let mut at = pc;
            while at < end {
                match prog.code[at].target().map(|to| to as usize) {
                    Some(to) if to <= at => return None,
                    Some(to) => end = end.max(to),
                    None => {}
                }
                at += 1;
            }
        }
        // A `let` belongs to what stands behind it; a jump ends a block.
        Instr::Set(..) | Instr::Jump(_) | Instr::End => return None,
    }
    (end <= prog.code.len()).then_some(pc..end)
}

/// Whether nobody outside jumps between the instructions from `start` to `end`, and nobody inside further.
pub(crate) fn closed(prog: &Program, start: usize, end: usize) -> bool {
    prog.code.iter().enumerate().all(|(at, i)| match i.target().map(|to| to as usize) {
        Some(to) if (start..end).contains(&at) => (start..=end).contains(&to),
        Some(to) => to <= start || to >= end,
        None => true,
    })
}

/// Exchanges the statement at `first` with the one behind it; `closed` holds from the first's start to the second's end.
pub(crate) fn swap(prog: &mut Program, first: usize, second: Range<usize>) {
    let (a, b) = (second.start - first, second.len());
    for at in second.clone() {
        if let Some(to) = prog.code[at].target_mut() {
            *to -= a as Pc;
        }
    }
    debug_assert!(prog.code[first..second.start].iter().all(|i| i.target().is_none()), "a synchronisation jumps");
    prog.code[first..second.end].rotate_right(b);
    prog.at[first..second.end].rotate_right(b);
}
