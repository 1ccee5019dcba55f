//! Pictures of studies: a number over one or two varied values, and gains from changes of the machine.
//!
//! They are scenes like charts, drawn by the same routine, so equal input gives equal bytes.

mod bars;
mod heat;
mod lines;
mod scale;

use crate::gantt::font::Measure;
use crate::gantt::scene::{Align, Area, Layer, Scene};
use crate::gantt::{GanttError, Rgb, Theme, raster};

pub use bars::{Bar, Bars};
pub use heat::{Cell, Heat};
pub use lines::Lines;
pub use scale::number;

/// A picture of a study.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// A number over one varied value.
    Lines(Lines),
    /// A number over two varied values.
    Heat(Heat),
    /// Gains and losses, a group of bars for each cause.
    Bars(Bars),
}

/// Width of every picture in pixels; a heat map with many columns is wider.
const WIDTH: i32 = 1200;
/// Size of the text, and of the title.
const EM: i32 = 17;
const TITLE: i32 = EM * 13 / 10;

/// Draws an SVG document.
///
/// # Errors
/// The drawing library fails, or there is too much to draw.
pub fn svg(plot: &Plot) -> Result<String, GanttError> {
    crate::gantt::svg::svg(&scene(plot)?, plot.title())
}

/// Draws a PNG.
///
/// # Errors
/// As [`svg`].
pub fn png(plot: &Plot) -> Result<Vec<u8>, GanttError> {
    raster::png(&scene(plot)?, 1)
}

/// The picture as boxes, lines and texts.
///
/// # Errors
/// There is too much to draw.
pub fn scene(plot: &Plot) -> Result<Scene, GanttError> {
    let measure = Measure::new().ok_or(GanttError::Font)?;
    let mut scene = match plot {
        Plot::Lines(p) => lines::scene(p, measure)?,
        Plot::Heat(p) => heat::scene(p, measure)?,
        Plot::Bars(p) => bars::scene(p, measure)?,
    };
    scene.finish();
    Ok(scene)
}

impl Plot {
    fn title(&self) -> &str {
        match self {
            Plot::Lines(p) => &p.title,
            Plot::Heat(p) => &p.title,
            Plot::Bars(p) => &p.title,
        }
    }
}

/// An empty picture with its titles, and the first pixel line below them.
fn titled(size: (i32, i32), titles: [&str; 2], measure: Measure) -> Result<(Scene, i32), GanttError> {
    let (most_w, most_h) = (crate::gantt::MAX_SIZE.0 as i32, crate::gantt::MAX_SIZE.1 as i32);
    if size.0 > most_w || size.1 > most_h {
        return Err(GanttError::Size { width: size.0 as u32, height: size.1 as u32, scale: 1 });
    }
    let mut scene = Scene::new(size.0, size.1, Theme::Light.paper(), measure);
    let room = |y, h| Area::new(EM, y, size.0 - 2 * EM, h);
    scene.text(room(EM / 2, EM * 2), titles[0], TITLE, Align::Left, ink(), 1);
    scene.text(room(EM * 5 / 2, EM * 3 / 2), titles[1], EM, Align::Left, muted(), 1);
    Ok((scene, below_titles(titles[1])))
}

/// The first pixel line below the titles.
fn below_titles(subtitle: &str) -> i32 {
    if subtitle.is_empty() { EM * 3 } else { EM * 9 / 2 }
}

fn ink() -> Rgb {
    Theme::Light.ink()
}

fn muted() -> Rgb {
    Theme::Light.muted()
}

/// A line of a thickness in pixels.
fn stroke(scene: &mut Scene, layer: Layer, [x0, y0, x1, y1]: [i32; 4], thick: i32, color: Rgb) {
    let flat = (x1 - x0).abs() >= (y1 - y0).abs();
    for i in 0..thick {
        let d = i - thick / 2;
        let (dx, dy) = if flat { (0, d) } else { (d, 0) };
        scene.line(layer, [x0 + dx, y0 + dy, x1 + dx, y1 + dy], color);
    }
}
