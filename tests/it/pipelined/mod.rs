//! The pipelining pass: what it makes is proved, and agrees with what other compilers make of the same loops.

mod command;
mod generated;
mod mutants;
mod oracle;
mod proved;
mod same;
mod triton;

use std::collections::BTreeMap;
use std::path::PathBuf;

use warpline_scenarios::pipeline::{Expanded, PassOptions, expand};
use warpline_scenarios::{Inputs, Text, compile};
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_verify::{Options, Outcome, Trips, Verdict, verify};

/// A folder of the repository.
fn folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// A kernel of the repository.
fn kernel(path: &str) -> String {
    std::fs::read_to_string(folder(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Expands a kernel with some values.
fn expanded(text: &str, set: &[(&str, i64)], ask: &PassOptions) -> Expanded {
    let set: BTreeMap<String, i64> = set.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    expand("plain.pipe", text, &Inputs { set: &set, cores: None }, ask)
        .unwrap_or_else(|e| panic!("{ask:?}: {e:#?}\n{text}"))
}

/// Compiles an expansion with some values; `None` where it refuses them.
fn program(text: &str, set: &[(&str, i64)]) -> Option<Program> {
    let set: BTreeMap<String, i64> = set.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    compile("expanded.pipe", text, &Inputs { set: &set, cores: None }).ok()
}

/// The rules of a built-in machine, and its architecture.
fn machine(name: &str) -> (Rules, String) {
    let machine = warpline_models::embedded(name).unwrap_or_else(|| panic!("no machine {name}"));
    (warpline_sim::engine::rules(&machine), machine.arch.clone())
}

/// Decides an expansion, over the trip counts that its parameter sets.
fn decided(text: &str, set: &[(&str, i64)], rules: Rules) -> Verdict {
    let set: BTreeMap<String, i64> = set.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    let symbolic = Text::read("expanded.pipe", text).compile_symbolic(&Inputs { set: &set, cores: None });
    let symbolic = symbolic.unwrap_or_else(|e| panic!("refused: {e:#?}\n{text}"));
    assert!(Trips::find(&symbolic).is_some(), "no trip count:\n{text}");
    verify(&symbolic, rules, Options::default())
}

/// Whether a verdict is a proof, or one for a range because the prover met no recurring state.
#[track_caller]
fn holds(v: &Verdict, what: &str, text: &str) {
    let fine = matches!(v.outcome, Outcome::Proved | Outcome::Bounded { .. });
    assert!(
        fine,
        "{what}: {:?}\n{:#?}\n{text}",
        v.outcome,
        v.violation.as_ref().map(|x| (&x.trips, &x.findings, &x.hang))
    );
}
