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
fn a_loop_with_an_operation_is_not_passed_over() {
    let found = cleared("\tbar.sync 0;\n", "\tbar.sync 0;\n");
    assert!(!found.starts_with("proved"), "{found}");
    // An access orders nothing, and races.
    assert_eq!(cleared("\tst.shared.b32 [%r4], %r1;\n", "\tbar.sync 0;\n"), "proved\t");
    let found = cleared("\tst.shared.b32 [%r6], %r1;\n", "");
    assert!(!found.starts_with("proved"), "{found}");
}
