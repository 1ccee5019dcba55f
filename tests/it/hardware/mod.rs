//! Verdicts beside what one H200 did: `docs/hardware.md` is made from what `calibrate/hardware` recorded, and held to it.
//!
//! A proved kernel that was anything but right is a bug of ours: the tests fail. After new measurements,
//!
//! ```sh
//! WARPLINE_HARDWARE=write cargo test -p warpline-tests --test it hardware
//! ```
//!
//! writes the page anew. The device itself is never asked for here.

mod page;
mod record;

use std::path::PathBuf;

use record::{Observed, emulated, emulated_museum, emulated_mutants, museum, mutants, scenarios};

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn the_page_is_what_was_recorded() {
    let page = page::page();
    if std::env::var("WARPLINE_HARDWARE").is_ok_and(|v| v == "write") {
        std::fs::write(root("docs/hardware.md"), &page).unwrap();
    }
    assert!(
        read("docs/hardware.md") == page,
        "docs/hardware.md is not what the record gives; the module says how to write it"
    );
}

#[test]
fn what_is_proved_was_right() {
    let odd: Vec<String> = mutants()
        .iter()
        .filter(|m| m.holds && !m.observed.fine())
        .map(|m| m.case.clone())
        .chain(scenarios().iter().chain(&emulated()).filter(|s| s.holds && !s.observed.fine()).map(|s| s.case.clone()))
        .chain(museum().iter().chain(&emulated_museum()).filter(|m| !m.fix.fine()).map(|m| m.name.clone()))
        .collect();
    assert_eq!(odd, Vec::<String>::new());
    assert!(emulated_mutants().1.iter().all(Observed::fine));
}

/// Every kernel of sm_100a that has results was run at two sizes or more, and all of its results held to the reference.
#[test]
fn what_is_written_for_sm_100a_was_run_in_emulation() {
    let runs = emulated();
    for name in warpline_scenarios::embedded_names() {
        let (family, kernel) = name.split_once('/').unwrap();
        // `level2_2sm_8192` is the kernel of `level2_2sm`.
        let written = family == "blackwell" && kernel != "level2_2sm_8192";
        if written || ["correct/deepgemm_sm100", "correct/thunderkittens_clc"].contains(&name) {
            let of: Vec<_> = runs.iter().filter(|r| r.scenario == name).collect();
            assert!(of.len() >= 2 && of.iter().all(|r| r.checked > 0), "{name}");
        }
    }
}

#[test]
fn every_deadlock_that_is_certain_hung_or_was_trapped() {
    for m in mutants().iter().filter(|m| m.letter == 'd') {
        assert!(matches!(m.observed, Observed::Hang(_) | Observed::Fault), "{}: {:?}", m.case, m.observed);
    }
}
