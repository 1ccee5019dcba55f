//! The command line: statuses, messages, streams.

use std::io::{ErrorKind, Write};

use serde_json::{Value, json};
use warpline::{Look, Status, main_with};
use warpline_tests::{Said, TempDir, warpline, warpline_with};

#[track_caller]
fn refuses(args: &[&str], parts: &[&str]) {
    let said = warpline(args);
    assert_eq!(said.status, Status::BadInput, "{args:?}: {said:?}");
    assert_eq!(said.out, "", "{args:?}");
    // Long messages are broken into lines.
    let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words.contains(part), "{args:?}: `{part}` is missing in\n{}", said.err);
    }
}

#[track_caller]
fn fine(args: &[&str]) -> String {
    let said = warpline(args);
    assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""), "{args:?}: {}", said.out);
    said.out
}

#[test]
fn help_and_version_go_to_the_output() {
    let help = fine(&["--help"]);
    for command in [
        "run",
        "verify",
        "barriers",
        "compare",
        "sweep",
        "whatif",
        "merge",
        "check",
        "explain",
        "gantt",
        "view",
        "trace",
        "report",
        "export",
        "models",
        "list",
        "new",
        "fmt",
        "lsp",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is missing in\n{help}");
    }
    assert!(fine(&["--version"]).starts_with("warpline "));
    assert!(fine(&["run", "--help"]).contains("--set <NAME=VALUE>"));
}

#[test]
fn usage_errors_have_status_2_and_go_to_the_error_stream() {
    refuses(&[], &["Usage"]);
    refuses(&["rum"], &["run"]);
    refuses(&["run"], &["<SCENARIO>"]);
    refuses(&["run", "metal/triple_buffer", "--stages", "2"], &["--stages"]);
    refuses(&["run", "metal/triple_buffer", "--set", "stages"], &["NAME=VALUE"]);
    refuses(&["run", "metal/triple_buffer", "--set", "stages=two"], &["whole number"]);
    refuses(&["run", "metal/triple_buffer", "--set", "machine.clock.mhz=fast"], &["not a number"]);
    refuses(&["run", "metal/triple_buffer", "--max-events", "0"], &["0"]);
    refuses(
        &["run", "metal/triple_buffer", "--fence", "async=off"],
        &["is not a fence rule", "async-read, async-write"],
    );
    refuses(&["verify", "metal/triple_buffer", "--fence", "tmem-wait=note"], &["its levels are error, off"]);
    refuses(&["gantt", "metal/triple_buffer"], &["--output"]);
    refuses(&["completions", "cmd"], &["bash"]);
}

#[test]
fn a_model_is_written_or_refused_whole() {
    let text = fine(&["export", "promela", "metal/triple_buffer", "--trips", "3"]);
    assert!(text.contains("active proctype cta0_warp0"), "{text}");
    let line = ["control flow", "thunderkittens_clc.pipe:", "verify"];
    refuses(&["export", "promela", "correct/thunderkittens_clc"], &line);
    refuses(&["export", "promela", "attention/fa3"], &["shares its storage"]);
    refuses(&["export", "spin", "metal/triple_buffer"], &["promela"]);
}

#[test]
fn the_manual_comes_from_the_definition() {
    let man = fine(&["man"]);
    for part in [".TH warpline", "WARPLINE GANTT", "no\\-skip", "max\\-events"] {
        assert!(man.contains(part), "{part} is missing in the manual");
    }
}

#[test]
fn every_shell_has_a_script_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = fine(&["completions", shell]);
        assert!(script.contains("warpline") && script.contains("COMPLETE"), "{shell}: {script}");
    }
}

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_warpline-under-test"))
        .args(["--", "warpline"])
        .args(words)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn a_shell_offers_commands_scenarios_machines_and_findings() {
    let has = |words: &[&str], name: &str| {
        let all = offered(words);
        assert!(all.iter().any(|o| o == name), "{words:?}: {all:?}");
    };
    has(&["ver"], "verify");
    has(&["run", "metal/tri"], "metal/triple_buffer");
    has(&["verify", "museum/m40"], "museum/m40_missing_vmcnt/bug");
    has(&["gantt", "hopper/tma_wgmma", "--with", "hopper/ping"], "hopper/pingpong");
    has(&["run", "metal/triple_buffer", "--machine", "m4"], "m4-max");
    has(&["explain", "WL01"], "WL0104");
    has(&["explain", "sta"], "stale tile");
    assert!(offered(&["run", ""]).iter().all(|o| !o.starts_with("museum/")), "the museum waits for its prefix");
}

