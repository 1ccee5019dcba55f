//! Faults of compiled kernels that a chosen launch shows, and faults that may be none of a launch.

use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// A ring of two slots between two warps. A CTA has the tiles from one word of memory to the next one, and each tile has as
/// many steps as another word says. Data decide how many steps an iteration has, with the ring in flight. The lines `WRITER` and
/// `READER` stand for the code of the two warps.
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
WRITER
	bra.uni $END;
$CONS:
READER
$END:
	ret;
}
";

/// The code of a warp. `LABEL` is a letter, `FIRST` the parity that passes at first, and `WAITED` and `ARRIVED` are offsets
/// of barriers.
const ROLE: &str = "\
$BLABEL:
	mul.wide.s32 %rd5, %r3, 4;
	add.s64 %rd6, %rd2, %rd5;
	ld.global.nc.u32 %r12, [%rd6];
	setp.lt.s32 %p4, %r12, 1;
	@%p4 bra $SLABEL;
	mov.b32 %r13, 0;
$JLABEL:
	shl.b32 %r14, %r10, 3;
	add.s32 %r14, %r14, %r6;
	shl.b32 %r15, %r10, 8;
	add.s32 %r15, %r15, %r7;
	xor.b32 %r17, %r11, FIRST;
$WLABEL:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r14WAITED], %r17;
	@!%p7 bra $WLABEL;
	ACCESS;
	mbarrier.arrive.shared.b64 %rd7, [%r14ARRIVED];
	xor.b32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 0;
	selp.b32 %r16, 1, 0, %p6;
	xor.b32 %r11, %r11, %r16;
	add.s32 %r13, %r13, 1;
	setp.ne.s32 %p5, %r13, %r12;
	@%p5 bra $JLABEL;
$SLABEL:
	add.s32 %r3, %r3, 1;
	setp.ne.s32 %p5, %r3, %r4;
	@%p5 bra $BLABEL;
";

/// [`RING`] with the code of its warps.
fn ring() -> String {
    let role = |[label, first, waited, access, arrived]: [&str; 5]| {
        let text = ROLE.replace("LABEL", label).replace("FIRST", first).replace("WAITED", waited);
        text.replace("ACCESS", access).replace("ARRIVED", arrived)
    };
    let writer = role(["p", "1", "+16", "st.shared.b32 [%r15], %r1", ""]);
    let reader = role(["c", "0", "", "ld.shared.b32 %r18, [%r15]", "+16"]);
    RING.replace("WRITER\n", &writer).replace("READER\n", &reader)
}

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
    let (_, right) = verdict(&ring());
    assert!(right.contains("PROVED"), "{right}");
    let (status, wrong) = verdict(&ring().replace(WAIT, ""));
    assert_eq!(status, Status::Violated, "{wrong}");
    assert!(wrong.contains("WL0101 RAW race") && wrong.contains("the fault is shown in it"), "{wrong}");
}

/// The host may give no tile a word of zero, or it may give both roles the same word.
#[test]
fn a_fault_of_words_that_may_have_to_fit_together_is_none() {
    let skips =
        format!("\tld.global.nc.u32 %r19, [%rd6+4096];\n\tsetp.lt.s32 %p6, %r19, 1;\n\t@%p6 bra $N;\n{WAIT}$N:\n");
    let tile = "$Bc:\n\tmul.wide.s32 %rd5, %r3, 4;\n\tadd.s64 %rd6, %rd2, %rd5;\n";
    for text in [ring().replace(WAIT, &skips), ring().replace(tile, &format!("{tile}\tadd.s64 %rd6, %rd6, 4096;\n"))] {
        assert_ne!(text, ring());
        let (_, said) = verdict(&text);
        assert!(said.contains("GAVE UP") && said.contains("no launch may have it"), "{said}");
    }
}

