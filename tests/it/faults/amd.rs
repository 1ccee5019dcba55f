//! Counters and `s_barrier`.

use warpline_sim::report::FindingKind::*;

use super::plant::{plant, refused, untouched};

const KERNEL: &str = "cdna/two_step_ahead";

#[test]
fn the_pipeline_is_clean_without_faults() {
    untouched(KERNEL, &[]);
}

#[test]
fn vmcnt_too_high() {
    for by in ["1", "2"] {
        let ran = plant(KERNEL, &[("(far ? ahead : 0)", &format!("(far ? ahead + {by} : 0)"))], &[]);
        ran.finished().only(&[Raw]);
        ran.met_with(Raw, "lds As[s].1", "dma A[cta.m, i + 1].1 -> As[1 - s].1", "reads As[1] rows 128..192");
    }
}

#[test]
fn vmcnt_past_its_range() {
    refused(KERNEL, &[("(far ? ahead : 0)", "(far ? 64 : 0)")], "at most 64 outstanding, and mi355x counts to 63");
}

#[test]
fn a_counter_not_waited_for() {
    let ran = plant(KERNEL, &[("wait lgkm <= 0;  barrier  // 0", "barrier  // 0")], &[]);
    ran.finished().only(&[Raw, War]);
    ran.met_with(Raw, "mfma a0, b0", "lds As[s].0", "reads a0; nothing orders it after the write");
    ran.met_with(War, "dma A[cta.m, i + 2].0", "lds As[s].0", "overwrites As[0] rows 0..16");
}

#[test]
fn all_counters_not_waited_for() {
    let edits = [
        ("wait lgkm <= 0;  barrier  // 0", "barrier  // 0"),
        ("wait lgkm <= 0;  barrier  // 1", "barrier  // 1"),
        ("wait lgkm <= 0;  barrier  // 2", "barrier  // 2"),
    ];
    let ran = plant(KERNEL, &edits, &[]);
    for (mfma, lds) in [("a0, b0", "lds As[s].0"), ("a0, b1", "lds Bs[s].1"), ("a1, b0", "lds As[s].1")] {
        ran.met_with(Raw, &format!("mfma {mfma}"), lds, "nothing orders it after the write");
    }
}

#[test]
fn the_barriers_that_are_needed() {
    let ran = plant(KERNEL, &[("wait lgkm <= 0;  barrier  // 0", "wait lgkm <= 0  // 0")], &[]);
    ran.finished().only(&[War]).met_with(War, "dma A[cta.m, i + 2].0", "lds As[s].0", "overwrites As[0]");
    let ran = plant(KERNEL, &[("(far ? ahead : 0);  barrier", "(far ? ahead : 0)")], &[]);
    ran.finished().only(&[Raw]).met_with(Raw, "lds As[s].0", "dma A[cta.m, i + 2].0", "reads As[0] rows 0..64");
    // One of the two in the middle is redundant.
    for n in ["1", "2"] {
        let ran = plant(KERNEL, &[(&format!("barrier  // {n}"), &format!("warp.sync  // {n}"))], &[]);
        ran.finished().only(&[]);
    }
}
