//! The clusters of a wave, in groups that request the same tiles.

use std::collections::BTreeMap;

use crate::ir::Program;
use crate::protocol::GridDependence;

/// Clusters that request the same tile.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Launch indices, ascending.
    pub(super) ids: Vec<i64>,
    /// The launch index of the simulated unit's cluster, if the group has it.
    pub(super) own: Option<i64>,
}

/// The groups of a wave, by the grid coordinates that a copy depends on.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    by: [Vec<Group>; 4],
}

impl Groups {
    /// Groups the clusters `ids`; `own` says which belong to the simulated unit.
    pub(super) fn new(prog: &Program, ids: std::ops::Range<i64>, own: impl Fn(i64) -> bool) -> Self {
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
