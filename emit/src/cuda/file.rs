//! The file around the kernel and its reference.

use std::fmt::Write;

use warpline_sim::ir::{Instr, Op};

use super::{Writer, math};
use crate::cpp::agent;
use crate::writer::Target;

impl Writer<'_> {
    pub(super) fn file(&self, reference: &Self) -> String {
        let prog = self.prog;
        let mut f = String::new();
        let mut w = |s: String| {
            f.push_str(&s);
            f.push('\n');
        };
        w(format!("// {} of {}, written by warpline emit --target cuda.", prog.name, prog.file));
        w(format!("// {}", self.params()));
        let tensor = self.in_tensor_memory();
        let arch = if tensor { "100a" } else { "90a" };
        w(format!("// nvcc -O3 -std=c++17 -gencode arch=compute_{arch},code=sm_{arch} -o x x.cu && ./x --runs 5"));
        if tensor {
            w("//".to_string());
            w("// Untested on sm_100a: its authors have no such device. The kernels that nvcc compiled are listed in warpline's".into());
            w("// oracles/emit/compiled.tsv. With -DWL_EMULATE it compiles for sm_90a and emulates what sm_90a lacks; such runs".into());
            w("// are listed in docs/hardware.md.".to_string());
            if let Some(why) = reference.target.without_reference() {
                w(format!("// There is no reference: {why}. Runs are compared only with each other."));
            }
        }
        let products = prog.code.iter().enumerate().filter(|(_, i)| matches!(i, Instr::Op { op: Op::Mma { .. }, .. }));
        let products: Vec<String> = products.map(|(pc, _)| format!(" || (pc) == {pc}")).collect();
        w(format!("#define WL_IS_MMA(pc) (false{})", products.concat()));
        w(include_str!("head.cuh").to_string());
        w(include_str!("../device.h").to_string());
        w(include_str!("operations.cuh").to_string());
        w(self.tables(reference));
        w(math::instructions(self.target.instructions.keys()));
        if tensor {
            w(include_str!("tensor.cuh").to_string());
            w(include_str!("emulate.cuh").to_string());
        }
        if reference.target.passes() > 1 {
            w(include_str!("notes.cuh").to_string());
        }
        w(self.head("kernel", false));
        w(format!("{}}}\n", self.out));
        w(self.head("reference", true));
        w(format!("{}}}", reference.out));
        w(include_str!("launch.cuh").to_string());
        w(include_str!("../harness.h").to_string());
        f
    }

    /// Tables for the harness: boxes of the copy engine, names of mbarriers, and those of every target.
    fn tables(&self, reference: &Self) -> String {
        let (prog, boxes) = (self.prog, &self.target.boxes);
        let mut t = format!("#define MAPS {}\n", boxes.len());
        let _ = writeln!(t, "struct Maps {{ CUtensorMap m[{}]; }};", boxes.len().max(1));
        t += &self.common_tables(reference);
        let _ = writeln!(t, "[[maybe_unused]] static const wl::Box boxes[{}] = {{", boxes.len().max(1));
        for b in boxes {
            let _ = writeln!(t, "    {{{}, {}, {}, {}}},", self.matrix(b.obj), b.rows, b.cols, b.swizzle);
        }
        t += "};\n";
        let names = prog.mbars.iter().flat_map(|b| (0..b.stages).map(|s| format!("\"{}[{s}]\"", b.name)));
        let names: Vec<String> = names.chain(["\"\"".to_string()]).collect();
        let _ = writeln!(t, "static const char* const barrier_names[] = {{{}}};\n", names.join(", "));
        t + &self.buffers()
    }

    /// A kernel up to its first declaration.
    fn head(&self, kernel: &str, reference: bool) -> String {
        let p = self.prog;
        let mut h = String::new();
        // One argument bounds the registers to what fits one CTA; a second argument bounds them to what the kernel
        // says.
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
        h += "    const int cta = blockIdx.x;\n";
        h += "    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;\n";
        h += &self.coordinates();
        if !reference {
            h += "    extern __shared__ __align__(1024) wl::byte pool_bytes[];\n";
            h += "    const wl::u32 pool = wl::smem(pool_bytes);\n    (void)pool;\n";
        }
        h + &agent(reference)
    }
}
