//! The traffic of a launch, wave by wave through the caches.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::ir::Program;
use crate::machine::Machine;
use crate::protocol::{GlobalTile, GridDependence, Route, Rules, Walker};

use super::super::pursuit::Lead;
use super::cache::{Bytes, Caches, Level};
use super::group::{Crowd, Group, Groups};
use super::merging::{Merging, When};
use super::names::Names;
use super::own::{KEPT, OwnCache};
use super::{Launch, Memory, Routes, Shares, Wave};

/// Copies of a cluster that are looked at to find the depth of its rings.
const AHEAD: usize = 4096;

/// Waves whose requests tell how many a launch has.
const SAMPLE: u64 = 16;

/// Requests that each cluster counts as beside its own, for the ways to group it.
pub(super) const EACH: u64 = 4;

/// Largest number of tiles. Each takes about 100 bytes.
const TILES: u32 = 1 << 24;

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

/// For each matrix, the other tiles that a cluster copies before it copies to the same slot once more. A ring of
/// `n` slots has `n - 1` of them in flight. The largest number counts, because a tile may have several places.
fn ahead(prog: &Program, walker: &mut Walker<'_>, routes: &Routes) -> Vec<u32> {
    let mut ahead = vec![0; prog.objects.len()];
    // By object: tiles so far, and the last.
    let mut tiles = vec![(0u32, [i64::MIN; 2]); prog.objects.len()];
    let mut slots: FxHashMap<Slot, u32> = FxHashMap::default();
    let (route, at) = (routes.of(0), walker.position(0));
    for t in route.copies.iter().filter(|t| !t.store).take(AHEAD) {
        let Some(from) = walker.footprint(0, t, &route.vars(t, at)) else { continue };
        let Some(to) = walker.destination(t, &route.vars(t, at)) else { continue };
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
    /// Bytes of a core's own cache, less those of shared memory.
    l1: f64,
    /// The size of the last request, and its parts.
    last: Option<(Size, Parts)>,
    /// Requests of the launch so far.
    requests: u64,
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
        let (burst, merging) = (caches.burst(), Merging::new(m, prog, at, caches.count()));
        let line = m.get("memory.line_bytes").map_or(0, |b| b as i64);
        let mut walker = Walker::new(prog, rules, 0);
        let shared = at.seats as f64 * (prog.shared_bytes() as f64 + m.get("limit.shared_reserved").unwrap_or(0.0));
        Tiles {
            l1: m.get("memory.l1_bytes").map_or(f64::INFINITY, |b| (b - shared).max(1.0)),
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
            requests: 0,
        }
    }

    /// Runs all waves of a launch. `None` if the launch has more requests than `most`, by the first [`SAMPLE`] waves, or
    /// more than [`TILES`] tiles.
    pub(super) fn launch(&mut self, routes: &Routes, most: u64) -> Option<Memory> {
        let grid = self.prog.grid.len();
        let resident = (self.at.units * self.at.seats).max(1);
        let mut total = Bytes::default();
        let mut waves: Vec<Wave> = Vec::new();
        let all = (grid as u64).div_ceil(resident as u64);
        self.requests = 0;
        for first in (0..grid).step_by(resident as usize) {
            waves.push(self.wave(first, (first + resident).min(grid), routes, &mut total));
            let done = waves.len() as u64;
            if done >= SAMPLE && self.requests as u128 * all as u128 > most as u128 * done as u128
                || self.names.count() > TILES
            {
                return None;
            }
        }
        let mut kinds: Vec<u32> = Vec::new();
        // The first wave of each kind, by its sign.
        let mut known: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for (i, w) in waves.iter().enumerate() {
            let firsts = known.entry(w.sign()).or_default();
            let same = firsts.iter().copied().find(|k| waves[*k as usize].looks_like(w));
            kinds.push(same.unwrap_or(i as u32));
            if same.is_none() {
                firsts.push(i as u32);
            }
        }
        Some(Memory { waves, kinds, total, resident })
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
        let behind = self.behind(first..end, routes);
        let apart = !behind.is_empty();
        self.requests += EACH * (end - first) as u64;
        let behind = |id: i64| behind.get((id - first) as usize).copied().unwrap_or(0);
        let routes_by: Vec<&Route> = (first..end).map(|id| routes.of(id)).collect();
        let route = |id: i64| routes_by[(id - first) as usize];
        let steps = (first..end).map(|id| behind(id) + route(id).copies.len()).max().unwrap_or(0);
        let mut requests: Vec<TileRequest> = Vec::new();
        let mut unions: [Unions; 4] = Default::default();
        // The first wave starts in step, and stays so until its CTAs store results.
        // CTAs of different lengths end at different times, and so start the CTAs of the next wave.
        let later = if self.later && routes.differ() { When::Apart } else { When::Unordered };
        let mut when = if first == 0 { When::InStep } else { later };
        // By object: bytes that the simulated unit's clusters read, and those that may come from memory.
        let mut firsts = vec![(0, 0); self.prog.objects.len()];
        let mut mine_read: FxHashSet<(u32, u32)> = FxHashSet::default();
        // By tile: the step of its first read, which came from memory.
        let mut loaded: FxHashMap<u32, usize> = FxHashMap::default();
        let mut l1 = OwnCache::new(self.l1, self.stored_share(first, routes));
        for step in 0..steps {
            // A shared list has one copy at this step, which depends on some coordinates. Separate lists may depend on
            // all of them.
            let common = routes.common().and_then(|l| l.get(step));
            let grid_dependence = common.map_or(GridDependence::All, |t| self.walker.grid_dependence(t));
            let groups_by = groups.groups_by(grid_dependence);
            let unions = &mut unions[grid_dependence as usize];
            requests.clear();
            l1.step();
            for (group, g) in groups_by.iter().enumerate() {
                let id = g.own.unwrap_or(g.ids[0]);
                let route = route(id);
                let Some(t) = step.checked_sub(behind(id)).and_then(|step| route.copies.get(step)) else { continue };
                let vars = route.vars(t, self.walker.position(id));
                let Some(tile) = self.walker.tile(id, t, &vars) else { continue };
                let elements = self.walker.by_elements(t);
                let boxed = self.prog.opaque_globals && elements && self.walker.is_boxed(t);
                let access = Access { elements, apart: t.store || elements, boxed };
                let Some(request) = self.request(group as u32, &tile, access) else {
                    continue;
                };
                let sum = &mut per[tile.obj as usize];
                if t.store {
                    when = if first == 0 { When::ByPairs } else { later };
                    if self.walker.is_atomic(t) {
                        requests.push(TileRequest { atomic: true, ..request });
                        continue;
                    }
                    self.requests += g.ids.len() as u64;
                    for id in &g.ids {
                        self.caches.write(self.home(*id), request.tile, request.bytes, sum);
                    }
                    continue;
                }
                // A core's own cache keeps what all its clusters load, such as weights of a norm.
                if self.prog.opaque_globals
                    && grid_dependence == GridDependence::None
                    && self.walker.is_register_load(t)
                    && self.stays(tile.obj)
                {
                    wave.kept.insert((request.obj, request.at));
                    if self.later {
                        continue;
                    }
                }
                let mut request = request;
                if self.prog.opaque_globals && self.walker.is_register_load(t) {
                    let of = (grid_dependence as u8, group as u32, request.tile);
                    let lost = l1.load(of, request.bytes, g.own.is_some());
                    if g.own.is_some() && lost < 1.0 {
                        wave.missed.insert((request.obj, request.at), lost);
                    }
                    request.bytes = (f64::from(request.bytes) * lost) as u32;
                }
                sum.asked += request.bytes as u64 * g.ids.len() as u64;
                requests.push(request);
            }
            self.requests += requests.len() as u64;
            requests.sort_unstable_by_key(|r| (r.tile, r.group));
            for same in requests.chunk_by(|x, y| x.tile == y.tile) {
                let sum = &mut per[same[0].obj as usize];
                let level = if same[0].atomic {
                    self.add(same, groups_by, sum)
                } else {
                    self.read(same, (groups_by, &mut *unions), when, sum)
                };
                if apart && level == Level::Dram {
                    loaded.entry(same[0].tile).or_insert(step);
                }
                for w in same.iter() {
                    let Some(own) = groups_by[w.group as usize].own else { continue };
                    if let Some(before) = loaded.get(&w.tile).filter(|before| **before < step) {
                        let lead = Lead { copies: (step - before) as u32, done: (step - behind(own)) as u32 };
                        wave.leads.entry((w.obj, w.at)).or_insert(lead);
                    }
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
        // Only the times of compiled kernels depend on these two.
        if self.prog.opaque_globals {
            wave.stores = share(all(|b| b.written), all(|b| b.written) + all(|b| b.read));
            wave.written = share(all(|b| b.written), all(|b| b.stored)).min(1.0);
        }
        for b in &per {
            total.add(b);
        }
        wave
    }

    /// By cluster of a wave: copies that a cluster as long as the longest makes before this one starts. Clusters of a
    /// later wave start where earlier ones end. If lengths differ, so do these times, and a cluster finds in the cache
    /// what one that started earlier has loaded.
    fn behind(&self, ids: std::ops::Range<i64>, routes: &Routes) -> Vec<usize> {
        let starts = self.at.starts.get(ids.start as usize..ids.end as usize).filter(|_| self.later && routes.differ());
        let first = starts.and_then(|s| s.iter().min().copied()).unwrap_or(0);
        let pace = routes.pace();
        starts.unwrap_or_default().iter().map(|at| ((at - first) as f64 * pace) as usize).collect()
    }

    /// Whether a core's own cache has room for all of an array.
    fn stays(&self, obj: u16) -> bool {
        let o = &self.prog.objects[obj as usize];
        let room = KEPT * self.l1;
        room.is_finite()
            && o.rows.checked_mul(o.cols).is_some_and(|n| n as f64 <= 8.0 * room && o.bytes_of(n) as f64 <= room)
    }

    /// Stored bytes of a cluster, as a share of those that the cluster loads to registers for the first time.
    fn stored_share(&mut self, id: i64, routes: &Routes) -> f64 {
        if !self.prog.opaque_globals || self.l1.is_infinite() {
            return 0.0;
        }
        let (route, at) = (routes.of(id), self.walker.position(id));
        let (mut stored, mut loaded, mut seen) = (0.0, 0.0, FxHashSet::default());
        for t in &route.copies {
            let Some(tile) = self.walker.tile(id, t, &route.vars(t, at)) else { continue };
            let access = Access { elements: self.walker.by_elements(t), apart: true, boxed: false };
            let Some(request) = self.request(0, &tile, access) else { continue };
            if t.store {
                stored += f64::from(request.bytes);
            } else if self.walker.is_register_load(t) && seen.insert(request.tile) {
                loaded += f64::from(request.bytes);
            }
        }
        if loaded > 0.0 { stored / loaded } else { 0.0 }
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
                // A compiled kernel with one CTA a core is in step all the same: it waits for whole tiles.
                When::InStep if self.parts && !(self.prog.opaque_globals && self.at.seats == 1) => When::ByPairs,
                When::Unordered if from > Level::Far => When::Missed,
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
