//! Traces: the record of a run for trace viewers, and theirs read back.
//!
//! ```text
//!   Timeline --> perfetto   Perfetto's protobuf: tracks in a tree, flows, counters
//!            --> chrome     JSON that Perfetto, chrome://tracing, Tracy and speedscope read
//!            --> kanata     Konata's text: an instruction for each operation
//!            <-- read       Chrome's JSON, as this crate, Proton or a profiler wrote it
//! ```
//!
//! All formats have the same slices with the same names: the class, then the tile, as in `load A[0, 3]`. Viewers
//! color by the name without digits, so each class of operation on a buffer has one color. Slices of one track never
//! overlap: a row with overlapping spans, such as an engine's, has several tracks.

pub mod chrome;
mod guess;
pub mod kanata;
mod naming;
pub mod perfetto;
pub mod read;
mod window;

pub use window::{after, window};

use warpline_sim::timeline::{Row, RowKind, Span, TICKS, Timeline};
use warpline_sim::words;

use crate::lanes;

/// Why no trace was written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
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
    /// The output is not text.
    #[error("writing the trace: {0}")]
    Text(#[from] std::string::FromUtf8Error),
}

/// Formats that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Perfetto's protobuf.
    Perfetto,
    /// Chrome's JSON.
    Chrome,
    /// Kanata 0004.
    Kanata,
}

/// Writes a timeline.
///
/// # Errors
/// A span refers to a row that does not exist.
pub fn write(t: &Timeline, format: Format) -> Result<Vec<u8>, TraceError> {
    match format {
        Format::Perfetto => perfetto::write(t),
        Format::Chrome => chrome::write(t).map(String::into_bytes),
        Format::Kanata => kanata::write(t).map(String::into_bytes),
    }
}

/// Converts ticks to whole nanoseconds, which viewers use. Both ends are rounded the same way, so that neighbors
/// touch.
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

    /// Unit of a microsecond of the trace.
    fn unit(&self) -> &'static str {
        if self.mhz > 0.0 { "microseconds" } else { "no clock is known: one microsecond stands for one cycle" }
    }
}

fn cycles(ticks: u64) -> f64 {
    ticks as f64 / TICKS as f64
}

/// The tracks of a timeline: one for each lane of each row.
struct Lanes {
    /// Row, lane, number of lanes.
    all: Vec<(usize, u32, u32)>,
    /// The track of each span.
    of_span: Vec<u32>,
}

impl Lanes {
    fn new(t: &Timeline) -> Result<Lanes, TraceError> {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); t.rows.len()];
        for (i, span) in t.spans.iter().enumerate() {
            let bad = TraceError::BadRow { span: i, row: span.row, rows: t.rows.len() };
            rows.get_mut(span.row as usize).ok_or(bad)?.push(i);
        }
        let mut lanes = Lanes { all: Vec::new(), of_span: vec![0; t.spans.len()] };
        for (row, spans) in rows.iter_mut().enumerate() {
            spans.sort_by_key(|&i| (t.spans[i].start, i));
            let times: Vec<_> = spans.iter().map(|&i| (t.spans[i].start, t.spans[i].end)).collect();
            let of = lanes::assign(&times, u32::MAX);
            let first = lanes.all.len() as u32;
            let count = of.iter().max().map_or(1, |last| last + 1);
            lanes.all.extend((0..count).map(|lane| (row, lane, count)));
            for (&i, lane) in spans.iter().zip(of) {
                lanes.of_span[i] = first + lane;
            }
        }
        Ok(lanes)
    }

    /// A track's name.
    fn name(&self, t: &Timeline, track: usize) -> String {
        let (row, lane, lanes) = self.all[track];
        let name = row_name(&t.rows[row]);
        if lanes > 1 { format!("{name} · {}", lane + 1) } else { name }
    }
}

fn row_name(row: &Row) -> String {
    match &row.kind {
        RowKind::Engine(e) if row.name.is_empty() => words::engine(*e).to_owned(),
        _ => row.name.clone(),
    }
}

/// The causes of a span in the timeline: what woke it, and what started it.
fn causes<'t>(t: &'t Timeline, span: &Span) -> impl Iterator<Item = (&'static str, usize, &'t Span)> {
    let of = |name, i: Option<u32>| i.and_then(|i| Some((name, i as usize, t.spans.get(i as usize)?)));
    [of("wake", span.woken_by), of("start", span.started_by)].into_iter().flatten()
}
