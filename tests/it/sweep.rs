//! Sweeps: points, infeasible ones, resuming, shards and their merging, pictures.

use serde_json::Value;
use warpline::Status;
use warpline_tests::{Said, TempDir, warpline};

const HEAD: [&str; 6] = ["sweep", "metal/triple_buffer", "--vary", "stages=1..5", "--vary", "tile_k=16,32"];

/// The points above, with more words. `ahead = 2` needs three stages, and five of 32 take more than 32 KiB.
fn swept(more: &[&str]) -> Said {
    warpline(&[&HEAD[..], &["--set", "m=256", "--set", "n=256", "--set", "k=512"], more].concat())
}

#[track_caller]
fn json(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
}

fn point(all: &Value, stages: i64, tile_k: i64) -> &Value {
    let is = |p: &&Value| p["values"]["stages"] == stages && p["values"]["tile_k"] == tile_k;
    all["points"].as_array().unwrap().iter().find(is).unwrap()
}

#[test]
fn every_point_is_a_run_or_says_what_forbids_it() {
    let said = swept(&["--json"]);
    // Two slots with two tiles ahead race.
    assert_eq!(said.status, Status::Violated, "{}", said.err);
    let all = json(&said);
    assert_eq!(all["schema"], "warpline.sweep/1");
    assert_eq!(all["points"].as_array().unwrap().len(), 10);
    assert_eq!(point(&all, 2, 32)["outcome"], "faulty");
    assert_eq!(
        (&point(&all, 5, 32)["outcome"], &point(&all, 5, 32)["limit"]),
        (&"infeasible".into(), &"shared memory".into())
    );
    let three = point(&all, 3, 32);
    assert_eq!(three["outcome"], "fine");
    let run = warpline(&["run", "metal/triple_buffer", "--set", "m=256", "--set", "n=256", "--set", "k=512", "--json"]);
    assert_eq!(three["numbers"]["cycles"], json(&run)["cycles"]);
    let text = swept(&[]).out;
    for part in
        ["10 points of stages, tile_k", "(a) shared memory, 1: stages=5 tile_k=32: a CTA needs 40960", "Best time_us"]
    {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}

#[test]
fn a_sweep_over_a_counting_parameter_has_the_numbers_of_single_points() {
    for (scenario, size) in [("metal/triple_buffer", "m=256"), ("hopper/persistent", "m=512")] {
        let all = |vary: &str, set: &str| {
            let args = ["sweep", scenario, "--set", size, "--set", "n=512", "--set", set, "--vary", vary, "--json"];
            json(&warpline(&args))
        };
        // `k` only counts, so the points of the first sweep share one lowered kernel. `stages` shapes it.
        let together = all("k=0,64,96,512", "stages=3");
        for (i, k) in [0, 64, 96, 512].into_iter().enumerate() {
            let single = all("stages=3", &format!("k={k}"));
            let (a, b) = (&together["points"][i], &single["points"][0]);
            for part in ["outcome", "limit", "message", "numbers"] {
                assert_eq!(a[part], b[part], "{part} of {scenario} at k = {k}");
            }
        }
    }
}

#[test]
fn the_limit_is_named() {
    let limit = |args: &[&str]| {
        let said = warpline(&[&["sweep"], args, &["--json"]].concat());
        json(&said)["points"][0]["limit"].as_str().unwrap_or("").to_string()
    };
    assert_eq!(limit(&["hopper/tma_wgmma", "--vary", "stages=12"]), "shared memory");
    assert_eq!(limit(&["hopper/cp_async_wgmma", "--vary", "regs=264"]), "registers");
    assert_eq!(limit(&["blackwell/gemm_1sm", "--vary", "machine.limit.tmem_columns=32"]), "tensor memory");
    assert_eq!(limit(&["hopper/tma_wgmma", "--vary", "machine=a100"]), "machine");
    let kernel = warpline(&["sweep", "hopper/tma_warp_specialized", "--vary", "stages=1,3", "--json"]);
    assert_eq!(json(&kernel)["points"][0]["limit"], "kernel");
}

#[test]
fn machines_and_scenarios_can_be_varied_too() {
    let said = warpline(&[
        "sweep",
        "metal/triple_buffer",
        "--vary",
        "machine=m4-max,m4-max-32",
        "--vary",
        "scenario=metal/triple_buffer,metal/double_buffer",
        "--json",
    ]);
    let all = json(&said);
    let points = all["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    assert!(points.iter().all(|p| p["outcome"] == "fine"));
    assert_eq!(points[3]["values"]["machine"], "m4-max-32");
    assert_ne!(points[0]["numbers"]["cycles"], points[1]["numbers"]["cycles"]);
}

#[test]
fn against_another_scenario_is_a_ratio() {
    let said = warpline(&[
        "sweep",
        "metal/triple_buffer",
        "--against",
        "metal/double_buffer",
        "--vary",
        "k=64,4096",
        "--json",
    ]);
    let all = json(&said);
    for p in all["points"].as_array().unwrap() {
        let n = |name: &str| p["numbers"][name].as_f64().unwrap();
        assert!((n("speedup") - n("against_time_us") / n("time_us")).abs() < 1e-12);
    }
    let other = warpline(&["run", "metal/double_buffer", "--set", "k=64", "--json"]);
    assert_eq!(all["points"][0]["numbers"]["against_cycles"], json(&other)["cycles"]);
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let on = |threads: &str| {
        std::process::Command::new(env!("CARGO_BIN_EXE_warpline-under-test"))
            .args(HEAD)
            .args(["--set", "m=256", "--set", "n=256", "--csv", "-"])
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .unwrap()
            .stdout
    };
    let one = on("1");
    assert_eq!(String::from_utf8_lossy(&one).lines().count(), 11);
    assert_eq!(one, on("7"));
}

#[test]
fn an_interrupted_sweep_goes_on() {
    let dir = TempDir::new();
    let (state, again) = (dir.path().join("s.json"), dir.path().join("t.json"));
    let (state, again) = (state.to_str().unwrap(), again.to_str().unwrap());
    let whole = swept(&["--state", state, "--json"]);
    let text = std::fs::read_to_string(state).unwrap();
    // What was on disk when it stopped: three rows are not there, and one is made up, to show that it is not run again.
    let mut part: Value = serde_json::from_str(&text).unwrap();
    let rows = part["rows"].as_object_mut().unwrap();
    for gone in ["3", "4", "7"] {
        rows.remove(gone);
    }
    rows["5"]["message"] = "kept".into();
    std::fs::write(again, part.to_string()).unwrap();
    let resumed = swept(&["--state", again, "--json"]);
    let (mut a, b) = (json(&whole), json(&resumed));
    assert_eq!(b["points"][5]["message"], "kept");
    a["points"][5]["message"] = "kept".into();
    assert_eq!(a, b);
    // Another sweep does not go on from it, and does not overwrite it.
    let other = warpline(&[&HEAD[..], &["--state", state]].concat());
    assert_eq!(other.status, Status::BadInput);
    let words = other.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("belongs to another sweep; the settings differ"), "{words}");
    assert_eq!(std::fs::read_to_string(state).unwrap(), text);
}

#[test]
fn shards_are_merged_and_gaps_and_overlaps_refused() {
    let dir = TempDir::new();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let (a, b, c) = (file("a.json"), file("b.json"), file("c.json"));
    for (i, path) in [&a, &b, &c].into_iter().enumerate() {
        let said = swept(&["--shard", &format!("{}/3", i + 1), "--state", path, "-q"]);
        assert_ne!(said.status, Status::BadInput, "{}", said.err);
    }
    let whole = swept(&["--csv", "-"]).out;
    assert_eq!(warpline(&["merge", &c, &a, &b, "--csv", "-"]).out, whole);
    let refused = |args: &[&str], part: &str| {
        let said = warpline(&[&["merge"], args].concat());
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""));
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{words}");
    };
    refused(&[&a, &c], "of 3 shards, shard 2 is not given");
    refused(&[&a, &b, &c, &a], "overlap in 4 points");
    refused(&[&a, "none.json"], "cannot read");
    let wrong = swept(&["--shard", "2/3", "--state", &a]);
    assert!(wrong.err.contains("holds shard 1/3, not 2/3"), "{}", wrong.err);
}

