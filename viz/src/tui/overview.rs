//! The whole run in a few hundred stretches of equal length, for the minimap.

use warpline_sim::timeline::Span;

use super::class;

/// Stretches: more than any terminal is wide.
const PARTS: u64 = 1024;

/// What the warps did in each stretch: ticks of work and of waiting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overview {
    end: u64,
    work: Vec<u64>,
    wait: Vec<u64>,
}

impl Overview {
    /// Of the spans of warps.
    pub(crate) fn new(spans: &[Span], class: &[u8], end: u64, agent: impl Fn(usize) -> bool) -> Overview {
        let mut all = Overview { end, work: vec![0; PARTS as usize], wait: vec![0; PARTS as usize] };
        for (i, s) in spans.iter().enumerate() {
            let into = match class[i] {
                _ if !agent(i) || s.end <= s.start => continue,
                c if class::works(c) => &mut all.work,
                c if class::waits(c) => &mut all.wait,
                _ => continue,
            };
            let last = part(s.end - 1, end);
            for (p, ticks) in into.iter_mut().enumerate().take(last + 1).skip(part(s.start, end)) {
                let (a, b) = (edge(p as u64, end), edge(p as u64 + 1, end));
                *ticks += s.end.min(b).saturating_sub(s.start.max(a));
            }
        }
        all
    }

    /// Share of work in the time of warps that had not ended, for each of `cells` parts; none where there were none.
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

fn part(tick: u64, end: u64) -> usize {
    let mut p = (u128::from(tick) * u128::from(PARTS) / u128::from(end.max(1))).min(u128::from(PARTS) - 1) as u64;
    // The edges are rounded down, so the part may be the next.
    if p + 1 < PARTS && edge(p + 1, end) <= tick {
        p += 1;
    }
    p as usize
}
