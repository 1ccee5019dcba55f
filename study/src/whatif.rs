//! What-if: scales each resource and latency of the machine in turn, and ranks the gains of a kernel.

use rayon::prelude::*;
use warpline_sim::machine::Machine;

/// How a number of the machine acts on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Cycles of an action: less is better; free is 0.
    Latency,
    /// Work of a resource in a cycle or a second: more is better; free is unlimited.
    Rate,
    /// Amount of something: more is better.
    Capacity,
}

impl ParameterKind {
    /// The word used in tables.
    pub fn name(self) -> &'static str {
        match self {
            ParameterKind::Latency => "latency",
            ParameterKind::Rate => "rate",
            ParameterKind::Capacity => "capacity",
        }
    }
}

/// A change of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Twice as slow: a doubled latency, half a rate or capacity.
    Slower,
    /// Twice as fast: half a latency, a doubled rate or capacity.
    Faster,
    /// No latency; a rate or capacity that does not bind.
    Free,
}

impl Change {
    /// All changes, in the order of the columns.
    pub const ALL: [Change; 3] = [Change::Slower, Change::Faster, Change::Free];
}

/// Factor of a rate that no longer binds; a larger one makes no difference in ticks.
const UNBOUND: f64 = 1e6;
/// Factor of a capacity that no longer binds. More CTAs a core are not simulated for a what-if.
const PLENTY: f64 = 16.0;

/// A number of the machine, and the kernel's time with each change.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its key (`memory.l2_latency`).
    pub key: String,
    /// How it acts.
    pub sort: ParameterKind,
    /// Its value.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
    /// Kind of the number: documented, measured or estimated.
    pub kind: &'static str,
    /// Cycles with each of [`Change::ALL`], or why the kernel cannot run then.
    pub cycles: [Result<f64, String>; 3],
}

impl Row {
    /// Share of the time that a change saves; negative where it adds. `base` is the unchanged time.
    pub fn gain(&self, change: Change, base: f64) -> Option<f64> {
        let i = Change::ALL.iter().position(|c| *c == change)?;
        self.cycles[i].as_ref().ok().map(|c| 1.0 - c / base)
    }

    /// Whether any change moves the time by more than a thousandth.
    pub fn matters(&self, base: f64) -> bool {
        Change::ALL.into_iter().any(|c| self.gain(c, base).is_none_or(|g| g.abs() >= 0.001))
    }
}

/// How a number acts on time; `None` for numbers that are neither resource nor latency (sizes of instructions, the
/// clock).
pub fn sort_of(key: &str, unit: &str) -> Option<ParameterKind> {
    match (key, unit) {
        ("clock.mhz" | "clock.peak_mhz" | "launch.kernel_us", _) => None,
        (_, "cycles") => Some(ParameterKind::Latency),
        (_, "bytes/cycle" | "FLOP/cycle" | "lane-ops/cycle" | "rows/cycle" | "GB/s") => Some(ParameterKind::Rate),
        (
            "limit.shared_per_core"
            | "limit.regs_per_core"
            | "limit.warps_per_core"
            | "limit.ctas_per_core"
            | "memory.outstanding_per_core"
            | "memory.l2_bytes"
            | "memory.llc_bytes",
            _,
        ) => Some(ParameterKind::Capacity),
        _ => None,
    }
}

/// Latency of L2, and the latencies of paths through L2. Those are totals: each has the latency of L2 in it.
const L2: &str = "memory.l2_latency";
const THROUGH_L2: [&str; 5] =
    ["memory.l2_far_latency", "memory.llc_latency", "memory.dram_latency", "memory.dram_far_latency", "tma.latency"];

/// A machine with one number changed. The latency of L2 changes the totals that it is a part of by as many cycles.
fn changed(m: &Machine, key: &str, sort: ParameterKind, change: Change) -> Machine {
    let mut m = m.clone();
    let before = m.get(key);
    if let Some(p) = m.params.get_mut(key) {
        p.value = match (sort, change) {
            (ParameterKind::Latency, Change::Free) => 0.0,
            (ParameterKind::Rate, Change::Free) => p.value * UNBOUND,
            (ParameterKind::Capacity, Change::Free) => p.value * PLENTY,
            (ParameterKind::Latency, Change::Slower)
            | (ParameterKind::Rate | ParameterKind::Capacity, Change::Faster) => p.value * 2.0,
            (ParameterKind::Latency, Change::Faster) | (ParameterKind::Rate, Change::Slower) => p.value / 2.0,
            // Half of a counted amount is rounded down.
            (ParameterKind::Capacity, Change::Slower) => (p.value / 2.0).floor(),
        };
    }
    if let (L2, Some(before), Some(now)) = (key, before, m.get(key)) {
        for through in THROUGH_L2 {
            if let Some(p) = m.params.get_mut(through) {
                p.value = (p.value + now - before).max(0.0);
            }
        }
    }
    m
}

