//! Pictures, traces and the viewer.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Input;
use super::values::{Cells, cycle, frame, mark, size};
use warpline_api::Setting;
use warpline_api::draw::{Mark, Size};

/// `warpline gantt`.
#[derive(Debug, Args)]
pub struct Gantt {
    /// The kernel to run.
    #[command(flatten)]
    pub input: Input,

    /// The file to write; its ending (.png or .svg) sets the format
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// The first cycle to draw
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true)]
    pub from: Option<u64>,

    /// The last cycle to draw
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true)]
    pub to: Option<u64>,

    /// Draw the whole run. The default is some steps of the main loop, with all warps at work
    #[arg(long, conflicts_with_all = ["from", "to"])]
    pub whole: bool,

    /// The second run, drawn below the first.
    #[command(flatten)]
    pub second: Second,

    /// Mark a cycle with a line and a few words; repeatable
    #[arg(long = "mark", value_name = "CYCLE=TEXT", value_parser = mark)]
    pub marks: Vec<Mark>,

    /// Write the results of the scenario's claims below the chart
    #[arg(long)]
    pub claims: bool,

    /// Draw this many CTAs, in launch order. The default is one cluster
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ctas: Option<u32>,

    /// Draw each warp beside a device's record of it (an emitted kernel built with `-DWL_STAMP` writes one with `--trace FILE`)
    #[arg(long, value_name = "FILE")]
    pub measured: Option<PathBuf>,

    /// Draw only these rows: roles, `agents`, `engines`, `barriers`, `slots`, `cta 2`, or part of a name
    #[arg(long, value_name = "ROLE,...", value_delimiter = ',')]
    pub roles: Vec<String>,

    /// Colors
    #[arg(long, value_enum, default_value_t = Theme::Light)]
    pub theme: Theme,

    /// Size in pixels: `page` (1600 wide), `slide` (1920x1080), a width, or WIDTHxHEIGHT
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "page")]
    pub size: Size,

    /// PNG pixels for each pixel of the size, for print
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

/// The second run of a comparison.
#[derive(Debug, Args)]
pub struct Second {
    /// The second run, B: a scenario (also the same one, with --with-set) or a saved trace (.json)
    #[arg(long, visible_alias = "compare", value_name = "SCENARIO|TRACE", help_heading = "Second run")]
    pub with: Option<String>,

    /// Set a kernel parameter or a machine number of B alone; repeatable. A value of --set applies to B where A and B had
    /// the same value before
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, requires = "with", help_heading = "Second run")]
    pub with_set: Vec<Setting>,

    /// Make B follow a schedule from `verify --schedule-out`; --schedule is for A alone
    #[arg(long, value_name = "FILE", requires = "with", help_heading = "Second run")]
    pub with_schedule: Option<PathBuf>,
}

/// `warpline view`.
#[derive(Debug, Args)]
pub struct View {
    /// The kernel to run.
    #[command(flatten)]
    pub input: Input,

    /// The second run.
    #[command(flatten)]
    pub second: Second,

    /// The first cycle to show
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true)]
    pub from: Option<u64>,

    /// The last cycle to show. The default without --from is that of `gantt`
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true)]
    pub to: Option<u64>,

    /// Run the commands in this file first, one per line, by their names in the palette. `key X` presses a key, `dump` prints
    /// the frame
    #[arg(long, value_name = "FILE")]
    pub exec: Option<PathBuf>,

    /// Run this command first, after those of --exec; repeatable
    #[arg(long = "do", value_name = "COMMAND")]
    pub commands: Vec<String>,

    /// Open no terminal, and print frames of this size as text: one at each `dump` command, or one at the end
    #[arg(long, value_name = "WxH", value_parser = frame)]
    pub dump: Option<Cells>,

    /// Write the frames of --dump to this file instead (.svg), in color, as an animation
    #[arg(long, value_name = "FILE", requires = "dump")]
    pub svg: Option<PathBuf>,

    /// Change keys: a file with a key and a command per line, as in `ctrl-d page-down`
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,

    /// The colors of the terminal. The default follows NO_COLOR, COLORTERM and TERM
    #[arg(long, value_enum, alias = "colours")]
    pub colors: Option<Colors>,

    /// Draw with ASCII only. The default follows the locale
    #[arg(long)]
    pub ascii: bool,

    /// Use the mouse: click to select, wheel to zoom
    #[arg(long)]
    pub mouse: bool,
}

/// Colors of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colors {
    /// 24 bits per color.
    True,
    /// The 256 indexed colors.
    #[value(name = "256")]
    Indexed,
    /// The 16 colors of the terminal's theme.
    #[value(name = "16")]
    Sixteen,
    /// No colors: letters, glyphs and bold only.
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
    /// The kernel to run.
    #[command(flatten)]
    pub input: Input,

    /// The file to write, or `-` for the standard output; its ending (.pftrace, .json or .kanata) sets the format
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// The format, for any file name
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<TraceFormat>,

    /// The first cycle to write
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true)]
    pub from: Option<u64>,

    /// The last cycle to write
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true)]
    pub to: Option<u64>,

    /// Write the whole run. The default is the first 60,000 operations and waits, a few megabytes
    #[arg(long, conflicts_with_all = ["from", "to"])]
    pub whole: bool,
}

/// Formats of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// Perfetto's protobuf, for ui.perfetto.dev.
    Perfetto,
    /// Chrome's JSON, for most viewers and for `view`.
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
    /// The kernel to run.
    #[command(flatten)]
    pub input: Input,

    /// The file to write (.html), or `-` for the standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// Leave out the proof
    #[arg(long)]
    pub no_verify: bool,
}
