//! Bounds of loops that read a parameter and the place of the CTA.

use super::kernel;

/// A loop whose trip count stops to grow, at another number in each row: causal attention over few blocks of keys.
const STOPS: &str = "kernel t(tiles = 6)
  grid 6, 2   warps 2
  global A: f16[64 * 64, 16 * (tiles + 64)]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
    for i in 0..BOUND:
      load: load A[cta.m, i] -> a
      barrier
      use: lds a : A[cta.m, i] -> r
      if GUARD: barrier
";

#[test]
fn a_loop_that_stops_to_grow_at_a_number_of_each_row() {
    let stops = |bound: &str, guard: &str| kernel("h200", &STOPS.replace("BOUND", bound).replace("GUARD", guard));
    let bound = "min(tiles, cta.m + 1)";
    stops(bound, "1").proved();
    // Where a later start is needed, such a kernel is still BOUNDED: `min(tiles, cta.m + 4)`.
    for fault in ["cta.m != 3 or i != 2", "i != 2 or tiles < 50", "cta.m < 5 or tiles != 33 or i == 0"] {
        assert_ne!(stops(bound, fault).word(), "proved", "{bound}: {fault}");
    }
}
