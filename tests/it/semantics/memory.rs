//! Slots: pieces, overlays, versions (docs/rules.md 41, 42).

use super::{check, message};

#[test]
fn halves_of_a_slot_are_independent() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64] pieces 2 rows
          reg r: f16[32, 64]
          warp 0: sts r -> s.0
          warp 1: sts r -> s.1;  lds s.1 -> r
        ",
    );
}

#[test]
fn one_half_written_twice_without_order_is_a_waw() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64] pieces 2 rows
          reg r: f16[32, 64]
          warp 0: sts r -> s.0
          warp 1:
            sts r -> s.1
            sts r -> s.0    //~ WAW race
        ",
    );
}

#[test]
fn overlaid_buffers_conflict() {
    // Marlin 42: the scales lie over the reduction's buffer.
    check(
        "a100",
        "
          grid 1  warps 2
          shared x: f16[64, 64]
          shared y: f16[64, 64] overlay on x
          reg r: f16[64, 64]
          warp 0: sts r -> x;  lds x -> r
          warp 1:
            alu fma 1 x 1000000
            sts r -> y    //~ WAW race, WAR race
        ",
    );
}

#[test]
fn a_barrier_between_overlaid_uses_is_enough() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared x: f16[64, 64]
          shared y: f16[64, 64] overlay on x
          reg r: f16[64, 64]
          warp 0: sts r -> x;  lds x -> r
          all: barrier
          warp 1: sts r -> y
        ",
    );
}

#[test]
fn slots_meet_where_their_bytes_do() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared x[2]: f16[64, 64]
          shared y: f16[64, 64] overlay on x
          reg r: f16[64, 64]
          warp 0: sts r -> x[1]
          warp 1: sts r -> y
        ",
    );
}

#[test]
fn parts_of_overlaid_buffers_meet_where_their_elements_do() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared x: f16[64, 64]
          shared y: f16[64, 64] overlay on x
          reg r: f16[32, 64]
          warp 0: sts r -> x.rows(0, 2)
          warp 1:
            sts r -> y.rows(1, 2)
            alu fma 1 x 1000000
            sts r -> y.rows(0, 2)    //~ WAW race
        ",
    );
}

#[test]
fn buffers_of_other_layouts_meet_as_a_whole() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared x: f16[64, 64]
          shared y: f32[64, 32] overlay on x
          reg r: f16[32, 64], q: f32[32, 32]
          warp 0: sts r -> x.rows(0, 2)
          warp 1:
            alu fma 1 x 1000000
            sts q -> y.rows(1, 2)    //~ WAW race
        ",
    );
}

#[test]
fn an_overlay_on_an_overlay_lies_where_that_one_lies() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared x: f16[64, 64]
          shared y: f16[64, 64] overlay on x
          shared z: f16[64, 64] overlay on y
          reg r: f16[64, 64]
          warp 0: sts r -> x
          warp 1:
            alu fma 1 x 1000000
            sts r -> z    //~ WAW race
        ",
    );
}

#[test]
fn what_an_overlay_overwrote_is_gone() {
    let r = check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[64, 64]
          shared x: f16[64, 64]
          shared y: f16[64, 64] overlay on x
          reg r: f16[64, 64]
          all:
            load A[0, 0] -> x
            load A[0, 0] -> y
            lds x : A[0, 0] -> r    //~ stale tile
        ",
    );
    assert!(message(&r, "reads A[0, 0] from x").ends_with("finds nothing written yet"));
}

#[test]
fn a_slot_that_nothing_wrote_is_not_read() {
    // The load fills the other one. What no statement writes is an input, and so may be what has one slot.
    let r = check(
        "a100",
        "
          grid 1  warps 1
          global X: f16[16, 16]
          reg x[2]: f16[16, 16]   reg input[2]: f16[16, 16]
          all:
            ldg X[0, 0] -> x[1]
            alu fma 16 x 16 uses x[0]    //~ stale tile
            alu fma 16 x 16 uses x[1]
            alu fma 16 x 16 uses input[0]
        ",
    );
    assert!(message(&r, "reads x[0]").ends_with("which nothing has written"));
}

#[test]
fn a_read_is_held_to_the_tile_it_names() {
    let r = check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[64, 128]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            load A[0, 1] -> a
            lds a : A[0, 0] -> r    //~ stale tile
            lds a : A[0, 1] -> r
            lds a -> r
        ",
    );
    assert_eq!(r.reads_checked, (2, 3));
}

#[test]
fn a_part_is_held_to_the_same_part_of_the_tile() {
    check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64] pieces 2 rows
          reg r
          all:
            load A[0, 0].1 -> a.0
            load A[0, 0].1 -> a.1
            lds a.1 : A[0, 0].1 -> r
            lds a.0 : A[0, 0].0 -> r    //~ stale tile
        ",
    );
}

#[test]
fn a_part_is_held_to_a_tile_of_its_size() {
    check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[128, 64]
          shared a: f16[128, 64] pieces 2 rows
          reg r: f16[64, 64]
          all:
            for c in 0..2: load A[c, 0] -> a[0][c]
            for c in 0..2: lds a[0][c] : A[c, 0] -> r
            for c in 0..2: lds a.rows(c, 2) : A[c, 0] -> r
            lds a.1 : A[0, 0] -> r    //~ stale tile
        ",
    );
}

#[test]
fn a_slot_outside_the_buffer_is_a_fault() {
    check(
        "a100",
        "
          grid 1  warps 1
          shared s[2]: f16[64, 64]
          reg r: f16[64, 64]
          all: for i in 0..3:
            sts r -> s[i]    //~ range
        ",
    );
}
