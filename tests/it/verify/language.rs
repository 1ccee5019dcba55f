//! The kernels of the language's proposal, and the mutations whose verdicts it states.

use super::{mutated, verify};

const HOPPER: &str = "hopper/tma_warp_specialized";

#[test]
fn hopper_is_proved_for_two_stages_or_more_and_one_deadlocks() {
    for stages in ["stages=2", "stages=3", "stages=4"] {
        verify(&[HOPPER, "--set", stages]).proved();
    }
    let unguarded = "  require stages >= 2 \"the release lags one tile: one stage deadlocks\"\n";
    mutated(HOPPER, &[(unguarded, "")], &["stages=1"]).violated("deadlock", "wait empty").first_at(2);
}

#[test]
fn a_first_wait_that_is_not_for_phase_minus_one_deadlocks() {
    mutated(HOPPER, &[("i / stages - 1", "i / stages")], &[]).violated("deadlock", "wait empty").first_at(1);
}

#[test]
fn a_release_before_the_tile_is_read_is_a_race() {
    mutated(HOPPER, &[("wait wgmma <= 1", "wait wgmma <= 2")], &[]).violated("WAR race", "tma A[cta.m, i]");
}

#[test]
fn a_release_once_a_member_needs_half_the_count_and_holds_by_the_warpgroups_join() {
    let once = [("per warp", "once"), ("mbar empty[stages] (8)", "mbar empty[stages] (2)")];
    mutated(HOPPER, &once, &[]).proved();
}

#[test]
fn cdna_waits_for_just_enough() {
    let cdna = "cdna/two_step_ahead";
    verify(&[cdna]).proved();
    for more in ["ahead + 1", "ahead + 2"] {
        mutated(cdna, &[("wait vm <= (far ? ahead : 0)", &format!("wait vm <= (far ? {more} : 0)"))], &[])
            .violated("RAW race", "lds As[s].1");
    }
}

#[test]
fn cdna_barriers_do_not_stand_for_lds_waits() {
    let cdna = "cdna/two_step_ahead";
    // The wait moved behind the barrier still guards the registers, and no longer the slot that another wave refills.
    let late = |n: u32| {
        let (from, to) = (format!("wait lgkm <= 0;  barrier  // {n}"), format!("barrier;  wait lgkm <= 0  // {n}"));
        mutated(cdna, &[(&from, &to)], &[])
    };
    late(0).violated("WAR race", "dma A[cta.m, i + 2].0");
    // A1 is refilled only behind the last barrier of the step, so there the order does not matter.
    late(2).proved();
    // Left out, the registers are read before they are filled, at a single step already.
    for (wait, mfma) in [("// 0", "mfma a0, b0"), ("// 2", "mfma a1, b0")] {
        let edit = (format!("wait lgkm <= 0;  barrier  {wait}"), format!("barrier  {wait}"));
        mutated(cdna, &[(&edit.0, &edit.1)], &[]).violated("RAW race", mfma).first_at(1);
    }
}

#[test]
fn level_2_faults() {
    let level2 = "blackwell/level2_2sm_fixed";
    verify(&[level2]).proved();
    verify(&["blackwell/level3_two_loops"]).proved();
    // The leader's slot gets both CTAs' tiles.
    let masked = mutated(
        level2,
        &[("tma A[cluster.m, i] -> a[i % stages] signals", "tma A[cluster.m, i] -> a[i % stages] @cta 0 signals")],
        &[],
    );
    masked.violated("WAW race", "tma A");
    assert_eq!(mutated(level2, &[("mbar full[stages] (2)", "mbar full[stages] (1)")], &[]).word(), "violated");
}

#[test]
fn a_prefetch_past_the_end_is_found_where_it_is_not_masked() {
    let loads = "ldg A[cta.m, i + 1] -> ra;  ldg B[i + 1, cta.n] -> rb";
    let with = |text: &str| mutated("ampere/register_prefetch", &[(&format!("if i + 1 < tiles: {loads}"), text)], &[]);
    with(loads).violated("coverage", "ldg A[cta.m, i + 1]").first_at(1);
    with(&loads.replace(" -> ra", " -> ra masked").replace(" -> rb", " -> rb masked")).proved();
}
