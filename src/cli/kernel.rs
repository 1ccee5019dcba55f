//! Kernels as text, and lists of names.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use warpline_scenarios::pipeline::{Schedule, Via};

use super::values::{schedule, seconds, via};
use super::{LaunchArgs, Proof};
use warpline_api::Setting;

/// `warpline list`.
#[derive(Debug, Args)]
pub struct List {
    /// List the names with this prefix. Without it, the museum of bugs is one line
    #[arg(value_name = "PREFIX")]
    pub prefix: Option<String>,

    /// Print one JSON object (schema `warpline.list/1`)
    #[arg(long)]
    pub json: bool,
}

/// `warpline import`.
#[derive(Debug, Args)]
pub struct Import {
    /// A PTX file, or `k.ptx:name` for one of its kernels
    #[arg(value_name = "FILE")]
    pub kernel: String,

    /// The launch of the kernel
    #[command(flatten)]
    pub launch: LaunchArgs,

    /// Print what was recovered: sets of warps, loops, rings, barriers, symbols and assumptions
    #[arg(long, conflicts_with = "output")]
    pub explain: bool,

    /// Write the kernel here instead of printing it. A .pipe file loads again and has the same verdict; a kernel that
    /// the language cannot express yet is refused
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
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

    /// Set a kernel parameter or a machine number; repeatable, the last value of a name counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// The instruction for the copies: sync, registers, cp, dma, tma or tma_joint. The default is the kernel's, or the
    /// machine's best
    #[arg(long, value_name = "WAY", value_parser = via)]
    pub via: Option<Via>,

    /// The schedule: num_stages, triton, multistage, two_step_ahead or table
    #[arg(long, value_name = "SCHEDULE", value_parser = schedule)]
    pub schedule: Option<Schedule>,

    /// The number of stages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=64))]
    pub stages: Option<i64>,

    /// The number of warps that only copy (`tma`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=16))]
    pub producers: Option<i64>,

    /// The form of the loop: one guarded loop (guarded), or prologue, body and epilogue (unrolled)
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

    /// The machine, the values and the limits of the proof.
    #[command(flatten)]
    pub proof: Proof,

    /// The largest number of stages to try
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(i64).range(1..=16))]
    pub stages: i64,

    /// Decide at most this many candidates; a search that is cut ends with exit status 3
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

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline models`.
#[derive(Debug, Args)]
pub struct Models {
    /// A machine, or a machine file (.toml)
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,

    /// Print one JSON object (schema `warpline.models/1`)
    #[arg(long)]
    pub json: bool,
}

/// `warpline new`.
#[derive(Debug, Args)]
pub struct New {
    /// The name of the kernel. NAME.pipe and NAME.toml are written; existing files stay
    #[arg(value_name = "NAME")]
    pub name: PathBuf,
}

/// `warpline fmt`.
#[derive(Debug, Args)]
pub struct Fmt {
    /// Kernels (.pipe), or folders to search for them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Change nothing, and name the files that would change; exit status 1 if there are any
    #[arg(long)]
    pub check: bool,
}

/// `warpline lsp`.
#[derive(Debug, Args)]
pub struct Lsp {
    /// The machine of kernels that no scenario of their folder names; by default the first one that can run the kernel
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// Stop a run after this many seconds; 0 for no runs
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    pub run_seconds: f64,

    /// Stop a verification after this many seconds; 0 for none
    #[arg(long, value_name = "S", default_value_t = 20.0, value_parser = seconds)]
    pub verify_seconds: f64,

    /// Use the standard streams, which is the default; editors pass this flag
    #[arg(long)]
    pub stdio: bool,

    /// Analyze one text: the child process of the server.
    #[arg(long, hide = true, conflicts_with_all = ["machine", "stdio"])]
    pub analyze: bool,
}

/// `warpline completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}
