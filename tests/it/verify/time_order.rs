//! Order in time that only a copy tells of: one warp issues the copies of a slot, another one arrives for them.

use super::kernel;

const RING: &str = "kernel t(k = 1024, stages = 2)
  let tiles = k / 64
  needs sm_90a
  warps 3
  global A: f16[128, k]
  shared a[stages]: f16[128, 64]
  mbar full[stages] (1)
  mbar empty[stages] (1)
  role copy = warp 0
  role count = warp 1
  role use = warp 2
  all:
    warp 0: elect: init full, empty; fence mbarrier_init
    barrier
  copy: elect:
    for i in 0..tiles:
      COPY
      tma A[0, i] -> a[i % stages] signals full[i % stages]
  count: elect:
    for i in 0..tiles:
      COUNT
      arrive full[i % stages] expect bytes(a)
  use:
    for i in 0..tiles:
      wait full[i % stages] for i / stages
      lds a[i % stages] : A[0, i] -> r; alu fma 128 x 64 uses r
      arrive empty[i % stages] per warp
";

const WAIT: &str = "wait empty[i % stages] for i / stages - 1";

fn ring(copy: &str, count: &str) -> super::Verdict {
    kernel("h200", &RING.replace("COPY", copy).replace("COUNT", count))
}

#[test]
fn a_reader_of_a_copy_knows_that_its_issuer_has_waited() {
    // Nothing else orders the wait of `copy` before the phase after the next one.
    ring(WAIT, WAIT).proved();
}

#[test]
fn an_issuer_that_does_not_wait_is_found() {
    assert_eq!(ring("", WAIT).word(), "violated");
}

#[test]
fn an_arrival_that_does_not_wait_is_found() {
    assert_eq!(ring(WAIT, "").word(), "violated");
}
