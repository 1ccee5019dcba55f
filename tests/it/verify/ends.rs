//! Blocks that begin inside their matrix with some trip counts and not with others. Short runs and long runs are right;
//! only a comparison of decisions shows that others are not.

use rayon::prelude::*;
use warpline_tests::{TempDir, warpline};

use super::kernel;

/// A buffer that is filled from column `place` of A in each step, and once from column `once` of B before.
fn buffer(place: &str, once: &str, end: &str) -> String {
    format!(
        "kernel t(k = 128)
  let tiles = k / 16
  grid 8   warps 2
  global A: f16[512, k]   global B: f16[512, {end}]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
    load: load B[cta.m, {once}] -> a
    barrier
    use: lds a : B[cta.m, {once}] -> r; alu fma 64 x 16 uses r
    barrier
    for i in 0..tiles:
      load: load A[cta.m, {place}] -> a
      barrier
      use: lds a : A[cta.m, {place}] -> r; alu fma 64 x 16 uses r
      barrier
"
    )
}

/// `of`, but elsewhere where `number` is in a range of twenty numbers above `of + 60`.
fn leaves(of: &str, number: &str) -> String {
    let max = |more: i64| format!("max({of} + {more}, {number} - 60)");
    format!("{of} + 100 * max({of}, {number} - 60) - 200 * {} + 100 * {}", max(10), max(20))
}

#[test]
fn a_place_that_only_some_trip_counts_leave() {
    assert_eq!(kernel("m4-max", &buffer(&leaves("i", "tiles"), "0", "64")).word(), "violated");
    kernel("m4-max", &buffer("min(i + 1, tiles - 1)", "0", "64")).proved();
}

#[test]
fn a_matrix_that_is_smaller_with_more_steps() {
    // The longest runs have 160 steps; the matrix is too small from 313 on.
    assert_eq!(kernel("m4-max", &buffer("i", "200", "8192 - k")).word(), "violated");
    kernel("m4-max", &buffer("i", "200", "8192 + k")).proved();
}

#[test]
fn a_place_that_only_some_numbers_of_turns_leave() {
    let text = |place: &str| {
        let text = "kernel t(k = 128, turns = 8)
  let tiles = k / 16
  grid 8   warps 2
  global A: f16[64 * turns, k]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
    for j in 0..turns:
      for i in 0..tiles:
        load: load A[PLACE, i] -> a
        barrier
        use: lds a : A[PLACE, i] -> r; alu fma 64 x 16 uses r
        barrier
";
        text.replace("PLACE", place)
    };
    assert_ne!(kernel("m4-max", &text(&leaves("j", "turns"))).word(), "proved");
    kernel("m4-max", &text("j")).proved();
}

/// A column of the generated kernels, as text and as a function of the index and the trip count.
type Column = (String, Box<dyn Fn(i64, i64) -> i64 + Sync + Send>);

fn columns() -> Vec<Column> {
    let mut list: Vec<Column> = vec![("tiles - 1 - i".into(), Box::new(|i, n| n - 1 - i))];
    for more in 0..3 {
        for (number, of) in [("tiles - 1", [1, -1]), ("tiles - 2", [1, -2]), ("tiles - 40", [1, -40]), ("3", [0, 3])] {
            let number_of = move |n: i64| of[0] * n + of[1];
            let name = |op: &str| format!("{op}(i + {more}, {number})");
            list.push((name("min"), Box::new(move |i, n| (i + more).min(number_of(n)))));
            list.push((name("max"), Box::new(move |i, n| (i + more).max(number_of(n)))));
            let moved = format!("{} - {more}", name("max"));
            list.push((moved, Box::new(move |i, n| (i + more).max(number_of(n)) - more)));
        }
    }
    list
}

/// Ends of the matrix that the generated kernels read once, as text and as a function of the trip count.
const ENDS: [(&str, [i64; 2]); 4] = [("k + 48", [16, 48]), ("48", [0, 48]), ("2048 - k", [-16, 2048]), ("k", [16, 0])];

#[test]
fn what_is_proved_of_generated_places_holds_and_has_a_certificate() {
    // Pairs of runs that share their runs are proved together, and the writer of certificates makes each pair alone.
    let columns = columns();
    let all: Vec<_> = columns.iter().flat_map(|column| ENDS.map(|end| (column, end))).collect();
    let dir = TempDir::new();
    let proved = |(at, ((text, column), (end, [by, from]))): (usize, &(&Column, (&str, [i64; 2])))| {
        let file = dir.write(&format!("{at}.pipe"), buffer(text, "2", end));
        let written = dir.file(&format!("{at}.json"));
        let args = ["verify", &file, "--machine", "m4-max", "--json", "--no-suggestion", "--certificate", &written];
        let json: serde_json::Value = serde_json::from_str(&warpline(&args).out).unwrap();
        let end_of = |n: i64| by * n + from;
        // The kernel refuses matrices without columns.
        let inside =
            |n: &i64| (0..*n).all(|i| (0..*n).contains(&column(i, *n))) && (32 < end_of(*n) || end_of(*n) <= 0);
        let wrong = (1..400).find(|n| !inside(n));
        match json["verdict"].as_str() {
            Some("proved") => {
                assert_eq!(wrong, None, "{text}, {end}");
                assert!(std::path::Path::new(&written).exists(), "{text}, {end}: no certificate");
                true
            }
            Some("violated") => {
                assert!(wrong.is_some(), "{text}, {end}");
                false
            }
            _ => false,
        }
    };
    let proved = all.par_iter().enumerate().filter(|x| proved(*x)).count();
    assert!(proved >= 3, "{proved} of {}", all.len());
}
