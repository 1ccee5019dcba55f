//! Lemma 4: the cells of a certificate are a partition of the grid.

use warpline_sim::ir::{Binary, Env, Expr, ExprUse, Instr, Op, Program, each, gcd};
use warpline_sim::protocol::{Axis, Cell, Placement};

use crate::Refusal;
use crate::kernel::Kernel;
use crate::schema::{self, CellProof};

/// The smallest cell with the same clusters: along each axis, every coordinate has a cluster. `None` where the cell has
/// no cluster.
pub(crate) fn hull(kernel: &Kernel, axes: &[schema::Axis; 4]) -> Option<[schema::Axis; 4]> {
    let prog = kernel.given();
    // The clusters of the largest grid are not listed one by one.
    if kernel.of_any_size() {
        return Some(largest(prog)).filter(|whole| whole == axes);
    }
    let mut hull: Option<[schema::Axis; 4]> = None;
    for id in (0..prog.grid.len()).filter(|id| holds(prog, axes, *id)) {
        let at = coordinates(prog, id);
        let hull = hull.get_or_insert(at.map(|v| schema::Axis { from: v, step: 0, count: 1 }));
        for (axis, v) in hull.iter_mut().zip(at) {
            let last = (axis.from + axis.step * (axis.count - 1)).max(v);
            let step = gcd(axis.step, (v - axis.from).abs());
            let from = axis.from.min(v);
            *axis = schema::Axis { from, step, count: if step == 0 { 1 } else { (last - from) / step + 1 } };
        }
    }
    hull.map(|axes| axes.map(|a| schema::Axis { step: a.step.max(1), ..a }))
}

/// The cell of a whole grid.
fn largest(prog: &Program) -> [schema::Axis; 4] {
    let g = &prog.grid;
    [g.m, g.n, g.z, g.len()].map(|count| schema::Axis { from: 0, step: 1, count })
}

/// Row, column, plane and launch index of a cluster.
fn coordinates(prog: &Program, id: i64) -> [i64; 4] {
    let (m, n, z) = prog.grid.at(id);
    [m, n, z, id]
}

/// Whether a cluster lies in a cell.
fn holds(prog: &Program, axes: &[schema::Axis; 4], id: i64) -> bool {
    let within = |a: &schema::Axis, v: i64| {
        let steps = v.checked_sub(a.from).filter(|d| *d >= 0 && a.step >= 1 && d % a.step == 0).map(|d| d / a.step);
        steps.is_some_and(|steps| steps < a.count)
    };
    axes.iter().zip(coordinates(prog, id)).all(|(axis, v)| within(axis, v))
}

/// The cell of an entry in the representation of the evaluator of forms.
pub(crate) fn placement(kernel: &Kernel, axes: &[schema::Axis; 4]) -> Option<Placement> {
    let axes = hull(kernel, axes)?.map(|a| Axis { lo: a.from, step: a.step, count: a.count });
    Placement::of(kernel.given(), Cell { axes })
}

/// Checks that each cluster of the grid lies in exactly one cell, and that cells are in the order of their first
/// clusters.
pub(crate) fn partition(kernel: &Kernel, cells: &[CellProof]) -> Result<(), Refusal> {
    let prog = kernel.given();
    if kernel.of_any_size() {
        return match cells {
            [CellProof { axes: Some(axes), .. }] if *axes == largest(prog) => Ok(()),
            _ => Err(Refusal::rejected("cells", "the only cell of a proof for all sizes is the largest grid")),
        };
    }
    if let [CellProof { axes: None, .. }] = cells {
        return handed_out(prog).map_err(|why| Refusal::rejected("cells[0].axes", why));
    }
    let mut list = Vec::new();
    for (i, cell) in cells.iter().enumerate() {
        let Some(axes) = &cell.axes else {
            return Err(Refusal::rejected(
                format!("cells[{i}].axes"),
                "the cluster that stands for all is not the only one",
            ));
        };
        list.push(axes);
    }
    // Number of cells seen so far, which is the index of the next one.
    let mut seen = 0;
    for id in 0..prog.grid.len() {
        let of: Vec<usize> = (0..list.len()).filter(|i| holds(prog, list[*i], id)).collect();
        match of[..] {
            [i] if i <= seen => seen = seen.max(i + 1),
            [i] => return Err(Refusal::rejected(format!("cells[{i}]"), "comes before a cell with an earlier cluster")),
            [] => return Err(Refusal::rejected("cells", format!("no cell has cluster {id} of the grid"))),
            _ => return Err(Refusal::rejected("cells", format!("two cells have cluster {id} of the grid"))),
        }
    }
    Ok(())
}

/// Checks that the first cluster, to which `clc` hands all tiles, can stand for all clusters. For this, only
/// coordinates of tiles may depend on the CTA's place or on a tile that was handed out.
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
    // Every CTA may compare the result with the value for "no tile".
    let passed = |x: &Expr| prog.loops.iter().any(|l| l.passed.is_some_and(|v| *x == Expr::Var(v)));
    let asks = |e: &Expr| matches!(e, Expr::Binary(Binary::Ge, p) if p.1 == Expr::Const(0) && passed(&p.0));
    let mut apart = None;
    // Variables take such values from each other, so one pass for each variable reaches all of them.
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
                    (ExprUse::Set, Instr::Set(v, _)) => placed[*v as usize] |= reads,
                    (ExprUse::Tile(..), _) => {}
                    _ if reads && !asks(e) => apart = apart.or(Some(prog.site(pc as u32).line)),
                    _ => {}
                }
            });
        }
    }
    apart.map_or(Ok(()), |line| Err(format!("line {line} distinguishes CTAs, or the tiles that they are handed")))
}
