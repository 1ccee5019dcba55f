//! Two runs side by side.

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
    let png = dir.file("c.png");
    let args = ["compare", "timeline/naive", "timeline/double_buffering", "--plot", &png, "-q"];
    assert_eq!(warpline(&args).err, "");
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
}
