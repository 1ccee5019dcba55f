//! The museum: bugs of real kernels, each as reported and as repaired (docs/rules.md, Published bugs), and protocols that are
//! right although they look wrong. Every bug is found, of the right kind and at the right line; every repair holds.

use std::collections::{BTreeMap, BTreeSet};

use warpline_scenarios::{Expect, Inputs, Text, compile, embedded, embedded_kernel_of, embedded_names, scenario};
use warpline_sim::code::Code;
use warpline_sim::engine::rules;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_sim::report::Finding;
use warpline_sim::report::FindingKind::{self, *};
use warpline_verify::{Options, Outcome, Verdict, verify};

/// The kind of a row whose agents cannot proceed.
const HANGS: FindingKind = Deadlock;

/// Name, machine, kind, a piece of the line where it shows, and one of the other line involved (empty where there is none).
const FOUND: &[(&str, &str, FindingKind, &str, &str)] = &[
    ("m01_leader_only_arrive", "h200", ParityAlias, "tma A[0, i] -> a", "wait full for i"),
    ("m02_lagging_lane", "b200", ParityAlias, "arrive empty[i % stages]", "wait empty[i % stages] for i / stages - 1"),
    ("m03_single_rendezvous", "b200", ParityAlias, "wait meet[fixed ? i % stages", ""),
    ("m04_one_cluster_mbarrier", "b200", ParityAlias, "arrive gate[fixed ? i % 2 : 0]", "wait gate[fixed ? i % 2 : 0]"),
    ("m05_ring_parity_on_one_slot", "b200", ParityAlias, "commit umma -> done", "wait done parity (fixed ? i"),
    ("m06_phase_restarts", "h200", ArrivalCount, "arrive full[it % stages] expect", ""),
    ("m07_two_owners_of_an_empty_tile", "b200", ParityAlias, "wait p_full for t", ""),
    ("m09_expect_without_arrive", "h200", HANGS, "wait full for i", ""),
    ("m10_consumer_count", "h200", ArrivalCount, "arrive empty[i % stages]", ""),
    ("m11_multicast_disagreement", "h200", TxBytes, "signals full multicast 0b11", ""),
    ("m12_roles_disagree", "b200", HANGS, "wait full for i", ""),
    ("m13_barrier_counts", "mi300x", War, "dma A[job, i] -> a[i % 2]", "lds a[i % 2]"),
    ("m14_mailbox_overwritten", "h200", War, "put t -> item", "get item"),
    ("m15_no_init_fence", "h200", LifeCycle, "arrive ping @cta 1", "init ping, pong"),
    ("m16_unconditional_order_wait", "h200", HANGS, "wait order for 0", ""),
    ("m17_cta_scope_across_ctas", "b200", Scope, "lds s -> q", "sts r -> s @cta 0"),
    ("m18_mask_outside_the_cluster", "b200", Range, "commit umma -> empty @ctas", ""),
    ("m19_early_dealloc", "b200", LifeCycle, "umma.pair a", ""),
    ("m20_early_exit", "b200", LifeCycle, "arrive acc_empty @cta 0", ""),
    ("m21_tmem_ld_without_wait", "b200", War, "umma a : A[t, 0]", "tmem.ld acc.rows(self)"),
    ("m21_tmem_st_without_wait", "b200", Raw, "umma p, v", "tmem.st r -> p.rows(self)"),
    ("m22_packed_columns", "b200", Waw, "b : B[0, 0] -> acc", "-> acc.cols(0, 2)"),
    ("m23_commit_behind_the_wait", "a100", Raw, "lds a[i % stages]", "cp A[0, j] -> a[j]"),
    ("m24_reload_of_a_stored_stage", "h200", War, "tma X[0, i + 2] -> s[i % 2]", "tma.store s[i % 2]"),
    ("m25_wait_by_the_wrong_thread", "h200", War, "sts r.rows(warp, 4)", "tma.store s -> Y[0, i]"),
    ("m26_pipelined_reuse", "a100", War, "cp A[0, i + 1] -> a", "lds a : A[0, i]"),
    ("m27_two_warpgroups_one_tile", "h200", War, "cp B[i, 0] -> b", "wgmma a.rows(self)"),
    ("m28_one_buffer_too_few", "h200", War, "tma A[0, i] -> a[i % buffers]", "wgmma a[use % buffers]"),
    ("m29_operands_in_groups_of_their_own", "mi355x", Raw, "lds b[i % 2]", "dma B[0, 0] -> b[0]"),
    ("m30_epilogue_over_the_main_loop", "a100", War, "sts out.rows(warp, 4)", "lds a[i % stages]"),
    ("m30_scales_under_a_reduction", "a100", Waw, "sts part.rows(warp, 4)", "cp S[0, 0] -> scales"),
    ("m30_staged_by_all_awaited_by_one", "a100", Raw, "lds a : A[0, i]", "cp A[0, i] -> a"),
    ("m31_store_ring_restarts", "b200", War, "sts r.rows(warp, 4) -> c[n % stages]", "tma.store c[n % stages]"),
    ("m33_fence_in_a_loop_of_no_trips", "h200", Fence, "tma.store state", "sts r.rows(warp, 4) -> state"),
    ("m33_store_without_a_fence", "h200", Fence, "tma.store s -> Y[0, i]", "sts r.rows(warp, 4)"),
    ("m33_umma_operand_unfenced", "b200", Fence, "umma a : A[0, i]", "load A[0, i] -> a"),
    ("m35_epilogue_without_a_barrier", "h200", Raw, "lds s.cols(warp, 4)", "sts r.rows(warp, 4)"),
    ("m36_barrier_in_a_branch", "a100", Divergent, "barrier", ""),
    ("m36_threads_that_return_early", "m4-max", Divergent, "barrier", ""),
    ("m37_barrier_number_out_of_range", "h200", Range, "bar sync turn[self", ""),
    ("m38_barrier_without_memory", "m4-max", Raw, "lds part -> total", "sts r.rows(warp, 4)"),
    ("m38_reduction_buffer_reused", "m4-max", War, "sts r.rows(warp, 4)", "lds part -> maximum"),
    ("m38_store_then_load", "m4-max", Raw, "lds c.cols(warp, 4)", "sts acc.block(warp, 1)"),
    ("m39_bare_s_barrier", "mi300x", War, "dma A[0, i] -> a", "lds a : A[0, i]"),
    ("m40_missing_lgkmcnt", "mi355x", War, "dma A[0, i] -> a", "lds a : A[0, i]"),
    ("m40_missing_vmcnt", "mi355x", Raw, "lds a[i % 2]", "dma A[0, 0] -> a[0]"),
    ("m41_v_over_k", "mi300x", War, "dma V[i, 0] -> v", "lds k : K[i, 0]"),
    ("m42_broadcast_slot_reused", "mi300x", War, "sts r.rows(warp, 4)", "lds sdata.rows(0, 4)"),
    (
        "m43_read_ahead_of_its_wait",
        "mi355x",
        Raw,
        "lds Bs[1].0.rows(self % 4, 4) : B[0, i + 1].0",
        "dma B[0, 1].0 -> Bs[1].0",
    ),
    ("m44_cp_async_into_wgmma", "h200", Fence, "wgmma a[s]", "cp A[0, j] -> a[j]"),
    ("m45_one_staging_block", "m4-max", Waw, "sts acc -> stage", "sts acc -> stage"),
    ("m46_shares_past_the_tile", "m4-max", Range, "lds latent.cols(self, shares)", ""),
    ("m47_idle_warps_poll", "b200", ParityAlias, "commit umma -> empty[i % 2]", "wait empty[i % 2] for i / 2 - 1"),
    ("m49_half_of_c", "m4-max", Coverage, "store acc -> C[0, 0]", ""),
    // M50 of docs/rules.md (FlagTree 1180) has no pair: its report could not be read. M53 is its neighbor, FlagTree 1166.
    ("m51_clc_expected_by_one_cta", "b200", HANGS, "wait got for t", ""),
    ("m52_a_warp_arrives_for_one", "b200", ArrivalCount, "arrive over @cta 1 - cta", ""),
    ("m53_store_source_handed_on", "h200", War, "sts r.rows(warp, 4) -> t", "tma.store s -> Y[0, i]"),
];

