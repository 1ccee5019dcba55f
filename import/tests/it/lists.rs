//! A persistent loop over lists of which memory says the length, with steps that a compiler unrolled by four: FlashInfer merges
//! states of attention so.

use crate::common::verdict_on;

/// The parts of an iteration that a variant may lack.
struct Lists<'a> {
    /// Before the first step of a list.
    first: &'a str,
    /// Between the store and the load of an unrolled step, and of a step that is left.
    unrolled: &'a str,
    left: &'a str,
}

const BAR: &str = "\tbar.sync 0;\n";
const GOOD: Lists<'_> = Lists { first: BAR, unrolled: BAR, left: BAR };

/// A step stores a word in a slot of a ring of eight, and loads that of another warp.
fn step(bar: &str) -> String {
    format!(
        "\tand.b32 %r30, %r27, 7;\n\tshl.b32 %r30, %r30, 8;\n\tadd.s32 %r31, %r4, %r30;\n\tst.shared.b32 [%r31], %r1;\n{bar}\
         \tadd.s32 %r32, %r6, %r30;\n\tld.shared.b32 %r33, [%r32];\n"
    )
}

impl Lists<'_> {
    fn verdict(&self) -> String {
        let (four, left) =
            ((0..4).map(|_| step(self.unrolled) + "\tadd.s32 %r27, %r27, 1;\n").collect::<String>(), step(self.left));
        let Lists { first, .. } = self;
        verdict_on(&format!(
            ".version 8.6\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
             .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<48>;\n\t.reg .b64 %rd<16>;\n\
             \t.shared .align 16 .b8 data[8192];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r11, [k_param_1];\n\
             \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r2, %r3;\n\
             \txor.b32 %r5, %r3, 128;\n\tadd.s32 %r6, %r2, %r5;\n\tmov.u32 %r14, %ctaid.x;\n\tmov.u32 %r15, %nctaid.x;\n\
             \tsetp.ge.u32 %p1, %r14, %r11;\n\t@%p1 bra $END;\n\
             $LIST:\n{first}\tmul.wide.u32 %rd2, %r14, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.u32 %r20, [%rd3];\n\
             \tld.global.u32 %r21, [%rd3+4];\n\tsub.s32 %r22, %r21, %r20;\n\
             \tsetp.eq.s32 %p2, %r22, 0;\n\t@%p2 bra $NEXT;\n\tsetp.eq.s32 %p3, %r22, 1;\n\t@%p3 bra $NEXT;\n\
             \tadd.s32 %r23, %r22, 3;\n\tshr.u32 %r24, %r23, 2;\n\tsetp.eq.s32 %p4, %r24, 0;\n\t@%p4 bra $NEXT;\n\
             \tand.b32 %r25, %r24, 3;\n\tadd.s32 %r26, %r24, -1;\n\tsetp.lt.u32 %p5, %r26, 3;\n\tmov.b32 %r27, 0;\n\
             \t@%p5 bra $LEFT;\n\tsub.s32 %r28, %r24, %r25;\n\tmov.b32 %r27, 0;\n\
             $FOUR:\n{four}\tadd.s32 %r28, %r28, -4;\n\tsetp.ne.s32 %p6, %r28, 0;\n\t@%p6 bra $FOUR;\n\
             $LEFT:\n\tsetp.eq.s32 %p7, %r25, 0;\n\t@%p7 bra $NEXT;\n\
             $ONE:\n{left}\tadd.s32 %r27, %r27, 1;\n\tadd.s32 %r25, %r25, -1;\n\tsetp.ne.s32 %p8, %r25, 0;\n\t@%p8 bra $ONE;\n\
             $NEXT:\n\tadd.s32 %r14, %r14, %r15;\n\tsetp.lt.u32 %p9, %r14, %r11;\n\t@%p9 bra $LIST;\n$END:\n\tret;\n}}\n"
        ))
    }
}

#[test]
fn lists_whose_length_is_in_memory_and_their_unrolled_steps() {
    assert_eq!(GOOD.verdict(), "proved\t");
    for faulty in [Lists { unrolled: "", ..GOOD }, Lists { left: "", ..GOOD }] {
        let found = faulty.verdict();
        assert!(found.starts_with("violated"), "{found}");
    }
    // The first store of a list meets the last load of the list before it.
    let found = Lists { first: "", ..GOOD }.verdict();
    assert!(!found.starts_with("proved"), "{found}");
}
