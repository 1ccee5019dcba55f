//! Kernels for which one run, or a few trip counts, look better than the kernel is. None of them may be called proved.

use super::kernel;

const BUFFER: &str = "  grid 8, 8   warps 2
  global A: f16[512, k]   global C: f16[512, 512]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
    for i in 0..tiles:
      load: load A[cta.m, i] -> a
      barrier
      use:
        lds a : A[cta.m, i] -> r
        alu fma 64 x 16 uses r
      LAST
";

fn buffer(last: &str) -> super::Verdict {
    let head = "kernel t(k = 128)\n  let tiles = k / 16\n";
    kernel("m4-max", &(head.to_string() + &BUFFER.replace("LAST", last)))
}

#[test]
fn the_kernel_they_are_made_from_is_proved() {
    buffer("barrier").proved();
}

#[test]
fn a_barrier_that_ends_late_in_long_runs_only() {
    // Comparisons with a number far away, plainly and behind a division or a sum: i = 80 is past every short run.
    for guard in ["i < 80", "i / 4 < 20", "i - 60 < 20", "i != 80", "i * 2 < 160"] {
        let v = buffer(&format!("if {guard}: barrier"));
        assert!(["violated", "bounded"].contains(&v.word()), "{guard}: {:#}", v.json);
        assert!(v.word() == "violated" || v.json["trip_counts"][1].as_i64() < Some(80), "{guard}");
    }
}

#[test]
fn a_barrier_that_some_trip_counts_lack() {
    // Known when the kernel is compiled: the number of steps decides, and no run of another number shows it.
    for guard in ["tiles % 50 != 49", "tiles != 90", "tiles < 100", "k % 1600 != 0"] {
        let v = buffer(&format!("if {guard}: barrier"));
        assert_ne!(v.word(), "proved", "{guard}");
    }
    buffer("if tiles % 7 != 3: barrier").violated("RAW race", "load A").first_at(3);
}

#[test]
fn a_barrier_that_some_ctas_lack() {
    for guard in ["cta.m != 3", "cta.m % 4 != 1", "cta.m < 3 or cta.m > 3", "cta.id != 20", "cta.m != cta.n"] {
        let v = buffer(&format!("if {guard}: barrier"));
        assert_ne!(v.word(), "proved", "{guard}");
    }
    // An interval of rows in the middle is found: the path changes twice.
    buffer("if cta.m < 3: barrier").violated("RAW race", "load A");
    // Two parts of the grid that are both right.
    let v = buffer("if cta.m < 3: barrier else: barrier; barrier");
    v.proved();
    assert_eq!(v.json["classes"], serde_json::json!(["rows 0 to 2", "rows 3 to 7"]));
}

#[test]
fn a_guard_that_tells_ctas_apart_at_few_trip_counts() {
    // At three steps it is alike for all; at two the first CTA hangs.
    let text = "kernel t(tiles = 3)
  grid 4   warps 2
  mbar full (1)   mbar empty (1)
  all: warp 0: elect: init full, empty
  all: barrier
  warp 0: elect:
    for i in 0..tiles:
      wait empty for i - 1
      arrive full
  warp 1: elect:
    for i in 0..tiles:
      wait full for i
      if cta.id >= 3 - tiles: arrive empty
";
    kernel("h200", text).violated("deadlock", "wait empty for i - 1");
}

#[test]
fn a_tile_of_another_cta_is_not_taken_for_the_own_one() {
    let text = BUFFER.replace("LAST", "barrier").replace(": A[cta.m, i] ->", ": A[cta.n, i] ->");
    kernel("m4-max", &("kernel t(k = 128)\n  let tiles = k / 16\n".to_string() + &text))
        .violated("stale tile", "lds a");
}

#[test]
fn a_loop_around_the_main_loop_that_no_value_sets_needs_not_be_varied() {
    let body =
        BUFFER.replace("LAST", "barrier").replace("    for i in 0..tiles:", "    for job in 0..3, i in 0..tiles:");
    kernel("m4-max", &("kernel t(k = 128)\n  let tiles = k / 16\n".to_string() + &body)).proved();
    // One that a value sets is varied with it.
    let body = body.replace("0..3", "0..jobs");
    kernel("m4-max", &("kernel t(k = 128, jobs = 3)\n  let tiles = k / 16\n".to_string() + &body)).proved();
}

