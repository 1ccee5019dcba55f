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
//! `docs/proof.md` has the argument as numbered lemmas.
//!
//! *Every schedule.* The protocol's phase structure must not depend on the schedule: every arrival knows that the phase
//! before its own is complete. Then one run has the events of every other run, and happens-before decides. Where an arrival
//! does not know, schedules that hold one warp back are tried (`adversarial`), and a search of every order may decide (`search`).
//!
//! *Every CTA.* Numbers of a run carry how they depend on the place of the CTA. A cell of the grid without a decision that
//! comes out both ways in it is one run (`cells`).
//!
//! *Every trip count.* Two runs that differ by a period are laid beside each other (`self_composition`, `lockstep`). Each decision must
//! come out alike however many periods are inserted (`shift_invariance`). A comparison that changes after some periods ends the
//! region of trip counts, and a new region begins there (`carry_over`, `class`).
//!
//! *Two varied loops.* Trip counts of nested loops (`nested_loops`), or of loops that follow each other (`sequential_loops`), are varied
//! together by four runs in lockstep. Runs that begin alike are made once (`common_prefix`, `shared`).
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
mod budget;
mod certificate;
mod counterexample;
mod cta;
mod execution;
mod global_stores;
mod induction;
mod limits;
mod mutation;
mod promela;
mod properties;
mod prove;
mod repair;
mod search;

use warpline_sim::ir::{Program, Site};
use warpline_sim::protocol::Rules;
use warpline_sim::report::{Finding, Waiting};

use budget::Budget;
use prove::{Place, Reach, decide, late, take};

pub use assumed::assumed;
pub use certificate::{Conclusion, DecidedCell, Induction, Insertion, Line, Order, TripRegion, insertions, varied};
pub use counterexample::{Meeting, MoveDescription, Pair, Witness, witness};
pub use cta::class::{one_step_more, trip_count};
pub use execution::random::{Walk, WalkEnd, walk};
pub use global_stores::{GlobalStore, StoredBy, global_stores};
pub use induction::trip_count::{Family, Trips};
pub use mutation::{Change, Edit, Inapplicable, edits, synchronises};
pub use promela::{Inexpressible, promela};
pub use properties::{Property, properties};
pub use repair::redundancy::{Need, Redundancy, Removal, redundancy};
pub use repair::{Allowed, RepairReport, Suggestion, Value, suggest};
pub use search::{Move, SearchReport, SearchResult, Settings, search, search_every};

/// How far to look.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Trip counts tried one by one, at most; some times as many where the text says that less does not show a period.
    pub max_trips: i64,
    /// Steps of agents in all runs together, at most.
    pub max_steps: u64,
    /// Bytes of memory that the process has resident, at most.
    pub max_memory: u64,
    /// How to decide.
    pub engine: Engine,
    /// States of a search of every order, at most.
    pub max_states: usize,
}

/// How a verdict is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// By happens-before over one run.
    #[default]
    Graph,
    /// The same; where that does not decide, by a search of every order.
    Auto,
    /// By a search of every order ([`search_every`]).
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
        }
    }
}

impl Options {
    /// Trip counts tried one by one, unless the caller says otherwise: more than three times the stages of any ring there is.
    pub const MAX_TRIPS: i64 = 160;
    /// Steps of agents, unless the caller says otherwise: a minute of work.
    pub const MAX_STEPS: u64 = 100_000_000;
    /// Bytes of memory, unless the caller says otherwise.
    pub const MAX_MEMORY: u64 = 4_000_000_000;
    /// States of a search, unless the caller says otherwise: seconds of work.
    pub const MAX_STATES: usize = 1_000_000;
    /// States of a search that nobody asked for, at most.
    const UNASKED: usize = 200_000;

