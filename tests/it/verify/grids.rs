//! Grids whose size depends on the trip count. Campaign cases `1_grids` have their verdicts by happens-before.

use warpline_tests::TempDir;

use super::{kernel, verify};

/// The CTAs that a search of every order looks at are those of the given grid.
#[test]
fn a_search_decides_no_trip_count_with_another_grid() {
    let text = include_str!("../../../campaign/cases/1_grids.pipe");
    let case = warpline_campaign::cases("grids", text).into_iter().find(|case| case.name == "grids/one_cta_a_tile");
    let dir = TempDir::new();
    let file = dir.write("t.pipe", case.unwrap().text.replace("tiles = 6", "tiles = 2").replace(">= 20", ">= 5"));
    let searched = verify(&[&file, "--machine", "h200", "--engine", "search"]).json;
    assert_eq!(
        (searched["verdict"].as_str(), searched["trip_counts"].as_array()),
        (Some("bounded"), None),
        "{searched}"
    );
    let why = searched["why"].as_str().unwrap();
    assert!(why.contains("with other trip counts the kernel has another grid"), "{why}");
    // CTA 5 exists at six trips, and races.
    assert_eq!(verify(&[&file, "--machine", "h200"]).json["verdict"], "violated");
}

/// A kernel that hands blocks of a row of CTAs from one warp to another; the grid and the loop are given.
const ROWS: &str = "kernel t(tiles = 6)
  grid GRID   warps 2
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

pub(super) fn rows(grid: &str, bound: &str, guard: &str) -> super::Verdict {
    kernel("h200", &ROWS.replace("GRID", grid).replace("BOUND", bound).replace("GUARD", guard))
}

/// One whose trip count also sets the grid.
fn grows(grid: &str, guard: &str) -> super::Verdict {
    rows(grid, "tiles", guard)
}

#[test]
fn the_largest_grid_stands_for_the_grids_of_all_trip_counts() {
    for grid in ["min(tiles + 1, 16)", "tiles > 8 ? 2 : 4", "max(1, min(8, tiles)), 2", "tiles % 5 == 1 ? 11 : 1"] {
        grows(grid, "1").proved();
        // A CTA that some grids have, and a step that long loops have.
        assert_eq!(grows(grid, "cta.m != 1 or i != 13").word(), "violated", "{grid}");
    }
    grows("4, min(tiles + 1, 16)", "cta.id < 64").proved();
}

#[test]
fn a_cta_that_no_grid_has_is_no_fault_and_a_size_that_the_code_reads_is_not_replaced() {
    // The guard fails in CTAs beyond every grid only.
    for grid in ["min(tiles + 1, 16)", "tiles > 8 ? 2 : 4"] {
        grows(grid, "cta.m < 16").proved();
        assert_ne!(grows(grid, "cta.m < 16 and (cta.m < 1 or tiles < 50)").word(), "proved", "{grid}");
    }
    // Of the grids here, no two CTAs have the place for which the guard fails at the same trip count.
    assert_ne!(grows("tiles > 8 ? 2 : 4", "cta.m < 2 or tiles < 9").word(), "violated");
    assert_ne!(grows("min(tiles + 1, 16)", "cta.id + 1 < grid.size or tiles < 60").word(), "proved");
    // The launch index of a CTA depends on the first dimension.
    assert_ne!(grows("min(tiles + 1, 16), 4", "cta.id < 60").word(), "proved");
}
