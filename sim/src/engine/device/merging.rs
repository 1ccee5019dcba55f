//! How many requests of several clusters for one line are looked up in a slice.

use crate::ir::{Instr, Program};
use crate::machine::Machine;

use super::Launch;
use super::group::Crowd;

/// The rules for merging requests of the same step for one line before they reach a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merging {
    /// Share of second requests in a pair of neighbors that merges with the first.
    pub(super) pairs: f64,
    /// `pairs` in a later wave, for lines that are in the cache.
    pub(super) later: f64,
    /// Places of a later wave at one cache: groups of cores, times the clusters that a core holds. `None` where clusters
    /// of a later wave are neighbors in launch order, as those of the first wave are.
    pub(super) places: Option<f64>,
    /// Share of the requests of a cluster of a later wave that merges with those of its neighbor in launch order.
    pub(super) next: f64,
    /// Share of equal requests at one place of a later wave that come at one time.
    pub(super) met: f64,
    /// Cores of a group whose requests meet on the way.
    pub(super) group: i64,
    /// Share of each further request that is near enough in time to merge with others of the group.
    pub(super) near: f64,
    /// `near` behind the first result, for clusters that stay on their cores: loops over tiles.
    pub(super) near_later: f64,
    /// Largest number of requests merged into one.
    pub(super) most: f64,
    /// Share of a line's parts that merge, where clusters ask for a line part by part. Of the clusters of a core, one
    /// asks for a part before the neighboring core asks for the next.
    pub(super) split: f64,
}

/// How close in time equal requests of a wave's clusters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// At about the same time: the clusters started together, and none has stored a result yet.
    InStep,
    /// Neighbors at the same time: pairs of cores are still in step, or wait for the same line.
    ByPairs,
    /// Requests of a later wave for lines in the cache. Its clusters started where others ended.
    Unordered,
    /// The same for lines that are not in the cache.
    Missed,
    /// Requests of a later wave whose clusters have routes of different lengths. Its clusters started at different times.
    Apart,
}

