//! One wave after the other through the caches.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ir::{Instr, Program};
use crate::machine::Machine;
use crate::protocol::{Footprint, GridDependence, Rules, Walker};

use super::cache::{Bytes, Caches, Level};
use super::group::{Group, Groups};
use super::{Launch, Lists, Memory, Shares, Wave};

/// A tile: object, coordinates, the part of it.
type Key = (u16, [i64; 2], (i64, i64), (i64, i64));

/// A tile request shared by equivalent clusters: a copy cannot tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TileRequest {
    tile: u32,
    /// Their group, among those the copy tells apart.
    group: u32,
    /// Bytes it asks for.
    bytes: u32,
    /// Times these that the tile has.
    along: u32,
    obj: u16,
    at: [i64; 2],
}

/// Which requests for one line, of those that come at the same step, reach a slice as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merging {
    /// Share of the second of two neighbours' equal requests that is merged with the first.
    pairs: f64,
    /// The same after the first wave, of lines that are there.
    later: f64,
    /// Cores of a group whose requests meet on the way.
    group: i64,
    /// Share of each further one's requests that are near enough in time to be merged with others of the group.
    near: f64,
    /// As many are merged into one at most.
    most: f64,
}

/// How near in time equal requests of a wave's clusters come, and how near their cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// At about the same time: they began together, and have stored nothing yet.
    InStep,
    /// Neighbours at the same time: they are in their places, or wait for the same line.
    ByPairs,
    /// A later wave's, which began where and when others ended, for what is there.
    Unordered,
}

impl Merging {
    pub(super) fn new(m: &Machine, prog: &Program) -> Self {
        let is = |key: &'static str, absent: f64| m.get(key).unwrap_or(absent);
        let pairs = is("memory.l2_merged", 0.0);
        // CTAs whose prologues differ are as much further apart.
        let drawn = prog.code.iter().map(|i| if let Instr::Op { cost, .. } = i { 2.0 * cost.spread } else { 0.0 });
        let apart = is("memory.l2_group_apart", 1.0) + drawn.fold(0.0, f64::max);
        Merging {
            pairs,
            later: is("memory.l2_merged_later", pairs),
            group: is("memory.l2_group_cores", 1.0).max(1.0) as i64,
            near: is("memory.l2_group_window", 0.0) / apart.max(1.0),
            most: is("memory.l2_group_most", 1.0),
        }
    }

    /// Lookups for one line by these clusters, in order, on so many units. Neighbours in launch order are neighbours on the chip,
    /// and follow one another in their group.
    fn lookups(&self, ids: &[i64], units: i64, when: When) -> f64 {
        let near = if when == When::InStep { self.near } else { 0.0 };
        let pairs = if when == When::Unordered { self.later } else { self.pairs };
        let (mut last, mut groups) = (None, BTreeMap::<i64, f64>::new());
        for &id in ids {
            let pair = last.replace(id).is_some_and(|before: i64| before / 2 == id / 2);
            let group = if near > 0.0 { id % units.max(1) / self.group } else { 0 };
            *groups.entry(group).or_default() += if pair { 1.0 - pairs } else { 1.0 };
        }
        let merged = |k: &f64| k / (1.0 + (near * (k - 1.0)).clamp(0.0, (self.most - 1.0).max(0.0)));
        groups.values().map(merged).sum()
    }
}

/// The tiles of a launch and the caches they pass through.
pub(super) struct Tiles<'p> {
    prog: &'p Program,
    walker: Walker<'p>,
    caches: Caches,
    names: FxHashMap<Key, u32>,
    merging: Merging,
    at: Launch,
    /// Bytes that memory delivers at once.
    burst: i64,
}

impl<'p> Tiles<'p> {
    pub(super) fn new(prog: &'p Program, rules: Rules, caches: Caches, merging: Merging, at: Launch) -> Self {
        let burst = caches.burst();
        Tiles { prog, walker: Walker::new(prog, rules, 0), caches, names: FxHashMap::default(), merging, at, burst }
    }

