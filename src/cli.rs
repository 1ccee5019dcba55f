//! The one definition of commands and flags: help, man page and shell completions are made from it.

use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use warpline_scenarios::pipeline::{Schedule, Via};
use warpline_sim::fences::Fences;
use warpline_study::sweep::{Axis, Shard};

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
pub struct Subject {
    /// A built-in scenario (`metal/triple_buffer`), a scenario file (.toml) or a kernel (.pipe); where timelines are
    /// drawn, a saved trace too (.json, Chrome's format)
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter, or a number of the machine (machine.memory.dram_gbps=4000); repeatable, the last counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// Hold a fence rule to a level (async-read=strict); repeatable. docs/fences.md has the rules and what each accepts
    #[arg(long, value_name = "RULE=LEVEL", value_parser = fence, help_heading = "Input")]
    pub fence: Vec<FenceLevel>,

    /// How much of the machine to look at: the cores of one cluster with a fair share of the rest, or the whole launch (the default
    /// where the machine says what one takes)
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Input")]
    pub fidelity: Option<Fidelity>,

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

/// `warpline run`.
#[derive(Debug, Args)]
pub struct Run {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// Print one JSON object (schema `warpline.run/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The first run, A.
    #[command(flatten)]
    pub subject: Subject,

    /// The second run, B: another scenario, or the same one again with --with-set
    #[arg(value_name = "WITH")]
    pub with: String,

    /// Set a kernel parameter or a number of the machine of B alone; repeatable. What --set sets goes for B too where
    /// both had the same
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Second run")]
    pub with_set: Vec<Setting>,

    /// Draw both timelines in one chart (.png or .svg)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// First cycle to draw
    #[arg(long, value_name = "CYCLE", requires = "plot")]
    pub from: Option<u64>,

    /// Cycle to draw up to; without it and without --from, the first steps of the slower main loop
    #[arg(long, value_name = "CYCLE", requires = "plot")]
    pub to: Option<u64>,

    /// Print one JSON object (schema `warpline.compare/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline sweep`.
#[derive(Debug, Args)]
pub struct Sweep {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// Vary a parameter, a number of the machine, `machine` or `scenario`: `stages=1..6`, `tile_m=64,128`,
    /// `k=64..8192*2`, `machine=h200,b200`, `stages,ahead=2:1,3:2`. Repeatable; every combination is a point
    #[arg(long, value_name = "NAME=VALUES", value_parser = warpline_study::sweep::axis, help_heading = "Points")]
    pub vary: Vec<Axis>,

    /// Points from a table (CSV): a line of names, then a line of values a point
    #[arg(long, value_name = "FILE", help_heading = "Points")]
    pub points: Option<PathBuf>,

    /// Run this scenario at every point, too; adds `against_time_us`, `against_cycles` and `speedup`
    #[arg(long, value_name = "SCENARIO", help_heading = "Points")]
    pub against: Option<String>,

    /// Keep what is finished in this file, and go on from it where it is there
    #[arg(long, value_name = "FILE", help_heading = "Parts")]
    pub state: Option<PathBuf>,

    /// Run the I-th of N shares of the points and keep it in --state; `warpline merge` joins the shares
    #[arg(long, value_name = "I/N", value_parser = Shard::parse, requires = "state", help_heading = "Parts")]
    pub shard: Option<Shard>,

    /// What to show.
    #[command(flatten)]
    pub output: SweepOutput,
}

/// What a sweep writes.
#[derive(Clone, Debug, Args)]
pub struct SweepOutput {
    /// A number to show, as claims name them (docs/cli.md); repeatable, and pictures and the best point go by the first
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,

    /// Write all points with all numbers as a table (CSV); `-` for the standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Draw the first metric: a line over one varied name, a heat map over two (.png or .svg)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Print one JSON object (schema `warpline.sweep/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// The files that `sweep --shard I/N --state FILE` wrote: each point once
    #[arg(required = true, value_name = "FILE")]
    pub parts: Vec<PathBuf>,

    /// Keep the whole in this file
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,