/// A thread takes tickets and hands them to two warps. One of the two warps stores what the other one reads.
const TICKETS: &str = "\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
.reqntid 96
{
	.reg .pred %p<12>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<8>;
	.shared .align 128 .b8 data[128];
	.shared .align 8 .b8 bars[16];
	.shared .align 4 .b8 word[4];
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u32 %r1, [k_param_1];
	mov.u32 %r2, %tid.x;
	mov.b32 %r6, bars;
	mov.b32 %r8, data;
	and.b32 %r7, %r2, 31;
	shl.b32 %r7, %r7, 2;
	add.s32 %r7, %r7, %r8;
	setp.ne.s32 %p1, %r2, 0;
	@%p1 bra $L0;
	mbarrier.init.shared.b64 [%r6], 1;
	mbarrier.init.shared.b64 [%r6+8], 64;
$L0:
	bar.sync 0;
	setp.eq.s32 %p8, %r1, 0;
	@%p8 bra $END;
	setp.gt.u32 %p2, %r2, 31;
	@%p2 bra $WORK;
	setp.ne.s32 %p3, %r2, 0;
	@%p3 bra $END;
	mov.b32 %r10, 1;
	mov.b32 %r20, 0;
$T:
	add.s32 %r22, %r6, 8;
$TW:
	mbarrier.try_wait.parity.shared.b64 %p4, [%r22], %r10;
	@!%p4 bra $TW;
	atom.relaxed.gpu.global.add.u32 %r11, [%rd1], 1;
	st.shared.b32 [word], %r11;
	mbarrier.arrive.shared.b64 %rd2, [%r6];
	setp.ge.u32 %p5, %r11, %r1;
	@%p5 bra $END;
	xor.b32 %r10, %r10, 1;
	add.s32 %r20, %r20, 1;
	setp.ne.s32 %p9, %r20, %r1;
	@%p9 bra $T;
	bra.uni $END;
$WORK:
	mov.b32 %r12, 0;
	mov.b32 %r21, 0;
$W:
	add.s32 %r23, %r6, 0;
$WW:
	mbarrier.try_wait.parity.shared.b64 %p6, [%r23], %r12;
	@!%p6 bra $WW;
	ld.shared.b32 %r13, [word];
	mbarrier.arrive.shared.b64 %rd2, [%r6+8];
	setp.ge.u32 %p7, %r13, %r1;
	@%p7 bra $END;
	setp.gt.u32 %p10, %r2, 63;
	@%p10 bra $R;
	st.shared.b32 [%r7], %r2;
$R:
	bar.sync 1, 64;
	setp.lt.u32 %p10, %r2, 64;
	@%p10 bra $S;
	ld.shared.b32 %r14, [%r7];
$S:
	bar.sync 2, 64;
	xor.b32 %r12, %r12, 1;
	add.s32 %r21, %r21, 1;
	setp.ne.s32 %p11, %r21, %r1;
	@%p11 bra $W;
$END:
	bar.sync 0;
	ret;
}
";

#[test]
fn tickets_of_an_atomic_counter_are_numbers_of_a_launch() {
    let (status, right) = verdict(TICKETS);
    assert_ne!(status, Status::Violated, "{right}");
    let unordered = TICKETS.replace("\tbar.sync 1, 64;\n", "");
    let (status, wrong) = verdict(&unordered);
    assert_eq!(status, Status::Violated, "{wrong}");
    assert!(wrong.contains("WL0101 RAW race") && wrong.contains("the fault is shown in it"), "{wrong}");
    // The signal is ahead of the store: which ticket is read is not known.
    let (store, signal) = ("\tst.shared.b32 [word], %r11;\n", "\tmbarrier.arrive.shared.b64 %rd2, [%r6];\n");
    let late = unordered.replace(&format!("{store}{signal}"), &format!("{signal}{store}"));
    assert_ne!(late, unordered);
    let (_, said) = verdict(&late);
    assert!(said.contains("GAVE UP"), "{said}");
}

/// Each lane stores its own word or copies it. Both are taken to happen, and no launch has both for one lane.
#[test]
fn accesses_that_lanes_choose_between_are_no_fault_of_a_launch() {
    let store = "\tst.shared.b32 [%r15], %r1;\n";
    let copy = "cp.async.ca.shared.global [%r15], [%rd2], 4;\n";
    let guarded = format!("\tsetp.lt.u32 %p8, %r1, %r12;\n\t@%p8 {copy}\t@!%p8{store}\tcp.async.wait_all;\n");
    let (_, said) = verdict(&ring().replace(".pred %p<8>", ".pred %p<9>").replace(store, &guarded));
    assert!(said.contains("GAVE UP") && said.contains("no launch may have it"), "{said}");
}

