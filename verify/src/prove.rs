//! One verdict from the results of all CTA classes.

use std::collections::BTreeMap;

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_sim::report::{Finding, FindingKind};

use crate::budget::Budget;
use crate::cta::cells::{self, Cells, Class};
use crate::cta::class::{evenly, every_trip};
use crate::cta::class_run::ClassRun;
use crate::cta::shared_jobs;
use crate::execution::canonical::{RunEnd, RunResult};
use crate::{
    AtTrips, Options, Outcome, VariedLoops, Verdict, Violation, certificate, execution::adversarial, limits, registers,
};

/// The extent of the conclusion for one class, or for all.
pub(crate) enum Reach {
    All,
    Only(TripRange, String),
}

/// The reason why the decision of a class ended early.
pub(crate) enum Stop {
    /// The outcome for the kernel.
    Outcome(Outcome),
    /// The class must be split.
    Split,
    /// Jobs of any length are not decided, and would not be in a part of the class, for this reason.
    Undecided(String),
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Stop {
        Stop::Outcome(outcome)
    }
}

/// The numbers of steps and outer iterations of a run, where they were varied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) trips: Option<i64>,
    pub(crate) turns: Option<i64>,
    /// The number of jobs, where it sets a smaller grid.
    pub(crate) jobs: Option<i64>,
}

/// Largest trip count in adversarial orders, where one run does not decide: a few rounds of a ring.
const LATE: i64 = 12;

