//! Proofs and their results.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use warpline_api::{FenceLevel, ProofOptions, Request, Setting};
use warpline_verify::{Engine, Options};

use super::LaunchArgs;
use super::values::memory;

/// The machine, the values and the limits of a proof.
#[derive(Debug, Args)]
pub struct Proof {
    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter or a machine number; repeatable, the last value of a name counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// The launch of a compiled kernel
    #[command(flatten)]
    pub launch: LaunchArgs,

    /// Set a fence rule to a level (async-read=strict); repeatable. docs/fences.md lists the rules and levels
    #[arg(long, value_name = "RULE=LEVEL", value_parser = FenceLevel::parse)]
    pub fence: Vec<FenceLevel>,

    /// The largest trip count to try one by one
    #[arg(long, value_name = "N", default_value_t = Options::MAX_TRIPS, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    pub max_trips: i64,

    /// Give up after this many steps over all runs, with exit status 3
    #[arg(long, value_name = "N", default_value_t = Options::MAX_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,

    /// Give up when the process uses this much memory, with exit status 3
    #[arg(long, value_name = "SIZE", default_value = "4GB", value_parser = memory)]
    pub max_memory: u64,
}

/// The method of a proof.
#[derive(Clone, Copy, Debug, Args)]
pub struct Orders {
    /// The method of the proof
    #[arg(long, value_enum, default_value_t = Decide::Auto)]
    pub engine: Decide,

    /// Give up a search after this many states, with exit status 3
    #[arg(long, value_name = "N", default_value_t = Options::MAX_STATES as u64, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    pub max_states: u64,
}

impl Default for Orders {
    fn default() -> Orders {
        Orders { engine: Decide::Auto, max_states: Options::MAX_STATES as u64 }
    }
}

/// A method of a proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Decide {
    /// Happens-before over one run, and a search where one run does not decide
    #[default]
    Auto,
    /// Happens-before over one run
    Graph,
    /// A search of every order
    Search,
}

impl From<Decide> for Engine {
    fn from(d: Decide) -> Engine {
        match d {
            Decide::Auto => Engine::Auto,
            Decide::Graph => Engine::Graph,
            Decide::Search => Engine::Search,
        }
    }
}

impl Proof {
    /// The request to the library for a scenario.
    pub(crate) fn request(&self, scenario: &str) -> Request {
        self.launch.of(Request {
            machine: self.machine.clone(),
            settings: self.set.clone(),
            fences: self.fence.clone(),
            ..Request::named(scenario)
        })
    }

    /// The limits of the proof, with the method of [`Orders`].
    pub(crate) fn options(&self, orders: Orders) -> ProofOptions {
        ProofOptions {
            max_trips: self.max_trips,
            max_steps: self.max_steps,
            max_memory: self.max_memory,
            engine: orders.engine.into(),
            max_states: orders.max_states as usize,
            suggest: false,
        }
    }
}

/// `warpline verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// Built-in scenarios or families of them (`metal`), scenario files (.toml), kernels (.pipe, .ptx), or folders of
    /// them
    #[arg(required = true, value_name = "SCENARIO|FOLDER")]
    pub scenarios: Vec<String>,

    /// The machine, the values and the limits.
    #[command(flatten)]
    pub proof: Proof,

    /// The method.
    #[command(flatten)]
    pub orders: Orders,

    /// The format of the output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Write the schedule that leads to the fault; `run`, `gantt`, `view` and `trace` replay it with `--schedule FILE`
    #[arg(long, value_name = "FILE")]
    pub schedule_out: Option<PathBuf>,

    /// Write the certificate of the proof; `recheck FILE` checks it (docs/certificates.md)
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,

    /// Replace the kernel's file with the repaired kernel, if a repair was found and verified
    #[arg(long, conflicts_with_all = ["no_suggestion", "certificate"])]
    pub fix: bool,

    /// Do not search for a change that repairs the fault
    #[arg(long)]
    pub no_suggestion: bool,

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with_all = ["json", "format"])]
    pub quiet: bool,
}

/// `warpline recheck`.
#[derive(Debug, Args)]
pub struct Recheck {
    /// A certificate from `verify --certificate`
    #[arg(value_name = "FILE")]
    pub certificate: PathBuf,

    /// The machine file (.toml), if the certificate's machine is not built in
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// The most steps, in each cell, of runs that delay one access to check races without clocks
    #[arg(long, value_name = "N", default_value_t = warpline_recheck::DELAYS)]
    pub delays: u64,

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short)]
    pub quiet: bool,
}

/// A format of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    Text,
    /// One JSON object (schema `warpline.verify/1`, or `warpline.verify.many/1` for several; see docs/json.md).
    Json,
    /// JUnit XML, for test reports of CI services.
    Junit,
    /// SARIF 2.1.0, for code-scanning services.
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

    /// The machine, the values and the limits.
    #[command(flatten)]
    pub proof: Proof,

    /// Print one JSON object (schema `warpline.barriers/1`, see docs/json.md)
    #[arg(long)]
    pub json: bool,

    /// Print only errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// `warpline explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The code of a finding (`WL0104`), a name that `verify` prints (`stale tile`), or a statement of the kernel
    /// language (`alu`). Also an instruction of PTX, CUDA, HIP, Metal or AMD (`cp.async`). Without it, all codes are
    /// listed
    #[arg(value_name = "WHAT")]
    pub words: Vec<String>,

    /// Print one JSON object (schema `warpline.explain/1`)
    #[arg(long)]
    pub json: bool,
}

/// `warpline export`.
#[derive(Debug, Args)]
pub struct Export {
    /// The language of the other checker
    #[arg(value_enum)]
    pub language: Language,

    /// A built-in scenario (`metal/triple_buffer`), a scenario file (.toml) or a kernel (.pipe)
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,

    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter or a machine number; repeatable, the last value of a name counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// The trip count of the main loop. The default is the kernel's
    #[arg(long, value_name = "N")]
    pub trips: Option<u32>,

    /// The file to write, or `-` for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// A language of another checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// The language of Spin.
    Promela,
}