/// A warp stores a row, and another one reads it.
const HANDED_OVER: &str = "\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
.reqntid 64
{
	.reg .pred %p<8>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	.shared .align 128 .b8 data[128];
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 31;
	shl.b32 %r2, %r2, 2;
	mov.b32 %r3, data;
	add.s32 %r4, %r3, %r2;
	setp.gt.u32 %p1, %r1, 31;
	@%p1 bra $R;
	st.shared.b32 [%r4], %r1;
	bar.warp.sync -1;
	st.release.gpu.global.b32 [%rd1], 1;
	bra.uni $E;
$R:
	ld.acquire.gpu.global.b32 %r5, [%rd1];
	setp.ne.u32 %p3, %r5, 1;
	@%p3 bra $R;
	ld.shared.b32 %r6, [%r4];
$E:
	ret;
}
";

/// Global memory is not followed. Without the store or the wait, nothing can order the two warps.
#[test]
fn a_word_of_global_memory_may_order_threads() {
    let (_, said) = verdict(HANDED_OVER);
    assert!(said.contains("GAVE UP") && said.contains("may order threads"), "{said}");
    for other in ["\tst.release.gpu.global.b32 [%rd1], 1;\n", "\t@%p3 bra $R;\n"] {
        let (status, wrong) = verdict(&HANDED_OVER.replace(other, ""));
        assert_eq!(status, Status::Violated, "{wrong}");
    }
}

/// A sum over the threads of a block of at most 128 threads. The text does not say how many they are, and the arrays have
/// room for 128.
const SUMS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
	.reg .pred %p<4>;
	.reg .b32 %r<16>;
	.shared .align 8 .b8 first[512];
	.shared .align 8 .b8 second[512];
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 2;
	mov.b32 %r3, first;
	add.s32 %r4, %r3, %r2;
	mov.b32 %r5, second;
	add.s32 %r6, %r5, %r2;
	st.shared.b32 [%r4], %r1;
	st.shared.b32 [%r6], %r1;
	bar.sync 0;
	setp.gt.u32 %p1, %r1, 31;
	@%p1 bra $END;
	ld.shared.b32 %r7, [%r4+128];
	ld.shared.b32 %r8, [%r6+128];
$END:
	ret;
}
";

/// More threads than an array has room for are none that a launch has.
#[test]
fn a_block_has_no_more_threads_than_its_arrays_have_room_for() {
    let (status, words) = verdict(SUMS);
    assert_eq!(status, Status::Holds, "{words}");
    assert!(words.contains("a block has 64 or 128 threads, as the text does not say"), "{words}");
    assert!(words.contains("its arrays have room for 128"), "{words}");
    for (right, wrong) in
        [("\tbar.sync 0;", "\tbar.warp.sync -1;"), ("\tsetp.gt", "\tst.shared.b32 [%r6], %r4;\n\tsetp.gt")]
    {
        let (_, faulty) = verdict(&SUMS.replace(right, wrong));
        assert!(!faulty.contains("PROVED"), "{faulty}");
    }
}

/// Rows of threads that store and read each other's words. Nothing says how long a row is, and the barrier is one of three
/// warps.
const THREE: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
	.reg .b32 %r<16>;
	.shared .align 8 .b8 data[4096];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	shl.b32 %r3, %r1, 2;
	shl.b32 %r4, %r2, 7;
	mov.b32 %r5, data;
	add.s32 %r6, %r5, %r3;
	add.s32 %r7, %r6, %r4;
	st.shared.b32 [%r7], %r1;
	bar.sync 0, 96;
	ld.shared.b32 %r8, [%r6];
	ld.shared.b32 %r9, [%r6+256];
	ret;
}
";

/// A proof for one number of rows counts where there is a fault with all others.
#[test]
fn rows_of_threads_may_be_warps() {
    let (status, words) = verdict(THREE);
    assert_eq!(status, Status::Holds, "{words}");
    assert!(words.contains("a block has 96 threads (32x3), a warp in each row"), "{words}");
    for wrong in ["bar.warp.sync -1;", "bar.sync 0;"] {
        let (status, words) = verdict(&THREE.replace("bar.sync 0, 96;", wrong));
        assert_eq!(status, Status::BadInput, "{wrong}: {words}");
    }
}
