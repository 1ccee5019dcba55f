//! Clusters: remote arrivals, the cluster barrier, pairs, leaving (docs/rules.md 12, 13, 17, 28, 31).

use super::check;

#[test]
fn a_remote_arrival_orders_what_is_before_it() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (32)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 1:
              sts r -> s @cta 0
              arrive b @cta 0 cluster
            else:
              wait b for 0
              lds s -> r
            cluster.sync
        ",
    );
}

#[test]
fn an_arrival_of_cta_scope_shows_no_data_to_another_cta() {
    // CUTLASS 3324.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (32)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 1:
              sts r -> s @cta 0
              arrive b @cta 0
            else:
              wait b for 0
              lds s -> r    //~ scope
            cluster.sync
        ",
    );
}

#[test]
fn a_copy_by_another_cta_shows_its_bytes_and_no_other_data_of_that_cta() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]   shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (1)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 0: elect: arrive b expect bytes(a)
            if cta == 1:
              sts r -> s @cta 0
              warp.sync
              elect: tma A[0, 0] -> a signals b multicast 0b01
            else:
              wait b for 0
              lds a : A[0, 0] -> q
              lds s -> r    //~ scope
            cluster.sync
        ",
    );
}

#[test]
fn an_arrival_of_cta_scope_orders_its_own_cta_through_a_mask() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (64)
          all:
            warp 0: elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            warp 0: sts r -> s;  arrive b @ctas 0b11
            warp 1: wait b for 0;  lds s -> r
            cluster.sync
        ",
    );
}

#[test]
fn an_arrival_on_all_ctas_of_a_mask() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          mbar b (2)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            elect: arrive b @ctas 0b11 cluster
            elect: wait b for 0
            cluster.sync
        ",
    );
}

#[test]
fn a_remote_arrival_needs_the_fence_behind_the_init() {
    // CUTLASS 2030.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          mbar b (1)
          all:
            elect: init b
            cluster.sync
            elect:
              if cta == 1: arrive b @cta 0 cluster    //~ life cycle
              else: wait b for 0
            cluster.sync
        ",
    );
}

#[test]
fn the_cluster_barrier_orders_both_ctas() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: sts r -> s @cta 0
            cluster.sync
            if cta == 0: lds s -> r
        ",
    );
}

#[test]
fn a_relaxed_arrival_at_it_orders_nothing() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cluster.sync
            if cta == 1: sts r -> s @cta 0
            cluster.arrive relaxed
            cluster.wait
            if cta == 0: lds s -> r    //~ RAW race
            cluster.sync
        ",
    );
}

#[test]
fn two_arrivals_at_it_without_a_wait_are_a_fault() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          all:
            cluster.arrive
            cluster.arrive    //~ arrival count
            cluster.wait
        ",
    );
}

#[test]
fn a_wait_at_it_without_an_arrival_is_a_fault() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          all: cluster.wait    //~ arrival count
        ",
    );
}

#[test]
fn an_agent_that_arrived_and_left_still_counts() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            cluster.sync
            if cta == 1 and warp == 0:
              alu fma 1 x 1000000
              sts r -> s @cta 0
            cluster.arrive
            if cta == 1 and warp == 1: exit
            cluster.wait
            if cta == 0: lds s -> r
        ",
    );
}

#[test]
fn a_cta_that_leaves_before_a_remote_arrival_is_a_fault() {
    // sglang 32954.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          mbar b (1)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 1:
              alu fma 1 x 1000000
              elect: arrive b @cta 0 cluster    //~ life cycle
        ",
    );
}

#[test]
fn so_is_one_that_happens_to_leave_later() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          mbar b (1)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 1:
              elect: arrive b @cta 0 cluster    //~ life cycle
            else:
              alu fma 1 x 1000000
        ",
    );
}

#[test]
fn a_cluster_barrier_at_the_end_mends_it() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          mbar b (1)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 1:
              elect: arrive b @cta 0 cluster
            cluster.sync
        ",
    );
}

#[test]
fn so_does_a_wait_for_the_arrival() {
    // DeepGEMM's tail: another round of waits before the barriers go away.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          mbar b (1)
          all:
            elect: init b;  fence mbarrier_init.cluster
            cluster.sync
            elect:
              if cta == 1: arrive b @cta 0 cluster
              else: wait b for 0
        ",
    );
}

const PAIR: &str = "
          grid 1  cluster 2  warps 4
          global A: f16[256, 64]   global B: f16[128, 64]
          shared a: f16[128, 64]   shared b: f16[64, 64]
          tmem acc: f32[128, 128]
          mbar full (2)   mbar done (1)
          set leader = cta 0
          all:
            warp 1: elect: init full, done;  fence mbarrier_init.cluster
            warp 2: tmem.alloc acc pair
            cluster.sync
          warp 0: elect:
            arrive full @cta 0 expect bytes(a) + bytes(b) cluster
            tma A[cta.m, 0] -> a signals full @cta 0
            tma B[0, 0].half(cta) -> b signals full @cta 0
";

#[test]
fn a_pair_multiplies_with_both_ctas_memory() {
    check(
        "b200",
        &(PAIR.to_string()
            + "
          leader: warp 1: elect:
            wait full for 0
            umma.pair a, b -> acc
            commit umma -> done @ctas 0b11
          all:
            wait done for 0;  tmem.fence after
            tmem.ld acc.rows(warp, 4) -> r;  wait tmem.ld <= 0
            cluster.sync
            warp 2: tmem.dealloc acc pair
        "),
    );
}

#[test]
fn a_pair_gives_tensor_memory_back_when_both_ctas_are_through() {
    // CUTLASS 3435.
    check(
        "b200",
        &(PAIR.to_string()
            + "
          leader: warp 1: elect:
            wait full for 0
            umma.pair a, b -> acc
            commit umma -> done @ctas 0b11
          all:
            wait done for 0;  tmem.fence after
            tmem.ld acc.rows(warp, 4) -> r;  wait tmem.ld <= 0
            barrier
            warp 2: tmem.dealloc acc pair    //~ life cycle
        "),
    );
}

#[test]
fn a_commit_without_a_mask_arrives_in_the_issuers_cta_only() {
    check(
        "b200",
        &(PAIR.to_string()
            + "
          leader: warp 1: elect:
            wait full for 0
            umma.pair a, b -> acc
            commit umma -> done
          all:
            wait done for 0    //~ hangs
            cluster.sync    //~ hangs
            warp 2: tmem.dealloc acc pair
        "),
    );
}

#[test]
fn a_copy_says_nothing_of_what_its_issuer_does_next() {
    // The copy tells warp 1 that warp 0 issued it, not that warp 0's wait behind it is over.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          mbar full (1)  mbar free (1)
          all:
            warp 0: elect: init full, free;  fence mbarrier_init.cluster
            cluster.sync
            if cta == 0:
              warp 0: elect:
                arrive full expect bytes(a)
                tma A[0, 0] -> a signals full
                wait free for 0
              warp 1:
                wait full for 0
                arrive free per warp
                alu fma 64 x 4096
                arrive free per warp    //~ parity alias
            cluster.sync
        ",
    );
}

#[test]
fn a_cluster_barrier_of_any_number_of_warps() {
    // 8 CTAs of 17 warps are more than 128 agents.
    check(
        "h200",
        "
          grid 1  cluster 8  warps 17
          all:
            cluster.sync
            cluster.sync
        ",
    );
}
