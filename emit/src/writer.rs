//! The text of one of a file's two kernels: everything that targets share. A [`Target`] has the rest.

use std::cell::RefCell;

use warpline_sim::ir::{Class, Dtype, Instr, MmaKind, MoveKind, ObjId, Op, Pc, Place, Program, VarId};

use crate::carried::Carried;
use crate::layout::Layout;
use crate::place::Corner;
use crate::registers::{Register, RegisterKind, registers};
use crate::{Unsupported, expr, tree};

/// The refusal of a kernel with counters.
pub(crate) const COUNTER: &str = "counters in global memory are simulated and verified, and not emitted yet";
/// The refusal of a kernel with states of mbarriers.
pub(crate) const STATE: &str = "states of mbarriers are simulated and verified, and not emitted yet: `wait b for p` is";
/// The refusal of a store that completes bytes on an mbarrier.
pub(crate) const ASYNC_STORE: &str = "`sts ... signals` is simulated and verified, and not emitted yet";
/// The refusal of a kernel with `arrive ... drop`.
pub(crate) const DROP: &str = "`arrive ... drop` is simulated and verified, and not emitted yet";
/// The refusal of a cooperative launch.
const COOPERATIVE: &str = "a cooperative launch is simulated and verified, and not emitted yet";

/// A source language with its machines.
pub(crate) trait Target: Sized + Default {
    /// Threads of a warp.
    const LANES: u32;
    /// The type of an address in a matrix.
    const GLOBAL: &'static str;
    /// The type of the start of a slot.
    const SLOT: &'static str;
    /// The thread's index in its CTA.
    const THREAD: &'static str;
    /// Whether every short loop is unrolled, and not only loops that name slots or parts of registers.
    const UNROLLS_ALL: bool;
    /// Whether the language has `goto`.
    const GOTO: bool;
    /// Whether loops carry values that they would otherwise compute in each step ([`Carried`]).
    const CARRIES: bool = false;