#[test]
fn two_loops_one_after_the_other_are_not_one() {
    let second = "barrier
    for j in 0..tiles:
      load: load A[cta.m, j] -> a
      if j < 90: barrier
      use:
        lds a : A[cta.m, j] -> r
        alu fma 64 x 16 uses r
      barrier";
    let v = buffer(second);
    assert!(["bounded", "violated"].contains(&v.word()), "{:#}", v.json);
}

#[test]
fn a_wait_that_can_come_a_phase_too_early() {
    // In the order of the warps the second phase is complete when warp 1 comes; it may come before the first.
    let text = "kernel t()
  grid 1   warps 2
  mbar full (1)
  all: warp 0: elect: init full
  all: barrier
  warp 0: elect:
    arrive full
    wait full for 0
    arrive full
  warp 1: elect:
    wait full for 1
";
    kernel("h200", text).violated("parity alias", "wait full for 1");
}

#[test]
fn an_expectation_that_can_come_after_the_phase() {
    // Warp 0 expects, warp 1 arrives: if it arrives first, the phase is complete without the bytes.
    let text = "kernel t()
  grid 1   warps 2
  global A: f16[64, 64]
  shared a: f16[64, 64]
  mbar full (1)
  all: warp 0: elect: init full;  fence mbarrier_init
  all: barrier
  warp 0: elect:
    expect full bytes(a)
    tma A[0, 0] -> a signals full
    wait full for 0
  warp 1: elect:
    arrive full
";
    kernel("h200", text).violated("transaction bytes", "expect full");
    let ordered = text.replace("(1)\n", "(2)\n").replace("    wait full", "    arrive full\n    wait full");
    kernel("h200", &ordered).proved();
}

#[test]
fn arrivals_under_way_that_are_too_many_for_a_phase() {
    // Two warps' copies arrive at a barrier for one: which of them ends the first phase depends on the memory.
    let text = "kernel t()
  grid 1   warps 2
  global A: f16[64, 64]
  shared a[2]: f16[32, 64]
  mbar full (32)
  all: warp 0: elect: init full
  all: barrier
  all:
    cp A[0, 0] -> a[warp]
    cp.arrive full noinc
    wait full for 0
";
    assert_ne!(kernel("h200", text).word(), "bounded");
}

#[test]
fn which_arrivals_share_a_phase_matters_where_somebody_looks() {
    // Three arrive one by one at a barrier for two, in any order; nobody waits for it.
    let text = "kernel t(tiles = 4)
  needs sm_90
  cluster 2   warps 3
  mbar gone (2)
  all:
    warp 0: elect: init gone;  fence mbarrier_init.cluster
    cluster.sync
  all: elect:
    for i in 0..tiles: arrive gone @cta 1 - cta cluster
  all: cluster.sync
";
    kernel("h200", text).proved();
    let pairs = text.replace("1 - cta", "1 - cta count 2");
    kernel("h200", &pairs).proved();
    // Two at once may be one too many for the open phase.
    let two = text.replace("arrive gone @cta 1 - cta", "arrive gone @cta 1 - cta count (warp == 2 ? 2 : 1)");
    assert_ne!(kernel("h200", &two).word(), "proved");
    // One phase or another ends what somebody waits for.
    let waits = text.replace("  all: cluster", "  warp 0: elect:\n    wait gone for 0\n  all: cluster");
    assert_ne!(kernel("h200", &waits).word(), "proved");
}

#[test]
fn values_known_at_run_time_are_one_case_of_many() {
    let body = BUFFER.replace("LAST", "barrier").replace("0..tiles", "0..n");
    let text = "kernel t(k = 128)\n  let tiles = k / 16\n  trips n = any run 8\n".to_string() + &body;
    // The matrix has as many columns as `tiles`, whatever `n` is at run time.
    kernel("m4-max", &text).violated("coverage", "load A").first_at(9);
    // One of its own size for each turn is read at an index that is asked for anew.
    let text = text.replace("trips n = any run 8", "trips n = any per i run 8").replace("0..n", "0..n(0)");
    assert_eq!(kernel("m4-max", &text).word(), "bounded");
}

