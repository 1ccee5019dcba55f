//! `warpline expand` and `warpline plan`.

use warpline::Status;
use warpline_tests::{TempDir, warpline};

pub(super) const PLAIN: &str = "\
kernel gemm(m = 256, n = 256, k = 512, stages = 3)
  let tiles = cdiv(k, 32)
  grid cdiv(m, 64), cdiv(n, 64)
  warps 4
  global A: f16[m, k]   global B: f16[n, k]   global C: f16[m, n]
  shared a: f16[64, 32]
  shared b: f16[64, 32]
  role math[4] = warps 0..4

  math:
    zero acc: f32[16, 64]
    pipelined i in 0..tiles stages stages:
      load A[cta.m, i] -> a
      load B[cta.n, i] -> b
      mma a.rows(self) : A[cta.m, i], b : B[cta.n, i] -> acc
    store acc -> C[cta.m, cta.n].rows(self)
";

#[test]
fn an_expansion_parses_back_runs_and_verifies() {
    let dir = TempDir::new();
    let plain = dir.write("plain.pipe", PLAIN);
    for machine in ["m4-max", "v100", "a100", "h200", "mi300x", "mi355x"] {
        let said = warpline(&["expand", &plain, "--machine", machine]);
        assert_eq!(said.status, Status::Holds, "{}", said.err);
        assert!(!said.out.contains("pipelined"), "{}", said.out);
        let made = dir.write(&format!("{machine}.pipe"), &said.out);
        assert_eq!(warpline(&["fmt", "--check", &made]).status, Status::Holds, "it is formatted\n{}", said.out);
        for command in ["run", "verify"] {
            let done = warpline(&[command, &made, "--machine", machine, "--quiet"]);
            assert_eq!(done.status, Status::Holds, "{command} on {machine}\n{}\n{}", done.err, said.out);
        }
        // The plain kernel itself runs and verifies as what it becomes.
        let itself = warpline(&["verify", &plain, "--machine", machine]);
        assert!(itself.out.contains("PROVED"), "{}", itself.out);
        assert!(itself.out.contains("plain.pipe (expanded)"), "{}", itself.out);
    }
}

#[test]
fn every_access_names_its_stage_and_its_version() {
    let dir = TempDir::new();
    let plain = dir.write("plain.pipe", PLAIN);
    for machine in ["m4-max", "v100", "a100", "h200", "mi355x"] {
        let said = warpline(&["expand", &plain, "--machine", machine]);
        let mut of = String::new();
        for line in said.out.lines() {
            let (code, comment) = line.split_once("//").unwrap_or((line, ""));
            if !comment.trim().is_empty() {
                of = comment.to_string();
            }
            let access = ["load A", "load B", "cp ", "tma ", "dma ", "ldg ", "sts ", "lds ", "mma ", "wgmma "];
            let words = code.trim().trim_start_matches("if ").split(": ").last().unwrap_or("");
            if access.iter().any(|a| words.starts_with(a)) {
                assert!(of.contains("stage"), "{line}\n{}", said.out);
                let shared = code.contains(" a[") || code.contains(" b[");
                assert!(!shared || of.contains("version"), "{line}\n{}", said.out);
            }
        }
    }
}

#[test]
fn what_cannot_be_expanded_says_why() {
    let dir = TempDir::new();
    let cases = [
        ("barrier", "      barrier\n", "written plainly"),
        ("step", "", "counts from 0 by 1"),
        ("table", "", "changes what the loop does"),
        ("outside", "", "used outside the loop"),
    ];
    for (name, line, want) in cases {
        let text = match name {
            "barrier" => PLAIN.replace("      mma", &format!("{line}      mma")),
            "step" => PLAIN.replace("0..tiles stages", "1..tiles stages"),
            "table" => PLAIN
                .replace("      load A", "      stage 1: load A")
                .replace("      load B", "      stage 0: load B")
                .replace("      mma", "      stage 0: mma"),
            _ => PLAIN.replace("    zero acc", "    load A[cta.m, 0] -> a\n    zero acc"),
        };
        let file = dir.write(&format!("{name}.pipe"), text);
        let said = warpline(&["expand", &file, "--machine", "a100"]);
        assert_eq!(said.status, Status::BadInput, "{name}: {}{}", said.out, said.err);
        assert!(said.err.contains(want), "{name}: {}", said.err);
    }
    let said = warpline(&["expand", "metal/double_buffer"]);
    assert_eq!(said.status, Status::BadInput);
    assert!(said.err.contains("has no `pipelined` loop"), "{}", said.err);
}

