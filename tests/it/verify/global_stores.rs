//! Which CTAs store which blocks of a global matrix.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, Text, compile};
use warpline_sim::engine::rules;
use warpline_verify::{StoredBy, assumed, global_stores};

/// What is known of the first store of a kernel with this grid and this loop around `store r -> C[...]`.
fn stored(grid: &str, body: &str) -> StoredBy {
    let text = format!(
        "kernel t()\n  {grid}\n  warps 2\n  global C: f32[4096, 4096]\n  reg r: f32[16, 16]\n  role part[2] = warps 0..2\n  all:\n    {body}\n"
    );
    let set = BTreeMap::new();
    let prog =
        compile("t.pipe", &text, &Inputs { set: &set, cores: Some(4) }).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    let machine = warpline_models::embedded("h200").unwrap();
    global_stores(&prog, rules(&machine)).remove(0).by
}

#[test]
fn the_own_block_of_each_cta() {
    assert_eq!(stored("grid 8, 4", "store r -> C[cta.m, cta.n]"), StoredBy::Distinct);
    assert_eq!(stored("grid 8, 4", "store r -> C[cta.n, cta.m]"), StoredBy::Distinct);
    assert_eq!(stored("grid 8, 4", "store r -> C[cta.m + 8 * cta.n, 0]"), StoredBy::Distinct);
    assert_eq!(stored("grid 8, 4", "store r -> C[cta.id, 0]"), StoredBy::Distinct);
    assert_eq!(stored("grid 8, 1, 3", "store r -> C[cta.z * 8 + cta.m, 0]"), StoredBy::Distinct);
    assert_eq!(stored("grid 8   cluster 2", "store r -> C[cta.m, 0]"), StoredBy::Distinct);
    assert_eq!(stored("grid 8", "for i in 0..4: store r -> C[cta.m * 4 + i, 0]"), StoredBy::Distinct);
    assert_eq!(stored("grid 8", "store r -> C.at(cta.m * 16, 0)"), StoredBy::Distinct);
    assert_eq!(stored("grid 8", "part: store r -> C[cta.m * 2 + self, 0]"), StoredBy::Distinct);
}

#[test]
fn jobs_that_are_handed_out_by_stride() {
    let job = "for job in cta.id..jobs step grid.size: store r -> C[job / 6, job % 6]";
    let of = |rest: &str| stored("let jobs = 96\n  grid 8", &job.replace("job % 6", rest));
    assert_eq!(of("job % 6"), StoredBy::Distinct);
    // Distinct jobs, and not distinct blocks.
    assert!(matches!(of("job % 5"), StoredBy::Same { .. }), "{:?}", of("job % 5"));
    // Three rows of two columns in each of 16 groups.
    let of_groups =
        |row: &str| stored("let jobs = 96\n  grid 8", &job.replace("job / 6, job % 6", &format!("{row}, job % 2")));
    assert_eq!(of_groups("job / 6 * 3 + job / 2 % 3"), StoredBy::Distinct);
    assert_eq!(of_groups("job / 2 / 3 * 3 + job / 2 % 3"), StoredBy::Distinct);
    for row in ["job / 6 * 2 + job / 2 % 3", "job / 6 * 3 + job / 2 % 2", "job / 6 * 3 + job / 4 % 3"] {
        assert!(matches!(of_groups(row), StoredBy::Same { .. }), "{row}");
    }
    let short = stored("let jobs = 96\n  grid 8", &job.replace("step grid.size", "step grid.size - 1"));
    assert!(matches!(short, StoredBy::Same { .. }), "{short:?}");
}

/// Roles use equal numbers for variables of their own, and the size of a grid may depend on the number of jobs, which a
/// proof varies.
#[test]
fn jobs_of_one_role_beside_a_loop_of_another() {
    let of = |step: &str| {
        let text = format!(
            "kernel t(jobs = 96)\n  grid min(cores, jobs)\n  warps 2\n  global C: f32[4096, 4096]\n  reg r: f32[16, 16]\n  all:\n    \
             warp 0:\n      for k in cta.m..7 step 3: alu fma 1\n    \
             warp 1:\n      for job in cta.id..jobs step {step}: store r -> C[job, 0]\n"
        );
        let set = BTreeMap::new();
        let prog = Text::read("t.pipe", &text)
            .compile_symbolic(&Inputs { set: &set, cores: Some(4) })
            .unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
        let machine = warpline_models::embedded("h200").unwrap();
        global_stores(&prog, rules(&machine)).remove(0).by
    };
    assert_eq!(of("grid.size"), StoredBy::Distinct);
    assert!(matches!(of("grid.size - 1"), StoredBy::Same { .. }), "{:?}", of("grid.size - 1"));
}

