//! MFMA in blocks of 16 x 16, with its operands and sums.

use warpline_sim::ir::{Class, Dtype, MmaKind, ObjId, Op, Pc, Selection};

use super::Writer;
use crate::Unsupported;
use crate::registers::RegisterKind;
use crate::writer::{Ends, name, padded, type_name};

impl Writer<'_> {
    /// Blocks of 16 rows of an operand, and fragments of 64 bytes of its rows.
    pub(super) fn fragment_shape(&self, o: ObjId) -> (i64, i64) {
        let object = &self.prog.objects[o as usize];
        (object.rows / 16, object.cols * object.dtype.bits() as i64 / 512)
    }

    pub(super) fn declare_fragment(&mut self, o: ObjId, kind: RegisterKind) {
        let (slots, reg) = (self.prog.objects[o as usize].slots, self.reg(o));
        if matches!(kind, RegisterKind::Left | RegisterKind::Right) {
            let (m, k) = self.fragment_shape(o);
            self.line(format!("wl::word4 {reg}[{slots}][{m}][{k}] = {{}};"));
        } else {
            let (m, n) = self.acc_shape(o);
            self.line(format!("float {reg}[{slots}][{m}][{n}] = {{}};"));
        }
    }

    pub(super) fn mfma(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Mma { kind, a, b, acc } = op else { return Ok(()) };
        if *kind != MmaKind::Warp {
            return self.unsupported(pc, "CDNA multiplies by wave (`mfma`): `--target cuda`, on h200 or b200");
        }
        let (x, y) = (&self.prog.objects[a.obj as usize], &self.prog.objects[b.obj as usize]);
        if x.class != Class::Reg || y.class != Class::Reg {
            return self.unsupported(pc, "v_mfma takes registers: `lds` the operands first");
        }
        if a.sel != Selection::default() || b.sel != Selection::default() {
            return self.unsupported(pc, "a part of a register object");
        }
        let fp8 = x.dtype == Dtype::Fp8 && self.target.arch != "gfx90a";
        if x.dtype != y.dtype || !(matches!(x.dtype, Dtype::Bf16 | Dtype::F16) || fp8) {
            return self.unsupported(pc, format!("an mfma of {} and {}", x.dtype.name(), y.dtype.name()));
        }
        if self.kn(a, b, acc.obj) {
            return self
                .unsupported(pc, "a right operand [K, N]: a lane reads 16 bytes along K, so it is to be [N, K]");
        }
        let part = self.sum_part(acc);
        let ((am, ak), (bn, bk)) = (self.fragment_shape(a.obj), self.fragment_shape(b.obj));
        let whole = x.rows % 16 == 0 && y.rows % 16 == 0 && x.cols * x.dtype.bits() as i64 % 512 == 0;
        if !whole || ak != bk || part.rows != x.rows || part.cols != y.rows {
            return self.unsupported(pc, format!("a product of {} x {} and {} x {}", x.rows, x.cols, y.rows, y.cols));
        }
        let (t, pad) = (type_name(x.dtype), "    ".repeat(self.indent));
        let (ra, rb, rc) = (self.reg(a.obj), self.reg(b.obj), self.reg(acc.obj));
        let (sa, sb, sc) = (self.slot(a), self.slot(b), self.slot(acc));
        self.line(format!("const int m0 = ({}) / 16, n0 = ({}) / 16;", part.row, part.col));
        self.line(format!(
            "#pragma unroll\n{pad}for (int k = 0; k < {ak}; k++)\n#pragma unroll\n{pad}    for (int m = 0; m < {am}; \
             m++)\n#pragma unroll\n{pad}        for (int n = 0; n < {bn}; n++) wl::mfma<wl::{t}>(&{rc}[{sc}][m0 + m][(n0 + n) * \
             4], {ra}[{sa}][m][k], {rb}[{sb}][n][k]);"
        ));
        Ok(())
    }

    /// An operand from LDS: the 16 bytes of a lane belong to one row.
    pub(super) fn fragment(&mut self, pc: Pc, p: &Ends<'_>, dequant: bool) -> Result<(), Unsupported> {
        let (src, dst, from) = (p.src, p.dst, &p.at);
        let bits = self.bits(src.obj);
        let right = self.register(dst.obj).is_some_and(|r| r.kind == RegisterKind::Right);
        if dequant || bits != self.bits(dst.obj) {
            return self.unsupported(pc, "an operand unpacked on its way to registers");
        }
        if right && self.right_is_kn(dst.obj) {
            return self
                .unsupported(pc, "a right operand [K, N]: a lane reads 16 bytes along K, so it is to be [N, K]");
        }
        if from.rows % 16 != 0 || from.cols * bits % 512 != 0 {
            return self.unsupported(pc, format!("an operand of {} x {} elements", from.rows, from.cols));
        }
        self.slot_address("s", src);
        let buffer = name(&self.prog.objects[src.obj as usize].name);
        let (reg, slot, pad) = (self.reg(dst.obj), self.slot(dst), "    ".repeat(self.indent));
        self.line(format!(
            "#pragma unroll\n{pad}for (int m = 0; m < {}; m++)\n#pragma unroll\n{pad}    for (int k = 0; k < {}; k++) \
             {reg}[{slot}][m][k] = wl::fragment<B_{buffer}>(s, {} + m * 16, ({}) * {bits} / 8 + k * 64, lane);",
            from.rows / 16,
            from.cols * bits / 512,
            from.row,
            from.col
        ));
        Ok(())
    }

    /// An accumulator, or a part of one, to a matrix or to LDS, element by element.
    pub(super) fn sum(&mut self, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        let (src, dst, to) = (p.src, p.dst, &p.at);
        let part = self.sum_part(src);
        let (object, bits) = (&self.prog.objects[dst.obj as usize], self.bits(dst.obj));
        let (dtype, class, pitch, buffer) = (object.dtype, object.class, padded(object)[1], name(&object.name));
        if [to.rows, to.cols] != [part.rows, part.cols] || to.rows % 16 != 0 || to.cols % 16 != 0 {
            return self.unsupported(pc, "a part of an accumulator that is no whole blocks of 16 x 16, or shared out");
        }
        if !matches!(dtype, Dtype::F32 | Dtype::Bf16 | Dtype::F16) {
            return self.unsupported(pc, "an accumulator stored in this type");
        }
        let value = format!("{}[{}][m0 + m][n0 * 4 + i]", self.reg(src.obj), self.slot(src));
        let t = type_name(dtype);
        let put = if class == Class::Global {
            self.matrix_address("to", to, dst.obj);
            format!("wl::put<wl::{t}>(to, (wl::i64)r * {pitch} + c, {value});")
        } else {
            self.slot_address("s", dst);
            format!(
                "wl::put_shared<wl::{t}>(B_{buffer}::at(s, {} + r, ({} + c) * {bits} / 8), {value});",
                to.row, to.col
            )
        };
        self.line(format!("const int m0 = ({}) / 16, n0 = ({}) / 16;", part.row, part.col));
        self.line(format!(
            "wl::each_sum<{}, {}>(lane, [&](int r, int c, int m, int i) {{ {put} }});",
            part.rows / 16,
            part.cols / 16
        ));
        Ok(())
    }
}
