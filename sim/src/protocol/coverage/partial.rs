//! Partial sums in a matrix with room for several of them (split-K). One CTA does not show whether they are complete.

use smallvec::SmallVec;

use crate::ir::ObjId;
use crate::protocol::footprint::Footprint;
use crate::protocol::vocabulary::AgentId;
use crate::protocol::world::World;

/// A part of a sum that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialSum {
    /// The matrix that the sum was stored to.
    pub to: ObjId,
    /// The left operand's matrix and axis, which name the contracted dimension.
    pub dim: (ObjId, u8),
    /// Elements of the contracted dimension that one product covers.
    pub granule: i64,
    /// Granules added, as bits.
    pub seen: SmallVec<[u64; 1]>,
    /// Number of granules of the dimension.
    pub granules: u32,
    /// The first row and column of the product.
    pub at: [i64; 2],
    /// The piece of the accumulator.
    pub piece: usize,
    /// The instruction that stored the sum.
    pub pc: u32,
}

impl World<'_> {
    /// Partial sums that were stored so far, in the run of one CTA alone.
    pub fn partial_sums(&self) -> &[PartialSum] {
        &self.memory.coverage.partial_sums
    }

    /// Keeps the partial sums of an accumulator that is stored.
    pub(super) fn keep_partial_sums(&mut self, (a, pc): (AgentId, u32), acc: &Footprint, to: ObjId) {
        if self.spec.place.is_some() {
            return;
        }
        for piece in self.each_piece(a, acc) {
            let sum = &self.memory.coverage.sums[piece];
            if sum.granule > 0 && sum.granules > 0 {
                let (dim, granule, granules, at) = (sum.dim, sum.granule, sum.granules, sum.at);
                let sum = PartialSum { to, dim, granule, seen: sum.seen.clone(), granules, at, piece, pc };
                self.memory.coverage.partial_sums.push(sum);
            }
        }
    }
}
