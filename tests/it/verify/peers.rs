//! The life of a peer CTA: its memory is there from its start to the end of its last thread.

use super::kernel;

/// A kernel of two CTAs; CTA 1 does `access` to the memory of CTA 0.
fn cluster(before: &str, access: &str, after: &str) -> super::Verdict {
    kernel(
        "h200",
        &format!(
            "kernel t(tiles = 4)
  cluster 2   warps 1   grid 2
  shared s: f16[64, 64]
  reg r: f16[64, 64], q: f16[64, 64]
  mbar b (1)
  all:
    elect: init b;  fence mbarrier_init.cluster
    {before}
    if cta == 1:
      {access}
    {after}
"
        ),
    )
}

#[test]
fn memory_of_a_peer_that_may_not_have_started() {
    for access in ["sts r -> s @cta 0", "lds s @cta 0 -> q"] {
        cluster("warp.sync", access, "cluster.sync").violated("life cycle", "s @cta 0");
        cluster("cluster.sync", access, "cluster.sync").proved();
    }
    // A relaxed arrival shows no data, and says that its thread has started.
    cluster("cluster.arrive relaxed;  cluster.wait", "lds s @cta 0 -> q", "cluster.sync").proved();
}

#[test]
fn memory_of_a_peer_that_may_have_ended() {
    for access in ["sts r -> s @cta 0", "lds s @cta 0 -> q"] {
        cluster("cluster.sync", access, "barrier").violated("life cycle", "s @cta 0");
        // A barrier before the access holds no agent back.
        cluster("cluster.sync", &format!("alu fma 1 x 10\n      {access}"), "warp.sync")
            .violated("life cycle", "s @cta 0");
    }
}

#[test]
fn an_arrival_that_the_peer_waits_for_keeps_it() {
    let arrives = "lds s @cta 0 -> q\n      warp.sync\n      elect: arrive b @cta 0 cluster";
    cluster("cluster.sync", arrives, "if cta == 0: wait b for 0").proved();
    let early = "elect: arrive b @cta 0 cluster\n      warp.sync\n      lds s @cta 0 -> q";
    cluster("cluster.sync", early, "if cta == 0: wait b for 0").violated("life cycle", "lds s @cta 0");
}

#[test]
fn one_thread_of_the_peer_is_enough() {
    // The other warp of CTA 0 may end early: the CTA ends with its last thread.
    let text = "kernel t()
  cluster 2   warps 2   grid 2
  shared s: f16[64, 64]
  mbar b (1)
  all:
    warp 0: elect: init b;  fence mbarrier_init.cluster
    cluster.sync
    if cta == 1:
      warp 1:
        lds s @cta 0 -> q
        warp.sync
        elect: arrive b @cta 0 cluster
    else:
      warp 0: wait b for 0
";
    kernel("h200", text).proved();
}

const PAIR: &str = "kernel t()
  needs sm_100a
  grid 2   cluster 2   warps 4
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
  leader: warp 1: elect:
    wait full for 0
    umma.pair a, b -> acc
    commit umma -> done @ctas 0b11
  all:
    wait done for 0;  tmem.fence after
    cluster.sync
    warp 2: tmem.dealloc acc pair
";

#[test]
fn a_pair_reads_the_peer_while_it_lives() {
    kernel("b200", PAIR).proved();
    // CTA 1 ends without having waited for the products that read its shared memory.
    let ends = PAIR
        .replace("    cluster.sync\n    warp 2: tmem.dealloc", "    warp 2: tmem.dealloc")
        .replace("  all:\n    wait done", "  all:\n    if cta == 1: exit\n    wait done");
    kernel("b200", &ends).violated("life cycle", "umma.pair a, b -> acc");
}
