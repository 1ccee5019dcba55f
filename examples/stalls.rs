//! Runs a kernel and prints what each role waits for, and where.
//!
//! ```text
//! $ cargo run --example stalls
//! tma_wgmma on h200: 368,610 cycles
//! latency: math waits 76 % of its time at line 52 (mbarrier full); the busiest resource, L2 slices, is in use 83 %
//!
//! math, 4 warps: works 9.1 % of its time
//!   76.0 %  mbarrier     line 52: wait full[s] for i / stages
//!    3.7 %  barrier      line 51: barrier
//!    2.9 %  barrier      line 61: barrier
//! ```

use std::error::Error;
use std::io::{self, Write};

use warpline_api::{Request, load, run};
use warpline_sim::words::{percent, plain, stall};

fn main() -> Result<(), Box<dyn Error>> {
    example(&mut io::stdout())
}

/// The example; a test compares its output with the header of this file.
pub fn example(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let kernel = load(&Request::named("hopper/tma_wgmma").with("stages", 2))?;
    let simulation = run(&kernel)?;
    let report = &simulation.report;
    writeln!(out, "{} on {}: {} cycles", kernel.program.name, kernel.machine.name, plain(report.cycles))?;
    writeln!(out, "{}", report.bottleneck)?;
    for role in &report.roles {
        let busy: f64 = role.work.values().sum();
        writeln!(out, "\n{}, {} warps: works {} % of its time", role.name, role.warps, percent(busy))?;
        // The statements where the role waits, the longest wait first.
        for (site, cause, share) in role.at.iter().take(3) {
            let statement = &kernel.program.sites[*site as usize];
            writeln!(
                out,
                "  {:>4} %  {:<12} line {}: {}",
                percent(*share),
                stall(*cause),
                statement.line,
                statement.text
            )?;
        }
    }
    Ok(())
}
