//! Branches that a size decides in some lanes of a warp, and not in others.

/// The verdict on 64 threads of which each 16th one below a size stores a word, and others read it. `end` orders the stores
/// before the reads.
fn verdict(end: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\t.shared .align 4 .b8 buf[256];\n\tmov.u32 %r1, %tid.x;\n\
         \tld.param.u32 %r2, [n];\n\tmov.b32 %r3, buf;\n\tsetp.ge.s32 %p1, %r1, %r2;\n\tand.b32 %r4, %r1, 15;\n\
         \tsetp.ne.s32 %p2, %r4, 0;\n\tor.pred %p3, %p2, %p1;\n\t@%p3 bra $L1;\n\tshr.u32 %r5, %r1, 2;\n\
         \tadd.s32 %r6, %r3, %r5;\n\tst.shared.b32 [%r6], %r1;\n$L1:\n{end}\
         \tand.b32 %r7, %r1, 15;\n\tsetp.ne.s32 %p4, %r7, 1;\n\tor.pred %p5, %p4, %p1;\n\t@%p5 bra $L2;\n\
         \tshr.u32 %r8, %r1, 4;\n\txor.b32 %r8, %r8, 2;\n\tshl.b32 %r8, %r8, 2;\n\tadd.s32 %r9, %r3, %r8;\n\
         \tld.shared.b32 %r10, [%r9];\n$L2:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const BARRIER: &str = "\tbar.sync 0;\n";

/// The words of lanes that do not store are those of other warps.
#[test]
fn lanes_with_a_known_outcome_are_on_one_side() {
    assert_eq!(verdict(BARRIER), "proved\t");
    let faulty = verdict("");
    assert!(!faulty.starts_with("proved"), "{faulty}");
}
