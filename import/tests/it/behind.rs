//! Loops behind a condition that another warp has in its count.

/// The verdict on a kernel of two warps. The first passes a barrier `count` times. The second passes it once, and `n - 1`
/// times behind a branch that `%p5` leaves. Both pass it once more if they passed it an odd number of times.
fn verdict(count: &str, leaves: &str, parity: u32) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\tld.param.u32 %r10, [k_param_0];\n\
         \tld.param.u32 %r11, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\tsetp.eq.s32 %p1, %r11, 0;\n\tmov.b32 %r30, 0;\n\
         \tsetp.gt.u32 %p2, %r1, 31;\n\t@%p2 bra $B;\n{count}\tmov.b32 %r12, 0;\n\
         $L:\n\tbarrier.sync 1, 64;\n\txor.b32 %r30, %r30, 1;\n\tadd.s32 %r12, %r12, 1;\n\tsetp.lt.s32 %p3, %r12, %r20;\n\
         \t@%p3 bra $L;\n\tbra.uni $E;\n\
         $B:\n\tbarrier.sync 1, 64;\n\tmov.b32 %r30, {parity};\n\tsetp.lt.s32 %p4, %r10, 2;\n{leaves}\t@%p5 bra $E;\n\
         \tmov.b32 %r13, 1;\n$M:\n\tbarrier.sync 1, 64;\n\txor.b32 %r30, %r30, 1;\n\tadd.s32 %r13, %r13, 1;\n\
         \tsetp.lt.s32 %p3, %r13, %r10;\n\t@%p3 bra $M;\n\
         $E:\n\tsetp.eq.b32 %p6, %r30, 0;\n\t@%p6 bra $F;\n\tbarrier.sync 1, 64;\n$F:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const COUNT: &str = "\tmax.s32 %r21, %r10, 1;\n\tselp.b32 %r20, 1, %r21, %p1;\n";
const EITHER: &str = "\tor.pred %p5, %p1, %p4;\n";

#[test]
fn a_condition_around_a_loop_is_one_in_a_count() {
    assert_eq!(verdict(COUNT, EITHER, 1), "proved\t");
}

#[test]
fn another_condition_is_not_the_one_in_the_count() {
    // The second warp leaves the loop out for small sizes only.
    let one = verdict(COUNT, "\tand.pred %p5, %p4, %p4;\n", 1);
    assert!(one.starts_with("violated"), "{one}");
    // The first warp counts to two at least: whether a launch has the fault is not found out.
    let two = verdict("\tmax.s32 %r21, %r10, 2;\n\tselp.b32 %r20, 1, %r21, %p1;\n", EITHER, 1);
    assert!(!two.starts_with("proved"), "{two}");
    // Without an iteration, the other parity.
    let flipped = verdict(COUNT, EITHER, 0);
    assert!(flipped.starts_with("violated"), "{flipped}");
}
