//! Pipeline states: a stage, and a phase that flips where the stage wraps. Kernels write them in several forms. Each form
//! becomes a counter, so that a ring turns slot by slot.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, compile};
use warpline_sim::engine::rules;
use warpline_verify::{Options, verify};

const DECLARED: &str = "var s = 0;  var p = 1";

/// Whether the verdict on a kernel with these declarations, this wait and this end of an iteration is by counters.
fn counted(declared: &str, wait: &str, update: &str) -> bool {
    let text = format!(
        "kernel t()\n  warps 1\n  mbar b[8] (32)\n  all:\n    {declared}\n    for i in 0..9:\n      \
         arrive b[s];  {wait}\n      {update}\n"
    );
    let machine = warpline_models::embedded("h200").expect("a model");
    let set = BTreeMap::new();
    let prog = compile("t.pipe", &text, &Inputs { set: &set, cores: Some(1) }).expect("the kernel compiles");
    verify(&prog, rules(&machine), Options::default()).renumbered
}

#[test]
fn updates_in_any_form_count() {
    let wait = "wait b[s] parity p";
    for update in [
        "s += 1;  if s == 3: s = 0; p = 1 - p",
        "s += 1;  if s == 3: p = 1 - p; s = 0",
        "if s == 2: p = 1 - p\n      s = s == 2 ? 0 : s + 1",
        "s = (s + 1) % 3;  if s == 0: p = (p + 1) % 2",
        "s = s + 1 < 3 ? s + 1 : 0\n      p = s == 0 ? 1 - p : p",
        "s = (s + 1) % 3;  if s == 0: p = 1 - p\n      warp.sync\n      s = (s + 1) % 3;  if s == 0: p = 1 - p",
        // The stage counts where the phase flips elsewhere.
        "s += 1;  if s == 3: s = 0\n      if i == 4: p = 1 - p",
    ] {
        assert!(counted(DECLARED, wait, update), "{update}");
    }
    assert!(counted("var p = 0;  var s = 2", wait, "s = (s + 1) % 5;  if s == 0: p = 1 - p"));
}

#[test]
fn other_updates_are_left_alone() {
    for update in [
        "s += 1;  if s == 3: s = 0; p = i % 2\n      if i == 4: s = 0",
        "s += 2;  if s == 4: s = 0; p = i % 2",
        "if i != 5: s += 1\n      if s == 3: s = 0; p = i % 2",
        // The stage decides where the phase flips.
        "s += 1;  if s == 3: s = 0\n      if s == 2: p = 1 - p",
    ] {
        assert!(!counted(DECLARED, "wait b[s] parity p", update), "{update}");
    }
}

/// The counter of such a kernel would not rotate.
#[test]
fn a_kernel_in_which_a_stage_decides_stays_as_it_is() {
    let update = "s += 1;  if s == 3: s = 0; p = 1 - p";
    for wait in ["wait b[s] parity (s >= 2 ? 1 - p : p)", "if s == 2: wait b[s] parity p"] {
        assert!(!counted(DECLARED, wait, update), "{wait}");
    }
}
