//! All trip counts of one CTA class: short runs one by one, a proof that they carry on, and the runs it asks for.

use rayon::prelude::*;
use warpline_sim::ir::{Loop, Program};
use warpline_sim::protocol::Rules;

use crate::canon::{self, Job, Landing, Seen};
use crate::trips::HANDED;
use crate::watch::grown;
use crate::{
    AtTrips, AtTurns, Options, Outcome, Place, Reach, Verdict, carry, classes, family, limits, lines, nested, row, take,
};

/// What is run, how, and for which CTA.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) given: &'a Program,
    pub(crate) rules: Rules,
    pub(crate) cluster: i64,
    /// It stands for all while each CTA makes as many turns.
    pub(crate) shared: bool,
    pub(crate) options: Options,
    /// When flights land in its runs.
    pub(crate) landing: Landing,
}

impl Run<'_> {
    pub(crate) fn job<'p>(&self, prog: &'p Program) -> Job<'p> {
        let Run { rules, cluster, landing, .. } = *self;
        Job { prog, rules, cluster, max_steps: self.options.max_steps, landing }
    }

    /// The same with turns begun together.
    pub(crate) fn turning(&self) -> Self {
        Run { landing: Landing::Turns, ..*self }
    }

    /// The same with little in flight.
    pub(crate) fn early(&self) -> Self {
        Run { landing: Landing::Early, ..*self }
    }

    /// The same with nothing in flight.
    pub(crate) fn at_once(&self) -> Self {
        Run { landing: Landing::AtOnce, ..*self }
    }

    pub(crate) fn once(&self, prog: &Program) -> Seen {
        canon::run(self.job(prog))
    }
}

/// Trip counts tried one by one before anything else, so that a fault is shown at its smallest.
const SHORT: i64 = 12;
/// Trip counts tried where there is no proof for all.
const TRIED: i64 = 40;

/// Decides one class; also a number for the path of each short run.
pub(crate) fn every_trip(
    run: &Run<'_>,
    (at, turned): (AtTrips<'_>, Option<AtTurns<'_>>),
    class: &str,
    v: &mut Verdict,
) -> Result<(Reach, Vec<u64>), Outcome> {
    let upto = run.options.max_trips.min(SHORT);
    let mut paths = Vec::new();
    let mut each = |v: &mut Verdict, from: i64, to: i64| {
        for n in from..=to {
            if let Some(prog) = at(n) {
                let seen = run.once(&prog);
                if n <= upto {
                    paths.push(seen.path);
                }
                let handed = turned.filter(|_| prog.hands_out());
                // The grid says how many turns these are; a fault is shown at the fewest.
                let turns = handed.map(|_| prog.grid.len() - run.cluster);
                let place = Place { trips: Some(n), turns };
                let taken = take(v, &prog, &seen, place, class);
                if let (Some(turned), Some(all), true) = (handed, turns, taken.is_err()) {
                    for (t, prog) in (1..all).filter_map(|t| Some((t, turned(n, t)?))) {
                        take(v, &prog, &run.once(&prog), Place { turns: Some(t), ..place }, class)?;
                    }
                }
                taken?;
            }
        }
        Ok(())
    };
    each(v, 0, upto)?;
    let around = around(run, at);
    let turned = match (turned, &around) {
        (Some(turned), Some(_)) => Some(every_turn(run, turned, class, v)?),
        _ => None,
    };
    let reach = match turned {
        Some(Ok((more, turned))) => {
            // With the values given CTAs may make more turns or fewer; of these runs all make as many.
            paths = turned;
            match more.or_else(|| limits::run_time(run.given)) {
                None => Reach::All,
                Some(why) => Reach::Only(Some((0, None)), why),
            }
        }
        turned => match in_some_order(run, at) {
            Ok(proof) => {
                v.period = v.period.max(Some(proof.period));
                each(v, upto + 1, proof.needs() - 1)?;
                match around.or_else(|| limits::handed(run.given)).or_else(|| limits::run_time(run.given)) {
                    None => Reach::All,
                    Some(why) => {
                        let more = turned.and_then(Result::err).map_or(String::new(), |why| format!(" ({why})"));
                        Reach::Only(Some((0, None)), why + &more)
                    }
                }
            }
            Err(why) => {
                // A slip in one step of many shows in no run so far.
                let long = carry::recurs(run, at).map_or(0, |recurs| 2 * recurs);
                let need = run.options.max_trips.min(TRIED.max(long));
                each(v, upto + 1, need)?;
                // The size that was asked about, too.
                let seen = run.once(run.given);
                take(v, run.given, &seen, Place::default(), class)?;
                Reach::Only(Some((0, Some(upto.max(need)))), why)
            }
        },
    };
    Ok((reach, paths))
}

/// The period and where it starts, in one of the orders that a run can be made in; or why there is none in the first.
fn in_some_order(run: &Run<'_>, at: AtTrips<'_>) -> Result<carry::Proof, String> {
    let other = || carry::find(&run.early(), at).or_else(|_| carry::find(&run.at_once(), at));
    carry::find(run, at).or_else(|why| other().map_err(|_| why))
}

/// What is still left out of all steps and turns, and a number for the path of each run.
type Turned = (Option<String>, Vec<u64>);

