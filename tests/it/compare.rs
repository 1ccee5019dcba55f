//! Two runs side by side.

use std::collections::BTreeMap;

use serde_json::Value;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

fn json(args: &[&str]) -> Value {
    let said = warpline(&[&["compare"], args, &["--json"]].concat());
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
}

#[test]
fn the_causes_add_up_to_the_difference_of_the_runs() {
    for args in [
        &["hopper/tma_warp_specialized", "hopper/tma_warp_specialized", "--with-set", "stages=2"][..],
        &["metal/triple_buffer", "metal/double_buffer"],
        &["cdna/num_stages_2", "cdna/two_step_ahead"],
    ] {
        let c = json(args);
        let cycles = |x: &str| c[x]["cycles"].as_f64().unwrap();
        for role in c["roles"].as_array().unwrap().iter().filter(|r| r["warps"][0] != 0 && r["warps"][1] != 0) {
            for x in ["a", "b"] {
                let sum: f64 = role["causes"].as_array().unwrap().iter().map(|c| c[x].as_f64().unwrap()).sum();
                assert!((sum / cycles(x) - 1.0).abs() < 1e-6, "{args:?} {role}");
            }
        }
    }
}

#[test]
fn a_run_beside_itself_differs_in_nothing() {
    let c = json(&["metal/triple_buffer", "metal/triple_buffer", "--set", "m=512"]);
    assert!(c["changed"].as_array().unwrap().is_empty() && c["operations"].as_array().unwrap().is_empty(), "{c:#}");
    let said = warpline(&["compare", "metal/triple_buffer", "metal/triple_buffer", "--set", "m=512"]);
    assert!(said.out.contains("All numbers of the two runs are equal") && said.out.contains("B takes as long as A."));
}

/// Saves a run as a trace; what to call it.
fn saved(dir: &TempDir, name: &str, run: &[&str]) -> String {
    let file = dir.file(name);
    let said = warpline(&[&["trace"], run, &["-o", &file, "--whole"]].concat());
    assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""));
    file
}

#[test]
fn a_run_beside_its_own_trace_differs_in_nothing() {
    let dir = TempDir::new();
    // On a machine and on paper; a launch with caches, roles and split warps.
    for (run, clock) in [
        (&["metal/triple_buffer", "--set", "m=512"][..], true),
        (&["timeline/consistent", "--set", "tiles=4"], false),
        (&["hopper/tma_warp_specialized", "--set", "m=512", "--set", "n=512"], true),
    ] {
        let trace = saved(&dir, "saved.json", run);
        // `run` has flags of A's, so the trace is the second.
        let beside = [&run[..1], &[&trace], &run[1..]].concat();
        let c = json(&beside);
        for what in ["changed", "operations"] {
            assert!(c[what].as_array().unwrap().is_empty(), "{c:#}");
        }
        assert_eq!((&c["a"]["cycles"], &c["a"]["time_us"]), (&c["b"]["cycles"], &c["b"]["time_us"]));
        assert_eq!(c["a"]["time_us"].as_f64().map(|t| t > 0.0), Some(clock));
        let mut causes = 0;
        for role in c["roles"].as_array().unwrap() {
            assert_eq!(role["warps"][0], role["warps"][1], "{role}");
            for cause in ["causes", "waits"].iter().flat_map(|list| role[list].as_array().unwrap()) {
                assert_eq!(cause["a"], cause["b"], "{role}");
                causes += 1;
            }
        }
        assert!(causes > 0, "{c:#}");
        assert!(c["a"]["machine"].is_string() && c["a"]["bottleneck"].is_string());
        assert_eq!((&c["b"]["machine"], &c["b"]["bottleneck"]), (&Value::Null, &Value::Null));
        let said = warpline(&[&["compare"], &beside[..]].concat());
        let parts = ["The numbers that both have, their times, are equal", "B takes as long as A.", "they add up"];
        assert!(said.status == Status::Holds && parts.iter().all(|part| said.out.contains(part)), "{said:?}");
    }
}

