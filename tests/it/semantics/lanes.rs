//! Lanes: what an elected lane does ahead of the others (docs/rules.md 1, 2).

use super::check;

#[test]
fn lanes_that_only_wait_can_lag_behind_the_elected_one() {
    // CUTLASS 3654: all lanes acquire, the elected one issues and goes round the ring.
    check(
        "h200",
        "
          grid 1  warps 2
          mbar full (1)   mbar empty (1)
          all: warp 0: elect: init full, empty
          barrier
          warp 0: for i in 0..3:
            wait empty for i - 1
            elect: arrive full
          warp 1: elect: for i in 0..3:
            wait full for i
            arrive empty    //~ parity alias
        ",
    );
}

#[test]
fn a_warp_sync_behind_the_wait_mends_it() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar full (1)   mbar empty (1)
          all: warp 0: elect: init full, empty
          barrier
          warp 0: for i in 0..3:
            wait empty for i - 1
            warp.sync
            elect: arrive full
          warp 1: elect: for i in 0..3:
            wait full for i
            arrive empty
        ",
    );
}

#[test]
fn a_collective_joins_the_lanes() {
    // DeepGEMM: all lanes wait, one arrives behind wgmma.
    check(
        "h200",
        "
          grid 1  warps 8
          global A: f16[64, 256]   global B: f16[256, 64]
          shared a: f16[64, 64]   shared b: f16[64, 64]
          mbar full (1)   mbar empty (4)
          role load = warp 0
          role math = warpgroup 1
          all: warp 0: elect: init full, empty;  fence mbarrier_init
          barrier
          load: elect: for i in 0..4:
            wait empty for i - 1
            arrive full expect bytes(a) + bytes(b)
            tma A[0, i] -> a signals full
            tma B[i, 0] -> b signals full
          math:
            zero acc: f32[64, 64]
            for i in 0..4:
              wait full for i
              wgmma.fence
              wgmma a : A[0, i], b : B[i, 0] -> acc
              commit wgmma;  wait wgmma <= 0
              elect: arrive empty
        ",
    );
}

#[test]
fn the_elected_lane_does_not_know_of_the_others_reads() {
    check(
        "h200",
        "
          grid 1  warps 1
          global A: f16[64, 128]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          all:
            elect: init full;  fence mbarrier_init
            warp.sync
            for i in 0..2:
              elect:
                arrive full expect bytes(a)
                tma A[0, i] -> a signals full    //~ parity alias
              wait full for i
              lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn lanes_that_joined_have_not_seen_what_the_elected_lane_does_next() {
    // The elected lane comes to the product last; what it stores behind it, the others read without a `warp.sync`.
    check(
        "h200",
        "
          grid 1  warps 2
          shared s: f16[16, 16]
          reg r: f16[16, 16], q: f16[16, 16], fa: f16[16, 16], fb: f16[16, 16]
          mbar late (1)
          all:
            warp 0: elect: init late
            barrier
          warp 1:
            alu fma 64 x 4096
            arrive late per warp
          warp 0:
            elect: wait late for 0
            mma fa, fb -> acc
            elect: sts r -> s
            alu fma 64 x 4096
            lds s -> q    //~ RAW race
            warp.sync
        ",
    );
}

#[test]
fn lanes_that_joined_are_in_step_until_the_next_elect_block() {
    // The elected lane initializes; behind the barrier its warp is a warp like any other.
    check(
        "h200",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)   mbar empty (1)
          all: warp 0: elect: init full, empty
          barrier
          warp 1: for i in 0..3:
            wait empty for i - 1
            sts r -> s
            arrive full per warp
          warp 0: for i in 0..3:
            wait full for i
            lds s -> q
            arrive empty per warp
        ",
    );
}

#[test]
fn an_elect_block_behind_the_join_splits_the_warp_again() {
    check(
        "h200",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)   mbar empty (1)
          all: warp 0: elect: init full, empty
          barrier
          warp 1: for i in 0..3:
            wait empty for i - 1
            sts r -> s    //~ WAR race
            arrive full per warp    //~ parity alias
          warp 0: for i in 0..3:
            wait full for i
            elect: alu fma 1 x 10
            lds s -> q
            arrive empty per warp
        ",
    );
}

/// A kernel of two warps that take turns with a slot; warp 0 also issues the copy by one lane. `before` and `after` are
/// around the arrival that returns a state, `race` is announced at the copy and `late` at the wait for the state.
fn released(before: &str, after: &str, race: &str, late: &str) -> String {
    format!(
        "
          grid 1  warps 2
          global A: f16[192, 64]
          shared a: f16[64, 64]
          mbar full (1)   mbar used (2)
          all:
            warp 0: elect: init full, used;  fence mbarrier_init
            barrier
            for i in 0..3:
              warp 0: elect:
                arrive full expect bytes(a)
                tma A[i, 0] -> a signals full    {race}
              wait full for i
              lds a : A[i, 0] -> r
              {before}
              arrive used per warp state 0    {late}
              {after}
              wait used state 0
        "
    )
}

#[test]
fn the_lane_that_arrived_passes_the_state_on() {
    // In step behind the `warp.sync`, and apart behind another `elect:` block.
    check("h200", &released("warp.sync", "warp 1: alu int 1", "", ""));
    check("h200", &released("warp.sync;  elect: alu int 1", "warp 1: alu int 1", "", ""));
}

#[test]
fn a_state_passed_on_says_nothing_of_what_the_other_lanes_do() {
    let late = "//~ parity alias";
    check("h200", &released("elect: alu int 1", "warp 1: alu int 1", "//~ WAR race, parity alias", late));
    check("h200", &released("warp.sync", "lds a -> q", "//~ WAR race", ""));
}

#[test]
fn the_state_of_a_lane_that_arrives_for_itself_is_its_own() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar b (1)
          all: elect: init b
          warp.sync
          elect: arrive b state 0
          wait b state 0    //~ range
        ",
    );
}