/// `x * n + i` with `i` in `0..n` determines `x` and `i` for every `n`.
#[test]
fn rows_of_as_many_blocks_as_a_loop_has_steps() {
    let of = |block: &str| {
        let text = format!(
            "kernel t(n = 6)\n  require n >= 1\n  grid 4, 2\n  warps 1\n  global C: f32[64 * n, 64]\n  reg r: f32[16, 16]\n  all:\n    \
             for i in 0..n: store r -> C[{block}, cta.n]\n"
        );
        let set = BTreeMap::new();
        let prog = Text::read("t.pipe", &text)
            .compile_symbolic(&Inputs { set: &set, cores: Some(4) })
            .unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
        let machine = warpline_models::embedded("h200").unwrap();
        (global_stores(&prog, rules(&machine)).remove(0).by, super::kernel("h200", &text))
    };
    for block in ["cta.m * n + i", "i + n * cta.m"] {
        let (by, kernel) = of(block);
        assert_eq!(by, StoredBy::Distinct, "{block}");
        kernel.proved();
    }
    // As given, no two CTAs meet. With one or two steps, two of them do.
    let (by, kernel) = of("cta.m * (n / 3 * 3) + i");
    assert_eq!(by, StoredBy::DistinctAsGiven);
    assert_eq!(kernel.violated("coverage", "store r -> C").json["violation"]["trips"], 1);
    // A stride of less than the steps.
    let (by, _) = of("cta.m * (n - 1) + i");
    assert!(matches!(by, StoredBy::Same { .. }), "{by:?}");
}

#[test]
fn two_ctas_that_store_one_block() {
    let same = |first, second, at| StoredBy::Same { first, second, at, other: 0 };
    let found = |grid: &str, body: &str| match stored(grid, body) {
        StoredBy::Same { first, second, at, .. } => same(first, second, at),
        other => other,
    };
    assert_eq!(found("grid 8, 4", "store r -> C[cta.m, 0]"), same(0, 8, [0, 0]));
    assert_eq!(found("grid 8", "store r -> C[cta.m / 2, 0]"), same(0, 1, [0, 0]));
    assert_eq!(found("grid 8", "for i in 0..5: store r -> C[cta.m * 4 + i, 0]"), same(0, 1, [4, 0]));
    assert_eq!(found("grid 8", "store r -> C[cta.m == 5 ? 2 : cta.m, 0]"), same(2, 5, [2, 0]));
    // By element, blocks that are too near: not compared one by one.
    assert!(matches!(stored("grid 8", "store r -> C.at(cta.m * 8, 0)"), StoredBy::Unknown(_)));
}

#[test]
fn what_is_not_decided_is_assumed() {
    let set = BTreeMap::new();
    let machine = warpline_models::embedded("h200").unwrap();
    let list = |text: &str| {
        let prog = compile("t.pipe", text, &Inputs { set: &set, cores: Some(4) }).unwrap_or_else(|e| panic!("{e:#?}"));
        assumed(&prog, rules(&machine))
    };
    let text = "kernel t()\n  grid 8   warps 1\n  global C: f32[4096, 64]\n  reg r: f32[16, 64]\n  all:\n    store r -> C[cta.m, 0]\n";
    assert_eq!(list(text), ["global matrices do not share memory"]);
    let moved = list(&text.replace("C[cta.m, 0]", "C[cta.m == 5 ? 9 : cta.m, 0]"));
    assert!(moved[0].contains("on other grids"), "{moved:?}");
    let read = list(&text.replace("    store", "    ldg C[cta.m, 0] -> r\n    store"));
    assert!(read[0].contains("elements of C"), "{read:?}");
}

#[test]
fn a_block_that_two_ctas_store_is_a_fault() {
    let text = "kernel t()\n  grid 8, 4   warps 1\n  global C: f32[4096, 64]\n  reg r: f32[16, 16]\n  all:\n    store r -> C[cta.m, 0]\n";
    super::kernel("h200", text).violated("coverage", "store r -> C");
    super::kernel("h200", &text.replace("C[cta.m, 0]", "C[cta.m, cta.n]")).proved();
    // Counters can order the stores; the verdict says so.
    let ordered = super::kernel("h200", &text.replace("  reg", "  global f: counter\n  reg"));
    let assumptions = ordered.json["assumptions"].to_string();
    assert!(assumptions.contains("counters order the stores of CTAs 0 and 8 to C"), "{assumptions}");
}

/// The first two CTAs that store one block belong to one cluster, of which a run decides; the next do not. Campaign seed
/// 4294970089.
#[test]
fn a_store_of_another_cluster_is_not_hidden_by_one_of_the_same_cluster() {
    let by = stored("grid 4, 1   cluster 2", "part: store r -> C[0, cta.n]");
    assert!(matches!(by, StoredBy::Same { first: 0, second: 2, .. }), "{by:?}");
}

/// CTAs are 6 blocks apart, and a step is 4 times the size of the grid. On a grid of three, the third CTA meets the first.
#[test]
fn a_stride_of_the_grid_below_that_of_the_cta_is_not_told_apart_on_other_grids() {
    let text = "kernel t(n = 2)\n  grid min(64, n)   warps 1\n  global C: f32[64 * (48 * n + 384), 64]\n  reg r: f32[16, 16]\n  all:\n    \
                for x in 0..12 * n step grid.size: store r -> C[4 * x + 6 * cta.m, 0]\n";
    let kernel = super::kernel("h200", text);
    assert_eq!(kernel.violated("coverage", "store r -> C").json["violation"]["trips"], 3);
    super::kernel("h200", &text.replace("6 * cta.m", "4 * cta.m")).bounded("another grid");
}
