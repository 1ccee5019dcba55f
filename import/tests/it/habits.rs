//! Small kernels with habits of particular compilers. Each is proved, and a variant with one change is violated.

/// The verdict on a kernel with this body, for two warps. `%p1` holds for all threads but the first.
fn verdict(body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1, \
         .param .align 4 .b8 k_param_2[16])\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b16 %rs<8>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 128 .b8 data[256];\n\t.shared .align 8 .b8 bars[64];\n\
         \tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, data;\n\tmov.b32 %r3, bars;\n\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r2, %r4;\n\
         \txor.b32 %r6, %r4, 128;\n\tadd.s32 %r6, %r2, %r6;\n\tsetp.ne.s32 %p1, %r1, 0;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

fn violated(body: &str) {
    let found = verdict(body);
    assert!(found.starts_with("violated"), "{found}");
}

/// TileLang divides an iteration of few by a product of 16 bits, and finds the phase by an unsigned minimum.
#[test]
fn a_ring_of_three_by_a_product_of_sixteen_bits() {
    let ring = |parity: &str| {
        format!(
            "\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r3], 64;\n\tmbarrier.init.shared.b64 [%r3+8], 64;\n\
             \tmbarrier.init.shared.b64 [%r3+16], 64;\n$L0:\n\tbar.sync 0;\n\tmov.b32 %r7, 0;\n\
             $L1:\n\tcvt.u16.u32 %rs1, %r7;\n\tmul.lo.s16 %rs2, %rs1, 171;\n\tshr.u16 %rs3, %rs2, 9;\n\
             \tmul.lo.s16 %rs4, %rs3, 3;\n\tsub.s16 %rs5, %rs1, %rs4;\n\tand.b16 %rs6, %rs5, 255;\n\
             \tmul.wide.u16 %r8, %rs6, 8;\n\tadd.s32 %r9, %r3, %r8;\n\tadd.s32 %r11, %r7, -6;\n\
             \tmin.u32 %r12, %r7, %r11;\n\tmul.hi.u32 %r13, %r12, -1431655765;\n\tshr.u32 %r14, %r13, 1;\n\
             \tmbarrier.arrive.shared.b64 %rd6, [%r9];\n\
             $L2:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r9], {parity};\n\t@!%p2 bra $L2;\n\
             \tadd.s32 %r7, %r7, 1;\n\tsetp.ne.s32 %p3, %r7, 12;\n\t@%p3 bra $L1;\n"
        )
    };
    assert_eq!(verdict(&ring("%r14")), "proved\t");
    violated(&ring("%r12"));
}

/// A loop with a barrier in each iteration, between a store and a load of another warp's word.
fn exchanged(count: &str, last: &str) -> String {
    format!(
        "{count}\tsetp.lt.s32 %p2, %r11, 1;\n\t@%p2 bra $L2;\n\tmov.b32 %r12, 0;\n\
         $L1:\n\tst.shared.b32 [%r5], %r12;\n\tbar.sync 0;\n\tld.shared.b32 %r13, [%r6];\n{last}\
         \tadd.s32 %r12, %r12, 1;\n\tsetp.ne.s32 %p3, %r12, %r11;\n\t@%p3 bra $L1;\n$L2:\n"
    )
}

/// CUTLASS takes the address of a struct of parameters.
#[test]
fn a_trip_count_in_a_struct_of_parameters() {
    let count = "\tmov.b64 %rd2, k_param_2;\n\tadd.s64 %rd3, %rd2, 4;\n\tld.param.u32 %r11, [%rd3+4];\n";
    assert_eq!(verdict(&exchanged(count, "\tbar.sync 0;\n")), "proved\t");
    violated(&exchanged(count, ""));
}

/// A divisor that the host turned into a factor and a shift.
#[test]
fn a_trip_count_by_a_factor_and_a_shift_of_the_launch() {
    let count = "\tmov.u32 %r15, %ctaid.x;\n\tld.param.u32 %r16, [k_param_2];\n\tld.param.u32 %r17, [k_param_2+4];\n\
                 \tmul.hi.u32 %r18, %r15, %r16;\n\tshr.u32 %r11, %r18, %r17;\n";
    assert_eq!(verdict(&exchanged(count, "\tbar.sync 0;\n")), "proved\t");
    violated(&exchanged(count, ""));
}

