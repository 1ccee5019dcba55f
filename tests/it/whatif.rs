//! Critical paths and what-if tables.

use serde_json::Value;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

fn json(args: &[&str]) -> Value {
    let said = warpline(args);
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
}

#[test]
fn the_parts_of_a_path_add_up() {
    for scenario in [
        "metal/triple_buffer",
        "hopper/tma_warp_specialized",
        "hopper/cp_async_wgmma",
        "cdna/two_step_ahead",
        "timeline/naive",
    ] {
        let run = json(&["run", scenario, "--json"]);
        let parts = run["critical_path"]["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|p| p["fraction"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{scenario}: {sum}");
    }
}

#[test]
fn the_path_is_where_the_time_goes() {
    // Serial on paper: nine units a tile, six of them the load's.
    let naive = json(&["run", "timeline/consistent", "--set", "prefetch=0", "--set", "tiles=10", "--json"]);
    let part = |what: &str| {
        let parts = naive["critical_path"]["parts"].as_array().unwrap();
        parts.iter().filter(|p| p["what"] == what).map(|p| p["fraction"].as_f64().unwrap()).sum::<f64>()
    };
    assert!((part("alu") - 3.0 / 9.0).abs() < 1e-9, "{naive:#}");
    let bound = json(&["run", "hopper/tma_warp_specialized", "--json"]);
    assert_eq!(bound["critical_path"]["parts"][0]["engine"], "tensor pipe");
    // Two slots do not hide the copies.
    let starved = json(&["run", "hopper/tma_warp_specialized", "--set", "stages=2", "--json"]);
    let copies = |run: &Value| {
        let parts = run["critical_path"]["parts"].as_array().unwrap();
        parts.iter().filter(|p| p["engine"] == "copy engine").map(|p| p["fraction"].as_f64().unwrap()).sum::<f64>()
    };
    assert!(copies(&starved) > 3.0 * copies(&bound), "{} {}", copies(&starved), copies(&bound));
}

#[test]
fn a_long_run_has_the_path_of_its_first_part_and_a_hang_has_none() {
    let long = json(&["run", "hopper/cp_async_wgmma", "--set", "k=65536", "--set", "m=16384", "--json"]);
    assert_eq!(long["critical_path"]["whole"], false);
    assert!(long["critical_path"]["until"].as_f64() < long["cycles"].as_f64());
    let hang = json(&["run", "museum/m12_roles_disagree/bug", "--json"]);
    assert_eq!(hang["critical_path"], Value::Null);
}

#[test]
fn what_bounds_a_kernel_gains_most() {
    let table = json(&["whatif", "hopper/tma_warp_specialized", "--json"]);
    let first = &table["rows"][0];
    assert_eq!((&first["key"], &first["sort"]), (&"mma.f16_flop_per_clk".into(), &"rate".into()));
    assert!(first["slower"]["gain"].as_f64().unwrap() < -0.8);
    let gains: Vec<f64> =
        table["rows"].as_array().unwrap().iter().map(|r| r["free"]["gain"].as_f64().unwrap_or(0.0)).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b));
    // A change that does not fit is no change of time.
    let regs = table["rows"].as_array().unwrap().iter().find(|r| r["key"] == "limit.regs_per_core").unwrap();
    assert!(regs["slower"]["why_not"].as_str().is_some_and(|w| w.contains("registers")), "{regs}");
    // What it says is what a run with the number set says.
    let run = json(&["run", "hopper/tma_warp_specialized", "--set", "machine.tma.latency=0", "--json"]);
    let tma = table["rows"].as_array().unwrap().iter().find(|r| r["key"] == "tma.latency").unwrap();
    assert_eq!(tma["free"]["cycles"], run["cycles"]);
}

#[test]
fn a_slower_l2_slows_copies_down() {
    for scenario in ["hopper/tma_warp_specialized", "hopper/cp_async_wgmma"] {
        let table = json(&["whatif", scenario, "--set", "stages=2", "--json"]);
        let rows = table["rows"].as_array().unwrap();
        let l2 = rows.iter().find(|r| r["key"] == "memory.l2_latency").unwrap();
        let gain = |change: &str| l2[change]["gain"].as_f64().unwrap();
        assert!(gain("slower") < -0.001 && gain("faster") > 0.0005 && gain("free") > 0.0005, "{scenario}: {l2:#}");
    }
}

#[test]
fn pictures_and_refusals() {
    let dir = TempDir::new();
    let path = dir.file("w.png");
    let said = warpline(&["whatif", "metal/triple_buffer", "--plot", &path, "-q"]);
    assert_eq!((said.status, said.out.as_str()), (Status::Holds, ""), "{}", said.err);
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    let hang = warpline(&["whatif", "museum/m12_roles_disagree/bug"]);
    assert_eq!(hang.status, Status::BadInput);
    assert!(hang.err.contains("no time to improve"), "{}", hang.err);
}
