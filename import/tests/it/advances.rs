//! Rings that two roles carry from tile to tile, and move on by the steps of a tile, as CUTLASS's `PipelineState` does.

use warpline_import::{lift, ptx, text};

/// What differs between the kernels.
#[derive(Clone, Copy)]
struct Form<'t> {
    /// What the consumer asserts of `%r10`, the steps of a tile, before its first step.
    assertion: &'t str,
    /// Whether steps of at least a round flip the phase: bit 0 of `%r24`.
    second_flip: &'t str,
    /// What the consumer releases in a step, and behind the steps of a tile.
    in_step: &'t str,
    behind: &'t str,
}

const GOOD: Form<'_> = Form { assertion: "", second_flip: "and.b32 %r24, %r23, 1;", in_step: RELEASE, behind: "" };

const RELEASE: &str = "    mbarrier.arrive.shared.b64 _, [%r18+24];\n";

/// The slot is `%r12` and the phase `%r13`; both of them are moved on by `%r10`, in a ring of three.
const ADVANCE: &str = "\
    add.s32 %r22, %r12, %r10;
    mul.hi.u32 %r23, %r22, -1431655765;
    shr.u32 %r23, %r23, 1;
    SECOND
    setp.gt.u32 %p5, %r22, 2;
    setp.lt.s32 %p6, %r10, 3;
    and.pred %p7, %p5, %p6;
    selp.u32 %r25, 1, 0, %p7;
    xor.b32 %r25, %r13, %r25;
    @%p6 bra $JOIN;
    xor.b32 %r25, %r25, %r24;
$JOIN:
    mul.lo.s32 %r26, %r23, 3;
    sub.s32 %r12, %r22, %r26;
    mov.b32 %r13, %r25;
";

/// The next step `%r17`, its slot `%r15` and its phase `%r16`; `%p10` holds if there is one.
const NEXT: &str = "\
    add.s32 %r15, %r15, 1;
    setp.eq.s32 %p9, %r15, 3;
    selp.b32 %r15, 0, %r15, %p9;
    selp.u32 %r20, 1, 0, %p9;
    xor.b32 %r16, %r16, %r20;
    add.s32 %r17, %r17, 1;
    setp.lt.s32 %p10, %r17, %r10;
";

/// The text of a kernel: `%r11` tiles of `%r10` steps.
fn kernel(form: &Form<'_>) -> String {
    let advance = |join: &str| ADVANCE.replace("$JOIN", join).replace("SECOND", form.second_flip);
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 k_param_0[128], .param .u32 k_param_1, .param .u32 k_param_2)
.reqntid 64
{{
    .reg .pred %p<16>;
    .reg .b32 %r<64>;
    .shared .align 1024 .b8 data[3072];
    .shared .align 8 .b8 bars[48];
    ld.param.u32 %r10, [k_param_1];
    ld.param.u32 %r11, [k_param_2];
    mov.u32 %r1, %tid.x;
    mov.b32 %r2, data;
    mov.b32 %r3, bars;
    mov.b32 %r9, 0;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $L0;
    mbarrier.init.shared.b64 [%r3], 1;
    mbarrier.init.shared.b64 [%r3+8], 1;
    mbarrier.init.shared.b64 [%r3+16], 1;
    mbarrier.init.shared.b64 [%r3+24], 32;
    mbarrier.init.shared.b64 [%r3+32], 32;
    mbarrier.init.shared.b64 [%r3+40], 32;
    fence.mbarrier_init.release.cluster;
$L0:
    bar.sync 0;
    setp.lt.s32 %p2, %r11, 1;
    @%p2 bra $END;
    mov.b32 %r14, 0;
    mov.b32 %r12, 0;
    setp.gt.u32 %p3, %r1, 31;
    @%p3 bra $CONSUMER;
    @%p1 bra $END;
    mov.b32 %r13, 1;
$P_TILE:
    setp.lt.s32 %p4, %r10, 1;
    mov.b32 %r15, %r12;
    mov.b32 %r16, %r13;
    mov.b32 %r17, 0;
    @%p4 bra $P_NEXT;
$P_STEP:
    shl.b32 %r18, %r15, 3;
    add.s32 %r18, %r18, %r3;
$P_WAIT:
    mbarrier.try_wait.parity.shared.b64 %p8, [%r18+24], %r16;
    @!%p8 bra $P_WAIT;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r18], 1024;
    shl.b32 %r19, %r15, 10;
    add.s32 %r19, %r19, %r2;
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r19], [k_param_0, {{%r9, %r9}}], [%r18];
{NEXT}    @%p10 bra $P_STEP;
$P_NEXT:
{}    add.s32 %r14, %r14, 1;
    setp.lt.s32 %p11, %r14, %r11;
    @%p11 bra $P_TILE;
    bra.uni $END;
$CONSUMER:
    mov.b32 %r13, 0;
    and.b32 %r40, %r1, 31;
    shl.b32 %r40, %r40, 2;
$C_TILE:
    mov.b32 %r15, %r12;
    mov.b32 %r16, %r13;
    mov.b32 %r17, 0;
{}$C_STEP:
    shl.b32 %r18, %r15, 3;
    add.s32 %r18, %r18, %r3;
