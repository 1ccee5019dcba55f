//! The simulator beside measurements: `docs/accuracy.md`, row by row.
//!
//! Tests recompute every row and hold the page to it. After a change of the simulator, a machine or a kernel,
//!
//! ```sh
//! WARPLINE_ACCURACY=write cargo test -p warpline-tests --test it accuracy
//! ```
//!
//! writes the page anew. Read the difference: a mean that grows is a mechanism lost. Rows are simulated once, by the
//! first test that asks for them.

mod alternatives;
mod b200;
mod clock;
mod compiled;
mod disassembled;
mod h200;
mod ladders;
mod others;
mod page;
mod residuals;
mod table;

use std::path::PathBuf;

use table::Errors;

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The rows of a table of measurements, by the names of its columns.
fn csv(path: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |l: &str| names.iter().map(|n| n.to_string()).zip(l.split(',').map(str::to_string)).collect();
    lines.map(row).collect()
}

#[test]
fn the_page_is_in_step() {
    let clock: (&clock::Clock, &clock::Times) = (&clock::clock(), &clock::TIMES);
    let (sample, ours): (&[h200::Row], &[h200::Row]) = (&h200::SAMPLE, &h200::OURS);
    let text = page::page(sample, ours, &b200::SWEEP, (&compiled::ROWS, &compiled::ON_AN_H200), &others::ROWS, clock);
    let path = file("docs/accuracy.md");
    let write = std::env::var("WARPLINE_ACCURACY").is_ok_and(|v| v == "write");
    if write {
        std::fs::write(&path, &text).unwrap();
    }
    residuals::check(write, [sample, ours], &b200::SWEEP, [&compiled::ROWS, &compiled::ON_AN_H200]);
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    for (i, (a, b)) in there.lines().zip(text.lines()).enumerate() {
        assert_eq!(a, b, "docs/accuracy.md, line {}; WARPLINE_ACCURACY=write writes it anew", i + 1);
    }
    assert_eq!(there.lines().count(), text.lines().count(), "docs/accuracy.md has other lines");
}

#[test]
fn triton_products_on_an_h200() {
    let rows = &h200::SAMPLE;
    let e = Errors::of(rows.iter().map(|r| r.error()));
    assert!(e.mean <= 0.10, "mean error {:.3}", e.mean);
    for c in h200::choices(rows) {
        assert!(c.costs <= 0.05, "{}: {} stages chosen cost {:.3} more than {}", c.name, c.chosen, c.costs, c.best);
    }
    // Bytes follow from the tiles; they are met closer than time.
    let bytes = Errors::of(rows.iter().map(|r| r.read.0 / r.read.1 - 1.0));
    assert!(bytes.mean <= 0.06, "bytes read from DRAM: {:.3}", bytes.mean);
    let hits = Errors::of(rows.iter().map(|r| r.hits.0 - r.hits.1));
    assert!(hits.mean <= 0.04, "hit rate: {:.3}", hits.mean);
}

#[test]
fn kernels_from_their_ptx_on_an_h100() {
    let e = Errors::of(compiled::ROWS.iter().map(|r| r.error()));
    assert!(e.mean <= 0.18, "mean error {:.3}", e.mean);
}

#[test]
fn a_stage_sweep_of_one_b200_core() {
    let s = &b200::SWEEP;
    let all = Errors::of(s.rows.iter().map(|r| r.error(s.mhz)));
    assert!(all.mean <= 0.05, "mean {:.3}", all.mean);
    assert!(all.p95 <= 0.15, "95th percentile {:.3}", all.p95);
    let waiting = Errors::of(s.rows.iter().filter(|r| !s.saturated(r)).map(|r| r.error(s.mhz)));
    assert!(waiting.mean <= 0.08, "unsaturated: {:.3}", waiting.mean);
    for k in s.knees() {
        assert!(k.measured.abs_diff(k.predicted) <= 1, "{}: knee at {} against {}", k.tile, k.predicted, k.measured);
    }
}

/// Where others measured that one way is faster by more than a twentieth, it is faster here.
#[test]
fn no_published_comparison_comes_out_the_other_way_round() {
    for r in others::ROWS.iter() {
        assert!(!r.turned_round(), "{}, {}: {:.3} against {:.3} measured", r.what, r.source, r.predicted, r.measured);
    }
}

/// Why the line is asked for and not the default: it is nearer on kernels of the compiler that it was drawn through, and farther on others.
#[test]
fn utilisation_alone_does_not_set_the_clock() {
    let c = clock::clock();
    let (line, fixed): (Vec<f64>, Vec<f64>) = c.sets.iter().map(|(_, l, f)| (l.mean, f.mean)).unzip();
    assert!((0..3).all(|i| line[i] < 0.025 && line[i] < fixed[i]), "{line:?} {fixed:?}");
    assert!(line[3] > 0.04 && fixed[3] < 0.03, "the line could be the default now: {line:?} {fixed:?}");
}
