//! One condition that two roles write in different ways: as a comparison, as a number that it chooses, as a loop.

/// The verdict on two warps. The first one stores and arrives where a word is above 2; the second one does `consumer`. `%r20` is
/// 2 where the word is above `least`, and 1 elsewhere.
fn verdict(least: u32, consumer: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n.reqntid 64\n\
         {{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<4>;\n\t.shared .align 8 .b8 data[256];\n\
         \t.shared .align 8 .b8 bars[8];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.global.nc.b32 %r16, [%rd1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tmov.b32 %r3, bars;\n\tand.b32 %r4, %r1, 31;\n\
         \tshl.b32 %r4, %r4, 2;\n\tadd.s32 %r5, %r2, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $I;\n\
         \tmbarrier.init.shared.b64 [%r3], 32;\n$I:\n\tbar.sync 0;\n\tsetp.gt.s32 %p2, %r16, 2;\n\
         \tsetp.gt.s32 %p3, %r16, {least};\n\tselp.b32 %r20, 2, 1, %p3;\n\tsetp.ge.u32 %p4, %r1, 32;\n\t@%p4 bra $C;\n\
         \t@!%p2 bra $E;\n\tst.shared.b32 [%r5], %r1;\n\tmbarrier.arrive.shared.b64 _, [%r3];\n\tbra.uni $E;\n\
         $C:\n{consumer}$E:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const WAIT: &str = "$W:\n\tmbarrier.try_wait.parity.shared.b64 %p9, [%r3], 0;\n\t@!%p9 bra $W;\n";
const READ: &str = "\tld.shared.b32 %r23, [%r5];\n";

#[test]
fn a_number_that_a_condition_chooses_is_compared() {
    let consumer = |skips: &str, wait: &str| format!("\tsetp.{skips};\n\t@%p5 bra $E;\n{wait}{READ}");
    for skips in ["lt.s32 %p5, %r20, 2", "eq.s32 %p5, %r20, 1", "ne.s32 %p5, %r20, 2"] {
        assert_eq!(verdict(2, &consumer(skips, WAIT)), "proved\t");
        let found = verdict(2, &consumer(skips, ""));
        assert!(found.starts_with("violated"), "{found}");
        // Another number, or the opposite.
        let found = verdict(3, &consumer(skips, WAIT));
        assert!(!found.starts_with("proved"), "{found}");
    }
    let found = verdict(2, &consumer("ge.s32 %p5, %r20, 2", WAIT));
    assert!(found.starts_with("violated"), "{found}");
}

#[test]
fn a_loop_of_one_turn_or_two_has_a_second_turn_under_the_condition() {
    let consumer = |first: &str| {
        format!(
            "\tmov.b32 %r21, {first};\n$L:\n\tsetp.eq.s32 %p6, %r21, 0;\n\t@%p6 bra $N;\n{WAIT}{READ}\
             $N:\n\tadd.s32 %r21, %r21, 1;\n\tsetp.ne.s32 %p7, %r21, %r20;\n\t@%p7 bra $L;\n"
        )
    };
    assert_eq!(verdict(2, &consumer("0")), "proved\t");
    let found = verdict(3, &consumer("0"));
    assert!(!found.starts_with("proved"), "{found}");
}
