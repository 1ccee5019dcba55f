//! Loops of which a condition over the launch decides whether an iteration does anything, and loops of a turn or two.

use crate::producers::{barriers, verdict};

/// The verdict on a ring of two slots between two warps. A condition over the iteration `%r15` decides in each warp which
/// iterations do something.
fn ring(skips: [&str; 2], arrive: &str) -> String {
    let next = "\tadd.s32 %r20, %r20, 1;\n\tsetp.eq.s32 %p6, %r20, 2;\n\tselp.b32 %r20, 0, %r20, %p6;\n\
                \tselp.b32 %r24, 1, 0, %p6;\n\txor.b32 %r21, %r21, %r24;\n";
    let wait = |label: &str, at: u32| {
        format!("{label}:\n\tmbarrier.try_wait.parity.shared.b64 %p5, [%r23+{at}], %r21;\n\t@!%p5 bra {label};\n")
    };
    let body = format!(
        "\tld.param.u32 %r11, [k_param_2+8];\n\tmov.u32 %r14, %ctaid.x;\n{init}\tmov.b32 %r15, 0;\n\tmov.b32 %r20, 0;\n\
         \tsetp.ge.u32 %p4, %r1, 32;\n\t@%p4 bra $C;\n\tmov.b32 %r21, 1;\n\
         $P:\n\tsetp.ge.s32 %p3, %r15, %r10;\n\t@%p3 bra $E;\n{stores}\t@%p2 bra $PN;\n\
         \tshl.b32 %r22, %r20, 3;\n\tadd.s32 %r23, %r2, %r22;\n{empty}\
         \tshl.b32 %r25, %r20, 8;\n\tshl.b32 %r26, %r1, 2;\n\tadd.s32 %r25, %r25, %r26;\n\tadd.s32 %r25, %r25, %r3;\n\
         \tst.shared.b32 [%r25], %r1;\n{arrive}{next}\
         $PN:\n\tadd.s32 %r15, %r15, 1;\n\tbra.uni $P;\n\
         $C:\n\tmov.b32 %r21, 0;\n\
         $D:\n\tsetp.ge.s32 %p3, %r15, %r10;\n\t@%p3 bra $E;\n{reads}\t@%p2 bra $DN;\n\
         \tshl.b32 %r22, %r20, 3;\n\tadd.s32 %r23, %r2, %r22;\n{full}\
         \tshl.b32 %r25, %r20, 8;\n\tadd.s32 %r25, %r25, %r3;\n\tld.shared.b32 %r27, [%r25];\n\
         \tmbarrier.arrive.shared.b64 _, [%r23+16];\n{next}\
         $DN:\n\tadd.s32 %r15, %r15, 1;\n\tbra.uni $D;\n$E:\n",
        init = barriers(&[32; 4]),
        stores = skips[0],
        empty = wait("$PW", 16),
        reads = skips[1],
        full = wait("$CW", 0),
    );
    verdict(64, &body)
}

const SKIP: &str = "\tmul.lo.s32 %r16, %r15, %r11;\n\tsetp.le.s32 %p2, %r16, %r14;\n";
const ARRIVE: &str = "\tmbarrier.arrive.shared.b64 _, [%r23];\n";

#[test]
fn a_condition_over_the_launch_decides_which_iterations_do_something() {
    assert_eq!(ring([SKIP, SKIP], ARRIVE), "proved\t");
    // A barrier without its arrivals, and one iteration more on one side: found with the values of a launch.
    let other = SKIP.replace("setp.le", "setp.lt");
    for found in [ring([SKIP, SKIP], ""), ring([SKIP, &other], ARRIVE), ring([&other, SKIP], ARRIVE)] {
        assert!(found.starts_with("violated"), "{found}");
    }
}

/// A loop with two exits: behind the last iteration, and where a word of memory says so.
#[test]
fn two_roles_leave_a_loop_by_the_same_word() {
    let leave = |word: u32| {
        format!(
            "\tmul.wide.s32 %rd3, %r15, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.nc.b32 %r16, [%rd4];\n\
             \tsetp.eq.s32 %p7, %r16, {word};\n\t@%p7 bra $E;\n\tsetp.ne.s32 %p2, %r1, %r1;\n"
        )
    };
    assert_eq!(ring([&leave(0), &leave(0)], ARRIVE), "proved\t");
    let found = ring([&leave(0), &leave(1)], ARRIVE);
    assert!(!found.starts_with("proved"), "{found}");
}

/// Both sides of a branch do the same in shared memory. Where a size cuts the last tile off, they differ in global memory.
#[test]
fn a_branch_whose_sides_do_the_same_decides_nothing() {
    let kernel = |edge: &str| {
        let side = "\tst.shared.b32 [%r5], %r1;\n\tbar.sync 0;\n\tld.shared.b32 %r8, [%r6];\n\tbar.sync 0;\n";
        let body = format!(
            "\tld.param.u32 %r11, [k_param_2+8];\n\tmov.b32 %r15, 0;\n\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r3, %r4;\n\
             \txor.b32 %r7, %r4, 128;\n\tadd.s32 %r6, %r3, %r7;\n\
             $L:\n\tsetp.ge.s32 %p3, %r15, %r10;\n\t@%p3 bra $E;\n\
             \tmul.lo.s32 %r16, %r15, %r11;\n\tand.b32 %r16, %r16, 5;\n\tsetp.eq.s32 %p2, %r16, 4;\n\t@%p2 bra $B;\n{side}\
             \tst.global.b32 [%rd1], %r8;\n\tbra.uni $N;\n$B:\n{edge}$N:\n\tadd.s32 %r15, %r15, 1;\n\tbra.uni $L;\n$E:\n",
        );
        verdict(64, &body)
    };
    let side = "\tst.shared.b32 [%r5], %r1;\n\tbar.sync 0;\n\tld.shared.b32 %r8, [%r6];\n\tbar.sync 0;\n";
    assert_eq!(kernel(side), "proved\t");
    let found = kernel(&side.replacen("\tbar.sync 0;\n", "", 1));
    assert!(!found.starts_with("proved"), "{found}");
}
