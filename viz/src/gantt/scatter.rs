//! Scatter plots: two numbers of many things on axes of equal decades, such as model and measurement.

use super::font::Measure;
use super::options::GanttError;
use super::scene::{Align, Area, Layer, Scene};
use super::theme::{Rgb, Theme};
use super::{raster, svg as vector};

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Value on the horizontal axis; above 0.
    pub x: f64,
    /// Value on the vertical axis; above 0.
    pub y: f64,
    /// Whether it is drawn as a frame.
    pub hollow: bool,
}

/// Texts of the plot.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// Title.
    pub title: &'a str,
    /// Name of the horizontal axis.
    pub x: &'a str,
    /// Name of the vertical axis.
    pub y: &'a str,
    /// Meaning of a filled point.
    pub solid: &'a str,
    /// Meaning of a hollow point.
    pub hollow: &'a str,
}

/// Side of the square plot in pixels; the next constants are the space around it.
const SIDE: i32 = 640;
const MARGIN: i32 = 76;
const EM: i32 = 16;
const POINT: Rgb = Rgb(0x1f, 0x6f, 0xb4);

/// Draws an SVG document.
///
/// # Errors
/// The built-in font cannot be used.
pub fn svg(points: &[Point], words: &Words<'_>) -> Result<String, GanttError> {
    vector::svg(&scene(points, words)?, words.title)
}

/// Draws a PNG.
///
/// # Errors
/// As [`svg`].
pub fn png(points: &[Point], words: &Words<'_>) -> Result<Vec<u8>, GanttError> {
    raster::png(&scene(points, words)?, 1)
}

fn scene(points: &[Point], words: &Words<'_>) -> Result<Scene, GanttError> {
    let theme = Theme::Light;
    let mut s =
        Scene::new(SIDE + 2 * MARGIN, SIDE + 2 * MARGIN, theme.paper(), Measure::new().ok_or(GanttError::Font)?);
    s.plot = Area::new(MARGIN, MARGIN, SIDE, SIDE);
    // Both axes cover the same range, slightly beyond the outermost points.
    let all = points.iter().flat_map(|p| [p.x, p.y]).filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = all.fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    let (low, high) = if low < high { (low.ln() - 0.1, high.ln() + 0.1) } else { (0.0, 1.0) };
    let along = |v: f64| ((v.ln() - low) / (high - low) * f64::from(SIDE)).round() as i32;
    let (x, y) = (|v: f64| MARGIN + along(v), |v: f64| MARGIN + SIDE - along(v));
    for decade in 0..12 {
        for step in [1.0, 2.0, 5.0] {
            let v = step * 10f64.powi(decade);
            if !(low..=high).contains(&v.ln()) {
                continue;
            }
            s.fill(Layer::Grid, Area::new(x(v), MARGIN, 1, SIDE), theme.grid());
            s.fill(Layer::Grid, Area::new(MARGIN, y(v), SIDE, 1), theme.grid());
            let label = super::format::grouped(v as u64);
            s.text(Area::new(x(v) - 50, MARGIN + SIDE + 6, 100, EM + 4), &label, EM, Align::Center, theme.ink(), 1);
            s.text(Area::new(0, y(v) - EM / 2 - 2, MARGIN - 8, EM + 4), &label, EM, Align::Right, theme.ink(), 1);
        }
    }
    // Equality, and 15 % in both directions.
    for (factor, color) in [(1.0f64, theme.ink()), (0.85, theme.muted()), (1.15, theme.muted())] {
        let off = (factor.ln() / (high - low) * f64::from(SIDE)).round() as i32;
        let (from, to) = (off.max(0) - off, SIDE - 1 - off.max(0));
        let at = |t: i32| (MARGIN + t, MARGIN + SIDE - 1 - t - off);
        let ((x0, y0), (x1, y1)) = (at(from), at(to));
        s.line(Layer::Marks, [x0, y0, x1, y1], color);
        // The name of the line at its upper end: above the plot, or beside it.
        let (name, place) = match factor {
            f if f > 1.0 => ("+15 %", Area::new(x1 - 100, MARGIN - EM - 8, 110, EM + 4)),
            f if f < 1.0 => ("-15 %", Area::new(MARGIN + SIDE + 6, y1 - 2, MARGIN - 8, EM + 4)),
            _ => ("equal", Area::new(MARGIN + SIDE + 6, MARGIN - EM - 8, MARGIN - 8, EM + 4)),
        };
        let align = if factor > 1.0 { Align::Right } else { Align::Left };
        s.text(place, name, EM, align, theme.muted(), 1);
    }
    for p in points.iter().filter(|p| p.x > 0.0 && p.y > 0.0) {
        dot(&mut s, (x(p.x), y(p.y)), p.hollow, theme.paper());
    }
    let row = |y: i32| Area::new(MARGIN, y, SIDE, EM + 8);
    s.text(row(12), words.title, EM + 4, Align::Left, theme.ink(), 4);
    s.text(row(MARGIN - 28), words.y, EM, Align::Left, theme.ink(), 1);
    s.text(row(MARGIN + SIDE + 34), words.x, EM, Align::Right, theme.ink(), 1);
    for (i, (word, hollow)) in [(words.solid, false), (words.hollow, true)].into_iter().enumerate() {
        let at = (MARGIN + 20, MARGIN + 24 + 26 * i as i32);
        dot(&mut s, at, hollow, theme.paper());
        s.text(Area::new(at.0 + 16, at.1 - EM / 2 - 2, 200, EM + 4), word, EM, Align::Left, theme.ink(), 1);
    }
    s.finish();
    Ok(s)
}

fn dot(s: &mut Scene, (x, y): (i32, i32), hollow: bool, paper: Rgb) {
    s.fill(Layer::Marks, Area::new(x - 4, y - 4, 9, 9), POINT);
    if hollow {
        s.fill(Layer::Marks, Area::new(x - 2, y - 2, 5, 5), paper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_lies_in_the_plot_and_nothing_fails_without_any() {
        let words = Words { title: "t", x: "x", y: "y", solid: "s", hollow: "h" };
        let points = [Point { x: 10.0, y: 20.0, hollow: false }, Point { x: 4000.0, y: 300.0, hollow: true }];
        let s = scene(&points, &words).unwrap();
        let dots = s.items.iter().filter(|d| d.color == POINT);
        assert_eq!(
            dots.clone().filter(|d| s.plot.holds(&d.item.area())).count(),
            4,
            "two points and two in the legend"
        );
        assert!(svg(&[], &words).unwrap().starts_with("<svg"));
        assert!(png(&points, &words).unwrap().starts_with(b"\x89PNG"));
    }
}
