//! Conditions that two roles compute from one word of the launch, such as whether an epilogue reads its other operand.

/// The verdict on a kernel in which `beta` decides whether a first tile is copied, and where the second one goes. Each role
/// compares by an instruction of its own.
fn verdict(consumer: &str, first_wait: &str) -> String {
    let text = format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 k_param_0[128], .param .u64 k_param_1)
.reqntid 64
{{
    .reg .pred %p<16>;
    .reg .f32 %f<4>;
    .reg .b32 %r<32>;
    .reg .b64 %rd<4>;
    .shared .align 1024 .b8 data[2048];
    .shared .align 8 .b8 bars[16];
    ld.param.u64 %rd1, [k_param_1];
    mov.u32 %r1, %tid.x;
    mov.b32 %r2, data;
    mov.b32 %r3, bars;
    mov.b32 %r9, 0;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $L0;
    mbarrier.init.shared.b64 [%r3], 1;
    mbarrier.init.shared.b64 [%r3+8], 1;
    fence.mbarrier_init.release.cluster;
$L0:
    bar.sync 0;
    setp.gt.u32 %p2, %r1, 31;
    @%p2 bra $CONSUMER;
    @%p1 bra $END;
    ld.global.f32 %f1, [%rd1];
    setp.eq.f32 %p3, %f1, 0f00000000;
    @%p3 bra $SECOND;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 1024;
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [k_param_0, {{%r9, %r9}}], [%r3];
$SECOND:
    selp.u32 %r10, 0, 1, %p3;
    shl.b32 %r11, %r10, 3;
    add.s32 %r11, %r11, %r3;
    shl.b32 %r12, %r10, 10;
    add.s32 %r12, %r12, %r2;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r11], 1024;
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r12], [k_param_0, {{%r9, %r9}}], [%r11];
    bra.uni $END;
$CONSUMER:
    ld.global.f32 %f2, [%rd1];
    {consumer}
    and.b32 %r20, %r1, 31;
    shl.b32 %r20, %r20, 2;
    @!%p5 bra $LAST;
{first_wait}    add.s32 %r21, %r20, %r2;
    ld.shared.b32 %r22, [%r21];
$LAST:
    selp.u32 %r13, 1, 0, %p5;
    shl.b32 %r14, %r13, 3;
    add.s32 %r14, %r14, %r3;
$WAIT2:
    mbarrier.try_wait.parity.shared.b64 %p7, [%r14], 0;
    @!%p7 bra $WAIT2;
    shl.b32 %r15, %r13, 10;
    add.s32 %r15, %r15, %r2;
    add.s32 %r15, %r15, %r20;
    ld.shared.b32 %r23, [%r15];
$END:
    ret;
}}
"
    );
    crate::common::verdict_on(&text)
}

const WAIT: &str = "$WAIT1:\n    mbarrier.try_wait.parity.shared.b64 %p6, [%r3], 0;\n    @!%p6 bra $WAIT1;\n";

#[test]
fn one_word_is_compared_with_one_number_by_two_roles() {
    assert_eq!(verdict("setp.neu.f32 %p5, %f2, 0f00000000;", WAIT), "proved\t");
    assert!(verdict("setp.neu.f32 %p5, %f2, 0f00000000;", "").starts_with("violated"));
    // Nobody copies the first tile where the consumer waits for it.
    assert!(verdict("setp.eq.f32 %p5, %f2, 0f00000000;", WAIT).starts_with("violated"));
}

#[test]
fn comparisons_with_two_numbers_are_two_conditions() {
    for other in ["setp.neu.f32 %p5, %f2, 0f3F800000;", "setp.ne.f32 %p5, %f2, 0f00000000;"] {
        let found = verdict(other, WAIT);
        assert!(!found.starts_with("proved"), "{other}: {found}");
    }
}

/// Data decide for each lane whether it stores its word or copies it.
const STORED_OR_COPIED: &str = "\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
.reqntid 32
{
	.reg .pred %p<3>;
	.reg .b32 %r<10>;
	.reg .b64 %rd<5>;
	.shared .align 128 .b8 data[128];
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r2, [%rd3];
	mov.b32 %r3, data;
	shl.b32 %r4, %r1, 2;
	add.s32 %r3, %r3, %r4;
	setp.lt.u32 %p1, %r2, 5;
	@%p1 bra $A;
	st.shared.b32 [%r3], %r1;
	bra.uni $B;
$A:
	cp.async.ca.shared.global [%r3], [%rd1], 4;
$B:
	cp.async.wait_all;
	bar.sync 0;
	ld.shared.b32 %r5, [%r3];
	ret;
}
";

#[test]
fn a_lane_that_stores_or_copies_a_word_does_not_do_both() {
    let verdict = |text: &str| crate::common::verdict_on(text);
    assert_eq!(verdict(STORED_OR_COPIED), "proved\t");
    // The copies are not waited for, and a store to the word of another lane is one beside its copy.
    for (here, instead) in [("\tcp.async.wait_all;\n", ""), ("st.shared.b32 [%r3]", "st.shared.b32 [data]")] {
        let wrong = verdict(&STORED_OR_COPIED.replace(here, instead));
        assert!(STORED_OR_COPIED.contains(here) && wrong.starts_with("violated"), "{wrong}");
    }
}

/// The two instructions are no sides of a branch.
#[test]
fn fixme_a_lane_that_stores_or_copies_under_predicates_does_both() {
    let (before, rest) = STORED_OR_COPIED.split_once("\t@%p1 bra $A;\n").expect("a branch");
    let (_, after) = rest.split_once("$B:\n").expect("its end");
    let guarded = "\t@%p1 cp.async.ca.shared.global [%r3], [%rd1], 4;\n\t@!%p1 st.shared.b32 [%r3], %r1;\n";
    let found = crate::common::verdict_on(&format!("{before}{guarded}{after}"));
    assert!(found.starts_with("violated"), "{found}");
}
