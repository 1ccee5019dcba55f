//! Certificates: each proof of a built-in scenario has one that is valid, and an altered one is rejected.

mod altered;
mod format;

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpline::Status;
use warpline_recheck::{Certificate, Checked, Refusal, read, recheck};
use warpline_tests::{TempDir, warpline};

/// The text of the certificate of a scenario; none where its verdict is not PROVED.
fn written(args: &[&str]) -> Option<String> {
    let dir = TempDir::new();
    let file = dir.file("c.json");
    let said = warpline(&[&["verify", "--json", "--no-suggestion", "--certificate", &file], args].concat());
    let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let text = std::fs::read_to_string(&file).ok();
    assert_eq!(json["verdict"] == "proved", text.is_some(), "{args:?}: {}", said.err);
    text
}

fn certificate(name: &str) -> Certificate {
    read(&written(&[name]).unwrap()).unwrap()
}

/// Checks a certificate on the machine that it names.
fn checked(c: &Certificate, delays: u64) -> Result<Checked, Refusal> {
    let mut machine = warpline_models::embedded(&c.statement.machine)
        .ok_or_else(|| Refusal::Unreadable(format!("no machine `{}`", c.statement.machine)))?;
    for number in &c.statement.machine_numbers {
        warpline_models::apply(&mut machine, &number.key, number.value)
            .map_err(|e| Refusal::Unreadable(e.to_string()))?;
    }
    recheck(c, &machine, delays)
}

/// The kind of each cell's proof.
fn kinds(c: &Certificate) -> Vec<&'static str> {
    let kind = |cell: &warpline_recheck::CellProof| match cell.proof {
        warpline_recheck::Proof::Given(_) => "given",
        warpline_recheck::Proof::Trips(_) => "trips",
        warpline_recheck::Proof::Plane(_) => "plane",
    };
    c.cells.iter().map(kind).collect()
}

/// Scenarios whose proofs the checker does not follow: the bound of a loop reads variables, and the insertion is a part of
/// its growth (docs/certificates.md).
const WITHOUT: [&str; 1] = ["global/streamk"];

#[test]
fn every_proof_of_a_scenario_is_rechecked() {
    let of = |name: &str| {
        if WITHOUT.contains(&name) {
            return None;
        }
        let text = written(&[name])?;
        let c = read(&text).unwrap();
        let again = serde_json::to_string_pretty(&c).unwrap() + "\n";
        assert_eq!(again, text, "{name}");
        checked(&c, 40_000).unwrap_or_else(|why| panic!("{name}: {why:?}"));
        Some(kinds(&c)[0])
    };
    let kinds: Vec<&str> = warpline_scenarios::embedded_names().into_par_iter().filter_map(of).collect();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    kinds.into_iter().for_each(|kind| *count.entry(kind).or_default() += 1);
    assert!(count["given"] >= 7 && count["trips"] >= 110 && count["plane"] >= 8, "{count:?}");
}

/// Hand-written and generated kernels, and small protocols of every family: text and machine.
fn kernels() -> Vec<(String, String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../campaign/cases");
    let mut list = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let cases = warpline_campaign::cases(&name, &std::fs::read_to_string(&path).unwrap());
        let proved = cases.into_iter().filter(|case| case.expect.iter().any(|word| word == "proved"));
        list.extend(proved.map(|case| (case.name, case.text)));
    }
    list.extend(SEEDS.map(|seed| (format!("seed {seed}"), warpline_campaign::kernel(seed).text)));
    let machine = |text: &str| {
        let line = text.lines().find_map(|l| l.trim().strip_prefix("// machine:"));
        line.map_or("h200".to_string(), |name| name.trim().to_string())
    };
    let mut list: Vec<_> = list.into_iter().map(|(name, text)| (name, machine(&text), text)).collect();
    let rings = crate::properties::small_rings();
    list.extend(rings.into_iter().map(|(ring, machine)| (format!("{ring:?}"), machine.to_string(), ring.text())));
    list
}

/// Seeds of generated kernels.
const SEEDS: std::ops::Range<u64> = 2_000_000..2_000_024;

/// Kernels that are proved with the largest grid in the place of all of them, or for jobs of different lengths. These get
/// no certificate (docs/certificates.md).
const KERNELS_WITHOUT: [&str; 5] = [
    "1_grids/a_larger_grid_far_out_repaired",
    "1_grids/a_grid_that_grows_far_out_repaired",
    "1_job_numbers/any_length_all_numbers",
    "7_any_around/right",
    "seed 2000015",
];

