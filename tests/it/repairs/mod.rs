//! Mistakes in kernels that are right, and the repair that `verify` writes for each.

mod cases;
mod steps;

use rayon::prelude::*;
use warpline_scenarios::{embedded, embedded_kernel_of, scenario};
use warpline_tests::{TempDir, warpline};

use crate::verify::mutated;
use cases::{Case, EMPTY, EXPECT, FULL, MBARRIERS, OTHERS, SPECIALIZED};

/// The repair of a mistake: whether it is right, and the text to show.
fn repair(case: &Case) -> (bool, String) {
    let (name, from, to, right) = *case;
    let json = mutated(name, &[(from, to)], &[]).json;
    let found = &json["violation"]["suggestion"];
    let diff = found["diff"].as_str().unwrap_or("");
    let lines = |sign: char| diff.lines().skip(2).filter(move |l| l.starts_with(sign));
    let is = |answer: &str| {
        let (sign, part) = answer.split_at(1);
        lines(if sign == "+" { '+' } else { '-' }).any(|l| l.contains(part))
    };
    let words = format!("{name}: `{}` -> `{}`: {}, {found:#}", from.trim(), to.trim(), json["verdict"]);
    (json["verdict"] == "violated" && !diff.is_empty() && right.split('|').any(is), words)
}

/// At least nine of ten mistakes get the right repair.
fn nine_of_ten(cases: &[Case]) {
    let all: Vec<(bool, String)> = cases.par_iter().map(repair).collect();
    let wrong: Vec<&str> = all.iter().filter(|r| !r.0).map(|r| r.1.as_str()).collect();
    println!("{} of {} repairs are right; not: {}", all.len() - wrong.len(), all.len(), wrong.join("\n"));
    assert!(wrong.len() * 10 <= all.len(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn at_least_45_of_fifty_mistakes_with_mbarriers_get_the_right_repair() {
    nine_of_ten(&MBARRIERS);
}

#[test]
fn nine_of_ten_mistakes_of_the_other_families_get_the_right_repair() {
    nine_of_ten(&OTHERS);
}

/// The kernel of a built-in scenario with a mistake, in a file of its own.
fn broken(dir: &TempDir, name: &str, from: &str, to: &str) -> (String, String, String) {
    let (file, toml) = embedded(name).expect("it comes along");
    let kernel = scenario(file, toml).expect("a scenario").kernel;
    let (_, text) = embedded_kernel_of(name, &kernel).expect("its kernel");
    let path = dir.write("k.pipe", text.replacen(from, to, 1));
    (path, text.to_string(), text.replacen(from, to, 1))
}

#[test]
fn fix_writes_the_repair_and_the_kernel_is_then_proved() {
    let dir = TempDir::new();
    let (path, right, wrong) = broken(&dir, SPECIALIZED, EXPECT, "");
    let args = ["verify", path.as_str(), "--machine", "h200"];
    let said = warpline(&args);
    assert!(said.status.code() == 1 && said.out.contains(&format!("+{EXPECT}")), "{}", said.out);
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), wrong, "nothing is written without --fix");
    let fixed = warpline(&[&args[..], &["--fix"]].concat());
    assert!(fixed.status.code() == 0 && fixed.err.contains("wrote the repaired kernel"), "{}", fixed.err);
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), right);
    assert_eq!(warpline(&args).status.code(), 0);
    assert_eq!(dir.names(), ["k.pipe"], "no temporary file is left");
}

#[test]
fn fix_changes_nothing_that_it_did_not_read() {
    let said = warpline(&["verify", "museum/m26_pipelined_reuse/bug", "--fix"]);
    let text = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.status.code() == 2 && text.contains("is not the file of this text"), "{text}");
    let said = warpline(&["verify", "metal", "--fix"]);
    assert!(said.status.code() == 2 && said.err.contains("--fix is for one scenario"), "{}", said.err);
}

#[test]
fn several_mistakes_get_one_repair_each() {
    let dir = TempDir::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("it/verify/protocols");
    let list = warpline_campaign::cases_in(&folder).expect("readable");
    let right = &list.iter().find(|c| c.name == "sliding_window/right").expect("a case").text;
    let wrong = right.replace("      zero s\n", "").replace("      wgmma.fence\n", "");
    let path = dir.write("k.pipe", wrong);
    let fixed = warpline(&["verify", &path, "--machine", "h200", "--fix"]);
    assert!(fixed.status.code() == 0 && fixed.err.contains("wrote the repaired kernel"), "{}{}", fixed.out, fixed.err);
    let text = std::fs::read_to_string(&path).expect("readable");
    assert_eq!([text.matches("wgmma.fence").count(), text.matches("zero s").count()], [2, 1], "{text}");
}