/// What is said of a kernel that is refused.
fn refused(text: &str, machine: &str) -> String {
    let dir = TempDir::new();
    let file = dir.write("plain.pipe", text);
    let said = warpline(&["expand", &file, "--machine", machine]);
    assert_eq!(said.status, Status::BadInput, "{}{}", said.out, said.err);
    // The lines are wrapped to the terminal's width.
    said.err.replace("\n  │", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Attention of two warpgroups, whose queries are loaded before the loop.
const ATTENTION: &str = "\
kernel attention(m = 256, n = 512, stages = 2)
  let tiles = cdiv(n, 64)
  grid cdiv(m, 128)
  warps 8   regs 168
  global Q: bf16[m, 64]   global K: bf16[n, 64]   global V: bf16[n, 64]   global O: bf16[m, 64]
  shared q: bf16[128, 64] swizzle 128   shared ks: bf16[64, 64] swizzle 128   shared vs: bf16[64, 64] swizzle 128
  reg s: f32[64, 64], p: bf16[64, 64]
  role math[2] = warpgroups 0..2

  math:
    load Q[cta.m, 0] -> q
    barrier
    zero o: f32[64, 64]
    pipelined i in 0..tiles stages stages:
      load K[i, 0] -> ks
      load V[i, 0] -> vs
      zero s
      mma q.rows(self) : Q[cta.m, 0].rows(self), ks : K[i, 0] -> s
      alu exp 64 x 64 uses s -> p
      mma p, vs : V[i, 0] -> o
    store o -> O[cta.m, 0].rows(self)
";

/// The loop of `PLAIN` under what stands around it, and the verdict on it.
fn around(head: &str) -> String {
    let body = PLAIN.split_once("    pipelined").unwrap();
    let (inner, after) = body.1.split_once("    store").unwrap();
    let lines: String = format!("    pipelined{inner}").lines().map(|l| format!("  {l}\n")).collect();
    format!("{}    {head}:\n{lines}    store{after}", body.0)
}

#[test]
fn loops_in_other_places_are_proved_or_refused_with_what_to_do() {
    let dir = TempDir::new();
    let two = PLAIN.replace("    store acc", "    pipelined j in 0..tiles stages 2:\n      load A[cta.m, j] -> d\n      lds d.rows(self) : A[cta.m, j].rows(self) -> r\n      alu fma 16 x 64 uses r -> acc\n    store acc").replace("  role", "  shared d: f16[64, 32]\n  role");
    let under = around("if cta.n < 8");
    let inside = around("for t in 0..1");
    for (what, text) in
        [("two", &two), ("a condition", &under), ("a loop", &inside), ("attention", &ATTENTION.to_string())]
    {
        let file = dir.write("place.pipe", text);
        for on in ["a100", "h200"] {
            if what == "attention" && on == "a100" {
                continue;
            }
            let said = warpline(&["verify", &file, "--machine", on]);
            assert_eq!(said.status, Status::Holds, "{what} on {on}: {}{}\n{text}", said.out, said.err);
        }
        for via in ["tma", "tma_joint", "cp"] {
            let made = warpline(&["expand", &file, "--machine", "h200", "--via", via]);
            if made.status == Status::BadInput {
                assert!(made.err.contains("`via"), "{what}, {via}: {}", made.err);
                continue;
            }
            let file = dir.write("made.pipe", &made.out);
            let said = warpline(&["verify", &file, "--machine", "h200"]);
            assert_eq!(said.status, Status::Holds, "{what}, {via}: {}\n{}", said.out, made.out);
        }
    }
}

#[test]
fn a_head_says_each_thing_once_and_nothing_that_cannot_be() {
    let with = |head: &str| PLAIN.replace("stages stages", head);
    for (head, want) in [
        ("stages 2 stages 3", "`:`"),
        ("stages 2 guarded unrolled", "`:`"),
        ("stages 2 via cp via tma", "`:`"),
        ("stages 65", "at most 64 was expected"),
        ("stages 2 via cp producers 2", "only `via tma` has warps that do nothing but copy"),
        ("stages 2 via tma producers 3", "3 producer warps for 2 copies"),
        ("stages 2 via tma producers 0", "at least 1 was expected"),
        ("stages 0 via tma producers 2", "nothing for a warp that only copies"),
        ("schedule two_step_ahead via tma", "pieces of `a` are copied apart"),
        ("schedule two_step_ahead via tma_joint", "pieces of `a` are copied apart"),
    ] {
        let said = refused(&with(head), "h200");
        assert!(said.contains(want), "{head}: {said}");
    }
}

#[test]
fn a_loop_deeper_than_its_trips_is_proved_for_every_trip_count() {
    let dir = TempDir::new();
    for (k, stages) in [(32, 3), (32, 20), (40, 20), (64, 20), (512, 20), (1032, 3), (1032, 20)] {
        let text = PLAIN.replace("k = 512", &format!("k = {k}"));
        let text = text.replace("stages stages", &format!("stages {stages}"));
        let file = dir.write("deep.pipe", text);
        let said = warpline(&["verify", &file, "--machine", "a100"]);
        let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("every trip count of `k`."), "k = {k}, {stages} stages: {}{}", said.out, said.err);
    }
}

#[test]
fn blackwell_gets_products_of_registers_and_is_told_so() {
    let dir = TempDir::new();
    let plain = dir.write("plain.pipe", PLAIN);
    for via in ["cp", "tma", "tma_joint"] {
        let said = warpline(&["expand", &plain, "--machine", "b200", "--via", via]);
        assert!(said.out.starts_with("// a `pipelined` loop is not lowered to tcgen05"), "{}{}", said.out, said.err);
        assert!(!said.out.contains("umma "), "{}", said.out.lines().skip(1).collect::<String>());
        let made = dir.write("made.pipe", said.out);
        let proved = warpline(&["verify", &made, "--machine", "b200"]);
        assert!(proved.out.contains("PROVED"), "{via}: {}", proved.out);
    }
    let said = warpline(&["plan", &plain, "--machine", "b200", "--stages", "2"]);
    assert!(said.out.contains("not lowered to tcgen05"), "{}", said.out);
    // Other machines are told nothing of it.
    assert!(!warpline(&["expand", &plain, "--machine", "h200"]).out.contains("tcgen05"));

    let tensor = PLAIN.replace("    zero acc: f32[16, 64]\n", "").replace("    store acc", "    // store acc");
    let tensor =
        tensor.replace("  role", "  tmem acc: f32[128, 64]\n  role").replace("shared a: f16[64,", "shared a: f16[128,");
    let umma = refused(&tensor.replace("mma a.rows(self)", "umma a"), "b200");
    assert!(umma.contains("not lowered to tcgen05") && umma.contains("by hand"), "{umma}");
    let groups = PLAIN.replace("math[4] = warps 0..4", "math[1] = warpgroup 0").replace("f32[16, 64]", "f32[64, 64]");
    let said = refused(&groups, "b200");
    assert!(said.contains("each would do all of this product") && said.contains("tcgen05"), "{said}");
    let said = refused(&groups, "a100");
    assert!(said.contains("make each warp a member") && !said.contains("tcgen05"), "{said}");
}

/// A product of as many warpgroups as it is given.
const GROUPS: &str = "\
kernel gemm(m = 256, n = 128, k = 512, stages = 3, groups = 2)
  let tiles = cdiv(k, 64)
  grid cdiv(m, 128), cdiv(n, 128)
  warps 4 * groups   regs 168
  global A: bf16[m, k]   global B: bf16[n, k]   global C: bf16[m, n]
  shared a: bf16[128, 64] swizzle 128
  shared b: bf16[128, 64] swizzle 128
  role math[groups] = warpgroups 0..groups

  math:
    zero acc: f32[128 / groups, 128]
    pipelined i in 0..tiles stages stages:
      load A[cta.m, i] -> a
      load B[cta.n, i] -> b
      mma a.rows(self) : A[cta.m, i], b : B[cta.n, i] -> acc
    store acc -> C[cta.m, cta.n].rows(self)
";

#[test]
fn a_plan_tries_producers_and_consumer_groups() {
    let dir = TempDir::new();
    let plain = dir.write("groups.pipe", GROUPS);
    let said = warpline(&["plan", &plain, "--machine", "h200", "--stages", "3", "--json"]);
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(answer["groups"].as_str(), Some("groups"));
    let ranked = answer["ranked"].as_array().unwrap();
    let has = |producers: i64, members: Option<i64>| {
        ranked.iter().any(|r| {
            let same = r["producers"].as_i64() == Some(producers) && r["members"].as_i64() == members;
            same && r["via"].as_str() == Some("tma")
        })
    };
    for (producers, members) in [(1, None), (2, None), (1, Some(1)), (2, Some(1))] {
        assert!(has(producers, members), "{producers} producers, {members:?} members\n{}", said.out);
    }
    // What is listed is what `expand` makes of it, with the flags that are named.
    let text = warpline(&["plan", &plain, "--machine", "h200", "--stages", "3"]).out;
    assert!(text.contains("producer warp") && text.contains("groups = 1"), "{text}");
    let flags = text.lines().rev().find(|l| l.starts_with("warpline expand")).unwrap();
    let args: Vec<&str> = flags.split(' ').skip(3).collect();
    let made = warpline(&[&["expand", &plain, "--machine", "h200"], args.as_slice()].concat());
    assert_eq!(made.out, answer["text"].as_str().unwrap(), "{flags}");
}

#[test]
fn a_plan_is_the_fastest_proved_pipeline() {
    let dir = TempDir::new();
    let plain = dir.write("plain.pipe", PLAIN);
    let args = ["plan", &plain, "--machine", "a100", "--stages", "3", "--json"];
    let said = warpline(&args);
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    assert_eq!(warpline(&args).out, said.out, "the same bytes again");
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let ranked = answer["ranked"].as_array().unwrap();
    assert!(ranked.len() > 5, "{}", said.out);
    let cycles: Vec<f64> = ranked.iter().map(|r| r["cycles"].as_f64().unwrap()).collect();
    assert!(cycles.is_sorted(), "{cycles:?}");
    // The best one is what `expand` makes of the same words, and it is proved.
    let best = &ranked[0];
    let word = |key: &str| best[key].as_str().unwrap();
    let stages = best["stages"].to_string();
    let flags = ["--via", word("via"), "--schedule", word("schedule"), "--stages", &stages, "--form", word("form")];
    let made = warpline(&[&["expand", &plain, "--machine", "a100"], &flags[..]].concat());
    assert_eq!(made.out, answer["text"].as_str().unwrap());
    let file = dir.write("best.pipe", &made.out);
    let proved = warpline(&["verify", &file, "--machine", "a100"]);
    assert!(proved.out.contains("PROVED"), "{}", proved.out);
    let timed = warpline(&["run", &file, "--machine", "a100", "--json"]);
    let run: serde_json::Value = serde_json::from_str(&timed.out).unwrap();
    assert_eq!(run["cycles"].as_f64(), Some(cycles[0]));
}

#[test]
fn a_plan_does_not_depend_on_threads_and_gives_up_with_its_own_status() {
    let dir = TempDir::new();
    let plain = dir.write("plain.pipe", PLAIN);
    let args = ["plan", &plain, "--machine", "v100", "--stages", "3"];
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| warpline(&args));
    let many = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap().install(|| warpline(&args));
    assert_eq!(alone, many);
    assert!(alone.out.contains("Best ") && alone.out.contains("Binds it") && alone.out.contains("Runner-up"));
    assert_eq!(warpline(&["plan", &plain, "--machine", "a100", "--max-candidates", "2", "-q"]).status, Status::GaveUp);
    assert_eq!(
        warpline(&["plan", &plain, "--machine", "a100", "--stages", "2", "--max-events", "3", "-q"]).status,
        Status::GaveUp
    );
}

