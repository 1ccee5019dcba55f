//! States that arrivals on mbarriers return, and arrivals that are dropped: what `cuda::barrier` compiles to.

/// The verdict on a kernel of 64 threads with this body, a barrier of `count` arrivals and a buffer of 256 bytes.
fn verdict(count: u32, body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid 64\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 8 .b8 bar[8];\n\t.shared .align 16 .b8 buf[256];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, buf;\n\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r3, %r4;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], {count};\n$L0:\n\tbar.sync 0;\n\
         \tmov.b32 %r7, 0;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

/// A loop that waits until the phase of a state is complete.
fn wait(label: &str, state: &str) -> String {
    format!("${label}:\n\tmbarrier.try_wait.shared::cta.b64 %p2, [%r2], {state};\n\t@!%p2 bra ${label};\n")
}

/// A loop around a body, as often as the argument says.
fn repeated(body: &str) -> String {
    format!(
        "\tsetp.lt.s32 %p4, %r10, 1;\n\t@%p4 bra $L9;\n$L1:\n{body}\tadd.s32 %r7, %r7, 1;\n\
         \tsetp.lt.s32 %p5, %r7, %r10;\n\t@%p5 bra $L1;\n$L9:\n"
    )
}

const ARRIVE: &str = "\tmbarrier.arrive.shared::cta.b64 %rd1, [%r2];\n";