#[test]
fn pairs_of_mistakes_get_both_repairs() {
    const MISTAKES: [(&str, &str); 6] = [
        (EXPECT, ""),
        ("expect bytes(a) + bytes(b)", "expect bytes(a)"),
        ("      wgmma.fence\n", ""),
        (";  fence mbarrier_init", ""),
        (FULL, ""),
        (EMPTY, "wait empty[i % stages] for i / stages"),
    ];
    let pairs: Vec<[usize; 2]> = (0..6).flat_map(|a| (a + 1..6).map(move |b| [a, b])).collect();
    // Both change one statement, or the barrier has no statement left that tells what belongs to it.
    let apart = |p: &&[usize; 2]| !matches!(p, [0, 1] | [0, 4] | [0, 5]);
    let wrong = pairs.par_iter().filter(apart).filter_map(|[a, b]| {
        let json = mutated(SPECIALIZED, &[MISTAKES[*a], MISTAKES[*b]], &[]).json;
        let diff = json["violation"]["suggestion"]["diff"].as_str().unwrap_or("").to_string();
        let added = |m: (&str, &str)| {
            let statement = m.0.trim().trim_start_matches(';').trim();
            diff.lines().any(|l| l.starts_with('+') && l.contains(statement))
        };
        (!added(MISTAKES[*a]) || !added(MISTAKES[*b])).then(|| format!("{a} and {b}: {diff}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} pairs: {}", wrong.len(), wrong.join("\n"));
}

/// The lines that the repair of a kernel adds, and its verdict's words.
fn added(kernel: &str) -> (Vec<String>, String) {
    let dir = TempDir::new();
    let path = dir.write("k.pipe", kernel);
    let out = warpline(&["verify", &path, "--machine", "h200"]).out;
    (
        out.lines()
            .filter(|l| l.starts_with('+') && !l.starts_with("+++"))
            .map(|l| l[1..].trim().to_string())
            .collect(),
        out,
    )
}

/// Warp 0 still waits for the others, so `barrier` is no repair.
#[test]
fn warps_of_a_role_that_exchange_data_meet_at_a_named_barrier() {
    let (lines, out) = added(
        "kernel k()
  needs sm_90a
  warps 5
  global A: f16[64, 64]   global C: f16[64, 64]
  shared s: f16[64, 64] swizzle 128
  mbar done (4)
  reg x: f16[16, 64]
  role first = warp 0
  role rest[4] = warps 1..5
  all:
    warp 0: elect: init done;  fence mbarrier_init
    barrier
  rest:
    ldg A[0, 0].rows(self) -> x
    sts x -> s.rows(self)
    lds s.cols(self) : A[0, 0] -> y
    store y -> C[0, 0].cols(self)
    arrive done per warp
  first: elect: wait done for 0
",
    );
    assert_eq!(lines, ["named met", "bar sync met (128)"], "{out}");
}

#[test]
fn a_kernel_for_whole_blocks_says_so() {
    let (lines, out) = added(
        "kernel k(n = 256, b = 64)
  let tiles = cdiv(n, b)
  grid 2
  warps 1
  global A: f16[2 * n, 64]
  reg x: f16[b, 64]
  all:
    for i in 0..tiles:
      ldg A[cta.m * tiles + i, 0] -> x
",
    );
    assert_eq!(lines, ["require n % b == 0 \"whole blocks only\""], "{out}");
}

/// A fence of all threads before a barrier does not order what one thread then adds to a counter.
#[test]
fn a_ticket_gets_its_memory_order() {
    let (lines, out) = added(
        "kernel k(splits = 2)
  needs sm_90
  grid 1, splits
  cooperative
  warps 2
  global P: f32[splits * 32, 32]   global C: f32[32, 32]   global tickets: counter[1]
  shared last: i32
  reg x: f32[16, 32]
  role math[2] = warps 0..2
  math:
    zero x
    store x -> P[cta.n, 0].rows(self)
    fence gpu
    barrier
    warp 0: elect:
      atom.add tickets[0], 1 -> t
      put t -> last
    barrier
    get last -> mine
    if mine == splits - 1:
      for s in 0..splits:
        ldg P[s, 0].rows(self) -> part
        alu fma 32 x 32 uses part, x -> x
      store x -> C[0, 0].rows(self)
",
    );
    assert_eq!(lines, ["atom.add tickets[0], 1 -> t acq_rel gpu"], "{out}");
    assert!(out.contains("whose own"), "{out}");
}
