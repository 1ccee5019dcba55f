//! Coverage: every K-tile is accumulated exactly once in every piece, every output piece is stored once.
//!
//! Two operands are contracted over the dimension whose name both have (`A: [m, k]` and `B: [k, n]`: `k`). Where one
//! operand is not a tile of a global matrix (attention's probabilities), only repetitions of the other operand are
//! checked. A K-tile past the end may be added only where its copies fill in zeros. Stores are in `stores`.

use smallvec::{SmallVec, smallvec};

use crate::code::Code;
use crate::ir::{ANY_EXTENT, Class, Instr, MoveKind, ObjId, Op};

use super::footprint::{Footprint, TileKey};
use super::global::Rect;
use super::world::World;
use crate::protocol::vocabulary::{AgentId, FormId};

mod partial;
mod stores;

pub use partial::PartialSum;

/// The sum in a piece of an accumulator since the piece was cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sum {
    /// Elements of the contracted dimension that one product covers; 0 before the first product.
    granule: i64,
    /// Granules added, as bits.
    seen: SmallVec<[u64; 1]>,
    /// Number of granules of the dimension; 0 where the number is not known.
    granules: u32,
    /// The left operand's matrix and axis, which name the dimension.
    dim: (ObjId, u8),
    /// Rows and columns of the whole product.
    product: [i64; 2],
    /// The first row and column of the product that the sum is a part of.
    at: [i64; 2],
    /// The first row and column of the product in the register that it was added to.
    corner: [i64; 2],
    /// Whether the sum was read back from memory where another agent may have put it: shared memory, of this CTA or of
    /// another, or global memory. A sum that it is added to has its blocks too.
    partial: bool,
}

/// The elements of the contracted dimension that a product covers.
#[derive(Clone, Copy, Debug)]
struct Range {
    dim: (ObjId, u8),
    left: (i64, i64),
    right: (i64, i64),
    /// How these elements depend on the place of the CTA.
    forms: [FormId; 2],
    extent: i64,
    product: [i64; 2],
    at: [i64; 2],
}

/// A sum that was stored to a global matrix which the kernel reads again.
#[derive(Clone, Debug)]
struct KeptSum {
    obj: ObjId,
    rect: Rect,
    sum: Sum,
    /// Whether the kernel has read some of the sum since.
    read: bool,
    agent: AgentId,
    pc: u32,
}

/// A rectangle of a global matrix that was stored, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Stored {
    obj: u16,
    /// Block coordinates, or −1 where the place was given in elements.
    block: [i64; 2],
    /// How the rectangle's first row and column depend on the place of the CTA.
    forms: [FormId; 2],
    rows: (i64, i64),
    cols: (i64, i64),
    agent: AgentId,
    pc: u32,
    /// Whether the kernel has read some of the rectangle since.
    read: bool,
}

/// The sums in accumulators, and the stores of output.
#[derive(Debug)]
pub(super) struct Coverage {
    /// The sum in each piece.
    sums: Vec<Sum>,
    stored: Vec<Stored>,
    /// Sums that were stored to a global matrix that the kernel reads again.
    kept_sums: Vec<KeptSum>,
    /// Sums that were stored to a matrix for partial sums, where the run is of one CTA alone.
    partial_sums: Vec<PartialSum>,
    /// The largest first row and column of a block that was accessed without a mask, by object.
    reached: Vec<[i64; 2]>,
}

clone_by_field!(Coverage { sums, stored, kept_sums, partial_sums, reached });

impl Coverage {
    /// Before the first step, for this many pieces and objects.
    pub(super) fn new(pieces: usize, objects: usize) -> Coverage {
        let sums = vec![Sum::default(); pieces];
        let reached = vec![[-1; 2]; objects];
        Coverage { sums, stored: Vec::new(), kept_sums: Vec::new(), partial_sums: Vec::new(), reached }
    }

    /// The sum in each piece.
    pub(super) fn sums(&self) -> &[Sum] {
        &self.sums
    }

    /// Records that elements of a global matrix were read. They may be stored once more: the matrix is a workspace.
    pub(super) fn note_read(&mut self, obj: ObjId, rect: &Rect) {
        for s in self.stored.iter_mut().filter(|s| s.obj == obj) {
            s.read |= rect.meets(&Rect { rows: s.rows, cols: s.cols });
        }
    }
}

impl Sum {
    /// Granules added.
    fn done(&self) -> u32 {
        self.seen.iter().map(|w| w.count_ones()).sum()
    }

