//! The engine: where the time of every agent goes, repetition, hangs, the cache, occupancy, exact times.

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpline_sim::report::{Finding, Outcome, Report, RunError, RunOptions};
use warpline_sim::timeline::{RowKind, SpanKind, Stall, TICKS};

use crate::facts::load;
use crate::semantics::{check, program, try_run};

/// Scenarios of every vendor, small enough to be run in full.
const SMALL: [(&str, &[(&str, f64)]); 9] = [
    ("ampere/smem_double_buffer", &[("m", 8192.0), ("n", 8192.0), ("k", 256.0)]),
    ("ampere/marlin_4stage", &[("n", 8192.0), ("k", 512.0)]),
    ("hopper/tma_warp_specialized", &[("m", 8192.0), ("n", 8192.0), ("k", 256.0)]),
    ("hopper/cp_async_wgmma_no_fence", &[("m", 2048.0), ("n", 2048.0), ("k", 512.0)]),
    ("blackwell/level2_2sm", &[("m", 4096.0), ("n", 2048.0), ("k", 256.0)]),
    ("blackwell/level1_cluster_sync", &[("m", 8192.0), ("n", 8192.0), ("k", 256.0)]),
    ("metal/double_buffer", &[("m", 4096.0), ("n", 4096.0), ("k", 128.0)]),
    ("cdna/ping_pong", &[("m", 32768.0), ("n", 16384.0), ("k", 256.0)]),
    ("timeline/consistent", &[("tiles", 40.0)]),
];

