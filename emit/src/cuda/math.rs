//! Matrix and vector instructions.

use std::fmt::Write;

use warpline_sim::ir::{Class, Dtype, Expr, How, Instr, MmaKind, ObjId, Op, Pc, Place, Sel, TileRef};

use super::{Instruction, Writer, name, type_name};
use crate::Unsupported;
use crate::registers::{Kind, extent};

impl Writer<'_> {
    /// The tile that an operand is read from: its own, or that of the load into its register.
    fn tile_of<'b>(&'b self, p: &'b Place) -> Option<&'b TileRef> {
        p.tile.as_ref().or_else(|| {
            self.prog.code.iter().find_map(|i| match i {
                Instr::Op { op: Op::Move { how: How::Lds, src, dst, .. }, .. } if dst.obj == p.obj => src.tile.as_ref(),
                _ => None,
            })
        })
    }

    /// Whether a right operand is [K, N]; else it is [N, K]. By its shape, and of a square one by the tiles of both:
    /// the dimension they share in name or in coordinate is summed over.
    fn kn(&self, a: &Place, b: &Place, acc: ObjId) -> bool {
        let k = extent(self.prog, a, 0)[1];
        let [rows, cols] = extent(self.prog, b, 0);
        let n = self.prog.objects[acc as usize].cols;
        if (rows, cols) == (k, n) && rows != cols {
            return true;
        }
        if (rows, cols) == (n, k) && rows != cols {
            return false;
        }
        let (Some(x), Some(y)) = (self.tile_of(a), self.tile_of(b)) else { return false };
        let (p, q) = (&self.prog.objects[x.obj as usize], &self.prog.objects[y.obj as usize]);
        if x.at.len() == 2 && y.at.len() == 2 {
            let summed: &Expr = &x.at[1];
            match (*summed == y.at[0], *summed == y.at[1]) {
                (true, false) => return true,
                (false, true) => return false,
                _ => {}
            }
        }
        p.dims[1] == q.dims[0] && p.dims[1] != q.dims[1]
    }

    fn products(&self, right: ObjId) -> Option<(&Place, &Place, ObjId)> {
        self.prog.code.iter().find_map(|i| match i {
            Instr::Op { op: Op::Mma { a, b, acc, .. }, .. } if b.obj == right => Some((a, b, acc.obj)),
            _ => None,
        })
    }

    /// Whether a register object is multiplied as [K, N].
    pub(super) fn right_is_kn(&self, right: ObjId) -> bool {
        self.products(right).is_some_and(|(a, b, acc)| self.kn(a, b, acc))
    }

    /// K and N of a register object that is a right operand.
    pub(super) fn right_shape(&self, right: ObjId) -> (i64, i64) {
        let o = &self.prog.objects[right as usize];
        if self.right_is_kn(right) { (o.rows, o.cols) } else { (o.cols, o.rows) }
    }

    pub(super) fn math(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        match op {
            Op::Zero(p) => self.zero(p),
            Op::Alu { unit, count, reads, writes } => self.alu(pc, unit, count, reads, writes),
            Op::Mma { kind, a, b, acc } => {
                if self.reference {
                    return self.reference_mma(pc, *kind, a, b, acc);
                }
                match kind {
                    MmaKind::Warp => self.mma(pc, a, b, acc),
                    MmaKind::Wgmma => self.wgmma(pc, a, b, acc),
                    MmaKind::Umma | MmaKind::UmmaPair => {
                        self.unsupported(pc, "tcgen05 is sm_100a's, which is not written yet")
                    }
                }
            }
            _ => Ok(()),
        }
    }

    fn zero(&mut self, p: &Place) -> Result<(), Unsupported> {
        if let Some(Kind::Acc { .. }) = self.register(p.obj).map(|r| r.kind) {
            let ((m, n), reg, slot) = (self.acc_shape(p.obj), self.reg(p.obj), self.slot(p));
            let pad = "    ".repeat(self.indent);
            self.line(format!(
                "#pragma unroll\n{pad}for (int m = 0; m < {m}; m++)\n#pragma unroll\n{pad}    for (int i = 0; i < {n}; i++) \
                 {reg}[{slot}][m][i] = 0;"
            ));
        }
        Ok(())
    }

    fn mma(&mut self, pc: Pc, a: &Place, b: &Place, acc: &Place) -> Result<(), Unsupported> {
        let (x, y) = (&self.prog.objects[a.obj as usize], &self.prog.objects[b.obj as usize]);
        if x.class != Class::Reg || y.class != Class::Reg {
            return self.unsupported(pc, "mma.sync takes registers");
        }
        if [a, b, acc].iter().any(|p| p.sel != Sel::default()) {
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
        if acc.sel != Sel::default() || (from_registers && a.sel != Sel::default()) {
            return self.unsupported(pc, "a part of a register object");
        }
        self.instructions.insert((x.dtype, n, from_registers, kn), ());
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

    /// The product of the tiles that the operands name; where one names none, nothing is known.
    fn reference_mma(&mut self, pc: Pc, kind: MmaKind, a: &Place, b: &Place, acc: &Place) -> Result<(), Unsupported> {
        if !self.has_reference() {
            return Ok(());
        }
        let operand = |p: &Place| match self.prog.objects[p.obj as usize].class {
            Class::Reg => Some(format!("{}[{}]", self.reg(p.obj), self.slot(p))),
            _ => p.tile.as_ref().and_then(|t| self.tile(t)),
        };
        let (Some(x), Some(y)) = (operand(a), operand(b)) else {
            return self.unsupported(pc, "a product of places without a tile has no reference");
        };
        let source = |p: &Place| match self.tile_of(p) {
            Some(t) => self.prog.objects[t.obj as usize].dtype,
            None => self.prog.objects[p.obj as usize].dtype,
        };
        let (ta, tb) = (type_name(source(a)), type_name(source(b)));
        let k = extent(self.prog, a, 0)[1];
        let kn = self.kn(a, b, acc.obj);
        let ((m, n), reg, slot) = (self.acc_shape(acc.obj), self.reg(acc.obj), self.slot(acc));
        self.line(format!(
            "wl::reference_mma<wl::{ta}, wl::{tb}, {kn}, {}, {m}, {n}>({reg}[{slot}], {x}, {y}, {k}, warp, lane);",
            kind == MmaKind::Wgmma
        ));
        Ok(())
    }

    /// As many operations as the kernel says. What they compute it does not say: `fma` of an accumulator adds it to the
    /// one written, anything else copies it.
    fn alu(&mut self, pc: Pc, unit: &str, count: &Expr, reads: &[Place], writes: &[Place]) -> Result<(), Unsupported> {
        let acc = |p: &&Place| matches!(self.register(p.obj).map(|r| r.kind), Some(Kind::Acc { .. }));
        let from = reads.iter().find(acc);
        if !self.reference {
            let unit = match unit {
                "fma" => "FMA",
                "exp" => "EXP",
                "int" => "INT",
                _ => return self.unsupported(pc, format!("no unit `{unit}` is known here")),
            };
            let seed = reads.first().map(|p| (p, self.register(p.obj).copied()));
            let seed = match seed {
                Some((p, Some(r))) if matches!(r.kind, Kind::Acc { .. }) => {
                    format!("{}[{}][0][0]", self.reg(p.obj), self.slot(p))
                }
                Some((p, Some(r))) if r.kind == Kind::Raw && !r.sunk => {
                    format!("__uint_as_float({}[{}][0].x)", self.reg(p.obj), self.slot(p))
                }
                Some((_, Some(r))) if r.sunk => "__uint_as_float(a.checked ^ a.unchecked)".to_string(),
                _ => "1.f".to_string(),
            };
            let each = self.c(count);
            self.line(format!("wl::alu<wl::{unit}>(({each}) / {}, {seed});", self.lanes()));
        }
        for w in writes {
            let Some(p) = from else { continue };
            let Some(kind) = self.register(w.obj).map(|r| r.kind) else { continue };
            let (x, sx, y, sy) = (self.reg(p.obj), self.slot(p), self.reg(w.obj), self.slot(w));
            let (m, n) = self.acc_shape(p.obj);
            let same = self.prog.objects[p.obj as usize].cols == self.prog.objects[w.obj as usize].cols
                && self.prog.objects[p.obj as usize].rows == self.prog.objects[w.obj as usize].rows;
            if !same {
                return self.unsupported(pc, "arithmetic between shapes");
            }
            let pad = "    ".repeat(self.indent);
            match kind {
                Kind::Acc { .. } => {
                    let sign = if unit == "fma" { "+=" } else { "=" };
                    self.line(format!(
                        "#pragma unroll\n{pad}for (int m = 0; m < {m}; m++)\n#pragma unroll\n{pad}    for (int i = 0; i < {n}; \
                         i++) {y}[{sy}][m][i] {sign} {x}[{sx}][m][i];"
                    ));
                }
                // The elements of a 16 x 16 block lie in the same lanes in both layouts.
                Kind::GroupLeft if !self.reference => {
                    let t = type_name(self.prog.objects[w.obj as usize].dtype);
                    self.line(format!(
                        "#pragma unroll\n{pad}for (int m = 0; m < {m}; m++)\n#pragma unroll\n{pad}    for (int k = 0; k < {}; \
                         k++)\n#pragma unroll\n{pad}        for (int i = 0; i < 4; i++) {y}[{sy}][m][k][i] = wl::pack2(wl::{t}, \
                         {x}[{sx}][m][k * 8 + i * 2], {x}[{sx}][m][k * 8 + i * 2 + 1]);",
                        n / 8
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn instruction_name((dtype, n, registers, kn): &Instruction) -> String {
    let (r, t) = (if *registers { "_r" } else { "" }, if *kn { "_t" } else { "" });
    format!("wgmma_{}_n{n}{r}{t}", dtype.name())
}

/// A function for each wgmma instruction: 64 x n, one k-step of 32 bytes, added to what the registers hold.
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
