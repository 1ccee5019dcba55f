//! Flows of other programs, as wakes.

use std::collections::BTreeMap;

use super::{Builder, Event, Thread, key, thread, ticks};

/// Flows of other programs: from the slice that encloses where one starts to the slice that encloses where it ends.
pub(super) fn flows(b: &mut Builder, events: &[Event], place: &[u32]) {
    let mut from: BTreeMap<String, (Thread, u64)> = BTreeMap::new();
    let mut of: BTreeMap<&Thread, Vec<usize>> = BTreeMap::new();
    for (i, (_, thread)) in b.origin.iter().enumerate() {
        of.entry(thread).or_default().push(i);
    }
    for e in events {
        let Some(at) = e.ts.map(|ts| ticks(ts * 1e3)) else { continue };
        let id = format!("{}/{}", e.cat, key(&e.id));
        match e.ph.as_str() {
            "s" => drop(from.insert(id, (thread(e), at))),
            "t" | "f" => {
                let Some((there, since)) = from.get(&id) else { continue };
                let encloses = |thread: &Thread, at: u64| {
                    let inside = |i: &&usize| {
                        let s = &b.t.spans[**i];
                        s.start <= at && at <= s.end
                    };
                    let all = of.get(thread)?.iter().filter(inside);
                    all.min_by_key(|i| b.t.spans[**i].end - b.t.spans[**i].start).copied()
                };
                let ends = encloses(there, *since).zip(encloses(&thread(e), at));
                if let Some((by, to)) = ends.filter(|(by, to)| by != to) {
                    b.t.spans[to].woken_by = Some(place[by]);
                }
            }
            _ => {}
        }
    }
}
