//! Loops that a compiler unrolled, of which the variables and terms take some thought to follow from step to step.

use warpline_import::{lift, ptx, text};

use crate::common::verdict_on;

/// A kernel of 64 threads that makes tiles of `%r10` steps each, with a ring of three barriers that all threads arrive at.
/// Some steps an iteration, and those that are left in a loop of single ones. `%r14` is the number of steps before.
fn kernel(first: &str, steps: u32, step: &dyn Fn(&str, u32) -> String, (count, between): (&str, &str)) -> String {
    let several: String = (0..steps).map(|k| step(&format!("W{k}"), k)).collect();
    let one = step("W", 0);
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1, .param .u32 k_param_2)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 8 .b8 bar[24];\n\tld.param.u32 %r29, [k_param_1];\n\tld.param.u64 %rd2, [k_param_0];\n\
         \tld.param.u32 %r30, [k_param_2];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\
         \tmbarrier.init.shared.b64 [%r2], 64;\n\tmbarrier.init.shared.b64 [%r2+8], 64;\n\
         \tmbarrier.init.shared.b64 [%r2+16], 64;\n$L0:\n\tbar.sync 0;\n{first}\tmov.b32 %r15, 0;\n\
         \tsetp.lt.s32 %p4, %r30, 1;\n\t@%p4 bra $END;\n\
         $TILE:\n{count}\tadd.s32 %r10, %r10, 63;\n\tshr.s32 %r10, %r10, 6;\n\
         \trem.u32 %r3, %r10, {steps};\n\tsub.s32 %r4, %r10, %r3;\n\
         \tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $NEXT;\n\tmov.b32 %r14, 0;\n\
         \tsetp.lt.s32 %p5, %r10, {steps};\n\t@%p5 bra $REST;\n\
         $STEPS:\n{several}\tadd.s32 %r14, %r14, {steps};\n\tsetp.lt.s32 %p6, %r14, %r4;\n\t@%p6 bra $STEPS;\n\
         $REST:\n\tsetp.eq.s32 %p7, %r3, 0;\n\t@%p7 bra $NEXT;\n\tmov.b32 %r18, 0;\n\
         $ONE:\n{one}\tadd.s32 %r14, %r14, 1;\n\tadd.s32 %r18, %r18, 1;\n\tsetp.lt.s32 %p6, %r18, %r3;\n\t@%p6 bra $ONE;\n\
         $NEXT:\n{between}\tadd.s32 %r15, %r15, 1;\n\tsetp.lt.s32 %p8, %r15, %r30;\n\t@%p8 bra $TILE;\n\
         $END:\n\tret;\n}}\n"
    )
}

/// An arrival at the barrier in `%r11` and a wait for the parity in a register.
fn meet(label: &str, parity: &str) -> String {
    format!(
        "\tmbarrier.arrive.shared.b64 %rd1, [%r11];\n\
         ${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], {parity};\n\t@!%p2 bra ${label};\n"
    )
}

/// The program of a text, for reading.
fn program(source: &str) -> String {
    let module = ptx::read(source).expect("a module");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", source, &lift::Launch::default()).expect("a program");
    text::kernel(&lifted)
}

/// Checks that a text has one loop of single steps in each tile, and that it gets this verdict. Waits must name slot and
/// parity by one number.
fn is_one_loop(source: &str, verdict: &str) {
    let program = program(source);
    assert_eq!(program.lines().filter(|l| l.trim_start().starts_with("for ")).count(), 2, "{program}");
    let waits: Vec<&str> = program.lines().filter(|l| l.contains("wait ")).collect();
    assert_eq!(waits.len(), 1, "{program}");
    // The counter, and the counter plus rounds.
    let wait = waits[0].split("//").next().unwrap_or_default().trim();
    let counter = wait.split_once('[').and_then(|(_, s)| s.split_once(" % 3)]")).map_or("", |(c, _)| &c[1..]);
    assert!(!counter.is_empty() && wait.contains(&format!("({counter} / 3)")), "{wait}");
    let found = verdict_on(source);
    assert!(found.starts_with(verdict), "{found}");
}

/// The size of a tile in `%r10`: one size, or one that each tile loads.
const SIZE: &str = "\tmov.b32 %r10, %r29;\n";
const LOADED: &str = "\tld.global.b32 %r10, [%rd2];\n\tadd.s64 %rd2, %rd2, 4;\n";

