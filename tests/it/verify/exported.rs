//! `export promela` against Spin: the recorded verdict of Spin on each exported model (`oracles/spin/exported.tsv`) equals
//! the verdict of warpline at the same trip count. Properties that the model lacks are not compared.
//!
//! The record is held to the model it was made from. `WARPLINE_SPIN=check cargo test -p warpline-tests --test it exported`
//! asks Spin again; `WARPLINE_SPIN=write` makes the record anew, for the subjects and trip counts that stand in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use warpline_scenarios::{Inputs, Text, compile, embedded, embedded_kernel_of, scenario};
use warpline_sim::engine::rules;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_strategies::{Family, Protocol};
use warpline_tests::TempDir;
use warpline_verify::{Options, Outcome, Trips, promela, verify};

use crate::properties::mutants;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracles/spin")
}

/// A line of the record.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// A scenario, or a ring as [`ring`] reads it.
    subject: String,
    /// Trip count of the main loop; nothing where the kernel has none to vary.
    trips: Option<i64>,
    /// Verdict (`none`, `error`), states stored, version.
    spin: String,
    /// [`digest`] of the model.
    model: String,
}

const HEAD: &str = "subject\ttrips\tspin\tstates\tversion\tmodel\n";

fn record() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("exported.tsv")).unwrap();
    let rows = text.strip_prefix(HEAD).expect("the head of the table").lines();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        Row {
            subject: cells[0].to_string(),
            trips: cells[1].parse().ok(),
            spin: cells.get(2..5).map(|c| c.join("\t")).unwrap_or_default(),
            model: cells.get(5).unwrap_or(&"").to_string(),
        }
    };
    rows.map(row).collect()
}

/// FNV-1a of the model without its comments, which name lines of the kernel.
fn digest(model: &str) -> String {
    let lines = model.lines().filter(|l| !l.trim_start().starts_with("/*"));
    let bytes = lines.flat_map(|l| l.bytes().chain([b'\n']));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

fn compiled(file: &str, text: &str, set: &BTreeMap<String, i64>, cores: Option<i64>) -> Program {
    compile(file, text, &Inputs { set, cores }).unwrap_or_else(|e| panic!("{e:#?}\n{text}"))
}

/// `Tma 1 2` is the smallest ring of that family with one consumer and two stages; `Tma 1 2: NAME` one of its mutants.
fn ring(name: &str, tiles: i64) -> (Program, Rules) {
    let (ring, slip) = name.split_once(": ").map_or((name, None), |(r, s)| (r, Some(s)));
    let words: Vec<&str> = ring.split(' ').collect();
    let family = Family::ALL.into_iter().find(|f| format!("{f:?}") == words[0]).unwrap();
    let of = |i: usize| words[i].parse().unwrap();
    let ring = Protocol::small(family, of(1), of(2), tiles).unwrap();
    let Some(slip) = slip else { return (ring.program(), ring.rules()) };
    let (_, text) = mutants(&ring).into_iter().find(|m| m.0 == slip).unwrap();
    (compiled("protocol.pipe", &text, &BTreeMap::new(), None), ring.rules())
}

fn program(row: &Row) -> (Program, Rules) {
    let name = &row.subject;
    let Some((file, text)) = embedded(name) else { return ring(name, row.trips.unwrap()) };
    let scenario = scenario(file, text).unwrap();
    let (kernel, source) = embedded_kernel_of(name, &scenario.kernel).unwrap();
    let machine = warpline_models::embedded(&scenario.machine).unwrap();
    let cores = machine.get("core.count").map(|c| c as i64);
    let base = compiled(kernel, source, &scenario.set, cores);
    let text = Text::read(kernel, source);
    let symbolic = text.compile_symbolic(&Inputs { set: &scenario.set, cores }).unwrap();
    let trips = Trips::find(&symbolic);
    let at = |n| trips.as_ref().and_then(|t| t.at(n)).unwrap_or_else(|| panic!("{name} at {n}")).bind();
    (row.trips.map_or_else(|| base.clone(), at), Rules { fences: scenario.fences, ..rules(&machine) })
}

/// What Spin says of a model.
fn spin(model: &str) -> Result<String, String> {
    let dir = TempDir::new();
    let file = dir.write("model.pml", model);
    let said = Command::new(folder().join("exported.sh")).arg(file).output().map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
    if said.status.success() { Ok(text(&said.stdout)) } else { Err(text(&said.stderr)) }
}

fn there(tool: &str, arg: &str) -> bool {
    Command::new(tool).arg(arg).output().is_ok_and(|o| o.status.success())
}

#[test]
fn exported_models_are_judged_alike() {
    let asked = std::env::var("WARPLINE_SPIN").unwrap_or_default();
    let again = !asked.is_empty() && there("spin", "-V") && there("cc", "--version");
    if !again {
        println!("skipped: Spin itself (WARPLINE_SPIN=check, where spin and cc are); held to the record instead");
    }
    let judge = |row: &Row| -> Result<Row, String> {
        let (program, rules) = program(row);
        let about = format!("{} at {:?}", row.subject, row.trips);
        let model = promela(&program, rules).map_err(|e| format!("{about}: {}", e.message))?;
        let mut now = Row { model: digest(&model), ..row.clone() };
        if again {
            now.spin = spin(&model).map_err(|e| format!("{about}: {e}"))?;
        }
        let v = verify(&program, rules, Options::default());
        let ours = match v.outcome {
            Outcome::Proved | Outcome::Bounded { .. } => "none",
            Outcome::Violated => "error",
            Outcome::GaveUp { why } => return Err(format!("{about}: {why}")),
        };
        let theirs = now.spin.split('\t').next().unwrap_or_default();
        if ours == theirs {
            Ok(now)
        } else {
            Err(format!("{about}: warpline {ours}, Spin {theirs}: {:#?}", v.violation))
        }
    };
    let rows = record();
    assert!(rows.len() > 40);
    let judged: Vec<_> = rows.par_iter().map(judge).collect();
    if again && asked == "write" {
        let cell = |r: &Row| {
            let trips = r.trips.map_or("-".to_string(), |n| n.to_string());
            format!("{}\t{trips}\t{}\t{}\n", r.subject, r.spin, r.model)
        };
        let text: String = judged.iter().flatten().map(cell).collect();
        std::fs::write(folder().join("exported.tsv"), format!("{HEAD}{text}")).unwrap();
    }
    let failed: Vec<&String> = judged.iter().filter_map(|j| j.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let stale: Vec<_> = rows.iter().zip(judged.iter().flatten()).filter(|(was, is)| was != is).collect();
    assert!(stale.is_empty() || asked == "write", "the record is of another model or Spin: {stale:#?}");
}