    /// A search of so many states within the memory allowed.
    fn search(&self, states: usize) -> Settings {
        Settings { memory: self.max_memory, ..Settings::of(states) }
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Holds in every schedule, for every trip count.
    Proved,
    /// Holds in every schedule for these trip counts (or for the kernel as given, where none is varied).
    Bounded {
        /// Smallest and largest trip count, if any was varied; no largest where it holds for every one, and something
        /// else is as given.
        trips: Option<(i64, Option<i64>)>,
        /// Why not for all.
        why: String,
    },
    /// A fault.
    Violated,
    /// Nothing is decided.
    GaveUp {
        /// Why.
        why: String,
    },
}

/// The first fault found, with the smallest trip count that shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Trip count, where one was varied.
    pub trips: Option<i64>,
    /// Turns of the loop around the main loop, where they were varied.
    pub turns: Option<i64>,
    /// CTA class.
    pub class: String,
    /// Launch index of the cluster that shows it.
    pub cluster: i64,
    /// Faults of that run as they were met; stale tiles and coverage, which often follow from a race, last.
    pub findings: Vec<Finding>,
    /// Who waits for what, where the run hangs.
    pub hang: Vec<Waiting>,
    /// The last operations before it showed: who, and the site.
    pub steps: Vec<(String, u32)>,
    /// The places of that kernel's statements.
    pub sites: Vec<Site>,
}

/// A verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was decided.
    pub outcome: Outcome,
    /// The fault, if there is one.
    pub violation: Option<Violation>,
    /// Worth knowing: notes met in the runs.
    pub notes: Vec<Finding>,
    /// CTA classes looked at.
    pub classes: Vec<String>,
    /// Steps of agents performed.
    pub steps: u64,
    /// The period in steps of the main loop, where one was found.
    pub period: Option<i64>,
    /// The period in turns of the loop around it, where they were varied.
    pub turns: Option<i64>,
    /// Reads that state the tile they expect, of all reads, in the longest run.
    pub reads: (u64, u64),
    /// States looked at, where a search of every order reached the verdict.
    pub searched: Option<usize>,
    /// Another schedule can count an arrival elsewhere, so one run does not decide.
    pub(crate) open: bool,
    /// What was decided of each cell, and by what.
    pub basis: Vec<certificate::DecidedCell>,
}

impl Verdict {
    /// Whether no fault was found and something is decided.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Proved | Outcome::Bounded { .. })
    }

    /// Whether this verdict holds for every case that another verdict holds for. A search covers less than one run does.
    pub fn covers(&self, other: &Verdict) -> bool {
        if self.searched.is_some() && other.searched.is_none() {
            return false;
        }
        match (&self.outcome, &other.outcome) {
            (Outcome::Proved, _) => true,
            (Outcome::Bounded { trips: a, .. }, Outcome::Bounded { trips: b, .. }) => match (a, b) {
                (Some(a), Some(b)) => a.0 <= b.0 && a.1.is_none_or(|a| b.1.is_some_and(|b| a >= b)),
                (a, b) => a == b,
            },
            _ => false,
        }
    }
}

/// A kernel at any trip count: `None` where the kernel itself refuses it.
pub type AtTrips<'a> = &'a (dyn Fn(i64) -> Option<Program> + Sync);

/// A kernel at any trip count of its main loop and any number of turns of the loop around it.
pub(crate) type AtTurns<'a> = &'a (dyn Fn(i64, i64) -> Option<Program> + Sync);

/// Which of a kernel's loops are varied, and the kernel at each.
#[derive(Clone, Copy, Default)]
pub(crate) struct VariedLoops<'a> {
    /// Steps of the main loop, where a parameter sets them.
    pub(crate) steps: Option<AtTrips<'a>>,
    /// And turns of the loop around it, where there is one and a value of the kernel sets them.
    pub(crate) turns: Option<AtTurns<'a>>,
    /// And iterations of a loop before or behind it, where another parameter sets them.
    pub(crate) sequential: Option<AtTurns<'a>>,
}

impl std::fmt::Debug for VariedLoops<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Varied {{ steps: {}, turns: {} }}", self.steps.is_some(), self.turns.is_some())
    }
}

