//! Options of a chart, and its errors.

use super::theme::Theme;

/// Layout size in pixels. Everything grows with the width, including text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 1600 wide, as high as the rows need: for a page of a document.
    Page,
    /// 1920 by 1080 with larger text: for a slide. Rows shrink to fit; rows that still do not fit are left out, with
    /// a note.
    Slide,
    /// A width, with as much height as the rows need.
    Width(u32),
    /// A width and a height.
    Exact {
        /// Width.
        width: u32,
        /// Height.
        height: u32,
    },
}

/// An instant to mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Cycle of the instant.
    pub cycle: u64,
    /// A few words.
    pub text: String,
}

/// Options of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttOptions {
    /// Layout size.
    pub size: Size,
    /// PNG pixels of a layout pixel, 1 to 4. Not used for SVG.
    pub scale: u32,
    /// First cycle shown; `None` for the start.
    pub from: Option<u64>,
    /// Cycle after the last one shown; `None` for the end.
    pub to: Option<u64>,
    /// Words that select rows; empty for all rows. A word selects a row by its role, its section (`agents`,
    /// `engines`, `barriers`, `slots`), its CTA (`cta 2`), or a part of its name.
    pub rows: Vec<String>,
    /// Number of CTAs shown, in order of launch; `None` for all.
    pub ctas: Option<u32>,
    /// Light or dark.
    pub theme: Theme,
    /// Whether title and subtitle are drawn.
    pub title: bool,
    /// Instants to mark, each with a label above the rows and a line through them.
    pub marks: Vec<Noted>,
    /// Sentences below the chart.
    pub remarks: Vec<String>,
    /// Headings of the CTAs instead of `CTA 0`; shown also for a single CTA.
    pub headings: Vec<String>,
    /// Whether arrows show wakes, if they are few enough to follow.
    pub wakes: bool,
}

impl Default for GanttOptions {
    fn default() -> Self {
        Self {
            size: Size::Page,
            scale: 1,
            from: None,
            to: None,
            rows: Vec::new(),
            ctas: None,
            theme: Theme::Light,
            title: true,
            marks: Vec::new(),
            remarks: Vec::new(),
            headings: Vec::new(),
            wakes: true,
        }
    }
}

/// Smallest width and height of a chart.
pub const MIN_SIZE: (u32, u32) = (160, 100);
/// Largest width and height.
pub const MAX_SIZE: (u32, u32) = (8192, 16384);

/// Why there is no chart.
#[derive(Debug, thiserror::Error)]
pub enum GanttError {
    /// The size or scale is out of range.
    #[error(
        "a chart of {width} by {height} pixels at scale {scale} is out of range: {} by {} to {} by {}, scale 1 to 4",
        MIN_SIZE.0, MIN_SIZE.1, MAX_SIZE.0, MAX_SIZE.1
    )]
    Size {
        /// Width asked for.
        width: u32,
        /// Height asked for, or 0 for as needed.
        height: u32,
        /// Scale asked for.
        scale: u32,
    },
    /// The window is empty.
    #[error("the window from cycle {from} to cycle {to} is empty; the timeline ends at cycle {end}")]
    Window {
        /// First cycle.
        from: u64,
        /// Cycle after the last.
        to: u64,
        /// The timeline's end in cycles.
        end: u64,
    },
    /// The row filter matches nothing.
    #[error("no row matches {0}; rows are chosen by name, role, section (agents, engines, barriers, slots) or `cta N`")]
    NoRows(String),
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
    /// The built-in font could not be read.
    #[error("the built-in font cannot be read")]
    Font,
    /// The drawing library reported an error.
    #[error("drawing: {0}")]
    Draw(String),
    /// The picture could not be encoded.
    #[error("encoding the PNG: {0}")]
    Png(#[from] png::EncodingError),
}
