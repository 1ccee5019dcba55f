//! Causes: what let an operation begin or a wait end, and the chain of them that ends last.

use std::collections::BTreeMap;

use warpline_sim::timeline::{Timeline, What};

use super::class::{self, Class};
use super::model::Model;

/// What woke or started an operation: recorded, never guessed.
pub(crate) fn cause(m: &Model, span: u32) -> Option<u32> {
    let s = m.span(span);
    s.woken_by.or(s.started_by).filter(|w| (*w as usize) < m.t.spans.len())
}

/// The chain of causes from the end of the run back to its start, in order of time.
///
/// From a wait it goes to what woke it; from an engine's work to the work before it where that is what it queued behind,
/// else to what started it; from anything else to what the row did just before. Where a wait has no recorded waker, as
/// one for an issue slot has none, the chain stays on its row.
pub(crate) fn longest(m: &Model) -> Vec<u32> {
    let lasts = m.nodes.iter().enumerate().filter(|(_, n)| n.agents).filter_map(|(i, _)| {
        let alive = |s: &&u32| m.class[**s as usize] != class::ENDED;
        m.spans_of(i as u32).iter().rev().find(alive).copied()
    });
    let Some(mut at) = lasts.max_by_key(|s| (m.span(*s).end, std::cmp::Reverse(*s))) else { return Vec::new() };
    let mut chain = vec![at];
    while let Some(next) = before(m, at) {
        // Causes end no later than what they cause; a record that says otherwise ends the chain.
        if m.span(next).end > m.span(at).end || chain.len() > m.t.spans.len() {
            break;
        }
        chain.push(next);
        at = next;
    }
    chain.reverse();
    chain
}

/// The chain of causes that ends last, as spans of a timeline in order of time; none where the viewer cannot show it.
pub fn critical_path(t: &Timeline) -> Vec<u32> {
    Model::new(t.clone()).map_or(Vec::new(), |m| m.chain)
}

/// A part of the critical path: what it is, the statement it is at, and the ticks of the path that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Work or waiting.
    pub what: What,
    /// Index of the statement.
    pub site: Option<u32>,
    /// Ticks from the end of what came before on the path to its own end, summed over all times it is on it.
    pub ticks: u64,
    /// How often it is on the path.
    pub times: u64,
}

/// The critical path by statement and class, longest first. Its ticks sum up to the end of the path.
pub fn critical(t: &Timeline, path: &[u32]) -> Vec<Step> {
    let mut sums: BTreeMap<(Option<u32>, u8), Step> = BTreeMap::new();
    let mut upto = 0;
    for &i in path {
        let s = &t.spans[i as usize];
        let class = class::number(Class::of(&t.rows[s.row as usize].kind, s.what, 0));
        let step = sums.entry((s.site, class)).or_insert(Step { what: s.what, site: s.site, ticks: 0, times: 0 });
        step.ticks += s.end.saturating_sub(upto);
        step.times += 1;
        upto = upto.max(s.end);
    }
    let mut steps: Vec<Step> = sums.into_values().collect();
    steps.sort_by_key(|s| std::cmp::Reverse(s.ticks));
    steps
}

fn before(m: &Model, span: u32) -> Option<u32> {
    let s = m.span(span);
    let row = m.spans_of(m.track[span as usize]);
    let prev = m.place(span).checked_sub(1).map(|i| row[i]);
    let touches = prev.filter(|p| m.span(*p).end == s.start);
    if s.woken_by.is_some() {
        return cause(m, span);
    }
    touches.or_else(|| cause(m, span)).or(prev)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_sim::timeline::{Engine, Row, RowKind, Span, Stall, Work};

    #[test]
    fn it_goes_from_a_wait_to_its_waker_to_what_started_that() {
        let agent = |warp| RowKind::Agent { role: "w".into(), warp, lanes: None };
        let row = |kind| Row { name: "row".into(), cta: 0, kind };
        let rows = vec![row(agent(0)), row(agent(1)), row(RowKind::Engine(Engine::Copy))];
        let spans = vec![
            Span::new(0, (0, 10), What::Work(Work::Control)),
            Span::new(1, (0, 60), What::Stall(Stall::Mbarrier)),
            Span::new(0, (10, 14), What::Work(Work::Load)),
            Span::new(0, (14, 70), What::Stall(Stall::Ended)),
            Span::new(2, (20, 55), What::Work(Work::Load)),
            Span::new(1, (60, 70), What::Work(Work::Mma)),
        ];
        let mut t = Timeline { rows, spans, ..Timeline::default() };
        t.spans[1].woken_by = Some(4);
        t.spans[4].started_by = Some(2);
        let m = Model::new(t.clone()).unwrap();
        assert_eq!(m.chain, [0, 2, 4, 1, 5]);
        let steps = critical(&t, &m.chain);
        // Control, load, the copy, the wait for it, mma: 10, 4, 41, 5 and 10 ticks of the 70.
        let ticks: Vec<_> = steps.iter().map(|s| (s.what, s.ticks, s.times)).collect();
        let (load, mma) = (What::Work(Work::Load), What::Work(Work::Mma));
        let (control, wait) = (What::Work(Work::Control), What::Stall(Stall::Mbarrier));
        assert_eq!(ticks, [(load, 45, 2), (mma, 10, 1), (control, 10, 1), (wait, 5, 1)]);
        // Without the record, nothing is guessed: it stays on its row.
        t.spans[1].woken_by = None;
        assert_eq!(Model::new(t).unwrap().chain, [1, 5]);
    }

    #[test]
    fn a_record_that_goes_round_ends_it() {
        let kind = RowKind::Agent { role: "w".into(), warp: 0, lanes: None };
        let mut t = Timeline { rows: vec![Row { name: "w".into(), cta: 0, kind }], ..Timeline::default() };
        t.spans.push(Span::new(0, (0, 10), What::Stall(Stall::Issue)));
        t.spans[0].woken_by = Some(0);
        assert!(Model::new(t).unwrap().chain.len() < 4);
    }
}
