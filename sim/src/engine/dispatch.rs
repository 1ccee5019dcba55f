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
    /// When each cluster starts, in the unit of the lengths; empty where not asked for.
    pub(super) starts: Vec<u64>,
}

/// The units of a machine, and what is to be dealt to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deal {
    /// Number of clusters.
    pub(super) clusters: i64,
    /// Number of units.
    pub(super) units: i64,
    /// Clusters that one unit holds at a time.
    pub(super) seats: i64,
    /// Whether the start of each cluster is asked for.
    pub(super) starts: bool,
}

impl Deal {
    /// Clusters go to the first free place of a unit. `length` is the length of a cluster. Nothing is kept of a cluster
    /// but what is asked for, because a grid can have many.
    pub(super) fn out(self, length: impl Fn(i64) -> u64) -> Option<Dealt> {
        let mut ends = vec![0; self.units as usize];
        self.each(&length, |_, unit, _, end| ends[unit as usize] = end)?;
        let last = (0..self.units).max_by_key(|u| (ends[*u as usize], Reverse(*u)))?;
        let mut dealt = Dealt::default();
        self.each(&length, |id, unit, start, _| {
            if unit == last {
                dealt.last.push(id);
            }
            if self.starts {
                dealt.starts.push(start);
            }
        })?;
        Some(dealt)
    }

    /// Clusters of one length keep the order.
    pub(super) fn in_order(self, length: u64) -> Dealt {
        let wave = (self.units * self.seats).max(1);
        let starts = (0..if self.starts { self.clusters } else { 0 }).map(|id| (id / wave) as u64 * length);
        Dealt { last: (0..self.clusters).step_by(self.units as usize).collect(), starts: starts.collect() }
    }

    /// Calls `f` with each cluster, its unit, its start and its end.
    fn each(self, length: &impl Fn(i64) -> u64, mut f: impl FnMut(i64, i64, u64, u64)) -> Option<()> {
        let places = (0..self.seats).flat_map(|s| (0..self.units).map(move |u| Reverse((0, s, u))));
        let mut free: BinaryHeap<Reverse<(u64, i64, i64)>> = places.collect();
        for id in 0..self.clusters {
            let Reverse((at, seat, unit)) = free.pop()?;
            let end = at + length(id);
            f(id, unit, at, end);
            free.push(Reverse((end, seat, unit)));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_comes_to_the_first_free_place() {
        // Two units of one place: cluster 0 takes as long as the three after it.
        let deal = |lengths: &[u64], seats: i64| {
            let deal = Deal { clusters: lengths.len() as i64, units: 2, seats, starts: true };
            deal.out(|id| lengths[id as usize])
        };
        let dealt = |last: &[i64], starts: &[u64]| Some(Dealt { last: last.to_vec(), starts: starts.to_vec() });
        assert_eq!(deal(&[30, 10, 10, 10, 5], 1), dealt(&[0, 4], &[0, 0, 10, 20, 30]));
        assert_eq!(deal(&[10, 10, 10, 10], 2), dealt(&[0, 2], &[0, 0, 0, 0]));
    }

    #[test]
    fn clusters_of_one_length_keep_the_order() {
        for (clusters, units, seats) in (1..20).flat_map(|c| (1..4).flat_map(move |u| (1..4).map(move |s| (c, u, s)))) {
            let deal = Deal { clusters, units, seats, starts: true };
            assert_eq!(deal.out(|_| 7), Some(deal.in_order(7)), "{deal:?}");
        }
    }
}
