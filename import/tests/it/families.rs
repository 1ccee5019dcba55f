//! Small kernels for forms that families of real kernels share. Each is proved, and a variant with a fault is found.

use warpline_import::symbolic::{Arena, Atom};
use warpline_import::{lift, ptx};
use warpline_sim::ir::{Instr, Op, Phase};
use warpline_sim::protocol::counts_rounds;

/// The verdict on a kernel with this body, for a block of this many threads with a ring of three barriers that all threads
/// arrive at. Registers `%r7` and `%r8` have the slot and the phase.
fn verdict(threads: u32, body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid {threads}\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<48>;\n\t.reg .f32 %f<8>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 16 .b8 data[512];\n\t.shared .align 8 .b8 bar[24];\n\tld.param.u64 %rd1, [k_param_0];\n\
         \tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, data;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], {threads};\n\
         \tmbarrier.init.shared.b64 [%r2+8], {threads};\n\tmbarrier.init.shared.b64 [%r2+16], {threads};\n\
         $L0:\n\tbar.sync 0;\n\tmov.b32 %r7, 0;\n\tmov.b32 %r8, 0;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// An arrival and a wait at the slot, and the next slot and phase.
fn step(label: &str) -> String {
    format!(
        "\tshl.b32 %r9, %r7, 3;\n\tadd.s32 %r11, %r2, %r9;\n\tmbarrier.arrive.shared.b64 %rd2, [%r11];\n\
         ${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r11], %r8;\n\t@!%p2 bra ${label};\n\
         \tadd.s32 %r12, %r7, 1;\n\tsetp.eq.s32 %p3, %r12, 3;\n\tselp.b32 %r7, 0, %r12, %p3;\n\
         \tselp.b32 %r13, 1, 0, %p3;\n\txor.b32 %r8, %r8, %r13;\n"
    )
}

