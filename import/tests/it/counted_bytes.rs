//! Barriers that expect the bytes of as many tiles as are left.

/// A kernel in which a thread copies one or two tiles in an iteration. `expects` computes the bytes from the number of tiles
/// that are left (`%r15`), and the second tile is left out where `last` holds.
fn verdict(expects: &str, last: &str) -> String {
    let copy = "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes";
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 a[128], .param .u32 n)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 8 .b8 bar[16];\n\
         \t.shared .align 128 .b8 buf[4096];\n\tld.param.u32 %r10, [n];\n\tmov.b64 %rd2, a;\n\tcvta.param.u64 %rd3, %rd2;\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, buf;\n\tshl.b32 %r4, %r1, 2;\n\
         \tadd.s32 %r5, %r3, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], 1;\n\
         \tfence.mbarrier_init.release.cluster;\n$L0:\n\tbar.sync 0;\n\tsetp.lt.s32 %p2, %r10, 1;\n\t@%p2 bra $END;\n\
         \tmov.b32 %r7, 0;\n\tmov.b32 %r8, 0;\n\tadd.s32 %r13, %r10, -1;\n$L1:\n\tsetp.ne.s32 %p3, %r1, 0;\n\
         \t@%p3 bra $L4;\n\tsub.s32 %r15, %r10, %r7;\n{expects}\
         \tmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r17;\n\t{copy} [%r3], [%rd3, {{%r7}}], [%r2];\n\
         \tsetp.ge.s32 %p4, {last};\n\t@%p4 bra $L4;\n\tadd.s32 %r18, %r3, 2048;\n\
         \t{copy} [%r18], [%rd3, {{%r13}}], [%r2];\n$L4:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], %r8;\n\
         \t@!%p5 bra $L4;\n\tld.shared.b32 %r19, [%r5];\n\tbar.sync 0;\n\txor.b32 %r8, %r8, 1;\n\tadd.s32 %r7, %r7, 2;\n\
         \tsetp.lt.s32 %p6, %r7, %r10;\n\t@%p6 bra $L1;\n$END:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

fn tiles(most: u32) -> String {
    format!("\tmin.s32 %r16, %r15, {most};\n\tshl.b32 %r17, %r16, 11;\n")
}

#[test]
fn a_barrier_expects_as_many_tiles_as_are_left() {
    assert_eq!(verdict(&tiles(2), "%r7, %r13"), "proved\t");
    let faulty = verdict(&tiles(1), "%r7, %r13");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The second tile is copied in each iteration; it is left out in one more; more tiles are expected than are copied.
    for (most, last) in [(2, "%r7, %r10"), (2, "%r7, %r15"), (3, "%r7, %r13")] {
        let faulty = verdict(&tiles(most), last);
        assert!(!faulty.starts_with("proved"), "{most} {last}: {faulty}");
    }
}
