//! Registers: the scoreboard, and `setmaxnreg` (docs/rules.md 32, 40).

use super::{check, message, try_run};

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
fn a_load_into_a_register_waits_for_the_load_before_it() {
    let r = check(
        "paper",
        "
          grid 1  warps 1
          global A: f16[64, 128]
          reg x: f16[64, 64]
          all:
            ldg A[0, 0] -> x takes 1 lands 10
            ldg A[0, 1] -> x takes 1 lands 10
        ",
    );
    assert_eq!(r.cycles, 20.0);
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
fn one_warp_does_not_change_its_registers_alone() {
    let r = check(
        "h200",
        "
          grid 1  warps 4  regs 168
          warp 0: regs dec 40    //~ life cycle
        ",
    );
    assert_eq!(message(&r, "part"), "changes the registers of a part of warpgroup 0: warp 1 never does");
}

/// The outcomes of `calibrate/data/h200_setmaxnreg.csv` for blocks that end within a warpgroup.
#[test]
fn warps_of_a_block_that_ends_within_a_warpgroup_give_registers_to_their_own_scheduler() {
    let keeps = |second: &str, third: &str, outcome: &str| {
        let body = format!(
            "
          grid 1  warps 10  regs 168
          warps 0..4: regs inc 240    {outcome}
          {second}
          warps 8..10: regs dec {third}
        "
        );
        check("h200", &body)
    };
    // Two warps give back as many as the four ask for, on two of four schedulers.
    keeps("", "24", "//~ hangs");
    let r = keeps("warps 4..8: regs dec 96", "88", "");
    assert!(r.findings.iter().all(|f| f.note), "{:?}", r.findings);
    assert_eq!(message(&r, "only"), "warpgroup 2 has only 2 warps of four");
}

#[test]
fn a_part_of_a_warpgroup_that_waits_for_registers_is_told_beside_the_hang() {
    check(
        "h200",
        "
          grid 1  warps 8  regs 168
          warps 4..8: regs dec 160
          warps 0..2: regs inc 240    //~ life cycle, hangs
        ",
    );
}

#[test]
fn a_warp_that_ends_before_its_warpgroup_changes_registers() {
    for early in ["warp 3: exit", "warp 3: alu fma 1 x 1000000;  exit"] {
        let body = "
          grid 1  warps 4  regs 168
          all:
            EARLY
            regs dec 40    //~ life cycle
        ";
        check("h200", &body.replace("EARLY", early));
    }
}

#[test]
fn fewer_than_four_warps_are_no_warpgroup() {
    let r = check(
        "h200",
        "
          grid 1  warps 6  regs 168
          warps 0..4: regs dec 40
          warps 4..6: regs inc 240
        ",
    );
    assert_eq!(message(&r, "only"), "warpgroup 1 has only 2 warps of four");
}

#[test]
fn one_lane_does_not_change_registers() {
    check(
        "h200",
        "
          grid 1  warps 4  regs 168
          all: elect: regs dec 40    //~ life cycle
        ",
    );
}

#[test]
fn a_warpgroup_changes_its_registers_in_one_way() {
    // Two places in the text are one instruction where they say the same.
    check(
        "h200",
        "
          grid 1  warps 4  regs 168
          warp 0: regs dec 40
          warps 1..4: regs dec 40
        ",
    );
    let r = check(
        "h200",
        "
          grid 1  warps 4  regs 168
          warp 0: regs dec 40
          warps 1..4: regs dec 24    //~ life cycle
        ",
    );
    assert_eq!(message(&r, "ways"), "changes the registers of one warpgroup in two ways: warp 0 to 40");
}

#[test]
fn a_warpgroup_meets_before_it_changes_registers_again() {
    let body = "
      grid 1  warps 4  regs 168
      named x
      all:
        regs dec 40
        MEET
        regs dec 24    //~ life cycle
    ";
    for meet in ["alu fma 1 x 32", "warps 0..3: bar sync x (96)", "warp.sync"] {
        check("h200", &body.replace("MEET", meet));
    }
    for meet in ["barrier", "bar sync x (128)"] {
        check("h200", &body.replace("MEET", meet).replace("//~ life cycle", ""));
    }
}

#[test]
fn dec_takes_and_inc_gives() {
    let r = check(
        "h200",
        "
          grid 1  warps 8  regs 168
          warps 0..4: regs dec 176    //~ range
          warps 4..8: regs inc 160    //~ range
        ",
    );
    assert_eq!(message(&r, "dec"), "`regs dec` to 176 registers a thread, where it has 168");
}

#[test]
fn the_lanes_of_a_split_warp_change_registers_together() {
    // The elected lane's `elect:` block is behind the others' `lds`, which is before their `regs`.
    check(
        "h200",
        "
          grid 1  warps 4  regs 168
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          global A: f16[64, 64]
          mbar b (1)
          all:
            warp 0: elect: init b;  fence mbarrier_init
            barrier
            warp 0: lds s -> r
            regs dec 40
            warp 0: elect: arrive b expect bytes(s);  tma A[0, 0] -> s signals b
            wait b for 0
        ",
    );
}

#[test]
fn more_registers_than_a_thread_has_are_refused() {
    let e = try_run("h200", "\n  grid 1  warps 4  regs 264\n  all: barrier\n").unwrap_err();
    assert_eq!(e.to_string(), "264 registers a thread are more than h200's 255");
}
