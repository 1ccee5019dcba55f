//! Numbers over time: bytes in flight, use of the tensor pipe, stages full.
//!
//! A counter is a step function. It is kept with its integral, so that its mean over any interval is exact and cheap.

use std::collections::BTreeMap;

use warpline_sim::timeline::{Engine, RowKind, SpanKind, Timeline};

/// A step function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counter {
    name: String,
    /// Unit of the counter, for the detail pane.
    unit: &'static str,
    /// Tick of each change, the value from there on, and the integral up to there.
    steps: Vec<(u64, u64, u128)>,
    most: u64,
}

impl Counter {
    /// From changes, in any order.
    fn new(name: String, unit: &'static str, mut changes: Vec<(u64, i64)>) -> Counter {
        // Fast, because the changes of each row are in order or almost.
        changes.sort();
        let mut steps: Vec<(u64, u64, u128)> = Vec::new();
        let (mut value, mut area, mut since, mut most) = (0i64, 0u128, 0u64, 0u64);
        for (at, change) in changes {
            area += u128::from(at - since) * value.max(0) as u128;
            since = at;
            value += change;
            match steps.last_mut() {
                Some(last) if last.0 == at => last.1 = value.max(0) as u64,
                _ => steps.push((at, value.max(0) as u64, area)),
            }
        }
        for step in &steps {
            most = most.max(step.1);
        }
        Counter { name, unit, steps, most }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn unit(&self) -> &'static str {
        self.unit
    }

    /// Tick and new value of each change.
    pub(crate) fn points(&self) -> impl Iterator<Item = (u64, u64)> {
        self.steps.iter().map(|s| (s.0, s.1))
    }

    /// The largest value.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    fn area(&self, to: u64) -> u128 {
        match self.steps.partition_point(|s| s.0 < to).checked_sub(1) {
            Some(i) => self.steps[i].2 + u128::from(to - self.steps[i].0) * u128::from(self.steps[i].1),
            None => 0,
        }
    }

    /// The mean from one instant to a later one; the value if they are equal.
    pub(crate) fn mean(&self, from: u64, to: u64) -> f64 {
        if to <= from {
            let i = self.steps.partition_point(|s| s.0 <= from);
            return i.checked_sub(1).map_or(0.0, |i| self.steps[i].1 as f64);
        }
        (self.area(to) - self.area(from)) as f64 / (to - from) as f64
    }
}

/// The counters of every CTA that has something to count.
pub(crate) fn drafts(t: &Timeline) -> Vec<(u32, Counter)> {
    of(t, t.spans.iter().enumerate().map(|(i, s)| (s.row as usize, (s.start, s.end), s.what, i)))
}

/// The same from spans: the row of each, its first tick and the one after the last, its class, and its index.
pub(crate) fn of(
    t: &Timeline,
    spans: impl Iterator<Item = (usize, (u64, u64), SpanKind, usize)>,
) -> Vec<(u32, Counter)> {
    // In the order of the display: by CTA and place.
    let mut found: BTreeMap<(u32, u8, String), u32> = BTreeMap::new();
    let of_row: Vec<Option<(u8, u32)>> = t
        .rows
        .iter()
        .map(|row| {
            let (place, name) = match &row.kind {
                RowKind::Engine(Engine::Copy | Engine::Loads) => (0, "bytes in flight".to_string()),
                RowKind::Engine(Engine::Tensor) => (1, "tensor pipe use".to_string()),
                RowKind::Slot(name) => (2, format!("{} stages full", name.split_once('[')?.0)),
                _ => return None,
            };
            let next = found.len() as u32;
            Some((place, *found.entry((row.cta, place, name)).or_insert(next)))
        })
        .collect();
    let mut changes: Vec<Vec<(u64, i64)>> = vec![Vec::new(); found.len()];
    for (row, (start, end), what, i) in spans {
        if let Some((place, counter)) = of_row[row]
            && start < end
            && what != (SpanKind::Hold { filling: true })
        {
            let much = if place == 0 { i64::try_from(t.spans[i].bytes).unwrap_or(0) } else { 1 };
            changes[counter as usize].extend([(start, much), (end, -much)]);
        }
    }
    let unit = ["bytes", "of the pipe", "stages"];
    let counter = |((cta, place, name), n): ((u32, u8, String), u32)| {
        (cta, Counter::new(name, unit[usize::from(place)], std::mem::take(&mut changes[n as usize])))
    };
    found.into_iter().map(counter).collect()
}
