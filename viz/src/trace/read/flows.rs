//! Flows of other programs, converted to wakes.

use std::cmp::Reverse;

use warpline_sim::timeline::Span;

use super::build::FlowEnd;

/// The slices of one thread in order of their starts, each with the one that encloses it.
#[derive(Default)]
struct Nest {
    spans: Vec<u32>,
    parent: Vec<Option<u32>>,
}

impl Nest {
    fn new(mut spans: Vec<u32>, all: &[Span]) -> Nest {
        let of = |i: u32| &all[i as usize];
        spans.sort_by_key(|&i| (of(i).start, Reverse(of(i).end), i));
        let mut open: Vec<u32> = Vec::new();
        let parent = spans.iter().enumerate().map(|(n, &i)| {
            while open.last().is_some_and(|&o| of(spans[o as usize]).end <= of(i).start) {
                open.pop();
            }
            let parent = open.last().copied();
            open.push(n as u32);
            parent
        });
        let parent = parent.collect();
        Nest { spans, parent }
    }

    /// The shortest slice that is open at an instant, including its ends.
    fn at(&self, at: u64, all: &[Span]) -> Option<u32> {
        let of = |n: u32| &all[self.spans[n as usize] as usize];
        let begun = |n: usize| n.checked_sub(1).map(|n| n as u32);
        // At a common boundary, either neighbor may be meant.
        let last = [
            begun(self.spans.partition_point(|&i| all[i as usize].start <= at)),
            begun(self.spans.partition_point(|&i| all[i as usize].start < at)),
        ];
        let up = |n: Option<u32>| std::iter::successors(n, |&n| self.parent[n as usize]);
        let open = last.into_iter().flat_map(up).filter(|&n| of(n).end >= at);
        open.min_by_key(|&n| (of(n).end - of(n).start, self.spans[n as usize])).map(|n| self.spans[n as usize])
    }
}

/// A wake from the slice that encloses the start of a flow to the slice that encloses its end; with steps, from each
/// to the next. Rows are still threads.
pub(super) fn flows(spans: &mut [Span], ends: &[FlowEnd]) {
    if ends.is_empty() {
        return;
    }
    let mut threads: Vec<Vec<u32>> = Vec::new();
    for (i, s) in spans.iter().enumerate() {
        let thread = s.row as usize;
        if thread >= threads.len() {
            threads.resize_with(thread + 1, Vec::new);
        }
        threads[thread].push(i as u32);
    }
    let nests: Vec<Nest> = threads.into_iter().map(|of| Nest::new(of, spans)).collect();
    let mut from: Vec<Option<u32>> = vec![None; ends.iter().map(|e| e.flow as usize + 1).max().unwrap_or(0)];
    let mut wakes: Vec<(u32, u32)> = Vec::new();
    for e in ends {
        let here = nests.get(e.thread as usize).and_then(|n| n.at(e.at, spans));
        let since = &mut from[e.flow as usize];
        if e.ph != b's' {
            wakes.extend(since.zip(here).filter(|(by, to)| by != to));
        }
        if e.ph != b'f' {
            *since = here;
        }
    }
    for (by, to) in wakes {
        spans[to as usize].woken_by = Some(by);
    }
}
