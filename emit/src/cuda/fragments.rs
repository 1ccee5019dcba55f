//! Fragments of matrix instructions: to and from shared memory, and to matrices.

use warpline_sim::ir::{Dtype, ObjId, Pc};

use super::Writer;
use crate::Unsupported;
use crate::registers::RegisterKind;
use crate::writer::{Ends, name, padded, type_name};

impl Writer<'_> {
    /// Whether four warps hold an accumulator together.
    pub(super) fn grouped(&self, o: ObjId) -> bool {
        matches!(self.register(o).map(|r| r.kind), Some(RegisterKind::Acc { group: true }))
    }

    pub(super) fn declare_fragment(&mut self, o: ObjId, kind: RegisterKind) {
        let object = &self.prog.objects[o as usize];
        let (slots, reg) = (object.slots, self.reg(o));
        match kind {
            RegisterKind::Left | RegisterKind::GroupLeft => {
                let rows = if kind == RegisterKind::Left { 16 } else { 64 };
                let (m, k) = (object.rows / rows, object.cols / 16);
                self.line(format!("wl::u32 {reg}[{slots}][{m}][{k}][4] = {{}};"));
            }
            RegisterKind::Right => {
                // As [K, N]; for an object declared [N, K] the same elements.
                let (k, n) = self.right_shape(o);
                self.line(format!("wl::u32 {reg}[{slots}][{}][{}][2] = {{}};", k / 16, n / 8));
            }
            _ => {
                let (m, n) = self.acc_shape(o);
                self.line(format!("float {reg}[{slots}][{m}][{n}] = {{}};"));
            }
        }
    }

    pub(super) fn fragment(&mut self, pc: Pc, p: &Ends<'_>, dequant: bool) -> Result<(), Unsupported> {
        let (src, dst, from) = (p.src, p.dst, &p.at);
        let buffer = format!("B_{}", name(&self.prog.objects[src.obj as usize].name));
        let (bits, reg, slot) = (self.bits(src.obj), self.reg(dst.obj), self.slot(dst));
        let (row, col, pad) = (&from.row, &from.col, "    ".repeat(self.indent));
        if self.register(dst.obj).is_some_and(|r| r.kind == RegisterKind::Left) {
            if bits != 16 || dequant {
                return self.unsupported(pc, "registers of a matrix instruction filled in this way");
            }
            self.slot_address("s", src);
            self.line(format!(
                "#pragma unroll\n{pad}for (int m = 0; m < {}; m++)\n#pragma unroll\n{pad}    for (int k = 0; k < {}; k++) \
                 wl::frag_a<{buffer}>(s, {row} + m * 16, ({col}) * 2 + k * 32, lane, {reg}[{slot}][m][k]);",
                from.rows / 16,
                from.cols / 16
            ));
            return Ok(());
        }
        self.slot_address("s", src);
        let kn = self.right_is_kn(dst.obj);
        let (k, n) = if kn { (from.rows, from.cols) } else { (from.cols, from.rows) };
        let (wide, step, call) = match (bits, dequant, kn) {
            (16, false, true) => (16, 2, format!("frag_b_kn<{buffer}>(s, {row} + k * 16, ({col} + n * 16) * 2")),
            (16, false, false) => (16, 2, format!("frag_b_nk<{buffer}>(s, {row} + n * 16, ({col} + k * 16) * 2")),
            (4, true, true) => (8, 1, format!("frag_b_fp4<{buffer}>(s, {row} + k * 16, {col} + n * 8")),
            _ => return self.unsupported(pc, "a right operand in this type and order"),
        };
        if n % wide != 0 || k % 16 != 0 {
            return self.unsupported(pc, format!("a right operand of {k} x {n} elements"));
        }
        self.line(format!(
            "#pragma unroll\n{pad}for (int k = 0; k < {}; k++)\n#pragma unroll\n{pad}    for (int n = 0; n < {}; n++) \
             wl::{call}, lane, {reg}[{slot}][k][n * {step}]);",
            k / 16,
            n / wide
        ));
        Ok(())
    }

    pub(super) fn sts_sum(&mut self, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        let (src, dst, to) = (p.src, p.dst, &p.at);
        if dst.cta.is_some() || !self.whole_sum(src, to) {
            return self.unsupported(pc, "a part of an accumulator");
        }
        self.slot_address("s", dst);
        let (group, (m, n)) = (self.grouped(src.obj), self.acc_shape(src.obj));
        let (dtype, b, acc) = (self.prog.objects[dst.obj as usize].dtype, self.bits(dst.obj) / 8, self.reg(src.obj));
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

    /// An accumulator, converted, two neighboring elements at a time.
    pub(super) fn store_pairs(&mut self, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        let (src, dst, to) = (p.src, p.dst, &p.at);
        if !self.whole_sum(src, to) {
            return self.unsupported(pc, "a part of an accumulator");
        }
        let dtype = self.prog.objects[dst.obj as usize].dtype;
        if !matches!(dtype, Dtype::F32 | Dtype::Bf16 | Dtype::F16) {
            return self.unsupported(pc, "an accumulator stored in this type");
        }
        let (group, (m, n)) = (self.grouped(src.obj), self.acc_shape(src.obj));
        let pitch = padded(&self.prog.objects[dst.obj as usize])[1];
        self.matrix_address("to", to, dst.obj);
        let (acc, slot) = (self.reg(src.obj), self.slot(src));
        // The reference stores in the order of the fragment, so that results check the exchange.
        if dtype.bits() == 16 && to.cols % 32 == 0 && !self.reference {
            self.line(format!(
                "wl::store_rows<wl::{}, {group}, {m}, {n}>(to, {pitch}, {acc}[{slot}], warp, lane);",
                type_name(dtype)
            ));
            return Ok(());
        }
        self.line(format!(
            "wl::each_pair<{group}, {m}, {n}>(warp, lane, [&](int r, int c, int m, int i) {{ wl::put2<wl::{}>(to, (wl::i64)r \
             * {pitch} + c, {acc}[{slot}][m][i], {acc}[{slot}][m][i + 1]); }});",
            type_name(dtype)
        ));
        Ok(())
    }
}
