//! Laws of every protocol and every mutant, for every means of deciding it.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p warpline-tests laws` looks longer.

use proptest::prelude::*;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_sim::report::FindingKind;
use warpline_strategies::{Bounds, Family, Mutant, Protocol};
use warpline_verify::{Options, Outcome, SearchResult, Settings, Verdict, search, verify, walk};

use super::cases;

/// States a search may look at; a protocol that needs more says nothing.
const STATES: usize = 4_000;

/// What the search does not look for: fences, which no order of steps shows; which tile a place holds; ends that come too early;
/// and a parity that flipped back, which a few steps survive. A random schedule meets these.
const UNSEEN: [FindingKind; 4] =
    [FindingKind::Fence, FindingKind::ParityAlias, FindingKind::LifeCycle, FindingKind::Stale];

fn one_trip_count(program: &Program, rules: Rules) -> Verdict {
    verify(program, rules, Options::default())
}

/// The verifier that decides from one run, against a search of every order that knows nothing of happens-before.
fn engines_agree(program: &Program, rules: Rules) -> Result<(), String> {
    let found = search(program, rules, 0, Settings::of(STATES)).found;
    let v = one_trip_count(program, rules);
    let wrong = v.outcome == Outcome::Violated;
    let kinds: Vec<_> = v.violation.iter().flat_map(|x| x.findings.iter().map(|f| f.kind)).collect();
    let unseen = !kinds.is_empty() && kinds.iter().all(|k| UNSEEN.contains(k));
    match found {
        SearchResult::TooMany => Ok(()),
        _ if matches!(v.outcome, Outcome::GaveUp { .. }) => Ok(()),
        SearchResult::Clean if !wrong => Ok(()),
        SearchResult::Clean if unseen && (0..64).any(|seed| !walk(program, rules, 0, seed, 1_000_000).clean()) => {
            Ok(())
        }
        SearchResult::Clean => Err(format!("one run finds {kinds:?}, no order does")),
        found if !wrong => Err(format!("one run finds nothing, some order {found:?}")),
        _ => Ok(()),
    }
}

/// The verdict for all trip counts, against that of each small one alone. `at` is the program at a trip count.
fn trip_counts_agree(
    symbolic: &Program,
    at: &(dyn Fn(i64) -> Option<Program> + Sync),
    stages: i64,
    rules: Rules,
) -> Result<(), String> {
    let all = verify(symbolic, rules, Options::default());
    let least = all.violation.as_ref().and_then(|v| v.trips);
    for n in 0..=3 * stages + 2 {
        let Some(program) = at(n) else { continue };
        let one = one_trip_count(&program, rules).outcome;
        let agree = match (&all.outcome, &one) {
            (Outcome::GaveUp { .. }, _) => true,
            (Outcome::Violated, Outcome::Violated) => least <= Some(n),
            (Outcome::Violated, _) => least != Some(n),
            (Outcome::Proved | Outcome::Bounded { .. }, one) => {
                matches!(one, Outcome::Proved | Outcome::Bounded { .. })
            }
        };
        if !agree {
            return Err(format!("{:?} (least {least:?}) for all trip counts, {one:?} for {n}", all.outcome));
        }
    }
    Ok(())
}

/// What holds at this trip count never fails in schedules drawn at random.
fn schedules_agree(program: &Program, rules: Rules, seeds: u64) -> Result<(), String> {
    if !one_trip_count(program, rules).holds() {
        return Ok(());
    }
    match (0..seeds).map(|seed| (seed, walk(program, rules, 0, seed, 1_000_000))).find(|(_, w)| !w.clean()) {
        None => Ok(()),
        Some((seed, w)) => Err(format!("the schedule of seed {seed} meets {:?} {:#?}", w.end, w.findings)),
    }
}

fn held(result: Result<(), String>, text: &str) -> Result<(), TestCaseError> {
    result.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))
}

fn told(m: &Mutant) -> String {
    format!("{}\n{}", m.edit.words, m.protocol.text())
}

/// A few warps, up to three stages.
fn small() -> Bounds {
    Bounds { producers: 1..=2, consumers: 1..=2, stages: 1..=3, tiles: 0..=7, ..Bounds::default() }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn the_two_engines_agree_on_right_protocols(p in any_with::<Protocol>(Bounds::tiny())) {
        held(engines_agree(&p.program(), p.rules()), &p.text())?;
    }

    #[test]
    fn the_two_engines_agree_on_mutants(m in any_with::<Mutant>(Bounds::tiny())) {
        if let Some(program) = m.at(m.protocol.tiles) {
            held(engines_agree(&program, m.protocol.rules()), &told(&m))?;
        }
    }

    #[test]
    fn all_trip_counts_are_each_trip_count(p in any_with::<Protocol>(small())) {
        held(trip_counts_agree(&p.symbolic(), &|n| p.at(n), p.stages, p.rules()), &p.text())?;
    }

    #[test]
    fn all_trip_counts_are_each_trip_count_of_mutants(m in any_with::<Mutant>(small())) {
        if let Ok(symbolic) = m.edit.apply(&m.protocol.symbolic()) {
            held(trip_counts_agree(&symbolic, &|n| m.at(n), m.protocol.stages, m.protocol.rules()), &told(&m))?;
        }
    }

    #[test]
    fn a_mutant_that_holds_never_fails_in_random_schedules(m in any_with::<Mutant>(small())) {
        if let Some(program) = m.at(m.protocol.tiles) {
            held(schedules_agree(&program, m.protocol.rules(), 100), &told(&m))?;
        }
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn what_is_proved_never_fails_in_a_thousand_schedules_drawn_at_random(p in any_with::<Protocol>(small())) {
        held(schedules_agree(&p.program(), p.rules(), 1_000), &p.text())?;
    }
}

/// Every family, with the numbers that tell its code paths apart: one stage and several, one warp and several.
#[test]
fn every_family_is_proved_and_meets_no_fault_in_random_schedules() {
    for family in Family::ALL {
        for (consumers, stages) in [(1, 1), (1, 2), (2, 3)] {
            let Some(p) = Protocol::small(family, consumers, stages, 5) else { continue };
            let v = verify(&p.symbolic(), p.rules(), Options::default());
            let held = v.outcome == Outcome::Proved || (family == Family::Neighbors && v.holds());
            assert!(held, "{p:?} {:?} {:#?}\n{}", v.outcome, v.violation, p.text());
            schedules_agree(&p.program(), p.rules(), 50).unwrap_or_else(|e| panic!("{p:?}: {e}\n{}", p.text()));
        }
    }
}

#[test]
fn a_seed_is_one_schedule_for_ever() {
    let p = Protocol::small(Family::Tma, 2, 2, 4).unwrap();
    let (program, rules) = (p.program(), p.rules());
    let go = |seed| walk(&program, rules, 0, seed, 1_000_000);
    assert_eq!(go(1), go(1));
    let moves: Vec<u64> = (0..3).map(|seed| go(seed).moves).collect();
    assert_eq!(moves, [109, 118, 105]);
}