    /// What to show.
    #[command(flatten)]
    pub output: SweepOutput,
}

/// `warpline whatif`.
#[derive(Debug, Args)]
pub struct Whatif {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// Draw the table (.png or .svg)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Print one JSON object (schema `warpline.whatif/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// On what and with which values to verify, and how far to look.
#[derive(Debug, Args)]
pub struct Proof {
    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter, or a number of the machine; repeatable, the last counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// Hold a fence rule to a level (async-read=strict); repeatable. docs/fences.md has the rules and what each accepts
    #[arg(long, value_name = "RULE=LEVEL", value_parser = fence)]
    pub fence: Vec<FenceLevel>,

    /// Largest trip count tried one by one
    #[arg(long, value_name = "N", default_value_t = MAX_TRIPS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_trips: u32,

    /// Give up after this many steps in one run, with exit status 3
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,
}

/// Largest trip count tried one by one, unless the command line says so.
const MAX_TRIPS: u32 = 160;
/// Steps of one run.
const MAX_STEPS: u64 = 20_000_000;

impl Proof {
    /// The proof of what a run is of.
    pub(crate) fn of(subject: &Subject) -> Proof {
        Proof {
            machine: subject.machine.clone(),
            set: subject.set.clone(),
            fence: subject.fence.clone(),
            max_trips: MAX_TRIPS,
            max_steps: MAX_STEPS,
        }
    }
}

/// `warpline verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// Built-in scenarios or families of them (`metal`), scenario files (.toml), kernels (.pipe), or folders of scenarios
    #[arg(required = true, value_name = "SCENARIO|FOLDER")]
    pub scenarios: Vec<String>,

    /// How.
    #[command(flatten)]
    pub proof: Proof,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Write the schedule that meets the fault; `run`, `gantt`, `view` and `trace` keep to it with `--schedule FILE`
    #[arg(long, value_name = "FILE")]
    pub schedule_out: Option<PathBuf>,

    /// Do not look for a change that mends the fault
    #[arg(long)]
    pub no_suggestion: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with_all = ["json", "format"])]
    pub quiet: bool,
}

/// How verdicts are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object (schema `warpline.verify/1`, of several `warpline.verify.many/1`; see docs/json.md).
    Json,
    /// JUnit XML, as test reports are read by CI services.
    Junit,
    /// SARIF 2.1.0, as findings are read by code-scanning services.
    Sarif,
    /// Annotations of a GitHub Actions log.
    Github,
}

/// `warpline barriers`.
#[derive(Debug, Args)]
pub struct Barriers {
    /// A built-in scenario (`metal/triple_buffer`), a scenario file (.toml) or a kernel (.pipe)
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// How.
    #[command(flatten)]
    pub proof: Proof,

    /// Print one JSON object (schema `warpline.barriers/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline list`.
#[derive(Debug, Args)]
pub struct List {
    /// Only those whose names begin like this; without it, the museum of bugs is one line
    #[arg(value_name = "PREFIX")]
    pub prefix: Option<String>,
}

/// `warpline check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Built-in names or scenario files; without any, all built-in scenarios
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,

    /// Print all claims as one page (Markdown), document by document: docs/seeds.md
    #[arg(long, conflicts_with = "quiet")]
    pub markdown: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short)]
    pub quiet: bool,
}

/// `warpline explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The code of a finding (`WL0104`); without it, all codes are listed
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

/// `warpline expand`.
#[derive(Debug, Args)]
pub struct Expand {
    /// A built-in scenario, a scenario file (.toml) or a kernel (.pipe)
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter, or a number of the machine; repeatable, the last counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// What carries the copies: sync, registers, cp, dma, tma, tma_joint; without it, what the kernel or the machine says
    #[arg(long, value_name = "WAY", value_parser = via)]
    pub via: Option<Via>,

    /// How stages are given: num_stages, triton, multistage, two_step_ahead, table
    #[arg(long, value_name = "SCHEDULE", value_parser = schedule)]
    pub schedule: Option<Schedule>,

    /// The number of stages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=64))]
    pub stages: Option<i64>,

    /// One guarded loop (guarded), or prologue, body and epilogue (unrolled)
    #[arg(long, value_name = "FORM", value_parser = ["guarded", "unrolled"])]
    pub form: Option<String>,

    /// Write the kernel here instead of printing it
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,

    /// Print one JSON object with the plan and the kernel (schema `warpline.expand/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `warpline plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// A built-in scenario, a scenario file (.toml) or a kernel (.pipe), with a `pipelined` loop
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// How.
    #[command(flatten)]
    pub proof: Proof,

