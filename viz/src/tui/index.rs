//! What happens in a stretch of time on one row or on many, in time that grows with the logarithm of the operations.
//!
//! The edges of all spans, in order, with a sample every [`STEP`] edges: the time of each class up to there and how many
//! spans of it are open. The time of a class up to any instant is a sample and at most [`STEP`] edges more; what lies
//! between two instants is a difference. Spans may overlap, so a whole CTA is one index just as a single warp is.

use super::class::CLASSES;

/// Edges from one sample to the next.
const STEP: usize = 64;

/// Sums up to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Ticks of each class.
    pub(crate) time: [u64; CLASSES],
    /// Spans begun.
    pub(crate) begun: u64,
}

impl Sums {
    const ZERO: Sums = Sums { time: [0; CLASSES], begun: 0 };

    /// What came since.
    pub(crate) fn since(&self, earlier: &Sums) -> Sums {
        let mut d = *self;
        for (x, y) in d.time.iter_mut().zip(earlier.time) {
            *x -= y;
        }
        d.begun -= earlier.begun;
        d
    }

    /// Adds another row's.
    pub(crate) fn add(&mut self, other: &Sums) {
        for (x, y) in self.time.iter_mut().zip(other.time) {
            *x += y;
        }
        self.begun += other.begun;
    }
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: u64,
    sums: Sums,
    open: [u32; CLASSES],
}

impl Sample {
    const START: Sample = Sample { at: 0, sums: Sums::ZERO, open: [0; CLASSES] };

    fn forward(&mut self, to: u64) {
        let ticks = to - self.at;
        if ticks > 0 {
            for (time, open) in self.sums.time.iter_mut().zip(self.open) {
                *time += ticks * u64::from(open);
            }
            self.at = to;
        }
    }

    fn pass(&mut self, at: u64, edge: u8) {
        self.forward(at);
        let class = usize::from(edge & !BEGINS);
        if edge & BEGINS != 0 {
            self.open[class] += 1;
            self.sums.begun += 1;
        } else {
            self.open[class] -= 1;
        }
    }
}

/// The bit of an edge at which a span begins.
const BEGINS: u8 = 0x80;

/// The index. Edges are added in order of time.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    times: Vec<u64>,
    edges: Vec<u8>,
    /// The state before each `STEP`-th edge.
    samples: Vec<Sample>,
    last: Sample,
}

impl Index {
    pub(crate) fn new() -> Index {
        Index { times: Vec::new(), edges: Vec::new(), samples: Vec::new(), last: Sample::START }
    }

    /// Adds an edge of a span of a class, not earlier than the last one added.
    pub(crate) fn push(&mut self, at: u64, class: u8, begins: bool) {
        if self.times.len().is_multiple_of(STEP) {
            self.samples.push(self.last);
        }
        let edge = class | if begins { BEGINS } else { 0 };
        self.last.pass(at, edge);
        self.times.push(at);
        self.edges.push(edge);
    }

    /// Sums up to each of several instants, which ascend: a span that begins at an instant is not counted there.
    pub(crate) fn sums(&self, instants: impl Iterator<Item = u64>) -> impl Iterator<Item = Sums> {
        let (mut i, mut state) = (0usize, Sample::START);
        instants.map(move |to| {
            if self.times.get(i + STEP).is_some_and(|t| *t < to) {
                let sample = i / STEP + self.samples[i / STEP..].partition_point(|s| s.at < to) - 1;
                if sample * STEP > i {
                    (i, state) = (sample * STEP, self.samples[sample]);
                }
            }
            while let Some(at) = self.times.get(i).filter(|t| **t < to) {
                state.pass(*at, self.edges[i]);
                i += 1;
            }
            let mut here = state;
            here.forward(to.max(here.at));
            here.sums
        })
    }

    /// What lies between two instants.
    pub(crate) fn between(&self, from: u64, to: u64) -> Sums {
        let mut sums = self.sums([from, to.max(from)].into_iter());
        match (sums.next(), sums.next()) {
            (Some(a), Some(b)) => b.since(&a),
            _ => Sums::ZERO,
        }
    }

    /// The first edge after an instant.
    pub(crate) fn edge_after(&self, t: u64) -> Option<u64> {
        self.times.get(self.times.partition_point(|x| *x <= t)).copied()
    }

    /// The last edge before an instant.
    pub(crate) fn edge_before(&self, t: u64) -> Option<u64> {
        self.times.partition_point(|x| *x < t).checked_sub(1).map(|i| self.times[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(spans: &[(u64, u64, u8)]) -> Index {
        let mut edges: Vec<(u64, bool, u8)> = spans.iter().map(|s| (s.0, true, s.2)).collect();
        edges.extend(spans.iter().map(|s| (s.1, false, s.2)));
        // An end comes before a beginning of the same instant.
        edges.sort_unstable();
        let mut index = Index::new();
        for (at, begins, class) in edges {
            index.push(at, class, begins);
        }
        index
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
