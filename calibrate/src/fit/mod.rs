//! A machine's numbers from probes, with one rule for each key.
//!
//! No number is fitted to a kernel. A key without a rule, or whose probe did not run, keeps its value.

mod amd;
mod apple;
mod nvidia;

use warpline_sim::machine::{KEYS, Kind, Machine, Vendor};

use crate::measure::{Measurement, Measurements};

/// A number of a machine, derived from probes.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Key, of [`KEYS`].
    pub key: &'static str,
    /// Value, in the key's unit.
    pub value: f64,
    /// Smallest and largest value of the repeats, by the same rule.
    pub spread: (f64, f64),
    /// Source: which probe, and how the number follows from it.
    pub source: String,
}

/// Effect of a fitted number on the machine's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitEffect {
    /// It replaces the machine's number.
    Replaced,
    /// The vendor documents the machine's number, which stays; the difference is shown.
    Documented,
    /// The machine had none.
    Added,
}

/// Key, probe, parameter, formula, and the formula in words. The formula reads the number, other rows and other keys.
/// It gives NaN if the key does not apply to the machine.
type Rule = (&'static str, &'static str, f64, fn(f64, &Measurements, &Machine) -> f64, &'static str);

/// The rules for a vendor's machines. Those for CDNA and Apple were never applied by us to measurements of a device.
fn rules(vendor: Vendor) -> &'static [Rule] {
    match vendor {
        Vendor::Nvidia => nvidia::RULES,
        Vendor::Amd => amd::RULES,
        Vendor::Apple => apple::RULES,
        Vendor::Paper => &[],
    }
}

/// A key of the machine; NaN if the machine has none.
fn key(machine: &Machine, key: &str) -> f64 {
    machine.get(key).unwrap_or(f64::NAN)
}

/// The median of another row; NaN if the probe did not run.
fn other(all: &Measurements, probe: &str, parameter: f64) -> f64 {
    all.get(probe, parameter).map_or(f64::NAN, |r| r.median)
}

/// The numbers that probes give for a machine, in the order of [`KEYS`].
pub fn fit(machine: &Machine, measured: &Measurements) -> Vec<Fitted> {
    let mut all: Vec<Fitted> = rules(machine.vendor)
        .iter()
        .filter_map(|(key, probe, parameter, formula, words)| {
            let m: &Measurement = measured.get(probe, *parameter)?;
            let (value, a, b) = (
                formula(m.median, measured, machine),
                formula(m.low, measured, machine),
                formula(m.high, measured, machine),
            );
            let source = format!("{probe} at {parameter}: {words}; {} repeats; {}", m.repeats, measured.device);
            let right = [value, a, b].iter().all(|v| v.is_finite()) && value >= 0.0;
            right.then(|| Fitted {
                key,
                value: round(value),
                // A small difference of large numbers can be negative.
                spread: (round(a.min(b).max(0.0)), round(a.max(b))),
                source,
            })
        })
        .collect();
    all.sort_by_key(|f| KEYS.iter().position(|k| k.key == f.key));
    all
}

/// Effect of a fitted number on the machine's own number.
pub fn fate(machine: &Machine, fitted: &Fitted) -> FitEffect {
    match machine.params.get(fitted.key) {
        None => FitEffect::Added,
        Some(p) if p.kind == Kind::Documented => FitEffect::Documented,
        Some(_) => FitEffect::Replaced,
    }
}

