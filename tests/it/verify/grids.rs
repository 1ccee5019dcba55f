//! Grids whose size depends on the trip count. Campaign cases `1_grids` have their verdicts by happens-before.

use warpline_tests::TempDir;

use super::verify;

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
