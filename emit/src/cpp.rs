//! Parts that files of CUDA and HIP share beside `device.h` and `harness.h`.

use std::fmt::Write;

use crate::writer::{Target, Writer, padded, type_name};

impl<T: Target> Writer<'_, T> {
    /// Tables about the kernel for the harness of CUDA and HIP.
    pub(crate) fn common_tables(&self, reference: &Self) -> String {
        let (prog, matrices) = (self.prog, self.matrices());
        let mut t = format!("#define KERNEL \"{} {}\"\n", prog.name, self.params());
        let ctas = prog.grid.len() * prog.cluster as i64;
        let _ = writeln!(
            t,
            "constexpr int WARPS = {}, LANES = {}, CLUSTER = {}, CTAS = {ctas}, POOL_BYTES = {};",
            prog.warps,
            T::LANES,
            prog.cluster,
            self.layout.bytes
        );
        let _ = writeln!(t, "constexpr int SUMS = {}, MATRICES = {};", self.sums(), matrices.len());
        let _ = writeln!(t, "constexpr bool EXACT = {};", self.exact());
        // Whether there is a reference; without one, runs are compared with each other.
        let _ = writeln!(t, "constexpr bool REFERENCE = {};", reference.target.without_reference().is_none());
        let _ = writeln!(t, "[[maybe_unused]] constexpr unsigned PASSES = {};", reference.target.passes());
        let _ = writeln!(t, "constexpr bool HANDED_OUT = {};", self.asks_for_tiles());
        let _ = writeln!(t, "struct Globals {{ wl::byte* m[{}]; }};", matrices.len().max(1));
        let _ = writeln!(t, "static const wl::Matrix matrices[{}] = {{", matrices.len().max(1));
        for (i, o) in &matrices {
            let [rows, cols] = padded(o);
            let (bits, kind, out) = (o.dtype.bits(), type_name(o.dtype), self.stored(*i));
            let (name, r, c) = (&o.name, o.rows, o.cols);
            let _ = writeln!(t, "    {{\"{name}\", {r}, {c}, {rows}, {cols}, {bits}, wl::{kind}, {out}}},");
        }
        let _ = writeln!(t, "}};\nstatic const unsigned lines[] = {{{}}};", self.lines());
        t
    }
}

/// The start of an agent in CUDA and HIP.
pub(crate) fn agent(reference: bool) -> String {
    let mut h = String::new();
    if !reference {
        h += "    if (threadIdx.x == 0) {\n        wl::u64* t = common.times + cta * 4;\n        t[0] = wl::ticks(), t[1] = \
              wl::nanoseconds(), t[2] = 0, t[3] = 0;\n    }\n";
    }
    h += "    wl::Agent a(common, cta, rank, warp, lane);\n";
    if !reference {
        h += "    wl::record<WARPS>(a);\n";
    }
    h
}
