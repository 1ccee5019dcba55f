//! Warps that end while others still meet at barriers. PTX ISA, `exit`: a barrier that waits for all threads of a CTA does
//! not wait for threads that have ended.

/// The verdict on a kernel of three warps. The last one executes `ends` and returns, the others execute `goes_on`. `%r5` is
/// the place of a thread in an array, and `%r6` that of the thread 64 threads further.
fn verdict(ends: &str, goes_on: &str) -> String {
    crate::common::verdict_on(&format!(
        ".version 8.6\n.target sm_80\n.address_size 64\n.visible .entry k()\n.reqntid 96\n{{\n\t.reg .pred %p<4>;\n\
         \t.reg .b32 %r<16>;\n\t.shared .align 16 .b8 data[768];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\
         \tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r5, %r2, %r3;\n\tadd.s32 %r6, %r5, 256;\n\txor.b32 %r7, %r3, 128;\n\
         \tadd.s32 %r7, %r2, %r7;\n\tsetp.lt.u32 %p1, %r1, 64;\n\t@%p1 bra $L1;\n{ends}\tret;\n$L1:\n{goes_on}\tret;\n}}\n"
    ))
}

/// Two warps hand each other a word.
const HANDS: &str = "\tst.shared.b32 [%r5], %r1;\n\tbar.sync 0;\n\tld.shared.b32 %r8, [%r7];\n";

#[test]
fn a_barrier_of_all_threads_does_not_wait_for_a_warp_that_has_ended() {
    assert_eq!(verdict("", HANDS), "proved\t");
    // Nor does the next one.
    let twice = format!("{HANDS}\tbar.sync 0;\n{HANDS}");
    assert_eq!(verdict("\tbar.sync 0;\n", &twice), "proved\t");
    // Without the barrier, the words are read too early.
    let faulty = verdict("", &HANDS.replace("\tbar.sync 0;\n", ""));
    assert!(faulty.contains("nothing orders it"), "{faulty}");
}

#[test]
fn what_a_warp_did_before_it_ended_is_in_no_order() {
    let store = "\tst.shared.b32 [%r5], %r1;\n";
    let load = "\tbar.sync 0;\n\tld.shared.b32 %r8, [%r6];\n";
    let faulty = verdict(store, load);
    assert!(faulty.starts_with("violated") && faulty.contains("nothing orders it"), "{faulty}");
    // At the barrier, it is.
    assert_eq!(verdict(&format!("{store}\tbar.sync 0;\n"), load), "proved\t");
}

#[test]
fn a_barrier_of_a_number_of_threads_waits_for_them() {
    let faulty = verdict("", &HANDS.replace("bar.sync 0;", "bar.sync 1, 96;"));
    assert!(faulty.starts_with("violated"), "{faulty}");
    assert_eq!(verdict("", &HANDS.replace("bar.sync 0;", "bar.sync 1, 64;")), "proved\t");
}
