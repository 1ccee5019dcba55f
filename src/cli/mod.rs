//! The definition of all commands and flags. Help, man page and shell completions are generated from it.
//!
//! ```text
//!   mod       the commands; the input of a run
//!   run       run, compare, sweep, merge, whatif, check
//!   proof     verify, recheck, barriers, export, explain
//!   draw      gantt, view, trace, report
//!   kernel    list, expand, plan, models, new, fmt, lsp, completions
//!   hardware  emit, calibrate, validate
//!   complete  what a shell offers behind each argument
//!   values    values of flags, as text
//! ```

pub(crate) mod complete;
mod draw;
mod groups;
mod hardware;
mod kernel;
mod proof;
mod run;
mod values;

use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use warpline_api::{FenceLevel, Request, Setting};
use warpline_import::lift::{Argument, Launch};

use values::{Three, grid, three};

pub use draw::{Colors, Gantt, Report, Second, Theme, Trace, TraceFormat, View};
pub use groups::command;
pub use hardware::{Calibrate, Emit, Target, Validate};
pub use kernel::{Completions, Expand, Fmt, Import, List, Lsp, Models, New, Plan};
pub use proof::{Barriers, Explain, Export, Format, Language, Orders, Proof, Recheck, Verify};
pub use run::{Check, Compare, Merge, Run, Sweep, SweepOutput, Whatif};

/// Simulates and draws the software pipelines inside GPU kernels.
///
/// A kernel (.pipe) is the text of a pipeline, and a scenario (.toml) gives the kernel a machine and sizes. warpline runs the
/// kernel on a model of the machine, and prints its time and its waits.
#[derive(Debug, Parser)]
#[command(name = "warpline", bin_name = "warpline", version, styles = Styles::plain())]
#[command(after_help = "Exit status: 0 fine; 1 a fault, a hang or a failed claim; 2 bad input; 3 a limit was reached.")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a kernel: time, stalls, occupancy and bottleneck
    Run(Run),
    /// Prove the barrier protocol for every schedule and trip count, or show a fault
    Verify(Verify),
    /// Check the certificate of a proof with an independent checker
    Recheck(Recheck),
    /// List which synchronization a kernel needs, and against what
    Barriers(Barriers),
    /// Compare two runs: what changed, by how much, and at which wait
    Compare(Compare),
    /// Run a scenario for many values: table, CSV, JSON or picture
    Sweep(Sweep),
    /// Join the parts of a sweep that several computers ran
    Merge(Merge),
    /// Scale each rate and latency of the machine in turn, and rank the gains
    Whatif(Whatif),
    /// Check the claims of scenarios against computed numbers
    Check(Check),
    /// Expand a kernel's `pipelined` loops into prologue, body and epilogue
    Expand(Expand),
    /// Read a compiled kernel (PTX) and print it as a readable kernel
    Import(Import),
    /// Search the pipelines of a plain loop, and rank the proved ones by simulated time
    Plan(Plan),
    /// Explain the code of a finding: an example, the fix and the rule
    Explain(Explain),
    /// Draw a run as a chart (PNG or SVG)
    Gantt(Gantt),
    /// View a run in the terminal: zoom, search, follow wake-ups, overlay two runs
    View(View),
    /// Write a run as a trace for Perfetto or chrome://tracing
    Trace(Trace),
    /// Export the protocol as a model for another checker
    Export(Export),
    /// Emit the kernel as source text for a device, with a harness that runs and checks it
    Emit(Emit),
    /// Write one page (HTML) with the run, its timeline, the claims and the verdict
    Report(Report),
    /// Measure a device with probes, and write its machine file
    Calibrate(Calibrate),
    /// Compare the model with kernels that were timed on hardware
    Validate(Validate),
    /// List the machines, or the numbers of one machine with their sources
    Models(Models),
    /// List the built-in scenarios
    List(List),
    /// Write a small kernel and its scenario as a starting point
    New(New),
    /// Format kernels
    Fmt(Fmt),
    /// Serve editors: errors while typing, hover, definitions, formatting (language server)
    Lsp(Lsp),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page (roff)
    Man,
}

/// The kernel and the launch of a compiled kernel (.ptx).
#[derive(Clone, Debug, Default, Args)]
pub struct LaunchArgs {
    /// The kernel of a PTX file with several: its name, a part of it that no other has, or its number
    #[arg(long, value_name = "NAME|N", help_heading = "Compiled kernels")]
    pub entry: Option<String>,

