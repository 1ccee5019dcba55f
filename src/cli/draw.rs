//! Pictures, traces and the viewer.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Input;
use super::values::{Cells, frame, mark, size};
use warpline_api::Setting;
use warpline_api::draw::{Mark, Size};

/// `warpline gantt`.
#[derive(Debug, Args)]
pub struct Gantt {
    /// What to run.
    #[command(flatten)]
    pub input: Input,

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
    pub marks: Vec<Mark>,

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

    /// Colors
    #[arg(long, value_enum, default_value_t = Theme::Light)]
    pub theme: Theme,

    /// Size in pixels: `page` (1600 wide), `slide` (1920x1080), a width, or WIDTHxHEIGHT
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "page")]
    pub size: Size,

    /// PNG pixels for each pixel of the size, for sharp print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub scale: u32,
}

/// Colors of a chart.
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
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, requires = "with", help_heading = "Second run")]
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
    pub input: Input,

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
    pub dump: Option<Cells>,

    /// Write the frames of --dump to this file instead (.svg), in color and played one after the other
    #[arg(long, value_name = "FILE", requires = "dump")]
    pub svg: Option<PathBuf>,

    /// Changes of the keys: lines of a key and a command, as in `ctrl-d page-down`
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,

    /// Colors; without it, what NO_COLOR, COLORTERM and TERM say
    #[arg(long, value_enum, alias = "colours")]
    pub colors: Option<Colors>,

    /// Draw with ASCII only; without it, what the locale says
    #[arg(long)]
    pub ascii: bool,

    /// Take the mouse: click to select, wheel to zoom
    #[arg(long)]
    pub mouse: bool,
}

/// Colors of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colors {
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

impl From<Theme> for warpline_api::draw::Theme {
    fn from(theme: Theme) -> Self {
        match theme {
            Theme::Light => Self::Light,
            Theme::Dark => Self::Dark,
        }
    }
}

/// `warpline trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// What to run.
    #[command(flatten)]
    pub input: Input,

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

impl From<TraceFormat> for warpline_api::draw::TraceFormat {
    fn from(format: TraceFormat) -> Self {
        match format {
            TraceFormat::Perfetto => Self::Perfetto,
            TraceFormat::Chrome => Self::Chrome,
            TraceFormat::Kanata => Self::Kanata,
        }
    }
}

/// `warpline report`.
#[derive(Debug, Args)]
pub struct Report {
    /// What to run.
    #[command(flatten)]
    pub input: Input,

    /// The file to write (.html); `-` for the standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// Do not verify
    #[arg(long)]
    pub no_verify: bool,
}
