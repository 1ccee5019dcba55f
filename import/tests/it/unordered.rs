//! Uses of an mbarrier and its `init`, with and without an order between them on some way through the text.

use warpline_import::lift;

use crate::unwaited::{kernel, line_of};

/// Whether nothing orders the arrival behind the `init`.
fn never_ordered(code: &str) -> bool {
    let words = [
        ("INIT", "mbarrier.init.shared::cta.b64 [%r1], 32;"),
        ("USE", "mbarrier.arrive.shared::cta.b64 _, [%r1];"),
        ("ARRIVE", "barrier.cluster.arrive.relaxed.aligned;"),
        ("WAIT", "barrier.cluster.wait.aligned;"),
        ("FENCE", "fence.mbarrier_init.release.cluster;"),
    ];
    let (entry, text) = kernel(code, &words);
    lift::never_ordered_behind_init(&entry, line_of(&text, "mbarrier.init"), line_of(&text, "mbarrier.arrive"))
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
