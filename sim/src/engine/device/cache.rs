//! The caches of the whole device, and the traffic between them, in bytes.
//!
//! The lines of a tile are spread over all slices. Some second-level caches have two halves (`memory.l2_far_latency`);
//! then half of every tile has its home in each. A core asks its own half, which keeps a copy of what it fetches from
//! the other half. So a tile that all cores read is in the cache twice. Where each group of cores has its own cache
//! (`memory.l2_domains`), a miss goes to the cache behind it, if there is one.

use crate::machine::{Machine, MissingParam};

use super::lru::Lru;

/// Where the last byte of a tile came from, from the fastest to the slowest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::engine) enum Level {
    /// The core's half of the second-level cache, or the only cache.
    Near,
    /// The other half.
    Far,
    /// The cache behind the second level.
    Last,
    /// Memory.
    Dram,
}

/// Byte counts of a launch or of a part of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Bytes {
    /// Requested by cores.
    pub(in crate::engine) asked: u64,
    /// Looked up in a slice: requests of cores, minus merged requests, plus requests from one half to the other.
    pub(in crate::engine) looked: u64,
    /// Looked up and missed.
    pub(in crate::engine) missed: u64,
    /// Written by cores.
    pub(in crate::engine) stored: u64,
    /// Read from memory.
    pub(in crate::engine) read: u64,
    /// Written to memory.
    pub(in crate::engine) written: u64,
}

impl Bytes {
    /// The sum of two parts.
    pub(super) fn add(&mut self, b: &Bytes) {
        self.asked += b.asked;
        self.looked += b.looked;
        self.missed += b.missed;
        self.stored += b.stored;
        self.read += b.read;
        self.written += b.written;
    }
}

/// The caches.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    second: Vec<Lru>,
    last: Option<Lru>,
    /// Whether the second level is one cache in two halves.
    halves: bool,
    /// Number of consecutive units at one half before the other half's turn; `None` where unknown.
    run: Option<i64>,
    /// Bytes of one DRAM access.
    burst: i64,
}

impl Caches {
    /// The empty caches of a machine, for clusters of this size.
    pub(super) fn new(m: &Machine, cluster: i64) -> Result<Self, MissingParam> {
        // Without a measurement, the whole cache holds data, whether clean or dirty.
        let share = |key| m.get(key).unwrap_or(1.0);
        let (kept, dirty) = (share("memory.l2_kept"), share("memory.l2_dirty"));
        let all = m.need("memory.l2_bytes", "device fidelity")?;
        let domains = m.need("memory.l2_domains", "device fidelity")?.max(1.0) as usize;
        let halves = domains == 1 && m.get("memory.l2_far_latency").is_some();
        let n = if halves { 2 } else { domains };
        let part = |share: f64| (all * share / n as f64) as u64;
        let second = vec![Lru::new(part(kept), part(dirty)); n];
        let last = m.get("memory.llc_bytes").map(|b| Lru::new(b as u64, b as u64));
        // Two of the smallest sectors, or one larger sector.
        let burst = m.get("memory.sector_bytes").map_or(64, |s| (s as i64).max(64));
        let run = m.get("memory.l2_half_cores").map(|cores| (cores as i64 / cluster.max(1)).max(1));
        Ok(Caches { second, last, halves, run, burst })
    }

    /// Whether the second level is one cache in two halves.
    pub(super) fn halves(&self) -> bool {
        self.halves
    }

    /// The half that a cluster's unit is at, of `units`. The halves alternate, `run` units each, and share the
    /// remaining units. Where `run` is unknown, the halves alternate by pairs of neighbors.
    pub(super) fn half(&self, id: i64, units: i64) -> i64 {
        let Some(run) = self.run else { return id / 2 };
        let (unit, whole) = (id % units, units / (2 * run) * 2 * run);
        if unit < whole { unit / run } else { (2 * (unit - whole) >= units - whole) as i64 }
    }

    /// Bytes of one DRAM access.
    pub(super) fn burst(&self) -> i64 {
        self.burst
    }

    /// Number of caches that have their own cores.
    pub(super) fn count(&self) -> usize {
        self.second.len()
    }

    /// Reads a tile for cores at cache `at`. Returns the level of its last byte and adds the traffic to `sum`.
    pub(super) fn read(&mut self, at: usize, tile: u32, bytes: u32, sum: &mut Bytes) -> Level {
        let mut level = Level::Near;
        if !self.halves {
            if !self.second[at].touch(tile) {
                sum.missed += bytes as u64;
                level = self.behind(tile, bytes, sum);
                sum.written += self.second[at].insert(tile, bytes, false);
            }
            return level;
        }
        for home in 0..2usize {
            let (line, part) = (tile * 2 + home as u32, bytes / 2);
            if self.second[at].touch(line) {
                continue;
            }
            sum.missed += part as u64;
            if home != at {
                sum.looked += part as u64;
                if self.second[home].touch(line) {
                    level = level.max(Level::Far);
                } else {
                    sum.missed += part as u64;
                    level = level.max(self.behind(line, part, sum));
                    sum.written += self.second[home].insert(line, part, false);
                }
            } else {
                level = level.max(self.behind(line, part, sum));
            }
            sum.written += self.second[at].insert(line, part, false);
        }
        level
    }

    /// Writes a tile for a core at cache `at`. The tile stays at its home until it is evicted, with a copy at the
    /// core's half.
    pub(super) fn write(&mut self, at: usize, tile: u32, bytes: u32, sum: &mut Bytes) {
        sum.stored += bytes as u64;
        sum.looked += bytes as u64;
        if !self.halves {
            sum.written += self.second[at].insert(tile, bytes, true);
            return;
        }
        for home in 0..2usize {
            let (line, part) = (tile * 2 + home as u32, bytes / 2);
            sum.written += self.second[home].insert(line, part, true);
            if home != at {
                sum.written += self.second[at].insert(line, part, false);
            }
        }
    }

    fn behind(&mut self, line: u32, bytes: u32, sum: &mut Bytes) -> Level {
        if let Some(last) = &mut self.last {
            if last.touch(line) {
                return Level::Last;
            }
            last.insert(line, bytes, false);
        }
        sum.read += bytes as u64;
        Level::Dram
    }
}
