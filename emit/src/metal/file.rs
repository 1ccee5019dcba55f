//! The two files: the kernel with its reference, and the program that runs them.

use std::fmt::Write;

use super::Writer;
use crate::writer::{padded, type_name};

impl Writer<'_> {
    pub(super) fn file(&self, reference: &str) -> String {
        let prog = self.prog;
        let mut f = String::new();
        let mut w = |s: &str| {
            f.push_str(s);
            f.push('\n');
        };
        w(&format!("// {} of {}, written by warpline emit --target metal.", prog.name, prog.file));
        w(&format!("// {}", self.params()));
        w("//");
        w(
            "// Untested: its authors have no Apple GPU and no Metal compiler. A clang with a stand-in for Metal's headers parsed",
        );
        w("// the kernels that are listed in warpline's oracles/emit/compiled.tsv.");
        w("// The .swift file beside this one runs it: swiftc -O x.swift -o x && ./x x.metal");
        w(include_str!("head.metal"));
        w(&format!("constant constexpr int WARPS = {}, CLUSTER = 1, SUMS = {};", prog.warps, self.sums()));
        let n = self.matrices().len();
        w(&format!("struct Globals {{ device wl::byte* m[{}]; }};", n.max(1)));
        w(&self.buffers());
        w(&self.head("pipe", false));
        w(&format!("{}}}\n", self.out));
        w(&self.head("reference", true));
        w(&format!("{reference}}}"));
        f
    }

    /// A kernel up to its first declaration.
    fn head(&self, kernel: &str, reference: bool) -> String {
        let n = self.matrices().len();
        let matrices: String = (0..n).map(|i| format!("device wl::byte* m{i} [[buffer({i})]], ")).collect();
        let names: Vec<String> = (0..n).map(|i| format!("m{i}")).collect();
        let mut h = String::new();
        let _ = writeln!(
            h,
            "kernel void {kernel}({matrices}device wl::u32* sink [[buffer({n})]], device float* sums [[buffer({})]], device \
             wl::u32* where [[buffer({})]], threadgroup wl::byte* pool [[threadgroup(0)]], uint cta_index \
             [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]], uint warp_index \
             [[simdgroup_index_in_threadgroup]], uint lane_index [[thread_index_in_simdgroup]]) {{",
            n + 1,
            n + 2
        );
        h += "    const int cta = (int)cta_index, warp = (int)warp_index, lane = (int)lane_index;\n";
        h += &self.coordinates();
        let _ = writeln!(
            h,
            "    const Globals g = {{{{{}}}}};",
            if n == 0 { "nullptr".to_string() } else { names.join(", ") }
        );
        h += "    const wl::Common common = {sink, sums, where};\n";
        h += "    wl::Agent a = {cta, warp, lane, 0, 0, 0};\n    (void)g, (void)lane, (void)pool;\n";
        let _ = reference;
        h
    }

    /// The Swift program.
    pub(super) fn harness(&self) -> String {
        let prog = self.prog;
        let mut t = String::new();
        let _ = writeln!(t, "// {} of {}: runs the kernel and its reference and compares.", prog.name, prog.file);
        t += "// Written by warpline emit --target metal, whose authors have no Apple machine. Never compiled or run.\n\n";
        let _ = writeln!(t, "let name = \"{} {}\"", prog.name, self.params());
        let _ = writeln!(
            t,
            "let simdgroups = {}, threadgroups = {}, poolBytes = {}, sumsEach = {}, exact = {}",
            prog.warps,
            prog.grid.len(),
            (self.layout.bytes + 15) / 16 * 16,
            self.sums(),
            self.exact()
        );
        t += "struct Matrix { let name: String, rows: Int, cols: Int, pitchRows: Int, pitch: Int, bits: Int, type: String, output: Bool }\n";
        t += "let matrices: [Matrix] = [\n";
        for (i, o) in self.matrices() {
            let [rows, cols] = padded(o);
            let _ = writeln!(
                t,
                "    Matrix(name: \"{}\", rows: {}, cols: {}, pitchRows: {rows}, pitch: {cols}, bits: {}, type: \"{}\", output: {}),",
                o.name,
                o.rows,
                o.cols,
                o.dtype.bits(),
                type_name(o.dtype),
                self.stored(i)
            );
        }
        let _ = writeln!(t, "]\nlet lines = [{}]  // of the kernel's text, by operation\n", self.lines());
        t + include_str!("harness.swift")
    }
}
