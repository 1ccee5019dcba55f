//! `wgmma`: groups, the warpgroup, registers (docs/rules.md 3, 25).

use super::check;

const HEAD: &str = "
          grid 1  warps WARPS
          global A: f16[64, 256]   global B: f16[256, 64]   global C: f16[64, 64]
          shared a[2]: f16[64, 64]   shared b[2]: f16[64, 64]
          reg acc: f32[64, 64]
          mbar full[2] (1)   mbar empty (128)
          all:
            warp 0: elect: init full, empty;  fence mbarrier_init
            barrier
            warp 0: elect: for s in 0..2:
              arrive full[s] expect bytes(a) + bytes(b)
              tma A[0, s] -> a[s] signals full[s]
              tma B[s, 0] -> b[s] signals full[s]
            wait full[0] for 0;  wait full[1] for 0
            wgmma.fence
";

fn after_loads(warps: u32, rest: &str) {
    check("h200", &(HEAD.replace("WARPS", &warps.to_string()) + rest));
}

#[test]
fn the_accumulator_may_be_read_after_the_wait() {
    after_loads(
        4,
        "
            zero acc
            wgmma a[0], b[0] -> acc;  commit wgmma
            wait wgmma <= 0
            alu fma 64 x 64 uses acc
        ",
    );
}

#[test]
fn the_accumulator_before_the_wait_is_a_raw() {
    after_loads(
        4,
        "
            zero acc
            wgmma a[0], b[0] -> acc;  commit wgmma
            alu fma 64 x 64 uses acc    //~ RAW race
            wait wgmma <= 0
        ",
    );
}

#[test]
fn a_wait_may_leave_the_newest_group_in_flight() {
    after_loads(
        4,
        "
            zero acc
            wgmma a[0], b[0] -> acc;  commit wgmma
            wgmma a[1], b[1] -> acc;  commit wgmma
            wait wgmma <= 1
            warp 0: elect:
              arrive full[0] expect bytes(a)
              tma A[0, 2] -> a[0] signals full[0]
              wait full[0] for 1
            wait wgmma <= 0
        ",
    );
}

#[test]
fn a_slot_that_a_group_in_flight_reads_is_a_war() {
    after_loads(
        4,
        "
            zero acc
            wgmma a[0], b[0] -> acc;  commit wgmma
            wgmma a[1], b[1] -> acc;  commit wgmma
            wait wgmma <= 2
            warp 0: elect:
              arrive full[0] expect bytes(a)
              tma A[0, 2] -> a[0] signals full[0]    //~ WAR race
              wait full[0] for 1
            wait wgmma <= 0
        ",
    );
}

#[test]
fn a_wait_covers_the_own_warpgroup_only() {
    // TileLang 2613.
    after_loads(
        8,
        "
            zero acc
            wgmma a[0], b[0] -> acc;  commit wgmma
            wait wgmma <= 0
            warp 0: elect:
              arrive full[0] expect bytes(a)
              tma A[0, 2] -> a[0] signals full[0]    //~ WAR race, parity alias
              wait full[0] for 1
        ",
    );
}

#[test]
fn a_group_without_commit_is_not_waited_for() {
    after_loads(
        4,
        "
            zero acc
            wgmma a[0], b[0] -> acc
            wait wgmma <= 0
            commit wgmma
            alu fma 64 x 64 uses acc    //~ RAW race
        ",
    );
}

#[test]
fn wgmma_joins_the_four_warps() {
    // One arrival for the whole warpgroup is enough behind a wgmma, though four warps wait.
    check(
        "h200",
        "
          grid 1  warps 8
          global A: f16[64, 256]   global B: f16[256, 64]
          shared a: f16[64, 64]   shared b: f16[64, 64]
          mbar full (1)   mbar empty (1)
          role load = warp 0
          role math = warpgroup 1
          all: warp 0: elect: init full, empty;  fence mbarrier_init
          barrier
          load: elect: for i in 0..4:
            wait empty for i - 1
            arrive full expect bytes(a) + bytes(b)
            tma A[0, i] -> a signals full
            tma B[i, 0] -> b signals full
          math:
            zero acc: f32[64, 64]
            for i in 0..4:
              wait full for i
              wgmma.fence
              wgmma a : A[0, i], b : B[i, 0] -> acc
              commit wgmma;  wait wgmma <= 0
              if warp == 4: elect: arrive empty
        ",
    );
}

#[test]
fn a_warp_that_does_not_come_holds_the_warpgroup() {
    after_loads(
        4,
        "
            zero acc
            warps 0..3:
              wgmma a[0], b[0] -> acc    //~ hangs
        ",
    );
}

#[test]
fn registers_of_the_left_operand_are_read_until_the_wait() {
    after_loads(
        4,
        "
            zero acc
            lds a[0] -> p
            alu fma 64 x 64 uses p
            wgmma.fence
            wgmma p, b[0] -> acc;  commit wgmma
            alu fma 64 x 64 -> p    //~ WAR race
            wait wgmma <= 0
        ",
    );
}
