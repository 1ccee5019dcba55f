//! Device fidelity: which bytes come from where, waves and tails, and that skipping repetitions changes nothing.
//! How well the times meet hardware is in `accuracy.rs`.

use std::collections::BTreeMap;

use warpline_sim::report::{Fidelity, Outcome, Report, RunOptions};

use crate::facts::load;

fn device() -> RunOptions {
    RunOptions { fidelity: Fidelity::Device, ..RunOptions::default() }
}

fn run(name: &str, set: &[(&str, f64)]) -> Report {
    let (program, machine) = load(name, set);
    let r = warpline_sim::run(&program, &machine, &device()).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(r.outcome, Outcome::Finished, "{name}");
    r
}

fn sizes(m: f64, n: f64, k: f64) -> [(&'static str, f64); 3] {
    [("m", m), ("n", n), ("k", k)]
}

#[test]
fn one_cta_reads_its_operands_once() {
    for name in ["hopper/cp_async_wgmma", "hopper/tma_wgmma"] {
        let r = run(name, &sizes(128.0, 128.0, 1024.0));
        assert_eq!(r.fidelity, Fidelity::Device);
        assert_eq!(r.dram_read_bytes, (128.0 + 128.0) * 1024.0 * 2.0, "{name}");
    }
}

#[test]
fn a_matrix_that_fits_is_read_once_whoever_reads_it() {
    // 32 MB in all, and a copy in the other half of the cache.
    let r = run("hopper/cp_async_wgmma", &sizes(2048.0, 2048.0, 2048.0));
    assert_eq!(r.dram_read_bytes, 2.0 * 2048.0 * 2048.0 * 2.0);
    assert_eq!(r.dram_write_bytes, 0.0, "the result is still in the cache");
    // A persistent kernel walks other tiles, but the same matrices.
    let p = run("hopper/persistent", &sizes(2048.0, 2048.0, 2048.0));
    assert_eq!(p.dram_read_bytes, r.dram_read_bytes);
}

#[test]
fn without_a_cache_every_load_comes_from_memory() {
    let tiny = [("m", 1024.0), ("n", 1024.0), ("k", 512.0), ("machine.memory.l2_bytes", 1024.0)];
    let r = run("hopper/tma_wgmma", &tiny);
    let ctas = 64.0;
    let loaded = ctas * (128.0 + 128.0) * 512.0 * 2.0;
    // CTAs of a wave that ask for one tile at one step are still served once for each half of the cache.
    assert!(r.dram_read_bytes < loaded && r.dram_read_bytes > 2.0 * 1024.0 * 512.0 * 2.0, "{}", r.dram_read_bytes);
    // Of what was written no more may stay than a part of the cache, and that is less than a tile.
    assert_eq!(r.dram_write_bytes, 1024.0 * 1024.0 * 2.0);
}

/// As many rows as half a wave has CTAs: column by column, every wave reads all of A.
const LARGE: [(&str, i64); 3] = [("m", 16384), ("n", 8192), ("k", 2048)];

#[test]
fn what_is_walked_in_groups_of_rows_is_read_less() {
    let (machine, values) =
        (warpline_models::embedded("h200").unwrap(), BTreeMap::from(LARGE.map(|(n, v)| (n.to_string(), v))));
    let (file, text) = warpline_scenarios::embedded_kernel("hopper/tma_wgmma").unwrap();
    let read = |text: &str| {
        let inputs = warpline_scenarios::Inputs { set: &values, cores: Some(132) };
        let program = warpline_scenarios::compile(file, text, &inputs).unwrap();
        warpline_sim::run(&program, &machine, &device()).unwrap().dram_read_bytes
    };
    let (grouped, by_columns) = (read(text), read(&text.replace(" group 8", "")));
    assert!(grouped < 0.8 * by_columns, "{grouped} against {by_columns}");
}

#[test]
fn one_cta_more_than_fits_is_another_wave() {
    // Two CTAs of three stages a core, 264 at a time.
    let full = run("hopper/cp_async_wgmma", &sizes(128.0 * 24.0, 128.0 * 11.0, 1024.0));
    let more = run("hopper/cp_async_wgmma", &sizes(128.0 * 24.0, 128.0 * 12.0, 1024.0));
    assert_eq!((full.waves, more.waves), (1, 2));
    // The tail leaves most cores idle, so each of the others has its work alone on a core and more of the memory.
    assert!(more.cycles > 1.3 * full.cycles && more.cycles < 2.0 * full.cycles, "{} {}", full.cycles, more.cycles);
}

#[test]
fn skipping_repetitions_changes_nothing() {
    let cases: [(&str, &[(&str, f64)]); 4] = [
        ("hopper/cp_async_wgmma", &[("m", 8192.0), ("n", 8192.0), ("k", 512.0)]),
        ("hopper/tma_warp_specialized", &[("m", 8192.0), ("n", 8192.0), ("k", 256.0)]),
        ("metal/double_buffer", &[("m", 4096.0), ("n", 4096.0), ("k", 128.0)]),
        ("cdna/ping_pong", &[("m", 16384.0), ("n", 16384.0), ("k", 256.0)]),
    ];
    let mut skipped = 0;
    for (name, set) in cases {
        let (program, machine) = load(name, set);
        let whole = RunOptions { skip_repeats: false, ..device() };
        let mut a = warpline_sim::run(&program, &machine, &device()).unwrap();
        let mut b = warpline_sim::run(&program, &machine, &whole).unwrap();
        skipped += (a.ctas_simulated < b.ctas_simulated) as u32;
        for r in [&mut a, &mut b] {
            (r.events, r.ctas_simulated) = (0, 0);
        }
        assert_eq!(a, b, "{name}");
    }
    assert!(skipped > 0, "nothing was skipped, so nothing was tried");
}

#[test]
fn tiles_that_are_handed_out_leave_a_run_at_core_fidelity() {
    let r = run("correct/thunderkittens_clc", &[]);
    assert_eq!((r.fidelity, r.launch_cycles), (Fidelity::Core, 0.0));
}

#[test]
fn at_core_fidelity_too_each_cta_asks_for_its_own_tiles() {
    for name in ["hopper/tma_warp_specialized", "hopper/persistent", "hopper/pingpong"] {
        let (program, machine) = load(name, &[]);
        let core =
            warpline_sim::run(&program, &machine, &RunOptions { fidelity: Fidelity::Core, ..RunOptions::default() });
        let (core, device) = (core.unwrap().dram_read_bytes, run(name, &[]).dram_read_bytes);
        assert!((0.9..1.1).contains(&(core / device)), "{name}: {core} {device}");
    }
}

#[test]
fn latency_behind_l2_takes_the_same_time_at_another_clock() {
    // One CTA, two stages, cold: nothing but round trips to memory.
    let step = |mhz: f64| {
        let set = [("m", 128.0), ("n", 128.0), ("k", 8192.0), ("stages", 2.0), ("machine.clock.mhz", mhz)];
        run("hopper/tma_wgmma", &set).cycles_per_tile.unwrap()
    };
    let (slow, fast) = (step(1400.0), step(1980.0));
    assert!(fast > slow + 100.0, "{slow} {fast}");
}