/// Fallback where nothing is decided: a fault in an order that holds one warp back, at the smallest trip count with a
/// fault.
pub(crate) fn late(
    given: &Program,
    at: Option<AtTrips<'_>>,
    rules: Rules,
    options: Options,
    classes: &[Class],
) -> Option<Violation> {
    let wrong = |prog: &Program, trips| {
        classes.iter().filter(|class| class.id < prog.grid.len()).find_map(|class| {
            let x = adversarial::wrong(prog, rules, class.id, options.max_steps)?;
            let (class, cluster, sites) = (class.name.clone(), class.id, prog.sites.clone());
            Some(Violation {
                trips,
                turns: None,
                jobs: None,
                lengths: Vec::new(),
                run_time: BTreeMap::new(),
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

/// Smallest and largest trip count, if any was varied; no largest where the conclusion holds for all.
type TripRange = Option<(i64, Option<i64>)>;

/// The conclusion for all classes so far.
struct Conclusions {
    bounded: Option<(TripRange, String)>,
}

impl Conclusions {
    /// Takes a class into account: the weakest conclusion holds for all.
    fn take(&mut self, reach: Reach) {
        let Reach::Only(trips, why) = reach else { return };
        // The values given alone are fewest.
        let last = |trips: &TripRange| trips.map_or(-1, |(_, last)| last.unwrap_or(i64::MAX));
        if self.bounded.as_ref().is_none_or(|(old, _)| last(&trips) < last(old)) {
            self.bounded = Some((trips, why));
        }
    }
}

/// Decides every class. The error is an outcome that ends the decision early. `classes` receives the decided ones.
pub(crate) fn decide(
    given: &Program,
    at: VariedLoops<'_>,
    (rules, budget): (Rules, &Budget),
    options: Options,
    classes: &mut Vec<Class>,
    v: &mut Verdict,
) -> Result<Reach, Outcome> {
    let mut decided = Conclusions { bounded: None };
    let of = |class: &Class| ClassRun {
        place: class.place.clone(),
        other_grids: true,
        lengths: at.lengths,
        ..ClassRun::of_cluster(given, rules, class.id, options, budget)
    };
    if given.hands_out() {
        let (class, why) = cells::handed(given);
        let reach = one(&of(&class), at, &class, v);
        v.classes.push(class.name.clone());
        classes.push(class);
        match reach {
            Ok(reach) => decided.take(reach),
            Err(Stop::Outcome(outcome)) => return Err(outcome),
            Err(Stop::Split | Stop::Undecided(_)) => {}
        }
        if let Some(why) = why {
            let tiles = given.grid.len();
            let few = tiles <= FEW;
            for n in (0..=options.max_trips.min(FEW_TRIPS)).filter(|_| few) {
                // A few tiles, and the given number.
                let kernels = [at.steps.and_then(|at| at(n)), at.turns.and_then(|at| at(n, tiles))];
                for prog in kernels.into_iter().flatten() {
                    let turns = at.turns.map(|_| prog.grid.len());
                    every_cta(&prog, (rules, budget), options, Place { trips: Some(n), turns, jobs: None }, v)?;
                }
            }
            every_cta(given, (rules, budget), options, Place::default(), v)?;
            // Only the first cluster was followed further.
            v.turns = None;
            decided.take(Reach::Only(at.steps.filter(|_| few).map(|_| (0, Some(FEW_TRIPS))), why));
        }
    } else {
        let mut cells = Cells::of(given);
        // One run may stand for all CTAs where jobs are shared evenly. If this does not suffice, each cell is decided.
        if let (Some(steps), Some(turns), Some(class)) = (at.steps, at.turns, Cells::of(given).next()) {
            let kept = v.clone();
            match evenly(&of(&class), (steps, turns, at.jobs), &class.name, v) {
                Ok(()) => {
                    v.classes.push(class.name.clone());
                    classes.push(class);
                    return Ok(Reach::All);
                }
                Err(Stop::Outcome(Outcome::Violated)) => {
                    v.classes.push(class.name.clone());
                    classes.push(class);
                    return Err(Outcome::Violated);
                }
                Err(stop) => {
                    *v = Verdict { steps: v.steps, ..kept };
                    if let Stop::Undecided(why) = stop {
                        v.undecided = Some(why);
                    }
                    short_launches(given, steps, (rules, budget), options, v)?;
                }
            }
        }
        if let (Some(steps), None, None, Some(class)) = (at.steps, at.turns, at.sequential, Cells::of(given).next())
            && at.lengths.is_none()
        {
            let kept = v.clone();
            let run = ClassRun { longer_periods: false, ..of(&class) };
            if shared_jobs::decide(&run, steps, &class.name, v).is_ok() {
                v.classes.push(class.name.clone());
                classes.push(class);
                return Ok(Reach::All);
            }
            *v = Verdict { steps: v.steps, ..kept };
        }
        while let Some(class) = cells.next() {
            let kept = v.clone();
            let other_grids = v.classes.is_empty();
            let run = ClassRun {
                longer_periods: v.undecided.is_none() && decided.bounded.is_none(),
                other_grids,
                ..of(&class)
            };
            let reach = match one(&run, at, &class, v) {
                Err(Stop::Outcome(outcome)) => {
                    v.classes.push(class.name.clone());
                    classes.push(class);
                    return Err(outcome);
                }
                Err(Stop::Split | Stop::Undecided(_)) => None,
                Ok(reach) => Some(reach),
            };
            match cells.split(&class) {
                Ok(true) => *v = Verdict { steps: v.steps, ..kept },
                Ok(false) => {
                    v.classes.push(class.name.clone());
                    classes.push(class);
                    reach.into_iter().for_each(|reach| decided.take(reach));
                }
                Err(pc) => {
                    let site = given.site(pc);
                    let why = format!(
                        "line {}: `{}` distinguishes more CTAs than the limit ({})",
                        site.line,
                        site.text,
                        cells::MOST
                    );
                    every_cta(given, (rules, budget), options, Place::default(), v)?;
                    decided.take(Reach::Only(None, why));
                    break;
                }
            }
        }
    }
    if let Some(why) = registers::order_matters(given) {
        return Err(Outcome::GaveUp { why });
    }
    let trips = match &decided.bounded {
        Some((trips, _)) => *trips,
        None => at.steps.map(|_| (0, None)),
    };
    let why = decided.bounded.map(|(_, why)| why).or(limits::run_time(given));
    Ok(why.map_or(Reach::All, |why| Reach::Only(trips, why)))
}

/// The end of an attempt to decide a kernel by one run for its whole grid.
pub(crate) enum Alike {
    /// Proved for every CTA.
    Proved,
    /// A number distinguishes CTAs.
    ToldApart,
    /// Not proved.
    Other,
}

/// Decides a kernel by one cell, its whole grid.
pub(crate) fn alike(
    given: &Program,
    at: VariedLoops<'_>,
    (rules, budget): (Rules, &Budget),
    options: Options,
    v: &mut Verdict,
) -> Alike {
    let Some(class) = Cells::of(given).next() else { return Alike::Other };
    let run = ClassRun { place: class.place.clone(), ..ClassRun::of_cluster(given, rules, class.id, options, budget) };
    let reach = one(&run, at, &class, v);
    if class.place.as_ref().is_none_or(|place| place.obstacle().is_some()) {
        return Alike::ToldApart;
    }
    let within = budget.check().is_ok();
    v.classes.push(class.name);
    if matches!(reach, Ok(Reach::All)) && within { Alike::Proved } else { Alike::Other }
}

/// Largest grid whose clusters all run, where tiles are handed out: each cluster may take all later tiles.
const FEW: i64 = 64;
/// Largest trip count at which they run.
const FEW_TRIPS: i64 = 12;

/// The last trip count whose runs show where CTAs behave differently, for a search that follows no forms.
pub(crate) const SHORT: i64 = 12;

/// The classes that differ in short runs.
pub(crate) fn short_runs(
    given: &Program,
    at: VariedLoops<'_>,
    (rules, budget): (Rules, &Budget),
    options: Options,
) -> Vec<Class> {
    if given.hands_out() {
        return vec![cells::handed(given).0];
    }
    let progs: Vec<Program> = at.steps.iter().flat_map(|at| (0..=SHORT).filter_map(at)).collect();
    let (mut cells, mut classes) = (Cells::of(given), Vec::new());
    while let Some(class) = cells.next() {
        let place = class.place.clone();
        let run = ClassRun { place, ..ClassRun::of_cluster(given, rules, class.id, options, budget) };
        let all = progs.iter().filter(|prog| run.has_given_grid(prog)).chain([given]);
        all.for_each(|prog| drop(run.once(prog)));
        if !matches!(cells.split(&class), Ok(true)) {
            classes.push(class);
        }
    }
    classes
}

/// Decides one class.
fn one(run: &ClassRun<'_>, at: VariedLoops<'_>, class: &Class, v: &mut Verdict) -> Result<Reach, Stop> {
    if let Some(steps) = at.steps {
        return every_trip(run, (steps, at), &class.name, v);
    }
    run.check(v, run.given, Place::default(), &class.name)?;
    v.basis.push(certificate::DecidedCell::given(run));
    Ok(limits::handed(run.given).map_or(Reach::All, |why| Reach::Only(None, why)))
}

/// Runs a kernel for every class of its own grid. The error is an outcome that ends the verification.
pub(crate) fn every_class(
    prog: &Program,
    (rules, budget): (Rules, &Budget),
    options: Options,
    place: Place,
    v: &mut Verdict,
) -> Result<(), Outcome> {
    let mut cells = Cells::of(prog);
    while let Some(class) = cells.next() {
        let kept = v.clone();
        let run =
            ClassRun { place: class.place.clone(), ..ClassRun::of_cluster(prog, rules, class.id, options, budget) };
        if let Err(Stop::Outcome(outcome)) = run.check(v, prog, place, &class.name) {
            return Err(outcome);
        }
        match cells.split(&class) {
            Ok(true) => *v = Verdict { steps: v.steps, ..kept },
            Ok(false) => {}
            Err(_) => return every_cta(prog, (rules, budget), options, place, v),
        }
    }
    Ok(())
}

/// Number of trip counts of [`short_launches`], the first that the kernel accepts.
const SHORT_LAUNCHES: usize = 3;

/// Runs few iterations of the main loop, with the given number of outer iterations, for every class, before any class is
/// decided by induction. A fault of one CTA then needs no proof for the others. The error is this fault.
fn short_launches(
    given: &Program,
    at: AtTrips<'_>,
    (rules, budget): (Rules, &Budget),
    options: Options,
    v: &mut Verdict,
) -> Result<(), Outcome> {
    let same_grid = |n: i64| Some((n, at(n).filter(|prog| prog.grid == given.grid)?));
    for (n, prog) in (0..=SHORT).filter_map(same_grid).take(SHORT_LAUNCHES) {
        let mut cells = Cells::of(&prog);
        while let Some(class) = cells.next() {
            let run = ClassRun {
                place: class.place.clone(),
                ..ClassRun::of_cluster(&prog, rules, class.id, options, budget)
            };
            let seen = run.once(&prog);
            if seen.fails() {
                let place = Place { trips: Some(n), ..Place::default() };
                v.classes.push(class.name.clone());
                return take(v, &prog, &seen, place, &class.name);
            }
            v.steps += seen.steps;
            // All classes are split in this way when they are decided.
            if cells.split(&class).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The verdict on a kernel as given, for all CTAs of its grid.
pub(crate) fn as_given(prog: &Program, (rules, budget): (Rules, &Budget), options: Options) -> Verdict {
    let mut v = Verdict::new();
    if let Err(outcome) = every_class(&prog.bind(), (rules, budget), options, Place::default(), &mut v) {
        v.outcome = outcome;
    }
    v
}

/// Runs every CTA of a kernel's grid. The error is a fault of one of them.
pub(crate) fn every_cta(
    given: &Program,
    (rules, budget): (Rules, &Budget),
    options: Options,
    place: Place,
    v: &mut Verdict,
) -> Result<(), Outcome> {
    for cluster in 0..given.grid.len() {
        let run = ClassRun::of_cluster(given, rules, cluster, options, budget);
        let seen = run.once(given);
        let open = v.open;
        let taken = take(v, given, &seen, place, &format!("cluster {cluster}"));
        v.open |= open;
        if let Err(Outcome::Violated) = taken {
            return taken;
        }
        if budget.check().is_err() {
            break;
        }
    }
    Ok(())
}

/// Adds the result of one run to the verdict. The error is an outcome that ends the verification.
pub(crate) fn take(
    v: &mut Verdict,
    prog: &Program,
    seen: &RunResult,
    place: Place,
    class: &str,
) -> Result<(), Outcome> {
    v.steps += seen.steps;
    v.reads = seen.reads;
    for f in seen.findings.iter().filter(|f| f.note) {
        if !v.notes.iter().any(|g| g.site == f.site && g.code == f.code) {
            v.notes.push(f.clone());
        }
    }
    let mut faults: Vec<Finding> = seen.findings.iter().filter(|f| !f.note).cloned().collect();
    // Consequences of a race in this one order come after the race.
    faults.sort_by_key(|f| matches!(f.kind, FindingKind::Stale | FindingKind::Coverage));
    let hang = match &seen.end {
        RunEnd::Hung(w) => w.clone(),
        RunEnd::Limit(over) if faults.is_empty() => return Err(Outcome::GaveUp { why: over.to_string() }),
        _ => Vec::new(),
    };
    if !faults.is_empty() || seen.end != RunEnd::Finished {
        v.violation = Some(Violation {
            trips: place.trips,
            turns: place.turns,
            jobs: place.jobs,
            lengths: Vec::new(),
            run_time: BTreeMap::new(),
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
        Some(what) => Err(Outcome::GaveUp { why: what.clone() }),
        None => Ok(()),
    }
}