    /// All waves of a launch.
    pub(super) fn launch(&mut self, lists: &Lists) -> Memory {
        let grid = self.prog.grid.len();
        let resident = (self.at.units * self.at.seats).max(1);
        let mut total = Bytes::default();
        let mut waves: Vec<Wave> = Vec::new();
        for first in (0..grid).step_by(resident as usize) {
            waves.push(self.wave(first, (first + resident).min(grid), lists, &mut total));
        }
        let mut kinds: Vec<u32> = Vec::new();
        for w in &waves {
            let same = kinds.iter().copied().find(|k| waves[*k as usize].looks_like(w));
            kinds.push(same.unwrap_or(kinds.len() as u32));
        }
        Memory { waves, kinds, total, resident }
    }

    /// The clusters from `first` up to `end`, copy by copy, side by side.
    fn wave(&mut self, first: i64, end: i64, lists: &Lists, total: &mut Bytes) -> Wave {
        let (units, unit) = (self.at.units, self.at.unit);
        let own = (first..end).filter(|id| id % units == unit).count().max(1);
        let mut wave = Wave { peers: (end - first) as f64 / own as f64, ..Wave::default() };
        let mut per = vec![Bytes::default(); self.prog.objects.len()];
        let groups = Groups::new(self.prog, first..end, |id| id % units == unit);
        let steps = (first..end).map(|id| lists.of(id).len()).max().unwrap_or(0);
        let mut requests: Vec<TileRequest> = Vec::new();
        // The first wave begins as one, and stays so until its CTAs store results.
        let mut when = if first == 0 { When::InStep } else { When::Unordered };
        for step in 0..steps {
            // A list that all share is one copy, which tells some of them apart; with lists of their own each has another.
            let common = lists.common().and_then(|l| l.get(step));
            let groups_by = groups.groups_by(common.map_or(GridDependence::All, |t| self.walker.grid_dependence(t)));
            requests.clear();
            for (group, g) in groups_by.iter().enumerate() {
                let id = g.own.unwrap_or(g.ids[0]);
                let Some(t) = lists.of(id).get(step) else { continue };
                let Some(footprint) = self.walker.footprint(id, t) else { continue };
                let apart = t.store || self.walker.by_elements(t);
                let Some(request) = self.request(group as u32, &footprint, (self.walker.by_elements(t), apart)) else {
                    continue;
                };
                let sum = &mut per[footprint.obj as usize];
                if t.store {
                    when = if first == 0 { When::ByPairs } else { When::Unordered };
                    for id in &g.ids {
                        self.caches.write(self.home(*id), request.tile, request.bytes, sum);
                    }
                    continue;
                }
                sum.asked += request.bytes as u64 * g.ids.len() as u64;
                requests.push(request);
            }
            requests.sort_unstable();
            for same in requests.chunk_by(|x, y| x.tile == y.tile) {
                let level = self.read(same, groups_by, when, &mut per[same[0].obj as usize]);
                for w in same.iter().filter(|w| groups_by[w.group as usize].own.is_some()) {
                    wave.signs.push(level);
                    let known = wave.levels.entry((w.obj, w.at)).or_insert(level);
                    *known = level.max(*known);
                }
            }
        }
        let share = |part: u64, all: u64| (part as f64 / all.max(1) as f64 * 256.0).round() / 256.0;
        let shares = |b: &Bytes| match b.asked {
            0 => Shares::default(),
            _ => Shares { dram: share(b.read, b.asked), looked: share(b.looked, b.asked) },
        };
        wave.shares = per.iter().map(shares).collect();
        for b in &per {
            total.add(b);
        }
        wave
    }

