//! The axis: cycles, and time if the clock is known.

use warpline_sim::timeline::TICKS;

use super::format::{grouped, round_step, time, unit};
use super::layout::Frame;
use super::scene::{Align, Area, Layer, Scene};

/// Height below the plot of an axis with a number of lines.
pub(crate) fn height(em: i32, lines: i32) -> i32 {
    if lines == 0 { 0 } else { em * 4 / 10 + lines * em * 13 / 10 }
}

/// Draws grid lines and labels.
pub(crate) fn draw(frame: &Frame<'_>, scene: &mut Scene, lines: i32) {
    let window = frame.scale.window;
    let plot = scene.plot;
    let grid = frame.theme.grid();
    scene.fill(Layer::Grid, Area::new(plot.x, plot.bottom(), plot.w, 1), frame.theme.muted());
    if lines == 0 {
        return;
    }
    let em = frame.em;
    // Cycles, with a grid line at each label.
    let cycles = (window.from / TICKS, window.to.div_ceil(TICKS));
    let widest = scene.measure().width(&grouped(cycles.1), em);
    let step = step(window.ticks() as f64 / TICKS as f64, plot.w, widest, em);
    let y = plot.bottom() + em * 4 / 10;
    label(frame, scene, y, "cycles");
    let mut cycle = cycles.0.div_ceil(step) * step;
    while let Some(tick) = cycle.checked_mul(TICKS).filter(|&tick| tick <= window.to) {
        let x = frame.scale.x(tick).min(plot.right() - 1);
        scene.fill(Layer::Grid, Area::new(x, plot.y, 1, plot.h), grid);
        scene.fill(Layer::Grid, Area::new(x, plot.bottom(), 1, em * 3 / 10), frame.theme.muted());
        centred(scene, frame, x, y, &grouped(cycle), frame.theme.ink());
        cycle = cycle.saturating_add(step);
    }
    if lines > 1 {
        times(frame, scene, y + em * 13 / 10);
    }
}

/// Labels of time have their own round steps.
fn times(frame: &Frame<'_>, scene: &mut Scene, y: i32) {
    let (window, em, plot) = (frame.scale.window, frame.em, scene.plot);
    let per_tick = 1e6 / (frame.t.mhz * TICKS as f64);
    let ps = |tick: u64| tick as f64 * per_tick;
    let (from, to) = (ps(window.from), ps(window.to));
    if !to.is_finite() || to >= 1e18 {
        return;
    }
    let unit = unit(to as u64);
    label(frame, scene, y + em / 8, unit.0);
    let widest = scene.measure().width(&time(to as u64, round_step((to - from) as u64 / 20 + 1), &unit), em);
    let step = step(to - from, plot.w, widest, em);
    let mut at = (from.ceil() as u64).div_ceil(step) * step;
    while at as f64 <= to {
        let x = plot.x + ((at as f64 - from) / (to - from) * f64::from(plot.w)) as i32;
        let x = x.clamp(plot.x, plot.right() - 1);
        // A tick mark of its own, because no grid line is there.
        scene.fill(Layer::Grid, Area::new(x, y - em / 8, 1, em / 4), frame.theme.muted());
        centred(scene, frame, x, y + em / 8, &time(at, step, &unit), frame.theme.muted());
        at = at.saturating_add(step);
    }
}

/// The smallest round step at which labels do not touch.
fn step(range: f64, width: i32, label: i32, em: i32) -> u64 {
    let most = f64::from(width.max(1)) / f64::from((label + em * 3).max(em * 5));
    round_step((range / most.max(1.0)).ceil().max(1.0) as u64)
}

fn label(frame: &Frame<'_>, scene: &mut Scene, y: i32, text: &str) {
    let em = frame.em;
    let room = Area::new(em, y, frame.scale.x - em - em * 6 / 10, em * 12 / 10);
    scene.text(room, text, em * 9 / 10, Align::Right, frame.theme.muted(), 1);
}

/// A label centered under `x`, moved away from the picture's edge if necessary.
fn centred(scene: &mut Scene, frame: &Frame<'_>, x: i32, y: i32, text: &str, color: super::theme::Rgb) {
    let em = frame.em * 9 / 10;
    let w = scene.measure().width(text, em);
    let left = (x - w / 2).clamp(frame.scale.x - frame.em / 4, (scene.width - w - 2).max(0));
    scene.text(Area::new(left, y, w, frame.em * 12 / 10), text, em, Align::Left, color, usize::MAX);
}
