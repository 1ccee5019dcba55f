//! Registers: the scoreboard, and `setmaxnreg` (semantics.md 5; verification.md B.6).

use super::{check, try_run};

#[test]
fn a_use_waits_for_its_own_register_only() {
    let cycles = |used: &str| {
        let body = "
          grid 1  warps 1
          global A: f16[64, 128]
          reg x: f16[64, 64], y: f16[64, 64]
          all:
            ldg A[0, 0] -> x takes 1 lands 10
            ldg A[0, 1] -> y takes 1 lands 100
            alu fma 1 x 1 uses USED takes 5
        ";
        check("paper", &body.replace("USED", used)).cycles
    };
    // The CTA itself ends when its last load has landed.
    assert_eq!((cycles("x"), cycles("y")), (101.0, 106.0));
}

#[test]
fn a_register_stored_late_waits_for_its_load() {
    let r = check(
        "paper",
        "
          grid 1  warps 1
          global A: f16[64, 64]
          shared s: f16[64, 64]
          reg x: f16[64, 64]
          all:
            ldg A[0, 0] -> x takes 1 lands 10
            sts x -> s takes 2
        ",
    );
    assert_eq!(r.cycles, 12.0);
}

#[test]
fn inc_waits_until_another_warpgroup_gives_registers_back() {
    check(
        "h200",
        "
          grid 1  warps 8  regs 168
          warpgroup 1: regs inc 232
          warpgroup 0: regs dec 40
        ",
    );
}

#[test]
fn inc_beyond_the_pool_waits_for_ever() {
    check(
        "h200",
        "
          grid 1  warps 8  regs 168
          warps 4..8: regs inc 232    //~ hangs
          warps 0..4: regs dec 128
        ",
    );
}

#[test]
fn more_registers_than_a_thread_has_are_refused() {
    let e = try_run("h200", "\n  grid 1  warps 4  regs 256\n  all: barrier\n").unwrap_err();
    assert_eq!(e.to_string(), "256 registers a thread are more than h200's 255");
}
