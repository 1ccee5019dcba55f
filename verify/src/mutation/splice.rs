//! Insertion and exchange of instructions; jumps and loops keep their target statements.

use std::ops::Range;

use warpline_sim::ir::{Executors, Instr, Pc, Program};

/// Calls `f` on every address of an instruction.
fn targets(prog: &mut Program, f: impl Fn(&mut Pc)) {
    for i in &mut prog.code {
        i.target_mut().into_iter().for_each(&f);
    }
    for l in &mut prog.loops {
        f(&mut l.head);
        f(&mut l.end);
    }
}

/// Inserts instructions at `at`. Their source place is that of the statement before (`behind`) or of the statement at
/// `at`. A jump over the statement before also skips instructions inserted behind it, and no others.
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

/// Whether an instruction is a condition or a choice of warps that jumps to `end`.
pub(crate) fn guards(i: &Instr, end: usize) -> bool {
    let chooses = match i {
        Instr::Unless(..) => true,
        Instr::Only(who, _) => *who != Executors::Elected,
        _ => false,
    };
    chooses && i.target() == Some(end as Pc)
}

/// The statement that starts at `pc`: its operations, or a whole block or condition without a loop inside.
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
        // A `let` belongs to the code after it, and a jump ends a block.
        Instr::Set(..) | Instr::Jump(_) | Instr::End => return None,
    }
    (end <= prog.code.len()).then_some(pc..end)
}

/// Whether no jump from outside leads between the instructions `start` and `end`, and no jump from inside leads beyond
/// them.
pub(crate) fn closed(prog: &Program, start: usize, end: usize) -> bool {
    prog.code.iter().enumerate().all(|(at, i)| match i.target().map(|to| to as usize) {
        Some(to) if (start..end).contains(&at) => (start..=end).contains(&to),
        Some(to) => to <= start || to >= end,
        None => true,
    })
}

/// Swaps the statement at `first` with the next one. [`closed`] holds from the start of the first to the end of the
/// second.
pub(crate) fn swap(prog: &mut Program, first: usize, second: Range<usize>) {
    let (a, b) = (second.start - first, second.len());
    for at in second.clone() {
        if let Some(to) = prog.code[at].target_mut() {
            *to -= a as Pc;
        }
    }
    debug_assert!(prog.code[first..second.start].iter().all(|i| i.target().is_none()), "a synchronization jumps");
    prog.code[first..second.end].rotate_right(b);
    prog.at[first..second.end].rotate_right(b);
}
