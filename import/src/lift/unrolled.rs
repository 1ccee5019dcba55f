//! Loads of loops that the assembler unrolls.
//!
//! ptxas unrolls a loop that only loads and computes by four, and what is left by two and one. It issues the loads of an
//! unrolled step together. So a warp waits for its loads once a step. Source: the machine code of 27 norms and sums of rows
//! that Triton compiled for `sm_90a`. Each loop of up to 38 instructions of PTX is unrolled, and none of 56 and more.

use crate::symbolic::{Arena, Atom, Term};

use super::merge::{Merged, MergedKind};
use super::tree::{Effect, Global, GlobalAccess};

/// Most instructions of a loop that is unrolled: between the longest that is and the shortest that is not.
const MOST: u32 = 48;
/// Iterations of the steps of an unrolled loop, in order.
const STEPS: [usize; 3] = [4, 2, 1];
/// Longest loop of which the last iterations are told apart.
const LONGEST: i64 = 4096;

/// The body of a loop, by its header and count, with uses of loads at the end of each unrolled step only.
pub(super) fn unrolled(arena: &mut Arena, (header, count): (u32, Term), body: Vec<Merged>) -> Vec<Merged> {
    let Some(count) = arena.constant(count).filter(|n| (2..=LONGEST).contains(n)) else { return body };
    if !only_loads(&body) {
        return body;
    }
    let ends = step_ends(count as usize).into_iter().map(i64::from).collect();
    let counter = arena.atom(Atom::Counter(header));
    let last = arena.table(counter, ends, vec![1]);
    let waits = |n: &Merged| matches!(&n.kind, MergedKind::Op(ops) if matches!(ops[0].2, Effect::Use(_)));
    let wrap = |n: Merged| match waits(&n) {
        true => Merged { at: n.at, part: n.part, warps: n.warps, kind: MergedKind::If(last, vec![n], Vec::new()) },
        false => n,
    };
    body.into_iter().map(wrap).collect()
}

/// Whether a loop's body only loads to registers and computes, with few instructions.
fn only_loads(body: &[Merged]) -> bool {
    let (mut loads, mut instructions) = (0, 0);
    for n in body {
        let MergedKind::Op(ops) = &n.kind else { return false };
        match &ops[0].2 {
            Effect::Work(w) => instructions += w.int + w.fma + w.special,
            Effect::Use(_) => {}
            Effect::Global(Global { how: GlobalAccess::Load(_), instructions: n, .. }) => {
                (loads, instructions) = (loads + 1, instructions + n);
            }
            _ => return false,
        }
    }
    loads > 0 && instructions <= MOST
}

/// For each of `count` iterations, whether it is the last one of its step.
fn step_ends(count: usize) -> Vec<bool> {
    let mut ends = vec![false; count];
    let mut at = 0;
    for step in STEPS {
        while count - at >= step {
            at += step;
            ends[at - 1] = true;
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::step_ends;

    #[test]
    fn steps_of_four_come_first_and_then_two_and_one() {
        let ends = |n: usize| (1..=n).filter(|i| step_ends(n)[i - 1]).collect::<Vec<usize>>();
        assert_eq!((ends(3), ends(4), ends(11)), (vec![2, 3], vec![4], vec![4, 8, 10, 11]));
    }
}