$C_WAIT:
    mbarrier.try_wait.parity.shared.b64 %p8, [%r18], %r16;
    @!%p8 bra $C_WAIT;
    shl.b32 %r19, %r15, 10;
    add.s32 %r19, %r19, %r2;
    add.s32 %r19, %r19, %r40;
    ld.shared.b32 %r30, [%r19];
{}{NEXT}    @%p10 bra $C_STEP;
{}{}    add.s32 %r14, %r14, 1;
    setp.lt.s32 %p11, %r14, %r11;
    @%p11 bra $C_TILE;
$END:
    ret;
}}
",
        advance("$P_JOIN"),
        form.assertion,
        form.in_step,
        form.behind,
        advance("$C_JOIN"),
    )
}

fn verdict(form: &Form<'_>) -> String {
    crate::common::verdict_on(&kernel(form))
}

const AT_LEAST_ONE: &str = "    setp.gt.s32 %p4, %r10, 0;\n    @%p4 bra $C_STEP;\n    trap;\n";
const AT_LEAST_ZERO: &str = "    setp.gt.s32 %p4, %r10, -1;\n    @%p4 bra $C_STEP;\n    trap;\n";

#[test]
fn an_assertion_of_the_launches_that_have_a_tile_bounds_these() {
    // The consumer waits for its first step in any case. With no tile, nobody waits and nothing is asserted.
    assert_eq!(verdict(&Form { assertion: AT_LEAST_ONE, ..GOOD }), "proved\t");
    assert!(verdict(&GOOD).starts_with("violated"));
    assert!(verdict(&Form { assertion: AT_LEAST_ZERO, ..GOOD }).starts_with("violated"));
}

#[test]
fn a_ring_that_is_moved_on_by_the_steps_of_a_tile_is_one_counter() {
    let form = Form { assertion: AT_LEAST_ONE, ..GOOD };
    let source = kernel(&form);
    let module = ptx::read(&source).expect("PTX");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", &source, &lift::Launch::default()).expect("it lifts");
    let shown = text::explain(&lifted, "k");
    let waits: Vec<&str> = shown.lines().filter(|l| l.contains("wait mbar")).collect();
    assert_eq!(waits.len(), 2, "{shown}");
    // One variable says both slot and parity.
    let of_counter = |l: &&str| {
        let counter = l.split_once("[(").and_then(|(_, t)| t.split_once(" % 3)] parity ("));
        counter.is_some_and(|(slot, parity)| parity.starts_with(&format!("{slot} / 3")))
    };
    assert!(waits.iter().all(of_counter), "{shown}");
}

#[test]
fn a_phase_that_is_flipped_wrongly_is_no_counter() {
    // More than a round of steps flips the phase always, and not where it passes the end an odd number of times.
    let wrong = Form { assertion: AT_LEAST_ONE, second_flip: "mov.b32 %r24, 1;", ..GOOD };
    assert!(verdict(&wrong).starts_with("violated"));
    // Never.
    let wrong = Form { assertion: AT_LEAST_ONE, second_flip: "mov.b32 %r24, 0;", ..GOOD };
    assert!(verdict(&wrong).starts_with("violated"));
}

/// Each step releases the slot of the step before it. Code behind the loop releases the slot of the last one:
/// `(slot + n - min(n, 1)) % 3`.
const RELEASE_BEFORE: &str = "\
    setp.lt.s32 %p12, %r17, 1;
    @%p12 bra $C_FIRST;
    add.s32 %r31, %r15, 2;
    setp.gt.s32 %p13, %r31, 2;
    add.s32 %r32, %r31, -3;
    selp.b32 %r31, %r32, %r31, %p13;
    shl.b32 %r31, %r31, 3;
    add.s32 %r31, %r31, %r3;
    mbarrier.arrive.shared.b64 _, [%r31+24];
$C_FIRST:
";
const RELEASE_LAST: &str = "\
    min.s32 %r41, %r10, 1;
    sub.s32 %r41, %r10, %r41;
    add.s32 %r41, %r41, %r12;
    mul.hi.u32 %r42, %r41, -1431655765;
    shr.u32 %r42, %r42, 1;
    mul.lo.s32 %r42, %r42, 3;
    sub.s32 %r41, %r41, %r42;
    shl.b32 %r41, %r41, 3;
    add.s32 %r41, %r41, %r3;
    mbarrier.arrive.shared.b64 _, [%r41+24];
";

#[test]
fn a_slot_behind_the_steps_of_a_tile_follows_from_them() {
    let form = Form { assertion: AT_LEAST_ONE, in_step: RELEASE_BEFORE, behind: RELEASE_LAST, ..GOOD };
    assert_eq!(verdict(&form), "proved\t");
    // The slot behind the last one is released.
    let wrong = RELEASE_LAST.replace("min.s32 %r41, %r10, 1;", "mov.b32 %r41, 0;");
    assert!(verdict(&Form { behind: &wrong, ..form }).starts_with("violated"));
    // The last one is not.
    assert!(verdict(&Form { behind: "", ..form }).starts_with("violated"));
}