impl Merging {
    /// The rules for a kernel on a machine with this many caches.
    pub(super) fn new(m: &Machine, prog: &Program, at: Launch<'_>, caches: usize) -> Self {
        let seats = at.seats;
        let is = |key: &'static str, absent: f64| m.get(key).unwrap_or(absent);
        let pairs = is("memory.l2_merged", 0.0);
        let group = is("memory.l2_group_cores", 1.0).max(1.0) as i64;
        // Prologues of random length spread the CTAs further in time.
        let drawn = prog.code.iter().map(|i| if let Instr::Op { cost, .. } = i { 2.0 * cost.spread } else { 0.0 });
        let window = is("memory.l2_group_window", 0.0);
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
            places: (prog.opaque_globals && group < at.units)
                .then(|| (at.units * seats) as f64 / (group * caches as i64) as f64),
            next: is("memory.l2_group_next", 0.0),
            met: is("memory.l2_group_met", 1.0).max(0.01),
            group,
            near: window / apart.max(1.0),
            near_later: if prog.opaque_globals { window / (stated.max(1.0) * seats as f64) } else { 0.0 },
            most: is("memory.l2_group_most", 1.0),
            split: if prog.opaque_globals { 1.0 / seats.max(1) as f64 } else { 0.0 },
        }
    }

    /// Lookups for one line by the clusters of a crowd.
    pub(super) fn lookups(&self, crowd: &Crowd, when: When, split: bool) -> f64 {
        let all = match (when, self.places) {
            (When::Apart, _) => crowd.count(),
            (When::Unordered, Some(places)) => self.scattered(crowd, places),
            // A miss waits for memory, and later requests of neighbors for the line wait with it.
            (When::Missed, Some(places)) => self.scattered(crowd, places).min(self.by_group(crowd, When::ByPairs)),
            _ => self.by_group(crowd, when),
        };
        // A line is asked for once more, for its next part, before the neighbor asks for the first.
        if split { all * self.split + crowd.count() * (1.0 - self.split) } else { all }
    }

    /// Lookups by clusters of a later wave. Each runs where an earlier one ended, at a place of its own. Neighbors in
    /// launch order started one after the other, and are in step. Others started at any time: those in one group, and at
    /// one place of their cores, meet if they ask at the same time.
    fn scattered(&self, crowd: &Crowd, places: f64) -> f64 {
        let k = (crowd.count() - f64::from(crowd.next) * self.next).max(1.0);
        let apart = places / self.met;
        let taken = apart * (1.0 - (1.0 - 1.0 / apart).powf(k));
        taken.max(crowd.count() / self.most.max(1.0))
    }

    /// Lookups by clusters that are neighbors in launch order.
    fn by_group(&self, crowd: &Crowd, when: When) -> f64 {
        let (pairs, near) = match when {
            When::InStep => (self.pairs, self.near),
            When::ByPairs | When::Missed => (self.pairs, self.near_later),
            When::Unordered | When::Apart => (self.later, 0.0),
        };
        let merged = |(first, second): &(u32, u32)| {
            let k = f64::from(*first) + f64::from(*second) * (1.0 - pairs);
            k / (1.0 + (near * (k - 1.0)).clamp(0.0, (self.most - 1.0).max(0.0)))
        };
        crowd.sum([pairs, near], merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(near: f64) -> Merging {
        let (later, most, split) = (0.25, 4.0, 0.0);
        let (next, met) = (0.0, 1.0);
        Merging { pairs: 1.0, later, places: None, next, met, group: 16, near, near_later: 0.0, most, split }
    }

    fn crowd(ids: impl IntoIterator<Item = i64>, alone: bool) -> Crowd {
        let mut crowd = Crowd::at(0);
        ids.into_iter().for_each(|id| crowd.add(id, 132, 16, alone));
        crowd
    }

    #[test]
    fn requests_of_a_group_meet_in_the_first_wave_four_at_most_and_those_of_neighbors_later_too() {
        use When::{ByPairs, InStep, Unordered};
        let lookups = |near, ids: &[i64], when| rules(near).lookups(&crowd(ids.iter().copied(), false), when, false);
        // Neighbors of one pair, neighbors of two pairs, and neighbors of a later wave.
        assert_eq!((lookups(0.0, &[0, 1], ByPairs), lookups(0.0, &[1, 2], ByPairs)), (1.0, 2.0));
        assert_eq!((lookups(1.0, &[0, 1], Unordered), lookups(1.0, &[1, 2], Unordered)), (1.75, 2.0));
        // In one group the lookups are halved; in two groups they are not. Core 132 is the same core as core 0.
        assert_eq!((lookups(1.0, &[0, 2], InStep), lookups(1.0, &[0, 2], ByPairs)), (1.0, 2.0));
        assert_eq!((lookups(1.0, &[0, 16], InStep), lookups(1.0, &[0, 132], InStep)), (2.0, 1.0));
        // Six pairs at once: four pairs are one lookup, six are one and a half. The further apart in time, the fewer
        // merge.
        let pairs: Vec<i64> = (0..12).collect();
        assert_eq!((lookups(1.0, &pairs, InStep), lookups(0.2, &pairs, InStep)), (1.5, 3.0));
        // Clusters that are alone on their pairs of cores have no neighbor, and eight of them are in one group.
        assert_eq!(crowd([0, 1, 7, 8], true).by_group, [(3, 0), (1, 0)]);
        // Where two clusters of a core ask for parts of lines, half of the neighbors ask for the same part.
        let parts = Merging { split: 0.5, ..rules(0.0) };
        assert_eq!(parts.lookups(&crowd(0..2, false), InStep, true), 1.5);
        // Clusters that stay on their cores meet others of their group behind the first result, too.
        let stay = Merging { near_later: 0.5, ..rules(1.0) };
        assert_eq!(stay.lookups(&crowd([0, 2, 4], false), ByPairs, false), 1.5);
    }

    #[test]
    fn clusters_of_a_later_wave_are_anywhere_on_the_chip_and_meet_where_they_share_a_group() {
        use When::{Apart, Missed, Unordered};
        let later = Merging { places: Some(4.0), ..rules(1.0) };
        let lookups = |ids: std::ops::Range<i64>, when| later.lookups(&crowd(ids, false), when, false);
        // One cluster asks once. Two are at the same of four places in one case of four.
        assert_eq!((lookups(0..1, Unordered), lookups(0..2, Unordered)), (1.0, 1.75));
        // Sixteen are at nearly all places, and at most four meet.
        assert!((3.9..=4.0).contains(&lookups(0..16, Unordered)));
        assert_eq!(lookups(0..32, Unordered), 8.0);
        // Neighbors in launch order are in step, and others ask at different times.
        let drifted = Merging { next: 0.5, met: 0.25, ..later };
        let few = drifted.lookups(&crowd([0, 1], false), Unordered, false);
        let far = drifted.lookups(&crowd([0, 8], false), Unordered, false);
        assert!(few < 1.6 && far > 1.9, "{few} {far}");
        // Neighbors that wait for memory meet wherever they are.
        assert_eq!(lookups(0..2, Missed), 1.0);
        // Clusters that started at different times do not meet.
        assert_eq!(lookups(0..16, Apart), 16.0);
    }
}
