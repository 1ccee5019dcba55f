//! Values that compilers write in a roundabout way: divisions as products, and bytes that follow from what a barrier expects.

use warpline_import::symbolic::{Arena, Atom, Op, Place};

/// The verdict on a kernel with this body, for two warps.
fn verdict(body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 128 .b8 data[256];\n\t.shared .align 8 .b64 bar;\n\
         \tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, data;\n\tsetp.ne.s32 %p1, %r1, 0;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// A product with a magic number is a quotient that rounds to zero, less one where it is negative.
#[test]
fn high_halves_of_products_are_quotients() {
    let mut a = Arena::default();
    let x = a.atom(Atom::Param(0, 0));
    for (m, shift) in [(1_041_204_193i128, 37), (0x5555_5556, 32), (0x6666_6667, 33), (0x9249_2493, 34)] {
        let t = a.magic_of(x, m, 1 << shift).expect("a quotient");
        for v in [-2_147_483_648, -133, -132, -131, -8, -7, -1, 0, 1, 6, 7, 131, 132, 133, 2_147_483_647i64] {
            let real = (v as i128 * m) >> shift;
            assert_eq!(a.value(t, &|_| Some(v)), Some(real as i64), "{v} * {m} >> {shift}");
        }
    }
}

/// A ring of three barriers. A compiler divides its index by a product of 64 bits, or by all of a product of two
/// numbers of 32 bits.
#[test]
fn a_ring_whose_index_is_divided_by_a_product_is_proved() {
    let ring = |quotient: &str, parity: &str| {
        format!(
            "\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], 64;\n\tmbarrier.init.shared.b64 [%r2+8], 64;\n\
             \tmbarrier.init.shared.b64 [%r2+16], 64;\n$L0:\n\tbar.sync 0;\n\tmov.b64 %rd5, 0;\n\
             \tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L3;\n\
             $L1:\n\tcvt.u32.u64 %r8, %rd5;\n{quotient}\tcvt.u32.u64 %r7, %rd4;\n\
             \tmul.lo.s32 %r9, %r7, 24;\n\tshl.b32 %r11, %r8, 3;\n\tsub.s32 %r9, %r11, %r9;\n\
             \tadd.s32 %r11, %r2, %r9;\n\tand.b32 %r12, {parity}, 1;\n\
             \tmbarrier.arrive.shared.b64 %rd6, [%r11];\n\
             $L2:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], %r12;\n\t@!%p2 bra $L2;\n\
             \tadd.s64 %rd5, %rd5, 1;\n\tcvt.u32.u64 %r13, %rd5;\n\tsetp.lt.s32 %p3, %r13, %r10;\n\t@%p3 bra $L1;\n$L3:\n"
        )
    };
    let high = "\tmul.hi.u64 %rd3, %rd5, -6148914691236517205;\n\tshr.u64 %rd4, %rd3, 1;\n";
    let whole = "\tmul.wide.u32 %rd3, %r8, -1431655765;\n\tshr.u64 %rd4, %rd3, 33;\n";
    for quotient in [high, whole] {
        assert_eq!(verdict(&ring(quotient, "%r7")), "proved\t");
        let faulty = verdict(&ring(quotient, "%r8"));
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
}

/// The same ring, whose index goes on from tile to tile.
#[test]
fn a_ring_whose_index_is_carried_from_tile_to_tile_is_proved() {
    let ring = |parity: &str| {
        format!(
            "\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], 64;\n\tmbarrier.init.shared.b64 [%r2+8], 64;\n\
             \tmbarrier.init.shared.b64 [%r2+16], 64;\n$L0:\n\tbar.sync 0;\n\tmov.b64 %rd5, 0;\n\
             \tmov.b32 %r3, 0;\n\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L4;\n\
             $L3:\n\tmov.b32 %r4, 0;\n\
             $L1:\n\tmul.hi.u64 %rd3, %rd5, -6148914691236517205;\n\tshr.u64 %rd4, %rd3, 1;\n\tcvt.u32.u64 %r7, %rd4;\n\
             \tcvt.u32.u64 %r8, %rd5;\n\tmul.lo.s32 %r9, %r7, 24;\n\tshl.b32 %r11, %r8, 3;\n\tsub.s32 %r9, %r11, %r9;\n\
             \tadd.s32 %r11, %r2, %r9;\n\tand.b32 %r12, {parity}, 1;\n\
             \tmbarrier.arrive.shared.b64 %rd6, [%r11];\n\
             $L2:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], %r12;\n\t@!%p2 bra $L2;\n\
             \tadd.s64 %rd5, %rd5, 1;\n\tadd.s32 %r4, %r4, 1;\n\tsetp.lt.s32 %p3, %r4, 4;\n\t@%p3 bra $L1;\n\
             \tadd.s32 %r3, %r3, 1;\n\tsetp.lt.s32 %p5, %r3, %r10;\n\t@%p5 bra $L3;\n$L4:\n"
        )
    };
    assert_eq!(verdict(&ring("%r7")), "proved\t");
    let faulty = verdict(&ring("%r8"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// The tiles of a persistent kernel, counted by a signed product.
#[test]
fn tiles_that_a_signed_product_counts_are_a_trip_count() {
    let tiles = |last: &str| {
        format!(
            "\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r2, %r3;\n\txor.b32 %r5, %r3, 128;\n\tadd.s32 %r6, %r2, %r5;\n\
             \tmov.u32 %r7, %ctaid.x;\n\tsub.s32 %r8, %r10, %r7;\n\tmul.hi.s32 %r9, %r8, 1041204193;\n\
             \tshr.u32 %r11, %r9, 31;\n\tshr.s32 %r12, %r9, 5;\n\tadd.s32 %r13, %r12, %r11;\n\
             \tsetp.lt.s32 %p2, %r13, 1;\n\t@%p2 bra $L2;\n\tmov.b32 %r14, 0;\n\
             $L1:\n\tst.shared.b32 [%r4], %r14;\n\tbar.sync 0;\n\tld.shared.b32 %r15, [%r6];\n{last}\
             \tadd.s32 %r14, %r14, 1;\n\tsetp.ne.s32 %p3, %r14, %r13;\n\t@%p3 bra $L1;\n$L2:\n"
        )
    };
    assert_eq!(verdict(&tiles("\tbar.sync 0;\n")), "proved\t");
    let faulty = verdict(&tiles(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Each warp copies half of a buffer by one instruction. That a barrier stood in the buffer before says nothing of the bytes.
#[test]
fn copies_of_one_instruction_bring_as_many_bytes() {
    let copies = |wait: &str| {
        format!(
            "\tmov.b32 %r3, bar;\n\t@%p1 bra $L1;\n\tmbarrier.init.shared.b64 [%r2+64], 1;\n\
             \tmbarrier.inval.shared.b64 [%r2+64];\n\tmbarrier.init.shared.b64 [%r3], 1;\n\
             \tfence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;\n\
             \tmbarrier.arrive.expect_tx.shared.b64 %rd6, [%r3], 256;\n\
             $L1:\n\tbar.sync 0;\n\tshl.b32 %r4, %r1, 2;\n\tand.b32 %r4, %r4, 128;\n\tadd.s32 %r5, %r2, %r4;\n\
             \telect.sync %r6|%p2, -1;\n\
             \t@%p2 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1, {{%r4}}], [%r3];\n\
             {wait}\tshl.b32 %r7, %r1, 2;\n\tadd.s32 %r8, %r2, %r7;\n\tld.shared.b32 %r9, [%r8];\n"
        )
    };
    let wait = "$L2:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;\n\t@!%p3 bra $L2;\n";
    assert_eq!(verdict(&copies(wait)), "proved\t");
    let faulty = verdict(&copies(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// The lowest bits of a number, brought to the sign and spread over all bits: the parity of a ring.
#[test]
fn a_bit_that_is_brought_to_the_sign_wraps() {
    let mut a = Arena::default();
    let (x, four, all) = (a.atom(Atom::Param(0, 0)), a.int(4), a.int(-1));
    let bits = a.rem(x, four);
    for k in [0, i64::MIN, 1 << 62] {
        let up = a.scale(bits, 1 << 62);
        let up = a.plus(up, k);
        let t = a.op(Op::IfNegative, &[up, all]);
        for v in 0..9i64 {
            let real = ((v % 4) << 62).wrapping_add(k) >> 63;
            assert_eq!(a.value(t, &|_| Some(v)), Some(real), "{v}, {k}");
        }
    }
}

/// A division that rounds up, as a compiler writes it for a signed number.
#[test]
fn a_quotient_and_one_more_for_the_rest_rounds_up() {
    let mut a = Arena::default();
    let x = a.atom(Atom::Param(0, 0));
    let (by, one, minus) = (a.int(132), a.int(1), a.int(-1));
    let quotient = a.div_zero(x, by);
    let (up, down) = (a.op(Op::IfNegative, &[x, one]), a.op(Op::IfNegative, &[x, minus]));
    let sum = a.add(quotient, up);
    let sum = a.add(sum, down);
    assert_eq!(sum, quotient, "both choices by one sign cancel");
    let back = a.scale(quotient, -132);
    let left = a.add(x, back);
    let whole = a.eq(left);
    let (part, positive) = (a.not(whole), a.ge(x));
    let more = a.both(positive, part);
    let all = a.add(quotient, more);
    let expected = a.plus(x, 131);
    let expected = a.div(expected, by);
    assert_eq!(all, expected);
    for v in [-265, -264, -133, -132, -1, 0, 1, 131, 132, 133, 264, 265i64] {
        let real = v / 132 + i64::from(v >= 0 && v % 132 != 0);
        assert_eq!(a.value(all, &|_| Some(v)), Some(real), "{v}");
    }
}

/// Two numbers in one register, of which the lower may be negative.
#[test]
fn a_packed_number_keeps_its_parts() {
    let mut a = Arena::default();
    let (low, high) = (a.atom(Atom::Param(0, 0)), a.atom(Atom::Place(Place::Cta(0))));
    let up = a.scale(high, 1 << 32);
    let all = a.add(low, up);
    a.pack(all, 32, &[low, high]);
    assert_eq!((a.part(all, 32, 0), a.part(all, 32, 1)), (Some(low), Some(high)));
    assert_eq!((a.part(all, 16, 0), a.part(low, 32, 0)), (None, None));
}

/// A loop over all steps of all tiles, whose register `%r5` counts the steps of a tile. Lanes of both warps exchange words
/// behind the last step of each tile.
#[test]
fn a_flattened_loop_is_two_loops() {
    let flat = |first: &str| {
        format!(
            "\tmov.u32 %r3, %nctaid.y;\n\tsetp.lt.s32 %p2, %r10, 1;\n\t@%p2 bra $L9;\n\tmul.lo.s32 %r4, %r10, %r3;\n\
             \tadd.s32 %r6, %r10, -1;\n\tmov.b32 %r5, 0;\n\tmov.b32 %r7, 0;\n\tshl.b32 %r8, %r1, 2;\n\
             \tadd.s32 %r8, %r2, %r8;\n\tshl.b32 %r9, %r1, 2;\n\txor.b32 %r9, %r9, 128;\n\tadd.s32 %r9, %r2, %r9;\n\
             \tsetp.lt.s32 %p3, %r4, 1;\n\t@%p3 bra $L9;\n\
             $L1:\n\tsetp.ne.s32 %p4, %r5, %r6;\n\t@%p4 bra $L2;\n\tst.shared.b32 [%r8], %r1;\n\tbar.sync 0;\n\
             \tld.shared.b32 %r12, [%r9];\n{first}$L2:\n\tadd.s32 %r11, %r5, 1;\n\tsetp.eq.s32 %p5, %r5, %r6;\n\
             \tselp.b32 %r5, 0, %r11, %p5;\n\tadd.s32 %r7, %r7, 1;\n\tsetp.ne.s32 %p6, %r7, %r4;\n\t@%p6 bra $L1;\n$L9:\n"
        )
    };
    assert_eq!(verdict(&flat("\tbar.sync 0;\n")), "proved\t");
    let faulty = verdict(&flat(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A branch that a vote decides, with an access that the other warp's barriers order.
#[test]
fn accesses_behind_a_vote_count_as_done() {
    let voted = |barrier: &str| {
        format!(
            "\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r2, %r3;\n\txor.b32 %r5, %r3, 128;\n\tadd.s32 %r6, %r2, %r5;\n\
             \tld.global.b32 %r7, [%rd1];\n\tst.shared.b32 [%r4], %r7;\n{barrier}\tld.volatile.global.f32 %r8, [%rd1];\n\
             \tsetp.lt.f32 %p2, %r8, 0f3F800000;\n\tvote.sync.any.pred %p3, %p2, -1;\n\t@!%p3 bra $L1;\n\
             \tld.shared.b32 %r9, [%r6];\n$L1:\n"
        )
    };
    assert_eq!(verdict(&voted("\tbar.sync 0;\n")), "proved\t");
    let faulty = verdict(&voted(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Two loops of an attention kernel: a compiler turns `64 c < 64 c + 64` into `64 c != 2^31 - 64`. The largest number
/// itself can stand for "none", so it is compared.
#[test]
fn a_number_that_an_addition_would_overflow_is_not_reached() {
    let loops = |far: &str, bar: &str| {
        format!(
            "\tmov.u32 %r7, %ctaid.x;\n\tshl.b32 %r8, %r7, 6;\n\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r2, %r3;\n\
             \txor.b32 %r5, %r3, 128;\n\tadd.s32 %r6, %r2, %r5;\n\tsetp.lt.s32 %p2, %r8, 1;\n\t@%p2 bra $L2;\n\
             \tmov.b32 %r14, 0;\n\
             $L1:\n\tst.shared.b32 [%r4], %r14;\n\tbar.sync 0;\n\tld.shared.b32 %r15, [%r6];\n\tbar.sync 0;\n\
             \tadd.s32 %r14, %r14, 64;\n\tsetp.lt.s32 %p3, %r14, %r8;\n\t@%p3 bra $L1;\n\
             $L2:\n\tsetp.ne.b32 %p4, %r8, {far};\n\t@!%p4 bra $L3;\n\tst.shared.b32 [%r4], %r8;\n{bar}\
             \tld.shared.b32 %r15, [%r6];\n$L3:\n"
        )
    };
    assert_eq!(verdict(&loops("2147483584", "\tbar.sync 0;\n")), "proved\t");
    let faulty = verdict(&loops("2147483584", ""));
    assert!(faulty.starts_with("violated"), "{faulty}");
    // Under 2^31 - 1, both outcomes count.
    let last = verdict(&loops("2147483647", "\tbar.sync 0;\n"));
    assert!(last.starts_with("bounded") || last.starts_with("proved"), "{last}");
}

/// Branches by data of each lane that only compute, nested deeper than branches by data are followed.
#[test]
fn branches_that_only_compute_are_passed_over() {
    let kernel = |barrier: &str| {
        let ways = |n: usize| format!("\tsetp.gt.s32 %p2, %r3, {n};\n\t@%p2 bra $L{n};\n\tadd.s32 %r4, %r4, {n};\n");
        let (ways, ends): (String, String) =
            ((0..20).map(ways).collect(), (0..20).rev().map(|n| format!("$L{n}:\n")).collect());
        format!(
            "\tmul.wide.s32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.b32 %r3, [%rd3];\n\
             \tmov.b32 %r4, 0;\n{ways}{ends}\tshl.b32 %r5, %r1, 2;\n\tadd.s32 %r6, %r2, %r5;\n\
             \tst.shared.b32 [%r6], %r4;\n{barrier}\txor.b32 %r7, %r5, 128;\n\tadd.s32 %r8, %r2, %r7;\n\
             \tld.shared.b32 %r9, [%r8];\n"
        )
    };
    assert_eq!(verdict(&kernel("\tbar.sync 0;\n")), "proved\t");
    let faulty = verdict(&kernel(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// The same branches, where what they compute says which barrier comes next.
#[test]
fn branches_that_decide_an_operation_are_not_passed_over() {
    let all = verdict(
        "\tmul.wide.s32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.b32 %r3, [%rd3];\n\tmov.b32 %r4, 0;\n\
         \tsetp.gt.s32 %p2, %r3, 0;\n\t@%p2 bra $L0;\n\tmov.b32 %r4, 1;\n$L0:\n\tsetp.eq.s32 %p3, %r4, 1;\n\
         \t@%p3 bra $L1;\n\tbar.sync 0;\n$L1:\n",
    );
    assert!(all.starts_with("rejected"), "{all}");
}

/// Values of a term for all small values of two arguments.
fn values_of(a: &mut Arena, t: u32) -> Vec<Option<i64>> {
    let mut of = |x: i64, y: i64| a.value(t, &|atom| Some(if atom == Atom::Param(0, 0) { x } else { y }));
    (-70..70).flat_map(|x| (-3..70).map(move |y| (x, y))).map(|(x, y)| of(x, y)).collect()
}

/// A compiler counts `min(x, y)` iterations by the larger complement.
#[test]
fn the_larger_complement_is_the_smaller_number() {
    let mut a = Arena::default();
    let (x, y) = (a.atom(Atom::Param(0, 0)), a.atom(Atom::Param(1, 0)));
    let [less, more] = [(x, -1, -1), (y, -2, -4)].map(|(t, c, k)| {
        let t = a.scale(t, c);
        a.plus(t, k)
    });
    let y = a.scale(y, 2);
    let y = a.plus(y, 3);
    let (larger, smaller) = (a.op(Op::Max, &[less, more]), a.op(Op::Min, &[x, y]));
    let back = a.scale(smaller, -1);
    assert_eq!(larger, a.plus(back, -1));
    let expected: Vec<Option<i64>> =
        (-70..70i64).flat_map(|x| (-3..70i64).map(move |y| Some((-x - 1).max(-2 * y - 4)))).collect();
    assert_eq!(values_of(&mut a, larger), expected);
}

/// Quotients and remainders of a negative size are those of the size.
#[test]
fn a_negative_size_is_divided_as_the_size() {
    let mut a = Arena::default();
    let (x, by) = (a.atom(Atom::Param(0, 0)), a.int(8));
    let up = a.plus(x, 7);
    let up = a.div(up, by);
    for k in [-9, -8, -1, 0, 1, 7, 8, 20] {
        let t = a.scale(x, -1);
        let t = a.plus(t, k);
        let (q, r) = (a.div(t, by), a.rem(t, by));
        for v in -70..70i64 {
            let mut value = |t| a.value(t, &|_| Some(v));
            assert_eq!((value(q), value(r)), (Some((k - v).div_euclid(8)), Some((k - v).rem_euclid(8))), "{k} - {v}");
        }
    }
    let t = a.scale(x, -1);
    let q = a.div(t, by);
    assert_eq!(q, a.scale(up, -1));
}

/// The difference of two remainders is the bits between two masks.
#[test]
fn bits_between_two_masks_are_a_remainder_of_a_quotient() {
    let mut a = Arena::default();
    let x = a.atom(Atom::Param(0, 0));
    for (k, small, large) in [(0, 4, 8), (4, 4, 16), (8, 4, 12), (0, 8, 64)] {
        let more = a.plus(x, k);
        let (large_by, small_by) = (a.int(large), a.int(small));
        let (high, low) = (a.rem(more, large_by), a.rem(x, small_by));
        let t = a.sub(high, low);
        let t = a.scale(t, 3);
        assert_eq!(a.range(t), (0, 3 * (large - small)), "{k} {small} {large}");
        for v in -70..70i64 {
            let expected = 3 * ((v + k).rem_euclid(large) - v.rem_euclid(small));
            assert_eq!(a.value(t, &|_| Some(v)), Some(expected), "{k} {small} {large} {v}");
        }
    }
}