/// Decides all steps and turns of a class, or says why it cannot.
fn every_turn(run: &Run<'_>, at: AtTurns<'_>, class: &str, v: &mut Verdict) -> Result<Result<Turned, String>, Outcome> {
    let found = match nested::find(&run.turning(), at) {
        Ok(found) => found,
        Err(why) => {
            slips(run, at, class, v)?;
            return Ok(Err(why));
        }
    };
    let line = |(n, turns): (usize, &i64)| {
        let n = n as i64;
        let progs: Vec<(i64, Program)> = (0..*turns).filter_map(|t| Some((t, at(n, t)?))).collect();
        let seen = family::runs(&progs.iter().map(|(_, prog)| run.job(prog)).collect::<Vec<_>>());
        progs.into_iter().zip(seen).map(|((t, prog), seen)| (n, t, prog, seen)).collect::<Vec<_>>()
    };
    let runs: Vec<_> = found.turns.par_iter().enumerate().flat_map_iter(line).collect();
    if run.shared && !runs.par_iter().all(|(.., prog, _)| classes::evenly(prog)) {
        return Ok(Err("CTAs that share jobs evenly are told apart at some numbers of steps or turns".into()));
    }
    for (n, t, prog, seen) in &runs {
        take(v, prog, seen, Place { trips: Some(*n), turns: Some(*t) }, class)?;
    }
    v.period = v.period.max(Some(found.steps.period));
    v.turns = v.turns.max(found.period);
    let apart = at(UNEVEN.0, UNEVEN.1).zip(at(UNEVEN.0, UNEVEN.1 + 1)).and_then(|(a, b)| row::alike(&a, &b).err());
    let apart = apart.map(|line| format!("line {line} tells CTAs apart otherwise than by the turns that each makes"));
    let few = runs.iter().filter(|(n, t, ..)| *n <= SHORT && *t <= FEW).map(|(.., seen)| seen.path).collect();
    Ok(Ok((apart, few)))
}

/// Where turns do not carry on: runs of as many as it takes until all is back. A slip in one turn of many shows in no other.
fn slips(run: &Run<'_>, at: AtTurns<'_>, class: &str, v: &mut Verdict) -> Result<(), Outcome> {
    for n in 0..=SHORT {
        let line = |t| at(n, t);
        let Some(turns) = lines::recurs(&run.turning(), &line).map(|recurs| 2 * recurs) else { continue };
        if !at(n, turns).is_some_and(|prog| run.once(&prog).fails()) {
            continue;
        }
        for (t, prog) in (0..=turns).filter_map(|t| Some((t, at(n, t)?))) {
            let seen = run.once(&prog);
            if seen.fails() {
                take(v, &prog, &seen, Place { trips: Some(n), turns: Some(t) }, class)?;
            }
        }
    }
    Ok(())
}

/// Turns of the runs whose paths are compared between CTAs.
const FEW: i64 = 4;

/// Steps and turns of the kernel whose text is looked at for where CTAs of a row differ.
const UNEVEN: (i64, i64) = (6, 2);

/// A loop around the one that grows: it runs as often as the kernel's values say, and that is not varied.
fn around(run: &Run<'_>, at: AtTrips<'_>) -> Option<String> {
    let n = run.options.max_trips.min(SHORT);
    let (short, long) = (at(n)?, at(n + 1)?);
    for (inner, _) in grown(&short, &long) {
        let around =
            |l: &&Loop| l.head <= inner.head && l.end >= inner.end && (l.head, l.end) != (inner.head, inner.end);
        if let Some(l) = short.loops.iter().find(around) {
            let line = short.site(l.head).line;
            if l.var.is_none() && short.hands_out() {
                let n = HANDED - 1;
                return Some(format!("the loop at line {line} goes on with tiles that are handed out, here with {n}"));
            }
            return Some(format!("the loop at line {line} around the main loop runs as often as the values given say"));
        }
    }
    None
}

/// The index of the first loop whose bound grows by one with the trip count.
pub(crate) fn main_loop(prog: &Program, next: &Program) -> Option<u16> {
    let grows = |(a, b): (&Loop, &Loop)| {
        let (x, y) = (prog.launch_value(a.bound.as_ref()?)?, next.launch_value(b.bound.as_ref()?)?);
        if y - x == 1 { a.var } else { None }
    };
    prog.loops.iter().zip(&next.loops).find_map(grows)
}

/// The trip count of the main loop, if `next` has one step more of it and is the same kernel otherwise.
pub fn trip_count(prog: &Program, next: &Program) -> Option<i64> {
    if !one_step_more(prog, next) {
        return None;
    }
    let var = main_loop(prog, next)?;
    prog.loops.iter().find(|l| l.var == Some(var)).and_then(|l| prog.launch_value(l.bound.as_ref()?))
}

/// Whether `next` is `prog` with one more step of some loop, and otherwise the same kernel.
pub fn one_step_more(prog: &Program, next: &Program) -> bool {
    prog.code.len() == next.code.len()
        && prog.grid == next.grid
        && prog.shared_bytes() == next.shared_bytes()
        && main_loop(prog, next).is_some()
}
