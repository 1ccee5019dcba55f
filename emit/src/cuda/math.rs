//! Matrix instructions and the layout of their registers.

use std::fmt::Write;

use warpline_sim::ir::{Class, Dtype, MmaKind, Op, Pc, Place, Selection};

use super::{Instruction, Writer};
use crate::Unsupported;
use crate::registers::extent;
use crate::writer::name;

impl Writer<'_> {
    pub(super) fn matrix_op(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Mma { kind, a, b, acc } = op else { return Ok(()) };
        match kind {
            MmaKind::Warp => self.mma(pc, a, b, acc),
            MmaKind::Wgmma => self.wgmma(pc, a, b, acc),
            MmaKind::Umma | MmaKind::UmmaPair => self.umma(pc, op),
        }
    }

    fn mma(&mut self, pc: Pc, a: &Place, b: &Place, acc: &Place) -> Result<(), Unsupported> {
        let (x, y) = (&self.prog.objects[a.obj as usize], &self.prog.objects[b.obj as usize]);
        if x.class != Class::Reg || y.class != Class::Reg {
            return self.unsupported(pc, "mma.sync takes registers");
        }
        if [a, b, acc].iter().any(|p| p.sel != Selection::default()) {
            return self.unsupported(pc, "a part of a register object");
        }
        let call = match x.dtype {
            Dtype::Bf16 => "mma_bf16",
            Dtype::F16 => "mma_f16",
            _ => return self.unsupported(pc, "mma.sync of this type"),
        };
        let (k, n) = self.right_shape(b.obj);
        if x.rows % 16 != 0 || k % 16 != 0 || n % 8 != 0 || x.cols != k {
            return self.unsupported(pc, format!("a product of {} x {k} and {k} x {n}", x.rows));
        }
        let rows = x.rows;
        let pad = "    ".repeat(self.indent);
        let (ra, rb, rc) = (self.reg(a.obj), self.reg(b.obj), self.reg(acc.obj));
        let (sa, sb, sc) = (self.slot(a), self.slot(b), self.slot(acc));
        self.line(format!(
            "#pragma unroll\n{pad}for (int k = 0; k < {}; k++)\n#pragma unroll\n{pad}    for (int m = 0; m < {}; m++)\n#pragma \
             unroll\n{pad}        for (int n = 0; n < {}; n++) wl::{call}(&{rc}[{sc}][m][n * 4], {ra}[{sa}][m][k], \
             {rb}[{sb}][k][n]);",
            k / 16,
            rows / 16,
            n / 8
        ));
        Ok(())
    }

    fn wgmma(&mut self, pc: Pc, a: &Place, b: &Place, acc: &Place) -> Result<(), Unsupported> {
        let (x, y) = (self.prog.objects[a.obj as usize].clone(), self.prog.objects[b.obj as usize].clone());
        let from_registers = x.class == Class::Reg;
        let ([m, k], [br, bc]) = (extent(self.prog, a, 0), extent(self.prog, b, 0));
        let kn = self.kn(a, b, acc.obj);
        let n = if kn { bc } else { br };
        let bits = x.dtype.bits() as i64;
        let step = 256 / bits;
        let known =
            matches!(x.dtype, Dtype::Bf16 | Dtype::F16 | Dtype::Tf32 | Dtype::F32 | Dtype::Fp8) && x.dtype == y.dtype;
        if !known || m % 64 != 0 || n % 8 != 0 || !(8..=256).contains(&n) || k % step != 0 || (kn && bits != 16) {
            return self.unsupported(pc, format!("a wgmma of {m} x {n} x {k} {}", x.dtype.name()));
        }
        if y.swizzle == 0 || (!from_registers && x.swizzle == 0) {
            return self.unsupported(pc, "wgmma reads swizzled buffers here");
        }
        // Where N is contiguous, a descriptor goes from panel to panel, starting at the first column of one.
        if kn && bc * bits / 8 % y.swizzle as i64 != 0 {
            let atom = y.swizzle;
            return self.unsupported(pc, format!("a part of {bc} columns, no whole swizzle atoms of {atom} bytes"));
        }
        if acc.sel != Selection::default() || (from_registers && a.sel != Selection::default()) {
            return self.unsupported(pc, "a part of a register object");
        }
        self.target.instructions.insert((x.dtype, n, from_registers, kn), ());
        let (left, right) = (self.corner(a, 0), self.corner(b, 0));
        if !from_registers {
            self.slot_address("sa", a);
        }
        self.slot_address("sb", b);
        let (acc_reg, slot) = (self.reg(acc.obj), self.slot(acc));
        let (ba, bb) = (name(&x.name), name(&y.name));
        let va = if from_registers {
            format!("{}[{}][m][k]", self.reg(a.obj), self.slot(a))
        } else {
            format!("wl::matrix_k<B_{ba}>(sa, {} + m * 64, ({}) * {bits} / 8 + k * 32)", left.row, left.col)
        };
        let vb = if kn {
            format!("wl::matrix_mn<B_{bb}>(sb, {} + k * {step}, ({}) * {bits} / 8)", right.row, right.col)
        } else {
            format!("wl::matrix_k<B_{bb}>(sb, {}, ({}) * {bits} / 8 + k * 32)", right.row, right.col)
        };
        let call = instruction_name(&(x.dtype, n, from_registers, kn));
        let pad = "    ".repeat(self.indent);
        self.line(format!(
            "#pragma unroll\n{pad}for (int k = 0; k < {}; k++)\n#pragma unroll\n{pad}    for (int m = 0; m < {}; m++) \
             {call}({acc_reg}[{slot}][m], {va}, {vb});",
            k / step,
            m / 64
        ));
        Ok(())
    }
}

