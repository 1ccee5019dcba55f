//! Loops over rows that are left ahead of their body and behind it, where a word of each row decides what an iteration does.

/// The verdict on 64 threads that store a row and read it. The word of a row says whether they read it at a distance.
/// `first` and `last` are at the barriers of an iteration.
fn verdict(first: &str, last: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 words, .param .u32 rows)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<24>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 16 .b8 buf[512];\n\tmov.u32 %r1, %tid.x;\n\tshl.b32 %r2, %r1, 2;\n\tmov.b32 %r3, buf;\n\
         \tadd.s32 %r4, %r3, %r2;\n\tld.param.u64 %rd1, [words];\n\tld.param.u32 %r5, [rows];\n\tmov.u32 %r6, %ctaid.x;\n\
         \tmov.u32 %r7, %nctaid.x;\n\tadd.s32 %r8, %r5, -1;\n\tadd.s32 %r8, %r8, %r7;\n\tdiv.u32 %r9, %r8, %r7;\n\
         \tmov.u32 %r10, 0;\n$L0:\n\tmad.lo.s32 %r11, %r10, %r7, %r6;\n\tsetp.ge.u32 %p1, %r11, %r5;\n\t@%p1 bra $END;\n\
         \tmul.wide.u32 %rd2, %r11, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.u32 %r12, [%rd3];\n\
         \tst.shared.b32 [%r4], %r12;\n{first}\tsetp.lt.u32 %p2, %r12, %r5;\n\t@%p2 bra $L1;\n\txor.b32 %r13, %r4, 128;\n\
         \tld.shared.b32 %r14, [%r13];\n\tbra.uni $L2;\n$L1:\n\txor.b32 %r15, %r4, 132;\n\tld.shared.b32 %r14, [%r15];\n\
         {first}\tst.shared.b32 [%r4+256], %r14;\n$L2:\n{last}\tadd.s32 %r10, %r10, 1;\n\tsetp.lt.u32 %p3, %r10, %r9;\n\
         \t@%p3 bra $L0;\n$END:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const BARRIER: &str = "\tbar.sync 0;\n";

#[test]
fn a_loop_left_at_both_ends_makes_whole_iterations() {
    assert_eq!(verdict(BARRIER, BARRIER), "proved\t");
    for (first, last) in [("", BARRIER), (BARRIER, ""), ("", "")] {
        let faulty = verdict(first, last);
        assert!(!faulty.starts_with("proved"), "{faulty}");
    }
    assert!(verdict(BARRIER, "").starts_with("violated"));
}
