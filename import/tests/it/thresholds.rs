//! Comparisons that hold up to some iteration of a loop. Each kernel is proved, and a variant with one change is violated.

/// The verdict on a loop over `arg1` with this body, for two warps. `%r12` is the iteration and `%r10` is `arg2`.
fn verdict(body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<32>;\n\t.shared .align 128 .b8 data[256];\n\
         \tld.param.u32 %r11, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, data;\n\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r2, %r4;\n\txor.b32 %r6, %r4, 128;\n\
         \tadd.s32 %r6, %r2, %r6;\n\tsetp.lt.s32 %p2, %r11, 1;\n\t@%p2 bra $L2;\n\tmov.b32 %r12, 0;\n\
         $L1:\n{body}$L3:\n\tadd.s32 %r12, %r12, 1;\n\tsetp.ne.s32 %p3, %r12, %r11;\n\t@%p3 bra $L1;\n$L2:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

fn violated(body: &str) {
    let found = verdict(body);
    assert!(found.starts_with("violated"), "{found}");
}

/// Warps exchange words in the iterations of which `skip` does not branch to `$L3`.
fn exchanged(skip: &str, last: &str) -> String {
    format!("{skip}\tst.shared.b32 [%r5], %r12;\n\tbar.sync 0;\n\tld.shared.b32 %r13, [%r6];\n{last}")
}

const BAR: &str = "\tbar.sync 0;\n";

#[test]
fn a_multiple_of_the_iteration_is_compared_with_an_argument() {
    let skip = "\tshl.b32 %r13, %r12, 5;\n\tsetp.ge.s32 %p4, %r13, %r10;\n\t@%p4 bra $L3;\n";
    assert_eq!(verdict(&exchanged(skip, BAR)), "proved\t");
    violated(&exchanged(skip, ""));
}

/// A persistent loop that is as long in all CTAs skips the tiles that do not exist.
#[test]
fn a_tile_of_the_grid_is_compared_with_an_argument() {
    let skip = "\tmov.u32 %r14, %nctaid.x;\n\tmov.u32 %r15, %ctaid.x;\n\tmad.lo.s32 %r16, %r14, %r12, %r15;\n\
                \tsetp.lt.s32 %p4, %r16, %r10;\n\t@!%p4 bra $L3;\n";
    assert_eq!(verdict(&exchanged(skip, BAR)), "proved\t");
    violated(&exchanged(skip, ""));
}

/// The step in which half of a tile is left.
#[test]
fn an_iteration_is_compared_with_the_rest_of_a_size() {
    let body = |bar: &str| {
        format!(
            "\tst.shared.b32 [%r5], %r12;\n\tbar.sync 0;\n\tld.shared.b32 %r13, [%r6];\n\tbar.sync 0;\n\
             \tshl.b32 %r14, %r12, 6;\n\tsub.s32 %r15, %r10, %r14;\n\tsetp.ne.s32 %p4, %r15, 32;\n\t@%p4 bra $L3;\n\
             \tst.shared.b32 [%r6], %r12;\n{bar}\tld.shared.b32 %r13, [%r5];\n{bar}"
        )
    };
    assert_eq!(verdict(&body(BAR)), "proved\t");
    violated(&body(""));
}

/// A ring of three slots between a producer and a consumer, of which each skips the iterations that a branch says.
fn ring(producer: &str, consumer: &str) -> String {
    let skip = |tag: &str, op: &str| match op {
        "" => String::new(),
        op => {
            format!("\tmul.lo.s32 %r45, %r32, 5;\n\tsetp.{op}.s32 %p8, %r45, %r10;\n\t@%p8 bra $S{tag};\n")
        }
    };
    let side = |tag: &str, skipped: &str, wait: &str, access: &str, arrive: &str| {
        format!(
            "\tmov.b32 %r32, 0;\n$B{tag}:\n{}\tshl.b32 %r33, %r30, 3;\n\tadd.s32 %r33, %r33, %r3;\n\
             \txor.b32 %r34, %r31, 1;\n\tshl.b32 %r36, %r30, 8;\n\tadd.s32 %r37, %r5, %r36;\n\
             $W{tag}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, {wait};\n\t@!%p2 bra $W{tag};\n{access}\
             \tmbarrier.arrive.shared.b64 %rd6, {arrive};\n\tadd.s32 %r30, %r30, 1;\n\tsetp.eq.s32 %p4, %r30, 3;\n\
             \tselp.b32 %r30, 0, %r30, %p4;\n\tselp.b32 %r39, 1, 0, %p4;\n\txor.b32 %r31, %r31, %r39;\n\
             $S{tag}:\n\tadd.s32 %r32, %r32, 1;\n\tsetp.ne.s32 %p5, %r32, %r11;\n\t@%p5 bra $B{tag};\n",
            skip(tag, skipped)
        )
    };
    let inits: String = (0..6).map(|n| format!("\tmbarrier.init.shared.b64 [%r3+{}], 32;\n", 8 * n)).collect();
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 128 .b8 data[768];\n\t.shared .align 8 .b8 bars[48];\n\tld.param.u32 %r11, [k_param_0];\n\
         \tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tmov.b32 %r3, bars;\n\
         \tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\tadd.s32 %r5, %r2, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\
         \t@%p1 bra $L0;\n{inits}$L0:\n\tbar.sync 0;\n\tmov.b32 %r30, 0;\n\tmov.b32 %r31, 0;\n\
         \tsetp.lt.s32 %p3, %r11, 1;\n\t@%p3 bra $END;\n\tsetp.gt.u32 %p7, %r1, 31;\n\t@%p7 bra $CONS;\n\
         {}\tbra.uni $END;\n$CONS:\n{}$END:\n\tret;\n}}\n",
        side("p", producer, "[%r33+24], %r34", "\tst.shared.b32 [%r37], %r1;\n", "[%r33]"),
        side("c", consumer, "[%r33], %r31", "\tld.shared.b32 %r38, [%r37];\n", "[%r33+24]")
    );
    crate::common::verdict_on(&text)
}