#[test]
fn two_traces_say_of_roles_and_operations_what_their_runs_say() {
    let dir = TempDir::new();
    for [a, b] in [
        ["metal/triple_buffer", "metal/double_buffer"],
        ["cdna/num_stages_2", "cdna/two_step_ahead"],
        ["hopper/tma_warp_specialized", "hopper/tma_wgmma"],
    ] {
        let set = ["--set", "m=512"];
        let runs = json(&[&[a, b], &set[..]].concat());
        let files =
            [a, b].map(|run| saved(&dir, &format!("{}.json", run.replace('/', "_")), &[&[run], &set[..]].concat()));
        let traces = json(&[&files[0], &files[1]]);
        assert_eq!(runs["operations"], traces["operations"]);
        for side in ["a", "b"] {
            let cycles = |c: &Value| c[side]["cycles"].as_f64().unwrap();
            assert!((cycles(&runs) - cycles(&traces)).abs() < 1.0 / 256.0);
        }
        // Of what a report has, a record has the times.
        let changed = |c: &Value| -> Vec<String> {
            let all = c["changed"].as_array().unwrap().iter();
            all.map(|n| n["name"].as_str().unwrap().to_string()).collect()
        };
        assert_eq!(changed(&traces), ["cycles", "time_us"]);
        assert!(changed(&runs).len() > 2);
        // What has no role has another name in a report.
        let roles = |c: &Value| -> BTreeMap<String, Value> {
            let name =
                |r: &Value| r["name"].as_str().unwrap().replace("warp", "rest").replace("all rests", "all warps");
            c["roles"].as_array().unwrap().iter().map(|r| (name(r), r.clone())).collect()
        };
        let (by_report, by_record) = (roles(&runs), roles(&traces));
        assert_eq!(by_report.keys().collect::<Vec<_>>(), by_record.keys().collect::<Vec<_>>());
        for (name, role) in &by_report {
            assert_eq!(role["warps"], by_record[name]["warps"], "{name}");
            for list in ["causes", "waits"] {
                let by_what = |r: &Value| -> BTreeMap<String, Value> {
                    let all = r[list].as_array().unwrap().iter();
                    all.map(|c| (format!("{} {} {}", c["work"], c["what"], c["at"]), c.clone())).collect()
                };
                let (by_report, by_record) = (by_what(role), by_what(&by_record[name]));
                assert_eq!(by_report.keys().collect::<Vec<_>>(), by_record.keys().collect::<Vec<_>>(), "{name}");
                for (what, cause) in &by_report {
                    for side in ["a", "b"] {
                        let cycles = |c: &Value| c[side].as_f64().unwrap();
                        let apart = (cycles(cause) - cycles(&by_record[what])).abs();
                        // A record's time is whole ticks.
                        assert!(apart < 1.0 / 256.0, "{name} {what}: {apart}");
                    }
                }
            }
        }
    }
}

/// Of another program: no roles, no tiling, no clock; slices inside others.
#[test]
fn what_another_program_recorded_is_told_as_far_as_it_goes() {
    let dir = TempDir::new();
    let slice = |name: &str, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":0,"tid":"warp 0","ts":{ts},"dur":{dur}}}"#)
    };
    let file = |name: &str, wait: u32| {
        let slices = [slice("loop", 0, 10), slice("wait full", 2, wait), slice("wgmma", 14, 2)].join(",");
        dir.write(name, format!("[{slices}]"))
    };
    let (a, b) = (file("a.json", 3), file("b.json", 5));
    let c = json(&[&a, &b]);
    assert_eq!((&c["a"]["cycles"], &c["b"]["time_us"]), (&16_000.0.into(), &16.0.into()));
    let causes: Vec<_> = c["roles"][0]["causes"].as_array().unwrap().iter().map(|c| [&c["a"], &c["b"]]).collect();
    // What the wait leaves of the loop around it, the wait, and the matrix work behind a gap.
    assert_eq!(causes, [[&7000.0, &5000.0], [&3000.0, &5000.0], [&2000.0, &2000.0]]);
    let said = warpline(&["compare", &a, &b]);
    assert!(
        said.out.contains("as far as they were recorded") && said.out.contains("B takes as long as A."),
        "{said:?}"
    );
    assert_eq!(warpline(&["compare", "metal/triple_buffer", &a, "--set", "m=256", "-q"]).status, Status::Holds);
}

