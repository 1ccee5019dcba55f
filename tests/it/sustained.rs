//! `--clock sustained`: the clock that a long kernel keeps. How near it is to measured ones is in `accuracy.rs`.

use serde_json::Value;
use warpline::Status;
use warpline_study::clock::Line;
use warpline_tests::{TempDir, warpline};

const PRODUCT: [&str; 7] = ["hopper/tma_wgmma", "--set", "m=4096", "--set", "n=4096", "--set", "k=4096"];

fn said(command: &str, more: &[&str]) -> String {
    let args: Vec<&str> = [command].iter().chain(&PRODUCT).chain(more).copied().collect();
    let said = warpline(&args);
    assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""), "{args:?}");
    said.out
}

/// A run's object, without the time that the simulation took.
fn json(more: &[&str]) -> Value {
    let more: Vec<&str> = ["--json"].iter().chain(more).copied().collect();
    let mut value: Value = serde_json::from_str(&said("run", &more)).unwrap();
    value.as_object_mut().unwrap().remove("wall_s");
    value
}

#[track_caller]
fn refuses(args: &[&str], parts: &[&str]) {
    let said = warpline(args);
    assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{args:?}");
    let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words.contains(part), "{args:?}: `{part}` is missing in\n{}", said.err);
    }
}

#[test]
fn the_clock_found_is_on_the_line() {
    let run = json(&["--clock", "sustained", "--fidelity", "device"]);
    let clock = &run["clock"];
    assert_eq!((&clock["model"], &clock["end"]), (&"sustained".into(), &"settled".into()), "{clock}");
    let line = Line::of(&warpline_models::embedded("h200").unwrap()).unwrap();
    let number = |v: &Value| v.as_f64().unwrap();
    let (mhz, share) = (number(&clock["mhz"]), number(&clock["share"]));
    assert!((mhz - line.mhz(share)).abs() < 1.0 && mhz.fract() == 0.0, "{clock}");
    assert_eq!((number(&clock["low"]), number(&clock["high"])), line.range(share));
    // The share is the run's own, and the time is at the clock.
    assert_eq!(clock["share"], run["of_peak"]);
    assert!((number(&run["cycles"]) / number(&run["time_us"]) - mhz).abs() < 1e-6);
    assert!(mhz < 1700.0, "a product that keeps the tensor cores busy is below the machine's number: {mhz}");
    // Nothing is in it but the clock: the run with that number given is the same.
    let mut given = json(&["--fidelity", "device", "--set", &format!("machine.clock.mhz={mhz}")]);
    assert_eq!((&given["clock"]["mhz"], &given["clock"]["model"]), (&clock["mhz"], &"given".into()));
    given["clock"] = clock.clone();
    let mut without = run.clone();
    for object in [&mut given, &mut without] {
        object.as_object_mut().unwrap().remove("beside");
    }
    assert_eq!(given, without);
    // Runs beside it have clocks of their own.
    let clocks: Vec<f64> = run["beside"].as_array().unwrap().iter().map(|b| number(&b["clock_mhz"])).collect();
    assert!(clocks.iter().all(|c| (1500.0..1891.0).contains(c)) && clocks.iter().any(|c| *c != mhz), "{clocks:?}");
}

#[test]
fn the_same_bytes_every_time_and_the_old_ones_without_it() {
    let on = ["--clock", "sustained"];
    assert_eq!(said("run", &on), said("run", &on));
    assert_eq!(json(&on), json(&on));
    assert_eq!(said("run", &["--clock", "given"]), said("run", &[]));
    let off = json(&[]);
    assert_eq!(json(&["--clock", "given"]), off);
    assert_eq!((&off["clock"]["mhz"], &off["clock"]["end"]), (&1755.0.into(), &Value::Null));
    assert!(!said("run", &[]).contains("\nClock "));
    assert!(said("run", &on).contains(" MHz, sustained: the machine's line at "));
}

