//! The one definition of commands and flags: help, man page and shell completions are made from it.

use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use warpline_sim::fences::Fences;

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
    /// Compare the claims of scenarios with what a run computes
    Check(Check),
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
#[derive(Debug, Args)]
pub struct Subject {
    /// A built-in scenario (`metal/triple_buffer`), a scenario file (.toml) or a kernel (.pipe)
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
    #[arg(long, value_name = "N", default_value_t = 160, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_trips: u32,

    /// Give up after this many steps in one run, with exit status 3
    #[arg(long, value_name = "N", default_value_t = 20_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,
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

/// `warpline view`.
#[derive(Debug, Args)]
pub struct View {
    /// What to run.
    #[command(flatten)]
    pub subject: Subject,

    /// A second run, B: a scenario, or the same one again with --with-set
    #[arg(long, value_name = "SCENARIO", help_heading = "Second run")]
    pub with: Option<String>,

    /// Set a kernel parameter or a number of the machine of B alone; repeatable. What --set sets goes for B too where
    /// both had the same
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, requires = "with", help_heading = "Second run")]
    pub with_set: Vec<Setting>,

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

    /// The file to write (.json); `-` for the standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
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

fn frame(text: &str) -> Result<(u16, u16), String> {
    /// Far more than a terminal has, and little enough to hold.
    const MOST: u16 = 1000;
    let side = |s: &str| s.trim().parse::<u16>().ok().filter(|n| (1..=MOST).contains(n));
    let size = text.split_once('x').and_then(|(w, h)| Some((side(w)?, side(h)?)));
    size.ok_or_else(|| format!("expected a size in cells as in 80x24, up to {MOST}x{MOST}"))
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
