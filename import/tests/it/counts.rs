//! Trip counts that are no sums of arguments. Each kernel is proved, and a variant with one change is not.

/// The verdict on a kernel of two warps. `%rd1` is an array, `%r10` and `%r11` are sizes, `%r5` is the address of a thread's
/// word and `%r6` that of a thread of the other warp.
fn verdict(body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1, \
         .param .u32 k_param_2)\n.reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 128 .b8 data[256];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tld.param.u32 %r11, [k_param_2];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tshl.b32 %r4, %r1, 2;\n\
         \tadd.s32 %r5, %r2, %r4;\n\txor.b32 %r6, %r4, 128;\n\tadd.s32 %r6, %r2, %r6;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// Warps exchange words.
fn exchange(last: &str) -> String {
    format!("\tst.shared.b32 [%r5], %r1;\n\tbar.sync 0;\n\tld.shared.b32 %r13, [%r6];\n{last}")
}

/// A loop of `count` iterations.
fn repeated(label: &str, (counter, count): (&str, &str), body: &str) -> String {
    format!(
        "\tsetp.lt.s32 %p2, {count}, 1;\n\t@%p2 bra ${label}E;\n\tmov.b32 {counter}, 0;\n${label}:\n{body}\
         \tadd.s32 {counter}, {counter}, 1;\n\tsetp.lt.s32 %p3, {counter}, {count};\n\t@%p3 bra ${label};\n${label}E:\n"
    )
}

const BAR: &str = "\tbar.sync 0;\n";

/// A binary search decides the trip count: the sequence of a tile.
#[test]
fn a_search_is_a_function_of_what_it_reads() {
    let body = |first: &str, last: &str| {
        let search = format!(
            "\t{first};\n\tmov.b32 %r21, %r10;\n\tsetp.ge.s32 %p4, %r20, %r21;\n\t@%p4 bra $F;\n\
             $S:\n\tadd.s32 %r22, %r20, %r21;\n\tshr.s32 %r23, %r22, 1;\n\tmad.wide.s32 %rd2, %r23, 4, %rd1;\n\
             \tld.global.b32 %r24, [%rd2];\n\tmov.u32 %r26, %ctaid.x;\n\tsetp.gt.s32 %p5, %r24, %r26;\n\
             \tselp.b32 %r21, %r23, %r21, %p5;\n\tadd.s32 %r25, %r23, 1;\n\tselp.b32 %r20, %r20, %r25, %p5;\n\
             \tsetp.lt.s32 %p6, %r20, %r21;\n\t@%p6 bra $S;\n$F:\n"
        );
        search + &repeated("L", ("%r12", "%r20"), &exchange(last))
    };
    assert_eq!(verdict(&body("mov.b32 %r20, 0", BAR)), "proved\t");
    let raced = verdict(&body("mov.b32 %r20, 0", ""));
    assert!(raced.starts_with("violated"), "{raced}");
    // Both warps search from their own place.
    let apart = verdict(&body("shr.u32 %r20, %r1, 5", BAR));
    assert!(!apart.starts_with("proved"), "{apart}");
}

