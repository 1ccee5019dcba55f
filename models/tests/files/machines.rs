//! The embedded machines compared with documents and with each other.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use warpline_models::{describe, embedded, names, parse, render, text};
use warpline_sim::machine::{KEYS, Kind, Machine, Vendor, key_named};

fn machine(name: &str) -> Machine {
    parse(&format!("{name}.toml"), text(name).unwrap()).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn all() -> Vec<Machine> {
    names().into_iter().map(machine).collect()
}

#[test]
fn every_file_is_embedded_and_is_called_as_its_machine() {
    let mut files: Vec<String> = std::fs::read_dir(env!("CARGO_MANIFEST_DIR"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_string))
        .filter(|stem| stem != "Cargo")
        .collect();
    files.sort();
    assert_eq!(files, names());
    for name in names() {
        assert_eq!(machine(name).name, name);
        assert_eq!(embedded(name), Some(machine(name)));
    }
    assert_eq!(embedded("h900"), None);
}

#[test]
fn keys_are_unique() {
    for (i, key) in KEYS.iter().enumerate() {
        assert!(KEYS[..i].iter().all(|k| k.key != key.key), "{}", key.key);
    }
}

#[test]
fn numbers_are_in_their_units_and_have_a_source() {
    for m in all() {
        for (key, p) in &m.params {
            assert_eq!(p.unit, key_named(key).unwrap().unit, "{}: {key}", m.name);
            assert!(p.source.len() >= "definition".len(), "{}: {key}: {}", m.name, p.source);
        }
    }
}

#[test]
fn estimates_say_how_far_off_they_may_be() {
    for m in all() {
        for (key, p) in &m.params {
            assert!(p.kind != Kind::Estimated || p.spread.is_some(), "{}: {key} has no spread", m.name);
        }
    }
}

/// A number of another chip is an estimate, however well it was measured there.
#[test]
fn stand_ins_are_estimates() {
    for m in all() {
        for (key, p) in &m.params {
            assert!(!p.source.starts_with("stand-in") || p.kind == Kind::Estimated, "{}: {key}", m.name);
        }
    }
}

/// TFLOPS (f16, dense) that vendors state; for Apple, which states none, computed from the ALUs.
#[test]
fn peaks_are_those_of_the_documents() {
    let stated = [
        ("v100", 125.0),
        ("a100", 312.0),
        ("h100", 989.4),
        ("h200", 989.4),
        ("b200", 2250.0),
        ("mi250x", 383.0),
        ("mi300x", 1307.4),
        ("mi355x", 2516.0),
        ("m4-max", 16.16),
        ("m4-max-32", 12.93),
        ("rtx-pro-6000", 426.7), // measured: what NVIDIA states is with f16 accumulators or sparse
    ];
    assert_eq!(stated.len() + 1, names().len(), "every machine but paper");
    for (name, tflops) in stated {
        let m = machine(name);
        let get = |key| m.get(key).unwrap_or_else(|| panic!("{name} has no {key}"));
        let computed = get("core.count") * get("mma.f16_flop_per_clk") * get("clock.peak_mhz") / 1e6;
        assert!((computed / tflops - 1.0).abs() < 0.005, "{name}: {computed} of {tflops} TFLOPS");
    }
}

/// The warp-level matrix instruction on all schedulers gives the rate of the core. Where it does not, the source of
/// `mma.warp_interval` says which share it reaches in per cent, or that it was measured.
#[test]
fn warp_level_matrix_rates_add_up() {
    for m in all().iter().filter(|m| m.vendor != Vendor::Paper) {
        let get = |key| m.get(key).unwrap_or_else(|| panic!("{} has no {key}", m.name));
        // Two operations in a multiply-add, two bytes in an f16 element: the factors cancel.
        let flop = get("mma.warp_m") * get("mma.warp_n") * get("mma.warp_k_bytes");
        let rate = flop / get("mma.warp_interval") * get("core.schedulers");
        let share = rate / get("mma.f16_flop_per_clk");
        let source = &m.params["mma.warp_interval"].source;
        if source.starts_with("warpline calibrate") {
            // A measured number may be anything.
            assert!(share < 1.02, "{}: {share:.3} of the rate", m.name);
            continue;
        }
        let said = share_in(source).unwrap_or(1.0);
        assert!((share - said).abs() < 0.02, "{}: {share:.3} of the rate, said {said}: {source}", m.name);
    }
}

/// 0.6 of "... reaches 60 % of mma.f16_flop_per_clk ...".
fn share_in(source: &str) -> Option<f64> {
    let (before, _) = source.split_once(" % of mma.f16_flop_per_clk")?;
    let percent = before.rsplit(' ').next()?;
    Some(percent.parse::<f64>().unwrap() / 100.0)
}

#[test]
fn occupancy_limits_are_consistent() {
    for m in all() {
        let get = |key| m.get(key).unwrap_or_else(|| panic!("{} has no {key}", m.name));
        assert!(
            get("limit.shared_per_cta") + get("limit.shared_reserved") <= get("limit.shared_per_core"),
            "{}",
            m.name
        );
        assert!(get("limit.threads_per_cta") <= get("limit.warps_per_core") * get("core.warp_size"), "{}", m.name);
        assert!(get("clock.mhz") <= 1.05 * get("clock.peak_mhz"), "{}", m.name);
        assert_eq!(get("core.count") % get("memory.l2_domains"), 0.0, "{}", m.name);
    }
}

#[test]
fn memory_gets_slower_with_distance() {
    let way = ["shared_latency", "l1_latency", "l2_latency", "l2_far_latency", "llc_latency", "dram_latency"];
    for m in all().iter().filter(|m| m.vendor != Vendor::Paper) {
        let latencies: Vec<f64> = way.iter().filter_map(|k| m.get(&format!("memory.{k}"))).collect();
        // On Apple and AMD the first level is barely nearer than shared memory, and never nearer.
        assert!(latencies.is_sorted(), "{}: {latencies:?}", m.name);
    }
}

/// Groups of keys that exist together on some machines only.
#[test]
fn absence_is_a_fact() {
    let has = |name: &str, prefix: &str| machine(name).params.keys().any(|k| k.starts_with(prefix));
    let table: &[(&str, &[&str])] = &[
        ("tma.", &["h100", "h200", "b200"]),
        ("issue.tma", &["h100", "h200", "b200"]),
        ("wgmma.", &["h100", "h200"]),
        ("umma.", &["b200"]),
        ("issue.umma", &["b200"]),
        ("tmem.", &["b200"]),
        ("limit.tmem", &["b200"]),
        ("limit.cluster", &["h100", "h200", "b200"]),
        ("sync.cluster", &["h100", "h200", "b200"]),
        ("sync.setmaxnreg", &["h100", "h200", "b200"]),
        ("sync.fence_async", &["h100", "h200", "b200"]),
        ("sync.mbarrier_remote", &["h100", "h200", "b200"]),
        ("sync.mbarrier_arrive", &["a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("sync.mbarrier_wake", &["a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("sync.mbarrier_init", &["a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("issue.cp_async", &["a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("memory.cp_async_extra", &["a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("sync.mbarrier_wait", &["a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("limit.named_barriers", &["v100", "a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("sync.named", &["v100", "a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("limit.vmcnt", &["mi250x", "mi300x", "mi355x"]),
        ("limit.lgkmcnt", &["mi250x", "mi300x", "mi355x"]),
        ("limit.dma_bytes_per_lane", &["mi250x", "mi300x", "mi355x"]),
        ("memory.llc_", &["m4-max", "m4-max-32", "mi300x", "mi355x"]),
        ("memory.l2_far_latency", &["a100", "h100", "h200", "b200"]),
        ("memory.l2_slices_bytes_per_clk", &["h100", "h200", "b200"]),
        ("memory.l2_stored_bytes_per_clk", &["h100", "h200"]),
        ("memory.l2_filled_bytes_per_clk", &["h100", "h200"]),
        ("memory.l2_merged", &["h100", "h200"]),
        ("memory.l2_group_", &["h100", "h200"]),
        ("mma.warp_beside", &["h100", "h200"]),
        ("memory.load_lines_per_clk", &["h100", "h200"]),
        ("memory.copy_bytes_per_clk", &["h100", "h200"]),
        ("memory.l2_half_cores", &["h100", "h200"]),
        ("memory.l2_round", &["h100", "h200"]),
        ("memory.l2_uneven", &["h100", "h200"]),
        ("memory.l2_half_later", &["h100", "h200"]),
        ("memory.l2_group_spread", &["h100", "h200"]),
        ("memory.l2_kept", &["h100", "h200"]),
        ("memory.l2_dirty", &["h100", "h200"]),
        ("memory.store_bytes_per_clk", &["h100", "h200"]),
        ("memory.line_bytes", &["h100", "h200"]),
        ("memory.dram_far_latency", &["h100", "h200"]),
        ("memory.dram_far_lines", &["h100", "h200"]),
        ("clock.latency_mhz", &["h100", "h200"]),
        ("clock.l2_mhz", &["h100", "h200"]),
        ("clock.sustained_", &["h100", "h200"]),
        ("memory.l2_atomics_per_clk", &["h100", "h200"]),
        ("alu.latency", &["v100", "a100", "h100", "h200", "b200", "rtx-pro-6000"]),
        ("launch.device_us", &["h100", "h200"]),
        ("launch.ctas_per_clk", &["h100", "h200"]),
        ("memory.dram_turnaround", &["h100", "h200"]),
        ("memory.dram_busy", &["h100", "h200"]),
        ("memory.dram_queue", &["h100", "h200"]),
        ("memory.l1_bytes", &["h100", "h200"]),
        ("memory.dram_stored", &["h100", "h200"]),
        ("memory.l2_stepped", &["h100", "h200"]),
        ("memory.l2_queue", &["h100", "h200"]),
        ("sync.fence_gpu", &["h100", "h200"]),
        ("sync.fence_atomic", &["h100", "h200"]),
    ];
    for (prefix, with) in table {
        for name in names() {
            let expected = with.contains(&name) || name == "paper";
            assert_eq!(has(name, prefix), expected, "{name}: {prefix}");
        }
    }
    // Every machine has the keys that every kernel needs.
    let special: Vec<&str> = table.iter().map(|(prefix, _)| *prefix).collect();
    let optional = ["mma.fp8_flop_per_clk", "mma.tf32_flop_per_clk", "mma.f32_flop_per_clk"];
    for m in all() {
        for key in KEYS.iter().map(|k| k.key) {
            let needed = !special.iter().any(|p| key.starts_with(p)) && !optional.contains(&key);
            assert!(!needed || m.get(key).is_some(), "{} has no {key}", m.name);
        }
    }
}

#[test]
fn paper_is_made_of_definitions() {
    let paper = machine("paper");
    assert_eq!(paper.vendor, Vendor::Paper);
    for key in KEYS {
        let p = paper.params.get(key.key).unwrap_or_else(|| panic!("paper has no {}", key.key));
        assert_eq!((p.kind, p.source.as_str()), (Kind::Documented, "definition"), "{}", key.key);
        if key.unit == "cycles" || key.unit == "us" {
            assert_eq!(p.value, 0.0, "{}", key.key);
        }
    }
}

/// The two bins of the M4 Max differ only in cores, bandwidth, and what follows from them.
#[test]
fn the_bins_of_the_m4_max_differ_only_in_size() {
    let (big, small) = (machine("m4-max"), machine("m4-max-32"));
    let differ: Vec<&str> = KEYS
        .iter()
        .map(|k| k.key)
        .filter(|k| big.params.get(*k).map(|p| p.value) != small.params.get(*k).map(|p| p.value))
        .collect();
    assert_eq!(differ, ["core.count", "memory.dram_gbps"]);
}

#[test]
fn a_machine_is_listed_in_the_order_of_the_keys() {
    let rows = describe(&machine("h200"));
    assert_eq!(rows.len(), machine("h200").params.len());
    let table = render(&rows);
    assert!(table.starts_with("clock.mhz"), "{table}");
    let line = table.lines().find(|l| l.starts_with("memory.l2_latency ")).unwrap();
    assert!(line.contains(" 287.278 cycles "), "{line}");
    assert!(line.contains("286.318 .. 288.165"), "{line}");
    assert!(line.contains(" measured "), "{line}");
    assert!(line.contains("global.latency at 4096"), "{line}");
    assert_eq!(render(&[]), "");
}
