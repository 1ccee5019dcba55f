//! The lines above the rows: title, the whole run with the window, the axis with marks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use warpline_sim::timeline::TICKS;

use super::super::layout::cell;
use super::super::runs::Runs;
use super::super::state::{RunView, State};
use super::super::text::{self, cycles};
use super::{put, put_right};
use crate::gantt::format::{cycles as cycles_of, grouped, round_step};

pub(super) fn title(state: &State, runs: &Runs, buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    let m = &runs.models[state.axis()];
    let per = state.width() as f64 / f64::from(state.cells()) / TICKS as f64;
    let per = if per >= 10.0 { grouped(per.round() as u64) } else { format!("{per:.2}") };
    let cut = if m.t.truncated_at.is_some() { ", not all recorded" } else { "" };
    let end = cycles_of(m.end);
    let to = if state.to < m.end { grouped(state.to.div_ceil(TICKS)) } else { end.clone() };
    let times = format!("{}{}{to} of {end} cycles{cut}, {per} a cell", grouped(state.from / TICKS), p.pick('–', '-'));
    let which = match state.shown {
        RunView::A if runs.two() => "A: ",
        RunView::B => "B: ",
        _ => "",
    };
    let both = match (state.shown, runs.models.get(1)) {
        (RunView::Overlay, Some(b)) => {
            // There is room for the kernels, but rarely for the machines.
            let kernel = |title: &str| title.split(" on ").next().unwrap_or(title).to_string();
            format!("A: {}  B: {}", kernel(&m.t.title), kernel(&b.t.title))
        }
        _ => format!("{which}{}", m.t.title),
    };
    let x = put_right(buffer, area, &times, Style::new());
    let room = Rect { width: x.saturating_sub(1), ..area };
    // Text that does not fit is cut at a word, and a name of C++ at its arguments.
    let mut both = both.as_str();
    while both.chars().count() > usize::from(room.width) {
        let Some((head, _)) = both.rsplit_once(' ').or_else(|| both.rsplit_once('<')) else { break };
        both = head.trim_end_matches(',');
    }
    put(buffer, room, 0, both, p.head());
}

/// The share of work in the time of the warps over the whole run, with the window highlighted.
pub(super) fn overview(state: &State, runs: &Runs, buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    let label = Rect { x: 0, width: area.x, ..area };
    put(buffer, label, 0, "warps at work", p.muted());
    let all = &runs.models[state.axis()].overview;
    let end = all.end();
    let at = |tick: u64| cell(0, end, area.width, tick.min(end - 1)).unwrap_or(0);
    let (first, last) = (at(state.from), at(state.to.saturating_sub(1).max(state.from)));
    for (i, share) in all.shares(area.width).into_iter().enumerate() {
        let inside = (first..=last).contains(&(i as u16));
        let style = if inside { Style::new().add_modifier(Modifier::REVERSED) } else { p.muted() };
        if let Some(c) = buffer.cell_mut((area.x + i as u16, area.y)) {
            c.set_char(share.map_or(' ', |s| p.column(s))).set_style(style);
        }
    }
}

pub(super) fn axis(state: &State, runs: &Runs, buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    let label = Rect { x: 0, width: area.x, ..area };
    let unit = match runs.models[state.axis()].t.mhz {
        mhz if mhz > 0.0 => format!("{} us", rounded(state.at as f64 / TICKS as f64 / mhz)),
        _ => "cycles".into(),
    };
    put(buffer, label, 0, &unit, p.muted());
    // A label at round cycles, at least a dozen cells apart.
    let width = state.width().div_ceil(TICKS).max(1);
    let step = round_step((width * 14).div_ceil(u64::from(area.width)).max(1));
    let mut tick = (state.from / TICKS).div_ceil(step) * step;
    let mut free = 0;
    while let Some(x) = cell(state.from, state.to, area.width, tick.saturating_mul(TICKS)) {
        if x >= free {
            let text = format!("{}{}", p.pick('╵', '|'), grouped(tick));
            // A label that would be cut is left out, because it would be another number.
            if usize::from(area.width - x) >= text.chars().count() {
                free = put(buffer, area, x, &text, p.muted()) + 1;
            }
        }
        tick += step;
    }
    let run = state.axis();
    for fault in &runs.models[run].t.faults {
        let tick = fault.tick.min(runs.models[run].end - 1);
        if let Some(x) = cell(state.from, state.to, area.width, tick) {
            put(buffer, area, x, "!", p.fault());
        }
    }
    for (i, mark) in state.marks.iter().enumerate() {
        if let Some(x) = cell(state.from, state.to, area.width, *mark) {
            let glyph = char::from(b'a' + (i % 26) as u8);
            put(buffer, area, x, &glyph.to_string(), p.chosen());
        }
    }
    if let Some(x) = cell(state.from, state.to, area.width, state.at) {
        put(buffer, area, x, &p.pick('▼', 'V').to_string(), p.head());
    }
}

fn rounded(us: f64) -> String {
    if us >= 1000.0 { grouped(us.round() as u64) } else { format!("{us:.3}") }
}

/// The cursor, with the distance from the nearest mark before or after it.
pub(super) fn position(state: &State) -> String {
    let mut out = format!("at {}", cycles(state.at));
    let near = state.marks.iter().enumerate().min_by_key(|(_, m)| m.abs_diff(state.at));
    if let Some((i, mark)) = near {
        let name = char::from(b'a' + (i % 26) as u8);
        out += &format!(", {} from mark {name}", text::cycles_signed(state.at as i64 - *mark as i64));
    }
    if let [.., a, b] = state.marks[..] {
        out += &format!(", last two {} apart", cycles(b - a));
    }
    out
}
