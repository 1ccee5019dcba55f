//! Calls of functions, and instructions that access as many bytes as an operand says.

/// The verdict on a kernel with this body, for two warps, and this code of the function `f`.
fn verdict(function: &str, body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n\
         .func (.param .b32 func_retval0) f(.param .b32 f_param_0)\n{{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<4>;\n\
         \tld.param.b32 %r1, [f_param_0];\n{function}\tst.param.b32 [func_retval0], %r1;\n\tret;\n}}\n\
         .visible .entry k(.param .u64 k_param_0)\n.reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b16 %rs<8>;\n\
         \t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 128 .b8 data[512];\n\tld.param.u64 %rd1, [k_param_0];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r2, %r4;\n\
         \txor.b32 %r6, %r4, 128;\n\tadd.s32 %r6, %r2, %r6;\n\tsetp.ne.s32 %p1, %r1, 0;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// A call whose result is stored, and loaded by another warp.
fn called(last: &str) -> String {
    format!(
        "\t{{\n\t.param .b32 param0;\n\tst.param.b32 [param0], %r1;\n\t.param .b32 retval0;\n\
         \tcall.uni (retval0), f, (param0);\n\tld.param.b32 %r7, [retval0];\n\t}}\n\
         \tst.shared.b32 [%r5], %r7;\n{last}\tld.shared.b32 %r8, [%r6];\n"
    )
}

const BAR: &str = "\tbar.sync 0;\n";

#[test]
fn a_function_that_only_computes_is_called() {
    let function = "\tsetp.lt.s32 %p1, %r1, 7;\n\t@%p1 bra $F1;\n\tshl.b32 %r1, %r1, 3;\n$F1:\n";
    assert_eq!(verdict(function, &called(BAR)), "proved\t");
    assert!(verdict(function, &called("")).starts_with("violated"));
}

#[test]
fn a_function_that_synchronizes_or_accesses_memory_is_refused() {
    for function in ["\tbar.sync 0;\n", "\tst.shared.b32 [%r1], %r1;\n", "\tst.b32 [%r1], %r1;\n", "\texit;\n"] {
        let said = verdict(function, &called(BAR));
        assert!(said.starts_with("rejected") && said.contains("calls are not followed"), "{said}");
    }
}

/// What a function returns differs by lane, so a branch by it must not synchronize.
#[test]
fn a_barrier_behind_a_branch_by_a_result_is_refused() {
    let body = called(&format!("\tsetp.eq.s32 %p2, %r7, 0;\n\t@%p2 bra $L1;\n{BAR}$L1:\n"));
    let said = verdict("", &body);
    assert!(said.starts_with("rejected"), "{said}");
}

#[test]
fn a_bulk_store_of_zeros_has_the_bytes_that_it_says() {
    let body = |bytes: u32, last: &str| {
        format!(
            "\tst.shared.b32 [%r5+256], %r1;\n\tmov.b64 %rd2, {bytes};\n\
             \t@!%p1 st.bulk.weak.shared::cta [%r2], %rd2, 0;\n{last}\tld.shared.b32 %r8, [%r5];\n"
        )
    };
    assert_eq!(verdict("", &body(256, BAR)), "proved\t");
    assert!(verdict("", &body(256, "")).starts_with("violated"));
    // The store reaches words that other threads stored.
    assert!(verdict("", &body(264, BAR)).starts_with("violated"));
}

/// An index by a quotient that is the high half of a product of 16 bits.
#[test]
fn a_quotient_by_the_high_half_of_a_product_of_sixteen_bits() {
    let body = |last: &str| {
        format!(
            "\tcvt.u16.u32 %rs1, %r1;\n\tmul.hi.u16 %rs2, %rs1, -21845;\n\tshr.u16 %rs3, %rs2, 1;\n\
             \tmul.lo.s16 %rs4, %rs3, 3;\n\tsub.s16 %rs5, %rs1, %rs4;\n\tcvt.u32.u16 %r8, %rs3;\n\
             \tcvt.u32.u16 %r9, %rs5;\n\tmad.lo.s32 %r10, %r8, 3, %r9;\n\tshl.b32 %r10, %r10, 2;\n\
             \tadd.s32 %r10, %r2, %r10;\n\tst.shared.b32 [%r10], %r1;\n{last}\tld.shared.b32 %r11, [%r6];\n"
        )
    };
    assert_eq!(verdict("", &body(BAR)), "proved\t");
    assert!(verdict("", &body("")).starts_with("violated"));
}
