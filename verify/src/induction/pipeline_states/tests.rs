//! Updates of pipeline states in the forms that kernels have.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, compile};

use super::*;

/// The number of stages, the number of updates and whether there is a phase, of a kernel with these declarations and
/// this end of an iteration.
fn found(declared: &str, update: &str) -> Option<(i64, usize, bool)> {
    let text = format!(
        "kernel t()\n  warps 1\n  mbar b[8] (32)\n  all:\n    {declared}\n    for i in 0..9:\n      \
         arrive b[s];  wait b[s] parity p\n      {update}\n"
    );
    let set = BTreeMap::new();
    let prog = compile("t.pipe", &text, &Inputs { set: &set, cores: Some(1) }).expect("the kernel compiles");
    let all = || 0..prog.code.len();
    let with_phase = all().find_map(|at| PipelineState::at(&prog, at, true));
    let state = with_phase.or_else(|| all().find_map(|at| PipelineState::at(&prog, at, false)))?;
    Some((state.stages, state.updates.len(), state.phase.is_some()))
}

#[test]
fn updates_in_any_form_count() {
    let declared = "var s = 0;  var p = 1";
    for update in [
        "s += 1;  if s == 3: s = 0; p = 1 - p",
        "s += 1;  if s == 3: p = 1 - p; s = 0",
        "if s == 2: p = 1 - p\n      s = s == 2 ? 0 : s + 1",
        "s = (s + 1) % 3;  if s == 0: p = (p + 1) % 2",
        "s = s + 1 < 3 ? s + 1 : 0\n      p = s == 0 ? 1 - p : p",
    ] {
        assert_eq!(found(declared, update), Some((3, 1, true)), "{update}");
    }
    assert_eq!(found("var p = 0;  var s = 2", "s = (s + 1) % 5;  if s == 0: p = 1 - p"), Some((5, 1, true)));
    let twice = "s = (s + 1) % 3;  if s == 0: p = 1 - p\n      warp.sync\n      s = (s + 1) % 3;  if s == 0: p = 1 - p";
    assert_eq!(found(declared, twice), Some((3, 2, true)));
}

#[test]
fn a_phase_that_flips_elsewhere_is_none() {
    let declared = "var s = 0;  var p = 1";
    for update in [
        "s += 1;  if s == 3: s = 0\n      if s == 2: p = 1 - p",
        "s += 1;  if s == 3: s = 0\n      if i == 4: p = 1 - p",
    ] {
        assert_eq!(found(declared, update), Some((3, 1, false)), "{update}");
    }
}

#[test]
fn other_updates_are_left_alone() {
    let declared = "var s = 0;  var p = 1";
    for update in [
        "s += 1;  if s == 3: s = 0; p = i % 2\n      if i == 4: s = 0",
        "s += 2;  if s == 4: s = 0; p = i % 2",
        "if i != 5: s += 1\n      if s == 3: s = 0; p = i % 2",
    ] {
        assert_eq!(found(declared, update), None, "{update}");
    }
}

/// The counter of such a kernel would not rotate.
#[test]
fn a_kernel_in_which_a_stage_decides_stays_as_it_is() {
    let unchanged = |wait: &str| {
        let text = format!(
            "kernel t()\n  warps 1\n  mbar b[8] (32)\n  all:\n    var s = 0;  var p = 1\n    for i in 0..9:\n      \
             arrive b[s];  {wait}\n      s += 1;  if s == 3: s = 0; p = 1 - p\n"
        );
        let set = BTreeMap::new();
        let prog = compile("t.pipe", &text, &Inputs { set: &set, cores: Some(1) }).expect("the kernel compiles");
        counted(&prog).code == prog.code
    };
    assert!(!unchanged("wait b[s] parity p"));
    assert!(unchanged("wait b[s] parity (s >= 2 ? 1 - p : p)"));
    assert!(unchanged("if s == 2: wait b[s] parity p"));
}

#[test]
fn a_parity_is_linear() {
    let rounds = Expr::binary(Binary::Div, Expr::Var(0), Expr::Const(4));
    let bit = Expr::binary(Binary::Rem, rounds.clone(), Expr::Const(2));
    let flipped = Expr::binary(Binary::Sub, Expr::Const(1), bit.clone());
    assert_eq!(parity(&bit), Some(rounds.clone()));
    assert_eq!(parity(&flipped), Some(Expr::binary(Binary::Add, Expr::Const(1), rounds.clone())));
    assert_eq!(parity(&rounds), None);
}
