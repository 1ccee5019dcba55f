//! Whether the clock follows from how busy the tensor cores are: a line through one set of measured rows, held against others.
//! Utilisation and clock are both measured; nothing is simulated here.

use std::collections::BTreeMap;

use super::{csv, file};
use crate::accuracy::table::Errors;

/// Products of an H200 take part where they run at least so long: shorter ones are over before the clock settles.
const LONG_US: f64 = 100.0;
/// FLOP a cycle of all tensor cores of an H200.
const PEAK: f64 = 132.0 * 4096.0;

/// A kernel's share of the tensor cores' rate, and its clock in MHz.
type Point = (f64, f64);

fn point(flop: f64, cycles: f64, mhz: f64) -> Option<Point> {
    (cycles / mhz >= LONG_US).then_some((flop / (cycles * PEAK), mhz))
}

fn number(row: &BTreeMap<String, String>, name: &str) -> f64 {
    row[name].parse().unwrap()
}

/// Rows of `calibrate/data/h200_gemm.csv` of a set, without those that are compiled to something else (`h200::Row::apart`).
fn ours(set: &str) -> Vec<Point> {
    let rows = csv("calibrate/data/h200_gemm.csv");
    let plain = |r: &&BTreeMap<String, String>| {
        let threads = 32.0 * number(r, "warps");
        r["set"] == set
            && number(r, "n") % 16.0 == 0.0
            && number(r, "k") % 16.0 == 0.0
            && number(r, "tile_m") * number(r, "tile_n") / threads < 256.0
    };
    let flop = |r: &BTreeMap<String, String>| 2.0 * number(r, "m") * number(r, "n") * number(r, "k");
    rows.iter().filter(plain).filter_map(|r| point(flop(r), number(r, "sm_cycles"), number(r, "sm_mhz"))).collect()
}

fn sample() -> Vec<Point> {
    let rows = csv("calibrate/data/h200_triton_gemm_sample.csv");
    let mhz = |r: &BTreeMap<String, String>| number(r, "sm_cycles") / number(r, "duration_ns") * 1e3;
    rows.iter().filter_map(|r| point(2.0 * 4096f64.powi(3), number(r, "sm_cycles"), mhz(r))).collect()
}

/// Emitted kernels at 4096^3, timed in a run of its own.
fn emitted() -> Vec<Point> {
    let text = std::fs::read_to_string(file("calibrate/data/h200_validation.jsonl")).unwrap();
    let rows = text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let of = |r: serde_json::Value| {
        let cycles = r["counted"]["cycles"].as_f64()?;
        let train = r["case"].as_str()?.starts_with("train.");
        train.then(|| point(2.0 * 4096f64.powi(3), cycles, r["mhz"].as_f64().unwrap())).flatten()
    };
    rows.filter_map(of).collect()
}

/// The line of least squares: MHz at no work, and what a fully busy pipe takes off.
fn line(points: &[Point]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |f: fn(&Point) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (u, mhz) = (mean(|p| p.0), mean(|p| p.1));
    let slope = points.iter().map(|p| (p.0 - u) * (p.1 - mhz)).sum::<f64>()
        / points.iter().map(|p| (p.0 - u) * (p.0 - u)).sum::<f64>();
    (mhz - slope * u, -slope)
}

/// What was tried.
pub(super) struct Clock {
    /// MHz at no work, MHz less at full work.
    pub(super) line: (f64, f64),
    /// Name of the rows, errors of the line, errors of the machine file's one number.
    pub(super) sets: Vec<(&'static str, Errors, Errors)>,
}

pub(super) fn clock() -> Clock {
    let fitted = ours("grid");
    let line = line(&fitted);
    let fixed = warpline_models::embedded("h200").unwrap().get("clock.mhz").unwrap();
    let errors = |points: &[Point], mhz: &dyn Fn(f64) -> f64| Errors::of(points.iter().map(|p| mhz(p.0) / p.1 - 1.0));
    let set = |name, points: Vec<Point>| (name, errors(&points, &|u| line.0 - line.1 * u), errors(&points, &|_| fixed));
    let sets = vec![
        set("Triton's, the rows of the line", fitted),
        set("Triton's, measured later", ours("late")),
        set("Triton's, the sample", sample()),
        set("emitted kernels, 4096^3", emitted()),
    ];
    Clock { line, sets }
}
