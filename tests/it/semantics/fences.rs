//! The fence rules and their levels (`docs/fences.md`; docs/rules.md 21 to 24).

use warpline_sim::fences::Fences;
use warpline_sim::{RunOptions, engine};

use super::program;

/// What a kernel meets with one rule at another level: code, whether a note, line.
#[track_caller]
fn met(machine: &str, level: Option<(&str, &str)>, body: &str) -> Vec<(&'static str, bool, u32)> {
    let mut fences = Fences::default();
    if let Some((rule, level)) = level {
        fences.set(rule, level).unwrap();
    }
    let (program, machine) = (program(body), warpline_models::embedded(machine).unwrap());
    let report = engine::run(&program, &machine, &RunOptions { fences, ..RunOptions::default() }).unwrap();
    report.findings.iter().map(|f| (f.code(), f.note, program.sites[f.site as usize].line)).collect()
}

/// Stores by all threads, a barrier, a bulk store by one: the fence stands at `FIRST`, behind the barrier at `SECOND`.
const STORE: &str = "
    grid 1  warps 2
    global C: f16[64, 64]
    shared c: f16[64, 64]
    reg r: f16[64, 64]
    all:
      sts r.rows(warp, 2) -> c.rows(warp, 2)
      FIRST
      barrier
      SECOND
      warp 0: elect: tma.store c -> C[0, 0];  commit bulk;  wait bulk <= 0
";

fn store(first: &str, second: &str) -> String {
    STORE.replace("FIRST", first).replace("SECOND", second)
}

#[test]
fn strict_asks_the_writer_for_the_fence_before_the_barrier() {
    let strict = Some(("async-read", "strict"));
    assert_eq!(met("h200", strict, &store("fence async", "")), []);
    let late = store("", "fence async");
    assert_eq!(met("h200", None, &late), []);
    assert_eq!(met("h200", strict, &late), [("WL0501", false, 11)]);
}

#[test]
fn strict_accepts_the_one_thread_that_writes_fences_and_stores() {
    let body = "
    grid 1  warps 1
    global C: f16[64, 64]
    shared c: f16[64, 64]
    reg r: f16[64, 64]
    all: elect: sts r -> c;  fence async;  tma.store c -> C[0, 0];  commit bulk;  wait bulk <= 0
    ";
    assert_eq!(met("h200", Some(("async-read", "strict")), body), []);
}

#[test]
fn strict_counts_a_threads_copies_as_its_writes() {
    let body = |fence: &str| {
        format!(
            "
    grid 1  warps 2
    global A: f16[64, 64]   global C: f16[64, 64]
    shared c: f16[64, 64]
    all:
      cp A[0, 0] -> c;  commit cp;  wait cp <= 0
      {fence}
      barrier
      fence async
      warp 0: elect: tma.store c -> C[0, 0];  commit bulk;  wait bulk <= 0
    "
        )
    };
    let strict = Some(("async-read", "strict"));
    assert_eq!(met("h200", strict, &body("fence async")), []);
    assert_eq!(met("h200", strict, &body("")), [("WL0501", false, 10)]);
}

#[test]
fn off_asks_for_no_proxy_fence() {
    assert_eq!(met("h200", Some(("async-read", "off")), &store("", "")), []);
    assert_eq!(met("h200", None, &store("", "")), [("WL0501", false, 11)]);
}

/// DeepEP 642: a slot is read by ordinary loads and refilled by TMA.
const REFILL: &str = "
    grid 1  warps 2
    global A: f16[64, 128]
    shared a: f16[64, 64]
    reg r: f16[64, 64]
    mbar full (1)   mbar empty (32)
    all: warp 0: elect: init full, empty;  fence mbarrier_init
    barrier
    warp 0: elect: for i in 0..2:
      wait empty for i - 1
      arrive full expect bytes(a)
      tma A[0, i] -> a signals full
    warp 1: for i in 0..2:
      wait full for i
      lds a : A[0, i] -> r
      FENCE
      arrive empty
