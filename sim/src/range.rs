//! The range of each machine parameter.
//!
//! A value outside its range has no meaning for the simulation: no rate is zero, and no latency is negative or as long
//! as a day. The ranges are wide, so that studies of hypothetical machines stay possible.

use std::fmt;

use crate::machine::Key;

/// The values that a machine parameter may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
    /// Unit of both values.
    pub unit: &'static str,
}

impl Range {
    /// Whether a value is in the range; NaN is in none.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl fmt::Display for Range {
    /// `0.001 to 1000000000 GB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} {}", self.low, self.high, self.unit)
    }
}

impl Key {
    /// The values that the parameter may have. They follow from its unit, except for counts that cannot be zero.
    pub fn range(&self) -> Range {
        let (low, high) = match (self.key, self.unit) {
            ("memory.dram_efficiency", _) => (0.001, 1.0),
            ("core.count" | "core.schedulers" | "core.warp_size", _) => (1.0, 1e9),
            ("memory.bytes_per_lane" | "memory.line_bytes" | "memory.sector_bytes", _) => (1.0, 1e9),
            ("memory.outstanding_per_core" | "mma.warp_k_bytes", _) => (1.0, 1e15),
            ("memory.l2_domains" | "memory.l2_half_cores" | "memory.l2_half_later" | "memory.l2_group_cores", _) => {
                (1.0, 1e9)
            }
            // A half of a cache finds a little more again than its size.
            ("memory.l2_round", _) => (0.001, 2.0),
            (_, "fraction") => (0.0, 1.0),
            (_, "MHz") => (1.0, 100_000.0),
            (_, "cycles" | "us") => (0.0, 1e6),
            (
                _,
                "GB/s" | "bytes/cycle" | "lines/cycle" | "sectors/cycle" | "rows/cycle" | "FLOP/cycle"
                | "lane-ops/cycle" | "CTAs/cycle",
            ) => (0.001, 1e9),
            (_, "elements" | "ways" | "requests" | "tiles" | "lines") => (1.0, 1e9),
            // Limits, sizes of caches, and operations per element.
            _ => (0.0, 1e15),
        };
        Range { low, high, unit: self.unit }
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::{KEYS, key_named};

    #[test]
    fn no_rate_is_zero_and_nothing_is_negative_or_endless() {
        for key in KEYS {
            let range = key.range();
            assert!(range.low >= 0.0 && range.low < range.high && range.high <= 1e15, "{}: {range}", key.key);
            assert!(!range.contains(-1.0) && !range.contains(1e18) && !range.contains(f64::NAN), "{}", key.key);
            assert!(!key.unit.contains('/') || !range.contains(0.0), "{}", key.key);
        }
        let bandwidth = key_named("memory.dram_gbps").expect("a key").range();
        assert_eq!(bandwidth.to_string(), "0.001 to 1000000000 GB/s");
    }
}
