//! Rings as compilers write them: slots and phases that loops carry, in loops that are unrolled.

use warpline_import::{lift, ptx};

/// The verdict on a kernel with this body.
fn verdict(body: &str) -> String {
    crate::common::verdict_on(&text(body))
}

/// How many loops its program has.
fn loops(body: &str) -> usize {
    let text = text(body);
    let module = ptx::read(&text).expect("a module");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", &text, &lift::Launch::default()).expect("a program");
    lifted.program.loops.len()
}

/// A kernel with this body, for two warps and a ring of three barriers that all threads arrive at.
fn text(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 8 .b8 bar[24];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, bar;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], 64;\n\
         \tmbarrier.init.shared.b64 [%r2+8], 64;\n\tmbarrier.init.shared.b64 [%r2+16], 64;\n$L0:\n\tbar.sync 0;\n\
         \tmov.b32 %r7, 0;\n\tmov.b32 %r8, 0;\n{body}\tret;\n}}\n"
    )
}

/// The barrier of the slot in `%r11`, an arrival and a wait; then the next slot and phase.
fn step(label: &str, address: &str, phase: &str) -> String {
    format!(
        "{address}\tmbarrier.arrive.shared.b64 %rd1, [%r11];\n\
         ${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], %r8;\n\t@!%p2 bra ${label};\n\
         \tadd.s32 %r12, %r7, 1;\n\tsetp.eq.s32 %p3, %r12, 3;\n\tselp.b32 %r7, 0, %r12, %p3;\n\
         \tselp.b32 %r13, 1, 0, %p3;\n{phase}"
    )
}

const SLOT: &str = "\tshl.b32 %r9, %r7, 3;\n\tadd.s32 %r11, %r2, %r9;\n";
const FLIP: &str = "\txor.b32 %r8, %r8, %r13;\n";

