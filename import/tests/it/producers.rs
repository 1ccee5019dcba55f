//! Small kernels for habits of CuTe DSL, DeepGEMM and FlashInfer. Each is proved, and a variant with a fault is found.

use warpline_import::symbolic::{Arena, Atom, Op};
use warpline_import::{lift, ptx};

use crate::common;

/// A kernel with this body, for a block of this many threads: 1,024 bytes of data, four barriers and a tensor map.
/// Registers `%r1` to `%r3` have the thread, the barriers and the data; `%p1` is false for thread 0 alone.
pub(crate) fn text(threads: u32, body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1,\n\
         .param .align 64 .b8 k_param_2[128])\n.reqntid {threads}\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<48>;\n\
         \t.reg .f32 %f<8>;\n\t.reg .b64 %rd<16>;\n\t.shared .align 128 .b8 data[1024];\n\t.shared .align 8 .b8 bar[32];\n\
         \tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.b64 %rd2, k_param_2;\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, data;\n\tsetp.ne.s32 %p1, %r1, 0;\n{body}\tret;\n}}\n"
    )
}

/// The verdict on a kernel with this body.
pub(crate) fn verdict(threads: u32, body: &str) -> String {
    let text = text(threads, body);
    common::verdict_on(&text)
}

/// Barriers with these counts, initialized by thread 0.
pub(crate) fn barriers(counts: &[u32]) -> String {
    let init = |(i, n): (usize, &u32)| format!("\t@!%p1 mbarrier.init.shared.b64 [%r2+{}], {n};\n", 8 * i);
    let all: String = counts.iter().enumerate().map(init).collect();
    format!("{all}\t@!%p1 fence.mbarrier_init.release.cluster;\n\tbar.sync 0;\n")
}

/// A wait for a parity.
pub(crate) fn wait(label: &str, barrier: u32, parity: &str) -> String {
    format!("${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p9, [%r2+{barrier}], {parity};\n\t@!%p9 bra ${label};\n")
}

/// Two warps go over tiles, and a word of memory says whether a tile has rows: both have as many steps.
#[test]
fn data_decide_which_tiles_have_work() {
    let role = |n: u32, compare: &str| {
        format!(
            "\tmov.b32 %r14, 0;\n\tmov.b32 %r8, 0;\n\
             $L{n}1:\n\tmul.wide.u32 %rd3, %r14, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.nc.b32 %r20, [%rd4];\n\
             \tsetp.{compare}.s32 %p5, %r14, %r20;\n\t@%p5 bra $L{n}3;\n\tmbarrier.arrive.shared.b64 %rd5, [%r2];\n{}\
             \txor.b32 %r8, %r8, 1;\n\
             $L{n}3:\n\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $L{n}1;\n\tbra.uni $L9;\n",
            wait(&format!("L{n}2"), 0, "%r8")
        )
    };
    let kernel = |compare: &str| {
        format!(
            "{}\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L9;\n\tsetp.gt.u32 %p3, %r1, 31;\n\t@%p3 bra $L2;\n{}$L2:\n{}$L9:\n",
            barriers(&[64]),
            role(3, "ge"),
            role(4, compare)
        )
    };
    assert_eq!(verdict(64, &kernel("ge")), "proved\t");
    // Another condition leaves out other tiles.
    let other = verdict(64, &kernel("gt"));
    assert!(!other.starts_with("proved"), "{other}");
}

