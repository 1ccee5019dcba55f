//! What a run's end rests on: the chain of causes back to its start, read off a finished record.

use crate::timeline::{RowKind, Span, Stall, Timeline, What};

/// What woke or started an operation: recorded, never guessed.
pub fn cause(t: &Timeline, span: u32) -> Option<u32> {
    let s = t.spans.get(span as usize)?;
    s.woken_by.or(s.started_by).filter(|w| (*w as usize) < t.spans.len())
}

/// The chain of causes from the end of the record back to its start, in order of time, as indices of spans.
///
/// From a wait it goes to what woke it; from an engine's work to the work before it where that is what it queued behind,
/// else to what started it; from anything else to what the row did just before. Where a wait has no recorded waker, as
/// one for an issue slot has none, the chain stays on its row. Causes end no later than what they cause; a record that
/// says otherwise ends the chain.
pub fn chain(t: &Timeline) -> Vec<u32> {
    let agent = |s: &Span| matches!(t.rows.get(s.row as usize).map(|r| &r.kind), Some(RowKind::Agent { .. }));
    let alive = |s: &Span| agent(s) && s.what != What::Stall(Stall::Ended) && s.start < s.end;
    let lasts = t.spans.iter().enumerate().filter(|(_, s)| alive(s));
    let Some((last, _)) = lasts.max_by_key(|(i, s)| (s.end, std::cmp::Reverse(*i))) else { return Vec::new() };
    let ends = Ends::new(t);
    let mut at = last as u32;
    let mut chain = vec![at];
    while let Some(next) = ends.before(at) {
        if t.spans[next as usize].end > t.spans[at as usize].end || chain.len() > t.spans.len() {
            break;
        }
        chain.push(next);
        at = next;
    }
    chain.reverse();
    chain
}

/// The spans of each row by their end.
struct Ends<'t> {
    t: &'t Timeline,
    rows: Vec<Vec<u32>>,
}

impl<'t> Ends<'t> {
    fn new(t: &'t Timeline) -> Self {
        let end = |i: &u32| t.spans[*i as usize].end;
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); t.rows.len()];
        for (i, s) in t.spans.iter().enumerate().filter(|(_, s)| s.start < s.end) {
            if let Some(row) = rows.get_mut(s.row as usize) {
                row.push(i as u32);
            }
        }
        for row in &mut rows {
            // Of those that end together the last counts: the order is kept.
            row.sort_by_key(end);
        }
        Ends { t, rows }
    }

    fn before(&self, span: u32) -> Option<u32> {
        let s = &self.t.spans[span as usize];
        if s.woken_by.is_some() {
            return cause(self.t, span);
        }
        let end = |i: u32| self.t.spans[i as usize].end;
        let row = self.rows.get(s.row as usize).map_or(&[][..], Vec::as_slice);
        let prev = row.partition_point(|i| end(*i) <= s.start).checked_sub(1).map(|n| row[n]);
        let touches = prev.filter(|i| end(*i) == s.start);
        touches.or_else(|| cause(self.t, span)).or(prev).filter(|p| *p != span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Engine, Row, Work};

    fn agent(warp: u32) -> Row {
        Row { name: "row".into(), cta: 0, kind: RowKind::Agent { role: "w".into(), warp, lanes: None } }
    }

    #[test]
    fn it_goes_from_a_wait_to_its_waker_to_what_started_that() {
        let rows = vec![agent(0), agent(1), Row { name: "copy".into(), cta: 0, kind: RowKind::Engine(Engine::Copy) }];
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
        assert_eq!(chain(&t), [0, 2, 4, 1, 5]);
        // Work that queued behind other work of its engine goes back to that.
        t.spans.push(Span::new(2, (15, 20), What::Work(Work::Load)));
        assert_eq!(chain(&t), [6, 4, 1, 5]);
        t.spans.pop();
        // Without the record, nothing is guessed: it stays on its row.
        t.spans[1].woken_by = None;
        assert_eq!(chain(&t), [1, 5]);
    }

    #[test]
    fn a_record_that_goes_round_ends_it() {
        let mut t = Timeline { rows: vec![agent(0)], ..Timeline::default() };
        t.spans.push(Span::new(0, (0, 10), What::Stall(Stall::Issue)));
        t.spans[0].woken_by = Some(0);
        assert!(chain(&t).len() < 4);
        assert!(chain(&Timeline::default()).is_empty());
    }
}