";

#[test]
fn an_ordinary_read_before_an_asynchronous_write_is_a_note() {
    let bare = REFILL.replace("FENCE", "");
    assert_eq!(met("h200", None, &bare), [("WL0502", true, 12)]);
    assert_eq!(met("h200", Some(("async-write", "error")), &bare), [("WL0502", false, 12)]);
    assert_eq!(met("h200", Some(("async-write", "off")), &bare), []);
    assert_eq!(met("h200", Some(("async-write", "error")), &REFILL.replace("FENCE", "fence async")), []);
}

/// A product by one thread, read by all warps; the accumulator is reused.
const TENSOR: &str = "
    grid 1  warps 8
    shared a: f16[128, 64]   shared b: f16[128, 64]
    reg r: f16[128, 64]
    tmem acc: f32[128, 128]
    mbar done (1)   mbar free (128)
    all:
      warp 1: elect: init done, free;  fence mbarrier_init
      warp 2: tmem.alloc acc
      warp 3: sts r -> a;  sts r -> b;  fence async
      barrier
    warp 0: elect: for i in 0..2:
      wait free for i - 1
      AFTER
      zero acc
      umma a, b -> acc
      commit umma -> done
    warps 4..8: for i in 0..2:
      wait done for i
      READ
      tmem.ld acc.rows(warp % 4, 4) -> q
      wait tmem.ld <= 0
      BEFORE
      arrive free
    barrier
    warp 2: tmem.dealloc acc
";

fn tensor(after: &str, read: &str, before: &str) -> String {
    TENSOR.replace("AFTER", after).replace("READ", read).replace("BEFORE", before)
}

#[test]
fn tensor_memory_passes_between_threads_with_a_fence_on_either_side() {
    let (after, before) = ("tmem.fence after", "tmem.fence before");
    let error = Some(("tcgen05", "error"));
    assert_eq!(met("b200", error, &tensor(after, after, before)), []);
    // A commit fences what it waits for: only the reader's side is missing.
    assert_eq!(met("b200", None, &tensor(after, "", before)), [("WL0503", true, 21)]);
    assert_eq!(met("b200", error, &tensor(after, after, "")), [("WL0503", false, 16)]);
    assert_eq!(met("b200", error, &tensor("", after, before)), [("WL0503", false, 16)]);
    assert_eq!(met("b200", Some(("tcgen05", "off")), &tensor("", "", "")), []);
}

#[test]
fn tensor_memory_waits_can_be_switched_off() {
    let bare = tensor("tmem.fence after", "tmem.fence after", "tmem.fence before").replace("wait tmem.ld <= 0", "");
    assert_eq!(met("b200", None, &bare), [("WL0106", false, 16), ("WL0608", false, 26)]);
    assert_eq!(met("b200", Some(("tmem-wait", "off")), &bare), []);
}

/// Two products into one accumulator, with something in between.
const PRODUCTS: &str = "
    grid 1  warps 4
    shared a: f16[64, 64]   shared b: f16[64, 64]
    reg r: f16[64, 64], acc: f32[64, 64]
    all:
      sts r -> a;  sts r -> b
      fence async
      barrier
      FIRST
      zero acc
      wgmma a, b -> acc
      commit wgmma;  wait wgmma <= 0
      BETWEEN
      wgmma a, b -> acc
      commit wgmma;  wait wgmma <= 0
";

fn products(first: &str, between: &str) -> String {
    PRODUCTS.replace("FIRST", first).replace("BETWEEN", between)
}

