//! Mutants of recorded kernels: a proof of one needs a reason, in `mutants.tsv`.
//!
//! `WARPLINE_PTX=write` writes the table. Otherwise one mutant in [`ONE_IN`] is decided again.

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpline_import::ptx;

use crate::kernels::{decided_within, folder, recorded, table};
use crate::mutation::{Mutation, mutations};

/// How many mutants stand for one that every run decides again.
const ONE_IN: usize = 40;

/// Steps of a verification.
const STEPS: u64 = 1_000_000;

/// Kernels that are proved.
const KERNELS: [&str; 40] = [
    "cutedsl.b_dense_1sm_128x128",
    "emit.blackwell-gemm_1sm",
    "emit.blackwell-gemm_1sm_fp8",
    "emit.blackwell-gemm_2sm",
    "emit.blackwell-level1_cluster_sync",
    "emit.blackwell-level2_2sm_fixed",
    "emit.blackwell-level3_two_loops",
    "emit.correct-ordered_sequence",
    "emit.correct-tma_async",
    "emit.hopper-cp_async_wgmma",
    "emit.hopper-tma_wgmma",
    "emit.global-splitk_planes",
    "emit.museum-m01_leader_only_arrive-fix",
    "emit.museum-m03_single_rendezvous-fix",
    "emit.museum-m05_ring_parity_on_one_slot-fix",
    "emit.museum-m09_expect_without_arrive-fix",
    "emit.museum-m10_consumer_count-fix",
    "emit.museum-m11_multicast_disagreement-fix",
    "emit.museum-m14_mailbox_overwritten-fix",
    "emit.museum-m15_no_init_fence-fix",
    "emit.museum-m19_early_dealloc-fix",
    "emit.museum-m20_early_exit-fix",
    "emit.museum-m22_packed_columns-fix",
    "emit.museum-m25_wait_by_the_wrong_thread-fix",
    "emit.museum-m27_two_warpgroups_one_tile-fix",
    "emit.museum-m28_one_buffer_too_few-fix",
    "emit.museum-m31_store_ring_restarts-fix",
    "emit.museum-m33_store_without_a_fence-fix",
    "emit.museum-m35_epilogue_without_a_barrier-fix",
    "emit.museum-m44_cp_async_into_wgmma-fix",
    "emit.museum-m47_idle_warps_poll-fix",
    "emit.museum-m51_clc_expected_by_one_cta-fix",
    "emit.museum-m52_a_warp_arrives_for_one-fix",
    "emit.museum-m53_store_source_handed_on-fix",
    "tilelang.copy_64x64_sm80_ns2",
    "tilelang.gemm_64x64x32_sm80_ns2",
    "tilelang.gemm_ns3_sm80",
    "triton.persistws_32x32x32_sm90_w4_s1",
    "triton.softmax_1024_sm90_w4_s1",
    "triton.tma_128x128x64_w4_s3",
];

/// Mutants of one kernel with the same change of the same instruction: this many are decided.
const ALIKE: usize = 3;

/// Mutants of one kernel that are alike: one line of the table.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    file: String,
    instruction: String,
    change: String,
}

/// Of mutations that are alike [`ALIKE`], from the first to the last.
fn some(all: Vec<Mutation>) -> Vec<Mutation> {
    let mut groups: BTreeMap<(String, &str), Vec<Mutation>> = BTreeMap::new();
    for m in all {
        groups.entry((m.instruction.clone(), m.change)).or_default().push(m);
    }
    let chosen = |list: Vec<Mutation>| {
        let n = list.len();
        let places: Vec<usize> =
            (0..ALIKE.min(n)).map(|i| if n > ALIKE { i * (n - 1) / (ALIKE - 1) } else { i }).collect();
        list.into_iter().enumerate().filter(move |(i, _)| places.contains(i)).map(|(_, m)| m)
    };
    groups.into_values().flat_map(chosen).collect()
}

/// Why a proof of a mutant is right, or the assumption that it rests on.
fn why(instruction: &str, change: &str) -> &'static str {
    let is = |part: &str| instruction.contains(part);
    match change {
        _ if is("try_wait") && change.starts_with("scope") => {
            "no other CTA signals it, or assumed and listed: CuTe DSL waits with CTA scope for other CTAs"
        }
        "repeat" if is("arrive") || is("init.") || is("inval") => "no wait needs a later phase",
        "repeat" => "it waits, meets or orders again",
        "group - 1" => "it waits for more",
        "other id" => "all that meet there use the number",
        _ if is("wgmma.fence") => "products of one shape into one accumulator need none between them",
        _ if is("wgmma") => "a later group or wait covers it before its registers and operands are used",
        _ if is("tcgen05.wait") => "assumed and listed where the whole text has none: CuTe DSL never waits",
        _ if is("tcgen05.fence") => "a note by the default rules",
        _ if is("warp.sync") => "lanes of a warp are in step",
        _ if is("inval") => "the memory has no second use",
        _ if is("try_wait") => "its phase is complete when it is reached",
        _ if is("init") => "no wait needs the phase",
        _ if is("mbarrier.arrive") => "nothing that waits needs what it releases",
        _ if is("barrier.cluster") => "it orders no memory that another CTA uses",
        _ if is("bar") => "what it orders is ordered otherwise",
        _ if is("cp.async") => "it is waited for otherwise, or not used afterwards",
        _ => "",
    }
}

fn outcome(file: &str, text: &str, m: &Mutation) -> String {
    let mutant = m.apply(text);
    let module =
        ptx::read(&mutant).unwrap_or_else(|e| panic!("{file}:{} {} {}: {e:?}", m.line, m.instruction, m.change));
    decided_within(&module, &module.entries[0], file, &mutant, STEPS).word.to_string()
}

#[test]
fn mutants_are_caught_or_harmless() {
    let write = std::env::var("WARPLINE_PTX").is_ok_and(|v| v == "write");
    let texts: Vec<(&str, String)> = KERNELS.iter().map(|k| (*k, recorded(&format!("{k}.ptx")))).collect();
    let all: Vec<(&str, &str, Mutation)> = texts
        .iter()
        .flat_map(|(file, text)| {
            let module = ptx::read(text).expect("a recorded kernel");
            some(mutations(text, &module.entries[0])).into_iter().map(|m| (*file, text.as_str(), m)).collect::<Vec<_>>()
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
            let why = if word == "proved" { why(&k.instruction, &k.change) } else { "" };
            assert!(word != "proved" || !why.is_empty(), "{k:?} is proved");
            format!("{}\t{}\t{}\t{word}\t{}\t{why}\n", k.file, k.instruction, k.change, lines.join(" "))
        };
        let rows: String = rows.iter().map(row).collect();
        let table = format!("file\tinstruction\tchange\toutcome\tlines\twhy it is proved\n{rows}");
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

#[test]
fn no_mutant_is_proved_without_a_reason() {
    let missed =
        |r: &Vec<String>| r[3] == "proved" && r.get(5).is_none_or(|why| why.is_empty() || why.starts_with("missed:"));
    assert!(!table("mutants.tsv").iter().any(missed));
}

/// DEVIATIONS.md, 56: a change that PTX may call a fault is proved, as the verdict assumes that it is none.
#[test]
fn fixme_mutants_that_an_assumption_covers() {
    assert!(table("mutants.tsv").iter().any(|r| r.get(5).is_some_and(|why| why.contains("assumed and listed"))));
}