#[test]
fn two_steps_ahead_gains_and_plan_c_is_wrong() {
    let cycles = |name: &str| {
        let said = warpline(&["run", name, "--json"]);
        let run: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        run["cycles"].as_f64().unwrap()
    };
    let (made, one) = (cycles("pipelined/two_step_ahead"), cycles("cdna/num_stages_2"));
    let (hand, mi300x) = (cycles("cdna/two_step_ahead"), cycles("pipelined/two_step_ahead_mi300x"));
    assert!(made < one, "two steps ahead takes less time than one: {made} and {one}");
    assert!(made <= hand, "and two barriers a step no more than four: {made} and {hand}");
    assert!(mi300x <= cycles("cdna/two_step_ahead_mi300x"));
    let expanded = warpline(&["expand", "pipelined/two_step_ahead"]).out;
    let body = expanded.split("for i in 0..tiles").nth(1).unwrap();
    assert_eq!(body.matches("barrier").count(), 2, "{body}");
    assert_eq!(body.matches("wait vm").count(), 1, "{body}");

    let mended = |set: &[&str]| {
        let sets: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
        warpline(&[&["verify", "pipelined/plan_c", "--no-suggestion"], &sets[..]].concat()).out
    };
    let all = ["barriers=1", "lds_waits=1", "bounds=1"];
    assert!(mended(&all).contains("PROVED"));
    assert!(mended(&[]).contains("VIOLATED"));
    for left_out in 0..3 {
        let set: Vec<&str> = (0..3).filter(|n| *n != left_out).map(|n| all[n]).collect();
        assert!(mended(&set).contains("VIOLATED"), "{set:?}");
    }
}

#[test]
fn a_tile_past_the_end_that_is_multiplied_is_a_fault() {
    let without = ["--set", "barriers=1", "--set", "lds_waits=1", "--set", "bounds=0"];
    let said = warpline(&[&["verify", "pipelined/plan_c", "--no-suggestion"], &without[..]].concat());
    let words: Vec<&str> = said.out.split_whitespace().filter(|word| *word != "│").collect();
    assert!(words.join(" ").contains("what was loaded there is not of the matrix"), "{}", said.out);
}
