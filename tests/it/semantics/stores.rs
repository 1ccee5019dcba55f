//! `tma.store`: bulk groups and who they belong to (docs/rules.md 4, 20).

use super::check;

#[test]
fn the_source_may_be_rewritten_after_the_read_wait() {
    check(
        "h200",
        "
          grid 1  warps 1
          global C: f16[64, 128]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all: for i in 0..2:
            sts r -> c
            fence async
            warp.sync
            elect:
              tma.store c -> C[0, i]
              commit bulk
              wait bulk.read <= 0
            warp.sync
        ",
    );
}

#[test]
fn the_write_wait_covers_the_reads_too() {
    check(
        "h200",
        "
          grid 1  warps 1
          global C: f16[64, 128]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all: for i in 0..2:
            sts r -> c
            fence async
            warp.sync
            elect: tma.store c -> C[0, i];  commit bulk;  wait bulk <= 0
            warp.sync
        ",
    );
}

#[test]
fn a_source_rewritten_without_a_wait_is_a_war() {
    check(
        "h200",
        "
          grid 1  warps 1
          global C: f16[64, 128]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all: for i in 0..2:
            sts r -> c    //~ WAR race
            fence async
            warp.sync
            elect: tma.store c -> C[0, i];  commit bulk
            warp.sync
        ",
    );
}

#[test]
fn a_wait_that_leaves_the_newest_store_open_is_a_war() {
    // DeepEP 657.
    check(
        "h200",
        "
          grid 1  warps 1
          global C: f16[64, 128]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all: for i in 0..2:
            sts r -> c    //~ WAR race
            fence async
            warp.sync
            elect: tma.store c -> C[0, i];  commit bulk;  wait bulk.read <= 1
            warp.sync
        ",
    );
}

#[test]
fn a_wait_of_threads_that_did_not_issue_is_no_wait() {
    // TransformerEngine 3417: every thread waits, but the groups are the issuing thread's.
    check(
        "h200",
        "
          grid 1  warps 2
          global C: f16[64, 128]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all: for i in 0..2:
            sts r.rows(warp, 2) -> c.rows(warp, 2)    //~ WAR race
            fence async
            barrier
            warp 0: elect: tma.store c -> C[0, i];  commit bulk
            wait bulk.read <= 0
        ",
    );
}

#[test]
fn a_barrier_behind_the_issuers_wait_mends_it() {
    check(
        "h200",
        "
          grid 1  warps 2
          global C: f16[64, 128]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all: for i in 0..2:
            sts r.rows(warp, 2) -> c.rows(warp, 2)
            fence async
            barrier
            warp 0: elect: tma.store c -> C[0, i];  commit bulk;  wait bulk.read <= 0
            barrier
        ",
    );
}

#[test]
fn a_cta_that_ends_before_its_store_has_read_gets_a_note() {
    let body = |wait: &str| {
        format!(
            "
          grid 1  warps 1
          global C: f16[64, 64]
          shared c: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r -> c;  fence async;  barrier
            elect: tma.store c -> C[0, 0];  commit bulk;  {wait}
        "
        )
    };
    let notes = |wait: &str| check("h200", &body(wait)).findings.iter().map(|f| (f.code(), f.note)).collect::<Vec<_>>();
    assert_eq!(notes(""), [("WL0610", true)]);
    assert_eq!(notes("wait bulk.read <= 0"), []);
}
