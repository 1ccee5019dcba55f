//! The steady period of a kernel from its dependences alone: the maximum cycle ratio of its periodic graph.
//!
//! Events of one kind recur in every period, so each is one node. An edge has ticks, and the number of periods
//! between its ends. No schedule goes around a cycle in less time than its ticks over its periods, and each resource
//! does its whole work of a period. The largest of these ratios is a bound on every schedule. Where agents do not
//! queue for each other's resources on that cycle, the bound is the period.

use std::collections::BTreeMap;

use warpline_sim::engine::graph::{Event, Graph};
use warpline_sim::timeline::TICKS;

/// What bounds the period.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// A cycle of events, each caused by the one before.
    Cycle(Vec<Event>),
    /// A resource that is always busy, by number.
    Resource(u16),
}

/// A steady period.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// Cycles from one step of the main loop to the next.
    pub cycles: f64,
    /// What bounds the period.
    pub bound: Bound,
    /// Steps in a period.
    pub steps: usize,
    /// Shares of the period that the largest cycle and the busiest resource need; the larger is 1.
    pub shares: (f64, f64),
}

/// Longest period considered, in steps.
const LONGEST: usize = 64;
/// Fewest steps of a usable run, so that prologue and epilogue are small beside the loop.
const LEAST: usize = 96;

/// Fewest events of a kind that recurs; fewer belong to the ends of the run.
const FEW: usize = 8;
/// Fewest periods of a usable run.
const LEAST_PERIODS: usize = 10;

/// An edge of the periodic graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arc {
    /// The earlier event.
    pub from: u32,
    /// The later event.
    pub to: u32,
    /// Periods between the two events.
    pub periods: i64,
    /// Fewest ticks between the two events.
    pub ticks: i64,
}

/// The period of a run's main loop. `None` for a short run, or if events do not recur evenly.
pub fn period(g: &Graph) -> Option<Period> {
    if g.steps.len() < LEAST {
        return None;
    }
    let mut classes: BTreeMap<Event, Vec<u32>> = BTreeMap::new();
    for (i, e) in g.events.iter().enumerate() {
        classes.entry(*e).or_default().push(i as u32);
    }
    // Rare events belong to the ends of the run.
    classes.retain(|_, list| list.len() >= FEW && list.len() * LONGEST > g.steps.len());
    (1..=LONGEST.min(g.steps.len() / LEAST_PERIODS)).find_map(|steps| folded(g, &classes, steps))
}

/// The period, if events recur after `steps` steps.
fn folded(g: &Graph, classes: &BTreeMap<Event, Vec<u32>>, steps: usize) -> Option<Period> {
    let whole = g.steps.len() as f64 / steps as f64;
    // For each event of the graph: its node, and the number of periods before it.
    let mut place: Vec<Option<(u32, i64)>> = vec![None; g.events.len()];
    let mut nodes = Vec::new();
    for (event, list) in classes {
        let times = (list.len() as f64 / whole).round();
        // The first and last steps may lack the event.
        if times < 1.0 || (list.len() as f64 - times * whole).abs() > 16.0 * times / steps as f64 + 2.0 {
            return None;
        }
        for (n, e) in list.iter().enumerate() {
            place[*e as usize] = Some((nodes.len() as u32 + (n % times as usize) as u32, (n / times as usize) as i64));
        }
        nodes.extend((0..times as usize).map(|_| *event));
    }
    let (first, last) = ((whole / 3.0) as i64, (whole * 2.0 / 3.0) as i64);
    let middle = |e: u32| place[e as usize].filter(|p| (first..last).contains(&p.1));
    let mut arcs: Vec<Arc> = Vec::new();
    for e in &g.edges {
        let (Some(a), Some(b)) = (middle(e.from), place[e.to as usize]) else { continue };
        arcs.push(Arc { from: a.0, to: b.0, periods: b.1 - a.1, ticks: e.ticks as i64 });
    }
    arcs.sort_unstable();
    // Each event recurs once in a period, except across the ends of the part considered.
    if arcs.chunk_by(|a, b| a == b).any(|same| (same.len() as i64) < last - first) {
        return None;
    }
    arcs.dedup();
    let (ticks, cycle) = match ratio(nodes.len(), &arcs)? {
        Some(found) => (found.ticks as f64 / found.periods as f64, found.nodes),
        None => (0.0, Vec::new()),
    };
    let mut work: BTreeMap<u16, u64> = BTreeMap::new();
    for (event, resource, busy) in &g.work {
        if middle(*event).is_some() {
            *work.entry(*resource).or_default() += busy;
        }
    }
    let busiest = work.into_iter().map(|(r, busy)| (busy, std::cmp::Reverse(r))).max();
    let worked = busiest.map_or(0.0, |b| (b.0 * g.resident as u64) as f64 / (last - first) as f64);
    let all = ticks.max(worked);
    if all == 0.0 {
        return None;
    }
    let bound = match busiest {
        Some((_, std::cmp::Reverse(r))) if worked >= ticks => Bound::Resource(r),
        _ => Bound::Cycle(cycle.into_iter().map(|n| nodes[n as usize]).collect()),
    };
    Some(Period { cycles: all / steps as f64 / TICKS as f64, bound, steps, shares: (ticks / all, worked / all) })
}

