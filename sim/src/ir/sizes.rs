//! Programs for every size: the largest grid, and global matrices without an end.
//!
//! Some parameters only set dimensions of the grid and extents of global matrices. The code is then the same for all
//! their values. [`Program::of_any_size`] is a program whose grid contains every grid, and whose matrices contain every
//! matrix, along the dimensions that these parameters set.

use std::collections::BTreeSet;

use super::symbols::GRID;
use super::{Expr, ParamId, Program};

/// The extent of a global matrix that stands for every extent: larger than any coordinate of a block in a grid.
pub const ANY_EXTENT: i64 = 1 << 48;

/// Largest number of CTAs or clusters in a grid of any size.
const LARGEST: i64 = 1 << 50;

impl Program {
    /// The parameters that an expression depends on, also through header `let`s.
    pub fn parameters_of(&self, e: &Expr) -> BTreeSet<ParamId> {
        let mut list = BTreeSet::new();
        self.add_parameters(e, &mut list);
        list
    }

    fn add_parameters(&self, e: &Expr, list: &mut BTreeSet<ParamId>) {
        e.visit(&mut |x| {
            if let Expr::Param(q) = x {
                match &self.symbols[*q as usize].definition {
                    Some(e) => self.add_parameters(e, list),
                    None => drop(list.insert(*q)),
                }
            }
        });
    }

    /// The program for all values of some parameters. Dimensions of the grid and extents of global matrices that depend
    /// on them are the largest. No condition that depends on them is required. `None` where the grid would be too large
    /// to count its CTAs.
    pub fn of_any_size(&self, sizes: &BTreeSet<ParamId>) -> Option<Program> {
        let depends = |e: &Expr| !self.parameters_of(e).is_disjoint(sizes);
        let mut any = self.clone();
        let forms = &mut any.forms;
        for e in forms.grid.iter_mut().flatten().filter(|e| depends(e)) {
            *e = Expr::Const(GRID);
        }
        for e in forms.extents.iter_mut().flatten().flatten().filter(|e| depends(e)) {
            *e = Expr::Const(ANY_EXTENT);
        }
        forms.requires.retain(|e| !depends(e));
        any.settle()?;
        let g = &any.grid;
        let len = g.m.checked_mul(g.n)?.checked_mul(g.z)?;
        (len <= LARGEST).then_some(any)
    }
}
