//! The pieces of memory that an access touches, and the tiles in them.

use std::collections::BTreeMap;

use warpline_sim::ir::{Class, ObjId, Place, Program, Selection, TileRef, share};

use super::Inexpressible;
use super::walk::Walker;

/// A rectangle of one slot.
#[derive(Clone, Debug)]
pub(super) struct Rect {
    pub(super) obj: ObjId,
    /// The CTA of this copy.
    pub(super) cta: u32,
    slot: i64,
    at: [i64; 2],
    rows: [i64; 2],
    cols: [i64; 2],
}

/// A piece: object, owner of the copy (CTA, or CTA and warp for registers), slot, number.
pub(super) type Piece = (ObjId, u32, i64, u32);

/// A tile: object, coordinates, and offset from the corner of its place.
pub(super) type Tile = (ObjId, [i64; 2], [i64; 2]);

impl Rect {
    pub(super) fn elements(&self) -> i64 {
        (self.rows[1] - self.rows[0]) * (self.cols[1] - self.cols[0])
    }

    fn corner_to(&self, to: &Rect) -> [i64; 2] {
        [self.rows[0] - to.rows[0], self.cols[0] - to.cols[0]]
    }

    /// The same rectangle of another CTA's memory.
    pub(super) fn in_cta(&self, cta: u32) -> Rect {
        Rect { cta, ..self.clone() }
    }

    /// The pieces that the rectangle overlaps; none for global memory, which is not modeled.
    pub(super) fn pieces(&self, prog: &Program, warp: u32) -> Vec<Piece> {
        let o = &prog.objects[self.obj as usize];
        let copy = match o.class {
            Class::Global => return Vec::new(),
            Class::Reg => self.cta * prog.warps + warp,
            _ => self.cta,
        };
        let meets = |cuts: &[u32], [lo, hi]: [i64; 2]| -> Vec<usize> {
            (0..cuts.len() - 1).filter(|i| (cuts[*i] as i64) < hi && cuts[i + 1] as i64 > lo).collect()
        };
        let (rows, cols) = (meets(&o.row_cuts, self.rows), meets(&o.col_cuts, self.cols));
        let width = o.col_cuts.len() - 1;
        let number = |r: &usize, c: &usize| (self.obj, copy, self.slot, (r * width + c) as u32);
        rows.iter().flat_map(|r| cols.iter().map(move |c| number(r, c))).collect()
    }
}

/// The tiles in each warp's registers, in program order.
pub(super) type Held = BTreeMap<Piece, Tile>;

impl Walker<'_> {
    /// A place, reduced to this warp's share.
    pub(super) fn rect(&self, pc: u32, place: &Place, crew: u64) -> Result<Rect, Inexpressible> {
        let o = &self.prog.objects[place.obj as usize];
        let value = |e| self.value(e).ok_or_else(|| self.no(pc, "a place has no value here"));
        let cta = place.cta.as_ref().map_or(Ok(self.who.cta as i64), value)?;
        let mut at = [0; 2];
        for (v, e) in at.iter_mut().zip(&place.at) {
            *v = value(e)?;
        }
        let global = o.class == Class::Global;
        let slot = if global { 0 } else { at[0] };
        if !(0..self.prog.cluster as i64).contains(&cta) || (!global && !(0..o.slots as i64).contains(&slot)) {
            return Err(self.no(pc, "a place is outside its object or cluster"));
        }
        let (mut rows, mut cols) = if global { ([0, o.block[0]], [0, o.block[1]]) } else { ([0, o.rows], [0, o.cols]) };
        self.narrow(pc, &place.sel, &mut rows, &mut cols)?;
        let n = crew.count_ones() as i64;
        if n > 1 {
            let axis = if (rows[1] - rows[0]) % n == 0 { &mut rows } else { &mut cols };
            part(axis, share(o.class, crew, self.who.warp), n);
        }
        Ok(Rect { obj: place.obj, cta: cta as u32, slot, at, rows, cols })
    }

    fn narrow(&self, pc: u32, sel: &Selection, rows: &mut [i64; 2], cols: &mut [i64; 2]) -> Result<(), Inexpressible> {
        for (axis, parts) in [(rows, &sel.rows), (cols, &sel.cols)] {
            for p in parts {
                let i = self.value(&p.index).filter(|i| (0..p.of as i64).contains(i));
                part(axis, i.ok_or_else(|| self.no(pc, "a part is outside its place"))?, p.of as i64);
            }
        }
        Ok(())
    }

    /// The tile that a copy writes: the tile of its source, where known.
    pub(super) fn copied(&self, held: &Held, src: &Rect, dst: &Rect) -> Option<Tile> {
        let [r, c] = src.corner_to(dst);
        if self.prog.objects[src.obj as usize].class == Class::Global {
            return Some((src.obj, src.at, [r, c]));
        }
        let first = src.pieces(self.prog, self.who.warp).into_iter().next()?;
        held.get(&first).map(|(obj, at, [x, y])| (*obj, *at, [x + r, y + c]))
    }

    /// The tile a read expects.
    pub(super) fn wanted(&self, pc: u32, t: &TileRef, f: &Rect) -> Result<Tile, Inexpressible> {
        let mut at = [0; 2];
        for (v, e) in at.iter_mut().zip(&t.at) {
            *v = self.value(e).ok_or_else(|| self.no(pc, "a tile has no value here"))?;
        }
        if t.sel == Selection::default() {
            return Ok((t.obj, at, [0, 0]));
        }
        let o = &self.prog.objects[t.obj as usize];
        let (mut rows, mut cols) =
            if o.class == Class::Global { ([0, o.block[0]], [0, o.block[1]]) } else { ([0, o.rows], [0, o.cols]) };
        self.narrow(pc, &t.sel, &mut rows, &mut cols)?;
        Ok((t.obj, at, [rows[0] - f.rows[0], cols[0] - f.cols[0]]))
    }
}

/// Reduces an extent to part `i` of `n`.
fn part(axis: &mut [i64; 2], i: i64, n: i64) {
    let len = (axis[1] - axis[0]) / n;
    *axis = [axis[0] + i * len, axis[0] + (i + 1) * len];
}