#[test]
fn what_is_neither_a_scenario_nor_a_trace_is_refused() {
    let dir = TempDir::new();
    let (json, text) = (dir.write("x.json", r#"{"schema": 1}"#), dir.write("x.txt", "cycles: 3"));
    let trace = dir.write("t.json", r#"[{"ph":"X","name":"wgmma","pid":0,"tid":0,"ts":0,"dur":2}]"#);
    let gone = dir.file("gone.json");
    for (args, why) in [
        ([&trace, &json], "it is not a trace in Chrome's format"),
        ([&json, &trace], "it is not a trace in Chrome's format"),
        ([&trace, &text], "scenarios end in .toml, kernels in .pipe, saved traces"),
        ([&text, &trace], "scenarios end in .toml, kernels in .pipe, saved traces"),
        ([&trace, &gone], "cannot read"),
    ] {
        let said = warpline(&["compare", args[0], args[1]]);
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.status == Status::BadInput && said.out.is_empty() && words.contains(why), "{args:?}: {words}");
    }
    for (flag, args) in [
        ("--with-set", [&trace[..], &trace, "--with-set", "m=1"]),
        ("--set", [&trace, "metal/triple_buffer", "--set", "m=1"]),
    ] {
        let said = warpline(&[&["compare"], &args[..]].concat());
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        let why = format!("is a saved trace, so {flag} can change nothing");
        assert!(said.status == Status::BadInput && words.contains(&why), "{args:?}: {words}");
    }
}

#[test]
fn operations_part_where_the_change_bites() {
    // On paper, the second loads in 8 instead of 6: every load takes two longer, from the first on, and nothing else.
    let dir = TempDir::new();
    let kernel = |n: u32| {
        let text = "kernel two(tiles = 3)\n  grid 1\n  warps 1\n  global X: f16[64, 32 * tiles]\n  reg data: f16[64, 32]\n\n  all:\n    for i in 0..tiles:\n      alu fma 64 x 32 takes 3\n      if i > 0: alu exp 64 x 32 takes TAKES\n";
        dir.write(&format!("k{n}.pipe"), text.replace("TAKES", &n.to_string()))
    };
    let c = json(&[&kernel(6), &kernel(8), "--machine", "paper"]);
    let operations = c["operations"].as_array().unwrap();
    // The texts differ, so the operation has no partner; what is the same in both does not show.
    assert!(operations.iter().all(|o| o["pairs"] == 0 && o["text"].as_str().unwrap().contains("exp")), "{c:#}");
    let c = json(&["timeline/consistent", "timeline/consistent", "--set", "tiles=4", "--with-set", "prefetch=0"]);
    assert_eq!(c["a"]["cycles"].as_f64().zip(c["b"]["cycles"].as_f64()).map(|(a, b)| b > a), Some(true));
    let slow = json(&[
        "hopper/tma_warp_specialized",
        "hopper/tma_warp_specialized",
        "--with-set",
        "machine.mma.f16_flop_per_clk=2048",
    ]);
    let pipe = slow["operations"].as_array().unwrap().iter().find(|o| o["who"] == "tensor pipe").unwrap();
    assert_eq!((&pipe["parts_at"], &pipe["alone"]), (&0.into(), &serde_json::json!([0, 0])), "{pipe}");
    let ratio = pipe["b"].as_f64().unwrap() / pipe["a"].as_f64().unwrap();
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
}

#[test]
fn one_picture_has_both() {
    let dir = TempDir::new();
    let svg = dir.file("c.svg");
    let said =
        warpline(&["compare", "metal/triple_buffer", "metal/double_buffer", "--set", "m=256", "--plot", &svg, "-q"]);
    assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""));
    let text = std::fs::read_to_string(&svg).unwrap();
    assert!(text.contains("triple_buffer") && text.contains("double_buffer"), "titles");
    // Of what was saved, likewise.
    let small = ["--set", "m=256"];
    let trace = saved(&dir, "saved.json", &[&["metal/double_buffer"], &small[..]].concat());
    let again = dir.file("again.svg");
    warpline(&[&["compare", "metal/triple_buffer", &trace, "--plot", &again, "-q"], &small[..]].concat());
    assert!(std::fs::read_to_string(&again).unwrap().contains("double_buffer"), "titles");
    let png = dir.file("c.png");
    let args = ["compare", "timeline/naive", "timeline/double_buffering", "--plot", &png, "-q"];
    assert_eq!(warpline(&args).err, "");
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
}