    /// Whether two sums over the same dimension have no block in common.
    fn is_apart_from(&self, other: &Sum) -> bool {
        let alike = (self.granule, self.dim, self.product) == (other.granule, other.dim, other.product);
        alike && self.seen.iter().zip(&other.seen).all(|(x, y)| x & y == 0)
    }

    /// The part of a sum that repeats while the sum grows: the depth of a step, and the contracted dimension.
    pub(super) fn kind(&self) -> [u64; 2] {
        [self.granule as u64, (self.dim.0 as u64) << 8 | self.dim.1 as u64]
    }

    /// Whether both are sums of one product.
    fn is_of_product(&self, other: &Sum) -> bool {
        let of = |s: &Sum| (s.granule, s.dim, s.product, s.at);
        self.granule > 0 && of(self) == of(other)
    }
}

impl World<'_> {
    /// The contracted dimension of two operands, and the elements of it that each covers.
    fn contraction(&self, (x, xf): (&TileKey, &Footprint), (y, yf): (&TileKey, &Footprint)) -> Option<Range> {
        let (a, b) = (&self.prog.objects[x.obj as usize], &self.prog.objects[y.obj as usize]);
        if a.class != Class::Global || b.class != Class::Global || x.obj == y.obj {
            return None;
        }
        // The left operand is [M, K], so its columns are tried first. Where several dimensions have the same name
        // (square matrices), the contracted dimension is the one of which both operands cover the same elements.
        let mut first = None;
        for i in [1, 0] {
            for j in [1, 0] {
                if a.dims[i] != b.dims[j] || a.dims[i].is_empty() {
                    continue;
                }
                let extent = if i == 0 { a.rows } else { a.cols };
                let (left, right) = (along(i, a.block[i], x, xf), along(j, b.block[j], y, yf));
                let product = [if i == 0 { a.cols } else { a.rows }, if j == 0 { b.cols } else { b.rows }];
                let forms = [x.forms[i], y.forms[j]];
                let at = [along(1 - i, a.block[1 - i], x, xf).0, along(1 - j, b.block[1 - j], y, yf).0];
                let range = Range { dim: (x.obj, i as u8), left, right, forms, extent, product, at };
                if left == right {
                    return Some(range);
                }
                first.get_or_insert(range);
            }
        }
        first
    }

    fn dim_name(&self, (obj, axis): (ObjId, u8)) -> &str {
        &self.prog.objects[obj as usize].dims[axis as usize]
    }

    /// Adds the product of two operands to the pieces of an accumulator.
    pub(super) fn accumulate(&mut self, a: AgentId, pc: u32, acc: &Footprint, left: &Footprint, right: &Footprint) {
        let (Some(x), Some(y)) = (self.held(a, left), self.held(a, right)) else { return };
        let Some(r) = self.contraction((&x, left), (&y, right)) else { return };
        // Blocks are counted for one CTA. Where a block depends on the CTA's place, each CTA is run alone.
        if let Some(place) = &self.spec.place {
            place.fixed(pc, r.left.0, r.forms[0]);
            place.fixed(pc, r.right.0, r.forms[1]);
        }
        if r.left != r.right {
            let message = format!(
                "multiplies elements {}..{} of `{}` on the left with {}..{} on the right",
                r.left.0,
                r.left.1,
                self.dim_name(r.dim),
                r.right.0,
                r.right.1
            );
            self.find(Code::SumBlocks, a, pc, message, None);
            return;
        }
        if r.extent == ANY_EXTENT {
            let message =
                format!("adds blocks of `{}`, whose number the grid does not determine", self.dim_name(r.dim));
            self.find(Code::SumBlocks, a, pc, message, None);
            return;
        }
        if r.left.0 >= r.extent && ![x.obj, y.obj].iter().all(|obj| self.zero_filled(*obj)) {
            let message = format!(
                "multiplies elements {}..{} of `{}`, which has {}: what was loaded there is not of the matrix",
                r.left.0,
                r.left.1,
                self.dim_name(r.dim),
                r.extent
            );
            self.find(Code::SumBlocks, a, pc, message, None);
            return;
        }
        let granule = r.left.1 - r.left.0;
        let mut twice = false;
        for p in self.each_piece(a, acc) {
            let sum = &mut self.memory.coverage.sums[p];
            if sum.granule == 0 {
                let granules = (r.extent + granule - 1) / granule;
                *sum = Sum {
                    granule,
                    seen: smallvec![0; granules as usize / 64 + 1],
                    granules: granules as u32,
                    dim: r.dim,
                    product: r.product,
                    at: r.at,
                    corner: [acc.rows.0, acc.cols.0],
                    partial: false,
                };
            }
            if sum.granule != granule || sum.dim != r.dim {
                // Products of different depth or of several matrices: the complete sum is not defined here.
                sum.granules = 0;
                continue;
            }
            let g = (r.left.0 / granule).max(0) as usize;
            if let Some(w) = sum.seen.get_mut(g / 64) {
                twice |= *w >> (g % 64) & 1 == 1;
                *w |= 1 << (g % 64);
            }
        }
        if twice {
            let message = format!(
                "adds elements {}..{} of `{}` to {} a second time",
                r.left.0,
                r.left.1,
                self.dim_name(r.dim),
                self.footprint_name(acc)
            );
            self.find(Code::SumBlocks, a, pc, message, None);
        }
    }

    /// Whether loads past the end of a matrix give zeros. Only TMA checks where the matrix ends (PTX, tensor maps: out
    /// of bounds).
    fn zero_filled(&self, obj: ObjId) -> bool {
        let mut copies = self.prog.code.iter().filter_map(|i| match i {
            Instr::Op { op: Op::Move { how, src, .. }, .. } if src.obj == obj => Some(*how),
            _ => None,
        });
        copies.next() == Some(MoveKind::TmaLoad) && copies.all(|how| how == MoveKind::TmaLoad)
    }

    /// Clears an accumulator.
    pub(super) fn clear_sum(&mut self, a: AgentId, acc: &Footprint) {
        for p in self.each_piece(a, acc) {
            self.memory.coverage.sums[p].granule = 0;
        }
    }

    /// Copies the sums along with the values, to other registers or through shared memory. Of several pieces, the sum
    /// with the fewest blocks is copied. A value from global memory is not a sum.
    pub(super) fn carry_sum(&mut self, a: AgentId, from: &Footprint, to: &Footprint) {
        let sums = self.each_piece(a, from).map(|p| &self.memory.coverage.sums[p]);
        let mut sum = sums.filter(|s| s.granule > 0).min_by_key(|s| s.done()).cloned().unwrap_or_default();
        sum.partial |= sum.granule > 0 && self.prog.objects[from.obj as usize].class == Class::Shared;
        for p in self.each_piece(a, to) {
            if self.memory.coverage.sums[p].granule > 0 || sum.granule > 0 {
                self.memory.coverage.sums[p].clone_from(&sum);
            }
        }
    }

    /// Copies the sums along with the values to a workspace in global memory, which the kernel reads again.
    pub(super) fn store_sum(&mut self, a: AgentId, pc: u32, (from, to): (&Footprint, &Footprint), elements: bool) {
        if !self.spec.followed.matrices.get(to.obj as usize).is_some_and(|followed| *followed) {
            return;
        }
        let sums = self.each_piece(a, from).map(|p| &self.memory.coverage.sums[p]);
        let sum = sums.filter(|s| s.granule > 0).min_by_key(|s| s.done()).cloned();
        let rect = self.rectangle(to, elements);
        self.memory.coverage.kept_sums.retain(|k| k.obj != to.obj || !k.rect.inside(&rect));
        if let Some(sum) = sum {
            let sum = Sum { partial: true, ..sum };
            self.memory.coverage.kept_sums.push(KeptSum { obj: to.obj, rect, sum, read: false, agent: a, pc });
        }
    }

    /// Copies the sums back from a workspace; of several sums, the one with the fewest blocks.
    pub(super) fn load_sum(&mut self, a: AgentId, from: &Footprint, to: &Footprint, elements: bool) {
        if self.memory.coverage.kept_sums.is_empty() || !self.in_global(from.obj) {
            return;
        }
        let rect = self.rectangle(from, elements);
        let there = self.memory.coverage.kept_sums.iter_mut().filter(|k| k.obj == from.obj && k.rect.meets(&rect));
        let read = there.map(|k| {
            k.read = true;
            &k.sum
        });
        let Some(sum) = read.min_by_key(|s| s.done()).cloned() else { return };
        for p in self.each_piece(a, to) {
            self.memory.coverage.sums[p].clone_from(&sum);
        }
    }

    /// At the end: a sum in a workspace that no agent read back must be complete, unless the workspace has room for
    /// several sums.
    pub(super) fn check_kept_sums(&mut self) {
        for k in std::mem::take(&mut self.memory.coverage.kept_sums) {
            let (done, all) = (k.sum.done(), k.sum.granules);
            if !k.read && done < all && !self.for_partial_sums(k.obj, k.sum.product) {
                let message = format!(
                    "leaves rows {}..{}, columns {}..{} of {} with {done} of {all} blocks of `{}` added",
                    k.rect.rows.0,
                    k.rect.rows.1,
                    k.rect.cols.0,
                    k.rect.cols.1,
                    self.prog.objects[k.obj as usize].name,
                    self.dim_name(k.sum.dim)
                );
                self.find(Code::SumBlocks, k.agent, k.pc, message, None);
            }
        }
    }

    /// Arithmetic on several sums adds them where one was read back from memory, or where two have no block in common.
    /// The result has the blocks of all of them. Other arithmetic, such as that on scores, is not taken for a sum.
    pub(super) fn add_sums(&mut self, a: AgentId, reads: &[Footprint], writes: &[Footprint]) {
        let sums = &self.memory.coverage.sums;
        let mut parts: SmallVec<[&Sum; 4]> = SmallVec::new();
        for sum in reads.iter().flat_map(|f| self.each_piece(a, f)).map(|p| &sums[p]).filter(|s| s.granule > 0) {
            if !parts.contains(&sum) {
                parts.push(sum);
            }
        }
        let apart = |(i, x): (usize, &&Sum)| parts[..i].iter().any(|y| x.is_apart_from(y));
        if !parts.iter().any(|s| s.partial) && !parts.iter().enumerate().any(apart) {
            return;
        }
        // Of sums of several matrices, one that was read back decides.
        parts.sort_by_key(|s| !s.partial);
        let parts: Vec<Sum> = parts.into_iter().cloned().collect();
        let to: Vec<usize> = writes.iter().flat_map(|f| self.each_piece(a, f)).collect();
        for (part, p) in parts.iter().flat_map(|part| to.iter().map(move |p| (part, *p))) {
            let sum = &mut self.memory.coverage.sums[p];
            if sum.granule == 0 {
                sum.clone_from(part);
            } else if (sum.granule, sum.dim) == (part.granule, part.dim) {
                sum.seen.iter_mut().zip(&part.seen).for_each(|(w, v)| *w |= v);
            } else if part.partial {
                sum.granules = 0;
            }
        }
    }

    /// Whether a matrix has several times the elements of a product along one axis, as rows or planes of partial sums.
    fn for_partial_sums(&self, obj: ObjId, [m, n]: [i64; 2]) -> bool {
        let o = &self.prog.objects[obj as usize];
        if [o.rows, o.cols, m, n].contains(&ANY_EXTENT) {
            return false;
        }
        let times = |end: i64, part: i64| part > 0 && end % part == 0 && end / part > 1;
        let of = |m, n| o.rows == m && times(o.cols, n) || o.cols == n && times(o.rows, m);
        of(m, n) || of(n, m)
    }

    /// Holds an accumulator that is stored to having every block exactly once. A store to a matrix for partial sums, or
    /// to a matrix that the kernel reads again, is a part of the sum.
    pub(super) fn check_sum(&mut self, a: AgentId, pc: u32, acc: &Footprint, to: ObjId) {
        if self.spec.followed.matrices.get(to as usize).is_some_and(|followed| *followed) {
            return;
        }
        let missing = self.each_piece(a, acc).find_map(|p| {
            let s = &self.memory.coverage.sums[p];
            (s.granule > 0 && s.done() < s.granules).then_some((s.dim, s.done(), s.granules, s.product))
        });
        if let Some((dim, done, all, product)) = missing {
            if self.for_partial_sums(to, product) {
                self.keep_partial_sums((a, pc), acc, to);
                if !self.met(Code::SumBlocks, pc, None) {
                    let message = format!(
                        "stores {} with {done} of {all} blocks of `{}` added: {} has room for several partial sums, and only for a few values it is checked that together they have every block once",
                        self.footprint_name(acc),
                        self.dim_name(dim),
                        self.prog.objects[to as usize].name
                    );
                    self.note(Code::SumBlocks, a, pc, message, None);
                }
                return;
            }
            let message = format!(
                "stores {} with {done} of {all} blocks of `{}` added",
                self.footprint_name(acc),
                self.dim_name(dim)
            );
            self.find(Code::SumBlocks, a, pc, message, None);
        }
    }
}

/// The elements of its matrix that an operand covers along an axis.
fn along(axis: usize, block: i64, k: &TileKey, f: &Footprint) -> (i64, i64) {
    let (lo, hi) = if axis == 0 { f.rows } else { f.cols };
    let by = k.at[axis] * block + k.shift[axis] as i64;
    (lo + by, hi + by)
}