/// A cycle of the periodic graph, with its sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Ticks of its edges.
    pub ticks: i64,
    /// Periods of its edges.
    pub periods: i64,
    /// Its events.
    pub nodes: Vec<u32>,
}

/// The cycle with the most ticks for each period; `Some(None)` without a cycle. `None` for a cycle that goes back in
/// time: such a kernel hangs.
pub fn ratio(nodes: usize, arcs: &[Arc]) -> Option<Option<Cycle>> {
    let mut best: Option<Cycle> = None;
    loop {
        // Gain of an arc: its ticks less those that the best cycle so far needs for as many periods.
        let (t, p) = best.as_ref().map_or((0, 1), |c| (c.ticks, c.periods));
        let Some(cycle) = gain(nodes, arcs, |a| a.ticks * p - a.periods * t) else { return Some(best) };
        if cycle.periods <= 0 {
            return None;
        }
        best = Some(cycle);
    }
}

/// A cycle whose arcs have a positive sum.
fn gain(nodes: usize, arcs: &[Arc], of: impl Fn(&Arc) -> i64) -> Option<Cycle> {
    let mut far = vec![0i64; nodes];
    let mut by: Vec<Option<usize>> = vec![None; nodes];
    loop {
        let mut more = false;
        for (i, a) in arcs.iter().enumerate() {
            let to = far[a.from as usize] + of(a);
            if to > far[a.to as usize] {
                far[a.to as usize] = to;
                by[a.to as usize] = Some(i);
                more = true;
            }
        }
        if !more {
            return None;
        }
        if let Some(cycle) = closed(&by, arcs) {
            return Some(cycle);
        }
    }
}

/// A cycle among the arcs by which nodes were reached.
fn closed(by: &[Option<usize>], arcs: &[Arc]) -> Option<Cycle> {
    let mut from = vec![usize::MAX; by.len()];
    for start in 0..by.len() {
        let mut at = start;
        while from[at] == usize::MAX {
            from[at] = start;
            match by[at] {
                Some(i) => at = arcs[i].from as usize,
                None => break,
            }
        }
        if from[at] != start || by[at].is_none() {
            continue;
        }
        // Go around once: `at` may be where a walk without a cycle ended.
        let mut cycle = Cycle { ticks: 0, periods: 0, nodes: Vec::new() };
        let mut n = at;
        while let Some(i) = by[n] {
            cycle.nodes.push(n as u32);
            cycle.ticks += arcs[i].ticks;
            cycle.periods += arcs[i].periods;
            n = arcs[i].from as usize;
            if n == at {
                cycle.nodes.reverse();
                return Some(cycle);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arc(from: u32, to: u32, periods: i64, ticks: i64) -> Arc {
        Arc { from, to, periods, ticks }
    }

    #[test]
    fn a_ring_goes_round_in_its_round_trip_over_its_stages_or_in_its_work() {
        // Load to use, use to the load some stages later, and use to the next use.
        let ring = |stages| [arc(0, 1, 0, 600), arc(1, 0, stages, 200), arc(1, 1, 1, 263)];
        let of = |stages| ratio(2, &ring(stages)).unwrap().unwrap();
        let per = |stages| of(stages).ticks as f64 / of(stages).periods as f64;
        assert_eq!([1, 2, 3, 4].map(per), [800.0, 400.0, 800.0 / 3.0, 263.0]);
    }

    #[test]
    fn a_cycle_back_in_time_is_a_hang_and_none_is_none() {
        assert_eq!(ratio(2, &[arc(0, 1, 0, 5), arc(1, 0, 0, 1)]), None);
        assert_eq!(ratio(2, &[arc(0, 1, 0, 5)]), Some(None));
    }

    proptest! {
        /// The cycle found is simple, and no simple cycle of a small graph has more ticks for each period.
        #[test]
        fn none_is_better(list in prop::collection::vec((0..5u32, 0..5u32, 1..4i64, 0..50i64), 1..12)) {
            let arcs: Vec<Arc> = list.iter().map(|&(a, b, p, t)| arc(a, b, p, t)).collect();
            fn walk(arcs: &[Arc], first: u32, at: u32, seen: u32, (t, p): (i64, i64), all: &mut Vec<(i64, i64)>) {
                for a in arcs.iter().filter(|a| a.from == at) {
                    let sums = (t + a.ticks, p + a.periods);
                    if a.to == first {
                        all.push(sums);
                    } else if seen >> a.to & 1 == 0 {
                        walk(arcs, first, a.to, seen | 1 << a.to, sums, all);
                    }
                }
            }
            let mut all = Vec::new();
            (0..5).for_each(|n| walk(&arcs, n, n, 1 << n, (0, 0), &mut all));
            let best = all.iter().map(|(t, p)| *t as f64 / *p as f64).fold(0.0, f64::max);
            let found = ratio(5, &arcs).unwrap().map_or(0.0, |c| c.ticks as f64 / c.periods as f64);
            prop_assert!((found - best).abs() < 1e-9, "{} {}", found, best);
        }
    }
}
