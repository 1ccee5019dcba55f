//! Copies by the threads, between global memory, shared memory and registers.

use warpline_sim::ir::{Dtype, How, Op, Pc, Place, Sel};

use super::place::Corner;
use super::{Writer, name, padded, type_name};
use crate::Unsupported;
use crate::expr;
use crate::registers::{Kind, extent};

impl Writer<'_> {
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

    /// A chunk of a register object that is copied on.
    pub(super) fn raw(&self, pc: Pc, p: &Place) -> Result<String, Unsupported> {
        match self.register(p.obj) {
            Some(r) if r.kind == Kind::Raw && !r.sunk => Ok(format!("{}[{}][j]", self.reg(p.obj), self.slot(p))),
            _ => self.unsupported(pc, "these registers hold operands of a matrix instruction"),
        }
    }

    /// The warps that share a store: of a sum that four warps hold together each stores the rows that it has.
    pub(super) fn shares(&self, src: &Place, crew: u64) -> u64 {
        match self.register(src.obj).map(|r| r.kind) {
            Some(Kind::Acc { group: true }) if crew.count_ones() == 4 => 0,
            _ => crew,
        }
    }

    pub(super) fn sts(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64) -> Result<(), Unsupported> {
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

    pub(super) fn lds(&mut self, pc: Pc, src: &Place, dst: &Place, dequant: bool) -> Result<(), Unsupported> {
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

    pub(super) fn store(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64) -> Result<(), Unsupported> {
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
    pub(super) fn store_sum(&mut self, pc: Pc, src: &Place, dst: &Place, to: &Corner) -> Result<(), Unsupported> {
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
        // The reference stores as the fragment lies, so that the exchange is held to it.
        if dtype.bits() == 16 && to.cols % 32 == 0 && !self.reference {
            self.line(format!(
                "wl::store_rows<wl::{}, {group}, {m}, {n}>(to, {pitch}, {acc}[{slot}], warp, lane);",
                type_name(dtype)
            ));
            return Ok(());
        }
        self.line(format!(
            "wl::each_pair<{group}, {m}, {n}>(warp, lane, [&](int r, int c, int m, int i) {{ wl::put2<wl::{}>(to, (long long)r \
             * {pitch} + c, {acc}[{slot}][m][i], {acc}[{slot}][m][i + 1]); }});",
            type_name(dtype)
        ));
        Ok(())
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
