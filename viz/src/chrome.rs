//! Chrome trace events: JSON that Perfetto, `chrome://tracing`, Tracy and speedscope read.
//!
//! ```text
//!   CTA 0 (process)                    Times are microseconds. A viewer shows them so,
//!     producer w0 (thread)             and if the clock is not known, a cycle counts as
//!     copy · 1, copy · 2               one. Exact cycles are among the arguments of
//!     full[0], a[0]                    each event.
//! ```
//!
//! Events of one thread never overlap: a row whose spans do, as an engine's, is split into as many threads as it takes.
//! Wakes are flows, from the last instant of the waker to the last of the wait.

use serde::Serialize;
use warpline_sim::timeline::{RowKind, Span, TICKS, Timeline, What};

use crate::{lanes, words};

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum ChromeError {
    /// A span refers to a row that is not there.
    #[error("span {span} is on row {row}, but the timeline has {rows} rows")]
    BadRow {
        /// Index of the span.
        span: usize,
        /// Its row.
        row: u32,
        /// Number of rows.
        rows: usize,
    },
    /// The events could not be written as JSON.
    #[error("writing the trace: {0}")]
    Json(#[from] serde_json::Error),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace<'t> {
    trace_events: Vec<Event<'t>>,
    display_time_unit: &'static str,
    other_data: About<'t>,
}

#[derive(Serialize)]
struct About<'t> {
    title: &'t str,
    subtitle: &'t str,
    producer: &'static str,
    mhz: f64,
    time_unit: &'static str,
    end_cycles: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_recorded_after_cycle: Option<f64>,
}

#[derive(Serialize, Default)]
struct Event<'t> {
    ph: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// How far an instant reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'t>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Args<'t> {
    Name { name: String },
    Sort { sort_index: u32 },
    Fault { at: String, source: &'t str, start_cycle: f64 },
    Span(SpanArgs<'t>),
}

#[derive(Serialize)]
struct SpanArgs<'t> {
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'t str,
    start_cycle: f64,
    cycles: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'t str>,
}

/// Ticks to whole nanoseconds, which viewers count in. One rounding for both ends keeps neighbours touching.
struct Clock {
    mhz: f64,
}

impl Clock {
    fn ns(&self, tick: u64) -> u64 {
        if self.mhz > 0.0 && self.mhz.is_finite() {
            (tick as f64 * 1e3 / (self.mhz * TICKS as f64)).floor() as u64
        } else {
            (u128::from(tick) * 1000 / u128::from(TICKS)) as u64
        }
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn cycles(ticks: u64) -> f64 {
    ticks as f64 / TICKS as f64
}

/// Writes a timeline as a Chrome trace.
pub fn write(t: &Timeline) -> Result<String, ChromeError> {
    let clock = Clock { mhz: t.mhz };
    let threads = threads(t)?;
    let mut events = names(t, &threads);
    for (i, span) in t.spans.iter().enumerate() {
        events.push(complete(t, span, threads.of_span[i], &clock));
    }
    for (i, span) in t.spans.iter().enumerate() {
        let Some((by, waker)) = span.woken_by.and_then(|w| Some((w as usize, t.spans.get(w as usize)?))) else {
            continue;
        };
        // A flow belongs to the event that encloses it, and an event does not enclose its own end.
        let last = |s: &Span| clock.ns(s.end).saturating_sub(1).max(clock.ns(s.start));
        let flow = |ph, span: &Span, tid, ts| Event {
            ph,
            name: "wake".to_owned(),
            cat: "wake",
            pid: t.rows[span.row as usize].cta,
            tid: Some(tid),
            ts: Some(micros(ts)),
            id: Some(i as u32),
            bp: (ph == "f").then_some("e"),
            ..Event::default()
        };
        events.push(flow("s", waker, threads.of_span[by], last(waker)));
        events.push(flow("f", span, threads.of_span[i], last(span)));
    }
    events.extend(t.faults.iter().map(|mark| {
        let site = t.sites.get(mark.site as usize);
        Event {
            ph: "i",
            name: format!("fault: {}", mark.label),
            cat: "fault",
            ts: Some(micros(clock.ns(mark.tick))),
            s: Some("g"),
            args: site.map(|s| Args::Fault {
                at: format!("{}:{}", s.file, s.line),
                source: &s.text,
                start_cycle: cycles(mark.tick),
            }),
            ..Event::default()
        }
    }));
    let known = t.mhz > 0.0;
    let other_data = About {
        title: &t.title,
        subtitle: &t.subtitle,
        producer: "warpline",
        mhz: t.mhz,
        time_unit: if known { "microseconds" } else { "no clock is known: one microsecond stands for one cycle" },
        end_cycles: cycles(t.end),
        not_recorded_after_cycle: t.truncated_at.map(cycles),
    };
    Ok(serde_json::to_string(&Trace { trace_events: events, display_time_unit: "ns", other_data })?)
}

/// A thread for every lane of every row.
struct Threads {
    /// Row, its lane, its lanes; the index is the thread's id less one.
    all: Vec<(usize, u32, u32)>,
    of_span: Vec<u32>,
}

fn threads(t: &Timeline) -> Result<Threads, ChromeError> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); t.rows.len()];
    for (i, span) in t.spans.iter().enumerate() {
        let bad = ChromeError::BadRow { span: i, row: span.row, rows: t.rows.len() };
        rows.get_mut(span.row as usize).ok_or(bad)?.push(i);
    }
    let mut threads = Threads { all: Vec::new(), of_span: vec![0; t.spans.len()] };
    for (row, spans) in rows.iter_mut().enumerate() {
        spans.sort_by_key(|&i| (t.spans[i].start, i));
        let times: Vec<_> = spans.iter().map(|&i| (t.spans[i].start, t.spans[i].end)).collect();
        let of = lanes::assign(&times, u32::MAX);
        let first = threads.all.len() as u32 + 1;
        let count = of.iter().max().map_or(1, |last| last + 1);
        threads.all.extend((0..count).map(|lane| (row, lane, count)));
        for (&i, lane) in spans.iter().zip(of) {
            threads.of_span[i] = first + lane;
        }
    }
    Ok(threads)
}