    /// A copy other than by threads through registers: `cp.async`, TMA, directly to LDS, tensor memory.
    fn copy(w: &mut Writer<'_, Self>, pc: Pc, op: &Op) -> Result<(), Unsupported>;
    /// Barriers, waits, fences, groups.
    fn sync(w: &mut Writer<'_, Self>, pc: Pc, op: &Op) -> Result<(), Unsupported>;
    /// A matrix instruction.
    fn mma(w: &mut Writer<'_, Self>, pc: Pc, op: &Op) -> Result<(), Unsupported>;
    /// Adds a product of two tiles to an accumulator of the reference.
    fn reference_mma(w: &mut Writer<'_, Self>, p: &Product<'_>) -> String;
    /// An operand of a matrix instruction from shared memory.
    fn operand(w: &mut Writer<'_, Self>, pc: Pc, p: &Ends<'_>, dequant: bool) -> Result<(), Unsupported>;
    /// An accumulator to shared memory.
    fn sum_to_shared(w: &mut Writer<'_, Self>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported>;
    /// An accumulator to a matrix, of the kernel and of the reference.
    fn store_sum(w: &mut Writer<'_, Self>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported>;
    /// Elements of an accumulator in a lane: blocks of rows, and elements of each.
    fn acc_shape(w: &Writer<'_, Self>, o: ObjId) -> (i64, i64);
    /// An element of an accumulator, by the names `m` and `i`.
    fn element(w: &Writer<'_, Self>, o: ObjId, slot: &str) -> String;
    /// Declares the registers that a matrix instruction reads or writes.
    fn declare(w: &mut Writer<'_, Self>, o: ObjId, kind: RegisterKind);
    /// The value of a word that the machine writes itself (`clc`).
    fn asked(_w: &Writer<'_, Self>, _word: &Place) -> Option<String> {
        None
    }
    /// Declares state about tensor memory.
    fn declare_tensor(_w: &mut Writer<'_, Self>) {}
    /// Clears an accumulator in tensor memory.
    fn zero_tensor(_w: &mut Writer<'_, Self>, _p: &Place) {}
    /// Gathers what is needed before the first line.
    fn begin(_w: &mut Writer<'_, Self>) {}
    /// Why there is no reference; `None` if there is one.
    fn without_reference(&self) -> Option<&'static str> {
        None
    }
    /// Number of passes of the reference over the text.
    fn passes(&self) -> u32 {
        1
    }
    /// The pass of the reference that an operation belongs to; `None` for all passes.
    fn pass_of(_w: &Writer<'_, Self>, _op: &Op) -> Option<u32> {
        None
    }
    /// A move that one pass of the reference records for another; returns whether it is such a move.
    fn noted_move(_w: &mut Writer<'_, Self>, _pc: Pc, _op: &Op) -> Result<bool, Unsupported> {
        Ok(false)
    }
    /// Records a product into tensor memory.
    fn note_product(_w: &mut Writer<'_, Self>, _op: &Op) {}
    /// Whether a register is filled after a wait of the kernel's own, and not before its use.
    fn late(&self) -> bool {
        false
    }
    /// Statements before the end of an agent.
    fn last(_w: &mut Writer<'_, Self>) {}
    /// Text before an operation, in the same block.
    fn open(pc: Pc) -> String {
        format!("{{ wl::before<WARPS>(a, {pc}); wl::Span<WARPS> span(a, {pc});")
    }
    /// A load of 16 bytes from global memory that is stored to shared memory next.
    fn load(address: &str) -> String {
        format!("wl::ldg16({address})")
    }
    /// A load of 16 bytes from global memory, asynchronous until its register is used.
    fn ldg(address: &str) -> String {
        format!("wl::ldg16({address})")
    }
    /// A store of 16 bytes to global memory.
    fn stg(address: &str, value: &str) -> String {
        format!("*(wl::word4*)({address}) = {value};")
    }
    /// 16 bytes of 16-bit elements from a word of 4-bit elements, if supported.
    fn unpacked(_word: &str) -> Option<String> {
        None
    }
    /// A statement for each chunk `j` at row `r` and byte `b` of the part `P`. `lanes` lanes of the warp execute it, of
    /// which this is `lane`.
    fn chunks(lanes: u32, lane: &str, body: &str) -> String {
        format!("wl::each_chunk<P, {lanes}>({lane}, [&](int j, int r, int b) {{ (void)j; {body} }});")
    }
    /// A number of operations of a unit in each lane.
    fn alu(unit: &str, each: &str, seed: &str) -> String {
        format!("wl::alu<wl::{unit}>({each}, {seed});")
    }
    /// A busy wait for a number of cycles, if there is a clock.
    fn busy(cycles: &str) -> Option<String> {
        Some(format!("wl::busy({cycles});"))
    }
    /// A word's bits as a float.
    fn as_float(x: &str) -> String {
        format!("__uint_as_float({x})")
    }
    /// Number of bits of a mask below the warp's own bit.
    fn rank_in(mask: u64) -> String {
        format!("__popcll({mask:#x}ull & ((1ull << warp) - 1))")
    }
}

/// Both ends of a move of an accumulator or operand, and the corner of the end in memory.
pub(crate) struct Ends<'b> {
    pub(crate) src: &'b Place,
    pub(crate) dst: &'b Place,
    pub(crate) at: Corner,
}

/// A product in the reference.
pub(crate) struct Product<'b> {
    pub(crate) kind: MmaKind,
    /// Names of the element types.
    pub(crate) types: (&'b str, &'b str),
    /// Whether the right tile is [K, N] instead of [N, K].
    pub(crate) kn: bool,
    pub(crate) acc: &'b Place,
    /// The tiles as expressions.
    pub(crate) tiles: (&'b str, &'b str),
    pub(crate) depth: i64,
}

/// The writer of one of the two kernels.
pub(crate) struct Writer<'a, T> {
    pub(crate) prog: &'a Program,
    /// Whether this is the reference: no synchronization, and operands from where the text says.
    pub(crate) reference: bool,
    pub(crate) registers: Vec<Option<Register>>,
    pub(crate) layout: Layout,
    /// State of the target.
    pub(crate) target: T,
    pub(crate) out: String,
    pub(crate) indent: usize,
    /// Whether one elected lane executes.
    pub(crate) elect: bool,
    /// The loops around the current place that carry values, outermost first.
    pub(crate) loops: RefCell<Vec<Carried>>,
}

impl<'a, T: Target> Writer<'a, T> {
    /// The kernel's text, or the reference's.
    pub(crate) fn write(prog: &'a Program, reference: bool, target: T) -> Result<Writer<'a, T>, Unsupported> {
        if prog.cooperative {
            return Err(Unsupported::at(prog, 0, COOPERATIVE));
        }
        let mut w = Writer {
            prog,
            reference,
            registers: registers(prog)?,
            layout: Layout::new(prog),
            target,
            out: String::new(),
            indent: 1,
            elect: false,
            loops: RefCell::default(),
        };
        T::begin(&mut w);
        w.body(&tree::tree(prog))?;
        Ok(w)
    }

    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    pub(crate) fn register(&self, o: ObjId) -> Option<&Register> {
        self.registers[o as usize].as_ref()
    }

    /// The C name of a register object.
    pub(crate) fn reg(&self, o: ObjId) -> String {
        format!("r_{}", name(&self.prog.objects[o as usize].name))
    }

    /// Elements of an accumulator in a lane: blocks of rows, and elements of each.
    pub(crate) fn acc_shape(&self, o: ObjId) -> (i64, i64) {
        T::acc_shape(self, o)
    }

    /// Whether the kernel uses tensor memory, or is handed its tiles.
    pub(crate) fn in_tensor_memory(&self) -> bool {
        self.prog.objects.iter().any(|o| o.class == Class::Tmem) || self.asks_for_tiles()
    }

    /// Whether tiles are handed out at run time.
    pub(crate) fn asks_for_tiles(&self) -> bool {
        self.prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::NextTile { .. }, .. }))
    }

    /// Whether the reference knows every result: no product of computed registers.
    pub(crate) fn has_reference(&self) -> bool {
        self.target.without_reference().is_none()
            && !self.registers.iter().flatten().any(|r| r.kind == RegisterKind::GroupLeft)
    }

    /// Declarations of variables and registers, the code, and what is handed out at the end.
    fn body(&mut self, nodes: &[tree::Node<'_>]) -> Result<(), Unsupported> {
        let prog = self.prog;
        if self.reference && self.target.without_reference().is_some() {
            return Ok(());
        }
        for v in 0..prog.vars.len() {
            self.line(format!("int {} = 0;", expr::variable(prog, v as VarId)));
        }
        for o in 0..prog.objects.len() {
            let Some(r) = self.registers[o] else { continue };
            self.declare(o as ObjId, r);
        }
        T::declare_tensor(self);
        self.line("");
        self.nodes(nodes)?;
        if self.out.contains("goto done;") {
            self.indent = 0;
            self.line("done:");
            self.indent = 1;
        }
        self.hand_out();
        Ok(())
    }

    /// The end of an agent: its time, the data it read, sums that nothing stores.
    pub(crate) fn hand_out(&mut self) {
        let prog = self.prog;
        if !self.reference {
            T::last(self);
            self.line("wl::finish<WARPS>(a);");
        }
        let thread = format!("cta * WARPS * {} + {}", T::LANES, T::THREAD);
        self.line(format!("common.sink[({thread}) * 2] = a.checked;"));
        self.line(format!("common.sink[({thread}) * 2 + 1] = a.unchecked;"));
        let mut at = 0;
        for o in 0..prog.objects.len() {
            let Some(Register { dumped: true, .. }) = self.registers[o] else { continue };
            let (m, n) = self.acc_shape(o as ObjId);
            let slots = prog.objects[o].slots as i64;
            self.line(format!(
                "for (int s = 0; s < {slots}; s++) for (int m = 0; m < {m}; m++) for (int i = 0; i < {n}; i++) \
                 common.sums[(wl::i64)({thread}) * SUMS + {at} + (s * {m} + m) * {n} + i] = {};",
                T::element(self, o as ObjId, "s")
            ));
            at += slots * m * n;
        }
    }

    fn declare(&mut self, o: ObjId, r: Register) {
        let object = &self.prog.objects[o as usize];
        let (slots, reg) = (object.slots, self.reg(o));
        if self.reference && !matches!(r.kind, RegisterKind::Acc { .. } | RegisterKind::GroupLeft | RegisterKind::Row) {
            self.line(format!("wl::Tile {reg}[{slots}];"));
            return;
        }
        match r.kind {
            RegisterKind::MadeUp => self.line(format!("wl::u32 {reg}_n = 0;")),
            RegisterKind::Raw if r.sunk && !self.target.late() => {}
            RegisterKind::Raw => {
                let [rows, cols] = r.part;
                let bytes = (cols * object.dtype.bits() as i64 / 8).max(1);
                self.line(format!("wl::word4 {reg}[{slots}][wl::Part<{rows}, {bytes}, {}>::each] = {{}};", T::LANES));
                if r.sunk {
                    self.line(format!("wl::u32 {reg}_due[{slots}] = {{}};"));
                }
            }
            kind => T::declare(self, o, kind),
        }
    }

    /// Words of check sums that a thread hands out.
    pub(crate) fn sums(&self) -> i64 {
        (0..self.prog.objects.len())
            .filter(|o| self.registers[*o].is_some_and(|r| r.dumped))
            .map(|o| {
                let (m, n) = self.acc_shape(o as ObjId);
                self.prog.objects[o].slots as i64 * m * n
            })
            .sum()
    }

    /// The matrices, in the order of their pointers.
    pub(crate) fn matrices(&self) -> Vec<(ObjId, &'a warpline_sim::ir::Object)> {
        let all = self.prog.objects.iter().enumerate().filter(|(_, o)| o.class == Class::Global);
        all.map(|(i, o)| (i as ObjId, o)).collect()
    }

    /// Whether a matrix is written.
    pub(crate) fn stored(&self, obj: ObjId) -> bool {
        self.prog.code.iter().any(|i| {
            matches!(i, Instr::Op { op: Op::Move { how: MoveKind::Store | MoveKind::TmaStore, dst, .. }, .. } if dst.obj == obj)
        })
    }

    /// Index of a matrix among those of the kernel.
    pub(crate) fn matrix(&self, obj: ObjId) -> usize {
        self.prog.objects[..obj as usize].iter().filter(|o| o.class == Class::Global).count()
    }

    /// Whether results are equal to the last bit: small whole numbers, with products and sums of them in f32.
    pub(crate) fn exact(&self) -> bool {
        self.prog.code.iter().all(|i| match i {
            Instr::Op { op: Op::Alu { writes, .. }, .. } => writes.is_empty(),
            Instr::Op { op: Op::Mma { a, acc, .. }, .. } => {
                self.prog.objects[a.obj as usize].dtype.bits() == 16
                    && self.prog.objects[acc.obj as usize].dtype == Dtype::F32
            }
            _ => true,
        })
    }

    /// Lines of the source, by instruction.
    pub(crate) fn lines(&self) -> String {
        let lines: Vec<String> =
            (0..self.prog.code.len()).map(|pc| self.prog.site(pc as u32).line.to_string()).collect();
        lines.join(", ")
    }

    /// Parameters with their values.
    pub(crate) fn params(&self) -> String {
        let params: Vec<String> = self.prog.params.iter().map(|(n, v)| format!("{n}={v}")).collect();
        params.join(" ")
    }

    /// Where the CTA is in the grid, from `cta`, its launch index.
    pub(crate) fn coordinates(&self) -> String {
        let g = &self.prog.grid;
        let rows = if g.group == 0 { g.m } else { g.group };
        let (plane, wide) = (g.m * g.n, rows * g.n);
        format!(
            "    const int cluster = cta / CLUSTER, rank = cta % CLUSTER;\n    const int plane = cluster % {plane}, group = \
             plane / {wide}, inside = plane % {wide};\n    const int group_rows = wl::lesser({rows}, {} - group * \
             {rows});\n    const int cluster_m = group * {rows} + inside % group_rows, cta_n = inside / group_rows;\n    \
             const int cta_m = cluster_m * CLUSTER + rank, cta_z = cluster / {plane};\n    (void)cta_m, (void)cta_n, \
             (void)cta_z, (void)rank;\n",
            g.m
        )
    }

    pub(crate) fn unsupported<R>(&self, pc: Pc, why: impl Into<String>) -> Result<R, Unsupported> {
        Err(Unsupported::at(self.prog, pc, why))
    }
}

/// A name of the source as part of a C name.
pub(crate) fn name(s: &str) -> String {
    s.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Rows and columns of a matrix in whole blocks.
pub(crate) fn padded(o: &warpline_sim::ir::Object) -> [i64; 2] {
    let up = |n: i64, b: i64| (n + b - 1) / b.max(1) * b.max(1);
    [up(o.rows, o.block[0]), up(o.cols, o.block[1])]
}

/// The harness's name of an element type.
pub(crate) fn type_name(d: Dtype) -> &'static str {
    match d {
        Dtype::F32 | Dtype::F64 => "F32",
        Dtype::Tf32 => "TF32",
        Dtype::F16 => "F16",
        Dtype::Bf16 => "BF16",
        Dtype::Fp8 => "FP8",
        Dtype::I8 => "I8",
        Dtype::Fp4 => "FP4",
        Dtype::I32 => "I32",
    }
}
