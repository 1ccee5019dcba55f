//! A loop of two steps an iteration over a quotient, with conditions over a finer one.

/// A ring of four slots. Each iteration fills two slots for two steps later, if there are such steps, and empties two.
const RING: &str = "\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 k_param_0)
.reqntid 32
{
	.reg .pred %p<12>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<8>;
	.shared .align 128 .b8 data[512];
	.shared .align 8 .b8 bars[64];
	ld.param.u32 %r1, [k_param_0];
	mov.u32 %r2, %tid.x;
	add.s32 %r3, %r1, 63;
	shr.u32 %r4, %r3, 6;
	mov.b32 %r6, bars;
	shl.b32 %r7, %r2, 2;
	mov.b32 %r8, data;
	add.s32 %r7, %r7, %r8;
	setp.ne.s32 %p1, %r2, 0;
	@%p1 bra $L0;
	mbarrier.init.shared.b64 [%r6+0], 32;
	mbarrier.init.shared.b64 [%r6+8], 32;
	mbarrier.init.shared.b64 [%r6+16], 32;
	mbarrier.init.shared.b64 [%r6+24], 32;
	mbarrier.init.shared.b64 [%r6+32], 32;
	mbarrier.init.shared.b64 [%r6+40], 32;
	mbarrier.init.shared.b64 [%r6+48], 32;
	mbarrier.init.shared.b64 [%r6+56], 32;
$L0:
	bar.sync 0;
	setp.eq.s32 %p2, %r4, 0;
	@%p2 bra $END;
	mov.b32 %r10, 0;
	mov.b32 %r11, 0;
	mov.b32 %r30, 0;
	mov.b32 %r31, 0;
	shl.b32 %r14, %r10, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r10, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r11, 1;
$Wa:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14+32], %r17;
	@!%p7 bra $Wa;
	st.shared.b32 [%r15], %r2;
	mbarrier.arrive.shared.b64 %rd7, [%r14];
	add.s32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 4;
	selp.b32 %r10, 0, %r10, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r11, %r11, %r16;
	setp.eq.s32 %p3, %r4, 1;
	@%p3 bra $ODD;
	shl.b32 %r14, %r10, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r10, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r11, 1;
$Wb:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14+32], %r17;
	@!%p7 bra $Wb;
	st.shared.b32 [%r15], %r2;
	mbarrier.arrive.shared.b64 %rd7, [%r14];
	add.s32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 4;
	selp.b32 %r10, 0, %r10, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r11, %r11, %r16;
	and.b32 %r5, %r4, 2147483646;
	mov.b32 %r20, 0;
$P:
	add.s32 %r24, %r20, 2;
	setp.ge.u32 %p5, %r24, %r4;
	@%p5 bra $M;
	shl.b32 %r14, %r10, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r10, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r11, 1;
$Wc:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14+32], %r17;
	@!%p7 bra $Wc;
	st.shared.b32 [%r15], %r2;
	mbarrier.arrive.shared.b64 %rd7, [%r14];
	add.s32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 4;
	selp.b32 %r10, 0, %r10, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r11, %r11, %r16;
$M:
	shl.b32 %r14, %r30, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r30, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r31, 0;
$Wd:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14], %r17;
	@!%p7 bra $Wd;
	ld.shared.b32 %r18, [%r15];
	mbarrier.arrive.shared.b64 %rd7, [%r14+32];
	add.s32 %r30, %r30, 1;
	setp.eq.s32 %p6, %r30, 4;
	selp.b32 %r30, 0, %r30, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r31, %r31, %r16;
	add.s32 %r25, %r20, 3;
	setp.ge.u32 %p9, %r25, %r4;
	@%p9 bra $N;
	shl.b32 %r14, %r10, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r10, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r11, 1;
$We:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14+32], %r17;
	@!%p7 bra $We;
	st.shared.b32 [%r15], %r2;
	mbarrier.arrive.shared.b64 %rd7, [%r14];
	add.s32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 4;
	selp.b32 %r10, 0, %r10, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r11, %r11, %r16;
$N:
	shl.b32 %r14, %r30, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r30, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r31, 0;
$Wf:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14], %r17;
	@!%p7 bra $Wf;
	ld.shared.b32 %r18, [%r15];
	mbarrier.arrive.shared.b64 %rd7, [%r14+32];
	add.s32 %r30, %r30, 1;
	setp.eq.s32 %p6, %r30, 4;
	selp.b32 %r30, 0, %r30, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r31, %r31, %r16;
	add.s32 %r20, %r20, 2;
	setp.ne.s32 %p8, %r20, %r5;
	@%p8 bra $P;
	and.b32 %r22, %r4, 1;
	setp.eq.s32 %p9, %r22, 0;
	@%p9 bra $END;
$ODD:
	shl.b32 %r14, %r30, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r30, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r31, 0;
$Wg:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14], %r17;
	@!%p7 bra $Wg;
	ld.shared.b32 %r18, [%r15];
	mbarrier.arrive.shared.b64 %rd7, [%r14+32];
	add.s32 %r30, %r30, 1;
	setp.eq.s32 %p6, %r30, 4;
	selp.b32 %r30, 0, %r30, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r31, %r31, %r16;
$END:
	ret;
}
";

#[test]
fn a_size_and_its_half_are_one_size() {
    let found = crate::common::verdict_on(RING);
    assert_eq!(found, "proved\t");
    // A step that is not filled.
    let (here, instead) = ("%r25, %r20, 3", "%r25, %r20, 4");
    let wrong = crate::common::verdict_on(&RING.replace(here, instead));
    assert!(RING.contains(here) && wrong.starts_with("violated"), "{wrong}");
}
