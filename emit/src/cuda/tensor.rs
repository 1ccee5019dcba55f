//! Operations of sm_100a: tensor memory, products by one thread, pairs of CTAs, tiles handed out.

use warpline_sim::ir::{BarRef, BarrierCta, Class, Dtype, Instr, MmaKind, MoveKind, ObjId, Op, Pc, Place, Selection};

use super::Writer;
use crate::Unsupported;
use crate::registers::{RegisterKind, extent};
use crate::writer::{Ends, name, padded, type_name};

impl Writer<'_> {
    /// Whether each lane holds a row of tensor memory in an object.
    pub(super) fn is_row(&self, o: ObjId) -> bool {
        self.register(o).is_some_and(|r| r.kind == RegisterKind::Row)
    }

    /// Whether CTAs multiply in pairs.
    fn pairs(&self) -> bool {
        self.prog.code.iter().any(|i| {
            matches!(
                i,
                Instr::Op { op: Op::Mma { kind: MmaKind::UmmaPair, .. } | Op::TmemAlloc { pair: true, .. }, .. }
            )
        })
    }

    /// Columns of 32 bits that one slot takes.
    fn slot_columns(&self, o: ObjId) -> i64 {
        let object = &self.prog.objects[o as usize];
        (object.cols * object.dtype.bits() as i64 + 31) / 32
    }

    /// Columns of an allocation: a power of two, including overlays.
    fn columns(&self, o: ObjId) -> i64 {
        let all = |x: ObjId| self.slot_columns(x) * self.prog.objects[x as usize].slots as i64;
        let over = (0..self.prog.objects.len() as ObjId).filter(|x| self.prog.objects[*x as usize].overlay == Some(o));
        let n = over.map(all).fold(all(o), i64::max);
        (n.max(32) as u64).next_power_of_two() as i64
    }

    /// The address of the slot and part of a place: lanes in the upper half, columns in the lower.
    fn tensor_address(&self, pc: Pc, p: &Place) -> Result<String, Unsupported> {
        let o = &self.prog.objects[p.obj as usize];
        if p.sel.cols.iter().any(|c| c.index.constant().is_none()) || p.cta.is_some() {
            return self.unsupported(pc, "columns of tensor memory that are not known at load, or another CTA's");
        }
        let part = self.select(&Selection { cols: p.sel.cols.clone(), ..Selection::default() }, [o.rows, o.cols]);
        let (at, bits) = (self.layout.tensor[p.obj as usize], o.dtype.bits());
        let slot = crate::expr::times(&self.slot(p), self.slot_columns(p.obj));
        Ok(format!("wl::lds4(pool + {at}) + {slot} + ({}) * {bits} / 32", part.col))
    }

    pub(super) fn tmem_alloc(&mut self, pc: Pc, obj: ObjId, pair: bool) -> Result<(), Unsupported> {
        if self.prog.base(obj) != obj {
            // Part of the allocation of the object that it lies over.
            return Ok(());
        }
        let (at, columns) = (self.layout.tensor[obj as usize], self.columns(obj));
        if self.elect || columns > 512 {
            return self
                .unsupported(pc, format!("a warp allocates at most 512 columns of tensor memory, here {columns}"));
        }
        self.line(format!("__syncwarp(); wl::tmem_alloc<{pair}>(pool + {at}, {columns});"));
        Ok(())
    }

    pub(super) fn tmem_dealloc(&mut self, obj: ObjId, pair: bool) {
        if self.prog.base(obj) != obj {
            return;
        }
        let (at, columns) = (self.layout.tensor[obj as usize], self.columns(obj));
        self.line(format!("__syncwarp(); wl::tmem_dealloc<{pair}>(wl::lds4(pool + {at}), {columns});"));
    }

    pub(super) fn commit_umma(&mut self, bars: &[BarRef]) {
        let pair = self.pairs();
        for b in bars {
            let bar = self.bar_address(b);
            self.line(match &b.at {
                BarrierCta::Own => format!("wl::commit_umma<{pair}>({bar});"),
                BarrierCta::Cta(e) => format!("wl::commit_umma<{pair}>(wl::in_cta({bar}, {}));", self.c(e)),
                BarrierCta::Ctas(e) => format!("wl::commit_umma_all<{pair}>({bar}, {});", self.c(e)),
            });
        }
    }

    pub(super) fn next_tile(&mut self, dst: &Place, signals: &BarRef) {
        let (offset, slot, bar) = (self.layout.offset[dst.obj as usize], self.slot(dst), self.bar_address(signals));
        let guard = if self.elect { "" } else { "if (lane == 0) " };
        self.line(format!("{guard}wl::clc_next<(CLUSTER > 1)>(pool + {offset} + 16 * ({slot}), {bar});"));
    }

    /// The tile that the machine wrote into a word.
    pub(super) fn clc_answer(&self, word: &Place) -> Option<String> {
        let asked = |i: &Instr| matches!(i, Instr::Op { op: Op::NextTile { dst, .. }, .. } if dst.obj == word.obj);
        self.prog.code.iter().any(asked).then(|| {
            let (offset, slot) = (self.layout.offset[word.obj as usize], self.slot(word));
            format!("wl::clc_tile(pool + {offset} + 16 * ({slot}), CLUSTER)")
        })
    }

    /// A move between tensor memory and registers: a lane has a row, a warp the 32 rows of its place among four.
    pub(super) fn tmem_move(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, src, dst, .. } = op else { return Ok(()) };
        let (tensor, registers) = if *how == MoveKind::TmemLd { (src, dst) } else { (dst, src) };
        let [rows, cols] = extent(self.prog, tensor, 0);
        let object = &self.prog.objects[registers.obj as usize];
        if !matches!(rows, 32 | 128) || cols % 16 != 0 || cols != object.cols || object.dtype.bits() != 32 {
            return self.unsupported(
                pc,
                format!("{rows} x {cols} {} of tensor memory: a warp moves 32 of 128 rows of f32", object.dtype.name()),
            );
        }
        if self.prog.objects[tensor.obj as usize].dtype.bits() != 32 {
            return self.unsupported(pc, "packed columns of tensor memory");
        }
        let address = self.tensor_address(pc, tensor)?;
        let (reg, slot) = (self.reg(registers.obj), self.slot(registers));
        let call = if *how == MoveKind::TmemLd { "tmem_ld" } else { "tmem_st" };
        self.line("__syncwarp();");
        self.line(format!("wl::{call}(({address}) + (warp % 4 * 32 << 16), {reg}[{slot}][0]);"));
        Ok(())
    }

    /// The product of a tile, in steps of 32 bytes along K. The first product, or the first after `zero`, starts a
    /// new sum.
    pub(super) fn umma(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Mma { kind, a, b, acc } = op else { return Ok(()) };
        let pair = *kind == MmaKind::UmmaPair;
        let (x, y) = (self.prog.objects[a.obj as usize].clone(), self.prog.objects[b.obj as usize].clone());
        let ([m, k], [br, bc]) = (extent(self.prog, a, 0), extent(self.prog, b, 0));
        let n = if pair { 2 * br } else { br };
        let bits = x.dtype.bits() as i64;
        let known = matches!(x.dtype, Dtype::Bf16 | Dtype::F16 | Dtype::Tf32 | Dtype::Fp8) && x.dtype == y.dtype;
        let from_tensor = x.class == Class::Tmem;
        if !known || m != 128 || n % 16 != 0 || n > 256 || bc != k || k * bits % 256 != 0 {
            return self.unsupported(
                pc,
                format!(
                    "a tcgen05.mma of {m} x {n} x {k} {} (128 rows a CTA; the right operand [N, K])",
                    x.dtype.name()
                ),
            );
        }
        if y.swizzle == 0 || (!from_tensor && x.swizzle == 0) || (from_tensor && bits != 16) {
            return self.unsupported(pc, "tcgen05.mma reads swizzled buffers here");
        }
        if !self.elect {
            return self.unsupported(pc, "one thread issues tcgen05.mma: `elect:`");
        }
        let (left, right) = (self.corner(a, 0), self.corner(b, 0));
        let d = self.tensor_address(pc, acc)?;
        let (t, fresh, slot) =
            (type_name(x.dtype), format!("t_{}", name(&self.prog.objects[acc.obj as usize].name)), self.slot(acc));
        self.slot_address("sb", b);
        let rows = if pair { 256 } else { 128 };
        let vb = format!("wl::tensor_k<B_{}>(sb, {}, ({}) * {bits} / 8 + k * 32)", name(&y.name), right.row, right.col);
        let call = if from_tensor {
            let p = self.tensor_address(pc, a)?;
            format!("wl::umma_tensor<{pair}>(d, {p} + k * 8, {vb}, wl::instruction<wl::{t}, {rows}, {n}>(), add)")
        } else {
            self.slot_address("sa", a);
            let va =
                format!("wl::tensor_k<B_{}>(sa, {}, ({}) * {bits} / 8 + k * 32)", name(&x.name), left.row, left.col);
            format!("wl::umma<wl::{t}, {pair}>(d, {va}, {vb}, wl::instruction<wl::{t}, {rows}, {n}>(), add)")
        };
        self.line(format!("const wl::u32 d = {d};"));
        self.line("#pragma unroll");
        self.line(format!("for (int k = 0; k < {}; k++) {{", k * bits / 256));
        self.line(format!("    const wl::u32 add = !({fresh} >> ({slot}) & 1) || k > 0;"));
        self.line(format!("    {call};"));
        self.line("}");
        self.line(format!("{fresh} &= ~(1u << ({slot}));"));
        Ok(())
    }

    /// Declares which slots of tensor memory start a new sum: a bit each, in the thread that multiplies.
    pub(super) fn declare_tensor(&mut self) {
        for o in 0..self.prog.objects.len() {
            if self.prog.objects[o].class == Class::Tmem {
                let n = name(&self.prog.objects[o].name);
                self.line(format!("wl::u32 t_{n} = ~0u;"));
                self.line(format!("(void)t_{n};"));
            }
        }
    }

    /// Makes the next product of a slot start a new sum.
    pub(super) fn zero_tensor(&mut self, p: &Place) {
        let (n, slot) = (name(&self.prog.objects[p.obj as usize].name), self.slot(p));
        self.line(format!("t_{n} |= 1u << ({slot});"));
    }

    /// The part of a matrix that a warp's lanes write, one row each.
    fn row_of(&self, pc: Pc, p: &Ends<'_>) -> Result<String, Unsupported> {
        let o = &self.prog.objects[p.src.obj as usize];
        if p.at.rows != 32 || p.at.cols != o.cols || p.src.sel != Selection::default() || p.at.cols % 8 != 0 {
            return self.unsupported(pc, "rows of tensor memory that are not the warp's 32");
        }
        Ok(format!("{}[{}][0]", self.reg(p.src.obj), self.slot(p.src)))
    }

    pub(super) fn store_rows(&mut self, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        let (row, object) = (self.row_of(pc, p)?, &self.prog.objects[p.dst.obj as usize]);
        let (dtype, pitch, cols) = (object.dtype, padded(object)[1], p.at.cols);
        self.matrix_address("to", &p.at, p.dst.obj);
        self.line("#pragma unroll");
        self.line(match dtype {
            Dtype::Bf16 | Dtype::F16 => format!(
                "for (int i = 0; i < {cols}; i += 8) *(uint4*)(to + ((wl::i64)lane * {pitch} + i) * 2) = \
                 wl::pack8<wl::{}>({row} + i);",
                type_name(dtype)
            ),
            Dtype::F32 => format!(
                "for (int i = 0; i < {cols}; i += 4) *(float4*)(to + ((wl::i64)lane * {pitch} + i) * 4) = \
                 make_float4({row}[i], {row}[i + 1], {row}[i + 2], {row}[i + 3]);"
            ),
            _ => return self.unsupported(pc, "an accumulator stored in this type"),
        });
        Ok(())
    }

    pub(super) fn rows_to_shared(&mut self, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        let (row, object) = (self.row_of(pc, p)?, self.prog.objects[p.dst.obj as usize].clone());
        if !matches!(object.dtype, Dtype::Bf16 | Dtype::F16) || p.dst.cta.is_some() {
            return self
                .unsupported(pc, "rows of tensor memory stored to shared memory in this type, or to another CTA");
        }
        self.slot_address("s", p.dst);
        self.line("#pragma unroll");
        self.line(format!(
            "for (int i = 0; i < {}; i += 8) wl::sts16(B_{}::at(s, {} + lane, ({} + i) * 2), wl::pack8<wl::{}>({row} + i));",
            p.at.cols,
            name(&object.name),
            p.at.row,
            p.at.col,
            type_name(object.dtype)
        ));
        Ok(())
    }
}
