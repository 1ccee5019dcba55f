//! Persistent loops in the CTAs of a cluster.

/// The verdict on a cluster of two CTAs with 64 threads each, whose warps meet once a tile. Before this loop, one warp of
/// one CTA also stores a word. `threads` meet.
fn verdict(threads: u32) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n.reqntid 64\n\
         .explicitcluster\n.reqnctapercluster 2, 1, 1\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\
         \t.shared .align 16 .b8 buf[16];\n\tld.param.u32 %r1, [n];\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %nctaid.x;\n\
         \tmov.u32 %r4, %tid.x;\n\tmov.u32 %r5, %cluster_ctarank;\n\tmov.b32 %r6, buf;\n\tshl.b32 %r7, %r5, 5;\n\
         \tadd.s32 %r8, %r7, 31;\n\tsetp.ne.s32 %p1, %r4, %r8;\n\t@%p1 bra $L0;\n\tsetp.eq.s32 %p2, %r5, 0;\n\
         \t@%p2 bra $L0;\n\tst.shared.b32 [%r6], %r4;\n$L0:\n\tbar.warp.sync -1;\n\tsetp.ge.s32 %p3, %r2, %r1;\n\
         \t@%p3 bra $END;\n$TILE:\n\tbar.sync 0, {threads};\n\tadd.s32 %r2, %r2, %r3;\n\tsetp.lt.s32 %p4, %r2, %r1;\n\
         \t@%p4 bra $TILE;\n$END:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// All warps of a CTA have as many tiles as those of the first CTA, whatever else they do.
#[test]
fn all_warps_of_a_cta_have_as_many_tiles() {
    assert_eq!(verdict(64), "proved\t");
    let faulty = verdict(96);
    assert!(faulty.starts_with("violated"), "{faulty}");
}
