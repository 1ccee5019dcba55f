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
mod budget;
mod certificate;
mod coordinates;
mod counterexample;
mod cta;
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

use warpline_sim::ir::{Program, Site};
use warpline_sim::protocol::Rules;
use warpline_sim::report::{Finding, Waiting};

use budget::Budget;
use execution::run_time;
use induction::remainders;
use prove::{Place, Reach, decide, late, take};

pub use assumed::assumed;
pub use certificate::{Conclusion, DecidedCell, Induction, Insertion, Line, Order, TripRegion, insertions, varied};
pub use counterexample::{Meeting, MoveDescription, Pair, Witness, witness};
pub use cta::class::{one_step_more, trip_count};
pub use execution::random::{Walk, WalkEnd, walk};
pub use global_stores::{GlobalStore, StoredBy, global_stores};
pub use induction::trip_count::{Family, Trips};
pub use mutation::{Change, Edit, Inapplicable, edits, synchronizes};
pub use promela::{Inexpressible, promela};
pub use properties::{Property, properties};
pub use repair::redundancy::{Need, Redundancy, Removal, redundancy};
pub use repair::{Allowed, RepairReport, Suggestion, TrialSteps, Value, suggest};
pub use search::{Move, SearchReport, SearchResult, Settings, search, search_every};
pub use sizes::any_size;

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
    /// Number of jobs that CTAs share, where they are fewer than the CTAs of the given grid and set a smaller one.
    pub jobs: Option<i64>,
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
    /// The conclusion for each cell, and its basis.
    pub basis: Vec<certificate::DecidedCell>,
    /// Parameters for all of whose values the verdict holds, because they only set dimensions of the grid and extents of
    /// global matrices. The cell of the basis is then of the program of any size ([`Program::of_any_size`]).
    pub sizes: Vec<String>,
    /// The kernel of the verdict, where its values are others than the given ones: another remainder of the parameter
    /// that sets the trip count, or other values known only at run time.
    pub kernel: Option<Box<Program>>,
    /// Other values of parameters for whose remainders the verdict also holds, such as `n = 7`.
    pub others: Vec<String>,
    /// Whether the code tells apart more remainders than were decided.
    pub unchecked_remainders: bool,
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
            basis: Vec::new(),
            sizes: Vec::new(),
            kernel: None,
            others: Vec::new(),
            unchecked_remainders: false,
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

/// A kernel at any trip count: `None` where the kernel itself refuses it.
pub type AtTrips<'a> = &'a (dyn Fn(i64) -> Option<Program> + Sync);

/// A kernel at any trip count of its main loop and any number of iterations of the loop around it.
pub(crate) type AtTurns<'a> = &'a (dyn Fn(i64, i64) -> Option<Program> + Sync);

/// The loops of a kernel that are varied, with the kernel at each count.
#[derive(Clone, Copy, Default)]
pub(crate) struct VariedLoops<'a> {
    /// Steps of the main loop, where a parameter sets them.
    pub(crate) steps: Option<AtTrips<'a>>,
    /// Iterations of the loop around the main loop, where there is one and a value of the kernel sets them.
    pub(crate) turns: Option<AtTurns<'a>>,
    /// The same with a number of jobs that the outer loop shares among CTAs.
    pub(crate) jobs: Option<AtTurns<'a>>,
    /// Iterations of a loop before or behind the main loop, where another parameter sets them.
    pub(crate) sequential: Option<AtTurns<'a>>,
}

impl std::fmt::Debug for VariedLoops<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Varied {{ steps: {}, turns: {} }}", self.steps.is_some(), self.turns.is_some())
    }
}

