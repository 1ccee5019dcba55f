//! The clusters of a wave, in groups that request the same tiles.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::ir::Program;
use crate::protocol::GridDependence;

/// Largest distance in launch order of clusters at one of two caches that are neighbors.
const NEXT: i64 = 2;

/// Clusters that request the same tile.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Launch indices, ascending.
    pub(super) ids: Vec<i64>,
    /// The launch index of the simulated unit's cluster, if the group has it.
    pub(super) own: Option<i64>,
    /// The same clusters by cache.
    pub(super) crowds: Vec<Crowd>,
}

/// Clusters at one cache that request the same tile.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    /// The cache.
    pub(super) cache: usize,
    /// By group of cores whose requests can meet: clusters, and further clusters that are neighbors of one of them.
    /// Neighbors in launch order are neighbors on the chip.
    pub(super) by_group: Vec<(u32, u32)>,
    /// Clusters that follow another one in launch order, or the one after it.
    pub(super) next: u32,
    /// The cluster added last.
    last: Option<i64>,
    /// The last result of [`Self::sum`].
    known: Cell<Option<([u64; 2], f64)>>,
}

impl Crowd {
    /// No cluster.
    pub(super) fn at(cache: usize) -> Crowd {
        Crowd { cache, by_group: Vec::new(), next: 0, last: None, known: Cell::new(None) }
    }

    /// A sum over the groups with clusters, of a function that depends on these two numbers alone.
    pub(super) fn sum(&self, by: [f64; 2], of: impl Fn(&(u32, u32)) -> f64) -> f64 {
        let by = by.map(f64::to_bits);
        match self.known.get() {
            Some((known, sum)) if known == by => sum,
            _ => {
                let sum = self.by_group.iter().filter(|(first, second)| first + second > 0).map(of).sum();
                self.known.set(Some((by, sum)));
                sum
            }
        }
    }

    /// Number of clusters.
    pub(super) fn count(&self) -> f64 {
        self.by_group.iter().map(|(first, second)| f64::from(first + second)).sum()
    }

    /// Adds a cluster behind those with lower indices, on one of `units` units, which form groups of `cores`. Clusters
    /// that are alone on their pair of units have no neighbor.
    pub(super) fn add(&mut self, id: i64, units: i64, cores: i64, alone: bool) {
        let unit = if alone { 2 * id } else { id };
        let group = (unit % units.max(1) / cores.max(1)) as usize;
        if self.by_group.len() <= group {
            self.by_group.resize(group + 1, (0, 0));
        }
        self.next += u32::from(self.last.is_some_and(|before| id - before <= NEXT));
        let (first, second) = &mut self.by_group[group];
        let pair = self.last.replace(id).is_some_and(|before| before / 2 == id / 2) && !alone;
        *(if pair { second } else { first }) += 1;
    }
}

/// The groups of a wave, by the grid coordinates that a copy depends on.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    by: [Vec<Group>; 4],
}

impl Groups {
    /// Groups the clusters `ids`. `own` says which belong to the simulated unit, `crowds` divides clusters by cache.
    pub(super) fn new(
        prog: &Program,
        ids: std::ops::Range<i64>,
        own: impl Fn(i64) -> bool,
        crowds: impl Fn(&[i64]) -> Vec<Crowd>,
    ) -> Self {
        let key = |grid_dependence: GridDependence, id: i64| match grid_dependence {
            GridDependence::None => 0,
            GridDependence::Rows => prog.grid.at(id).0,
            GridDependence::Columns => prog.grid.at(id).1,
            GridDependence::All => id,
        };
        let groups = |grid_dependence: GridDependence| {
            let mut by: BTreeMap<i64, Group> = BTreeMap::new();
            for id in ids.clone() {
                let g = by.entry(key(grid_dependence, id)).or_default();
                g.ids.push(id);
                g.own = g.own.or(own(id).then_some(id));
            }
            by.values_mut().for_each(|g| g.crowds = crowds(&g.ids));
            by.into_values().collect()
        };
        Groups {
            by: [GridDependence::None, GridDependence::Rows, GridDependence::Columns, GridDependence::All].map(groups),
        }
    }

    /// The groups for a copy that depends on these grid coordinates.
    pub(super) fn groups_by(&self, grid_dependence: GridDependence) -> &[Group] {
        &self.by[grid_dependence as usize]
    }
}
