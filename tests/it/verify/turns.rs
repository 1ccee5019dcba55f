//! Loops around the main loop. A kernel with a fault only after many steps, many turns or a product of both is never
//! proved. A proved kernel also holds at numbers of steps and turns that the proof did not run.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpline_scenarios::{Inputs, Text};
use warpline_sim::engine::rules;
use warpline_sim::ir::Program;
use warpline_verify::{Options, Outcome, Trips, Verdict, verify};

use warpline_tests::TempDir;

use super::verify as ask;

/// A persistent ring whose reader gives a slot back only where a guard holds.
fn ring(guard: &str, jobs: &str) -> String {
    format!(
        "kernel t(tiles = 3, turns = 3, stages = 2)
  needs sm_90
  warps 2
  let jobs = {jobs}
  grid 4
  global A: bf16[64 * 4096, 64 * 4096]
  shared a[stages]: bf16[64, 64]
  mbar full[stages] (1)   mbar empty[stages] (32)
  role load = warp 0
  role use = warp 1

  all:
    warp 0: elect: init full, empty;  fence mbarrier_init
    barrier
  load: elect:
    var it = 0
    for job in 0..jobs:
      for i in 0..tiles:
        wait empty[it % stages] for it / stages - 1
        arrive full[it % stages] expect bytes(a)
        tma A[job, i] -> a[it % stages] signals full[it % stages]
        it += 1
  use:
    var it = 0
    for job in 0..jobs:
      for i in 0..tiles:
        wait full[it % stages] for it / stages
        lds a[it % stages] : A[job, i] -> r
        if {guard}: arrive empty[it % stages]
        it += 1
"
    )
}

/// The same with jobs that four CTAs share.
fn shared(guard: &str) -> String {
    ring(guard, "4 * turns").replace("for job in 0..jobs", "for job in cta.id..jobs step grid.size")
}

/// The same over tiles that `clc` hands out.
fn handed(guard: &str) -> String {
    format!(
        "kernel t(tiles = 3, turns = 3, stages = 2)
  needs sm_100a
  warps 2
  grid turns
  global A: bf16[64 * 4096, 64 * 4096]
  shared a[stages]: bf16[64, 64]   shared next: i32
  mbar full[stages] (1)   mbar empty[stages] (32)   mbar got (1)   mbar free (32)
  role load = warp 0
  role use = warp 1

  all:
    warp 0: elect: init full, empty, got, free;  fence mbarrier_init
    barrier
  load: elect:
    var it = 0
    var n = 0
    var job = cta.id
    while job.valid:
      for i in 0..tiles:
        wait empty[it % stages] for it / stages - 1
        arrive full[it % stages] expect bytes(a)
        tma A[job, i] -> a[it % stages] signals full[it % stages]
        it += 1
      wait free for n - 1
      arrive got expect 16
      clc -> next signals got
      wait got for n
      get next -> job
      n += 1
  use:
    var it = 0
    var n = 0
    var job = cta.id
    while job.valid:
      for i in 0..tiles:
        wait full[it % stages] for it / stages
        lds a[it % stages] : A[job, i] -> r
        if {guard}: arrive empty[it % stages]
        it += 1
      wait got for n
      get next -> job
      arrive free
      n += 1
"
    )
}

fn compiled(text: &str, values: &[(&str, i64)]) -> Option<Program> {
    let mut set = BTreeMap::new();
    let mut given = BTreeMap::new();
    for (name, value) in values {
        let of = if ["tiles", "turns", "stages"].contains(name) { &mut set } else { &mut given };
        of.insert(name.to_string(), *value);
    }
    Text::read("t.pipe", text).compile_given(&Inputs { set: &set, cores: Some(4) }, &given).ok()
}

fn decided(text: &str) -> Verdict {
    let none = BTreeMap::new();
    let base = Text::read("t.pipe", text).compile_symbolic(&Inputs { set: &none, cores: Some(4) });
    let base = base.unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    let trips = Trips::find(&base).expect("a trip count");
    assert!(trips.turns(), "no turns:\n{text}");
    verify(&base, rules(&warpline_models::embedded("b200").unwrap()), Options::default())
}

