//! What is refused before anything is decided, what is found at once, and limits that hold.

use super::kernel;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// `run`, `verify`, `barriers` and `export` refuse a kernel with the same words.
#[track_caller]
fn refused(machine: &str, text: &str, why: &str) {
    let dir = TempDir::new();
    let file = dir.write("t.pipe", text);
    let run = warpline(&["run", &file, "--machine", machine]);
    assert_eq!(run.status, Status::BadInput, "{}", run.err);
    assert!(run.err.contains(why), "{}", run.err);
    for command in [&["verify"][..], &["barriers"], &["export", "promela"]] {
        let mut args = command.to_vec();
        args.extend([file.as_str(), "--machine", machine]);
        let said = warpline(&args);
        assert_eq!((said.status, said.out.as_str(), &said.err), (Status::BadInput, "", &run.err), "{command:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_every_command() {
    let one = |decl: &str| format!("kernel t()\n  grid 1\n  {decl}\n  all: barrier\n");
    refused("h200", &one("warps 1   shared a: f16[1024, 512]"), "bytes of shared memory");
    // An overlay may be longer than the buffer that it lies over.
    let long = "warps 1   shared x: f16[64, 64]   shared a[100]: f16[64, 64] overlay on x";
    refused("h200", &one(long), "bytes of shared memory");
    refused("h200", &one("warps 33"), "threads");
    refused("h200", &one("warps 32   regs 128"), "registers");
    refused("h200", &one("warps 1   regs 264"), "registers");
    refused("b200", &one("warps 1   tmem t: f32[128, 1024]"), "columns of tensor memory");
    let long = "warps 1   tmem x: f32[128, 64]   tmem t[8]: f32[128, 128] overlay on x";
    refused("b200", &one(long), "columns of tensor memory");
    refused("h200", &one("warps 1   cluster 32"), "cluster");
    refused("h200", "kernel t(m = 0)\n  grid m   warps 1\n  all: barrier\n", "grid");
}

#[test]
fn a_loop_that_never_ends_is_found_at_once() {
    for body in ["barrier", "warp.sync", "barrier;  barrier", "arrive b per warp;  wait b parity 0;  arrive b per warp"]
    {
        let text = format!(
            "kernel t()\n  grid 4   warps 2\n  mbar b (2)\n  all:\n    warp 0: init b\n    barrier\n    while 1: {body}\n"
        );
        let v = kernel("h200", &text);
        assert_eq!(v.word(), "violated", "{body}: {:#}", v.json);
        assert!(v.json["states"].as_u64().unwrap() < 1000, "{body}");
        if !body.contains("wait") {
            let codes: Vec<_> = v.json["violations"].as_array().unwrap().iter().map(|f| &f["code"]).collect();
            assert_eq!(codes, ["WL0204"], "{body}: {:#}", v.json);
        }
        let dir = TempDir::new();
        let run = warpline(&["run", &dir.write("t.pipe", &text), "--machine", "h200"]);
        assert_eq!(run.status, Status::Violated, "{body}: {}", run.out);
    }
}

#[test]
fn a_loop_whose_variables_change_is_no_livelock() {
    let text = "kernel t()
  grid 4   warps 2
  all:
    var go = 1
    while go < 100:
      barrier
      go = go + 1
";
    assert!(kernel("h200", text).json["violation"].is_null());
}

#[test]
fn a_cluster_barrier_of_a_thousand_warps() {
    for (cluster, warps) in [(8, 17), (16, 32)] {
        let text = format!(
            "kernel t()
  cluster {cluster}   warps {warps}   grid {cluster}
  shared s: f16[64, 64]
  reg r: f16[64, 64]
  all:
    cluster.sync
    if cta == {last} and warp == {warp}: sts r -> s @cta 0
    cluster.sync
    if cta == 0 and warp == 0: lds s -> q
",
            last = cluster - 1,
            warp = warps - 1
        );
        kernel("h200", &text).proved();
        let late = text.replacen("    cluster.sync\n    if cta == 0", "    if cta == 0", 1);
        assert_eq!(kernel("h200", &late).word(), "violated");
        let dir = TempDir::new();
        let file = dir.write("t.pipe", &text);
        let run = warpline(&["run", &file, "--machine", "h200"]);
        assert_eq!(run.status, Status::Holds, "{}", run.err);
    }
}

#[test]
fn limits_stop_a_proof_of_a_large_cluster() {
    let text = "kernel t(k = 4096, tiles_m = 4)
  let tiles = k / 64
  cluster 16   warps 3   grid 16
  global A: f16[1024, k]
  shared a[12]: f16[64, 64]
  mbar full[12] (1)   mbar empty[12] (1)
  all:
    warp 0: elect: init full, empty;  fence mbarrier_init.cluster
    cluster.sync
  warp 0: elect:
    for t in 0..tiles_m, j in 0..2, i in 0..tiles:
      let n = (t * 2 + j) * tiles + i
      wait empty[n % 12] for n / 12 - 1
      arrive full[n % 12] expect bytes(a)
      tma A[cta.m, i] -> a[n % 12] signals full[n % 12]
  warp 1:
    for t in 0..tiles_m, j in 0..2, i in 0..tiles:
      let n = (t * 2 + j) * tiles + i
      wait full[n % 12] for n / 12
      lds a[n % 12] : A[cta.m, i] -> q
      arrive empty[n % 12] per warp
  all: cluster.sync
";
    let dir = TempDir::new();
    let file = dir.write("t.pipe", text);
    for (limit, why) in
        [(["--max-steps", "100000"], "steps (--max-steps)"), (["--max-memory", "100MB"], "of memory (--max-memory)")]
    {
        let said = warpline(&["verify", &file, "--machine", "h200", limit[0], limit[1]]);
        assert_eq!(said.status, Status::GaveUp, "{limit:?}: {} {}", said.out, said.err);
        let words: Vec<&str> = said.out.split_whitespace().collect();
        assert!(words.join(" ").contains(why), "{}", said.out);
    }
}

/// A loader, a consumer and a warp that only counts, with rings of five and of three slots. States recur after 15 steps. The
/// proof needs more than 60 trip counts.
const TWO_RINGS: &str = "kernel t(n = 4)
  grid 1   warps 3
  global A: f16[64, 16]
  shared a[5]: f16[64, 16]   shared b[3]: f16[64, 16]
  mbar full[5] (1)   mbar empty[5] (1)   mbar done[3] (1)   mbar free[3] (1)
  role load = warp 0
  role use = warp 1
  role idle = warp 2
  all: load: elect: init full, empty, done, free;  fence mbarrier_init
  all: barrier
  load: elect:
    for i in 0..n:
      wait empty[i % 5] EMPTY
      arrive full[i % 5] expect bytes(a)
      tma A[0, 0] -> a[i % 5] signals full[i % 5]
      wait free[i % 3] FREE
      arrive done[i % 3] expect bytes(b)
      tma A[0, 0] -> b[i % 3] signals done[i % 3]
  use:
    for i in 0..n:
      wait full[i % 5] for i / 5
      lds a[i % 5] : A[0, 0] -> r
      arrive empty[i % 5] per warp
      wait done[i % 3] for i / 3
      lds b[i % 3] : A[0, 0] -> r
      arrive free[i % 3] per warp
  idle:
    var k = 0
    for i in 0..n:
      k = k + i % 2
  all: barrier
";

/// The verdict on this kernel within so many steps.
fn two_rings(empty: &str, free: &str, steps: &str) -> super::Verdict {
    let dir = TempDir::new();
    let file = dir.write("t.pipe", TWO_RINGS.replace("EMPTY", empty).replace("FREE", free));
    super::verify(&[&file, "--machine", "h200", "--no-suggestion", "--max-steps", steps])
}

#[test]
fn trip_counts_share_the_steps_that_they_have_in_common() {
    // Each alone, these runs take more than 60,000 steps. The index that the idle warp leaves behind decides nothing.
    two_rings("for i / 5 - 1", "for i / 3 - 1", "30000").proved();
    // A fault in few steps, and one in many.
    assert_eq!(two_rings("for i / 5 - 1", "for i / 3 - 2", "30000").word(), "violated");
    let late = two_rings("for i / 5 - (i > 40 ? 2 : 1)", "for i / 3 - 1", "1000000");
    assert_eq!((late.word(), &late.json["trip_counts"][0]), ("violated", &42.into()), "{:#}", late.json);
}
