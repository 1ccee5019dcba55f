//! The protocols that Spin decided (`oracles/spin`: Promela models of a warp-specialized TMA ring and of a Metal pipeline
//! with one barrier a step, and the recorded results): the same verdicts, for every trip count at once.

use warpline_tests::TempDir;

use super::{Verdict, kernel, verify};

/// One producer, `consumers` warps, `stages` slots.
fn tma_ring(stages: u32, consumers: u32, edits: &[(&str, &str)]) -> Verdict {
    kernel("h200", &ring_text(stages, consumers, edits))
}

/// The same, by a search of every order.
fn searched(stages: u32, consumers: u32, edits: &[(&str, &str)]) -> Verdict {
    let dir = TempDir::new();
    let file = dir.write("t.pipe", ring_text(stages, consumers, edits));
    verify(&[&file, "--machine", "h200", "--engine", "search"])
}

fn ring_text(stages: u32, consumers: u32, edits: &[(&str, &str)]) -> String {
    let mut text = include_str!("../../../oracles/spin/tma_ws.pipe.in")
        .replace("{k}", "128")
        .replace("{stages}", &stages.to_string())
        .replace("{consumers}", &consumers.to_string())
        .replace("{warps}", &(consumers + 1).to_string());
    for (from, to) in edits {
        assert_eq!(text.matches(from).count(), 1, "`{from}`");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn the_ring_is_proved_as_spin_found_no_error() {
    // Spin: NST = 2, 3, 4 with two consumers; 3 with three; 4 with four (48.8 million states at 64 tiles).
    for (stages, consumers) in [(2, 2), (3, 2), (4, 2), (3, 3), (4, 4), (8, 16)] {
        tma_ring(stages, consumers, &[]).proved();
    }
}

#[test]
fn the_rings_planted_bugs_are_found() {
    // BUG_PARITY: invalid end state.
    tma_ring(3, 2, &[("for i / stages - 1", "for i / stages")]).violated("deadlock", "wait empty").first_at(1);
    // BUG_NOARRIVE: invalid end state.
    let quiet = [("arrive empty[i % stages] per warp", "if warp > 1: arrive empty[i % stages] per warp")];
    tma_ring(3, 2, &quiet).violated("deadlock", "wait empty").first_at(4);
    // BUG_EARLY: a consumer releases before it reads (assertion readers == 0).
    let early = [
        ("      arrive empty[i % stages] per warp\n", ""),
        ("      lds a", "      arrive empty[i % stages] per warp\n      lds a"),
    ];
    tma_ring(3, 2, &early).violated("WAR race", "tma A[0, i]");
    // BUG_NOTX: no bytes are expected (assertion on the tile read).
    tma_ring(3, 2, &[(" expect bytes(a)", "")]).violated("RAW race", "lds a").first_at(1);
    // BUG_STALEPH: the producer never flips its phase; Spin meets an invalid end state.
    let v = tma_ring(3, 2, &[("wait empty[i % stages] for i / stages - 1", "wait empty[i % stages] parity 1")]);
    assert_ne!(v.word(), "proved", "{:#}", v.json);
    assert_ne!(v.word(), "bounded", "{:#}", v.json);
}

#[test]
fn a_search_of_every_order_says_the_same_for_all_trip_counts_at_once() {
    for (stages, consumers) in [(2, 2), (3, 2), (3, 3)] {
        let v = searched(stages, consumers, &[]);
        assert_eq!((v.word(), v.json["trip_counts"].as_str()), ("bounded", Some("all")), "{:#}", v.json);
        assert_eq!(v.json["engine"], "search of every order");
        assert_eq!(v.json["properties"]["deadlock"], "bounded");
        assert_eq!(v.json["properties"]["missing fence"], "not looked at");
    }
    searched(3, 2, &[("for i / stages - 1", "for i / stages")]).violated("deadlock", "wait empty").first_at(1);
    let quiet = [("arrive empty[i % stages] per warp", "if warp > 1: arrive empty[i % stages] per warp")];
    searched(3, 2, &quiet).violated("deadlock", "wait empty").first_at(4);
    let early = [
        ("      arrive empty[i % stages] per warp\n", ""),
        ("      lds a", "      arrive empty[i % stages] per warp\n      lds a"),
    ];
    let v = searched(3, 2, &early);
    assert_eq!(v.word(), "violated", "{:#}", v.json);
}

/// Two loader and two compute simdgroups, `buffers` slots, `ahead` tiles of look-ahead, one barrier a step.
fn metal(buffers: u32, ahead: u32, edits: &[(&str, &str)]) -> Verdict {
    let mut text = format!(
        "kernel metal3(k = 128, buffers = {buffers}, ahead = {ahead})
  let tiles = k / 16
  grid 1   warps 4
  global A: f16[64, k]
  shared a[buffers]: f16[64, 16]
  role loader[2] = warps 0..2
  role compute[2] = warps 2..4
  loader:
    for j in 0..ahead:
      if j < tiles: load A[0, j].rows(self) -> a[j % buffers].rows(self)
  all: barrier
  all:
    for i in 0..tiles:
      loader: if i + ahead < tiles: load A[0, i + ahead].rows(self) -> a[(i + ahead) % buffers].rows(self)
      compute:
        lds a[i % buffers] : A[0, i] -> r
        alu fma 64 x 16 uses r
      barrier  // of step i
"
    );
    for (from, to) in edits {
        assert_eq!(text.matches(from).count(), 1, "`{from}`");
        text = text.replace(from, to);
    }
    kernel("m4-max", &text)
}

#[test]
fn the_metal_pipeline_is_proved_where_spin_found_no_error_and_nowhere_else() {
    for (buffers, ahead) in [(3, 2), (3, 1), (2, 1)] {
        metal(buffers, ahead, &[]).proved();
    }
    // A slot is overwritten while it is read (assertion rd == 0).
    for (buffers, ahead) in [(2, 2), (3, 3)] {
        let v = metal(buffers, ahead, &[]);
        let kinds: Vec<_> = v.json["violations"].as_array().unwrap().iter().map(|f| f["kind"].clone()).collect();
        assert!(kinds.iter().any(|k| k == "WAR race" || k == "RAW race"), "{kinds:?}");
        assert_eq!(v.word(), "violated");
    }
    // BUG_NOBAR: loader 1 arrives and does not wait. A barrier that one warp passes by is met by the others too rarely.
    let nobar = [("barrier  // of step i", "if warp != 1: barrier")];
    assert_eq!(metal(3, 2, &nobar).word(), "violated");
}