/// The next slot in `%r7`, with 1 in `%r13` where it is the first one again.
const NEXT: &str = "\tadd.s32 %r12, %r7, 1;\n\tsetp.eq.s32 %p3, %r12, 3;\n\tselp.b32 %r7, 0, %r12, %p3;\n\
                    \tselp.b32 %r13, 1, 0, %p3;\n";
const ADDRESS: &str = "\tshl.b32 %r9, %r7, 3;\n\tadd.s32 %r11, %r2, %r9;\n";

/// Three steps leave the slot as it was, so an iteration does not set it: only the phase.
#[test]
fn steps_move_on_a_slot_that_their_iteration_leaves() {
    let first = "\tmov.b32 %r7, 0;\n\tmov.b32 %r8, 0;\n";
    let tiles = |last: &'static str| {
        let step = move |label: &str, k: u32| {
            let flip = if k == 2 { last } else { "\txor.b32 %r8, %r8, %r13;\n" };
            format!("{ADDRESS}{}{NEXT}{flip}", meet(label, "%r8"))
        };
        kernel(first, 3, &step, (SIZE, ""))
    };
    is_one_loop(&tiles("\txor.b32 %r8, %r8, %r13;\n"), "proved");
    // The phase does not flip behind the third step.
    let faulty = verdict_on(&tiles(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Waits read the opposite of the phase alone.
#[test]
fn the_opposite_of_a_phase_shows_the_next_one() {
    let first = "\tmov.b32 %r7, 0;\n\tmov.b32 %r8, 1;\n";
    let tiles = |opposite: u32| {
        let step = move |label: &str, _: u32| {
            let flip = "\txor.b32 %r8, %r8, %r13;\n";
            format!("{ADDRESS}\txor.b32 %r16, %r8, {opposite};\n{}{NEXT}{flip}", meet(label, "%r16"))
        };
        kernel(first, 3, &step, (SIZE, ""))
    };
    is_one_loop(&tiles(1), "proved");
    // Each wait is for the phase after its own.
    let faulty = verdict_on(&tiles(0));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Slot and parity are computed from the number of the step and the steps of the tiles before, the parity as a difference.
#[test]
fn steps_are_numbered_from_a_number_that_tiles_move_on() {
    let first = "\tmov.b32 %r7, 0;\n";
    let tiles = |late: u32, between: &str| {
        let step = move |label: &str, k: u32| {
            format!(
                "\tadd.s32 %r16, %r14, %r7;\n\tadd.s32 %r16, %r16, {k};\n\trem.u32 %r9, %r16, 3;\n\tshl.b32 %r9, %r9, 3;\n\
                 \tadd.s32 %r11, %r2, %r9;\n\tdiv.u32 %r17, %r16, 3;\n\tsub.s32 %r17, {late}, %r17;\n\
                 \tand.b32 %r17, %r17, 1;\n{}",
                meet(label, "%r17")
            )
        };
        kernel(first, 4, &step, (LOADED, between))
    };
    let more = "\tadd.s32 %r7, %r7, %r10;\n";
    is_one_loop(&tiles(0, more), "proved");
    for faulty in [tiles(1, more), tiles(0, "")] {
        let faulty = verdict_on(&faulty);
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
}

/// A loader's first steps, at most two, and those that are left. The compiler counts the first ones by whether there is
/// one: `size - 1 < -127`, without a sign.
#[test]
fn a_size_that_is_compared_without_a_sign_sets_a_trip_count() {
    let step = |label: &str| format!("{ADDRESS}{}{NEXT}\txor.b32 %r8, %r8, %r13;\n", meet(label, "%r8"));
    let source = |last: &str| {
        let one = format!(
            "\tadd.s32 %r10, %r29, 63;\n\tshr.s32 %r20, %r10, 31;\n\tshr.u32 %r20, %r20, 26;\n\tadd.s32 %r20, %r10, %r20;\n\
             \tshr.s32 %r21, %r20, 6;\n\tmin.u32 %r22, %r21, 2;\n\tadd.s32 %r23, %r29, -1;\n\
             \tsetp.lt.u32 %p9, %r23, -127;\n\tselp.b32 %r24, -1, 0, %p9;\n\tadd.s32 %r25, %r22, %r24;\n\
             \tneg.s32 %r26, %r25;\n\tadd.s32 %r27, %r29, 126;\n\tsetp.lt.u32 %p10, %r27, 127;\n\t@%p10 bra $FEW;\n\
             $FIRST:\n{}\tadd.s32 %r26, %r26, 1;\n\tsetp.ne.b32 %p11, %r26, 1;\n\t@%p11 bra $FIRST;\n\
             $FEW:\n\tsub.s32 %r28, %r21, %r22;\n\tsetp.lt.s32 %p12, %r28, 1;\n\t@%p12 bra $END;\n\
             $LAST:\n{}\tadd.s32 %r28, %r28, -1;\n\tsetp.ne.b32 %p13, %r28, 0;\n\t@%p13 bra $LAST;\n",
            step("F"),
            step("L").replace("xor.b32 %r8, %r8, %r13", last)
        );
        let text = kernel("\tmov.b32 %r7, 0;\n\tmov.b32 %r8, 0;\n", 3, &|_, _| String::new(), (SIZE, ""));
        let (before, behind) = (text.find("$TILE:").expect("tiles"), text.find("$END:").expect("an end"));
        format!("{}{one}{}", &text[..before], &text[behind..])
    };
    let good = source("xor.b32 %r8, %r8, %r13");
    // No condition tells sizes apart that are near the largest number.
    let program = program(&good);
    assert!(!program.contains("4294967"), "{program}");
    assert_eq!(verdict_on(&good), "proved\t");
    // The phase does not flip in the last steps.
    let faulty = verdict_on(&source("mov.b32 %r8, %r8"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// The number of steps is a signed quotient. The compiler compares the size with multiples of the divisor, and its mask
/// keeps only the bits that the quotient can have.
#[test]
fn a_mask_keeps_the_bits_that_a_quotient_has() {
    let step = |label: &str| format!("{ADDRESS}{}{NEXT}\txor.b32 %r8, %r8, %r13;\n", meet(label, "%r8"));
    let source = |mask: u32, flip: &str| {
        let several: String = (0..4).map(|k| step(&format!("W{k}"))).collect();
        let several = several.replace("xor.b32 %r8, %r8, %r13", flip);
        let one = step("W");
        let all = format!(
            "\tshr.s32 %r20, %r29, 31;\n\tshr.u32 %r20, %r20, 24;\n\tadd.s32 %r20, %r29, %r20;\n\tshr.s32 %r10, %r20, 8;\n\
             \tsetp.lt.s32 %p4, %r29, 256;\n\t@%p4 bra $END;\n\tmax.s32 %r21, %r10, 1;\n\tand.b32 %r3, %r21, 3;\n\
             \tsetp.lt.u32 %p5, %r29, 1024;\n\t@%p5 bra $REST;\n\tand.b32 %r22, %r21, {mask};\n\tneg.s32 %r4, %r22;\n\
             $STEPS:\n{several}\tadd.s32 %r4, %r4, 4;\n\tsetp.ne.b32 %p6, %r4, 0;\n\t@%p6 bra $STEPS;\n\
             \tsetp.eq.b32 %p7, %r3, 0;\n\t@%p7 bra $END;\n\
             $REST:\n\tneg.s32 %r5, %r3;\n\
             $ONE:\n{one}\tadd.s32 %r5, %r5, 1;\n\tsetp.ne.b32 %p8, %r5, 0;\n\t@%p8 bra $ONE;\n"
        );
        let text = kernel("\tmov.b32 %r7, 0;\n\tmov.b32 %r8, 0;\n", 3, &|_, _| String::new(), (SIZE, ""));
        let (before, behind) = (text.find("$TILE:").expect("tiles"), text.find("$END:").expect("an end"));
        format!("{}{all}{}", &text[..before], &text[behind..])
    };
    let flips = "xor.b32 %r8, %r8, %r13";
    assert_eq!(verdict_on(&source(0x7ffffc, flips)), "proved\t");
    // The phase does not flip in the unrolled steps.
    let faulty = verdict_on(&source(0x7ffffc, "mov.b32 %r8, %r8"));
    assert!(!faulty.starts_with("proved"), "{faulty}");
    // A mask of fewer bits than the quotient has changes the number of steps.
    let (all, less) = (program(&source(0x7ffffc, flips)), program(&source(0x3ffffc, flips)));
    assert!(!all.contains("1048576") && less.contains("1048576"), "{all}{less}");
}
