//! Coverage: every K-tile once, every output piece once (docs/rules.md 43).

use super::{check, message};

fn gemm(loop_: &str, store: &str) -> warpline_sim::report::Report {
    check(
        "a100",
        &format!(
            "
          grid 1  warps 2
          global A: f16[64, 128]   global B: f16[128, 64]   global C: f16[64, 64]
          shared a[4]: f16[64, 32]   shared b[4]: f16[32, 64]
          reg acc: f32[32, 64]
          all:
            for i in 0..4: load A[0, i] -> a[i];  load B[i, 0] -> b[i]
            barrier
            zero acc
            {loop_}
            {store}
        "
        ),
    )
}

#[test]
fn every_k_tile_once_and_every_piece_stored_once() {
    gemm("for i in 0..4: mma a[i].rows(warp, 2), b[i] -> acc", "store acc -> C[0, 0].rows(warp, 2)");
}

#[test]
fn a_k_tile_twice() {
    let r = gemm(
        "for i in 0..5: mma a[i % 4].rows(warp, 2), b[i % 4] -> acc    //~ coverage",
        "store acc -> C[0, 0].rows(warp, 2)",
    );
    assert!(message(&r, "a second time").contains("elements 0..32 of"));
}

#[test]
fn a_k_tile_missing() {
    let r = gemm(
        "for i in 0..3: mma a[i].rows(warp, 2), b[i] -> acc",
        "store acc -> C[0, 0].rows(warp, 2)    //~ coverage",
    );
    assert!(message(&r, "stores acc").contains("3 of 4 blocks of"));
}

#[test]
fn a_k_tile_past_the_end() {
    let head = "
          grid 1  warps 1
          global A: f16[64, 128]   global B: f16[128, 64]   global C: f16[64, 64]
          shared a[5]: f16[64, 32]   shared b[5]: f16[32, 64]
          reg acc: f32[64, 64]
          mbar full (1)
          all:";
    let loads = "
            for i in 0..5: load A[0, i] -> a[i] masked;  load B[i, 0] -> b[i] masked
            barrier
            zero acc
            for i in 0..5: mma a[i], b[i] -> acc    //~ coverage
            store acc -> C[0, 0]";
    let r = check("a100", &format!("{head}{loads}"));
    assert!(message(&r, "not of the matrix").contains("elements 128..160 of"));
    // TMA fills in zeros.
    let tma = "
            elect: init full;  fence mbarrier_init
            barrier
            elect: arrive full expect 5 * (bytes(a) + bytes(b))
            elect: for i in 0..5: tma A[0, i] -> a[i] signals full;  tma B[i, 0] -> b[i] signals full
            wait full for 0
            zero acc
            for i in 0..5: mma a[i], b[i] -> acc
            store acc -> C[0, 0]";
    check("h200", &format!("{head}{tma}"));
}

#[test]
fn operands_of_different_k_tiles() {
    gemm(
        "for i in 0..4: mma a[i].rows(warp, 2), b[3 - i] -> acc    //~ coverage",
        "store acc -> C[0, 0].rows(warp, 2)",
    );
}

#[test]
fn an_output_piece_missing() {
    let r = gemm(
        "for i in 0..4: mma a[i].rows(warp, 2), b[i] -> acc",
        "warp 0: store acc -> C[0, 0].rows(warp, 2)    //~ coverage",
    );
    assert!(message(&r, "are stored").contains("2048 of 4096"));
}

#[test]
fn an_output_piece_twice() {
    gemm("for i in 0..4: mma a[i].rows(warp, 2), b[i] -> acc", "store acc -> C[0, 0].rows(0, 2)    //~ coverage");
}

#[test]
fn an_accumulator_that_is_not_cleared_carries_on() {
    gemm(
        "for j in 0..2, i in 0..4: mma a[i].rows(warp, 2), b[i] -> acc    //~ coverage",
        "store acc -> C[0, 0].rows(warp, 2)",
    );
}

#[test]
fn shares_that_do_not_cover_the_tile_leave_parts_unwritten() {
    // Two loaders of which one is missing: the other half is what it was.
    check(
        "a100",
        "
          grid 1  warps 2
          global A: f16[64, 64]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          all:
            warp 0: load A[0, 0].rows(0, 2) -> a.rows(0, 2)
            barrier
            lds a : A[0, 0] -> r    //~ stale tile
        ",
    );
}

#[test]
fn square_matrices_are_contracted_where_both_cover_the_same() {
    check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[64, 64]   global B: f16[64, 64]   global C: f16[64, 64]
          shared a: f16[64, 32]   shared b: f16[32, 64]
          all:
            zero acc: f32[64, 64]
            for i in 0..2:
              load A[0, i] -> a;  load B[i, 0] -> b
              mma a, b -> acc
            store acc -> C[0, 0]
        ",
    );
}

#[test]
fn a_sum_is_followed_through_shared_memory() {
    // Half of the K-tiles are missing.
    check(
        "a100",
        "
          grid 1  warps 1
          global A: f16[64, 64]   global B: f16[64, 64]   global C: f16[64, 64]
          shared a: f16[64, 32]   shared b: f16[32, 64]   shared c: f32[64, 64]
          reg acc: f32[64, 64], out: f32[64, 64]
          all:
            load A[0, 0] -> a;  load B[0, 0] -> b
            zero acc
            mma a, b -> acc
            sts acc -> c
            lds c -> out
            store out -> C[0, 0]    //~ coverage
        ",
    );
}

