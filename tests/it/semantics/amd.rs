//! AMD: counters, LDS, anonymous barriers (docs/rules.md 34 to 37).

use super::check;

#[test]
fn vm_counts_instructions_and_not_operations() {
    // 64 x 128 bf16 by 8 waves of 64 lanes x 16 B are 2 instructions of each wave: 7 leave one of the first operation open.
    check(
        "mi355x",
        "
          grid 1  warps 8  waits manual
          global A: bf16[256, 128]
          shared a[4]: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a[0];  dma A[1, 0] -> a[1];  dma A[2, 0] -> a[2];  dma A[3, 0] -> a[3]
            wait vm <= 6
            barrier
            lds a[0] : A[0, 0] -> r
        ",
    );
    check(
        "mi355x",
        "
          grid 1  warps 8  waits manual
          global A: bf16[256, 128]
          shared a[4]: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a[0];  dma A[1, 0] -> a[1];  dma A[2, 0] -> a[2];  dma A[3, 0] -> a[3]
            wait vm <= 7
            barrier
            lds a[0] -> r    //~ RAW race
        ",
    );
}

#[test]
fn a_wait_shows_the_own_waves_loads_and_a_barrier_everybodys() {
    check(
        "mi355x",
        "
          grid 1  warps 2  waits manual
          global A: bf16[64, 128]
          shared a: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a
            wait vm <= 0
            lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn a_barrier_waits_for_no_counter() {
    check(
        "mi355x",
        "
          grid 1  warps 2  waits manual
          global A: bf16[64, 128]
          shared a: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a
            barrier
            wait vm <= 0
            lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn dma_counts_in_vm_and_not_in_lgkm() {
    check(
        "mi355x",
        "
          grid 1  warps 2  waits manual
          global A: bf16[64, 128]
          shared a: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a
            wait lgkm <= 0
            barrier
            lds a -> r    //~ RAW race
        ",
    );
}

#[test]
fn lds_reads_are_open_until_lgkm() {
    // Triton 11696: a bare s_barrier before the reads have completed.
    check(
        "mi355x",
        "
          grid 1  warps 2  waits manual
          global A: bf16[64, 128]
          shared a: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a
            wait vm <= 0
            barrier
            lds a : A[0, 0] -> r
            barrier
            dma A[0, 0] -> a    //~ WAR race
        ",
    );
}

#[test]
fn lgkm_before_the_barrier_mends_it() {
    check(
        "mi355x",
        "
          grid 1  warps 2  waits manual
          global A: bf16[64, 128]
          shared a: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a
            wait vm <= 0
            barrier
            lds a : A[0, 0] -> r
            wait lgkm <= 0
            barrier
            dma A[0, 0] -> a
        ",
    );
}

#[test]
fn lds_stores_are_open_until_lgkm_too() {
    check(
        "mi355x",
        "
          grid 1  warps 2  waits manual
          shared s: bf16[64, 128]
          reg r: bf16[64, 128], q: bf16[64, 128]
          warp 0: sts r -> s
          all: barrier
          warp 1: lds s -> q    //~ RAW race
        ",
    );
}

#[test]
fn a_register_used_before_its_count_is_a_raw() {
    check(
        "mi355x",
        "
          grid 1  warps 1  waits manual
          global A: bf16[64, 64]
          reg r: bf16[64, 64]
          all:
            ldg A[0, 0] -> r
            alu fma 64 x 64 uses r    //~ RAW race
            wait vm <= 0
            alu fma 64 x 64 uses r
        ",
    );
}

#[test]
fn what_a_branch_skips_is_not_counted() {
    // A count written for two loads lets the only one pass.
    check(
        "mi355x",
        "
          grid 1  warps 1  waits manual
          global A: bf16[64, 128]
          shared a[2]: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a[0]
            if cta.m > 0: dma A[0, 0] -> a[1]
            wait vm <= 16
            lds a[0] -> r    //~ RAW race
        ",
    );
}

#[test]
fn what_a_mask_hides_is_counted() {
    check(
        "mi355x",
        "
          grid 1  warps 1  waits manual
          global A: bf16[64, 128]
          shared a[2]: bf16[64, 128]
          reg r
          all:
            dma A[0, 0] -> a[0]
            dma A[1, 0] -> a[1] masked
            wait vm <= 16
            lds a[0] : A[0, 0] -> r
        ",
    );
}

#[test]
fn anonymous_barriers_pair_by_count() {
    // HipKittens' stagger: one group meets an extra barrier at the start, the other at the end.
    check(
        "mi355x",
        "
          grid 1  warps 2  waits manual
          shared s[2]: bf16[64, 64]
          reg r: bf16[64, 64], q: bf16[64, 64]
          warp 1: barrier
          all: for i in 0..2:
            warp 0: sts r -> s[i];  wait lgkm <= 0
            barrier
            warp 1: lds s[i] -> q;  wait lgkm <= 0
          warp 0: barrier
        ",
    );
}

#[test]
fn an_ended_wave_does_not_block_a_barrier() {
    check(
        "mi355x",
        "
          grid 1  warps 2
          all:
            warp 1: exit
            barrier
        ",
    );
}

#[test]
fn a_compiler_that_counts_waits_for_the_register() {
    check(
        "mi355x",
        "
          grid 1  warps 2
          global A: bf16[64, 64]
          shared s: bf16[64, 64]
          reg r: bf16[64, 64]
          all:
            ldg A[0, 0] -> r
            sts r -> s
            barrier
            lds s -> r
            alu fma 64 x 64 uses r
            barrier
            sts r.rows(warp, 2) -> s.rows(warp, 2)
        ",
    );
}
