//! What must hold of the search of every order, whatever it reduces.

use proptest::prelude::*;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_strategies::{Bounds, Mutant, Protocol};
use warpline_verify::{SearchResult, Settings, search, search_every};

use super::cases;

/// States of an unreduced search; a protocol that needs more says nothing.
const STATES: usize = 60_000;

/// States of searches that make every move a second time in the whole world.
const CHECKED: usize = 400;

fn told(m: &Mutant) -> String {
    format!("{}\n{}", m.edit.words, m.protocol.text())
}

fn held(result: Result<(), String>, text: &str) -> Result<(), TestCaseError> {
    result.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))
}

/// All reductions on, against all off.
fn reductions_change_nothing(program: &Program, rules: Rules) -> Result<(), String> {
    let bare = search(program, rules, 0, Settings { reduced: false, ..Settings::of(STATES) });
    let less = search(program, rules, 0, Settings::of(STATES));
    match (&bare.found, &less.found) {
        (SearchResult::TooMany, _) => Ok(()),
        (x, y) if (*x == SearchResult::Clean) != (*y == SearchResult::Clean) => {
            Err(format!("{x:?} unreduced, {y:?} reduced"))
        }
        _ if less.states > bare.states => Err(format!("{} states unreduced, {} reduced", bare.states, less.states)),
        _ => Ok(()),
    }
}

/// All trip counts at once, against each of the small ones.
fn all_at_once(at: &(dyn Fn(i64) -> Option<Program> + Sync), stages: i64, rules: Rules) -> Result<(), String> {
    let all = search_every(at, rules, 0, Settings::of(STATES));
    if matches!(all.found, SearchResult::TooMany | SearchResult::Unfit(_)) {
        return Ok(());
    }
    let clean = all.found == SearchResult::Clean;
    for n in 0..=3 * stages + 2 {
        let Some(program) = at(n) else { continue };
        let one = search(&program, rules, 0, Settings::of(STATES)).found;
        let wrong = !matches!(one, SearchResult::Clean | SearchResult::TooMany);
        if clean && wrong || all.trips == Some(n) && one == SearchResult::Clean {
            return Err(format!("{:?} (trips {:?}) for all trip counts, {one:?} for {n}", all.found, all.trips));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn reductions_change_nothing_in_right_protocols(p in any_with::<Protocol>(Bounds::tiny())) {
        held(reductions_change_nothing(&p.program(), p.rules()), &p.text())?;
    }

    #[test]
    fn reductions_change_nothing_of_mutants(m in any_with::<Mutant>(Bounds::tiny())) {
        if let Some(program) = m.at(m.protocol.tiles) {
            held(reductions_change_nothing(&program, m.protocol.rules()), &told(&m))?;
        }
    }

    #[test]
    fn all_trip_counts_at_once_are_each_one(p in any_with::<Protocol>(Bounds::tiny())) {
        held(all_at_once(&|n| p.at(n), p.stages, p.rules()), &p.text())?;
    }

    #[test]
    fn all_trip_counts_at_once_are_each_one_of_mutants(m in any_with::<Mutant>(Bounds::tiny())) {
        held(all_at_once(&|n| m.at(n), m.protocol.stages, m.protocol.rules()), &told(&m))?;
    }

    // A move is made from the parts it meets: with all parts there it is the same and changes no other.
    #[test]
    fn a_move_meets_only_what_it_says(m in any_with::<Mutant>(Bounds::tiny())) {
        if let Some(program) = m.at(m.protocol.tiles) {
            search(&program, m.protocol.rules(), 0, Settings { checked: true, ..Settings::of(CHECKED) });
        }
    }
}
