//! Proxy fences between ordinary and asynchronous accesses (docs/rules.md 21).

use super::check;

#[test]
fn an_asynchronous_read_of_ordinary_stores_needs_a_fence() {
    check(
        "h200",
        "
          grid 1  warps 2
          global C: f16[64, 64]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> c.rows(warp, 2)
            barrier
            warp 0: elect: tma.store c -> C[0, 0]    //~ missing fence
        ",
    );
}

#[test]
fn the_writers_fence_before_the_barrier_is_accepted() {
    check(
        "h200",
        "
          grid 1  warps 2
          global C: f16[64, 64]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> c.rows(warp, 2)
            fence async
            barrier
            warp 0: elect: tma.store c -> C[0, 0]
        ",
    );
}

#[test]
fn a_fence_on_the_path_is_accepted() {
    // pytorch/ao 4278's order, in the default `path` strictness.
    check(
        "h200",
        "
          grid 1  warps 2
          global C: f16[64, 64]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> c.rows(warp, 2)
            barrier
            warp 0: elect: fence async;  tma.store c -> C[0, 0]
        ",
    );
}

#[test]
fn a_fence_before_the_write_covers_nothing() {
    check(
        "h200",
        "
          grid 1  warps 2
          global C: f16[64, 64]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all:
            fence async
            sts r.rows(warp, 2) -> c.rows(warp, 2)
            barrier
            warp 0: elect: tma.store c -> C[0, 0]    //~ missing fence
        ",
    );
}

#[test]
fn a_fence_of_another_warp_does_not_cover_this_ones_stores() {
    check(
        "h200",
        "
          grid 1  warps 2
          global C: f16[64, 64]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all:
            warp 0: sts r -> c
            warp 1: fence async
            barrier
            warp 0: elect: tma.store c -> C[0, 0]    //~ missing fence
        ",
    );
}

#[test]
fn cp_writes_by_the_ordinary_proxy() {
    check(
        "h200",
        "
          grid 1  warps 4
          global A: f16[64, 64]   global B: f16[64, 64]
          shared a: f16[64, 64]   shared b: f16[64, 64]
          all:
            zero acc: f32[64, 64]
            cp A[0, 0] -> a;  cp B[0, 0] -> b;  commit cp
            wait cp <= 0
            barrier
            wgmma.fence
            wgmma a, b -> acc    //~ missing fence
            commit wgmma;  wait wgmma <= 0
        ",
    );
}

#[test]
fn a_fence_before_the_copies_wait_covers_nothing() {
    check(
        "h200",
        "
          grid 1  warps 4
          global A: f16[64, 64]   global B: f16[64, 64]
          shared a: f16[64, 64]   shared b: f16[64, 64]
          all:
            zero acc: f32[64, 64]
            cp A[0, 0] -> a;  cp B[0, 0] -> b;  commit cp
            fence async
            wait cp <= 0
            barrier
            wgmma.fence
            wgmma a, b -> acc    //~ missing fence
            commit wgmma;  wait wgmma <= 0
        ",
    );
}

#[test]
fn what_tma_wrote_needs_no_fence() {
    check(
        "h200",
        "
          grid 1  warps 4
          global A: f16[64, 64]   global B: f16[64, 64]
          shared a: f16[64, 64]   shared b: f16[64, 64]
          mbar full (1)
          all:
            zero acc: f32[64, 64]
            warp 0: elect: init full;  fence mbarrier_init
            barrier
            warp 0: elect:
              arrive full expect bytes(a) + bytes(b)
              tma A[0, 0] -> a signals full
              tma B[0, 0] -> b signals full
            wait full for 0
            wgmma.fence
            wgmma a : A[0, 0], b : B[0, 0] -> acc
            commit wgmma;  wait wgmma <= 0
        ",
    );
}

#[test]
fn an_ordinary_read_of_ordinary_stores_needs_none() {
    check(
        "h200",
        "
          grid 1  warps 2
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> c.rows(warp, 2)
            barrier
            lds c -> r
        ",
    );
}