/// Names and order of processes and threads.
fn names<'t>(t: &Timeline, threads: &Threads) -> Vec<Event<'t>> {
    let meta = |name: &str, pid, tid, args| Event {
        ph: "M",
        name: name.to_owned(),
        pid,
        tid,
        args: Some(args),
        ..Event::default()
    };
    let mut events = Vec::new();
    let mut ctas: Vec<u32> = t.rows.iter().map(|r| r.cta).collect();
    ctas.sort_unstable();
    ctas.dedup();
    for cta in ctas {
        events.push(meta("process_name", cta, None, Args::Name { name: format!("CTA {cta}") }));
        events.push(meta("process_sort_index", cta, None, Args::Sort { sort_index: cta }));
    }
    for (i, &(row, lane, lanes)) in threads.all.iter().enumerate() {
        let (row, tid) = (&t.rows[row], i as u32 + 1);
        let name = match &row.kind {
            RowKind::Engine(e) if row.name.is_empty() => words::engine(*e).to_owned(),
            _ => row.name.clone(),
        };
        let name = if lanes > 1 { format!("{name} · {}", lane + 1) } else { name };
        events.push(meta("thread_name", row.cta, Some(tid), Args::Name { name }));
        events.push(meta("thread_sort_index", row.cta, Some(tid), Args::Sort { sort_index: tid }));
    }
    events
}

fn complete<'t>(t: &'t Timeline, span: &'t Span, tid: u32, clock: &Clock) -> Event<'t> {
    let (start, end) = (clock.ns(span.start), clock.ns(span.end));
    let (cat, kind) = match span.what {
        What::Work(_) => ("work", words::what(span.what)),
        What::Stall(_) => ("stall", words::what(span.what)),
        What::Hold { .. } => ("state", words::what(span.what)),
    };
    // The class comes first: viewers colour by name, less its digits.
    let name = match (span.what, span.label.as_str()) {
        (What::Stall(_), "") => format!("wait {kind}"),
        (What::Stall(_), label) => format!("wait {kind} {label}"),
        (What::Hold { filling: false }, label) if !label.is_empty() => label.to_owned(),
        (_, "") => kind.to_owned(),
        (_, label) => format!("{kind} {label}"),
    };
    let site = span.site.and_then(|s| t.sites.get(s as usize));
    Event {
        ph: "X",
        name,
        cat,
        pid: t.rows[span.row as usize].cta,
        tid: Some(tid),
        ts: Some(micros(start)),
        dur: Some(micros(end.saturating_sub(start))),
        args: Some(Args::Span(SpanArgs {
            kind,
            label: &span.label,
            start_cycle: cycles(span.start),
            cycles: cycles(span.end.saturating_sub(span.start)),
            at: site.map(|s| format!("{}:{}", s.file, s.line)),
            source: site.map(|s| s.text.as_str()),
        })),
        ..Event::default()
    }
}
