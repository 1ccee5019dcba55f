//! Tiles of groups: each role searches for the group of its next tile, in a loop that begins where the loop over tiles begins.

/// What differs between kernels.
#[derive(Clone, Copy)]
struct Kernel<'k> {
    /// The last group that the second role knows.
    last: u32,
    /// How far the second role moves its ring on in a step.
    step: u32,
    /// What the first role does where the group is another one than that of the tile before, if it asks.
    changed: Option<&'k str>,
}

const PLAIN: Kernel<'_> = Kernel { last: 7, step: 1, changed: None };

/// A kernel of two warps. The first one fills a ring of two slots, and the second one reads it, as many steps a tile as memory
/// says for its group. A tile of a group without steps is skipped.
fn verdict(k: Kernel<'_>) -> String {
    let wait = |label: &str, bar: &str, parity: &str| {
        format!(
            "${label}:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p5, [{bar}], {parity};\n\t@!%p5 bra ${label};\n"
        )
    };
    let role = |n: u32, last: u32, changed: &str, step: &str| {
        format!(
            "\tld.global.nc.u32 %r20, [%rd1];\n\tmov.u32 %r21, %ctaid.x;\n\tmov.b32 %r22, 0;\n\tmov.b32 %r23, 0;\n\
             \tmov.b32 %r24, 9;\n\tbra.uni $H{n};\n\
             $G{n}:\n\tmul.wide.u32 %rd3, %r30, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.nc.u32 %r20, [%rd4];\n\
             \tmov.u32 %r22, %r30;\n\
             $H{n}:\n\tadd.s32 %r30, %r22, 1;\n\tmul.lo.s32 %r31, %r10, %r30;\n\tsetp.lt.u32 %p1, %r21, %r31;\n\
             \t@%p1 bra $F{n};\n\tsetp.gt.u32 %p2, %r30, {last};\n\t@%p2 bra $E;\n\tbra.uni $G{n};\n\
             $F{n}:\n\tsetp.eq.s32 %p3, %r20, 0;\n\t@%p3 bra $N{n};\n{changed}\tmov.b32 %r25, 0;\n\
             $S{n}:\n\tand.b32 %r26, %r23, 1;\n\tshl.b32 %r27, %r26, 3;\n\tadd.s32 %r27, %r2, %r27;\n\
             \tshl.b32 %r28, %r26, 7;\n\tadd.s32 %r28, %r5, %r28;\n\tshr.u32 %r29, %r23, 1;\n{step}\
             \tadd.s32 %r25, %r25, 1;\n\tsetp.lt.u32 %p6, %r25, %r20;\n\t@%p6 bra $S{n};\n\
             $N{n}:\n\tadd.s32 %r21, %r21, %r12;\n\tsetp.eq.s32 %p7, %r22, 8;\n\t@%p7 bra $E;\n\tbra.uni $H{n};\n"
        )
    };
    let fills = format!(
        "\txor.b32 %r29, %r29, 1;\n\tand.b32 %r29, %r29, 1;\n\tadd.s32 %r32, %r27, 16;\n{}\tst.shared.b32 [%r28], %r1;\n\
         \tmbarrier.arrive.shared::cta.b64 _, [%r27];\n\tadd.s32 %r23, %r23, 1;\n",
        wait("W", "%r32", "%r29")
    );
    let reads = format!(
        "\tand.b32 %r29, %r29, 1;\n\tadd.s32 %r32, %r27, 16;\n{}\tld.shared.b32 %r33, [%r28];\n\
         \tmbarrier.arrive.shared::cta.b64 _, [%r32];\n\tadd.s32 %r23, %r23, {};\n",
        wait("R", "%r27", "%r29"),
        k.step
    );
    let asks =
        |does: &str| format!("\tsetp.eq.s32 %p4, %r24, %r22;\n\t@%p4 bra $K;\n{does}\tmov.u32 %r24, %r22;\n$K:\n");
    let changed = k.changed.map(asks).unwrap_or_default();
    crate::common::verdict_on(&format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<16>;\n\t.shared .align 8 .b8 bar[32];\n\
         \t.shared .align 16 .b8 data[768];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.u32 %r12, %nctaid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, data;\n\tand.b32 %r4, %r1, 31;\n\
         \tshl.b32 %r4, %r4, 2;\n\tadd.s32 %r5, %r3, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $I;\n\
         \tmbarrier.init.shared.b64 [%r2], 32;\n\tmbarrier.init.shared.b64 [%r2+8], 32;\n\
         \tmbarrier.init.shared.b64 [%r2+16], 32;\n\tmbarrier.init.shared.b64 [%r2+24], 32;\n$I:\n\tbar.sync 0;\n\
         \tsetp.gt.u32 %p8, %r1, 31;\n\t@%p8 bra $C;\n{}$C:\n{}$E:\n\tret;\n}}\n",
        role(0, 7, &changed, &fills),
        role(1, k.last, "", &reads),
    ))
}

#[test]
fn roles_that_search_for_the_groups_of_their_tiles_make_the_same_steps() {
    assert_eq!(verdict(PLAIN), "proved\t");
    // One role ends with an earlier group.
    let faulty = verdict(Kernel { last: 6, ..PLAIN });
    assert!(!faulty.starts_with("proved"), "{faulty}");
    // One role leaves out every second slot.
    let faulty = verdict(Kernel { step: 2, ..PLAIN });
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

/// Which outcome the condition has in an iteration is not known. The proof for tiles of any lengths does not have it, too.
#[test]
fn what_a_warp_does_for_another_group_may_happen_or_not() {
    let apart = verdict(Kernel { changed: Some("\tst.shared.b32 [%r5+512], %r22;\n"), ..PLAIN });
    assert!(apart.starts_with("bounded"), "{apart}");
    // It stores where the other warp reads.
    let faulty = verdict(Kernel { changed: Some("\tst.shared.b32 [%r5], %r22;\n"), ..PLAIN });
    assert!(!faulty.starts_with("proved") && !faulty.starts_with("bounded"), "{faulty}");
}