/// Every fourth step brings scale factors, too, and its barrier expects more bytes.
#[test]
fn a_condition_decides_how_many_bytes_a_barrier_expects() {
    // Each by a tensor map of its own.
    let copy = |to: u32| {
        format!(
            "\tcp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+{to}], [%rd2+{to}, {{%r14}}], [%r2];\n"
        )
    };
    let kernel = |more: u32, last: &str| {
        format!(
            "{}\tmov.b32 %r14, 0;\n\tmov.b32 %r8, 0;\n\tshl.b32 %r20, %r1, 3;\n\tadd.s32 %r21, %r3, %r20;\n\
             $L1:\n\t@%p1 bra $L4;\n{}\tand.b32 %r15, %r14, 3;\n\tsetp.ne.s32 %p2, %r15, 0;\n\tmov.b32 %r16, 256;\n\
             \t@%p2 bra $L3;\n{}\tmov.b32 %r16, {more};\n\
             $L3:\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], %r16;\n$L4:\n{}\tld.shared.v2.b32 {{%r22, %r23}}, [%r21];\n{last}\
             \txor.b32 %r8, %r8, 1;\n\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $L1;\n",
            barriers(&[1]),
            copy(0),
            copy(256),
            wait("L5", 0, "%r8")
        )
    };
    assert_eq!(verdict(32, &kernel(384, "\tbar.sync 0;\n")), "proved\t");
    // A lane may read while the next copy writes.
    let faulty = verdict(32, &kernel(384, ""));
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The other copy brings no bytes.
    let none = verdict(32, &kernel(256, "\tbar.sync 0;\n"));
    assert!(!none.starts_with("proved"), "{none}");
}

/// A product of all lanes has the operands of each lane, so that one lane can give back what all have loaded.
#[test]
fn a_product_of_a_warp_is_behind_the_loads_of_its_lanes() {
    const PRODUCT: &str = "\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, \
                           {%r22, %r22, %r22, %r22}, {%r22, %r22}, {%f1, %f2, %f3, %f4};\n";
    let kernel = |between: &str| {
        format!(
            "{}\tshl.b32 %r20, %r1, 2;\n\tand.b32 %r20, %r20, 127;\n\tadd.s32 %r21, %r3, %r20;\n\
             \tsetp.gt.u32 %p3, %r1, 31;\n\t@%p3 bra $L2;\n{}\tld.shared.b32 %r22, [%r21];\n{between}\
             \t@!%p1 mbarrier.arrive.shared.b64 %rd5, [%r2+8];\n\tbra.uni $L9;\n\
             $L2:\n\tst.shared.b32 [%r21], %r1;\n\tmbarrier.arrive.shared.b64 %rd5, [%r2];\n{}\
             \tst.shared.b32 [%r21], %r1;\n$L9:\n",
            barriers(&[32, 1]),
            wait("L3", 0, "0"),
            wait("L4", 8, "0")
        )
    };
    assert_eq!(verdict(64, &kernel(PRODUCT)), "proved\t");
    assert_eq!(verdict(64, &kernel("\tbar.warp.sync -1;\n")), "proved\t");
    for faulty in ["", &format!("\tst.shared.b32 [%r21], %r1;\n{PRODUCT}")] {
        let found = verdict(64, &kernel(faulty));
        assert!(found.starts_with("violated"), "{faulty}: {found}");
    }
}

