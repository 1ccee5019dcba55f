//! Numbered barriers in any order: what happens-before over one run says of them, a search of every order says too.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpline_scenarios::{Inputs, compile};
use warpline_sim::ir::Program;
use warpline_verify::{Engine, Options, Outcome, SearchResult, Settings, search, verify};

use super::cases;

/// States of a search; these kernels need fewer.
const STATES: usize = 60_000;

/// What a warp does next.
const STEPS: [&str; 6] =
    ["bar sync x (64)", "bar arrive x (64)", "bar sync y (64)", "bar arrive y (64)", "bar sync x (96)", "barrier"];

fn program(warps: &[Vec<usize>]) -> (String, Program) {
    let mut text = format!("kernel t()\n  grid 1  warps {}\n  named x  named y\n  all:\n", warps.len());
    for (w, steps) in warps.iter().enumerate() {
        let steps: Vec<&str> = steps.iter().map(|s| STEPS[*s]).collect();
        text += &format!("    warp {w}: alu fma 1 x 32;  {}\n", steps.join(";  "));
    }
    let text = text.replace(";  \n", "\n");
    let program = compile("t.pipe", &text, &Inputs { set: &BTreeMap::new(), cores: Some(1) });
    (text.clone(), program.unwrap_or_else(|e| panic!("{e:#?}\n{text}")))
}

/// What one run says of a kernel, and what a search does, reduced or not.
fn both(program: &Program) -> (Outcome, SearchResult, SearchResult) {
    let rules = warpline_sim::engine::rules(&warpline_models::embedded("a100").unwrap());
    let every = |reduced| search(program, rules, 0, Settings { reduced, ..Settings::of(STATES) }).found;
    (verify(program, rules, Options::default()).outcome, every(true), every(false))
}

fn agree(warps: &[Vec<usize>]) -> Result<Outcome, TestCaseError> {
    let (text, program) = program(warps);
    let (one, reduced, all) = both(&program);
    prop_assert_eq!(
        reduced == SearchResult::Clean,
        all == SearchResult::Clean,
        "{:?} reduced, {:?}\n{}",
        reduced,
        all,
        &text
    );
    prop_assert_eq!(
        one == Outcome::Violated,
        all != SearchResult::Clean,
        "{:?}, every order {:?}\n{}",
        one,
        all,
        &text
    );
    prop_assert!(!matches!(one, Outcome::GaveUp { .. }), "{:?}\n{}", one, &text);
    Ok(one)
}

/// A meeting of some of four warps as it is meant: two at a numbered barrier, the first of which may go on at once; or all.
type Meeting = (usize, usize, usize, bool);

/// What each warp does so that these meet in this order.
fn meant(meetings: &[Meeting]) -> Vec<Vec<usize>> {
    let mut warps = vec![Vec::new(); WARPS];
    for &(bar, a, b, goes_on) in meetings {
        if bar == 2 || a == b {
            warps.iter_mut().for_each(|w| w.push(ALL));
        } else {
            warps[a].push(2 * bar + goes_on as usize);
            warps[b].push(2 * bar);
        }
    }
    warps
}

const WARPS: usize = 4;
/// The step that is the barrier of all.
const ALL: usize = STEPS.len() - 1;

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn one_run_says_of_any_steps_what_every_order_says(
        warps in prop::collection::vec(prop::collection::vec(0..STEPS.len(), 0..5), 2..5)
    ) {
        agree(&warps)?;
    }

    #[test]
    fn one_run_says_of_meetings_what_every_order_says(
        meetings in prop::collection::vec((0..3usize, 0..WARPS, 0..WARPS, any::<bool>()), 0..8)
    ) {
        agree(&meant(&meetings))?;
    }
}

/// Meetings two by two at one barrier: right where each time one of those who met before comes along, or all met.
#[test]
fn meetings_are_right_and_wrong() {
    let outcome = |meetings: &[Meeting]| agree(&meant(meetings)).unwrap();
    for right in [
        &[(0, 0, 1, false), (0, 0, 1, false), (0, 1, 0, true)][..],
        &[(0, 0, 1, false), (1, 1, 2, false), (0, 2, 0, false)],
        &[(0, 0, 1, true), (2, 0, 0, false), (0, 2, 3, true)],
    ] {
        assert_eq!(outcome(right), Outcome::Proved, "{right:?}");
    }
    for wrong in [
        &[(0, 0, 1, false), (0, 2, 3, false)][..],
        &[(0, 0, 1, false), (0, 0, 2, false)],
        &[(0, 0, 1, true), (0, 0, 1, true)],
        &[(0, 0, 1, true), (1, 0, 2, false), (0, 2, 3, false)],
    ] {
        assert_eq!(outcome(wrong), Outcome::Violated, "{wrong:?}");
    }
}

#[test]
fn a_search_shows_a_schedule_of_a_mixed_generation() {
    let (_, program) = program(&[vec![0], vec![0], vec![0], vec![0]]);
    let (one, reduced, all) = both(&program);
    let mixed = SearchResult::Fault(warpline_sim::report::FindingKind::ArrivalCount);
    assert_eq!((one, reduced, all), (Outcome::Violated, mixed.clone(), mixed));
    let rules = warpline_sim::engine::rules(&warpline_models::embedded("a100").unwrap());
    let options = Options { engine: Engine::Search, ..Options::default() };
    let v = verify(&program, rules, options);
    let shown = v.violation.expect("a violation");
    assert!(shown.findings.iter().any(|f| f.code == warpline_sim::code::Code::Mixed), "{:#?}", shown.findings);
    assert!(!shown.steps.is_empty());
}
