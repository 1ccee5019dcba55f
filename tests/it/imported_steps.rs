//! A fault that a compiled kernel has without a step of its main loop, and that no launch has: without a step there is no
//! barrier, either.

use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// A ring of one slot with `n` steps, and `n * m` barriers behind it. The writer arrives at a third barrier behind its last
/// step, and the reader waits there if there are barriers.
const LAST_STEP: &str = "\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n, .param .u32 m)
.reqntid 64
{
	.reg .pred %p<10>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<12>;
	.shared .align 128 .b8 data[128];
	.shared .align 8 .b8 bars[32];
	ld.param.u32 %r2, [n];
	ld.param.u32 %r3, [m];
	mul.lo.u32 %r4, %r2, %r3;
	mov.u32 %r1, %tid.x;
	mov.b32 %r5, data;
	mov.b32 %r6, bars;
	and.b32 %r9, %r1, 31;
	shl.b32 %r9, %r9, 2;
	add.s32 %r9, %r9, %r5;
	setp.ne.s32 %p1, %r1, 0;
	@%p1 bra $L0;
	mbarrier.init.shared.b64 [%r6], 32;
	mbarrier.init.shared.b64 [%r6+8], 32;
	mbarrier.init.shared.b64 [%r6+16], 32;
$L0:
	bar.sync 0;
	mov.b32 %r20, 0;
	mov.b32 %r21, 0;
	setp.eq.u32 %p2, %r2, 0;
	setp.gt.u32 %p3, %r1, 31;
	@%p3 bra $READ;
	@%p2 bra $MORE;
$W:
	xor.b32 %r22, %r21, 1;
$W0:
	mbarrier.try_wait.parity.shared.b64 %p4, [%r6+8], %r22;
	@!%p4 bra $W0;
	st.shared.b32 [%r9], %r1;
	mbarrier.arrive.shared.b64 %rd7, [%r6];
	xor.b32 %r21, %r21, 1;
	add.s32 %r20, %r20, 1;
	setp.ne.u32 %p5, %r20, %r2;
	@%p5 bra $W;
	mbarrier.arrive.shared.b64 %rd7, [%r6+16];
	bra.uni $MORE;
$READ:
	@%p2 bra $LAST;
$R:
	xor.b32 %r22, %r21, 0;
$R0:
	mbarrier.try_wait.parity.shared.b64 %p4, [%r6], %r22;
	@!%p4 bra $R0;
	ld.shared.b32 %r30, [%r9];
	mbarrier.arrive.shared.b64 %rd7, [%r6+8];
	xor.b32 %r21, %r21, 1;
	add.s32 %r20, %r20, 1;
	setp.ne.u32 %p5, %r20, %r2;
	@%p5 bra $R;
$LAST:
	setp.eq.u32 %p6, %r4, 0;
	@%p6 bra $END;
$D:
	mbarrier.try_wait.parity.shared.b64 %p4, [%r6+16], 0;
	@!%p4 bra $D;
$MORE:
	mov.b32 %r23, 0;
	setp.eq.u32 %p6, %r4, 0;
	@%p6 bra $END;
$M:
	bar.sync 1, 64;
	add.s32 %r23, %r23, 1;
	setp.ne.u32 %p7, %r23, %r4;
	@%p7 bra $M;
$END:
	ret;
}
";

#[test]
fn a_hang_without_a_step_leaves_a_proof_with_one() {
    let verdict = |text: &str| {
        let said = warpline(&["verify", &TempDir::new().write("k.ptx", text)]);
        (said.status, said.out.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (status, said) = verdict(LAST_STEP);
    assert_eq!(status, Status::Holds, "{said}");
    assert!(said.contains("PROVED") && said.contains("`arg0` is at least 1: below, a hang was found"), "{said}");
    let wait = "\t@!%p4 bra $R0;\n";
    let (status, said) = verdict(&LAST_STEP.replace(wait, ""));
    assert_eq!(status, Status::Violated, "{said}");
}
