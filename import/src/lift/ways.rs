//! The ways to lift an entry: one after the other, until one gives a program.

use crate::flow::Flow;
use crate::ptx::{Entry, Error, Module};

use super::build::{NO_BOUNDS, program};
use super::emit::{NO_COUNT_OF_DATA, NO_TRIP_COUNT, NOT_FOLLOWED};
use super::facts::defaults::defaults;
use super::iterations::data;
use super::launch::cases::{Outcome, Wanted};
use super::launch::possible_launch::Later;
use super::memory::always::Accesses;
use super::memory::anywhere::Unknown;
use super::walk::shared::How;
use super::walk::warps::warps_in;
use super::{Launch, Lifted};

/// Lifts an entry in one case. An error also has what would decide what is missing.
pub(super) fn lift_case(
    module: &Module,
    entry: &Entry,
    flow: &Flow,
    names: (&str, &str),
    launch: &Launch,
    outcomes: &[Outcome],
) -> Result<Lifted, (Error, Option<Wanted>)> {
    let mut how = How { words: true, unknown: Unknown::Anywhere, counts_capped: false, second_try: false };
    let mut done = match lift_with(module, entry, flow, names, launch, (outcomes, how)) {
        Err(e) if !launch.timed => {
            match e.0.expected.as_str() {
                // Counts of memory may be what the addresses have no bounds for.
                NO_BOUNDS if !defaults(entry, flow).is_empty() => how.counts_capped = true,
                // It may be a value of the last iteration, a part of which is done, or of what a search finds.
                NOT_FOLLOWED | NO_COUNT_OF_DATA => how.second_try = true,
                _ => return Err(e),
            }
            lift_with(module, entry, flow, names, launch, (outcomes, how)).map_err(|_| e)
        }
        result => result,
    }?;
    if done.unknown_at.is_some() {
        how.unknown = Unknown::LeftOut;
        let (module, entry, flow, launch) = (module.clone(), entry.clone(), flow.clone(), launch.clone());
        let (file, text, outcomes) = (names.0.to_string(), names.1.to_string(), outcomes.to_vec());
        done.without =
            Some(Later::new(move || lift_with(&module, &entry, &flow, (&file, &text), &launch, (&outcomes, how)).ok()));
    }
    Ok(done)
}

fn lift_with(
    module: &Module,
    entry: &Entry,
    flow: &Flow,
    (file, text): (&str, &str),
    launch: &Launch,
    (outcomes, how): (&[Outcome], How),
) -> Result<Lifted, (Error, Option<Wanted>)> {
    let (s, lists) = warps_in(module, entry, flow, launch, outcomes, how)?;
    let (words, searches) = (s.mail.knows_words(), !s.searches.is_empty());
    // Without the words: they may be no help, where there are any.
    let without = std::cell::OnceCell::new();
    if !words {
        without.get_or_init(|| Ok((s.clone(), lists.clone())));
    }
    let again = |way: Way| {
        let (s, lists) = without
            .get_or_init(|| warps_in(module, entry, flow, launch, outcomes, How { words: false, ..how }))
            .clone()?;
        program(s, lists, (entry, file, text), launch, way).map_err(|e| (e, None))
    };
    let first = match program(s, lists, (entry, file, text), launch, Way::default()) {
        Err(_) if words => again(Way::default()),
        result => result.map_err(|e| (e, None)),
    };
    let no_count = |e: &(Error, Option<Wanted>)| [NO_TRIP_COUNT, NO_COUNT_OF_DATA].contains(&e.0.expected.as_str());
    // Where a comparison sets no trip count: the ways that make loops of their own for it.
    let otherwise = |way: Way| {
        let skips = Way { skips: true, ..way };
        let split = |way: Way| Way { compared: Compared::UpToSome, ..way };
        let known = Way { compared: Compared::UpToKnown, ..way };
        [known, split(way), skips, split(skips)].into_iter().find_map(|way| again(way).ok())
    };
    let second = match first {
        Err(e) if !launch.timed && no_count(&e) => otherwise(Way::default()).ok_or(e),
        result => result,
    };
    let numbered = || -> Result<Lifted, (Error, Option<Wanted>)> {
        let done = again(Way { compared: Compared::InEach, ..Way::default() });
        let accesses = if done.is_ok() { Accesses::Conditional } else { Accesses::Done };
        let mut done =
            done.or_else(|e| again(Way { compared: Compared::InEach, accesses, ..Way::default() }).map_err(|_| e))?;
        let with_steps = again(Way { compared: Compared::InEachWithSteps, accesses, ..Way::default() });
        done.stepped = with_steps.ok().map(Box::new);
        Ok(done)
    };
    let mut done = match second {
        // What a search finds differs by iteration, whatever accesses do.
        Err(e) if searches && e.0.expected == data::NO_RESET => numbered().map_err(|_| e),
        Err(e) if !launch.timed => {
            let with = |accesses| {
                let way = Way { accesses, ..Way::default() };
                match again(way) {
                    Err(e) if no_count(&e) => otherwise(way).ok_or(e),
                    result => result,
                }
            };
            let Ok(mut done) = with(Accesses::Done) else { return numbered().map_err(|_| e) };
            done.without = with(Accesses::LeftOut).ok().map(|other| Later::new(move || Some(other.clone())));
            Ok(done)
        }
        result => result,
    }?;
    if !launch.timed && done.differs {
        let mut each = numbered().ok().map(Box::new);
        let with_steps = each.as_mut().and_then(|n| n.stepped.take());
        // Where data are taken to be the same in each iteration, accesses that they decide may happen always.
        let always = || again(Way { accesses: Accesses::Done, ..Way::default() }).ok().filter(|l| l.partial.is_none());
        (done.numbered, done.stepped) = match done.partial.is_some().then(always).flatten() {
            Some(always) => (Some(Box::new(always)), with_steps.or(each)),
            None => (each, with_steps),
        };
    }
    Ok(done)
}

/// What becomes of comparisons of an iteration with values of the launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Compared {
    /// The values are trip counts.
    #[default]
    WithTripCounts,
    /// Each holds up to some iteration, and splits the loop.
    UpToSome,
    /// The same, with constants for trip counts that are known.
    UpToKnown,
    /// Each has any outcome in each iteration.
    InEach,
    /// The same, and loops whose length differs by iteration have at least one step.
    InEachWithSteps,
}

/// How a program is made of the operations of all warps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    pub(super) compared: Compared,
    /// Loops become loops over the iterations that do something, where values of the launch decide which these are.
    pub(super) skips: bool,
    /// What becomes of accesses behind conditions that would not be decided.
    pub(super) accesses: Accesses,
}
