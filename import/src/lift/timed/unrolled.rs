//! Loads of loops that the assembler unrolls.
//!
//! ptxas unrolls a loop that only loads and computes by four, and what is left by two and one. It issues the loads of several
//! iterations of an unrolled step together. These are four iterations of up to 11 instructions of PTX, two of 15 or 19, and
//! one of 27. A warp waits for these loads, and then issues the next. Source: the machine code of 39 norms and sums of
//! rows that Triton compiled for `sm_90a`. Each loop of up to 38 instructions of PTX is unrolled, and none of 56 and more.

use crate::lift::merge::{Merged, MergedKind};
use crate::lift::tree::{Effect, Global, GlobalAccess};
use crate::symbolic::{Arena, Atom, Term};

/// Most instructions of a loop that is unrolled: between the longest that is and the shortest that is not.
const MOST: u32 = 48;
/// Iterations of the steps of an unrolled loop, in order.
const STEPS: [usize; 3] = [4, 2, 1];
/// Longest loop of which the last iterations are told apart.
const LONGEST: i64 = 4096;

/// The body of a loop, by its header and count, with uses of loads at the end of each unrolled step only.
pub(crate) fn unrolled(arena: &mut Arena, (header, count): (u32, Term), body: Vec<Merged>) -> Vec<Merged> {
    let Some(count) = arena.constant(count).filter(|n| (2..=LONGEST).contains(n)) else { return body };
    let Some(instructions) = only_loads(&body) else { return body };
    let ends = group_ends(count as usize, in_flight(instructions)).into_iter().map(i64::from).collect();
    let counter = arena.atom(Atom::Counter(header));
    let last = arena.table(counter, ends, vec![1]);
    let waits = |n: &Merged| matches!(&n.kind, MergedKind::Op(ops) if matches!(ops[0].2, Effect::Use(_)));
    let wrap = |n: Merged| match waits(&n) {
        true => Merged { at: n.at, part: n.part, warps: n.warps, kind: MergedKind::If(last, vec![n], Vec::new()) },
        false => n,
    };
    body.into_iter().map(wrap).collect()
}

/// The instructions of a loop's body, if it only loads to registers and computes, with few instructions.
fn only_loads(body: &[Merged]) -> Option<u32> {
    let (mut loads, mut instructions) = (0, 0);
    for n in body {
        let MergedKind::Op(ops) = &n.kind else { return None };
        match &ops[0].2 {
            Effect::Work(w) => instructions += w.int + w.fma + w.special,
            Effect::Use(_) => {}
            Effect::Global(Global { how: GlobalAccess::Load(_), instructions: n, .. }) => {
                (loads, instructions) = (loads + 1, instructions + n);
            }
            _ => return None,
        }
    }
    (loads > 0 && instructions <= MOST).then_some(instructions)
}

/// Iterations of an unrolled step whose loads are in flight together. Together they have at most as many instructions as the
/// longest loop that is unrolled: limits of 44 to 53 agree with the machine code.
fn in_flight(instructions: u32) -> usize {
    STEPS.into_iter().find(|n| *n as u32 * instructions <= MOST).unwrap_or(1)
}

/// For each of `count` iterations, whether it is the last one whose loads are in flight together. `together` iterations of
/// a step are.
fn group_ends(count: usize, together: usize) -> Vec<bool> {
    let mut ends = vec![false; count];
    let mut at = 0;
    for step in STEPS {
        while count - at >= step {
            (at..at + step).filter(|i| (i + 1 - at).is_multiple_of(together.min(step))).for_each(|i| ends[i] = true);
            at += step;
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::{group_ends, in_flight};

    /// The iterations behind which a warp waits, from 1.
    fn waits(count: usize, together: usize) -> Vec<usize> {
        let ends = group_ends(count, together);
        (1..=count).filter(|i| ends[i - 1]).collect()
    }

    #[test]
    fn steps_of_four_come_first_and_then_two_and_one() {
        assert_eq!((waits(3, 4), waits(4, 4), waits(11, 4)), (vec![2, 3], vec![4], vec![4, 8, 10, 11]));
    }

    #[test]
    fn loads_of_long_iterations_are_in_flight_by_two_or_alone() {
        assert_eq!([7, 9, 11, 15, 19, 27].map(in_flight), [4, 4, 4, 2, 2, 1]);
        assert_eq!((waits(7, 2), waits(3, 1)), (vec![2, 4, 6, 7], vec![1, 2, 3]));
    }
}
