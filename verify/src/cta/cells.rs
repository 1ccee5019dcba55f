//! CTA classes: the grid as cells of CTAs that all make the same run.
//!
//! A run of a cell's representative follows how each number depends on the CTA's coordinates
//! ([`warpline_sim::protocol::Placement`]). Where a number decides differently for some CTAs of the cell, the cell is
//! split there, and each part is decided again. No sampling is involved: one run decides a whole cell if nothing splits
//! it.

use std::sync::Arc;

use warpline_sim::ir::{Binary, Expr, ExprUse, Instr, Op, Program, each};
use warpline_sim::protocol::{Axis, Cell, Placement};

/// A cell with its representative.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Launch index of the representative.
    pub(crate) id: i64,
    pub(crate) name: String,
    /// The placement of the cell. `None` where the cluster stands only for itself, or for all clusters by the
    /// assumption on tiles that are handed out.
    pub(crate) place: Option<Arc<Placement>>,
}

/// Largest number of cells.
pub(crate) const MOST: usize = 512;

/// Undecided cells; the next one is last.
pub(crate) struct Cells<'p> {
    prog: &'p Program,
    open: Vec<Cell>,
    whole: Cell,
    pub(crate) made: usize,
}

impl<'p> Cells<'p> {
    pub(crate) fn of(prog: &'p Program) -> Cells<'p> {
        let whole = Placement::whole(prog);
        Cells { prog, open: vec![whole], whole, made: 1 }
    }

    /// The next class to decide.
    pub(crate) fn next(&mut self) -> Option<Class> {
        loop {
            let cell = self.open.pop()?;
            let Some(place) = Placement::of(self.prog, cell) else { continue };
            let name = name(self.prog, &self.whole, &cell);
            return Some(Class { id: place.cluster(), name, place: Some(Arc::new(place)) });
        }
    }

    /// Splits a class. Returns whether there was an obstacle to split at. The error is the obstacle's instruction, if
    /// there are too many cells.
    pub(crate) fn split(&mut self, class: &Class) -> Result<bool, u32> {
        let Some((place, obstacle)) = class.place.as_ref().and_then(|p| Some((p, p.obstacle()?))) else {
            return Ok(false);
        };
        let mut parts = place.split(&obstacle);
        self.made += parts.len().max(1) - 1;
        if parts.len() < 2 || self.made > MOST {
            return Err(obstacle.pc);
        }
        parts.sort_unstable();
        self.open.extend(parts.into_iter().rev());
        Ok(true)
    }
}

/// The class of a kernel in which `clc` hands out tiles: the first cluster, which may receive all other tiles. The
/// error says why it does not stand for all.
pub(crate) fn handed(prog: &Program) -> (Class, Option<String>) {
    let class = Class { id: 0, name: ALL.into(), place: None };
    let why = told_apart(prog)
        .then(|| "CTAs, or the tiles that they are handed, differ, and not all of them were checked".into());
    (class, why)
}

const ALL: &str = "all CTAs alike";

fn name(prog: &Program, whole: &Cell, cell: &Cell) -> String {
    if prog.cooperative {
        return format!("all {} CTAs of the grid, which run together", prog.cluster);
    }
    let line = prog.grid.n == 1 && prog.grid.z == 1;
    let words = [("row", "rows"), ("column", "columns"), ("plane", "planes"), ("CTA", "CTAs")];
    let mut parts = Vec::new();
    for (i, axis) in cell.axes.iter().enumerate() {
        if *axis == whole.axes[i] {
            continue;
        }
        // In a grid of one column, launch indices are rows.
        let (one, many) = if i == 3 && line { words[0] } else { words[i] };
        let Axis { lo, step, count } = *axis;
        parts.push(match (count, step) {
            (1, _) => format!("{one} {lo}"),
            (_, 1) => format!("{many} {lo} to {}", axis.last()),
            _ => format!("{many} {lo}, {}, ... {}", lo + step, axis.last()),
        });
    }
    if parts.is_empty() { ALL.into() } else { parts.join(", ") }
}

/// Whether anything but the coordinates of tiles depends on the place of the CTA, or on a tile that was handed out.
pub(crate) fn told_apart(prog: &Program) -> bool {
    let handed = |i: &Instr| match i {
        Instr::Op { op: Op::Get { var, .. }, .. } => Some(*var),
        _ => None,
    };
    let mut depends = vec![false; prog.vars.len()];
    prog.code.iter().filter_map(handed).for_each(|v| depends[v as usize] = true);
    // Every CTA may compare the result with the value for "no tile".
    let asks = |e: &Expr| {
        let passed = |x: &Expr| prog.loops.iter().any(|l| l.passed.is_some_and(|v| *x == Expr::Var(v)));
        matches!(e, Expr::Binary(Binary::Ge, p) if p.1 == Expr::Const(0) && passed(&p.0))
    };
    let mut apart = false;
    // Variables take coordinates from each other. Two passes over the code also cover values that a loop carries.
    for _ in 0..2 {
        for i in &prog.code {
            each(prog, i, &mut |what, e| {
                let mut reads = false;
                e.visit(&mut |x| {
                    reads |= match x {
                        Expr::Var(v) => depends[*v as usize],
                        Expr::Env(env) => !matches!(
                            env,
                            warpline_sim::ir::Env::Warp
                                | warpline_sim::ir::Env::CtaRank
                                | warpline_sim::ir::Env::TapeIndex
                        ),
                        _ => false,
                    }
                });
                match (what, i) {
                    (ExprUse::Set, Instr::Set(v, _)) => depends[*v as usize] |= reads,
                    (ExprUse::Tile(..), _) => {}
                    _ => apart |= reads && !asks(e),
                }
            });
        }
    }
    apart
}