/// Whether one kernel, with all values given, is free of faults.
fn holds(text: &str, steps: i64, turns: i64) -> bool {
    let p = compiled(text, &[("tiles", steps), ("turns", turns)]).unwrap();
    verify(&p, rules(&warpline_models::embedded("b200").unwrap()), Options::default()).holds()
}

#[test]
fn a_ring_that_carries_its_counter_on_is_proved() {
    let held = "tiles > 0";
    for text in [ring(held, "turns"), ring(held, "2 * turns"), handed(held)] {
        let v = decided(&text);
        assert_eq!(v.outcome, Outcome::Proved, "{text}");
        assert!(v.turns.is_some());
    }
}

#[test]
fn what_is_back_after_many_turns_or_steps_is_proved() {
    // A product is no part of a linear inequality, so the condition is not left out (lemma 20).
    let turns = decided(&ring("job % 50 * (job % 50) < 2500", "turns"));
    assert_eq!((turns.outcome, turns.turns), (Outcome::Proved, Some(50)));
    // Of steps, for the turns as they are given.
    let steps = decided(&ring("i % 50 * (i % 50) < 2500", "turns"));
    assert!(steps.holds() && steps.period.is_some_and(|p| p % 50 == 0), "{:?} {:?}", steps.outcome, steps.period);
}

#[test]
fn a_role_without_an_operation_does_not_hide_the_period_of_another() {
    // The loader of no tiles passes all its turns at once, while the reader still does something in every sixth.
    let each = |what: &str| {
        let reader = "      for i in 0..tiles:\n        wait full";
        ring("tiles > 0", "turns").replace(reader, &format!("      if job % 6 == 5: {what}\n{reader}"))
    };
    assert_eq!(decided(&each("alu fma 64 x 16")).outcome, Outcome::Proved);
    assert_eq!(decided(&each("arrive empty[0]")).outcome, Outcome::Violated);
}

#[test]
fn turns_that_all_roles_skip_do_not_hide_the_period() {
    let text = ring("tiles > 0", "turns");
    let (each, some) = ("0..jobs:\n      for i", "0..jobs:\n      if job % 3 < 1: for i");
    assert_eq!(decided(&text.replace(each, some)).outcome, Outcome::Proved);
    // The loader alone skips.
    assert_eq!(decided(&text.replacen(each, some, 1)).outcome, Outcome::Violated);
}

#[test]
fn a_slip_in_one_turn_or_step_of_many_is_found() {
    // All but one in 70 are right, and a proof from fewer would be one of a wrong kernel.
    for (guard, slip) in
        [("job % 70 != 55", (1, 56)), ("(3 * job + 1) / 2 % 90 != 71", (1, 48)), ("i % 70 != 55", (56, 1))]
    {
        for stages in ["stages = 2", "stages = 1"] {
            let text = ring(guard, "turns").replace("stages = 2", stages);
            let v = decided(&text);
            assert_eq!(v.outcome, Outcome::Violated, "{text}");
            let x = v.violation.unwrap();
            let (steps, turns) = (x.trips.unwrap(), x.turns.unwrap_or(1));
            assert!((steps, turns) >= slip, "{steps} steps, {turns} turns: {text}");
            assert!(!holds(&text, steps, turns.max(3)), "{text}");
            assert!(holds(&text, slip.0, slip.1 - 1) && holds(&text, slip.0 - 1, slip.1), "{text}");
        }
    }
}

#[test]
fn a_slip_that_needs_more_turns_than_are_looked_for_is_not_proved() {
    for guard in ["job % 1000 != 900", "job % 50 + 50 * (job / 50 % 40) != 1999", "it % 4999 != 4998"] {
        assert_ne!(decided(&ring(guard, "turns")).outcome, Outcome::Proved, "{guard}");
    }
}

