//! Loops over the rows that a search finds.

/// The verdict on 64 threads that exchange values for each row of a group. A search finds the group of a CTA, and two words
/// say which rows the group has. `first` and `last` are at the barriers of a row.
fn verdict(first: &str, last: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 ends, .param .u64 rows, .param .u32 n)\n.reqntid 64\n{{\n\t.reg .pred %p<8>;\n\
         \t.reg .b32 %r<24>;\n\t.reg .b64 %rd<12>;\n\t.shared .align 4 .b8 buf[256];\n\tmov.u32 %r1, %tid.x;\n\
         \tld.param.u64 %rd1, [ends];\n\tld.param.u64 %rd2, [rows];\n\tld.param.u32 %r2, [n];\n\tmax.s32 %r3, %r2, 1;\n\
         \tadd.s32 %r4, %r3, -1;\n\tmov.u32 %r5, %ctaid.x;\n\tmov.b32 %r6, buf;\n\tshl.b32 %r7, %r1, 2;\n\
         \tadd.s32 %r8, %r6, %r7;\n\txor.b32 %r9, %r8, 128;\n\tmov.b32 %r10, 0;\n$L0:\n\tmov.b32 %r11, %r10;\n\
         \tsetp.eq.s32 %p1, %r11, %r4;\n\t@%p1 bra $L1;\n\tadd.s32 %r10, %r11, 1;\n\tmul.wide.u32 %rd3, %r11, 4;\n\
         \tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.b32 %r12, [%rd4];\n\tsetp.ge.s32 %p2, %r5, %r12;\n\t@%p2 bra $L0;\n\
         $L1:\n\tmul.wide.u32 %rd5, %r11, 4;\n\tadd.s64 %rd6, %rd2, %rd5;\n\tld.global.b32 %r13, [%rd6];\n\
         \tld.global.b32 %r14, [%rd6+4];\n\tmax.s32 %r15, %r13, 0;\n\tadd.s32 %r15, %r15, %r5;\n\
         \tsetp.ge.s32 %p3, %r15, %r14;\n\t@%p3 bra $END;\n$L2:\n\tst.shared.b32 [%r8], %r15;\n{first}\
         \tld.shared.b32 %r16, [%r9];\n{last}\tadd.s32 %r15, %r15, 1;\n\tsetp.ne.s32 %p4, %r15, %r14;\n\t@%p4 bra $L2;\n\
         $END:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const BARRIER: &str = "\tbar.sync 0;\n";

#[test]
fn a_search_decides_which_rows_a_loop_has() {
    assert_eq!(verdict(BARRIER, BARRIER), "proved\t");
    for (first, last) in [("", BARRIER), (BARRIER, "")] {
        let faulty = verdict(first, last);
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
}
