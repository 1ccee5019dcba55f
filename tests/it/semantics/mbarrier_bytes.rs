//! mbarrier: transaction bytes (docs/rules.md 5 to 7).

use super::{check, message};

#[test]
fn copies_that_join_a_phase_do_so_before_its_last_arrival() {
    // `cp.async.mbarrier.arrive` without `.noinc` adds to the count: behind the thread's own arrival it may be too late.
    check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (32)
          all:
            warp 0: elect: init full
            barrier
            cp A[0, 0] -> a
            arrive full per thread
            cp.arrive full    //~ transaction bytes
            commit cp;  wait cp <= 0
        ",
    );
}

#[test]
fn a_phase_completes_when_no_arrival_is_pending_and_no_byte_missing() {
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full
          warp 1:
            wait full for 0
            lds a : A[0, 0] -> r
        ",
    );
}

#[test]
fn a_late_expect_is_accepted_while_an_arrival_is_pending() {
    // DeepGEMM: the copies are issued before `arrive.expect_tx`, so the byte count is negative for a while.
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            tma A[0, 0] -> a signals full
            alu fma 1 x 1000000
            arrive full expect bytes(a)
          warp 1:
            wait full for 0
            lds a : A[0, 0] -> r
        ",
    );
}

#[test]
fn an_arrival_before_its_expect_completes_the_phase_early() {
    let r = check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            arrive full
            expect full bytes(a)
            alu fma 1 x 1000000    // the reader is first, whatever the machine's numbers
            tma A[0, 0] -> a signals full    //~ WAR race, parity alias
            arrive full
            wait full for 1
          warp 1:
            wait full for 0
            lds a : A[0, 0] -> r    //~ stale tile
        ",
    );
    assert!(message(&r, "reads A[0, 0]").contains("nothing written yet"));
}

#[test]
fn fewer_bytes_expected_than_one_copy_brings_is_found_when_it_lands() {
    let r = check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            arrive full expect bytes(a) / 2
            tma A[0, 0] -> a signals full    //~ transaction bytes
          warp 1: wait full for 0    //~ hangs
        ",
    );
    assert!(message(&r, "4096 bytes more than expected").contains("phase cannot complete"));
}

#[test]
fn fewer_bytes_expected_than_two_copies_bring_is_found_in_the_next_phase() {
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[128, 64]
          shared a[2]: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            arrive full expect bytes(a)
            tma A[0, 0] -> a[0] signals full
            tma A[1, 0] -> a[1] signals full    //~ transaction bytes
          warp 1: wait full for 0
        ",
    );
}

#[test]
fn fewer_bytes_expected_late_is_found_at_the_arrival() {
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            tma A[0, 0] -> a signals full
            alu fma 1 x 1000000
            arrive full expect bytes(a) / 2    //~ transaction bytes
          warp 1: wait full for 0    //~ hangs
        ",
    );
}

#[test]
fn more_bytes_expected_than_come_is_found_where_they_were_expected() {
    let r = check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            arrive full expect 2 * bytes(a)    //~ transaction bytes
            tma A[0, 0] -> a signals full
          warp 1: wait full for 0    //~ hangs
        ",
    );
    assert!(message(&r, "8192").contains("phase 0 of full"));
}

#[test]
fn expect_without_an_arrival_leaves_the_phase_open() {
    // TileLang 2566: the bulk-copy path expected bytes and did not arrive.
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            expect full bytes(a)
            tma A[0, 0] -> a signals full
          warp 1:
            wait full for 0    //~ hangs
          warp 0: elect: if cta.m > 0: arrive full
        ",
    );
}

#[test]
fn a_byte_count_past_the_field_is_a_fault() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar full (2)
          all: elect:
            init full
            expect full 1048576    //~ transaction bytes
        ",
    );
}

#[test]
fn a_cta_does_not_end_before_its_copies() {
    check(
        "h200",
        "
          grid 1  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all: elect:
            init full;  fence mbarrier_init
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full    //~ life cycle
        ",
    );
}

#[test]
fn an_expect_beside_the_only_arrival_can_come_late() {
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            expect full bytes(a)    //~ transaction bytes
            tma A[0, 0] -> a signals full
            wait full for 0
          warp 1: elect:
            alu fma 1024 x 1024
            arrive full
        ",
    );
}