    /// Largest number of stages tried
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(i64).range(1..=16))]
    pub stages: i64,

    /// Look at so many candidates, at most; a search that is cut ends with exit status 3
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_candidates: u32,

    /// Give up a run after this many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_events: Option<u64>,

    /// Write the best kernel here
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print one JSON object (schema `warpline.plan/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline gantt`.
#[derive(Debug, Args)]
pub struct Gantt {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// The file to write; its ending (.png or .svg) says the format
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// First cycle to draw
    #[arg(long, value_name = "CYCLE")]
    pub from: Option<u64>,

    /// Cycle to draw up to
    #[arg(long, value_name = "CYCLE")]
    pub to: Option<u64>,

    /// Draw the whole run; without it and without --from and --to, the first steps of the main loop
    #[arg(long, conflicts_with_all = ["from", "to"])]
    pub whole: bool,

    /// The second run, drawn below.
    #[command(flatten)]
    pub second: Second,

    /// Point out a cycle with a line and a few words; repeatable
    #[arg(long = "mark", value_name = "CYCLE=TEXT", value_parser = mark)]
    pub marks: Vec<(u64, String)>,

    /// Write below the chart how the scenario's claims come out
    #[arg(long)]
    pub claims: bool,

    /// Draw this many CTAs, in order of launch; without it one cluster's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ctas: Option<u32>,

    /// Draw the warps beside what a device recorded of them (`-DWL_STAMP`, `--trace FILE` of an emitted kernel)
    #[arg(long, value_name = "FILE")]
    pub measured: Option<PathBuf>,

    /// Draw these rows only: roles, `agents`, `engines`, `barriers`, `slots`, `cta 2`, or part of a name
    #[arg(long, value_name = "ROLE,...", value_delimiter = ',')]
    pub roles: Vec<String>,

    /// Colours
    #[arg(long, value_enum, default_value_t = Theme::Light)]
    pub theme: Theme,

    /// Size in pixels: `page` (1600 wide), `slide` (1920x1080), a width, or WIDTHxHEIGHT
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "page")]
    pub size: Size,

    /// PNG pixels for each pixel of the size, for sharp print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub scale: u32,
}

/// Size of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// For a page of a document.
    Page,
    /// For a slide.
    Slide,
    /// This wide, as high as the rows need.
    Width(u32),
    /// Just this.
    Exact(u32, u32),
}

/// Colours of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Theme {
    /// Dark on white.
    Light,
    /// Light on black.
    Dark,
}

/// A run beside another.
#[derive(Debug, Args)]
pub struct Second {
    /// A second run, B: a scenario, or the same one again with --with-set, or a saved trace (.json)
    #[arg(long, visible_alias = "compare", value_name = "SCENARIO|TRACE", help_heading = "Second run")]
    pub with: Option<String>,

    /// Set a kernel parameter or a number of the machine of B alone; repeatable. What --set sets goes for B too where
    /// both had the same
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, requires = "with", help_heading = "Second run")]
    pub with_set: Vec<Setting>,

    /// Keep B to a schedule that `verify --schedule-out` wrote; --schedule is A's alone
    #[arg(long, value_name = "FILE", requires = "with", help_heading = "Second run")]
    pub with_schedule: Option<PathBuf>,
}

/// `warpline view`.
#[derive(Debug, Args)]
pub struct View {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// The second run.
    #[command(flatten)]
    pub second: Second,

    /// First cycle to show
    #[arg(long, value_name = "CYCLE")]
    pub from: Option<u64>,

    /// Cycle to show up to; without it and without --from, the first steps of the main loop
    #[arg(long, value_name = "CYCLE")]
    pub to: Option<u64>,

    /// Commands to begin with, one a line, by the names of the palette; `key X` presses a key, `dump` prints the frame
    #[arg(long, value_name = "FILE")]
    pub exec: Option<PathBuf>,

    /// One command to begin with, after those of --exec; repeatable
    #[arg(long = "do", value_name = "COMMAND")]
    pub commands: Vec<String>,

    /// Open no terminal: print frames of this size as text, where the commands say `dump`, else one at the end
    #[arg(long, value_name = "WxH", value_parser = frame)]
    pub dump: Option<(u16, u16)>,