/// A copy to the CTAs of a mask, in a text that does not say how many CTAs a cluster has.
#[test]
fn masks_say_how_many_ctas_a_cluster_has() {
    let kernel = |mask: u32| {
        text(
            32,
            &format!(
                "{}\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\tmov.u32 %r15, %cluster_ctarank;\n\
                 \tmov.b32 %r14, 0;\n\t@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 256;\n\
                 \tsetp.ne.s32 %p2, %r15, 0;\n\tor.pred %p3, %p1, %p2;\n\t@%p3 bra $L1;\n\tmov.b16 %rs1, {mask};\n\
                 \tcp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd2, {{%r14}}], [%r2], %rs1;\n\
                 $L1:\n{}\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n",
                barriers(&[1]),
                wait("L2", 0, "0")
            ),
        )
        .replace("\t.reg .f32", "\t.reg .b16 %rs<2>;\n\t.reg .f32")
    };
    let lifted = |mask: u32| {
        let text = kernel(mask);
        let module = ptx::read(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        lift::lift(&module, &module.entries[0], "k.ptx", &text, &lift::Launch::default()).map(|l| l.program.cluster)
    };
    assert_eq!(lifted(3), Ok(2));
    assert_eq!(lifted(15), Ok(4));
    assert_eq!(lifted(255), Ok(8));
    assert_eq!(lifted(511), Ok(16));
    let text = kernel(15);
    assert_eq!(common::verdict_on(&text), "proved\t");
}

/// The bits of a descriptor of which data decide a field: `(x + 15 & -16)`, at most 32, shifted to the field.
#[test]
fn bits_of_a_field_that_data_decide() {
    let mut a = Arena::default();
    let x = a.atom(Atom::Param(0, 0));
    let (up, mask, most) = (a.plus(x, 15), a.int(-16), a.int(32));
    let rounded = a.and(up, mask);
    assert_eq!(a.low_zeros(rounded), 4);
    let least = a.op(Op::Min, &[rounded, most]);
    let (field, fixed) = (a.scale(least, 1 << 14), a.int(0x1080_0000));
    let all = a.or(field, fixed);
    assert_eq!(a.bits_of(all), Some((0x1080_0000, 0b11 << 18)));
    assert_eq!(a.bits_of(x), None);
}

/// The verdict on a product of operands of `kib` times 1024 bytes that threads store. Nothing orders it with stores to one
/// column of tensor memory beside it.
pub(crate) fn stores_beside(product: &str, (kib, allocated): (usize, u32), column: u32) -> String {
    let rows = format!("\tst.bulk.weak.shared::cta [%r24], {}, 0;\n", 1024 * kib);
    let body = format!(
        "{}\tsetp.gt.u32 %p3, %r1, 31;\n\t@%p3 bra $L1;\n\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], {allocated};\n\
         $L1:\n\tmov.b32 %r24, 2048;\n{rows}\tfence.proxy.async.shared::cta;\n\
         \ttcgen05.fence::before_thread_sync;\n\tbar.sync 0;\n\ttcgen05.fence::after_thread_sync;\n\
         \tld.shared.b32 %r20, [%r3];\n\tsetp.eq.s32 %p5, %r1, 128;\n\t@!%p5 bra $L2;\n\
         \tmov.b64 %rd5, 4611686293305294976;\n\tsetp.ne.s32 %p6, %r1, %r1;\n{product}\
         \ttcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];\n\
         $L2:\n\tsetp.gt.u32 %p7, %r1, 127;\n\t@%p7 bra $L3;\n\tadd.s32 %r21, %r20, {column};\n\
         \ttcgen05.st.sync.aligned.32x32b.x1.b32 [%r21], {{%r1}};\n\ttcgen05.wait::st.sync.aligned;\n\
         $L3:\n{}\ttcgen05.fence::before_thread_sync;\n\tbar.sync 0;\n\ttcgen05.fence::after_thread_sync;\n\
         \t@%p3 bra $L4;\n\ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, {allocated};\n$L4:\n",
        barriers(&[1]),
        wait("L5", 0, "0")
    );
    common::verdict_on(&text(160, &body).replace("sm_90a", "sm_100a").replace("data[1024]", "data[65536]"))
}

/// A weight-stationary product of 64 rows and 64 columns is in 32 columns of all lanes.
#[test]
fn a_stationary_product_of_few_rows_has_half_of_the_columns() {
    let product = "\ttcgen05.mma.ws.cta_group::1.kind::f16 [%r20], %rd5, %rd5, 68157456, %p6;\n";
    assert_eq!(stores_beside(product, (8, 64), 32), "proved\t");
    let faulty = stores_beside(product, (8, 64), 31);
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Scale factors take a column for each 32 rows of the left operand, and one for each 32 columns of the right one.
#[test]
fn scale_factors_have_as_many_columns_as_the_shape_needs() {
    // The result begins at column 0, the factors of both operands follow it.
    let kernel = |n: u32, column: u32| {
        let product = format!(
            "\tadd.s32 %r22, %r20, {n};\n\tadd.s32 %r23, %r22, 4;\n\
             \ttcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r20], %rd5, %rd5, {}, [%r22], [%r23], %p6;\n",
            (n / 8) << 17
        );
        stores_beside(&product, (32, 512), column)
    };
    for (n, of_right) in [(8, 1), (64, 2), (256, 8)] {
        let behind = n + 4 + of_right;
        assert_eq!(kernel(n, behind), "proved\t", "{n}");
        for column in [n, n + 3, n + 4, behind - 1] {
            let faulty = kernel(n, column);
            assert!(faulty.starts_with("violated"), "{n} {column}: {faulty}");
        }
    }
}

/// A product of 96 elements along k has six scale factors of 16 elements each: four in the first columns, two in the next.
#[test]
fn scale_factors_of_a_longer_product_have_twice_the_columns() {
    let (n, longer) = (8, -1i64 << 31);
    let kernel = |column: u32| {
        let product = format!(
            "\tadd.s32 %r22, %r20, {n};\n\tadd.s32 %r23, %r22, 8;\n\
             \ttcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r20], %rd5, %rd5, {}, [%r22], [%r23], %p6;\n",
            longer | (1 << 17)
        );
        stores_beside(&product, (32, 512), column)
    };
    for column in [n + 10, n + 14] {
        assert_eq!(kernel(column), "proved\t", "{column}");
    }
    for column in [n + 4, n + 7, n + 8, n + 12] {
        let faulty = kernel(column);
        assert!(faulty.starts_with("violated"), "{column}: {faulty}");
    }
}

/// Rows of 48 bytes that begin at byte 96 of an atom go on in another atom, whose address the descriptor has.
#[test]
fn rows_go_on_in_the_atom_that_a_descriptor_names() {
    let next = 2048 + (16 << 10);
    let kernel = |from: u64, stored: u64| {
        let descriptor = 0x4010_0040_0000_0000 | ((next / 16) << 16) | (from / 16);
        let product = format!(
            "\tadd.s32 %r22, %r20, 8;\n\tadd.s32 %r23, %r22, 8;\n\tmov.b64 %rd5, {descriptor};\n\
             \ttcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r20], %rd5, %rd5, {}, [%r22], [%r23], %p6;\n\
             \tst.shared.b32 [%r24+{}], 0;\n",
            (-1i64 << 31) | (1 << 17),
            stored - 2048
        );
        stores_beside(&product, (33, 512), 32)
    };
    assert_eq!(kernel(2048 + 48, next), "proved\t");
    assert_eq!(kernel(2048 + 96, next + (16 << 10)), "proved\t");
    for (from, stored) in [(2048 + 48, 2048), (2048 + 96, next), (2048 + 96, next + (15 << 10))] {
        let faulty = kernel(from, stored);
        assert!(faulty.starts_with("violated"), "{from} {stored}: {faulty}");
    }
}

/// CUTLASS has the host compute how many bytes a copy brings: they reach up to the barriers behind them.
#[test]
fn an_argument_says_how_many_bytes_a_barrier_expects() {
    let kernel = |waited: &str| {
        let copy = "\t@%p1 bra $L0;\n\tmbarrier.arrive.expect_tx.shared.b64 %rd3, [%r2], %r10;\n\tmov.b32 %r14, 0;\n\
             \tcp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2, {%r14}], [%r2];\n$L0:\n";
        format!(
            "{}{copy}{waited}\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r3, %r4;\n\tld.shared.b32 %r6, [%r5];\n",
            barriers(&[1])
        )
    };
    assert_eq!(verdict(256, &kernel(&wait("L1", 0, "0"))), "proved\t");
    let faulty = verdict(256, &kernel(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A tensor map of 4-bit elements that its copies unpack (`16U4_ALIGN16B`) fills 16 bytes for each 8 that the barrier
/// counts. The text does not say so, and the copy has the bytes that are counted. Threads read the others, too.
#[test]
fn a_copy_that_unpacks_is_not_proved_where_threads_read_it() {
    let kernel = |waits: &str| {
        let copy = "\t@%p1 bra $L0;\n\tmbarrier.arrive.expect_tx.shared.b64 %rd3, [%r2], 512;\n\tmov.b32 %r14, 0;\n\
             \tcp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2, {%r14}], [%r2];\n$L0:\n";
        let read = "\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r3, %r4;\n\tld.shared.b32 %r6, [%r5];\n";
        let body = format!(
            "{}{copy}\tsetp.gt.u32 %p3, %r1, {waits};\n\t@%p3 bra $L2;\n{}$L2:\n{read}",
            barriers(&[1]),
            wait("L1", 0, "0")
        );
        common::verdict_on(&text(256, &body).replace("sm_90a", "sm_100a"))
    };
    let faulty = kernel("63");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The copy fills the second 512 bytes, too, if it unpacks.
    let open = kernel("127");
    assert!(open.starts_with("gave up") && open.contains("threads read 512 bytes"), "{open}");
}

/// A copy in, and a copy out of the same bytes, which no thread writes.
#[test]
fn a_store_reads_what_a_copy_brought() {
    let kernel = |waited: &str| {
        let copy = "\tmov.b32 %r14, 0;\n\t@%p1 bra $L0;\n\tmbarrier.arrive.expect_tx.shared.b64 %rd3, [%r2], 512;\n\
             \tcp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2, {%r14}], [%r2];\n$L0:\n";
        let store = "\t@!%p1 cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {%r14}], [%r3];\n\
                     \tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;\n";
        format!("{}{copy}{waited}{store}", barriers(&[1]))
    };
    assert_eq!(verdict(64, &kernel(&wait("L1", 0, "0"))), "proved\t");
    let faulty = verdict(64, &kernel(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A sparse product of a warpgroup reads half as many bytes of its left operand, here those that all threads wrote.
#[test]
fn a_sparse_product_reads_half_of_the_left_operand() {
    let kernel = |free: u32| {
        let zeros = ["%f1"; 4].join(", ");
        let rows: String = (1..8).map(|n| format!("\tst.shared.b32 [%r5+{}], %r1;\n", 131088 * n)).collect();
        let product = format!(
            "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {{{zeros}}}, %rd4, %rd5, %r11, 0, 1, 1, 1, 0, 0;"
        );
        let body = format!(
            "\tshr.u32 %r4, %r3, 4;\n\tcvt.u64.u32 %rd4, %r4;\n\tor.b64 %rd4, %rd4, 35188667056128;\n\tadd.s64 %rd5, %rd4, 256;\n\
             \tmov.b32 %r11, 0;\n\tshl.b32 %r5, %r1, 2;\n\tadd.s32 %r5, %r3, %r5;\n\
             \tst.shared.b32 [%r5], %r1;\n\tst.shared.b32 [%r5+4096], %r1;\n{rows}\tfence.proxy.async.shared::cta;\n\
             \tbar.sync 0;\n\twgmma.fence.sync.aligned;\n\
             \t{product}\n\twgmma.commit_group.sync.aligned;\n\tst.shared.b32 [%r5+{free}], %r1;\n\
             \twgmma.wait_group.sync.aligned 0;\n"
        );
        let text = text(128, &body).replace("data[1024]", "data[8192]");
        common::verdict_on(&text)
    };
    // The left operand has 4096 bytes, and the right one begins there.
    assert_eq!(kernel(7168), "proved\t");
    let faulty = kernel(0);
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Two CTAs of a cluster go over tiles that each counts from its own number, and wait for each other in each turn.
#[test]
fn ctas_of_a_cluster_have_as_many_tiles() {
    let kernel = |more: &str| {
        let all = "\tbarrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;\n";
        let body = format!(
            "\tmov.u32 %r20, %ctaid.x;\n\tmov.u32 %r21, %nctaid.x;\n\tmov.u32 %r22, %cluster_ctarank;\n\
             \tsetp.ge.s32 %p2, %r20, %r10;\n\t@%p2 bra $E;\n$L:\n{all}\tadd.s32 %r20, %r20, %r21;\n\
             \tsetp.lt.s32 %p3, %r20, %r10;\n\t@%p3 bra $L;\n$E:\n{more}{all}"
        );
        let text = text(64, &body).replace(".reqntid 64", ".reqntid 64\n.reqnctapercluster 2");
        common::verdict_on(&text)
    };
    assert_eq!(kernel(""), "proved\t");
    // A warp reads what the other one may not have written.
    let more = "\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r3, %r4;\n\txor.b32 %r6, %r4, 128;\n\tadd.s32 %r6, %r3, %r6;\n\
                \tst.shared.b32 [%r5], %r1;\n\tld.shared.b32 %r7, [%r6];\n";
    let faulty = kernel(more);
    assert!(faulty.starts_with("violated"), "{faulty}");
}
