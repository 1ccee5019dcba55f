//! Lengths of tiles that roles state in different forms, and warps of one role that count on their own.

use warpline_import::lift::{Launch, lift};
use warpline_import::ptx;

use crate::by_iteration::{NEVER, not_proved, ring_text, word};
use crate::common::verdict_on;

const ALWAYS: &str = "\tsetp.eq.u32 %p8, %r2, %r2;\n";

/// A first step if there is one, and then the others: the length of a tile without the smaller of it and a number.
fn first_apart(taken: u32) -> [String; 2] {
    let first = format!("{}\tsetp.lt.s32 %p8, %r46, 1;\n", word(0));
    [first, format!("\tmin.s32 %r48, %r46, {taken};\n\tsub.s32 %r46, %r46, %r48;\n")]
}

#[test]
fn a_length_without_a_part_of_itself_is_a_function_of_the_length() {
    let verdict = |taken: u32| {
        let [skip, length] = first_apart(taken);
        verdict_on(&ring_text([&skip, &length], [ALWAYS, &word(0)]))
    };
    assert_eq!(verdict(1), "proved\t");
    not_proved(&verdict(2));
    not_proved(&verdict(0));
}

/// A choice between a whole number of steps and one more: both are computed from the length, so there is a program with
/// one length of each tile. Its proof is not found, and a role that makes fewer steps has none either.
#[test]
fn a_choice_between_two_quotients_is_a_function_of_the_length() {
    let steps = |more: u32| {
        format!(
            "{}\tshr.u32 %r48, %r46, 1;\n\tadd.s32 %r49, %r48, {more};\n\tand.b32 %r52, %r46, 1;\n\
             \tsetp.eq.s32 %p11, %r52, 0;\n\tselp.b32 %r46, %r48, %r49, %p11;\n",
            word(0)
        )
    };
    let rounded_up = format!("{}\tadd.s32 %r48, %r46, 1;\n\tshr.u32 %r46, %r48, 1;\n", word(0));
    for more in [1, 0] {
        let text = ring_text([ALWAYS, &steps(more)], [ALWAYS, &rounded_up]);
        let module = ptx::read(&text).expect("a kernel");
        let lifted = lift(&module, &module.entries[0], "k.ptx", &text, &Launch::default()).expect("a program");
        assert!(!lifted.program.tapes.is_empty() || lifted.numbered.is_some());
        not_proved(&verdict_on(&text));
    }
}

/// The loop of one role counts down, and goes on while what is left is above a number without a sign.
#[test]
fn a_loop_that_goes_on_on_both_sides_of_a_number_ends_there() {
    let verdict = |last: u32| {
        let length = word(0);
        let text = ring_text([NEVER, &length], [NEVER, &length]);
        let up = "\tadd.s32 %r47, %r47, 1;\n\tsetp.ne.s32 %p10, %r47, %r46;\n\t@%p10 bra $Jp;\n";
        let down = format!(
            "\tsub.s32 %r52, %r46, %r47;\n\tadd.s32 %r47, %r47, 1;\n\tsetp.gt.u32 %p10, %r52, {last};\n\t@%p10 bra $Jp;\n"
        );
        assert!(text.contains(up));
        verdict_on(&text.replace(up, &down))
    };
    assert_eq!(verdict(1), "proved\t");
    not_proved(&verdict(2));
    // What is left is never below 0.
    not_proved(&verdict(0));
}

/// Two warps of one role wait for barriers of their own, each by a register of its own: both registers change at the same
/// places. A third warp signals both barriers.
fn two_warps(flip: &str, wait: &str) -> String {
    let length = word(0);
    let loops = |tag: &str, body: &str| {
        format!(
            "\tmov.b32 %r32, 0;\n$B{tag}:\n{length}\tsetp.lt.s32 %p9, %r46, 1;\n\t@%p9 bra $S{tag};\n\
             \tmov.b32 %r47, 0;\n$J{tag}:\n{body}\tadd.s32 %r47, %r47, 1;\n\tsetp.ne.s32 %p10, %r47, %r46;\n\
             \t@%p10 bra $J{tag};\n$S{tag}:\n\tadd.s32 %r32, %r32, 1;\n\tsetp.ne.s32 %p5, %r32, %r11;\n\
             \t@%p5 bra $B{tag};\n"
        )
    };
    let wait_for = |label: &str, at: &str, parity: &str| {
        format!("${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [{at}], {parity};\n\t@!%p2 bra ${label};\n")
    };
    let produce = |label: &str, full: u32, empty: u32, slot: u32| {
        format!(
            "{}\tst.shared.b32 [%r5+{slot}], %r1;\n\tmbarrier.arrive.shared.b64 %rd6, [%r3+{full}];\n",
            wait_for(label, &format!("%r3+{empty}"), "%r34")
        )
    };
    let consume = |label: &str, full: u32, empty: u32, slot: u32, parity: &str, wait: &str| {
        format!(
            "{}\tld.shared.b32 %r38, [%r5+{slot}];\n\tmbarrier.arrive.shared.b64 %rd6, [%r3+{empty}];\n",
            if wait.is_empty() { String::new() } else { wait_for(label, &format!("%r3+{full}"), parity) }
        )
    };
    let producer = format!(
        "\txor.b32 %r34, %r30, 1;\n{}{}\txor.b32 %r30, %r30, 1;\n",
        produce("P0", 0, 16, 0),
        produce("P1", 8, 24, 128)
    );
    let consumer = format!(
        "\t@%p7 bra $Second;\n{}\txor.b32 %r30, %r30, 1;\n\tbra.uni $Next;\n$Second:\n{}{flip}$Next:\n",
        consume("C0", 0, 16, 0, "%r30", "wait"),
        consume("C1", 8, 24, 128, "%r31", wait)
    );
    let inits: String = (0..4).map(|n| format!("\tmbarrier.init.shared.b64 [%r3+{}], 32;\n", 8 * n)).collect();
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u32 k_param_0, .param .u64 k_param_1)\n.reqntid 96\n{{\n\
         \t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 128 .b8 data[256];\n\
         \t.shared .align 8 .b8 bars[32];\n\tld.param.u32 %r11, [k_param_0];\n\tld.param.u64 %rd1, [k_param_1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tmov.b32 %r3, bars;\n\tand.b32 %r4, %r1, 31;\n\
         \tshl.b32 %r4, %r4, 2;\n\tadd.s32 %r5, %r2, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n{inits}$L0:\n\
         \tbar.sync 0;\n\tmov.b32 %r30, 0;\n\tmov.b32 %r31, 0;\n\tsetp.lt.s32 %p3, %r11, 1;\n\t@%p3 bra $END;\n\
         \tsetp.gt.u32 %p6, %r1, 63;\n\tsetp.gt.u32 %p7, %r1, 31;\n\t@%p6 bra $PROD;\n{}\tbra.uni $END;\n$PROD:\n\
         {}$END:\n\tret;\n}}\n",
        loops("c", &consumer),
        loops("p", &producer)
    )
}

#[test]
fn warps_of_one_role_keep_variables_of_their_own() {
    let flip = "\txor.b32 %r31, %r31, 1;\n";
    assert_eq!(verdict_on(&two_warps(flip, "wait")), "proved\t");
    not_proved(&verdict_on(&two_warps("", "wait")));
    not_proved(&verdict_on(&two_warps(flip, "")));
}
