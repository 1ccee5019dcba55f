//! Products, with their shapes and their reference; vector arithmetic.

use warpline_sim::ir::{Class, Expr, Instr, MmaKind, MoveKind, ObjId, Op, Pc, Place, TileRef};

use crate::Unsupported;
use crate::registers::{RegisterKind, extent};
use crate::writer::{Product, Target, Writer, type_name};

/// A number of cycles, or a range that a CTA draws from.
fn cycles(middle: f64, spread: f64) -> String {
    let (low, more) = ((middle - spread).round() as u32, (2.0 * spread).round() as u32);
    if more == 0 { low.to_string() } else { format!("{low} + wl::mix(cta + 1) % {}u", more + 1) }
}

impl<T: Target> Writer<'_, T> {
    /// The tile that an operand is read from: its own, or that of the load into its register.
    fn tile_of<'b>(&'b self, p: &'b Place) -> Option<&'b TileRef> {
        p.tile.as_ref().or_else(|| {
            self.prog.code.iter().find_map(|i| match i {
                Instr::Op { op: Op::Move { how: MoveKind::Lds, src, dst, .. }, .. } if dst.obj == p.obj => {
                    src.tile.as_ref()
                }
                _ => None,
            })
        })
    }

    /// Whether a right operand is [K, N] instead of [N, K], by its shape. For a square one the tiles of both operands
    /// decide: the shared dimension, by name or coordinate, is summed over.
    pub(crate) fn kn(&self, a: &Place, b: &Place, acc: ObjId) -> bool {
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
    pub(crate) fn right_is_kn(&self, right: ObjId) -> bool {
        self.products(right).is_some_and(|(a, b, acc)| self.kn(a, b, acc))
    }

    /// K and N of a register object that is a right operand.
    pub(crate) fn right_shape(&self, right: ObjId) -> (i64, i64) {
        let o = &self.prog.objects[right as usize];
        if self.right_is_kn(right) { (o.rows, o.cols) } else { (o.cols, o.rows) }
    }

    pub(crate) fn math(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        match op {
            Op::Zero(p) if self.prog.objects[p.obj as usize].class == Class::Tmem => {
                T::zero_tensor(self, p);
                Ok(())
            }
            Op::Zero(p) => self.zero(p),
            Op::Alu { unit, count, reads, writes, .. } => self.alu(pc, unit, count, reads, writes),
            Op::Mma { .. } if self.reference => self.reference_mma(pc, op),
            Op::Mma { .. } => T::mma(self, pc, op),
            _ => Ok(()),
        }
    }

    fn zero(&mut self, p: &Place) -> Result<(), Unsupported> {
        if let Some(RegisterKind::Acc { .. }) = self.register(p.obj).map(|r| r.kind) {
            let (slot, pad) = (self.slot(p), "    ".repeat(self.indent));
            let ((m, n), element) = (self.acc_shape(p.obj), T::element(self, p.obj, &slot));
            self.line(format!(
                "#pragma unroll\n{pad}for (int m = 0; m < {m}; m++)\n#pragma unroll\n{pad}    for (int i = 0; i < {n}; i++) \
                 {element} = 0;"
            ));
        }
        Ok(())
    }

    /// The product of the tiles that the operands name. If one names none, the result is unknown.
    fn reference_mma(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Mma { kind, a, b, acc } = op else { return Ok(()) };
        if !self.has_reference() {
            return Ok(());
        }
        if matches!(kind, MmaKind::Umma | MmaKind::UmmaPair) {
            T::note_product(self, op);
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
        let product = Product {
            kind: *kind,
            types: (type_name(source(a)), type_name(source(b))),
            kn: self.kn(a, b, acc.obj),
            acc,
            tiles: (&x, &y),
            depth: extent(self.prog, a, 0)[1],
        };
        let text = T::reference_mma(self, &product);
        self.line(text);
        Ok(())
    }

    /// As many operations as the kernel says, or for as long as it says (`takes`). The text does not say what is
    /// computed: `fma` of an accumulator adds it to the written one, and other units copy it.
    fn alu(&mut self, pc: Pc, unit: &str, count: &Expr, reads: &[Place], writes: &[Place]) -> Result<(), Unsupported> {
        let acc = |p: &&Place| matches!(self.register(p.obj).map(|r| r.kind), Some(RegisterKind::Acc { .. }));
        let from = reads.iter().find(acc);
        if !self.reference {
            let unit = match unit {
                "fma" => "FMA",
                "exp" => "EXP",
                "int" => "INT",
                _ => return self.unsupported(pc, format!("no unit `{unit}` is known here")),
            };
            let seed = match reads.first().map(|p| (p, self.register(p.obj).copied())) {
                Some((p, Some(r))) if matches!(r.kind, RegisterKind::Acc { .. }) => {
                    T::element(self, p.obj, &self.slot(p)).replace("[m]", "[0]").replace("[i]", "[0]")
                }
                Some((p, Some(r))) if r.kind == RegisterKind::Raw && !r.sunk => {
                    T::as_float(&format!("{}[{}][0].x", self.reg(p.obj), self.slot(p)))
                }
                Some((_, Some(r))) if r.sunk => T::as_float("a.checked ^ a.unchecked"),
                _ => "1.f".to_string(),
            };
            let takes = match &self.prog.code[pc as usize] {
                Instr::Op { cost, .. } => cost.takes.and_then(|middle| T::busy(&cycles(middle, cost.spread))),
                _ => None,
            };
            let work = || T::alu(unit, &format!("({}) / {}", self.c(count), self.lanes()), &seed);
            self.line(takes.unwrap_or_else(work));
        }
        for w in writes {
            let Some(p) = from else { continue };
            let Some(kind) = self.register(w.obj).map(|r| r.kind) else { continue };
            let (m, n) = self.acc_shape(p.obj);
            let (x, y) = (T::element(self, p.obj, &self.slot(p)), T::element(self, w.obj, &self.slot(w)));
            let same = self.prog.objects[p.obj as usize].cols == self.prog.objects[w.obj as usize].cols
                && self.prog.objects[p.obj as usize].rows == self.prog.objects[w.obj as usize].rows;
            if !same {
                return self.unsupported(pc, "arithmetic between shapes");
            }
            let pad = "    ".repeat(self.indent);
            match kind {
                RegisterKind::Acc { .. } => {
                    let sign = if unit == "fma" { "+=" } else { "=" };
                    self.line(format!(
                        "#pragma unroll\n{pad}for (int m = 0; m < {m}; m++)\n#pragma unroll\n{pad}    for (int i = 0; i < {n}; \
                         i++) {y} {sign} {x};"
                    ));
                }
                // The elements of a 16 x 16 block are in the same lanes in both layouts.
                RegisterKind::GroupLeft if !self.reference => {
                    let t = type_name(self.prog.objects[w.obj as usize].dtype);
                    let (x, sx, y, sy) = (self.reg(p.obj), self.slot(p), self.reg(w.obj), self.slot(w));
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
