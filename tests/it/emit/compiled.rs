//! What compilers took of emitted files (`oracles/emit/compiled.tsv`, made by `compile.py` beside it).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpline::Status;
use warpline_scenarios::embedded_names;

use super::{machine_of, written};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracles/emit")
}

/// Rows of the record: (target, scenario), then machine, arch, compiler, outcome, registers, spilled.
fn record() -> BTreeMap<(String, String), Vec<String>> {
    let text = std::fs::read_to_string(folder().join("compiled.tsv")).unwrap();
    let rows = text.lines().skip(1).map(|l| l.split('\t').map(str::to_string).collect::<Vec<_>>());
    rows.map(|r| ((r[0].clone(), r[1].clone()), r[2..].to_vec())).collect()
}

/// The record's name of the target, where it is of one that is only compiled here.
fn target(arch: &str) -> Option<&'static str> {
    match arch {
        "sm_100a" => Some("sm100a"),
        a if a.starts_with("gfx") => Some("hip"),
        a if a.starts_with("apple") => Some("metal"),
        _ => None,
    }
}

#[test]
fn the_record_has_every_scenario_of_these_machines_and_all_that_is_written_compiled() {
    let mut record = record();
    for name in embedded_names() {
        let machine = machine_of(name);
        let Some(target) = target(&machine.arch) else { continue };
        let row = record.remove(&(target.to_string(), name.to_string()));
        let row = row.unwrap_or_else(|| panic!("{name} is not in compiled.tsv: run oracles/emit/compile.py"));
        let said = written(name).unwrap();
        // Of Metal a clang saw the syntax, which is less.
        let taken = if target == "metal" { "parsed" } else { "compiled" };
        let outcome = if said.status == Status::Holds { taken } else { "refused" };
        assert_eq!(
            (row[0].as_str(), row[1].as_str(), row[3].as_str()),
            (&*machine.name, &*machine.arch, outcome),
            "{name}"
        );
        // A register filled by an instruction that nobody waited for yet may not go to memory.
        if said.out.contains("#define WL_MANUAL 1") {
            assert_eq!(row[5], "0", "{name} spills");
        }
    }
    // What `calibrate` runs on devices that we do not have.
    for (target, arch) in [("hip", "gfx90a"), ("hip", "gfx942"), ("hip", "gfx950"), ("metal", "apple9")] {
        let (file, taken) = if target == "hip" { ("cdna.hip", "compiled") } else { ("apple.metal", "parsed") };
        let row = record.remove(&(target.to_string(), format!("probes/{file}@{arch}")));
        assert_eq!(row.map(|r| r[3].clone()).as_deref(), Some(taken), "{file} for {arch}: run oracles/emit/compile.py");
    }
    assert!(record.is_empty(), "rows of no scenario: {record:?}");
}

/// Compiles some again, where the compiler is; elsewhere it says that it did not.
fn again(target: &str, python: &str, scenarios: &[&str], more: &[&str]) {
    let record = record();
    for name in scenarios {
        let said = Command::new(python)
            .arg(folder().join("compile.py"))
            .args([target, "--warpline", env!("CARGO_BIN_EXE_warpline-under-test"), "--only", name])
            .args(more)
            .output()
            .unwrap();
        assert!(said.status.success(), "{name}: {}", String::from_utf8_lossy(&said.stderr));
        let text = String::from_utf8_lossy(&said.stdout);
        let rows: Vec<&str> = text.lines().collect();
        assert!(!rows.is_empty(), "{name}");
        for row in rows {
            let row: Vec<&str> = row.split('\t').collect();
            let known = &record[&(row[0].to_string(), row[1].to_string())];
            assert_eq!(row[5], known[3], "{name}: recorded with {}, and now with {}", known[2], row[4]);
        }
    }
}

#[test]
fn clang_takes_what_is_emitted_for_cdna_and_metal() {
    let python = std::env::var("WARPLINE_ZIG_PYTHON").unwrap_or("python3".to_string());
    let found = Command::new(&python).args(["-c", "import ziglang"]).output();
    if !found.is_ok_and(|o| o.status.success()) {
        println!("skipped: `{python}` has no package ziglang (oracles/README.md); the recording was used");
        return;
    }
    again("metal", &python, &["probes", "metal/double_buffer", "mla/proj_k16", "museum/m36"], &[]);
    again(
        "hip",
        &python,
        &["probes", "cdna/two_step_ahead", "museum/m40_missing_vmcnt/fix", "pipelined/gemm_mi300x"],
        &[],
    );
}

#[test]
fn nvcc_takes_what_is_emitted_for_sm_100a() {
    let nvcc = std::env::var("WARPLINE_NVCC").unwrap_or("nvcc".to_string());
    let version =
        Command::new(&nvcc).arg("--version").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    if !version.is_ok_and(|v| v.contains("release 13.")) {
        println!("skipped: there is no nvcc 13 here (oracles/README.md); the recording was used");
        return;
    }
    again("sm100a", "python3", &["blackwell/gemm_1sm", "correct/thunderkittens_clc"], &["--nvcc", &nvcc]);
}
