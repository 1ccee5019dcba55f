//! Rows of operands with a swizzle. A tensor map with a swizzle has rows of at most 128, 64 or 32 bytes, which the
//! hardware stores one behind the other. So a copy into such an operand brings a multiple of this number of bytes.

use crate::lift::merge::Merged;
use crate::lift::merge::outcomes::Outcomes;
use crate::lift::tree::{Effect, Run};
use crate::symbolic::{Arena, Term};

use super::barriers::addresses;
use super::intervals::united;

/// Bytes of a row, from the longest.
const ROWS: [i64; 3] = [128, 64, 32];

/// Rows of an atom, which is one run of an operand.
const ROWS_OF_ATOM: i64 = 8;

/// Bytes of shared memory that products read as operands.
pub(crate) struct Operands {
    /// Those with a swizzle, by the bytes of their rows.
    swizzled: [Vec<(i64, i64)>; 3],
    all: Vec<(i64, i64)>,
}

impl Operands {
    /// The operands of a tree under the outcomes of some of its conditions.
    pub(crate) fn of(a: &Arena, tree: &[Merged], known: &Outcomes) -> Operands {
        let mut runs: Vec<Run> = Vec::new();
        known.each_op(a, tree, &mut |_, (_, _, e)| match e {
            Effect::Wgmma { a, b, .. } => runs.extend(a.iter().flatten().chain(b)),
            Effect::TensorProduct { a, b, .. } => runs.extend(a.iter().chain(b)),
            _ => {}
        });
        runs.sort_unstable();
        runs.dedup();
        let intervals = |selects: &dyn Fn(i64) -> bool| {
            let runs = runs.iter().map(|(t, n)| (*t, i64::from(*n))).filter(|(_, n)| selects(*n));
            united(
                runs.flat_map(|(t, n)| addresses(a, t).unwrap_or_default().into_iter().map(move |x| (x, x + n)))
                    .collect(),
            )
        };
        Operands { swizzled: ROWS.map(|row| intervals(&|n| n == row * ROWS_OF_ATOM)), all: intervals(&|_| true) }
    }

    /// How many bytes products read from an address on without a gap.
    pub(crate) fn read_from(&self, x: i64) -> i64 {
        self.all.iter().find(|(low, high)| *low <= x && x < *high).map_or(0, |(_, high)| high - x)
    }

    /// The bytes of a row where copies go: the smallest of theirs. None where some copy goes elsewhere.
    pub(crate) fn row(&self, a: &Arena, mut to: impl Iterator<Item = Term>) -> Option<i64> {
        let at = |x: i64| {
            let holds = |list: &Vec<(i64, i64)>| list.iter().any(|(low, high)| *low <= x && x < *high);
            ROWS.into_iter().zip(&self.swizzled).filter(|(_, list)| holds(list)).map(|(row, _)| row).min()
        };
        to.try_fold(ROWS[0], |least, t| {
            addresses(a, t)?.into_iter().try_fold(least, |least, x| Some(at(x)?.min(least)))
        })
    }
}

/// The multiple of a row that is next to a number of bytes.
pub(crate) fn rounded(bytes: i64, row: i64) -> i64 {
    (bytes + row / 2).div_euclid(row) * row
}
