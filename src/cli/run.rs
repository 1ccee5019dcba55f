//! Runs, and studies of many runs.

use std::path::PathBuf;

use clap::Args;
use warpline_study::sweep::{Axis, Shard};

use super::Input;
use super::values::cycle;
use warpline_api::Setting;

/// `warpline run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The kernel to run.
    #[command(flatten)]
    pub input: Input,

    /// Print one JSON object (schema `warpline.run/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Run again with each machine number at both ends of its spread, and print the interval of the time
    #[arg(long)]
    pub spread: bool,

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with_all = ["json", "spread"])]
    pub quiet: bool,
}

/// `warpline compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The first run, A.
    #[command(flatten)]
    pub input: Input,

    /// The second run, B: a scenario (also the same one, with --with-set) or a saved trace (.json)
    #[arg(value_name = "WITH")]
    pub with: String,

    /// Set a kernel parameter or a machine number of B alone; repeatable. A value of --set applies to B where A and B had
    /// the same value before
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Second run")]
    pub with_set: Vec<Setting>,

    /// Draw both timelines in one chart (.png or .svg)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// The first cycle to draw
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true, requires = "plot")]
    pub from: Option<u64>,

    /// The last cycle to draw. The default without --from is the end of the first steps of the slower main loop
    #[arg(long, value_name = "CYCLE", value_parser = cycle, allow_negative_numbers = true, requires = "plot")]
    pub to: Option<u64>,

    /// Print one JSON object (schema `warpline.compare/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline sweep`.
#[derive(Debug, Args)]
pub struct Sweep {
    /// The kernel to run.
    #[command(flatten)]
    pub input: Input,

    /// Vary a parameter, a machine number, `machine` or `scenario`: `stages=1..6`, `tile_m=64,128`, `k=64..8192*2`,
    /// `machine=h200,b200`, `stages,ahead=2:1,3:2`. Repeatable; every combination is a point
    #[arg(long, value_name = "NAME=VALUES", value_parser = warpline_study::sweep::axis, help_heading = "Points")]
    pub vary: Vec<Axis>,

    /// Take the points from a table (CSV): a line of names, then a line of values for each point
    #[arg(long, value_name = "FILE", help_heading = "Points")]
    pub points: Option<PathBuf>,

    /// Also run this scenario at every point; adds `against_time_us`, `against_cycles` and `speedup`
    #[arg(long, value_name = "SCENARIO", help_heading = "Points")]
    pub against: Option<String>,

    /// Keep finished points in this file, and continue from an existing file
    #[arg(long, value_name = "FILE", help_heading = "Parts")]
    pub state: Option<PathBuf>,

    /// Run the I-th of N shares of the points into --state; `warpline merge` joins the shares
    #[arg(long, value_name = "I/N", value_parser = Shard::parse, requires = "state", help_heading = "Parts")]
    pub shard: Option<Shard>,

    /// The output.
    #[command(flatten)]
    pub output: SweepOutput,
}

/// The output of a sweep.
#[derive(Clone, Debug, Args)]
pub struct SweepOutput {
    /// A number to show, by its name in claims (docs/cli.md); repeatable. The first decides the best point and the picture
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,

    /// Write all points with all numbers as a table (CSV), or `-` for the standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Draw the first metric: a line over one varied name, a heat map over two (.png or .svg)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Print one JSON object (schema `warpline.sweep/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// The files from `sweep --shard I/N --state FILE`, with each point once
    #[arg(required = true, value_name = "FILE")]
    pub parts: Vec<PathBuf>,

    /// Keep the joined sweep in this file
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,

    /// The output.
    #[command(flatten)]
    pub output: SweepOutput,
}

/// `warpline whatif`.
#[derive(Debug, Args)]
pub struct Whatif {
    /// The kernel to run.
    #[command(flatten)]
    pub input: Input,

    /// Draw the table (.png or .svg)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Print one JSON object (schema `warpline.whatif/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print only errors
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Built-in names or scenario files. The default is all built-in scenarios
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,

    /// Print all claims as one page (Markdown), document by document, as in docs/seeds.md
    #[arg(long, conflicts_with = "quiet")]
    pub markdown: bool,

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short)]
    pub quiet: bool,
}
