//! What was recorded, joined with the verdicts.

use std::collections::BTreeMap;

use serde_json::Value;
use warpline_scenarios::{embedded, scenario};

use super::read;

/// What became of a kernel on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    /// The same result in all runs, and the reference's where there is one.
    Fine,
    /// Threads waited past the deadline; where the first did.
    Hang(String),
    /// The device refused.
    Fault,
    /// Another result than the reference.
    Wrong,
    /// The result changed from run to run.
    Varies,
    /// Another result than the kernel it was made from, or its repair.
    Differs,
    /// compute-sanitizer's racecheck names it.
    Racecheck,
}

impl Observed {
    pub(super) fn fine(&self) -> bool {
        *self == Observed::Fine
    }

    pub(super) fn words(&self) -> String {
        match self {
            Observed::Fine => "not observed".into(),
            Observed::Hang(at) if at.is_empty() => "hang".into(),
            Observed::Hang(at) => format!("hang ({at})"),
            Observed::Fault => "device fault".into(),
            Observed::Wrong => "wrong result".into(),
            Observed::Varies => "result varies".into(),
            Observed::Differs => "another result than its repair".into(),
            Observed::Racecheck => "racecheck".into(),
        }
    }
}

pub(super) struct Mutant {
    pub(super) case: String,
    pub(super) scenario: String,
    /// Its letter in `tests/it/mutation/fates.txt`.
    pub(super) letter: char,
    pub(super) holds: bool,
    pub(super) observed: Observed,
}

pub(super) struct Run {
    pub(super) case: String,
    pub(super) scenario: String,
    pub(super) arguments: String,
    pub(super) holds: bool,
    pub(super) observed: Observed,
    pub(super) runs: u64,
    pub(super) checked: u64,
}

pub(super) struct Bug {
    pub(super) name: String,
    pub(super) expected: String,
    pub(super) bug: Observed,
    pub(super) runs: u64,
    pub(super) fix: Observed,
}

fn lines(path: &str) -> BTreeMap<String, Value> {
    let row = |l: &str| {
        let v: Value = serde_json::from_str(l).unwrap_or_else(|e| panic!("{path}: {e}: {l}"));
        (v["case"].as_str().unwrap().to_string(), v)
    };
    read(path).lines().map(row).collect()
}

/// `other` is the record of the kernel whose result it should have.
fn observed(v: &Value, other: Option<&Value>) -> Observed {
    match v["outcome"].as_str().unwrap() {
        "hang" => Observed::Hang(v["waits"].as_str().unwrap_or_default().to_string()),
        "fault" => Observed::Fault,
        "wrong" => Observed::Wrong,
        "right" | "ran" if v["free_same"] == false => Observed::Varies,
        "ran" if other.is_some_and(|o| o["free"] != v["free"]) => Observed::Differs,
        "right" | "ran" => Observed::Fine,
        o => panic!("{}: outcome {o}", v["case"]),
    }
}

/// Letters of the mutants of each scenario that holds.
pub(super) fn fates() -> BTreeMap<String, Vec<char>> {
    let text = read("tests/it/mutation/fates.txt");
    let row = |l: &str| l.split_once(' ').map(|(n, f)| (n.to_string(), f.trim().chars().collect()));
    text.lines().filter_map(row).collect()
}

pub(super) fn mutants() -> Vec<Mutant> {
    let (fates, all) = (fates(), lines("calibrate/data/h200_mutants.jsonl"));
    let mut out = Vec::new();
    for line in read("calibrate/hardware/mutants_all.sh").lines() {
        let Some(rest) = line.strip_prefix("./mutants.sh ") else { continue };
        let mut words = rest.split_whitespace();
        let (name, scenario) = (words.next().unwrap(), words.next().unwrap());
        let base = &all[&format!("{name}.base")];
        assert!(observed(base, None).fine(), "{name}: the kernel itself");
        for (i, &letter) in fates[scenario].iter().enumerate().filter(|(_, l)| **l != 'x') {
            let case = format!("{name}.{i}");
            let v = all.get(&case).unwrap_or_else(|| panic!("no record of {case}"));
            let holds = "ebon".contains(letter);
            let observed = observed(v, Some(base));
            out.push(Mutant { case, scenario: scenario.into(), letter, holds, observed });
        }
    }
    out
}

