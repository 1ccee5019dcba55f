//! mbarriers, TMA and wgmma.

use warpline_sim::report::FindingKind::*;
use warpline_sim::report::Outcome;

use super::plant::{plant, untouched};

const RING: &str = "hopper/tma_warp_specialized";
const WGMMA: &str = "wgmma a[i % stages].rows(self)";
const ARRIVE: &str = "arrive full[i % stages]";
const TMA_A: &str = "tma A[cta.m, i]";
const TMA_B: &str = "tma B[cta.n, i]";
const WAIT_EMPTY: &str = "wait empty[i % stages]";
const WAIT_FULL: &str = "wait full[i % stages]";

#[test]
fn the_rings_are_clean_without_faults() {
    untouched(RING, &[]);
    untouched("attention/fa3", &[("seq", 512), ("heads", 144)]);
    untouched("hopper/pingpong", &[("m", 2048), ("n", 4096)]);
    untouched("hopper/cp_async_wgmma", &[]);
}

#[test]
fn an_arrive_left_out() {
    let ran = plant(RING, &[("if i > 0: arrive empty", "if i == 1: arrive empty")], &[]);
    ran.hung(WAIT_EMPTY, "phase 0 of empty[1]", "line 35 arrives");
    ran.hung(WAIT_EMPTY, "8 of 8 arrivals missing", "");
    ran.hung(WAIT_FULL, "phase 1 of full[1]", "line 24 arrives; line 25 delivers bytes; line 26 delivers bytes");
    ran.only(&[]);
}

#[test]
fn a_turn_not_passed_on() {
    let passed = "        arrive math_turn[1 - self]";
    let once = "        if turn == 0 and self == 0: arrive math_turn[1 - self]";
    let ran = plant("hopper/pingpong", &[(passed, once)], &[("m", 2048), ("n", 4096)]);
    ran.hung("wait math_turn[self]", "phase 0 of math_turn[0]", "arrives");
    ran.hung("wait math_turn[self]", "128 of 128 arrivals missing", "line 52");
}

#[test]
fn a_phase_too_late() {
    let ran = plant(RING, &[("for i / stages - 1", "for i / stages")], &[]);
    ran.hung("23: wait empty[i % stages] for i / stages", "phase 0 of empty[0]", "line 35 arrives").only(&[]);
}

#[test]
fn a_phase_too_early() {
    for phase in ["parity i / stages + 1", "for i / stages - 1"] {
        let ran =
            plant(RING, &[("wait full[i % stages] for i / stages", &format!("wait full[i % stages] {phase}"))], &[]);
        ran.finished();
        ran.met_with(Raw, WGMMA, TMA_A, "reads a[0] rows 0..64; nothing orders it after the write");
        ran.met(ParityAlias, WAIT_FULL);
    }
}

#[test]
fn too_few_bytes_expected() {
    let ran = plant(RING, &[("expect bytes(a) + bytes(b)", "expect bytes(a)")], &[]);
    ran.met(TxBytes, TMA_A).met(TxBytes, TMA_B).only(&[TxBytes]);
    ran.hung(
        WAIT_FULL,
        "phase 1 of full[0]: phase 1 is open with 0 of 1 arrivals missing and 65536 bytes too many",
        "",
    );
}

#[test]
fn too_many_bytes_expected() {
    let ran = plant(RING, &[("expect bytes(a) + bytes(b)", "expect bytes(a) + bytes(b) + 16")], &[]);
    ran.hung(
        WAIT_FULL,
        "phase 0 of full[0]: phase 0 is open with 0 of 1 arrivals missing and 16 expected bytes missing",
        "",
    );
    ran.hung(WAIT_EMPTY, "phase 0 of empty[0]", "line 35").met(TxBytes, ARRIVE).only(&[TxBytes]);
    // What never comes is missing when the last has done what it could: not before anybody's wait for it.
    let since = match &ran.report.outcome {
        Outcome::Hung(waits) => waits.iter().map(|w| w.since).fold(0.0, f64::max),
        other => panic!("{other:?}"),
    };
    let missing: Vec<f64> = ran
        .report
        .findings
        .iter()
        .filter(|f| f.message.contains("bytes more than the copies"))
        .map(|f| f.cycle)
        .collect();
    assert!(!missing.is_empty() && missing.iter().all(|at| *at >= since && since > 0.0), "{missing:?}, {since}");
}