    /// Threads of a block (128, 32x4x1), where the PTX gives none or a largest number
    #[arg(long, value_name = "N", value_parser = three, help_heading = "Compiled kernels")]
    pub block: Option<Three>,

    /// CTAs of a cluster (2, 2x1x1), where the PTX gives none
    #[arg(long, value_name = "XxYxZ", value_parser = three, help_heading = "Compiled kernels")]
    pub cluster: Option<Three>,

    /// The launch: a file (.json) with grid, block, cluster, args, shared and regs (docs/import.md). A run needs it or
    /// --grid and --arg; a proof is for every launch
    #[arg(long, value_name = "FILE", help_heading = "Compiled kernels")]
    pub launch: Option<PathBuf>,

    /// The disassembly of the kernel (the output of nvdisasm -c or cuobjdump -sass). A run takes its registers and the
    /// order of its loads from it
    #[arg(long, value_name = "FILE", help_heading = "Compiled kernels")]
    pub sass: Option<PathBuf>,

    /// CTAs of the grid (132, 64x64, 8x8x16)
    #[arg(long, value_name = "XxYxZ", value_parser = grid, allow_negative_numbers = true, help_heading = "Compiled kernels")]
    pub grid: Option<Three>,

    /// The value of a parameter by its position, from 0 (5=4096), or at a byte of a structure (5+8=4096). Repeatable; the
    /// last value of a place counts
    #[arg(long, value_name = "N[+BYTE]=VALUE", value_parser = warpline_api::parse_argument, help_heading = "Compiled kernels")]
    pub arg: Vec<(u16, Argument)>,
}

impl LaunchArgs {
    /// A request with the launch.
    pub(crate) fn of(&self, request: Request) -> Request {
        let launch = Launch {
            block: self.block.map(|b| b.0),
            cluster: self.cluster.map(|c| c.0),
            grid: self.grid.map(|g| g.0),
            args: warpline_api::collected(self.arg.iter().cloned()),
            ..Launch::default()
        };
        Request {
            entry: self.entry.clone(),
            launch,
            launch_file: self.launch.clone(),
            sass: self.sass.clone(),
            ..request
        }
    }
}

/// The kernel, the machine and the values of a run.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// A built-in scenario (`metal/triple_buffer`), a scenario file (.toml), a kernel (.pipe) or a compiled kernel (.ptx).
    /// Commands that draw or compare timelines also take a saved trace (.json, Chrome's format)
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter or a machine number (machine.memory.dram_gbps=4000); repeatable, the last value of a name counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// The launch of a compiled kernel
    #[command(flatten)]
    pub launch: LaunchArgs,

    /// Set a fence rule to a level (async-read=strict); repeatable. docs/fences.md lists the rules and levels
    #[arg(long, value_name = "RULE=LEVEL", value_parser = FenceLevel::parse, help_heading = "Input")]
    pub fence: Vec<FenceLevel>,

    /// The part of the machine to simulate. The default is the whole launch where the machine file has the time of a launch
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Input")]
    pub fidelity: Option<Fidelity>,

    /// The clock: the given number, or the clock that a long kernel sustains under its tensor load (docs/cli.md has the error
    /// of that model)
    #[arg(long, value_enum, value_name = "WHICH", default_value = "given", help_heading = "Input")]
    pub clock: Clock,

    /// Simulate every CTA, even where the state of a core recurs exactly, and where a long run (a million events) goes on at
    /// a steady pace
    #[arg(long, help_heading = "Input")]
    pub no_skip: bool,

    /// Give up after this many events, with exit status 3
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_events: Option<u64>,

    /// Follow a schedule from `verify --schedule-out`: one cluster, its moves in that order, up to the fault
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub schedule: Option<PathBuf>,
}

impl Input {
    /// The request to the library.
    pub(crate) fn request(&self) -> Request {
        let request = Request {
            machine: self.machine.clone(),
            settings: self.set.clone(),
            bind_launch: true,
            fences: self.fence.clone(),
            fidelity: self.fidelity.map(Into::into),
            clock: self.clock.into(),
            skip_repeats: !self.no_skip,
            max_events: self.max_events,
            schedule: self.schedule.clone(),
            ..Request::named(&self.scenario)
        };
        self.launch.of(request)
    }
}

/// The source of a run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// The number of the machine file or of --set
    Given,
    /// The clock that the run's own tensor load leaves, found run by run
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

/// The part of the machine that a run simulates.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Fidelity {
    /// The cores of one cluster, with a fair share of caches and DRAM
    Core,
    /// The whole launch: cache contents by tile, all cores at the slices and DRAM, every wave and the tail
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