#[test]
fn names_that_are_not_there_get_a_hint() {
    refuses(&["run", "metal/tripel_buffer"], &["no built-in scenario `metal/tripel_buffer`", "`metal/triple_buffer`"]);
    refuses(&["run", "triple_buffer"], &["did you mean `metal/triple_buffer`"]);
    refuses(&["run", "metal/triple_buffer", "--machine", "m4max"], &["no machine `m4max`", "`m4-max`"]);
    refuses(&["run", "metal/triple_buffer", "--set", "stagse=2"], &["no parameter `stagse`", "`stages`"]);
    refuses(&["run", "metal/triple_buffer", "--set", "machine.clock.mzh=2"], &["clock.mhz"]);
    refuses(&["models", "h900"], &["no machine `h900`"]);
    refuses(&["run", "none.toml"], &["cannot read `none.toml`"]);
    refuses(&["check", "none"], &["no built-in scenario `none`"]);
    refuses(&["view", "no_such.pftrace"], &["cannot read `no_such.pftrace`", "saved traces", ".json"]);
    refuses(&["view", "metal/triple_bufer.pip"], &["cannot read `metal/triple_bufer.pip`"]);
    let dir = TempDir::new();
    let trace = dir.write("x.pftrace", "");
    refuses(&["view", &trace], &["files that end in .pftrace are not read", "saved traces"]);
}

#[test]
fn a_run_says_what_was_asked_for() {
    let text = fine(&["run", "metal/triple_buffer"]);
    for part in [
        "m4-max",
        "cycles",
        "Per K-tile",
        "limited by",
        "24,576 bytes used by a CTA, 8,192 free",
        "loader",
        "compute",
        "waits for",
        "triple_buffer.pipe:",
        "Bottleneck",
        " time than ",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    assert!(!text.contains('\x1b'));
    let wide: Vec<&str> = text.lines().filter(|l| l.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");
    let quiet = fine(&["run", "metal/triple_buffer", "--quiet"]);
    assert_eq!(quiet, "");
}

#[test]
fn colour_is_only_added_where_it_is_asked_for() {
    let look = Look { color: true, color_err: true, ..Look::default() };
    let coloured = warpline_with(&["run", "metal/triple_buffer"], look);
    assert!(coloured.out.contains("\x1b[1m"));
    let coloured = warpline_with(&["run", "nothing"], look);
    assert!(coloured.err.contains("\x1b["));
}

#[test]
fn a_process_without_a_terminal_has_no_colour() {
    for (name, value) in [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1"), ("TERM", "xterm-256color")] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_warpline-under-test"))
            .args(["run", "metal/nothing"])
            .env(name, value)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(!output.stderr.contains(&0x1b), "{name}");
    }
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&fine(args)).unwrap()
}

#[test]
fn json_has_a_schema_and_is_the_same_twice() {
    let args = ["run", "metal/triple_buffer", "--json"];
    let (mut one, mut two) = (json(&args), json(&args));
    assert_eq!(one["schema"], "warpline.run/1");
    assert_eq!(one["outcome"], "finished");
    assert_eq!(one["shared_bytes"], 24576);
    assert_eq!(one["parameters"]["stages"], 3);
    assert!(one["cycles"].as_f64().is_some_and(|c| c > 0.0));
    assert!(one["claims"].as_array().is_some_and(|c| !c.is_empty()));
    assert!(one["beside"].as_array().is_some_and(|b| !b.is_empty()));
    for role in one["roles"].as_array().unwrap() {
        let sum = |key: &str| role[key].as_object().unwrap().values().map(|v| v.as_f64().unwrap()).sum::<f64>();
        assert!((sum("work") + sum("stalls") - 1.0).abs() < 1e-6, "{role}");
    }
    for object in [&mut one, &mut two] {
        object["wall_s"] = Value::Null;
    }
    assert_eq!(one, two);
    let models = json(&["models", "--json"]);
    assert_eq!(models["schema"], "warpline.models/1");
    assert!(models["machines"].as_array().is_some_and(|m| m.len() >= 8));
}

