//! Line plots of a number over one varied value.

use super::scale::{Scale, number};
use super::{EM, WIDTH, ink, muted, stroke, titled};
use crate::gantt::font::Measure;
use crate::gantt::scene::{Align, Area, Layer, Scene};
use crate::gantt::{GanttError, Rgb, Theme};

/// A number over one varied value.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// First line.
    pub title: String,
    /// Second line.
    pub subtitle: String,
    /// Name of the varied value.
    pub x_name: String,
    /// Varied values as text, and as numbers if all are numbers.
    pub x: Vec<(String, Option<f64>)>,
    /// Name of the number.
    pub y_name: String,
    /// The number at each point, or why there is none.
    pub y: Vec<Result<f64, String>>,
    /// The point to highlight.
    pub best: Option<usize>,
}

const HEIGHT: i32 = 640;
const LINE: Rgb = Rgb(0x00, 0x72, 0xB2);

pub(super) fn scene(p: &Lines, measure: Measure) -> Result<Scene, GanttError> {
    let (mut s, top) = titled((WIDTH, HEIGHT), [&p.title, &p.subtitle], measure)?;
    let plot = Area::new(EM * 7, top + EM * 3 / 2, WIDTH - EM * 13, HEIGHT - top - EM * 13 / 2);
    s.plot = plot;
    let known = p.y.iter().filter_map(|y| y.as_ref().ok()).copied();
    let y = Scale::new(known, (plot.bottom(), plot.y), 50.0, true);
    let x: Vec<i32> = columns(p, &plot);
    s.text(Area::new(EM, top - EM / 2, WIDTH - 2 * EM, EM * 3 / 2), &p.y_name, EM, Align::Left, muted(), 1);
    for t in y.ticks(6) {
        let at = y.at(t).min(plot.bottom() - 1);
        s.fill(Layer::Grid, Area::new(plot.x, at, plot.w, 1), Theme::Light.grid());
        s.text(Area::new(0, at - EM, plot.x - EM / 2, EM * 2), &number(t), EM, Align::Right, ink(), 1);
    }
    s.fill(Layer::Grid, Area::new(plot.x, plot.bottom(), plot.w, 1), muted());
    let below = |y: i32| Area::new(plot.x - EM * 3, plot.bottom() + y, plot.w + EM * 5, EM * 2);
    s.text(below(EM * 5 / 2), &p.x_name, EM, Align::Center, muted(), 1);
    for (at, (label, _)) in x.iter().zip(&p.x) {
        let half = EM * 5;
        let room = Area::new(at - half, plot.bottom() + EM / 4, 2 * half, EM * 2);
        s.text(room, label, EM, Align::Center, ink(), 1);
    }
    let points: Vec<Option<(i32, i32)>> =
        x.iter().zip(&p.y).map(|(x, v)| v.as_ref().ok().map(|v| (*x, y.at(*v)))).collect();
    for pair in points.windows(2) {
        if let [Some(a), Some(b)] = pair {
            stroke(&mut s, Layer::Bars, [a.0, a.1, b.0, b.1], 3, LINE);
        }
    }
    for (i, (point, at)) in points.iter().zip(&x).enumerate() {
        match (point, &p.y[i]) {
            (Some((x, y)), Ok(v)) => {
                s.fill(Layer::Marks, Area::new(x - 4, y - 4, 9, 9), LINE);
                let words = if p.best == Some(i) { format!("{} (best)", number(*v)) } else { number(*v) };
                let (room, align) = beside((*x, *y), [i.checked_sub(1), Some(i + 1)].map(|n| *points.get(n?)?));
                if let Some(taken) = s.text(room, &words, EM, align, ink(), 1) {
                    s.fill(Layer::Plates, taken, Theme::Light.paper());
                }
            }
            (_, Err(why)) => {
                let (x, y) = (*at, plot.bottom() - EM / 2);
                let red = Theme::Light.fault();
                stroke(&mut s, Layer::Marks, [x - 5, y - 5, x + 5, y + 5], 3, red);
                stroke(&mut s, Layer::Marks, [x - 5, y + 5, x + 5, y - 5], 3, red);
                s.text(Area::new(x - EM * 4, y - EM * 2, EM * 8, EM * 3 / 2), why, EM * 9 / 10, Align::Center, red, 4);
            }
            _ => {}
        }
    }
    Ok(s)
}

/// The place of a point's number: above it, or aside where the line to a neighbor is steep.
fn beside((x, y): (i32, i32), neighbors: [Option<(i32, i32)>; 2]) -> (Area, Align) {
    let steep = |n: Option<(i32, i32)>| n.is_some_and(|(at, height)| 4 * (y - height) > (at - x).abs());
    match neighbors.map(steep) {
        [false, false] => (Area::new(x - EM * 5, y - EM * 2, EM * 10, EM * 3 / 2), Align::Center),
        [true, false] => (Area::new(x + EM / 2, y - EM * 2, EM * 10, EM * 3 / 2), Align::Left),
        [false, true] => (Area::new(x - EM * 10 - EM / 2, y - EM * 2, EM * 10, EM * 3 / 2), Align::Right),
        [true, true] => (Area::new(x - EM * 5, y + EM / 2, EM * 10, EM * 3 / 2), Align::Center),
    }
}

/// Columns of the values: by number if they ascend, else evenly spaced.
fn columns(p: &Lines, plot: &Area) -> Vec<i32> {
    let numbers: Option<Vec<f64>> = p.x.iter().map(|x| x.1).collect();
    let ends = (plot.x + EM, plot.right() - EM);
    match numbers.filter(|n| n.is_sorted() && n.len() > 1) {
        Some(n) => {
            let scale = Scale::new(n.iter().copied(), ends, 12.0, false);
            n.iter().map(|x| scale.at(*x)).collect()
        }
        None => {
            let scale = Scale::new([0.0, (p.x.len().max(2) - 1) as f64].into_iter(), ends, f64::INFINITY, false);
            (0..p.x.len()).map(|i| scale.at(i as f64)).collect()
        }
    }
}
