//! Copies between global memory, shared memory and registers.

use warpline_sim::ir::{Class, Dtype, Expr, How, ObjId, Op, Pc, Place, Sel, TileRef, Where};

use super::layout::Box;
use super::{Writer, name, padded, type_name};
use crate::Unsupported;
use crate::expr::{self, plus, times};
use crate::registers::{Kind, extent};

/// The corner of a place and its size, in elements; the corner as C expressions.
pub(super) struct Corner {
    pub(super) row: String,
    pub(super) col: String,
    pub(super) rows: i64,
    pub(super) cols: i64,
}

impl Writer<'_> {
    pub(super) fn c(&self, e: &Expr) -> String {
        expr::c(self.prog, e)
    }

    /// Where a selection starts in a slot or block of `size`, and how large it is.
    fn select(&self, sel: &Sel, size: [i64; 2]) -> Corner {
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

    /// The corner of a place: inside its slot, or in the matrix. `crew` as in [`Op::Move`] narrows it to the warp's share.
    pub(super) fn corner(&self, p: &Place, crew: u64) -> Corner {
        let o = &self.prog.objects[p.obj as usize];
        let global = o.class == Class::Global;
        let mut c = self.select(&p.sel, if global { o.block } else { [o.rows, o.cols] });
        let n = crew.count_ones() as i64;
        if n > 1 {
            let first = crew.trailing_zeros();
            let rank = if crew >> first == (1u64 << n) - 1 || n == 64 {
                if first == 0 { "warp".to_string() } else { format!("(warp - {first})") }
            } else {
                format!("__popcll({crew:#x}ull & ((1ull << warp) - 1))")
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

    /// The tile a read expects, for the reference: an expression of type `wl::Tile`.
    pub(super) fn tile(&self, t: &TileRef) -> Option<String> {
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
    pub(super) fn slot(&self, p: &Place) -> String {
        p.at.first().map_or("0".to_string(), |e| self.c(e))
    }

    /// Declares `s`, the address of a shared place's slot; of another CTA's where it names one.
    pub(super) fn slot_address(&mut self, var: &str, p: &Place) {
        let buffer = name(&self.prog.objects[p.obj as usize].name);
        let own = format!("B_{buffer}::slot(pool, {})", self.slot(p));
        let address = match &p.cta {
            Some(e) => format!("wl::in_cta({own}, {})", self.c(e)),
            None => own,
        };
        self.line(format!("const wl::u32 {var} = {address};"));
    }

    fn bits(&self, o: ObjId) -> i64 {
        self.prog.objects[o as usize].dtype.bits() as i64
    }

    /// The type of the chunks of a part: rows of whole chunks of 16 bytes.
    fn part(&mut self, pc: Pc, c: &Corner, obj: ObjId) -> Result<(), Unsupported> {
        let bits = self.bits(obj);
        if c.cols * bits % 128 != 0 {
            return self.unsupported(pc, format!("rows of {} bits are no whole chunks of 16 bytes", c.cols * bits));
        }
        self.line(format!("typedef wl::Part<{}, {}, {}> P;", c.rows, c.cols * bits / 8, self.lanes()));
        Ok(())
    }

    /// Declares `from`, the address of a corner of a matrix, and returns the bytes from row to row.
    fn matrix_address(&mut self, var: &str, c: &Corner, obj: ObjId) -> i64 {
        let o = &self.prog.objects[obj as usize];
        let (pitch, bits) = (padded(o)[1], o.dtype.bits() as i64);
        let m = self.matrix(obj);
        self.line(format!(
            "wl::byte* const {var} = g.m[{m}] + ((long long)({}) * {pitch} + {}) * {bits} / 8;",
            c.row, c.col
        ));
        pitch * bits / 8
    }

    /// Declares `r0` and `b0`: row and byte of a corner in a slot.
    fn in_slot(&mut self, c: &Corner, obj: ObjId) {
        let bits = self.bits(obj);
        self.line(format!("const int r0 = {}, b0 = ({}) * {bits} / 8;", c.row, c.col));
    }

    pub(super) fn move_op(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, src, dst, crew, dequant, .. } = op else { return Ok(()) };
        if self.reference {
            return self.reference_move(pc, *how, src, dst, *crew);
        }
        match how {
            How::CpAsync | How::Load => {
                let (from, to) = (self.corner(src, *crew), self.corner(dst, *crew));
                self.part(pc, &to, dst.obj)?;
                let pitch = self.matrix_address("from", &from, src.obj);
                self.slot_address("s", dst);
                self.in_slot(&to, dst.obj);
                let at = format!("B_{}::at(s, r0 + r, b0 + b)", name(&self.prog.objects[dst.obj as usize].name));
                if *how == How::CpAsync {
                    self.chunks(format!("wl::cp_async16({at}, from + (long long)r * {pitch} + b);"));
                } else {
                    self.line("uint4 v[P::each];");
                    self.chunks(format!("v[j] = wl::ldg16(from + (long long)r * {pitch} + b);"));
                    self.chunks(format!("wl::sts16({at}, v[j]);"));
                }
                Ok(())
            }
            How::Ldg => {
                let from = self.corner(src, *crew);
                self.part(pc, &from, src.obj)?;
                let pitch = self.matrix_address("from", &from, src.obj);
                let to = self.raw(pc, dst)?;
                self.chunks(format!("{to} = wl::ldg16(from + (long long)r * {pitch} + b);"));
                Ok(())
            }
            How::Sts => self.sts(pc, src, dst, *crew),
            How::Lds => self.lds(pc, src, dst, *dequant),
            How::Store => self.store(pc, src, dst, *crew),
            How::TmaLoad | How::TmaStore => self.tma(pc, op),
            How::LdsDma => self.unsupported(pc, "a copy of AMD's"),
            How::TmemLd | How::TmemSt => self.unsupported(pc, "tensor memory is sm_100a's, which is not written yet"),
        }
    }

    fn chunks(&mut self, body: String) {
        let lanes = self.lanes();
        self.line(format!("wl::each_chunk<P, {lanes}>(lane, [&](int j, int r, int b) {{ (void)j; {body} }});"));
    }

    /// A chunk of a register object that is copied on.
    fn raw(&self, pc: Pc, p: &Place) -> Result<String, Unsupported> {
        match self.register(p.obj) {
            Some(r) if r.kind == Kind::Raw && !r.sunk => Ok(format!("{}[{}][j]", self.reg(p.obj), self.slot(p))),
            _ => self.unsupported(pc, "these registers hold operands of a matrix instruction"),
        }
    }

    /// The warps that share a store: of a sum that four warps hold together each stores the rows that it has.
    fn shares(&self, src: &Place, crew: u64) -> u64 {
        match self.register(src.obj).map(|r| r.kind) {
            Some(Kind::Acc { group: true }) if crew.count_ones() == 4 => 0,
            _ => crew,
        }
    }

    fn sts(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64) -> Result<(), Unsupported> {
        let to = self.corner(dst, self.shares(src, crew));
        let at = format!("B_{}::at(s, r0 + r, b0 + b)", name(&self.prog.objects[dst.obj as usize].name));
        let Some(register) = self.register(src.obj).copied() else {
            return self.unsupported(pc, "registers that nothing writes");
        };
        let suffix = if dst.cta.is_some() { "_cluster" } else { "" };
        match register.kind {
            Kind::Acc { group } => {
                let whole = extent(self.prog, src, 0);
                if dst.cta.is_some() || [to.rows, to.cols] != whole || src.sel != Sel::default() {
                    return self.unsupported(pc, "a part of an accumulator");
                }
                self.slot_address("s", dst);
                let (m, n) = self.acc_shape(src.obj);
                let (dtype, b, acc) =
                    (self.prog.objects[dst.obj as usize].dtype, self.bits(dst.obj) / 8, self.reg(src.obj));
                let (slot, buffer) = (self.slot(src), name(&self.prog.objects[dst.obj as usize].name));
                let address = |col: &str| format!("B_{buffer}::at(s, {} + r, ({} + {col}) * {b})", to.row, to.col);
                let put = match dtype {
                    Dtype::Bf16 | Dtype::F16 => format!(
                        "wl::sts4({}, wl::pack2(wl::{}, {acc}[{slot}][m][i], {acc}[{slot}][m][i + 1]));",
                        address("c"),
                        type_name(dtype)
                    ),
                    Dtype::F32 => format!(
                        "wl::sts4({}, __float_as_uint({acc}[{slot}][m][i])); wl::sts4({}, __float_as_uint({acc}[{slot}][m][i + 1]));",
                        address("c"),
                        address("c + 1")
                    ),
                    _ => return self.unsupported(pc, "an accumulator stored in this type"),
                };
                self.line(format!(
                    "wl::each_pair<{group}, {m}, {n}>(warp, lane, [&](int r, int c, int m, int i) {{ {put} }});"
                ));
                Ok(())
            }
            Kind::MadeUp => {
                self.part(pc, &to, dst.obj)?;
                self.slot_address("s", dst);
                self.in_slot(&to, dst.obj);
                let reg = self.reg(src.obj);
                self.chunks(format!("wl::sts16{suffix}({at}, wl::made_up({}, warp, {reg}_n, r << 12 | b));", src.obj));
                self.line(format!("{reg}_n++;"));
                Ok(())
            }
            _ => {
                self.part(pc, &to, dst.obj)?;
                self.slot_address("s", dst);
                self.in_slot(&to, dst.obj);
                let from = self.raw(pc, src)?;
                self.chunks(format!("wl::sts16{suffix}({at}, {from});"));
                Ok(())
            }
        }
    }

    fn lds(&mut self, pc: Pc, src: &Place, dst: &Place, dequant: bool) -> Result<(), Unsupported> {
        let from = self.corner(src, 0);
        let buffer = format!("B_{}", name(&self.prog.objects[src.obj as usize].name));
        let Some(register) = self.register(dst.obj).copied() else { return Ok(()) };
        let (bits, reg) = (self.bits(src.obj), self.reg(dst.obj));
        let slot = self.slot(dst);
        match register.kind {
            Kind::Raw | Kind::MadeUp => {
                self.part(pc, &from, src.obj)?;
                self.slot_address("s", src);
                self.in_slot(&from, src.obj);
                let suffix = if src.cta.is_some() { "_cluster" } else { "" };
                let read = format!("wl::lds16{suffix}({buffer}::at(s, r0 + r, b0 + b))");
                if register.sunk {
                    // All are read before the first is looked at, as the one operation that it is.
                    let word =
                        if src.tile.as_ref().and_then(|t| self.tile(t)).is_some() { "checked" } else { "unchecked" };
                    self.line("uint4 v[P::each] = {};");
                    self.chunks(format!("v[j] = {read};"));
                    self.line(format!("for (int j = 0; j < P::each; j++) a.{word} = wl::fold(a.{word}, v[j]);"));
                } else {
                    self.chunks(format!("{reg}[{slot}][j] = {read};"));
                }
                Ok(())
            }
            Kind::Left if bits == 16 && !dequant => {
                self.slot_address("s", src);
                let (row, col) = (from.row, from.col);
                self.line(format!(
                    "#pragma unroll\n{0}for (int m = 0; m < {1}; m++)\n#pragma unroll\n{0}    for (int k = 0; k < {2}; k++) \
                     wl::frag_a<{buffer}>(s, {row} + m * 16, ({col}) * 2 + k * 32, lane, {reg}[{slot}][m][k]);",
                    "    ".repeat(self.indent),
                    from.rows / 16,
                    from.cols / 16
                ));
                Ok(())
            }
            Kind::Right => {
                self.slot_address("s", src);
                let kn = self.right_is_kn(dst.obj);
                let (k, n) = if kn { (from.rows, from.cols) } else { (from.cols, from.rows) };
                let (row, col) = (from.row, from.col);
                let (wide, step, call) = match (bits, dequant, kn) {
                    (16, false, true) => {
                        (16, 2, format!("frag_b_kn<{buffer}>(s, {row} + k * 16, ({col} + n * 16) * 2"))
                    }
                    (16, false, false) => {
                        (16, 2, format!("frag_b_nk<{buffer}>(s, {row} + n * 16, ({col} + k * 16) * 2"))
                    }
                    (4, true, true) => (8, 1, format!("frag_b_fp4<{buffer}>(s, {row} + k * 16, {col} + n * 8")),
                    _ => return self.unsupported(pc, "a right operand in this type and order"),
                };
                if n % wide != 0 || k % 16 != 0 {
                    return self.unsupported(pc, format!("a right operand of {k} x {n} elements"));
                }
                self.line(format!(
                    "#pragma unroll\n{0}for (int k = 0; k < {1}; k++)\n#pragma unroll\n{0}    for (int n = 0; n < {2}; n++) \
                     wl::{call}, lane, {reg}[{slot}][k][n * {step}]);",
                    "    ".repeat(self.indent),
                    k / 16,
                    n / wide
                ));
                Ok(())
            }
            _ => self.unsupported(pc, "registers of a matrix instruction filled in this way"),
        }
    }

    fn store(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64) -> Result<(), Unsupported> {
        let Some(register) = self.register(src.obj).copied() else {
            return self.unsupported(pc, "registers that nothing writes");
        };
        let to = self.corner(dst, self.shares(src, crew));
        match register.kind {
            Kind::Acc { .. } => self.store_sum(pc, src, dst, &to),
            Kind::Raw => {
                self.part(pc, &to, dst.obj)?;
                let pitch = self.matrix_address("to", &to, dst.obj);
                let from = self.raw(pc, src)?;
                self.chunks(format!("*(uint4*)(to + (long long)r * {pitch} + b) = {from};"));
                Ok(())
            }
            Kind::MadeUp => {
                self.part(pc, &to, dst.obj)?;
                let pitch = self.matrix_address("to", &to, dst.obj);
                let reg = self.reg(src.obj);
                self.chunks(format!(
                    "*(uint4*)(to + (long long)r * {pitch} + b) = wl::made_up({}, warp, {reg}_n, r << 12 | b);",
                    src.obj
                ));
                self.line(format!("{reg}_n++;"));
                Ok(())
            }
            _ => self.unsupported(pc, "operands of a matrix instruction stored"),
        }
    }

    /// An accumulator, converted, two neighbours at a time.
    fn store_sum(&mut self, pc: Pc, src: &Place, dst: &Place, to: &Corner) -> Result<(), Unsupported> {
        let Some(Kind::Acc { group }) = self.register(src.obj).map(|r| r.kind) else { return Ok(()) };
        if [to.rows, to.cols] != extent(self.prog, src, 0) || src.sel != Sel::default() {
            return self.unsupported(pc, "a part of an accumulator");
        }
        let dtype = self.prog.objects[dst.obj as usize].dtype;
        if !matches!(dtype, Dtype::F32 | Dtype::Bf16 | Dtype::F16) {
            return self.unsupported(pc, "an accumulator stored in this type");
        }
        let (m, n) = self.acc_shape(src.obj);
        let pitch = padded(&self.prog.objects[dst.obj as usize])[1];
        self.matrix_address("to", to, dst.obj);
        let (acc, slot) = (self.reg(src.obj), self.slot(src));
        self.line(format!(
            "wl::each_pair<{group}, {m}, {n}>(warp, lane, [&](int r, int c, int m, int i) {{ wl::put2<wl::{}>(to, (long long)r \
             * {pitch} + c, {acc}[{slot}][m][i], {acc}[{slot}][m][i + 1]); }});",
            type_name(dtype)
        ));
        Ok(())
    }

    fn tma(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, src, dst, signals, multicast, .. } = op else { return Ok(()) };
        let load = *how == How::TmaLoad;
        let (global, shared) = if load { (src, dst) } else { (dst, src) };
        let (from, to) = (self.corner(global, 0), self.corner(shared, 0));
        let o = self.prog.objects[shared.obj as usize].clone();
        let bits = o.dtype.bits() as i64;
        // A box is as wide as a panel of the buffer, and at most 256 elements either way.
        let panel = if o.swizzle > 0 { o.swizzle as i64 * 8 / bits } else { o.cols };
        let wide = panel.min(to.cols);
        if (wide != panel && o.cols > wide) || wide > 256 || to.cols % wide != 0 || wide * bits % 128 != 0 {
            return self.unsupported(pc, format!("boxes of {wide} columns"));
        }
        let tall = (1..=to.rows.min(256)).rev().find(|h| to.rows % h == 0).unwrap_or(1);
        let map = self.tensor_map(Box { obj: global.obj, rows: tall, cols: wide, swizzle: o.swizzle });
        let buffer = name(&o.name);
        self.slot_address("s", shared);
        let bar = match signals {
            Some(b) => {
                if matches!(b.at, Where::Cta(_) | Where::Ctas(_)) {
                    return self.unsupported(pc, "a signal to the other CTA of a pair is sm_100a's");
                }
                let own = self.bar_address(b);
                shared.cta.as_ref().map_or(own.clone(), |e| format!("wl::in_cta({own}, {})", self.c(e)))
            }
            None => String::new(),
        };
        if !self.elect {
            self.line("if (lane == 0)");
        }
        self.line(
            "for (int p = 0; p < ".to_string()
                + &format!("{}; p++) for (int h = 0; h < {}; h++) {{", to.cols / wide, to.rows / tall),
        );
        self.indent += 1;
        let at = format!("B_{buffer}::at(s, {}, ({}) * {bits} / 8)", to.row, to.col);
        self.line(format!("const wl::u32 at = {at} + p * B_{buffer}::panel_bytes + h * {tall} * B_{buffer}::panel;"));
        self.line(format!("const int col = {} + p * {wide}, row = {} + h * {tall};", from.col, from.row));
        self.line(match (load, multicast) {
            (true, Some(m)) => format!("wl::tma_multicast(at, &maps.m[{map}], col, row, {bar}, {});", self.c(m)),
            (true, None) => format!("wl::tma_load(at, &maps.m[{map}], col, row, {bar});"),
            (false, _) => format!("wl::tma_store(&maps.m[{map}], col, row, at);"),
        });
        self.indent -= 1;
        self.line("}");
        Ok(())
    }

    fn tensor_map(&mut self, b: Box) -> usize {
        self.boxes.iter().position(|x| *x == b).unwrap_or_else(|| {
            self.boxes.push(b);
            self.boxes.len() - 1
        })
    }

    /// The reference: a read names its tile, a store writes what the registers are known to be.
    fn reference_move(&mut self, pc: Pc, how: How, src: &Place, dst: &Place, crew: u64) -> Result<(), Unsupported> {
        match how {
            How::Ldg => {
                let o = &self.prog.objects[src.obj as usize];
                let (c, pitch, m) = (self.corner(src, crew), padded(o)[1], self.matrix(src.obj));
                if !self.stored(src.obj) {
                    let (reg, slot) = (self.reg(dst.obj), self.slot(dst));
                    self.line(format!("{reg}[{slot}] = wl::Tile{{g.m[{m}], {}, {}, {pitch}}};", c.row, c.col));
                }
                Ok(())
            }
            How::Lds => {
                let Some(register) = self.register(dst.obj).copied() else { return Ok(()) };
                let Some(tile) = src.tile.as_ref().and_then(|t| self.tile(t)) else {
                    if !matches!(register.kind, Kind::Acc { .. } | Kind::GroupLeft) {
                        let (reg, slot) = (self.reg(dst.obj), self.slot(dst));
                        self.line(format!("{reg}[{slot}] = wl::Tile{{}};"));
                    }
                    return Ok(());
                };
                let (reg, slot) = (self.reg(dst.obj), self.slot(dst));
                self.line(format!("{reg}[{slot}] = {tile};"));
                if register.sunk {
                    let from = self.corner(src, 0);
                    let bits = self.bits(src.obj);
                    self.part(pc, &from, src.obj)?;
                    self.line("uint4 v[P::each] = {};");
                    self.chunks(format!("v[j] = {reg}[{slot}].chunk<{bits}>(r, b);"));
                    self.line("for (int j = 0; j < P::each; j++) a.checked = wl::fold(a.checked, v[j]);");
                }
                Ok(())
            }
            How::Store if self.has_reference() => {
                let to = self.corner(dst, self.shares(src, crew));
                match self.register(src.obj).map(|r| r.kind) {
                    Some(Kind::Acc { .. }) => self.store_sum(pc, src, dst, &to),
                    Some(Kind::Raw) => {
                        self.part(pc, &to, dst.obj)?;
                        let pitch = self.matrix_address("to", &to, dst.obj);
                        let (reg, slot, bits) = (self.reg(src.obj), self.slot(src), self.bits(dst.obj));
                        self.line(format!("if ({reg}[{slot}].base)"));
                        self.chunks(format!(
                            "*(uint4*)(to + (long long)r * {pitch} + b) = {reg}[{slot}].chunk<{bits}>(r, b);"
                        ));
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
            How::TmaStore => {
                let Some(tile) = src.tile.as_ref().and_then(|t| self.tile(t)) else { return Ok(()) };
                let to = self.corner(dst, 0);
                let bits = self.bits(dst.obj);
                self.part(pc, &to, dst.obj)?;
                let pitch = self.matrix_address("to", &to, dst.obj);
                self.line(format!("const wl::Tile t = {tile};"));
                self.chunks(format!("*(uint4*)(to + (long long)r * {pitch} + b) = t.chunk<{bits}>(r, b);"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Words of shared memory that carry a value.
    pub(super) fn mailbox(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        match op {
            Op::Put { dst, value } if !self.reference => {
                if dst.cta.is_some() {
                    return self.unsupported(pc, "a word in another CTA");
                }
                let (offset, slot, value) = (self.layout.offset[dst.obj as usize], self.slot(dst), self.c(value));
                let guard = if self.elect { "" } else { "if (lane == 0) " };
                self.line(format!("{guard}wl::sts4(pool + {offset} + 16 * ({slot}), {value});"));
            }
            Op::Get { src, var } => {
                let v = expr::variable(self.prog, *var);
                let version = src.tile.as_ref().and_then(|t| t.at.first()).map(|e| self.c(e));
                if self.reference {
                    // The word is its version in all kernels that state one.
                    match version {
                        Some(e) => self.line(format!("{v} = {e};")),
                        None => return self.unsupported(pc, "a word whose value is not stated"),
                    }
                } else {
                    let (offset, slot) = (self.layout.offset[src.obj as usize], self.slot(src));
                    self.line(format!("{v} = (int)wl::lds4(pool + {offset} + 16 * ({slot}));"));
                }
                self.line(format!("a.checked = wl::mix(a.checked ^ (wl::u32){v});"));
            }
            _ => {}
        }
        Ok(())
    }
}
