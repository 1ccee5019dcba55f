//! The traffic of a launch, wave by wave through the caches.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::ir::{Instr, Program};
use crate::machine::Machine;
use crate::protocol::{GlobalTile, GridDependence, Rules, Walker};

use super::cache::{Bytes, Caches, Level};
use super::group::{Crowd, Group, Groups};
use super::names::Names;
use super::{Launch, Memory, Routes, Shares, Wave};

/// Copies of a cluster that are looked at to find the depth of its rings.
const AHEAD: usize = 4096;

/// A place on the chip that tiles of a matrix are copied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Slot {
    from: u16,
    obj: u16,
    cta: u32,
    slot: u32,
    pieces: u64,
}

/// A tile request shared by equivalent clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TileRequest {
    tile: u32,
    /// Index of the group of these clusters.
    group: u32,
    /// Bytes of the request.
    bytes: u32,
    /// The tile's size as a multiple of `bytes`.
    along: u32,
    obj: u16,
    at: [i64; 2],
    /// Whether other requests of the cluster for parts of its lines are in flight.
    split: bool,
    /// Whether the access adds to the tile.
    atomic: bool,
}

/// The size of a request inside its matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    obj: u16,
    rows: i64,
    cols: i64,
    access: Access,
}

/// How a copy asks for its tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// Whether the tile's coordinates count elements instead of blocks.
    elements: bool,
    /// Whether the request does not fetch its neighbors along the row.
    apart: bool,
    /// Whether the request is one by tensor map in a compiled kernel. Such a map makes L2 fetch whole lines
    /// (`CU_TENSOR_MAP_L2_PROMOTION_L2_128B`, which Triton and CUTLASS set).
    boxed: bool,
}

/// What follows from the size of a request.
#[derive(Clone, Copy, Debug)]
struct Parts {
    bytes: u32,
    /// Bytes of a row.
    row: i64,
    /// The tile's size as a multiple of `bytes`.
    along: i64,
}

/// The clusters of groups that request one tile, by the indices of the groups.
type Unions = FxHashMap<SmallVec<[u32; 8]>, Vec<Crowd>>;

/// The rules for merging requests of the same step for one line before they reach a slice.
#[derive(Clone, Copy, Debug)]
struct Merging {
    /// Share of second requests in a pair of neighbors that merges with the first.
    pairs: f64,
    /// `pairs` at the start of a cluster of a later wave, for lines that are in the cache.
    later: f64,
    /// Tiles of a matrix that a cluster of a later wave reads until it is in step with those that share them. Infinite
    /// where it never is.
    settling: f64,
    /// Cores of a group whose requests meet on the way.
    group: i64,
    /// Share of each further request that is near enough in time to merge with others of the group.
    near: f64,
    /// Largest number of requests merged into one.
    most: f64,
    /// Share of a line's parts that merge, where clusters ask for a line part by part. Of the clusters of a core, one
    /// asks for a part before the neighboring core asks for the next.
    split: f64,
}

/// How close in time equal requests of a wave's clusters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// At about the same time: the clusters started together, and none has stored a result yet.
    InStep,
    /// Neighbors at the same time: pairs of cores are still in step, or wait for the same line.
    ByPairs,
    /// Requests of a later wave for lines in the cache. Its clusters started at different times, where others ended.
    /// Clusters that wait for the same lines come into step with each other, tile by tile.
    Unordered {
        /// Tiles of this matrix that the clusters have read before.
        tiles: u32,
    },
}

impl Merging {
    fn new(m: &Machine, prog: &Program, seats: i64) -> Self {
        let is = |key: &'static str, absent: f64| m.get(key).unwrap_or(absent);
        let pairs = is("memory.l2_merged", 0.0);
        // Prologues of random length spread the CTAs further in time.
        let drawn = prog.code.iter().map(|i| if let Instr::Op { cost, .. } = i { 2.0 * cost.spread } else { 0.0 });
        let stated = is("memory.l2_group_apart", 1.0) + drawn.fold(0.0, f64::max);
        // Measured on compiled kernels, with one CTA a core. CTAs of one core take turns, so that each asks for its
        // tiles when the others have.
        let apart = match m.get("memory.l2_group_spread") {
            Some(spread) if prog.opaque_globals => spread * seats as f64,
            _ => stated,
        };
        Merging {
            pairs,
            later: is("memory.l2_merged_later", pairs),
            // Measured on compiled kernels. Those of the language, whose errors do not ask for it, stay as they start.
            settling: if prog.opaque_globals { is("memory.l2_settling", f64::INFINITY) } else { f64::INFINITY },
            group: is("memory.l2_group_cores", 1.0).max(1.0) as i64,
            near: is("memory.l2_group_window", 0.0) / apart.max(1.0),
            most: is("memory.l2_group_most", 1.0),
            split: if prog.opaque_globals { 1.0 / seats.max(1) as f64 } else { 0.0 },
        }
    }

