//! Loops over all tiles and over every second one, as in pingpong kernels, and loops that only compute a mask.

use crate::common::verdict_on;

/// A warp stores a tile into each of two slots in turn, and two warps load from one slot each. The first tile of the warp for
/// the second slot is `second` grids behind the first, and each goes on by `step` grids.
fn pingpong(second: &str, step: &str) -> String {
    let consumer = |label: &str, slot: u32, first: &str| {
        let (bar, data) = (8 * slot, 128 * slot);
        format!(
            "{label}:\n\tmov.b32 %r20, 0;\n{first}\tsetp.ge.s32 %p5, %r11, %r10;\n\t@%p5 bra $END;\n\
             {label}T:\n{label}W:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2+{bar}], %r20;\n\t@!%p6 bra {label}W;\n\
             \tld.shared.b32 %r16, [%r5+{data}];\n\tmbarrier.arrive.shared::cta.b64 %rd1, [%r2+{}];\n\
             \txor.b32 %r20, %r20, 1;\n{step}\
             \tsetp.lt.s32 %p7, %r11, %r10;\n\t@%p7 bra {label}T;\n\tbra.uni $END;\n",
            bar + 16
        )
    };
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 96\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 8 .b8 bar[32];\n\t.shared .align 16 .b8 buf[256];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, buf;\n\tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\
         \tadd.s32 %r5, %r3, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\
         \tmbarrier.init.shared.b64 [%r2], 32;\n\tmbarrier.init.shared.b64 [%r2+8], 32;\n\
         \tmbarrier.init.shared.b64 [%r2+16], 32;\n\tmbarrier.init.shared.b64 [%r2+24], 32;\n$L0:\n\tbar.sync 0;\n\
         \tmov.u32 %r11, %ctaid.x;\n\tmov.u32 %r12, %nctaid.x;\n\tmov.u32 %r13, %nctaid.y;\n\tmul.lo.s32 %r12, %r12, %r13;\n\
         \tshr.u32 %r6, %r1, 5;\n\tsetp.eq.s32 %p2, %r6, 1;\n\t@%p2 bra $A;\n\tsetp.eq.s32 %p3, %r6, 2;\n\t@%p3 bra $B;\n\
         \tmov.b32 %r20, 0;\n\tmov.b32 %r22, 1;\n\tsetp.ge.s32 %p4, %r11, %r10;\n\t@%p4 bra $END;\n\
         $P:\n\tshl.b32 %r14, %r20, 3;\n\tadd.s32 %r14, %r2, %r14;\n\
         $PW:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r14+16], %r22;\n\t@!%p6 bra $PW;\n\
         \tshl.b32 %r15, %r20, 7;\n\tadd.s32 %r15, %r5, %r15;\n\tst.shared.b32 [%r15], %r11;\n\
         \tmbarrier.arrive.shared::cta.b64 %rd1, [%r14];\n\
         \tadd.s32 %r20, %r20, 1;\n\tsetp.eq.s32 %p8, %r20, 2;\n\tselp.b32 %r20, 0, %r20, %p8;\n\tselp.b32 %r17, 1, 0, %p8;\n\
         \txor.b32 %r22, %r22, %r17;\n\tadd.s32 %r11, %r11, %r12;\n\tsetp.lt.s32 %p7, %r11, %r10;\n\t@%p7 bra $P;\n\tbra.uni $END;\n\
         {}{}$END:\n\tret;\n}}\n",
        consumer("$A", 0, ""),
        consumer("$B", 1, second)
    )
}

const NEXT: &str = "\tadd.s32 %r11, %r11, %r12;\n";
const SECOND_NEXT: &str = "\tshl.b32 %r18, %r12, 1;\n\tadd.s32 %r11, %r11, %r18;\n";

/// The warps for each slot make half of the iterations, one of them rounded up.
#[test]
fn every_second_tile_is_a_function_of_all_tiles() {
    assert_eq!(verdict_on(&pingpong(NEXT, SECOND_NEXT)), "proved\t");
    // The second warp begins with the first tile, or with the fifth one.
    for faulty in ["", &SECOND_NEXT.repeat(2)] {
        let found = verdict_on(&pingpong(faulty, SECOND_NEXT));
        assert!(found.starts_with("violated"), "{faulty}: {found}");
    }
    // Each warp takes all tiles from its first one on.
    let found = verdict_on(&pingpong(NEXT, NEXT));
    assert!(found.starts_with("violated"), "{found}");
}

/// The first CTA of a cluster copies to the CTAs of a mask. A loop over the ranks from `first` on sets a bit for each CTA.
fn masked(first: u32) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 k_param_0[128])\n\
         .reqntid 32\n.reqnctapercluster 4, 1, 1\n{{\n\t.reg .pred %p<16>;\n\t.reg .b16 %rs<8>;\n\t.reg .b32 %r<32>;\n\
         \t.shared .align 8 .b8 bar[8];\n\t.shared .align 128 .b8 buf[256];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, buf;\n\tsetp.ne.s32 %p1, %r1, 0;\n\
         \t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], 1;\n\tfence.mbarrier_init.release.cluster;\n$L0:\n\
         \tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\
         \tmov.u32 %r15, %cluster_ctarank;\n\tmov.u32 %r16, %cluster_nctaid.x;\n\tmov.b16 %rs1, 0;\n\tmov.b32 %r17, {first};\n\
         $M:\n\tmov.b32 %r18, 1;\n\tshl.b32 %r19, %r18, %r17;\n\tcvt.u16.u32 %rs2, %r19;\n\tsetp.ne.b32 %p2, %r17, 2;\n\
         \tselp.b16 %rs3, %rs2, 0, %p2;\n\tor.b16 %rs1, %rs3, %rs1;\n\
         \tadd.s32 %r17, %r17, 1;\n\tsetp.ne.b32 %p3, %r17, %r16;\n\t@%p3 bra $M;\n\
         \tmov.b32 %r14, 0;\n\tsetp.eq.s32 %p4, %r15, 2;\n\tor.pred %p5, %p1, %p4;\n\
         \t@!%p5 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 256;\n\
         \tsetp.ne.s32 %p6, %r15, 0;\n\tor.pred %p7, %p1, %p6;\n\t@%p7 bra $L1;\n\
         \tcp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
         [%r3], [k_param_0, {{%r14}}], [%r2], %rs1;\n\
         $L1:\n\t@%p4 bra $L3;\n$L2:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p8, [%r2], 0;\n\t@!%p8 bra $L2;\n$L3:\n\
         \tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\tret;\n}}\n"
    )
}

/// The third CTA is left out of the mask, and expects nothing.
#[test]
fn a_loop_collects_a_mask() {
    assert_eq!(verdict_on(&masked(0)), "proved\t");
    let found = verdict_on(&masked(1));
    assert!(found.starts_with("violated"), "{found}");
}