/// A barrier of all threads between a store and a load of another thread's word, and one behind the load.
#[test]
fn a_barrier_of_states_is_proved() {
    let store = "\tst.shared.b32 [%r5], %r7;\n";
    let load = "\txor.b32 %r6, %r4, 128;\n\tadd.s32 %r9, %r3, %r6;\n\tld.shared.b32 %r8, [%r9];\n";
    let (first, second) = (wait("L2", "%rd1"), wait("L3", "%rd1"));
    let right = repeated(&format!("{store}{ARRIVE}{first}{load}{ARRIVE}{second}"));
    assert_eq!(verdict(64, &right), "proved\t");
    // The next store does not wait for the loads.
    let faulty = verdict(64, &repeated(&format!("{store}{ARRIVE}{first}{load}")));
    assert!(faulty.starts_with("violated") && faulty.contains("nothing orders it"), "{faulty}");
    // The barrier is for half of the threads: a phase completes without the stores of the other warp.
    let faulty = verdict(32, &right);
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A state that an iteration leaves for the next one.
#[test]
fn a_state_that_a_loop_carries_is_followed() {
    let wait = wait("L2", "%rd2");
    let body = format!("{wait}{ARRIVE}\tmov.b64 %rd2, %rd1;\n");
    let right = format!("{ARRIVE}\tmov.b64 %rd2, %rd1;\n{}", repeated(&body));
    assert_eq!(verdict(64, &right), "proved\t");
    // The state of the arrival before the newest one.
    let old = format!("{ARRIVE}\tmov.b64 %rd2, %rd1;\n{ARRIVE}{wait}\tmov.b64 %rd3, %rd1;\n");
    let said = verdict(64, &old);
    assert!(said.starts_with("rejected") && said.contains("newest arrival"), "{said}");
}

/// One thread also expects bytes: the arrival of its warp is one of all lanes.
#[test]
fn lanes_that_arrive_in_two_ways_arrive_as_a_warp() {
    let copy = "\tcp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd8], 256, [%r2];\n";
    let body = |copy: &str| {
        format!(
            "\tld.param.u64 %rd9, [k_param_0];\n\tcvta.to.global.u64 %rd8, %rd9;\n\tfence.proxy.async.shared::cta;\n\
             \tbar.sync 0;\n\t@%p1 bra $L4;\n{copy}\
             \tmbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [%r2], 256;\n\tbra $L5;\n\
             $L4:\n{ARRIVE}$L5:\n{}\tld.shared.b32 %r8, [%r5];\n",
            wait("L2", "%rd1")
        )
    };
    assert_eq!(verdict(64, &body(copy)), "proved\t");
    let faulty = verdict(64, &body(""));
    assert!(faulty.contains("256 bytes more than the copies deliver"), "{faulty}");
    // The other lanes of the first warp do not arrive.
    let alone = body(copy).replace("$L4:\n", "$L4:\n\tsetp.lt.s32 %p3, %r1, 32;\n\t@%p3 bra $L9;\n") + "$L9:\n";
    let faulty = verdict(64, &alone);
    assert!(!faulty.starts_with("proved"), "{faulty}");
}

/// The second warp leaves the barrier in the first phase; the first warp goes on alone.
#[test]
fn dropped_arrivals_are_not_waited_for() {
    let body = |leave: &str| {
        format!(
            "\tsetp.lt.s32 %p3, %r1, 32;\n\t@%p3 bra $L6;\n\t{leave}.shared::cta.b64 _, [%r2];\n\tbra $L9;\n$L6:\n{}",
            repeated(&format!("{ARRIVE}{}", wait("L2", "%rd1")))
        )
    };
    assert_eq!(verdict(64, &body("mbarrier.arrive_drop")), "proved\t");
    let faulty = verdict(64, &body("mbarrier.arrive"));
    assert_eq!(faulty, "violated\thangs");
}

/// All lanes expect bytes, and each its own: the barrier expects their sum.
#[test]
fn each_lane_that_expects_bytes_counts() {
    let body = |bytes: u32, each: &str| {
        format!(
            "\tld.param.u64 %rd9, [k_param_0];\n\tcvta.to.global.u64 %rd8, %rd9;\n\tfence.proxy.async.shared::cta;\n\
             \tbar.sync 0;\n\tmov.b32 %r11, 4;\n{each}\t@%p1 bra $L4;\n\
             \tcp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd8], {bytes}, [%r2];\n$L4:\n\
             \tbar.warp.sync -1;\n\tmbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [%r2], %r11;\n{}\
             \tld.shared.b32 %r8, [%r5];\n",
            wait("L2", "%rd1")
        )
    };
    assert_eq!(verdict(64, &body(256, "")), "proved\t");
    let faulty = verdict(64, &body(128, ""));
    assert!(faulty.contains("128 bytes more than the copies deliver"), "{faulty}");
    // Every second lane expects eight bytes, and the others none.
    let second = "\tand.b32 %r11, %r1, 1;\n\tshl.b32 %r11, %r11, 3;\n";
    assert_eq!(verdict(64, &body(256, second)), "proved\t");
    let faulty = verdict(64, &body(128, second));
    assert!(faulty.contains("128 bytes more than the copies deliver"), "{faulty}");
}

/// The warps wait for different barriers, and then all read one word behind a barrier of all threads. The word decides
/// whether they meet again.
#[test]
fn a_word_behind_a_barrier_of_all_threads_is_one() {
    let body = |store: &str, late: &str| {
        format!(
            "\tld.param.u64 %rd9, [k_param_0];\n\tld.global.b32 %r11, [%rd9];\n\tsetp.lt.s32 %p3, %r1, 32;\n\
             \t@%p3 bra $L4;\n{ARRIVE}{}$L4:\n{store}\tbar.sync 0;\n{late}\tld.shared.b32 %r8, [%r3];\n\
             \tsetp.eq.s32 %p6, %r8, 0;\n\t@%p6 bra $L5;\n\tbar.sync 1, 64;\n$L5:\n",
            wait("L2", "%rd1")
        )
    };
    let store = "\t@%p1 bra $L6;\n\tst.shared.b32 [%r3], %r11;\n$L6:\n";
    assert_eq!(verdict(32, &body(store, "")), "proved\t");
    // The word is stored behind the barrier, so that a warp may read it before.
    let faulty = verdict(32, &body("", store));
    assert!(faulty.starts_with("violated") && faulty.contains("nothing orders it"), "{faulty}");
    // The second warp reads the word behind a later barrier, and another word is stored there in between.
    let between =
        "\t@%p3 bra $L7;\n\tbar.sync 0;\n\tbra $L8;\n$L7:\n\tld.shared.b32 %r8, [%r3];\n\tbar.sync 0;\n$L8:\n";
    let later = body(store, "").replace(
        "\tld.shared.b32 %r8, [%r3];\n",
        &format!("{between}\t@%p3 bra $L9;\n\tld.shared.b32 %r8, [%r3];\n$L9:\n"),
    );
    let faulty = verdict(32, &later);
    assert!(!faulty.starts_with("proved"), "{faulty}");
}
