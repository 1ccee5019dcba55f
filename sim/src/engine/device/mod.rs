//! The memory of the whole device during a launch.
//!
//! CTAs are launched in order, as many at a time as fit the cores (a wave); those of a wave walk through their copies side
//! by side. Their tiles decide what hits: one tile read by two CTAs is the same lines. A tile that a wave reads for the first
//! time comes from far away for everyone in it, since who asks first waits for the memory and who asks later catches up with
//! it: a wave goes at the pace of its first. What the engine asks is where a tile of its own CTA comes from, and what share of
//! the bytes crosses the slices and the memory, which all cores of the wave divide.

mod cache;
mod group;
mod lru;
mod wave;

use rustc_hash::FxHashMap;

use crate::ir::Program;
use crate::machine::{Machine, MissingParam};
use crate::protocol::{Rules, Traffic, Walker, World};

use cache::Caches;
pub(super) use cache::{Bytes, Level};
use wave::{Merging, Tiles};

/// Traffic of one matrix in one wave, as shares of the bytes that cores ask for, in steps of 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    /// From memory.
    pub(super) dram: f64,
    /// Looked up in the slices, those between the halves included.
    pub(super) looked: f64,
}

/// What one wave of CTAs does to the memory, as the simulated unit sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wave {
    /// By object of the program.
    pub(super) shares: Vec<Shares>,
    /// As many units with as many clusters as the simulated one share what is shared: fewer than there are where others have
    /// fewer clusters, or none.
    pub(super) peers: f64,
    /// Where the unit's own tiles come from.
    levels: FxHashMap<(u16, [i64; 2]), Level>,
    /// The same, copy by copy.
    signs: Vec<Level>,
}

impl Wave {
    /// Where a tile of the simulated unit comes from.
    pub(super) fn level(&self, obj: u16, at: [i64; 2]) -> Level {
        self.levels.get(&(obj, at)).copied().unwrap_or(Level::Near)
    }

    /// Whether it takes the unit's time as another does: other tiles, but from as far and at the same rates.
    fn looks_like(&self, other: &Wave) -> bool {
        (self.peers, &self.signs, &self.shares) == (other.peers, &other.signs, &other.shares)
    }
}

/// The memory during a launch.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// In order of launch.
    pub(super) waves: Vec<Wave>,
    /// For each wave the first that looks like it to the unit.
    pub(super) kinds: Vec<u32>,
    /// Of the whole launch.
    pub(super) total: Bytes,
    /// Clusters of a wave.
    pub(super) resident: i64,
}

/// What of a grid runs where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    /// Places for clusters at a time on one unit.
    pub(super) seats: i64,
    /// Units: cores, or groups of cores that hold a cluster.
    pub(super) units: i64,
    /// The unit that is simulated.
    pub(super) unit: i64,
    /// What is read is in the cache already, as far as it fits: an equal launch went before.
    pub(super) warm: bool,
}

impl Memory {
    /// Runs a launch's traffic through the caches. `None` where the kernel's copies follow from more than its control flow.
    ///
    /// # Errors
    /// When the machine does not say how large its caches are.
    pub(super) fn new(prog: &Program, m: &Machine, rules: Rules, at: Launch) -> Result<Option<Self>, MissingParam> {
        let Some(lists) = Lists::new(prog, rules) else { return Ok(None) };
        let mut tiles = Tiles::new(prog, rules, Caches::new(m, prog.cluster as i64)?, Merging::new(m, prog), at);
        if at.warm {
            tiles.launch(&lists);
        }
        Ok(Some(tiles.launch(&lists)))
    }
}

/// The copies of each cluster.
struct Lists {
    /// One list for all, or one each.
    lists: Vec<Vec<Traffic>>,
}

impl Lists {
    fn new(prog: &Program, rules: Rules) -> Option<Self> {
        let own = World::depends_on_grid(prog);
        let n = if own { prog.grid.len() } else { 1 };
        let lists: Option<Vec<_>> = (0..n).map(|id| Walker::new(prog, rules, id).traffic()).collect();
        Some(Lists { lists: lists? })
    }

    /// The list, where all have the same.
    fn common(&self) -> Option<&[Traffic]> {
        if let [one] = self.lists.as_slice() { Some(one) } else { None }
    }

    fn of(&self, id: i64) -> &[Traffic] {
        if self.lists.len() == 1 { &self.lists[0] } else { &self.lists[id as usize] }
    }
}
