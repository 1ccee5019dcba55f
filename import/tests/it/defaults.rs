//! Rows of an array without a size, where memory says how many, or else the kernel does.

/// The verdict on two warps that copy rows and read all of them. `number` sets the count where memory has none, and `end`
/// orders the copies before the reads.
fn verdict(number: &str, end: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 buf[];\n\
         .visible .entry k(.param .u64 lengths, .param .u64 rows)\n.reqntid 64\n{{\n\t.reg .pred %p<8>;\n\
         \t.reg .b32 %r<24>;\n\t.reg .b64 %rd<12>;\n\tmov.u32 %r1, %tid.x;\n\tshr.u32 %r2, %r1, 5;\n\
         \tand.b32 %r3, %r1, 31;\n\tshl.b32 %r3, %r3, 2;\n\tmov.b32 %r4, buf;\n\tadd.s32 %r5, %r4, %r3;\n\
         \tld.param.u64 %rd1, [lengths];\n\tld.param.u64 %rd2, [rows];\n\tmov.u32 %r6, %ctaid.x;\n\
         \tsetp.eq.s64 %p1, %rd1, 0;\n\t{number}\n\t@%p1 bra $L0;\n\tmul.wide.u32 %rd3, %r6, 4;\n\
         \tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.nc.u32 %r8, [%rd4];\n\tld.global.nc.u32 %r9, [%rd4+4];\n\
         \tsub.s32 %r7, %r9, %r8;\n\tsetp.lt.s32 %p2, %r7, 1;\n\t@%p2 bra $END;\n$L0:\n\tadd.s32 %r11, %r5, 512;\n\
         \tst.shared.b32 [%r11], %r1;\n\tsetp.ge.s32 %p3, %r2, %r7;\n\t@%p3 bra $L2;\n\tmov.u32 %r10, %r2;\n$L1:\n\
         \tshl.b32 %r12, %r10, 7;\n\tadd.s32 %r13, %r5, %r12;\n\tmul.wide.u32 %rd5, %r10, 256;\n\
         \tadd.s64 %rd6, %rd2, %rd5;\n\tcp.async.ca.shared.global [%r13], [%rd6], 4;\n\tadd.s32 %r10, %r10, 2;\n\
         \tsetp.lt.s32 %p4, %r10, %r7;\n\t@%p4 bra $L1;\n$L2:\n\tcp.async.commit_group;\n{end}\tmov.u32 %r14, 0;\n\
         \tmov.u32 %r15, %r5;\n$L3:\n\tld.shared.b32 %r16, [%r15];\n\tadd.s32 %r15, %r15, 128;\n\
         \tadd.s32 %r14, %r14, 1;\n\tsetp.lt.s32 %p5, %r14, %r7;\n\t@%p5 bra $L3;\n$END:\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const WAIT: &str = "\tcp.async.wait_group 0;\n";
const BARRIER: &str = "\tbar.sync 0;\n";
const FOUR: &str = "mov.u32 %r7, 4;";

#[test]
fn a_count_of_memory_is_at_most_the_number_in_its_place() {
    assert_eq!(verdict(FOUR, &format!("{WAIT}{BARRIER}")), "proved\t");
    for end in [WAIT, BARRIER, ""] {
        let faulty = verdict(FOUR, end);
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
}

/// With room for five rows, the last one is that of other data.
#[test]
fn more_rows_than_there_is_room_for_are_a_fault() {
    let faulty = verdict("mov.u32 %r7, 5;", &format!("{WAIT}{BARRIER}"));
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

#[test]
fn a_count_without_a_number_has_no_bounds() {
    let said = verdict("mov.u32 %r7, 0;", &format!("{WAIT}{BARRIER}"));
    assert!(said.starts_with("rejected") && said.contains("has no bounds"), "{said}");
}
