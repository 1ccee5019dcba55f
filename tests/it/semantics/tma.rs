//! `tma`: where the data and the signal go (docs/rules.md 16 to 19).

use super::check;

#[test]
fn a_multicast_signals_in_every_cta_of_the_mask() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          set leader = cta 0
          all:
            warp 0: elect: init full;  fence mbarrier_init.cluster
            cluster.sync
            warp 0: elect:
              arrive full expect bytes(a)
              leader: tma A[0, 0] -> a signals full multicast 0b11
            wait full for 0
            lds a : A[0, 0] -> r
            cluster.sync
        ",
    );
}

#[test]
fn a_cta_that_expects_a_multicast_nobody_sends_waits_for_ever() {
    // DeepGEMM 415: the two CTAs disagree on whether a multicast takes place.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          set leader = cta 0
          all:
            warp 0: elect: init full;  fence mbarrier_init.cluster
            cluster.sync
            warp 0: elect:
              arrive full expect bytes(a)    //~ transaction bytes
              leader: tma A[0, 0] -> a signals full
            warp 1: wait full for 0    //~ hangs
        ",
    );
}

#[test]
fn a_mask_with_a_cta_outside_the_cluster_is_a_fault() {
    // CUTLASS 3658.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all:
            elect: init full;  fence mbarrier_init.cluster
            cluster.sync
            elect: tma A[0, 0] -> a signals full multicast 0b100    //~ range
        ",
    );
}

#[test]
fn a_pair_may_signal_the_even_ctas_barrier() {
    check(
        "b200",
        "
          grid 1  cluster 2  warps 2
          global A: f16[128, 64]
          shared a: f16[64, 64]
          mbar full (2)
          set leader = cta 0
          all:
            warp 0: elect: init full;  fence mbarrier_init.cluster
            cluster.sync
            warp 0: elect:
              arrive full @cta 0 expect bytes(a)
              tma A[cta.m, 0] -> a signals full @cta 0
            leader: warp 1: wait full for 0
            cluster.sync
        ",
    );
}

#[test]
fn each_destination_of_a_multicast_signals_in_its_own_pair() {
    check(
        "b200",
        "
          grid 1  cluster 4  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all:
            warp 0: elect: init full;  fence mbarrier_init.cluster
            cluster.sync
            warp 0: elect: if cta % 2 == 0: arrive full expect 2 * bytes(a)
            cluster.sync
            warp 0: elect: if cta == 0: tma A[0, 0] -> a signals full @cta 0 multicast 0b1111
            if cta % 2 == 0: wait full for 0
            cluster.sync
        ",
    );
}

#[test]
fn a_copy_cannot_signal_outside_its_pair() {
    check(
        "b200",
        "
          grid 1  cluster 4  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)
          all:
            elect: init full;  fence mbarrier_init.cluster
            cluster.sync
            elect: if cta == 3: tma A[0, 0] -> a signals full @cta 0    //~ range
            cluster.sync
        ",
    );
}

#[test]
fn a_box_that_leaves_the_matrix_brings_all_its_bytes() {
    check(
        "h200",
        "
          grid 1  warps 1
          global A: f16[96, 64]
          shared a[2]: f16[64, 64]
          mbar full (1)
          all: elect:
            init full;  fence mbarrier_init
            arrive full expect 2 * bytes(a)
            tma A[0, 0] -> a[0] signals full
            tma A[1, 0] -> a[1] signals full
            wait full for 0
        ",
    );
}

#[test]
fn a_copy_that_is_skipped_brings_none() {
    check(
        "h200",
        "
          grid 1  warps 1
          global A: f16[128, 64]
          shared a[2]: f16[64, 64]
          mbar full (1)
          all: elect:
            init full;  fence mbarrier_init
            arrive full expect 2 * bytes(a)    //~ transaction bytes
            tma A[0, 0] -> a[0] signals full
            if cta.m > 0: tma A[1, 0] -> a[1] signals full
            wait full for 0    //~ hangs
        ",
    );
}

#[test]
fn an_engine_writes_a_slot_that_is_still_read() {
    check(
        "h200",
        "
          grid 1  warps 2
          global A: f16[64, 128]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          all: warp 0: elect: init full;  fence mbarrier_init
          barrier
          warp 0: elect: for i in 0..2:
            if i > 0: wait full for 0
            arrive full expect bytes(a)
            tma A[0, i] -> a signals full    //~ WAR race, parity alias
            if i == 1: wait full for 1
          warp 1:
            wait full for 0
            lds a -> r
        ",
    );
}