    /// Lookups for one line by the clusters of a crowd.
    fn lookups(&self, crowd: &Crowd, when: When, split: bool) -> f64 {
        let (pairs, near) = match when {
            // A line is asked for once more, for its next part, before the neighbor asks for the first.
            _ if split => (self.pairs * self.split, 0.0),
            When::InStep => (self.pairs, self.near),
            When::ByPairs => (self.pairs, 0.0),
            When::Unordered { tiles } => {
                let settled = 1.0 - (-f64::from(tiles) / self.settling).exp();
                (self.later + (self.pairs - self.later) * settled, self.near * settled)
            }
        };
        let merged = |(first, second): &(u32, u32)| {
            let k = f64::from(*first) + f64::from(*second) * (1.0 - pairs);
            k / (1.0 + (near * (k - 1.0)).clamp(0.0, (self.most - 1.0).max(0.0)))
        };
        crowd.sum([pairs, near], merged)
    }
}

/// For each matrix, the other tiles that a cluster copies before it copies to the same slot once more. A ring of
/// `n` slots has `n - 1` of them in flight. The largest number counts, because a tile may have several places.
fn ahead(prog: &Program, walker: &mut Walker<'_>, routes: &Routes) -> Vec<u32> {
    let mut ahead = vec![0; prog.objects.len()];
    // By object: tiles so far, and the last.
    let mut tiles = vec![(0u32, [i64::MIN; 2]); prog.objects.len()];
    let mut slots: FxHashMap<Slot, u32> = FxHashMap::default();
    let route = routes.of(0);
    for t in route.copies.iter().filter(|t| !t.store).take(AHEAD) {
        let Some(from) = walker.footprint(0, t, &route.vars(t, 0)) else { continue };
        let Some(to) = walker.destination(t, &route.vars(t, 0)) else { continue };
        let (n, last) = &mut tiles[from.obj as usize];
        *n += u32::from(std::mem::replace(last, from.at) != from.at);
        let slot = Slot { from: from.obj, obj: to.obj, cta: to.cta, slot: to.slot, pieces: to.pieces };
        if let Some(before) = slots.insert(slot, *n) {
            let of = &mut ahead[from.obj as usize];
            *of = (*of).max((*n - before).saturating_sub(1));
        }
    }
    ahead
}

/// The tiles of a launch and the caches they pass through.
pub(super) struct Tiles<'p, 'l> {
    prog: &'p Program,
    walker: Walker<'p>,
    caches: Caches,
    names: Names,
    merging: Merging,
    at: Launch<'l>,
    /// Bytes of one DRAM access.
    burst: i64,
    /// Bytes of a line.
    line: i64,
    /// By object: tiles of a cluster that are in flight at a time.
    ahead: Vec<u32>,
    /// Whether clusters ask for lines of some matrix part by part.
    parts: bool,
    /// Whether the wave is a later one, whose clusters start where others ended.
    later: bool,
    /// Whether the launch has so few clusters that each has a pair of neighboring units for itself.
    alone: bool,
    /// The size of the last request, and its parts.
    last: Option<(Size, Parts)>,
}

impl<'p, 'l> Tiles<'p, 'l> {
    pub(super) fn new(
        prog: &'p Program,
        m: &Machine,
        rules: Rules,
        caches: Caches,
        at: Launch<'l>,
        routes: &Routes,
    ) -> Self {
        let (burst, merging) = (caches.burst(), Merging::new(m, prog, at.seats));
        let line = m.get("memory.line_bytes").map_or(0, |b| b as i64);
        let mut walker = Walker::new(prog, rules, 0);
        Tiles {
            prog,
            ahead: ahead(prog, &mut walker, routes),
            walker,
            caches,
            names: Names::default(),
            merging,
            at,
            burst,
            line,
            parts: false,
            later: false,
            alone: prog.opaque_globals && 2 * prog.grid.len() <= at.units,
            last: None,
        }
    }

