//! Mutants of recorded kernels: a proof of one needs a reason, in `mutants.tsv`.
//!
//! `WARPLINE_PTX=write` writes the table. Otherwise one mutant in [`ONE_IN`] is decided again.

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpline_import::ptx;

use crate::kernels::{decided, folder, recorded, table};
use crate::mutation::{Mutation, mutations};

/// How many mutants stand for one that every run decides again.
const ONE_IN: usize = 40;

/// Kernels that are proved.
const KERNELS: [&str; 2] = ["tilelang.gemm_ns3_sm80.ptx", "triton.tma_128x128x64_w4_s3.ptx"];

/// Mutants of one kernel that are alike: one line of the table.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    file: String,
    instruction: String,
    change: String,
}

fn outcome(file: &str, text: &str, m: &Mutation) -> String {
    let mutant = m.apply(text);
    let module = match ptx::read(&mutant) {
        Ok(m) => m,
        Err(e) => panic!("{file}:{} {} {}: {e:?}", m.line, m.instruction, m.change),
    };
    decided(&module, &module.entries[0], file, &mutant).word.to_string()
}

#[test]
fn mutants_are_caught_or_harmless() {
    let write = std::env::var("WARPLINE_PTX").is_ok_and(|v| v == "write");
    let texts: Vec<(&str, String)> = KERNELS.iter().map(|k| (*k, recorded(k))).collect();
    let all: Vec<(&str, &str, Mutation)> = texts
        .iter()
        .flat_map(|(file, text)| {
            let module = ptx::read(text).expect("a recorded kernel");
            mutations(text, &module.entries[0]).into_iter().map(|m| (*file, text.as_str(), m)).collect::<Vec<_>>()
        })
        .collect();
    let every = if write { 1 } else { ONE_IN };
    let chosen: Vec<&(&str, &str, Mutation)> = all.iter().step_by(every).collect();
    let outcomes: Vec<String> = chosen.par_iter().map(|(file, text, m)| outcome(file, text, m)).collect();
    if write {
        let mut rows: BTreeMap<(Key, String), Vec<u32>> = BTreeMap::new();
        for ((file, _, m), word) in chosen.iter().zip(outcomes) {
            let key = Key { file: file.to_string(), instruction: m.instruction.clone(), change: m.change.into() };
            rows.entry((key, word)).or_default().push(m.line);
        }
        let row = |((k, word), lines): (&(Key, String), &Vec<u32>)| {
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            format!("{}\t{}\t{}\t{word}\t{}\n", k.file, k.instruction, k.change, lines.join(" "))
        };
        let rows: String = rows.iter().map(row).collect();
        let table = format!("file\tinstruction\tchange\toutcome\tlines\n{rows}");
        std::fs::write(folder().join("mutants.tsv"), table).expect("the table");
        return;
    }
    let recorded = table("mutants.tsv");
    for ((file, _, m), word) in chosen.iter().zip(outcomes) {
        let line = m.line.to_string();
        let of = |r: &&Vec<String>| {
            [r[0].as_str(), &r[1], &r[2]] == [file, m.instruction.as_str(), m.change]
                && r[4].split(' ').any(|l| l == line)
        };
        let old = recorded.iter().find(of).map(|r| r[3].as_str());
        assert_eq!(Some(word.as_str()), old, "{file}:{line} {}: {}", m.instruction, m.change);
    }
}