/// No probe repeats to more than three decimals.
fn round(v: f64) -> f64 {
    (v * 1000.0).round() / 1000.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::machine_file::rewrite;
    use crate::{Device, NoListener, Recorded};
    use warpline_sim::machine::key_named;

    #[test]
    fn every_rule_names_a_key_and_has_a_record() {
        let measured = Recorded.probes(&NoListener).unwrap();
        for (key, probe, parameter, _, _) in nvidia::RULES {
            assert!(key_named(key).is_some(), "{key}");
            assert!(measured.get(probe, *parameter).is_some(), "{probe} {parameter}");
        }
    }

    /// Rows as a device would print them. Every number is invented: no device printed any of this.
    fn made_up(rules: &[Rule]) -> Measurements {
        let mut rows = String::from("# device: made up\nprobe,parameter,unit,median,low,high,repeats\n");
        for (i, (_, probe, parameter, _, _)) in rules.iter().enumerate() {
            let v = 1000 + i;
            rows += &format!("{probe},{parameter},x,{v},{},{},21\n", v - 1, v + 1);
        }
        Measurements::parse(&rows).unwrap()
    }

    #[test]
    fn what_cdna_and_apple_rules_name_is_measured_and_in_the_machines() {
        let probe = include_str!("../../probes/cdna.hip").to_string() + include_str!("../hip/asked.rs");
        // Rows whose parameter is no literal beside their name.
        let others = [
            ("s_barrier", "int w : {2, 4, 8, 16}"),
            ("global.latency", "size_t kb : {8u, 1024u, 65536u, 2097152u}"),
            ("dram.read", "size_t big = 4294967296;"),
        ];
        let printed = |name: &str, parameter: f64| {
            let said = parameter == 1.0 && probe.contains(&format!("(\"{name}\", \""));
            let row = probe.contains(&format!("\"{name}\", {parameter},"));
            let other =
                |(n, text): &(&str, &str)| *n == name && text.contains(&parameter.to_string()) && probe.contains(text);
            said || row || others.iter().any(other)
        };
        for (key, name, parameter, _, _) in amd::RULES {
            assert!(printed(name, *parameter), "nothing prints {name} at {parameter}");
            assert!(warpline_models::embedded("mi300x").unwrap().get(key).is_some(), "{key}");
        }
        for (key, name, parameter, _, _) in apple::RULES {
            assert!(crate::metal::measures(name, *parameter), "nothing measures {name} at {parameter}");
            assert!(warpline_models::embedded("m4-max").unwrap().get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn made_up_rows_of_cdna_become_numbers() {
        let machine = warpline_models::embedded("mi300x").unwrap();
        let mut rows = made_up(amd::RULES);
        let mut set = |probe: &str, parameter: f64, median: f64| {
            let row = rows.rows.iter_mut().find(|r| r.probe == probe && r.parameter == parameter).unwrap();
            (row.median, row.low, row.high) = (median, median, median);
        };
        set("device.cores", 1.0, 152.0);
        set("dram.read", 4_294_967_296.0, 2120.0);
        set("s_barrier", 4.0, 40.0);
        set("s_barrier", 16.0, 64.0);
        set("mfma.f16.interval", 16.0, 16.5);
        set("mfma.f16.interval", 32.0, 99.0);
        rows.rows.iter_mut().find(|r| r.probe == "s_barrier" && r.parameter == 16.0).unwrap().low = 39.0;
        let fitted = fit(&machine, &rows);
        let value = |key: &str| fitted.iter().find(|f| f.key == key).map(|f| f.value);
        // Half of the machine's compute units reach half of its memory.
        assert_eq!(value("memory.dram_efficiency"), Some(0.8));
        assert_eq!((value("sync.barrier"), value("sync.barrier_per_warp")), (Some(32.0), Some(2.0)));
        // The product of the machine's numbers is 16 deep.
        assert_eq!(value("mma.warp_interval"), Some(16.5));
        assert_eq!(value("core.count"), Some(152.0));
        // A difference may be negative at one end; a machine file may not have that.
        assert!(
            fitted.iter().all(|f| f.spread.0 >= 0.0 && f.spread.0 <= f.value && f.value <= f.spread.1),
            "{fitted:?}"
        );
        // A machine without a last-level cache gets none.
        let older = warpline_models::embedded("mi250x").unwrap();
        assert!(fit(&older, &rows).iter().all(|f| f.key != "memory.llc_latency"));
        let newer = warpline_models::embedded("mi355x").unwrap();
        let interval = fit(&newer, &rows).into_iter().find(|f| f.key == "mma.warp_interval").unwrap();
        assert_eq!(interval.value, 99.0);
    }

    #[test]
    fn made_up_rows_of_apple_become_cycles() {
        let mut machine = warpline_models::embedded("m4-max").unwrap();
        machine.params.get_mut("clock.mhz").unwrap().value = 1500.0;
        let mut rows = made_up(apple::RULES);
        let mut set = |probe: &str, parameter: f64, median: f64| {
            let row = rows.rows.iter_mut().find(|r| r.probe == probe && r.parameter == parameter).unwrap();
            (row.median, row.low, row.high) = (median, median, median);
        };
        set("device.latency", 256.0, 60.0);
        set("threadgroup_barrier", 4.0, 20.0);
        set("threadgroup_barrier", 32.0, 48.0);
        set("simdgroup_matrix.rate", 16.0, 0.375);
        set("fma.rate", 32.0, 192.0);
        let fitted = fit(&machine, &rows);
        let value = |key: &str| fitted.iter().find(|f| f.key == key).unwrap().value;
        assert_eq!(value("memory.l2_latency"), 90.0);
        assert_eq!((value("sync.barrier"), value("sync.barrier_per_warp")), (24.0, 1.5));
        assert_eq!((value("mma.warp_interval"), value("alu.fma_per_clk")), (16.0, 128.0));
    }

    #[test]
    fn a_machine_file_is_read_back_with_the_fitted_numbers_and_the_documented_ones_unmoved() {
        let machine = warpline_models::embedded("h200").unwrap();
        let fitted = fit(&machine, &Recorded.probes(&NoListener).unwrap());
        assert_eq!(fitted.len(), nvidia::RULES.len());
        let text = rewrite(warpline_models::text("h200").unwrap(), &machine, &fitted, "2026-11-21");
        let again = warpline_models::parse("x.toml", &text).unwrap();
        for (key, p) in &machine.params {
            let q = &again.params[key];
            match fitted.iter().find(|f| f.key == key && fate(&machine, f) != FitEffect::Documented) {
                Some(f) => assert_eq!((q.value, q.kind, q.spread), (f.value, Kind::Measured, Some(f.spread)), "{key}"),
                None => assert_eq!(p, q, "{key}"),
            }
        }
    }

    #[test]
    fn the_machine_is_what_the_command_writes_from_its_record() {
        let machine = warpline_models::embedded("h200").unwrap();
        let text = warpline_models::text("h200").unwrap();
        let again = rewrite(text, &machine, &fit(&machine, &Recorded.probes(&NoListener).unwrap()), "2026-11-22");
        assert_eq!(again.trim_end(), text.trim_end());
    }

    #[test]
    fn a_documented_number_is_shown_and_not_overwritten() {
        let machine = warpline_models::embedded("h200").unwrap();
        let gbps = Fitted { key: "memory.dram_gbps", value: 1.0, spread: (1.0, 1.0), source: "x".into() };
        assert_eq!(fate(&machine, &gbps), FitEffect::Documented);
        let text = warpline_models::text("h200").unwrap();
        assert_eq!(rewrite(text, &machine, &[gbps], "d").trim_end(), text.trim_end());
    }

    #[test]
    fn a_number_the_machine_lacks_is_added_to_its_table() {
        let machine = warpline_models::embedded("h200").unwrap();
        let new = Fitted { key: "limit.tmem_columns", value: 512.0, spread: (512.0, 512.0), source: "x".into() };
        assert_eq!(fate(&machine, &new), FitEffect::Added);
        let text = rewrite(warpline_models::text("h200").unwrap(), &machine, &[new], "d");
        assert_eq!(warpline_models::parse("x.toml", &text).unwrap().get("limit.tmem_columns"), Some(512.0));
    }
}