    /// Runs all waves of a launch.
    pub(super) fn launch(&mut self, routes: &Routes) -> Memory {
        let grid = self.prog.grid.len();
        let resident = (self.at.units * self.at.seats).max(1);
        let mut total = Bytes::default();
        let mut waves: Vec<Wave> = Vec::new();
        for first in (0..grid).step_by(resident as usize) {
            waves.push(self.wave(first, (first + resident).min(grid), routes, &mut total));
        }
        let mut kinds: Vec<u32> = Vec::new();
        for w in &waves {
            let same = kinds.iter().copied().find(|k| waves[*k as usize].looks_like(w));
            kinds.push(same.unwrap_or(kinds.len() as u32));
        }
        Memory { waves, kinds, total, resident }
    }

    /// Runs the clusters from `first` up to `end`, copy by copy, side by side.
    fn wave(&mut self, first: i64, end: i64, routes: &Routes, total: &mut Bytes) -> Wave {
        let mine = self.at.own;
        // Kernels of the language merge requests by other numbers, which are those of halves in long runs.
        self.later = first > 0 && self.prog.opaque_globals;
        let own = (first..end).filter(|id| mine.contains(id)).count().max(1);
        let mut wave = Wave { peers: (end - first) as f64 / own as f64, ..Wave::default() };
        let mut per = vec![Bytes::default(); self.prog.objects.len()];
        let crowds = |ids: &[i64]| self.crowds(ids);
        let groups = Groups::new(self.prog, first..end, |id| mine.contains(&id), crowds);
        let steps = (first..end).map(|id| routes.of(id).copies.len()).max().unwrap_or(0);
        let mut requests: Vec<TileRequest> = Vec::new();
        let mut unions: [Unions; 4] = Default::default();
        // The first wave starts in step, and stays so until its CTAs store results.
        let mut when = if first == 0 { When::InStep } else { When::Unordered { tiles: 0 } };
        let mut tiles: FxHashMap<u16, (u32, [i64; 2])> = FxHashMap::default();
        // By object: bytes that the simulated unit's clusters read, and those that may come from memory.
        let mut firsts = vec![(0, 0); self.prog.objects.len()];
        let mut mine_read: FxHashSet<(u32, u32)> = FxHashSet::default();
        for step in 0..steps {
            // A shared list has one copy at this step, which depends on some coordinates. Separate lists may depend on
            // all of them.
            let common = routes.common().and_then(|l| l.get(step));
            let grid_dependence = common.map_or(GridDependence::All, |t| self.walker.grid_dependence(t));
            let groups_by = groups.groups_by(grid_dependence);
            let unions = &mut unions[grid_dependence as usize];
            requests.clear();
            for (group, g) in groups_by.iter().enumerate() {
                let id = g.own.unwrap_or(g.ids[0]);
                let route = routes.of(id);
                let Some(t) = route.copies.get(step) else { continue };
                let Some(tile) = self.walker.tile(id, t, &route.vars(t, id)) else { continue };
                let elements = self.walker.by_elements(t);
                let boxed = self.prog.opaque_globals && elements && self.walker.is_boxed(t);
                let access = Access { elements, apart: t.store || elements, boxed };
                let Some(request) = self.request(group as u32, &tile, access) else {
                    continue;
                };
                let sum = &mut per[tile.obj as usize];
                if t.store {
                    when = if first == 0 { When::ByPairs } else { When::Unordered { tiles: 0 } };
                    tiles.clear();
                    if self.walker.is_atomic(t) {
                        requests.push(TileRequest { atomic: true, ..request });
                        continue;
                    }
                    for id in &g.ids {
                        self.caches.write(self.home(*id), request.tile, request.bytes, sum);
                    }
                    continue;
                }
                sum.asked += request.bytes as u64 * g.ids.len() as u64;
                requests.push(request);
            }
            if let (When::Unordered { tiles: read }, Some(r)) = (&mut when, requests.first()) {
                let (n, last) = tiles.entry(r.obj).or_insert((0, r.at));
                *n += u32::from(*last != r.at);
                (*read, *last) = (*n, r.at);
            }
            requests.sort_unstable_by_key(|r| (r.tile, r.group));
            for same in requests.chunk_by(|x, y| x.tile == y.tile) {
                let sum = &mut per[same[0].obj as usize];
                let level = if same[0].atomic {
                    self.add(same, groups_by, sum)
                } else {
                    self.read(same, (groups_by, &mut *unions), when, sum)
                };
                for w in same.iter().filter(|w| groups_by[w.group as usize].own.is_some()) {
                    wave.signs.push(level);
                    let before = wave.levels.contains_key(&(w.obj, w.at));
                    // Compiled kernels read small tiles many times: scales, vectors. The first read of one may be slow.
                    let new = mine_read.insert((w.group, w.tile));
                    let again = before && !new && self.prog.opaque_globals;
                    let (all, first) = &mut firsts[w.obj as usize];
                    *all += u64::from(w.bytes);
                    *first += if again && level < Level::Dram { 0 } else { u64::from(w.bytes) };
                    let list = if again { &mut wave.again } else { &mut wave.levels };
                    let known = list.entry((w.obj, w.at)).or_insert(level);
                    *known = level.max(*known);
                }
            }
        }
        let share = |part: u64, all: u64| (part as f64 / all.max(1) as f64 * 256.0).round() / 256.0;
        // What comes from memory is shared by the first reads, and by those later reads that come from there too.
        let shares = |(b, (all, first)): (&Bytes, &(u64, u64))| match b.asked {
            0 => Shares::default(),
            _ => Shares {
                dram: share(b.read, (b.asked as f64 * (*first).max(1) as f64 / (*all).max(1) as f64) as u64).min(1.0),
                looked: share(b.looked, b.asked),
            },
        };
        wave.shares = per.iter().zip(&firsts).map(shares).collect();
        let all = |f: fn(&Bytes) -> u64| per.iter().map(f).sum::<u64>();
        wave.written = share(all(|b| b.written), all(|b| b.stored)).min(1.0);
        for b in &per {
            total.add(b);
        }
        wave
    }

