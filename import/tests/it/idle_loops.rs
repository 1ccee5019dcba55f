//! Loops in which each lane only computes and accesses global memory.

/// Each thread clears its part of an array and waits for a word; then the threads exchange words in shared memory.
fn cleared(inside: &str, meets: &str) -> String {
    crate::common::verdict_on(&format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 128 .b8 data[256];\n\
         \tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tshl.b32 %r2, %r1, 2;\n\tmov.b32 %r3, data;\n\tadd.s32 %r4, %r3, %r2;\n\txor.b32 %r5, %r2, 128;\n\
         \tadd.s32 %r6, %r3, %r5;\n\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tmov.u32 %r7, %r1;\n\
         \tsetp.ge.u32 %p1, %r7, %r10;\n\t@%p1 bra $L2;\n$L1:\n\tst.global.b32 [%rd3], 0;\n{inside}\
         \tadd.s64 %rd3, %rd3, 256;\n\tadd.s32 %r7, %r7, 64;\n\tsetp.lt.u32 %p2, %r7, %r10;\n\t@%p2 bra $L1;\n\
         $L2:\n\tld.volatile.global.u32 %r8, [%rd3];\n\tsetp.ne.s32 %p3, %r8, %r1;\n\t@%p3 bra $L2;\n\
         \tst.shared.b32 [%r4], %r1;\n{meets}\tld.shared.b32 %r9, [%r6];\n\tret;\n}}\n"
    ))
}

