//! Lane classes of a warp: split by `elect:`, one again where they join. And lanes of tensor memory.

use super::kernel;

/// Two warps hand a buffer to each other; warp 0 reads it.
fn ring(top: &str, read: &str, arrive: &str) -> super::Verdict {
    kernel(
        "h200",
        &format!(
            "kernel t(tiles = 4)
  grid 8   warps 2
  shared s[2]: f16[64, 64]
  reg r: f16[64, 64]
  mbar full[2] (1)   mbar empty[2] (1)
  all:
    warp 0: elect: init full, empty
    {top}
  warp 1:
    for i in 0..tiles:
      wait empty[i % 2] for i / 2 - 1
      sts r -> s[i % 2]
      arrive full[i % 2] per warp
  warp 0:
    for i in 0..tiles:
      wait full[i % 2] for i / 2
      {read}
      {arrive}
"
        ),
    )
}

#[test]
fn a_barrier_behind_an_elected_lane_joins_the_warp() {
    ring("barrier", "lds s[i % 2] -> q", "arrive empty[i % 2] per warp").proved();
    ring("barrier", "lds s[i % 2] -> q", "arrive empty[i % 2] once").proved();
}

#[test]
fn an_arrival_before_the_read_is_still_a_fault() {
    ring("barrier", "arrive empty[i % 2] per warp", "lds s[i % 2] -> q").violated("WAR race", "sts r -> s");
}

#[test]
fn an_elected_lane_that_arrives_runs_ahead_of_the_others() {
    // In a loop without a join, the elected lane is a step ahead (CUTLASS 3654).
    ring("barrier", "lds s[i % 2] -> q", "elect: arrive empty[i % 2]").violated("WAR race", "lds s");
    ring("barrier", "lds s[i % 2] -> q", "warp.sync;  elect: arrive empty[i % 2]").proved();
    // An elect block in each step splits the warp again.
    let split = "elect: alu fma 1 x 1\n      lds s[i % 2] -> q";
    ring("barrier", split, "arrive empty[i % 2] per warp").violated("WAR race", "lds s");
    let joined = "elect: alu fma 1 x 1\n      warp.sync\n      lds s[i % 2] -> q";
    ring("barrier", joined, "arrive empty[i % 2] per warp").proved();
}

fn tensor(role: &str, moves: &str) -> super::Verdict {
    kernel(
        "b200",
        &format!(
            "kernel t()
  needs sm_100a
  grid 1   warps 8
  tmem acc: f32[128, 64]
  reg x: f32[32, 64]
  role part[4] = {role}
  all:
    warp 0: tmem.alloc acc
    barrier
  part:
    {moves}
  all:
    barrier
    warp 0: tmem.dealloc acc
"
        ),
    )
}

const STORE: &str = "tmem.st x -> acc.rows(self);  wait tmem.st <= 0";

#[test]
fn a_warp_reaches_a_quarter_of_tensor_memory() {
    tensor("warps 4..8", STORE).proved();
    tensor("warps 0..4", STORE).proved();
    let v = tensor("warps 2..6", STORE);
    v.violated("range", "tmem.st x -> acc.rows(self)");
    let message = v.json["violations"][0]["message"].as_str().unwrap();
    assert!(message.contains("reaches lanes 64 to 95"), "{message}");
    // By the warp's own number it fits, wherever the role starts.
    tensor("warps 2..6", "tmem.st x -> acc.rows(warp % 4, 4);  wait tmem.st <= 0").proved();
}
