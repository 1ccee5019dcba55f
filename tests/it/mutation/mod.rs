//! Every mutation of every synchronization statement of every correct scenario.
//!
//! `mutation/fates.txt` records what becomes of each mutant, one letter each in the order of `warpline_verify::edits`, and
//! `docs/mutation.md` is made from it. Tests recompute the record: all of it but of the scenarios named in [`LONG`], of which
//! they take every [`EVERY`]th mutant. After a change of the verifier,
//!
//! ```sh
//! WARPLINE_MUTATION=write cargo test -p warpline-tests --test it mutation
//! ```
//!
//! writes both files anew, in a few minutes. Read the difference: a letter that turns from a fault into `e` is a bug missed.

mod fate;
mod page;
mod subject;

use std::path::PathBuf;

use fate::Fate;
use rayon::prelude::*;
use subject::{LONGER, SHORT, Subject};
use warpline_verify::{Edit, Trips, Verdict, edits};

/// Scenarios whose mutants take too long for every run of the tests.
const LONG: [&str; 6] = [
    "attention/fa3",
    "correct/deepgemm_sm100",
    "correct/deepgemm_sm90",
    "correct/thunderkittens_clc",
    "hopper/pingpong",
    "mla/fused_kv_fixed",
];
/// Of those, the tests take the first mutant and every so many behind it.
const EVERY: usize = 16;

/// A scenario that holds, its mutants, and the letters of their fates.
struct Row {
    name: &'static str,
    edits: Vec<Edit>,
    fates: Vec<Fate>,
}

fn writing() -> bool {
    std::env::var("WARPLINE_MUTATION").is_ok_and(|v| v == "write")
}

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Names of the scenarios that hold: their mutants are made. `bug`s of the museum that are no faults by the default rules
/// are the same kernels as their repairs.
fn names() -> Vec<&'static str> {
    warpline_scenarios::embedded_names().into_iter().filter(|n| !n.ends_with("/bug")).collect()
}

/// Calls `f` with each scenario that holds, its trip counts and its verdict; in the order of the names.
fn each<T: Send>(f: impl Fn(&'static str, &Subject, Option<&Trips>, &Verdict) -> T + Sync) -> Vec<T> {
    let all = names().into_par_iter().filter_map(|name| {
        let subject = Subject::load(name);
        let trips = subject.trips();
        let whole = subject.verdict(None);
        whole.holds().then(|| f(name, &subject, trips.as_ref(), &whole))
    });
    all.collect()
}

fn letters(fates: &[Fate]) -> String {
    fates.iter().map(|f| f.letter()).collect()
}

fn recorded() -> Vec<(String, Vec<Fate>)> {
    let text = std::fs::read_to_string(file("it/mutation/fates.txt")).unwrap_or_default();
    let row = |line: &str| {
        let (name, letters) = line.split_once(' ').unwrap();
        (name.to_string(), letters.chars().map(|c| Fate::of(c).unwrap_or_else(|| panic!("{name}: `{c}`"))).collect())
    };
    text.lines().map(row).collect()
}

#[test]
fn what_becomes_of_every_mutant() {
    let known = recorded();
    let rows = each(|name, subject, trips, whole| {
        let all = edits(&subject.program);
        let taken = |i: usize| writing() || !LONG.contains(&name) || i.is_multiple_of(EVERY);
        let old = known.iter().find(|(n, _)| n == name).map(|(_, fates)| fates.as_slice()).unwrap_or_default();
        let fate = |(i, e): (usize, &Edit)| match taken(i) {
            true => subject.fate(trips, whole, e),
            false => old.get(i).copied().unwrap_or(Fate::Undecided),
        };
        let fates: Vec<Fate> = all.par_iter().enumerate().map(fate).collect();
        for (i, e) in all.iter().enumerate() {
            if !writing() && old.get(i) != Some(&fates[i]) {
                println!("{name}: {}: {:?}, recorded {:?}", e.words, fates[i], old.get(i));
            }
        }
        Row { name, edits: all, fates }
    });
    let record: String = rows.iter().map(|r| format!("{} {}\n", r.name, letters(&r.fates))).collect();
    let page = page::page(&rows);
    if writing() {
        std::fs::write(file("it/mutation/fates.txt"), record).unwrap();
        std::fs::write(file("../docs/mutation.md"), page).unwrap();
        return;
    }
    let old: String = known.iter().map(|(name, fates)| format!("{name} {}\n", letters(fates))).collect();
    assert!(old == record, "the record differs; see above, and the head of this file");
    assert!(
        std::fs::read_to_string(file("../docs/mutation.md")).unwrap() == page,
        "docs/mutation.md is not of the record"
    );
}

#[test]
fn every_mutant_is_decided() {
    let undecided = |(name, fates): (String, Vec<Fate>)| {
        let n = fates.iter().filter(|f| **f == Fate::Undecided).count();
        (n > 0).then_some((name, n))
    };
    assert_eq!(recorded().into_iter().filter_map(undecided).collect::<Vec<_>>(), []);
}

/// What is recorded as equivalent is held to schedules drawn at random, and to a search of every order that knows nothing of
/// happens-before; what is recorded as wrong is met by a schedule where it can be.
#[test]
fn mutants_called_equivalent_meet_no_fault_in_other_ways() {
    let known = recorded();
    let (seeds, states) = if writing() { (32, 300) } else { (2, 0) };
    let missed: Vec<String> = each(|name, subject, trips, _| {
        let fates = known.iter().find(|(n, _)| n == name).map(|(_, fates)| fates.as_slice()).unwrap_or_default();
        let all = edits(&subject.program);
        let held = all.par_iter().zip(fates).enumerate().filter(|(i, (_, f))| {
            matches!(f, Fate::Equivalent | Fate::Bounded | Fate::Searched)
                && (writing() || !LONG.contains(&name) || i.is_multiple_of(EVERY))
        });
        let judge = states > 0 && !subject.search_errs(trips, states);
        if states > 0 && !judge {
            println!("{name}: the search finds fault with the kernel as it is");
        }
        let wrong = held.filter_map(|(_, (e, _))| {
            let drawn = subject.drawn(trips, e, seeds, &SHORT).map(|seed| format!("seed {seed}"));
            let searched = || subject.searched(trips, e, states).filter(|_| judge).map(|f| format!("{f:?}"));
            Some(format!("{name}: {}: {}", e.words, drawn.or_else(searched)?))
        });
        wrong.collect::<Vec<String>>()
    })
    .concat();
    assert_eq!(missed, Vec::<String>::new());
}

/// What is recorded as wrong is met by a schedule drawn at random.
#[test]
fn mutants_called_wrong_are_met_by_schedules() {
    let known = recorded();
    let every = if writing() { 1 } else { EVERY };
    let unmet: Vec<String> = each(|name, subject, trips, _| {
        let fates = known.iter().find(|(n, _)| n == name).map(|(_, fates)| fates.as_slice()).unwrap_or_default();
        let all = edits(&subject.program);
        let wrong = all.par_iter().zip(fates).step_by(every).filter(|(_, f)| f.met());
        let unmet = wrong.filter(|(e, _)| subject.drawn(trips, e, 64, &LONGER).is_none());
        unmet.map(|(e, f)| format!("{name}: {}: {}", e.words, f.words())).collect::<Vec<String>>()
    })
    .concat();
    assert_eq!(unmet, Vec::<String>::new());
}
