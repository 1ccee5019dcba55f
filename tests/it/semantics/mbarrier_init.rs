//! mbarrier: life cycle (docs/rules.md 11).

use super::check;

#[test]
fn use_before_init_is_a_fault() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar b (1)
          all: elect:
            arrive b    //~ life cycle, arrival count
            init b
        ",
    );
}

#[test]
fn use_that_nothing_orders_after_the_init_is_a_fault() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar b (1)
          warp 0: elect: init b
          warp 1: elect:
            alu fma 1 x 1000000
            arrive b    //~ life cycle
        ",
    );
}

#[test]
fn a_live_barrier_is_not_initialized_again() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar b (1)
          all: elect:
            init b
            init b    //~ life cycle
            arrive b
        ",
    );
}

#[test]
fn after_inval_a_barrier_may_be_initialized_again() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar b (1)
          all: elect:
            init b
            arrive b
            inval b
            init b
            arrive b
        ",
    );
}

#[test]
fn use_after_inval_is_a_fault() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar b (1)
          all: elect:
            init b
            inval b
            arrive b    //~ life cycle
        ",
    );
}

#[test]
fn a_copy_engine_needs_a_fence_behind_the_init() {
    check(
        "h200",
        "
          grid 1  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all: elect:
            init full
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full    //~ life cycle
            wait full for 0
        ",
    );
}

/// The fence comes first in time, and nothing orders the copy after it.
#[test]
fn a_fence_of_another_warp_does_not_count_for_a_copy_beside_it() {
    let kernel = |order: &str, found: &str| {
        format!(
            "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          warp 0: elect: init full
          barrier
          warp 1: fence async
          {order}
          warp 0: elect:
            alu fma 1 x 1000000
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full    {found}
            wait full for 0
        "
        )
    };
    check("h200", &kernel("barrier", ""));
    check("h200", &kernel("", "//~ life cycle"));
}

#[test]
fn the_mbarrier_init_fence_is_accepted() {
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
            tma A[0, 0] -> a signals full
            wait full for 0
        ",
    );
}

#[test]
fn the_proxy_fence_is_accepted_after_init_too() {
    // Triton's order.
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all:
            warp 0: elect: init full
            barrier
            fence async
          warp 1: elect:
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full
            wait full for 0
        ",
    );
}

#[test]
fn arrivals_of_the_own_threads_need_no_fence() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar b (1)
          all: warp 0: elect: init b
          barrier
          warp 0: elect: arrive b
          warp 1: wait b for 0
        ",
    );
}

/// A barrier that begins a second life behind a barrier of the CTA; `wait` is what the second life waits for.
fn second_life(wait: &str, fault: &str) -> String {
    format!(
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          warp 0: elect:
            init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full
          wait full parity 0
          lds a : A[0, 0] -> r
          barrier
          warp 0: elect:
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full
          wait full parity 1
          lds a : A[0, 0] -> r
          barrier
          warp 0: elect:
            inval full
            init full;  fence mbarrier_init
          barrier
          warp 0: elect:
            arrive full expect bytes(a)
            tma A[0, 0] -> a signals full
          {wait}
          lds a : A[0, 0] -> r    {fault}
          wait full parity 0
        "
    )
}

#[test]
fn a_second_life_begins_at_parity_0() {
    check("h200", &second_life("wait full parity 0", ""));
}

#[test]
fn a_second_life_numbers_its_phases_from_0() {
    check("h200", &second_life("wait full for 0", ""));
}

#[test]
fn a_copy_of_a_second_life_is_not_known_from_the_first() {
    check("h200", &second_life("barrier", "//~ RAW race"));
}

/// Each warp initializes a stage. Whoever uses it must be ordered after that warp.
#[test]
fn stages_are_initialized_on_their_own() {
    check(
        "h200",
        "
          grid 1  warps 3
          mbar b[2] (32)
          all:
            warp 0: elect: init b[0]
            warp 1: elect: init b[1]
            barrier
            warp 0: arrive b[0]
            warp 1: arrive b[1]
          warp 2:
            for i in 0..2: wait b[i] for 0
        ",
    );
    check(
        "h200",
        "
          grid 1  warps 2
          mbar b[2] (32)
          all:
            warp 0: elect: init b[0]
            barrier
            warp 0: arrive b[0]
            warp 1: arrive b[1]    //~ life cycle, arrival count
        ",
    );
}
