//! Pointers that a loop carries ahead of the slot that an iteration fills.

/// A kernel with a copy to each of four slots. The copy goes `back` bytes behind a pointer that starts `back` bytes
/// ahead of the first slot. `wait` is the consumer's wait.
fn verdict(back: u32, wait: &str) -> String {
    let init: String = (0..4).map(|n| format!("\tmbarrier.init.shared.b64 [%r3+{}], 1;\n", 8 * n)).collect();
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .align 64 .b8 k_param_0[128])\n.reqntid 64\n{{\n\
         \t.reg .pred %p<8>;\n\t.reg .b32 %r<32>;\n\t.shared .align 1024 .b8 data[4096];\n\
         \t.shared .align 8 .b8 bars[32];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tmov.b32 %r3, bars;\n\tmov.b32 %r9, 0;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n{init}\tfence.mbarrier_init.release.cluster;\n$L0:\n\tbar.sync 0;\n\
         \tmov.b32 %r4, %r3;\n\tmov.b32 %r7, -4;\n\
         \tsetp.gt.u32 %p3, %r1, 31;\n\t@%p3 bra $CONSUMER;\n\t@%p1 bra $END;\n\tadd.s32 %r5, %r2, {back};\n\
         $COPY:\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r4], 1024;\n\tadd.s32 %r6, %r5, -{back};\n\
         \tcp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [k_param_0, {{%r9, %r9}}], [%r4];\n\
         \tadd.s32 %r5, %r5, 1024;\n\tadd.s32 %r4, %r4, 8;\n\tadd.s32 %r7, %r7, 1;\n\tsetp.ne.s32 %p4, %r7, 0;\n\
         \t@%p4 bra $COPY;\n\tbra.uni $END;\n\
         $CONSUMER:\n\tand.b32 %r11, %r1, 31;\n\tshl.b32 %r11, %r11, 2;\n\tadd.s32 %r5, %r2, %r11;\n\
         $READ:\n{wait}\tld.shared.b32 %r12, [%r5];\n\tadd.s32 %r5, %r5, 1024;\n\tadd.s32 %r4, %r4, 8;\n\
         \tadd.s32 %r7, %r7, 1;\n\tsetp.ne.s32 %p5, %r7, 0;\n\t@%p5 bra $READ;\n$END:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const WAIT: &str = "$W:\n\tmbarrier.try_wait.parity.shared.b64 %p6, [%r4], %r9;\n\t@!%p6 bra $W;\n";

#[test]
fn a_copy_behind_its_pointer_stays_in_its_cta() {
    for back in [1024, 65536] {
        assert_eq!(verdict(back, WAIT), "proved\t", "{back}");
        let faulty = verdict(back, "");
        assert!(faulty.starts_with("violated"), "{back}: {faulty}");
    }
}
