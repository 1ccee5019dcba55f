//! Partial sums in a matrix with room for several of them (split-K). One CTA does not show whether they are complete.

use smallvec::SmallVec;

use crate::code::Code;
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

    /// Holds a sum that another agent put into memory to being added to its own rows and columns of the product. Sums in
    /// other registers, or of other products, are not compared.
    pub(in crate::protocol) fn check_places(&mut self, a: AgentId, pc: u32, reads: &[Footprint], writes: &[Footprint]) {
        let sum_of = |f: &Footprint| self.each_piece(a, f).next().map(|p| &self.memory.coverage.sums[p]);
        let moved = reads.iter().find_map(|f| {
            let part = sum_of(f).filter(|s| s.partial)?;
            let key = self.held(a, f)?;
            let shift = key.shift.map(i64::from);
            let from = [(f.rows.0 + shift[0], f.rows.1 + shift[0]), (f.cols.0 + shift[1], f.cols.1 + shift[1])];
            writes.iter().filter(|g| g.obj == key.obj).find_map(|g| {
                let own = sum_of(g).filter(|own| own.is_of_product(part))?;
                let to = [g.rows, g.cols];
                let away = |i: usize| {
                    let by = part.corner[i] - own.corner[i];
                    from[i].1 - by <= to[i].0 || to[i].1 <= from[i].0 - by
                };
                (away(0) || away(1)).then(|| (g.obj, from.map(|x| x.0), to.map(|x| x.0)))
            })
        });
        let Some((obj, from, to)) = moved else { return };
        let message = format!(
            "adds the sum at row {}, column {} of {} to row {}, column {}: another part of the product",
            from[0], from[1], self.prog.objects[obj as usize].name, to[0], to[1]
        );
        self.find(Code::SumBlocks, a, pc, message, None);
    }
}
