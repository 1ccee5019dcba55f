//! Chrome's JSON read back: traces of this crate, of Proton (Triton's profiler inside kernels) and of other programs.
//!
//! ```text
//!   ours         every argument is there: the same timeline again
//!   Proton       pid "kernel Core3 CTA5", tid "warp 4 (line 0)": a row for each warp of each CTA;
//!                times are cycles / 1000, the clock is among the arguments
//!   another      a row for each thread, a CTA for each process; a nanosecond is a cycle
//! ```
//!
//! Slices are complete events (`X`) and pairs of `B` and `E`. Flows lead from what woke to what waited. What is nested in
//! another slice stays beside it: the viewer gives it a row of its own. Events of other kinds are counted and left out.

mod flows;
mod rows;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use warpline_sim::timeline::{Mark, Row, SourceLine, Span, TICKS, Timeline};

use super::guess;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON, or not that of a trace.
    #[error("it is no trace in Chrome's format: {0}")]
    Json(#[from] serde_json::Error),
    /// An event lacks what its kind needs.
    #[error("event {event} is no slice: {what}")]
    Event {
        /// Which, from 1.
        event: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// There is no slice in it.
    #[error("it has no slices: events with `\"ph\": \"X\"`, or pairs of `B` and `E`")]
    Empty,
}

/// A trace that was read.
#[derive(Debug)]
pub struct Read {
    /// What is in it.
    pub timeline: Timeline,
    /// Events of kinds that are not shown.
    pub left_out: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    trace_events: Vec<Event>,
    #[serde(default)]
    other_data: Value,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    ph: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    cat: String,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    ts: Option<f64>,
    dur: Option<f64>,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    args: Value,
}

/// A thread, by the texts of its process and itself.
type Thread = (String, String);

fn key(v: &Value) -> String {
    match v {
        Value::String(s) => s.clone(),
        v => v.to_string(),
    }
}

fn thread(e: &Event) -> Thread {
    (key(&e.pid), key(&e.tid))
}

/// Reads a trace.
///
/// # Errors
/// When it is no trace, or has nothing in it.
pub fn read(bytes: &[u8]) -> Result<Read, ReadError> {
    // A trace is an object with its events, or just the events.
    let list = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
    let (events, other) = if list {
        (serde_json::from_slice(bytes)?, Value::Null)
    } else {
        let object: Object = serde_json::from_slice(bytes)?;
        (object.trace_events, object.other_data)
    };
    let mut b = Builder::new(&events, &other);
    let mut open: BTreeMap<Thread, Vec<usize>> = BTreeMap::new();
    for (i, e) in events.iter().enumerate() {
        match e.ph.as_str() {
            "X" => b.slice(i, e, None)?,
            "B" => open.entry(thread(e)).or_default().push(i),
            "E" => match open.get_mut(&thread(e)).and_then(Vec::pop) {
                Some(begin) => b.slice(i, &events[begin], e.ts)?,
                None => b.left_out += 1,
            },
            "i" if e.cat == "fault" => b.fault(e),
            // Counters of our own are made from the slices again.
            "M" | "s" | "t" | "f" => {}
            "C" if b.ours => {}
            _ => b.left_out += 1,
        }
    }
    // What never ended is not known to have lasted.
    b.left_out += open.values().map(Vec::len).sum::<usize>();
    b.finish(&events)
}

struct Builder {
    ours: bool,
    t: Timeline,
    rows: BTreeMap<Thread, u32>,
    /// Rows of our own traces, by their index there.
    by_index: BTreeMap<u64, u32>,
    names: BTreeMap<Thread, Value>,
    processes: BTreeMap<String, String>,
    ctas: BTreeMap<String, u32>,
    sites: BTreeMap<(String, u32, String), u32>,
    /// Of each span: its place among the complete events, and the thread it came from.
    origin: Vec<(usize, Thread)>,
    complete: usize,
    left_out: usize,
}

impl Builder {
    fn new(events: &[Event], other: &Value) -> Builder {
        let text = |key: &str| other[key].as_str().unwrap_or_default().to_string();
        let ours = other["producer"] == "warpline";
        // Proton says the clock with each slice.
        let frequency = events.iter().find_map(|e| e.args["Frequency (MHz)"].as_f64());
        let clock = other["mhz"].as_f64().or(frequency).unwrap_or(if ours { 0.0 } else { 1000.0 });
        let ticks = |key: &str| other[key].as_f64().map(ticks);
        let t = Timeline {
            title: text("title"),
            subtitle: text("subtitle"),
            mhz: if clock.is_finite() && clock >= 0.0 { clock } else { 0.0 },
            end: ticks("end_cycles").unwrap_or(0),
            truncated_at: ticks("not_recorded_after_cycle"),
            ..Timeline::default()
        };
        let named = |name: &'static str| events.iter().filter(move |e| e.ph == "M" && e.name == name);
        let names: BTreeMap<Thread, Value> = named("thread_name").map(|e| (thread(e), e.args.clone())).collect();
        let process = |e: &Event| Some((key(&e.pid), e.args["name"].as_str()?.to_string()));
        let mut b = Builder {
            ours,
            t,
            rows: BTreeMap::new(),
            by_index: BTreeMap::new(),
            processes: named("process_name").filter_map(process).collect(),
            ctas: BTreeMap::new(),
            sites: BTreeMap::new(),
            origin: Vec::new(),
            complete: 0,
            left_out: 0,
            names,
        };
        if ours {
            // Rows without slices are rows too, and have a place.
            let mut all: Vec<(u64, Thread)> =
                b.names.iter().filter_map(|(t, args)| Some((args["index"].as_u64()?, t.clone()))).collect();
            all.sort();
            for (_, thread) in all {
                b.row(&thread);
            }
        }
        b
    }

    /// The row of a thread.
    fn row(&mut self, thread: &Thread) -> u32 {
        if let Some(row) = self.rows.get(thread) {
            return *row;
        }
        let args = self.names.get(thread).cloned().unwrap_or_default();
        let index = args["index"].as_u64();
        if let Some(row) = index.and_then(|i| self.by_index.get(&i)) {
            // Another lane of it.
            self.rows.insert(thread.clone(), *row);
            return *row;
        }
        let row = match rows::own(&args, &thread.0) {
            Some(row) => row,
            None => self.other(&args, thread),
        };
        // Overlap lanes of one warp of Proton's are one row.
        let same = self.t.rows.iter().position(|r| index.is_none() && *r == row);
        let id = same.unwrap_or_else(|| {
            self.t.rows.push(row);
            self.t.rows.len() - 1
        }) as u32;
        self.rows.insert(thread.clone(), id);
        if let Some(i) = index {
            self.by_index.insert(i, id);
        }
        id
    }

    /// The row of a thread of another program; the first process gives the title.
    fn other(&mut self, args: &Value, thread: &Thread) -> Row {
        let next = self.ctas.len() as u32;
        let process = self.processes.get(&thread.0).unwrap_or(&thread.0);
        if self.t.title.is_empty() {
            self.t.title = process.split(" Core").next().unwrap_or(process).to_string();
        }
        let cta = *self.ctas.entry(thread.0.clone()).or_insert(next);
        rows::other(args["name"].as_str().unwrap_or(&thread.1), cta)
    }

    /// Adds a slice; an end makes it one of `B` and `E`.
    fn slice(&mut self, event: usize, e: &Event, end: Option<f64>) -> Result<(), ReadError> {
        let bad = |what| ReadError::Event { event: event + 1, what };
        let ts = e.ts.ok_or_else(|| bad("it has no `ts`"))?;
        let dur = end.map(|end| end - ts).or(e.dur).ok_or_else(|| bad("it has no `dur`"))?;
        if !(ts >= 0.0 && dur >= 0.0 && ts + dur < 1e15) {
            return Err(bad("its times are no times"));
        }
        let row = self.row(&thread(e));
        let exact = e.args["start_cycle"].as_f64().zip(e.args["cycles"].as_f64());
        let (start, end) = match exact {
            Some((start, cycles)) => (ticks(start), ticks(start + cycles)),
            // Microseconds of thousand cycles each: Proton writes cycles so, and of others a nanosecond is the unit.
            None => (ticks(ts * 1e3), ticks((ts + dur) * 1e3)),
        };
        let args = &e.args;
        let what =
            rows::own_class(&e.cat, args["kind"].as_str().unwrap_or_default()).unwrap_or_else(|| guess::class(&e.name));
        let label = match args["kind"].as_str() {
            Some(_) => args["label"].as_str().unwrap_or_default().to_string(),
            None => e.name.clone(),
        };
        let site = args["at"].as_str().and_then(|at| at.rsplit_once(':')).and_then(|(file, line)| {
            let text = args["source"].as_str().unwrap_or_default();
            Some(self.site(file, line.parse().ok()?, text))
        });
        let index = |key: &str| args[key].as_u64().and_then(|n| u32::try_from(n).ok());
        self.t.spans.push(Span {
            site,
            label,
            woken_by: index("woken_by"),
            started_by: index("started_by"),
            on: index("on"),
            bytes: args["bytes"].as_u64().unwrap_or(0),
            ..Span::new(row, (start, end.max(start)), what)
        });
        self.origin.push((self.complete, thread(e)));
        self.complete += 1;
        Ok(())
    }

    fn site(&mut self, file: &str, line: u32, text: &str) -> u32 {
        let sites = &mut self.t.sites;
        *self.sites.entry((file.to_string(), line, text.to_string())).or_insert_with(|| {
            sites.push(SourceLine { file: file.to_string(), line, text: text.to_string() });
            sites.len() as u32 - 1
        })
    }

    fn fault(&mut self, e: &Event) {
        let at = e.args["at"].as_str().and_then(|at| at.rsplit_once(':'));
        let (Some((file, line)), Some(cycle)) = (at, e.args["start_cycle"].as_f64()) else {
            self.left_out += 1;
            return;
        };
        let site = self.site(file, line.parse().unwrap_or(0), e.args["source"].as_str().unwrap_or_default());
        let label = e.name.trim_start_matches("fault: ").to_string();
        self.t.faults.push(Mark { tick: ticks(cycle), label, site });
    }

    fn finish(mut self, events: &[Event]) -> Result<Read, ReadError> {
        if self.t.spans.is_empty() && !self.ours {
            return Err(ReadError::Empty);
        }
        let mut order: Vec<usize> = (0..self.t.spans.len()).collect();
        order.sort_by_key(|&i| (self.t.spans[i].start, self.t.spans[i].row, i));
        let mut place = vec![0u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new as u32;
        }
        let moved = |n: Option<u32>| n.and_then(|n| place.get(n as usize).copied());
        for span in &mut self.t.spans {
            (span.woken_by, span.started_by) = (moved(span.woken_by), moved(span.started_by));
        }
        if !self.ours {
            flows::flows(&mut self, events, &place);
        }
        let mut spans: Vec<Option<Span>> = std::mem::take(&mut self.t.spans).into_iter().map(Some).collect();
        self.t.spans = order.iter().filter_map(|&i| spans[i].take()).collect();
        let last = self.t.spans.iter().map(|s| s.end).max().unwrap_or(0);
        if !self.ours {
            self.t.end = last;
            // A measured run begins when its first slice does.
            let first = self.t.spans.first().map_or(0, |s| s.start);
            for s in &mut self.t.spans {
                (s.start, s.end) = (s.start - first, s.end - first);
            }
            self.t.end -= first;
        }
        Ok(Read { timeline: self.t, left_out: self.left_out })
    }
}

/// Cycles as ticks.
fn ticks(cycles: f64) -> u64 {
    (cycles * TICKS as f64).round() as u64
}
