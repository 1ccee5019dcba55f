//! Today's wrong answers, each a row of DEVIATIONS.md: what is accepted here is a fault (or deserves a note). A test that
//! fails because its rule was added moves to the module of its family.

use super::check;

#[test]
fn fixme_an_arrival_behind_copies_releases_ordinary_stores_too() {
    // `cp.async.mbarrier.arrive` tracks the thread's copies and nothing else.
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]   shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (32)
          warp 0: init full
          all: barrier
          warp 0:
            sts r -> s
            cp A[0, 0] -> a
            cp.arrive full noinc
          warp 1:
            wait full for 0
            lds s -> r
        ",
    );
}

#[test]
fn fixme_three_warps_that_share_a_barrier_of_two_an_even_number_of_times() {
    // Each pair that meets depends on the schedule (Weft: `over`); found only where one is left behind.
    check(
        "a100",
        "
          grid 1  warps 3
          named x
          all: for i in 0..2: bar sync x (64)
        ",
    );
}

#[test]
fn fixme_a_sum_is_not_followed_through_shared_memory() {
    // Half of the K-tiles are missing.
    check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[64, 64]   global B: f16[64, 64]   global C: f16[64, 64]
          shared a: f16[64, 32]   shared b: f16[32, 64]   shared c: f32[64, 64]
          reg acc: f32[64, 64], out: f32[64, 64]
          all:
            load A[0, 0] -> a;  load B[0, 0] -> b
            zero acc
            mma a, b -> acc
            sts acc -> c
            lds c -> out
            store out -> C[0, 0]
        ",
    );
}

#[test]
fn fixme_lanes_of_an_unsplit_warp_are_in_step() {
    // One lane arrives for the warp without a `warp.sync`: found where the warp also has an `elect:` block, not here.
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (1)
          warp 1: init b
          all: barrier
          warp 0: sts r -> s;  arrive b per warp
          warp 1: wait b for 0;  lds s -> r
        ",
    );
}