/// Every resource and latency of the machine in turn, largest gain first. `run` gives the cycles of the kernel on a
/// machine.
pub fn whatif(machine: &Machine, base: f64, run: &(dyn Fn(&Machine) -> Result<f64, String> + Sync)) -> Vec<Row> {
    let keys: Vec<(&String, ParameterKind)> =
        machine.params.iter().filter_map(|(key, p)| Some((key, sort_of(key, &p.unit)?))).collect();
    let mut rows: Vec<Row> = keys
        .into_par_iter()
        .map(|(key, sort)| {
            let p = &machine.params[key];
            let cycles = Change::ALL.map(|change| run(&changed(machine, key, sort, change)));
            Row { key: key.clone(), sort, value: p.value, unit: p.unit.clone(), kind: p.kind.name(), cycles }
        })
        .collect();
    let rank = |row: &Row| {
        let gain = |c| row.gain(c, base).unwrap_or(0.0);
        (gain(Change::Free), gain(Change::Faster), -gain(Change::Slower))
    };
    rows.sort_by(|a, b| {
        let (x, y) = (rank(a), rank(b));
        let by_gain = y.0.total_cmp(&x.0).then(y.1.total_cmp(&x.1)).then(y.2.total_cmp(&x.2));
        by_gain.then_with(|| a.key.cmp(&b.key))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use warpline_sim::machine::{Kind, Param, Vendor};

    fn machine() -> Machine {
        let p = |value, unit: &str| Param {
            value,
            unit: unit.into(),
            kind: Kind::Measured,
            source: "t".into(),
            spread: None,
        };
        let params = [
            ("memory.l2_latency", p(100.0, "cycles")),
            ("memory.dram_gbps", p(10.0, "GB/s")),
            ("limit.ctas_per_core", p(3.0, "CTAs")),
            ("core.warp_size", p(32.0, "threads")),
            ("clock.mhz", p(1000.0, "MHz")),
        ];
        Machine {
            name: "m".into(),
            title: "M".into(),
            vendor: Vendor::Paper,
            arch: "x".into(),
            params: params.into_iter().map(|(k, v)| (k.to_string(), v)).collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn each_number_is_scaled_alone_and_the_best_comes_first() {
        // A latency, then bytes over a rate; at least two CTAs.
        let run = |m: &Machine| match m.params["limit.ctas_per_core"].value {
            n if n < 2.0 => Err("too few".to_string()),
            _ => Ok(m.params["memory.l2_latency"].value + 3000.0 / m.params["memory.dram_gbps"].value),
        };
        let rows = whatif(&machine(), 400.0, &run);
        let keys: Vec<&str> = rows.iter().map(|r| r.key.as_str()).collect();
        assert_eq!(keys, ["memory.dram_gbps", "memory.l2_latency", "limit.ctas_per_core"]);
        let gains = |i: usize| Change::ALL.map(|c| rows[i].gain(c, 400.0));
        assert_eq!(gains(0)[..2], [Some(-0.75), Some(0.375)]);
        assert!((gains(0)[2].unwrap() - 0.75).abs() < 1e-5);
        assert_eq!(gains(1), [Some(-0.25), Some(0.125), Some(0.25)]);
        assert_eq!((gains(2), rows[2].cycles[0].clone()), ([None, Some(0.0), Some(0.0)], Err("too few".into())));
        assert!(rows.iter().all(|r| r.matters(400.0)));
    }

    #[test]
    fn the_latency_of_l2_is_a_part_of_the_latencies_behind_it() {
        let mut m = machine();
        for (key, value) in [("memory.dram_latency", 600.0), ("tma.latency", 80.0)] {
            m.params.insert(key.into(), Param { value, ..m.params[L2].clone() });
        }
        let values = |change| {
            let m = changed(&m, L2, ParameterKind::Latency, change);
            [L2, "memory.dram_latency", "tma.latency", "memory.dram_gbps"].map(|key| m.params[key].value)
        };
        assert_eq!(values(Change::Slower), [200.0, 700.0, 180.0, 10.0]);
        assert_eq!(values(Change::Faster), [50.0, 550.0, 30.0, 10.0]);
        // A stated latency can be smaller than that of a load.
        assert_eq!(values(Change::Free), [0.0, 500.0, 0.0, 10.0]);
        let dram = changed(&m, "memory.dram_latency", ParameterKind::Latency, Change::Slower);
        assert_eq!(dram.params[L2].value, 100.0);
    }
}
