//! The file around the kernel and its reference.

use std::fmt::Write;

use warpline_sim::ir::{Instr, Op};

use super::Writer;
use crate::cpp::agent;

impl Writer<'_> {
    pub(super) fn file(&self, reference: &Self) -> String {
        let (prog, arch) = (self.prog, &self.target.arch);
        let mut f = String::new();
        let mut w = |s: String| {
            f.push_str(&s);
            f.push('\n');
        };
        w(format!("// {} of {}, written by warpline emit --target hip for {arch}.", prog.name, prog.file));
        w(format!("// {}", self.params()));
        w(format!("// hipcc -O3 -std=c++17 --offload-arch={arch} -o x x.hip && ./x --runs 5"));
        w("//".to_string());
        w("// Untested: its authors have no AMD device. The kernels that a compiler accepted, and the compiler, are listed in".into());
        w("// warpline's oracles/emit/compiled.tsv.".to_string());
        w("// An `s_barrier` has no deadline. The host has one: past it the process ends, and the run with it.".into());
        w(format!("#if defined(__HIP_DEVICE_COMPILE__) && !defined(__{arch}__)"));
        w(format!("#error \"the counts of this kernel's waits are those of {arch}\""));
        w("#endif".to_string());
        w(format!("#define WL_MANUAL {}", self.target.manual as u32));
        w(format!("#define DMA_BYTES {}", self.target.dma_bytes));
        w(format!("#define FP8_BIAS {}", if arch == "gfx950" { 7 } else { 8 }));
        let products = prog.code.iter().enumerate().filter(|(_, i)| matches!(i, Instr::Op { op: Op::Mma { .. }, .. }));
        let products: Vec<String> = products.map(|(pc, _)| format!(" || (pc) == {pc}")).collect();
        w(format!("#define WL_IS_MMA(pc) (false{})", products.concat()));
        w(include_str!("head.h").to_string());
        w(include_str!("../device.h").to_string());
        w(include_str!("operations.h").to_string());
        w(self.common_tables(reference));
        w("static const char* const barrier_names[] = {\"\"};".to_string());
        w(self.buffers());
        w(self.head("kernel", false));
        w(format!("{}}}\n", self.out));
        w(self.head("reference", true));
        w(format!("{}}}", reference.out));
        w(include_str!("launch.h").to_string());
        w(include_str!("../harness.h").to_string());
        f
    }

    /// A kernel up to its first declaration.
    fn head(&self, kernel: &str, reference: bool) -> String {
        let mut h = String::new();
        let threads = self.prog.warps * 64;
        // Waves on each of the four SIMDs: those of one workgroup, or as many as the kernel's registers allow.
        let waves = self.prog.regs.map_or(1, |r| 512 / r.clamp(64, 512)).max(self.prog.warps.div_ceil(4));
        let _ = writeln!(
            h,
            "__global__ void __attribute__((amdgpu_flat_work_group_size({threads}, {threads}), amdgpu_waves_per_eu({waves}))) \
             {kernel}(const Globals g, const wl::Common common) {{"
        );
        h += "    const int cta = blockIdx.x;\n";
        h += "    const int warp = __builtin_amdgcn_readfirstlane(threadIdx.x / 64), lane = threadIdx.x % 64;\n";
        h += &self.coordinates();
        if !reference {
            h += "    extern __shared__ __align__(1024) wl::byte pool_bytes[];\n";
            h += "    const wl::u32 pool = wl::smem(pool_bytes);\n    (void)pool;\n";
        }
        h + &agent(reference)
    }
}