/// Two warps multiply half of `k` each; `sums` adds the halves and stores the result.
fn split(sums: &str) {
    let body = "
          grid 1  warps 2
          global A: f16[64, 64]   global B: f16[64, 64]   global C: f32[64, 64]
          shared a[2]: f16[64, 32]   shared b[2]: f16[32, 64]   shared c: f32[64, 64]
          reg acc: f32[64, 64], part: f32[64, 64], sum: f32[64, 64]
          all:
            zero acc
            warp 0: load A[0, 0] -> a[0];  load B[0, 0] -> b[0]
            warp 0: mma a[0], b[0] -> acc
            warp 1: load A[0, 1] -> a[1];  load B[1, 0] -> b[1]
            warp 1: mma a[1], b[1] -> acc
            SUMS
    ";
    check("a100", &body.replace("SUMS", &sums.replace("; ", "\n            ")));
}

#[test]
fn partial_sums_are_added_through_shared_memory() {
    let read = |rest: &str| split(&format!("warp 1: sts acc -> c; barrier; warp 0: lds c -> part; {rest}"));
    read("warp 0: alu fma 64 x 64 uses part, acc -> acc; warp 0: store acc -> C[0, 0]");
    // The result may go to the registers of either sum, or to others.
    read("warp 0: alu fma 64 x 64 uses acc, part -> part; warp 0: store part -> C[0, 0]");
    read("warp 0: alu fma 64 x 64 uses acc, part -> sum; warp 0: store sum -> C[0, 0]");
    read("warp 0: store acc -> C[0, 0]  //~ coverage");
    read("warp 0: store part -> C[0, 0]  //~ coverage");
}

#[test]
fn sums_of_several_accumulators_are_added() {
    let body = "
          grid 1  warps 1
          global A: f16[64, 64]   global B: f16[64, 64]   global C: f32[64, 64]
          shared a[2]: f16[64, 32]   shared b[2]: f16[32, 64]
          reg acc[2]: f32[64, 64]
          all:
            for h in 0..2:
              zero acc[h]
              load A[0, h] -> a[h];  load B[h, 0] -> b[h]
              mma a[h], b[h] -> acc[h]
            ADD
            store acc[0] -> C[0, 0] FOUND
    ";
    check("a100", &body.replace("ADD", "alu fma 64 x 64 uses acc[1], acc[0] -> acc[0]").replace("FOUND", ""));
    check("a100", &body.replace("ADD", "alu fma 64 x 64 uses acc[1]").replace("FOUND", "//~ coverage"));
}

/// What accesses a matrix, with the memory it needs: of 100 x 100, in blocks of 64 x 64.
fn outside(machine: &str, does: &str) {
    let body = "
          grid 1  warps 4
          global A: f16[100, 100]
          shared a: f16[64, 64]
          reg r: f16[64, 64]
          mbar full (1)
          all:
            DOES
    ";
    check(machine, &body.replace("DOES", does));
}

#[test]
fn a_block_that_threads_read_or_write_is_of_its_matrix() {
    for (machine, does) in [
        ("a100", "load A[AT] -> a MASKED"),
        ("a100", "cp A[AT] -> a MASKED;  commit cp;  wait cp <= 0"),
        ("mi355x", "dma A[AT] -> a MASKED"),
        ("m4-max", "ldg A[AT] -> r MASKED"),
        ("h200", "warp 0: store r -> A[AT] MASKED"),
    ] {
        let masked = |at: &str, word: &str| does.replace("AT", at).replace("MASKED", word);
        // The last block is part of one: a kernel that does not mask it is not told.
        outside(machine, &masked("1, 1", ""));
        for at in ["2, 0", "0, 2", "cta.m - 1, 0", "0, 77"] {
            outside(machine, &(masked(at, "") + "    //~ coverage"));
            outside(machine, &masked(at, "masked"));
        }
    }
}

#[test]
fn a_store_by_element_is_of_its_matrix() {
    outside("a100", "warp 0: store r -> A.at(99, 99)");
    outside("a100", "warp 0: store r -> A.at(100, 0)    //~ coverage");
    outside("a100", "warp 0: store r -> A.at(100, 0) masked");
}

#[test]
fn a_copy_engine_looks_where_a_matrix_ends() {
    let loads = "
            elect: init full;  fence mbarrier_init
            barrier
            warp 0: elect: arrive full expect bytes(a);  tma A[2, 0] -> a signals full
            wait full for 0
            warp 0: elect: tma.store a -> A[0, 2];  commit bulk;  wait bulk <= 0";
    outside("h200", &loads.replace("elect: init", "warp 0: elect: init"));
}

#[test]
fn what_lies_outside_is_said() {
    let body = "
          grid 1  warps 1
          global A: f16[100, 100]
          shared a[2]: f16[64, 64]
          all: for i in 0..3: load A[0, i] -> a[i % 2]    //~ coverage
    ";
    let r = check("a100", body);
    assert_eq!(
        message(&r, "begins"),
        "A[0, 2] begins at column 128 (blocks have 64 columns), and A has 100 columns: memory that is not the matrix's"
    );
}