#[test]
fn every_proof_of_a_kernel_is_rechecked() {
    let dir = TempDir::new();
    let kernels = kernels();
    let of = |(i, (name, machine, text)): (usize, &(String, String, String))| {
        let kernel = dir.write(&format!("{i}.pipe"), text);
        let file = dir.file(&format!("{i}.json"));
        let said =
            warpline(&["verify", &kernel, "--machine", machine, "--json", "--no-suggestion", "--certificate", &file]);
        let json: serde_json::Value = serde_json::from_str(&said.out).ok()?;
        if json["verdict"] != "proved" {
            return None;
        }
        let Ok(text) = std::fs::read_to_string(&file) else {
            return (!KERNELS_WITHOUT.contains(&name.as_str())).then(|| Err(format!("{name}: {}", said.err)));
        };
        let checked = checked(&read(&text).unwrap(), 20_000);
        Some(checked.map(drop).map_err(|why| format!("{name}: {why:?}")))
    };
    let checked: Vec<Result<(), String>> = kernels.par_iter().enumerate().filter_map(of).collect();
    assert!(checked.len() > 60, "{}", checked.len());
    let wrong: Vec<&String> = checked.iter().filter_map(|c| c.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{wrong:#?}", wrong.len(), checked.len());
}

#[test]
fn a_kernel_with_a_stage_and_a_phase_has_a_certificate_as_it_is_written() {
    let text = include_str!("../verify/protocols/pipeline_state.pipe");
    let case = warpline_campaign::cases("pipeline_state", text).swap_remove(0);
    let file = TempDir::new();
    assert!(written(&[&file.write("t.pipe", &case.text), "--machine", "h200"]).is_some());
}

#[test]
fn what_is_not_proved_has_no_certificate() {
    let dir = TempDir::new();
    let file = dir.file("c.json");
    let name = "museum/m01_leader_only_arrive/bug";
    let said = warpline(&["verify", name, "--quiet", "--no-suggestion", "--certificate", &file]);
    assert_eq!(said.status, Status::Holds);
    assert!(said.err.contains("no certificate was written: the verdict is not PROVED"), "{}", said.err);
    // What the checker does not follow is said, and no file is left.
    let said = warpline(&["verify", WITHOUT[0], "--quiet", "--no-suggestion", "--certificate", &file]);
    assert_eq!(said.status, Status::GaveUp);
    assert!(said.err.contains("no certificate was written: "), "{}", said.err);
    assert!(dir.names().is_empty());
    let several = warpline(&["verify", "metal", "--certificate", &file]);
    assert_eq!(several.status, Status::BadInput);
    assert!(several.err.contains("--certificate is for one scenario"), "{}", several.err);
}

#[test]
fn the_exit_status_tells_what_became_of_a_certificate() {
    let dir = TempDir::new();
    let text = written(&["museum/m03_single_rendezvous/fix"]).unwrap();
    let said = |text: &str| {
        let file = dir.write("c.json", text);
        warpline(&["recheck", &file])
    };
    let valid = said(&text);
    assert_eq!((valid.status, valid.err.as_str()), (Status::Holds, ""));
    for part in ["VALID: kernel", "varied", "excluded", "deadlock", "trusted", "the transition function"] {
        assert!(valid.out.contains(part), "{part}\n{}", valid.out);
    }
    let rejected = said(&text.replacen("\"moves\": ", "\"moves\": 1", 1));
    assert_eq!(rejected.status, Status::Violated);
    assert!(rejected.out.starts_with("REJECTED: cells[0].proof.trips"), "{}", rejected.out);
    for (bad, part) in [
        (text.replace("certificate/1", "certificate/9"), "this version reads `warpline.certificate/1`"),
        (text.replacen('{', "{ \"more\": 1,", 1), "unknown field `more`"),
        (text.replacen("\"schema\"", "\"schema\": \"x\", \"schema\"", 1), "duplicate field `schema`"),
        ("{}".to_string(), "missing field"),
    ] {
        let said = said(&bad);
        assert_eq!(said.status, Status::BadInput);
        let err = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(err.contains("is not a certificate") && err.contains(part), "{}", said.err);
    }
    let unknown = said(&text.replace("\"machine\": \"", "\"machine\": \"x"));
    assert_eq!(unknown.status, Status::BadInput);
    assert!(unknown.err.contains("there is no machine `x"), "{}", unknown.err);
}
