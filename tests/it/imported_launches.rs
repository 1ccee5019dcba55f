//! Faults of compiled kernels that a chosen launch shows, and faults that may be none of a launch.

use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// A ring of two slots between two warps. A CTA has the tiles from one word of memory to the next one, and each tile has as
/// many steps as another word says. Data decide how many steps an iteration has, with the ring in flight.
const RING: &str = "\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
.reqntid 64
{
	.reg .pred %p<8>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<12>;
	.shared .align 128 .b8 data[512];
	.shared .align 8 .b8 bars[32];
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u64 %rd2, [k_param_1];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mul.wide.u32 %rd3, %r2, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.nc.u32 %r3, [%rd4];
	ld.global.nc.u32 %r4, [%rd4+4];
	mov.b32 %r5, data;
	mov.b32 %r6, bars;
	and.b32 %r7, %r1, 31;
	shl.b32 %r7, %r7, 2;
	add.s32 %r7, %r7, %r5;
	setp.ne.s32 %p1, %r1, 0;
	@%p1 bra $L0;
	mbarrier.init.shared.b64 [%r6], 32;
	mbarrier.init.shared.b64 [%r6+8], 32;
	mbarrier.init.shared.b64 [%r6+16], 32;
	mbarrier.init.shared.b64 [%r6+24], 32;
$L0:
	bar.sync 0;
	setp.ge.s32 %p2, %r3, %r4;
	@%p2 bra $END;
	mov.b32 %r10, 0;
	mov.b32 %r11, 0;
	setp.gt.u32 %p3, %r1, 31;
	@%p3 bra $CONS;
$Bp:
	mul.wide.s32 %rd5, %r3, 4;
	add.s64 %rd6, %rd2, %rd5;
	ld.global.nc.u32 %r12, [%rd6];
	setp.lt.s32 %p4, %r12, 1;
	@%p4 bra $Sp;
	mov.b32 %r13, 0;
$Jp:
	shl.b32 %r14, %r10, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r10, 8;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r11, 1;
$Wp:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14+16], %r17;
	@!%p7 bra $Wp;
	st.shared.b32 [%r15], %r1;
	mbarrier.arrive.shared.b64 %rd7, [%r14];
	xor.b32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 0;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r11, %r11, %r16;
	add.s32 %r13, %r13, 1;
	setp.ne.s32 %p5, %r13, %r12;
	@%p5 bra $Jp;
$Sp:
	add.s32 %r3, %r3, 1;
	setp.ne.s32 %p5, %r3, %r4;
	@%p5 bra $Bp;
	bra.uni $END;
$CONS:
$Bc:
	mul.wide.s32 %rd5, %r3, 4;
	add.s64 %rd6, %rd2, %rd5;
	ld.global.nc.u32 %r12, [%rd6];
	setp.lt.s32 %p4, %r12, 1;
	@%p4 bra $Sc;
	mov.b32 %r13, 0;
$Jc:
	shl.b32 %r14, %r10, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r10, 8;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r11, 0;
$Wc:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14], %r17;
	@!%p7 bra $Wc;
	ld.shared.b32 %r18, [%r15];
	mbarrier.arrive.shared.b64 %rd7, [%r14+16];
	xor.b32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 0;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r11, %r11, %r16;
	add.s32 %r13, %r13, 1;
	setp.ne.s32 %p5, %r13, %r12;
	@%p5 bra $Jc;
$Sc:
	add.s32 %r3, %r3, 1;
	setp.ne.s32 %p5, %r3, %r4;
	@%p5 bra $Bc;
$END:
	ret;
}
";

/// The wait of the warp that reads.
const WAIT: &str = "\
	xor.b32 %r17, %r11, 0;
$Wc:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14], %r17;
	@!%p7 bra $Wc;
";

fn verdict(text: &str) -> (Status, String) {
    let said = warpline(&["verify", &TempDir::new().write("k.ptx", text)]);
    (said.status, said.out.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_fault_of_each_launch_is_one() {
    let (_, right) = verdict(RING);
    assert!(right.contains("BOUNDED"), "{right}");
    let (status, wrong) = verdict(&RING.replace(WAIT, ""));
    assert_eq!(status, Status::Violated, "{wrong}");
    assert!(wrong.contains("WL0101 RAW race") && wrong.contains("the fault is shown in it"), "{wrong}");
}

/// The host may give no tile a word of zero, or it may give both roles the same word.
#[test]
fn a_fault_of_words_that_may_have_to_fit_together_is_none() {
    let skips =
        format!("\tld.global.nc.u32 %r19, [%rd6+4096];\n\tsetp.lt.s32 %p6, %r19, 1;\n\t@%p6 bra $N;\n{WAIT}$N:\n");
    let tile = "$Bc:\n\tmul.wide.s32 %rd5, %r3, 4;\n\tadd.s64 %rd6, %rd2, %rd5;\n";
    for text in [RING.replace(WAIT, &skips), RING.replace(tile, &format!("{tile}\tadd.s64 %rd6, %rd6, 4096;\n"))] {
        assert_ne!(text, RING);
        let (_, said) = verdict(&text);
        assert!(said.contains("GAVE UP") && said.contains("no launch may have it"), "{said}");
    }
}
