//! Two warps that count the same tiles in different ways. Each kernel is proved, and a variant with one change is not.

/// The verdict on a kernel of two warps that each meet at a barrier as often as their code says in `%r20`. The barrier counts
/// threads, so it waits for a warp that has ended. `%rd1` is an array, and `%r10`, `%r11`, `%r30` and `%r31` are sizes.
fn verdict(first: &str, second: &str) -> String {
    let loop_of = |label: &str| {
        format!(
            "\tsetp.lt.s32 %p2, %r20, 1;\n\t@%p2 bra $D;\n\tmov.b32 %r12, 0;\n${label}:\n\tbar.sync 1, 64;\n\
             \tadd.s32 %r12, %r12, 1;\n\tsetp.lt.s32 %p3, %r12, %r20;\n\t@%p3 bra ${label};\n\tbra.uni $D;\n"
        )
    };
    roles(&format!("{first}{}", loop_of("L")), &format!("{second}{}", loop_of("M")))
}

/// The same for warps with this code.
fn roles(first: &str, second: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1, \
         .param .u32 k_param_2, .param .u32 k_param_3, .param .u32 k_param_4)\n.reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\
         \t.reg .b64 %rd<16>;\n\t.shared .align 16 .b8 data[64];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tld.param.u32 %r11, [k_param_2];\n\tld.param.u32 %r30, [k_param_3];\n\tld.param.u32 %r31, [k_param_4];\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.u32 %r2, %ctaid.x;\n\tsetp.gt.u32 %p7, %r1, 31;\n\t@%p7 bra $C;\n{first}\tbra.uni $D;\n$C:\n{second}\
         $D:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

fn not_proved(found: &str) {
    assert!(!found.starts_with("proved"), "{found}");
}

/// 148 CTAs share the tiles. A compiler divides by 148 as a shift by two bits and a division by 37.
#[test]
fn a_shift_and_a_division_by_a_magic_number_are_one_division() {
    let tiles = "\tshl.b32 %r22, %r10, 5;\n";
    let plain = format!("{tiles}\tsub.s32 %r23, %r22, %r2;\n\tadd.s32 %r23, %r23, 147;\n\tdiv.s32 %r20, %r23, 148;\n");
    let magic = |m: u32| {
        format!(
            "{tiles}\tsetp.ge.s32 %p4, %r2, %r22;\n\t@%p4 bra $D;\n\tnot.b32 %r23, %r2;\n\tadd.s32 %r23, %r22, %r23;\n\
             \tshr.u32 %r23, %r23, 2;\n\tmul.hi.u32 %r24, %r23, {m};\n\tshr.u32 %r24, %r24, 2;\n\
             \tadd.s32 %r20, %r24, 1;\n"
        )
    };
    assert_eq!(verdict(&plain, &magic(464_320_789)), "proved\t");
    // A division by 36.
    not_proved(&verdict(&plain, &magic(477_218_589)));
}

#[test]
fn a_masked_quotient_is_a_multiple_of_another_one() {
    let plain = "\tadd.s32 %r21, %r10, 127;\n\tshr.u32 %r22, %r21, 7;\n\tshl.b32 %r20, %r22, 5;\n";
    let masked =
        |mask: u32| format!("\tadd.s32 %r21, %r10, 127;\n\tshr.u32 %r22, %r21, 2;\n\tand.b32 %r20, %r22, {mask};\n");
    assert_eq!(verdict(plain, &masked(0x3fff_ffe0)), "proved\t");
    not_proved(&verdict(plain, &masked(0x3fff_ffc0)));
}

#[test]
fn a_choice_by_a_sign_is_a_maximum() {
    let plain = "\tadd.s32 %r21, %r10, -2;\n\tmax.s32 %r21, %r21, 0;\n\tadd.s32 %r20, %r21, %r11;\n";
    let chosen = |less: i32| {
        format!(
            "\tsetp.lt.s32 %p4, %r10, 3;\n\tadd.s32 %r21, %r10, %r11;\n\tadd.s32 %r21, %r21, {less};\n\
             \tselp.b32 %r20, %r11, %r21, %p4;\n"
        )
    };
    assert_eq!(verdict(plain, &chosen(-2)), "proved\t");
    not_proved(&verdict(plain, &chosen(-1)));
}

