//! Pairs of CTAs, tensor memory, commits.

use warpline_sim::report::FindingKind::*;

use super::plant::{plant, untouched};

const PAIR: &str = "blackwell/level2_2sm_fixed";
const ONE: &str = "blackwell/gemm_1sm";

#[test]
fn the_pipelines_are_clean_without_faults() {
    for name in [PAIR, ONE, "blackwell/level1_cluster_sync"] {
        untouched(name, &[]);
    }
}

#[test]
fn the_peer_bit_mask_on_the_address_of_the_data() {
    let ran = plant(PAIR, &[("-> a[i % stages] signals", "-> a[i % stages] @cta 0 signals")], &[]);
    ran.finished().only(&[Waw, Stale]);
    ran.met_with(Waw, "tma A[cluster.m, i]", "tma A[cluster.m, i]", "writes a[0] of CTA 0");
    ran.met(Stale, "umma.pair");
    // B's halves are not stated at the read: the two writes are what shows.
    let ran = plant(PAIR, &[("-> b[i % stages] signals", "-> b[i % stages] @cta 0 signals")], &[]);
    ran.finished().met_with(Waw, "tma B[cluster.n, i].half(cta)", "tma B[cluster.n, i]", "writes b[0] of CTA 0");
}

#[test]
fn a_full_barrier_that_counts_one_of_two() {
    let ran = plant(PAIR, &[("mbar full[stages] (2)", "mbar full[stages] (1)")], &[]);
    ran.met(ArrivalCount, "arrive full[i % stages] @cta 0");
}

#[test]
fn no_cluster_barrier_at_the_end() {
    let ran = plant(PAIR, &[("    cluster.sync  // no CTA", "    barrier  // no CTA")], &[]);
    ran.finished().only(&[LifeCycle]);
    ran.met_with(LifeCycle, "tmem.dealloc acc pair", "tmem.ld acc.rows(self)", "nothing orders it after this use");
}

#[test]
fn a_commit_that_does_not_reach_the_peer() {
    let ran = plant(PAIR, &[("empty[i % stages] @ctas 0b11", "empty[i % stages]")], &[]);
    ran.hung(
        "wait empty[i % stages]",
        "phase 0 of empty[0] of CTA 1",
        "line 34 arrives when its multiplications are done",
    );
    ran.hung(
        "wait full[i % stages]",
        "full[0] of CTA 0: phase 1 is open with 1 of 2 arrivals missing",
        "line 27 arrives",
    );
    ran.hung("wait done for 0", "phase 0 of done of CTA 1", "line 35");
}

#[test]
fn tensor_memory_read_without_waits() {
    let ran = plant(PAIR, &[("wait tmem.ld <= 0", "warp.sync")], &[]);
    ran.finished().met_with(Raw, "store r -> C", "tmem.ld acc.rows(self) -> r", "reads r of CTA 0");
    let ran = plant(PAIR, &[("    wait done for 0\n", "")], &[]);
    ran.met(Coverage, "store r -> C").met(LifeCycle, "tmem.dealloc acc pair");
    let ran = plant(ONE, &[("    wait done for 0\n", "")], &[]);
    ran.met_with(LifeCycle, "tmem.dealloc acc", "umma a[i % stages]", "nothing orders it after this use");
}

#[test]
fn tensor_memory_not_given_back() {
    let ran = plant(PAIR, &[("    warp 2: tmem.dealloc acc pair", "")], &[]);
    ran.finished().only(&[LifeCycle]).met(LifeCycle, "level2_2sm_fixed");
}

#[test]
fn no_cluster_barrier_in_the_loop_of_level_1() {
    let ran = plant(
        "blackwell/level1_cluster_sync",
        &[("      cluster.sync  // the peer", "      warp.sync  // the peer")],
        &[],
    );
    ran.met_with(Raw, "umma.pair a", "tma A[cluster.m, i]", "reads a of CTA 1; nothing orders it after the write");
}

#[test]
fn a_commit_left_out() {
    let commit = "      commit umma -> empty[i % stages]\n";
    let ran = plant(ONE, &[(commit, "      if i != 2: commit umma -> empty[i % stages]\n")], &[]);
    ran.hung(
        "wait empty[i % stages]",
        "phase 0 of empty[2]: phase 0 is open with 1 of 1 arrivals missing",
        "line 36 arrives",
    );
    ran.hung("barrier", "the CTA barrier, the 2. time: 2 have arrived", "issue w0 (at line 34)");
}
