//! Builds a timeline from events in one pass; the rows are known after the last event.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use warpline_sim::timeline::{Mark, SourceLine, Span, Timeline};

use super::super::{guess, naming};
use super::json::{About, Any, Args, Event, Sink};
use super::rows::{self, Key, Named, Thread};
use super::{Read, ReadError, flows, ticks};

/// One end of a flow.
pub(super) struct FlowEnd {
    /// `s`, `t` or `f`.
    pub(super) ph: u8,
    pub(super) flow: u32,
    pub(super) thread: u32,
    pub(super) at: u64,
}

/// State after some of the events. Until the end, the row of a span is the number of its thread.
#[derive(Default)]
pub(super) struct Builder<'a> {
    about: About<'a>,
    ours: bool,
    spans: Vec<Span>,
    numbers: FxHashMap<Thread<'a>, u32>,
    threads: Vec<Thread<'a>>,
    names: FxHashMap<u32, Named>,
    processes: FxHashMap<Key<'a>, String>,
    sites: Vec<SourceLine>,
    known_sites: FxHashMap<(Cow<'a, str>, Cow<'a, str>), Option<u32>>,
    faults: Vec<Mark>,
    /// For each thread, the events that started and have not ended.
    open: FxHashMap<u32, Vec<(usize, Event<'a>)>>,
    flows: Vec<FlowEnd>,
    known_flows: FxHashMap<(Key<'a>, Key<'a>), u32>,
    frequency: Option<f64>,
    seen: usize,
    counters: usize,
    left_out: usize,
    bad: Option<ReadError>,
}

impl<'a> Sink<'a> for Builder<'a> {
    fn event(&mut self, e: Event<'a>) {
        self.seen += 1;
        if self.bad.is_none()
            && let Err(bad) = self.take(e)
        {
            self.bad = Some(bad);
        }
    }

    fn about(&mut self, about: About<'a>) {
        self.ours = about.producer.text() == Some("warpline");
        self.about = about;
    }
}

impl<'a> Builder<'a> {
    fn take(&mut self, e: Event<'a>) -> Result<(), ReadError> {
        if self.frequency.is_none() {
            self.frequency = e.args.frequency.number();
        }
        match e.ph.text().unwrap_or_default() {
            "X" => {
                let thread = self.thread(&e);
                self.slice(self.seen, thread, &e, None)?;
            }
            "B" => {
                let thread = self.thread(&e);
                self.open.entry(thread).or_default().push((self.seen, e));
            }
            "E" => {
                let thread = self.thread(&e);
                match self.open.get_mut(&thread).and_then(Vec::pop) {
                    Some((_, begin)) => self.slice(self.seen, thread, &begin, e.ts.number())?,
                    None => self.left_out += 1,
                }
            }
            "M" => self.name(e),
            "i" if e.cat.text() == Some("fault") => self.fault(&e),
            // Our own flows and counters are computed from the slices again.
            "s" | "t" | "f" if self.ours => {}
            ph @ ("s" | "t" | "f") => {
                if let Some(at) = e.ts.number() {
                    let (ph, thread) = (ph.as_bytes()[0], self.thread(&e));
                    let next = self.known_flows.len() as u32;
                    let flow = *self.known_flows.entry((Key::of(&e.cat), Key::of(&e.id))).or_insert(next);
                    self.flows.push(FlowEnd { ph, flow, thread, at: ticks(at * 1e3) });
                }
            }
            "C" => self.counters += 1,
            _ => self.left_out += 1,
        }
        Ok(())
    }

    /// The number of an event's thread.
    fn thread(&mut self, e: &Event<'a>) -> u32 {
        let thread = Thread { pid: Key::of(&e.pid), tid: Key::of(&e.tid) };
        if let Some(n) = self.numbers.get(&thread) {
            return *n;
        }
        let n = self.threads.len() as u32;
        self.threads.push(thread.clone());
        self.numbers.insert(thread, n);
        n
    }

    fn name(&mut self, e: Event<'a>) {
        match e.name.text() {
            Some("thread_name") => {
                let thread = self.thread(&e);
                self.names.insert(thread, Named::new(&e.args));
            }
            Some("process_name") => {
                if let Some(name) = e.args.name.text() {
                    self.processes.insert(Key::of(&e.pid), name.to_string());
                }
            }
            _ => {}
        }
    }

    /// Adds a slice; `end` completes a pair of `B` and `E`.
    fn slice(&mut self, event: usize, thread: u32, e: &Event<'a>, end: Option<f64>) -> Result<(), ReadError> {
        let bad = |what| ReadError::Event { event, what };
        let ts = e.ts.number().ok_or_else(|| bad("it has no `ts`"))?;
        let dur = end.map(|end| end - ts).or(e.dur.number()).ok_or_else(|| bad("it has no `dur`"))?;
        if !(ts >= 0.0 && dur >= 0.0 && ts + dur < 1e15) {
            return Err(bad("its times are no times"));
        }
        let args = &e.args;
        let (start, end) = match args.start_cycle.number().zip(args.cycles.number()) {
            Some((start, cycles)) => (ticks(start), ticks(start + cycles)),
            // A microsecond is a thousand cycles: Proton writes cycles this way, and for other programs a nanosecond
            // is the unit.
            None => (ticks(ts * 1e3), ticks((ts + dur) * 1e3)),
        };
        let (cat, name) = (e.cat.text().unwrap_or_default(), e.name.text().unwrap_or_default());
        let (own, label) = match args.kind.text() {
            Some(kind) => (naming::class(cat, kind), args.label.text().unwrap_or_default()),
            None => self.ours.then(|| naming::named(cat, name)).flatten().map_or((None, name), |(w, l)| (Some(w), l)),
        };
        let index = |any: &Any| any.whole().and_then(|n| u32::try_from(n).ok());
        let site = self.site(args);
        self.spans.push(Span {
            site,
            label: label.into(),
            woken_by: index(&args.woken_by),
            started_by: index(&args.started_by),
            on: index(&args.on),
            bytes: args.bytes.whole().unwrap_or(0),
            ..Span::new(thread, (start, end.max(start)), own.unwrap_or_else(|| guess::class(name)))
        });
        Ok(())
    }