    /// All of a wave that read one tile at one step: where it came from.
    fn read(&mut self, same: &[TileRequest], groups_by: &[Group], when: When, sum: &mut Bytes) -> Level {
        let ids = |w: &TileRequest| groups_by[w.group as usize].ids.iter().copied();
        let mut all: Vec<i64> = same.iter().flat_map(ids).collect();
        if same.len() > 1 {
            all.sort_unstable();
        }
        let mut level = Level::Near;
        for cache in 0..self.caches.count() {
            let here: Vec<i64> = all.iter().copied().filter(|id| self.home(*id) == cache).collect();
            if here.is_empty() {
                continue;
            }
            let TileRequest { tile, bytes, along, .. } = same[0];
            let from = self.caches.read(cache, tile, bytes * along, sum);
            // Who misses waits, and those that come meanwhile wait with it.
            let when = if when == When::Unordered && from > Level::Far { When::ByPairs } else { when };
            sum.looked += (self.merging.lookups(&here, self.at.units, when) * bytes as f64) as u64;
            level = level.max(from);
        }
        level
    }

    /// The cache a cluster's core is at. Launch goes round the caches; where they are halves of one, group of cores by group of
    /// cores (`memory.l2_half_cores`), or by pairs of neighbours.
    fn home(&self, id: i64) -> usize {
        let turn = if self.caches.halves() { self.caches.half(id, self.at.units.max(1)) } else { id };
        (turn % self.caches.count() as i64) as usize
    }

    /// What of a tile lies inside its matrix; none where nothing does.
    fn request(&mut self, group: u32, footprint: &Footprint, (elements, apart): (bool, bool)) -> Option<TileRequest> {
        let o = &self.prog.objects[footprint.obj as usize];
        let corner = if elements { footprint.at } else { [footprint.at[0] * o.block[0], footprint.at[1] * o.block[1]] };
        let along = |(from, to): (i64, i64), corner: i64, size: i64| (corner + to).min(size) - (corner + from);
        let (rows, cols) = (along(footprint.rows, corner[0], o.rows), along(footprint.cols, corner[1], o.cols));
        if rows <= 0 || cols <= 0 {
            return None;
        }
        let bytes = o.bytes_of(rows * cols) as u32;
        // Rows shorter than what memory delivers at once: the neighbours along the row come with it, but for writes.
        let row = (bytes as i64 / rows).max(1);
        let along = if apart || row >= self.burst { 1 } else { self.burst / row };
        let at = [footprint.at[0], footprint.at[1].div_euclid(along)];
        let next = self.names.len() as u32;
        let tile = *self.names.entry((footprint.obj, at, footprint.rows, footprint.cols)).or_insert(next);
        Some(TileRequest { tile, group, bytes, along: along as u32, obj: footprint.obj, at: footprint.at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_group_meet_in_the_first_wave_four_at_most_and_those_of_neighbours_later_too() {
        use When::{ByPairs, InStep, Unordered};
        let merging = |near| Merging { pairs: 1.0, later: 0.25, group: 16, near, most: 4.0 };
        let lookups = |near, ids: &[i64], when| merging(near).lookups(ids, 132, when);
        // Neighbours, and two of different pairs; neighbours of a later wave.
        assert_eq!((lookups(0.0, &[0, 1], ByPairs), lookups(0.0, &[1, 2], ByPairs)), (1.0, 2.0));
        assert_eq!((lookups(1.0, &[0, 1], Unordered), lookups(1.0, &[1, 2], Unordered)), (1.75, 2.0));
        // Of one group half as often as without, of two groups as often; 132 is at home where 0 is.
        assert_eq!((lookups(1.0, &[0, 2], InStep), lookups(1.0, &[0, 2], ByPairs)), (1.0, 2.0));
        assert_eq!((lookups(1.0, &[0, 16], InStep), lookups(1.0, &[0, 132], InStep)), (2.0, 1.0));
        // Six pairs at once: four are one lookup, six are one and a half. The later they are, the fewer are merged.
        let pairs: Vec<i64> = (0..12).collect();
        assert_eq!((lookups(1.0, &pairs, InStep), lookups(0.2, &pairs, InStep)), (1.5, 3.0));
    }
}