#[test]
fn pictures() {
    let dir = TempDir::new();
    let path = dir.path().join("p.png");
    let said = swept(&["--plot", path.to_str().unwrap(), "-q"]);
    assert_eq!(said.err, "");
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    let svg = dir.path().join("p.svg");
    warpline(&["sweep", "metal/triple_buffer", "--vary", "k=64..512*2", "--plot", svg.to_str().unwrap(), "-q"]);
    let text = std::fs::read_to_string(&svg).unwrap();
    assert!(text.contains("useful_tflops") && text.contains("512"), "{text}");
    let three = swept(&["--vary", "k=512", "--plot", "x.png"]);
    assert_eq!(three.status, Status::BadInput);
    assert!(three.err.contains("room for one or two"), "{}", three.err);
}

#[test]
fn bad_input_has_its_place() {
    let dir = TempDir::new();
    let path = dir.path().join("p.csv");
    std::fs::write(&path, "tile_m,tile_n\n64,64\n64,wide\n").unwrap();
    let points = path.to_str().unwrap();
    for (args, part) in [
        (vec!["--points", points], "p.csv:3:1"),
        (vec!["--vary", "stagse=1..3"], "did you mean `stages`"),
        (vec!["--vary", "stages=3..1"], "larger value"),
        (vec![], "nothing is varied"),
        (vec!["--vary", "stages=2", "--vary", "stages=3"], "varied twice"),
        (vec!["--vary", "stages=3", "--metric", "speed"], "no point has a number `speed`"),
        (vec!["--vary", "stages=3", "--shard", "1/2"], "--state"),
        (vec!["--vary", "machine=h300"], "no machine `h300`"),
        (vec!["--vary", "tile_k=0"], "triple_buffer.pipe:"),
    ] {
        let said = warpline(&[&["sweep", "metal/triple_buffer"], &args[..]].concat());
        assert_eq!(said.status, Status::BadInput, "{args:?}: {}", said.err);
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{args:?}: {words}");
    }
}
