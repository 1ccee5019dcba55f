//! Loops that count and are written with `while`, and two loops whose trip counts two parameters set.

use super::kernel;

/// One buffer, a `while` loop, and a statement in it behind the last barrier.
fn counting(start: &str, test: &str, extra: &str, step: &str, behind: &str) -> String {
    format!(
        "kernel t(tiles = 8)
  grid 4   warps 2
  global A: f16[4096, 16 * (tiles + 64)]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
{start}
    while {test}:
      load: load A[cta.m, i] -> a
      barrier
      use: lds a : A[cta.m, i] -> r
      barrier
      {extra}
      {step}
    {behind}
"
    )
}

const START: &str = "    var i = 0";
const LATE: &str = "if i == tiles / 2 and i > 100:\n        use: lds a : A[cta.m, i] -> q";

#[track_caller]
fn decides(text: &str, verdict: &str, varied: Option<&str>) {
    let v = kernel("h200", text);
    assert_eq!(v.word(), verdict, "{text}\n{:#}", v.json);
    if verdict == "proved" {
        assert_eq!(v.json["varied"].as_str(), varied, "{text}");
    }
}

#[test]
fn a_loop_that_counts_is_proved_for_every_trip_count() {
    for test in ["i < tiles", "tiles > i", "i <= tiles - 1", "tiles - 1 >= i"] {
        decides(&counting(START, test, "warp.sync", "i += 1", ""), "proved", Some("tiles = n"));
    }
    // Another variable may be set between the index and the loop.
    let apart = "    var i = 0\n    var it = 7";
    decides(&counting(apart, "i < tiles", "it += 1", "i += 1", ""), "proved", Some("tiles = n"));
    decides(
        &counting(START, "i < tiles", "if tiles % 3 == 5: load: barrier", "i += 1", ""),
        "proved",
        Some("tiles = n"),
    );
}

#[test]
fn a_late_read_in_such_a_loop_is_met() {
    let late = |at: &str| format!("if i == {at}:\n        use: lds a : A[cta.m, i] -> q");
    for at in ["0", "5", "tiles - 2"] {
        decides(&counting(START, "i < tiles", &late(at), "i += 1", ""), "violated", None);
    }
    // Far beyond the value given.
    let v = kernel("h200", &counting(START, "i < tiles", LATE, "i += 1", ""));
    assert_ne!(v.word(), "proved", "{:#}", v.json);
}

#[test]
fn a_loop_that_does_not_count_is_not_taken_for_one() {
    // It steps over iterations, is left by another way, or begins elsewhere.
    for (start, extra, step) in [
        (START, "if i % 2 == 0: i += 1", "i += 1"),
        (START, "warp.sync", "if i != 3: i += 1\n      else: i += 2"),
        ("    var i = cta.m", "if cta.m == 2: i += 1", "i += 1"),
    ] {
        let v = kernel("h200", &counting(start, "i < tiles", extra, step, ""));
        assert_ne!(v.word(), "proved", "{:#}", v.json);
    }
    // The last value is read behind the loop, where with no iteration it is the first one.
    let used = "if i == 0 and tiles == 0: load: barrier";
    let v = kernel("h200", &counting(START, "i < tiles", "warp.sync", "i += 1", used));
    assert_ne!(v.word(), "proved", "{:#}", v.json);
}

/// Two loops that follow each other, each with a parameter of its own, given in elements.
fn sequential(extra: &str) -> String {
    format!(
        "kernel t(k = 96, n = 80)
  let tiles = k / 16
  let more = n / 16
  grid 32   warps 2
  global A: f16[4096, 16 * (tiles + more + 64)]
  role load = warp 0
  role use = warp 1
  shared a: f16[64, 16]
  all:
    for i in 0..tiles:
      load: load A[cta.m, i] -> a
      barrier
      use: lds a : A[cta.m, i] -> r
      barrier
    for l in 0..more:
      load: load A[cta.m, l] -> a
      barrier
      use: lds a : A[cta.m, l] -> r
      barrier
      {extra}
"
    )
}

#[test]
fn parameters_in_elements_set_the_trip_counts_of_two_loops() {
    let v = kernel("h200", &sequential("warp.sync"));
    assert_eq!(v.word(), "proved", "{:#}", v.json);
    let late = "if tiles == 3 and more == 9 and l < more - 1:\n        use: lds a : A[cta.m, l] -> q";
    let v = kernel("h200", &sequential(late));
    assert_eq!(v.word(), "violated", "{:#}", v.json);
}
