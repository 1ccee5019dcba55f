//! Verdicts on kernels that pass data through global memory.

use super::{kernel, mutated, verify};

/// Each step stores a block of a workspace and reads one of the steps before.
const STEPS: &str = "kernel t(k = 128)
  let tiles = k / 16
  needs sm_90
  grid 4   warps 2
  global W: f32[256, k]
  reg r: f32[64, 16], q: f32[64, 16]
  all:
    for i in 0..tiles:
      warp 0: store r -> W[cta.m, i]
      BETWEEN
      warp 1: ldg W[cta.m, i] -> q
      BEHIND
";

#[test]
fn a_workspace_that_a_barrier_hands_on_is_proved_for_every_trip_count() {
    let text = STEPS.replace("BETWEEN", "barrier").replace("BEHIND", "barrier");
    kernel("h200", &text).proved();
    let early = STEPS.replace("      BETWEEN\n", "").replace("BEHIND", "barrier");
    kernel("h200", &early).violated("RAW race", "ldg W");
}

#[test]
fn a_block_of_a_workspace_that_is_used_again_needs_both_barriers() {
    let text = STEPS.replace("cta.m, i]", "cta.m, 0]").replace("f32[256, k]", "f32[256, 16]");
    // The first store in each step meets the read of the step before.
    let right = text.replace("BETWEEN", "barrier").replace("BEHIND", "barrier");
    kernel("h200", &right).proved();
    let late = text.replace("BETWEEN", "barrier").replace("      BEHIND\n", "");
    kernel("h200", &late).violated("RAW race", "ldg W").first_at(2);
}

#[test]
fn a_block_that_is_read_late_only_in_long_runs_is_not_proved() {
    let text = STEPS.replace("BETWEEN", "if i != 80: barrier").replace("BEHIND", "barrier");
    let v = kernel("h200", &text);
    assert!(["violated", "bounded"].contains(&v.word()), "{:#}", v.json);
}

#[test]
fn splits_that_take_turns_by_a_semaphore() {
    let name = "global/splitk_semaphore";
    verify(&[name]).proved();
    let wrong = |edits: &[(&str, &str)], kind: &str, at: &str| {
        mutated(name, edits, &[]).violated(kind, at);
    };
    // No release, no acquire, scopes of the CTA.
    wrong(&[("cta.n + 1 release gpu", "cta.n + 1")], "scope", "ldg C");
    wrong(&[("== cta.n acquire gpu", "== cta.n")], "scope", "ldg C");
    wrong(&[("cta.n + 1 release gpu", "cta.n + 1 release cta")], "scope", "ldg C");
    // No wait; no barrier behind the wait, or before the turn passes on.
    wrong(&[("      warp 0: elect: wait turn[cta.m] == cta.n acquire gpu\n", "")], "RAW race", "ldg C");
    wrong(&[("acquire gpu\n      barrier\n", "acquire gpu\n")], "RAW race", "ldg C");
    wrong(&[("rows(self)\n    barrier\n    warp 0", "rows(self)\n    warp 0")], "RAW race", "ldg C");
    // A turn that never comes.
    wrong(&[("== cta.n acquire", "== cta.n + 1 acquire")], "deadlock", "wait turn");
    // The sum of the splits before is lost, and a part of k with it.
    let lost = [("alu fma 32 x 64 uses before, acc -> acc", "alu fma 32 x 64 uses before")];
    wrong(&lost, "coverage", "store acc");
}

#[test]
fn partial_sums_that_are_handed_over() {
    let name = "global/streamk";
    // The quotient of the steps of a CTA by the steps of a tile is the same for every length of a tile.
    verify(&[name]).proved();
    let wrong = |edits: &[(&str, &str)], kind: &str, at: &str| {
        mutated(name, edits, &[]).violated(kind, at);
    };
    wrong(&[("1 release gpu", "1")], "scope", "ldg W");
    wrong(&[(">= 1 acquire gpu", ">= 1")], "scope", "ldg W");
    wrong(&[("          warp 0: elect: wait done[peer] >= 1 acquire gpu\n", "")], "RAW race", "ldg W");
    wrong(&[("wait done[peer]", "wait done[cta.id]")], "deadlock", "wait done");
    wrong(&[("done[peer] >= 1", "done[peer] >= 0")], "RAW race", "ldg W");
    wrong(&[("done[peer] >= 1", "done[peer] >= 2")], "deadlock", "wait done");
    wrong(&[("rows(self)\n        barrier\n        warp 0", "rows(self)\n        warp 0")], "RAW race", "ldg W");
}

