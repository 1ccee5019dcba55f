//! Heat maps: a number over two varied values, as colored cells with the number in each.

use super::scale::number;
use super::{EM, TITLE, WIDTH, below_titles, ink, muted, titled};
use crate::gantt::font::Measure;
use crate::gantt::scene::{Align, Area, Layer, Scene};
use crate::gantt::{GanttError, Rgb, Theme};

/// A number over two varied values.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// First line.
    pub title: String,
    /// Second line.
    pub subtitle: String,
    /// Name of the horizontal values.
    pub x_name: String,
    /// Horizontal values.
    pub x: Vec<String>,
    /// Name of the vertical values.
    pub y_name: String,
    /// Vertical values.
    pub y: Vec<String>,
    /// The cells, row by row.
    pub cells: Vec<Cell>,
    /// Neutral value, for a ratio. Without it, the smallest is pale and the largest dark.
    pub centre: Option<f64>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// The number to highlight.
    Best(f64),
    /// Why there is no number.
    Why(String),
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(x) | Cell::Best(x) => Some(*x),
            Cell::Why(_) => None,
        }
    }
}

/// Pale to dark in one hue, so that gray prints keep the order; and the hue beyond a center.
const PALE: Rgb = Rgb(0xF4, 0xF7, 0xFA);
const DARK: Rgb = Rgb(0x00, 0x55, 0x8C);
const OTHER: Rgb = Rgb(0xB8, 0x4A, 0x00);

pub(super) fn scene(p: &Heat, measure: Measure) -> Result<Scene, GanttError> {
    let widest = |texts: &[String]| texts.iter().map(|t| measure.width(t, EM)).max().unwrap_or(0);
    let (columns, rows) = (p.x.len().max(1) as i32, p.y.len() as i32);
    let left = EM * 2 + widest(&p.y).max(measure.width(&p.y_name, EM));
    let least = EM + widest(&p.x).max(EM * 3);
    let cell_w = ((WIDTH - left - EM) / columns).clamp(least, EM * 10);
    let cell_h = EM * 2;
    let note = match p.centre {
        Some(c) => format!("blue above {}, brown below; the framed cell is the best", number(c)),
        None => "the darker the larger; the framed cell is the best".to_string(),
    };
    // Room for the titles and the note, even with few columns.
    let title = measure.width(&p.title, TITLE).max(measure.width(&p.subtitle, EM));
    let width = (left + cell_w * columns + EM).max(title.max(measure.width(&note, EM)) + 2 * EM);
    let height = below_titles(&p.subtitle) + EM * 5 + cell_h * rows;
    let (mut s, top) = titled((width, height), [&p.title, &p.subtitle], measure)?;
    let plot = Area::new(left, top + EM * 7 / 2, cell_w * columns, cell_h * rows);
    s.plot = plot;
    s.text(
        Area::new(left, top, plot.w.max(EM * 20).min(width - left), EM * 3 / 2),
        &p.x_name,
        EM,
        Align::Left,
        muted(),
        1,
    );
    s.text(Area::new(EM, plot.y - EM * 2, left - EM * 3 / 2, EM * 2), &p.y_name, EM, Align::Right, muted(), 1);
    for (i, x) in p.x.iter().enumerate() {
        let at = Area::new(left + cell_w * i as i32, plot.y - EM * 2, cell_w, EM * 2);
        s.text(at, x, EM, Align::Center, ink(), 1);
    }
    let shade = Shade::new(p);
    for (j, y) in p.y.iter().enumerate() {
        let row = plot.y + cell_h * j as i32;
        s.text(Area::new(EM, row, left - EM * 3 / 2, cell_h), y, EM, Align::Right, ink(), 1);
        for i in 0..p.x.len() {
            let Some(cell) = p.cells.get(j * p.x.len() + i) else { continue };
            let at = Area::new(left + cell_w * i as i32, row, cell_w - 1, cell_h - 1);
            let (fill, text) = match cell {
                Cell::Number(x) | Cell::Best(x) => (shade.of(*x), number(*x)),
                Cell::Why(why) => (Theme::Light.track(), why.clone()),
            };
            s.fill(Layer::Bars, at, fill);
            let color = if cell.number().is_some() { fill.text_on() } else { Theme::Light.fault() };
            s.text(at, &text, EM * 9 / 10, Align::Center, color, 3);
            if matches!(cell, Cell::Best(_)) {
                frame(&mut s, at);
            }
        }
    }
    s.text(
        Area::new(EM, plot.bottom() + EM / 2, width - 2 * EM, EM * 3 / 2),
        &note,
        EM * 9 / 10,
        Align::Left,
        muted(),
        1,
    );
    Ok(s)
}

fn frame(s: &mut Scene, at: Area) {
    let (w, h) = (at.w, at.h);
    for side in [(0, 0, w, 3), (0, h - 3, w, 3), (0, 0, 3, h), (w - 3, 0, 3, h)] {
        s.fill(Layer::Marks, Area::new(at.x + side.0, at.y + side.1, side.2, side.3), ink());
    }
}

/// Colors by value. Positive numbers over more than a decade, and ratios, use their logarithm.
struct Shade {
    low: f64,
    high: f64,
    log: bool,
    centre: Option<f64>,
}

impl Shade {
    fn new(p: &Heat) -> Shade {
        let all = p.cells.iter().filter_map(Cell::number);
        let low = all.clone().fold(f64::INFINITY, f64::min);
        let high = all.fold(f64::NEG_INFINITY, f64::max);
        let log = low > 0.0 && (high / low > 10.0 || p.centre.is_some());
        Shade { low, high, log, centre: p.centre }
    }

    fn of(&self, x: f64) -> Rgb {
        let f = |x: f64| if self.log { x.ln() } else { x };
        let (low, high, x) = (f(self.low), f(self.high), f(x));
        let percent = |share: f64| if share.is_finite() { (share.clamp(0.0, 1.0) * 100.0).round() as u32 } else { 0 };
        match self.centre.map(f) {
            None => PALE.mix(DARK, percent((x - low) / (high - low))),
            Some(c) => {
                let reach = (high - c).abs().max((c - low).abs());
                PALE.mix(if x >= c { DARK } else { OTHER }, percent((x - c).abs() / reach))
            }
        }
    }
}
