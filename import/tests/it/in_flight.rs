//! Registers of products of warpgroups: waits and fences that accesses to them need.

use crate::producers::text;

const ACC: &str = "{%f1, %f2, %f3, %f4}";
const OTHER: &str = "{%f5, %f6, %f7, %f8}";
const FENCE: &str = "\twgmma.fence.sync.aligned;\n";
const COMMIT: &str = "\twgmma.commit_group.sync.aligned;\n";
const USE: &str = "\tadd.f32 %f9, %f1, %f1;\n";

/// A product of operands in shared memory, or with the left operand in registers.
fn product(acc: &str, left: &str) -> String {
    let flags = if left.starts_with('{') { "1, 1, 1, 0" } else { "1, 1, 1, 0, 0" };
    format!("\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {acc}, {left}, %rd5, {flags};\n")
}

fn wait(groups: u32) -> String {
    format!("\twgmma.wait_group.sync.aligned {groups};\n")
}

/// The verdict on a kernel that stores its operands and then does this.
fn after_stores(body: &str) -> String {
    let body = format!(
        "\tshr.u32 %r4, %r3, 4;\n\tcvt.u64.u32 %rd4, %r4;\n\tor.b64 %rd4, %rd4, 4611686293305294848;\n\
         \tadd.s64 %rd5, %rd4, 512;\n\tshl.b32 %r5, %r1, 2;\n\tadd.s32 %r5, %r3, %r5;\n{}\
         \tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n{body}\twgmma.wait_group.sync.aligned 0;\n",
        (0..18).map(|n| format!("\tst.shared.b32 [%r5+{}], %r1;\n", 512 * n)).collect::<String>()
    );
    let text = text(128, &body).replace("data[1024]", "data[16384]").replace(".f32 %f<8>", ".f32 %f<16>");
    crate::common::verdict_on(&text)
}

fn proved(body: &str) {
    assert_eq!(after_stores(body), "proved\t", "{body}");
}

fn violated(body: &str, what: &str) {
    let verdict = after_stores(body);
    assert!(verdict.starts_with("violated\t") && verdict.contains(what), "{verdict}\n{body}");
}

#[test]
fn an_accumulator_is_used_after_its_wait() {
    let p = product(ACC, "%rd4");
    proved(&format!("{FENCE}{p}{COMMIT}{}{USE}", wait(0)));
    violated(&format!("{FENCE}{p}{COMMIT}{USE}{}", wait(0)), "acc_r");
    violated(&format!("{FENCE}{p}{COMMIT}{}{USE}", wait(1)), "acc_r");
    // A wait covers committed groups only.
    violated(&format!("{FENCE}{p}{}{USE}", wait(0)), "acc_r");
    // A write is an access, too.
    violated(&format!("{FENCE}{p}{COMMIT}\tadd.f32 %f1, %f9, %f9;\n{}", wait(0)), "acc_r");
}

#[test]
fn a_wait_may_leave_the_group_of_another_accumulator() {
    let both = format!("{FENCE}{}{COMMIT}{}{COMMIT}{}", product(ACC, "%rd4"), product(OTHER, "%rd4"), wait(1));
    proved(&format!("{both}{USE}"));
    violated(&format!("{both}\tadd.f32 %f9, %f5, %f5;\n"), "acc_r");
}

#[test]
fn a_copy_of_an_accumulator_is_no_use() {
    let begun = format!("{FENCE}{}{COMMIT}\tmov.f32 %f9, %f1;\n", product(ACC, "%rd4"));
    proved(&format!("{begun}{}\tadd.f32 %f10, %f9, %f9;\n", wait(0)));
    violated(&format!("{begun}\tadd.f32 %f10, %f9, %f9;\n{}", wait(0)), "acc_r");
}

#[test]
fn conditions_decide_whether_a_use_follows_its_wait() {
    let p = product(ACC, "%rd4");
    let kernel = |used: &str| {
        format!(
            "\tsetp.gt.s32 %p3, %r10, 0;\n{FENCE}{p}{COMMIT}\t@!%p3 bra $L1;\n{}$L1:\n\t{used}add.f32 %f9, %f1, %f1;\n",
            wait(0)
        )
    };
    proved(&kernel("@%p3 "));
    violated(&kernel("@!%p3 "), "acc_r");
    violated(&kernel(""), "acc_r");
}

