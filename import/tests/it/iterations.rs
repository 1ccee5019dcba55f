//! Small kernels whose iterations data decide, as those of stream-K. There, each CTA works on steps of several tiles. It
//! waits in a loop for others that work on the rest of a tile. Each kernel is proved, and a variant with a fault is found.

use warpline_import::lift::{Launch, lift};
use warpline_import::ptx;

use crate::common::verdict_on;
use crate::producers::text;

/// A kernel with 64 threads. `%r4` is the address of a thread's word, `%r6` that of a thread of the other warp. `%p1` holds in
/// the first thread.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1, \
         .param .u32 k_param_2)\n.reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<48>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 16 .b8 data[2048];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tld.param.u32 %r11, [k_param_2];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tshl.b32 %r3, %r1, 2;\n\
         \tadd.s32 %r4, %r2, %r3;\n\txor.b32 %r5, %r3, 128;\n\tadd.s32 %r6, %r2, %r5;\n\tsetp.eq.s32 %p1, %r1, 0;\n\
         {body}\tret;\n}}\n"
    )
}

/// The parts of an iteration of stream-K, in order: the branch that the number of its steps decides, and three barriers.
/// The first is the last one of the loop that waits, the second is behind this loop, the third is in the other branch.
struct StreamK<'a> {
    none: &'a str,
    asks: &'a str,
    waited: &'a str,
    whole: &'a str,
}

const BAR: &str = "\tbar.sync 0;\n";

/// No step is left where the divisor is not positive.
const NONE: &str = "\tsetp.le.s32 %p2, %r17, %r14;\n";

const GOOD: StreamK<'_> = StreamK { none: NONE, asks: BAR, waited: BAR, whole: BAR };

impl StreamK<'_> {
    fn verdict(&self) -> String {
        let StreamK { none, asks, waited, whole } = self;
        // Where there is no step, the first warp misses a barrier.
        let body = format!(
            "\tmov.u32 %r14, %ctaid.x;\n$G:\n\tsetp.ge.s32 %p3, %r14, %r11;\n\t@%p3 bra $E;\n\tdiv.s32 %r15, %r14, %r10;\n\
             \tmul.lo.s32 %r16, %r15, %r10;\n\tsub.s32 %r16, %r14, %r16;\n\tsub.s32 %r17, %r10, %r16;\n\
             \tadd.s32 %r17, %r17, %r14;\n\tmin.s32 %r18, %r17, %r11;\n{none}\tsetp.lt.u32 %p4, %r1, 32;\n\
             \tand.pred %p2, %p2, %p4;\n\t@%p2 bra $K;\n\tbar.sync 0;\n\
             $K:\n\tmov.b32 %r19, %r14;\n\
             $T:\n\tst.shared.b32 [%r4], %r19;\n\tbar.sync 0;\n\tld.shared.b32 %r23, [%r6];\n\tbar.sync 0;\n\
             \tadd.s32 %r19, %r19, 1;\n\tsetp.lt.s32 %p5, %r19, %r18;\n\t@%p5 bra $T;\n\
             \trem.s32 %r20, %r18, %r10;\n\tsetp.eq.s32 %p6, %r20, 0;\n\t@%p6 bra $S;\n\
             $L:\n\tbar.sync 0;\n\t@%p1 atom.global.acq_rel.gpu.cas.b32 %r7, [%rd1], 1, 1;\n\
             \t@%p1 st.shared.b32 [%r2+1024], %r7;\n{asks}\tld.shared.b32 %r8, [%r2+1024];\n\
             \tsetp.ne.s32 %p7, %r8, 1;\n\t@%p7 bra $L;\n{waited}\tst.shared.b32 [%r4+1024], %r1;\n\tbar.sync 0;\n\
             \tld.shared.b32 %r24, [%r6+1024];\n\tbra.uni $N;\n\
             $S:\n\tst.shared.b32 [%r4+512], %r1;\n{whole}\tld.shared.b32 %r25, [%r6+512];\n\tbar.sync 0;\n\
             $N:\n\tmov.b32 %r14, %r18;\n\tbra.uni $G;\n$E:\n"
        );
        verdict_on(&kernel(&body))
    }
}

