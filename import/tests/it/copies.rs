//! Copies of the code of a tile, of which the number of the tile chooses one. They compute with other constants and have
//! registers of their own.

use crate::common::verdict_on;

/// The numbers of copies.
const COPIES: u32 = 6;

/// A warp that stores tiles for another one. The reader has a copy of its code for each remainder of the tile's number.
/// `wait` is the wait of one copy.
fn kernel(wait: &str) -> String {
    let copy = |n: u32| {
        let wait = if n == 3 { wait } else { WAIT };
        let text = format!(
            "$C{n}:\n\tsetp.ne.s32 %p{next}, %r12, {n};\n\t@%p{next} bra $C{after};\n\tmov.b32 %r{i}, 0;\n\tmov.b32 %r{phase}, %r11;\n\
             $L{n}:\n{wait}\tld.shared.b32 %r50, [%r7];\n\tadd.s32 %r50, %r50, {n};\n\
             \tmbarrier.arrive.shared.b64 %rd7, [%r6+8];\n\txor.b32 %r{phase}, %r{phase}, 1;\n\tadd.s32 %r{i}, %r{i}, 1;\n\
             \tsetp.lt.s32 %p9, %r{i}, 3;\n\t@%p9 bra $L{n};\n\tmov.b32 %r11, %r{phase};\n\tbra.uni $NEXT;\n",
            next = 10 + n,
            after = n + 1,
            i = 20 + n,
            phase = 30 + n,
        );
        text.replace("PHASE", &format!("%r{}", 30 + n)).replace("LABEL", &format!("$W{n}"))
    };
    let copies: String = (0..COPIES).map(copy).collect();
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 tiles)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<24>;\n\t.reg .b32 %r<60>;\n\t.reg .b64 %rd<12>;\n\t.shared .align 128 .b8 data[128];\n\
         \t.shared .align 8 .b8 bars[16];\n\tld.param.u32 %r2, [tiles];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r3, %ctaid.x;\n\
         \tmov.u32 %r4, %nctaid.x;\n\tmov.b32 %r5, data;\n\tmov.b32 %r6, bars;\n\tand.b32 %r7, %r1, 31;\n\
         \tshl.b32 %r7, %r7, 2;\n\tadd.s32 %r7, %r7, %r5;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L10;\n\
         \tmbarrier.init.shared.b64 [%r6], 32;\n\tmbarrier.init.shared.b64 [%r6+8], 32;\n$L10:\n\tbar.sync 0;\n\
         \tmov.b32 %r10, %r3;\n\tmov.b32 %r11, 0;\n\tsetp.gt.u32 %p3, %r1, 31;\n\t@%p3 bra $READ;\n\
         $TILE:\n\tsetp.ge.s32 %p4, %r10, %r2;\n\t@%p4 bra $END;\n\tmov.b32 %r13, 0;\n\
         $STEP:\n\txor.b32 %r14, %r11, 1;\n$W10:\n\tmbarrier.try_wait.parity.shared.b64 %p5, [%r6+8], %r14;\n\t@!%p5 bra $W10;\n\
         \tst.shared.b32 [%r7], %r1;\n\tmbarrier.arrive.shared.b64 %rd7, [%r6];\n\txor.b32 %r11, %r11, 1;\n\
         \tadd.s32 %r13, %r13, 1;\n\tsetp.lt.s32 %p6, %r13, 3;\n\t@%p6 bra $STEP;\n\tadd.s32 %r10, %r10, %r4;\n\tbra.uni $TILE;\n\
         $READ:\n\tsetp.ge.s32 %p7, %r10, %r2;\n\t@%p7 bra $END;\n\trem.s32 %r12, %r10, {COPIES};\n{copies}\
         $C{COPIES}:\n$NEXT:\n\tadd.s32 %r10, %r10, %r4;\n\tbra.uni $READ;\n$END:\n\tret;\n}}\n"
    )
}

/// The wait of a copy.
const WAIT: &str = "LABEL:\n\tmbarrier.try_wait.parity.shared.b64 %p8, [%r6], PHASE;\n\t@!%p8 bra LABEL;\n";

#[test]
fn copies_with_registers_of_their_own_are_one() {
    let verdict = verdict_on(&kernel(WAIT));
    assert!(verdict.starts_with("proved"), "{verdict}");
}

#[test]
fn a_copy_without_a_wait_is_none_of_them() {
    let verdict = verdict_on(&kernel(""));
    assert!(!verdict.starts_with("proved"), "{verdict}");
}