fn instruction_name((dtype, n, registers, kn): &Instruction) -> String {
    let (r, t) = (if *registers { "_r" } else { "" }, if *kn { "_t" } else { "" });
    format!("wgmma_{}_n{n}{r}{t}", dtype.name())
}

/// A function for each wgmma instruction: 64 x n, one k-step of 32 bytes, added to the registers.
pub(super) fn instructions<'a>(all: impl Iterator<Item = &'a Instruction>) -> String {
    let mut out = String::new();
    for i in all {
        let (dtype, n, registers, kn) = *i;
        let k = 256 / dtype.bits();
        let (word, transposes) = match dtype {
            Dtype::Bf16 => ("bf16", true),
            Dtype::F16 => ("f16", true),
            Dtype::Fp8 => ("e4m3", false),
            _ => ("tf32", false),
        };
        let regs: Vec<String> = (0..n / 2).map(|r| format!("%{r}")).collect();
        let at = |x: i64| n / 2 + x;
        let (a, b) = if registers {
            (format!("{{%{}, %{}, %{}, %{}}}", at(0), at(1), at(2), at(3)), at(4))
        } else {
            (format!("%{}", at(0)), at(1))
        };
        let orders = match (transposes, registers) {
            (false, _) => String::new(),
            (true, true) => format!(", {}", kn as u32),
            (true, false) => format!(", 0, {}", kn as u32),
        };
        let outputs: Vec<String> = (0..n / 2).map(|r| format!("\"+f\"(d[{r}])")).collect();
        let left = if registers { "const wl::u32 (&a)[4]" } else { "wl::u64 a" };
        let inputs = if registers { r#""r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])"# } else { r#""l"(a)"# };
        let _ = write!(
            out,
            "__device__ __forceinline__ void {}(float (&d)[{}], {left}, wl::u64 b) {{\n    asm volatile(\"{{ .reg .pred p; setp.eq.u32 p, 1, 1; \
             wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{word}.{word} {{{}}}, {a}, %{b}, p, 1, 1{orders}; }}\"\n                 : {}\n                 \
             : {inputs}, \"l\"(b));\n}}\n",
            instruction_name(i),
            n / 2,
            regs.join(", "),
            outputs.join(", "),
        );
    }
    out
}