#[test]
fn a_use_in_a_loop_that_only_computes_is_found() {
    let p = product(ACC, "%rd4");
    let looped = format!(
        "\tmov.b32 %r14, 0;\n$L1:\n{USE}\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p4, %r14, 8;\n\t@%p4 bra $L1;\n"
    );
    proved(&format!("{FENCE}{p}{COMMIT}{}{looped}", wait(0)));
    violated(&format!("{FENCE}{p}{COMMIT}{looped}{}", wait(0)), "acc_r");
}

#[test]
fn an_accumulator_that_is_changed_needs_a_fence() {
    let p = product(ACC, "%rd4");
    let scaled = "\tmul.f32 %f1, %f1, %f9;\n";
    let first = format!("{FENCE}{p}{COMMIT}{}", wait(0));
    proved(&format!("{first}{scaled}{FENCE}{p}{COMMIT}"));
    violated(&format!("{first}{scaled}{p}{COMMIT}"), "no `wgmma.fence`");
    violated(&format!("{first}{FENCE}{scaled}{p}{COMMIT}"), "no `wgmma.fence`");
    // By way of a copy.
    violated(&format!("{first}\tmul.f32 %f10, %f1, %f9;\n\tmov.f32 %f1, %f10;\n{p}{COMMIT}"), "no `wgmma.fence`");
    // Products of one shape into one accumulator need none between them, and neither does a zero.
    proved(&format!("{first}{p}{COMMIT}"));
    proved(&format!("{first}\tmov.f32 %f1, 0f00000000;\n{p}{COMMIT}"));
}

#[test]
fn a_left_operand_in_registers_stays_until_the_wait() {
    let p = product(ACC, "{%r20, %r21, %r22, %r23}");
    let change = "\tadd.s32 %r20, %r21, %r22;\n";
    proved(&format!("{change}{FENCE}{p}{COMMIT}{}{change}", wait(0)));
    violated(&format!("{change}{FENCE}{p}{COMMIT}{change}{}", wait(0)), "left_r");
    violated(&format!("{FENCE}{change}{p}{COMMIT}"), "no `wgmma.fence`");
}

/// DEVIATIONS.md: a register of a load of tensor memory is used before the wait for the load.
#[test]
fn fixme_a_use_of_a_loaded_register_before_its_wait_is_not_found() {
    let body = "\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;\n\tbar.sync 0;\n\
                \tld.shared.b32 %r30, [%r3];\n\ttcgen05.st.sync.aligned.32x32b.x1.b32 [%r30], {%r3};\n\
                \ttcgen05.wait::st.sync.aligned;\n\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {%r31}, [%r30];\n\
                \tst.global.b32 [%rd1], %r31;\n\ttcgen05.wait::ld.sync.aligned;\n\
                \ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32;\n";
    assert_eq!(crate::common::verdict_on(&text(32, body).replace("sm_90a", "sm_100a")), "proved\t");
}

/// The verdict on a warp that loads tensor memory, where data of each lane decide whether it does `uses` with the register.
/// It then gives the tensor memory back.
fn loaded(uses: &str, wait: &str) -> String {
    let body = format!(
        "\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;\n\tbar.sync 0;\n\
         \tld.shared.b32 %r30, [%r3];\n\tmul.wide.u32 %rd8, %r1, 4;\n\tadd.s64 %rd9, %rd1, %rd8;\n\
         \tld.global.b32 %r32, [%rd9];\n\tsetp.eq.s32 %p7, %r32, 0;\n\
         \ttcgen05.st.sync.aligned.32x32b.x1.b32 [%r30], {{%r3}};\n\ttcgen05.wait::st.sync.aligned;\n\
         \ttcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r31}}, [%r30];\n\t@%p7 bra $S;\n{uses}$S:\n{wait}\
         \ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32;\n"
    );
    crate::common::verdict_on(&text(32, &body).replace("sm_90a", "sm_100a"))
}

#[test]
fn a_use_behind_a_branch_by_data_waits_for_a_load_in_a_text_without_waits() {
    let uses = "\tadd.s32 %r33, %r31, 1;\n\tst.global.b32 [%rd9], %r33;\n";
    assert_eq!(loaded(uses, ""), "proved\t");
    // No side uses the register.
    let none = "\tst.global.b32 [%rd9], %r32;\n";
    assert!(loaded(none, "").starts_with("violated\t"), "{}", loaded(none, ""));
    assert_eq!(loaded(none, "\ttcgen05.wait::ld.sync.aligned;\n"), "proved\t");
}
