//! Pieces of a buffer: the coarsest partition that every access respects.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::ObjId;

/// For each axis of each object, the numbers of equal parts that accesses cut it into.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    ways: BTreeMap<(ObjId, usize), BTreeSet<i64>>,
}

impl Cuts {
    /// Records that an axis (0 rows, 1 columns) is cut into `n` equal parts.
    pub(super) fn cut(&mut self, obj: ObjId, axis: usize, n: i64) {
        self.ways.entry((obj, axis)).or_default().insert(n);
    }

    /// The boundaries on an axis of this extent: the union of the boundaries of all cuts.
    pub(super) fn of(&self, obj: ObjId, axis: usize, extent: i64) -> Vec<u32> {
        let mut points: BTreeSet<u32> = uniform_ends(extent).into_iter().collect();
        for n in self.ways.get(&(obj, axis)).into_iter().flatten() {
            let size = (extent / n).max(1);
            points.extend((1..*n).map(|i| i * size).filter(|p| *p < extent).map(|p| p as u32));
        }
        points.into_iter().collect()
    }
}

/// The boundaries without a cut: 0 and the extent.
pub(super) fn uniform_ends(extent: i64) -> Vec<u32> {
    vec![0, extent.clamp(1, u32::MAX as i64) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_ways_are_united() {
        let mut cuts = Cuts::default();
        cuts.cut(0, 0, 2);
        cuts.cut(0, 0, 3);
        assert_eq!(cuts.of(0, 0, 12), [0, 4, 6, 8, 12]);
        assert_eq!(cuts.of(0, 1, 12), [0, 12]);
    }
}
