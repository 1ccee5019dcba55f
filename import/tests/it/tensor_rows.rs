//! Tensor memory: accesses behind conditions that no trip count decides, addresses of each lane, columns of bounded loops.

/// The verdict on a warp that stores to tensor memory at `%r30` and does this, in each of `%r11` iterations `%r12`. `%r10`
/// and `%r14` are arguments, and `%r15` is the lane.
fn verdict(body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1, .param .u32 k_param_2, .param .u64 k_param_3)\n\
         .reqntid 32\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<4>;\n\t.shared .align 8 .b8 data[8];\n\
         \tld.param.u32 %r11, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tld.param.u32 %r14, [k_param_2];\n\
         \tld.param.u64 %rd1, [k_param_3];\n\tld.global.nc.b32 %r16, [%rd1];\n\tmov.u32 %r15, %laneid;\n\
         \tmov.b32 %r3, data;\n\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;\n\tbar.sync 0;\n\
         \tld.shared.b32 %r30, [%r3];\n\tbar.sync 0;\n\tsetp.lt.s32 %p2, %r11, 1;\n\t@%p2 bra $L2;\n\tmov.b32 %r12, 0;\n\
         $L1:\n\ttcgen05.st.sync.aligned.32x32b.x2.b32 [%r30], {{%r3, %r3}};\n\ttcgen05.wait::st.sync.aligned;\n\
         {body}\tadd.s32 %r12, %r12, 1;\n\tsetp.ne.s32 %p3, %r12, %r11;\n\t@%p3 bra $L1;\n\
         $L2:\n\ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32;\n\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const WAIT: &str = "\ttcgen05.wait::ld.sync.aligned;\n";

/// Loads of one column or of another, as a remainder of the iteration says.
fn sides(before: &str, first: &str, second: &str) -> String {
    verdict(&format!(
        "{before}\tadd.s32 %r31, %r30, 1;\n\trem.s32 %r13, %r12, %r10;\n\tsetp.gt.s32 %p4, %r13, %r14;\n\t@%p4 bra $A;\n\
         \ttcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r32}}, [%r30];\n{first}\tbra.uni $B;\n\
         $A:\n\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r33}}, [%r31];\n{second}$B:\n"
    ))
}

#[test]
fn a_value_of_the_launch_and_the_iteration_choose_a_load() {
    assert_eq!(sides("", WAIT, WAIT), "proved\t");
    for [first, second] in [["", WAIT], [WAIT, ""], ["", ""]] {
        let found = sides("", first, second);
        assert!(!found.starts_with("proved"), "{found}");
    }
    // Only one side waits for a load before the branch.
    let open = "\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {%r34}, [%r30];\n";
    let found = sides(open, WAIT, "");
    assert!(!found.starts_with("proved"), "{found}");
    assert_eq!(sides(&format!("{open}{WAIT}"), WAIT, WAIT), "proved\t");
}

#[test]
fn each_lane_adds_its_row() {
    let load = |shift: u32| {
        format!(
            "\tshl.b32 %r31, %r15, {shift};\n\tadd.s32 %r31, %r31, %r30;\n\
             \ttcgen05.ld.sync.aligned.32x32b.x2.b32 {{%r32, %r33}}, [%r31];\n"
        )
    };
    assert_eq!(verdict(&format!("{}{WAIT}", load(16))), "proved\t");
    let found = verdict(&load(16));
    assert!(found.starts_with("violated"), "{found}");
    for shift in [0, 15, 17] {
        let found = verdict(&format!("{}{WAIT}", load(shift)));
        assert!(found.starts_with("rejected") && found.contains("different address"), "{found}");
    }
}

#[test]
fn a_word_chooses_between_one_column_and_two() {
    let columns = |wait: &str| {
        format!(
            "\tsetp.gt.s32 %p5, %r16, 2;\n\tselp.b32 %r20, 2, 1, %p5;\n\tmov.b32 %r21, 0;\n\
             $C:\n\tadd.s32 %r22, %r30, %r21;\n\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r32}}, [%r22];\n{wait}\
             \tadd.s32 %r21, %r21, 1;\n\tsetp.ne.s32 %p6, %r21, %r20;\n\t@%p6 bra $C;\n"
        )
    };
    assert_eq!(verdict(&columns(WAIT)), "proved\t");
    let found = verdict(&columns(""));
    assert!(found.starts_with("violated"), "{found}");
}

/// CuTe DSL halves a column by a shift of two words: the low bit of the other one goes to the top.
#[test]
fn a_shift_of_two_words_names_a_column() {
    let kernel = |by: u32, wait: &str| {
        verdict(&format!(
            "\tand.b32 %r13, %r12, 1;\n\tshl.b32 %r13, %r13, {by};\n\tmov.b32 %r17, 16;\n\
             \tshf.l.wrap.b32 %r31, %r13, %r17, 31;\n\tadd.s32 %r31, %r31, %r30;\n\
             \ttcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r32}}, [%r31];\n{wait}"
        ))
    };
    assert_eq!(kernel(1, WAIT), "proved\t");
    let faulty = kernel(1, "");
    assert!(faulty.starts_with("violated"), "{faulty}");
    // Column 32 is not allocated.
    let found = kernel(6, WAIT);
    assert!(!found.starts_with("proved"), "{found}");
}
