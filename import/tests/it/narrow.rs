//! Operands of few bits: copies with padding, and operands of which half is left out.

use crate::common::verdict_on;
use crate::producers::stores_beside;

/// The verdict on a kernel that copies a left operand of 128 rows of 128 bytes, and a right one of 8 such rows. The barrier
/// expects `bytes`. The types of the elements are those of a descriptor, and `waits` stands before the product.
fn copied((format, bytes): (u32, u32), waits: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .align 64 .b8 k_param_0[128], .param .align 64 .b8 k_param_1[128])\n\
         .reqntid 128\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 1024 .b8 data[32768];\n\tmov.b32 %r3, data;\n\tadd.s32 %r2, %r3, 19456;\n\
         \tmov.b64 %rd1, k_param_0;\n\tmov.b64 %rd2, k_param_1;\n\tmov.u32 %r1, %tid.x;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\tsetp.gt.u32 %p3, %r1, 31;\n\
         \t@!%p1 mbarrier.init.shared.b64 [%r2], 1;\n\t@!%p1 mbarrier.init.shared.b64 [%r2+8], 1;\n\
         \t@!%p1 fence.mbarrier_init.release.cluster;\n\t@%p3 bra $A;\n\
         \ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;\n$A:\n\tbar.sync 0;\n\
         \tld.shared.b32 %r20, [%r3];\n\t@%p1 bra $B;\n\tadd.s32 %r4, %r3, 2048;\n\tadd.s32 %r5, %r3, 3072;\n\
         \tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], {bytes};\n\
         \tcp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%rd1, {{%r1, %r1}}], [%r2];\n\
         \tcp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r4], [%rd2, {{%r1, %r1}}], [%r2];\n\
         {waits}\tadd.s32 %r22, %r20, 8;\n\tadd.s32 %r23, %r20, 12;\n\tsetp.ne.s32 %p6, %r1, %r1;\n\
         \tmov.b64 %rd5, {};\n\tmov.b64 %rd6, {};\n\
         \ttcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r20], %rd5, %rd6, {}, [%r22], [%r23], %p6;\n\
         \ttcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2+8];\n$B:\n\
         $C:\n\tmbarrier.try_wait.parity.shared.b64 %p5, [%r2+8], 0;\n\t@!%p5 bra $C;\n\tbar.sync 0;\n\
         \t@%p3 bra $D;\n\ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 32;\n$D:\n\tret;\n}}\n",
        0x4000_0040_0000_0000u64 | (3072 / 16),
        0x4000_0040_0000_0000u64 | (2048 / 16),
        1 << 17 | format,
    );
    verdict_on(&text)
}

const WAIT: &str = "$W:\n\tmbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;\n\t@!%p4 bra $W;\n";

/// A tensor map spreads 16 elements of 4 or 6 bits over 16 bytes, and signals the bytes without this padding.
#[test]
fn copies_signal_the_bytes_of_elements_without_their_padding() {
    let [left_4, right_4, left_6] = [5 << 7, 5 << 10, 3 << 7];
    let (left, right) = (128 * 128, 8 * 128);
    for of in [
        (0, left + right),
        (left_4, left / 2 + right),
        (right_4, left + right / 2),
        (left_4 | right_4, (left + right) / 2),
        (left_6, left * 3 / 4 + right),
    ] {
        assert_eq!(copied(of, WAIT), "proved\t", "{of:?}");
        let faulty = copied(of, "");
        assert!(faulty.starts_with("violated"), "{of:?}: {faulty}");
    }
    // No other number is taken for the bytes of what is copied.
    for of in [(0, left / 2 + right), (left_4, left / 4 + right), (left_6, left / 2 + right)] {
        let other = copied(of, WAIT);
        assert!(!other.starts_with("proved"), "{of:?}: {other}");
    }
}

/// Metadata says which half of the elements of a sparse operand is left out: two columns for each product.
#[test]
fn a_sparse_product_reads_its_metadata() {
    let plain = "\tadd.s32 %r22, %r20, 8;\n\
         \ttcgen05.mma.sp.cta_group::1.kind::f16 [%r20], %rd5, %rd5, [%r22], 134348800, %p6;\n";
    let scaled = "\tadd.s32 %r22, %r20, 8;\n\tadd.s32 %r23, %r20, 10;\n\tadd.s32 %r25, %r20, 14;\n\
         \ttcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r20], %rd5, %rd5, [%r22], 131072, [%r23], \
         [%r25], %p6;\n";
    for (product, behind) in [(plain, 10), (scaled, 15)] {
        assert_eq!(stores_beside(product, (32, 32), behind), "proved\t", "{product}");
        for column in 8..behind {
            let faulty = stores_beside(product, (32, 32), column);
            assert!(faulty.starts_with("violated"), "{column}: {faulty}");
        }
    }
}

/// The right operand has twice as many elements along k as a sparse left one stores: 64 bytes of a row, not 32.
#[test]
fn the_right_operand_of_a_sparse_product_is_whole() {
    // The rows begin at byte 96 of an atom: 32 bytes end there, and 64 go on in the next atom.
    let kernel = |sparse: bool, stored: u32| {
        let (mods, metadata) = if sparse { (".sp", " [%r22],") } else { ("", "") };
        let product = format!(
            "\tadd.s32 %r22, %r20, 8;\n\tadd.s64 %rd6, %rd5, 1024;\n\tadd.s64 %rd6, %rd6, 6;\n\
             \ttcgen05.mma{mods}.cta_group::1.kind::f16 [%r20], %rd5, %rd6,{metadata} 134348800, %p6;\n\
             \tst.shared.b32 [%r24+{stored}], 0;\n"
        );
        stores_beside(&product, (32, 32), 16).split('\t').next().map(str::to_string)
    };
    let (own, next) = (16 << 10, 17 << 10);
    for (sparse, stored, outcome) in
        [(false, own, "violated"), (true, own, "violated"), (false, next, "proved"), (true, next, "violated")]
    {
        assert_eq!(kernel(sparse, stored).as_deref(), Some(outcome), "{sparse} {stored}");
    }
}
