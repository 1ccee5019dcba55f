//! Proves properties of a kernel's barrier protocol, for every schedule, trip count and CTA.
//!
//! ```text
//!   symbolic program
//!     │  trip_count   which symbols set trip counts
//!     │  cells        a part of the grid whose CTAs all make the same run ◀── split where a number tells them apart
//!     ▼
//!   base cases  n = 0, 1, 2, ...   one run each (canonical): hang? race? stale tile?   by happens-before
//!     ▼
//!   induction   n - p  and  n      two runs in lockstep (self_composition): equal but for one inserted period?
//!     ▼
//!   verdict     proved, bounded to a range with the reason, violated with a counterexample, or gave up
//! ```
//!
//! `docs/proof.md` has the argument as numbered lemmas:
//!
//! * *Every schedule.* The protocol's phase structure must not depend on the schedule: at every arrival, happens-before
//!   implies that the previous phase is complete. Then one run has the events of every other run, and happens-before
//!   decides. Where an arrival lacks this, the verifier tries schedules that hold one warp back (`adversarial`), and a
//!   search of every order may decide (`search`).
//! * *Every CTA.* Each number of a run has a form: its dependence on the CTA's coordinates. One run decides a cell of
//!   the grid if every decision is the same in the whole cell (`cells`).
//! * *Every trip count.* Two runs that differ by a period run in lockstep (`self_composition`, `lockstep`). Each
//!   decision must be the same for any number of inserted periods (`shift_invariance`). A comparison that changes after
//!   some periods ends the region of trip counts, and a new region starts there (`carry_over`, `class`).
//! * *Two varied loops.* Four runs in lockstep vary the trip counts of two loops together. The loops are nested
//!   (`nested_loops`) or consecutive (`sequential_loops`). Runs with a common prefix make this prefix once
//!   (`common_prefix`, `shared`).
//!
//! ```
//! use std::collections::BTreeMap;
//! use warpline_scenarios::{Inputs, Text};
//! use warpline_verify::{Options, Outcome, verify};
//!
//! let text = "\
//! kernel copy(tiles = 8)
//!   grid 4   warps 2
//!   global A: f16[256, 16 * (tiles + 1)]
//!   shared a: f16[64, 16]
//!   all:
//!     for i in 0..tiles:
//!       warp 0: load A[cta.m, i] -> a
//!       barrier
//!       warp 1: lds a : A[cta.m, i] -> r
//!       barrier
//! ";
//! let machine = warpline_models::embedded("h200").unwrap();
//! let rules = warpline_sim::engine::rules(&machine);
//! let decided = |text: &str| {
//!     let program = Text::read("copy.pipe", text).compile_symbolic(&Inputs { set: &BTreeMap::new(), cores: None });
//!     verify(&program.unwrap(), rules, Options::default()).outcome
//! };
//! assert_eq!(decided(text), Outcome::Proved);
//! // Without the second barrier the next load overwrites what is still being read.
//! assert_eq!(decided(&text.replace("-> r\n      barrier", "-> r")), Outcome::Violated);
//! ```

mod assumed;
mod atomic_orders;
mod blocks_inside;
mod branches;
mod budget;
mod certificate;
mod coordinates;
mod counterexample;
mod cta;
mod decision;
mod execution;
mod global_stores;
mod induction;
mod limits;
mod mutation;
mod partial_sums;
mod promela;
mod properties;
mod prove;
mod registers;
mod repair;
mod search;
mod sizes;
mod varied_loops;

use std::collections::BTreeMap;

use warpline_sim::ir::{Program, Site};
use warpline_sim::report::{Finding, Waiting};

use induction::jobs::closure::Faults;
use prove::{Place, Reach, take};

pub(crate) use decision::counted;
pub(crate) use varied_loops::{AtTurns, VariedLoops, with_loops};

pub use assumed::assumed;
pub use blocks_inside::assumed_inside;
pub use certificate::{Conclusion, DecidedCell, Induction, Insertion, Line, Order, TripRegion, insertions, varied};
pub use counterexample::{Meeting, MoveDescription, Pair, Witness, witness};
pub use cta::class::{one_step_more, trip_count};
pub use decision::verify;
pub use execution::random::{Walk, WalkEnd, walk};
pub use execution::run_time::with_run_time;
pub use global_stores::{GlobalStore, StoredBy, global_stores};
pub use induction::family::Family;
pub use induction::jobs::{JobLengths, with_lengths};
pub use induction::trip_count::Trips;
pub use mutation::{Change, Edit, Inapplicable, edits, synchronizes};
pub use promela::{Inexpressible, promela};
pub use properties::{Property, properties};
pub use repair::redundancy::{Need, Redundancy, Removal, new_note, redundancy};
pub use repair::{Allowed, RepairReport, Suggestion, TrialSteps, Value, suggest, suggest_several};
pub use search::{Move, SearchReport, SearchResult, Settings, search, search_every};
pub use sizes::any_size;
pub use varied_loops::AtTrips;

