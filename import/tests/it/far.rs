//! Accesses of threads to the shared memory of another CTA of the cluster.

/// The verdict on a kernel of two CTAs with 32 threads each, with this body. `%r5` is the address of a thread's word and
/// `%r6` that of the same word in the other CTA. `%r2` and `%r8` are the addresses of the barrier in both CTAs.
fn verdict(body: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 32\n\
         .explicitcluster\n.reqnctapercluster 2, 1, 1\n{{\n\t.reg .pred %p<16>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %rd<16>;\n\
         \t.shared .align 8 .b8 bar[8];\n\t.shared .align 16 .b8 buf[128];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\
         \tmov.b32 %r3, buf;\n\tshl.b32 %r4, %r1, 2;\n\tadd.s32 %r5, %r3, %r4;\n\tmov.u32 %r9, %cluster_ctarank;\n\
         \txor.b32 %r9, %r9, 1;\n\tmapa.shared::cluster.u32 %r6, %r5, %r9;\n\tmapa.shared::cluster.u32 %r8, %r2, %r9;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $L0;\n\tmbarrier.init.shared.b64 [%r2], 1;\n\
         \tfence.mbarrier_init.release.cluster;\n$L0:\n\tst.shared.b32 [%r5], %r1;\n{body}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const MEET: &str = "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n";

/// Expects bytes on the own barrier, and waits for them.
fn expect(bytes: u32) -> String {
    format!("\t@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};\n")
}

const WAIT: &str =
    "$L1:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;\n\t@!%p2 bra $L1;\n";
const LOAD: &str = "\tld.shared.b32 %r7, [%r5];\n";

#[test]
fn stores_and_loads_of_another_cta_are_followed() {
    let store = "\tst.shared::cluster.b32 [%r6], %r1;\n";
    assert_eq!(verdict(&format!("{MEET}{store}{MEET}{LOAD}")), "proved\t");
    let faulty = verdict(&format!("{MEET}{store}{LOAD}{MEET}"));
    assert!(faulty.starts_with("violated") && faulty.contains("of CTA"), "{faulty}");
    // The other CTA may not have started.
    let faulty = verdict(&format!("{store}{MEET}"));
    assert!(faulty.starts_with("violated"), "{faulty}");
    let load = "\tld.shared::cluster.b32 %r7, [%r6];\n";
    assert_eq!(verdict(&format!("{MEET}{load}{MEET}")), "proved\t");
    // The other CTA may have ended.
    let faulty = verdict(&format!("{MEET}{load}"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn asynchronous_stores_complete_bytes_on_the_barrier_of_their_cta() {
    let store = "\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r6], %r1, [%r8];\n";
    let all = |bytes, wait: &str| format!("{MEET}{}{store}{wait}{LOAD}", expect(bytes));
    assert_eq!(verdict(&all(128, WAIT)), "proved\t");
    let faulty = verdict(&all(128, ""));
    assert!(faulty.starts_with("violated"), "{faulty}");
    let faulty = verdict(&all(256, WAIT));
    assert!(faulty.contains("128 bytes more than the copies deliver"), "{faulty}");
    let faulty = verdict(&all(64, WAIT));
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The barrier of the own CTA does not count bytes that go to the other one.
    let said = verdict(&all(128, WAIT).replace("[%r8]", "[%r2]"));
    assert!(said.starts_with("rejected") && said.contains("another CTA"), "{said}");
}

#[test]
fn asynchronous_reductions_do_not_race_with_each_other() {
    let add = "\tred.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6], %r1, [%r8];\n";
    let all = |first: &str, bytes| format!("{first}{}{add}{add}{WAIT}{LOAD}", expect(bytes));
    assert_eq!(verdict(&all(MEET, 256)), "proved\t");
    // A reduction may come before the store of the first value.
    let relaxed = MEET.replace("arrive", "arrive.relaxed");
    let faulty = verdict(&all(&relaxed, 256));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// A relaxed arrival behind a fence that releases tells the other CTA that the words have been read.
#[test]
fn a_fence_before_a_relaxed_arrival_releases() {
    let all = |fence: &str| {
        verdict(&format!(
            "{MEET}{LOAD}\tbar.warp.sync -1;\n\t@%p1 bra $L2;\n{fence}\
             \tmbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r8];\n$L2:\n{WAIT}\
             \tst.shared::cluster.b32 [%r6], %r1;\n{MEET}"
        ))
    };
    for fence in ["fence.acq_rel.cluster", "fence.sc.gpu"] {
        assert_eq!(all(&format!("\t{fence};\n")), "proved\t");
    }
    let without = [
        String::new(),
        // Of a smaller scope, for inits alone, and for memory that the far store does not access.
        "\tfence.acq_rel.cta;\n".into(),
        "\tfence.mbarrier_init.release.cluster;\n".into(),
        "\tfence.release.sync_restrict::shared::cta.cluster;\n".into(),
        // The word is read again behind the fence.
        format!("\tfence.acq_rel.cluster;\n{LOAD}"),
    ];
    for fence in without {
        let faulty = all(&fence);
        assert!(faulty.starts_with("violated") && faulty.contains("nothing orders it"), "{fence}{faulty}");
    }
}
