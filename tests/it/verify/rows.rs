//! Every property is a row of its own, and each has a kernel that violates just it and what it is part of.

use std::collections::BTreeSet;

use warpline_scenarios::{Inputs, compile};
use warpline_sim::engine::rules;
use warpline_verify::{Options, Outcome, properties, verify};

/// The rows that a page of `docs/explain` violates.
fn rows(code: &str) -> BTreeSet<&'static str> {
    let read = |name: &str| {
        std::fs::read_to_string(format!("{}/../docs/explain/{name}.md", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    let block = |page: &str| {
        let (machine, text) = page.split("```pipe").nth(1).unwrap().split_once('\n').unwrap();
        (machine.trim().to_string(), text.split("```").next().unwrap().to_string())
    };
    let (machine, kernel) = block(&read(code));
    let text = block(&read("README")).1 + &kernel;
    let program = compile("row.pipe", &text, &Inputs { set: &Default::default(), cores: Some(1) }).unwrap();
    let rules = rules(&warpline_models::embedded(&machine).unwrap());
    let v = verify(&program, rules, Options::default());
    assert_eq!(v.outcome, Outcome::Violated, "{code}");
    properties(&v).into_iter().filter(|p| p.verdict == "violated").map(|p| p.name).collect()
}

/// Each row with a code that violates it, and the rows that it is then part of.
const ROWS: [(&str, &str, &[&str]); 19] = [
    ("deadlock", "WL0201", &[]),
    ("trip counts", "WL0202", &["deadlock"]),
    ("RAW race", "WL0101", &["slot invariant"]),
    ("WAR race", "WL0104", &["slot invariant"]),
    ("WAW race", "WL0107", &["slot invariant"]),
    ("stale tile", "WL0110", &["slot invariant"]),
    ("slot invariant", "WL0104", &["WAR race"]),
    ("parity alias", "WL0302", &[]),
    ("drift", "WL0301", &["parity alias"]),
    ("transaction bytes", "WL0404", &[]),
    ("arrival count", "WL0401", &[]),
    ("divergent barrier", "WL0203", &["deadlock"]),
    ("missing fence", "WL0501", &[]),
    ("scope", "WL0505", &[]),
    ("life cycle", "WL0601", &[]),
    ("tensor memory", "WL0608", &["life cycle"]),
    ("in flight at exit", "WL0606", &["life cycle"]),
    ("coverage", "WL0701", &[]),
    ("range", "WL0801", &[]),
];

#[test]
fn every_property_is_violated_by_a_kernel_of_its_own() {
    for (row, code, part_of) in ROWS {
        let want: BTreeSet<&str> = part_of.iter().copied().chain([row]).collect();
        assert_eq!(rows(code), want, "{code}");
    }
}

#[test]
fn the_table_is_of_all_rows() {
    let v = super::kernel("m4-max", "kernel t()\n  warps 1\n  all: barrier\n");
    let names: BTreeSet<&str> = v.json["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ROWS.iter().map(|r| r.0).collect());
}

#[test]
fn a_producer_that_nothing_holds_back_drifts() {
    let v = super::kernel(
        "h200",
        "kernel t(tiles = 8)
  warps 2
  mbar full (1)
  all:
    warp 0: init full
    barrier
    warp 0: for i in 0..tiles: arrive full per warp
    warp 1: for i in 0..tiles: wait full for i
",
    );
    v.violated("parity alias", "wait full for i");
    assert_eq!(v.json["properties"]["drift"], "violated");
}
