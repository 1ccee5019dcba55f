//! Bounds of loops that read a parameter and the place of the CTA.

use super::grids::rows;

/// A trip count that stops to grow, at another number in each row: causal attention over few blocks of keys.
#[test]
fn a_loop_that_stops_to_grow_at_a_number_of_each_row() {
    let stops = |bound: &str, guard: &str| rows("6, 2", bound, guard);
    let bound = "min(tiles, cta.m + 1)";
    stops(bound, "1").proved();
    // Where a later start is needed, such a kernel is still BOUNDED: `min(tiles, cta.m + 4)`.
    for fault in ["cta.m != 3 or i != 2", "i != 2 or tiles < 50", "cta.m < 5 or tiles != 33 or i == 0"] {
        assert_ne!(stops(bound, fault).word(), "proved", "{bound}: {fault}");
    }
}