#[test]
fn rounds_that_a_grid_barrier_separates() {
    let name = "global/grid_barrier";
    let v = verify(&[name]);
    v.proved();
    assert_eq!(v.json["classes"], serde_json::json!(["all 4 CTAs of the grid, which run together"]));
    let wrong = |edits: &[(&str, &str)], kind: &str, at: &str| {
        mutated(name, edits, &[]).violated(kind, at);
    };
    wrong(&[("        fence gpu\n        red.add", "        red.add")], "scope", "ldg X");
    wrong(&[("(t + 1)\n        fence gpu", "(t + 1)")], "scope", "ldg X");
    wrong(&[("ctas * (t + 1)", "ctas * (t + 1) - 1")], "RAW race", "ldg X");
    wrong(&[("ctas * (t + 1)", "ctas")], "RAW race", "ldg X");
    wrong(&[("ctas * (t + 1)", "ctas * (t + 1) + 1")], "deadlock", "wait here");
    // With one buffer a CTA that is ahead overwrites what another still reads.
    let one = [
        ("X[t % 2 * ctas + cta.m, 0]", "X[cta.m, 0]"),
        ("X[t % 2 * ctas + (cta.m + 1) % ctas, 0]", "X[(cta.m + 1) % ctas, 0]"),
    ];
    wrong(&one, "WAR race", "store r");
}

#[test]
fn partial_sums_in_planes_of_their_own() {
    let name = "global/splitk_planes";
    verify(&[name]).proved();
    // A step that is added twice is still found.
    let twice = [("mma fa, fb -> acc", "mma fa, fb -> acc;  mma fa, fb -> acc")];
    mutated(name, &twice, &[]).violated("coverage", "mma fa");
    // An output as large as the product is held to whole sums.
    let small = [("f32[splits * m, n]", "f32[m, n]"), ("C[cta.z * (m / tile) + cta.m, cta.n]", "C[cta.m, cta.n]")];
    mutated(name, &small, &[]).violated("coverage", "store acc");
}

#[test]
fn who_comes_last_is_decided_for_each_order() {
    // The last CTA to count reads all.
    let text = "kernel t(ctas = 3)
  needs sm_90
  grid ctas   cooperative   warps 1
  global W: f32[ctas * 16, 64]
  global count: counter
  reg r: f32[16, 64]
  all: elect:
    var old = 0
    store r -> W[cta.m, 0]
    atom.add count, 1 -> old acq_rel gpu
    if old == ctas - 1:
      for s in 0..ctas: ldg W[s, 0] -> r
";
    let v = kernel("h200", text);
    v.proved();
    assert_eq!(
        v.json["classes"],
        serde_json::json!(["all 3 CTAs of the grid, which run together, in each of 6 orders"])
    );
    kernel("h200", &text.replace("acq_rel", "release")).violated("scope", "ldg W");
    // Each word has orders of its own.
    let two = text.replace("global count: counter", "global count: counter   global other: counter");
    let two = two.replace("    if old", "    var mine = 0\n    atom.add other, 1 -> mine acq_rel gpu\n    if old");
    assert_eq!(
        kernel("h200", &two).json["classes"],
        serde_json::json!(["all 3 CTAs of the grid, which run together, in each of 36 orders"])
    );
    kernel("h200", &text.replace("acq_rel", "acquire")).violated("scope", "ldg W");
    kernel("h200", &text.replace("ctas - 1:", "ctas - 2:")).violated("RAW race", "ldg W");
    // A fault of one order: CTA 2 does not release, and another CTA comes last.
    let one = text.replace(
        "    atom.add count, 1 -> old acq_rel gpu\n",
        "    if cta.m == 2: atom.add count, 1 -> old acquire gpu\n    else: atom.add count, 1 -> old acq_rel gpu\n",
    );
    kernel("h200", &one).violated("scope", "ldg W");
    // A second round is not decided.
    let twice = text.replace("    store r", "    atom.add count, 1 -> old acq_rel gpu\n    store r");
    assert_ne!(kernel("h200", &twice).word(), "proved");
}

#[test]
fn a_counter_that_is_reset_while_another_cta_may_still_poll_it() {
    // CTA 0 sees the count first and resets it: CTA 1 can come late and wait for ever.
    let text = "kernel t(ctas = 2)
  needs sm_90
  grid ctas   cooperative   warps 1
  global count: counter
  all: elect:
    red.add count, 1 release gpu
    wait count >= ctas acquire gpu
    if cta.m == 0: st count, 0
";
    assert!(!["proved", "bounded"].contains(&kernel("h200", text).word()));
}
