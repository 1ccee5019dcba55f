//! Searches that end in two ways: the group of a tile is found, or no group is left.

/// The verdict on 64 threads that exchange values for each tile. A search finds the group of the tile. `first` and `last` are
/// at the barriers of a tile.
fn verdict(first: &str, last: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 sizes)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<8>;\n\t.reg .b32 %r<24>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 16 .b8 buf[256];\n\
         \tmov.u32 %r1, %tid.x;\n\tld.param.u64 %rd1, [sizes];\n\tmov.b32 %r2, buf;\n\tshl.b32 %r3, %r1, 2;\n\
         \tadd.s32 %r4, %r2, %r3;\n\txor.b32 %r5, %r4, 128;\n\tmov.u32 %r6, %ctaid.x;\n\tmov.u32 %r7, %nctaid.x;\n\
         \tmov.b32 %r8, 0;\n\tmov.b32 %r9, 0;\n$L0:\n\tmov.u32 %r13, %r8;\n$L1:\n\tmul.wide.u32 %rd2, %r8, 4;\n\
         \tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.u32 %r10, [%rd3];\n\tadd.s32 %r11, %r10, %r9;\n\
         \tsetp.lt.u32 %p1, %r6, %r11;\n\t@%p1 bra $L2;\n\tadd.s32 %r8, %r8, 1;\n\tmov.u32 %r9, %r11;\n\
         \tsetp.eq.s32 %p2, %r8, 8;\n\t@%p2 bra $END;\n\tbra.uni $L1;\n$L2:\n\tst.shared.b32 [%r4], %r8;\n{first}\
         \tld.shared.b32 %r12, [%r5];\n{last}\tadd.s32 %r6, %r6, %r7;\n\tsetp.eq.s32 %p3, %r8, 8;\n\t@%p3 bra $END;\n\
         \tbra.uni $L0;\n$END:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const BARRIER: &str = "\tbar.sync 0;\n";

#[test]
fn a_search_that_finds_nothing_ends_the_kernel() {
    let right = verdict(BARRIER, BARRIER);
    assert!(right.starts_with("bounded"), "{right}");
    for (first, last) in [("", BARRIER), (BARRIER, "")] {
        let faulty = verdict(first, last);
        assert!(faulty.starts_with("gave up"), "{faulty}");
    }
}
