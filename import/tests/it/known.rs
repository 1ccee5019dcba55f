//! Values that are known for some launches or some places only.
//!
//! They are work of warps for some sizes, fences behind the `init` of a barrier, and groups of tiles. Others are a
//! coordinate that sets a trip count, the address of tensor memory, and the bytes of a store.

use crate::common::verdict_on;
use crate::producers::{barriers, text, verdict, wait};

/// A worker warp makes as many iterations as a size says, and signals in the one that is `last` iterations before the
/// end. The first warp hands out the work for sizes of at least `least`, and waits for the signal.
fn handed_out(least: u32, last: u32) -> String {
    format!(
        "{}\tsetp.gt.u32 %p3, %r1, 31;\n\t@%p3 bra $W;\n\tsetp.lt.s32 %p4, %r10, {least};\n\t@%p4 bra $E;\n\
         \tst.shared.b8 [%r3], 1;\n\tbarrier.sync 1;\n\tbarrier.sync 1;\n{}\tbarrier.sync 1;\n\
         $E:\n\tst.shared.b8 [%r3], 2;\n\tbarrier.sync 1;\n\tbra.uni $L9;\n\
         $W:\n\tbarrier.sync 1;\n\tld.shared.b8 %r22, [%r3];\n\tsetp.eq.s32 %p5, %r22, 2;\n\t@%p5 bra $L9;\n\
         \tbarrier.sync 1;\n\tmov.b32 %r14, 0;\n\tsub.s32 %r15, %r10, {last};\n\tsetp.ne.s32 %p7, %r1, 32;\n\
         $L5:\n\tsetp.ge.s32 %p6, %r14, %r10;\n\t@%p6 bra $L6;\n\tsetp.ne.s32 %p8, %r14, %r15;\n\tor.pred %p8, %p7, %p8;\n\
         \t@!%p8 mbarrier.arrive.shared.b64 %rd5, [%r2];\n\tadd.s32 %r14, %r14, 1;\n\tbra.uni $L5;\n\
         $L6:\n\tbarrier.sync 1;\n\tbra.uni $W;\n$L9:\n",
        barriers(&[1]),
        wait("L1", 0, "0")
    )
}

/// The case in which workers get work has its condition: with a size of zero, nobody waits for a signal.
#[test]
fn a_case_is_decided_for_its_own_launches() {
    assert_eq!(verdict(64, &handed_out(1, 1)), "proved\t");
    // With one iteration, there is none before the last one.
    assert_eq!(verdict(64, &handed_out(1, 2)), "violated\thangs");
    // A size of zero is handed out, too.
    assert_eq!(verdict(64, &handed_out(0, 1)), "violated\thangs");
}

/// The first warp executes the fence behind an `init`, and the second one starts a copy that signals the barrier.
#[test]
fn a_fence_counts_for_those_that_are_ordered_after_it() {
    let kernel = |order: &str| {
        format!(
            "\t@!%p1 mbarrier.init.shared.b64 [%r2], 1;\n\tbar.sync 0;\n\tsetp.gt.u32 %p3, %r1, 31;\n\
             \tsetp.ne.s32 %p2, %r1, 32;\n\t@%p3 bra $L1;\n\tfence.proxy.async.shared::cta;\n$L1:\n{order}\
             \t@%p2 bra $L2;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], 256;\n\tmov.b32 %r14, 0;\n\
             \tcp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2, {{%r14}}], [%r2];\n\
             $L2:\n{}",
            wait("L3", 0, "0")
        )
    };
    assert_eq!(verdict(64, &kernel("\tbar.sync 0;\n")), "proved\t");
    let unordered = verdict(64, &kernel(""));
    assert!(unordered.contains("no `fence mbarrier_init` or `fence async` follows its `init`"), "{unordered}");
}

/// Groups with a number of tiles and a number of steps of their own, both from memory. A register has one value behind the
/// loop over the steps, and another one where there are no steps.
#[test]
fn data_decide_the_tiles_of_a_group_and_their_steps() {
    let kernel = |last: &str| {
        format!(
            "\tshl.b32 %r20, %r1, 2;\n\tadd.s32 %r21, %r3, %r20;\n\txor.b32 %r22, %r20, 128;\n\tadd.s32 %r22, %r3, %r22;\n\
             \tmov.b32 %r14, 0;\n\
             $G:\n\tmul.wide.u32 %rd3, %r14, 8;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.b32 %r15, [%rd4];\n\
             \tld.global.b32 %r16, [%rd4+4];\n\tmov.b32 %r17, 0;\n\
             $T:\n\tsetp.ge.s32 %p2, %r17, %r16;\n\t@%p2 bra $E;\n\tbar.sync 0;\n\tsetp.lt.s32 %p3, %r15, 1;\n\
             \tmov.b32 %r24, 0;\n\t@%p3 bra $J;\n\tmov.b32 %r18, 0;\n\tmov.b32 %r25, 0;\n\
             $K:\n\tmov.b32 %r24, %r25;\n\tst.shared.b32 [%r21], %r18;\n\tbar.sync 0;\n\tld.shared.b32 %r23, [%r22];\n\
             \tbar.sync 0;\n\txor.b32 %r25, %r24, 1;\n\tadd.s32 %r18, %r18, 1;\n\tsetp.lt.s32 %p4, %r18, %r15;\n\t@%p4 bra $K;\n\
             $J:\n\tshl.b32 %r26, %r24, 8;\n\tadd.s32 %r26, %r26, %r21;\n\tst.shared.b32 [%r26+256], %r17;\n{last}\
             \tld.shared.b32 %r23, [%r22+256];\n\tld.shared.b32 %r23, [%r22+512];\n\tadd.s32 %r17, %r17, 1;\n\tbra.uni $T;\n\
             $E:\n\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $G;\n"
        )
    };
    assert_eq!(verdict(64, &kernel("\tbar.sync 0;\n")), "proved\t");
    let without = verdict(64, &kernel(""));
    assert!(without.starts_with("violated"), "{without}");
}

