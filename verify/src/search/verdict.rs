//! The verdict of a search of every order, on request or where one run does not decide.

use std::collections::BTreeMap;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, Rules, World};
use warpline_sim::report::Waiting;

use crate::cta::cells::{self, Class};
use crate::cta::class_run::same_classes;
use crate::execution::adversarial::{AdversarialRun, FailedRun};
use crate::induction::carry_over::OTHER_GRID;
use crate::search::{Move, SearchReport, SearchResult, Settings, search, search_every};
use crate::{AtTrips, Outcome, Verdict, Violation, prove, registers};

/// Faults that no order of steps shows.
const UNSEEN: &str = "a search of every order does not see missing fences, scopes, life cycles, what a barrier leaves unordered in memory, \
     and sums of a whole loop";

/// States of the second search for a violation's schedule.
pub(crate) const AGAIN: usize = 300_000;

/// Searches every class for every trip count, or for the kernel as given where that does not apply.
pub(crate) fn decide(
    given: &Program,
    at: Option<AtTrips<'_>>,
    rules: Rules,
    settings: Settings,
    classes: &[Class],
    v: &mut Verdict,
) -> Outcome {
    // The classes are those of the given grid.
    let one_grid = |at: &AtTrips<'_>| (0..=SHORT).filter_map(at).all(|prog| same_classes(given, &prog));
    let (at, fixed) = match at {
        Some(at) if one_grid(&at) => (Some(at), ""),
        Some(_) => (None, OTHER_GRID),
        None => (None, "no parameter of the kernel sets the trip count of a main loop"),
    };
    let mut trips = at.map(|_| (0, None));
    let mut why = UNSEEN.to_string();
    v.searched = Some(0);
    for class in classes {
        let every = at.map(|at| search_every(at, rules, class.id, settings));
        let searched = match every {
            Some(SearchReport { found: SearchResult::Unfit(reason), .. }) => {
                (trips, why) = (Some((0, Some(SHORT))), format!("{reason}; and {UNSEEN}"));
                each(at, rules, class.id, settings)
            }
            Some(searched) => searched,
            None => {
                why = format!("{fixed}; and {UNSEEN}");
                search(given, rules, class.id, settings)
            }
        };
        v.searched = v.searched.map(|n| n + searched.states);
        match &searched.found {
            SearchResult::Clean => {}
            SearchResult::TooMany => return Outcome::GaveUp { why: too_many(&searched, settings) },
            SearchResult::Unfit(reason) => return Outcome::GaveUp { why: reason.clone() },
            SearchResult::Deadlock(_) | SearchResult::Race(..) | SearchResult::Fault(_) => {
                let prog = searched.trips.zip(at).and_then(|(n, at)| at(n)).unwrap_or_else(|| given.clone());
                let Some(x) = made(&prog, rules, class.id, &searched) else {
                    let why = format!(
                        "a search of every order finds {:?}, and its schedule could not be repeated",
                        searched.found
                    );
                    return Outcome::GaveUp { why };
                };
                v.violation = Some(Violation {
                    trips: searched.trips,
                    turns: None,
                    jobs: None,
                    lengths: Vec::new(),
                    run_time: BTreeMap::new(),
                    class: class.name.clone(),
                    cluster: class.id,
                    findings: x.findings,
                    hang: x.hang,
                    steps: x.trail,
                    sites: prog.sites.clone(),
                });
                return Outcome::Violated;
            }
        }
    }
    if let Some(reason) = registers::order_matters(given) {
        return Outcome::GaveUp { why: reason };
    }
    // The classes are those that short runs tell apart: in longer ones, CTAs of one class may differ.
    if given.grid.len() > 1 && cells::told_apart(given) {
        let last = |(lo, last): (i64, Option<i64>)| (lo, Some(last.map_or(prove::SHORT, |n| n.min(prove::SHORT))));
        trips = trips.map(last);
        why = format!("CTAs that longer runs tell apart were not looked for; and {why}");
    }
    if given.hands_out() {
        why = format!("no tile is handed out in a search; and {why}");
    }
    Outcome::Bounded { trips, why }
}

/// The limit that a search reached.
fn too_many(searched: &SearchReport, settings: Settings) -> String {
    let Settings { states, memory, .. } = settings;
    if searched.states < states {
        return format!("{} states take more than {} MB of memory (--max-memory)", searched.states, memory / 1_000_000);
    }
    format!("there are more than {states} states to search")
}

/// Largest trip count that is searched separately where the search for all at once does not apply.
const SHORT: i64 = 8;

/// Searches small trip counts one by one. Returns the first with a fault or without a search, or the last.
fn each(at: Option<AtTrips<'_>>, rules: Rules, cluster: i64, settings: Settings) -> SearchReport {
    let mut last = SearchReport { found: SearchResult::Clean, states: 0, moves: Vec::new(), trips: None };
    for (n, prog) in (0..=SHORT).filter_map(|n| Some((n, at?(n)?))) {
        let found = search(&prog, rules, cluster, settings);
        let states = last.states + found.states;
        last = SearchReport { states, trips: Some(n), ..found };
        if last.found != SearchResult::Clean {
            break;
        }
    }
    last
}

/// A fault that a search of a kernel finds, with its order.
pub(crate) fn wrong(prog: &Program, rules: Rules, cluster: i64) -> Option<FailedRun> {
    made(prog, rules, cluster, &search(prog, rules, cluster, Settings::of(AGAIN)))
}

/// Makes the moves of a search in a world with happens-before. Where that world answers a parity differently from the
/// hardware, a world without happens-before makes the moves.
fn made(prog: &Program, rules: Rules, cluster: i64, searched: &SearchReport) -> Option<FailedRun> {
    if matches!(searched.found, SearchResult::Clean | SearchResult::TooMany | SearchResult::Unfit(_)) {
        return None;
    }
    let worlds = [World::alone(prog, rules, cluster), World::bare(prog, rules, cluster)];
    worlds.into_iter().find_map(|world| {
        let agents: Vec<AgentId> = (0..world.agents().len() as AgentId).collect();
        let mut run = AdversarialRun::new(world, searched.moves.len() as u64 * 4 + 10_000_000);
        for m in &searched.moves {
            match *m {
                Move::Step(a) => {
                    run.step(a);
                }
                Move::Land(a, i) => run.land_of(a, i)?,
            }
            if run.faulty() {
                return Some(run.wrong(Vec::<Waiting>::new()));
            }
        }
        // No agent can proceed, or the fault appears when others proceed.
        run.go(&agents, &[])
    })
}
