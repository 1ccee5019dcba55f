//! Copies by one of two instructions, as a condition over the launch decides.

/// The verdict on a kernel of two warps: the first thread copies from one of two tensor maps and from a third one, and
/// expects so many bytes.
fn verdict(bytes: u32, wait: &str) -> String {
    let copy = |to: &str, map: u32| {
        format!(
            "\tcp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [{to}], \
             [k_param_{map}, {{%r9, %r9}}], [%r3];\n"
        )
    };
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 k_param_0[128], \
         .param .align 64 .b8 k_param_1[128], .param .align 64 .b8 k_param_2[128], .param .u32 k_param_3)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 1024 .b8 data[4096];\n\t.shared .align 8 .b8 bars[8];\n\tld.param.u32 %r10, [k_param_3];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tmov.b32 %r3, bars;\n\tmov.b32 %r9, 0;\n\
         \tadd.s32 %r4, %r2, 2048;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\
         \tmbarrier.init.shared.b64 [%r3], 1;\n\tfence.mbarrier_init.release.cluster;\n$L0:\n\tbar.sync 0;\n\
         \t@%p1 bra $L3;\n\tsetp.ne.s32 %p2, %r10, 0;\n\t@%p2 bra $L1;\n{}\tbra.uni $L2;\n$L1:\n{}$L2:\n{}\
         \tmbarrier.arrive.expect_tx.shared.b64 %rd1, [%r3], {bytes};\n$L3:\n{wait}\
         \tshl.b32 %r5, %r1, 2;\n\tadd.s32 %r5, %r5, %r2;\n\tld.shared.b32 %r6, [%r5];\n\tret;\n}}\n",
        copy("%r2", 0),
        copy("%r2", 1),
        copy("%r4", 2)
    );
    crate::common::verdict_on(&text)
}

const WAIT: &str = "$L4:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;\n\t@!%p3 bra $L4;\n";

#[test]
fn each_outcome_of_a_choice_has_its_own_copies() {
    assert_eq!(verdict(4096, WAIT), "proved\t");
    assert!(verdict(4096, "").starts_with("violated"));
    // Three copies of these sizes do not come.
    let said = verdict(6144, WAIT);
    assert!(!said.starts_with("proved"), "{said}");
}
