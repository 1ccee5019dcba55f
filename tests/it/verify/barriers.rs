//! Which synchronization is needed: facts that were computed by hand or by other means.

use serde_json::Value;

use super::{barriers, edited};

fn need<'a>(found: &'a Value, line: u64, text: &str) -> &'a Value {
    let list = found["statements"].as_array().unwrap();
    list.iter()
        .find(|s| s["place"]["line"] == line && s["place"]["text"].as_str().unwrap().contains(text))
        .unwrap_or_else(|| panic!("no `{text}` at line {line} in {found:#}"))
}

fn kinds(statement: &Value) -> Vec<&str> {
    statement["findings"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect()
}

#[test]
fn the_loop_end_barrier_is_needed_on_one_slot_and_redundant_on_two() {
    let one = barriers(&["mla/proj_k16_fixed"]);
    assert_eq!(one["verdict"], "proved");
    let loop_end = need(&one, 22, "barrier");
    assert_eq!((loop_end["need"].as_str(), loop_end["without"].as_str()), (Some("needed"), Some("violated")));
    // The next tile's load and this tile's read, whichever comes first in the run.
    let f = &loop_end["findings"][0];
    let lines = [f["place"]["line"].as_u64().unwrap(), f["other"]["line"].as_u64().unwrap()];
    assert!(lines.contains(&19) && lines.contains(&21), "{f:#}");
    assert!(kinds(loop_end).contains(&"WAR race"), "{:?}", kinds(loop_end));
    assert_eq!(need(&one, 20, "barrier")["need"], "needed");

    let two = edited("mla/proj_k16_fixed", &[("if slots == 1: barrier", "barrier")], |file| {
        barriers(&[file, "--set", "slots=2"])
    });
    let loop_end = need(&two, 22, "barrier");
    assert_eq!((loop_end["need"].as_str(), loop_end["without"].as_str()), (Some("redundant"), Some("proved")));
    assert_eq!((two["parameters"]["slots"].as_i64(), two["minimal"].as_str()), (Some(2), Some("proved")));
}

#[test]
fn merging_the_load_barrier_with_the_loop_end_barrier_holds_on_two_slots_only() {
    // One barrier a step, behind the load of the next step's tile.
    for (slots, verdict) in [("slots=1", "violated"), ("slots=2", "proved")] {
        let v = edited("mla/proj_k16_fixed", &[("if slots == 1: barrier", "if slots < 0: barrier")], |file| {
            super::verify(&[file, "--set", slots])
        });
        assert_eq!(v.word(), verdict, "{slots}");
    }
}

#[test]
fn one_of_two_barriers_of_a_cdna_step_can_go() {
    let found = barriers(&["cdna/two_step_ahead"]);
    let of = |line, text| need(&found, line, text)["need"].as_str().unwrap();
    assert_eq!([of(28, "barrier"), of(42, "barrier")], ["needed"; 2]);
    assert_eq!([of(33, "barrier"), of(38, "barrier")], ["redundant"; 2]);
    for line in [28, 33, 38] {
        assert_eq!(of(line, "wait lgkm"), "needed");
    }
    // Alone either can go, together they cannot: {0, 2, 3} and, the other way round, {0, 1, 3} are the minimal sets.
    assert_eq!(found["spare"].as_array().unwrap().len(), 1);
    assert_eq!(found["minimal"], "proved");
    let third =
        edited("cdna/two_step_ahead", &[("wait lgkm <= 0;  barrier  // 2", "wait lgkm <= 0")], |f| barriers(&[f]));
    assert_eq!(
        (third["verdict"].as_str(), need(&third, 33, "barrier")["need"].as_str()),
        (Some("proved"), Some("needed"))
    );
}

#[test]
fn the_one_barrier_of_a_metal_step_is_needed() {
    let found = barriers(&["metal/triple_buffer"]);
    assert_eq!(need(&found, 27, "barrier")["need"], "needed");
    assert_eq!(found["spare"], serde_json::json!([]));
}

#[test]
fn what_the_model_does_not_hold_kernels_to_is_not_called_redundant() {
    let found = barriers(&["hopper/tma_warp_specialized"]);
    assert_eq!(need(&found, 31, "wgmma.fence")["need"], "needed");
    assert_eq!(need(&found, 19, "fence mbarrier_init")["need"], "needed");
    // A fence whose absence is a note shows nothing when it is taken out; held to as a fault, it is judged.
    let quiet = barriers(&["blackwell/gemm_1sm"]);
    let judged = barriers(&["blackwell/gemm_1sm", "--fence", "tcgen05=error"]);
    let fences = |found: &Value| -> Vec<String> {
        let all = found["statements"].as_array().unwrap().iter();
        let of = all.filter(|s| s["place"]["text"].as_str().unwrap().starts_with("tmem.fence"));
        of.map(|s| s["need"].as_str().unwrap().to_string()).collect()
    };
    assert!(fences(&quiet).iter().all(|n| n == "not_judged"), "{quiet:#}");
    assert!(fences(&judged).contains(&"needed".to_string()), "{judged:#}");
    let staged = barriers(&["mla/proj_k16_fixed"]);
    assert_eq!(need(&staged, 29, "simd.barrier")["need"], "not_judged");
}

#[test]
fn nothing_is_taken_out_of_a_kernel_at_fault() {
    let found = barriers(&["mla/fused_kv"]);
    assert_eq!((found["verdict"].as_str(), &found["statements"]), (Some("violated"), &serde_json::json!([])));
}

#[test]
fn the_same_bytes_on_one_thread_or_many() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut found = pool.install(|| barriers(&["cdna/two_step_ahead"]));
        found["wall_s"] = Value::Null;
        found.to_string()
    };
    assert_eq!(on(1), on(4));
}
