//! Tiles that a size cuts off: each row is accessed under a condition of its own, more than can be tried together.

/// The verdict on a kernel that stores 16 rows of words, and loads those that `arg1` has. `before` stands between both, and
/// `store` stores one row.
fn verdict(store: &dyn Fn(u32) -> String, before: &str, last: &str) -> String {
    let stores: String = (0..16).map(store).collect();
    let loads: String = (0..16)
        .map(|row| {
            format!(
                "\tadd.s32 %r14, %r12, {row};\n\tsetp.ge.s32 %p2, %r14, %r10;\n\t@%p2 bra $L{row};\n\
                 \tld.shared.b32 %r15, [%r6+{}];\n$L{row}:\n",
                256 * row
            )
        })
        .collect();
    let text = format!(
        ".version 8.6\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<32>;\n\t.shared .align 128 .b8 data[4096];\n\
         \tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r12, %ctaid.x;\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\
         \tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r2, %r4;\n\txor.b32 %r6, %r4, 128;\n\tadd.s32 %r6, %r2, %r6;\n\
         {stores}{before}{loads}{last}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

fn plain(row: u32) -> String {
    format!("\tst.shared.b32 [%r5+{}], %r1;\n", 256 * row)
}

const BAR: &str = "\tbar.sync 0;\n";

#[test]
fn rows_that_a_size_cuts_off_are_proved() {
    assert_eq!(verdict(&plain, BAR, ""), "proved\t");
    // A fault that is none without the rows may be one of rows that no launch has.
    let open = verdict(&plain, "", "");
    assert!(open.starts_with("gave up"), "{open}");
}

/// A fault of other accesses is one, whichever rows there are.
#[test]
fn a_fault_beside_rows_that_a_size_cuts_off_is_found() {
    let exchanged = "\tst.shared.b32 [%r5], %r1;\n\tbar.sync 0;\n\tld.shared.b32 %r15, [%r6];\n";
    assert_eq!(verdict(&plain, BAR, &format!("{BAR}{exchanged}")), "proved\t");
    let faulty = verdict(&plain, BAR, &format!("{BAR}{}", exchanged.replace(BAR, "")));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Rows that data leave out, in a loop that a size ends.
#[test]
fn rows_that_data_leave_out_are_proved() {
    let body = |bar: &str| {
        format!(
            "\tld.param.u32 %r11, [k_param_0];\n\tcvt.u64.u32 %rd1, %r11;\n\tmov.b32 %r13, 0;\n\tsetp.lt.s32 %p3, %r10, 1;\n\
             \t@%p3 bra $M2;\n$M1:\n\tadd.s64 %rd1, %rd1, 4;\n\tld.global.b32 %r16, [%rd1];\n\tsetp.eq.s32 %p4, %r16, 0;\n\
             \t@%p4 bra $M3;\n\tst.shared.b32 [%r5], %r1;\n$M3:\n\tbar.sync 0;\n\t@%p4 bra $M4;\n\
             \tld.shared.b32 %r15, [%r6];\n$M4:\n{bar}\tadd.s32 %r13, %r13, 1;\n\tsetp.lt.s32 %p5, %r13, %r10;\n\
             \t@%p5 bra $M1;\n$M2:\n"
        )
    };
    let of = |bar: &str| verdict(&|_| String::new(), "\t.reg .b64 %rd<4>;\n", &format!("{BAR}{}", body(bar)));
    let proved = of(BAR);
    assert!(proved.starts_with("proved"), "{proved}");
    let open = of("");
    assert!(!open.starts_with("proved"), "{open}");
}