    /// Write the frames of --dump to this file instead (.svg), in colour and played one after the other
    #[arg(long, value_name = "FILE", requires = "dump")]
    pub svg: Option<PathBuf>,

    /// Changes of the keys: lines of a key and a command, as in `ctrl-d page-down`
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,

    /// Colours; without it, what NO_COLOR, COLORTERM and TERM say
    #[arg(long, value_enum)]
    pub colours: Option<Colours>,

    /// Draw with ASCII only; without it, what the locale says
    #[arg(long)]
    pub ascii: bool,

    /// Take the mouse: click to select, wheel to zoom
    #[arg(long)]
    pub mouse: bool,
}

/// Colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colours {
    /// 24 bits.
    True,
    /// The usual cube.
    #[value(name = "256")]
    Indexed,
    /// Those of the terminal's theme.
    #[value(name = "16")]
    Sixteen,
    /// Letters, glyphs and weight only.
    None,
}

/// `warpline trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// The file to write; its ending (.pftrace, .json or .kanata) says the format. `-` for the standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// The format, whatever the file is called
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<TraceFormat>,
}

/// Formats of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// Perfetto's protobuf, for ui.perfetto.dev.
    Perfetto,
    /// Chrome's JSON, which most viewers read, and `view`.
    Chrome,
    /// Kanata 0004, for Konata.
    Kanata,
}

/// `warpline export`.
#[derive(Debug, Args)]
pub struct Export {
    /// The other checker's language
    #[arg(value_enum)]
    pub language: Language,

    /// A built-in scenario (`metal/triple_buffer`), a scenario file (.toml) or a kernel (.pipe)
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter, or a number of the machine; repeatable, the last counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// Trip count of the main loop; as the kernel is, where it is left out
    #[arg(long, value_name = "N")]
    pub trips: Option<u32>,

    /// The file to write; without it, or with `-`, the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Languages of other checkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Spin's.
    Promela,
}

/// `warpline emit`.
#[derive(Debug, Args)]
pub struct Emit {
    /// What to write.
    #[command(flatten)]
    pub subject: Subject,

    /// For what
    #[arg(long, value_enum)]
    pub target: Target,

    /// The file to write; `-` for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// Make the N-th slip of the pen first, from 0 in the order of docs/mutation.md; a note says which it is
    #[arg(long, value_name = "N")]
    pub mutant: Option<usize>,
}

/// Source languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// CUDA C++ for sm_80 to sm_90a.
    Cuda,
}

/// `warpline report`.
#[derive(Debug, Args)]
pub struct Report {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// The file to write (.html); `-` for the standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// Do not verify
    #[arg(long)]
    pub no_verify: bool,
}

/// `warpline calibrate`.
#[derive(Debug, Args)]
pub struct Calibrate {
    /// `recorded`, what was measured on one H200; or `cuda:N`, which needs nvcc beside the device
    #[arg(long, value_name = "DEVICE")]
    pub device: String,

    /// The machine whose file the numbers go into: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    pub machine: String,

    /// The machine file to write; without it, what would move is shown only
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `warpline validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// Take the kernels that were timed on one H200; without it, a device would have to be asked, which is not written yet
    #[arg(long)]
    pub recorded: bool,

    /// The machine that predicts: a built-in name or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    pub machine: String,

    /// Draw measured and simulated cycles against each other; the ending (.png or .svg) says the format
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `warpline models`.
#[derive(Debug, Args)]
pub struct Models {
    /// A machine, or a machine file (.toml)
    pub name: Option<String>,

    /// Print one JSON object (schema `warpline.models/1`)
    #[arg(long)]
    pub json: bool,
}

/// `warpline new`.
#[derive(Debug, Args)]
pub struct New {
    /// Name of the kernel; NAME.pipe and NAME.toml are written, and nothing is overwritten
    #[arg(value_name = "NAME")]
    pub name: PathBuf,
}

/// `warpline fmt`.
#[derive(Debug, Args)]
pub struct Fmt {
    /// Kernels (.pipe), or folders to search for them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Change nothing; name the files that would change, with exit status 1
    #[arg(long)]
    pub check: bool,
}

/// `warpline completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// One `--set`.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A parameter of the kernel.
    Kernel(String, i64),
    /// A number of the machine, by its key.
    Machine(String, f64),
}

fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as in `m=4096`")?;
    let (name, value) = (name.trim(), value.trim());
    if let Some(key) = name.strip_prefix("machine.") {
        return match value.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Setting::Machine(key.to_string(), v)),
            _ => Err(format!("`{value}` is not a number")),
        };
    }
    if name.is_empty() {
        return Err("expected a name before `=`, as in `m=4096`".to_string());
    }
    match value.parse::<i64>() {
        Ok(v) => Ok(Setting::Kernel(name.to_string(), v)),
        Err(_) => Err(format!("`{value}` is not a whole number; kernel parameters are whole numbers")),
    }
}

/// One `--fence`: a rule and its level, both known to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceLevel {
    /// The rule.
    pub rule: String,
    /// Its level.
    pub level: String,
}

fn fence(text: &str) -> Result<FenceLevel, String> {
    let (rule, level) = text.split_once('=').ok_or("expected RULE=LEVEL, as in `async-read=strict`")?;
    let (rule, level) = (rule.trim().to_string(), level.trim().to_string());
    Fences::default().set(&rule, &level).map_err(|e| e.to_string())?;
    Ok(FenceLevel { rule, level })
}

fn size(text: &str) -> Result<Size, String> {
    let side = |s: &str| s.trim().parse::<u32>().ok();
    let size = match text {
        "page" => Some(Size::Page),
        "slide" => Some(Size::Slide),
        _ => match text.split_once('x') {
            Some((w, h)) => side(w).zip(side(h)).map(|(w, h)| Size::Exact(w, h)),
            None => side(text).map(Size::Width),
        },
    };
    size.ok_or_else(|| "expected `page`, `slide`, a width, or a size as in 1600x900".to_string())
}

fn mark(text: &str) -> Result<(u64, String), String> {
    let (cycle, label) = text.split_once('=').ok_or("expected CYCLE=TEXT, as in `4000=steady state`")?;
    let cycle = cycle.trim().replace(',', "").parse().map_err(|_| format!("`{cycle}` is no cycle"))?;
    Ok((cycle, label.trim().to_string()))
}

fn frame(text: &str) -> Result<(u16, u16), String> {
    /// Far more than a terminal has, and little enough to hold.
    const MOST: u16 = 1000;
    let side = |s: &str| s.trim().parse::<u16>().ok().filter(|n| (1..=MOST).contains(n));
    let size = text.split_once('x').and_then(|(w, h)| Some((side(w)?, side(h)?)));
    size.ok_or_else(|| format!("expected a size in cells as in 80x24, up to {MOST}x{MOST}"))
}

/// A way for copies, by its word.
fn via(word: &str) -> Result<Via, String> {
    let all: Vec<&str> = Via::all().map(Via::name).collect();
    Via::all().find(|v| v.name() == word).ok_or_else(|| format!("there are {}", all.join(", ")))
}

/// A schedule, by its word.
fn schedule(word: &str) -> Result<Schedule, String> {
    let all: Vec<&str> = Schedule::all().map(Schedule::name).collect();
    Schedule::all().find(|v| v.name() == word).ok_or_else(|| format!("there are {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn fence_levels() {
        let strict = FenceLevel { rule: "async-read".into(), level: "strict".into() };
        assert_eq!(fence("async-read = strict"), Ok(strict));
        for bad in ["async-read", "async-read=", "async=off", "tmem-wait=note"] {
            assert!(fence(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn settings() {
        assert_eq!(setting("m=4096"), Ok(Setting::Kernel("m".into(), 4096)));
        assert_eq!(setting("machine.memory.dram_gbps=1.5"), Ok(Setting::Machine("memory.dram_gbps".into(), 1.5)));
        for bad in ["m", "m=", "=1", "m=1.5", "m=4k", "machine.x=inf", "machine.x=NaN", "m=99999999999999999999"] {
            assert!(setting(bad).is_err(), "{bad}");
        }
        assert_eq!(size("1600x900"), Ok(Size::Exact(1600, 900)));
        assert_eq!(size("800"), Ok(Size::Width(800)));
        assert!(size("big").is_err() && size("9x").is_err());
    }
}
