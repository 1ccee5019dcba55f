//! CUDA C++ for sm_80 to sm_90a.
//!
//! ```text
//! mod.rs     the file: header, tables, both kernels, harness      layout.rs     shared memory, tensor maps
//! block.rs   loops, conditions, who executes, operations          place.rs      operands
//! sync.rs    mbarriers, barriers, groups, fences                  moves.rs, tma.rs  copies
//! math.rs    matrix and vector instructions                       reference.rs  copies in the reference
//! ```

mod block;
mod layout;
mod math;
mod moves;
mod place;
mod reference;
mod sync;
mod tma;

use std::collections::BTreeMap;
use std::fmt::Write;

use warpline_sim::ir::{Class, Dtype, How, Instr, MmaKind, ObjId, Op, Program, VarId};

use crate::expr;
use crate::registers::{Kind, Register, registers};
use crate::{Unsupported, tree};
use layout::{Box, Layout};

/// Writes a kernel as one CUDA C++ file with its harness. `meant` is the kernel that the results are held to: the same one,
/// or, of a mutant, the one that it was made from.
///
/// # Errors
/// The first statement that has no CUDA for it: operations of other vendors, of sm_100a, element types and shapes that
/// the instructions lack, places that are no whole chunks of 16 bytes.
pub fn cuda(prog: &Program, meant: &Program) -> Result<String, Unsupported> {
    let mut kernel = Writer::new(prog, false)?;
    kernel.body(&tree::tree(prog))?;
    let mut reference = Writer::new(meant, true)?;
    reference.body(&tree::tree(meant))?;
    Ok(kernel.file(&reference.out))
}

/// A wgmma instruction that the kernel uses: element type, columns, left operand in registers, right one transposed.
type Instruction = (Dtype, i64, bool, bool);

/// Writes one of the two kernels.
struct Writer<'a> {
    prog: &'a Program,
    /// The reference: no synchronisation, and operands from where the text says.
    reference: bool,
    registers: Vec<Option<Register>>,
    layout: Layout,
    boxes: Vec<Box>,
    instructions: BTreeMap<Instruction, ()>,
    out: String,
    indent: usize,
    /// One elected lane executes.
    elect: bool,
}