#[test]
fn more_arrivals_than_come() {
    let ran = plant(RING, &[("mbar empty[stages] (8)", "mbar empty[stages] (9)")], &[]);
    ran.hung(WAIT_EMPTY, "phase 0 of empty[0]: phase 0 is open with 1 of 9 arrivals missing", "line 35").only(&[]);
}

#[test]
fn fewer_arrivals_than_come() {
    // One warp's release is left over in every phase: after some rounds a slot is refilled while it is read.
    let ran = plant(RING, &[("mbar empty[stages] (8)", "mbar empty[stages] (7)")], &[("k", 4096)]);
    ran.met_with(War, TMA_A, WGMMA, "overwrites a[0]; nothing orders it after the read");
    ran.met_with(ParityAlias, TMA_B, WAIT_FULL, "nothing orders math w8's wait");
}

#[test]
fn one_stage_where_the_release_lags() {
    let ran = plant(RING, &[("stages >= 2", "stages >= 1")], &[("stages", 1)]);
    ran.hung(WAIT_EMPTY, "phase 0 of empty:", "line 35 arrives");
    ran.hung(WAIT_FULL, "phase 1 of full:", "line 24 arrives").only(&[]);
}

#[test]
fn a_product_too_many_in_flight() {
    let ran = plant(RING, &[("wait wgmma <= 1", "wait wgmma <= 2")], &[]);
    ran.finished().only(&[War]);
    ran.met_with(War, TMA_A, WGMMA, "overwrites a[0]").met_with(War, TMA_B, WGMMA, "overwrites b[0]");
}

#[test]
fn accumulators_stored_before_their_wait() {
    let ran = plant(RING, &[("    wait wgmma <= 0\n", "")], &[]);
    ran.finished().only(&[Raw]);
    ran.met_with(Raw, "36: store acc", WGMMA, "reads acc rows 0..16; nothing orders it after the write");
}

#[test]
fn barriers_used_before_anything_orders_their_init() {
    let ran = plant(RING, &[(";  fence mbarrier_init\n    barrier\n", ";  fence mbarrier_init\n")], &[]);
    ran.met_with(LifeCycle, WAIT_FULL, "init full, empty", "uses full[0]; nothing orders it after the `init`");
}

#[test]
fn a_proxy_fence_left_out() {
    let ran = plant("hopper/cp_async_wgmma", &[], &[("fence", 0)]);
    ran.finished().only(&[Fence]);
    ran.met_with(Fence, "wgmma a[s]", "cp A[cta.m, j] -> a[j]", "the asynchronous proxy reads a[0]");
    ran.met_with(Fence, "wgmma a[s]", "cp B[next, cta.n] -> b[next % stages]", "`fence async`");
    let ran = plant("attention/fa3", &[("      fence async\n", "")], &[("seq", 512), ("heads", 144)]);
    ran.finished().only(&[Fence]);
    ran.met_with(Fence, "tma.store out", "sts o -> out.rows(self)", "the asynchronous proxy reads out");
}

#[test]
fn a_bulk_store_without_its_wait() {
    let ran = plant("attention/fa3", &[("        wait bulk.read <= 0\n", "")], &[("seq", 512), ("heads", 144)]);
    ran.finished();
    ran.met_with(War, "tma V[", "tma.store out -> O[job, 0]", "overwrites out; nothing orders it after the read");
    ran.met_with(War, "sts o -> out", "tma.store out -> O[job, 0]", "overwrites out rows 16..32");
}

#[test]
fn an_output_tile_never_given_back() {
    let once = "        if w == 1: arrive out_free\n";
    let ran = plant("attention/fa3", &[("        arrive out_free\n", once)], &[("seq", 512), ("heads", 144)]);
    ran.hung("wait out_free for w - 1", "phase 1 of out_free: phase 1 is open with 1 of 1 arrivals missing", "arrives");
    // Those behind it are named too, down to the numbered barrier.
    ran.hung("bar sync turn[self] (256)", "barrier turn[1]: 128 of 256 threads have arrived", "load w0 (at line");
}

#[test]
fn a_wgmma_fence_left_out() {
    let ran = plant(RING, &[("      wgmma.fence\n", "")], &[]);
    ran.finished().only(&[Fence]);
    ran.met(Fence, WGMMA);
}
