//! Facts about a program before its first step: the streams, proxies and groups that the program uses.

use crate::ir::{ArrivalsPer, Class, Executors, Instr, MbarId, Op, Program};

use super::op::{BarrierAction, BarrierUse, instruction};
use super::stream::{KINDS, StreamKind};

/// Number of the newest groups that the waits of a program can ask about.
pub(super) fn groups_asked(prog: &Program) -> usize {
    let most = prog.code.iter().filter_map(|i| match i {
        Instr::Op { op: Op::Wait(_, n), .. } => Some(n.constant().map_or(64, |n| n.clamp(0, 64) as usize)),
        _ => None,
    });
    most.max().unwrap_or(0) + 2
}

/// The instructions of a program, with their positions.
fn instructions(prog: &Program) -> impl Iterator<Item = (u32, &Op)> {
    (0..).zip(&prog.code).filter_map(|(pc, i)| if let Instr::Op { op, .. } = i { Some((pc, op)) } else { None })
}

/// The warps that use each kind of stream, as bits; `warps` has those at each instruction.
pub(super) fn streams_used(prog: &Program, warps: &[u64]) -> [u64; KINDS] {
    let mut used = [0; KINDS];
    for (pc, op) in instructions(prog) {
        for k in instruction(op, |i| i.streams(prog.waits)) {
            used[*k as usize] |= warps[pc as usize];
        }
    }
    // The first agent of a warpgroup owns the warpgroup's stream of products.
    let products = &mut used[StreamKind::Wgmma as usize];
    *products = (0..16).filter(|g| *products >> (4 * g) & 0xf != 0).fold(0, |warps, g| warps | 0xf << (4 * g));
    used
}

/// Whether the asynchronous proxy reads shared memory.
pub(super) fn reads_by_async_proxy(prog: &Program) -> bool {
    instructions(prog).any(|(_, op)| instruction(op, |i| i.reads_by_async_proxy(prog)))
}

/// Whether an instruction uses an mbarrier in a way that `test` asks for.
fn uses_barrier(op: &Op, mut test: impl FnMut(&BarrierUse<'_>) -> bool) -> bool {
    instruction(op, |i| i.barriers().iter().any(&mut test))
}

/// Whether a barrier counts copies (`cp.arrive`). A waiter then learns how far the copying thread had come, and sees
/// only the copies.
pub(super) fn arrives_behind_copies(prog: &Program) -> bool {
    instructions(prog).any(|(_, op)| uses_barrier(op, |b| b.action == BarrierAction::ArriveBehindCopies))
}

/// Whether a copy signals a barrier without an arrival of its own warp beside it. Such an arrival stands before or behind
/// the copy in the text, with no possible wait in between. Then only the copy tells a waiter of the barrier how far its
/// issuer had come. `warps` has the warps at each instruction.
pub(super) fn copies_without_arrivals(prog: &Program, warps: &[u64]) -> bool {
    let waits = |i: &Instr| if let Instr::Op { op, .. } = i { instruction(op, |i| i.may_wait()) } else { false };
    let alone = |pc: usize, bar: MbarId| {
        let arrives = |at: usize| {
            let Instr::Op { op, .. } = &prog.code[at] else { return false };
            let on_it = uses_barrier(op, |b| b.action == BarrierAction::Arrive && b.bar.bar == bar);
            on_it && warps[pc] & !warps[at] == 0
        };
        let near = |at: &usize| !waits(&prog.code[*at]);
        !(0..pc).rev().take_while(near).chain((pc + 1..prog.code.len()).take_while(near)).any(arrives)
    };
    instructions(prog)
        .any(|(pc, op)| uses_barrier(op, |b| b.action == BarrierAction::Deliver && alone(pc as usize, b.bar.bar)))
}

/// Whether lanes wait for each other without seeing each other's accesses (`elect.sync`, and a state that one lane passes
/// on).
pub(super) fn elects(prog: &Program) -> bool {
    let passes_on = |op: &Op| matches!(op, Op::Arrive { state: Some(_), per, .. } if *per != ArrivalsPer::Thread);
    instructions(prog).any(|(_, op)| matches!(op, Op::Elect) || passes_on(op))
}

/// Whether the program uses tensor memory.
pub(super) fn uses_tensor_memory(prog: &Program) -> bool {
    prog.objects.iter().any(|o| o.class == Class::Tmem)
}

/// Whether the program has a `wgmma`.
pub(super) fn uses_wgmma(prog: &Program) -> bool {
    use crate::ir::MmaKind;
    prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::Mma { kind: MmaKind::Wgmma, .. }, .. }))
}

/// For each instruction, whether it is inside an `elect:` block.
pub fn elected_code(prog: &Program) -> Vec<bool> {
    let mut list = vec![false; prog.code.len()];
    for (pc, i) in prog.code.iter().enumerate() {
        if let Instr::Only(Executors::Elected, to) = i {
            // Up to where the other lanes go on: that is further back where the block ends an iteration.
            let mut open = vec![pc + 1];
            while let Some(at) = open.pop() {
                if at == *to as usize || std::mem::replace(&mut list[at], true) {
                    continue;
                }
                let next = &prog.code[at];
                open.extend(next.target().map(|t| t as usize));
                if !matches!(next, Instr::Jump(_) | Instr::End) {
                    open.push(at + 1);
                }
            }
        }
    }
    list
}

/// For each declaration of barriers, whether some outcome depends on the phase in which an arrival is counted. No
/// outcome does where three conditions hold: no agent waits for the barrier, no bytes are counted on it, and all
/// arrivals have the same count, which divides the barrier's count. `elected` is [`elected_code`].
pub(super) fn phases_matter(prog: &Program, elected: &[bool]) -> Vec<bool> {
    let (mut list, mut times) = (vec![false; prog.mbars.len()], vec![None; prog.mbars.len()]);
    for (pc, op) in instructions(prog) {
        instruction(op, |i| {
            for used in i.barriers() {
                let bar = used.bar.bar as usize;
                // An arrival of each thread is as many arrivals as there are threads.
                list[bar] |= match used.count.filter(|_| elected[pc as usize] || !used.per_thread) {
                    Some(n) => {
                        let first = *times[bar].get_or_insert(n);
                        n != first || n <= 0 || prog.mbars[bar].count as i64 % n != 0
                    }
                    None => true,
                };
            }
        });
    }
    list
}

/// Whether a statement writes an object, by object.
pub(super) fn written(prog: &Program) -> Vec<bool> {
    let mut list = vec![false; prog.objects.len()];
    for (_, op) in instructions(prog) {
        instruction(op, |i| i.places().iter().filter(|p| p.writes).for_each(|p| list[p.place.obj as usize] = true));
    }
    list
}
