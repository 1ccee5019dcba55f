//! The memory of the whole device during a launch.
//!
//! CTAs launch in order. A wave is the CTAs that fit on the cores at a time; they walk through their copies side by
//! side. Tiles decide what hits: two CTAs that read one tile read the same lines. The first read of a tile in a wave is
//! slow for every CTA that reads it. Later readers catch up with the first one, which waits for memory. The engine asks
//! where a tile of its own CTA comes from. It also asks which share of the bytes crosses the slices and the memory,
//! which all cores of the wave divide.

mod cache;
mod group;
mod lru;
mod merging;
mod names;
mod own;
mod wave;

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::ir::{Grid, Program};
use crate::machine::{Machine, MissingParam};
use crate::protocol::{Block, Partition, Route, Rules, Traffic, Walker, World};

use super::dispatch::{Deal, Dealt};
use super::pursuit::Lead;
use cache::Caches;
pub(super) use cache::{Bytes, Level};
use wave::Tiles;

/// Traffic of one matrix in one wave, as shares of the bytes that cores request, in steps of 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    /// From memory.
    pub(super) dram: f64,
    /// Looked up in the slices, including lookups from one half to the other.
    pub(super) looked: f64,
}

/// The load of one wave of CTAs on the memory, as the simulated unit sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wave {
    /// Share of the stored bytes that goes to memory, evicted from the cache.
    pub(super) written: f64,
    /// Share of the traffic of memory that is written.
    pub(super) stores: f64,
    /// By object of the program.
    pub(super) shares: Vec<Shares>,
    /// Number of units, each with as many clusters as the simulated one, that would share the memory equally. It is
    /// less than the number of units where others have fewer clusters.
    pub(super) peers: f64,
    /// Where the unit's own tiles come from.
    levels: FxHashMap<(u16, [i64; 2]), Level>,
    /// Where tiles come from that one of the unit's clusters reads once more.
    again: FxHashMap<(u16, [i64; 2]), Level>,
    /// By tile of `again` that clusters load to registers: the share of its lines that the core's own cache has lost.
    missed: FxHashMap<(u16, [i64; 2]), f64>,
    /// Tiles that all clusters load and a core's own cache keeps.
    kept: FxHashSet<(u16, [i64; 2])>,
    /// Tiles of the unit that another cluster of the wave has loaded from memory earlier.
    leads: FxHashMap<(u16, [i64; 2]), Lead>,
    /// Levels of the unit's tiles, copy by copy.
    signs: Vec<Level>,
}

impl Wave {
    /// Where a tile of the simulated unit comes from.
    pub(super) fn level(&self, obj: u16, at: [i64; 2]) -> Level {
        self.levels.get(&(obj, at)).copied().unwrap_or(Level::Near)
    }

    /// The cluster that loads a tile before the simulated unit does, if it started earlier.
    pub(super) fn lead(&self, obj: u16, at: [i64; 2]) -> Option<Lead> {
        self.leads.get(&(obj, at)).copied()
    }

    /// Where a tile comes from when a cluster reads it once more, if one does.
    pub(super) fn again(&self, obj: u16, at: [i64; 2]) -> Option<Level> {
        self.again.get(&(obj, at)).copied()
    }

    /// The share of a tile's lines that the core's own cache has lost when a cluster loads them once more.
    pub(super) fn missed(&self, obj: u16, at: [i64; 2]) -> f64 {
        self.missed.get(&(obj, at)).copied().unwrap_or(0.0)
    }

    /// Whether a core's own cache keeps a tile that one of its clusters has loaded, for the others.
    pub(super) fn keeps(&self, obj: u16, at: [i64; 2]) -> bool {
        self.kept.contains(&(obj, at))
    }

    /// A number that is the same for waves that look the same.
    fn sign(&self) -> u64 {
        let mut hash = FxHasher::default();
        [self.peers, self.written, self.stores].map(f64::to_bits).hash(&mut hash);
        self.signs.hash(&mut hash);
        self.shares.iter().for_each(|s| [s.dram.to_bits(), s.looked.to_bits()].hash(&mut hash));
        hash.finish()
    }

    /// Whether the unit takes the same time in both waves: other tiles, but from the same levels and at the same rates.
    fn looks_like(&self, other: &Wave) -> bool {
        let rates = |w: &Wave| (w.peers, w.written, w.stores);
        rates(self) == rates(other) && (&self.signs, &self.shares) == (&other.signs, &other.shares)
    }
}

