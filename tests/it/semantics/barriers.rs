//! CTA barriers and numbered barriers (verification.md B.6, A.5, M36).

use super::{check, message};

#[test]
fn a_cta_barrier_orders_what_is_before_it() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> s.rows(warp, 2)
            barrier
            lds s -> r
            barrier
            sts r.rows(warp, 2) -> s.rows(warp, 2)
        ",
    );
}

#[test]
fn reuse_without_a_second_barrier_is_a_war() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> s.rows(warp, 2)
            barrier
            lds s -> r
            sts r.rows(warp, 2) -> s.rows(warp, 2)    //~ WAR race
        ",
    );
}

#[test]
fn two_writers_without_order_are_a_waw() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all: sts r -> s    // shared out: no conflict
          barrier
          warp 0: sts r -> s
          warp 1: sts r -> s    //~ WAW race
        ",
    );
}

#[test]
fn a_barrier_that_a_warp_left_by_ending_is_divergent() {
    check(
        "a100",
        "
          grid 1  warps 2
          all:
            warp 1:
              alu fma 1 x 1000000
              exit
            barrier    //~ divergent barrier
        ",
    );
}

#[test]
fn so_is_one_that_the_ended_warp_left_long_before() {
    check(
        "a100",
        "
          grid 1  warps 2
          all:
            warp 1: exit
            alu fma 1 x 1000000
            barrier    //~ divergent barrier
        ",
    );
}

#[test]
fn warps_that_meet_a_barrier_a_different_number_of_times() {
    check(
        "a100",
        "
          grid 1  warps 2
          all:
            barrier
            warp 0: barrier    //~ divergent barrier
        ",
    );
}

#[test]
fn arrive_and_sync_of_one_numbered_barrier_pair() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named full
          warp 0: sts r -> s;  bar arrive full (64)
          warp 1: bar sync full (64);  lds s -> r
        ",
    );
}

#[test]
fn arrivals_alone_do_not_order_the_arriving_warp() {
    // Weft's `arrival`: all arrive, nobody waits.
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named full
          warp 0: sts r -> s;  bar arrive full (64)
          warp 1:
            bar arrive full (64)
            lds s -> r    //~ RAW race
        ",
    );
}

#[test]
fn crossed_numbered_barriers_deadlock() {
    // Weft's `deadlock`.
    check(
        "a100",
        "
          grid 1  warps 2
          named x   named y
          warp 0:
            bar sync x (64)    //~ hangs
            bar sync y (64)
          warp 1:
            bar sync y (64)    //~ hangs
            bar sync x (64)
        ",
    );
}

#[test]
fn participants_of_one_numbered_barrier_give_the_same_count() {
    // Weft's `different`.
    let r = check(
        "a100",
        "
          grid 1  warps 4
          named x
          warps 0..2: bar sync x (96)
          warps 2..4: bar sync x (128)    //~ arrival count
        ",
    );
    assert_eq!(message(&r, "barrier x"), "barrier x is used with 128 threads here and 96 there");
}

#[test]
fn more_warps_than_a_numbered_barrier_has_leave_one_behind() {
    // Weft's `over`: three warps at a barrier of 64 threads.
    check(
        "a100",
        "
          grid 1  warps 3
          named x
          all: bar sync x (64)    //~ hangs
        ",
    );
}

#[test]
fn a_warp_may_prime_the_numbered_barrier_it_waits_at() {
    // FlashAttention-3's first turn.
    check(
        "h200",
        "
          grid 1  warps 2
          named turn[2]
          all:
            if warp == 0: bar arrive turn[0] (64)
            for i in 0..3:
              bar sync turn[warp] (64)
              if i < 2 or warp == 0: bar arrive turn[1 - warp] (64)
        ",
    );
}

#[test]
fn a_count_that_is_no_number_of_warps_is_a_fault() {
    check(
        "a100",
        "
          grid 1  warps 2
          named x
          all: bar sync x (48)    //~ range
        ",
    );
}

#[test]
fn only_the_participants_of_a_numbered_barrier_are_ordered() {
    check(
        "a100",
        "
          grid 1  warps 3
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named x
          warp 0: sts r -> s
          warps 0..2: bar sync x (64)
          warp 1: lds s -> r
          warp 2: lds s -> r    //~ RAW race
        ",
    );
}
