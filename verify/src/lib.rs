//! Decides properties of a kernel's barrier protocol, over every schedule and, where the kernel allows it, for every trip
//! count.
//!
//! ```text
//!   for each CTA class (interior, edges, corner) that the grid can make:
//!     n = 0, 1, 2, ... ── canon: one run without time ──▶ hang? race? stale tile? (happens-before, over every schedule)
//!                                   │
//!                                   ▼ nothing wrong
//!     pairs of runs ── a period apart: one kernel but for a shift? ──▶ every trip count
//! ```
//!
//! *Every schedule.* The protocol's phase structure must not depend on the schedule: every arrival knows that the phase
//! before its own is complete. Then one run has the same events as every other, happens-before over them orders each
//! conflicting pair or shows one that nothing orders, and the run hangs exactly if another does. Where an arrival does not
//! know, orders that hold one warp back are tried (`starve`): a fault there is a fault of the kernel; without one the
//! verdict says so and decides nothing.
//!
//! *Every CTA.* `classes` says which places of the grid can behave differently.
//!
//! *Every trip count.* Two runs that differ by a period of the main loop are laid beside each other (`pair`). They step
//! together but for that period, every number on the way decides alike in both or moves out of the other's reach
//! (`alike`), and the states before, between and behind the period are one but for a shift. So the same holds with one
//! period more, and so on: each large trip count follows from a smaller one (`carry`), and the small ones are run one by
//! one. That the text computes with its trip count evenly is read off more compilations (`further`). Conditions that are
//! not met make the verdict a bounded one.

mod alike;
mod canon;
mod carry;
mod classes;
mod edit;
mod every;
mod exprs;
mod further;
mod limits;
mod pair;
mod promela;
mod properties;
mod random;
mod redundancy;
mod refine;
mod search;
mod starve;
mod suggest;
mod trips;
mod witness;

use warpline_sim::ir::{Program, Site};
use warpline_sim::protocol::Rules;
use warpline_sim::report::{Finding, FindingKind, Waiting};

use canon::{End, Seen};
use every::Run;

pub use edit::{Change, Edit, Refused, edits, synchronises};
pub use every::{one_step_more, trip_count};
pub use promela::{Inexpressible, promela};
pub use properties::{Property, properties};
pub use random::{Walk, WalkEnd, walk};
pub use redundancy::{Need, Redundancy, Removal, redundancy};
pub use search::{Found, Searched, search};
pub use suggest::{Allowed, Suggested, Suggestion, Value, suggest};
pub use trips::Trips;
pub use witness::{Meeting, Pair, Told, Witness, witness};

/// How far to look.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Trip counts tried one by one, at most.
    pub max_trips: i64,
    /// Steps of agents in one run, at most.
    pub max_steps: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_trips: Self::MAX_TRIPS, max_steps: Self::MAX_STEPS }
    }
}

impl Options {
    /// Trip counts tried one by one, unless the caller says otherwise: more than three times the stages of any ring there is.
    pub const MAX_TRIPS: i64 = 160;
    /// Steps of agents in one run, unless the caller says otherwise: seconds of work.
    pub const MAX_STEPS: u64 = 20_000_000;
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
    /// The largest trip count for which the compiled kernel was compared with the proved ones.
    pub compared: Option<i64>,
    /// Reads that state the tile they expect, of all reads, in the longest run.
    pub reads: (u64, u64),
}