#[test]
fn a_trip_count_that_the_kernel_refuses_carries_nothing_on() {
    let text = "kernel t(k = 320)
  let tiles = k / 16
  require WHAT
  grid 4   warps 2
  global A: f16[256, k]
  shared a: f16[64, 16]
  all:
    for i in 0..tiles:
      warp 0: load A[cta.m, i] -> a
      barrier
      warp 1: lds a : A[cta.m, i] -> r
      if i != 50:
        barrier
";
    let sound = text.replace("      if i != 50:\n        barrier\n", "      barrier\n");
    for refused in 1..12 {
        let require = format!("tiles != {refused}");
        assert_ne!(kernel("m4-max", &text.replace("WHAT", &require)).word(), "proved", "{refused}");
        assert_ne!(kernel("m4-max", &sound.replace("WHAT", &require)).word(), "violated", "{refused}");
    }
    // What is refused for ever is no gap.
    kernel("m4-max", &sound.replace("WHAT", "tiles >= 2")).proved();
    assert_ne!(kernel("m4-max", &text.replace("WHAT", "tiles < 21 or tiles > 40")).word(), "proved");
}

#[test]
fn a_trip_count_that_is_not_varied_is_not_called_decided() {
    // The only loop count is no linear function of a parameter, or the parameter also says where tiles are.
    for (count, tile) in [("n * n", "i"), ("n", "i + n"), ("n % 7", "i + n"), ("min(n, 5)", "i + n")] {
        let text = format!(
            "kernel t(n = 4)
  grid 4   warps 2
  global A: f16[4096, 16000]
  shared a: f16[64, 16]
  all:
    for i in 0..{count}:
      warp 0: load A[cta.m, {tile}] -> a
      barrier
      warp 1: lds a : A[cta.m, {tile}] -> r
      barrier
"
        );
        let v = kernel("m4-max", &text);
        // Or the loop is proved for any number of iterations, with the given value of the parameter elsewhere.
        let any = !v.json["any_jobs"].is_null() && v.json["bound"]["n"] == 4;
        let varied = !v.json["varied"].is_null() || any;
        assert!(varied || v.word() == "bounded" && v.json["trip_counts"].is_null(), "{count}: {:#}", v.json);
    }
}

#[test]
fn a_quotient_by_the_number_of_steps() {
    // The dividend keeps between two multiples of the divisor, whatever the number of steps is.
    for guard in ["(i + tiles) / tiles == 1", "(i + 3 * tiles) % tiles < tiles", "(tiles + i) / tiles > 0"] {
        buffer(&format!("if {guard}: barrier")).proved();
    }
    // It passes a multiple in long runs only, or late in them, or in some CTAs.
    for guard in [
        "(tiles + 60) / tiles != 1",
        "i / (tiles - i) < 20",
        "(3 * tiles + 12 * cta.m) / tiles != 4",
        "(3 * tiles - 2 * cta.m) / tiles > 0",
        "(tiles + i) / tiles * 90 >= tiles",
        "(i + 80) / tiles > 0",
    ] {
        let v = buffer(&format!("if {guard}: barrier"));
        assert_ne!(v.word(), "proved", "{guard}");
    }
}

/// Two warps of each CTA meet in a word of a counter.
fn words(len: u32, adds: &str, waits: &str) -> super::Verdict {
    let text = format!(
        "kernel t(n = 3)
  grid 3   warps 2
  global done: counter[{len}]
  warp 0: elect: red.add done[{adds}], 1 release gpu
  warp 1: elect: wait done[{waits}] >= 1 acquire gpu
"
    );
    kernel("h200", &text)
}

#[test]
fn words_of_counters_that_depend_on_the_place() {
    let v = words(9, "3 * cta.m", "cta.m + 2 * cta.m");
    v.proved();
    assert_eq!(v.json["classes"], serde_json::json!(["all CTAs alike"]));
    // In CTA 0 all of these are word 0.
    for waits in ["2 * cta.m", "cta.m % 2 * 3", "0", "cta.m * cta.m * 3"] {
        words(13, "3 * cta.m", waits).violated("deadlock", "wait done");
    }
    assert_eq!(words(6, "3 * cta.m", "3 * cta.m").word(), "violated");
}

#[test]
fn a_while_loop_whose_exit_a_parameter_sets_through_a_variable() {
    // The barrier is missing in the ninth pass, and the kernel as given has six.
    let text = "kernel t(k = 128, turns = 3)
  let tiles = k / 16
  grid 8   warps 2
  global A: f16[512, k]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
    var t = 0
    let end = 2 * turns
    while t < end:
      for i in 0..tiles:
        load: load A[cta.m, i] -> a
        barrier
        use:
          lds a : A[cta.m, i] -> r
          alu fma 64 x 16 uses r
        if t != 8: barrier
      t += 1
";
    assert_ne!(kernel("m4-max", text).word(), "proved");
}
