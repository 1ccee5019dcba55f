//! Facts about the seeds' pipelines that the tool must find: sizes, occupancy, times, groups in flight.

use std::collections::BTreeMap;

use warpline_sim::ir::{Instr, Op, Program, Queue};
use warpline_sim::machine::Machine;
use warpline_sim::protocol::{Rules, Step, StepEffect, StreamKind, WaitTarget, World};
use warpline_sim::report::{FindingKind, Outcome, Report, RunOptions};
use warpline_sim::timeline::{Engine, RowKind, Stall, TICKS, Timeline};

/// A built-in scenario with some of its values replaced; `machine.` keys are the machine's.
pub(crate) fn load(name: &str, set: &[(&str, f64)]) -> (Program, Machine) {
    load_on(None, name, set)
}

/// The same on another machine than the scenario's.
pub(crate) fn load_on(machine: Option<&str>, name: &str, set: &[(&str, f64)]) -> (Program, Machine) {
    let (file, text) = warpline_scenarios::embedded(name).expect("the scenario is built in");
    let scenario = warpline_scenarios::scenario(file, text).expect("the scenario reads");
    let (kernel, source) =
        warpline_scenarios::embedded_kernel_of(name, &scenario.kernel).expect("its kernel is built in");
    let mut machine = warpline_models::embedded(machine.unwrap_or(&scenario.machine)).expect("the machine is built in");
    let mut values: BTreeMap<String, i64> = scenario.set.clone();
    for (key, value) in set {
        match key.strip_prefix("machine.") {
            Some(key) => warpline_models::apply(&mut machine, key, *value).expect("the key exists"),
            None => {
                values.insert(key.to_string(), *value as i64);
            }
        }
    }
    let cores = machine.get("core.count").map(|c| c as i64);
    let inputs = warpline_scenarios::Inputs { set: &values, cores };
    let program = warpline_scenarios::compile_for(&machine.arch, kernel, source, &inputs).expect("the kernel compiles");
    (program, machine)
}

fn run(name: &str, set: &[(&str, f64)]) -> Report {
    let (program, machine) = load(name, set);
    warpline_sim::run(&program, &machine, &RunOptions::default()).expect("it runs")
}

fn record(name: &str, set: &[(&str, f64)]) -> (Program, Timeline) {
    let (program, machine) = load(name, set);
    let options = RunOptions { timeline: Some(1_000_000), ..RunOptions::default() };
    let report = warpline_sim::run(&program, &machine, &options).expect("it runs");
    (program, report.timeline.expect("it was asked for"))
}

#[test]
fn the_broken_scenarios_are_found_and_no_others() {
    let broken = [
        ("blackwell/level2_2sm", FindingKind::ParityAlias),
        ("blackwell/level2_2sm_8192", FindingKind::ParityAlias),
        ("hopper/cp_async_wgmma_no_fence", FindingKind::Fence),
        ("mla/fused_kv", FindingKind::Range),
        ("mla/proj_k16", FindingKind::Waw),
        ("mla/proj_k32", FindingKind::Waw),
        ("pipelined/plan_c", FindingKind::Raw),
    ];
    for name in warpline_scenarios::embedded_names() {
        // The museum's faults are many kinds, and some show only to the verifier: museum.rs.
        if name.starts_with("museum/") && name.ends_with("/bug") {
            continue;
        }
        let report = run(name, &[]);
        match broken.iter().find(|(b, _)| *b == name) {
            None => assert!(report.clean(), "{name}: {:?} {:?}", report.outcome, report.findings),
            Some((_, kind)) => {
                assert!(report.faults().any(|f| f.kind == *kind), "{name}: {:?}", report.findings);
            }
        }
    }
}

#[test]
fn shared_memory_of_the_metal_kernels() {
    let bytes = |name| run(name, &[("m", 64.0), ("n", 64.0), ("k", 64.0)]).shared_bytes;
    assert_eq!(bytes("metal/double_buffer"), 16_384);
    assert_eq!(bytes("metal/triple_buffer"), 24_576);
    assert_eq!(bytes("metal/decode_tile_m16"), 15_360);
    assert_eq!(bytes("metal/fused_dequant_hybrid"), 12_800);
}

/// Seed 000 says that 32 KB are a core's: then 24,576 bytes leave room for one threadgroup, 15,360 and 12,800 for two.
/// With the pool of about 60 KB that was measured on Apple 7 and 8 it is two and four (`models/m4-max.toml`).
#[test]
fn threadgroups_a_core_under_both_pools() {
    let resident = |name, pool: Option<f64>| {
        let set: Vec<_> = pool.map(|p| ("machine.limit.shared_per_core", p)).into_iter().collect();
        let by = run(name, &set).occupancy.by;
        by.into_iter().find(|(limit, _)| limit == "shared memory").expect("it uses shared memory").1
    };
    let kernels = ["metal/triple_buffer", "metal/decode_tile_m16", "metal/fused_dequant_hybrid", "metal/double_buffer"];
    assert_eq!(kernels.map(|k| resident(k, Some(32_768.0))), [1, 2, 2, 2]);
    assert_eq!(kernels.map(|k| resident(k, None)), [2, 4, 4, 3]);
}