/// One warp makes `n` steps, and the other two steps in each of `n / 2` iterations, and one more for an odd `n`.
#[test]
fn a_size_and_its_quotient_are_bounds_of_two_loops() {
    let kernel = |odd: &str| {
        let (one, two, three, four) = (step("L21"), step("L22"), step("L23"), step("L24"));
        format!(
            "\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L9;\n\tmov.b32 %r14, 0;\n\tsetp.gt.u32 %p5, %r1, 31;\n\
             \t@%p5 bra $L2;\n\
             $L1:\n{one}\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n\t@%p6 bra $L1;\n\tbra.uni $L9;\n\
             $L2:\n\tand.b32 %r15, %r10, 1;\n\tsub.s32 %r16, %r10, %r15;\n\tsetp.eq.s32 %p7, %r16, 0;\n\t@%p7 bra $L4;\n\
             $L3:\n{two}{three}\tadd.s32 %r14, %r14, 2;\n\tsetp.lt.s32 %p8, %r14, %r16;\n\t@%p8 bra $L3;\n\
             $L4:\n\tsetp.eq.s32 %p9, %r15, {odd};\n\t@%p9 bra $L9;\n{four}$L9:\n"
        )
    };
    assert_eq!(verdict(64, &kernel("0")), "proved\t");
    let faulty = verdict(64, &kernel("1"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Data decide whether a warp waits for a barrier and reads. The other warp arrives in any case.
#[test]
fn data_decide_whether_a_warp_waits() {
    let kernel = |arrive: &str| {
        format!(
            "\tshl.b32 %r20, %r1, 2;\n\tadd.s32 %r21, %r3, %r20;\n\tsetp.gt.u32 %p5, %r1, 31;\n\t@%p5 bra $L2;\n\
             \tst.shared.b32 [%r21], %r1;\n\tbra.uni $L3;\n\
             $L2:\n$L3:\n{arrive}\t@!%p5 bra $L9;\n\tld.global.f32 %f1, [%rd1];\n\tsqrt.approx.f32 %f2, %f1;\n\
             \tfma.rn.f32 %f3, %f2, %f1, %f2;\n\tshl.b32 %r22, %r1, 2;\n\tcvt.u64.u32 %rd4, %r22;\n\
             \tadd.s64 %rd5, %rd1, %rd4;\n\tld.global.f32 %f4, [%rd5];\n\tsetp.gt.f32 %p6, %f4, %f3;\n\
             \tvote.sync.any.pred %p7, %p6, -1;\n\t@!%p7 bra $L9;\n\
             $L4:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n\t@!%p2 bra $L4;\n\
             \tld.shared.b32 %r23, [%r21+-128];\n$L9:\n"
        )
    };
    let arrive = "\tmbarrier.arrive.shared.b64 %rd2, [%r2];\n";
    assert!(verdict(64, &kernel(arrive)).starts_with("bounded"));
    let early =
        kernel("").replace("\tst.shared.b32 [%r21], %r1;\n", &format!("{arrive}\tst.shared.b32 [%r21], %r1;\n"));
    let faulty = verdict(64, &early.replace("$L2:\n", &format!("$L2:\n{arrive}")));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A list of tiles in memory: a ring runs on from tile to tile, and a word says how many steps each tile has.
#[test]
fn a_ring_runs_on_through_tiles_of_which_data_say_the_size() {
    let kernel = |more: &str| {
        let (one, two) = (step("L21"), step("L22"));
        let tile = "\tmul.wide.s32 %rd4, %r14, 4;\n\tadd.s64 %rd5, %rd1, %rd4;\n\tld.global.b32 %r16, [%rd5];\n";
        let after = "\tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p6, %r14, %r10;\n";
        format!(
            "\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L9;\n\tmov.b32 %r14, 0;\n\tsetp.gt.u32 %p5, %r1, 31;\n\
             \t@%p5 bra $L5;\n\
             $L1:\n{tile}\tmov.b32 %r15, 0;\n\
             $L2:\n\tsetp.ge.s32 %p7, %r15, %r16;\n\t@%p7 bra $L3;\n{one}\tadd.s32 %r15, %r15, 1;\n\tbra.uni $L2;\n\
             $L3:\n{after}\t@%p6 bra $L1;\n\tbra.uni $L9;\n\
             $L5:\n{tile}{more}\tmov.b32 %r15, 0;\n\
             $L6:\n\tsetp.ge.s32 %p7, %r15, %r16;\n\t@%p7 bra $L7;\n{two}\tadd.s32 %r15, %r15, 1;\n\tbra.uni $L6;\n\
             $L7:\n{after}\t@%p6 bra $L5;\n$L9:\n"
        )
    };
    assert_eq!(verdict(64, &kernel("")), "proved\t");
    let faulty = verdict(64, &kernel("\tadd.s32 %r16, %r16, 1;\n"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// `x / 7`, for which the compiler needs a magic number of 33 bits.
#[test]
fn a_long_magic_number_divides() {
    let mut a = Arena::default();
    let (n, v) = (a.atom(Atom::Param(0, 0)), a.atom(Atom::Counter(3)));
    let x = a.add(n, v);
    let (word, two, four) = (a.int(1 << 32), a.int(2), a.int(4));
    let scaled = a.scale(x, 613_566_757);
    let high = a.div(scaled, word);
    let rest = a.sub(x, high);
    let half = a.div(rest, two);
    let sum = a.add(high, half);
    let quotient = a.div(sum, four);
    let seven = a.int(7);
    assert_eq!(quotient, a.div(x, seven));
    for real in [0i64, 6, 7, 48, 49, (1 << 31) - 1] {
        let at = |t: Atom| Some(if t == Atom::Counter(3) { 0 } else { real });
        assert_eq!(a.value(quotient, &at), Some(real / 7));
    }
    // Another number is no magic one.
    let scaled = a.scale(x, 613_566_755);
    let high = a.div(scaled, word);
    let rest = a.sub(x, high);
    let half = a.div(rest, two);
    let sum = a.add(high, half);
    assert_ne!(a.div(sum, four), a.div(x, seven));
}

/// Rings of four and of two slots that all threads move on together, from tile to tile. One register has the slot of the
/// first ring, one that of the second ring, and one counts to eight: the phases follow from them. `last` moves the second
/// ring once more behind each tile.
#[test]
fn rings_of_different_lengths_move_together() {
    let next = |register: &str, slots: u32| {
        format!(
            "\tadd.s32 %r20, {register}, 1;\n\tsetp.eq.s32 %p3, %r20, {slots};\n\tselp.b32 {register}, 0, %r20, %p3;\n"
        )
    };
    let wait = |label: &str, address: &str, parity: &str| {
        format!(
            "\tmbarrier.arrive.shared.b64 %rd2, [{address}];\n\
             ${label}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [{address}], {parity};\n\t@!%p2 bra ${label};\n"
        )
    };
    let text = |last: &str| {
        format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1)\n\
             .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<48>;\n\t.reg .b64 %rd<16>;\n\
             \t.shared .align 8 .b8 bar[48];\n\tld.param.u32 %r10, [k_param_0];\n\tld.param.u32 %r11, [k_param_1];\n\
             \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tsetp.ne.s32 %p1, %r1, 0;\n{}\tbar.sync 0;\n\
             \tmov.b32 %r5, 0;\n\tmov.b32 %r6, 0;\n\tmov.b32 %r7, 0;\n\tmov.b32 %r14, 0;\n\
             $T:\n\tsetp.ge.s32 %p4, %r14, %r10;\n\t@%p4 bra $E;\n\tmov.b32 %r15, 0;\n\
             $S:\n\tsetp.ge.s32 %p5, %r15, %r11;\n\t@%p5 bra $N;\n\tshl.b32 %r16, %r5, 3;\n\tadd.s32 %r16, %r16, %r2;\n\
             \tshr.u32 %r17, %r7, 2;\n{}\tshl.b32 %r18, %r6, 3;\n\tadd.s32 %r18, %r18, %r2;\n\tadd.s32 %r18, %r18, 32;\n\
             \tshr.u32 %r19, %r5, 1;\n{}{}{}{}\tadd.s32 %r15, %r15, 1;\n\tbra.uni $S;\n\
             $N:\n{last}\tadd.s32 %r14, %r14, 1;\n\tbra.uni $T;\n$E:\n\tret;\n}}\n",
            (0..6).map(|b| format!("\t@!%p1 mbarrier.init.shared.b64 [%r2+{}], 64;\n", 8 * b)).collect::<String>(),
            wait("L1", "%r16", "%r17"),
            wait("L2", "%r18", "%r19"),
            next("%r5", 4),
            next("%r6", 2),
            next("%r7", 8),
        )
    };
    let good = text("");
    let verdict = crate::common::verdict_on(&good);
    assert!(!verdict.starts_with("violated"), "{verdict}");
    let module = ptx::read(&good).expect("PTX");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", &good, &lift::Launch::default()).expect("it lifts");
    for i in &lifted.program.code {
        let Instr::Op { op: Op::MbarWait { bar, phase: Phase::Parity(parity) }, .. } = i else { continue };
        let slots = lifted.program.mbars[bar.bar as usize].stages;
        assert!(counts_rounds(&bar.stage, slots, parity), "{bar:?} {parity:?}");
    }
    let moved = crate::common::verdict_on(&text("\txor.b32 %r6, %r6, 1;\n"));
    assert!(moved.starts_with("violated"), "{moved}");
}
