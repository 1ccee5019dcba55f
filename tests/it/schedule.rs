//! Schedules as files: written by `verify`, kept to by `run`, `gantt`, `view` and `trace`.

use serde_json::Value;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

use crate::verify::edited;

const BUG: &str = "museum/m14_mailbox_overwritten/bug";

/// A file with the schedule of a scenario's fault.
#[track_caller]
fn schedule(dir: &TempDir, name: &str) -> String {
    let file = dir.file("x.json");
    let said = warpline(&["verify", name, "--quiet", "--schedule-out", &file]);
    // A bug of the museum is expected.
    let want = if name.starts_with("museum/") { Status::Holds } else { Status::Violated };
    assert_eq!((said.status, said.err.as_str()), (want, ""), "{name}");
    file
}

#[test]
fn a_run_that_keeps_to_it_meets_the_fault() {
    for name in [BUG, "museum/m12_roles_disagree/bug", "museum/m46_shares_past_the_tile/bug", "blackwell/level2_2sm"] {
        let dir = TempDir::new();
        let file = schedule(&dir, name);
        let said = warpline(&["run", name, "--schedule", &file, "--json"]);
        assert_eq!((said.status, said.err.as_str()), (Status::Violated, ""), "{name}: {}", said.out);
        let (run, file): (Value, Value) = (
            serde_json::from_str(&said.out).unwrap(),
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap(),
        );
        assert_eq!(file["schema"], "warpline.schedule/1");
        assert_eq!(run["parameters"], file["parameters"], "{name}");
        let text = warpline(&["run", name, "--schedule", &dir.file("x.json")]);
        assert_eq!(text.status, Status::Violated);
        assert!(text.out.contains("Schedule ") && text.out.lines().all(|l| l.chars().count() <= 100), "{}", text.out);
    }
}

#[test]
fn it_is_drawn_with_the_fault_marked() {
    let dir = TempDir::new();
    let file = schedule(&dir, BUG);
    let (svg, trace) = (dir.file("x.svg"), dir.file("t.json"));
    for (command, output) in [("gantt", &svg), ("trace", &trace)] {
        let said = warpline(&[command, BUG, "--schedule", &file, "-o", output]);
        assert_eq!(said.status, Status::Violated, "{}", said.err);
    }
    let said = warpline(&["view", BUG, "--schedule", &file, "--dump", "80x24"]);
    assert_eq!(said.status, Status::Violated, "{}", said.err);
    // Only a schedule holds anybody back.
    assert!(said.out.contains("held╱"), "{}", said.out);
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert!(drawn.contains("RAW race, line ") && drawn.contains("stale tile, line 24"), "{drawn}");
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let instants = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "i");
    assert!(instants.filter(|e| e["name"] == "fault: stale tile").count() == 1);
}

#[test]
fn one_that_does_not_fit_is_bad_input_and_names_the_move() {
    let dir = TempDir::new();
    let file = schedule(&dir, BUG);
    let refuses = |args: &[&str], parts: &[&str]| {
        let said = warpline(args);
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{args:?}: {words}");
        parts.iter().for_each(|p| assert!(words.contains(p), "`{p}` is missing in {words}"));
    };
    // A statement that is another one now, and one more in front of it.
    edited(BUG, &[("arrive ready", "arrive ready per warp")], |edited| {
        refuses(
            &["run", edited, "--schedule", &file],
            &["move 11", "`arrive ready` is expected at 19", "says `arrive ready per"],
        );
    });
    edited(BUG, &[("      put t -> item : t\n", "      warp.sync;  put t -> item : t\n")], |edited| {
        refuses(&["run", edited, "--schedule", &file], &["move 10", "`put t -> item : t` is expected at 18:7"]);
    });
    // The same statements in another order of execution.
    edited(BUG, &[("      wait free for t - 1\n", "      wait free for t\n")], |edited| {
        refuses(&["run", edited, "--schedule", &file], &["move 9"]);
    });
    refuses(&["run", BUG, "--schedule", &file, "--set", "tiles=9"], &["tiles=2", "--set says tiles=9"]);
    refuses(
        &["run", "museum/m12_roles_disagree/bug", "--schedule", &file],
        &["move 1: the kernel has no scheduler w0"],
    );
    refuses(&["gantt", BUG, "--schedule", &dir.file("none.json"), "-o", &dir.file("x.svg")], &["cannot read"]);
    for bad in ["", "{}", "[1]", "{\"schema\": \"warpline.run/1\"}"] {
        let bad = dir.write("bad.json", bad);
        refuses(&["run", BUG, "--schedule", &bad], &["is not a schedule"]);
    }
    let other = std::fs::read_to_string(&file).unwrap().replace("warpline.schedule/1", "warpline.schedule/9");
    refuses(&["run", BUG, "--schedule", &dir.write("other.json", other)], &["its schema is `warpline.schedule/9`"]);
}

#[test]
fn what_is_tampered_with_is_refused_and_never_a_panic() {
    let dir = TempDir::new();
    let text = std::fs::read_to_string(schedule(&dir, BUG)).unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let n = whole["moves"].as_array().unwrap().len();
    for at in 0..n {
        let mut changed = whole.clone();
        let moves = changed["moves"].as_array_mut().unwrap();
        moves.swap(at, (at + 3) % n);
        moves[at]["act"] = if at % 2 == 0 { "lands".into() } else { moves[at]["act"].clone() };
        moves[at]["started"] = 7.into();
        let said = warpline(&["run", BUG, "--schedule", &dir.write("y.json", changed.to_string()), "--quiet"]);
        assert!(said.status != Status::GaveUp, "{at}: {}", said.err);
        assert!(said.status != Status::BadInput || said.err.contains("move "), "{at}: {}", said.err);
    }
}

#[test]
fn one_is_written_of_one_scenario_only() {
    let dir = TempDir::new();
    let file = dir.file("x.json");
    for more in [vec!["metal/double_buffer"], vec!["--format", "sarif"]] {
        let said = warpline(&[vec!["verify", BUG, "--schedule-out", &file], more].concat());
        assert_eq!(said.status, Status::BadInput);
        assert!(said.err.contains("--schedule-out is for one scenario"), "{}", said.err);
    }
    assert!(dir.names().is_empty());
}

#[test]
fn a_kernel_without_a_fault_has_none() {
    let dir = TempDir::new();
    let file = dir.file("x.json");
    let said = warpline(&["verify", "museum/m14_mailbox_overwritten/fix", "--quiet", "--schedule-out", &file]);
    assert_eq!(said.status, Status::Holds);
    assert!(said.err.contains("there is no fault, so no schedule was written"), "{}", said.err);
    assert!(dir.names().is_empty());
}