/// Entries whose bug is no fault by the default rules, with a word on why.
const NOT_FAULTS: &[(&str, &str)] = &[
    ("m21_tmem_ld_without_fence", "a note: CUTLASS has no `tcgen05.fence`"),
    ("m32_fence_behind_the_barrier", "a fence anywhere on the path is accepted"),
    ("m34_read_then_tma", "a note: most kernels rely on the barrier"),
    ("m48_same_tile_twice", "right and wasteful: a note"),
];

/// One of them at a stricter level.
struct Raised {
    name: &'static str,
    /// Rule and level that make it a fault.
    level: (&'static str, &'static str),
    code: Code,
    /// Pieces of the line where it shows, and of the other line.
    at: &'static str,
    with: &'static str,
    /// Whether the default gives a note.
    note: bool,
}

/// Those of them that a stricter level finds.
const RAISED: &[Raised] = &[
    Raised {
        name: "m21_tmem_ld_without_fence",
        level: ("tcgen05", "error"),
        code: Code::TensorFence,
        at: "tmem.ld acc.rows(self)",
        with: "umma a : A[t, 0]",
        note: true,
    },
    Raised {
        name: "m32_fence_behind_the_barrier",
        level: ("async-read", "strict"),
        code: Code::ProxyRead,
        at: "tma.store s -> Y[0, i]",
        with: "sts r.rows(warp, 4)",
        note: false,
    },
    Raised {
        name: "m34_read_then_tma",
        level: ("async-write", "error"),
        code: Code::ProxyWrite,
        at: "tma A[0, i] -> a[i % stages]",
        with: "lds a[i % stages]",
        note: true,
    },
];

