//! Roles that work on tiles until `clusterlaunchcontrol` hands out none. One of them keeps the coordinates of its tile
//! where it gets none, and another one has zero then.

use crate::common::verdict_on;

/// Two warps. Each tile has as many steps as an argument says. An argument has the number of columns of tiles, and memory
/// has the number of rows. The lines `WRITER` and `READER` stand for the code of the two warps.
const TILES: &str = "\
.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 count, .param .u32 columns, .param .u32 steps)
.reqntid 64
{
	.reg .pred %p<10>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<12>;
	.shared .align 128 .b8 data[128];
	.shared .align 16 .b8 answers[16];
	.shared .align 8 .b8 bars[32];
	ld.param.u64 %rd1, [count];
	ld.param.u32 %r2, [columns];
	ld.param.u32 %r3, [steps];
	ld.global.nc.u32 %r4, [%rd1];
	mov.u32 %r1, %tid.x;
	mov.b32 %r5, data;
	mov.b32 %r6, bars;
	mov.b32 %r7, answers;
	add.s32 %r8, %r6, 16;
	and.b32 %r9, %r1, 31;
	shl.b32 %r9, %r9, 2;
	add.s32 %r9, %r9, %r5;
	setp.ne.s32 %p1, %r1, 0;
	@%p1 bra $L0;
	mbarrier.init.shared.b64 [%r6], 32;
	mbarrier.init.shared.b64 [%r6+8], 32;
	mbarrier.init.shared.b64 [%r6+16], 1;
	fence.mbarrier_init.release.cluster;
$L0:
	bar.sync 0;
	setp.gt.u32 %p3, %r1, 31;
	@%p3 bra $CONS;
WRITER
$CONS:
READER
$END:
	ret;
}
";

/// The code of a warp. `LABEL` is a letter, and `WAITED` and `ARRIVED` are offsets of barriers.
const ROLE: &str = "\
	mov.b32 %r20, 0;
	mov.b32 %r21, 0;
	mov.u32 %r22, %ctaid.x;
	mov.u32 %r23, %ctaid.y;
	mov.b32 %r24, 0;
$TLABEL:
	setp.ge.u32 %p1, %r23, %r4;
	@%p1 bra $END;
	mov.b32 %r25, 0;
	setp.eq.b32 %p2, %r3, 0;
	@%p2 bra $FLABEL;
$KLABEL:
$WLABEL:
	mbarrier.try_wait.parity.shared.b64 %p8, [%r6WAITED], %r21;
	@!%p8 bra $WLABEL;
	ACCESS;
	mbarrier.arrive.shared.b64 %rd7, [%r6ARRIVED];
	xor.b32 %r21, %r21, 1;
	add.s32 %r25, %r25, 1;
	setp.ne.b32 %p3, %r25, %r3;
	@%p3 bra $KLABEL;
$FLABEL:
	bar.sync 1, 64;
	setp.ne.b32 %p4, %r1, 0;
	@%p4 bra $NLABEL;
	mbarrier.arrive.expect_tx.shared.b64 %rd7, [%r6+16], 16;
	clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r7], [%r8];
$NLABEL:
	mbarrier.try_wait.parity.shared.b64 %p5, [%r6+16], %r24;
	@!%p5 bra $NLABEL;
	xor.b32 %r24, %r24, 1;
	{
	.reg .pred p1;
	.reg .b128 answer;
	ld.shared.b128 answer, [%r7];
	clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, answer;
	selp.u32 %r26, 1, 0, p1;
	}
COORDINATES
	fence.proxy.async.shared::cta;
	setp.eq.b32 %p6, %r26, 0;
	@%p6 bra $END;
	setp.lt.u32 %p7, %r22, %r2;
	@%p7 bra $TLABEL;
	bra.uni $END;
";

/// The coordinates of the next tile, which stay where there is none.
const KEPT: &str = "\
	{
	.reg .pred p1;
	.reg .b128 answer;
	ld.shared.b128 answer, [%r7];
	clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, answer;
	@p1 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r22, answer;
	@p1 clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r23, answer;
	}
";

/// The same, with a column of zero where there is none.
const CHOSEN: &str = "\
	{
	.reg .pred p1;
	.reg .b32 x, y;
	.reg .b128 answer;
	ld.shared.b128 answer, [%r7];
	clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, answer;
	mov.b32 x, 0;
	@p1 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 x, answer;
	@p1 clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 y, answer;
	selp.b32 %r22, x, 0, p1;
	selp.b32 %r23, y, %r23, p1;
	}
";

/// The wait of the warp that reads.
const WAIT: &str = "\
$Wc:
	mbarrier.try_wait.parity.shared.b64 %p8, [%r6], %r21;
	@!%p8 bra $Wc;
";

fn kernel() -> String {
    let role = |[label, waited, access, arrived, coordinates]: [&str; 5]| {
        let text = ROLE.replace("COORDINATES\n", coordinates).replace("LABEL", label).replace("WAITED", waited);
        text.replace("ACCESS", access).replace("ARRIVED", arrived)
    };
    let writer = role(["p", "+8", "st.shared.b32 [%r9], %r1", "", KEPT]).replace("mov.b32 %r21, 0", "mov.b32 %r21, 1");
    let reader = role(["c", "", "ld.shared.b32 %r30, [%r9]", "+8", CHOSEN]);
    TILES.replace("WRITER\n", &writer).replace("READER\n", &reader)
}

#[test]
fn roles_that_ask_in_two_ways_have_the_same_tiles() {
    assert_eq!(verdict_on(&kernel()), "proved\t");
}

#[test]
fn roles_with_other_bounds_do_not() {
    let (last, other) = ("setp.lt.u32 %p7, %r22, %r2;\n\t@%p7 bra $Tc", "setp.le.u32 %p7, %r22, %r2;\n\t@%p7 bra $Tc");
    assert!(kernel().contains(last));
    let verdict = verdict_on(&kernel().replace(last, other));
    assert!(!verdict.starts_with("proved"), "{verdict}");
}

#[test]
fn a_missing_wait_is_found() {
    assert!(kernel().contains(WAIT));
    let verdict = verdict_on(&kernel().replace(WAIT, ""));
    assert!(verdict.starts_with("violated"), "{verdict}");
}