/// The numbers for a division are arguments.
#[test]
fn a_division_by_numbers_of_the_launch_has_one_value() {
    let by = |shift: &str| format!("\tmul.hi.u32 %r21, %r10, %r11;\n\tshr.u32 %r20, %r21, {shift};\n");
    assert_eq!(verdict(&by("%r30"), &by("%r30")), "proved\t");
    not_proved(&verdict(&by("%r30"), &by("%r11")));
}

/// A scheduler whose result is a structure: without another tile, its members are those of an empty one.
#[test]
fn a_loop_over_structures_ends_with_the_last_tile() {
    let bounds = "\tld.global.nc.u32 %r21, [%rd1];\n\tld.global.nc.u32 %r22, [%rd1+4];\n";
    let plain = format!("{bounds}\tsub.s32 %r20, %r22, %r21;\n");
    let scheduler = |next: i32| {
        format!(
            "{bounds}\tsetp.ge.s32 %p4, %r21, %r22;\n\t@%p4 bra $D;\n\tmov.b32 %r23, 0;\n$S:\n\tbar.sync 1, 64;\n\
             \tadd.s32 %r24, %r21, %r23;\n\tadd.s32 %r24, %r24, {next};\n\tsetp.lt.s32 %p5, %r24, %r22;\n\
             \tadd.s32 %r25, %r23, {next};\n\tselp.b32 %r25, %r25, %r21, %p5;\n\tselp.b32 %r26, %r21, %r22, %p5;\n\
             \tselp.b32 %r22, %r22, 0, %p5;\n\tmov.b32 %r21, %r26;\n\tmov.b32 %r23, %r25;\n\
             \tadd.s32 %r27, %r21, %r23;\n\tsetp.lt.s32 %p6, %r27, %r22;\n\t@%p6 bra $S;\n\tbra.uni $D;\n"
        )
    };
    let counted = "\tsetp.lt.s32 %p2, %r20, 1;\n\t@%p2 bra $D;\n\tmov.b32 %r12, 0;\n$L:\n\tbar.sync 1, 64;\n\
                   \tadd.s32 %r12, %r12, 1;\n\tsetp.lt.s32 %p3, %r12, %r20;\n\t@%p3 bra $L;\n";
    assert_eq!(roles(&format!("{plain}{counted}"), &scheduler(1)), "proved\t");
    not_proved(&roles(&format!("{plain}{counted}"), &scheduler(2)));
}

/// CUTLASS divides by a size that the host passes with a factor and a shift.
#[test]
fn the_host_computes_the_numbers_of_a_division() {
    let plain = "\tdiv.u32 %r20, %r10, %r11;\n";
    let fast = |d: &str| {
        format!(
            "\tmul.hi.u32 %r21, %r10, %r30;\n\tshr.u32 %r22, %r21, %r31;\n\tsetp.eq.s32 %p4, {d}, 1;\n\
             \tselp.b32 %r20, %r10, %r22, %p4;\n"
        )
    };
    assert_eq!(verdict(plain, &fast("%r11")), "proved\t");
    // A kernel that passes the size in another place, too, is right where both are one size. No fault is reported.
    let other = verdict("\tdiv.u32 %r20, %r10, %r11;\n", &fast("%r2"));
    assert!(!other.starts_with("proved") && !other.starts_with("violated"), "{other}");
}

/// Both warps read how often they meet from a word that a thread has stored.
#[test]
fn what_a_thread_stores_is_one_number_for_all() {
    let read = "\tld.shared.b32 %r20, [%r40];\n\tbar.sync 0;\n";
    let store = |value: &str| {
        format!(
            "\tmov.b32 %r40, data;\n\tsetp.ne.s32 %p5, %r1, 0;\n\t@%p5 bra $W;\n\tst.shared.b32 [%r40], {value};\n\
             $W:\n\tbar.sync 0;\n{read}"
        )
    };
    let said = verdict(&store("%r10"), &format!("\tmov.b32 %r40, data;\n\tbar.sync 0;\n{read}"));
    assert!(!said.starts_with("violated"), "{said}");
}
