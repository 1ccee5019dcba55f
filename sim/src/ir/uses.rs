//! Every expression of an instruction, with its purpose.

use super::{BarRef, BarrierCta, Class, Executors, Expr, Instr, ObjId, Op, Phase, Place, Program, Selection};

/// The purpose of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprUse {
    /// The new value of a variable.
    Set,
    /// A condition or count that decides where an agent continues.
    Guard,
    /// A slot, part, barrier, phase or CTA.
    Slot,
    /// A tile of an object along a dimension, usually of a global one; also the tile that a read expects.
    Tile(ObjId, usize),
}

/// Calls `f` on each expression of an instruction.
pub fn each(prog: &Program, i: &Instr, f: &mut impl FnMut(ExprUse, &Expr)) {
    each_mut(prog, &mut i.clone(), &mut |what, e| f(what, e));
}

/// Calls `f` on each expression of an instruction, mutable; `prog` says which objects are global.
pub fn each_mut(prog: &Program, i: &mut Instr, f: &mut impl FnMut(ExprUse, &mut Expr)) {
    match i {
        Instr::Set(_, e) => f(ExprUse::Set, e),
        Instr::Unless(e, _) | Instr::Only(Executors::Cta(e), _) => f(ExprUse::Guard, e),
        Instr::Op { op, .. } => of_op(prog, op, f),
        Instr::Jump(_) | Instr::Only(..) | Instr::End => {}
    }
}

fn of_op(prog: &Program, op: &mut Op, f: &mut impl FnMut(ExprUse, &mut Expr)) {
    match op {
        Op::Move { src, dst, signals, multicast, .. } => {
            place(prog, src, f);
            place(prog, dst, f);
            signals.iter_mut().for_each(|b| bar(b, f));
            multicast.iter_mut().for_each(|e| f(ExprUse::Slot, e));
        }
        Op::Mma { a, b, acc, .. } => [a, b, acc].into_iter().for_each(|p| place(prog, p, f)),
        Op::Alu { reads, writes, count, .. } => {
            reads.iter_mut().chain(writes).for_each(|p| place(prog, p, f));
            f(ExprUse::Slot, count);
        }
        Op::Zero(p) => place(prog, p, f),
        Op::CommitUmma(bars) => bars.iter_mut().for_each(|b| bar(b, f)),
        Op::Wait(_, n) => f(ExprUse::Guard, n),
        Op::CpArrive { bar: b, .. } => bar(b, f),
        Op::Arrive { bar: b, count, expect, .. } => {
            bar(b, f);
            f(ExprUse::Slot, count);
            expect.iter_mut().for_each(|e| f(ExprUse::Slot, e));
        }
        Op::Expect { bar: b, bytes } => {
            bar(b, f);
            f(ExprUse::Slot, bytes);
        }
        Op::MbarWait { bar: b, phase: Phase::Absolute(e) | Phase::Parity(e) } => {
            bar(b, f);
            f(ExprUse::Slot, e);
        }
        Op::MbarWait { bar: b, phase: Phase::State(_) } => bar(b, f),
        Op::Named { index, threads, .. } => {
            f(ExprUse::Slot, index);
            f(ExprUse::Slot, threads);
        }
        Op::Put { dst, value } => {
            place(prog, dst, f);
            f(ExprUse::Slot, value);
        }
        Op::Get { src, .. } => place(prog, src, f),
        Op::Counter { at, value, .. } => {
            f(ExprUse::Slot, &mut at.index);
            f(ExprUse::Slot, value);
        }
        Op::NextTile { dst, signals } => {
            place(prog, dst, f);
            bar(signals, f);
        }
        Op::Init(list) | Op::Inval(list) => {
            list.iter_mut().filter_map(|s| s.stage.as_mut()).for_each(|e| f(ExprUse::Slot, e));
        }
        Op::Commit(_)
        | Op::Barrier(_)
        | Op::WarpSync
        | Op::Elect
        | Op::ClusterArrive { .. }
        | Op::ClusterWait
        | Op::Fence(_)
        | Op::TmemAlloc { .. }
        | Op::TmemDealloc { .. }
        | Op::Regs { .. }
        | Op::GridWait => {}
    }
}

fn place(prog: &Program, p: &mut Place, f: &mut impl FnMut(ExprUse, &mut Expr)) {
    let global = prog.objects[p.obj as usize].class == Class::Global;
    let own = |dim| if global { ExprUse::Tile(p.obj, dim) } else { ExprUse::Slot };
    p.at.iter_mut().enumerate().for_each(|(dim, e)| f(own(dim), e));
    // The comparison with the ends of the matrix decides as much as any other.
    if prog.compares_ends() {
        p.inside.iter_mut().flatten().enumerate().for_each(|(dim, e)| f(own(dim), e));
    }
    sel(&mut p.sel, f);
    p.cta.iter_mut().for_each(|e| f(ExprUse::Slot, e));
    if let Some(t) = &mut p.tile {
        t.at.iter_mut().enumerate().for_each(|(dim, e)| f(ExprUse::Tile(t.obj, dim), e));
        sel(&mut t.sel, f);
    }
}

fn sel(s: &mut Selection, f: &mut impl FnMut(ExprUse, &mut Expr)) {
    s.rows.iter_mut().chain(&mut s.cols).for_each(|p| f(ExprUse::Slot, &mut p.index));
}

fn bar(b: &mut BarRef, f: &mut impl FnMut(ExprUse, &mut Expr)) {
    f(ExprUse::Slot, &mut b.stage);
    if let BarrierCta::Cta(e) | BarrierCta::Ctas(e) = &mut b.at {
        f(ExprUse::Slot, e);
    }
}
