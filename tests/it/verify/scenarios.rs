//! The verdict of every scenario that comes with warpline.

use rayon::prelude::*;

use super::verify;

/// The scenarios with a fault: the kind of the fault and a part of the line's text.
const VIOLATED: [(&str, &str, &str); 7] = [
    ("blackwell/level2_2sm", "parity alias", "wait full[i % stages] for i / stages"),
    ("blackwell/level2_2sm_8192", "parity alias", "wait full[i % stages] for i / stages"),
    ("hopper/cp_async_wgmma_no_fence", "missing fence", "wgmma a"),
    ("mla/fused_kv", "range", ""),
    ("mla/proj_k16", "WAW race", "sts acc.block(r, c)"),
    ("mla/proj_k32", "WAW race", "sts acc.block(r, c)"),
    ("pipelined/plan_c", "RAW race", "lds As[s].0.rows(self / 4, 2)"),
];

#[test]
fn every_scenario_has_its_verdict() {
    // The museum has a table of its own.
    let names = warpline_scenarios::embedded_names().into_par_iter().filter(|n| !n.starts_with("museum/"));
    names.for_each(|name| {
        let v = verify(&[name]);
        if let Some((_, kind, at)) = VIOLATED.iter().find(|x| x.0 == name) {
            v.violated(kind, at);
        } else {
            v.proved();
        }
    });
}

/// The steps of published ladders and ablations that are values of a kernel, not kernels of their own.
#[test]
fn variants_that_accuracy_rests_on_hold() {
    verify(&["attention/fa3", "--set", "overlap=0"]).proved();
    verify(&["cdna/register_buffer", "--set", "ahead=0"]).proved();
    verify(&["cdna/register_buffer", "--set", "ahead=0", "--set", "atom=0"]).proved();
    verify(&["ampere/multistage_f32", "--set", "stages=4"]).proved();
    verify(&["ampere/multistage_f32", "--set", "down=4", "--set", "across=4", "--set", "regs=64"]).proved();
}

#[test]
fn the_projections_are_at_fault_where_blocks_are_partial() {
    for (name, k) in [("mla/proj_k16", "k=512"), ("mla/proj_k32", "k=512")] {
        let set = |m, n| verify(&[name, "--set", m, "--set", n, "--set", k]);
        set("m=4096", "n=8192").proved();
        let rows = set("m=4100", "n=8192");
        rows.violated("WAW race", "sts acc").violated("stale tile", "lds stage");
        assert!(rows.json["violation"]["class"].as_str().unwrap().starts_with("row 64"), "{:#}", rows.json);
        set("m=4096", "n=8196").violated("divergent barrier", "barrier");
        for (m, n) in [("m=4100", "n=8192"), ("m=4096", "n=8196"), ("m=4100", "n=8196")] {
            verify(&[name, "--set", m, "--set", n, "--set", k, "--set", "own_staging=1"]).proved();
        }
    }
}

#[test]
fn idle_simdgroups_address_outside_their_share() {
    let v = verify(&["mla/fused_kv"]);
    let who = v.json["violations"][0]["agent"].as_str().unwrap();
    assert!(who.contains("w2") || who.contains("w3"), "{who}");
}
