//! One verdict from what each CTA class shows.

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_sim::report::{Finding, FindingKind};

use crate::canon::{End, Landing, Seen};
use crate::every::{Run, every_trip};
use crate::{AtTrips, Options, Outcome, Varied, Verdict, Violation, classes, limits, starve};

/// What one class or all of them together can be said about.
pub(crate) enum Reach {
    All,
    Only(Option<(i64, Option<i64>)>, String),
}

/// The numbers of steps and turns of a run, where they were varied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) trips: Option<i64>,
    pub(crate) turns: Option<i64>,
}

/// Trip counts tried in other orders, where one run does not decide: a few turns of a ring.
const LATE: i64 = 12;

/// Where nothing can be decided: a fault in an order that holds one warp back, at the smallest trip count that shows it.
pub(crate) fn late(
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
            Some(Violation {
                trips,
                turns: None,
                class,
                cluster,
                findings: x.findings,
                hang: x.hang,
                steps: x.trail,
                sites,
            })
        })
    };
    match at {
        Some(at) => (0..=LATE).find_map(|n| wrong(&at(n)?, Some(n))),
        None => wrong(given, None),
    }
}

/// Decides every class; an error is an outcome that ends it.
pub(crate) fn decide(
    given: &Program,
    at: Varied<'_>,
    rules: Rules,
    options: Options,
    classes: &classes::Classes,
    v: &mut Verdict,
) -> Result<Reach, Outcome> {
    let mut bounded = None;
    let mut paths: Vec<Vec<u64>> = Vec::new();
    for class in &classes.list {
        let shared = classes.shared;
        let run = Run { given, rules, cluster: class.id, shared, options, landing: Landing::Late };
        let (reach, path) = match at.steps {
            Some(steps) => every_trip(&run, (steps, at.turns), &class.name, v)?,
            None => {
                let seen = run.once(given);
                take(v, given, &seen, Place::default(), &class.name)?;
                let why = "no parameter of the kernel sets the trip count of a main loop".to_string();
                // Without a loop there is none to set.
                let why = (!given.loops.is_empty()).then_some(why).or_else(|| limits::handed(given));
                let reach = why.map_or(Reach::All, |why| Reach::Only(None, why));
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
        None => at.steps.map(|_| (0, None)),
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
pub(crate) fn take(v: &mut Verdict, prog: &Program, seen: &Seen, place: Place, class: &str) -> Result<(), Outcome> {
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
            trips: place.trips,
            turns: place.turns,
            class: class.to_string(),
            cluster: seen.cluster,
            findings: faults,
            hang,
            steps: seen.trail.clone(),
            sites: prog.sites.clone(),
        });
        return Err(Outcome::Violated);
    }
    v.open = seen.unordered.is_some();
    match &seen.unordered {
        Some(what) => Err(Outcome::GaveUp {
            why: format!(
                "another schedule can count this arrival in another phase, so one run does not decide: {what}"
            ),
        }),
        None => Ok(()),
    }
}
