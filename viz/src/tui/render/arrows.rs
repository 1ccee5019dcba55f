//! Arrows of wakes: lines from the end of a waker to what it woke, for the operation under the cursor and a number of
//! further hops.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::chain;
use super::super::layout::cell;
use super::super::runs::Runs;
use super::super::state::{Focus, Line, State};

/// Most arrows that a reader can follow.
const MOST: usize = 24;

pub(super) fn arrows(state: &State, runs: &Runs, lines: &[Line], buffer: &mut Buffer, area: Rect) {
    let Some((run, span)) = state.selected(runs) else { return };
    let m = &runs.models[run];
    let mut found: Vec<(u32, u32)> = Vec::new();
    let (mut causes, mut woken) = (vec![span], vec![span]);
    for _ in 0..state.hops {
        let mut add = |from: u32, to: u32| {
            let new = found.len() < MOST && !found.contains(&(from, to));
            if new {
                found.push((from, to));
            }
            new
        };
        causes = causes.iter().filter_map(|&s| chain::cause(m, s).filter(|c| add(*c, s))).collect();
        let next =
            woken.iter().flat_map(|&s| m.woken_by(s).iter().filter(|w| add(s, **w)).copied().collect::<Vec<_>>());
        woken = next.collect();
    }
    // A folded row is drawn at its group.
    let line_of = |span: u32| {
        let mut at = Some(m.track[span as usize]);
        while let Some(node) = at {
            if let Some(i) = lines.iter().position(|l| l.focus == Focus { run, node }) {
                return Some(i as i64 - state.top as i64);
            }
            at = m.nodes[node as usize].parent;
        }
        None
    };
    for (from, to) in found {
        let (Some(a), Some(b)) = (line_of(from), line_of(to)) else { continue };
        let tick = state.on_axis(run, m.span(from).end - 1);
        if let Some(x) = cell(state.from, state.to, area.width, tick) {
            arrow(state, buffer, area, x, (a, b));
        }
    }
}

fn arrow(state: &State, buffer: &mut Buffer, area: Rect, x: u16, (from, to): (i64, i64)) {
    let p = state.palette;
    if from == to {
        return;
    }
    let down = to > from;
    for y in from.min(to)..=from.max(to) {
        if y < 0 || y >= i64::from(area.height) {
            continue;
        }
        let glyph = match (y == from, y == to) {
            (true, _) => p.pick('●', 'o'),
            (_, true) if down => p.pick('▼', 'v'),
            (_, true) => p.pick('▲', '^'),
            _ => p.pick('│', '|'),
        };
        if let Some(c) = buffer.cell_mut((area.x + x, area.y + y as u16)) {
            c.set_char(glyph).set_style(p.head());
        }
    }
}
