//! Verdicts are held against runs, and against themselves.

use warpline::Status;
use warpline_sim::RunOptions;
use warpline_tests::warpline;

use super::verify;
use crate::facts::load;

#[test]
fn what_is_proved_runs_clean_at_larger_trip_counts() {
    let cases = [
        ("hopper/tma_warp_specialized", "k", 64, vec![2, 3]),
        ("metal/triple_buffer", "k", 32, vec![1, 2, 3]),
        ("cdna/two_step_ahead", "k", 64, vec![]),
        ("ampere/smem_double_buffer", "k", 32, vec![]),
        ("mla/proj_k16_fixed", "k", 16, vec![]),
    ];
    for (name, parameter, step, _) in cases {
        verify(&[name]).proved();
        for tiles in [1, 2, 3, 7, 41, 97] {
            let set = [(parameter, (tiles * step) as f64), ("m", 256.0), ("n", 256.0)];
            let (program, machine) = load(name, &set);
            let report = warpline_sim::run(&program, &machine, &RunOptions::default()).unwrap();
            assert!(report.clean(), "{name} at {tiles}: {:?} {:#?}", report.outcome, report.findings);
        }
    }
}

#[test]
fn what_is_violated_shows_in_a_run_too() {
    for name in ["mla/proj_k16", "mla/fused_kv", "hopper/cp_async_wgmma_no_fence"] {
        assert_eq!(verify(&[name]).word(), "violated");
        assert_eq!(warpline(&["run", name, "--quiet"]).status, Status::Violated, "{name}");
    }
}

#[test]
fn the_same_verdict_twice() {
    for name in ["hopper/tma_warp_specialized", "blackwell/level2_2sm", "mla/proj_k16", "hopper/persistent"] {
        let once = || {
            let mut json = verify(&[name]).json;
            json["wall_s"] = serde_json::Value::Null;
            json.to_string()
        };
        assert_eq!(once(), once());
    }
}

#[test]
fn a_smaller_limit_gives_a_smaller_answer_and_never_another() {
    verify(&["hopper/tma_warp_specialized", "--max-trips", "20"]).bounded("no state recurs within 20 steps");
    verify(&["hopper/tma_warp_specialized", "--max-steps", "50"]).gave_up("more than 50 steps");
    assert_eq!(warpline(&["verify", "hopper/tma_warp_specialized", "--max-steps", "50", "-q"]).status, Status::GaveUp);
}
