//! Defines a machine, and runs and verifies a kernel of one's own on it.
//!
//! ```text
//! $ cargo run --example custom_machine
//! NVIDIA A100 SXM4 80 GB (Ampere): 481.2 us, 91.6 % of the matrix peak
//!   the protocol is proved
//! A100 with half its DRAM: 777.6 us, 95.6 % of the matrix peak
//!   the protocol is proved
//! ```

use std::error::Error;
use std::io::{self, Write};

use warpline_api::{ProofOptions, load_text, machine_named, outcome_word, run, set_machine, verify};
use warpline_sim::machine::{Kind, Machine, Param};
use warpline_sim::words::{percent, short};

/// A double-buffered matrix product. The expected tile after each `:` is checked in every run.
const KERNEL: &str = "\
kernel double_buffer(m = 4096, n = 4096, k = 4096, stages = 2)
  needs sm_80
  let tiles = cdiv(k, 32)
  grid cdiv(m, 128), cdiv(n, 128)
  warps 8   regs 128
  global A: f16[m, k]   global B: f16[k, n]   global C: f16[m, n]
  shared a[stages]: f16[128, 32] swizzle 64
  shared b[stages]: f16[32, 128] swizzle 128
  role math[8] = warps 0..8

  math:
    zero acc: f32[64, 32]
    for j in 0..stages - 1:
      if j < tiles: cp A[cta.m, j] -> a[j];  cp B[j, cta.n] -> b[j]
      commit cp
    for i in 0..tiles:
      let next = i + stages - 1
      wait cp <= stages - 2
      barrier
      if next < tiles: cp A[cta.m, next] -> a[next % stages];  cp B[next, cta.n] -> b[next % stages]
      commit cp
      lds a[i % stages].rows(self / 4, 2) : A[cta.m, i] -> fa
      lds b[i % stages].cols(self % 4, 4) : B[i, cta.n] -> fb
      mma fa, fb -> acc
    store acc -> C[cta.m, cta.n].rows(self / 4, 2).cols(self % 4, 4)
";

fn main() -> Result<(), Box<dyn Error>> {
    example(&mut io::stdout())
}

/// An A100 with half the DRAM bandwidth. A machine file (`.toml`) says the same with one line for each number.
fn half_bandwidth() -> Result<Machine, Box<dyn Error>> {
    let mut machine = machine_named("a100")?;
    machine.name = "a100-half".to_string();
    machine.title = "A100 with half its DRAM".to_string();
    let gbps = machine.get("memory.dram_gbps").unwrap_or_default();
    machine.params.insert(
        "memory.dram_gbps".to_string(),
        Param {
            value: gbps / 2.0,
            unit: "GB/s".to_string(),
            kind: Kind::Estimated,
            source: "a question of ours: half of the A100's".to_string(),
            spread: None,
        },
    );
    // The same in one line; the source then says that the number was set.
    set_machine(&mut machine, "core.count", 64.0)?;
    Ok(machine)
}

/// The example; a test compares its output with the header of this file.
pub fn example(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    for machine in [machine_named("a100")?, half_bandwidth()?] {
        let kernel = load_text("double_buffer.pipe", KERNEL, &machine, &[])?;
        let report = run(&kernel)?.report;
        let peak = report.of_peak.map_or("-".to_string(), percent);
        writeln!(out, "{}: {} us, {peak} % of the matrix peak", machine.title, short(report.time_us))?;
        let v = verify(&kernel, &ProofOptions::default())?;
        writeln!(out, "  the protocol is {}", outcome_word(&v.verdict.outcome))?;
    }
    Ok(())
}
