//! Loops in which each lane makes its own iterations, and what they leave in registers: the place where a loop of four steps an
//! iteration goes on.

use crate::common::verdict_on;

/// A kernel of 128 threads with an array `data` of 4096 bytes. `%r4` is the address of a byte of each thread, `%r6` of that of a
/// thread of another warp. Thread `t` has `%r7` bytes.
fn kernel(body: &str) -> String {
    verdict_on(&format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 128\n{{\n\t.reg .pred %p<12>;\n\t.reg .b16 %rs<4>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 128 .b8 data[4096];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r1, [k_param_1];\n\
         \tmov.u32 %r2, %tid.x;\n\tmov.b32 %r5, data;\n\tadd.s32 %r4, %r5, %r2;\n\txor.b32 %r3, %r2, 32;\n\
         \tadd.s32 %r6, %r5, %r3;\n{body}\tret;\n}}\n"
    ))
}

/// Each thread stores every 128th byte: first up to three of them, then four in each iteration. It goes on `by` bytes behind.
fn unrolled(by: u32, meets: &str) -> String {
    kernel(&format!(
        "\tsetp.ge.s32 %p1, %r2, %r1;\n\t@%p1 bra $ALL;\n\tnot.b32 %r7, %r2;\n\tadd.s32 %r8, %r1, %r7;\n\tshr.u32 %r9, %r8, 7;\n\
         \tadd.s32 %r10, %r9, 1;\n\tand.b32 %r11, %r10, 3;\n\tmov.b32 %r12, %r2;\n\tsetp.eq.s32 %p2, %r11, 0;\n\t@%p2 bra $REST;\n\
         $ONE:\n\tadd.s32 %r13, %r5, %r12;\n\tst.shared.u8 [%r13], %rs1;\n\tadd.s32 %r12, %r12, {by};\n\
         \tadd.s32 %r11, %r11, -1;\n\tsetp.ne.s32 %p3, %r11, 0;\n\t@%p3 bra $ONE;\n\
         $REST:\n\tsetp.lt.u32 %p4, %r8, 384;\n\t@%p4 bra $ALL;\n\
         $FOUR:\n\tadd.s32 %r14, %r5, %r12;\n\tst.shared.u8 [%r14], %rs1;\n\tst.shared.u8 [%r14+128], %rs1;\n\
         \tst.shared.u8 [%r14+256], %rs1;\n\tst.shared.u8 [%r14+384], %rs1;\n\tadd.s32 %r12, %r12, 512;\n\
         \tsetp.lt.s32 %p5, %r12, %r1;\n\t@%p5 bra $FOUR;\n\
         $ALL:\n{meets}\tld.shared.u8 %rs2, [%r6];\n"
    ))
}

#[test]
fn a_loop_of_four_steps_goes_on_where_one_of_single_steps_ends() {
    assert_eq!(unrolled(128, "\tbar.sync 0;\n"), "proved\t");
    // Without the barrier, and with the bytes of other threads. How many bytes there are is not known.
    for found in [unrolled(128, ""), unrolled(96, "\tbar.sync 0;\n")] {
        assert!(found.starts_with("gave up"), "{found}");
    }
}

/// Each thread stores every 128th byte. The index is copied to 64 bits and back. Lanes exchange values in each iteration.
fn copied(step: u32, meets: &str) -> String {
    kernel(&format!(
        "\tmov.b32 %r12, %r2;\n\
         $L:\n\tsetp.ge.s32 %p1, %r12, %r1;\n\t@%p1 bra $ALL;\n\tcvt.s64.s32 %rd2, %r12;\n\tadd.s32 %r13, %r5, %r12;\n\
         \tshfl.sync.bfly.b32 %r15, %r12, 1, 31, -1;\n\tcvt.u16.u32 %rs1, %r15;\n\tst.shared.u8 [%r13], %rs1;\n\
         \tcvt.u32.u64 %r14, %rd2;\n\tadd.s32 %r12, %r14, {step};\n\tsetp.lt.s32 %p2, %r12, 2048;\n\t@%p2 bra $L;\n\
         $ALL:\n{meets}\tld.shared.u8 %rs2, [%r6];\n"
    ))
}

#[test]
fn an_index_that_is_copied_and_lanes_that_exchange_values() {
    assert_eq!(copied(128, "\tbar.sync 0;\n"), "proved\t");
    for found in [copied(128, ""), copied(96, "\tbar.sync 0;\n")] {
        assert!(found.starts_with("gave up"), "{found}");
    }
}
