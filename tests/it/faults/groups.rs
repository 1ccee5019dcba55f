//! Commit groups of `cp.async`, registers, CTA barriers.

use warpline_sim::report::FindingKind::*;

use super::plant::{plant, untouched};

const DOUBLE: &str = "ampere/smem_double_buffer";
const PREFETCH: &str = "ampere/register_prefetch";
const MARLIN: &str = "ampere/marlin_4stage";
const LDS_A: &str = "lds a[i % stages]";

#[test]
fn the_pipelines_are_clean_without_faults() {
    for name in [DOUBLE, PREFETCH, MARLIN] {
        untouched(name, &[]);
    }
}

#[test]
fn a_group_too_many_in_flight() {
    let ran = plant(MARLIN, &[], &[("pending", 3)]);
    ran.finished().only(&[Raw]);
    ran.met_with(Raw, "lds a[0]", "cp A[cta.m, j] -> a[j % stages]", "nothing orders it after the write");
    ran.met_with(Raw, "lds b[t % stages]", "cp B[next, cta.n] -> b[next % stages]", "reads b[3]");
    let ran = plant(DOUBLE, &[("wait cp <= stages - 2", "wait cp <= stages - 1")], &[]);
    ran.finished().only(&[Raw]);
    ran.met_with(
        Raw,
        LDS_A,
        "cp A[cta.m, next]",
        "reads a[1] rows 0..64 columns 0..16; nothing orders it after the write",
    );
}

#[test]
fn a_stage_too_few() {
    let ran = plant(MARLIN, &[], &[("stages", 3)]);
    ran.met_with(War, "cp A[cta.m, next]", "lds a[0]", "overwrites a[0] rows 0..8; nothing orders it after the read");
    ran.met_with(Stale, "lds a[t % stages]", "cp A[cta.m, next]", "finds A[3, 3]");
}

#[test]
fn a_warp_barrier_is_no_cta_barrier() {
    let ran = plant(DOUBLE, &[("      barrier", "      warp.sync")], &[]);
    ran.finished().only(&[Raw, War]);
    ran.met_with(Raw, LDS_A, "cp A[cta.m, j] -> a[j]", "reads a[0] rows 0..64");
    ran.met_with(War, "cp A[cta.m, next]", LDS_A, "overwrites a[0] rows 0..16");
}

#[test]
fn either_barrier_of_the_register_prefetch() {
    let ran = plant(PREFETCH, &[("        barrier  // tile i is read\n", "")], &[]);
    ran.finished().only(&[War]).met_with(War, "sts ra -> a", "lds a.rows(self / 4, 2)", "overwrites a rows 0..16");
    let ran = plant(PREFETCH, &[("        barrier  // tile i + 1 has landed", "        warp.sync")], &[]);
    ran.finished().only(&[Raw, War, Stale, Coverage]);
    ran.met_with(Raw, "lds a.rows(self / 4, 2)", "sts ra -> a", "reads a rows 64..128 columns 0..16");
}
