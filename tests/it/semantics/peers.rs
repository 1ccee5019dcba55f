//! Shared memory of another CTA: before it starts and after it ends.

use super::check;

#[test]
fn memory_of_a_cta_that_may_not_have_started() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            if cta == 1: sts r -> s @cta 0    //~ life cycle
            cluster.sync
        ",
    );
}

#[test]
fn a_relaxed_cluster_barrier_says_that_all_have_started() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          all:
            cluster.arrive relaxed
            cluster.wait
            if cta == 1: lds s @cta 0 -> q
            cluster.sync
        ",
    );
}

#[test]
fn memory_of_a_cta_that_may_have_ended() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          all:
            cluster.sync
            if cta == 1:
              alu fma 1 x 1000000
              lds s @cta 0 -> q    //~ life cycle
        ",
    );
}

#[test]
fn so_is_an_access_to_one_that_happens_to_end_later() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: lds s @cta 0 -> q    //~ life cycle
            else: alu fma 1 x 1000000
        ",
    );
}

#[test]
fn an_arrival_that_the_other_cta_waits_for_keeps_it() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          mbar b (1)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 1:
              lds s @cta 0 -> q
              arrive b @cta 0 per warp cluster
            else: wait b for 0
        ",
    );
}

#[test]
fn a_relaxed_cluster_barrier_behind_a_cta_barrier_keeps_it_for_loads() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: warp 0: lds s @cta 0 -> q
            barrier
            cluster.arrive relaxed
            cluster.wait
        ",
    );
}

#[test]
fn a_relaxed_cluster_barrier_does_not_keep_it_for_a_load_in_flight() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          all:
            cluster.sync
            barrier
            if cta == 1: warp 0: lds s @cta 0 -> q    //~ life cycle
            cluster.arrive relaxed
            cluster.wait
        ",
    );
}

#[test]
fn a_later_load_is_not_covered_by_the_barrier_before_it() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: warp 0: lds s @cta 0 -> q
            barrier
            if cta == 1: warp 0: lds s @cta 0 -> q    //~ life cycle
            cluster.arrive relaxed
            cluster.wait
        ",
    );
}

#[test]
fn a_relaxed_cluster_barrier_behind_a_cta_barrier_does_not_keep_it_for_stores() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: warp 0:
              sts r -> s @cta 0    //~ life cycle
              lds s @cta 0 -> q
            barrier
            cluster.arrive relaxed
            cluster.wait
        ",
    );
}

#[test]
fn a_relaxed_cluster_barrier_orders_no_store_behind_a_load() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: warp 0: lds s @cta 0 -> q
            barrier
            cluster.arrive relaxed
            cluster.wait
            if cta == 0: warp 0: sts r -> s    //~ WAR race
            cluster.sync
        ",
    );
}

#[test]
fn a_cta_that_does_not_wait_for_the_relaxed_barrier_ends_too_early() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: warp 0: lds s @cta 0 -> q    //~ life cycle
            barrier
            cluster.arrive relaxed
        ",
    );
}
