//! Draws finished timelines: charts for documents, trace files for trace viewers, and a viewer for the terminal.
//!
//! ```text
//!                       +-> gantt::svg --> SVG, its font inside
//!   sim::Timeline ------+-> gantt::png --> PNG
//!   (rows, spans,       +-> trace::write --> Perfetto, Chrome's JSON, Kanata; trace::read for Chrome's and Proton's
//!    sites, title)      +-> tui::render --> the cells of a terminal
//! ```
//!
//! # Tour
//!
//! A [`Timeline`](warpline_sim::timeline::Timeline) is a finished record. This crate runs nothing, opens no file and reads no clock,
//! so the same timeline always gives the same bytes. Every function returns the whole output or an error; the caller writes files.
//!
//! * [`gantt`] draws a picture for a document: work in solid colors, waits hatched by cause, slots with the tile they hold, barrier
//!   phases, who woke whom, and a legend of exactly what is shown.
//! * [`tui`] is the terminal viewer without the terminal: a state, the effect of a key on it, and its picture in cells.
//! * [`plot`] draws the results of sweeps and what-if tables.
//! * [`trace`] writes the record for trace viewers, and reads traces of other programs and of hardware.
//! * [`web`] gives the data from which a page draws the record.
//!
//! The names of classes of work and causes of waiting are in [`warpline_sim::words`].
//!
//! ```
//! use warpline_sim::timeline::{Row, RowKind, Span, Timeline, SpanKind, Work, TICKS};
//! use warpline_viz::gantt::{svg, GanttOptions};
//!
//! let row = Row { name: "warp 0".into(), cta: 0, kind: RowKind::Agent { role: "warp".into(), warp: 0, lanes: None } };
//! let span = Span { label: "k0".into(), ..Span::new(0, (0, 100 * TICKS), SpanKind::Work(Work::Mma)) };
//! let t = Timeline { title: "demo".into(), rows: vec![row], spans: vec![span], end: 100 * TICKS, ..Timeline::default() };
//! let picture = svg(&t, &GanttOptions::default())?;
//! assert!(picture.starts_with("<svg"));
//! # Ok::<(), warpline_viz::gantt::GanttError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may panic"))]

mod counter;
pub mod gantt;
mod lanes;
pub mod plot;
pub mod trace;
pub mod tui;
pub mod web;

pub use gantt::scatter;
