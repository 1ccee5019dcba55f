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

/// Part `i` of `n` equal parts of some bytes. Parts are even where the whole is, for two halves.
fn share(bytes: u32, i: u32, n: u32) -> u32 {
    let until = |i: u32| if i == n { bytes } else { (u64::from(bytes / 2) * u64::from(i) / u64::from(n)) as u32 * 2 };
    until(i + 1) - until(i)
}

/// The caches.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    /// The second-level caches, once for each part of their sets.
    sets: Vec<Vec<Lru>>,
    last: Option<Lru>,
    /// Whether the second level is one cache in two halves.
    halves: bool,
    /// Number of consecutive units at one half before the other half's turn; `None` where unknown.
    run: Option<i64>,
    /// The same for clusters of later waves, each on a unit that became free.
    run_later: Option<i64>,
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
        // Some sets have more lines to keep than others, so a part of the cache is full before the rest.
        let kept = match (m.get("memory.l2_round"), m.get("memory.l2_uneven")) {
            (Some(round), Some(uneven)) if uneven > 0.0 => vec![round - uneven, round, round + uneven],
            _ => vec![kept],
        };
        let parts = kept.len() as f64;
        let second = |kept: &f64| vec![Lru::new(part(kept / parts), part(dirty / parts)); n];
        let sets = kept.iter().map(second).collect();
        let last = m.get("memory.llc_bytes").map(|b| Lru::new(b as u64, b as u64));
        // Two of the smallest sectors, or one larger sector.
        let burst = m.get("memory.sector_bytes").map_or(64, |s| (s as i64).max(64));
        let units = |key| m.get(key).map(|cores| (cores as i64 / cluster.max(1)).max(1));
        let (run, run_later) = (units("memory.l2_half_cores"), units("memory.l2_half_later"));
        Ok(Caches { sets, last, halves, run, run_later, burst })
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

    /// The same for a cluster of a later wave. Units become free in an order of their own, so the halves alternate
    /// after fewer clusters.
    pub(super) fn half_later(&self, id: i64, units: i64) -> i64 {
        self.run_later.map_or_else(|| self.half(id, units), |run| id / run)
    }

    /// Bytes of one DRAM access.
    pub(super) fn burst(&self) -> i64 {
        self.burst
    }

    /// Number of caches that have their own cores.
    pub(super) fn count(&self) -> usize {
        self.sets[0].len()
    }

    /// Reads a tile for cores at cache `at`. Returns the level of its last byte and adds the traffic to `sum`.
    pub(super) fn read(&mut self, at: usize, tile: u32, bytes: u32, sum: &mut Bytes) -> Level {
        let n = self.sets.len() as u32;
        (0..n).map(|i| self.read_part(i as usize, (at, tile, share(bytes, i, n)), sum)).max().unwrap_or(Level::Near)
    }

    fn read_part(&mut self, i: usize, (at, tile, bytes): (usize, u32, u32), sum: &mut Bytes) -> Level {
        let mut level = Level::Near;
        if !self.halves {
            if !self.sets[i][at].touch(tile) {
                sum.missed += bytes as u64;
                level = self.behind(tile, bytes, sum);
                sum.written += self.sets[i][at].insert(tile, bytes, false);
            }
            return level;
        }
        for home in 0..2usize {
            let (line, part) = (tile * 2 + home as u32, bytes / 2);
            if self.sets[i][at].touch(line) {
                continue;
            }
            sum.missed += part as u64;
            if home != at {
                sum.looked += part as u64;
                if self.sets[i][home].touch(line) {
                    level = level.max(Level::Far);
                } else {
                    sum.missed += part as u64;
                    level = level.max(self.behind(line, part, sum));
                    sum.written += self.sets[i][home].insert(line, part, false);
                }
            } else {
                level = level.max(self.behind(line, part, sum));
            }
            sum.written += self.sets[i][at].insert(line, part, false);
        }
        level
    }

    /// Writes a tile for a core at cache `at`. The tile stays at its home until it is evicted, with a copy at the
    /// core's half.
    pub(super) fn write(&mut self, at: usize, tile: u32, bytes: u32, sum: &mut Bytes) {
        let n = self.sets.len() as u32;
        (0..n).for_each(|i| self.write_part(i as usize, (at, tile, share(bytes, i, n)), sum));
    }

    fn write_part(&mut self, i: usize, (at, tile, bytes): (usize, u32, u32), sum: &mut Bytes) {
        sum.stored += bytes as u64;
        sum.looked += bytes as u64;
        if !self.halves {
            sum.written += self.sets[i][at].insert(tile, bytes, true);
            return;
        }
        for home in 0..2usize {
            let (line, part) = (tile * 2 + home as u32, bytes / 2);
            sum.written += self.sets[i][home].insert(line, part, true);
            if home != at {
                sum.looked += part as u64;
                sum.written += self.sets[i][at].insert(line, part, false);
            }
        }
    }

    /// Adds to a tile for a core at cache `at` (atomic accesses). L2 adds at the tile's home, which reads a line that it
    /// does not have. Returns the level of the last byte.
    pub(super) fn add(&mut self, at: usize, tile: u32, bytes: u32, sum: &mut Bytes) -> Level {
        let n = self.sets.len() as u32;
        (0..n).map(|i| self.add_part(i as usize, (at, tile, share(bytes, i, n)), sum)).max().unwrap_or(Level::Near)
    }

    fn add_part(&mut self, i: usize, (at, tile, bytes): (usize, u32, u32), sum: &mut Bytes) -> Level {
        sum.asked += bytes as u64;
        let homes = if self.halves { 2usize } else { 1 };
        let mut level = Level::Near;
        for home in 0..homes {
            let (line, part) = (tile * homes as u32 + home as u32, bytes / homes as u32);
            let cache = if self.halves { home } else { at };
            let hops = 1 + u64::from(cache != at);
            sum.looked += part as u64 * hops;
            if !self.sets[i][cache].touch(line) {
                sum.missed += part as u64 * hops;
                level = level.max(self.behind(line, part, sum));
            } else if cache != at {
                level = level.max(Level::Far);
            }
            sum.written += self.sets[i][cache].insert(line, part, true);
        }
        level
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

#[cfg(test)]
mod tests {
    use super::*;

    fn halves() -> Caches {
        let sets = vec![vec![Lru::new(1000, 1000); 2]];
        Caches { sets, last: None, halves: true, run: Some(48), run_later: Some(6), burst: 64 }
    }

    #[test]
    fn later_clusters_alternate_between_the_halves_in_shorter_runs() {
        let mut caches = halves();
        let of = |c: &Caches, ids: [i64; 3]| ids.map(|id| c.half_later(id, 132) % 2);
        assert_eq!([0, 47, 48].map(|id| caches.half(id, 132)), [0, 0, 1]);
        assert_eq!(of(&caches, [132, 137, 138]), [0, 0, 1]);
        caches.run_later = None;
        assert_eq!(of(&caches, [132, 179, 180]), [0, 0, 1]);
    }

    #[test]
    fn half_of_what_is_written_is_looked_up_in_both_halves() {
        let (mut caches, mut sum) = (halves(), Bytes::default());
        caches.write(0, 1, 100, &mut sum);
        assert_eq!((sum.stored, sum.looked, sum.missed), (100, 150, 0));
    }

    #[test]
    fn an_addition_reads_a_line_once_and_leaves_no_copy_in_the_other_half() {
        let (mut caches, mut sum) = (halves(), Bytes::default());
        assert_eq!(caches.add(0, 1, 100, &mut sum), Level::Dram);
        assert_eq!((sum.read, sum.looked, sum.missed), (100, 150, 150));
        assert_eq!(caches.add(1, 1, 100, &mut sum), Level::Far);
        assert_eq!((sum.read, sum.looked, sum.missed), (100, 300, 150));
        let used: Vec<bool> = (0..2).map(|half| caches.sets[0][half].touch(2 + 1 - half as u32)).collect();
        assert_eq!(used, [false, false], "each part is at its home alone");
    }

    #[test]
    fn of_a_round_that_is_a_little_too_long_the_fuller_sets_miss() {
        let sets = [90, 100, 110].map(|kept| vec![Lru::new(kept, 1000); 2]).into();
        let mut caches = Caches { sets, ..halves() };
        // Ten tiles of ten bytes in each part of the sets. A tile whose last bytes come from memory comes from memory.
        let mut round = || {
            let mut sum = Bytes::default();
            let level = (0..10).map(|tile| caches.read(0, tile, 30, &mut sum)).max();
            (sum.read, level)
        };
        assert_eq!(round(), (300, Some(Level::Dram)));
        assert_eq!(round(), (50, Some(Level::Dram)), "a third misses its home lines; the other half keeps the others");
    }
}
