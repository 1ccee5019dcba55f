//! One test for each rule of `docs/semantics.md`, on the smallest kernel that shows it.
//!
//! A kernel text says itself what is to be found: `//~ RAW race` at the end of a line is a finding of that kind at that
//! line, `//~ hangs` an agent that waits there for ever. What is not announced must not be found.

mod amd;
mod barriers;
mod cluster;
mod copies;
mod counters;
mod coverage;
mod far;
mod fences;
mod global;
mod lanes;
mod machines;
mod mailbox;
mod mbarrier;
mod mbarrier_bytes;
mod mbarrier_init;
mod mbarrier_parity;
mod memory;
mod metal;
mod peers;
mod proxies;
mod registers;
mod stores;
mod tcgen05;
mod tma;
mod wgmma;

use std::collections::{BTreeMap, BTreeSet};

use warpline_scenarios::{Inputs, compile};
use warpline_sim::engine;
use warpline_sim::ir::Program;
use warpline_sim::report::{Outcome, Report, RunError, RunOptions};

/// Compiles the body of a kernel, with `kernel t()` before it.
pub(crate) fn program(body: &str) -> Program {
    let set = BTreeMap::new();
    compile("t.pipe", &format!("kernel t(){body}"), &Inputs { set: &set, cores: Some(1) })
        .unwrap_or_else(|e| panic!("the kernel of a test does not compile: {e:#?}"))
}

/// Runs the body of a kernel on a machine that comes with warpline.
pub(crate) fn try_run(machine: &str, body: &str) -> Result<Report, RunError> {
    let machine = warpline_models::embedded(machine).expect("a machine of that name");
    engine::run(&program(body), &machine, &RunOptions::default())
}

/// What a kernel text announces, as (word, line).
fn announced(body: &str) -> BTreeSet<(String, u32)> {
    let marks = body.lines().zip(1..).filter_map(|(text, line)| Some((text.split_once("//~")?.1, line)));
    marks.flat_map(|(words, line)| words.split(',').map(move |w| (w.trim().to_string(), line))).collect()
}

/// What a run found, likewise.
fn found(program: &Program, report: &Report) -> BTreeSet<(String, u32)> {
    let line = |site: u32| program.sites[site as usize].line;
    let mut list: BTreeSet<_> = report.faults().map(|f| (f.kind.name().to_string(), line(f.site))).collect();
    if let Outcome::Hung(waiting) = &report.outcome {
        list.extend(waiting.iter().map(|w| ("hangs".to_string(), line(w.site))));
    }
    list
}

/// Runs a kernel and holds it to what its text announces, and to nothing else.
#[track_caller]
pub(crate) fn check(machine: &str, body: &str) -> Report {
    let report = try_run(machine, body).unwrap_or_else(|e| panic!("{e}"));
    let (want, got) = (announced(body), found(&program(body), &report));
    assert_eq!(got, want, "found (left) and announced (right) differ\n{body}\n{:#?}", report.findings);
    assert_ne!(report.outcome, Outcome::Limit);
    report
}

/// The message of the finding at a line that a word marks.
pub(crate) fn message(report: &Report, word: &str) -> String {
    let all: Vec<&str> = report.findings.iter().map(|f| f.message.as_str()).collect();
    all.iter().find(|m| m.contains(word)).unwrap_or_else(|| panic!("no finding says {word:?}: {all:#?}")).to_string()
}

/// The tests that a document names, as module and function.
fn named_tests(document: &str) -> Vec<(&str, &str)> {
    let quoted = document.split('`').skip(1).step_by(2).filter_map(|n| n.split_once("::"));
    // PTX modifiers have dots, tests have not.
    quoted.filter(|(m, _)| m.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).collect()
}

#[test]
fn the_documents_name_tests_that_exist() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}"));
    for (path, least) in [("docs/semantics.md", 100), ("docs/rules.md", 40)] {
        let document = read(path).unwrap();
        let named = named_tests(&document);
        assert!(named.len() >= least, "{path}: {}", named.len());
        for (module, name) in named {
            let places = [format!("semantics/{module}.rs"), format!("{module}.rs"), format!("{module}/mod.rs")];
            let source = places.iter().find_map(|p| read(&format!("tests/it/{p}")).ok());
            assert!(
                source.is_some_and(|s| s.contains(&format!("fn {name}()"))),
                "{path}: there is no {module}::{name}"
            );
        }
    }
}
