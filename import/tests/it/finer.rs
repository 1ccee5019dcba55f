//! A loop of two steps an iteration over a quotient, with conditions over a finer one.

/// A ring of four slots. Each iteration fills two slots for two steps later, if there are such steps, and empties two. A line
/// `FILL a` or `TAKE a` stands for the code of one slot, with a label of that letter.
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
FILL a
	setp.eq.s32 %p3, %r4, 1;
	@%p3 bra $ODD;
FILL b
	and.b32 %r5, %r4, 2147483646;
	mov.b32 %r20, 0;
$P:
	add.s32 %r24, %r20, 2;
	setp.ge.u32 %p5, %r24, %r4;
	@%p5 bra $M;
FILL c
$M:
TAKE d
	add.s32 %r25, %r20, 3;
	setp.ge.u32 %p9, %r25, %r4;
	@%p9 bra $N;
FILL e
$N:
TAKE f
	add.s32 %r20, %r20, 2;
	setp.ne.s32 %p8, %r20, %r5;
	@%p8 bra $P;
	and.b32 %r22, %r4, 1;
	setp.eq.s32 %p9, %r22, 0;
	@%p9 bra $END;
$ODD:
TAKE g
$END:
	ret;
}
";

/// The code of one slot: the registers of its number and parity, the parity that passes at first, the barrier of the wait,
/// the access, and the barrier of the arrival.
const SLOT: &str = "\
	shl.b32 %r14, NUMBER, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, NUMBER, 7;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, PARITY, FIRST;
$WLABEL:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14+WAITED], %r17;
	@!%p7 bra $WLABEL;
	ACCESS;
	mbarrier.arrive.shared.b64 %rd7, [%r14+ARRIVED];
	add.s32 NUMBER, NUMBER, 1;
	setp.eq.s32 %p6, NUMBER, 4;
	selp.b32 NUMBER, 0, NUMBER, %p6;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 PARITY, PARITY, %r16;
";

/// [`RING`] with the code of its slots.
fn ring() -> String {
    let names = ["NUMBER", "PARITY", "FIRST", "WAITED", "ACCESS", "ARRIVED"];
    let fill = ["%r10", "%r11", "1", "32", "st.shared.b32 [%r15], %r2", "0"];
    let take = ["%r30", "%r31", "0", "0", "ld.shared.b32 %r18, [%r15]", "32"];
    let slot = |label: &str, values: [&str; 6]| {
        names.iter().zip(values).fold(SLOT.replace("LABEL", label), |text, (name, value)| text.replace(name, value))
    };
    let line = |line: &str| match line.split_once(' ') {
        Some(("FILL", label)) => slot(label, fill),
        Some(("TAKE", label)) => slot(label, take),
        _ => format!("{line}\n"),
    };
    RING.lines().map(line).collect()
}

#[test]
fn a_size_and_its_half_are_one_size() {
    let ring = ring();
    let found = crate::common::verdict_on(&ring);
    assert_eq!(found, "proved\t");
    // A step that is not filled.
    let (here, instead) = ("%r25, %r20, 3", "%r25, %r20, 4");
    let wrong = crate::common::verdict_on(&ring.replace(here, instead));
    assert!(ring.contains(here) && wrong.starts_with("violated"), "{wrong}");
}
