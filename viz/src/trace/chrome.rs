//! Chrome trace events: JSON that Perfetto, `chrome://tracing`, Tracy and speedscope read.
//!
//! ```text
//!   CTA 0 (process)                    Times are microseconds. A viewer shows them so,
//!     producer w0 (thread)             and if the clock is not known, a cycle counts as
//!     copy · 1, copy · 2               one. Exact cycles are among the arguments of
//!     full[0], a[0]                    each event.
//!     bytes in flight (counter)
//! ```
//!
//! Wakes are flows, from the last instant of the waker to the last instant of the wait. What starts an engine's work
//! is a flow to its first instant. Each event is a line of the file. Names and arguments hold everything of a
//! timeline, so [`super::read`] returns the same timeline.

use serde::{Serialize, Serializer};
use warpline_sim::timeline::{Lanes as Elected, RowKind, Span, Timeline};
use warpline_sim::words;

use super::naming::{category, named, slice_name};
use super::{Clock, Lanes, TraceError, causes, cycles};
use crate::counter;

#[derive(Serialize)]
struct About<'t> {
    title: &'t str,
    subtitle: &'t str,
    producer: &'static str,
    mhz: f64,
    time_unit: &'static str,
    end_cycles: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_cycles: Option<f64>,
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
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_number")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_number")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// Scope of an instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'t>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Args<'t> {
    Name { name: String },
    Row { name: String, row: &'t str, index: usize, kind: &'static str, role: &'t str, warp: u32, lanes: &'static str },
    Sort { sort_index: u32 },
    Value { value: u64 },
    Fault { at: String, source: &'t str, start_cycle: f64 },
    Span(SpanArgs<'t>),
}

#[derive(Serialize)]
struct SpanArgs<'t> {
    /// Class and label, if the name does not determine them.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'t str,
    #[serde(serialize_with = "number")]
    start_cycle: f64,
    #[serde(serialize_with = "number")]
    cycles: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'t str>,
    #[serde(skip_serializing_if = "none")]
    bytes: u64,
    /// Complete events of this file, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    woken_by: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_by: Option<u32>,
    /// Index of the barrier's row.
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn none(n: &u64) -> bool {
    *n == 0
}

/// A whole number is written without a point; most durations are whole.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn number<S: Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
    // Not every larger whole number is exact.
    let whole = x.trunc() == *x && (0.0..9e15).contains(x);
    if whole { s.serialize_u64(*x as u64) } else { s.serialize_f64(*x) }
}

#[expect(clippy::ref_option, reason = "serde gives a reference")]
fn some_number<S: Serializer>(x: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    match x {
        Some(x) => number(x, s),
        None => s.serialize_none(),
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Words for kinds of rows, in the arguments of their names.
pub(super) const ROWS: [&str; 4] = ["agent", "engine", "barrier", "slot"];

/// Writes a timeline as a Chrome trace.
///
/// # Errors
/// A span refers to a row that does not exist.
pub fn write(t: &Timeline) -> Result<String, TraceError> {
    let clock = Clock { mhz: t.mhz };
    let lanes = Lanes::new(t)?;
    let mut events = names(t, &lanes);
    for (i, span) in t.spans.iter().enumerate() {
        events.push(complete(t, span, lanes.of_span[i] + 1, &clock));
    }
    // A flow belongs to the event that encloses it, and an event does not enclose its own end.
    let last = |s: &Span| clock.ns(s.end).saturating_sub(1).max(clock.ns(s.start));
    for (i, span) in t.spans.iter().enumerate() {
        for (cat, by, cause) in causes(t, span) {
            let wakes = cat == "wake";
            let flow = |ph, span: &Span, tid, ts| Event {
                ph,
                name: cat.to_owned(),
                cat,
                pid: t.rows[span.row as usize].cta,
                tid: Some(tid),
                ts: Some(micros(ts)),
                id: Some(2 * i as u64 + u64::from(wakes)),
                bp: (ph == "f").then_some("e"),
                ..Event::default()
            };
            events.push(flow("s", cause, lanes.of_span[by] + 1, last(cause)));
            let to = if wakes { last(span) } else { clock.ns(span.start) };
            events.push(flow("f", span, lanes.of_span[i] + 1, to));
        }
    }
    for (cta, c) in counter::drafts(t) {
        events.extend(c.points().map(|(at, value)| Event {
            ph: "C",
            name: format!("{} ({})", c.name(), c.unit()),
            pid: cta,
            ts: Some(micros(clock.ns(at))),
            args: Some(Args::Value { value }),
            ..Event::default()
        }));
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
    let other_data = About {
        title: &t.title,
        subtitle: &t.subtitle,
        producer: "warpline",
        mhz: t.mhz,
        time_unit: clock.unit(),
        end_cycles: cycles(t.end),
        took_cycles: t.took.map(cycles),
        not_recorded_after_cycle: t.truncated_at.map(cycles),
    };
    // The head of the file comes before its events, and each event is a line, so that readers can read in parallel.
    let mut out = br#"{"displayTimeUnit":"ns","otherData":"#.to_vec();
    serde_json::to_writer(&mut out, &other_data)?;
    out.extend_from_slice(br#","traceEvents":["#);
    for (i, event) in events.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut out, event)?;
    }
    out.extend_from_slice(b"\n]}\n");
    Ok(String::from_utf8(out)?)
}

/// Names and order of processes and threads.
fn names<'t>(t: &'t Timeline, lanes: &Lanes) -> Vec<Event<'t>> {
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
    for (i, &(index, ..)) in lanes.all.iter().enumerate() {
        let (row, tid) = (&t.rows[index], i as u32 + 1);
        let (kind, role, warp, half) = match &row.kind {
            RowKind::Agent { role, warp, lanes } => {
                let half = match lanes {
                    Some(Elected::Elected) => "elected",
                    Some(Elected::Rest) => "rest",
                    None => "",
                };
                (0, role.as_str(), *warp, half)
            }
            RowKind::Engine(e) => (1, words::engine(*e), 0, ""),
            RowKind::Barrier(name) => (2, name.as_str(), 0, ""),
            RowKind::Slot(name) => (3, name.as_str(), 0, ""),
        };
        let name = lanes.name(t, i);
        let args = Args::Row { name, row: &row.name, index, kind: ROWS[kind], role, warp, lanes: half };
        events.push(meta("thread_name", row.cta, Some(tid), args));
        events.push(meta("thread_sort_index", row.cta, Some(tid), Args::Sort { sort_index: tid }));
    }
    events
}

fn complete<'t>(t: &'t Timeline, span: &'t Span, tid: u32, clock: &Clock) -> Event<'t> {
    let (start, end) = (clock.ns(span.start), clock.ns(span.end));
    let site = span.site.and_then(|s| t.sites.get(s as usize));
    let (name, cat) = (slice_name(span), category(span.what));
    let told = named(cat, &name) == Some((span.what, &span.label));
    let (kind, label) = match span.what {
        _ if told => (None, ""),
        what => (Some(words::what(what)), span.label.as_str()),
    };
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
            label,
            start_cycle: cycles(span.start),
            cycles: cycles(span.end.saturating_sub(span.start)),
            at: site.map(|s| format!("{}:{}", s.file, s.line)),
            source: site.map(|s| s.text.as_str()),
            bytes: span.bytes,
            woken_by: span.woken_by,
            started_by: span.started_by,
            on: span.on,
        })),
        ..Event::default()
    }
}
