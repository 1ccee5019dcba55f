//! Accesses to global matrices that a kernel both reads and writes.

use super::{check, message};

/// A workspace that warp 0 stores and warp 1 reads, with a statement between.
fn workspace(between: &str, read: &str) -> String {
    format!(
        "
  needs sm_90
  grid 1   warps 2
  global W: f32[64, 64]
  reg r: f32[16, 64], q: f32[16, 64]
  all:
    warp 0: store r -> W[0, 0]
    {between}
    warp 1: {read}
"
    )
}

#[test]
fn a_read_of_what_another_warp_stores_needs_an_order() {
    check("h200", &workspace("warp.sync", "ldg W[0, 0] -> q //~ RAW race"));
    check("h200", &workspace("barrier", "ldg W[0, 0] -> q"));
}

#[test]
fn other_elements_of_the_matrix_do_not_conflict() {
    check("h200", &workspace("warp.sync", "ldg W[1, 0] -> q"));
    // By element: rows 8 to 23 meet rows 0 to 15.
    let by_element = |row| workspace("warp.sync", row).replace("W[0, 0]\n", "W.at(0, 0)\n");
    check("h200", &by_element("ldg W.at(8, 0) -> q //~ RAW race"));
    check("h200", &by_element("ldg W.at(16, 0) -> q"));
}

#[test]
fn a_store_over_what_another_warp_reads_needs_an_order() {
    let body = "
  needs sm_90
  grid 1   warps 2
  global W: f32[64, 64]
  reg r: f32[16, 64], q: f32[16, 64]
  all:
    warp 0: ldg W[0, 0] -> q
    BETWEEN
    warp 1: store r -> W[0, 0] MARK
";
    check("h200", &body.replace("BETWEEN", "warp.sync").replace("MARK", "//~ WAR race"));
    check("h200", &body.replace("BETWEEN", "barrier").replace("MARK", ""));
}

#[test]
fn elements_that_were_read_may_be_stored_again() {
    check(
        "h200",
        "
  needs sm_90
  grid 1   warps 1
  global W: f32[64, 64]
  reg r: f32[16, 64], q: f32[16, 64]
  all:
    store r -> W[0, 0]
    ldg W[0, 0] -> q
    alu fma 16 x 64 uses q -> r
    store r -> W[0, 0]
    store r -> W[0, 0] //~ coverage
",
    );
}

#[test]
fn a_bulk_store_is_over_when_its_write_wait_says_so() {
    let body = "
  needs sm_90
  grid 1   warps 2
  global W: f32[64, 64]
  shared a: f32[16, 64]
  reg q: f32[16, 64]
  all:
    warp 0: elect:
      tma.store a -> W[0, 0]
      commit bulk
      wait WHICH <= 0
    barrier
    warp 1: ldg W[0, 0] -> q MARK
";
    check("h200", &body.replace("WHICH", "bulk.read").replace("MARK", "//~ RAW race"));
    check("h200", &body.replace("WHICH", "bulk").replace("MARK", ""));
}

#[test]
fn a_copy_engine_reads_ordinary_stores_behind_a_proxy_fence_on_global_memory() {
    let body = "
  needs sm_90
  grid 1   warps 2
  global W: f32[64, 64]
  shared a: f32[16, 64]
  reg r: f32[16, 64]
  mbar full (1)
  all:
    warp 0: elect: init full;  fence mbarrier_init
    barrier
    warp 0: store r -> W[0, 0]
    FENCE
    barrier
    warp 1: elect:
      arrive full expect bytes(a)
      tma W[0, 0] -> a signals full MARK
    all: wait full for 0
";
    let missing = check("h200", &body.replace("FENCE", "fence async").replace("MARK", "//~ missing fence"));
    assert!(message(&missing, "asynchronous proxy reads W[0, 0]").contains("fence async.global"));
    check("h200", &body.replace("FENCE", "fence async.global").replace("MARK", ""));
}

#[test]
fn a_matrix_that_two_ctas_of_a_cluster_share_needs_the_cluster_barrier() {
    let body = "
  needs sm_90
  grid 1   cluster 2   warps 1
  global W: f32[64, 64]
  reg r: f32[16, 64], q: f32[16, 64]
  all:
    store r -> W[cta, 0]
    BETWEEN
    ldg W[1 - cta, 0] -> q MARK
    cluster.sync
";
    check("h200", &body.replace("BETWEEN", "barrier").replace("MARK", "//~ RAW race"));
    check("h200", &body.replace("BETWEEN", "cluster.sync").replace("MARK", ""));
}
