//! Lemma 4: the cells of a certificate are a partition of the grid.

use warpline_sim::ir::{Env, Expr, Instr, Op, Program, Use, each};
use warpline_sim::protocol::{Axis, Cell, Placement};

use crate::Refusal;
use crate::schema::{self, CellProof};

/// The cell of an entry as the evaluator of forms has it.
pub(crate) fn placement(prog: &Program, axes: &[schema::Axis; 4]) -> Option<Placement> {
    let sound = axes.iter().all(|a| a.step >= 1 && a.count >= 1 && a.from >= 0);
    let fits = |a: &schema::Axis| a.step.checked_mul(a.count - 1).and_then(|n| n.checked_add(a.from)).is_some();
    let axes = axes.map(|a| Axis { lo: a.from, step: a.step, count: a.count });
    let sound = sound && axes.iter().all(|a| fits(&schema::Axis { from: a.lo, step: a.step, count: a.count }));
    if sound { Placement::of(prog, Cell { axes }) } else { None }
}

/// Whether each cluster of the grid lies in exactly one cell.
pub(crate) fn partition(prog: &Program, cells: &[CellProof]) -> Result<(), Refusal> {
    if let [CellProof { axes: None, .. }] = cells {
        return handed_out(prog).map_err(|why| Refusal::rejected("cells[0].axes", why));
    }
    for (i, cell) in cells.iter().enumerate() {
        let Some(axes) = &cell.axes else {
            return Err(Refusal::rejected(format!("cells[{i}].axes"), "one cluster stands for all, and is not alone"));
        };
        // A cell says no more than its part of the grid.
        let grid = &prog.grid;
        let line = grid.n == 1 && grid.z == 1;
        let ends = [grid.m, if line { 1 } else { grid.n }, if line { 1 } else { grid.z }, grid.len()];
        for (k, (axis, end)) in axes.iter().zip(ends).enumerate() {
            let last = axis.count.checked_sub(1).and_then(|n| n.checked_mul(axis.step)?.checked_add(axis.from));
            if axis.step < 1 || axis.count < 1 || axis.from < 0 || last.is_none_or(|last| last >= end) {
                return Err(Refusal::rejected(format!("cells[{i}].axes[{k}]"), "not a part of the grid"));
            }
        }
    }
    let within = |a: &schema::Axis, v: i64| v >= a.from && (v - a.from) % a.step == 0 && (v - a.from) / a.step < a.count;
    for id in 0..prog.grid.len() {
        let (m, n, z) = prog.grid.at(id);
        let holds = |c: &&CellProof| {
            c.axes.as_ref().is_some_and(|axes| axes.iter().zip([m, n, z, id]).all(|(axis, v)| within(axis, v)))
        };
        match cells.iter().filter(holds).count() {
            1 => {}
            0 => return Err(Refusal::rejected("cells", format!("no cell has cluster {id} of the grid"))),
            _ => return Err(Refusal::rejected("cells", format!("two cells have cluster {id} of the grid"))),
        }
    }
    Ok(())
}

/// Whether the first cluster, to which `clc` hands all tiles, can stand for all: nothing but the coordinates of tiles may
/// depend on the place of the CTA or on a tile that was handed out.
fn handed_out(prog: &Program) -> Result<(), String> {
    if !prog.hands_out() {
        return Err("tiles are not handed out, so each CTA must lie in a cell".into());
    }
    let mut placed = vec![false; prog.vars.len()];
    for i in &prog.code {
        if let Instr::Op { op: Op::Get { var, .. }, .. } = i {
            placed[*var as usize] = true;
        }
    }
    // Whether a tile was handed out at all is asked by every CTA.
    let passed = |x: &Expr| prog.loops.iter().any(|l| l.passed.is_some_and(|v| *x == Expr::Var(v)));
    let asks = |e: &Expr| {
        matches!(e, Expr::Binary(warpline_sim::ir::Binary::Ge, p) if p.1 == Expr::Const(0) && passed(&p.0))
    };
    let mut apart = None;
    // Variables take places on from each other: as often as there are variables is enough.
    for _ in 0..=prog.vars.len() {
        for (pc, i) in prog.code.iter().enumerate() {
            each(prog, i, &mut |what, e| {
                let mut reads = false;
                e.visit(&mut |x| {
                    reads |= match x {
                        Expr::Var(v) => placed[*v as usize],
                        Expr::Env(env) => !matches!(env, Env::Warp | Env::CtaRank | Env::TapeIndex),
                        _ => false,
                    }
                });
                match (what, i) {
                    (Use::Set, Instr::Set(v, _)) => placed[*v as usize] |= reads,
                    (Use::Tile(..), _) => {}
                    _ if reads && !asks(e) => apart = apart.or(Some(prog.site(pc as u32).line)),
                    _ => {}
                }
            });
        }
    }
    apart.map_or(Ok(()), |line| Err(format!("line {line} tells CTAs apart, or the tiles that they are handed")))
}