/// Two steps an iteration and one for an odd number, in each of two passes: one loop of single steps in both.
#[test]
fn a_ring_in_an_unrolled_loop_is_proved() {
    let tiles = |second: &str| {
        let (a, b, c) = (step("L3", SLOT, FLIP), step("L4", SLOT, second), step("L5", SLOT, FLIP));
        format!(
            "\tmov.b32 %r15, 0;\n$L1:\n\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L7;\n\tand.b32 %r3, %r10, 1;\n\
             \tsub.s32 %r4, %r10, %r3;\n\tsetp.eq.s32 %p5, %r4, 0;\n\t@%p5 bra $L6;\n\tmov.b32 %r14, 0;\n\
             $L2:\n{a}{b}\tadd.s32 %r14, %r14, 2;\n\tsetp.lt.s32 %p6, %r14, %r4;\n\t@%p6 bra $L2;\n\
             $L6:\n\tsetp.eq.s32 %p7, %r3, 0;\n\t@%p7 bra $L7;\n{c}\
             $L7:\n\tadd.s32 %r15, %r15, 1;\n\tsetp.lt.s32 %p8, %r15, 2;\n\t@%p8 bra $L1;\n"
        )
    };
    assert_eq!(verdict(&tiles(FLIP)), "proved\t");
    // The phase does not flip where the second step of an iteration ends a round.
    let faulty = verdict(&tiles(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// The second step of an iteration asks whether it exists, before its wait alone. It does, in each iteration.
#[test]
fn a_step_that_always_exists_is_a_step() {
    let tiles = |second: &str, asked: i32| {
        let (a, b, c) = (step("L3", SLOT, FLIP), step("L4", SLOT, second), step("L5", SLOT, FLIP));
        let wait = "$L4:\n";
        let (before, after) = b.split_once(wait).expect("a wait");
        let (wait, after) = after.split_once("bra $L4;\n").expect("its end");
        let b = format!(
            "{before}\tadd.s32 %r17, %r14, {asked};\n\tsetp.ge.s32 %p9, %r17, %r16;\n\t@%p9 bra $L9;\n$L4:\n{wait}bra $L4;\n\
             $L9:\n{after}"
        );
        format!(
            "\tadd.s32 %r16, %r10, 31;\n\tshr.s32 %r16, %r16, 5;\n\tsetp.lt.s32 %p4, %r16, 1;\n\t@%p4 bra $L7;\n\
             \tand.b32 %r3, %r16, 1;\n\tsetp.eq.s32 %p5, %r16, 1;\n\t@%p5 bra $L6;\n\tand.b32 %r4, %r16, -2;\n\
             \tmov.b32 %r14, 0;\n$L2:\n{a}{b}\tadd.s32 %r14, %r14, 2;\n\tsetp.ne.s32 %p6, %r14, %r4;\n\t@%p6 bra $L2;\n\
             $L6:\n\tsetp.eq.s32 %p7, %r3, 0;\n\t@%p7 bra $L7;\n{c}$L7:\n"
        )
    };
    assert_eq!(loops(&tiles(FLIP, 1)), 1);
    assert_eq!(verdict(&tiles(FLIP, 1)), "proved\t");
    let faulty = verdict(&tiles("", 1));
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The last step of an even number of steps does not wait, and nothing needs its wait.
    assert_eq!(verdict(&tiles(FLIP, 2)), "proved\t");
}

/// Each lane holds the address of one barrier, and a shuffle by the slot's number gives it to all.
#[test]
fn a_shuffle_by_a_slot_gives_the_address_of_its_barrier() {
    let ring = |of: &str| {
        let address = format!("{of}\tshfl.sync.idx.b32 %r11|%p9, %r17, %r16, 31, -1;\n");
        format!(
            "\tand.b32 %r18, %r1, 31;\n\tshl.b32 %r19, %r18, 3;\n\tadd.s32 %r17, %r2, %r19;\n\tmov.b32 %r14, 0;\n\
             \tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L7;\n$L2:\n{}\tadd.s32 %r14, %r14, 1;\n\
             \tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $L2;\n$L7:\n",
            step("L3", &address, FLIP)
        )
    };
    assert_eq!(verdict(&ring("\tmov.b32 %r16, %r7;\n")), "proved\t");
    // Each warp has a ring that starts at a slot of its own.
    let apart = "\tshr.u32 %r20, %r1, 5;\n\tadd.s32 %r16, %r7, %r20;\n\trem.s32 %r16, %r16, 3;\n";
    let faulty = verdict(&ring(apart));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A slot that one thread alone moves on, in a loop that all threads run: each lane has its own value.
#[test]
fn a_slot_that_one_thread_moves_on_is_followed() {
    let others =
        step("L3", SLOT, FLIP).replace("\tmbarrier.arrive.shared.b64 %rd1", "\t@%p1 mbarrier.arrive.shared.b64 %rd1");
    let next = "\tadd.s32 %r24, %r21, 1;\n\tsetp.eq.s32 %p10, %r24, 3;\n\tselp.b32 %r21, 0, %r24, %p10;\n";
    let one = format!(
        "\t@%p1 bra $L8;\n\tshl.b32 %r22, %r21, 3;\n\tadd.s32 %r23, %r2, %r22;\n\
         \tmbarrier.arrive.shared.b64 %rd2, [%r23];\n{next}$L8:\n"
    );
    let ring = |first: &str, second: &str| {
        format!(
            "\tmov.b32 %r14, 0;\n\tmov.b32 %r21, 0;\n\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L7;\n\
             $L2:\n{first}{second}\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $L2;\n$L7:\n"
        )
    };
    // The arrivals of the thread and of the other lanes of its warp are one of the whole warp.
    assert_eq!(verdict(&ring(&one, &others)), "proved\t");
    // The thread arrives behind its own wait, so the phase that it waits for never ends.
    let late = verdict(&ring(&others, &one));
    assert!(late.starts_with("violated"), "{late}");
}

/// A text without a block's size, with products that need a warpgroup.
#[test]
fn a_kernel_that_does_nothing_needs_no_block() {
    let text = ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";
    assert_eq!(crate::common::verdict_on(text), "proved\t");
}

/// Steps that are numbered, with the slot and the phase of each from its number, for a size that is not a number of steps.
/// The step that is left has a number that the branch around the unrolled loop decides.
#[test]
fn steps_that_are_left_are_numbered_by_how_many_were_done() {
    let step = |label: &str, slots: u32, done: u32, late: u32| {
        format!(
            "\tadd.s32 %r6, %r5, {done};\n\trem.u32 %r9, %r6, {slots};\n\tshl.b32 %r9, %r9, 3;\n\tadd.s32 %r11, %r2, %r9;\n\
             \tadd.s32 %r6, %r6, {late};\n\tdiv.u32 %r12, %r6, {slots};\n\tand.b32 %r8, %r12, 1;\n\
             \tmbarrier.arrive.shared.b64 %rd1, [%r11];\n\
             ${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], %r8;\n\t@!%p2 bra ${label};\n"
        )
    };
    let steps = |slots: u32, late: u32| {
        let (a, b, c) = (step("L3", slots, 0, late), step("L4", slots, 1, late), step("L5", slots, 0, late));
        format!(
            "\tmov.b32 %r5, 0;\n\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L7;\n\tadd.s32 %r20, %r10, 31;\n\
             \tshr.s32 %r21, %r20, 5;\n\tmax.s32 %r22, %r21, 1;\n\tadd.s32 %r23, %r22, -1;\n\tand.b32 %r3, %r22, 1;\n\
             \tsetp.lt.u32 %p5, %r23, 1;\n\t@%p5 bra $L6;\n\tsub.s32 %r4, %r22, %r3;\n\
             $L2:\n{a}{b}\tadd.s32 %r5, %r5, 2;\n\tadd.s32 %r4, %r4, -2;\n\tsetp.ne.s32 %p6, %r4, 0;\n\t@%p6 bra $L2;\n\
             $L6:\n\tsetp.eq.s32 %p7, %r3, 0;\n\t@%p7 bra $L7;\n{c}$L7:\n"
        )
    };
    for slots in [2, 3] {
        assert_eq!(verdict(&steps(slots, 0)), "proved\t");
        // Each step waits for the phase after its own.
        let faulty = verdict(&steps(slots, slots));
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
}

/// A step that does the same with two barriers, in a loop of four steps and one of the steps that are left. Each half looks
/// like a step. The number of steps is the smaller of two, which the compiler compares by complements.
#[test]
fn two_alike_halves_are_one_step() {
    let half = |label: &str, bar: u32, phase: &str| {
        format!(
            "\tmbarrier.arrive.shared.b64 %rd1, [%r2+{bar}];\n\
             ${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r2+{bar}], {phase};\n\t@!%p2 bra ${label};\n"
        )
    };
    let steps = |last: &str| {
        let four: String = (0..4)
            .map(|n| {
                let phase = format!("{}", n % 2);
                half(&format!("A{n}"), 0, &phase) + &half(&format!("B{n}"), 8, if n == 3 { last } else { &phase })
            })
            .collect();
        let one = half("A4", 0, "%r8") + &half("B4", 8, "%r8");
        format!(
            "\tmov.u32 %r5, %ctaid.x;\n\tadd.s32 %r6, %r5, 1;\n\tadd.s32 %r20, %r10, 63;\n\tshr.s32 %r20, %r20, 6;\n\
             \tmin.s32 %r21, %r20, %r6;\n\tsetp.lt.s32 %p4, %r21, 1;\n\t@%p4 bra $L7;\n\tmov.b32 %r22, -2;\n\
             \tsub.s32 %r23, %r22, %r5;\n\tnot.b32 %r24, %r20;\n\tmax.s32 %r25, %r23, %r24;\n\
             \tsub.s32 %r26, %r22, %r25;\n\tand.b32 %r3, %r21, 3;\n\tsetp.lt.u32 %p5, %r26, 3;\n\tmov.b32 %r7, 0;\n\
             \t@%p5 bra $L6;\n\tsub.s32 %r4, %r21, %r3;\n\
             $L2:\n{four}\tadd.s32 %r7, %r7, 4;\n\tadd.s32 %r4, %r4, -4;\n\tsetp.ne.s32 %p6, %r4, 0;\n\t@%p6 bra $L2;\n\
             $L6:\n\tsetp.eq.s32 %p7, %r3, 0;\n\t@%p7 bra $L7;\n$L5:\n\tand.b32 %r8, %r7, 1;\n{one}\
             \tadd.s32 %r7, %r7, 1;\n\tadd.s32 %r3, %r3, -1;\n\tsetp.ne.s32 %p9, %r3, 0;\n\t@%p9 bra $L5;\n$L7:\n"
        )
    };
    assert_eq!(verdict(&steps("1")), "proved\t");
    // The second half of the fourth step waits for the phase after its own.
    let faulty = verdict(&steps("0"));
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

/// A window of tiles from one bound to another, all but the last one in a loop. The phase behind the loop follows from the
/// difference of the bounds.
#[test]
fn the_difference_of_two_bounds_is_a_trip_count() {
    let tiles = |behind: &str| {
        let round = |label: &str, phase: &str| {
            format!(
                "\tmbarrier.arrive.shared.b64 %rd1, [%r2];\n\
                 ${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r2], {phase};\n\t@!%p2 bra ${label};\n"
            )
        };
        format!(
            "\tmov.u32 %r5, %ctaid.x;\n\tadd.s32 %r6, %r10, %r5;\n\tadd.s32 %r6, %r6, -111;\n\tshr.s32 %r20, %r6, 31;\n\
             \tshr.u32 %r20, %r20, 26;\n\tadd.s32 %r20, %r6, %r20;\n\tshr.s32 %r20, %r20, 6;\n\tmax.s32 %r21, %r20, 0;\n\
             \tadd.s32 %r22, %r10, 63;\n\tshr.s32 %r22, %r22, 6;\n\tadd.s32 %r23, %r22, -1;\n\tmov.b32 %r24, 0;\n\
             \tsetp.ge.s32 %p4, %r21, %r22;\n\t@%p4 bra $L9;\n\tsetp.ge.s32 %p5, %r21, %r23;\n\tmov.b32 %r25, %r21;\n\
             \t@%p5 bra $L6;\n$L2:\n{}\txor.b32 %r24, %r24, 1;\n\tadd.s32 %r25, %r25, 1;\n\
             \tsetp.ne.b32 %p6, %r23, %r25;\n\t@%p6 bra $L2;\n$L6:\n{behind}{}$L9:\n",
            round("L3", "%r24"),
            round("L4", "%r24")
        )
    };
    assert_eq!(verdict(&tiles("")), "proved\t");
    // The last tile waits for the phase after its own.
    let faulty = verdict(&tiles("\txor.b32 %r24, %r24, 1;\n"));
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

/// A register that each iteration sets to its first value again, or leaves alone by a condition that is not followed.
#[test]
fn a_register_that_gets_its_first_value_again_is_constant() {
    let ring = |wait: &str| {
        format!(
            "\tmov.b32 %r14, 0;\n\tmov.b32 %r11, %r2;\n\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L7;\n\
             $L2:\n\tmbarrier.arrive.shared.b64 %rd1, [%r11];\n\tand.b32 %r8, %r14, 1;\n{wait}\
             $L3:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], %r8;\n\t@!%p2 bra $L3;\n\
             \tshr.u32 %r15, %r14, %r10;\n\tsetp.eq.s32 %p5, %r15, 0;\n\t@%p5 bra $L4;\n\tmov.b32 %r11, %r2;\n\
             $L4:\n\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $L2;\n$L7:\n"
        )
    };
    assert_eq!(verdict(&ring("")), "proved\t");
    // Each iteration waits for the phase after its own.
    let faulty = verdict(&ring("\txor.b32 %r8, %r8, 1;\n"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Behind a loop, a branch has set a slot and a parity that move on: to numbers, or to functions of the trip count. Two waits
/// name both by one counter.
#[test]
fn several_waits_behind_a_loop_name_one_counter() {
    let steps = |opposite: u32| {
        let again = |label: &str| {
            format!("${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], %r21;\n\t@!%p2 bra ${label};\n")
        };
        format!(
            "\tmov.b32 %r20, 1;\n\tmov.b32 %r21, 1;\n\tmov.b32 %r14, 0;\n\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L9;\n\
             $L2:\n{}\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $L2;\n\
             \tadd.s32 %r20, %r7, 1;\n\txor.b32 %r21, %r8, {opposite};\n\
             $L9:\n\tsetp.eq.s32 %p5, %r20, 3;\n\tselp.b32 %r9, 0, %r20, %p5;\n\tselp.b32 %r22, 1, 0, %p5;\n\
             \txor.b32 %r21, %r21, %r22;\n\tshl.b32 %r9, %r9, 3;\n\tadd.s32 %r11, %r2, %r9;\n{}{}",
            step("L3", SLOT, FLIP),
            again("L4"),
            again("L5")
        )
    };
    let text = text(&steps(1));
    let module = ptx::read(&text).expect("a module");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", &text, &lift::Launch::default()).expect("a program");
    let program = warpline_import::text::kernel(&lifted);
    assert_eq!(program.lines().filter(|l| l.contains("% 3)] parity (r20")).count(), 2, "{program}");
    assert_eq!(verdict(&steps(1)), "proved\t");
    // Both wait for a phase that no one arrives for.
    let faulty = verdict(&steps(0));
    assert!(faulty.starts_with("violated"), "{faulty}");
}
