//! Whether a kernel compiled for more steps is the same text with numbers that have moved on evenly.
//!
//! A number computed from a trip count is a constant of the compiled kernel, and nothing but more compilations tells
//! how it goes on.

use warpline_sim::ir::{Class, Expr, Loop, Program};

use crate::exprs::each_mut;

/// A compiled kernel without its constants, and they.
pub(crate) struct Constants {
    bare: Program,
    list: Vec<i64>,
}

impl Constants {
    pub(crate) fn of(mut bare: Program) -> Constants {
        let mut list = Vec::new();
        let mut code = std::mem::take(&mut bare.code);
        for i in &mut code {
            each_mut(&bare, i, &mut |_, e| strip(e, &mut list));
        }
        bare.code = code;
        // What follows from them, or only names them.
        bare.sites.clear();
        bare.params.clear();
        bare.lets.clear();
        bare.loops.iter_mut().for_each(|l| l.bound = None);
        bare.grid.m = 0;
        bare.grid.n = 0;
        bare.tapes.iter_mut().for_each(|t| strip(&mut t.run, &mut list));
        for o in bare.objects.iter_mut().filter(|o| o.class == Class::Global) {
            (o.rows, o.cols) = (0, 0);
            (o.row_cuts, o.col_cuts) = (Vec::new(), Vec::new());
        }
        Constants { bare, list }
    }

    /// Whether they are of one text.
    pub(crate) fn same(&self, to: &Constants) -> bool {
        self.bare == to.bare && self.list.len() == to.list.len()
    }

    /// By how much each constant moves to another kernel; `None` if that is another text.
    pub(crate) fn moves(&self, to: &Constants) -> Option<Vec<i64>> {
        if !self.same(to) {
            return None;
        }
        Some(self.list.iter().zip(&to.list).map(|(a, b)| b.wrapping_sub(*a)).collect())
    }

    /// Whether each constant of a kernel that is `j` and `k` periods away in two directions is where those of four of one
    /// text at the corners (none, one of the first, one of the second, one of both) say.
    pub(crate) fn linear([a, b, c, d]: [&Constants; 4], (j, k): (i64, i64), far: &Constants) -> bool {
        a.same(far)
            && (0..a.list.len()).all(|i| {
                let [a, b, c, d] = [a, b, c, d].map(|x| x.list[i] as i128);
                let (j, k) = (j as i128, k as i128);
                far.list[i] as i128 == a + j * (b - a) + k * (c - a) + j * k * (d - b - c + a)
            })
    }
}

fn strip(e: &mut Expr, list: &mut Vec<i64>) {
    match e {
        Expr::Const(c) => list.push(std::mem::take(c)),
        Expr::Var(_) | Expr::Env(_) => {}
        Expr::Unary(_, x) | Expr::Tape(_, x) => strip(x, list),
        Expr::Binary(_, p) => {
            strip(&mut p.0, list);
            strip(&mut p.1, list);
        }
        Expr::If(p) => {
            strip(&mut p.0, list);
            strip(&mut p.1, list);
            strip(&mut p.2, list);
        }
    }
}

/// Loops whose bounds differ between two kernels, and by how much; or over tiles of which `clc` has more to hand out.
pub(crate) fn grown<'p>(short: &'p Program, long: &Program) -> Vec<(&'p Loop, i64)> {
    let pairs = short.loops.iter().zip(&long.loops);
    let handed = if short.hands_out() { long.grid.len() - short.grid.len() } else { 0 };
    let by = |(a, b): (&'p Loop, &Loop)| {
        if a.passed.is_some() && handed != 0 {
            return Some((a, handed));
        }
        let (x, y) = (a.bound.as_ref()?, b.bound.as_ref()?);
        (x != y).then(|| (a, y.constant().zip(x.constant()).map_or(1, |(y, x)| y - x)))
    };
    pairs.filter_map(by).collect()
}