#[test]
fn the_charts_of_seed_003_to_the_unit() {
    assert_eq!(run("timeline/naive", &[]).cycles, 18.0);
    assert_eq!(run("timeline/double_buffering", &[]).cycles, 10.5);
    assert_eq!(run("timeline/consistent", &[]).cycles, 16.0);
    assert_eq!(run("timeline/consistent", &[("prefetch", 0.0)]).cycles, 18.0);
    let steady = |prefetch| run("timeline/consistent", &[("prefetch", prefetch), ("tiles", 64.0)]).cycles_per_tile;
    assert_eq!(steady(1.0), Some(6.5));
    assert_eq!(steady(0.0), Some(9.0));
}

/// Steps all agents in turn and lands an agent's oldest copy only when that agent waits for it: what is in flight is
/// then at its most. Groups in flight of the first agent after each of its waits and after each of its commits.
fn groups_in_flight(program: &Program, rules: Rules) -> (Vec<usize>, Vec<usize>) {
    let mut world = World::new(program, rules, 0, &[]);
    let n = world.agents().len() as u32;
    let mut flights = vec![std::collections::VecDeque::new(); n as usize];
    let (mut after_wait, mut after_commit) = (Vec::new(), Vec::new());
    while !world.ended() {
        for a in 0..n {
            loop {
                match world.step(a, &mut ()) {
                    Step::Performed { pc, effect, .. } => {
                        if let StepEffect::Move(m) = effect {
                            flights[a as usize].extend(m.flights);
                        }
                        let op = match &program.code[pc as usize] {
                            Instr::Op { op, .. } if a == 0 => op,
                            _ => continue,
                        };
                        match op {
                            Op::Wait(Queue::Cp, _) => after_wait.push(world.outstanding(a, Queue::Cp)),
                            Op::Commit(Queue::Cp) => after_commit.push(world.outstanding(a, Queue::Cp)),
                            _ => {}
                        }
                    }
                    Step::Blocked { pc, on: WaitTarget::Own(_), .. } => {
                        let waits = matches!(&program.code[pc as usize], Instr::Op { op: Op::Wait(Queue::Cp, _), .. });
                        let is_copy = |f: u32| world.stream_of(f).is_some_and(|(_, kind)| kind == StreamKind::Cp);
                        let mine = &mut flights[a as usize];
                        let i = mine.iter().position(|&f| is_copy(f) == waits).expect("it waits for what is in flight");
                        let flight = mine.remove(i).expect("it is there");
                        world.land(flight, &mut ());
                    }
                    _ => break,
                }
            }
        }
    }
    (after_wait, after_commit)
}

#[test]
fn marlin_has_two_groups_in_flight_after_a_wait_and_three_after_a_commit() {
    let (program, machine) = load("ampere/marlin_4stage", &[("k", 1024.0)]);
    let (after_wait, after_commit) = groups_in_flight(&program, warpline_sim::engine::rules(&machine));
    // Towards the end the groups are empty, and an empty group is complete.
    let full = after_wait.len() - 4;
    assert!(full > 4 && after_wait[..full].iter().all(|&g| g == 2), "{after_wait:?}");
    assert_eq!(after_wait.last(), Some(&0));
    // The prologue builds up one, two, three.
    assert_eq!(after_commit[..3], [1, 2, 3]);
    assert!(after_commit[3..full].iter().all(|&g| g == 3), "{after_commit:?}");
}

/// When each tile's copy of A starts, by CTA.
fn copies(t: &Timeline, cta: u32) -> Vec<u64> {
    let row = t.rows.iter().position(|r| r.cta == cta && r.kind == RowKind::Engine(Engine::Copy)).expect("it copies");
    t.spans.iter().filter(|s| s.row as usize == row && s.label.starts_with("A[")).map(|s| s.start).collect()
}

/// Only the leader also waits for `full`, so only the peer's copies of a step start while the step before is in flight.
#[test]
fn in_level_2_the_peer_copies_one_step_ahead_of_the_leader() {
    let (_, t) = record("blackwell/level2_2sm", &[("m", 128.0), ("n", 128.0), ("k", 2048.0)]);
    let (leader, peer) = (copies(&t, 0), copies(&t, 1));
    assert_eq!(leader.len(), 32);
    for i in 2..31 {
        assert!(peer[i + 1] < leader[i + 1], "step {}: peer {} leader {}", i + 1, peer[i + 1], leader[i + 1]);
        let ahead = leader[i + 1] - peer[i + 1];
        assert!(ahead > 100 * TICKS, "the peer leads by {ahead} ticks only");
    }
}

#[test]
fn cluster_sync_in_the_loop_of_level_1_shows_as_a_stall() {
    let report = run("blackwell/level1_cluster_sync", &[]);
    let share = |s| report.roles.iter().map(|r| r.stalls.get(&s).copied().unwrap_or(0.0)).fold(0.0, f64::max);
    assert!(share(Stall::Cluster) > 0.08, "{:?}", report.roles);
    let level3 = run("blackwell/level3_two_loops", &[]);
    let none = level3.roles.iter().all(|r| r.stalls.get(&Stall::Cluster).copied().unwrap_or(0.0) < 0.05);
    assert!(none, "{:?}", level3.roles);
}

#[test]
fn a_scenario_ends_the_same_way_at_any_size() {
    for (m, k) in [(64.0, 32.0), (64.0, 64.0), (128.0, 96.0), (4096.0, 4096.0)] {
        let report = run("metal/triple_buffer", &[("m", m), ("n", 64.0), ("k", k)]);
        assert_eq!(report.outcome, Outcome::Finished);
        assert!(report.clean(), "m = {m}, k = {k}: {:?}", report.findings);
    }
}
