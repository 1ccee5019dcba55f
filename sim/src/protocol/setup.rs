//! Facts about a program before its first step: the streams, proxies and groups that the program uses.

use crate::ir::{ArrivalsPer, BarRef, Class, Executors, Expr, Instr, Op, Place, Program};

use super::agents::warps_at;
use super::stream::{KINDS, StreamKind};

/// Number of the newest groups that the waits of a program can ask about.
pub(super) fn groups_asked(prog: &Program) -> usize {
    let most = prog.code.iter().filter_map(|i| match i {
        Instr::Op { op: Op::Wait(_, n), .. } => Some(n.constant().map_or(64, |n| n.clamp(0, 64) as usize)),
        _ => None,
    });
    most.max().unwrap_or(0) + 2
}

/// The warps that use each kind of stream, as bits.
pub(super) fn streams_used(prog: &Program) -> [u64; KINDS] {
    use crate::ir::{MmaKind, MoveKind};
    let mut used = [0; KINDS];
    let manual = prog.waits == crate::ir::Waits::Manual;
    for (pc, i) in (0..).zip(&prog.code) {
        let Instr::Op { op, .. } = i else { continue };
        let kinds: &[StreamKind] = match op {
            Op::Move { how, .. } => match how {
                MoveKind::CpAsync => &[StreamKind::Cp],
                MoveKind::LdsDma => &[StreamKind::Vm],
                MoveKind::TmaStore => &[StreamKind::Bulk, StreamKind::BulkRead],
                MoveKind::TmemLd => &[StreamKind::TmemLd],
                MoveKind::TmemSt => &[StreamKind::TmemSt],
                MoveKind::Ldg | MoveKind::Store if manual => &[StreamKind::Vm],
                MoveKind::Lds | MoveKind::Sts if manual => &[StreamKind::Lgkm],
                MoveKind::Ldg | MoveKind::Lds => &[StreamKind::Scoreboard],
                _ => &[],
            },
            Op::Mma { kind: MmaKind::Wgmma, .. } => &[StreamKind::Wgmma],
            Op::Mma { kind: MmaKind::Umma | MmaKind::UmmaPair, .. } | Op::CommitUmma(_) => &[StreamKind::Tensor],
            Op::CpArrive { .. } => &[StreamKind::Cp],
            Op::Wait(q, _) => &[StreamKind::of(*q)],
            _ => &[],
        };
        let read = matches!(op, Op::Wait(crate::ir::Queue::Bulk, _)).then_some(StreamKind::BulkRead);
        for k in kinds.iter().chain(&read) {
            used[*k as usize] |= warps_at(prog, pc);
        }
    }
    // The first agent of a warpgroup owns the warpgroup's stream of products.
    let products = &mut used[StreamKind::Wgmma as usize];
    *products = (0..16).filter(|g| *products >> (4 * g) & 0xf != 0).fold(0, |warps, g| warps | 0xf << (4 * g));
    used
}

/// Whether the asynchronous proxy reads shared memory.
pub(super) fn reads_by_async_proxy(prog: &Program) -> bool {
    use crate::ir::{MmaKind, MoveKind};
    let shared = |p: &crate::ir::Place| prog.objects[p.obj as usize].class == Class::Shared;
    prog.code.iter().any(|i| match i {
        Instr::Op { op: Op::Move { how: MoveKind::TmaStore, .. }, .. } => true,
        Instr::Op { op: Op::Mma { kind, a, b, .. }, .. } => *kind != MmaKind::Warp && (shared(a) || shared(b)),
        _ => false,
    })
}

/// Whether a barrier counts copies (`cp.arrive`). A waiter then learns how far the copying thread had come, and sees
/// only the copies.
pub(super) fn arrives_behind_copies(prog: &Program) -> bool {
    prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::CpArrive { .. }, .. }))
}

/// Whether a copy signals a barrier with no arrival of its own warp beside the copy in the text, before or behind, and
/// no possible wait in between. Then only the copy tells a waiter of the barrier how far its issuer had come.
pub(super) fn copies_without_arrivals(prog: &Program) -> bool {
    let waits = |i: &Instr| {
        let Instr::Op { op, .. } = i else { return false };
        !matches!(
            op,
            Op::Move { .. }
                | Op::Mma { .. }
                | Op::Alu { .. }
                | Op::Zero(_)
                | Op::Commit(_)
                | Op::CommitUmma(_)
                | Op::Arrive { .. }
                | Op::Expect { .. }
                | Op::Fence(_)
                | Op::Put { .. }
                | Op::NextTile { .. }
        )
    };
    let alone = |(pc, i): (usize, &Instr)| {
        let (Instr::Op { op: Op::Move { signals: Some(bar), .. }, .. }
        | Instr::Op { op: Op::NextTile { signals: bar, .. }, .. }) = i
        else {
            return false;
        };
        let warps = warps_at(prog, pc as u32);
        let arrives = |at: usize| {
            let on_it = matches!(&prog.code[at], Instr::Op { op: Op::Arrive { bar: b, .. }, .. } if b.bar == bar.bar);
            on_it && warps & !warps_at(prog, at as u32) == 0
        };
        let near = |at: &usize| !waits(&prog.code[*at]);
        !(0..pc).rev().take_while(near).chain((pc + 1..prog.code.len()).take_while(near)).any(arrives)
    };
    prog.code.iter().enumerate().any(alone)
}

/// Whether lanes wait for each other without seeing each other's accesses (`elect.sync`).
pub(super) fn elects(prog: &Program) -> bool {
    prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::Elect, .. }))
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
    for (i, elected) in prog.code.iter().zip(elected) {
        let Instr::Op { op, .. } = i else { continue };
        let mut counts = |bar: &BarRef, n: i64| {
            let bar = bar.bar as usize;
            let first = *times[bar].get_or_insert(n);
            list[bar] |= n != first || n <= 0 || prog.mbars[bar].count as i64 % n != 0;
        };
        match op {
            Op::Arrive { bar, per, count: Expr::Const(n), expect: None, .. }
                if *elected || *per != ArrivalsPer::Thread =>
            {
                counts(bar, *n);
            }
            Op::CommitUmma(bars) => bars.iter().for_each(|bar| counts(bar, 1)),
            Op::MbarWait { bar, .. }
            | Op::Expect { bar, .. }
            | Op::Arrive { bar, .. }
            | Op::CpArrive { bar, .. }
            | Op::Move { signals: Some(bar), .. }
            | Op::NextTile { signals: bar, .. } => list[bar.bar as usize] = true,
            _ => {}
        }
    }
    list
}

/// Whether a statement writes an object, by object.
pub(super) fn written(prog: &Program) -> Vec<bool> {
    let mut list = vec![false; prog.objects.len()];
    for i in &prog.code {
        let Instr::Op { op, .. } = i else { continue };
        let mut write = |p: &Place| list[p.obj as usize] = true;
        match op {
            Op::Move { dst, .. } | Op::Put { dst, .. } | Op::NextTile { dst, .. } => write(dst),
            Op::Mma { acc, .. } => write(acc),
            Op::Zero(p) => write(p),
            Op::Alu { writes, .. } => writes.iter().for_each(write),
            _ => {}
        }
    }
    list
}
