//! The part of a timeline between two ticks.

use warpline_sim::timeline::{Span, Timeline};

/// The spans that are at work or wait between two ticks, whole, with the links among them. Every row stays.
pub fn window(t: &Timeline, from: u64, to: u64) -> Timeline {
    let inside = |s: &Span| s.start < to && s.end > from;
    let mut place: Vec<Option<u32>> = Vec::with_capacity(t.spans.len());
    let mut next = 0;
    for s in &t.spans {
        place.push(inside(s).then(|| {
            next += 1;
            next - 1
        }));
    }
    let moved = |i: Option<u32>| i.and_then(|i| place.get(i as usize).copied().flatten());
    let spans = t.spans.iter().filter(|s| inside(s));
    let spans =
        spans.map(|s| Span { woken_by: moved(s.woken_by), started_by: moved(s.started_by), ..s.clone() }).collect();
    let mut part = t.clone();
    part.spans = spans;
    part.faults.retain(|m| (from..=to).contains(&m.tick));
    part
}

/// The tick at which a timeline has had this many spans; `None` where it has no more in all.
pub fn after(t: &Timeline, spans: usize) -> Option<u64> {
    let mut starts: Vec<u64> = t.spans.iter().map(|s| s.start).collect();
    if starts.len() <= spans {
        return None;
    }
    let (_, tick, _) = starts.select_nth_unstable(spans);
    Some(*tick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_sim::timeline::{SpanKind, Stall, Work};

    #[test]
    fn a_window_keeps_whole_spans_and_the_links_among_them() {
        let work = |start, end| Span::new(0, (start, end), SpanKind::Work(Work::Mma));
        let wait = |start, end, by| Span {
            woken_by: Some(by),
            ..Span::new(1, (start, end), SpanKind::Stall(Stall::Mbarrier))
        };
        let spans = vec![work(0, 10), wait(0, 10, 0), work(10, 20), wait(10, 20, 2), wait(20, 30, 0)];
        let t = Timeline { spans, ..Timeline::default() };
        let part = window(&t, 12, 25);
        let kept: Vec<_> = part.spans.iter().map(|s| (s.start, s.woken_by)).collect();
        assert_eq!(kept, [(10, None), (10, Some(0)), (20, None)]);
        assert_eq!((after(&t, 5), after(&t, 2), after(&t, 4)), (None, Some(10), Some(20)));
    }
}
