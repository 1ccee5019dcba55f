//! The limit of steps of a search for repairs.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, Text};
use warpline_verify::{Options, RepairReport, TrialSteps, Trips, suggest, verify};

/// Looks for a repair of a wait that is one phase early.
fn searched(max_steps: u64) -> RepairReport {
    let text = "\
kernel t(tiles = 3)
  needs sm_90
  grid 1   warps 2
  global A: f16[64, 16 * (tiles + 1)]
  shared a[2]: f16[64, 16]
  mbar full[2] (1)   mbar empty[2] (32)
  all:
    warp 0: elect: init full, empty;  fence mbarrier_init
    barrier
  warp 0: elect:
    for i in 0..tiles:
      wait empty[i % 2] for i / 2 - 2
      arrive full[i % 2] expect bytes(a)
      tma A[0, i] -> a[i % 2] signals full[i % 2]
  warp 1:
    for i in 0..tiles:
      wait full[i % 2] for i / 2
      lds a[i % 2] : A[0, i] -> r
      arrive empty[i % 2]
";
    let none = BTreeMap::new();
    let program = Text::read("t.pipe", text).compile_symbolic(&Inputs { set: &none, cores: None });
    let program = program.expect("a kernel");
    let rules = warpline_sim::engine::rules(&warpline_models::embedded("h200").expect("a machine"));
    let violation = verify(&program, rules, Options::default()).violation.expect("a fault");
    let options = Options { max_steps, ..Options::default() };
    let trips = Trips::find(&program).expect("a trip count");
    let broken = violation.trips.and_then(|n| trips.at(n)).expect("the faulty kernel").bind();
    let steps = &mut TrialSteps::of(&program, options);
    suggest((&program, &broken), rules, &violation, &[], &|_| true, steps)
}

#[test]
fn a_search_ends_when_its_steps_are_taken() {
    let (all, some) = (searched(Options::MAX_STEPS), searched(100));
    assert!(all.found.is_some(), "{all:?}");
    assert!(some.found.is_none() && some.limited && some.tried <= all.tried, "{some:?}");
}
