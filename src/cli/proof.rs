//! Proofs, and what is said of them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use warpline_api::{FenceLevel, ProofOptions, Request, Setting};
use warpline_verify::{Engine, Options};

use super::values::memory;

/// On what and with which values to verify, and how far to look.
#[derive(Debug, Args)]
pub struct Proof {
    /// The machine: a built-in name (`h200`) or a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE", help_heading = "Input")]
    pub machine: Option<String>,

    /// Set a kernel parameter, or a number of the machine; repeatable, the last counts
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Input")]
    pub set: Vec<Setting>,

    /// Hold a fence rule to a level (async-read=strict); repeatable. docs/fences.md has the rules and what each accepts
    #[arg(long, value_name = "RULE=LEVEL", value_parser = FenceLevel::parse)]
    pub fence: Vec<FenceLevel>,

    /// Largest trip count tried one by one
    #[arg(long, value_name = "N", default_value_t = Options::MAX_TRIPS, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    pub max_trips: i64,

    /// Give up after this many steps of all runs together, with exit status 3
    #[arg(long, value_name = "N", default_value_t = Options::MAX_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,

    /// Give up when this much memory is in use, with exit status 3
    #[arg(long, value_name = "SIZE", default_value = "4GB", value_parser = memory)]
    pub max_memory: u64,
}

/// How to decide a scenario.
#[derive(Clone, Copy, Debug, Args)]
pub struct Orders {
    /// How to decide: by happens-before over one run, by a search of every order, or by a search where one run does not decide
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

/// How to decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Decide {
    /// One run, and a search where that does not decide
    #[default]
    Auto,
    /// One run, happens-before
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
        Request {
            machine: self.machine.clone(),
            settings: self.set.clone(),
            fences: self.fence.clone(),
            ..Request::named(scenario)
        }
    }

    /// The limits of the proof, with the means of [`Orders`].
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
    /// Built-in scenarios or families of them (`metal`), scenario files (.toml), kernels (.pipe), or folders of scenarios
    #[arg(required = true, value_name = "SCENARIO|FOLDER")]
    pub scenarios: Vec<String>,

    /// How.
    #[command(flatten)]
    pub proof: Proof,

    /// By what.
    #[command(flatten)]
    pub orders: Orders,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Write the schedule that meets the fault; `run`, `gantt`, `view` and `trace` keep to it with `--schedule FILE`
    #[arg(long, value_name = "FILE")]
    pub schedule_out: Option<PathBuf>,

    /// Write what a proof rests on; `recheck FILE` checks it (docs/certificates.md)
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,

    /// Do not look for a change that mends the fault
    #[arg(long)]
    pub no_suggestion: bool,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short, conflicts_with_all = ["json", "format"])]
    pub quiet: bool,
}

/// `warpline recheck`.
#[derive(Debug, Args)]
pub struct Recheck {
    /// A certificate that `verify --certificate` wrote
    #[arg(value_name = "FILE")]
    pub certificate: PathBuf,

    /// The machine, where the certificate names none of the built-in ones: a machine file (.toml)
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// Steps, in each cell, of runs in which one access is delayed to decide races without clocks
    #[arg(long, value_name = "N", default_value_t = warpline_recheck::DELAYS)]
    pub delays: u64,

    /// Print nothing but errors; the exit status tells the outcome
    #[arg(long, short)]
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

/// `warpline explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The code of a finding (`WL0104`); without it, all codes are listed
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
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
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Input")]
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