#[test]
fn steps_of_several_tiles_and_a_wait_for_the_rest_of_a_tile() {
    assert_eq!(GOOD.verdict(), "proved\t");
    // The word is read before it is stored, or stored over before all have read it; results of other threads are not there yet.
    for faulty in [StreamK { asks: "", ..GOOD }, StreamK { waited: "", ..GOOD }, StreamK { whole: "", ..GOOD }] {
        let found = faulty.verdict();
        assert!(found.starts_with("violated"), "{found}");
    }
    // There can be one step.
    let found = StreamK { none: "\tsub.s32 %r26, %r17, 1;\n\tsetp.le.s32 %p2, %r26, %r14;\n", ..GOOD }.verdict();
    assert!(!found.starts_with("proved"), "{found}");
}

/// A word of shared memory has the address of tensor memory first. In a loop it has values from global memory, which end the
/// loop.
#[test]
fn the_address_of_tensor_memory_is_overwritten_in_a_loop() {
    let kernel = |last: &str| {
        let body = format!(
            "\tsetp.lt.u32 %p2, %r1, 32;\n\t@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;\n\
             \tbar.sync 0;\n\tld.shared.b32 %r20, [%r3];\n\tbar.sync 0;\n\
             $L:\n\tbar.sync 0;\n\tld.global.b32 %r21, [%rd1];\n\t@!%p1 st.shared.b32 [%r3], %r21;\n{last}\
             \tld.shared.b32 %r22, [%r3];\n\tsetp.ne.s32 %p3, %r22, 1;\n\t@%p3 bra $L;\n\
             \tbar.sync 0;\n\t@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 64;\n"
        );
        text(64, &body).replace("sm_90a", "sm_100a")
    };
    assert_eq!(verdict_on(&kernel("\tbar.sync 0;\n")), "proved\t");
    let without = verdict_on(&kernel(""));
    assert!(without.starts_with("violated"), "{without}");
}

/// Each iteration stores a tile by the copy engine and then writes the tile for the next iteration. A barrier separates the
/// iterations; the fence must be between the write and the store, also where the number of iterations is a word of memory.
#[test]
fn a_fence_between_iterations_that_data_decide() {
    let kernel = |fence: &str| {
        let body = format!(
            "\tmov.b32 %r14, 0;\n\tshl.b32 %r20, %r1, 2;\n\tadd.s32 %r21, %r3, %r20;\n\tst.shared.b32 [%r21], %r1;\n\
             \tfence.proxy.async.shared::cta;\n\tld.global.b32 %r24, [%rd1];\n\
             $L:\n\tsetp.eq.s32 %p4, %r24, 9;\n\t@%p4 bra $E;\n\tbar.sync 0;\n{fence}\tbar.sync 0;\n\
             \t@!%p1 cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {{%r14}}], [%r3];\n\
             \tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;\n\tbar.sync 0;\n\
             \tatom.global.add.u32 %r23, [%rd1], 1;\n\t@!%p1 st.shared.b32 [%r3+256], %r23;\n\tbar.sync 0;\n\
             \tld.shared.b32 %r24, [%r3+256];\n\tsetp.eq.s32 %p5, %r24, 8;\n\t@%p5 bra $N;\n\tst.shared.b32 [%r21], %r24;\n\
             $N:\n\tbar.sync 0;\n\tbra.uni $L;\n$E:\n"
        );
        text(64, &body)
    };
    let fenced = kernel("\tfence.proxy.async.shared::cta;\n");
    assert_eq!(verdict_on(&fenced), "proved\t");
    let without = verdict_on(&kernel(""));
    assert!(without.starts_with("violated"), "{without}");
    // Two whole iterations where more fences are asked for than the one behind the barrier.
    let length = |every_fence: bool| {
        let module = ptx::read(&fenced).expect("PTX");
        let launch = Launch { every_fence, ..Launch::default() };
        lift(&module, &module.entries[0], "k.ptx", &fenced, &launch).expect("it lifts").program.code.len()
    };
    assert!(length(false) < length(true));
}