/// Section D's protocols, beside those that other families hold (`attention/fa3`, `hopper/pingpong`, `ampere/marlin_4stage`,
/// `cdna/ping_pong`, `blackwell/gemm_1sm`).
const CORRECT: &[&str] =
    &["deepgemm_sm100", "deepgemm_sm90", "ordered_sequence", "sm80_multistage", "thunderkittens_clc", "tma_async"];

/// A scenario's program, its machine's name and its verdict. The trip count is varied where the kernel has `tiles`, and the
/// turns around where it has `jobs`.
#[track_caller]
fn decide(name: &str) -> (Program, String, Verdict) {
    decide_at(name, None)
}

/// The same with one fence rule at another level.
#[track_caller]
fn decide_at(name: &str, level: Option<(&str, &str)>) -> (Program, String, Verdict) {
    let (file, text) = embedded(name).unwrap_or_else(|| panic!("no scenario {name}"));
    let scenario = scenario(file, text).unwrap();
    let (kernel, source) = embedded_kernel_of(name, &scenario.kernel).unwrap();
    let machine = warpline_models::embedded(&scenario.machine).unwrap();
    let cores = machine.get("core.count").map(|c| c as i64);
    let at = |set: &BTreeMap<String, i64>| compile(kernel, source, &Inputs { set, cores });
    let program = at(&scenario.set).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
    warpline_sim::engine::supported(&program, &machine).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut fences = scenario.fences;
    if let Some((rule, level)) = level {
        fences.set(rule, level).unwrap();
    }
    let rules = Rules { fences, ..rules(&machine) };
    let symbolic = Text::read(kernel, source).compile_symbolic(&Inputs { set: &scenario.set, cores }).unwrap();
    let verdict = verify(&symbolic, rules, Options::default());
    (program, scenario.machine.clone(), verdict)
}

/// Holds for every trip count, without a finding.
#[track_caller]
fn holds(name: &str) -> Verdict {
    let (_, _, v) = decide(name);
    assert_eq!(v.outcome, Outcome::Proved, "{name}: {:#?}", v.violation);
    v
}

#[test]
fn every_bug_is_found_at_its_line() {
    for &(name, machine, kind, at, with) in FOUND {
        let bug = format!("museum/{name}/bug");
        let (program, on, v) = decide(&bug);
        assert_eq!(on, machine, "{name}");
        let (file, text) = embedded(&bug).unwrap();
        assert_eq!(scenario(file, text).unwrap().expect, Some(Expect::Fault(kind)), "{name}: it says what to expect");
        assert_eq!(v.outcome, Outcome::Violated, "{name}");
        let seen = v.violation.unwrap();
        let text = |site: u32| program.sites[site as usize].text.as_str();
        let found = match kind {
            HANGS => seen.hang.iter().any(|w| text(w.site).contains(at)),
            _ => seen.findings.iter().any(|f| {
                let other = f.other.as_ref().map_or("", |(site, _)| text(*site));
                f.kind == kind && text(f.site).contains(at) && other.contains(with)
            }),
        };
        let places: Vec<_> =
            seen.findings.iter().map(|f| (f.kind, text(f.site), f.other.as_ref().map(|o| text(o.0)))).collect();
        assert!(found, "{name}: no {kind:?} at `{at}` with `{with}`: {places:#?} {:#?}", seen.hang);
    }
}

