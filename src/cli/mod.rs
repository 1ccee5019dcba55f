//! The one definition of commands and flags: help, man page and shell completions are made from it.
//!
//! ```text
//!   mod       the commands; what a run is of
//!   run       run, compare, sweep, merge, whatif, check
//!   proof     verify, recheck, barriers, export, explain
//!   draw      gantt, view, trace, report
//!   kernel    list, expand, plan, models, new, fmt, completions
//!   hardware  emit, calibrate, validate
//!   values    how values of flags read
//! ```

mod draw;
mod hardware;
mod kernel;
mod proof;
mod run;
mod values;

use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use warpline_api::{FenceLevel, Request, Setting};

pub use draw::{Colors, Gantt, Report, Second, Theme, Trace, TraceFormat, View};
pub use hardware::{Calibrate, Emit, Target, Validate};
pub use kernel::{Completions, Expand, Fmt, Import, List, Models, New, Plan};
pub use proof::{Barriers, Explain, Export, Format, Language, Orders, Proof, Recheck, Verify};
pub use run::{Check, Compare, Merge, Run, Sweep, SweepOutput, Whatif};

/// Simulates and draws the software pipelines inside GPU kernels.
///
/// A pipeline is written once, as a short kernel (.pipe). A scenario (.toml) gives it a machine and
/// sizes. warpline runs it on a model of the machine and says how long it takes and what it waits for.
#[derive(Debug, Parser)]
#[command(name = "warpline", bin_name = "warpline", version, styles = Styles::plain())]
#[command(after_help = "Exit status: 0 fine; 1 a fault, a hang or a failed claim; 2 bad input; 3 a limit was reached.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Time, stalls, occupancy and what bounds the kernel
    Run(Run),
    /// Prove the barrier protocol in every schedule and for every trip count, or show the fault
    Verify(Verify),
    /// Check the certificate of a proof, by a small checker of its own
    Recheck(Recheck),
    /// Which synchronisation is needed, and against what; which is not
    Barriers(Barriers),
    /// Two runs side by side: what changed, by how much, and at which wait
    Compare(Compare),
    /// Run a scenario for many values: a table, CSV, JSON, a picture
    Sweep(Sweep),
    /// Join the parts of a sweep that several machines shared
    Merge(Merge),
    /// Scale each resource and latency of the machine in turn and rank what the kernel would gain
    Whatif(Whatif),
    /// Compare the claims of scenarios with what a run computes
    Check(Check),
    /// Write a kernel's `pipelined` loops out: prologue, body and epilogue, in the same language
    Expand(Expand),
    /// Read a compiled kernel (PTX): what was understood of it, as a readable kernel
    Import(Import),
    /// Search the pipelines of a plain loop: keep the proved, rank them by simulated time
    Plan(Plan),
    /// What a finding's code means: an example, the fix, where the rule stands
    Explain(Explain),
    /// Draw a run as a chart (PNG or SVG)
    Gantt(Gantt),
    /// Look at a run in the terminal: zoom, search, follow who woke whom, lay two runs over each other
    View(View),
    /// Write a run as a trace for Perfetto or chrome://tracing
    Trace(Trace),
    /// Write the protocol as a model for another checker
    Export(Export),
    /// Write the kernel as real source text, with a harness that runs and checks it
    Emit(Emit),
    /// One page with the run, its timeline, the claims and the verdict
    Report(Report),
    /// Measure a device with probes and write its machine file
    Calibrate(Calibrate),
    /// Hold the model to kernels that were timed on hardware
    Validate(Validate),
    /// List the machines, or the numbers of one with their sources
    Models(Models),
    /// List the built-in scenarios
    List(List),
    /// Write a small kernel and its scenario to start from
    New(New),
    /// Format kernels
    Fmt(Fmt),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page (roff)
    Man,
}

/// What to run, on what, with which values.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// A built-in scenario (`metal/triple_buffer`), a scenario file (.toml) or a kernel (.pipe); where timelines are
    /// drawn or compared, a saved trace too (.json, Chrome's format)
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter, or a number of the machine (machine.memory.dram_gbps=4000); repeatable, the last counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// Hold a fence rule to a level (async-read=strict); repeatable. docs/fences.md has the rules and what each accepts
    #[arg(long, value_name = "RULE=LEVEL", value_parser = FenceLevel::parse, help_heading = "Input")]
    pub fence: Vec<FenceLevel>,

    /// How much of the machine to look at: the cores of one cluster with a fair share of the rest, or the whole launch (the default
    /// where the machine says what one takes)
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Input")]
    pub fidelity: Option<Fidelity>,

    /// The clock: the number that the machine file or --set gives, or the one that a long kernel keeps under its tensor
    /// load, by the machine's line (docs/cli.md has its error)
    #[arg(long, value_enum, value_name = "WHICH", default_value = "given", help_heading = "Input")]
    pub clock: Clock,

    /// Simulate every CTA, also where the state of a core recurs exactly
    #[arg(long, help_heading = "Input")]
    pub no_skip: bool,

    /// Give up after this many events, with exit status 3
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_events: Option<u64>,

    /// Keep to a schedule that `verify --schedule-out` wrote: one cluster, its moves in that order, up to the fault
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub schedule: Option<PathBuf>,
}

impl Input {
    /// The request to the library.
    pub(crate) fn request(&self) -> Request {
        Request {
            machine: self.machine.clone(),
            settings: self.set.clone(),
            fences: self.fence.clone(),
            fidelity: self.fidelity.map(Into::into),
            clock: self.clock.into(),
            skip_repeats: !self.no_skip,
            max_events: self.max_events,
            schedule: self.schedule.clone(),
            ..Request::named(&self.scenario)
        }
    }
}

/// Where a run's clock is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// The number given
    Given,
    /// The one that the run's share of the tensor cores' rate leaves, found run by run
    Sustained,
}

impl From<Clock> for warpline_api::Clock {
    fn from(clock: Clock) -> Self {
        match clock {
            Clock::Given => Self::Given,
            Clock::Sustained => Self::Sustained,
        }
    }
}

/// How much of the machine a run looks at.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Fidelity {
    /// The cores of one cluster, with a fair share of the caches and of DRAM
    Core,
    /// The launch: caches by the tiles in them, all cores at the slices and at DRAM, every wave and the tail
    Device,
}

impl From<Fidelity> for warpline_sim::report::Fidelity {
    fn from(f: Fidelity) -> Self {
        match f {
            Fidelity::Core => Self::Core,
            Fidelity::Device => Self::Device,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