/// The rows of a list of cases: name, scenario, arguments.
fn cases(path: &str) -> Vec<[String; 3]> {
    let text = read(path);
    let rows = text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
    rows.map(|l| {
        let mut f = l.split('|').map(|x| x.trim().to_string());
        std::array::from_fn(|_| f.next().unwrap_or_default())
    })
    .collect()
}

pub(super) fn scenarios() -> Vec<Run> {
    runs("calibrate/hardware/cases.txt", "calibrate/data/h200_scenarios.jsonl")
}

/// Kernels for sm_100a, with what sm_90a lacks emulated.
pub(super) fn emulated() -> Vec<Run> {
    runs("calibrate/hardware/emulated.txt", "calibrate/data/h200_emulated.jsonl")
}

/// Mutants of a kernel for sm_100a that the verifier calls harmless, likewise: how many there are, and what became of those
/// that were run.
pub(super) fn emulated_mutants() -> (usize, Vec<Observed>) {
    let (fates, all) = (fates(), lines("calibrate/data/h200_emulated.jsonl"));
    let script = read("calibrate/hardware/mutants_emulated.sh");
    let line = script.lines().find_map(|l| l.strip_prefix("ONLY=ebon ./mutants.sh ")).unwrap();
    let (name, rest) = line.split_once(' ').unwrap();
    let fates = &fates[rest.split(' ').next().unwrap()];
    let harmless = fates.iter().enumerate().filter(|(_, l)| "ebon".contains(**l));
    let cases: Vec<String> = harmless.map(|(i, _)| format!("{name}.{i}")).collect();
    (cases.len(), cases.iter().filter_map(|c| all.get(c)).map(|v| observed(v, None)).collect())
}

fn runs(list: &str, record: &str) -> Vec<Run> {
    let (fates, all) = (fates(), lines(record));
    let rows = cases(list).into_iter().filter(|c| !c[1].starts_with("museum/"));
    rows.map(|[case, scenario, arguments]| {
        let v = &all[&case];
        Run {
            holds: fates.contains_key(&scenario),
            observed: observed(v, None),
            runs: v["runs"].as_u64().unwrap(),
            checked: v["checked"].as_u64().unwrap_or(0),
            arguments: arguments.replace("--set ", ""),
            case,
            scenario,
        }
    })
    .collect()
}

pub(super) fn museum() -> Vec<Bug> {
    let (all, longer) = (lines("calibrate/data/h200_scenarios.jsonl"), lines("calibrate/data/h200_longer.jsonl"));
    bugs("calibrate/hardware/cases.txt", &all, &longer, &read("calibrate/data/h200_racecheck.txt"))
}

pub(super) fn emulated_museum() -> Vec<Bug> {
    let all = lines("calibrate/data/h200_emulated.jsonl");
    bugs("calibrate/hardware/emulated.txt", &all, &BTreeMap::new(), "")
}

fn bugs(list: &str, all: &BTreeMap<String, Value>, longer: &BTreeMap<String, Value>, racecheck: &str) -> Vec<Bug> {
    let flagged = |name: &str| racecheck.lines().any(|l| l == format!("{name} flagged"));
    let cases = cases(list);
    let names = cases.iter().filter_map(|c| c[1].strip_prefix("museum/")?.strip_suffix("/bug"));
    names
        .map(|name| {
            let (bug, fix) = (&all[&format!("museum.{name}.bug")], &all[&format!("museum.{name}.fix")]);
            let mut seen = (observed(bug, Some(fix)), bug["runs"].as_u64().unwrap());
            let mut fixed = observed(fix, None);
            // Longer, and at other trip counts, where the first runs showed nothing.
            for (case, v) in longer {
                let Some(rest) = case.strip_prefix(name).and_then(|r| r.strip_prefix('.')) else { continue };
                if rest.starts_with("bug") && seen.0.fine() {
                    let other = longer.get(&case.replacen(".bug", ".fix", 1));
                    seen = (observed(v, other), seen.1.max(v["runs"].as_u64().unwrap()));
                } else if rest.starts_with("fix") && fixed.fine() {
                    fixed = observed(v, None);
                }
            }
            if seen.0.fine() && flagged(name) {
                seen.0 = Observed::Racecheck;
            }
            let (file, text) = embedded(&format!("museum/{name}/bug")).unwrap();
            let expected = scenario(file, text).unwrap().expect.map_or("a note".into(), |e| e.name().to_string());
            Bug { name: name.into(), expected, bug: seen.0, runs: seen.1, fix: fixed }
        })
        .collect()
}