#[test]
fn set_and_machine_reach_the_run() {
    let run = |more: &[&str]| json(&[&["run", "metal/triple_buffer", "--json"], more].concat());
    let two = run(&["--set", "stages=2", "--set", "ahead=1", "--set", "m=1024"]);
    assert_eq!((&two["parameters"]["stages"], &two["parameters"]["m"]), (&2.into(), &1024.into()));
    assert_eq!(two["shared_bytes"], 16384);
    assert_eq!(run(&["--machine", "m4-max-32"])["machine"], "m4-max-32");
    let slow = run(&["--set", "machine.clock.mhz=789", "--set", "m=512"]);
    let fast = run(&["--set", "machine.clock.mhz=1578", "--set", "m=512"]);
    assert!(slow["time_us"].as_f64() > fast["time_us"].as_f64());
    // The last of two counts.
    assert_eq!(run(&["--set", "m=64", "--set", "m=512"])["parameters"]["m"], 512);
}

#[test]
fn an_operation_the_machine_lacks_is_an_error_with_its_line() {
    refuses(&["run", "hopper/tma_wgmma", "--machine", "a100"], &["tma_wgmma.pipe:", "sm_90", "a100", "--machine"]);
    refuses(&["run", "metal/triple_buffer", "--machine", "h200"], &["triple_buffer.pipe:", "apple7"]);
}

#[test]
fn the_spread_of_machine_numbers_is_an_interval_around_the_time() {
    let run = json(&["run", "hopper/tma_warp_specialized", "--set", "m=1024", "--spread", "--json"]);
    let spread = &run["uncertainty"]["spread"];
    let number = |value: &Value| value.as_f64().unwrap();
    let cycles = number(&run["cycles"]);
    assert!(number(&spread["low_cycles"]) < cycles && cycles < number(&spread["high_cycles"]), "{spread}");
    let effects = spread["effects"].as_array().unwrap();
    assert!(!effects.is_empty() && effects.len() as u64 <= spread["numbers"].as_u64().unwrap(), "{spread}");
    // A number of the command line has no spread.
    let key = effects[0]["key"].as_str().unwrap();
    let fixed = format!("machine.{key}={}", number(&effects[0]["high"]));
    let other = json(&["run", "hopper/tma_warp_specialized", "--set", "m=1024", "--set", &fixed, "--spread", "--json"]);
    assert_eq!(other["cycles"], effects[0]["cycles_at_high"]);
    let left = other["uncertainty"]["spread"]["effects"].as_array().unwrap().iter().all(|e| e["key"] != key);
    assert!(left, "{key}");
    assert_eq!(json(&["run", "metal/triple_buffer", "--json"])["uncertainty"]["spread"], Value::Null);
}