#[test]
fn roles_that_skip_the_same_iterations_stay_in_step() {
    for skipped in ["", "ge", "eq"] {
        assert_eq!(ring(skipped, skipped), "proved\t");
    }
    // The second pair differs where the size is a multiple of five.
    for (producer, consumer) in [("ge", ""), ("ge", "gt"), ("", "ge"), ("eq", "")] {
        let found = ring(producer, consumer);
        assert!(found.starts_with("violated"), "{producer} {consumer}: {found}");
    }
}

/// One warp signals ahead in a loop of `arg0 - arg1 + 1` iterations, another one waits. Another comparison splits the loop
/// of the second warp.
fn ahead(by: i64) -> String {
    let wait = |label: &str, bar: &str| {
        format!(
            "\tand.b32 %r14, %r13, 1;\n{label}:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p5, [{bar}], %r14;\n\t@!%p5 bra {label};\n"
        )
    };
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1, .param .u32 k_param_2)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<8>;\n\t.reg .b32 %r<32>;\n\t.shared .align 8 .b8 bars[16];\n\tld.param.u32 %r10, [k_param_0];\n\
         \tld.param.u32 %r11, [k_param_1];\n\tld.param.u32 %r9, [k_param_2];\n\tsub.s32 %r12, %r10, %r11;\n\
         \tadd.s32 %r12, %r12, 1;\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bars;\n\tadd.s32 %r3, %r2, 8;\n\
         \tshr.u32 %r4, %r1, 5;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $I;\n\
         \tmbarrier.init.shared::cta.b64 [%r2], 32;\n\tmbarrier.init.shared::cta.b64 [%r3], 32;\n$I:\n\tbar.sync 0;\n\
         \tsetp.lt.s32 %p3, %r12, 1;\n\tsetp.ne.s32 %p2, %r4, 0;\n\t@%p2 bra $C;\n\t@%p3 bra $E;\n\
         \tmbarrier.arrive.shared::cta.b64 _, [%r2];\n\tmov.b32 %r13, 0;\n$P1:\n{}\tadd.s32 %r15, %r13, {by};\n\
         \tsetp.ge.s32 %p4, %r15, %r12;\n\t@%p4 bra $P2;\n\tmbarrier.arrive.shared::cta.b64 _, [%r2];\n$P2:\n\
         \tadd.s32 %r13, %r13, 1;\n\tsetp.ne.s32 %p6, %r13, %r12;\n\t@%p6 bra $P1;\n\tbra $E;\n$C:\n\t@%p3 bra $E;\n\
         \tmov.b32 %r13, 0;\n$C1:\n{}\tshl.b32 %r16, %r13, 5;\n\tsetp.ge.s32 %p7, %r16, %r9;\n\t@%p7 bra $C2;\n\
         \tbar.sync 1, 32;\n$C2:\n\tmbarrier.arrive.shared::cta.b64 _, [%r3];\n\tadd.s32 %r13, %r13, 1;\n\
         \tsetp.ne.s32 %p6, %r13, %r12;\n\t@%p6 bra $C1;\n$E:\n\tret;\n}}\n",
        wait("$W1", "%r3"),
        wait("$W2", "%r2"),
    );
    crate::common::verdict_on(&text)
}

#[test]
fn a_sum_that_is_the_trip_count_is_compared_with_the_iteration() {
    assert_eq!(ahead(1), "proved\t");
    let faulty = ahead(2);
    assert!(faulty.starts_with("violated"), "{faulty}");
}
