//! Decides properties of a kernel's barrier protocol, over every schedule and, where the kernel allows it, for every trip
//! count.
//!
//! ```text
//!   for each CTA class (interior, edges, corner) that the grid can make:
//!     n = 0, 1, 2, ... ── canon: one run without time ──▶ hang? race? stale tile? (happens-before, over every schedule)
//!                                   │
//!                                   ▼ states at the main loop's steps
//!     two long runs ── period: equal but for a shift? ── shift: do expressions keep their meaning? ──▶ every trip count
//! ```
//!
//! *Every schedule.* The protocol's phase structure must not depend on the schedule: every arrival knows that the phase
//! before its own is complete. Then one run has the same events as every other, happens-before over them orders each
//! conflicting pair or shows one that nothing orders, and the run hangs exactly if another does. Where an arrival does not
//! know, the verdict says so and decides nothing.
//!
//! *Every trip count.* Let the state at step i recur at step i + P, up to a shift of loop indices, phases and clocks, and
//! let the last T steps be those that can see the end. A run of n + P steps then differs from one of n by one more period:
//! when all n up to i + T + P are clean, so are all others. Conditions that are not met make the verdict a bounded one.

mod canon;
mod period;
mod search;
mod shift;

pub use search::{Found, Searched, search};

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Class, Expr, Instr, Program};
use warpline_sim::protocol::{Entry, Family, Rules, Snapshot, World};
use warpline_sim::report::{Finding, Waiting};

use canon::{End, Job, Seen};

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
        Options { max_trips: 160, max_steps: 20_000_000 }
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Holds in every schedule, for every trip count.
    Proved,
    /// Holds in every schedule for these trip counts (or for the kernel as given, where none is varied).
    Bounded {
        /// Smallest and largest trip count tried, if any was varied.
        trips: Option<(i64, i64)>,
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
    /// Faults of that run, worst first as they were met.
    pub findings: Vec<Finding>,
    /// Who waits for what, where the run hangs.
    pub hang: Vec<Waiting>,
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
    /// CTA classes looked at, as grid coordinates.
    pub classes: Vec<String>,
    /// Steps of agents performed.
    pub steps: u64,
    /// The period in steps of the main loop, where one was found.
    pub period: Option<i64>,
    /// Reads that state the tile they expect, of all reads, in the longest run.
    pub reads: (u64, u64),
}

/// A kernel at any trip count: `None` where the kernel itself refuses it.
pub type AtTrips<'a> = &'a dyn Fn(i64) -> Option<Program>;

/// Decides a kernel; `at` compiles it for other trip counts of its main loop, where there is such a parameter.
pub fn verify(given: &Program, at: Option<AtTrips<'_>>, rules: Rules, options: Options) -> Verdict {
    let classes = classes(given);
    let mut v = Verdict {
        outcome: Outcome::Proved,
        violation: None,
        notes: Vec::new(),
        classes: classes.iter().map(|(_, name)| name.clone()).collect(),
        steps: 0,
        period: None,
        reads: (0, 0),
    };
    let mut bounded: Option<(Option<(i64, i64)>, String)> = None;
    for (cluster, class) in &classes {
        let found = match at {
            Some(at) => every_trip(at, *cluster, class, rules, options, &mut v),
            None => {
                let seen = canon::run(Job {
                    prog: given,
                    rules,
                    cluster: *cluster,
                    watch: None,
                    max_steps: options.max_steps,
                });
                take(&mut v, &seen, None, class)
                    .map(|()| Reach::Only(None, "no parameter of the kernel sets the trip count of a main loop".into()))
            }
        };
        match found {
            Ok(Reach::All) => {}
            Ok(Reach::Only(trips, why)) => bounded = Some((trips, why)),
            Err(outcome) => {
                v.outcome = outcome;
                return v;
            }
        }
    }
    if let Some((trips, why)) = bounded {
        v.outcome = Outcome::Bounded { trips, why };
    }
    v
}

enum Reach {
    All,
    Only(Option<(i64, i64)>, String),
}