#[test]
fn three_loops_with_nothing_between_are_one() {
    let body = |last: &str| {
        let inner = repeated("L", ("%r12", "%r10"), &exchange(last));
        let rows = repeated("M", ("%r14", "%r11"), &inner);
        let loads = "\tld.param.u32 %r30, [k_param_0];\n";
        format!("{loads}{}", repeated("N", ("%r15", "%r30"), &rows))
    };
    assert_eq!(verdict(&body(BAR)), "proved\t");
    let raced = verdict(&body(""));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// A loop over the counter of an outer one is no part of it.
#[test]
fn a_loop_that_reads_an_outer_counter_stays() {
    let guarded = |last: &str| {
        let inner = format!("\tsetp.eq.s32 %p4, %r14, 5;\n\t@%p4 bra $K;\n{BAR}$K:\n{}", exchange(last));
        let rows = repeated("M", ("%r14", "%r11"), &repeated("L", ("%r12", "%r10"), &inner));
        repeated("N", ("%r15", "%r10"), &rows)
    };
    let raced = verdict(&guarded(""));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// The last chunk of a sequence has fewer steps.
#[test]
fn a_count_that_is_capped_has_every_value() {
    let body = |last: &str| {
        let steps = "\tmin.s32 %r20, %r10, 7;\n";
        // The fifth iteration only.
        let inner = format!("{}\tsetp.eq.s32 %p4, %r12, 4;\n\t@%p4 bra $K;\n{BAR}$K:\n", exchange(last));
        format!("{steps}{}", repeated("L", ("%r12", "%r20"), &inner))
    };
    assert_eq!(verdict(&body(BAR)), "proved\t");
    let raced = verdict(&body(""));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// Whether one size is positive, asked in two ways.
#[test]
fn a_comparison_and_its_opposite_are_one_condition() {
    let body = |least: &str| {
        format!(
            "\tadd.s32 %r20, %r10, %r11;\n\tst.shared.b32 [%r5], %r1;\n\tsetp.lt.s32 %p4, %r20, 1;\n\t@%p4 bra $A;\n{BAR}\
             $A:\n\tsetp.ge.s32 %p5, %r20, {least};\n\t@%p5 bra $B;\n{BAR}$B:\n\tld.shared.b32 %r13, [%r6];\n"
        )
    };
    assert_eq!(verdict(&body("1")), "proved\t");
    let raced = verdict(&body("0"));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// A loop over the rows of a sequence that a tile covers, and a comparison with the number of all rows.
#[test]
fn a_comparison_tells_whether_a_loop_has_an_iteration() {
    let body = |least: &str| {
        let count = "\tmov.u32 %r20, %ctaid.y;\n\tshl.b32 %r21, %r20, 6;\n\tadd.s32 %r21, %r21, 64;\n\
                     \tmin.s32 %r22, %r21, %r10;\n\tadd.s32 %r23, %r22, 15;\n\tshr.s32 %r24, %r23, 4;\n\
                     \tst.shared.b32 [%r5], %r1;\n";
        let other =
            format!("\tsetp.ge.s32 %p4, %r10, {least};\n\t@%p4 bra $A;\n{BAR}$A:\n\tld.shared.b32 %r13, [%r6];\n");
        format!("{count}{}{other}", repeated("L", ("%r12", "%r24"), BAR))
    };
    assert_eq!(verdict(&body("1")), "proved\t");
    let raced = verdict(&body("0"));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// Causal attention: the rows behind a tile, and a comparison of all rows with the end of the tile.
#[test]
fn a_comparison_of_a_dividend_is_one_of_its_quotient() {
    let body = |most: &str| {
        let count = "\tmov.u32 %r20, %ctaid.x;\n\tshl.b32 %r21, %r20, 2;\n\tshr.u32 %r22, %r10, 5;\n\tsub.s32 %r23, %r22, %r21;\n\
                     \tshl.b32 %r24, %r20, 7;\n\tsub.s32 %r25, %r10, %r24;\n\tst.shared.b32 [%r5], %r1;\n";
        // The loop has no iteration where less than a block is left.
        let other =
            format!("\tsetp.gt.s32 %p4, %r25, {most};\n\t@%p4 bra $A;\n{BAR}$A:\n\tld.shared.b32 %r13, [%r6];\n");
        format!("{count}{}{other}", repeated("L", ("%r12", "%r23"), BAR))
    };
    assert_eq!(verdict(&body("31")), "proved\t");
    let raced = verdict(&body("-1"));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// Attention backward: the rows behind the end of a tile, divided as signed numbers are, and a loop that runs at least once.
#[test]
fn a_comparison_is_one_of_a_quotient_less_a_constant() {
    let body = |most: &str| {
        let count = "\tmov.u32 %r20, %ctaid.x;\n\tshl.b32 %r21, %r20, 7;\n\tsub.s32 %r22, %r10, %r21;\n\tadd.s32 %r22, %r22, -128;\n\
                     \tshr.s32 %r23, %r22, 31;\n\tshr.u32 %r23, %r23, 27;\n\tadd.s32 %r23, %r22, %r23;\n\tshr.s32 %r24, %r23, 5;\n\
                     \tmax.s32 %r25, %r24, 1;\n\tadd.s32 %r25, %r25, -1;\n\tst.shared.b32 [%r5], %r1;\n";
        // The loop has no iteration where less than two blocks are left.
        let other =
            format!("\tsetp.gt.s32 %p4, %r24, {most};\n\t@%p4 bra $A;\n{BAR}$A:\n\tld.shared.b32 %r13, [%r6];\n");
        format!("{count}{}{other}", repeated("L", ("%r12", "%r25"), BAR))
    };
    assert_eq!(verdict(&body("1")), "proved\t");
    let raced = verdict(&body("0"));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// Loops go over quotients of a size, and another condition reads it, too. A fault is one of a launch in which the loops have
/// several iterations.
#[test]
fn a_size_that_loops_divide_is_large_in_a_launch() {
    let body = |last: &str| {
        let tiles =
            |to: &str, by: u32| format!("\tadd.s32 {to}, %r10, {};\n\tshr.s32 {to}, {to}, {by};\n", (1 << by) - 1);
        let odd =
            "\tand.b32 %r22, %r10, 1;\n\tsetp.eq.s32 %p6, %r22, 0;\n\t@%p6 bra $O;\n\tst.shared.b32 [%r5], %r1;\n$O:\n";
        let first = repeated("L", ("%r12", "%r20"), &exchange(last));
        let second = repeated("M", ("%r14", "%r21"), &exchange(BAR));
        format!("{}{}{first}{BAR}{odd}{BAR}{second}", tiles("%r20", 5), tiles("%r21", 6))
    };
    assert_eq!(verdict(&body(BAR)), "proved\t");
    let raced = verdict(&body(""));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// Two slots by the number of a step, in a loop that begins at a multiple of four. The slot of the last step follows from the
/// size alone, and so from the number of iterations.
#[test]
fn the_slot_of_the_last_step_is_one_of_the_trip_count() {
    let body = |last: &str| {
        let slot = |of: &str| {
            format!(
                "\tand.b32 %r20, {of}, 1;\n\tshl.b32 %r20, %r20, 8;\n\tadd.s32 %r21, %r5, %r20;\n\tadd.s32 %r22, %r6, %r20;\n"
            )
        };
        format!(
            "\tmov.u32 %r23, %ctaid.x;\n\tshl.b32 %r24, %r23, 2;\n\tadd.s32 %r25, %r10, 31;\n\tshr.s32 %r25, %r25, 5;\n\
             \tsetp.ge.s32 %p2, %r24, %r25;\n\t@%p2 bra $E;\n\tmov.b32 %r12, %r24;\n\
             $L:\n{}\tst.shared.b32 [%r21], %r12;\n\tbar.sync 0;\n\tld.shared.b32 %r13, [%r22];\n\tadd.s32 %r12, %r12, 1;\n\
             \tsetp.lt.s32 %p3, %r12, %r25;\n\t@%p3 bra $L;\n\tadd.s32 %r26, %r25, -1;\n{}{last}\tst.shared.b32 [%r21], %r12;\n\
             $E:\n",
            slot("%r12"),
            slot("%r26")
        )
    };
    assert_eq!(verdict(&body(BAR)), "proved\t");
    // The other warp may still read the slot of the last step.
    let raced = verdict(&body(""));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// CuTe rounds a quotient up by a choice: `n > 0 ? (n - 1) / 32 + 1 : -(-n / 32)`. It is one quotient for every reader.
#[test]
fn a_quotient_that_a_choice_rounds_up_is_one_quotient() {
    let body = |last: &str| {
        let count = "\tadd.s32 %r20, %r10, -1;\n\tshr.s32 %r21, %r20, 31;\n\tshr.u32 %r21, %r21, 27;\n\tadd.s32 %r21, %r20, %r21;\n\
                     \tshr.s32 %r21, %r21, 5;\n\tadd.s32 %r21, %r21, 1;\n\tneg.s32 %r22, %r10;\n\tshr.s32 %r23, %r22, 31;\n\
                     \tshr.u32 %r23, %r23, 27;\n\tsub.s32 %r23, %r23, %r10;\n\tshr.s32 %r23, %r23, 5;\n\tneg.s32 %r23, %r23;\n\
                     \tsetp.gt.s32 %p4, %r10, 0;\n\tselp.b32 %r24, %r21, %r23, %p4;\n\tmin.s32 %r25, %r24, 7;\n\
                     \tadd.s32 %r26, %r24, -1;\n";
        let first = repeated("L", ("%r12", "%r25"), &exchange(BAR));
        format!("{count}{first}{}", repeated("M", ("%r14", "%r26"), &exchange(last)))
    };
    assert_eq!(verdict(&body(BAR)), "proved\t");
    let raced = verdict(&body(""));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// Causal attention: steps before and behind the diagonal. How many steps are left out is not negative, and its negative
/// would be no number of steps.
#[test]
fn a_sum_that_is_left_out_of_counts_has_its_sign() {
    let body = |asked: &str| {
        let counts = "\tld.param.u32 %r30, [k_param_0];\n\tsub.s32 %r20, %r11, %r30;\n\tmax.s32 %r20, %r20, 0;\n\
                      \tsub.s32 %r21, %r10, %r20;\n\tadd.s32 %r22, %r21, %r10;\n\tst.shared.b32 [%r5], %r1;\n";
        let other =
            format!("\tsetp.gt.s32 %p4, {asked}, 0;\n\t@%p4 bra $A;\n{BAR}$A:\n\tld.shared.b32 %r13, [%r6];\n{BAR}");
        let first = repeated("L", ("%r12", "%r21"), BAR);
        let second = repeated("M", ("%r14", "%r22"), &exchange(BAR));
        format!("{counts}{first}{other}{second}{}", repeated("N", ("%r15", "%r10"), &exchange(BAR)))
    };
    // The first loop may have no iteration where there are steps.
    let raced = verdict(&body("%r10"));
    assert!(raced.starts_with("violated"), "{raced}");
    // The number of steps that are left out is not varied together with the number of all steps.
    let bounded = verdict(&body("%r21"));
    assert!(bounded.starts_with("bounded"), "{bounded}");
}

/// What stands behind a loop divides its number of steps again, rounded to zero and in one division.
#[test]
fn a_quotient_of_a_trip_count_is_one_of_the_count() {
    let body = |least: &str| {
        let count = "\tadd.s32 %r20, %r10, 31;\n\tshr.s32 %r21, %r20, 5;\n\tshr.s32 %r22, %r20, 31;\n\tshr.u32 %r22, %r22, 27;\n\
                     \tadd.s32 %r22, %r20, %r22;\n\tshr.s32 %r22, %r22, 5;\n\tshr.s32 %r22, %r22, 2;\n\tst.shared.b32 [%r5], %r1;\n";
        let other =
            format!("\tsetp.ge.s32 %p4, %r22, {least};\n\t@%p4 bra $A;\n{BAR}$A:\n\tld.shared.b32 %r13, [%r6];\n");
        format!("{count}{}{other}", repeated("L", ("%r12", "%r21"), BAR))
    };
    assert_eq!(verdict(&body("1")), "proved\t");
    let raced = verdict(&body("0"));
    assert!(raced.starts_with("violated"), "{raced}");
}

/// A loop from one argument up to another one, with both ends. Only its first iteration arrives at a barrier that other
/// threads wait for, so that they hang in a launch without iterations.
#[test]
fn a_count_of_a_sum_and_one_can_be_zero() {
    let from_to = |skips: &str, goes_on: &str| {
        crate::common::verdict_on(&format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 to, .param .u32 from)\n\
             .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<2>;\n\t.shared .align 8 .b8 bar[8];\n\
             \tld.param.u32 %r1, [to];\n\tld.param.u32 %r2, [from];\n\tmov.u32 %r3, %tid.x;\n\tmov.u32 %r4, bar;\n\
             \tsetp.ne.s32 %p1, %r3, 0;\n\t@!%p1 mbarrier.init.shared.b64 [%r4], 1;\n\tbar.sync 0;\n\
             \tsetp.ge.s32 %p2, %r3, 32;\n\t@%p2 bra $W;\n\t@%p1 bra $E;\n\tmov.u32 %r5, %r2;\n\
             \tsetp.{skips}.s32 %p3, %r5, %r1;\n\t@%p3 bra $E;\n$L:\n\tsetp.ne.s32 %p4, %r5, %r2;\n\t@%p4 bra $S;\n\
             \tmbarrier.arrive.shared.b64 %rd1, [%r4];\n$S:\n\tadd.s32 %r5, %r5, 1;\n\
             \tsetp.{goes_on}.s32 %p5, %r5, %r1;\n\t@%p5 bra $L;\n\tbra $E;\n$W:\n\
             \tmbarrier.try_wait.parity.shared.b64 %p6, [%r4], 0;\n\t@!%p6 bra $W;\n$E:\n\tbar.sync 0;\n\tret;\n}}\n"
        ))
    };
    // With both ends, the count is `to - from + 1`.
    for (skips, goes_on) in [("ge", "lt"), ("gt", "le")] {
        assert_eq!(from_to(skips, goes_on), "violated\thangs");
    }
}