/// A word of shared memory has the address of tensor memory first, and a value from global memory later. That value decides
/// whether two warps exchange data.
#[test]
fn the_address_of_tensor_memory_is_overwritten() {
    let kernel = |order: &str| {
        let body = format!(
            "\tsetp.lt.u32 %p2, %r1, 32;\n\t@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;\n\
             \tbar.sync 0;\n\tld.shared.b32 %r20, [%r3];\n\tbar.sync 0;\n\tld.global.b32 %r21, [%rd1];\n\
             \t@!%p1 st.shared.b32 [%r3], %r21;\n\tbar.sync 0;\n\tld.shared.b32 %r22, [%r3];\n\tsetp.eq.s32 %p3, %r22, 0;\n\
             \t@%p3 bra $L1;\n\tshl.b32 %r23, %r1, 2;\n\tadd.s32 %r23, %r23, %r3;\n\txor.b32 %r24, %r1, 32;\n\
             \tshl.b32 %r24, %r24, 2;\n\tadd.s32 %r24, %r24, %r3;\n\tst.shared.b32 [%r23+256], %r1;\n{order}\
             \tld.shared.b32 %r25, [%r24+256];\n\
             $L1:\n\tbar.sync 0;\n\t@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 64;\n"
        );
        text(64, &body).replace("sm_90a", "sm_100a")
    };
    assert_eq!(verdict_on(&kernel("\tbar.sync 0;\n")), "proved\t");
    let without = verdict_on(&kernel(""));
    assert!(without.starts_with("violated"), "{without}");
}

/// Two consecutive loops: a size sets the trip count of the first one, and four times a coordinate that of the second one.
#[test]
fn a_multiple_of_a_coordinate_is_a_trip_count() {
    let steps = |label: &str, last: &str, count: &str| {
        format!(
            "${label}:\n\tst.shared.b32 [%r21], %r14;\n\tbar.sync 0;\n\tld.shared.b32 %r23, [%r22];\n{last}\
             \tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p4, %r14, {count};\n\t@%p4 bra ${label};\n"
        )
    };
    let kernel = |last: &str| {
        format!(
            "\tshl.b32 %r20, %r1, 2;\n\tadd.s32 %r21, %r3, %r20;\n\txor.b32 %r22, %r20, 128;\n\tadd.s32 %r22, %r3, %r22;\n\
             \tmov.u32 %r11, %ctaid.x;\n\tshl.b32 %r12, %r11, 2;\n\tmov.b32 %r14, 0;\n\tsetp.lt.s32 %p2, %r10, 1;\n\
             \t@%p2 bra $L2;\n{}$L2:\n\tmov.b32 %r14, 0;\n\tsetp.lt.s32 %p3, %r12, 1;\n\t@%p3 bra $L9;\n{}$L9:\n",
            steps("L1", "\tbar.sync 0;\n", "%r10"),
            steps("L3", last, "%r12")
        )
    };
    assert_eq!(verdict(64, &kernel("\tbar.sync 0;\n")), "proved\t");
    let without = verdict(64, &kernel(""));
    assert!(without.starts_with("violated"), "{without}");
}

/// Each warp stores a tile through 256 bytes of shared memory, behind an exchange through the 128 bytes next to them. The
/// text does not say how many bytes the store reads.
#[test]
fn bytes_of_an_exchange_are_not_those_of_a_store() {
    let kernel = |last: &str, next: &str| {
        format!(
            "\tshl.b32 %r20, %r1, 2;\n\tadd.s32 %r21, %r3, %r20;\n\tshl.b32 %r22, %r1, 1;\n\tadd.s32 %r22, %r3, %r22;\n\
             \tmov.b32 %r14, 0;\n\
             $L1:\n\tst.shared.b16 [%r22+256], %r1;\n\tbar.sync 0;\n\tld.shared.b32 %r23, [%r3+256];\n\
             \tcp.async.bulk.wait_group.read 0;\n\tbar.sync 0;\n\tst.shared.b32 [%r21], %r23;\n\tfence.proxy.async.shared::cta;\n\
             \tbar.sync 0;\n\
             \t@!%p1 cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {{%r14}}], [%r3];\n\
             \tcp.async.bulk.commit_group;\n{next}\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p4, %r14, %r10;\n\t@%p4 bra $L1;\n\
             {last}"
        )
    };
    let wait = "\tcp.async.bulk.wait_group.read 0;\n";
    assert_eq!(verdict(64, &kernel(wait, "")), "proved\t");
    // The data of the store are overwritten.
    let overwritten = verdict(64, &kernel(wait, "\tst.shared.b32 [%r21], %r1;\n"));
    assert!(overwritten.starts_with("violated"), "{overwritten}");
}
