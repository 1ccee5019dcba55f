//! Counters in global memory: what is released, what is acquired, and which waits decide in every schedule.

use warpline_sim::report::Outcome;

use super::{check, message, try_run};

/// Two CTAs that all run together: CTA 0 stores and signals, CTA 1 waits and reads.
fn handed_on(signal: &str, wait: &str, mark: &str) -> String {
    format!(
        "
  needs sm_90
  grid 2   cooperative   warps 1
  global W: f32[16, 64]
  global flag: counter
  reg r: f32[16, 64]
  all:
    if cta.m == 0:
      store r -> W[0, 0]
      warp.sync
      {signal}
    else:
      {wait}
      ldg W[0, 0] -> r {mark}
"
    )
}

#[test]
fn a_release_that_is_acquired_orders_two_ctas() {
    check("h200", &handed_on("elect: red.add flag, 1 release gpu", "wait flag >= 1 acquire gpu", ""));
    check("h200", &handed_on("elect: st flag, 1 release gpu", "wait flag == 1 acquire gpu", ""));
    check("h200", &handed_on("elect: atom.add flag, 1 -> old release gpu", "wait flag >= 1 acquire gpu", ""));
}

#[test]
fn a_relaxed_flag_orders_nothing_without_fences() {
    for (signal, wait) in [("", "acquire"), ("release", ""), ("", "")] {
        let body =
            handed_on(&format!("elect: red.add flag, 1 {signal}"), &format!("wait flag >= 1 {wait}"), "//~ scope");
        let said = message(&check("h200", &body), "W[0, 0]");
        assert!(said.contains("`fence gpu`"), "{said}");
    }
}

#[test]
fn fences_on_both_sides_make_a_relaxed_flag_order() {
    check("h200", &handed_on("elect: fence gpu; red.add flag, 1", "wait flag >= 1;  fence gpu", ""));
    check("h200", &handed_on("elect: red.add flag, 1 release", "wait flag >= 1;  fence gpu", ""));
    // Behind the signal, or before the wait, a fence covers nothing.
    check("h200", &handed_on("elect: red.add flag, 1; fence gpu", "wait flag >= 1;  fence gpu", "//~ scope"));
    check("h200", &handed_on("elect: fence gpu; red.add flag, 1", "fence gpu;  wait flag >= 1", "//~ scope"));
}

#[test]
fn a_fence_behind_a_relaxed_atomic_acquires_what_the_atomic_saw() {
    let signal = "elect: red.add flag, 1 release; red.add other, 1";
    let body = |wait: &str, mark: &str| {
        handed_on(signal, wait, mark).replace("global flag: counter", "global flag: counter   global other: counter")
    };
    check("h200", &body("elect: wait other >= 1; atom.add flag, 1 -> old; fence gpu\n      warp.sync", ""));
    check("h200", &body("elect: wait other >= 1; atom.add flag, 1 -> old\n      warp.sync", "//~ scope"));
    // `red` returns nothing.
    check("h200", &body("elect: wait other >= 1; red.add flag, 1; fence gpu\n      warp.sync", "//~ scope"));
}

#[test]
fn a_scope_includes_both_ctas() {
    check("h200", &handed_on("elect: red.add flag, 1 release cta", "wait flag >= 1 acquire gpu", "//~ scope"));
    check("h200", &handed_on("elect: red.add flag, 1 release gpu", "wait flag >= 1 acquire cluster", "//~ scope"));
    let cluster = handed_on("elect: red.add flag, 1 release cluster", "wait flag >= 1 acquire cluster", "");
    check("h200", &cluster.replace("grid 2   cooperative", "grid 1   cluster 2").replace("cta.m", "cta"));
}

#[test]
fn each_executing_thread_adds() {
    check("paper", &handed_on("red.add flag, 1 release", "wait flag == 32 acquire", ""));
}

#[test]
fn a_count_that_is_never_reached_hangs() {
    let report = check("h200", &handed_on("elect: red.add flag, 1 release", "wait flag >= 2 acquire //~ hangs", ""));
    let Outcome::Hung(waiting) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!(waiting[0].waits_for, "flag >= 2: it is 1");
    assert!(waiting[0].needs.contains("adds"), "{}", waiting[0].needs);
}

#[test]
fn a_counter_of_another_cluster_is_not_seen() {
    let body = handed_on("elect: red.add flag, 1 release", "wait flag >= 1 acquire //~ hangs", "");
    let body = body.replace("   cooperative", "");
    let report = try_run("h200", &body).unwrap();
    let Outcome::Hung(waiting) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert!(waiting[0].needs.contains("`cooperative`"), "{}", waiting[0].needs);
}

#[test]
fn a_flag_takes_a_round_trip_to_l2() {
    let flag = try_run("h200", &handed_on("elect: red.add flag, 1 release", "wait flag >= 1 acquire", "")).unwrap();
    assert!(flag.cycles > 287.0, "{}", flag.cycles);
}
