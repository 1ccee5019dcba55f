//! Which clusters each unit runs, where clusters take different times.
//!
//! The hardware gives the next cluster of the launch order to the first unit with room. Clusters of equal length keep
//! the order: every n-th cluster comes to one unit. Where the control flow depends on the cluster (causal attention),
//! the length of a cluster is estimated by the instructions of its longest agent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Clusters of different lengths on their units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dealt {
    /// The clusters of the unit that ends last.
    pub(super) last: Vec<i64>,
    /// When each cluster starts, in the unit of the lengths.
    pub(super) starts: Vec<u64>,
}

/// Clusters of these lengths go to the first free place of a unit.
pub(super) fn deal(lengths: &[u64], units: i64, seats: i64) -> Option<Dealt> {
    let mut free: BinaryHeap<Reverse<(u64, i64, i64)>> =
        (0..seats).flat_map(|s| (0..units).map(move |u| Reverse((0, s, u)))).collect();
    let mut lists: Vec<Vec<i64>> = vec![Vec::new(); units as usize];
    let mut ends = vec![0; units as usize];
    let mut starts = Vec::with_capacity(lengths.len());
    for (id, length) in lengths.iter().enumerate() {
        let Reverse((at, seat, unit)) = free.pop()?;
        lists[unit as usize].push(id as i64);
        starts.push(at);
        ends[unit as usize] = at + length;
        free.push(Reverse((at + length, seat, unit)));
    }
    let last = (0..units as usize).max_by_key(|u| (ends[*u], Reverse(*u)))?;
    Some(Dealt { last: lists.swap_remove(last), starts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_comes_to_the_first_free_place() {
        // Two units of one place: cluster 0 takes as long as the three after it.
        let dealt = |last: &[i64], starts: &[u64]| Some(Dealt { last: last.to_vec(), starts: starts.to_vec() });
        assert_eq!(deal(&[30, 10, 10, 10, 5], 2, 1), dealt(&[0, 4], &[0, 0, 10, 20, 30]));
        assert_eq!(deal(&[10, 10, 10, 10], 2, 2), dealt(&[0, 2], &[0, 0, 0, 0]));
    }
}