#[test]
fn an_order_that_drifts_does_not_hide_a_period() {
    // Nine steps a turn in a ring of seven: in the order of a plain run all is back after 70 turns, not 14.
    ask(&["blackwell/gemm_2sm_persistent", "--set", "stages=7"]).proved();
}

#[test]
fn a_value_that_is_as_large_as_the_bound_by_chance_is_not_varied_for_it() {
    // `turns` and `jobs` are 3, and 9 of what `turns` counts.
    let text = ring("tiles > 0", "cdiv(9, turns)");
    let none = BTreeMap::new();
    let base = Text::read("t.pipe", &text).compile_symbolic(&Inputs { set: &none, cores: Some(4) }).unwrap();
    let prog = Trips::find(&base).unwrap().turned(2, 5).unwrap().bind();
    assert!(prog.loops.iter().any(|l| l.bound.as_ref().and_then(|b| b.constant()) == Some(5)), "{:?}", prog.loops);
    assert_eq!(decided(&text).outcome, Outcome::Proved);
}

#[test]
fn what_goes_wrong_late_is_not_proved() {
    let late = [
        ("job < 90", "many turns"),
        ("i < 300", "many steps"),
        ("it < 5000", "a product of both"),
        ("job + i < 200", "a sum of both"),
        ("job * 8 + i != 400", "one place far away"),
        ("i < 60 or job < 60", "many of each"),
        ("it - job < 2500", "steps that outrun turns"),
        ("it + 900 > 40 * job", "turns that outrun steps"),
    ];
    for (guard, what) in late {
        for text in [ring(guard, "turns"), handed(guard)] {
            assert_ne!(decided(&text).outcome, Outcome::Proved, "{what}: {text}");
        }
    }
}

#[test]
fn numbers_of_turns_that_the_text_singles_out_are_found() {
    // Which branch there is, is known when the kernel is compiled.
    for (guard, text) in [
        ("(3 * turns - 13) / 4 != 7", handed as fn(&str) -> String),
        ("(40 - jobs) / 7 != 2", |guard| ring(guard, "turns")),
        ("(tiles + 2 * turns - 30) / 7 != 4 or it % 4 != 1", handed),
        ("(36 - tiles) / 6 != 1", shared),
    ] {
        assert_ne!(decided(&text(guard)).outcome, Outcome::Proved, "{guard}");
    }
}

#[test]
fn places_counted_from_the_last_turn_are_looked_at() {
    // No kernel that is run has such a place, and of the most turns it is another than of fewer: what is seen of the one
    // run that stands for all of them says nothing of it.
    for guard in ["job != turns - 50", "turns - job != 45 or i != 3", "2 * job != turns + 60", "job + i + 50 != turns"]
    {
        for text in [ring(guard, "turns"), shared(&guard.replace("turns", "(jobs / 4)")), handed(guard)] {
            assert!(holds(&text, 4, 5), "{text}");
            assert_ne!(decided(&text).outcome, Outcome::Proved, "{text}");
        }
    }
}

#[test]
fn kernels_that_part_long_before_their_ends_are_proved_for_what_they_do() {
    // The last turns of each are others, and so is the turn in its middle; all of it is right.
    for what in ["if job >= turns - 3: alu int 1", "if 2 * job < turns: alu int 1"] {
        let text = ring("tiles > 0", "turns").replace("        if tiles", &format!("        {what}\n        if tiles"));
        let v = decided(&text);
        assert!(v.holds(), "{text}");
        // What is decided in the middle moves with both.
        assert_eq!(v.outcome == Outcome::Proved, what.contains('3'), "{text}");
    }
}

#[test]
fn what_looks_at_the_number_of_a_tile_is_not_proved() {
    // Of tiles in a row every other one is odd; at run time any may come.
    assert_ne!(decided(&handed("job % 2 * (job % 2) < 2")).outcome, Outcome::Proved);
}

#[test]
fn a_fault_that_needs_turns_says_how_many() {
    // With the turns given nothing is wrong.
    for text in [ring("job < 6", "turns"), handed("job < 6")] {
        assert!(holds(&text, 2, 3));
        let v = decided(&text);
        if let Some(x) = &v.violation {
            assert!(x.turns.is_some_and(|t| t > 6) && !holds(&text, x.trips.unwrap(), x.turns.unwrap()), "{x:#?}");
        } else {
            assert_ne!(v.outcome, Outcome::Proved);
        }
    }
}