/// Decides a kernel for all that its symbols allow to be varied; a bound program is decided as it is.
pub fn verify(program: &Program, rules: Rules, options: Options) -> Verdict {
    let program = &induction::normal_form(program);
    let trips = Trips::find(program);
    let steps = |n: i64| trips.as_ref().and_then(|t| t.at(n));
    let turns = |n: i64, t: i64| trips.as_ref().and_then(|trips| trips.turned(n, t));
    let both = |n: i64, t: i64| trips.as_ref().and_then(|trips| trips.both(n, t));
    let at = VariedLoops {
        steps: trips.as_ref().map(|_| &steps as AtTrips<'_>),
        turns: trips.as_ref().filter(|t| t.turns()).map(|_| &turns as AtTurns<'_>),
        sequential: trips.as_ref().filter(|t| t.sequential()).map(|_| &both as AtTurns<'_>),
    };
    let (mut v, fixed) = match &trips {
        Some(trips) => (verify_varied(trips.given(), at, rules, options), trips.fixed().to_vec()),
        None => (
            verify_varied(&program.bind(), at, rules, options),
            induction::trip_count::fixed(program, &Default::default()),
        ),
    };
    let whiles = trips.is_none() && !program.symbols.is_empty() && program.loops.iter().any(|l| l.bound.is_none());
    if let (Outcome::Proved, true) = (&v.outcome, whiles) {
        let why = "no parameter of the kernel sets the trip count of a main loop".to_string();
        v.outcome = Outcome::Bounded { trips: None, why };
    }
    // Loops that run as often as the values given say.
    if let (Outcome::Proved, Some((line, values))) = (&v.outcome, fixed.first()) {
        let why = format!("the loop at line {line} runs as often as the values given say ({values})");
        v.outcome = Outcome::Bounded { trips: trips.as_ref().map(|_| (0, None)), why };
    }
    // What is not decided for every number of turns is said of those given.
    if let Outcome::Bounded { .. } = v.outcome {
        v.turns = None;
    }
    v
}

/// Decides a kernel for all that is varied.
fn verify_varied(given: &Program, at: VariedLoops<'_>, rules: Rules, options: Options) -> Verdict {
    let mut v = Verdict {
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
        basis: Vec::new(),
    };
    let mut classes = Vec::new();
    let budget = &Budget::new(&options);
    if options.engine == Engine::Search {
        classes = prove::short_runs(given, at, (rules, budget), options);
        v.classes = classes.iter().map(|c| c.name.clone()).collect();
        v.classes.dedup();
        v.outcome =
            search::verdict::decide(given, at.steps, rules, options.search(options.max_states), &classes, &mut v);
        return v;
    }
    let decided = decide(given, at, (rules, budget), options, &mut classes, &mut v);
    v.classes.dedup();
    // What could not be looked at for a limit is not held against the kernel, and nothing is said for it.
    if let (Ok(_) | Err(Outcome::GaveUp { .. }), Err(over)) = (&decided, budget.check()) {
        v.outcome = Outcome::GaveUp { why: over.to_string() };
        return v;
    }
    if let Err(Outcome::GaveUp { .. }) = &decided {
        // What follows looks at all classes anew.
        classes = prove::short_runs(given, at, (rules, budget), options);
        v.classes = classes.iter().map(|c| c.name.clone()).collect();
        v.classes.dedup();
    }
    v.outcome = match decided {
        Ok(Reach::All) => Outcome::Proved,
        Ok(Reach::Only(trips, why)) => Outcome::Bounded { trips, why },
        Err(Outcome::GaveUp { why }) => match late(given, at.steps, rules, options, &classes) {
            Some(x) => {
                v.violation = Some(x);
                Outcome::Violated
            }
            None if options.engine == Engine::Auto && v.open => {
                let settings = options.search(options.max_states.min(Options::UNASKED));
                match search::verdict::decide(given, at.steps, rules, settings, &classes, &mut v) {
                    Outcome::GaveUp { why: more } => {
                        v.searched = None;
                        Outcome::GaveUp {
                            why: format!("{why} (a search of every order does not decide either: {more})"),
                        }
                    }
                    outcome => outcome,
                }
            }
            None => Outcome::GaveUp { why },
        },
        Err(outcome) => outcome,
    };
    // A fault with the values given is one, whatever else is open.
    if v.open
        && v.violation.is_none()
        && prove::every_cta(given, (rules, budget), options, Place::default(), &mut v).is_err()
    {
        v.outcome = Outcome::Violated;
    }
    v
}
