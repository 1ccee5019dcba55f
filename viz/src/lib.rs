//! Draws finished timelines: gantt charts for design docs, trace files for trace viewers, and a viewer for the terminal.
//!
//! ```text
//!                       +-> gantt::svg --> SVG, its font inside
//!   sim::Timeline ------+-> gantt::png --> PNG
//!   (rows, spans,       +-> trace::write --> Perfetto, Chrome's JSON, Kanata; trace::read for Chrome's and Proton's
//!    sites, title)      +-> tui::render --> the cells of a terminal
//! ```
//!
//! A [`Timeline`](warpline_sim::timeline::Timeline) is a finished record: this crate runs nothing, opens no file and
//! reads no clock, so the same timeline always gives the same bytes. Files are the caller's business; every
//! function here returns the whole output or an error, never half a picture.
//!
//! * [`gantt`] makes a picture to paste in a document: work in solid colours, waiting hatched by cause, slots with the
//!   tile they hold, barrier releases, who woke whom, and a legend of just what is there.
//! * [`tui`] is the terminal viewer, but for the terminal: a state, what a key does to it, and how it is drawn in cells.
//! * [`plot`] draws what sweeps and what-if tables found.
//! * [`trace`] writes the same record for trace viewers, and reads traces that others or hardware left.
//! * [`web`] gives the data that a page draws the same from.
//!
//! Words for classes of work and causes of waiting are in [`warpline_sim::words`].
//!
//! ```
//! use warpline_sim::timeline::{Row, RowKind, Span, Timeline, What, Work, TICKS};
//! use warpline_viz::gantt::{svg, GanttOptions};
//!
//! let row = Row { name: "warp 0".into(), cta: 0, kind: RowKind::Agent { role: "warp".into(), warp: 0, lanes: None } };
//! let span = Span { label: "k0".into(), ..Span::new(0, (0, 100 * TICKS), What::Work(Work::Mma)) };
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
