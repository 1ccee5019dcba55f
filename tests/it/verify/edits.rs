//! A change to a program is the program of the changed text.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, compile};
use warpline_sim::ir::{Fence, Instr, Op, Program};
use warpline_verify::{Change, Edit, edits};

const TEXT: &str = "kernel t(tiles = 4)
  warps 2
  global A: f16[64, 256]
  shared a[2]: f16[64, 64]
  mbar full[2] (1)
  mbar empty[2] (1)
  role load = warp 0
  role use = warp 1
  warp 0: elect: init full, empty;  fence mbarrier_init
  cluster.sync
  load: elect:
    for i in 0..tiles:
      wait empty[i % 2] for i / 2 - 1
      arrive full[i % 2] expect bytes(a)
      tma A[0, i] -> a[i % 2] signals full[i % 2]
  use:
    for i in 0..tiles:
      wait full[i % 2] for i / 2
      lds a[i % 2] : A[0, i] -> r
      if i < tiles - 1: arrive empty[i % 2] per warp
";

fn program(text: &str, tiles: i64) -> Program {
    let set = BTreeMap::from([("tiles".to_string(), tiles)]);
    compile("t.pipe", text, &Inputs { set: &set, cores: None }).unwrap_or_else(|e| panic!("{e:#?}\n{text}"))
}

/// The changes to the statement with this text.
fn at(prog: &Program, text: &str) -> Vec<Edit> {
    let all: Vec<Edit> = edits(prog).into_iter().filter(|e| e.site.text.starts_with(text)).collect();
    assert!(!all.is_empty(), "no change at `{text}`");
    all
}

/// Two programs but for the places in their texts.
#[track_caller]
fn same(a: &Program, b: &Program) {
    assert_eq!(a.code, b.code);
    assert_eq!((&a.loops, &a.mbars), (&b.loops, &b.mbars));
}

#[track_caller]
fn is(change: &Change, statement: &str, from: &str, to: &str) {
    assert_eq!(TEXT.matches(from).count(), 1, "`{from}`");
    // The same change at every trip count, also where nothing of the loop is left.
    for tiles in [0, 1, 4, 7] {
        let prog = program(TEXT, tiles);
        let edit = at(&program(TEXT, 4), statement).into_iter().find(|e| e.change == *change).unwrap();
        same(&edit.apply(&prog).unwrap(), &program(&TEXT.replace(from, to), tiles));
    }
}

#[test]
fn numbers_and_repetitions_are_those_of_the_text() {
    is(&Change::Phase(1), "wait full", "for i / 2\n", "for i / 2 + 1\n");
    is(&Change::Bytes(-1), "arrive full", "expect bytes(a)", "expect bytes(a) - 1");
    is(&Change::Stage { nth: 0, by: 1 }, "tma", "signals full[i % 2]", "signals full[(i % 2 + 1) % 2]");
    is(&Change::Slot { nth: 0, by: 1 }, "lds", "lds a[i % 2]", "lds a[(i % 2 + 1) % 2]");
    is(&Change::Declared(1, 1), "init", "empty[2] (1)", "empty[2] (2)");
    is(
        &Change::Double,
        "arrive empty",
        "arrive empty[i % 2] per warp",
        "arrive empty[i % 2] per warp;  arrive empty[i % 2] per warp",
    );
    is(&Change::Double, "cluster.sync", "cluster.sync", "cluster.sync;  cluster.sync");
    is(
        &Change::Double,
        "wait full",
        "wait full[i % 2] for i / 2",
        "wait full[i % 2] for i / 2;  wait full[i % 2] for i / 2",
    );
}

#[test]
fn neighbors_change_places_with_all_that_belongs_to_them() {
    let swapped = |a: &str, b: &str| (format!("      {a}\n      {b}\n"), format!("      {b}\n      {a}\n"));
    let (from, to) = swapped("wait full[i % 2] for i / 2", "lds a[i % 2] : A[0, i] -> r");
    is(&Change::Swap, "wait full", &from, &to);
    let (from, to) = swapped("arrive full[i % 2] expect bytes(a)", "tma A[0, i] -> a[i % 2] signals full[i % 2]");
    is(&Change::Swap, "arrive full", &from, &to);
    is(&Change::Swap, "init", "init full, empty;  fence mbarrier_init", "fence mbarrier_init;  init full, empty");
    // A block goes as a whole; a loop is no neighbor, and the end of a block has none.
    let guarded = TEXT.replace("      lds a[i % 2] : A[0, i] -> r\n", "");
    let prog = program(&guarded, 4);
    let edit = at(&prog, "wait full").into_iter().find(|e| e.change == Change::Swap).unwrap();
    let (from, to) = swapped("wait full[i % 2] for i / 2", "if i < tiles - 1: arrive empty[i % 2] per warp");
    same(&edit.apply(&prog).unwrap(), &program(&guarded.replace(&from, &to), 4));
    for none in ["arrive empty", "cluster.sync"] {
        let edit = at(&prog, none).into_iter().find(|e| e.change == Change::Swap);
        assert!(edit.unwrap().apply(&prog).is_err(), "{none}");
    }
}