/// Takes over what one run showed; an error ends the verification with that outcome.
fn take(v: &mut Verdict, seen: &Seen, trips: Option<i64>, class: &str) -> Result<(), Outcome> {
    v.steps += seen.steps;
    v.reads = seen.reads;
    for f in seen.findings.iter().filter(|f| f.note) {
        if !v.notes.iter().any(|g| g.site == f.site && g.kind == f.kind) {
            v.notes.push(f.clone());
        }
    }
    let faults: Vec<Finding> = seen.findings.iter().filter(|f| !f.note).cloned().collect();
    let hang = match &seen.end {
        End::Hung(w) => w.clone(),
        End::Limit => return Err(Outcome::GaveUp { why: format!("a run of {} steps did not end", seen.steps) }),
        _ => Vec::new(),
    };
    if !faults.is_empty() || seen.end != End::Finished {
        v.violation = Some(Violation { trips, class: class.to_string(), findings: faults, hang });
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

fn every_trip(
    at: AtTrips<'_>,
    cluster: i64,
    class: &str,
    rules: Rules,
    options: Options,
    v: &mut Verdict,
) -> Result<Reach, Outcome> {
    let run = |n: i64, watch: bool| {
        let prog = at(n)?;
        let watch = if watch { at(n + 1).and_then(|next| main_loop(&prog, &next)) } else { None };
        let seen = canon::run(Job { prog: &prog, rules, cluster, watch, max_steps: options.max_steps });
        Some(seen)
    };
    // Short runs first, so that a fault is shown at its smallest.
    let mut upto = options.max_trips.min(12);
    for n in 0..=upto {
        if let Some(seen) = run(n, false) {
            take(v, &seen, Some(n), class)?;
        }
    }
    let proof = recurrence(at, cluster, rules, options, &run);
    let (need, why) = match proof {
        Ok((need, period)) => {
            v.period = Some(period);
            (need, None)
        }
        Err(why) => (options.max_trips.min(40), Some(why)),
    };
    for n in upto + 1..=need {
        if let Some(seen) = run(n, false) {
            take(v, &seen, Some(n), class)?;
        }
    }
    upto = upto.max(need);
    Ok(match why {
        None => Reach::All,
        Some(why) => Reach::Only(Some((0, upto)), why),
    })
}

/// Looks for a recurring state. The largest trip count that must be tried one by one, and the period.
fn recurrence(
    at: AtTrips<'_>,
    cluster: i64,
    rules: Rules,
    options: Options,
    run: &dyn Fn(i64, bool) -> Option<Seen>,
) -> Result<(i64, i64), String> {
    let any = at(options.max_trips.min(12)).ok_or("the kernel refuses long runs")?;
    let period = common_period(&any).ok_or("slots, phases and moduli have no small common period")?;
    let mut n = 4 * period + 12;
    loop {
        if n > options.max_trips {
            return Err(format!("no state recurs within {} steps", options.max_trips));
        }
        let (Some(long), Some(short)) = (at(n), at(n - period)) else {
            return Err("the kernel refuses some trip counts".into());
        };
        let (Some(seen), Some(before)) = (run(n, true), run(n - period, true)) else {
            return Err("the kernel refuses some trip counts".into());
        };
        match recurs(&short, &long, &before.states, &seen.states, period, cluster, rules) {
            Ok(Some((start, tail))) => {
                let need = start + tail + period;
                if need <= n {
                    return Ok((need, period));
                }
                n = n.max(need);
            }
            Ok(None) => {}
            Err(why) => return Err(why),
        }
        n += 2 * period;
    }
}

type States = [(i64, Snapshot)];

/// Where the long run starts to repeat, and how many steps before its end it stops to.
fn recurs(
    short: &Program,
    long: &Program,
    before: &States,
    states: &States,
    period: i64,
    cluster: i64,
    rules: Rules,
) -> Result<Option<(i64, i64)>, String> {
    let frame = long.vars.len();
    let bounds = bound_variables(short, long, period);
    // The end is first seen where the two runs part.
    let together = before
        .iter()
        .zip(states)
        .take_while(|(a, b)| a.0 == b.0 && equal_but(&a.1, &b.1, (frame, period), &bounds))
        .count();
    let Some((last, _)) = together.checked_sub(1).map(|i| &before[i]) else { return Ok(None) };
    let steps = before.last().map_or(0, |s| s.0) + 1;
    let tail = steps - last;
    let find = |i: i64| states.iter().find(|(n, _)| *n == i).map(|(_, s)| s);
    for (i, early) in states.iter().take_while(|(i, _)| i + period <= *last) {
        let Some(late) = find(i + period) else { continue };
        let Some(moves) = period::shifted(early, late, period) else { continue };
        let moving = period::moving_variables(early, late, frame);
        let world = World::new(long, rules, cluster, &[]);
        let phases = phase_moves(&world, long, &moves);
        let mut check = shift::Shift::new(short, long, period, moving, phases);
        check.check()?;
        if check.threshold <= *i {
            return Ok(Some((*i, tail)));
        }
    }
    Ok(None)
}

/// How far each declaration's phases move; `None` where its stages disagree.
fn phase_moves(world: &World<'_>, prog: &Program, moves: &period::Moves) -> BTreeMap<u16, Option<i64>> {
    (0..prog.mbars.len() as u16)
        .map(|bar| {
            // Another CTA's copy of a barrier may stand still: only the owner of a role uses it.
            let mut by: Vec<i64> = world
                .mbars_of(bar)
                .filter_map(|ix| moves.get(&Family::Clock(world.phase_clock(ix))).copied())
                .collect();
            by.dedup();
            (bar, if by.len() == 1 { Some(by[0]) } else { None })
        })
        .collect()
}

/// Variables that hold a bound: set to a constant that grows with the trip count.
fn bound_variables(short: &Program, long: &Program, period: i64) -> Vec<bool> {
    let mut list = vec![false; long.vars.len()];
    for (a, b) in short.code.iter().zip(&long.code) {
        if let (Instr::Set(v, Expr::Const(x)), Instr::Set(_, Expr::Const(y))) = (a, b)
            && y - x == period
        {
            list[*v as usize] = true;
        }
    }
    list
}

/// Whether two states of runs a period apart are equal, but for variables that hold bounds, and for indices of agents that
/// have run to their loop's end: those are equal counted from the end.
fn equal_but(a: &Snapshot, b: &Snapshot, (frame, period): (usize, i64), bounds: &[bool]) -> bool {
    if a.entries.len() != b.entries.len() {
        return false;
    }
    let mut var = 0;
    a.entries.iter().zip(&b.entries).all(|(x, y)| {
        let mut skip = false;
        if let (Entry::Count(Family::Variable, early), Entry::Count(_, late)) = (x, y) {
            skip = bounds.get(var % frame.max(1)).copied().unwrap_or(false) || late - early == period;
            var += 1;
        }
        skip || x == y
    })
}

/// The index of the first loop whose bound grows by one with the trip count.
fn main_loop(prog: &Program, next: &Program) -> Option<u16> {
    let grows = |(a, b): (&warpline_sim::ir::Loop, &warpline_sim::ir::Loop)| {
        let (x, y) = (a.bound.as_ref()?.constant()?, b.bound.as_ref()?.constant()?);
        if y - x == 1 { a.var } else { None }
    };
    prog.loops.iter().zip(&next.loops).find_map(grows)
}

/// Whether `next` is `prog` with one more step of some loop, and otherwise the same kernel.
pub fn one_step_more(prog: &Program, next: &Program) -> bool {
    prog.code.len() == next.code.len()
        && prog.grid == next.grid
        && prog.shared_bytes() == next.shared_bytes()
        && main_loop(prog, next).is_some()
}

/// A number of steps after which slots, parities and every modulus of the kernel are back where they were.
fn common_period(prog: &Program) -> Option<i64> {
    let mut of = vec![2];
    of.extend(prog.objects.iter().filter(|o| o.class != Class::Global).map(|o| o.slots as i64));
    of.extend(prog.mbars.iter().map(|b| 2 * b.stages as i64));
    let mut moduli = |e: &Expr| {
        e.visit(&mut |x| {
            if let Expr::Binary(Binary::Rem | Binary::Div, p) = x
                && let Some(c) = p.1.constant()
                && c > 0
            {
                of.push(c);
            }
        });
    };
    for i in &prog.code {
        match i {
            Instr::Set(_, e) | Instr::Unless(e, _) => moduli(e),
            _ => {}
        }
    }
    of.into_iter().try_fold(1i64, |all, x| {
        let l = all / gcd(all, x) * x;
        (l <= 120).then_some(l)
    })
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One launch index for each class of CTAs that guards can make: the grid's corners, where control flow looks at the grid.
fn classes(prog: &Program) -> Vec<(i64, String)> {
    let last = (prog.grid.len() - 1).max(0);
    if !World::depends_on_grid(prog) {
        return vec![(last, "all CTAs alike".into())];
    }
    let (m, n) = (prog.grid.m - 1, prog.grid.n - 1);
    let mut list: Vec<(i64, String)> = Vec::new();
    for (row, col, name) in [(0, 0, "interior"), (m, 0, "last row"), (0, n, "last column"), (m, n, "corner")] {
        let id = (0..prog.grid.len()).find(|id| {
            let at = prog.grid.at(*id);
            (at.0, at.1) == (row, col)
        });
        if let Some(id) = id
            && !list.iter().any(|(other, _)| *other == id)
        {
            list.push((id, format!("{name} ({row}, {col})")));
        }
    }
    list
}