#[test]
fn lanes_make_iterations_of_their_own() {
    assert_eq!(cleared("", "\tbar.sync 0;\n"), "proved\t");
    let faulty = cleared("", "");
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn a_relaxed_store_orders_nothing() {
    for store in ["volatile", "relaxed.gpu"] {
        let inside = format!("\tst.{store}.global.b32 [%rd3], 0;\n");
        assert_eq!(cleared(&inside, "\tbar.sync 0;\n"), "proved\t");
        let faulty = cleared(&inside, "");
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
}

/// Each lane tells other GPUs, and waits until each of its words has changed. A wait that takes too long fails.
#[test]
fn lanes_wait_for_words_of_their_own() {
    let inside = "\tst.release.sys.global.b32 [%rd3], 1;\n$W:\n\tld.acquire.sys.global.b32 %r11, [%rd3+4096];\n\
                  \tsetp.eq.b32 %p4, %r11, %r7;\n\t@%p4 bra $M;\n\tmov.u32 %r12, %clock;\n\
                  \tsetp.lt.u32 %p5, %r12, 100000;\n\t@%p5 bra $W;\n\ttrap;\n$M:\n";
    assert_eq!(cleared(inside, "\tbar.sync 0;\n"), "proved\t");
    let faulty = cleared(inside, "");
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A wait for another grid orders no threads of a CTA, so it does not matter which lanes make it.
#[test]
fn data_decide_on_a_wait_for_another_grid() {
    let inside =
        "\tld.global.u32 %r11, [%rd3];\n\tsetp.ne.s32 %p4, %r11, 0;\n\t@%p4 bra $G;\n\tgriddepcontrol.wait;\n$G:\n";
    assert_eq!(cleared(inside, "\tbar.sync 0;\n"), "proved\t");
    let faulty = cleared(inside, "");
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn a_loop_with_an_operation_is_not_passed_over() {
    let found = cleared("\tbar.sync 0;\n", "\tbar.sync 0;\n");
    assert!(!found.starts_with("proved"), "{found}");
    // An access orders nothing, and races.
    assert_eq!(cleared("\tst.shared.b32 [%r4], %r1;\n", "\tbar.sync 0;\n"), "proved\t");
    let found = cleared("\tst.shared.b32 [%r6], %r1;\n", "");
    assert!(!found.starts_with("proved"), "{found}");
}

/// Each warp looks for the tile among sizes in memory, by a loop of its own, and makes as many iterations as it finds.
fn searched(other: &str, last: &str) -> String {
    let search = |label: &str, base: u32, less: &str| {
        let r = |n: u32| format!("%r{}", base + n);
        format!(
            "\tmov.b32 {s}, 0;\n\tmov.b32 {k}, 0;\n\tmov.b32 {j}, 0;\n\tmov.b64 %rd2, %rd1;\n{label}:\n\
             \tld.global.b32 {x}, [%rd2];\n\tsetp.ge.s32 %p1, %r3, {s};\n\tadd.s32 {next}, {s}, {x};\n\
             \tsetp.{less}.s32 %p2, %r3, {next};\n\tand.pred %p3, %p1, %p2;\n\tsub.s32 {at}, %r3, {s};\n\
             \tselp.b32 {k}, {at}, {k}, %p3;\n\tmov.b32 {s}, {next};\n\tadd.s64 %rd2, %rd2, 4;\n\
             \tadd.s32 {j}, {j}, 1;\n\tsetp.lt.s32 %p4, {j}, %r4;\n\t@%p4 bra {label};\n\tmov.b32 %r9, {k};\n",
            s = r(0),
            k = r(1),
            j = r(2),
            x = r(3),
            next = r(4),
            at = r(5),
        )
    };
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 sizes, .param .u32 n)\n.reqntid 64\n\
         {{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 128 .b8 data[256];\n\
         \tld.param.u64 %rd1, [sizes];\n\tld.param.u32 %r4, [n];\n\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, data;\n\tshl.b32 %r5, %r1, 2;\n\tadd.s32 %r6, %r2, %r5;\n\txor.b32 %r7, %r5, 128;\n\
         \tadd.s32 %r7, %r2, %r7;\n\tsetp.gt.u32 %p5, %r1, 31;\n\t@%p5 bra $B;\n{}\tbra $L;\n$B:\n{}$L:\n\
         \tsetp.lt.s32 %p6, %r9, 1;\n\t@%p6 bra $E;\n\tmov.b32 %r8, 0;\n$L1:\n\tst.shared.b32 [%r6], %r8;\n\
         \tbar.sync 0;\n\tld.shared.b32 %r30, [%r7];\n{last}\tadd.s32 %r8, %r8, 1;\n\tsetp.lt.s32 %p7, %r8, %r9;\n\
         \t@%p7 bra $L1;\n$E:\n\tret;\n}}\n",
        search("$A1", 10, "lt"),
        search("$B1", 20, other),
    );
    crate::common::verdict_on(&text)
}

#[test]
fn copies_of_a_search_find_the_same() {
    assert_eq!(searched("lt", "\tbar.sync 0;\n"), "proved\t");
    let faulty = searched("lt", "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // A search by another comparison finds something else.
    let other = searched("le", "\tbar.sync 0;\n");
    assert!(!other.starts_with("proved"), "{other}");
}

/// Threads of any block that compare an array with a word, and leave the loop at the first difference.
fn alone(store: &str) -> String {
    crate::common::verdict_on(&format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         {{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 128 .b8 data[256];\n\
         \tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tmov.u32 %r7, %r1;\n\
         $L1:\n\tld.global.u32 %r8, [%rd3];\n\tsetp.ne.s32 %p1, %r8, %r10;\n\t@%p1 bra $L2;\n\
         \tadd.s64 %rd3, %rd3, 256;\n\tadd.s32 %r7, %r7, 64;\n\tsetp.lt.u32 %p2, %r7, %r10;\n\t@%p2 bra $L1;\n\tret;\n\
         $L2:\n\tst.{store} [%rd1], %r7;\n\tret;\n}}\n"
    ))
}

#[test]
fn threads_that_do_not_meet_need_no_block() {
    assert_eq!(alone("global.u32"), "proved\t");
    for meets in ["u32", "shared.u32"] {
        let said = alone(meets);
        assert!(said.starts_with("rejected") && said.contains("how many threads"), "{said}");
    }
}