/// The method and the limits of a verification.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Largest number of trip counts that are tried one by one; up to ten times as many where the kernel's divisors imply a
    /// longer period.
    pub max_trips: i64,
    /// Largest number of steps of agents in all runs together.
    pub max_steps: u64,
    /// Largest resident memory of the process, in bytes.
    pub max_memory: u64,
    /// The method of the decision.
    pub engine: Engine,
    /// Largest number of states of a search of every order.
    pub max_states: usize,
    /// Whether stages and phases stay the variables that the kernel has. A certificate is about the kernel's own text.
    pub as_written: bool,
}

/// The method by which a verdict is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// By happens-before over one run.
    #[default]
    Graph,
    /// Happens-before; where it does not decide, a search of every order.
    Auto,
    /// A search of every order ([`search_every`]).
    Search,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_trips: Self::MAX_TRIPS,
            max_steps: Self::MAX_STEPS,
            max_memory: Self::MAX_MEMORY,
            engine: Engine::Graph,
            max_states: Self::MAX_STATES,
            as_written: false,
        }
    }
}

impl Options {
    /// Default number of trip counts tried one by one: more than three times the stages of any known ring.
    pub const MAX_TRIPS: i64 = 160;
    /// Default number of steps of agents: a minute of work.
    pub const MAX_STEPS: u64 = 100_000_000;
    /// Default memory, in bytes.
    pub const MAX_MEMORY: u64 = 4_000_000_000;
    /// Default number of states of a search: seconds of work.
    pub const MAX_STATES: usize = 1_000_000;
    /// Largest number of states of a search that the caller did not ask for.
    const UNASKED: usize = 200_000;

    /// Settings of a search with this limit of states and the memory limit.
    fn search(&self, states: usize) -> Settings {
        Settings { memory: self.max_memory, ..Settings::of(states) }
    }
}

/// The outcome of a verification.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Holds in every schedule, for every trip count.
    Proved,
    /// Holds in every schedule for these trip counts (or for the kernel as given, where none is varied).
    Bounded {
        /// Smallest and largest trip count, if any was varied. No largest where the outcome holds for every trip count
        /// and something else is fixed at its given value.
        trips: Option<(i64, Option<i64>)>,
        /// The reason why the outcome does not hold for all.
        why: String,
    },
    /// A fault was found.
    Violated,
    /// The verification decided nothing.
    GaveUp {
        /// The reason.
        why: String,
    },
}

/// The first fault found, with the smallest trip count that shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Trip count, where one was varied.
    pub trips: Option<i64>,
    /// Number of iterations of the loop around the main loop, if this number was varied.
    pub turns: Option<i64>,
    /// Number of jobs that CTAs share, where it is no multiple of the CTAs or sets another grid than the given one.
    pub jobs: Option<i64>,
    /// Trip counts of the jobs of a CTA, one after the other, where they are known only at run time and differ by job;
    /// else empty ([`with_lengths`]).
    pub lengths: Vec<i64>,
    /// Where the fault is one of other values of numbers that are known only at run time: their names, with the values
    /// in terms of `index` ([`with_run_time`]).
    pub run_time: BTreeMap<String, String>,
    /// CTA class.
    pub class: String,
    /// Launch index of the cluster that shows it.
    pub cluster: i64,
    /// Faults of that run in order. Stale tiles and coverage, which often follow from a race, come last.
    pub findings: Vec<Finding>,
    /// The waits of each agent, where the run hangs.
    pub hang: Vec<Waiting>,
    /// The last operations before the fault: agent, and index of the statement.
    pub steps: Vec<(String, u32)>,
    /// The statements of that kernel.
    pub sites: Vec<Site>,
}

