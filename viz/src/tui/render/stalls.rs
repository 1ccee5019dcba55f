//! The pane of stalls by role, and the legend.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::class::{self, CLASSES};
use super::super::index::Sums;
use super::super::model::NodeKind;
use super::super::runs::Runs;
use super::super::state::State;
use super::{put, row};

/// For each role, over all CTAs, the share of its time in work and in each wait, largest first.
pub(super) fn stalls(state: &State, runs: &Runs, buffer: &mut Buffer, area: Rect) {
    let run = state.focus.run;
    let m = &runs.models[run];
    let (from, to) = (state.in_run(run, state.from).max(0) as u64, state.in_run(run, state.to).max(0) as u64);
    let mut roles: BTreeMap<(u32, &str), Sums> = BTreeMap::new();
    for (i, n) in m.nodes.iter().enumerate() {
        let of_cta = n.parent.is_some_and(|p| m.nodes[p as usize].kind == NodeKind::Cta);
        if !n.agents || !of_cta {
            continue;
        }
        let name = match &n.kind {
            NodeKind::Track(spans) => spans.first().map_or(n.name.as_str(), |s| role(m, *s)),
            _ => n.name.as_str(),
        };
        // In the order of the first CTA.
        let place = roles.keys().find(|(_, r)| *r == name).map_or(i as u32, |(p, _)| *p);
        let sums = n.index.between(from, to);
        roles.entry((place, name)).and_modify(|s| s.add(&sums)).or_insert(sums);
    }
    put(buffer, area, 0, "In this window, % of the warps' time", state.palette.head());
    for (y, ((_, name), sums)) in roles.iter().enumerate().take(usize::from(area.height.saturating_sub(1))) {
        let mut line = format!("{name:<9} {}", shares(sums));
        // Largest first, so that the smallest ones are dropped for lack of room.
        while line.chars().count() > usize::from(area.width) {
            let Some((head, _)) = line.rsplit_once(", ") else { break };
            line.truncate(head.len());
        }
        put(buffer, row(area, y as u16 + 1), 0, &line, Style::new());
    }
}

fn role(m: &super::super::model::Model, span: u32) -> &str {
    match &m.t.rows[m.span(span).row as usize].kind {
        warpline_sim::timeline::RowKind::Agent { role, .. } => role,
        _ => "",
    }
}

fn shares(sums: &Sums) -> String {
    let alive = |n: &u8| class::works(*n) || class::waits(*n);
    let all: u64 = (0..CLASSES as u8).filter(alive).map(|n| sums.time[usize::from(n)]).sum();
    if all == 0 {
        return "ended".into();
    }
    let percent = |t: u64| t as f64 * 100.0 / all as f64;
    let work: u64 = (0..CLASSES as u8).filter(|n| class::works(*n)).map(|n| sums.time[usize::from(n)]).sum();
    let mut waits: Vec<(u64, u8)> =
        (0..CLASSES as u8).filter(|n| class::waits(*n)).map(|n| (sums.time[usize::from(n)], n)).collect();
    waits.sort_by_key(|(t, n)| (std::cmp::Reverse(*t), *n));
    let mut out = format!("work {:.0}", percent(work));
    for (t, n) in waits.into_iter().filter(|(t, _)| percent(*t) >= 0.5) {
        out += &format!(", {} {:.0}", class::ALL[usize::from(n)].word(), percent(t));
    }
    out
}

/// The legend on one line, for a chart.
pub(super) fn legend_line(state: &State) -> String {
    let p = state.palette;
    format!("{} many, mostly work  {} many, mostly not  0 1 parity of a phase", p.many(0), p.many(7))
}

/// Glyph and meaning of every class, in columns.
pub(super) fn legend(state: &State, buffer: &mut Buffer, area: Rect) {
    /// Wide enough for the longest entry.
    const COLUMN: u16 = 24;
    let p = state.palette;
    let columns = (area.width / COLUMN).max(1);
    let shown = (0..CLASSES as u8).filter(|n| *n != class::ENDED);
    let many = [(0u8, "many, mostly work"), (7, "many, mostly not")];
    let mut entries: Vec<(String, Style, &str)> = shown
        .map(|n| {
            let g = p.glyphs(n);
            (format!("{}{}{}", g.first, g.rest, g.rest), p.class(n, true), class::ALL[usize::from(n)].legend())
        })
        .collect();
    entries.extend(many.map(|(n, text)| (p.many(n).to_string().repeat(3), Style::new(), text)));
    for (i, (glyphs, style, text)) in entries.into_iter().enumerate() {
        let (x, y) = (i as u16 % columns * COLUMN, i as u16 / columns);
        if y >= area.height {
            break;
        }
        let cut = Rect { width: area.width.min(x + COLUMN - 1), ..row(area, y) };
        let end = put(buffer, cut, x, &glyphs, style);
        put(buffer, cut, end + 1, text, Style::new());
    }
}
