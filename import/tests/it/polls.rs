//! Polls ahead of waits: the result of a poll skips a wait of the same iteration, or of the next one.

/// A ring of two slots: a warp stores, and another one loads. `poll` and `wait` are what the loads stand behind.
fn verdict(ahead: &str, wait: &str, next: &str) -> String {
    crate::common::verdict_on(&text(ahead, wait, next))
}

fn text(ahead: &str, wait: &str, next: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 8 .b8 bar[32];\n\t.shared .align 16 .b8 buf[256];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, buf;\n\tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\
         \tadd.s32 %r5, %r3, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\
         \tmbarrier.init.shared.b64 [%r2], 32;\n\tmbarrier.init.shared.b64 [%r2+8], 32;\n\
         \tmbarrier.init.shared.b64 [%r2+16], 32;\n\tmbarrier.init.shared.b64 [%r2+24], 32;\n$L0:\n\tbar.sync 0;\n\
         \tsetp.lt.s32 %p2, %r10, 1;\n\t@%p2 bra $L9;\n\
         \tmov.b32 %r7, 0;\n\tmov.b32 %r20, 0;\n\tmov.b32 %r21, 0;\n\tmov.b32 %r22, 1;\n\
         \tshr.u32 %r6, %r1, 5;\n\tsetp.ne.s32 %p3, %r6, 0;\n\t@%p3 bra $L4;\n\
         $L1:\n\tshl.b32 %r11, %r20, 3;\n\tadd.s32 %r12, %r2, %r11;\n\
         $L2:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r12+16], %r22;\n\t@!%p4 bra $L2;\n\
         \tshl.b32 %r13, %r20, 7;\n\tadd.s32 %r14, %r5, %r13;\n\tst.shared.b32 [%r14], %r7;\n\
         \tmbarrier.arrive.shared::cta.b64 %rd1, [%r12];\n\
         \tadd.s32 %r20, %r20, 1;\n\tsetp.eq.s32 %p5, %r20, 2;\n\tselp.b32 %r20, 0, %r20, %p5;\n\tselp.b32 %r15, 1, 0, %p5;\n\
         \txor.b32 %r22, %r22, %r15;\n\tadd.s32 %r7, %r7, 1;\n\tsetp.lt.s32 %p6, %r7, %r10;\n\t@%p6 bra $L1;\n\tbra $L9;\n\
         $L4:\n{ahead}\
         $L5:\n\tshl.b32 %r11, %r20, 3;\n\tadd.s32 %r12, %r2, %r11;\n{wait}\
         \tshl.b32 %r13, %r20, 7;\n\tadd.s32 %r14, %r5, %r13;\n\tld.shared.b32 %r16, [%r14];\n\
         \tmbarrier.arrive.shared::cta.b64 %rd1, [%r12+16];\n\
         \tadd.s32 %r20, %r20, 1;\n\tsetp.eq.s32 %p5, %r20, 2;\n\tselp.b32 %r20, 0, %r20, %p5;\n\tselp.b32 %r15, 1, 0, %p5;\n\
         \txor.b32 %r21, %r21, %r15;\n\tadd.s32 %r7, %r7, 1;\n\tsetp.ge.s32 %p6, %r7, %r10;\n{next}\
         \tsetp.lt.s32 %p7, %r7, %r10;\n\t@%p7 bra $L5;\n$L9:\n\tret;\n}}\n"
    )
}

/// A poll with this address and parity.
fn poll(address: &str, parity: &str) -> String {
    format!("\tmbarrier.try_wait.parity.shared::cta.b64 %p8, [{address}], {parity};\n")
}

/// A wait that a successful poll skips.
const WAIT: &str =
    "\t@%p8 bra $L7;\n$L6:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p9, [%r12], %r21;\n\t@!%p9 bra $L6;\n$L7:\n";