#[test]
fn measured_rows_of_compiled_kernels_are_compared() {
    let folder = TempDir::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../calibrate/data/h100_kernels");
    let rows = std::fs::read_to_string(format!("{data}/rows.jsonl")).unwrap();
    let row = rows.lines().find(|l| l.contains("\"rowsum_16384x1024_1024_w4_s1\"")).unwrap();
    let ptx = "rowsum_16384x1024_1024_w4_s1.ptx.gz";
    std::fs::copy(format!("{data}/{ptx}"), folder.path().join(ptx)).unwrap();
    let file = folder.path().join("rows.json");
    std::fs::write(&file, format!("[{row}]")).unwrap();
    let name = file.display().to_string();
    let text = fine(&["validate", "--rows", &name, "--machine", "h100"]);
    assert!(text.lines().any(|l| l.starts_with("rowsum ") && l.contains('%')), "{text}");
    assert!(!text.contains("first choice"), "{text}");
    // Two configurations of a problem: the simulation finds them alike, and the second takes 10 % more.
    let row: Value = serde_json::from_str(row).unwrap();
    let timed = |us: f64| json!({ "name": row["name"], "launch": row["launch"], "problem": "sum", "us": us });
    std::fs::write(&file, format!("{}\n{}\n", timed(20.0), timed(22.0))).unwrap();
    let text = fine(&["validate", "--rows", &name, "--machine", "h100"]);
    assert!(text.contains("within 5 % of the best for 1 of 1 problems"), "{text}");
    std::fs::write(&file, format!("{}\n{}\n", timed(22.0), timed(20.0))).unwrap();
    let text = fine(&["validate", "--rows", &name, "--machine", "h100"]);
    assert!(text.contains("within 5 % of the best for 0 of 1 problems, the best of three within 2 % for 1"), "{text}");
    // A row without its kernel, and a file without rows.
    std::fs::write(&file, format!("[{row}]")).unwrap();
    std::fs::remove_file(folder.path().join(ptx)).unwrap();
    refuses(&["validate", "--rows", &name, "--machine", "h100"], &["no kernel of `rowsum_", ".ptx.gz` beside"]);
    std::fs::write(&file, "[]").unwrap();
    refuses(&["validate", "--rows", &name, "--machine", "h100"], &["has no row"]);
}

#[test]
fn a_limit_is_status_3() {
    let said = warpline(&["run", "metal/triple_buffer", "--max-events", "100"]);
    assert_eq!(said.status, Status::GaveUp, "{}", said.err);
    assert!(said.out.contains("GAVE UP"), "{}", said.out);
    // The caches of the device are not filled for a hundred million CTAs. One core runs them in a moment.
    let large = ["run", "hopper/tma_wgmma", "--set", "m=1280000", "--set", "n=1280000", "--set", "k=512"];
    let said = warpline(&large);
    assert_eq!(said.status, Status::GaveUp, "{}", said.err);
    assert!(said.out.contains("too many CTAs") && said.out.contains("--fidelity core"), "{}", said.out);
    let said = warpline(&[large.as_slice(), &["--fidelity", "core"]].concat());
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    assert!(said.out.contains("100,000,000 CTAs"), "{}", said.out);
}

#[test]
fn lists_name_every_scenario_and_machine() {
    let list = fine(&["list"]);
    for name in ["metal/triple_buffer", "hopper/pingpong", "timeline/naive", "mla/rope"] {
        assert!(list.lines().any(|l| l.starts_with(&format!("{name} "))), "{name} is missing in\n{list}");
    }
    let models = fine(&["models"]);
    for name in ["m4-max", "v100", "a100", "h200", "b200", "mi250x", "mi300x", "mi355x"] {
        assert!(models.lines().any(|l| l.starts_with(&format!("{name} "))), "{name} is missing in\n{models}");
    }
    let h200 = fine(&["models", "h200"]);
    assert!(h200.contains("memory.dram_gbps") && h200.contains("measured") && h200.contains("estimated"), "{h200}");
}

#[test]
fn claims_are_held_against_the_run() {
    let said = warpline(&["check", "metal/triple_buffer"]);
    assert_eq!(said.status, Status::Holds, "{}{}", said.out, said.err);
    assert!(said.out.contains("refuted") && said.out.contains("shared_free_bytes = 8192"), "{}", said.out);
}

/// A writer that fails in one way.
struct Fails(ErrorKind);

impl Write for Fails {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(self.0.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_a_full_disk_is() {
    let run = |kind| {
        let (mut out, mut err) = (Fails(kind), Vec::new());
        let args = ["warpline", "models"].map(Into::into);
        let status = main_with(args, &mut out, &mut err, Look::default());
        Said { status, out: String::new(), err: String::from_utf8(err).unwrap() }
    };
    let gone = run(ErrorKind::BrokenPipe);
    assert_eq!((gone.status, gone.err.as_str()), (Status::Holds, ""));
    let full = run(ErrorKind::StorageFull);
    assert_eq!(full.status, Status::BadInput);
    assert!(full.err.contains("cannot write to the standard output"), "{}", full.err);
}