impl<'a> Writer<'a> {
    fn new(prog: &'a Program, reference: bool) -> Result<Writer<'a>, Unsupported> {
        Ok(Writer {
            prog,
            reference,
            registers: registers(prog)?,
            layout: Layout::new(prog),
            boxes: Vec::new(),
            instructions: BTreeMap::new(),
            out: String::new(),
            indent: 1,
            elect: false,
        })
    }

    fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    fn register(&self, o: ObjId) -> Option<&Register> {
        self.registers[o as usize].as_ref()
    }

    /// The C name of a register object.
    fn reg(&self, o: ObjId) -> String {
        format!("r_{}", name(&self.prog.objects[o as usize].name))
    }

    /// Floats of an accumulator in a lane: blocks of rows, and elements of each.
    fn acc_shape(&self, o: ObjId) -> (i64, i64) {
        let object = &self.prog.objects[o as usize];
        let group = matches!(self.register(o).map(|r| r.kind), Some(Kind::Acc { group: true }));
        (object.rows / if group { 64 } else { 16 }, object.cols / 2)
    }

    /// Whether the reference knows every result: no product of registers that were computed.
    fn has_reference(&self) -> bool {
        !self.registers.iter().flatten().any(|r| r.kind == Kind::GroupLeft)
    }

    /// Declarations of variables and registers, the code, what is handed out at the end.
    fn body(&mut self, nodes: &[tree::Node<'_>]) -> Result<(), Unsupported> {
        let prog = self.prog;
        for v in 0..prog.vars.len() {
            self.line(format!("int {} = 0;", expr::variable(prog, v as VarId)));
        }
        for o in 0..prog.objects.len() {
            let Some(r) = self.registers[o] else { continue };
            self.declare(o as ObjId, r);
        }
        self.line("");
        self.nodes(nodes)?;
        if self.out.contains("goto done;") {
            self.indent = 0;
            self.line("done:");
            self.indent = 1;
        }
        if !self.reference {
            self.line("wl::finish<WARPS>(a);");
        }
        self.line("common.sink[(cta * WARPS * 32 + threadIdx.x) * 2] = a.checked;");
        self.line("common.sink[(cta * WARPS * 32 + threadIdx.x) * 2 + 1] = a.unchecked;");
        let mut at = 0;
        for o in 0..prog.objects.len() {
            let Some(Register { dumped: true, .. }) = self.registers[o] else { continue };
            let (m, n) = self.acc_shape(o as ObjId);
            let (slots, reg) = (prog.objects[o].slots as i64, self.reg(o as ObjId));
            self.line(format!(
                "for (int s = 0; s < {slots}; s++) for (int m = 0; m < {m}; m++) for (int i = 0; i < {n}; i++) \
                 common.sums[(long long)(cta * WARPS * 32 + threadIdx.x) * SUMS + {at} + (s * {m} + m) * {n} + i] = {reg}[s][m][i];"
            ));
            at += slots * m * n;
        }
        Ok(())
    }

    fn declare(&mut self, o: ObjId, r: Register) {
        let object = &self.prog.objects[o as usize];
        let (slots, reg) = (object.slots, self.reg(o));
        if self.reference && !matches!(r.kind, Kind::Acc { .. } | Kind::GroupLeft) {
            self.line(format!("wl::Tile {reg}[{slots}];"));
            return;
        }
        match r.kind {
            Kind::MadeUp => self.line(format!("wl::u32 {reg}_n = 0;")),
            Kind::Raw if r.sunk => {}
            Kind::Raw => {
                let [rows, cols] = r.part;
                let bytes = (cols * object.dtype.bits() as i64 / 8).max(1);
                self.line(format!("uint4 {reg}[{slots}][wl::Part<{rows}, {bytes}, 32>::each] = {{}};"));
            }
            Kind::Acc { .. } => {
                let (m, n) = self.acc_shape(o);
                self.line(format!("float {reg}[{slots}][{m}][{n}] = {{}};"));
            }
            Kind::Left | Kind::GroupLeft => {
                let rows = if r.kind == Kind::Left { 16 } else { 64 };
                let (m, k) = (object.rows / rows, object.cols / 16);
                self.line(format!("wl::u32 {reg}[{slots}][{m}][{k}][4] = {{}};"));
            }
            Kind::Right => {
                // As [K, N]; of an object declared [N, K] the same elements.
                let (k, n) = self.right_shape(o);
                self.line(format!("wl::u32 {reg}[{slots}][{}][{}][2] = {{}};", k / 16, n / 8));
            }
        }
    }

    /// The file around the kernel and the reference.
    fn file(&self, reference: &str) -> String {
        let prog = self.prog;
        let mut f = String::new();
        let params: Vec<String> = prog.params.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let mut w = |s: String| {
            f.push_str(&s);
            f.push('\n');
        };
        w(format!("// {} of {}, written by warpline emit --target cuda.", prog.name, prog.file));
        w(format!("// {}", params.join(" ")));
        w("// nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o x x.cu && ./x --runs 5".to_string());
        let products = prog.code.iter().enumerate().filter(|(_, i)| matches!(i, Instr::Op { op: Op::Mma { .. }, .. }));
        let products: Vec<String> = products.map(|(pc, _)| format!(" || (pc) == {pc}")).collect();
        w(format!("#define WL_IS_MMA(pc) (false{})", products.concat()));
        w(include_str!("warpline.cuh").to_string());
        let maps = self.boxes.len();
        let matrices: Vec<(usize, &warpline_sim::ir::Object)> =
            prog.objects.iter().enumerate().filter(|(_, o)| o.class == Class::Global).collect();
        let ctas = prog.grid.len() * prog.cluster as i64;
        w(format!("#define KERNEL \"{} {}\"", prog.name, params.join(" ")));
        w(format!("#define MAPS {maps}"));
        w(format!(
            "constexpr int WARPS = {}, CLUSTER = {}, CTAS = {ctas}, POOL_BYTES = {};",
            prog.warps, prog.cluster, self.layout.bytes
        ));
        let sums: i64 = (0..prog.objects.len())
            .filter(|o| self.registers[*o].is_some_and(|r| r.dumped))
            .map(|o| {
                let (m, n) = self.acc_shape(o as ObjId);
                prog.objects[o].slots as i64 * m * n
            })
            .sum();
        w(format!("constexpr int SUMS = {sums}, MATRICES = {};", matrices.len()));
        w(format!("constexpr bool EXACT = {};", self.exact()));
        w(format!("struct Globals {{ wl::byte* m[{}]; }};", matrices.len().max(1)));
        w(format!("struct Maps {{ CUtensorMap m[{}]; }};", maps.max(1)));
        w(format!("static const wl::Matrix matrices[{}] = {{", matrices.len().max(1)));
        for (i, o) in &matrices {
            let [rows, cols] = padded(o);
            w(format!(
                "    {{\"{}\", {}, {}, {rows}, {cols}, {}, wl::{}, {}}},",
                o.name,
                o.rows,
                o.cols,
                o.dtype.bits(),
                type_name(o.dtype),
                self.stored(*i as ObjId)
            ));
        }
        w("};".to_string());
        w(format!("static const wl::Box boxes[{}] = {{", maps.max(1)));
        for b in &self.boxes {
            w(format!("    {{{}, {}, {}, {}}},", self.matrix(b.obj), b.rows, b.cols, b.swizzle));
        }
        w("};".to_string());
        let lines: Vec<String> = (0..prog.code.len()).map(|pc| prog.site(pc as u32).line.to_string()).collect();
        w(format!("static const unsigned lines[] = {{{}}};", lines.join(", ")));
        let names: Vec<String> =
            prog.mbars.iter().flat_map(|b| (0..b.stages).map(|s| format!("\"{}[{s}]\"", b.name))).collect();
        w(format!(
            "static const char* const barrier_names[] = {{{}}};",
            [names, vec!["\"\"".into()]].concat().join(", ")
        ));
        w(String::new());
        for (o, object) in prog.objects.iter().enumerate() {
            if object.class == Class::Shared {
                w(format!(
                    "typedef wl::Buffer<{}, {}, {}, {}, {}, {}> B_{};",
                    self.layout.offset[o],
                    self.layout.stride[o],
                    object.rows,
                    object.cols,
                    object.dtype.bits(),
                    object.swizzle,
                    name(&object.name)
                ));
            }
        }
        w(math::instructions(self.instructions.keys()));
        w(self.head("kernel", false));
        w(format!("{}}}\n", self.out));
        w(self.head("reference", true));
        w(format!("{reference}}}"));
        w(include_str!("harness.cuh").to_string());
        f
    }

    /// A kernel up to its first declaration.
    fn head(&self, kernel: &str, reference: bool) -> String {
        let p = self.prog;
        let mut h = String::new();
        // One argument bounds the registers to what fits one CTA; a second to what the kernel says.
        let threads = p.warps * 32;
        let bounds = match p.regs {
            Some(r) if !reference => format!("{threads}, {}", (65_536 / (r * threads).max(1)).max(1)),
            _ => threads.to_string(),
        };
        let maps = if reference { "" } else { "const __grid_constant__ Maps maps, " };
        let _ = writeln!(
            h,
            "__global__ void __launch_bounds__({bounds}) {kernel}({maps}const __grid_constant__ Globals g, const \
             __grid_constant__ wl::Common common) {{"
        );
        let mut l = |s: &str| {
            let _ = writeln!(h, "    {s}");
        };
        l("const int cta = blockIdx.x, cluster = cta / CLUSTER, rank = cta % CLUSTER;");
        l("const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;");
        let g = &p.grid;
        let rows = if g.group == 0 { g.m } else { g.group };
        l(&format!(
            "const int plane = cluster % {}, group = plane / {}, inside = plane % {};",
            g.m * g.n,
            rows * g.n,
            rows * g.n
        ));
        l(&format!("const int group_rows = wl::lesser({rows}, {} - group * {rows});", g.m));
        l(&format!("const int cluster_m = group * {rows} + inside % group_rows, cta_n = inside / group_rows;"));
        l(&format!("const int cta_m = cluster_m * CLUSTER + rank, cta_z = cluster / {};", g.m * g.n));
        l("(void)cta_m, (void)cta_n, (void)cta_z, (void)rank;");
        if !reference {
            l("extern __shared__ __align__(1024) wl::byte pool_bytes[];");
            l("const wl::u32 pool = wl::smem(pool_bytes);");
            l("(void)pool;");
            l("if (threadIdx.x == 0) {");
            l("    wl::u64* t = common.times + cta * 4;");
            l("    t[0] = clock64(), t[1] = wl::nanoseconds(), t[2] = 0, t[3] = 0;");
            l("}");
        }
        l("wl::Agent a(common, cta, rank, warp, lane);");
        if !reference {
            l("wl::record<WARPS>(a);");
        }
        h
    }

    /// Whether a matrix is written.
    fn stored(&self, obj: ObjId) -> bool {
        self.prog.code.iter().any(|i| {
            matches!(i, Instr::Op { op: Op::Move { how: How::Store | How::TmaStore, dst, .. }, .. } if dst.obj == obj)
        })
    }

    /// Index of a matrix among those of the kernel.
    fn matrix(&self, obj: ObjId) -> usize {
        self.prog.objects[..obj as usize].iter().filter(|o| o.class == Class::Global).count()
    }

    /// Whether results are the same to the last bit: small whole numbers, products and sums of them in f32.
    fn exact(&self) -> bool {
        self.prog.code.iter().all(|i| match i {
            Instr::Op { op: Op::Alu { writes, .. }, .. } => writes.is_empty(),
            Instr::Op { op: Op::Mma { kind, a, .. }, .. } => {
                matches!(kind, MmaKind::Warp | MmaKind::Wgmma) && self.prog.objects[a.obj as usize].dtype.bits() == 16
            }
            _ => true,
        })
    }
}

/// A name of the source as part of a C name.
fn name(s: &str) -> String {
    s.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Rows and columns of a matrix in whole blocks.
fn padded(o: &warpline_sim::ir::Object) -> [i64; 2] {
    let up = |n: i64, b: i64| (n + b - 1) / b.max(1) * b.max(1);
    [up(o.rows, o.block[0]), up(o.cols, o.block[1])]
}

/// The harness's name of an element type.
fn type_name(d: Dtype) -> &'static str {
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