#[test]
fn persistent_kernels_are_proved_for_every_number_of_jobs() {
    let json = ask(&["hopper/persistent"]).proved().json.clone();
    assert_eq!(json["turns"], "jobs = t x 132", "{json:#}");
    assert_eq!(json["classes"], serde_json::json!(["all CTAs alike"]), "{json:#}");
}

#[test]
fn ctas_that_share_jobs_evenly_are_one_class_while_nothing_else_tells_them_apart() {
    let v = decided(&shared("tiles > 0"));
    assert_eq!((v.outcome, v.classes), (Outcome::Proved, vec!["all CTAs alike".to_string()]));
    let told_apart = [
        ("cta.id < 3", "the last CTA hangs"),
        ("cta.id >= 3 - tiles", "alike for all at three steps, not at two"),
        ("cta.id >= (jobs - 8) / 4", "alike for all at two turns, not at three"),
        ("job < jobs - 1", "the last job of the last CTA"),
        ("job != 5", "one job of one CTA"),
    ];
    for (guard, what) in told_apart {
        assert_eq!(decided(&shared(guard)).outcome, Outcome::Violated, "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// A guard of random slopes: proved only if it holds wherever one looks.
    #[test]
    fn what_is_proved_holds_elsewhere(
        (a, b, c) in (-3i64..=3, -3i64..=3, -2i64..=2),
        (e, f) in (-1i64..=1, -2i64..=2),
        d in -30i64..60,
        at in prop::collection::vec((0i64..70, 1i64..40), 3),
        kind in 0..3,
    ) {
        let guard = format!("{a} * i + {b} * job + {c} * it + {d} + {e} * i * (tiles - i) + {f} * cta.id >= 0");
        let text = match kind {
            0 => handed(&guard),
            1 => shared(&guard),
            _ => ring(&guard, "turns"),
        };
        if decided(&text).outcome == Outcome::Proved {
            for (steps, turns) in at {
                prop_assert!(holds(&text, steps, turns), "{steps} steps, {turns} turns:\n{text}");
            }
        }
    }
}

/// A persistent kernel that loads this block without a mask. A `let` or a parameter is the number of jobs.
fn loads(block: &str, by_let: bool) -> String {
    let (jobs, of) = if by_let { ("cols = 2", "  let jobs = 4 * cols\n") } else { ("jobs = 8", "") };
    format!(
        "kernel later({jobs}, tiles = 3)
  needs sm_90
{of}  grid 2   warps 1
  global A: f16[64 * jobs, 64 * tiles]   global B: f16[64 * (jobs / 4 + 1), 64 * tiles]
  shared a: f16[64, 64]
  all:
    for job in cta.id..jobs step grid.size:
      for i in 0..tiles:
        load {block} -> a
        barrier
"
    )
}

#[test]
fn blocks_of_later_jobs_begin_inside_or_are_assumed_to() {
    let dir = TempDir::new();
    let asked = |block: &str, by_let| {
        let file = dir.write("later.pipe", loads(block, by_let));
        let json = ask(&[&file, "--machine", "h200", "--no-suggestion"]).json;
        let assumed = json["assumptions"].to_string().contains("begin inside the matrix for other numbers of jobs");
        (json["verdict"].as_str().unwrap().to_string(), assumed)
    };
    let proved = || "proved".to_string();
    for block in ["A[job, i]", "A[job / 4, i]", "B[job / 4, i]"] {
        assert_eq!(asked(block, true), (proved(), false), "{block}");
        assert_eq!(asked(block, false), (proved(), false), "{block}");
    }
    assert_eq!(asked("B[job / 3, i]", true), (proved(), true));
    // With 9 jobs, the last block begins behind the end.
    assert_eq!(asked("B[job / 3, i]", false), ("violated".to_string(), false));
}
