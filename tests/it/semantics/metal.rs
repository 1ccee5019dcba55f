//! Metal: barrier flags, synchronous loads (docs/rules.md 38, 39).

use super::check;

/// A load of a tile by both warps, a barrier, and reads of the whole tile.
#[track_caller]
fn read_behind(barrier: &str, read: &str) {
    let text = format!(
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            load A[0, 0] -> a
            {barrier}
            {read}
        "
    );
    check("m4-max", &text);
}

#[test]
fn a_barrier_without_flags_orders_nothing() {
    read_behind("barrier none", "lds a -> r    //~ RAW race");
}

#[test]
fn a_barrier_of_device_memory_orders_no_threadgroup_memory() {
    read_behind("barrier device", "lds a -> r    //~ RAW race");
}

#[test]
fn a_barrier_with_its_flag_orders_threadgroup_memory() {
    read_behind("barrier", "lds a : A[0, 0] -> r");
}

#[test]
fn a_load_is_over_when_the_simdgroup_goes_on() {
    let r = check(
        "m4-max",
        "
          grid 1  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            load A[0, 0] -> a
            lds a : A[0, 0] -> r
        ",
    );
    assert_eq!(r.reads_checked, (1, 1));
}

#[test]
fn simdgroups_share_a_load_out_and_need_a_barrier() {
    check(
        "m4-max",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg own: f16[32, 64], r: f16[64, 64]
          all:
            load A[0, 0] -> a
            simd.barrier
            lds a.rows(warp, 2) -> own
            lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn a_batch_is_part_of_the_kernel() {
    let time = |batch: &str| {
        let body = "
          grid 1  warps 1
          global A: f16[64, 64]
          shared a: f16[64, 64]
          all: load A[0, 0] -> a batch BATCH
        ";
        check("m4-max", &body.replace("BATCH", batch)).cycles
    };
    assert!(time("1") > time("4") && time("4") > time("16"), "more loads in flight take less time");
}

#[test]
fn a_threadgroup_barrier_that_a_simdgroup_left_by_ending_is_divergent() {
    // vllm-mlx 721; legal by the letter on Apple silicon, and reported all the same.
    check(
        "m4-max",
        "
          grid 1  warps 2
          all:
            warp 1: exit
            barrier    //~ divergent barrier
        ",
    );
}
