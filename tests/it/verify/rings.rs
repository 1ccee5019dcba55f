//! Rings: proofs up to a rotation of slots, and kernels in which slots of a ring differ.

use super::{kernel, verify};

/// A loader and a consumer, and a ring of eight slots that runs on from job to job.
const RING: &str = "kernel t(tiles = 4, jobs = 3)
  grid 1   warps 2
  global A: f16[64 * jobs, 16 * tiles]
  shared a[8]: f16[64, 16]
  mbar full[8] (1)   mbar empty[8] (1)
  role load = warp 0
  role use = warp 1
  all: load: elect: init full, empty;  fence mbarrier_init
  all: barrier
  load: elect:
    var it = 0
    for job in 0..jobs, i in 0..tiles:
      wait empty[it % 8] WAIT
      arrive full[it % 8] expect bytes(a)
      tma A[job, i] -> a[SLOT] signals full[it % 8]
      it += 1
  use:
    var it = 0
    for job in 0..jobs, i in 0..tiles:
      wait full[it % 8] for it / 8
      lds a[it % 8] : A[job, i] -> r
      GUARDarrive empty[it % 8] per warp
      it += 1
";

fn ring(wait: &str, slot: &str, guard: &str) -> super::Verdict {
    kernel("h200", &RING.replace("WAIT", wait).replace("SLOT", slot).replace("GUARD", guard))
}

#[test]
fn a_ring_that_runs_on_from_tile_to_tile_repeats_slot_by_slot() {
    // Without lemma 12, the states of these kernels recur after as many steps as their rings have slots.
    for name in ["hopper/persistent", "hopper/pingpong", "correct/deepgemm_sm100", "blackwell/gemm_2sm_persistent"] {
        let v = verify(&[name]);
        v.proved();
        assert_eq!(v.json["period"], 1, "{name}: {:#}", v.json);
    }
}

#[test]
fn the_ring_they_are_made_from_is_proved() {
    for wait in ["for it / 8 - 1", "parity it / 8 + 1", "parity (it + 8) / 8"] {
        ring(wait, "it % 8", "").proved();
    }
}

#[test]
fn a_slot_in_which_a_guard_leaves_out_an_arrival() {
    for guard in ["if it % 8 != 7: ", "if it % 64 != 63: ", "if it != 90: ", "if i % 8 != 5: ", "if job != 70: "] {
        let v = ring("for it / 8 - 1", "it % 8", guard);
        assert_ne!(v.word(), "proved", "{guard}");
    }
}

#[test]
fn a_slot_that_another_number_selects() {
    for slot in ["(it + (it > 90 ? 1 : 0)) % 8", "(it + job / 50) % 8", "(it + i / 70) % 8", "(2 * it) % 8", "it % 7"] {
        let v = ring("for it / 8 - 1", slot, "");
        assert_ne!(v.word(), "proved", "{slot}");
    }
}

#[test]
fn a_wait_for_another_round() {
    for wait in ["for it / 8", "for it / 8 - 2", "for (it + 1) / 8 - 1", "parity it / 8", "parity it / 16"] {
        let v = ring(wait, "it % 8", "");
        assert_eq!(v.word(), "violated", "{wait}");
    }
}

/// A slot that no counter selects must be the same in longer runs: a slot behind the last one is a fault.
#[test]
fn a_slot_that_grows_out_of_its_array() {
    let text = "kernel t(tiles = 4)
  grid 1   warps 1
  global A: f16[64, 16 * tiles]
  shared a[400]: f16[64, 16]
  all:
    for i in 0..tiles:
      load A[0, i] -> a[i]
";
    let v = kernel("m4-max", text);
    assert_ne!(v.word(), "proved", "{:#}", v.json);
}
