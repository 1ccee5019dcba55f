//! Signals to other CTAs: an `init` that a relaxed cluster barrier passes on, and stores that complete bytes.

use super::check;

#[test]
fn a_relaxed_cluster_barrier_passes_on_an_init_behind_its_fence() {
    // Another warp's store, which the CTA barrier shows to the thread of the `init`, is not passed on.
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          mbar b (1)
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          warp 0: elect:
            init b;  fence mbarrier_init
          warp 1: sts r -> s
          all:
            barrier
            cluster.arrive relaxed
            cluster.wait
          warp 0: lds s @cta 1 - cta -> q    //~ RAW race
          warp 1: elect: arrive b @cta 1 - cta cluster
          warp 0: wait b for 0
          all: cluster.sync
        ",
    );
}

#[test]
fn a_relaxed_cluster_barrier_needs_the_fence_of_the_thread_that_initialized() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 2
          mbar b (1)
          warp 0: elect: init b
          all:
            barrier
          warp 1: fence mbarrier_init
          all:
            cluster.arrive relaxed
            cluster.wait
          warp 1: elect: arrive b @cta 1 - cta cluster    //~ life cycle
          warp 0: wait b for 0
          all: cluster.sync
        ",
    );
}

#[test]
fn an_asynchronous_store_completes_bytes_where_its_data_goes() {
    let kernel = |wait: &str, life: &str, race: &str| {
        format!(
            "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (1)
          all: elect: init b;  fence mbarrier_init
          cluster.sync
          elect: arrive b expect bytes(s)
          sts r -> s @cta 1 - cta signals b @cta 1 - cta    {life}
          {wait}
          lds s -> r    {race}
          cluster.sync
        "
        )
    };
    check("h200", &kernel("wait b for 0", "", ""));
    check("h200", &kernel("warp.sync", "//~ life cycle", "//~ RAW race"));
}

#[test]
fn lanes_apart_complete_bytes_of_their_own() {
    // The elected lane waits for a phase that completes only after the bytes of all lanes.
    let kernel = |join: &str| {
        format!(
            "
              grid 1  cluster 2  warps 1
              shared s: f16[64, 64]
              reg r: f16[64, 64]
              mbar b (1)  mbar free (1)
              all: elect: init b, free;  fence mbarrier_init
              cluster.sync
              for n in 0..3:
                elect: arrive b expect bytes(s)
                {join}
                wait free for n - 1
                sts r -> s @cta 1 - cta signals b @cta 1 - cta
                wait b for n
                lds s -> r
                warp.sync
                elect: arrive free @cta 1 - cta cluster
              cluster.sync
            "
        )
    };
    check("h200", &kernel("warp.sync"));
    check("h200", &kernel("alu fma 1"));
}

#[test]
fn its_barrier_is_in_the_cta_that_receives_the_data() {
    check(
        "h200",
        "
          grid 1  cluster 2  warps 1
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (1)
          all: elect: init b;  fence mbarrier_init
          cluster.sync
          sts r -> s @cta 1 - cta signals b    //~ range
        ",
    );
}
