//! Polls ahead of waits: the result of a poll skips a wait of the same iteration, or of the next one.

/// A ring of two slots: a warp stores, and another one loads. `poll` and `wait` are what the loads stand behind.
fn verdict(ahead: &str, wait: &str, next: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 8 .b8 bar[32];\n\t.shared .align 16 .b8 buf[256];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, buf;\n\tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\
         \tadd.s32 %r5, %r3, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\
         \tmbarrier.init.shared.b64 [%r2], 32;\n\tmbarrier.init.shared.b64 [%r2+8], 32;\n\
         \tmbarrier.init.shared.b64 [%r2+16], 32;\n\tmbarrier.init.shared.b64 [%r2+24], 32;\n$L0:\n\tbar.sync 0;\n\
         \tsetp.lt.s32 %p2, %r10, 1;\n\t@%p2 bra $L9;\n\
         \tmov.b32 %r7, 0;\n\tmov.b32 %r20, 0;\n\tmov.b32 %r21, 0;\n\tmov.b32 %r22, 1;\n\
         \tshr.u32 %r6, %r1, 5;\n\tsetp.ne.s32 %p3, %r6, 0;\n\t@%p3 bra $L4;\n\
         $L1:\n\tshl.b32 %r11, %r20, 3;\n\tadd.s32 %r12, %r2, %r11;\n\
         $L2:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r12+16], %r22;\n\t@!%p4 bra $L2;\n\
         \tshl.b32 %r13, %r20, 7;\n\tadd.s32 %r14, %r5, %r13;\n\tst.shared.b32 [%r14], %r7;\n\
         \tmbarrier.arrive.shared::cta.b64 %rd1, [%r12];\n\
         \tadd.s32 %r20, %r20, 1;\n\tsetp.eq.s32 %p5, %r20, 2;\n\tselp.b32 %r20, 0, %r20, %p5;\n\tselp.b32 %r15, 1, 0, %p5;\n\
         \txor.b32 %r22, %r22, %r15;\n\tadd.s32 %r7, %r7, 1;\n\tsetp.lt.s32 %p6, %r7, %r10;\n\t@%p6 bra $L1;\n\tbra $L9;\n\
         $L4:\n{ahead}\
         $L5:\n\tshl.b32 %r11, %r20, 3;\n\tadd.s32 %r12, %r2, %r11;\n{wait}\
         \tshl.b32 %r13, %r20, 7;\n\tadd.s32 %r14, %r5, %r13;\n\tld.shared.b32 %r16, [%r14];\n\
         \tmbarrier.arrive.shared::cta.b64 %rd1, [%r12+16];\n\
         \tadd.s32 %r20, %r20, 1;\n\tsetp.eq.s32 %p5, %r20, 2;\n\tselp.b32 %r20, 0, %r20, %p5;\n\tselp.b32 %r15, 1, 0, %p5;\n\
         \txor.b32 %r21, %r21, %r15;\n\tadd.s32 %r7, %r7, 1;\n\tsetp.ge.s32 %p6, %r7, %r10;\n{next}\
         \tsetp.lt.s32 %p7, %r7, %r10;\n\t@%p7 bra $L5;\n$L9:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// A poll with this address and parity.
fn poll(address: &str, parity: &str) -> String {
    format!("\tmbarrier.try_wait.parity.shared::cta.b64 %p8, [{address}], {parity};\n")
}

/// A wait that a successful poll skips.
const WAIT: &str =
    "\t@%p8 bra $L7;\n$L6:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p9, [%r12], %r21;\n\t@!%p9 bra $L6;\n$L7:\n";

/// The polls of the next iteration, if there is one.
fn next(address: &str, parity: &str) -> String {
    let poll = poll(address, parity);
    format!(
        "\t@%p6 bra $L8;\n\tshl.b32 %r17, %r20, 3;\n\tadd.s32 %r18, %r2, %r17;\n\txor.b32 %r19, %r21, 1;\n{poll}$L8:\n"
    )
}

fn is_unlike(said: &str) -> bool {
    said.starts_with("gave up") && said.contains("is not shown to name the barrier and the phase of the wait")
}

#[test]
fn a_poll_of_the_phase_of_its_wait_is_proved() {
    let with = |poll: &str| verdict("", &format!("{poll}{WAIT}"), "");
    assert_eq!(with(&poll("%r12", "%r21")), "proved\t");
    for (address, parity) in [("%r12", "%r22"), ("%r12+8", "%r21"), ("%r2", "%r21"), ("%r12", "0")] {
        let faulty = with(&poll(address, parity));
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
    // The poll is right, and the wait behind it is for another phase.
    let other = WAIT.replace("%r21", "%r22");
    let faulty = verdict("", &format!("{}{other}", poll("%r12", "%r21")), "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The wait is skipped where the poll fails.
    let faulty = verdict("", &format!("{}{}", poll("%r12", "%r21"), WAIT.replace("@%p8", "@!%p8")), "");
    assert!(faulty.starts_with("rejected") && faulty.contains("which polls skip the wait"), "{faulty}");
    // The wait alone, for another phase or for nothing.
    let faulty = verdict("", &WAIT.replace("\t@%p8 bra $L7;\n", "").replace("%r21", "%r22"), "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    let faulty = verdict("", "", "");
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn a_poll_of_the_next_iteration_is_proved() {
    let (first, right) = (poll("%r2", "0"), next("%r18", "%r21"));
    assert_eq!(verdict(&first, WAIT, &right), "proved\t");
    let faulty = verdict(&first, &WAIT.replace("@%p8", "@!%p8"), &right);
    assert!(faulty.starts_with("rejected") && faulty.contains("which polls skip the wait"), "{faulty}");
    // The poll ahead of the loop.
    for (address, parity) in [("%r2", "1"), ("%r2+8", "0")] {
        let faulty = verdict(&poll(address, parity), WAIT, &right);
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
    // The poll in the loop: another parity, another barrier, and the barrier of this iteration.
    for (address, parity) in [("%r18", "%r19"), ("%r18+8", "%r21"), ("%r12", "%r21"), ("%r18", "0")] {
        let faulty = verdict(&first, WAIT, &next(address, parity));
        assert!(is_unlike(&faulty), "{address} {parity}: {faulty}");
    }
}
