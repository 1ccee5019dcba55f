//! `cp.async`: groups, who they belong to, what a wait shows to whom (docs/rules.md 14 to 16).

use super::check;

#[test]
fn wait_then_barrier_shows_every_threads_copies() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cp A[0, 0] -> a
            commit cp
            wait cp <= 0
            barrier
            lds a : A[0, 0] -> r
        ",
    );
}

#[test]
fn a_wait_shows_the_threads_own_copies_only() {
    // TensorRT-LLM 17054.
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg own: f16[32, 64], r: f16[64, 64]
          all:
            cp A[0, 0] -> a
            commit cp
            wait cp <= 0
            lds a.rows(warp, 2) -> own
            lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn barrier_then_wait_is_a_race() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cp A[0, 0] -> a
            commit cp
            barrier
            wait cp <= 0
            lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn a_wait_that_leaves_one_group_too_many_is_a_race() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 128]
          shared a[2]: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cp A[0, 0] -> a[0];  commit cp
            cp A[0, 1] -> a[1];  commit cp
            wait cp <= 1
            barrier
            lds a[0] : A[0, 0] -> r
            lds a[1] : A[0, 1] -> r    //~ RAW race
        ",
    );
}

#[test]
fn an_empty_group_counts() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cp A[0, 0] -> a;  commit cp
            commit cp
            wait cp <= 1
            barrier
            lds a : A[0, 0] -> r
        ",
    );
}

#[test]
fn copies_that_no_commit_closed_are_in_no_group() {
    // csarofeen/pytorch 2457: the commit comes after the wait.
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cp A[0, 0] -> a
            wait cp <= 0
            commit cp
            barrier
            lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn a_masked_copy_counts_and_a_skipped_one_does_not() {
    check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[32, 64]
          shared a[2]: f16[32, 64]
          reg r: f16[32, 64]
          all:
            cp A[0, 0] -> a[0];  commit cp
            cp A[1, 0] -> a[1] masked;  commit cp
            wait cp <= 1
            lds a[0] -> r
            lds a[1] -> r    //~ RAW race
        ",
    );
}

#[test]
fn refilling_a_slot_that_is_still_read_is_a_war() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 128]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cp A[0, 0] -> a;  commit cp
            wait cp <= 0
            barrier
            lds a : A[0, 0] -> r
            cp A[0, 1] -> a    //~ WAR race
            commit cp
        ",
    );
}

#[test]
fn an_arrival_behind_copies_comes_when_they_are_done() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (32)
          all: warp 0: elect: init full
          barrier
          warp 0:
            cp A[0, 0] -> a
            cp.arrive full noinc
          warp 1:
            wait full for 0
            lds a : A[0, 0] -> r
        ",
    );
}

#[test]
fn without_noinc_the_arrival_is_not_one_of_the_expected() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (32)
          all: warp 0: elect: init full
          barrier
          warp 0:
            cp A[0, 0] -> a
            cp.arrive full
            arrive full
          warp 1:
            wait full for 0
            lds a : A[0, 0] -> r
        ",
    );
}

#[test]
fn without_noinc_and_without_an_arrival_the_phase_stays_open() {
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (32)
          all: warp 0: elect: init full
          barrier
          warp 0:
            cp A[0, 0] -> a
            cp.arrive full
          warp 1: wait full for 0    //~ hangs
        ",
    );
}

#[test]
fn an_arrival_behind_copies_releases_no_ordinary_stores() {
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
            lds s -> r    //~ RAW race
        ",
    );
}