/// The memory of the device during a launch.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Waves, in order of launch.
    pub(super) waves: Vec<Wave>,
    /// For each wave, the index of the first wave that looks the same to the unit.
    pub(super) kinds: Vec<u32>,
    /// Traffic of the whole launch.
    pub(super) total: Bytes,
    /// Clusters of a wave.
    pub(super) resident: i64,
}

/// The place of the simulated unit in a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch<'l> {
    /// Clusters that one unit holds at a time.
    pub(super) seats: i64,
    /// Units: cores, or groups of cores that hold a cluster.
    pub(super) units: i64,
    /// The clusters of the unit that is simulated.
    pub(super) own: &'l FxHashSet<i64>,
    /// When each cluster starts, in instructions of its longest agent; empty where all clusters have one length.
    pub(super) starts: &'l [u64],
    /// Whether the data that is read is in the cache already, as far as it fits, because an equal launch preceded.
    pub(super) warm: bool,
}

/// The memory of the device, if it could be followed.
#[derive(Clone, Debug)]
pub(super) enum Followed {
    /// The copies depend on more than control flow.
    Not,
    /// The memory.
    Through(Memory),
    /// The launch has more copies than the limit.
    Limit,
}

impl Memory {
    /// Number of requests that clusters count as at least.
    pub(super) fn least_requests(clusters: i64) -> u64 {
        wave::EACH * clusters as u64
    }

    /// Runs the traffic of a launch through the caches, at most about `most` requests.
    ///
    /// # Errors
    /// The machine does not state the sizes of its caches.
    pub(super) fn follow(
        prog: &Program,
        m: &Machine,
        rules: Rules,
        at: Launch<'_>,
        routes: Option<&Routes>,
        most: u64,
    ) -> Result<Followed, MissingParam> {
        let Some(routes) = routes else { return Ok(Followed::Not) };
        let mut tiles = Tiles::new(prog, m, rules, Caches::new(m, prog.cluster as i64)?, at, routes);
        if at.warm && tiles.launch(routes, most).is_none() {
            return Ok(Followed::Limit);
        }
        Ok(tiles.launch(routes, most).map_or(Followed::Limit, Followed::Through))
    }
}

/// The route of each cluster.
pub(super) struct Routes {
    grid: Grid,
    /// The clusters of each route.
    partition: Partition,
    routes: Vec<Route>,
    /// Whether all clusters share the first route, with its variables.
    shared: bool,
}

impl Routes {
    /// The routes of all clusters, with the copies on them if `copies`. `None` where the kernel's copies depend on more
    /// than its control flow.
    pub(super) fn new(prog: &Program, rules: Rules, copies: bool) -> Option<Self> {
        let own = World::depends_on_grid(prog);
        let block = if own { Block::whole(&prog.grid) } else { Block::one([0; 3]) };
        let (partition, routes) = Walker::new(prog, rules, 0).routes(block, copies)?;
        Some(Routes { grid: prog.grid, partition, routes, shared: !own })
    }

    /// The clusters of the unit that ends last.
    pub(super) fn deal(&self, deal: Deal) -> Option<Dealt> {
        match self.routes.first() {
            Some(one) if !self.differ() => Some(deal.in_order(one.length)),
            _ => deal.out(|id| self.of(id).length),
        }
    }

    /// The number of a cluster's route.
    pub(super) fn number(&self, id: i64) -> u32 {
        if self.routes.len() == 1 {
            return 0;
        }
        let (m, n, z) = self.grid.at(id);
        self.partition.of([m, n, z]) as u32
    }

    /// Whether some clusters have longer routes than others.
    fn differ(&self) -> bool {
        self.routes.windows(2).any(|r| r[0].length != r[1].length)
    }

    /// Copies per instruction of the longest route; of several, of the route of the last cluster.
    fn pace(&self) -> f64 {
        let last = |r: &Route| {
            let [m, n, z] = r.block.last();
            self.grid.id(m, n, z)
        };
        let longest = self.routes.iter().max_by_key(|r| (r.length, last(r)));
        longest.map_or(0.0, |r| r.copies.len() as f64 / r.length.max(1) as f64)
    }

    /// The copies that all clusters share, if they do.
    fn common(&self) -> Option<&[Traffic]> {
        self.routes.first().filter(|_| self.shared).map(|r| r.copies.as_slice())
    }

    fn of(&self, id: i64) -> &Route {
        &self.routes[self.number(id) as usize]
    }
}