    /// Atomic accesses of all clusters of a wave to one tile at one step. Returns the level of the tile for all of them:
    /// later ones wait for the line with the first.
    fn add(&mut self, same: &[TileRequest], groups_by: &[Group], sum: &mut Bytes) -> Level {
        let ids = same.iter().flat_map(|r| groups_by[r.group as usize].ids.iter());
        let add = |id: &i64| self.caches.add(self.home(*id), same[0].tile, same[0].bytes, sum);
        ids.map(add).max().unwrap_or(Level::Near)
    }

    /// One read of a tile by all clusters of a wave at one step. Returns the level that the tile came from.
    fn read(
        &mut self,
        same: &[TileRequest],
        (groups_by, unions): (&[Group], &mut Unions),
        when: When,
        sum: &mut Bytes,
    ) -> Level {
        let crowds: &[Crowd] = match same {
            [one] => &groups_by[one.group as usize].crowds,
            _ => {
                // The same groups meet step after step.
                let key: SmallVec<[u32; 8]> = same.iter().map(|w| w.group).collect();
                unions.entry(key).or_insert_with_key(|key| {
                    let ids = |group: &u32| groups_by[*group as usize].ids.iter().copied();
                    let mut all: Vec<i64> = key.iter().flat_map(ids).collect();
                    all.sort_unstable();
                    self.crowds(&all)
                })
            }
        };
        let mut level = Level::Near;
        for crowd in crowds {
            let TileRequest { tile, bytes, along, split, .. } = same[0];
            let from = self.caches.read(crowd.cache, tile, bytes * along, sum);
            let when = match when {
                // Nothing keeps clusters in step that ask for lines part by part: they do not wait for the same lines.
                When::InStep if self.parts => When::ByPairs,
                When::Unordered { .. } if self.parts => When::Unordered { tiles: 0 },
                // A miss waits for memory, and later requests for the line wait with it.
                When::Unordered { .. } if from > Level::Far => When::ByPairs,
                when => when,
            };
            sum.looked += (self.merging.lookups(crowd, when, split) * bytes as f64) as u64;
            level = level.max(from);
        }
        level
    }

    /// Clusters, ascending, by the cache at their cores. Caches without clusters are left out.
    fn crowds(&self, ids: &[i64]) -> Vec<Crowd> {
        let mut crowds: Vec<Crowd> = (0..self.caches.count()).map(Crowd::at).collect();
        ids.iter().for_each(|id| crowds[self.home(*id)].add(*id, self.at.units, self.merging.group, self.alone));
        crowds.retain(|c| !c.by_group.is_empty());
        crowds
    }

    /// The cache at a cluster's core. Consecutive units alternate between the caches. For two halves of one cache,
    /// groups of cores alternate (`memory.l2_half_cores`), or pairs of neighbors.
    fn home(&self, id: i64) -> usize {
        let turn = match self.caches.halves() {
            false => id,
            true if self.later => self.caches.half_later(id, self.at.units.max(1)),
            true => self.caches.half(id, self.at.units.max(1)),
        };
        (turn % self.caches.count() as i64) as usize
    }