#[test]
fn what_gives_no_clock_to_look_for_is_refused() {
    let b200 = ["run", "blackwell/gemm_1sm", "--clock", "sustained"];
    refuses(
        &b200,
        &["machine `b200` has no `clock.sustained_idle_mhz`", "built-in machines with such a line: h100, h200"],
    );
    // A line of one's own will do.
    let line = ["--set", "machine.clock.sustained_idle_mhz=1900", "--set", "machine.clock.sustained_full_mhz=1500"];
    let own = warpline(&b200.iter().chain(&line).copied().collect::<Vec<_>>());
    assert!(own.status == Status::Holds && own.out.contains("MHz, sustained"), "{own:?}");
    for key in ["machine.clock.mhz=1600", "machine.mhz=1600"] {
        let args = ["run", "hopper/tma_wgmma", "--clock", "sustained", "--set", key];
        refuses(&args, &["--clock sustained finds the clock, but clock.mhz is also set", "leave one of the two out"]);
    }
    refuses(
        &["sweep", "hopper/tma_wgmma", "--vary", "machine.clock.mhz=1500,1600", "--clock", "sustained"],
        &["clock.mhz is also set"],
    );
    refuses(&["run", "hopper/tma_wgmma", "--clock", "fast"], &["given, sustained"]);
    let dir = TempDir::new();
    let to = dir.file("x.cu");
    refuses(
        &["emit", "hopper/tma_wgmma", "--target", "cuda", "-o", &to, "--clock", "sustained"],
        &["--clock does not apply"],
    );
}

#[test]
fn a_run_that_does_not_end_keeps_the_clock_it_was_given() {
    let line = ["--set", "machine.clock.sustained_idle_mhz=1900", "--set", "machine.clock.sustained_full_mhz=1500"];
    let hang = ["run", "museum/m12_roles_disagree/bug", "--clock", "sustained", "--json"];
    let said = warpline(&hang.iter().chain(&line).copied().collect::<Vec<_>>());
    assert_eq!(said.status, Status::Violated, "{}", said.err);
    let run: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (&run["clock"]["end"], &run["clock"]["share"]),
        (&"unfinished".into(), &Value::Null),
        "{}",
        run["clock"]
    );
    assert_eq!(run["clock"]["runs"], 1);
}

#[test]
fn a_clock_that_does_not_settle_is_a_limit() {
    // So steep a line that eight runs come nowhere near.
    let line = ["--set", "machine.clock.sustained_idle_mhz=100", "--set", "machine.clock.sustained_full_mhz=100000"];
    let on = |command: &'static str, more: &[&'static str]| {
        let args: Vec<&str> = [command].iter().chain(&PRODUCT).chain(&line).chain(more).copied().collect();
        warpline(&args)
    };
    let text = on("run", &["--clock", "sustained"]);
    assert_eq!(text.status, Status::GaveUp, "{}", text.err);
    assert!(text.out.contains(" MHz, not settled: in 8 runs no clock was found"), "{}", text.out);
    let json: Value = serde_json::from_str(&on("run", &["--clock", "sustained", "--json"]).out).unwrap();
    let clock = &json["clock"];
    assert_eq!((&clock["end"], &clock["runs"]), (&"open".into(), &8.into()));
    assert!((clock["line"].as_f64().unwrap() - clock["mhz"].as_f64().unwrap()).abs() >= 10.0, "{clock}");
    let sweep = on("sweep", &["--vary", "stages=3", "--clock", "sustained", "--json"]);
    assert_eq!(sweep.status, Status::GaveUp, "{}", sweep.err);
    assert!(sweep.out.contains("\"gave_up\""), "{}", sweep.out);
}

#[test]
fn sweeps_and_studies_say_which_clock_they_had() {
    let on = ["--clock", "sustained", "--json"];
    let read = |text: String| -> Value { serde_json::from_str(&text).unwrap() };
    let sweep = read(said("sweep", &["--vary", "stages=1,3", "--clock", "sustained", "--json"]));
    assert_eq!(sweep["settings"].as_array().unwrap().last().unwrap(), "--clock sustained");
    let point = |stages: &str| json(&["--clock", "sustained", "--set", &format!("stages={stages}")]);
    for (i, stages) in ["1", "3"].into_iter().enumerate() {
        let (numbers, run) = (&sweep["points"][i]["numbers"], point(stages));
        assert_eq!((&numbers["clock_mhz"], &numbers["cycles"]), (&run["clock"]["mhz"], &run["cycles"]));
    }
    let plain = read(said("sweep", &["--vary", "stages=1", "--json"]));
    assert_eq!(plain["points"][0]["numbers"].get("clock_mhz"), None);
    let whatif = read(said("whatif", &on));
    let run = point("3");
    assert_eq!((&whatif["clock"], &whatif["cycles"]), (&run["clock"], &run["cycles"]));
    let both = read(said("compare", &["hopper/tma_wgmma", "--with-set", "stages=1", "--clock", "sustained", "--json"]));
    let other = point("1");
    assert_eq!((&both["a"]["clock_mhz"], &both["b"]["clock_mhz"]), (&run["clock"]["mhz"], &other["clock"]["mhz"]));
    assert_eq!((&both["a"]["cycles"], &both["b"]["cycles"]), (&run["cycles"], &other["cycles"]));
    assert_eq!(both["b"]["clock_end"], "settled");
}