#[test]
fn wgmma_needs_a_fence_before_the_first_product_and_after_other_uses() {
    let fence = "wgmma.fence";
    // Products of one shape follow each other without.
    assert_eq!(met("h200", None, &products(fence, "")), []);
    assert_eq!(met("h200", None, &products("", "")), [("WL0504", false, 11)]);
    assert_eq!(met("h200", None, &products(fence, "alu fma 64 x 64 uses acc")), [("WL0504", false, 14)]);
    assert_eq!(met("h200", None, &products(fence, "alu fma 64 x 64 uses acc;  wgmma.fence")), []);
    assert_eq!(met("h200", Some(("wgmma", "off")), &products("", "")), []);
    assert!(met("h200", Some(("wgmma", "note")), &products("", "")).iter().all(|f| f.1));
}

#[test]
fn products_of_another_shape_need_a_fence_between_them() {
    let half = |between: &str| {
        let second = "wgmma a, b -> acc\n      commit wgmma;  wait wgmma <= 0\n      BETWEEN\n      wgmma a, b -> acc";
        let other = "wgmma a, b -> acc\n      commit wgmma;  wait wgmma <= 0\n      BETWEEN\n      wgmma a, b.cols(0, 2) -> acc.cols(0, 2)";
        PRODUCTS.replace(second, other).replace("FIRST", "wgmma.fence").replace("BETWEEN", between)
    };
    assert_eq!(met("h200", None, &half("")), [("WL0504", false, 14)]);
    assert_eq!(met("h200", None, &half("wgmma.fence")), []);
}

#[test]
fn registers_of_the_left_operand_are_fenced_too() {
    let text = "
    grid 1  warps 4
    shared b: f16[64, 64]
    reg r: f16[64, 64], x: f16[64, 64], acc: f32[64, 64]
    all:
      sts r -> b
      fence async
      barrier
      wgmma.fence
      zero acc
      alu fma 64 x 64 -> x
      wgmma x, b -> acc
      commit wgmma;  wait wgmma <= 0
    ";
    assert_eq!(met("h200", None, text), [("WL0504", false, 12)]);
    assert_eq!(met("h200", None, &text.replace("-> x\n", "-> x;  wgmma.fence\n")), []);
}

/// One lane of warp 0 arrives for it; `BEFORE` stands before that.
const ARRIVE: &str = "
    grid 1  warps 4
    shared s: f16[64, 64]
    reg r: f16[64, 64], q: f16[16, 64], t: f16[64, 64], acc: f32[16, 64]
    mbar b (1)   mbar c (1)
    named x
    all:
      warp 1: init b, c
      barrier
      warp 1: arrive c per warp
      warp 0: BEFORE
      warp 0: arrive b per warp
      warp 1: wait b for 0;  lds s -> r
";

#[test]
fn one_lane_speaks_for_its_warp_behind_what_all_execute_together() {
    let error = Some(("warp-arrive", "error"));
    let before = |text: &str| met("h200", error, &ARRIVE.replace("BEFORE", text));
    for apart in ["sts r -> s", "wait c for 0", "lds s -> r", "warp.sync;  sts r -> s;  alu fma 1 x 32"] {
        assert_eq!(before(apart), [("WL0506", false, 12)], "{apart}");
    }
    for together in
        ["sts r -> s;  warp.sync", "sts r -> s;  bar sync x (32)", "lds s -> r;  mma q, t -> acc", "alu fma 1 x 32"]
    {
        assert_eq!(before(together), [], "{together}");
    }
    // Every lane for itself, and a warp of two agents, which is held to order itself.
    let each = ARRIVE.replace("mbar b (1)", "mbar b (32)").replace("arrive b per warp", "arrive b");
    assert_eq!(met("h200", error, &each.replace("BEFORE", "sts r -> s")), []);
    assert_eq!(
        met("h200", Some(("warp-arrive", "note")), &ARRIVE.replace("BEFORE", "sts r -> s")),
        [("WL0506", true, 12)]
    );
}

#[test]
fn that_lanes_are_in_step_is_not_asked_by_default() {
    assert_eq!(met("h200", None, &ARRIVE.replace("BEFORE", "sts r -> s")), []);
}