    /// The part of a tile inside its matrix; `None` where nothing is inside.
    fn request(&mut self, group: u32, t: &GlobalTile, access: Access) -> Option<TileRequest> {
        let o = &self.prog.objects[t.obj as usize];
        let corner = if access.elements { t.at } else { [t.at[0] * o.block[0], t.at[1] * o.block[1]] };
        let along = |(from, to): (i64, i64), corner: i64, size: i64| (corner + to).min(size) - (corner + from);
        let (rows, cols) = (along(t.rows, corner[0], o.rows), along(t.cols, corner[1], o.cols));
        if rows <= 0 || cols <= 0 {
            return None;
        }
        let size = Size { obj: t.obj, rows, cols, access };
        let Parts { bytes, row, along } = match self.last {
            Some((last, parts)) if last == size => parts,
            _ => {
                let bytes = o.bytes_of(rows * cols) as u32;
                // A row can be shorter than one DRAM access, or than the line that L2 fetches. A read then also fetches its
                // neighbors along the row; a write does not.
                let row = (bytes as i64 / rows).max(1);
                let along = match () {
                    () if access.boxed && row < self.line => self.line / row,
                    () if access.apart || row >= self.burst => 1,
                    () => self.burst / row,
                };
                Parts { bytes, row, along }
            }
        };
        self.last = Some((size, Parts { bytes, row, along }));
        let column = match along {
            1 => t.at[1],
            _ if access.boxed => t.at[1].div_euclid(along * cols),
            _ => t.at[1].div_euclid(along),
        };
        let tile = self.names.number((t.obj, t.rows, t.cols), [t.at[0], column], o);
        let split = row < self.line && self.ahead[t.obj as usize] >= 2;
        self.parts |= split;
        Some(TileRequest { tile, group, bytes, along: along as u32, obj: t.obj, at: t.at, split, atomic: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_group_meet_in_the_first_wave_four_at_most_and_those_of_neighbors_later_too() {
        use When::{ByPairs, InStep};
        let started = When::Unordered { tiles: 0 };
        let merging =
            |near| Merging { pairs: 1.0, later: 0.25, settling: 16.0, group: 16, near, most: 4.0, split: 0.0 };
        let lookups = |near, ids: &[i64], when| {
            let mut crowd = Crowd::at(0);
            ids.iter().for_each(|id| crowd.add(*id, 132, 16, false));
            merging(near).lookups(&crowd, when, false)
        };
        // Neighbors of one pair, neighbors of two pairs, and neighbors of a later wave.
        assert_eq!((lookups(0.0, &[0, 1], ByPairs), lookups(0.0, &[1, 2], ByPairs)), (1.0, 2.0));
        assert_eq!((lookups(1.0, &[0, 1], started), lookups(1.0, &[1, 2], started)), (1.75, 2.0));
        // In one group the lookups are halved; in two groups they are not. Core 132 is the same core as core 0.
        assert_eq!((lookups(1.0, &[0, 2], InStep), lookups(1.0, &[0, 2], ByPairs)), (1.0, 2.0));
        assert_eq!((lookups(1.0, &[0, 16], InStep), lookups(1.0, &[0, 132], InStep)), (2.0, 1.0));
        // Six pairs at once: four pairs are one lookup, six are one and a half. The further apart in time, the fewer
        // merge.
        let pairs: Vec<i64> = (0..12).collect();
        assert_eq!((lookups(1.0, &pairs, InStep), lookups(0.2, &pairs, InStep)), (1.5, 3.0));
        // Clusters that are alone on their pairs of cores have no neighbor, and eight of them are in one group.
        let alone = |ids: &[i64]| {
            let mut crowd = Crowd::at(0);
            ids.iter().for_each(|id| crowd.add(*id, 132, 16, true));
            crowd.by_group
        };
        assert_eq!(alone(&[0, 1, 7, 8]), [(3, 0), (1, 0)]);
        // Where two clusters of a core ask for parts of lines, half of the neighbors ask for the same part.
        let parts = Merging { split: 0.5, ..merging(1.0) };
        let mut crowd = Crowd::at(0);
        for id in 0..2 {
            crowd.add(id, 132, 16, false);
        }
        assert_eq!(parts.lookups(&crowd, InStep, true), 1.5);
    }
}