#[test]
fn every_repair_holds() {
    let all = FOUND.iter().map(|row| row.0).chain(NOT_FAULTS.iter().map(|row| row.0));
    for name in all {
        holds(&format!("museum/{name}/fix"));
    }
}

#[test]
fn the_table_is_complete() {
    let listed: BTreeSet<&str> = FOUND.iter().map(|row| row.0).chain(NOT_FAULTS.iter().map(|row| row.0)).collect();
    let there: BTreeSet<&str> = embedded_names()
        .into_iter()
        .filter_map(|n| {
            n.strip_prefix("museum/")?.strip_suffix("/bug").or(n.strip_prefix("museum/")?.strip_suffix("/fix"))
        })
        .collect();
    assert_eq!(listed, there);
    for name in there {
        let (_, source) = embedded_kernel_of(&format!("museum/{name}/bug"), "kernel.pipe").unwrap();
        let head: String = source.lines().take_while(|l| l.starts_with("//")).collect();
        assert!(head.contains("Fixed:") || head.contains("Calibration"), "{name}: the head names no repair");
        assert!(source.lines().count() <= 75, "{name}: a museum piece is small");
    }
}

#[test]
fn what_looks_wrong_and_is_right_is_clean() {
    for name in CORRECT {
        // Reads before copies rely on the barrier in all of them; that is a note.
        let v = holds(&format!("correct/{name}"));
        assert!(v.notes.iter().all(|f| f.code == Code::ProxyWrite), "{name}: {:#?}", v.notes);
    }
}

#[test]
fn one_lane_of_a_known_correct_protocol_speaks_for_lanes_in_step() {
    for name in CORRECT {
        let (.., v) = decide_at(&format!("correct/{name}"), Some(("warp-arrive", "error")));
        assert!(v.violation.is_none(), "{name}: {:#?}", v.violation);
    }
}

#[test]
fn release_lags_of_the_base_protocol() {
    let (kernel, source) = warpline_scenarios::embedded_kernel("correct/tma_async").unwrap();
    let machine = warpline_models::embedded("h200").unwrap();
    for (stages, lag) in [(2, 0), (2, 1), (3, 2), (4, 3)] {
        let set = [("stages", stages), ("lag", lag), ("tiles", 6)].map(|(k, v)| (k.to_string(), v));
        let program = Text::read(kernel, source).compile_symbolic(&Inputs { set: &set.into(), cores: None }).unwrap();
        let v = verify(&program, rules(&machine), Options::default());
        let clean = matches!(v.outcome, Outcome::Proved | Outcome::Bounded { .. }) && v.violation.is_none();
        assert!(clean, "{stages} stages, lag {lag}: {:?}", v.outcome);
    }
}

#[test]
fn what_practice_accepts_a_stricter_level_finds() {
    for &Raised { name, level, code, at, with, note } in RAISED {
        let is = |program: &Program, f: &Finding| {
            let text = |site: u32| program.sites[site as usize].text.as_str();
            let other = f.other.as_ref().map_or("", |(site, _)| text(*site));
            f.code == code && text(f.site).contains(at) && other.contains(with)
        };
        let bug = format!("museum/{name}/bug");
        let (program, _, v) = decide(&bug);
        assert_eq!(v.notes.iter().any(|f| is(&program, f)), note, "{name}: {:#?}", v.notes);
        let (program, _, v) = decide_at(&bug, Some(level));
        let seen = v.violation.unwrap_or_else(|| panic!("{name}: {:?}", v.outcome)).findings;
        assert!(seen.iter().any(|f| is(&program, f)), "{name}: {seen:#?}");
        let (_, _, fixed) = decide_at(&format!("museum/{name}/fix"), Some(level));
        assert_eq!(fixed.outcome, Outcome::Proved, "{name}: {:#?}", fixed.violation);
        assert!(fixed.notes.is_empty(), "{name}: {:#?}", fixed.notes);
    }
}

#[test]
fn a_tile_computed_twice_is_a_note() {
    let bug = holds("museum/m48_same_tile_twice/bug");
    assert!(bug.notes.iter().any(|f| f.kind == Coverage && f.message.contains("redundant work")), "{:?}", bug.notes);
    assert!(holds("museum/m48_same_tile_twice/fix").notes.is_empty());
}
