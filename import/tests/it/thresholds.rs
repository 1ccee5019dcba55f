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
