//! Fifty mistakes in kernels that are right, and the repair that `verify` writes for each.

use rayon::prelude::*;
use warpline_scenarios::{embedded, embedded_kernel_of, scenario};
use warpline_tests::{TempDir, warpline};

use crate::verify::mutated;

const SPECIALIZED: &str = "hopper/tma_warp_specialized";
const BLACKWELL: &str = "blackwell/gemm_1sm";
const CLUSTER: &str = "correct/tma_async";
const PINGPONG: &str = "hopper/pingpong";
const CP_WGMMA: &str = "hopper/cp_async_wgmma";
const MULTISTAGE: &str = "correct/sm80_multistage";

const EXPECT: &str = "      arrive full[i % stages] expect bytes(a) + bytes(b)\n";
const FULL: &str = "      wait full[i % stages] for i / stages\n";
const EMPTY: &str = "wait empty[i % stages] for i / stages - 1";
const LOADS: &str = "arrive full[i % stages] expect bytes(a) + bytes(b)";

/// The kernel, the text that the mistake changes, what it becomes, and a part of the repair's new lines (`+`) or of the
/// lines that it takes out (`-`). Several right answers stand behind `|`.
type Case = (&'static str, &'static str, &'static str, &'static str);

const CASES: [Case; 50] = [
    // A missing `arrive expect`.
    (SPECIALIZED, EXPECT, "", "+arrive full[i % stages] expect bytes(a) + bytes(b)"),
    (BLACKWELL, EXPECT, "", "+arrive full[i % stages] expect bytes(a) + bytes(b)"),
    (CLUSTER, EXPECT, "", "+arrive full[i % stages] expect bytes(a) + bytes(b)"),
    (
        PINGPONG,
        "        arrive full[it % stages] expect bytes(a) + bytes(b)\n",
        "",
        "+arrive full[it % stages] expect bytes(a) + bytes(b)",
    ),
    (SPECIALIZED, LOADS, "arrive full[i % stages]", "+expect bytes(a) + bytes(b)"),
    (BLACKWELL, LOADS, "arrive full[i % stages]", "+expect bytes(a) + bytes(b)"),
    (CLUSTER, LOADS, "arrive full[i % stages]", "+expect bytes(a) + bytes(b)"),
    (PINGPONG, " expect bytes(a) + bytes(b)", "", "+expect bytes(a) + bytes(b)"),
    // Wrong bytes.
    (SPECIALIZED, "expect bytes(a) + bytes(b)", "expect bytes(a)", "+expect bytes(a) + bytes(b)"),
    (SPECIALIZED, "expect bytes(a) + bytes(b)", "expect bytes(b)", "+expect bytes(b) + bytes(a)"),
    (SPECIALIZED, "expect bytes(a) + bytes(b)", "expect bytes(a) + bytes(b) + 1", "+expect bytes(a) + bytes(b)"),
    (
        BLACKWELL,
        "expect bytes(a) + bytes(b)",
        "expect bytes(b)",
        "+expect bytes(b) + bytes(a)|+expect bytes(b) + bytes(b)",
    ),
    (
        BLACKWELL,
        "expect bytes(a) + bytes(b)",
        "expect bytes(a) + bytes(b) + bytes(a)",
        "+expect bytes(a) + bytes(b)|+expect bytes(b) + bytes(a)",
    ),
    (CLUSTER, "expect bytes(a) + bytes(b)", "expect bytes(a)", "+expect bytes(a) + bytes"),
    (PINGPONG, "expect bytes(a) + bytes(b)", "expect bytes(a)", "+expect bytes(a) + bytes"),
    // A missing wait.
    (SPECIALIZED, FULL, "", "+wait full[i % stages] for i / stages"),
    (SPECIALIZED, EMPTY, "", "+wait empty[i % stages] for i / stages - 1"),
    (BLACKWELL, FULL, "", "+wait full[i % stages] for i / stages"),
    (BLACKWELL, EMPTY, "", "+wait empty[i % stages] for i / stages - 1"),
    (CLUSTER, FULL, "", "+wait full[i % stages] for i / stages"),
    (PINGPONG, "          wait full[it % stages] for it / stages\n", "", "+wait full[it % stages] for it / stages"),
    (SPECIALIZED, "      wait wgmma <= 1  // tile i - 1 is read\n", "", "+wait wgmma <= "),
    (BLACKWELL, "-> r;  wait tmem.ld <= 0", "-> r", "+wait tmem.ld <= 0"),
    (MULTISTAGE, "    wait cp <= stages - 2;  barrier\n    lds", "    barrier\n    lds", "+wait cp <= "),
    (BLACKWELL, "    wait done for 0\n", "", "+wait done for 0"),
    // A missing fence.
    (SPECIALIZED, "      wgmma.fence\n", "", "+wgmma.fence"),
    (SPECIALIZED, ";  fence mbarrier_init", "", "+fence mbarrier_init"),
    (BLACKWELL, ";  fence mbarrier_init", "", "+fence mbarrier_init"),
    (PINGPONG, ";  fence mbarrier_init", "", "+fence mbarrier_init"),
    (CP_WGMMA, "        if fence: fence async\n", "", "+fence async"),
    (CLUSTER, "      wgmma.fence\n", "", "+wgmma.fence"),
    // A wrong count.
    (SPECIALIZED, "mbar empty[stages] (8)", "mbar empty[stages] (2)", "+mbar empty[stages] (8)|+once"),
    (
        SPECIALIZED,
        "mbar empty[stages] (8)",
        "mbar empty[stages] (256)",
        "+mbar empty[stages] (8)|+arrive empty[(i - 1) % stages]",
    ),
    (SPECIALIZED, "mbar full[stages] (1)", "mbar full[stages] (2)", "+mbar full[stages] (1)"),
    (BLACKWELL, "mbar full[stages] (1)", "mbar full[stages] (2)", "+mbar full[stages] (1)"),
    (PINGPONG, "mbar empty[stages] (4)", "mbar empty[stages] (8)", "+mbar empty[stages] (4)"),
    (CLUSTER, "mbar empty[stages] (4)", "mbar empty[stages] (2)", "+mbar empty[stages] (4)"),
    // Swapped phases.
    (SPECIALIZED, EMPTY, "wait empty[i % stages] for i / stages", "+wait empty[i % stages] for i / stages - 1"),
    (SPECIALIZED, FULL, "      wait full[i % stages] for i / stages - 1\n", "+wait full[i % stages] for i / stages"),
    (BLACKWELL, EMPTY, "wait empty[i % stages] for i / stages", "+wait empty[i % stages] for i / stages - 1"),
    (BLACKWELL, FULL, "      wait full[i % stages] for i / stages - 1\n", "+wait full[i % stages] for i / stages"),
    (
        PINGPONG,
        "wait empty[it % stages] for it / stages - 1",
        "wait empty[it % stages] for it / stages",
        "+for it / stages - 1",
    ),
    (BLACKWELL, "wait done for 0", "wait done for 1", "+wait done for 0"),
    // A missing commit.
    (SPECIALIZED, "      commit wgmma\n", "", "+commit wgmma"),
    (CLUSTER, "      commit wgmma\n", "", "+commit wgmma"),
    (PINGPONG, "          commit wgmma\n", "", "+commit wgmma"),
    (CP_WGMMA, "        commit wgmma\n", "", "+commit wgmma"),
    // An early exit.
    (SPECIALIZED, FULL, "      if i == 3: exit\n      wait full[i % stages] for i / stages\n", "-exit"),
    (BLACKWELL, FULL, "      if i == 2: exit\n      wait full[i % stages] for i / stages\n", "-exit"),
    (
        "metal/double_buffer",
        "      barrier  // the next",
        "      if i == 1: warp 3: exit\n      barrier  // the next",
        "-exit",
    ),
];

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

#[test]
fn at_least_45_of_fifty_mistakes_get_the_right_repair() {
    let all: Vec<(bool, String)> = CASES.par_iter().map(repair).collect();
    let wrong: Vec<&str> = all.iter().filter(|r| !r.0).map(|r| r.1.as_str()).collect();
    println!("{} of {} repairs are right; not: {}", all.len() - wrong.len(), all.len(), wrong.join("\n"));
    assert!(all.len() - wrong.len() >= 45, "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
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
