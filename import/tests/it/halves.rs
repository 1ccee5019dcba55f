//! Rows of a tile whose halves are stored in alternating order.

/// The verdict on a loop of two warps. Each lane stores both halves of its row, in the order that the iteration says.
/// `between` may read halves of a row of the other warp.
fn verdict(between: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n.reqntid 64\n\
         {{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<24>;\n\t.shared .align 16 .b8 buf[5120];\n\
         \tmov.u32 %r1, %tid.x;\n\tld.param.u32 %r2, [n];\n\tmov.b32 %r3, buf;\n\tand.b32 %r4, %r1, 31;\n\
         \tmul.lo.s32 %r5, %r4, 80;\n\tadd.s32 %r6, %r3, %r5;\n\tshr.u32 %r7, %r1, 5;\n\tmul.lo.s32 %r8, %r7, 2560;\n\
         \tadd.s32 %r9, %r6, %r8;\n\txor.b32 %r10, %r7, 1;\n\tmul.lo.s32 %r11, %r10, 2560;\n\tadd.s32 %r12, %r6, %r11;\n\
         \tmov.b32 %r13, 0;\n\tmov.b32 %r14, 0;\n\tsetp.lt.s32 %p1, %r2, 1;\n\t@%p1 bra $L1;\n$L0:\n\
         \tmul.lo.s32 %r15, %r13, 48;\n\tadd.s32 %r16, %r9, %r15;\n\tst.shared.b32 [%r16], %r1;\n\
         \txor.b32 %r17, %r13, 1;\n\tmul.lo.s32 %r18, %r17, 48;\n\tadd.s32 %r19, %r9, %r18;\n\tst.shared.b32 [%r19], %r1;\n\
         {between}\
         \tmov.b32 %r13, %r17;\n\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p2, %r14, %r2;\n\t@%p2 bra $L0;\n$L1:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const BARRIER: &str = "\tbar.sync 0;\n";
/// The half that this iteration stores first, of the row of the other warp.
const FIRST: &str = "\tadd.s32 %r20, %r12, %r15;\n\tld.shared.b32 %r21, [%r20];\n";
/// The half that it stores last.
const LAST: &str = "\tadd.s32 %r20, %r12, %r18;\n\tld.shared.b32 %r21, [%r20];\n";

#[test]
fn halves_of_rows_in_alternating_order_are_told_apart() {
    for half in [FIRST, LAST] {
        assert_eq!(verdict(&format!("{BARRIER}{half}{BARRIER}")), "proved\t");
        for faulty in [format!("{half}{BARRIER}"), format!("{BARRIER}{half}")] {
            let said = verdict(&faulty);
            assert!(said.starts_with("violated"), "{said}");
        }
    }
}