/// The polls of the next iteration, if there is one.
fn next(address: &str, parity: &str) -> String {
    let poll = poll(address, parity);
    format!(
        "\t@%p6 bra $L8;\n\tshl.b32 %r17, %r20, 3;\n\tadd.s32 %r18, %r2, %r17;\n\txor.b32 %r19, %r21, 1;\n{poll}$L8:\n"
    )
}

fn is_unlike(said: &str) -> bool {
    said.starts_with("gave up") && said.contains("is not shown to name the barrier and the phase of the wait")
}

#[test]
fn a_poll_of_the_phase_of_its_wait_is_proved() {
    let with = |poll: &str| verdict("", &format!("{poll}{WAIT}"), "");
    assert_eq!(with(&poll("%r12", "%r21")), "proved\t");
    for (address, parity) in [("%r12", "%r22"), ("%r12+8", "%r21"), ("%r2", "%r21"), ("%r12", "0")] {
        let faulty = with(&poll(address, parity));
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
    // The poll is right, and the wait behind it is for another phase.
    let other = WAIT.replace("%r21", "%r22");
    let faulty = verdict("", &format!("{}{other}", poll("%r12", "%r21")), "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The wait is skipped where the poll fails.
    let faulty = verdict("", &format!("{}{}", poll("%r12", "%r21"), WAIT.replace("@%p8", "@!%p8")), "");
    assert!(faulty.starts_with("rejected") && faulty.contains("which polls skip the wait"), "{faulty}");
    // The wait alone, for another phase or for nothing.
    let faulty = verdict("", &WAIT.replace("\t@%p8 bra $L7;\n", "").replace("%r21", "%r22"), "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    let faulty = verdict("", "", "");
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn a_poll_of_the_next_iteration_is_proved() {
    let (first, right) = (poll("%r2", "0"), next("%r18", "%r21"));
    assert_eq!(verdict(&first, WAIT, &right), "proved\t");
    let faulty = verdict(&first, &WAIT.replace("@%p8", "@!%p8"), &right);
    assert!(faulty.starts_with("rejected") && faulty.contains("which polls skip the wait"), "{faulty}");
    // The poll ahead of the loop.
    for (address, parity) in [("%r2", "1"), ("%r2+8", "0")] {
        let faulty = verdict(&poll(address, parity), WAIT, &right);
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
    // The poll in the loop: another parity, another barrier, and the barrier of this iteration.
    for (address, parity) in [("%r18", "%r19"), ("%r18+8", "%r21"), ("%r12", "%r21"), ("%r18", "0")] {
        let faulty = verdict(&first, WAIT, &next(address, parity));
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
}

/// The first iteration skips its wait: nothing was polled.
/// A result that is kept as 1 or 0 is looked at by its low byte, as compilers write a `bool`.
#[test]
fn the_result_of_a_poll_is_kept_in_a_byte() {
    let keep = "\tselp.b32 %r23, 1, 0, %p8;\n";
    let wait = WAIT.replace("@%p8", "and.b32 %r24, %r23, 255;\n\tsetp.ne.b32 %p10, %r24, 0;\n\t@%p10");
    let kept = |address: &str, parity: &str| next(address, parity).replace("$L8:\n", &format!("{keep}$L8:\n"));
    let first = poll("%r2", "0") + keep;
    assert_eq!(verdict(&first, &wait, &kept("%r18", "%r21")), "proved\t");
    for (address, parity) in [("%r18", "%r19"), ("%r2", "%r21")] {
        let faulty = verdict(&first, &wait, &kept(address, parity));
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
    // No condition that has the result in it is taken for one of the launch.
    let wait = wait.replace("%r23, 255", "%r23, 3");
    let faulty = verdict(&first, &wait, &kept("%r18", "%r21"));
    assert!(faulty.starts_with("rejected"), "{faulty}");
}

#[test]
fn a_wait_is_not_skipped_without_a_poll() {
    let (right, never) = (next("%r18", "%r21"), "\tmov.pred %p8, -1;\n");
    for faulty in [verdict(never, WAIT, &right), verdict("", &format!("{never}{WAIT}"), "")] {
        assert!(!faulty.starts_with("proved"), "{faulty}");
    }
}

/// The result before the loop is "complete" where there are fewer than `least` iterations, and nothing is polled.
fn unless_short(least: u32) -> String {
    let poll = poll("%r2", "0");
    format!("\tsetp.lt.s32 %p10, %r10, {least};\n\tmov.pred %p8, -1;\n\t@%p10 bra $L10;\n{poll}$L10:\n")
}

/// A poll that is left out says that its barrier is complete. It may be left out where no iteration follows.
#[test]
fn a_poll_is_left_out_where_no_iteration_follows() {
    // A second counter ends at 1 and tells the last iteration.
    let down = |last: u32| {
        let poll = poll("%r18", "%r21");
        format!(
            "\tshl.b32 %r17, %r20, 3;\n\tadd.s32 %r18, %r2, %r17;\n\tsetp.eq.s32 %p11, %r23, {last};\n\
             \tadd.s32 %r23, %r23, -1;\n\tmov.pred %p8, -1;\n\t@%p11 bra $L8;\n{poll}$L8:\n"
        )
    };
    let counted = |ahead: &str| format!("\tmov.b32 %r23, %r10;\n{ahead}");
    assert_eq!(verdict(&counted(&unless_short(1)), WAIT, &down(1)), "proved\t");
    for (ahead, next) in [(unless_short(1), down(2)), (unless_short(3), down(1))] {
        let faulty = verdict(&counted(&ahead), WAIT, &next);
        assert!(!faulty.starts_with("proved"), "{faulty}");
    }
}

/// Fewer iterations than a number skip the wait although nothing was polled.
#[test]
fn a_condition_beside_a_poll_skips_the_wait() {
    let short = |least: u32| {
        let poll = poll("%r12", "%r21");
        format!("\tsetp.lt.s32 %p10, %r10, {least};\n{poll}\tor.pred %p8, %p8, %p10;\n{WAIT}")
    };
    assert_eq!(verdict("", &short(1), ""), "proved\t");
    let faulty = verdict("", &short(3), "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The result is a choice: for few iterations, another condition or the poll.
    let chosen = |least: u32| {
        let poll = poll("%r12", "%r21");
        format!(
            "\tsetp.lt.s32 %p10, %r10, 2;\n\tsetp.lt.s32 %p11, %r10, {least};\n{poll}\tselp.b32 %r25, 1, 0, %p8;\n\
             \tselp.b32 %r26, 1, %r25, %p11;\n\tselp.b32 %r27, %r26, %r25, %p10;\n\tsetp.ne.s32 %p8, %r27, 0;\n{WAIT}"
        )
    };
    assert_eq!(verdict("", &chosen(1), ""), "proved\t");
    let faulty = verdict("", &chosen(2), "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // Where the poll succeeds, the warp does what it would not do else.
    let more = short(1)
        .replace("@%p8 bra $L7;", "@!%p8 bra $L6;\n\tmbarrier.arrive.shared::cta.b64 %rd1, [%r12+16];\n\tbra $L7;");
    let refused = verdict("", &more, "");
    assert!(refused.starts_with("rejected"), "{refused}");
    // A second condition that must hold for the wait to be skipped does no harm.
    let both = short(3).replace("or.pred", "and.pred");
    assert_eq!(verdict("", &both, ""), "proved\t");
}

/// One role computes its trip count as compilers round a signed quotient up, the other by a shift.
#[test]
fn a_signed_quotient_that_rounds_up_is_one_form() {
    let load = "\tld.param.u32 %r10, [k_param_1];\n";
    let signed = |sign: &str| {
        format!(
            "\tld.param.b32 %r24, [k_param_1];\n\tshr.s32 %r25, %r24, 31;\n\tshr.u32 %r26, %r25, 26;\n\
             \tadd.s32 %r27, %r24, %r26;\n\tshr.s32 %r28, %r27, 6;\n\tand.b32 %r29, %r27, -64;\n\
             \tsetp.ne.b32 %p12, %r24, %r29;\n\tsetp.{sign}.s32 %p13, %r24, -1;\n\tand.pred %p14, %p12, %p13;\n\
             \tselp.b32 %r30, 1, 0, %p14;\n\tadd.s32 %r10, %r28, %r30;\n\
             \tadd.s32 %r31, %r24, 63;\n\tshr.s32 %r31, %r31, 6;\n"
        )
    };
    let text = text("", &WAIT.replace("\t@%p8 bra $L7;\n", ""), "");
    let (head, last) = text.rsplit_once("%p7, %r7, %r10").expect("the end of the loop");
    let with = |count: &str| crate::common::verdict_on(&format!("{head}%p7, %r7, %r31{last}").replace(load, count));
    assert_eq!(with(&signed("gt")), "proved\t");
    // One less where it is not negative and not a multiple.
    let faulty = with(&signed("gt").replace("add.s32 %r10, %r28, %r30", "sub.s32 %r10, %r28, %r30"));
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

/// CuTe DSL counts the iterations that are left, `n - a`, and adds 1 to `a` as long as there are any. There are some in each
/// iteration, so `a` is its number.
#[test]
fn a_poll_behind_a_count_of_what_is_left_is_proved() {
    let kernel = |most: &str, polled: &str, step: &str| {
        let ahead = "\tmov.b32 %r24, 0;\n\tmov.b32 %r25, 0;\n\tmov.b32 %r27, 0;\n\tsetp.ne.s32 %p8, %r7, %r7;\n";
        let wait = format!(
            "\tsub.s32 %r23, %r10, %r24;\n\tsetp.lt.s32 %p10, %r23, 1;\n\t@%p10 bra $LA;\n\tadd.s32 %r25, %r25, 1;\n{WAIT}"
        );
        let next = format!(
            "\tsetp.le.s32 %p11, %r10, {most};\n\tsetp.eq.s32 %p8, %r7, %r7;\n\t@%p11 bra $LA;\n\tshl.b32 %r17, %r20, 3;\n\
             \tadd.s32 %r18, %r2, %r17;\n{}$LA:\n\tmin.s32 %r26, %r23, {step};\n\tadd.s32 %r24, %r24, %r26;\n\
             \tadd.s32 %r27, %r27, 1;\n",
            poll(polled, "%r21")
        );
        let text = text(ahead, &wait, &next);
        let (first, last) = text.rsplit_once("setp.lt.s32 %p7, %r7, %r10").unwrap_or_default();
        crate::common::verdict_on(&format!("{first}setp.ne.s32 %p7, %r27, %r10{last}"))
    };
    assert_eq!(kernel("%r25", "%r18", "1"), "proved\t");
    // The poll names the other slot, or one that is left out skips a wait.
    let faulty = kernel("%r25", "%r2", "1");
    assert!(is_unlike(&faulty), "{faulty}");
    let faulty = kernel("%r7", "%r18", "2");
    assert!(!faulty.starts_with("proved"), "{faulty}");
    let faulty = kernel("2", "%r18", "1");
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

/// A flag that no poll sets ahead of the loop: the first wait is not skipped.
#[test]
fn a_flag_that_begins_as_a_number_is_the_result_of_polls() {
    let begins = |compare: &str| format!("\tsetp.{compare}.s32 %p8, %r7, %r7;\n");
    let with = |ahead: &str, next: &str| verdict(ahead, WAIT, next);
    let polled = next("%r18", "%r21");
    assert_eq!(with(&begins("ne"), &polled), "proved\t");
    // The last iteration leaves it set.
    assert_eq!(with(&begins("ne"), &format!("{}{polled}", begins("eq"))), "proved\t");
    // The first wait is skipped, and nothing says that its barrier is complete.
    let faulty = with(&begins("eq"), &polled);
    assert!(faulty.starts_with("violated"), "{faulty}");
    for (address, parity) in [("%r2", "%r21"), ("%r18", "%r19"), ("%r18+8", "%r21")] {
        let faulty = with(&begins("ne"), &next(address, parity));
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
    // A flag that stays set although nothing is polled for the next wait.
    let faulty = with(&begins("ne"), &begins("eq"));
    assert!(!faulty.starts_with("proved"), "{faulty}");
    // The poll of an iteration, which the wait of the last one looks at again.
    let stale = format!(
        "\tadd.s32 %r28, %r7, 1;\n\tsetp.ge.s32 %p12, %r28, %r10;\n\t@%p12 bra $LS;\n{}$LS:\n{WAIT}",
        poll("%r12", "%r21")
    );
    let faulty = verdict(&begins("ne"), &stale, "");
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

/// The first slot of a ring is free, so a flag that begins as set skips the first wait of the role that fills the ring.
#[test]
fn the_first_wait_for_a_free_slot_is_skipped() {
    let wait = "$L2:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r12+16], %r22;\n\t@!%p4 bra $L2;\n";
    let goes_on = "\tsetp.lt.s32 %p6, %r7, %r10;\n\t@%p6 bra $L1;\n";
    let with = |next: &str| {
        let full = "$L6:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p9, [%r12], %r21;\n\t@!%p9 bra $L6;\n";
        let text = text("", full, "");
        assert!(text.contains(wait) && text.contains(goes_on));
        let text = text.replace("$L1:\n", "\tmov.pred %p10, -1;\n$L1:\n");
        let text = text.replace(wait, &format!("\t@%p10 bra $L3;\n{wait}$L3:\n"));
        let slot = "\tshl.b32 %r23, %r20, 3;\n\tadd.s32 %r24, %r2, %r23;\n";
        crate::common::verdict_on(&text.replace(goes_on, &format!("{slot}{next}{goes_on}")))
    };
    let polled = |address: &str, parity: &str| {
        with(&format!("\tmbarrier.try_wait.parity.shared::cta.b64 %p10, [{address}], {parity};\n"))
    };
    assert_eq!(polled("%r24+16", "%r22"), "proved\t");
    for faulty in [polled("%r24", "%r22"), polled("%r12+16", "%r22"), polled("%r24+16", "%r21"), with("")] {
        assert!(!faulty.starts_with("proved"), "{faulty}");
    }
}

/// A loop that counts waits waits as often as it runs.
#[test]
fn a_counted_loop_of_waits_waits_several_times() {
    let with = |count: u32| {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n.reqntid 64\n{{\n\
             \t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 8 .b8 bar[32];\n\
             \t.shared .align 16 .b8 buf[512];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, buf;\n\
             \tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\tadd.s32 %r5, %r3, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\
             \t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], 32;\n\tmbarrier.init.shared.b64 [%r2+8], 32;\n$L0:\n\
             \tbar.sync 0;\n\tshr.u32 %r6, %r1, 5;\n\tsetp.ne.s32 %p2, %r6, 0;\n\t@%p2 bra $L4;\n\
             \tst.shared.b32 [%r5], %r1;\n\tmbarrier.arrive.shared::cta.b64 %rd1, [%r2];\n\
             \tst.shared.b32 [%r5+128], %r1;\n\tmbarrier.arrive.shared::cta.b64 %rd1, [%r2+8];\n\tbra.uni $END;\n$L4:\n\
             \tmov.b32 %r7, 0;\n$L5:\n\tshl.b32 %r8, %r7, 3;\n\tadd.s32 %r9, %r2, %r8;\n\tmov.b32 %r10, 0;\n$L6:\n\
             \tmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], %r10;\n\t@!%p3 bra $L6;\n\tadd.s32 %r7, %r7, 1;\n\
             \tsetp.lt.s32 %p4, %r7, {count};\n\t@%p4 bra $L5;\n\tld.shared.b32 %r11, [%r5];\n\
             \tld.shared.b32 %r12, [%r5+128];\n$END:\n\tret;\n}}\n"
        );
        crate::common::verdict_on(&text)
    };
    assert_eq!(with(2), "proved\t");
    assert!(with(1).starts_with("violated"));
}
