//! The interval that the spread of a machine's numbers gives a time.
//!
//! Each number with a spread is set to its low and to its high end in turn, and the kernel runs again. The largest
//! changes of the time downward and upward of the numbers are combined in quadrature, as for independent errors. Effects
//! of two numbers together are not included.

use rayon::prelude::*;
use warpline_sim::machine::Machine;

/// The time with one number at the ends of its spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The number's key (`memory.l2_latency`).
    pub key: String,
    /// Kind of the number: documented, measured or estimated.
    pub kind: &'static str,
    /// The ends of its spread.
    pub ends: [f64; 2],
    /// Cycles with each end, or why the kernel cannot run there.
    pub cycles: [Result<f64, String>; 2],
}

impl Effect {
    /// Shortest and longest of the times, `base` included.
    fn range(&self, base: f64) -> (f64, f64) {
        self.cycles.iter().flatten().fold((base, base), |(low, high), c| (low.min(*c), high.max(*c)))
    }

    /// Whether an end changes the time, or the kernel cannot run there.
    fn matters(&self, base: f64) -> bool {
        self.range(base) != (base, base) || self.cycles.iter().any(Result::is_err)
    }
}

/// The interval of a time, and the numbers that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The lower end, in cycles.
    pub low_cycles: f64,
    /// The upper end, in cycles.
    pub high_cycles: f64,
    /// Number of machine numbers with a spread.
    pub numbers: usize,
    /// Those that change the time, largest change first. Numbers at whose ends the kernel cannot run are among them, and
    /// such an end is not in the interval.
    pub effects: Vec<Effect>,
}

/// The ends of a number's spread. Clocks have none: a time in cycles is at the clock of the run.
fn ends(machine: &Machine, key: &str) -> Option<[f64; 2]> {
    let (low, high) = machine.params.get(key)?.spread?;
    (low < high && !key.starts_with("clock.")).then_some([low, high])
}

/// The interval for a time of `base` cycles. `run` gives the cycles of the kernel on a machine.
pub fn spread(machine: &Machine, base: f64, run: &(dyn Fn(&Machine) -> Result<f64, String> + Sync)) -> Spread {
    let numbers: Vec<_> = machine.params.iter().filter_map(|(key, p)| Some((key, p, ends(machine, key)?))).collect();
    let effect = |(key, p, ends): &(&String, &warpline_sim::machine::Param, [f64; 2])| {
        let cycles = ends.map(|end| {
            let mut changed = machine.clone();
            if let Some(p) = changed.params.get_mut(*key) {
                p.value = end;
            }
            run(&changed)
        });
        Effect { key: (*key).clone(), kind: p.kind.name(), ends: *ends, cycles }
    };
    let mut effects: Vec<Effect> = numbers.par_iter().map(effect).collect();
    effects.retain(|e| e.matters(base));
    let size = |e: &Effect| {
        let (low, high) = e.range(base);
        high - low
    };
    effects.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.key.cmp(&b.key)));
    let quadrature =
        |of: &dyn Fn((f64, f64)) -> f64| effects.iter().map(|e| of(e.range(base)).powi(2)).sum::<f64>().sqrt();
    let (below, above) = (quadrature(&|(low, _)| base - low), quadrature(&|(_, high)| high - base));
    Spread { low_cycles: (base - below).max(0.0), high_cycles: base + above, numbers: numbers.len(), effects }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose numbers have these spreads.
    fn machine(spreads: &[(&str, f64, (f64, f64))]) -> Machine {
        let mut m = warpline_models::embedded("h200").unwrap();
        m.params.values_mut().for_each(|p| p.spread = None);
        for (key, value, spread) in spreads {
            let p = m.params.get_mut(*key).unwrap();
            (p.value, p.spread) = (*value, Some(*spread));
        }
        m
    }

    #[test]
    fn independent_changes_add_in_quadrature_and_each_direction_counts_for_itself() {
        let m = machine(&[
            ("memory.l2_latency", 100.0, (97.0, 130.0)),
            ("memory.l2_bytes_per_clk", 50.0, (46.0, 90.0)),
            ("sync.barrier", 20.0, (10.0, 30.0)),
            ("clock.mhz", 1000.0, (1.0, 2000.0)),
        ]);
        // A lower rate adds to the time, a lower latency takes from it, the barrier does not count.
        let run = |m: &Machine| {
            let get = |key| m.get(key).unwrap();
            Ok(1000.0 + get("memory.l2_latency") - get("memory.l2_bytes_per_clk"))
        };
        let s = spread(&m, 1050.0, &run);
        assert_eq!((s.numbers, s.effects.len()), (3, 2));
        assert_eq!(s.effects[0].key, "memory.l2_bytes_per_clk");
        assert!((s.low_cycles - (1050.0 - (9.0f64 + 1600.0).sqrt())).abs() < 1e-9, "{s:?}");
        assert!((s.high_cycles - (1050.0 + (900.0f64 + 16.0).sqrt())).abs() < 1e-9, "{s:?}");
    }

    #[test]
    fn a_number_at_whose_end_the_kernel_cannot_run_is_named() {
        let m = machine(&[("limit.regs_per_core", 65536.0, (1024.0, 65536.0))]);
        let run = |m: &Machine| match m.get("limit.regs_per_core") {
            Some(n) if n < 2048.0 => Err("no CTA fits".to_string()),
            _ => Ok(10.0),
        };
        let s = spread(&m, 10.0, &run);
        assert_eq!((s.low_cycles, s.high_cycles, s.effects.len()), (10.0, 10.0, 1));
        assert!(s.effects[0].cycles[0].is_err());
    }
}
