//! Threadgroup barriers and look-ahead.

use warpline_sim::report::FindingKind::*;

use super::plant::{plant, untouched};

const KERNEL: &str = "metal/triple_buffer";
const MMA: &str = "mma a[i % stages].rows(self)";

#[test]
fn the_pipeline_is_clean_without_faults() {
    untouched(KERNEL, &[]);
}

#[test]
fn a_barrier_never_reached_by_one_simdgroup() {
    let ran = plant(KERNEL, &[("      barrier  // the loads", "      if warp != 3: barrier  // the loads")], &[]);
    ran.met_with(Raw, MMA, "load A[cta.m, next]", "reads a[2] rows 32..64; nothing orders it after the write");
    ran.met(Stale, MMA);
    ran.met(Divergent, "barrier");
    ran.met(Coverage, "store acc");
}

#[test]
fn a_barrier_passed_by_once_by_one_simdgroup() {
    // From there on this simdgroup is one step ahead without a fault, and the others meet at the last barrier alone.
    for step in [0, 1, 2, 30, 31] {
        let edit = format!("      if warp != 3 or i != {step}: barrier  // the loads");
        let ran = plant(KERNEL, &[("      barrier  // the loads", &edit)], &[]);
        ran.finished().met(Divergent, "27: barrier");
    }
}

#[test]
fn no_barrier_at_the_end_of_a_step() {
    let line = "      barrier  // the loads of step i end here, however many slots there are\n";
    let ran = plant(KERNEL, &[(line, "")], &[]);
    ran.met_with(War, "load A[cta.m, next]", MMA, "overwrites a[0] rows 0..32; nothing orders it after the read");
    ran.met_with(Raw, MMA, "load B[next, cta.n]", "reads b[1]; nothing orders it after the write");
}

#[test]
fn a_look_ahead_of_all_stages() {
    let ran = plant(KERNEL, &[], &[("ahead", 3)]);
    ran.met_with(War, "load B[next, cta.n]", MMA, "overwrites b[0] rows 0..16; nothing orders it after the read");
    ran.met_with(Stale, MMA, "load A[cta.m, next]", "reads A[3, 0] from a[0] rows 0..32 and finds A[3, 3]");
}
