//! A machine's numbers from probes: one rule a key.
//!
//! No number here is fitted to a kernel. A key without a rule, or whose probe was not run, stays what it is.

use warpline_sim::machine::{KEYS, Kind, Machine};

use crate::measure::{Measurement, Measurements};

/// A number of a machine as the probes have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The key, of [`KEYS`].
    pub key: &'static str,
    /// The value, in the key's unit.
    pub value: f64,
    /// Smallest and largest of the repeats, by the same rule.
    pub spread: (f64, f64),
    /// Which probe, and how the number follows from it.
    pub source: String,
}

/// What is done with the machine's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The new number takes its place.
    Replaced,
    /// The vendor documents it: it stays, and the difference is shown.
    Documented,
    /// The machine had none.
    Added,
}

/// Key, probe, parameter, formula, and the formula in words. The formula reads the number, other rows and other keys.
type Rule = (&'static str, &'static str, f64, fn(f64, &Measurements, &Machine) -> f64, &'static str);

/// `launch.cta` has none: from the last store of a CTA to the first instruction of the next takes longer than an empty CTA
/// (`cta.queue`).
const RULES: &[Rule] = &[
    ("core.count", "device.cores", 1.0, |v, _, _| v, "the driver"),
    ("core.warp_size", "device.warp", 1.0, |v, _, _| v, "the driver"),
    ("limit.shared_per_core", "device.shared_per_core", 1.0, |v, _, _| v, "the driver"),
    ("limit.shared_per_cta", "device.shared_per_cta", 1.0, |v, _, _| v, "the driver"),
    ("limit.regs_per_core", "device.registers", 1.0, |v, _, _| v, "the driver"),
    ("limit.threads_per_cta", "device.threads_per_cta", 1.0, |v, _, _| v, "the driver"),
    ("memory.l2_bytes", "device.l2", 1.0, |v, _, _| v, "the driver"),
    ("memory.shared_latency", "shared.latency", 1.0, |v, _, _| v, "a chain of dependent ld.shared"),
    (
        "memory.l2_latency",
        "global.latency",
        4096.0,
        |v, _, _| v,
        "a chain of dependent ld.global.cg through 4 MB, in random order",
    ),
    (
        "memory.dram_latency",
        "global.latency",
        262_144.0,
        // What lies behind L2 takes time, not cycles of the cores: those that the probe counted are of the clock it had.
        |v, all, m| {
            let at = m.get("clock.latency_mhz").unwrap_or(f64::NAN) / other(all, "clock.fma", 1.0);
            let l2 = other(all, "global.latency", 4096.0);
            l2 + (v - l2) * at
        },
        "the same through 256 MB, met cold, with the TLB; what is beyond L2's at clock.latency_mhz",
    ),
    (
        "memory.dram_efficiency",
        "dram.read",
        1_073_741_824.0,
        |v, _, m| v / m.get("memory.dram_gbps").unwrap_or(f64::NAN),
        "1 GB read once by all cores, over memory.dram_gbps",
    ),
    ("mma.warp_latency", "mma.m16n8k16.latency", 1.0, |v, _, _| v, "a chain of dependent mma.sync m16n8k16"),
    (
        "mma.warp_interval",
        "mma.m16n8k16.interval",
        16.0,
        |v, _, m| v / 16.0 * m.get("core.schedulers").unwrap_or(f64::NAN),
        "16 warps with eight chains each, by scheduler",
    ),
    (
        "issue.shared_store",
        "st.shared.v4.issue",
        4.0,
        |v, _, m| v / m.get("core.schedulers").unwrap_or(f64::NAN),
        "four warps, by scheduler",
    ),
    ("issue.tma", "tma.tensor.issue", 2048.0, |v, _, _| v, "eight tensor copies back to back"),
    (
        "issue.cp_async",
        "cp.async.issue",
        16.0,
        |v, all, _| (16.0 * v - 8.0 * other(all, "cp.async.issue", 8.0)) / 8.0,
        "each of the last 8 of 16 back to back by one warp, addresses included",
    ),
    ("sync.mbarrier_arrive", "mbarrier.arrive.issue", 1.0, |v, _, _| v, "256 in a row by one thread"),
    (
        "sync.mbarrier_wait",
        "mbarrier.try_wait.complete",
        1.0,
        |v, _, _| v,
        "try_wait.parity of a complete phase, from wait to wait",
    ),
    ("sync.mbarrier_init", "mbarrier.init", 1.0, |v, _, _| v, "64 in a row by one thread"),
    ("sync.cluster", "cluster.sync", 2.0, |v, _, _| v, "cluster of 2"),
    ("sync.barrier_per_warp", "syncthreads", 32.0, |v, _, _| (v - 12.0) / 32.0, "32 warps, less 12, by warp"),
    ("launch.kernel_us", "launch.empty", 1.0, |v, _, _| v, "empty kernels of one CTA back to back in a stream"),
];

/// Another row's middle; no number where the probe was not run.
fn other(all: &Measurements, probe: &str, parameter: f64) -> f64 {
    all.get(probe, parameter).map_or(f64::NAN, |r| r.median)
}

/// The numbers that the probes give for a machine, in the order of [`KEYS`].
pub fn fit(machine: &Machine, measured: &Measurements) -> Vec<Fitted> {
    let mut all: Vec<Fitted> = RULES
        .iter()
        .filter_map(|(key, probe, parameter, formula, words)| {
            let m: &Measurement = measured.get(probe, *parameter)?;
            let (value, a, b) = (
                formula(m.median, measured, machine),
                formula(m.low, measured, machine),
                formula(m.high, measured, machine),
            );
            let source = format!("{probe} at {parameter}: {words}; {} repeats; {}", m.repeats, measured.device);
            (value.is_finite() && value >= 0.0).then(|| Fitted {
                key,
                value: round(value),
                spread: (round(a.min(b)), round(a.max(b))),
                source,
            })
        })
        .collect();
    all.sort_by_key(|f| KEYS.iter().position(|k| k.key == f.key));
    all
}

/// What becomes of the machine's own number.
pub fn fate(machine: &Machine, fitted: &Fitted) -> Fate {
    match machine.params.get(fitted.key) {
        None => Fate::Added,
        Some(p) if p.kind == Kind::Documented => Fate::Documented,
        Some(_) => Fate::Replaced,
    }
}

/// Three digits behind the point are more than any probe repeats to.
fn round(v: f64) -> f64 {
    (v * 1000.0).round() / 1000.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::machine_file::rewrite;
    use crate::{Deaf, Device, Recorded};
    use warpline_sim::machine::key_named;

    #[test]
    fn every_rule_names_a_key_and_has_a_record() {
        let measured = Recorded.probes(&Deaf).unwrap();
        for (key, probe, parameter, _, _) in RULES {
            assert!(key_named(key).is_some(), "{key}");
            assert!(measured.get(probe, *parameter).is_some(), "{probe} {parameter}");
        }
    }

    #[test]
    fn a_machine_file_is_read_back_with_the_fitted_numbers_and_the_documented_ones_unmoved() {
        let machine = warpline_models::embedded("h200").unwrap();
        let fitted = fit(&machine, &Recorded.probes(&Deaf).unwrap());
        assert_eq!(fitted.len(), RULES.len());
        let text = rewrite(warpline_models::text("h200").unwrap(), &machine, &fitted, "2026-11-21");
        let again = warpline_models::parse("x.toml", &text).unwrap();
        for (key, p) in &machine.params {
            let q = &again.params[key];
            match fitted.iter().find(|f| f.key == key && fate(&machine, f) != Fate::Documented) {
                Some(f) => assert_eq!((q.value, q.kind, q.spread), (f.value, Kind::Measured, Some(f.spread)), "{key}"),
                None => assert_eq!(p, q, "{key}"),
            }
        }
    }

    #[test]
    fn the_machine_is_what_the_command_writes_from_its_record() {
        let machine = warpline_models::embedded("h200").unwrap();
        let text = warpline_models::text("h200").unwrap();
        let again = rewrite(text, &machine, &fit(&machine, &Recorded.probes(&Deaf).unwrap()), "2026-11-22");
        assert_eq!(again.trim_end(), text.trim_end());
    }

    #[test]
    fn a_documented_number_is_shown_and_not_overwritten() {
        let machine = warpline_models::embedded("h200").unwrap();
        let gbps = Fitted { key: "memory.dram_gbps", value: 1.0, spread: (1.0, 1.0), source: "x".into() };
        assert_eq!(fate(&machine, &gbps), Fate::Documented);
        let text = warpline_models::text("h200").unwrap();
        assert_eq!(rewrite(text, &machine, &[gbps], "d").trim_end(), text.trim_end());
    }

    #[test]
    fn a_number_the_machine_lacks_is_added_to_its_table() {
        let machine = warpline_models::embedded("h200").unwrap();
        let new = Fitted { key: "limit.tmem_columns", value: 512.0, spread: (512.0, 512.0), source: "x".into() };
        assert_eq!(fate(&machine, &new), Fate::Added);
        let text = rewrite(warpline_models::text("h200").unwrap(), &machine, &[new], "d");
        assert_eq!(warpline_models::parse("x.toml", &text).unwrap().get("limit.tmem_columns"), Some(512.0));
    }
}
