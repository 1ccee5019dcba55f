//! What is read, lifted and decided of each recorded kernel, held to `verdicts.tsv`.
//!
//! `WARPLINE_PTX=write` writes the table, and `WARPLINE_PTX=all` also checks the kernels that take long. Any other value
//! prints the rows of the files whose names contain one of its words.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use warpline_import::ptx;

use crate::kernels::{Decision, corpus, decided, folder, table};

const HEAD: &str = "file\tkernel\tchecked\tverdict\treason\n";

/// A new kernel that takes longer is checked on request.
const LONG: Duration = Duration::from_millis(1500);

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    file: String,
    kernel: String,
    /// `always`, or `on request` where it takes long.
    checked: &'static str,
    decision: Decision,
}

impl Row {
    fn text(&self) -> String {
        let Row { file, kernel, checked, decision } = self;
        format!("{file}\t{kernel}\t{checked}\t{}\t{}\n", decision.word, decision.reason)
    }
}

/// The name of a kernel in the table: mangled names are long.
fn short(kernel: &str) -> String {
    kernel.chars().take(40).collect()
}

#[test]
fn every_recorded_kernel_is_read() {
    let corpus = corpus();
    assert!(corpus.len() >= 120);
    corpus.par_iter().for_each(|(name, text)| {
        let module = ptx::read(text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(!module.entries.is_empty(), "{name} has no kernel");
    });
}

/// Prints the rows of the files whose names contain one of these words.
fn print_rows(words: &str) {
    let named = |file: &str| words.split_whitespace().any(|w| file.contains(w));
    corpus().par_iter().filter(|(file, _)| named(file)).for_each(|(file, text)| {
        let module = ptx::read(text).expect("a recorded kernel");
        for entry in &module.entries {
            let start = Instant::now();
            let decision = decided(&module, entry, file, text);
            let checked = if start.elapsed() > LONG { "on request" } else { "always" };
            let row = Row { file: file.clone(), kernel: short(&entry.name), checked, decision };
            print!("{}", row.text());
        }
    });
}

#[test]
fn verdicts_are_those_recorded() {
    let request = std::env::var("WARPLINE_PTX").unwrap_or_default();
    if !matches!(request.as_str(), "" | "all" | "write") {
        return print_rows(&request);
    }
    let recorded: BTreeMap<(String, String), Vec<String>> =
        table("verdicts.tsv").into_iter().map(|r| ((r[0].clone(), r[1].clone()), r)).collect();
    let all = matches!(request.as_str(), "write" | "all");
    let skipped = |file: &str, kernel: &str| {
        let row = recorded.get(&(file.to_string(), kernel.to_string()));
        !all && row.is_some_and(|r| r[2] == "on request")
    };
    let rows: Vec<Option<Row>> = corpus()
        .par_iter()
        .flat_map_iter(|(file, text)| {
            let module = ptx::read(text).expect("a recorded kernel");
            let each = module.entries.iter().map(|entry| {
                let kernel = short(&entry.name);
                if skipped(file, &kernel) {
                    return None;
                }
                let start = Instant::now();
                let decision = decided(&module, entry, file, text);
                let old = recorded.get(&(file.clone(), kernel.clone())).map(|r| r[2] == "on request");
                let checked = if old.unwrap_or(start.elapsed() > LONG) { "on request" } else { "always" };
                Some(Row { file: file.clone(), kernel, checked, decision })
            });
            each.collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(rows.len(), if request == "write" { rows.len() } else { recorded.len() });
    let left = rows.iter().filter(|r| r.is_none()).count();
    if left > 0 {
        println!("skipped: {left} kernels that take long (WARPLINE_PTX=all)");
    }
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    if request == "write" {
        let text: String = rows.iter().map(Row::text).collect();
        std::fs::write(folder().join("verdicts.tsv"), format!("{HEAD}{text}")).expect("the table");
        return;
    }
    let differs = |row: &&Row| {
        let old = &recorded[&(row.file.clone(), row.kernel.clone())];
        [row.decision.word, &row.decision.reason] != [&old[3], &old[4]]
    };
    let different: String = rows.iter().filter(differs).map(Row::text).collect();
    assert!(different.is_empty(), "now:\n{different}");
}

/// Each published bug that the museum rebuilds is found in its PTX, and its repair is proved.
#[test]
fn bugs_of_the_museum_are_found_in_their_ptx() {
    let verdicts: BTreeMap<String, String> =
        table("verdicts.tsv").into_iter().map(|r| (r[0].clone(), r[3].clone())).collect();
    let bugs: Vec<&String> = verdicts.keys().filter(|f| f.starts_with("emit.museum") && f.contains("-bug")).collect();
    assert_eq!(bugs.len(), 25);
    for bug in bugs {
        // A barrier's number beyond the last is an error, before anything is decided.
        let found = if bug.contains("m37_barrier_number") { "rejected" } else { "violated" };
        assert_eq!(verdicts[bug], found, "{bug}");
        let fix = bug.replace("-bug", "-fix");
        assert_eq!(verdicts[&fix], "proved", "{fix}");
    }
}
