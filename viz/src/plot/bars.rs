//! Bar plots of gains and losses: a row for each cause, a bar for each change of it.

use super::scale::Scale;
use super::{EM, WIDTH, ink, muted, titled};
use crate::gantt::font::Measure;
use crate::gantt::scene::{Align, Area, Layer, Scene};
use crate::gantt::{GanttError, Rgb, Theme};

/// Gains and losses by cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// First line.
    pub title: String,
    /// Second line.
    pub subtitle: String,
    /// Meaning of the bars.
    pub x_name: String,
    /// Changes of a cause, in the order of the bars of a row.
    pub series: Vec<String>,
    /// Causes, from the top.
    pub rows: Vec<Bar>,
}

/// A cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Value for each series in percent; `None` for no bar.
    pub values: Vec<Option<f64>>,
}

const HUES: [Rgb; 3] = [Rgb(0x00, 0x72, 0xB2), Rgb(0x56, 0xB4, 0xE9), Rgb(0xD5, 0x5E, 0x00)];
/// Height of a bar.
const BAR: i32 = 9;

pub(super) fn scene(p: &Bars, measure: Measure) -> Result<Scene, GanttError> {
    let left = EM * 2 + p.rows.iter().map(|r| measure.width(&r.name, EM)).max().unwrap_or(0);
    let row_h = BAR * p.series.len().max(1) as i32 + EM * 3 / 4;
    let height = EM * 11 + row_h * p.rows.len() as i32;
    let (mut s, top) = titled((WIDTH, height), [&p.title, &p.subtitle], measure)?;
    let mut x = EM;
    for (i, name) in p.series.iter().enumerate() {
        s.fill(Layer::Bars, Area::new(x, top + EM / 4, EM, EM), hue(i));
        let room = Area::new(x + EM * 3 / 2, top, WIDTH - x - EM * 2, EM * 3 / 2);
        x = s.text(room, name, EM, Align::Left, ink(), 1).map_or(x, |a| a.right() + EM * 2);
    }
    let plot = Area::new(left, top + EM * 2, WIDTH - left - EM * 5, row_h * p.rows.len() as i32);
    s.plot = plot;
    let all = p.rows.iter().flat_map(|r| r.values.iter().flatten()).copied();
    let scale = Scale::new(all, (plot.x, plot.right()), f64::INFINITY, true);
    for t in scale.ticks(8) {
        let at = scale.at(t);
        s.fill(Layer::Grid, Area::new(at, plot.y, 1, plot.h), if t == 0.0 { muted() } else { Theme::Light.grid() });
        s.text(Area::new(at - EM * 3, plot.bottom(), EM * 6, EM * 2), &format!("{t} %"), EM, Align::Center, ink(), 1);
    }
    s.text(Area::new(plot.x, plot.bottom() + EM * 2, plot.w, EM * 3 / 2), &p.x_name, EM, Align::Center, muted(), 1);
    for (j, row) in p.rows.iter().enumerate() {
        let y = plot.y + row_h * j as i32 + EM * 3 / 8;
        let room = Area::new(EM, y - EM / 2, left - EM * 3 / 2, row_h);
        s.text(room, &row.name, EM, Align::Right, ink(), 1);
        for (i, v) in row.values.iter().enumerate() {
            let Some(v) = v else { continue };
            let (a, b) = (scale.at(v.min(0.0)), scale.at(v.max(0.0)));
            let bar = Area::new(a, y + BAR * i as i32, (b - a).max(1), BAR - 1);
            s.fill(Layer::Bars, bar, hue(i));
        }
    }
    Ok(s)
}

fn hue(i: usize) -> Rgb {
    HUES[i % HUES.len()]
}
