//! The whole run in equal intervals, for the minimap.

use super::by_row::RowSpan;
use super::class;

/// Number of intervals, more than any terminal is wide.
const PARTS: u64 = 1024;

/// Ticks of work and of waiting of the warps in each interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overview {
    end: u64,
    work: Vec<u64>,
    wait: Vec<u64>,
}

impl Overview {
    /// From the spans of warps, each row by start.
    pub(super) fn new<'r>(rows: impl Iterator<Item = &'r Vec<RowSpan>>, end: u64) -> Overview {
        let mut all = Overview { end, work: vec![0; PARTS as usize], wait: vec![0; PARTS as usize] };
        let edges: Vec<u64> = (0..=PARTS).map(|part| edge(part, end)).collect();
        for row in rows {
            let mut first = 0;
            for s in row {
                let into = match s.class {
                    c if class::works(c) => &mut all.work,
                    c if class::waits(c) => &mut all.wait,
                    _ => continue,
                };
                // The interval of its start is that of the previous span, or a later one.
                while first + 1 < into.len() && edges[first + 1] <= s.start {
                    first += 1;
                }
                for (ticks, ends) in into.iter_mut().zip(edges.windows(2)).skip(first) {
                    *ticks += s.end.min(ends[1]).saturating_sub(s.start.max(ends[0]));
                    if s.end <= ends[1] {
                        break;
                    }
                }
            }
        }
        all
    }

    /// Share of work in the time of warps that have not ended, for each of `cells` parts; `None` without such warps.
    pub(crate) fn shares(&self, cells: u16) -> Vec<Option<f64>> {
        (0..u64::from(cells))
            .map(|c| {
                let (a, b) = (c * PARTS / u64::from(cells), (c + 1) * PARTS / u64::from(cells));
                let part = a as usize..(b.max(a + 1)).min(PARTS) as usize;
                let sum = |all: &[u64]| all[part.clone()].iter().sum::<u64>() as f64;
                let (work, wait) = (sum(&self.work), sum(&self.wait));
                (work + wait > 0.0).then(|| work / (work + wait))
            })
            .collect()
    }

    /// The tick after the last.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

fn edge(part: u64, end: u64) -> u64 {
    (u128::from(part) * u128::from(end) / u128::from(PARTS)) as u64
}
