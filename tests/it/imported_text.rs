//! Faults of compiled kernels that no value of a launch makes up for, where no launch can be chosen.

use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// Words that a thread stores decide how often warps meet, so that no launch can be chosen. One lane stores where a word says,
/// which may be where others read. Each warp loads a column of tensor memory and stores it again. A line `WAIT` stands for
/// the code in between.
const KERNEL: &str = "\
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
.reqntid 128
{
	.reg .pred %p<8>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<4>;
	.shared .align 16 .b8 words[16];
	.shared .align 128 .b8 data[1024];
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	mov.b32 %r2, words;
	mov.b32 %r3, data;
	setp.gt.u32 %p1, %r1, 31;
	@%p1 bra $L0;
	tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;
	tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
	setp.ne.s32 %p2, %r1, 0;
	@%p2 bra $L0;
	ld.volatile.global.u32 %r4, [%rd1];
	ld.volatile.global.u32 %r5, [%rd1+4];
	st.shared.b32 [%r2+4], %r4;
	st.shared.b32 [%r2+8], %r5;
$L0:
	tcgen05.fence::before_thread_sync;
	bar.sync 0;
	tcgen05.fence::after_thread_sync;
	ld.shared.b32 %r6, [%r2];
	ld.shared.b32 %r7, [%r2+4];
	ld.shared.b32 %r8, [%r2+8];
	mov.b32 %r9, 0;
$L1:
	bar.sync 0;
	add.s32 %r9, %r9, 1;
	setp.lt.s32 %p3, %r9, %r7;
	@%p3 bra $L1;
	mov.b32 %r9, 0;
$L2:
	bar.sync 0;
	add.s32 %r9, %r9, 1;
	setp.lt.s32 %p3, %r9, %r8;
	@%p3 bra $L2;
	setp.ne.s32 %p4, %r1, 0;
	@%p4 bra $L3;
	ld.global.nc.u32 %r10, [%rd1+8];
	mul.lo.s32 %r10, %r10, %r10;
	shl.b32 %r10, %r10, 2;
	add.s32 %r11, %r3, %r10;
	st.shared.b32 [%r11], %r1;
$L3:
	shl.b32 %r12, %r1, 2;
	add.s32 %r12, %r12, %r3;
	ld.shared.b32 %r13, [%r12+512];
	shr.u32 %r14, %r1, 5;
	shl.b32 %r14, %r14, 21;
	add.s32 %r15, %r6, %r14;
	tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r16}, [%r15];
WAIT	tcgen05.st.sync.aligned.32x32b.x1.b32 [%r15], {%r16};
	tcgen05.wait::st.sync.aligned;
	tcgen05.wait::ld.sync.aligned;
	tcgen05.fence::before_thread_sync;
	bar.sync 0;
	@%p1 bra $L4;
	tcgen05.fence::after_thread_sync;
	tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, 32;
$L4:
	ret;
}
";

#[test]
fn a_load_of_tensor_memory_that_no_way_waits_for_is_a_fault() {
    let dir = TempDir::new();
    let verified = |wait: &str| {
        let file = dir.write("k.ptx", KERNEL.replace("WAIT", wait));
        let said = warpline(&["verify", "--no-suggestion", &file]);
        (said.status, said.out.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (status, out) = verified("");
    assert_eq!(status, Status::Violated, "{out}");
    // The race of the store at an unknown place may be one of no launch.
    assert!(out.contains("WL0106") && !out.contains("WL0104"), "{out}");
    assert!(out.contains("no way through the text"), "{out}");
    let (status, out) = verified("\ttcgen05.wait::ld.sync.aligned;\n");
    assert_eq!(status, Status::GaveUp, "{out}");
    assert!(out.contains("at places that are not known"), "{out}");
}