#[test]
fn what_is_put_in_front_or_behind_is_in_the_same_block() {
    let prog = program(TEXT, 4);
    let site = &at(&prog, "arrive empty")[0].site;
    let fence = Op::Fence(Fence::Async);
    let put = |change| Edit::new(site, change, "`fence async` beside it").apply(&prog).unwrap();
    for (change, line) in [
        (Change::Before(fence.clone()), "if i < tiles - 1: fence async;  arrive empty[i % 2] per warp"),
        (Change::Behind(fence.clone()), "if i < tiles - 1: arrive empty[i % 2] per warp;  fence async"),
    ] {
        same(&put(change), &program(&TEXT.replace("if i < tiles - 1: arrive empty[i % 2] per warp", line), 4));
    }
}

#[test]
fn what_no_kernel_can_say_is_refused_and_the_rest_is_told_in_words() {
    let prog = program(TEXT, 4);
    let refused = |statement: &str, change: Change| {
        let edit = at(&prog, statement).into_iter().find(|e| e.change == change).unwrap();
        edit.apply(&prog).unwrap_err().0
    };
    assert_eq!(refused("arrive empty", Change::Count(-1)), "a count would be 0");
    assert_eq!(refused("init", Change::Declared(0, -1)), "`full` would need 0 arrivals");
    let words: Vec<String> = at(&prog, "arrive full").into_iter().map(|e| e.words).collect();
    assert_eq!(
        words,
        [
            "line 14: `arrive full[i % 2] expect bytes(a)` left out",
            "line 14: `arrive full[i % 2] expect bytes(a)` twice",
            "line 14: `arrive full[i % 2] expect bytes(a)` and the next statement swapped",
            "line 14: the `full` one further",
            "line 14: arrivals 0 instead of 1",
            "line 14: arrivals 2 instead of 1",
            "line 14: bytes 0 instead of 8192",
            "line 14: bytes 8191 instead of 8192",
            "line 14: bytes 8193 instead of 8192",
            "line 14: bytes 16384 instead of 8192",
        ]
    );
}

/// An importer copies blocks, so that a statement can stand in several, each behind its own choice of lanes.
#[test]
fn each_copy_of_a_statement_is_changed_inside_its_own_block() {
    let block = "  use: elect: arrive empty[0]\n";
    let text = format!("{TEXT}{block}  use: warp.sync\n{block}");
    let mut prog = program(&text, 4);
    let copies: Vec<usize> =
        (0..prog.code.len()).filter(|pc| prog.site(*pc as u32).text == "arrive empty[0]").collect();
    let [first, second] = copies[..] else { panic!("{copies:?}") };
    prog.at[second] = prog.at[first];
    let site = prog.site(first as u32).clone();
    let fence = Op::Fence(Fence::Async);
    for (change, line) in [
        (Change::Double, "arrive empty[0];  arrive empty[0]"),
        (Change::Before(fence.clone()), "fence async;  arrive empty[0]"),
        (Change::Behind(fence), "arrive empty[0];  fence async"),
    ] {
        let edit = Edit::new(&site, change, "in each copy");
        same(&edit.apply(&prog).unwrap(), &program(&text.replace("arrive empty[0]", line), 4));
    }
    // No edit adds a jump backward outside of a loop.
    for changed in edits(&prog).iter().filter_map(|edit| edit.apply(&prog).ok()) {
        for (pc, i) in changed.code.iter().enumerate().filter(|(_, i)| !matches!(i, Instr::Jump(_))) {
            assert!(i.target().is_none_or(|to| to as usize > pc), "{pc}: {i:?}");
        }
    }
}
