//! Threads of a block, and what a warp does as one.

use crate::common::verdict_on;

/// A kernel with these bounds and these instructions.
fn verdict(bounds: &str, before: &str, last: &str) -> String {
    verdict_on(&format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{bounds}{{\n\
         \t.reg .pred %p<8>;\n\t.reg .b16 %rs<4>;\n\t.reg .b32 %r<16>;\n\t.reg .f32 %f<4>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 16 .b8 data[4096];\n\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r3, data;\n\
         {before}{last}\tret;\n}}\n"
    ))
}

/// Each warp copies to a row of its own: the threads of a warp have one `%tid.y`.
const ROW_OF_A_WARP: &str = "\tmov.u32 %r2, %tid.y;\n\tshl.b32 %r4, %r2, 7;\n\tadd.s32 %r4, %r4, %r3;\n\tshl.b32 %r5, %r1, 2;\n\
     \tand.b32 %r5, %r5, 127;\n\tadd.s32 %r4, %r4, %r5;\n\tcp.async.ca.shared.global [%r4], [%rd1], 4;\n";

const THEN_READ: &str =
    "\tcp.async.wait_all;\n\tbar.sync 0;\n\tld.shared.b32 %r7, [%r4];\n\tst.global.b32 [%rd1], %r7;\n";

#[test]
fn a_bound_is_no_shape_of_threads_with_two_coordinates() {
    assert_eq!(verdict(".maxntid 128, 1, 1\n", ROW_OF_A_WARP, THEN_READ), "proved\t");
    // All threads are in one row.
    assert!(verdict(".reqntid 128, 1, 1\n", ROW_OF_A_WARP, THEN_READ).starts_with("violated"));
    let with_layers = format!("\tmov.u32 %r6, %tid.z;\n{ROW_OF_A_WARP}");
    let said = verdict(".maxntid 128, 1, 1\n", &with_layers, THEN_READ);
    assert!(said.starts_with("rejected") && said.contains("which shape"), "{said}");
}

#[test]
fn a_barrier_of_more_threads_than_a_warpgroup_leaves_the_block_open() {
    let load = "\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {%r7}, [%r6];\n";
    for (threads, open) in [(128, false), (160, true)] {
        let said = verdict("", load, &format!("\tmov.b32 %r8, {threads};\n\tmov.b32 %r9, 1;\n\tbar.sync %r9, %r8;\n"));
        assert_eq!(said.contains("how many threads"), open, "{said}");
    }
}

/// All warps read one byte, so that all meet at the barrier or none does.
#[test]
fn a_byte_that_all_warps_read_decides_for_all() {
    let before = "\tmov.u32 %r5, %ctaid.x;\n\tcvt.u64.u32 %rd2, %r5;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.u8 %rs1, [%rd3];\n\
                  \tsetp.eq.s16 %p1, %rs1, 0;\n\t@%p1 bra $L1;\n";
    assert_eq!(verdict(".reqntid 128\n", before, "\tbar.sync 0;\n$L1:\n"), "proved\t");
    // Each warp reads a byte of its own.
    let own = format!("\tshr.u32 %r6, %r1, 5;\n{}", before.replace("%ctaid.x;", "%ctaid.x;\n\tadd.s32 %r5, %r5, %r6;"));
    assert!(!verdict(".reqntid 128\n", &own, "\tbar.sync 0;\n$L1:\n").starts_with("proved"));
}

/// Another grid may change what is read by `ld.relaxed`, so that two warps read two values.
#[test]
fn a_relaxed_read_does_not_decide_for_all() {
    let before =
        |load: &str| format!("\t{load}.global.u32 %r5, [%rd1];\n\tsetp.eq.s32 %p1, %r5, 0;\n\t@%p1 bra $L1;\n");
    assert_eq!(verdict(".reqntid 128\n", &before("ld"), "\tbar.sync 0;\n$L1:\n"), "proved\t");
    let relaxed = verdict(".reqntid 128\n", &before("ld.relaxed.gpu"), "\tbar.sync 0;\n$L1:\n");
    assert!(!relaxed.starts_with("proved"), "{relaxed}");
}

