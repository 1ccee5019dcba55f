//! Small kernels in which words of memory decide: locks, histograms, lists of work. Each is proved, and with one barrier less
//! a fault.

/// The verdict on a kernel with this body, for two warps.
fn verdict(target: &str, body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<8>;\n\
         \t.shared .align 16 .b8 data[256];\n\t.shared .align 8 .b64 bar;\n\
         \tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, data;\n\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r2, %r3;\n\txor.b32 %r5, %r3, 128;\n\
         \tadd.s32 %r6, %r2, %r5;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// A body with its n-th barrier left out.
fn without_barrier(body: &str, n: usize) -> String {
    let (at, line) = body.match_indices("\tbar.sync 0;\n").nth(n).expect("a barrier");
    format!("{}{}", &body[..at], &body[at + line.len()..])
}

/// One thread takes the lock and tells the others by a word of shared memory.
const LOCK: &str = "\
	setp.eq.s32 %p1, %r1, 0;
$L1:
	bar.sync 0;
	@%p1 atom.global.acq_rel.gpu.cas.b32 %r7, [%rd1], 0, 1;
	@%p1 st.shared.b32 [%r2], %r7;
	bar.sync 0;
	ld.shared.b32 %r8, [%r2];
	setp.eq.s32 %p2, %r8, 1;
	@%p2 bra $L1;
	bar.sync 0;
	@%p1 atom.global.acq_rel.gpu.exch.b32 %r9, [%rd1], 0;
";

#[test]
fn a_lock_is_taken_after_any_number_of_turns() {
    assert_eq!(verdict("sm_80", LOCK), "proved\t");
    for n in 0..2 {
        let faulty = verdict("sm_80", &without_barrier(LOCK, n));
        assert!(faulty.starts_with("violated"), "barrier {n}: {faulty}");
    }
}

/// Warps that each look at the word for themselves may leave at different times, and a barrier in the loop is not met.
#[test]
fn warps_that_read_a_word_on_their_own_need_not_agree() {
    let spin = |inside: &str| {
        format!("$L1:\n{inside}\tld.volatile.global.b32 %r8, [%rd1];\n\tsetp.eq.s32 %p2, %r8, 1;\n\t@%p2 bra $L1;\n")
    };
    let inside = verdict("sm_80", &spin("\tbar.sync 1, 64;\n"));
    assert!(inside.starts_with("violated"), "{inside}");
    assert_eq!(verdict("sm_80", &format!("{}\tbar.sync 0;\n", spin(""))), "proved\t");
}

/// Bins that data choose.
const HISTOGRAM: &str = "\
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.b32 %r7, [%rd4];
	st.shared.b32 [%r4], 0;
	bar.sync 0;
	setp.gt.u32 %p1, %r7, 63;
	@%p1 bra $L1;
	shl.b32 %r8, %r7, 2;
	add.s32 %r9, %r2, %r8;
	atom.relaxed.cta.shared.add.u32 %r11, [%r9], 1;
$L1:
	bar.sync 0;
	ld.shared.b32 %r12, [%r4];
";

#[test]
fn atomic_accesses_race_with_others_and_not_with_each_other() {
    assert_eq!(verdict("sm_80", HISTOGRAM), "proved\t");
    for n in 0..2 {
        let faulty = verdict("sm_80", &without_barrier(HISTOGRAM, n));
        assert!(faulty.starts_with("violated"), "barrier {n}: {faulty}");
    }
    let red = HISTOGRAM.replace("atom.relaxed.cta.shared.add.u32 %r11, ", "red.relaxed.cta.shared.add.u32 ");
    assert_eq!(verdict("sm_80", &red), "proved\t");
    // A bin that no branch looks at may be anywhere, so that a fault may be none.
    let open = HISTOGRAM.replace("\t@%p1 bra $L1;\n", "");
    assert_eq!(verdict("sm_80", &open), "proved\t");
    for n in 0..2 {
        let faulty = verdict("sm_80", &without_barrier(&open, n));
        assert!(faulty.starts_with("gave up"), "barrier {n}: {faulty}");
    }
    let decides = HISTOGRAM.replace("\tbar.sync 0;\n\tld", "\tsetp.eq.s32 %p3, %r11, 0;\n\t@%p3 bar.sync 0;\n\tld");
    assert!(verdict("sm_80", &decides).starts_with("rejected"), "{}", verdict("sm_80", &decides));
}

/// A list of work: a word says how many tiles each entry has. `last` ends an iteration.
fn list(last: &str) -> String {
    format!(
        "\tsetp.lt.s32 %p1, %r10, 1;\n\t@%p1 bra $L4;\n\tmov.b32 %r7, 0;\n\
         $L1:\n\tmul.wide.s32 %rd3, %r7, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.b32 %r8, [%rd4];\n\
         \tsetp.lt.s32 %p2, %r8, 1;\n\t@%p2 bra $L3;\n\tmov.b32 %r9, 0;\n\
         $L2:\n\tst.shared.b32 [%r4], %r9;\n\tbar.sync 0;\n\tld.shared.b32 %r11, [%r6];\n{last}\
         \tadd.s32 %r9, %r9, 1;\n\tsetp.lt.s32 %p3, %r9, %r8;\n\t@%p3 bra $L2;\n\
         $L3:\n\tadd.s32 %r7, %r7, 1;\n\tsetp.lt.s32 %p4, %r7, %r10;\n\t@%p4 bra $L1;\n$L4:\n"
    )
}

#[test]
fn a_list_of_work_is_proved_for_all_data() {
    assert_eq!(verdict("sm_80", &list("\tbar.sync 0;\n")), "proved\t");
    // The end of one tile races with the beginning of the next, which may be of another entry.
    let faulty = verdict("sm_80", &list(""));
    assert!(faulty.starts_with("violated"), "{faulty}");
    // A barrier that a word of the entry decides is not always there.
    let sometimes = verdict("sm_80", &list("\tsetp.gt.s32 %p5, %r8, 3;\n\t@%p5 bar.sync 0;\n"));
    assert!(sometimes.starts_with("violated"), "{sometimes}");
}

/// A copy that is in flight at the barrier may land in a later iteration. Such iterations are decided for equal words.
#[test]
fn a_copy_in_flight_between_iterations_that_data_decide_is_found() {
    let body = |wait: &str| {
        list("\tbar.sync 0;\n").replace(
            "\tst.shared.b32 [%r4], %r9;\n",
            &format!("\tcp.async.ca.shared.global [%r4], [%rd1], 4;\n\tcp.async.commit_group;\n{wait}"),
        )
    };
    assert_eq!(verdict("sm_80", &body("\tcp.async.wait_group 0;\n")), "proved\t");
    let open = verdict("sm_80", &body("\tcp.async.wait_group 1;\n"));
    assert!(open.starts_with("violated"), "{open}");
}

/// What could touch memory, a barrier or control flow and is not followed is an error with its line.
#[test]
fn instructions_that_are_not_followed_are_errors() {
    for line in [
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 16;",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r7, %r8}, [%r2];",
        "novel.shared.b32 [%r4], %r1;",
        "novel.b32 %r7, [%r4];",
        "novel.sync.b32 %r7, %r1;",
    ] {
        let body = format!("\t{line}\n");
        let said = verdict("sm_90a", &body);
        let at = 20;
        assert!(said.starts_with(&format!("rejected\tline {at}: ")), "{line}: {said}");
    }
    // Asynchronous writes to global memory signal no mbarrier.
    for line in ["novel.b32 %r7, %r1;", "st.async.release.sys.global.b32 [%rd1], %r1;"] {
        assert_eq!(verdict("sm_90a", &format!("\t{line}\n")), "proved\t");
    }
}

/// Only the first tile has no other before it: a barrier ahead of every other one is enough, and one ahead of the first is not.
#[test]
fn iterations_that_follow_each_other_have_numbers_that_do() {
    let body = |ahead: &str| {
        format!(
            "\tmov.b32 %r7, 0;\n\
             $L1:\n\tmul.wide.s32 %rd3, %r7, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tld.global.b32 %r8, [%rd4];\n\
             \tsetp.{ahead}.s32 %p1, %r7, 0;\n\t@%p1 bra $L2;\n\tbar.sync 0;\n\
             $L2:\n\tst.shared.b32 [%r4], %r7;\n\tbar.sync 0;\n\tld.shared.b32 %r11, [%r6];\n\
             \tadd.s32 %r7, %r7, 1;\n\tsetp.gt.s32 %p2, %r8, 0;\n\t@%p2 bra $L1;\n"
        )
    };
    assert_eq!(verdict("sm_80", &body("eq")), "proved\t");
    let faulty = verdict("sm_80", &body("ne"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// All threads get one value from a barrier that reduces.
#[test]
fn a_barrier_that_reduces_tells_all_threads_the_same() {
    let body = "\
	ld.global.b32 %r7, [%rd1];
$L1:
	setp.eq.s32 %p1, %r1, %r7;
	bar.red.or.pred %p2, 0, %p1;
	bar.sync 0;
	@%p2 bra $L1;
";
    assert_eq!(verdict("sm_80", body), "proved\t");
}

/// Some lanes of a warp fetch tensor maps anew. Their fence orders no shared memory.
const TENSOR_MAPS: &str = "\
	st.shared.b32 [%r4], %r1;
	setp.gt.u32 %p1, %r1, 7;
	@%p1 bra $L1;
	fence.proxy.tensormap::generic.acquire.sys [%rd1], 128;
$L1:
	bar.sync 0;
	ld.shared.b32 %r8, [%r6];
";

#[test]
fn some_lanes_of_a_warp_fence_tensor_maps() {
    assert_eq!(verdict("sm_90a", TENSOR_MAPS), "proved\t");
    let faulty = verdict("sm_90a", &without_barrier(TENSOR_MAPS, 0));
    assert!(faulty.starts_with("violated"), "{faulty}");
}