/// A verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The outcome.
    pub outcome: Outcome,
    /// The fault, if there is one.
    pub violation: Option<Violation>,
    /// Notes of the runs, which are not faults.
    pub notes: Vec<Finding>,
    /// CTA classes that were decided.
    pub classes: Vec<String>,
    /// Steps of agents performed.
    pub steps: u64,
    /// The period in steps of the main loop, where one was found.
    pub period: Option<i64>,
    /// The period in iterations of the loop around the main loop, if their number was varied.
    pub turns: Option<i64>,
    /// Reads that state the tile they expect, of all reads, in the longest run.
    pub reads: (u64, u64),
    /// Number of states, where a search of every order reached the verdict.
    pub searched: Option<usize>,
    /// Whether another schedule can count an arrival elsewhere, so that one run does not decide.
    pub(crate) open: bool,
    /// The reason why jobs of any length are not decided for all CTAs at once.
    pub(crate) undecided: Option<String>,
    /// The conclusion for each cell, and its basis.
    pub basis: Vec<certificate::DecidedCell>,
    /// Parameters for all of whose values the verdict holds, because they only set dimensions of the grid and extents of
    /// global matrices. The cell of the basis is then of the program of any size ([`Program::of_any_size`]).
    pub sizes: Vec<String>,
    /// The line of a loop whose trip count differs by job, where the verdict holds for jobs of any length.
    pub any_length: Option<u32>,
    /// The line of a loop or condition by which values known only at run time choose the jobs. The verdict then holds for
    /// any number of jobs, and for any block of each.
    pub any_jobs: Option<u32>,
    /// Values known only at run time that only name blocks of inputs. The verdict holds for all blocks.
    pub any_blocks: Vec<String>,
    /// Matrices of which choices by the place of the CTA name blocks, such as `max(0, cta.m - 2)`. The outcome holds for all
    /// blocks.
    pub chosen_blocks: Vec<String>,
    /// Whether the proof is of a kernel that makes the same steps with other numbers: counters in place of pipeline states,
    /// or other blocks of its jobs. A certificate needs a proof of the kernel as written ([`Options::as_written`]).
    pub renumbered: bool,
    /// The kernel of the verdict, where its values are not the given ones. The parameter that sets the trip count has
    /// another remainder, or values known only at run time are others.
    pub kernel: Option<Box<Program>>,
    /// Other values of parameters for whose remainders the verdict also holds, such as `n = 7`.
    pub others: Vec<String>,
    /// Number of orders of `atom` that were decided one by one; 0 where something else orders them.
    pub orders: usize,
}

impl Violation {
    /// The kernel with the trip counts of the fault; `None` where the given values have it, or no such kernel exists.
    pub fn kernel(&self, trips: &Trips) -> Option<Program> {
        match (self.trips?, self.turns, self.jobs) {
            (n, _, Some(jobs)) => trips.with_jobs(n, jobs),
            (n, Some(turns), None) => trips.turned(n, turns),
            (n, None, None) => trips.at(n),
        }
    }

    /// Faults of jobs of different lengths, one after the other.
    pub(crate) fn of_jobs(faults: Faults, (class, cluster): (&str, i64), prog: &Program) -> Violation {
        let Faults { lengths, findings, hang } = faults;
        let (class, sites) = (class.to_string(), prog.sites.clone());
        let (trips, turns, jobs, run_time) = (None, None, None, BTreeMap::new());
        Violation { trips, turns, jobs, lengths, run_time, class, cluster, findings, hang, steps: Vec::new(), sites }
    }
}

impl Verdict {
    /// A verdict before its first run.
    pub(crate) fn new() -> Verdict {
        Verdict {
            outcome: Outcome::Proved,
            violation: None,
            notes: Vec::new(),
            classes: Vec::new(),
            steps: 0,
            period: None,
            turns: None,
            reads: (0, 0),
            searched: None,
            open: false,
            undecided: None,
            basis: Vec::new(),
            sizes: Vec::new(),
            any_length: None,
            any_jobs: None,
            any_blocks: Vec::new(),
            chosen_blocks: Vec::new(),
            renumbered: false,
            kernel: None,
            others: Vec::new(),
            orders: 0,
        }
    }

    /// The reason why not all is decided, if it is not.
    pub fn why(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Bounded { why, .. } | Outcome::GaveUp { why } => Some(why),
            Outcome::Proved | Outcome::Violated => None,
        }
    }

    /// Whether the outcome is decided without a fault.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Proved | Outcome::Bounded { .. })
    }

    /// Whether this verdict holds for every case that another verdict holds for. A search covers less than one run does.
    pub fn covers(&self, other: &Verdict) -> bool {
        if self.searched.is_some() && other.searched.is_none() {
            return false;
        }
        match (&self.outcome, &other.outcome) {
            (Outcome::Proved, _) => other.sizes.iter().all(|name| self.sizes.contains(name)),
            (Outcome::Bounded { trips: a, .. }, Outcome::Bounded { trips: b, .. }) => match (a, b) {
                (Some(a), Some(b)) => a.0 <= b.0 && a.1.is_none_or(|a| b.1.is_some_and(|b| a >= b)),
                (a, b) => a == b,
            },
            _ => false,
        }
    }
}
