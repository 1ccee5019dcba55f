//! mbarrier: phases and parities (docs/rules.md 9, 10).

use super::check;

#[test]
fn phase_minus_one_is_complete_from_the_start() {
    check(
        "h200",
        "
          grid 1  warps 1
          mbar empty[2] (1)
          all: elect:
            init empty
            for i in 0..4:
              wait empty[i % 2] for i / 2 - 1
              arrive empty[i % 2]
        ",
    );
}

#[test]
fn a_warp_whose_leader_signals_for_it_can_lag_two_phases() {
    // Triton 10035: one warp of the consumers arrives, the other only polls.
    check(
        "h200",
        "
          grid 1  warps 3
          mbar full (1)   mbar empty (1)
          role load = warp 0
          role use  = warps 1..3
          all: warp 0: elect: init full, empty
          barrier
          load: elect: for i in 0..3:
            wait empty for i - 1
            arrive full    //~ parity alias
          use: for i in 0..3:
            wait full for i
            if warp == 1: arrive empty per warp
        ",
    );
}

#[test]
fn a_barrier_of_the_consumers_before_the_leaders_arrival_mends_it() {
    check(
        "h200",
        "
          grid 1  warps 3
          mbar full (1)   mbar empty (1)
          named all_read
          role load = warp 0
          role use  = warps 1..3
          all: warp 0: elect: init full, empty
          barrier
          load: elect: for i in 0..3:
            wait empty for i - 1
            arrive full
          use: for i in 0..3:
            wait full for i
            bar sync all_read (64)
            if warp == 1: arrive empty per warp
        ",
    );
}

#[test]
fn a_waiter_that_comes_two_phases_late_sees_its_parity_again() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar b (1)
          all: warp 0: elect: init b
          barrier
          warp 0: elect: arrive b;  arrive b
          warp 1:
            alu fma 1 x 1000000
            wait b for 0    //~ parity alias
        ",
    );
}

#[test]
fn a_waiter_beyond_the_open_phase_is_answered_by_an_older_one() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar b (1)
          all: warp 0: elect: init b
          barrier
          warp 0: elect:
            alu fma 1 x 1000000
            arrive b
            arrive b
          warp 1: wait b for 1    //~ parity alias
        ",
    );
}

#[test]
fn a_raw_parity_means_the_newest_phase_known_or_the_next() {
    check(
        "h200",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (32)   mbar empty (32)
          all: warp 0: elect: init full, empty
          barrier
          warp 0:
            var p = 1
            for i in 0..4:
              wait empty parity p
              sts r -> s
              arrive full
              warp.sync
              p = 1 - p
          warp 1:
            var p = 0
            for i in 0..4:
              wait full parity p
              lds s -> r
              arrive empty
              p = 1 - p
        ",
    );
}

#[test]
fn a_raw_parity_that_does_not_flip_passes_at_once() {
    // TileLang 3087: a barrier that flips every iteration is asked with the ring's parity.
    check(
        "h200",
        "
          grid 1  warps 2
          shared s[2]: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          warp 0: init full
          all: barrier
          warp 0: for i in 0..2:
            alu fma 1 x 1000000
            sts r -> s[i]    //~ WAR race
            arrive full per warp    //~ parity alias
          warp 1: for i in 0..2:
            wait full parity i / 2
            lds s[i] -> r    //~ stale tile
        ",
    );
}

#[test]
fn a_producer_that_starts_with_the_consumers_parity_waits_for_ever() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar full (1)   mbar empty (1)
          all: warp 0: elect: init full, empty
          barrier
          warp 0: elect:
            wait empty parity 0    //~ hangs
            arrive full
          warp 1: elect:
            wait full parity 0    //~ hangs
            arrive empty
        ",
    );
}

#[test]
fn phases_that_restart_with_each_tile_alias() {
    // TileLang 2674: right only where the trips are a multiple of twice the stages.
    check(
        "h200",
        "
          grid 1  warps 2
          mbar full[2] (1)   mbar empty[2] (1)
          all: warp 0: elect: init full, empty
          barrier
          warp 0: elect: for tile in 0..2, i in 0..3:
            wait empty[i % 2] for i / 2 - 1    //~ parity alias
            arrive full[i % 2]    //~ parity alias
          warp 1: elect: for tile in 0..2, i in 0..3:
            wait full[i % 2] for i / 2    //~ parity alias
            arrive empty[i % 2]
        ",
    );
}

#[test]
fn a_waiter_may_skip_phases_that_it_knows_of() {
    // CUTLASS's ping-pong: warp 1 waits for phases 0 and 2, both of parity 0, and knows of phase 1 through its turn.
    check(
        "h200",
        "
          grid 1  warps 3
          mbar full (1)   mbar empty (1)
          named turn[2]
          all: warp 0: elect: init full, empty
          barrier
          warp 0: elect: for i in 0..4:
            wait empty for i - 1
            arrive full
          warps 1..3: for i in 0..4:
            if i % 2 == warp - 1:
              if i > 0: bar sync turn[warp - 1] (64)
              wait full parity i % 2
              arrive empty per warp
              if i < 3: bar arrive turn[2 - warp] (64)
        ",
    );
}

#[test]
fn a_waiter_that_nothing_orders_behind_the_phase_before() {
    // The second phase may be complete when warp 1 comes; the first may not be.
    check(
        "h200",
        "
          grid 1  warps 2
          mbar full (1)
          all: warp 0: elect: init full
          barrier
          warp 0: elect:
            arrive full
            wait full for 0
            arrive full
          warp 1: elect:
            alu fma 1024 x 1024
            wait full for 1    //~ parity alias
        ",
    );
}

#[test]
fn a_waiter_that_knows_of_every_arrival_of_the_phase_before() {
    check(
        "h200",
        "
          grid 1  warps 2
          mbar full (1)   mbar go (1)
          all: warp 0: elect: init full, go
          barrier
          warp 0: elect:
            arrive full
            arrive go
            wait full for 0
            arrive full
          warp 1: elect:
            wait go for 0
            wait full for 1
        ",
    );
}
