//! Slices: their starts and ends in the order that a reader needs.

use warpline_sim::timeline::{Span, Timeline};

use super::super::naming::{category, slice_name};
use super::super::{Lanes, causes, cycles};
use super::schema::{Annotation, Event};
use super::{BEGIN, END, Interning, source};

/// Starts and ends of all slices. At one instant, ends come first. The end of a waker comes before the end of what it
/// woke: a reader then meets the start of a flow first.
pub(super) fn slices(t: &Timeline, lanes: &Lanes, tracks: &[u64], texts: &mut Interning) -> Vec<(u64, Event)> {
    let depth = depths(t);
    let mut flows: Vec<Vec<u64>> = vec![Vec::new(); t.spans.len()];
    let mut ended: Vec<Vec<u64>> = vec![Vec::new(); t.spans.len()];
    let mut begun: Vec<Vec<u64>> = vec![Vec::new(); t.spans.len()];
    for (i, span) in t.spans.iter().enumerate() {
        for (kind, by, cause) in causes(t, span) {
            let id = 2 * i as u64 + 1 + u64::from(kind == "wake");
            let (to, at) = if kind == "wake" { (&mut ended, span.end) } else { (&mut begun, span.start) };
            // A cause after its effect is ignored, and a span without duration has no end.
            let lasts = |s: &Span| s.start < s.end;
            // Two spans that end together and woke each other have no order.
            let met = kind == "start" || cause.end < at || (depth[by], by) < (depth[i], i);
            if cause.end <= at && by != i && met && lasts(cause) && lasts(span) {
                flows[by].push(id);
                to[i].push(id);
            }
        }
    }
    let mut ends: Vec<usize> = (0..t.spans.len()).filter(|&i| t.spans[i].start < t.spans[i].end).collect();
    ends.sort_by_key(|&i| (t.spans[i].end, depth[i], i));
    let mut ends = ends.into_iter().peekable();
    let mut starts: Vec<usize> = (0..t.spans.len()).collect();
    starts.sort_by_key(|&i| (t.spans[i].start, i));
    let mut events = Vec::with_capacity(2 * t.spans.len());
    let mut end = |i: usize, events: &mut Vec<(u64, Event)>| {
        let event = Event {
            kind: END,
            track_uuid: tracks[lanes.of_span[i] as usize],
            flow_ids: std::mem::take(&mut flows[i]),
            terminating_flow_ids: std::mem::take(&mut ended[i]),
            ..Event::default()
        };
        events.push((t.spans[i].end.max(t.spans[i].start), event));
    };
    for i in starts {
        let span = &t.spans[i];
        while let Some(e) = ends.next_if(|&e| t.spans[e].end <= span.start) {
            end(e, &mut events);
        }
        let mut args = vec![
            Annotation {
                name_iid: texts.keys.id("start_cycle"),
                double_value: Some(cycles(span.start)),
                ..Annotation::default()
            },
            Annotation {
                name_iid: texts.keys.id("cycles"),
                double_value: Some(cycles(span.end.saturating_sub(span.start))),
                ..Annotation::default()
            },
        ];
        if span.bytes > 0 {
            let name_iid = texts.keys.id("bytes");
            args.push(Annotation { name_iid, uint_value: Some(span.bytes), ..Annotation::default() });
        }
        if let Some(s) = span.site.and_then(|s| t.sites.get(s as usize)) {
            args.extend(source(texts, s));
        }
        events.push((
            span.start,
            Event {
                category_iids: vec![texts.categories.id(category(span.what))],
                debug_annotations: args,
                kind: BEGIN,
                name_iid: Some(texts.names.id(&slice_name(span))),
                track_uuid: tracks[lanes.of_span[i] as usize],
                terminating_flow_ids: std::mem::take(&mut begun[i]),
                ..Event::default()
            },
        ));
        if span.start >= span.end {
            end(i, &mut events);
        }
    }
    for e in ends {
        end(e, &mut events);
    }
    events
}

/// The number of wakers at the same instant before each span.
fn depths(t: &Timeline) -> Vec<u32> {
    let mut depth = vec![0u32; t.spans.len()];
    for (i, depth) in depth.iter_mut().enumerate() {
        let (mut at, mut n) = (i, 0);
        // A cyclic record is cut.
        while let Some(by) = t.spans[at].woken_by.map(|w| w as usize).filter(|w| *w < t.spans.len()) {
            if t.spans[by].end != t.spans[i].end || n > 64 {
                break;
            }
            (at, n) = (by, n + 1);
        }
        *depth = n;
    }
    depth
}
