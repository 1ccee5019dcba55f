//! A small campaign: verdicts on generated and hand-written kernels, judged by brute force.
//!
//! `campaign/README.md` says how to run a large one.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use warpline_campaign::{
    CHAIN, GRIDS, JOBS, SIZES, Subject, Verdict, Verifier, Word, bases_in, cases_in, edited, judge, judge_with_run,
    kernel,
};
use warpline_tests::{TempDir, warpline};

/// Kernels of the small campaign: families in turn, then the families with seeds of their own. `GRIDS + 2` and `JOBS + 2`
/// take over ten seconds each and are left to large campaigns.
const SEEDS: [std::ops::Range<u64>; 7] = [
    1_000_000..1_000_048,
    SIZES..SIZES + 6,
    CHAIN..CHAIN + 8,
    GRIDS..GRIDS + 2,
    GRIDS + 3..GRIDS + 9,
    JOBS..JOBS + 2,
    JOBS + 3..JOBS + 9,
];

/// Seeds of edits of the small campaign.
const EDITS: std::ops::Range<u64> = 0..24;

/// What they edit: a few cases, so that a new protocol does not change the meaning of seeds.
const EDITED: [&str; 8] = [
    "accumulator_stages/right",
    "early_peer/right",
    "handover/right",
    "jobs_by_number/right",
    "metal/right",
    "named_ring/right",
    "pipeline_state/right",
    "ranges_of_jobs/right",
];

/// The command line in this process.
struct Library;

impl Verifier for Library {
    fn output(&self, file: &Path, machine: &str) -> Result<String, Word> {
        let file = file.display().to_string();
        Ok(warpline(&["verify", &file, "--machine", machine, "--json", "--no-suggestion"]).out)
    }

    fn run_output(&self, file: &Path, machine: &str) -> Result<String, Word> {
        Ok(warpline(&["run", &file.display().to_string(), "--machine", machine, "--json"]).out)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../campaign")
}

/// Judges the kernels of seeds; in words, each that is wrong or could not be judged.
fn wrong(seeds: impl IntoParallelIterator<Item = u64>) -> Vec<String> {
    let dir = TempDir::new();
    let judged = seeds.into_par_iter().filter_map(|seed| {
        let k = kernel(seed);
        let file = dir.path().join(format!("{seed}.pipe"));
        let j = judge(&k.text, Verdict::ask(&Library, &k.text, &file));
        // A kernel that is refused with the values given has no verdict.
        let error = j.error.clone().filter(|_| !matches!(j.verdict.word, Word::Refused));
        let what = (j.wrong.map(|w| format!("{w:?}"))).or(error)?;
        Some(format!("seed {seed} ({:?}): {what}, {:?}", k.family, j.fault))
    });
    judged.collect()
}

#[test]
fn no_verdict_on_a_generated_kernel_is_wrong() {
    let wrong = wrong(SEEDS.into_par_iter().flatten());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_verdict_on_an_edited_kernel_is_wrong() {
    let mut bases = bases_in(&folder().join("../tests/it/verify/protocols")).unwrap();
    bases.retain(|base| EDITED.contains(&base.name.as_str()));
    assert_eq!(bases.len(), EDITED.len());
    let dir = TempDir::new();
    let judged = EDITS.into_par_iter().filter_map(|seed| {
        let edited = edited(&bases, seed).filter(|e| Subject::read(&e.text).is_ok())?;
        let file = dir.path().join(format!("{seed}.pipe"));
        let j = judge_with_run(&edited.text, Verdict::ask(&Library, &edited.text, &file), &Library, &file);
        let what = j.wrong.map(|w| format!("{w:?}")).or(j.error)?;
        Some(format!("seed {seed} ({}, {:?}): {what}, {:?}", edited.base, edited.edits, j.fault))
    });
    let wrong: Vec<String> = judged.collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_was_wrong_once_is_right() {
    let text = std::fs::read_to_string(folder().join("regressions.txt")).unwrap();
    let lines = text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
    let seeds: Vec<u64> = lines.map(|l| l.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert!(!seeds.is_empty());
    let wrong = wrong(seeds);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Brute force has judged what these cases expect (`campaign/README.md`), and need not do so in every run of the tests.
#[test]
fn hand_written_cases_get_the_verdict_they_name() {
    let dir = TempDir::new();
    let list = cases_in(&folder().join("cases")).unwrap();
    assert!(list.len() > 100, "{}", list.len());
    let judged = list.par_iter().enumerate().filter_map(|(n, case)| {
        let verdict = Verdict::ask(&Library, &case.text, &dir.path().join(format!("{n}.pipe")));
        let word = format!("{:?}", verdict.word).to_lowercase();
        (!case.expect.contains(&word)).then(|| format!("{}: {word}, not {:?}", case.name, case.expect))
    });
    let wrong: Vec<String> = judged.collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), list.len(), wrong.join("\n"));
}
