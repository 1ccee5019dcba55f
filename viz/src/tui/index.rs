//! An index of what happens in an interval on one row or on many, in time logarithmic in the operations.
//!
//! It holds the edges of all spans in order, with a sample every [`STEP`] edges of the time of each class so far. The
//! time of a class up to any instant is a sample and at most [`STEP`] more edges; an interval is a difference. Spans
//! may overlap, so a whole CTA has one index, as a single warp has.

use super::class::CLASSES;

/// Edges between samples.
const STEP: usize = 64;

/// Sums up to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Ticks of each class.
    pub(crate) time: [u64; CLASSES],
    /// Number of spans that started.
    pub(crate) begun: u64,
}

impl Sums {
    const ZERO: Sums = Sums { time: [0; CLASSES], begun: 0 };

    /// The difference from earlier sums.
    pub(crate) fn since(&self, earlier: &Sums) -> Sums {
        let mut d = *self;
        for (x, y) in d.time.iter_mut().zip(earlier.time) {
            *x -= y;
        }
        d.begun -= earlier.begun;
        d
    }

    /// Adds the sums of another row.
    pub(crate) fn add(&mut self, other: &Sums) {
        for (x, y) in self.time.iter_mut().zip(other.time) {
            *x += y;
        }
        self.begun += other.begun;
    }
}

/// State between two edges. A class with `open` spans has `open * now - base` ticks. `base` is the sum of the starts of
/// all spans minus the sum of the ends of finished ones. So an edge changes one class, not all of them.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// The previous edge.
    at: u64,
    begun: u64,
    /// Modulo 2^64; the differences that are used are small.
    base: [u64; CLASSES],
    open: [u32; CLASSES],
}

impl Sample {
    const START: Sample = Sample { at: 0, begun: 0, base: [0; CLASSES], open: [0; CLASSES] };

    fn pass(&mut self, edge: Edge) {
        let (at, edge) = (at(edge), edge as u8);
        let class = usize::from(edge & !BEGINS);
        self.at = at;
        if edge & BEGINS != 0 {
            self.open[class] += 1;
            self.base[class] = self.base[class].wrapping_add(at);
            self.begun += 1;
        } else {
            self.open[class] -= 1;
            self.base[class] = self.base[class].wrapping_sub(at);
        }
    }

    /// Sums up to an instant, with no edge in between.
    fn sums(&self, to: u64) -> Sums {
        let mut sums = Sums { time: [0; CLASSES], begun: self.begun };
        for (time, (base, open)) in sums.time.iter_mut().zip(self.base.iter().zip(&self.open)) {
            *time = to.wrapping_mul(u64::from(*open)).wrapping_sub(*base);
        }
        sums
    }
}

/// Bit of an edge at which a span starts.
pub(crate) const BEGINS: u8 = 0x80;

/// An edge as one number: instant and class, with [`BEGINS`] for a start. Ends sort before starts at the same
/// instant, so neighbors touch and do not overlap.
pub(crate) type Edge = u64;

/// Exclusive limit of the instants of edges.
pub(crate) const LIMIT: u64 = 1 << 56;

/// An edge.
pub(crate) fn edge(at: u64, edge: u8) -> Edge {
    at << 8 | u64::from(edge)
}

fn at(edge: Edge) -> u64 {
    edge >> 8
}

/// The index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    edges: Vec<Edge>,
    /// State before each `STEP`-th edge.
    samples: Vec<Sample>,
}

impl Index {
    /// An index of edges in order.
    pub(crate) fn new(edges: Vec<Edge>) -> Index {
        let mut state = Sample::START;
        let mut samples = Vec::with_capacity(edges.len().div_ceil(STEP));
        for some in edges.chunks(STEP) {
            samples.push(state);
            some.iter().for_each(|edge| state.pass(*edge));
        }
        Index { edges, samples }
    }

    /// The edges of the index.
    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Sums up to each of several ascending instants. A span that starts at an instant is not counted there.
    pub(crate) fn sums(&self, instants: impl Iterator<Item = u64>) -> impl Iterator<Item = Sums> {
        let (mut i, mut state) = (0usize, Sample::START);
        instants.map(move |to| {
            if self.edges.get(i + STEP).is_some_and(|e| at(*e) < to) {
                let sample = i / STEP + self.samples[i / STEP..].partition_point(|s| s.at < to) - 1;
                if sample * STEP > i {
                    (i, state) = (sample * STEP, self.samples[sample]);
                }
            }
            while let Some(edge) = self.edges.get(i).filter(|e| at(**e) < to) {
                state.pass(*edge);
                i += 1;
            }
            state.sums(to)
        })
    }

    /// Sums between two instants.
    pub(crate) fn between(&self, from: u64, to: u64) -> Sums {
        let mut sums = self.sums([from, to.max(from)].into_iter());
        match (sums.next(), sums.next()) {
            (Some(a), Some(b)) => b.since(&a),
            _ => Sums::ZERO,
        }
    }

    /// The first edge after an instant.
    pub(crate) fn edge_after(&self, t: u64) -> Option<u64> {
        self.edges.get(self.edges.partition_point(|e| at(*e) <= t)).map(|e| at(*e))
    }

    /// The last edge before an instant.
    pub(crate) fn edge_before(&self, t: u64) -> Option<u64> {
        self.edges.partition_point(|e| at(*e) < t).checked_sub(1).map(|i| at(self.edges[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(spans: &[(u64, u64, u8)]) -> Index {
        let mut edges: Vec<Edge> = spans.iter().map(|s| edge(s.0, s.2 | BEGINS)).collect();
        edges.extend(spans.iter().map(|s| edge(s.1, s.2)));
        edges.sort_unstable();
        Index::new(edges)
    }

    fn spans() -> impl Strategy<Value = Vec<(u64, u64, u8)>> {
        let span = (0..2000u64, 1..300u64, 0..CLASSES as u8).prop_map(|(start, long, c)| (start, start + long, c));
        proptest::collection::vec(span, 0..400)
    }

    proptest! {
        #[test]
        fn sums_are_those_of_a_plain_count(spans in spans(), mut at in proptest::collection::vec(0..2500u64, 1..40)) {
            at.sort_unstable();
            let index = index(&spans);
            for (sums, &t) in index.sums(at.iter().copied()).zip(&at) {
                let mut plain = Sums::ZERO;
                for &(start, end, class) in &spans {
                    plain.time[usize::from(class)] += end.min(t).saturating_sub(start);
                    plain.begun += u64::from(start < t);
                }
                prop_assert_eq!(sums, plain, "up to {}", t);
            }
        }

        #[test]
        fn edges_are_the_nearest(spans in spans(), t in 0..2500u64) {
            let index = index(&spans);
            let edges = || spans.iter().flat_map(|s| [s.0, s.1]);
            prop_assert_eq!(index.edge_after(t), edges().filter(|e| *e > t).min());
            prop_assert_eq!(index.edge_before(t), edges().filter(|e| *e < t).max());
        }
    }
}
