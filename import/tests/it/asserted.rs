//! Assertions of a kernel over its arguments.

/// The verdict on a kernel of two warps that copies only where an argument is at least one, and waits always.
fn verdict(assertion: &str, wait: &str) -> String {
    let text = format!(
        ".version 8.6\n\
         .target sm_90a\n\
         .address_size 64\n\
         .extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
         .visible .entry k(.param .align 64 .b8 k_param_0[128], .param .u32 k_param_1, .param .u32 k_param_2)\n\
         .reqntid 64\n\
         {{\n\
         \t.reg .pred %p<8>;\n\
         \t.reg .b32 %r<32>;\n\
         \t.shared .align 1024 .b8 data[4096];\n\
         \t.shared .align 8 .b8 bars[8];\n\
         \tld.param.u32 %r10, [k_param_1];\n\
         \tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, data;\n\
         \tmov.b32 %r3, bars;\n\
         \tmov.b32 %r9, 0;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\
         \t@%p1 bra $L0;\n\
         \tmbarrier.init.shared.b64 [%r3], 1;\n\
         \tfence.mbarrier_init.release.cluster;\n\
         $L0:\n\
         \tbar.sync 0;\n\
         \t@%p1 bra $L3;\n\
         \tsetp.lt.s32 %p2, %r10, 1;\n\
         \t@%p2 bra $L3;\n\
         \tmbarrier.arrive.expect_tx.shared.b64 _, [%r3], 4096;\n\
         \tcp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [k_param_0, {{%r9, %r9}}], [%r3];\n\
         $L3:\n\
         {assertion}{wait}\tshl.b32 %r5, %r1, 2;\n\
         \tadd.s32 %r5, %r5, %r2;\n\
         \tld.shared.b32 %r6, [%r5];\n\
         \tret;\n\
         }}\n"
    );
    crate::common::verdict_on(&text)
}

const AT_LEAST_ONE: &str = "\tsetp.gt.s32 %p4, %r10, 0;\n\t@%p4 bra $L5;\n\ttrap;\n$L5:\n";
const AT_LEAST_ZERO: &str = "\tsetp.gt.s32 %p4, %r10, -1;\n\t@%p4 bra $L5;\n\ttrap;\n$L5:\n";
const WAIT: &str = "$L4:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;\n\t@!%p3 bra $L4;\n";

#[test]
fn an_assertion_over_arguments_bounds_all_warps() {
    // The warp that copies has no assertion of its own, and nobody copies for a size of zero.
    assert!(verdict("", WAIT).starts_with("violated"));
    assert!(verdict(AT_LEAST_ZERO, WAIT).starts_with("violated"));
    assert_eq!(verdict(AT_LEAST_ONE, WAIT), "proved\t");
    // Everything else is still found.
    assert!(verdict(AT_LEAST_ONE, "").starts_with("violated"));
}

#[test]
fn an_assertion_behind_a_branch_says_nothing_of_other_launches() {
    let behind = format!("\tsetp.gt.s32 %p5, %r11, 0;\n\t@%p5 bra $L6;\n{AT_LEAST_ONE}$L6:\n");
    let second = "\tld.param.u32 %r11, [k_param_2];\n";
    assert!(!verdict(&format!("{second}{behind}"), WAIT).starts_with("proved"));
}

#[test]
fn an_assertion_that_a_loop_may_not_reach_says_nothing_of_other_launches() {
    // The first iteration leaves the loop ahead of the assertion where the other size is zero.
    let inside = AT_LEAST_ONE.replace("$L5", "$L7");
    let head = "\tld.param.u32 %r11, [k_param_2];\n\tmov.b32 %r12, 0;\n$L6:\n\tsetp.ge.s32 %p5, %r12, %r11;\n\t@%p5 bra $L8;\n";
    let tail = "\tadd.s32 %r12, %r12, 1;\n\tbar.warp.sync -1;\n\tbra.uni $L6;\n$L8:\n";
    assert!(!verdict(&format!("{head}{inside}{tail}"), WAIT).starts_with("proved"));
}
