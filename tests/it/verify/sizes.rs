//! Parameters that only set the grid and the ends of matrices: for which of them a verdict holds at every value.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, Text};
use warpline_verify::{Options, Outcome, Verdict, verify};

/// A correct kernel: each CTA loads its row of tiles, and stores its block.
const KERNEL: &str = "\
kernel t(m = 512, n = 256, k = 128)
  let tiles = k / 16
  grid cdiv(m, 64), cdiv(n, 64)
  warps 2
  global A: f16[m, k + 16]
  global C: f16[m, n]
  shared a: f16[64, 16]
  reg out: f16[64, 64]
  role load = warp 0
  role use = warp 1
  all:
    for i in 0..tiles:
      load: load A[cta.m, i] -> a
      barrier
      use: lds a : A[cta.m, i] -> r
      barrier
    use: store out -> C[cta.m, cta.n]
";

fn decided(text: &str) -> Verdict {
    let machine = warpline_models::embedded("h200").unwrap();
    let set = BTreeMap::new();
    let program = Text::read("t.pipe", text).compile_symbolic(&Inputs { set: &set, cores: None });
    let program = program.unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    verify(&program, warpline_sim::engine::rules(&machine), Options::default())
}

/// The sizes of the proof of the kernel with one text replaced by another.
fn sizes_with(from: &str, to: &str) -> Vec<String> {
    assert!(KERNEL.contains(from), "{from}");
    let v = decided(&KERNEL.replace(from, to));
    assert_eq!(v.outcome, Outcome::Proved, "{to}: {:?}", v.violation);
    v.sizes
}

#[test]
fn the_sizes_of_a_product_are_any() {
    assert_eq!(decided(KERNEL).sizes, ["m", "n"]);
    assert_eq!(sizes_with("cdiv(m, 64)", "(m + 63) / 64"), ["m", "n"]);
    assert_eq!(sizes_with("cdiv(m, 64)", "m / 64"), ["m", "n"]);
    assert_eq!(sizes_with("C[cta.m, cta.n]", "C.at(cta.m * 64, cta.n * 64)"), ["m", "n"]);
    let pairs = KERNEL.replace("warps 2", "warps 2   cluster 2").replace("cdiv(m, 64)", "cdiv(m, 128)");
    // The last CTA of a pair may begin behind the end of the matrix, unless whole pairs are required.
    assert_eq!(decided(&pairs).sizes, ["n"]);
    assert_eq!(decided(&pairs.replace("  warps", "  require m % 128 == 0\n  warps")).sizes, ["m", "n"]);
}

#[test]
fn a_size_that_an_instruction_reads_is_given() {
    assert_eq!(sizes_with("    use: store", "    if m > 4096: barrier\n    use: store"), ["n"]);
    assert_eq!(sizes_with("  all:\n", "  all:\n    let rows = cdiv(m, 64)\n    if rows == 77: barrier\n"), ["n"]);
}

#[test]
fn a_threshold_beyond_the_given_grid_is_no_proof_for_every_size() {
    // Row 100 exists where m is larger: its CTA lacks the barrier.
    let late = "barrier\n      if cta.m < 100: barrier\n      use";
    assert!(!sizes_with("barrier\n      use", late).contains(&"m".to_string()));
    let text = KERNEL.replace("r\n      barrier", "r\n      if cta.m != 100: barrier");
    let v = decided(&text);
    assert_eq!((v.outcome, v.sizes.contains(&"m".to_string())), (Outcome::Proved, false));
    assert_eq!(decided(&text.replace("m = 512", "m = 6464")).outcome, Outcome::Violated);
    for condition in ["cta.m % 9 != 8", "cta.id != 5000", "cta.m != cta.n + 40", "cta.m / 50 == 0"] {
        let text = KERNEL.replace("r\n      barrier", &format!("r\n      if {condition}: barrier"));
        assert!(!decided(&text).sizes.contains(&"m".to_string()), "{condition}");
    }
}

#[test]
fn a_grid_that_does_not_fit_the_matrix_is_no_proof_for_every_size() {
    // Right for 512 rows, wrong for others.
    assert!(!sizes_with("cdiv(m, 64)", "m / 64 + m % 64").contains(&"m".to_string()));
    assert!(!sizes_with("grid cdiv(m, 64)", "grid m / 63").contains(&"m".to_string()));
    assert!(!sizes_with("f16[m, k + 16]", "f16[512, k + 16]").contains(&"m".to_string()));
    assert!(!sizes_with("f16[m, k + 16]", "f16[1024 - m, k + 16]").contains(&"m".to_string()));
}

