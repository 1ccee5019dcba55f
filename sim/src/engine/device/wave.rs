//! One wave after the other through the caches.

use rustc_hash::FxHashMap;

use crate::ir::Program;
use crate::protocol::{Foot, Rules, Tells, Walker};

use super::cache::{Bytes, Caches, Level};
use super::group::{Group, Groups};
use super::{Launch, Lists, Memory, Shares, Wave};

/// A tile: object, coordinates, the part of it.
type Key = (u16, [i64; 2], (i64, i64), (i64, i64));

/// A wish of clusters that a copy cannot tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wish {
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

/// The tiles of a launch and the caches they pass through.
pub(super) struct Tiles<'p> {
    prog: &'p Program,
    walker: Walker<'p>,
    caches: Caches,
    names: FxHashMap<Key, u32>,
    /// Share of the second of two neighbours' equal requests that is merged with the first.
    merged: f64,
    at: Launch,
    /// Bytes that memory delivers at once.
    burst: i64,
}

impl<'p> Tiles<'p> {
    pub(super) fn new(prog: &'p Program, rules: Rules, caches: Caches, merged: f64, at: Launch) -> Self {
        let burst = caches.burst();
        Tiles { prog, walker: Walker::new(prog, rules, 0), caches, names: FxHashMap::default(), merged, at, burst }
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
        let mut wave = Wave { units: (end - first).min(self.at.units), ..Wave::default() };
        let mut per = vec![Bytes::default(); self.prog.objects.len()];
        let (units, unit) = (self.at.units, self.at.unit);
        let groups = Groups::new(self.prog, first..end, |id| id % units == unit);
        let steps = (first..end).map(|id| lists.of(id).len()).max().unwrap_or(0);
        let mut wishes: Vec<Wish> = Vec::new();
        for step in 0..steps {
            // A list that all share is one copy, which tells some of them apart; with lists of their own each has another.
            let common = lists.common().and_then(|l| l.get(step));
            let told = groups.told(common.map_or(Tells::All, |t| self.walker.tells(t)));
            wishes.clear();
            for (group, g) in told.iter().enumerate() {
                let id = g.own.unwrap_or(g.ids[0]);
                let Some(t) = lists.of(id).get(step) else { continue };
                let Some(foot) = self.walker.foot(id, t) else { continue };
                let apart = t.store || self.walker.by_elements(t);
                let Some(wish) = self.wish(group as u32, &foot, (self.walker.by_elements(t), apart)) else { continue };
                let sum = &mut per[foot.obj as usize];
                if t.store {
                    for id in &g.ids {
                        self.caches.write(self.home(*id), wish.tile, wish.bytes, sum);
                    }
                    continue;
                }
                sum.asked += wish.bytes as u64 * g.ids.len() as u64;
                wishes.push(wish);
            }
            wishes.sort_unstable();
            for same in wishes.chunk_by(|x, y| x.tile == y.tile) {
                let level = self.read(same, told, &mut per[same[0].obj as usize]);
                for w in same.iter().filter(|w| told[w.group as usize].own.is_some()) {
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
    fn read(&mut self, same: &[Wish], told: &[Group], sum: &mut Bytes) -> Level {
        let ids = |w: &Wish| told[w.group as usize].ids.iter().copied();
        let mut all: Vec<i64> = same.iter().flat_map(ids).collect();
        if same.len() > 1 {
            all.sort_unstable();
        }
        let mut level = Level::Near;
        for cache in 0..self.caches.count() {
            // Neighbours in launch order are neighbours on the chip, and what both ask for is looked up once.
            let (mut n, mut pairs, mut last) = (0u32, 0u32, -2);
            for id in all.iter().copied().filter(|id| self.home(*id) == cache) {
                n += 1;
                pairs += (last / 2 == id / 2 && last >= 0) as u32;
                last = id;
            }
            if n > 0 {
                let lookups = n as f64 - pairs as f64 * self.merged;
                let Wish { tile, bytes, along, .. } = same[0];
                level = level.max(self.caches.read(cache, tile, bytes * along, (lookups * bytes as f64) as u64, sum));
            }
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
    fn wish(&mut self, group: u32, foot: &Foot, (elements, apart): (bool, bool)) -> Option<Wish> {
        let o = &self.prog.objects[foot.obj as usize];
        let corner = if elements { foot.at } else { [foot.at[0] * o.block[0], foot.at[1] * o.block[1]] };
        let along = |(from, to): (i64, i64), corner: i64, size: i64| (corner + to).min(size) - (corner + from);
        let (rows, cols) = (along(foot.rows, corner[0], o.rows), along(foot.cols, corner[1], o.cols));
        if rows <= 0 || cols <= 0 {
            return None;
        }
        let bytes = o.bytes_of(rows * cols) as u32;
        // Rows shorter than what memory delivers at once: the neighbours along the row come with it, but for writes.
        let row = (bytes as i64 / rows).max(1);
        let along = if apart || row >= self.burst { 1 } else { self.burst / row };
        let at = [foot.at[0], foot.at[1].div_euclid(along)];
        let next = self.names.len() as u32;
        let tile = *self.names.entry((foot.obj, at, foot.rows, foot.cols)).or_insert(next);
        Some(Wish { tile, group, bytes, along: along as u32, obj: foot.obj, at: foot.at })
    }
}