/// `0.` is a number. So the compiler writes operands of inline assembly.
#[test]
fn a_number_may_end_with_its_point() {
    let before = "\tfma.rn.f32 %f1, %f2, 0., %f3;\n\tfma.rn.f32 %f1, %f2, 1.5, 2.;\n";
    assert_eq!(verdict(".reqntid 32\n", before, ""), "proved\t");
}

/// A row of 128 threads has one `%tid.z`, which says the role of its warps. The number of a warp says how long a row is.
#[test]
fn the_number_of_a_warp_says_how_many_threads_a_row_has() {
    let body = |row: u32, role: u32| {
        let before = format!(
            "\tmov.u32 %r2, %tid.z;\n\tshr.u32 %r4, %r1, 5;\n\tshl.b32 %r10, %r2, {row};\n\tadd.s32 %r5, %r10, %r4;\n\
             \tshl.b32 %r6, %r5, 2;\n\tadd.s32 %r6, %r6, %r3;\n\tst.shared.b32 [%r6], %r5;\n\
             \tmov.u32 %r8, %ntid.x;\n\tmad.lo.s32 %r9, %r2, %r8, %r1;\n"
        );
        let last = format!("\tsetp.ne.s32 %p1, %r2, {role};\n\t@%p1 bra $L1;\n\tbarrier.sync 1, 128;\n$L1:\n");
        verdict(".maxntid 384, 1, 1\n", &before, &last)
    };
    assert_eq!(body(2, 2), "proved\t");
    // Rows of 64 threads: two warps wait for four.
    assert!(body(1, 2).starts_with("violated"), "{}", body(1, 2));
    // Without a number that says it, the shape is asked for.
    let before = "\tmov.u32 %r2, %tid.z;\n\tmov.u32 %r8, %ntid.x;\n\tmad.lo.s32 %r9, %r2, %r8, %r1;\n";
    let role = |n: u32| format!("\tsetp.ne.s32 %p1, %r2, {n};\n\t@%p1 bra $L1;\n\tbarrier.sync 1, 128;\n$L1:\n");
    let said = verdict(".maxntid 384, 1, 1\n", before, &role(2));
    assert!(said.starts_with("rejected") && said.contains("which shape"), "{said}");
    assert_eq!(verdict(".maxntid 384, 1, 1\n", before, ""), "proved\t");
}

/// Warps initialize one barrier of a ring each, and arrive on it before the other is initialized.
#[test]
fn barriers_of_a_ring_are_initialized_by_several_warps() {
    let ring = |second: &str| {
        let before = format!(
            "\tshr.u32 %r2, %r1, 5;\n\tand.b32 %r4, %r1, 31;\n\tshl.b32 %r5, %r2, 3;\n\tadd.s32 %r5, %r5, %r3;\n\
             \tsetp.ne.s32 %p1, %r4, 0;\n{second}\t@%p1 bra $L1;\n\tmov.b32 %r6, 64;\n\
             \tmbarrier.init.shared.b64 [%r5], %r6;\n$L1:\n\tbar.sync 0;\n\tmov.b32 %r7, 0;\n\
             $L2:\n\tshl.b32 %r8, %r7, 3;\n\tadd.s32 %r8, %r8, %r3;\n\tmbarrier.arrive.shared.b64 %rd2, [%r8];\n\
             $L3:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r8], 0;\n\t@!%p2 bra $L3;\n\
             \tadd.s32 %r7, %r7, 1;\n\tsetp.ne.s32 %p3, %r7, 2;\n\t@%p3 bra $L2;\n"
        );
        verdict(".reqntid 64\n", &before, "")
    };
    assert_eq!(ring(""), "proved\t");
    // Only the first warp has a barrier.
    let faulty = ring("\tsetp.ne.s32 %p1, %r1, 0;\n");
    assert!(!faulty.starts_with("proved"), "{faulty}");
}
