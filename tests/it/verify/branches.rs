//! Conditions that decide nothing (lemma 20), and conditions that look like these.

use super::kernel;

/// A persistent kernel with a condition in each role, whose branches are to be given.
const JOBS: &str = "kernel t(jobs = 9)
  grid 4   warps 2
  global A: f16[64 * 64, 16 * 64]
  shared a[3]: f16[64, 16]
  mbar full[3] (1)   mbar empty[3] (32)
  role load = warp 0
  role use = warp 1
  trips steps = any per t run t % 3 + 1
  all: load: elect: init full, empty;  fence mbarrier_init
  all: barrier
  load: elect:
    var it = 0
    for job in cta.id..jobs step grid.size, i in 0..steps(job):
      if WAIT: wait empty[it % 3] for it / 3 - 1
      arrive full[it % 3] expect bytes(a)
      tma A[job % 64, i] -> a[it % 3] signals full[it % 3]
      it += 1
  use:
    var it = 0
    for job in cta.id..jobs step grid.size, i in 0..steps(job):
      wait full[it % 3] for it / 3
      lds a[it % 3] : A[job % 64, i] -> r;  alu fma 64 x 16 uses r
      if READ:
        THEN
      else:
        ELSE
      it += 1
";

fn jobs(wait: &str, read: &str, branches: [&str; 2]) -> super::Verdict {
    let text = JOBS.replace("WAIT", wait).replace("READ", read);
    kernel("h200", &text.replace("THEN", branches[0]).replace("ELSE", branches[1]))
}

const ARRIVE: &str = "arrive empty[it % 3]";

#[test]
fn a_condition_that_the_conditions_around_it_imply() {
    for wait in
        ["job < jobs", "not (job >= jobs)", "job >= 0 and cta.m < 4", "not (job >= 5 and job < 4)", "job % 4 < 5"]
    {
        assert_eq!(jobs(wait, "jobs % 7 < 7", [ARRIVE, "warp.sync"]).word(), "proved", "{wait}");
    }
}

#[test]
fn a_condition_that_fails_in_some_job() {
    // `job + 1 < jobs` fails in the last job, `job < 40` in a job that few launches have.
    for wait in
        ["job + 1 < jobs", "job < 40", "not (job >= 5 and job < 6)", "cta.m < 3", "job % 4 < 3", "min(job, 6) < 6"]
    {
        assert_ne!(jobs(wait, "jobs > 0", [ARRIVE, "warp.sync"]).word(), "proved", "{wait}");
    }
    for read in ["jobs < 40", "job != 41", "it > 0", "3 * job < jobs * job + 1"] {
        assert_ne!(jobs("job < jobs", read, [ARRIVE, "warp.sync"]).word(), "proved", "{read}");
    }
}

#[test]
fn branches_that_make_the_same_steps() {
    let nested = "if job == 7: arrive empty[it % 3]\n        else: alu fma 64 x 16; arrive empty[it % 3]";
    for read in ["job == 11", "job * job > 4 * job", "jobs % 5 == 3"] {
        assert_eq!(jobs("job < jobs", read, [ARRIVE, ARRIVE]).word(), "proved", "{read}");
        assert_eq!(jobs("job < jobs", read, [nested, ARRIVE]).word(), "proved", "{read}");
        let late = "arrive empty[it % 3]; lds a[it % 3] : A[job % 64, i] -> q";
        for other in ["arrive empty[(it + 1) % 3]", "arrive full[it % 3]", late, "arrive empty[it % 3] count 2"] {
            assert_ne!(jobs("job < jobs", read, [ARRIVE, other]).word(), "proved", "{read}: {other}");
        }
    }
}

#[test]
fn variables_that_may_be_negative_are_not_taken_for_natural_numbers() {
    let text = "kernel t(tiles = 4)
  grid 1   warps 2
  global A: f16[64, 16 * tiles]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
    var left = 50
    for i in 0..tiles:
      load: load A[0, i] -> a
      if left >= 0: barrier
      use: lds a : A[0, i] -> r
      barrier
      left -= 1
";
    let v = kernel("h200", text);
    assert_ne!(v.word(), "proved", "{:#}", v.json);
    kernel("h200", &text.replace("left -= 1", "left += 1")).proved();
}