/// Lanes whose data agree fence their stores to the CTA.
#[test]
fn a_fence_of_the_cta_behind_a_condition_over_data() {
    let body = |last: &str| {
        format!(
            "\tmul.wide.u32 %rd3, %r1, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.b32 %r7, [%rd4];\n\
             \tsetp.eq.s32 %p2, %r7, 1;\n\t@%p2 bra $L1;\n\tst.shared.b32 [%r5], %r7;\n\tfence.acq_rel.cta;\n\
             $L1:\n{last}\tld.shared.b32 %r8, [%r6];\n"
        )
    };
    assert_eq!(verdict(&body("\tbar.sync 0;\n")), "proved\t");
    violated(&body(""));
}

/// Two steps in each iteration, and a size that both the trip count and the last step are computed from.
#[test]
fn the_last_step_of_a_loop_of_two_steps_an_iteration() {
    let body = |last: &str| {
        format!(
            "\tadd.s32 %r11, %r10, 1;\n\tshr.u32 %r11, %r11, 1;\n\tsetp.lt.s32 %p2, %r10, 1;\n\t@%p2 bra $L3;\n\
             \tmov.b32 %r12, 0;\n\
             $L1:\n\tst.shared.b32 [%r5], %r12;\n\tbar.sync 0;\n\tld.shared.b32 %r13, [%r6];\n\tbar.sync 0;\n\
             \tshl.b32 %r14, %r12, 1;\n\tadd.s32 %r15, %r10, -1;\n\tsetp.ne.s32 %p4, %r14, %r15;\n\t@%p4 bra $L2;\n\
             \tst.shared.b32 [%r5], %r12;\n{last}\
             $L2:\n\tadd.s32 %r12, %r12, 1;\n\tsetp.ne.s32 %p3, %r12, %r11;\n\t@%p3 bra $L1;\n$L3:\n\
             \tld.shared.b32 %r16, [%r6];\n"
        )
    };
    assert_eq!(verdict(&body("\tbar.sync 0;\n")), "proved\t");
    violated(&body(""));
}

/// XQA arrives for all but one of the arrivals that a thread owes, and then for the last one.
#[test]
fn arrivals_that_must_not_complete_a_phase() {
    let body = |count: u32| {
        format!(
            "\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r3], 128;\n$L0:\n\tbar.sync 0;\n\tst.shared.b32 [%r5], %r1;\n\
             \tmov.b32 %r7, {count};\n\tmbarrier.arrive.noComplete.release.cta.shared.b64 %rd2, [%r3], %r7;\n\
             \tmbarrier.arrive.release.cta.shared.b64 %rd3, [%r3];\n\
             $L2:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;\n\t@!%p2 bra $L2;\n\tld.shared.b32 %r8, [%r6];\n"
        )
    };
    assert_eq!(verdict(&body(1)), "proved\t");
    violated(&body(2));
}

/// A thread expects the bytes of a bulk copy, and arrives behind its own copies: the arrival makes nothing visible, but comes
/// later.
#[test]
fn bytes_are_expected_before_an_arrival_behind_copies() {
    let body = |before: &str, after: &str| {
        format!(
            "\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r3], 64;\n\tfence.mbarrier_init.release.cluster;\n$L0:\n\tbar.sync 0;\n\
             \tadd.s32 %r7, %r3, 32;\n\tcp.async.ca.shared.global [%r5], [%rd1], 4;\n{before}\
             \tcp.async.mbarrier.arrive.noinc.shared.b64 [%r3];\n{after}\
             $L2:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;\n\t@!%p2 bra $L2;\n\tld.shared.b32 %r8, [%r6];\n\
             \tld.shared.b32 %r9, [%r7];\n"
        )
    };
    let expect = "\t@%p1 bra $L1;\n\tmbarrier.expect_tx.shared::cta.b64 [%r3], 16;\n\
                  \tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd1], 16, [%r3];\n$L1:\n";
    assert_eq!(verdict(&body(expect, "")), "proved\t");
    violated(&body("", expect));
}
