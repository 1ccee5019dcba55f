//! Registers that are exchanged more than once: proved where the pool has enough in every order.

use warpline_tests::TempDir;

use super::{kernel, verify};

/// Registers are exchanged three times, between barriers of all warps. Workers keep `kept` in between.
fn handed(kept: u32) -> String {
    format!(
        "
kernel handed()
  grid 1  warps 8  regs 128
  warps 0..4:
    regs inc 216
    barrier
    regs dec 40
    barrier
  warps 4..8:
    regs dec {kept}
    barrier
    regs inc 216
    barrier
"
    )
}

#[test]
fn registers_that_suffice_in_every_order_are_proved() {
    assert_eq!(kernel("h200", &handed(40)).word(), "proved");
}

#[test]
fn registers_that_never_suffice_are_a_fault() {
    assert_eq!(kernel("h200", &handed(48)).word(), "violated");
}

/// Each warpgroup asks for registers that the other one may hold. Warps get registers one by one: if three warps of one
/// group and two of the other have theirs, both groups wait for registers.
#[test]
fn registers_that_suffice_in_some_orders_only_are_a_fault() {
    let group = |n: u32| {
        format!(
            "
    regs dec 40
    barrier
    regs inc 208
    bar sync own[{n}] (128)
    regs dec 40
    barrier
"
        )
    };
    let text = format!(
        "
kernel asked()
  grid 1  warps 8  regs 128
  named own[2]
  warps 0..4:{}  warps 4..8:{}",
        group(0),
        group(1)
    );
    let v = kernel("h200", &text);
    assert_eq!((v.word(), v.json["hang"][0]["code"].as_str()), ("violated", Some("WL0201")), "{:#}", v.json);
}

/// The elected lane ends while the other lanes of its warp wait for registers. The search makes that schedule, and so
/// does `run`.
#[test]
fn an_elected_lane_may_end_before_its_warp_has_registers() {
    let text = "
kernel ends(jobs = 1)
  grid 2  warps 8  regs 168
  all:
    warp 0: elect: fence mbarrier_init
    barrier
  warps 4..8:
    regs dec 40
  warps 0..4:
    regs inc 232
    warp 0: elect: wait bulk <= 0
";
    let dir = TempDir::new();
    let file = dir.write("ends.pipe", text);
    assert_eq!(verify(&[&file, "--machine", "h200", "--engine", "search"]).json["verdict"], "bounded");
    let short = text.replace("inc 232", "inc 232\n    warp 1: regs inc 232");
    let file = dir.write("short.pipe", &short);
    assert_eq!(verify(&[&file, "--machine", "h200", "--engine", "search"]).json["verdict"], "violated");
}
