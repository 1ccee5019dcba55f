//! Rings that one iteration moves on several times, each time under a condition of its own.

/// A kernel of two warps with a ring of three slots. An iteration has `steps` steps, and a step behind the last tile does
/// nothing. `left_out` is what one step of one role leaves out.
fn verdict(steps: u32, left_out: Option<(&str, &str, u32)>) -> String {
    let role = |name: &str, waits: &str, access: &str, signals: &str| -> String {
        let step = |k: u32| {
            let has = |what: &str| left_out != Some((name, what, k));
            let wait = format!(
                "$W{name}{k}:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p4, [{waits}], %r22;\n\t@!%p4 bra $W{name}{k};\n"
            );
            let arrive = format!("\tmbarrier.arrive.shared::cta.b64 %rd1, [{signals}];\n");
            format!(
                "\tadd.s32 %r20, %r7, {k};\n\tsetp.ge.s32 %p6, %r20, %r10;\n\t@%p6 bra $S{name}{k};\n\tshl.b32 %r11, %r21, 3;\n\
                 \tadd.s32 %r12, %r2, %r11;\n\tmad.lo.s32 %r14, %r21, 128, %r5;\n{}\t{access}\n{}\
                 \tadd.s32 %r21, %r21, 1;\n\tsetp.eq.s32 %p5, %r21, 3;\n\tselp.b32 %r21, 0, %r21, %p5;\n\
                 \tselp.b32 %r15, 1, 0, %p5;\n\txor.b32 %r22, %r22, %r15;\n$S{name}{k}:\n",
                if has("wait") { wait.as_str() } else { "" },
                if has("arrive") { arrive.as_str() } else { "" },
            )
        };
        let all: String = (0..steps).map(step).collect();
        format!(
            "${name}:\n{all}\tadd.s32 %r7, %r7, {steps};\n\tsetp.lt.s32 %p7, %r7, %r10;\n\t@%p7 bra ${name};\n\tbra.uni $END;\n"
        )
    };
    let init: String = (0..6).map(|n| format!("\tmbarrier.init.shared.b64 [%r2+{}], 32;\n", 8 * n)).collect();
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 8 .b8 bar[48];\n\
         \t.shared .align 16 .b8 buf[512];\n\tld.param.u32 %r10, [n];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\
         \tmov.b32 %r3, buf;\n\tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\tadd.s32 %r5, %r3, %r4;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n{init}$L0:\n\tbar.sync 0;\n\tsetp.lt.s32 %p2, %r10, 1;\n\
         \t@%p2 bra $END;\n\tmov.b32 %r7, 0;\n\tmov.b32 %r21, 0;\n\tmov.b32 %r22, 1;\n\tshr.u32 %r6, %r1, 5;\n\
         \tsetp.ne.s32 %p3, %r6, 0;\n\t@%p3 bra $LC;\n{}$LC:\n\tmov.b32 %r22, 0;\n{}$END:\n\tret;\n}}\n",
        role("P", "%r12+24", "st.shared.b32 [%r14], %r20;", "%r12"),
        role("C", "%r12", "ld.shared.b32 %r16, [%r14];", "%r12+24"),
    );
    crate::common::verdict_on(&text)
}

#[test]
fn a_ring_that_an_iteration_moves_on_many_times_is_followed() {
    for steps in [8, 16] {
        assert_eq!(verdict(steps, None), "proved\t", "{steps}");
    }
    for left_out in [("C", "wait", 3), ("P", "wait", 9), ("C", "arrive", 5), ("P", "arrive", 15)] {
        let faulty = verdict(16, Some(left_out));
        assert!(faulty.starts_with("violated"), "{left_out:?}: {faulty}");
    }
}