fn run(name: &str, set: &[(&str, f64)], options: &RunOptions) -> Report {
    let (program, machine) = load(name, set);
    warpline_sim::run(&program, &machine, options).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn work_and_stalls_of_a_role_sum_to_one() {
    for (name, set) in SMALL {
        for role in run(name, set, &RunOptions::default()).roles {
            let sum: f64 = role.work.values().chain(role.stalls.values()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{name}, {}: {sum}", role.name);
        }
    }
}

#[test]
fn spans_tile_the_life_of_every_agent() {
    for (name, set) in SMALL {
        let timeline = run(name, set, &RunOptions { timeline: Some(2_000_000), ..RunOptions::default() }).timeline;
        let t = timeline.expect("it was asked for");
        assert_eq!(t.truncated_at, None, "{name}");
        // All agents of one CTA live equally long: from its launch to its end.
        let mut lives: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (i, row) in t.rows.iter().enumerate() {
            if !matches!(row.kind, RowKind::Agent { .. }) {
                continue;
            }
            let spans: Vec<_> = t.spans.iter().filter(|s| s.row == i as u32).collect();
            for pair in spans.windows(2) {
                assert_eq!(pair[0].end, pair[1].start, "{name}, {} of CTA {}", row.name, row.cta);
            }
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
                panic!("{name}: {} of CTA {} has no span", row.name, row.cta)
            };
            let life = *lives.entry(row.cta).or_insert((first.start, last.end));
            assert_eq!((first.start, last.end), life, "{name}, {} of CTA {}", row.name, row.cta);
        }
        assert!(!lives.is_empty(), "{name}");
    }
}

/// Whoever waits for others is woken by a span that is not later, and an engine's work is started by one.
#[test]
fn the_record_names_who_woke_whom_and_who_started_what() {
    for (name, set) in SMALL {
        let timeline = run(name, set, &RunOptions { timeline: Some(2_000_000), ..RunOptions::default() }).timeline;
        let t = timeline.expect("it was asked for");
        for s in &t.spans {
            let by = |w: Option<u32>| w.map(|w| &t.spans[w as usize]);
            match (s.what, &t.rows[s.row as usize].kind) {
                (SpanKind::Stall(Stall::Mbarrier), _) => {
                    assert!(s.woken_by.is_some(), "{name}: {s:?}");
                    let on = s.on.map(|row| &t.rows[row as usize].kind);
                    assert!(matches!(on, Some(RowKind::Barrier(_))), "{name}: {s:?}");
                }
                (SpanKind::Stall(Stall::Cluster), _) => assert!(s.woken_by.is_some(), "{name}: {s:?}"),
                (SpanKind::Stall(Stall::Issue | Stall::Alu), _) => assert_eq!(s.woken_by, None, "{name}: {s:?}"),
                (SpanKind::Work(_), RowKind::Engine(_)) => {
                    let start = by(s.started_by).map(|b| (b.start, b.site));
                    assert!(start.is_some_and(|(at, site)| at <= s.start && site == s.site), "{name}: {s:?}");
                }
                _ => {}
            }
            assert!(by(s.woken_by).is_none_or(|b| b.start <= s.end), "{name}: {s:?}");
        }
    }
}

/// What must not depend on whether repetitions are skipped.
fn essence(r: &Report) -> (f64, f64, &Outcome, Vec<Finding>, String) {
    // How often a finding was met, and when first, is of the CTAs that were run.
    let findings = r.findings.iter().map(|f| Finding { times: 0, cycle: 0.0, ..f.clone() }).collect();
    (r.cycles, r.flops, &r.outcome, findings, format!("{:?} {:?}", r.roles, r.uses))
}

#[test]
fn skipping_repetitions_changes_nothing() {
    let mut skipped = 0;
    for (name, set) in SMALL {
        let short = run(name, set, &RunOptions::default());
        let full = run(name, set, &RunOptions { skip_repeats: false, ..RunOptions::default() });
        assert_eq!(essence(&short), essence(&full), "{name}");
        assert_eq!(short.reads_checked, full.reads_checked, "{name}");
        skipped += (short.ctas_simulated < full.ctas_simulated) as u32;
    }
    assert!(skipped >= 3, "too few of the scenarios repeat: {skipped}");
}

/// A record of few spans is full soon. What follows is skipped as without a record, and the timeline ends with the run.
#[test]
fn a_full_record_lets_repetitions_be_skipped() {
    let mut skipped = 0;
    for (name, set) in SMALL {
        let full = run(name, set, &RunOptions { skip_repeats: false, ..RunOptions::default() });
        let recorded = run(name, set, &RunOptions { timeline: Some(10), ..RunOptions::default() });
        assert_eq!(essence(&recorded), essence(&full), "{name}");
        let whole = run(name, set, &RunOptions { timeline: Some(10), skip_repeats: false, ..RunOptions::default() });
        let end = |r: &Report| r.timeline.as_ref().map(|t| (t.end, t.truncated_at));
        assert_eq!(end(&recorded), end(&whole), "{name}");
        skipped += (recorded.ctas_simulated < full.ctas_simulated) as u32;
    }
    assert!(skipped >= 3, "too few of the scenarios repeat: {skipped}");
}

#[test]
fn the_same_run_gives_the_same_report_on_every_thread() {
    let options = RunOptions { timeline: Some(10_000), ..RunOptions::default() };
    let (name, set) = SMALL[2];
    let first = run(name, set, &options);
    let others: Vec<Report> = (0..8).into_par_iter().map(|_| run(name, set, &options)).collect();
    for other in others {
        assert_eq!(other, first);
    }
}

#[test]
fn a_wait_that_nothing_ends_is_drawn_past_the_end_of_the_run_and_marked() {
    let kernel = "
          grid 1  warps 2
          mbar b (1)
          warp 0: elect: init b takes 0
          barrier takes 0
          warp 0: wait b for 0 takes 0
          warp 1: alu fma 1 x 1 takes 7
          if cta.m > 0: arrive b per warp
        ";
    let machine = warpline_models::embedded("paper").expect("it comes along");
    let options = RunOptions { timeline: Some(100), ..RunOptions::default() };
    let t = warpline_sim::run(&program(kernel), &machine, &options).unwrap().timeline.expect("it was asked for");
    let wait = t.spans.iter().find(|s| s.what == SpanKind::Stall(Stall::Mbarrier)).expect("it is drawn");
    let end = 7 * TICKS + 7 * TICKS / 16;
    assert_eq!((wait.start, wait.end, wait.woken_by, t.end), (0, end, None, end));
    let marks: Vec<_> = t.faults.iter().map(|m| (m.tick, m.label.as_str(), t.sites[m.site as usize].line)).collect();
    assert_eq!(marks, [(0, "waits for ever", 6)]);
    assert_eq!(wait.on.map(|row| t.rows[row as usize].name.as_str()), Some("b"));
}

#[test]
fn a_hang_names_who_waits_since_when_for_what_and_what_is_missing() {
    let report = check(
        "paper",
        "
          grid 1  warps 3
          mbar b (2)
          role ask  = warp 1
          role give = warp 2
          all: warp 0: elect: init b takes 0
          barrier takes 0
          give: arrive b per warp takes 0
          ask:
            alu fma 1 x 1 takes 7
            wait b for 0 takes 0    //~ hangs
          give: if cta.m > 0: arrive b per warp
        ",
    );
    let Outcome::Hung(waiting) = &report.outcome else { panic!("{:?}", report.outcome) };
    let [w] = &waiting[..] else { panic!("{waiting:#?}") };
    assert_eq!((w.agent.as_str(), w.since), ("ask w1", 7.0));
    assert_eq!(w.waits_for, "phase 0 of b: phase 0 is open with 1 of 2 arrivals missing");
    assert_eq!(
        w.needs,
        "line 8 arrives (whoever executes it has ended); line 12 arrives (whoever executes it has ended)"
    );
}

#[test]
fn a_hang_at_a_barrier_names_who_is_still_to_come() {
    let report = check(
        "a100",
        "
          grid 1  warps 2
          named x   named y
          warp 0: bar sync x (64)    //~ hangs
          warp 1: bar sync y (64)    //~ hangs
        ",
    );
    let Outcome::Hung(waiting) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!(waiting[0].waits_for, "barrier x: 32 of 64 threads have arrived, 0 times before");
    assert_eq!(waiting[0].needs, "still to come: warp 1 (at line 5)");
}

#[test]
fn a_warm_cache_serves_every_load() {
    let (name, set) = SMALL[2];
    let cold = run(name, set, &RunOptions::default());
    let warm = run(name, set, &RunOptions { warm_l2: true, ..RunOptions::default() });
    assert!(cold.l2_hit_rate < 1.0 && cold.dram_read_bytes > 0.0);
    assert_eq!(warm.l2_hit_rate, 1.0);
    // Bytes come from ticks that are rounded up, a store at a time.
    assert!(warm.dram_read_bytes < 1e-4 * cold.dram_read_bytes, "{}", warm.dram_read_bytes);
    assert!(warm.cycles < cold.cycles);
}

#[test]
fn each_limit_of_occupancy_binds_in_one_case() {
    let limit = |machine: &str, head: &str| {
        let o = try_run(machine, &format!("\n  {head}\n  all: barrier\n")).expect("it fits").occupancy;
        (o.limit, o.ctas_per_core)
    };
    let is = |name: &str, n| (name.to_string(), n);
    // 228 KiB a core, 1 KiB of it for each CTA; 65,536 registers; 64 warps; 32 CTAs; 512 columns.
    assert_eq!(limit("h200", "grid 10000  warps 4  regs 32\n  shared s: f16[128, 128]"), is("shared memory", 6));
    assert_eq!(limit("h200", "grid 10000  warps 4  regs 128"), is("registers", 4));
    assert_eq!(limit("h200", "grid 10000  warps 24  regs 16"), is("warps", 2));
    assert_eq!(limit("h200", "grid 10000  warps 1  regs 32"), is("CTA slots", 32));
    assert_eq!(limit("b200", "grid 10000  warps 4  regs 32\n  tmem acc: f32[128, 256]"), is("tensor memory", 2));
    assert_eq!(limit("h200", "grid 132  warps 4  regs 32"), is("grid", 1));
}

#[test]
fn what_does_not_fit_at_all_is_refused_with_the_numbers() {
    let refused = |machine: &str, head: &str| match try_run(machine, &format!("\n  {head}\n  all: barrier\n")) {
        Err(RunError::DoesNotFit { message, .. }) => message,
        other => panic!("it fits: {other:?}"),
    };
    let shared = refused("m4-max", "grid 1  warps 4\n  shared s: f16[256, 256]");
    assert_eq!(shared, "a CTA needs 131072 bytes of shared memory; m4-max gives one at most 32768");
    assert_eq!(refused("h200", "grid 1  warps 33"), "a CTA of 1056 threads is more than h200's 1024");
    let registers = refused("h200", "grid 1  warps 16  regs 232");
    assert_eq!(registers, "512 threads of 232 registers are more than h200's 65536 a core");
}

#[test]
fn takes_and_lands_are_exact() {
    // Busy for 1.5, the data there at 6.25, a use of 3 behind it.
    let body = "
          grid 1  warps 1
          global A: f16[64, 64]
          reg r: f16[64, 64]
          all:
            ldg A[0, 0] -> r takes 1.5 lands 6.25
            alu fma 1 x 1 uses r takes 3
    ";
    let machine = warpline_models::embedded("paper").expect("a machine of that name");
    let options = RunOptions { timeline: Some(100), ..RunOptions::default() };
    let report = warpline_sim::run(&program(body), &machine, &options).expect("it runs");
    assert_eq!(report.cycles, 9.25);
    let t = report.timeline.expect("it was asked for");
    let stall = t.spans.iter().find(|s| s.what == SpanKind::Stall(Stall::Global)).expect("it waits for the load");
    assert_eq!((stall.start, stall.end), (TICKS * 3 / 2, TICKS * 25 / 4));
}

/// Cycles of a kernel of one CTA on an H200.
fn on_an_h200(body: &str) -> f64 {
    let machine = warpline_models::embedded("h200").expect("it comes along");
    warpline_sim::run(&program(body), &machine, &RunOptions::default()).expect("it runs").cycles
}

#[test]
fn cycles_that_differ_between_ctas_are_simulated_as_their_middle() {
    let busy = |takes: &str| on_an_h200(&format!("\n  grid 1  warps 1\n  all:\n    alu fma 1 takes {takes}\n"));
    assert_eq!(busy("100..300.5"), busy("200.25"));
    assert_eq!(busy("100..300") - busy("100"), 100.0);
}

/// What a scheduler issues beside `mma.sync` takes the products' time (`mma.warp_beside`); what another one does takes none.
#[test]
fn other_instructions_of_a_scheduler_take_the_time_of_its_products() {
    let with = |warp: u32, ops: u32| {
        on_an_h200(&format!(
            "
          grid 1  warps 6
          shared s: f16[64, 64] swizzle 128  shared t: f16[64, 64] swizzle 128
          reg r: f16[64, 64], q: f16[64, 64]
          all:
            warp 0: sts r -> s;  sts q -> t;  lds s -> fa;  lds t -> fb;  zero acc: f32[64, 64]
            barrier
            warp 0: mma fa, fb -> acc;  mma fa, fb -> acc
            warp {warp}: alu int {ops}
            "
        ))
    };
    assert_eq!(with(4, 32 * 10) - with(4, 32), 9.0);
    assert_eq!(with(5, 32 * 10) - with(5, 32), 0.0);
}

/// Rows of a tile without swizzle meet in the banks (`memory.shared_conflict_ways`); a single row does not meet itself.
#[test]
fn reads_of_single_rows_have_no_bank_conflicts() {
    let read = |rows: u32, cols: u32, swizzle: &str| {
        on_an_h200(&format!(
            "
          grid 1  warps 1
          shared s: f16[{rows}, {cols}]{swizzle}
          reg r: f16[{rows}, {cols}]
          all:
            sts r -> s
            lds s -> f
            alu fma 1 x 1 uses f
            "
        ))
    };
    assert_eq!(read(1, 4096, ""), read(1, 4096, " swizzle 128"));
    assert!(read(64, 64, "") > read(64, 64, " swizzle 128"));
    assert!(read(2, 2048, "") < read(64, 64, ""));
}

/// A copy's lines are looked up one a cycle (`memory.load_lines_per_clk`), and reads that were issued behind it wait for that.
#[test]
fn reads_of_shared_memory_wait_for_the_lines_of_copies_before_them() {
    let behind = |rows: u32, cols: u32| {
        on_an_h200(&format!(
            "
          grid 1  warps 2
          global A: f16[1024, 1024]
          shared a: f16[{rows}, {cols}]  shared b: f16[64, 64] swizzle 128
          reg r: f16[64, 64]
          all:
            warp 1: sts r -> b
            barrier
            warp 0: cp A[0, 0] -> a
            warp 1: lds b -> f
            warp 1: alu fma 1 x 1 uses f takes 10000
            warp 0: commit cp;  wait cp <= 0
            "
        ))
    };
    // 8 KB as 128 pieces of lines, and as 64 lines.
    assert_eq!(behind(128, 32) - behind(64, 64), 64.0);
}

/// Copies of whole lines ask for them at `memory.copy_bytes_per_clk`, parts of lines at `memory.l2_bytes_per_clk` for all of each
/// line; what is stored goes the same way, at `memory.store_bytes_per_clk`.
#[test]
fn copies_have_a_rate_of_their_own_on_the_way_to_l2_and_stores_are_in_their_way() {
    // What else they pass, as fast as anything.
    let mut machine = warpline_models::embedded("h200").expect("it comes along");
    let others =
        ["memory.dram_gbps", "memory.l2_slices_bytes_per_clk", "memory.l2_stored_bytes_per_clk", "tma.rows_per_clk"];
    for key in others {
        machine.params.get_mut(key).expect("it is there").value = 1e9;
    }
    let is = |key: &str| machine.params[key].value;
    let took = |cols: u32, copies: u32, stored: u32| {
        let copies: String =
            (0..copies).map(|i| format!("warp 0: elect: tma A[{i}, 0] -> a signals full\n            ")).collect();
        let body = format!(
            "
          grid 1  warps 8
          global A: f16[4096, 64]  global C: f16[1024, 256]
          shared a: f16[256, {cols}] swizzle {}
          reg r: f16[{stored}, 256]
          mbar full (1)
          all:
            warp 0: elect: init full;  arrive full expect bytes(a) * {}
            store r -> C[0, 0]
            {copies}wait full for 0
            ",
            cols * 2,
            copies.lines().count() - 1,
        );
        warpline_sim::run(&program(&body), &machine, &RunOptions::default()).expect("it runs").cycles
    };
    // Four more of them: 256 lines each, or 256 halves, which are as many requests.
    let more = |cols| took(cols, 6, 8) - took(cols, 2, 8);
    let lines = 4.0 * 32768.0 / is("memory.copy_bytes_per_clk");
    for cols in [64, 32] {
        assert!((more(cols) - lines).abs() < 2.0, "{} instead of {lines}", more(cols));
    }
    // As many bytes more as are stored, before the copies.
    let stored = took(64, 6, 512) - took(64, 6, 256);
    let store = 256.0 * 512.0 / is("memory.store_bytes_per_clk");
    assert!((stored - store).abs() < 2.0, "{stored} instead of {store}");
}

#[test]
fn an_event_limit_ends_a_run() {
    let (name, set) = SMALL[2];
    let report = run(name, set, &RunOptions { max_events: 100, ..RunOptions::default() });
    assert_eq!(report.outcome, Outcome::Limit);
}

/// Per CTA of a pair on an H200: when it arrives at the cluster barrier, when it comes to wait, when it goes on; in cycles.
/// `between` is what each does before it waits.
fn cluster_barrier(late: f64, between: &str) -> [(f64, f64, f64); 2] {
    let kernel = format!(
        "
          grid 1  cluster 2  warps 1
          all:
            if cta == 1: alu fma 1 x 1 takes {late}
            cluster.arrive takes 1
            {between}
            cluster.wait
            alu fma 1 x 1 takes 10000
        "
    );
    let machine = warpline_models::embedded("h200").expect("it comes along");
    let options = RunOptions { timeline: Some(100), ..RunOptions::default() };
    let t =
        warpline_sim::run(&program(&kernel), &machine, &options).expect("it runs").timeline.expect("it was asked for");
    let cycles = |ticks: u64| ticks as f64 / TICKS as f64;
    [0, 1].map(|cta| {
        let of: Vec<_> = t.spans.iter().filter(|s| t.rows[s.row as usize].cta == cta).collect();
        let arrives = of.iter().find(|s| s.end - s.start == TICKS).expect("it arrives");
        let last = of.iter().find(|s| s.end - s.start == 10000 * TICKS).expect("it goes on");
        let wait = of.iter().find(|s| s.what == SpanKind::Stall(Stall::Cluster));
        assert!(wait.is_none_or(|w| w.end == last.start && w.woken_by.is_some()), "{wait:?}");
        (cycles(arrives.start), cycles(wait.map_or(last.start, |w| w.start)), cycles(last.start))
    })
}

#[test]
fn all_leave_a_cluster_barrier_a_release_after_the_last_has_come_and_so_does_the_last() {
    let release = warpline_models::embedded("h200").unwrap().get("sync.cluster").unwrap();
    let after = |from: f64, to: f64| assert!((to - from - release).abs() < 0.01, "{from} to {to}");
    // Both at once.
    let [a, b] = cluster_barrier(0.0, "");
    assert_eq!(a, b);
    after(a.0, a.2);
    // One late, longer than a release: it waits as long as if both had come then.
    for late in [7.0, 2000.0] {
        let [a, b] = cluster_barrier(late, "");
        assert_eq!((b.0 - a.0, a.2), (late, b.2));
        after(b.0, b.2);
    }
}

#[test]
fn work_between_arriving_at_a_cluster_barrier_and_waiting_hides_its_release() {
    let release = warpline_models::embedded("h200").unwrap().get("sync.cluster").unwrap();
    // The work is over before the release: only what is left of it is waited for.
    let [a, b] = cluster_barrier(20.0, "alu fma 1 x 1 takes 200");
    assert_eq!((a.1 - a.0, b.1 - b.0), (201.0, 201.0));
    assert!((a.2 - b.0 - release).abs() < 0.01 && a.2 == b.2, "{a:?} {b:?}");
    // It is not: nobody waits.
    let [a, b] = cluster_barrier(20.0, "alu fma 1 x 1 takes 500");
    assert_eq!((a.1, b.1), (a.2, b.2));
    assert_eq!((a.2 - a.0, b.2 - b.0), (501.0, 501.0));
}

/// On paper and beside a machine's numbers: all go on so long after the last has come.
#[test]
fn a_cluster_barrier_of_its_own_cost_takes_that_for_all() {
    let kernel = "
          grid 1  cluster 2  warps 1
          all:
            if cta == 1: alu fma 1 x 1 takes 100
            cluster.sync takes 7
            alu fma 1 x 1 takes 3
        ";
    for name in ["paper", "h200"] {
        let machine = warpline_models::embedded(name).expect("it comes along");
        let options = RunOptions { timeline: Some(100), ..RunOptions::default() };
        let report = warpline_sim::run(&program(kernel), &machine, &options).expect("it runs");
        let t = report.timeline.expect("it was asked for");
        let of = |what| t.spans.iter().filter(move |s| s.what == what).map(|s| s.end - s.start).collect::<Vec<u64>>();
        assert_eq!(of(SpanKind::Stall(Stall::Cluster)), [107 * TICKS, 7 * TICKS], "{name}");
    }
}

/// Two statements copy the halves of a tile. The slot is filled once, with the tile.
#[test]
fn parts_of_a_tile_fill_a_slot_together() {
    let body = "
          grid 1  warps 2
          global A: f16[128, 64]
          shared s: f16[128, 64] swizzle 128
          all:
            cp A[0, 0].rows(0, 2) -> s.rows(0, 2)
            cp A[0, 0].rows(1, 2) -> s.rows(1, 2)
            commit cp
            wait cp <= 0
            barrier
    ";
    let machine = warpline_models::embedded("h200").expect("it comes along");
    let options = RunOptions { timeline: Some(1000), ..RunOptions::default() };
    let t = warpline_sim::run(&program(body), &machine, &options).expect("it runs").timeline.expect("it was asked for");
    let is_slot = |row: u32| matches!(t.rows[row as usize].kind, RowKind::Slot(_));
    let held: Vec<_> = t.spans.iter().filter(|s| is_slot(s.row)).map(|s| (s.what, s.label.to_string())).collect();
    let span = |filling| (SpanKind::Hold { filling }, "A[0, 0]".to_string());
    assert_eq!(held, [span(true), span(false)]);
}