#[test]
fn ctas_that_store_one_block_of_a_larger_grid_are_no_proof_for_every_size() {
    // With eight rows of CTAs, `cta.m + 8 * cta.n` is a block of its own for each.
    let text = KERNEL.replace("C[cta.m, cta.n]", "C[cta.m + 8 * cta.n, 0]").replace("f16[m, n]", "f16[m * n, 64]");
    let v = decided(&text);
    assert_eq!(v.outcome, Outcome::Proved);
    assert!(!v.sizes.contains(&"m".to_string()), "{:?}", v.sizes);
    assert_eq!(decided(&text.replace("m = 512", "m = 576")).outcome, Outcome::Violated);
    // One column of CTAs is given, and two columns would store the same blocks.
    let text = KERNEL.replace("C[cta.m, cta.n]", "C[cta.m, 0]").replace("n = 256", "n = 64");
    let v = decided(&text);
    assert_eq!((v.outcome, v.sizes), (Outcome::Proved, vec!["m".to_string()]));
    assert_eq!(decided(&text.replace("n = 64", "n = 128")).outcome, Outcome::Violated);
}

#[test]
fn a_dimension_that_products_add_up_has_its_size() {
    // Along `n`, tiles are added: their number is not any.
    let text = "\
kernel t(m = 64, n = 64)
  grid cdiv(m, 64)
  warps 4
  global A: f16[m, n]   global B: f16[n, 64]
  shared a: f16[64, 64]   shared b: f16[64, 64]
  reg acc: f32[64, 64]
  all:
    zero acc
    warp 0:
      load A[cta.m, 0] -> a
      load B[0, 0] -> b
    barrier
    wgmma a : A[cta.m, 0], b : B[0, 0] -> acc
    commit wgmma
    wait wgmma <= 0
";
    assert!(!decided(text).sizes.contains(&"n".to_string()));
}

#[test]
fn stores_of_the_members_of_a_role_are_compared() {
    let text = "\
kernel t()
  grid 4
  warps 8
  global C: f16[4096, 16]
  reg r: f16[64, 16]
  role part[2] = warpgroups 0..2
  all:
    part: store r -> C[BLOCK, 0]
";
    assert_eq!(decided(&text.replace("BLOCK", "2 * cta.m + self")).outcome, Outcome::Proved);
    assert_eq!(decided(&text.replace("BLOCK", "cta.m + self")).outcome, Outcome::Violated);
}

#[test]
fn stores_that_a_longer_loop_repeats_are_not_proved() {
    // Eight iterations store the eight blocks of a CTA. The ninth stores the first block of the next CTA.
    let text = "\
kernel t(k = 128)
  let tiles = k / 16
  grid 4
  warps 2
  global C: f16[64 * (tiles + 24), 16]
  reg r: f16[64, 16]
  all:
    for i in 0..tiles:
      warp 0: store r -> C[cta.m * 8 + i, 0]
      barrier
";
    let nine = decided(text);
    assert_eq!((&nine.outcome, nine.violation.and_then(|x| x.trips)), (&Outcome::Violated, Some(9)));
    assert_eq!(decided(&text.replace("k = 128", "k = 144")).outcome, Outcome::Violated);
    // As many blocks of a CTA as no small trip count stores.
    let far = decided(&text.replace("cta.m * 8", "cta.m * 40").replace("tiles + 24", "tiles + 120"));
    assert!(matches!(far.outcome, Outcome::Bounded { .. }));
    assert_eq!(decided(&text.replace("0..tiles", "0..8")).outcome, Outcome::Proved);
}

#[test]
fn a_step_of_zero_is_refused() {
    let text = KERNEL.replace("in 0..tiles:", "in 0..tiles step k / 16:");
    let set = BTreeMap::new();
    let program = Text::read("t.pipe", &text).compile_symbolic(&Inputs { set: &set, cores: None }).expect("a kernel");
    assert!(program.with(&[("k", 32)]).is_some());
    assert!(program.with(&[("k", 0)]).is_none());
}
