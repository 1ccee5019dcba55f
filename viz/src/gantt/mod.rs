//! Gantt charts, as SVG and PNG.
//!
//! ```text
//!   title, subtitle
//!                          | marks and faults, with a line down
//!   +--------+----------+---------------------------------------------+
//!   | CTA 0                                                           |
//!   | load   |  w0      |[load ][//mbarrier///][load ][//mbarrier///] |   work solid,
//!   | mma    |  w1      |[/////global//][mma k0 ][/][mma k1 ]         |   waiting hatched
//!   | engines|  copy    |   [A 0   ][A 1   ]       [A 2   ]           |
//!   | slots  |  a[0]    |   [//////][A 0           ][/////]           |
//!   +--------+----------+---------------------------------------------+
//!             cycles    0        1,000        2,000        3,000
//!   legend: just the classes that are there
//!   notes: window, rows or spans left out
//! ```
//!
//! [`layout`] turns a timeline into a [`Scene`], boxes and texts that can be inspected. One routine draws it through
//! plotters, as SVG or PNG. All geometry is in whole pixels, so equal input gives equal bytes.

mod axis;
mod bars;
mod below;
mod beside;
pub(crate) mod class;
pub(crate) mod font;
pub(crate) mod format;
mod hatch;
mod labels;
mod layout;
mod legend;
mod marks;
mod notes;
mod options;
mod paint;
pub(crate) mod raster;
mod rows;
pub mod scatter;
pub(crate) mod scene;
pub(crate) mod select;
mod subset;
pub(crate) mod svg;
pub(crate) mod theme;

use warpline_sim::timeline::Timeline;

pub use beside::beside;
pub use layout::layout;
pub use options::{GanttError, GanttOptions, MAX_SIZE, MIN_SIZE, Noted, Size};
pub use scene::{Area, Drawn, Item, Layer, Scene};
pub use theme::{Rgb, Theme};

/// Draws a timeline as an SVG document, with the letters it uses embedded.
pub fn svg(t: &Timeline, options: &GanttOptions) -> Result<String, GanttError> {
    svg::svg(&layout(t, options)?, &t.title)
}

/// Draws a timeline as a PNG.
pub fn png(t: &Timeline, options: &GanttOptions) -> Result<Vec<u8>, GanttError> {
    raster::png(&layout(t, options)?, options.scale)
}