/// Calls `f` with the kernel and its varied loops, and with their trip counts if there are any.
pub(crate) fn with_loops<T>(program: &Program, f: impl FnOnce(&Program, VariedLoops<'_>, Option<&Trips>) -> T) -> T {
    let trips = Trips::find(program);
    let steps = |n: i64| trips.as_ref().and_then(|t| t.at(n));
    let turns = |n: i64, t: i64| trips.as_ref().and_then(|trips| trips.turned(n, t));
    let jobs = |n: i64, j: i64| trips.as_ref().and_then(|trips| trips.with_jobs(n, j));
    let both = |n: i64, t: i64| trips.as_ref().and_then(|trips| trips.both(n, t));
    let at = VariedLoops {
        steps: trips.as_ref().map(|_| &steps as AtTrips<'_>),
        turns: trips.as_ref().filter(|t| t.turns()).map(|_| &turns as AtTurns<'_>),
        jobs: trips.as_ref().filter(|t| t.turns()).map(|_| &jobs as AtTurns<'_>),
        sequential: trips.as_ref().filter(|t| t.sequential()).map(|_| &both as AtTurns<'_>),
    };
    match &trips {
        Some(trips) => f(trips.given(), at, Some(trips)),
        None => f(&program.bind(), at, None),
    }
}

/// Decides a kernel for all values of its symbols that can be varied. A bound program is decided as given.
pub fn verify(program: &Program, rules: Rules, options: Options) -> Verdict {
    counted(program, rules, options).0
}

/// [`verify`], with the steps that all runs took.
pub(crate) fn counted(program: &Program, rules: Rules, options: Options) -> (Verdict, u64) {
    let budget = Budget::new(&options);
    (within(program, rules, options, &budget), budget.used())
}

/// [`verify`] within a budget: the given value of the parameter that sets the trip count, then other remainders.
fn within(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Verdict {
    let program = &induction::normal_form(program);
    let mut v = of_remainder(program, rules, options, budget);
    if options.engine == Engine::Search || !v.holds() {
        return v;
    }
    let as_given = |kernel: &Program| {
        let mut v = Verdict::new();
        if let Err(outcome) = prove::every_class(&kernel.bind(), (rules, budget), options, Place::default(), &mut v) {
            v.outcome = outcome;
        }
        v
    };
    if let Some(x) = run_time::fault(program, as_given) {
        return Verdict { steps: v.steps + x.steps, classes: v.classes, ..x };
    }
    let Some(trips) = Trips::find(program) else { return v };
    let others = remainders::others(program, &trips);
    v.unchecked_remainders = !others.all;
    for kernel in others.kernels {
        let other = of_remainder(&kernel, rules, options, budget);
        let steps = v.steps + other.steps;
        match &other.outcome {
            Outcome::Proved => {}
            Outcome::Bounded { trips: range, why } if v.outcome == Outcome::Proved => {
                v.outcome = Outcome::Bounded { trips: *range, why: format!("{}: {why}", differs(program, &kernel)) };
                v.turns = None;
            }
            Outcome::Bounded { .. } => {}
            _ => return Verdict { steps, kernel: Some(Box::new(kernel)), ..other },
        }
        v.steps = steps;
        v.others.push(differs(program, &kernel));
    }
    v
}

/// The parameter in which two kernels differ, with its value in the second.
fn differs(program: &Program, other: &Program) -> String {
    let pairs = program.symbols.iter().zip(&other.symbols);
    let first = pairs.filter(|(x, _)| x.definition.is_none()).find(|(x, y)| x.value != y.value);
    first.map_or_else(String::new, |(_, y)| format!("{} = {}", y.name, y.value))
}

/// The verdict for the given remainder of the parameter that sets the trip count.
fn of_remainder(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Verdict {
    if options.engine != Engine::Search
        && let Some(v) = sizes::prove(program, rules, options, budget)
    {
        return v;
    }
    let (mut v, fixed, varied, apart) = with_loops(program, |given, at, trips| {
        let fixed = match trips {
            Some(trips) => trips.fixed().to_vec(),
            None => induction::trip_count::fixed(program, &Default::default()),
        };
        let v = verify_varied(given, at, (rules, budget), options);
        let apart = if v.outcome == Outcome::Proved { global_stores::apart_as_given(given) } else { None };
        (v, fixed, trips.is_some(), apart)
    });
    let whiles = !varied && !program.symbols.is_empty() && program.loops.iter().any(|l| l.bound.is_none());
    if let (Outcome::Proved, true) = (&v.outcome, whiles) {
        let why = "no parameter of the kernel sets the trip count of a main loop".to_string();
        v.outcome = Outcome::Bounded { trips: None, why };
    }
    // Loops whose trip count the given values fix.
    if let (Outcome::Proved, Some((line, values))) = (&v.outcome, fixed.first()) {
        let why = format!("the loop at line {line} is checked with its given trip count only ({values})");
        v.outcome = Outcome::Bounded { trips: varied.then_some((0, None)), why };
    }
    if let (Outcome::Proved, Some(why)) = (&v.outcome, apart) {
        v.outcome = Outcome::Bounded { trips: None, why };
    }
    if v.holds()
        && let Some(x) = global_stores::stored_twice(&program.bind(), rules)
    {
        v = Verdict { outcome: Outcome::Violated, violation: Some(x), ..v };
    }
    if v.holds()
        && let Some(x) = partial_sums::incomplete(program, (rules, budget), options, &v)
    {
        v = Verdict { outcome: Outcome::Violated, violation: Some(x), ..v };
    }
    // A result that is not decided for every number of iterations is stated for the given number.
    if let Outcome::Bounded { .. } = v.outcome {
        v.turns = None;
    }
    v
}

/// Decides a kernel for all loops that are varied.
fn verify_varied(given: &Program, at: VariedLoops<'_>, (rules, budget): (Rules, &Budget), options: Options) -> Verdict {
    let mut v = Verdict::new();
    let mut classes = Vec::new();
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
    // A part that a limit left undecided is neither a fault of the kernel nor a proof.
    if let (Ok(_) | Err(Outcome::GaveUp { .. }), Err(over)) = (&decided, budget.check()) {
        v.outcome = Outcome::GaveUp { why: over.to_string() };
        return v;
    }
    if let Err(Outcome::GaveUp { .. }) = &decided {
        // The following fallback needs all classes again.
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
    // A fault with the given values is a fault, whatever else is undecided.
    if v.open
        && v.violation.is_none()
        && prove::every_cta(given, (rules, budget), options, Place::default(), &mut v).is_err()
    {
        v.outcome = Outcome::Violated;
    }
    v
}
