//! Recorded kernels that are proved, with the values that a run asks for: no run contradicts its proof.

use rayon::prelude::*;
use warpline::Status;
use warpline_tests::{Said, warpline};

/// Where the recorded kernels are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../oracles/ptx");

/// One of this many proved kernels is run.
const EVERY: usize = 9;

/// A run whose values are all the same number.
fn run_with(file: &str, kernel: &str, value: &str) -> Said {
    let mut options: Vec<String> = Vec::new();
    loop {
        let mut all = vec!["run", file, "--entry", kernel];
        all.extend(options.iter().map(String::as_str));
        let said = warpline(&all);
        let words: Vec<&str> = said.err.split(|c: char| c.is_whitespace() || c == '`').collect();
        let asked = words.windows(2).filter(|w| w[0].starts_with("--") && matches!(w[0], "--arg" | "--set" | "--grid"));
        let asked: Vec<String> = asked
            .flat_map(|w| [w[0].to_string(), w[1].replace("=VALUE", &format!("={value}")).replace("XxYxZ", "4x4")])
            .collect();
        if said.status != Status::BadInput || asked.is_empty() || options.len() > 40 {
            return said;
        }
        options.extend(asked);
    }
}

#[test]
fn no_run_contradicts_a_proof() {
    let table = std::fs::read_to_string(format!("{FOLDER}/verdicts.tsv")).expect("the recorded verdicts");
    let rows = table.lines().skip(1).map(|l| l.split('\t').collect::<Vec<_>>());
    let proved: Vec<_> = rows.filter(|r| r[2] == "always" && r[3] == "proved").step_by(EVERY).collect();
    assert!(proved.len() >= 15, "{} kernels", proved.len());
    let wrong: Vec<String> = proved
        .par_iter()
        .filter_map(|r| {
            let said = run_with(&format!("{FOLDER}/{}.gz", r[0]), r[1], "128");
            // A run cannot know what data decide.
            let unknown = said.err.contains("a run cannot know the data");
            (said.status != Status::Holds && !unknown).then(|| format!("{} {}: {}{}", r[0], r[1], said.out, said.err))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), proved.len(), wrong.join("\n"));
}
