//! Uses of an mbarrier and its `init`, with and without an order between them on some way through the text.

use warpline_import::{lift, ptx};

/// Whether nothing orders the arrival behind the `init`. A line `INIT`, `USE`, `ARRIVE`, `WAIT` or `FENCE` stands for the
/// instruction.
fn never_ordered(code: &str) -> bool {
    let lines: String = code
        .lines()
        .map(|line| match line.trim() {
            "INIT" => "\tmbarrier.init.shared::cta.b64 [%r1], 32;\n".to_string(),
            "USE" => "\tmbarrier.arrive.shared::cta.b64 _, [%r1];\n".to_string(),
            "ARRIVE" => "\tbarrier.cluster.arrive.relaxed.aligned;\n".to_string(),
            "WAIT" => "\tbarrier.cluster.wait.aligned;\n".to_string(),
            "FENCE" => "\tfence.mbarrier_init.release.cluster;\n".to_string(),
            other => format!("\t{other}\n"),
        })
        .collect();
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u32 k_param_0)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<4>;\n\t.reg .b32 %r<8>;\n\tld.param.u32 %r4, [k_param_0];\n\tsetp.eq.s32 %p1, %r4, 7;\n\
         \tmov.b32 %r1, 0;\n{lines}\tret;\n}}\n"
    );
    let module = ptx::read(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let line = |what: &str| text.lines().position(|l| l.contains(what)).map_or(0, |n| n as u32 + 1);
    lift::never_ordered_behind_init(&module.entries[0], line("mbarrier.init"), line("mbarrier.arrive"))
}

#[test]
fn a_relaxed_arrival_of_the_cluster_orders_only_what_a_fence_covers() {
    assert!(never_ordered("INIT\nARRIVE\nWAIT\nUSE"));
    assert!(never_ordered("FENCE\nINIT\nARRIVE\nWAIT\nUSE"));
    assert!(!never_ordered("INIT\nFENCE\nARRIVE\nWAIT\nUSE"));
    // On some ways only.
    assert!(!never_ordered("INIT\n@%p1 bra $NEXT;\nFENCE\n$NEXT:\nARRIVE\nWAIT\nUSE"));
}

#[test]
fn anything_else_that_orders_threads_ahead_of_the_use_counts() {
    assert!(!never_ordered("INIT\nbarrier.cluster.arrive.aligned;\nWAIT\nUSE"));
    assert!(!never_ordered("INIT\nARRIVE\nWAIT\nbar.sync 0;\nUSE"));
    assert!(!never_ordered("bar.sync 0;\nINIT\nARRIVE\nWAIT\nUSE"));
    assert!(!never_ordered("INIT\nARRIVE\nWAIT\nld.acquire.cta.shared.b32 %r2, [%r1];\nUSE"));
    // Behind the use, and for lanes of one warp.
    assert!(never_ordered("INIT\nARRIVE\nWAIT\nUSE\nbar.sync 0;"));
    assert!(never_ordered("INIT\nbar.warp.sync -1;\nARRIVE\nWAIT\nUSE"));
    // The use is never reached.
    assert!(!never_ordered("INIT\nARRIVE\nWAIT\nret;\nUSE"));
}
