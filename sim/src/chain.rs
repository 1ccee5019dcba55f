//! The critical path of a run: the chain of causes from its end back to its start, read off a finished record.

use std::cmp::Reverse;

use crate::timeline::{RowKind, SpanKind, Stall, Timeline};

/// The recorded cause that woke or started an operation; never a guess.
pub fn cause(t: &Timeline, span: u32) -> Option<u32> {
    let s = t.spans.get(span as usize)?;
    s.woken_by.or(s.started_by).filter(|w| (*w as usize) < t.spans.len())
}

/// The chain of causes from the end of the record back to its start, in order of time, as indices of spans.
///
/// A wait leads to the span that woke it. An engine's work leads to the work before it if the work queued behind that,
/// else to the span that started it. Any other span leads to the span before it on its row. A wait without a recorded
/// waker, such as a wait for an issue slot, stays on its row. A cause ends no later than its effect; a record that says
/// otherwise ends the chain.
pub fn chain(t: &Timeline) -> Vec<u32> {
    let mut rows: Vec<Vec<(u64, u32)>> = vec![Vec::new(); t.rows.len()];
    for (i, s) in t.spans.iter().enumerate().filter(|(_, s)| s.start < s.end) {
        if let Some(row) = rows.get_mut(s.row as usize) {
            row.push((s.end, i as u32));
        }
    }
    chain_in(t, |row| std::mem::take(&mut rows[row as usize]))
}

/// [`chain`] for a caller that has the spans of each row. `ends` gives, for a row, the ends of the spans that last,
/// each with its index. It is called once for each row on the chain, not for all rows.
pub fn chain_in(t: &Timeline, ends: impl FnMut(u32) -> Vec<(u64, u32)>) -> Vec<u32> {
    let mut ends = Ends { t, of: ends, rows: vec![None; t.rows.len()] };
    let Some(last) = ends.last() else { return Vec::new() };
    let mut at = last;
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

/// The spans of each row by end.
struct Ends<'t, F> {
    t: &'t Timeline,
    of: F,
    rows: Vec<Option<Vec<(u64, u32)>>>,
}

impl<F: FnMut(u32) -> Vec<(u64, u32)>> Ends<'_, F> {
    fn row(&mut self, row: u32) -> &[(u64, u32)] {
        let Some(place) = self.rows.get_mut(row as usize) else { return &[] };
        place.get_or_insert_with(|| {
            let mut ends = (self.of)(row);
            // Of spans with equal ends, the last one counts.
            if !ends.is_sorted() {
                ends.sort_unstable();
            }
            ends
        })
    }

    /// The first of the agents' spans that end last, without the spans of agents that have ended.
    fn last(&mut self) -> Option<u32> {
        let t = self.t;
        let agents = (0..t.rows.len()).filter(|row| matches!(t.rows[*row].kind, RowKind::Agent { .. }));
        let last = agents.filter_map(|row| {
            let alive = |&&(_, i): &&(u64, u32)| t.spans[i as usize].what != SpanKind::Stall(Stall::Ended);
            let mut back = self.row(row as u32).iter().rev().filter(alive);
            let last = back.next()?;
            Some(*back.take_while(|before| before.0 == last.0).last().unwrap_or(last))
        });
        last.max_by_key(|(end, i)| (*end, Reverse(*i))).map(|(_, i)| i)
    }

    fn before(&mut self, span: u32) -> Option<u32> {
        let s = &self.t.spans[span as usize];
        if s.woken_by.is_some() {
            return cause(self.t, span);
        }
        let row = self.row(s.row);
        let prev = row.partition_point(|(end, _)| *end <= s.start).checked_sub(1).map(|n| row[n]);
        let touches = prev.filter(|(end, _)| *end == s.start).map(|(_, i)| i);
        touches.or_else(|| cause(self.t, span)).or(prev.map(|(_, i)| i)).filter(|p| *p != span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Engine, Row, Span, Work};

    fn agent(warp: u32) -> Row {
        Row { name: "row".into(), cta: 0, kind: RowKind::Agent { role: "w".into(), warp, lanes: None } }
    }

    #[test]
    fn it_goes_from_a_wait_to_its_waker_to_what_started_that() {
        let rows = vec![agent(0), agent(1), Row { name: "copy".into(), cta: 0, kind: RowKind::Engine(Engine::Copy) }];
        let spans = vec![
            Span::new(0, (0, 10), SpanKind::Work(Work::Control)),
            Span::new(1, (0, 60), SpanKind::Stall(Stall::Mbarrier)),
            Span::new(0, (10, 14), SpanKind::Work(Work::Load)),
            Span::new(0, (14, 70), SpanKind::Stall(Stall::Ended)),
            Span::new(2, (20, 55), SpanKind::Work(Work::Load)),
            Span::new(1, (60, 70), SpanKind::Work(Work::Mma)),
        ];
        let mut t = Timeline { rows, spans, ..Timeline::default() };
        t.spans[1].woken_by = Some(4);
        t.spans[4].started_by = Some(2);
        assert_eq!(chain(&t), [0, 2, 4, 1, 5]);
        // Work that queued behind other work of its engine leads to that work.
        t.spans.push(Span::new(2, (15, 20), SpanKind::Work(Work::Load)));
        assert_eq!(chain(&t), [6, 4, 1, 5]);
        t.spans.pop();
        // Without a recorded waker the chain stays on its row.
        t.spans[1].woken_by = None;
        assert_eq!(chain(&t), [1, 5]);
    }

    #[test]
    fn a_record_that_goes_round_ends_it() {
        let mut t = Timeline { rows: vec![agent(0)], ..Timeline::default() };
        t.spans.push(Span::new(0, (0, 10), SpanKind::Stall(Stall::Issue)));
        t.spans[0].woken_by = Some(0);
        assert!(chain(&t).len() < 4);
        assert!(chain(&Timeline::default()).is_empty());
    }
}
