//! Every expression of an instruction, with what it is for.

use warpline_sim::ir::{BarRef, Class, Expr, Instr, Op, Phase, Place, Program, Sel, Where, Who};

/// What an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The new value of a variable.
    Set,
    /// Decides where an agent goes on.
    Guard,
    /// Which slot, part, barrier, phase, CTA.
    Slot,
    /// Which tile of a global matrix; also the expectation of one.
    Tile,
}

/// Calls `f` on each.
pub(crate) fn each(prog: &Program, i: &Instr, f: &mut impl FnMut(Use, &Expr)) {
    match i {
        Instr::Set(_, e) => f(Use::Set, e),
        Instr::Unless(e, _) | Instr::Only(Who::Cta(e), _) => f(Use::Guard, e),
        Instr::Op { op, .. } => of_op(prog, op, f),
        Instr::Jump(_) | Instr::Only(..) | Instr::End => {}
    }
}

fn of_op(prog: &Program, op: &Op, f: &mut impl FnMut(Use, &Expr)) {
    match op {
        Op::Move { src, dst, signals, multicast, .. } => {
            place(prog, src, f);
            place(prog, dst, f);
            signals.iter().for_each(|b| bar(b, f));
            multicast.iter().for_each(|e| f(Use::Slot, e));
        }
        Op::Mma { a, b, acc, .. } => [a, b, acc].into_iter().for_each(|p| place(prog, p, f)),
        Op::Alu { reads, writes, count, .. } => {
            reads.iter().chain(writes).for_each(|p| place(prog, p, f));
            f(Use::Slot, count);
        }
        Op::Zero(p) => place(prog, p, f),
        Op::CommitUmma(bars) => bars.iter().for_each(|b| bar(b, f)),
        Op::Wait(_, n) => f(Use::Guard, n),
        Op::CpArrive { bar: b, .. } => bar(b, f),
        Op::Arrive { bar: b, count, expect, .. } => {
            bar(b, f);
            f(Use::Slot, count);
            expect.iter().for_each(|e| f(Use::Slot, e));
        }
        Op::Expect { bar: b, bytes } => {
            bar(b, f);
            f(Use::Slot, bytes);
        }
        Op::MbarWait { bar: b, phase: Phase::Absolute(e) | Phase::Parity(e) } => {
            bar(b, f);
            f(Use::Slot, e);
        }
        Op::Named { index, threads, .. } => {
            f(Use::Slot, index);
            f(Use::Slot, threads);
        }
        Op::Put { dst, value } => {
            place(prog, dst, f);
            f(Use::Slot, value);
        }
        Op::Get { src, .. } => place(prog, src, f),
        Op::NextTile { dst, signals } => {
            place(prog, dst, f);
            bar(signals, f);
        }
        Op::Commit(_)
        | Op::Init(_)
        | Op::Inval(_)
        | Op::Barrier(_)
        | Op::WarpSync
        | Op::ClusterArrive { .. }
        | Op::ClusterWait
        | Op::Fence(_)
        | Op::TmemAlloc { .. }
        | Op::TmemDealloc { .. }
        | Op::Regs { .. }
        | Op::GridWait => {}
    }
}

fn place(prog: &Program, p: &Place, f: &mut impl FnMut(Use, &Expr)) {
    let at = if global(prog, p) { Use::Tile } else { Use::Slot };
    p.at.iter().for_each(|e| f(at, e));
    sel(&p.sel, Use::Slot, f);
    p.cta.iter().for_each(|e| f(Use::Slot, e));
    if let Some(t) = &p.tile {
        t.at.iter().for_each(|e| f(Use::Tile, e));
        sel(&t.sel, Use::Slot, f);
    }
}

fn sel(s: &Sel, what: Use, f: &mut impl FnMut(Use, &Expr)) {
    s.rows.iter().chain(&s.cols).for_each(|p| f(what, &p.index));
}

fn bar(b: &BarRef, f: &mut impl FnMut(Use, &Expr)) {
    f(Use::Slot, &b.stage);
    if let Where::Cta(e) | Where::Ctas(e) = &b.at {
        f(Use::Slot, e);
    }
}

/// Whether a place is of a global matrix.
pub(crate) fn global(prog: &Program, p: &Place) -> bool {
    prog.objects[p.obj as usize].class == Class::Global
}