impl Verdict {
    /// Whether no fault was found and something is decided.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Proved | Outcome::Bounded { .. })
    }

    /// Whether it holds for all that another verdict holds for.
    pub fn as_far_as(&self, other: &Verdict) -> bool {
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

/// What one class or all of them together can be said about.
enum Reach {
    All,
    Only(Option<(i64, Option<i64>)>, String),
}

/// Trip counts whose kernel shows where CTAs behave differently.
const PROBED: [i64; 4] = [3, 6, 9, 12];

/// Decides a kernel; `at` compiles it for other trip counts of its main loop, where there is such a parameter.
pub fn verify(given: &Program, at: Option<AtTrips<'_>>, rules: Rules, options: Options) -> Verdict {
    let short = at.and_then(|at| PROBED.iter().find_map(|n| at(*n)));
    let probe = short.as_ref().unwrap_or(given);
    let path = |cluster| Run { given, rules, cluster, options }.once(probe).path;
    let classes = classes::classes(probe, &path);
    let mut v = Verdict {
        outcome: Outcome::Proved,
        violation: None,
        notes: Vec::new(),
        classes: classes.list.iter().map(|c| c.name.clone()).collect(),
        steps: 0,
        period: None,
        compared: None,
        reads: (0, 0),
    };
    v.classes.dedup();
    v.outcome = match decide(given, at, rules, options, &classes, &mut v) {
        Ok(Reach::All) => Outcome::Proved,
        Ok(Reach::Only(trips, why)) => Outcome::Bounded { trips, why },
        Err(Outcome::GaveUp { why }) => match late(given, at, rules, options, &classes.list) {
            Some(x) => {
                v.violation = Some(x);
                Outcome::Violated
            }
            None => Outcome::GaveUp { why },
        },
        Err(outcome) => outcome,
    };
    v
}

/// Trip counts tried in other orders, where one run does not decide: a few turns of a ring.
const LATE: i64 = 12;

/// Where nothing can be decided: a fault in an order that holds one warp back, at the smallest trip count that shows it.
fn late(
    given: &Program,
    at: Option<AtTrips<'_>>,
    rules: Rules,
    options: Options,
    classes: &[classes::Class],
) -> Option<Violation> {
    let wrong = |prog: &Program, trips| {
        classes.iter().find_map(|class| {
            let x = starve::wrong(prog, rules, class.id, options.max_steps)?;
            let (class, cluster, sites) = (class.name.clone(), class.id, prog.sites.clone());
            Some(Violation { trips, class, cluster, findings: x.findings, hang: x.hang, steps: x.trail, sites })
        })
    };
    match at {
        Some(at) => (0..=LATE).find_map(|n| wrong(&at(n)?, Some(n))),
        None => wrong(given, None),
    }
}

fn decide(
    given: &Program,
    at: Option<AtTrips<'_>>,
    rules: Rules,
    options: Options,
    classes: &classes::Classes,
    v: &mut Verdict,
) -> Result<Reach, Outcome> {
    let mut bounded = None;
    let mut paths: Vec<Vec<u64>> = Vec::new();
    for class in &classes.list {
        let run = Run { given, rules, cluster: class.id, options };
        let (reach, path) = match at {
            Some(at) => every::every_trip(&run, at, &class.name, v)?,
            None => {
                let seen = run.once(given);
                take(v, given, &seen, None, &class.name)?;
                let why = "no parameter of the kernel sets the trip count of a main loop".to_string();
                // Without a loop there is none to set.
                let reach = if given.loops.is_empty() { Reach::All } else { Reach::Only(None, why) };
                (reach, vec![seen.path])
            }
        };
        if let Reach::Only(trips, why) = reach {
            // What holds for the fewest is said of all.
            let fewer = |(old, _): &(Option<(i64, Option<i64>)>, String)| {
                old.and_then(|o| o.1).is_none() && trips.is_none_or(|t| t.1.is_some())
            };
            if bounded.as_ref().is_none_or(fewer) {
                bounded = Some((trips, why));
            }
        }
        paths.push(path);
    }
    if let Some(why) = limits::registers(given) {
        return Err(Outcome::GaveUp { why });
    }
    let trips = match &bounded {
        Some((trips, _)) => *trips,
        None => at.map(|_| (0, None)),
    };
    let unlike = classes.alike.then(|| unlike(classes, &paths)).flatten();
    let why = bounded.map(|(_, why)| why).or(limits::run_time(given)).or_else(|| classes.why.clone()).or(unlike);
    Ok(why.map_or(Reach::All, |why| Reach::Only(trips, why)))
}

/// Two CTAs that were to behave alike and do not: then there may be others between them.
fn unlike(classes: &classes::Classes, paths: &[Vec<u64>]) -> Option<String> {
    let all = classes.list.iter().zip(paths);
    for (i, (class, path)) in all.clone().enumerate() {
        if all.clone().skip(i + 1).any(|(other, p)| other.name == class.name && p != path) {
            return Some(format!("CTAs of the {} behave differently, and not all were looked at", class.name));
        }
    }
    None
}

/// Takes over what one run showed; an error ends the verification with that outcome.
fn take(v: &mut Verdict, prog: &Program, seen: &Seen, trips: Option<i64>, class: &str) -> Result<(), Outcome> {
    v.steps += seen.steps;
    v.reads = seen.reads;
    for f in seen.findings.iter().filter(|f| f.note) {
        if !v.notes.iter().any(|g| g.site == f.site && g.code == f.code) {
            v.notes.push(f.clone());
        }
    }
    let mut faults: Vec<Finding> = seen.findings.iter().filter(|f| !f.note).cloned().collect();
    // What a race leads to in this one order comes after the race.
    faults.sort_by_key(|f| matches!(f.kind, FindingKind::Stale | FindingKind::Coverage));
    let hang = match &seen.end {
        End::Hung(w) => w.clone(),
        End::Limit => return Err(Outcome::GaveUp { why: format!("a run of {} steps did not end", seen.steps) }),
        _ => Vec::new(),
    };
    if !faults.is_empty() || seen.end != End::Finished {
        v.violation = Some(Violation {
            trips,
            class: class.to_string(),
            cluster: seen.cluster,
            findings: faults,
            hang,
            steps: seen.trail.clone(),
            sites: prog.sites.clone(),
        });
        return Err(Outcome::Violated);
    }
    match &seen.unordered {
        Some(what) => Err(Outcome::GaveUp {
            why: format!(
                "another schedule can count this arrival in another phase, so one run does not decide: {what}"
            ),
        }),
        None => Ok(()),
    }
}