    /// The number of the statement of an event.
    fn site(&mut self, args: &Args<'a>) -> Option<u32> {
        let Any::Text(at) = &args.at else { return None };
        let text = match &args.source {
            Any::Text(text) => text.clone(),
            _ => Cow::Borrowed(""),
        };
        let sites = &mut self.sites;
        *self.known_sites.entry((at.clone(), text)).or_insert_with_key(|(at, text)| {
            let (file, line) = at.rsplit_once(':')?;
            sites.push(SourceLine { file: file.to_string(), line: line.parse().ok()?, text: text.to_string() });
            Some(sites.len() as u32 - 1)
        })
    }

    fn fault(&mut self, e: &Event<'a>) {
        let (Some(site), Some(cycle)) = (self.site(&e.args), e.args.start_cycle.number()) else {
            self.left_out += 1;
            return;
        };
        let label = e.name.text().unwrap_or_default().trim_start_matches("fault: ").to_string();
        self.faults.push(Mark { tick: ticks(cycle), label, site });
    }

    /// The timeline of all events.
    pub(super) fn finish(mut self) -> Result<Read, ReadError> {
        if let Some(bad) = self.bad {
            return Err(bad);
        }
        if self.spans.is_empty() && !self.ours {
            return Err(ReadError::Empty);
        }
        // The duration of a slice that never ended is unknown.
        self.left_out += self.open.values().map(Vec::len).sum::<usize>();
        if !self.ours {
            self.left_out += self.counters;
            flows::flows(&mut self.spans, &self.flows);
        }
        let mut t = timeline(&self.about, self.ours, self.frequency);
        (t.sites, t.faults) = (self.sites, self.faults);
        let mut rows = rows::Rows::new(t, &self.threads, &self.names, &self.processes);
        if self.ours {
            rows.all_named();
        }
        for span in &mut self.spans {
            span.row = rows.of(span.row);
        }
        let mut t = rows.timeline();
        t.spans = in_order(self.spans);
        if !self.ours {
            // A measured run begins with its first slice.
            let first = t.spans.first().map_or(0, |s| s.start);
            for s in &mut t.spans {
                (s.start, s.end) = (s.start - first, s.end - first);
            }
            t.end = t.spans.iter().map(|s| s.end).max().unwrap_or(0);
        }
        Ok(Read { timeline: t, left_out: self.left_out })
    }
}

/// A timeline with only what the file says about itself.
pub(super) fn timeline(about: &About, ours: bool, frequency: Option<f64>) -> Timeline {
    let text = |any: &Any| any.text().unwrap_or_default().to_string();
    let clock = about.mhz.number().or(frequency).unwrap_or(if ours { 0.0 } else { 1000.0 });
    Timeline {
        title: text(&about.title),
        subtitle: text(&about.subtitle),
        mhz: if clock.is_finite() && clock >= 0.0 { clock } else { 0.0 },
        end: about.end_cycles.number().map_or(0, ticks),
        took: about.took_cycles.number().map(ticks),
        truncated_at: about.not_recorded_after_cycle.number().map(ticks),
        ..Timeline::default()
    }
}

/// Spans in the order of a timeline, by start and row, with adjusted references.
pub(super) fn in_order(mut spans: Vec<Span>) -> Vec<Span> {
    let key = |s: &Span| (s.start, s.row);
    let inside = |n: Option<u32>, len: usize| n.filter(|n| (*n as usize) < len);
    let len = spans.len();
    let causes = |s: &Span| s.woken_by.into_iter().chain(s.started_by).all(|n| (n as usize) < len);
    let behind = |(i, s): (usize, &Span)| i == 0 || key(&spans[i - 1]) <= key(s);
    // Our own spans are in order already.
    if spans.par_iter().enumerate().all(|s| causes(s.1) && behind(s)) {
        return spans;
    }
    let mut place: Option<Vec<u32>> = None;
    let mut order: Vec<u32> = Vec::new();
    if !spans.par_windows(2).all(|s| key(&s[0]) <= key(&s[1])) {
        order = (0..len as u32).collect();
        order.sort_by_key(|&i| key(&spans[i as usize]));
        let mut to = vec![0u32; len];
        for (new, &old) in order.iter().enumerate() {
            to[old as usize] = new as u32;
        }
        place = Some(to);
    }
    let moved = |n: Option<u32>| inside(n, len).map(|n| place.as_ref().map_or(n, |to| to[n as usize]));
    spans.par_iter_mut().for_each(|s| (s.woken_by, s.started_by) = (moved(s.woken_by), moved(s.started_by)));
    if place.is_some() {
        let mut from: Vec<Option<Span>> = spans.into_iter().map(Some).collect();
        spans = order.iter().filter_map(|&i| from[i as usize].take()).collect();
    }
    spans
}
