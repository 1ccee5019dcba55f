//! Operands: where a place starts, how large it is, and its address.

use warpline_sim::ir::{Class, Expr, ObjId, Pc, Place, Selection, TileRef};

use crate::Unsupported;
use crate::expr::{self, plus, times};
use crate::writer::{Target, Writer, name, padded};

/// The corner of a place, as C expressions, and its size in elements.
pub(crate) struct Corner {
    pub(crate) row: String,
    pub(crate) col: String,
    pub(crate) rows: i64,
    pub(crate) cols: i64,
}

impl<T: Target> Writer<'_, T> {
    pub(crate) fn c(&self, e: &Expr) -> String {
        expr::c(self.prog, e, &|e| self.counted(e))
    }

    /// Corner and size of a selection in a slot or block of `size`.
    pub(crate) fn select(&self, sel: &Selection, size: [i64; 2]) -> Corner {
        let cut = |parts: &[warpline_sim::ir::Part], mut len: i64| {
            let mut at = "0".to_string();
            for p in parts {
                len /= p.of as i64;
                at = plus(&at, &times(&self.c(&p.index), len));
            }
            (at, len)
        };
        let ((row, rows), (col, cols)) = (cut(&sel.rows, size[0]), cut(&sel.cols, size[1]));
        Corner { row, col, rows, cols }
    }

    /// The named part of an accumulator, in elements.
    pub(crate) fn sum_part(&self, p: &Place) -> Corner {
        let o = &self.prog.objects[p.obj as usize];
        self.select(&p.sel, [o.rows, o.cols])
    }

    /// The corner of a place, inside its slot or in the matrix. `crew`, as in [`Op::Move`], narrows it to the warp's
    /// share.
    pub(crate) fn corner(&self, p: &Place, crew: u64) -> Corner {
        let o = &self.prog.objects[p.obj as usize];
        let global = o.class == Class::Global;
        let mut c = self.select(&p.sel, if global { o.block } else { [o.rows, o.cols] });
        let n = crew.count_ones() as i64;
        if n > 1 {
            let first = crew.trailing_zeros();
            let rank = if crew >> first == (1u64 << n) - 1 || n == 64 {
                if first == 0 { "warp".to_string() } else { format!("(warp - {first})") }
            } else {
                T::rank_in(crew)
            };
            if c.rows % n == 0 {
                c.rows /= n;
                c.row = plus(&c.row, &times(&rank, c.rows));
            } else {
                c.cols /= n;
                c.col = plus(&c.col, &times(&rank, c.cols));
            }
        }
        if global {
            let at = |i: usize| p.at.get(i).map_or("0".to_string(), |e| self.c(e));
            let size = if p.elements { [1, 1] } else { o.block };
            c.row = plus(&times(&at(0), size[0]), &c.row);
            c.col = plus(&times(&at(1), size[1]), &c.col);
        }
        c
    }

    /// The tile that a read expects, for the reference: an expression of type `wl::Tile`.
    pub(crate) fn tile(&self, t: &TileRef) -> Option<String> {
        let o = &self.prog.objects[t.obj as usize];
        if o.class != Class::Global || self.stored(t.obj) {
            return None;
        }
        let c = self.select(&t.sel, o.block);
        let at = |i: usize| t.at.get(i).map_or("0".to_string(), |e| self.c(e));
        let (row, col) = (plus(&times(&at(0), o.block[0]), &c.row), plus(&times(&at(1), o.block[1]), &c.col));
        Some(format!("wl::Tile{{g.m[{}], {row}, {col}, {}}}", self.matrix(t.obj), padded(o)[1]))
    }

    /// The slot of a place on chip, as an expression.
    pub(crate) fn slot(&self, p: &Place) -> String {
        p.at.first().map_or("0".to_string(), |e| self.c(e))
    }

    /// Declares `s`, the address of a shared place's slot, in another CTA if the place names one.
    pub(crate) fn slot_address(&mut self, var: &str, p: &Place) {
        self.slot_from(var, p, "pool");
    }

    /// The same, relative to another base address.
    pub(crate) fn slot_from(&mut self, var: &str, p: &Place, base: &str) {
        let buffer = name(&self.prog.objects[p.obj as usize].name);
        let own = format!("B_{buffer}::slot({base}, {})", self.slot(p));
        let address = match &p.cta {
            Some(e) => format!("wl::in_cta({own}, {})", self.c(e)),
            None => own,
        };
        self.line(format!("const {} {var} = {address};", T::SLOT));
    }

    pub(crate) fn bits(&self, o: ObjId) -> i64 {
        self.prog.objects[o as usize].dtype.bits() as i64
    }

    /// The type of the chunks of a part: rows of whole chunks of 16 bytes.
    pub(crate) fn part(&mut self, pc: Pc, c: &Corner, obj: ObjId) -> Result<(), Unsupported> {
        let bits = self.bits(obj);
        if c.cols * bits % 128 != 0 {
            return self.unsupported(pc, format!("rows of {} bits are no whole chunks of 16 bytes", c.cols * bits));
        }
        self.line(format!("typedef wl::Part<{}, {}, {}> P;", c.rows, c.cols * bits / 8, self.lanes()));
        Ok(())
    }

    /// Declares `from`, the address of a corner of a matrix, and returns the bytes from row to row.
    pub(crate) fn matrix_address(&mut self, var: &str, c: &Corner, obj: ObjId) -> i64 {
        let (start, pitch) = self.matrix_start(c, obj);
        self.line(format!("{} const {var} = {start};", T::GLOBAL));
        pitch
    }

    /// The address of a corner of a matrix, and the bytes from row to row.
    pub(crate) fn matrix_start(&self, c: &Corner, obj: ObjId) -> (String, i64) {
        let o = &self.prog.objects[obj as usize];
        let (pitch, bits, m) = (padded(o)[1], o.dtype.bits() as i64, self.matrix(obj));
        (format!("g.m[{m}] + ((wl::i64)({}) * {pitch} + {}) * {bits} / 8", c.row, c.col), pitch * bits / 8)
    }

    /// Declares `r0` and `b0`: row and byte of a corner in a slot.
    pub(crate) fn in_slot(&mut self, c: &Corner, obj: ObjId) {
        let bits = self.bits(obj);
        self.line(format!("const int r0 = {}, b0 = ({}) * {bits} / 8;", c.row, c.col));
    }

    pub(crate) fn chunks(&mut self, body: String) {
        self.chunks_from("lane", body);
    }

    /// The chunks of a lane, counted from the first one of `lane`.
    pub(crate) fn chunks_from(&mut self, lane: &str, body: String) {
        let lanes = self.lanes();
        self.line(T::chunks(lanes, lane, &body));
    }
}
