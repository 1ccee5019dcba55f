//! One grid for all trip counts, where a trip count also sets the grid: the end of lemma 13.

use warpline_sim::ir::{Binary, Env, Expr, Grid, Program, each};

/// Largest dimension of a grid that stands for smaller ones.
const LARGEST: i64 = 1 << 12;

/// The kernel with the largest grid of all values of its symbols. Its CTAs make the steps that they make in a smaller grid
/// that has them. `None` where no symbol sets the grid, where the code can tell the size of the grid, or where CTAs share
/// more than global matrices.
pub(crate) fn widest(prog: &Program) -> Option<Program> {
    let dims = prog.forms.grid.as_ref()?;
    let fixed = |e: &Expr| e.constant().is_some();
    if dims.iter().all(fixed) || prog.cooperative || prog.hands_out() || !prog.counters.is_empty() {
        return None;
    }
    // The launch index of a CTA depends on all dimensions but the last one.
    let last = (0..3).rev().find(|d| dims[*d] != Expr::Const(1))?;
    let index_kept = prog.grid.group == 0 && dims[..last].iter().all(fixed);
    let mut size = |e: &Expr| {
        let at_index = |x: &Expr| matches!(x, Expr::Env(Env::CtaId | Env::ClusterId));
        let dimension = |x: &Expr| dims.iter().any(|d| d == x && !fixed(d));
        e.any(|x| reads_size(prog, x) || dimension(x) || !index_kept && at_index(x))
    };
    let mut reads = false;
    for i in &prog.code {
        each(prog, i, &mut |_, e| reads |= size(e));
    }
    reads |= prog.loops.iter().filter_map(|l| l.bound.as_ref()).any(&mut size);
    reads |= prog.tapes.iter().any(|t| size(&t.run));
    if reads {
        return None;
    }
    let largest = |e: &Expr| largest(prog, e).filter(|n| (1..=LARGEST).contains(n));
    let (m, n, z) = (largest(&dims[0])?, largest(&dims[1])?, largest(&dims[2])?);
    let mut wide = prog.clone();
    wide.forms.grid = Some([m, n, z].map(Expr::Const));
    wide.grid = Grid { m, n, z, ..wide.grid };
    Some(wide)
}

/// Whether an expression is the size of the grid, or a `let` that reads it.
fn reads_size(prog: &Program, e: &Expr) -> bool {
    let Expr::Param(q) = e else { return false };
    let symbol = &prog.symbols[*q as usize];
    symbol.name == "grid.size" || symbol.definition.as_ref().is_some_and(|e| e.any(|x| reads_size(prog, x)))
}

/// An upper bound of an expression, for all values of symbols.
fn largest(prog: &Program, e: &Expr) -> Option<i64> {
    let of = |e: &Expr| largest(prog, e);
    match e {
        Expr::Const(v) => Some(*v),
        Expr::Param(q) => of(prog.symbols[*q as usize].definition.as_ref()?),
        Expr::If(p) => Some(of(&p.1)?.max(of(&p.2)?)),
        Expr::Binary(op, p) => match (op, of(&p.0), of(&p.1)) {
            (Binary::Min, Some(x), Some(y)) => Some(x.min(y)),
            (Binary::Min, x, y) => x.or(y),
            (Binary::Max, Some(x), Some(y)) => Some(x.max(y)),
            (Binary::Add, Some(x), Some(y)) => x.checked_add(y),
            (Binary::Rem, _, _) => p.1.constant().filter(|c| *c > 0).map(|c| c - 1),
            (Binary::Mul, Some(x), _) => p.1.constant().filter(|c| *c >= 0).and_then(|c| x.checked_mul(c)),
            (Binary::Div | Binary::CeilDiv, Some(x), _) => p.1.constant().filter(|c| *c > 0).map(|_| x.max(0)),
            _ => None,
        },
        _ => None,
    }
}
