//! Launches that measure an Apple GPU. A row follows from two launches of different length.

use crate::measure::Measurement;

/// Meaning of a row, for one iteration of its kernel's loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowMeaning {
    /// Nanoseconds of each of so many operations.
    Each(f64),
    /// So many operations in a nanosecond.
    Rate(f64),
}

/// One row: a kernel of `apple.metal` with its launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) name: &'static str,
    pub(super) parameter: f64,
    pub(super) unit: &'static str,
    pub(super) kernel: &'static str,
    pub(super) simdgroups: usize,
    pub(super) threadgroups: usize,
    /// Iterations of the shorter and of the longer launch.
    pub(super) turns: [u32; 2],
    pub(super) says: RowMeaning,
    /// Kilobytes that a chain of loads covers.
    pub(super) chain_kb: usize,
}

/// Iterations for some milliseconds each.
const TURNS: [u32; 2] = [2048, 8192];

const fn one(name: &'static str, parameter: usize, kernel: &'static str, simdgroups: usize, says: RowMeaning) -> Probe {
    let unit = match says {
        RowMeaning::Each(_) => "ns",
        RowMeaning::Rate(_) => "1/ns",
    };
    Probe {
        name,
        parameter: parameter as f64,
        unit,
        kernel,
        simdgroups,
        threadgroups: 1,
        turns: TURNS,
        says,
        chain_kb: 0,
    }
}

const fn barrier(simdgroups: usize) -> Probe {
    one("threadgroup_barrier", simdgroups, "barriers", simdgroups, RowMeaning::Each(16.0))
}

const fn chain(kb: usize) -> Probe {
    Probe { chain_kb: kb, ..one("device.latency", kb, "device_chase", 1, RowMeaning::Each(16.0)) }
}

/// Simdgroups and threadgroups that read device memory together.
const READERS: (usize, usize) = (8, 1024);

/// A threadgroup is on one core, and the largest has 32 simdgroups. Sets of 4 KB, 256 KB, 16 MB and 512 MB are for
/// L1, L2, the system's cache and DRAM.
pub(super) const PROBES: &[Probe] = &[
    barrier(2),
    barrier(4),
    barrier(8),
    barrier(16),
    barrier(32),
    one("threadgroup.latency", 4, "threadgroup_chase", 1, RowMeaning::Each(16.0)),
    Probe {
        unit: "bytes/ns",
        ..one("threadgroup.read", 16, "threadgroup_read", 32, RowMeaning::Rate(16.0 * 16.0 * 32.0 * 32.0))
    },
    chain(4),
    chain(256),
    chain(16_384),
    chain(524_288),
    Probe {
        unit: "GB/s",
        threadgroups: READERS.1,
        turns: [64, 256],
        ..one(
            "device.read",
            BYTES,
            "device_read",
            READERS.0,
            RowMeaning::Rate(16.0 * 32.0 * (READERS.0 * READERS.1) as f64),
        )
    },
    one("simdgroup_matrix.latency", 8, "product_chain", 1, RowMeaning::Each(16.0)),
    // With 16 simdgroups, which the core's schedulers share.
    one("simdgroup_matrix.rate", 16, "product_rate", 16, RowMeaning::Rate(16.0 * 16.0)),
    one("fma.rate", 32, "fma_rate", 32, RowMeaning::Rate(64.0 * 32.0 * 32.0)),
    one("exp2.rate", 32, "exp_rate", 32, RowMeaning::Rate(64.0 * 32.0 * 32.0)),
];

/// Size of the buffer: bytes that the longest launch reads.
pub(super) const BYTES: usize = 1 << 30;

/// A row from the times of pairs of launches, shorter and longer, in nanoseconds.
pub(super) fn row(p: &Probe, pairs: &[(f64, f64)]) -> Measurement {
    let turns = (p.turns[1] - p.turns[0]) as f64;
    let value = |(short, long): &(f64, f64)| match p.says {
        RowMeaning::Each(n) => (long - short) / turns / n,
        RowMeaning::Rate(n) => n * turns / (long - short),
    };
    let mut values: Vec<f64> = pairs.iter().map(value).collect();
    Measurement { parameter: p.parameter, ..Measurement::of(p.name, p.unit, &mut values) }
}

/// Words of which every 32nd names the next one, in a pseudo-random cycle.
pub(super) fn chained(kb: usize) -> Vec<u32> {
    let lines = (kb * 1024 / 128) as u64;
    // A congruence of full period over a power of two (Hull and Dobell): it visits every line, without a stride to
    // predict.
    let next = |i: u64| (i * 1_664_525 + 1_013_904_223) % lines;
    let mut words = vec![0u32; lines as usize * 32];
    for i in 0..lines {
        words[i as usize * 32] = next(i) as u32 * 32;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_in_the_text() {
        let text = include_str!("../../probes/apple.metal");
        for p in PROBES {
            assert!(text.contains(&format!("PROBE({})", p.kernel)), "{}", p.kernel);
        }
    }

    #[test]
    fn the_longest_launch_reads_the_whole_buffer() {
        let p = PROBES.iter().find(|p| p.kernel == "device_read").expect("a probe");
        assert_eq!(p.turns[1] as usize * p.simdgroups * p.threadgroups * 32 * 16, BYTES);
        assert!(PROBES.iter().all(|p| p.chain_kb * 1024 <= BYTES));
    }

    #[test]
    fn a_row_is_the_difference_of_two_lengths() {
        let p = Probe { turns: [100, 300], ..barrier(4) };
        let r = row(&p, &[(50.0, 3250.0), (40.0, 3240.0), (0.0, 6400.0)]);
        assert_eq!((r.median, r.low, r.high, r.parameter, r.repeats), (1.0, 1.0, 2.0, 4.0, 3));
        let p = Probe { turns: [100, 300], ..one("x", 1, "x", 1, RowMeaning::Rate(32.0)) };
        assert_eq!(row(&p, &[(50.0, 3250.0)]).median, 2.0);
    }

    #[test]
    fn a_chain_meets_every_line_once() {
        for kb in [4, 256] {
            let words = chained(kb);
            let (mut at, mut met) = (0, 0);
            loop {
                met += 1;
                at = words[at] as usize;
                if at == 0 {
                    break;
                }
            }
            assert_eq!(met, kb * 8);
        }
    }
}
