//! mbarrier: arrivals, counts, ordering (docs/rules.md 5, 8, 12).

use super::{check, message};

#[test]
fn a_phase_completes_at_the_last_arrival_and_orders_what_was_before_it() {
    check(
        "h200",
        "
          grid 1  warps 3
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (64)
          all: warp 0: elect: init b
          barrier
          warps 0..2:
            sts r.rows(warp, 2) -> s.rows(warp, 2)
            arrive b
          warp 2:
            wait b for 0
            lds s -> r
        ",
    );
}

#[test]
fn a_phase_with_an_arrival_missing_never_completes() {
    check(
        "h200",
        "
          grid 1  warps 3
          mbar b (3)
          all: warp 0: elect: init b
          barrier
          warps 0..2: arrive b per warp
          warp 2: wait b for 0    //~ hangs
        ",
    );
}

#[test]
fn a_reader_that_does_not_wait_races() {
    check(
        "h200",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (1)
          all: warp 0: elect: init b
          barrier
          warp 0:
            sts r -> s
            arrive b per warp
          warp 1:
            alu exp 64 x 64
            lds s -> r    //~ RAW race
        ",
    );
}

#[test]
fn a_relaxed_arrival_orders_nothing() {
    check(
        "h200",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (32)
          all: warp 0: elect: init b
          barrier
          warp 0:
            sts r -> s
            arrive b relaxed
          warp 1:
            wait b for 0
            lds s -> r    //~ RAW race
        ",
    );
}

#[test]
fn each_thread_of_a_warp_arrives_where_nothing_else_is_said() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar b (32)   mbar c (33)
          all: warp 0: elect: init b, c
          barrier
          warp 0: arrive b;  arrive c
          warp 1:
            wait b for 0
            wait c for 0    //~ hangs
        ",
    );
}

#[test]
fn once_is_one_arrival_of_each_member_of_the_role() {
    check(
        "h200",
        "
          grid 1  warps 4
          mbar b (2)
          role part[2] = warps 0..4
          all: warp 0: elect: init b
          barrier
          part: arrive b once
          warp 3: wait b for 0
        ",
    );
}

#[test]
fn an_arrival_may_count_several_times() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar b (3)
          all: warp 0: elect: init b
          barrier
          warp 0: elect: arrive b count 3
          warp 1: wait b for 0
        ",
    );
}

#[test]
fn more_arrivals_at_once_than_a_phase_needs_are_a_fault() {
    let r = check(
        "h200",
        "
          grid 1  warps 2
          mbar b (2)
          all: warp 0: elect: init b
          barrier
          warp 0: elect: arrive b count 3    //~ arrival count
          warp 1: wait b for 0
        ",
    );
    assert_eq!(message(&r, "arrives"), "arrives 3 times on b, whose phase 0 needs 2 more of 2");
}

#[test]
fn order_passes_through_different_barriers() {
    // FlashAttention-3: a warpgroup that never waits for the loader learns of it from the one that did.
    check(
        "h200",
        "
          grid 1  warps 3
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (32)
          named turn
          all: warp 0: elect: init b
          barrier
          warp 0:
            sts r -> s
            arrive b
          warp 1:
            wait b for 0
            bar arrive turn (64)
          warp 2:
            bar sync turn (64)
            lds s -> r
        ",
    );
}

#[test]
fn a_state_names_the_phase_of_the_arrival_that_returned_it() {
    let kernel = |last: &str| {
        format!(
            "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (64)
          all: warp 0: elect: init b
          barrier
          for i in 0..4:
            warp 0: sts r -> s
            arrive b state 0
            wait b state 0
            warp 1: lds s -> r    {}
            {last}
        ",
            if last.is_empty() { "//~ RAW race" } else { "" }
        )
    };
    check("h200", &kernel("arrive b state 1;  wait b state 1"));
    check("h200", &kernel(""));
}

#[test]
fn a_state_is_used_once_and_on_its_barrier() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar b (32)   mbar c (32)
          all: elect: init b, c
          warp.sync
          arrive b state 0
          wait b state 0
          arrive c state 0
          wait b state 0    //~ range
        ",
    );
}

#[test]
fn later_phases_need_dropped_arrivals_no_longer() {
    let kernel = |how: &str, hangs: &str| {
        format!(
            "
          grid 1  warps 2
          mbar b (64)
          all: warp 0: elect: init b
          barrier
          warp 1: arrive b {how}
          warp 0: for i in 0..3:
            arrive b
            wait b for i    {hangs}
        "
        )
    };
    check("h200", &kernel("drop", ""));
    check("h200", &kernel("", "//~ hangs"));
}

#[test]
fn no_more_arrivals_are_dropped_than_a_phase_needs() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar b (16)
          all: elect: init b
          warp.sync
          arrive b drop    //~ arrival count
        ",
    );
}
