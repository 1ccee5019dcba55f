//! Rows: the content of each cell, and its drawing.
//!
//! A cell stands for one operation or for several, and shows which. A cell between two neighbors belongs to the one
//! with more time in it, so an edge is right to half a cell. Equal cells are one run, which carries its word if there
//! is room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use warpline_sim::timeline::Stall;

use super::super::class::{self, CLASSES, Class};
use super::super::index::Sums;
use super::super::layout::cell;
use super::super::model::{Model, Node, NodeKind};
use super::super::runs::Runs;
use super::super::state::{Focus, State};
use super::{edges, put, selected_on};
use crate::counter::Counter;

/// Most spans of a row on each side that are searched for another tile.
const NEIGHBORS: usize = 8;

/// Content of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Nothing,
    /// One operation.
    One(u32),
    /// Several operations, mostly of this class.
    Many(u8),
}

pub(super) fn row(state: &State, runs: &Runs, focus: Focus, chosen: bool, buffer: &mut Buffer, area: Rect) {
    let m = runs.model(focus);
    let node = &m.nodes[focus.node as usize];
    let edges: Vec<u64> = edges(state, focus.run, area.width).collect();
    match &node.kind {
        NodeKind::Counter(counter) => columns(state, counter, &edges, buffer, area),
        NodeKind::Track(spans) => {
            let cells = track(m, node, spans, &edges);
            draw(state, m, &cells, selected_on(state, runs, focus), buffer, area);
        }
        NodeKind::Cta | NodeKind::Group => folded(state, node, &edges, buffer, area),
    }
    let at = cell(state.from, state.to, area.width, state.at).filter(|_| chosen);
    if let Some(x) = at {
        super::restyle(buffer, area.x + x, area.y, Modifier::REVERSED);
    }
}

/// Whether a node is a folded CTA that does nothing in the window.
pub(super) fn idle_cta(state: &State, runs: &Runs, focus: Focus) -> bool {
    let node = &runs.model(focus).nodes[focus.node as usize];
    if node.kind != NodeKind::Cta || !state.folded[focus.run][focus.node as usize] {
        return false;
    }
    let of = |t| state.in_run(focus.run, t).max(0) as u64;
    let mut time = node.index.between(of(state.from), of(state.to)).time;
    time[usize::from(class::ENDED)] = 0;
    most(&time).is_none()
}

/// The class with most time; the first of equals.
fn most(time: &[u64; CLASSES]) -> Option<u8> {
    let mut best: Option<(u64, u8)> = None;
    for (i, t) in time.iter().enumerate() {
        if *t > best.map_or(0, |b| b.0) {
            best = Some((*t, i as u8));
        }
    }
    best.map(|b| b.1)
}

fn track(m: &Model, node: &Node, spans: &[u32], edges: &[u64]) -> Vec<Cell> {
    let sums: Vec<Sums> = node.index.sums(edges.iter().copied()).collect();
    let cells = sums.windows(2).zip(edges.windows(2));
    cells
        .map(|(sums, edge)| {
            let d = sums[1].since(&sums[0]);
            let Some(class) = most(&d.time) else { return Cell::Nothing };
            if d.begun > 1 {
                return Cell::Many(class);
            }
            // At most one starts in the cell: that one, or the one before it.
            let last = spans.partition_point(|s| m.span(*s).start < edge[1]);
            let near = spans[..last].iter().rev().take(2);
            let inside = |s: u32| m.span(s).end.min(edge[1]).saturating_sub(m.span(s).start.max(edge[0]));
            near.copied().filter(|s| inside(*s) > 0).max_by_key(|s| inside(*s)).map_or(Cell::Nothing, Cell::One)
        })
        .collect()
}

/// Runs of equal cells: start, length, content.
fn runs_of(cells: &[Cell]) -> Vec<(usize, usize, Cell)> {
    let mut runs: Vec<(usize, usize, Cell)> = Vec::new();
    for (i, c) in cells.iter().enumerate() {
        match runs.last_mut() {
            Some((_, n, last)) if last == c => *n += 1,
            _ => runs.push((i, 1, *c)),
        }
    }
    runs
}

fn draw(state: &State, m: &Model, cells: &[Cell], selected: Option<u32>, buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    let runs = runs_of(cells);
    for (r, &(i, n, what)) in runs.iter().enumerate() {
        let here = Rect { x: area.x + i as u16, width: n as u16, ..area };
        match what {
            Cell::Nothing => {}
            Cell::One(span) => {
                let class = m.class[span as usize];
                let glyphs = p.glyphs(class);
                let style = if selected == Some(span) { p.chosen() } else { p.class(class, true) };
                fill(buffer, here, glyphs.rest, style);
                let word = if class == class::ENDED { None } else { fitting(m, span, n) };
                put(buffer, here, 0, &word.unwrap_or_else(|| glyphs.first.to_string()), style);
                // Two adjacent bars of one color would look like one; a name always leaves the last cell free.
                let next = runs.get(r + 1).map(|next| next.2);
                if n > 2 && glyphs.rest == ' ' && matches!(next, Some(Cell::One(s)) if m.class[s as usize] == class) {
                    put(buffer, here, n as u16 - 1, &p.pick('▕', '|').to_string(), style);
                }
            }
            Cell::Many(class) => {
                let style = p.class(class, false);
                fill(buffer, here, p.many(class), style);
                let word = class::ALL[usize::from(class)].word();
                // The glyph for several operations stands before and after the word.
                if n > word.len() + 1 && !word.is_empty() {
                    put(buffer, here, 1, word, style);
                } else if n > 2 {
                    put(buffer, here, 1, &p.glyphs(class).first.to_string(), style);
                }
            }
        }
    }
}

/// The longest name of an operation that fits a bar with a free cell at its end.
fn fitting(m: &Model, span: u32, cells: usize) -> Option<String> {
    let s = m.span(span);
    let word = word(m, span);
    // A tile without the place in it, and without blanks.
    let tile = s.label.split_once(']').map_or_else(|| s.label.to_string(), |(tile, _)| format!("{tile}]"));
    let tight = tile.replace(' ', "");
    let step = step(m, span).unwrap_or_default().to_string();
    let class = class::ALL[usize::from(m.class[span as usize])];
    let names = match class {
        Class::Full => vec![word, tight, step],
        Class::Filling | Class::Work(_) => vec![word, format!("{} {tight}", class.word()), class.word().to_string()],
        // The barrier without its phase, if there is no room for both.
        Class::Stall(_) => {
            let short = word.split(" phase ").next().unwrap_or_default().to_string();
            vec![word, short, "wait".to_string()]
        }
        Class::Phase(_) => vec![word],
    };
    names.into_iter().find(|n| !n.is_empty() && n.chars().count() < cells)
}

/// The index of a tile that counts the steps: the only one in which the tile before it in the slot, or else the one
/// behind it, differs.
fn step(m: &Model, span: u32) -> Option<&str> {
    let indices = |i: u32| -> Option<(&str, Vec<&str>)> {
        let (name, rest) = m.span(i).label.split_once('[')?;
        Some((name, rest.split_once(']')?.0.split(',').map(str::trim).collect()))
    };
    let (name, own) = indices(span)?;
    let row = m.spans_of(m.track[span as usize]);
    let place = m.place(span);
    let others = row[..place].iter().rev().take(NEIGHBORS).chain(row.iter().skip(place + 1).take(NEIGHBORS));
    let other =
        others.filter_map(|i| indices(*i)).find(|(n, list)| *n == name && list.len() == own.len() && *list != own);
    let (_, other) = other?;
    let mut differ = own.iter().zip(&other).filter(|(a, b)| a != b).map(|(a, _)| *a);
    let only = differ.next()?;
    differ.next().is_none().then_some(only)
}

/// The word of an operation on its bar.
pub(super) fn word(m: &Model, span: u32) -> String {
    let s = m.span(span);
    let class = class::ALL[usize::from(m.class[span as usize])];
    match (class, s.label.as_str()) {
        (Class::Full | Class::Phase(_), label) => label.to_string(),
        (Class::Stall(Stall::Ended), _) => class.word().to_string(),
        (Class::Stall(_), "") => format!("wait {}", class.word()),
        (Class::Stall(_), label) => format!("wait {label}"),
        (class, "") => class.word().to_string(),
        (class, label) => format!("{} {label}", class.word()),
    }
}

fn fill(buffer: &mut Buffer, area: Rect, glyph: char, style: Style) {
    for x in area.left()..area.right() {
        if let Some(c) = buffer.cell_mut((x, area.y)) {
            c.set_char(glyph).set_style(style);
        }
    }
}

/// Folded rows: a column as high as the share of rows that work or hold something, in the color of their most
/// frequent class. A class that lasts shows its letter first.
fn folded(state: &State, node: &Node, edges: &[u64], buffer: &mut Buffer, area: Rect) {
    /// Fewest cells in a row of a class that shows its letter; more letters would hide the columns.
    const LASTS: usize = 4;
    let p = state.palette;
    let sums: Vec<Sums> = node.index.sums(edges.iter().copied()).collect();
    let cells: Vec<Sums> = sums.windows(2).map(|s| s[1].since(&s[0])).collect();
    let class_of = |d: &Sums| {
        let mut time = d.time;
        time[usize::from(class::ENDED)] = 0;
        most(&time).map_or(Cell::Nothing, Cell::Many)
    };
    let classes: Vec<Cell> = cells.iter().map(class_of).collect();
    for (first, n, what) in runs_of(&classes) {
        let Cell::Many(class) = what else { continue };
        for i in first..first + n {
            let whole = (edges[i + 1] - edges[i]) * node.children.len().max(1) as u64;
            let glyph = match class::ALL[usize::from(class)] {
                // Phases alternate, so several barriers together only show that there are phases.
                Class::Phase(_) => p.glyphs(class).rest,
                _ if i == first && n >= LASTS => p.glyphs(class).first,
                _ => match share(&cells[i], node.agents, whole) {
                    s if s > 0.0 => p.column(s),
                    _ => p.pick('·', '.'),
                },
            };
            if let Some(c) = buffer.cell_mut((area.x + i as u16, area.y)) {
                c.set_char(glyph).set_style(p.class(class, false));
            }
        }
    }
}

/// For warps that have not ended, the share of work in their time. For other rows, the share in which they are busy
/// or hold something.
fn share(d: &Sums, agents: bool, whole: u64) -> f64 {
    let sum = |of: &dyn Fn(u8) -> bool| -> u64 {
        (0..CLASSES as u8).filter(|n| of(*n)).map(|n| d.time[usize::from(n)]).sum()
    };
    let busy = sum(&|n| class::works(n) || n == class::FULL || n == class::FILLING);
    let whole = if agents { sum(&|n| class::works(n) || class::waits(n)) } else { whole };
    if whole > 0 { busy as f64 / whole as f64 } else { 0.0 }
}

fn columns(state: &State, counter: &Counter, edges: &[u64], buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    let most = counter.most().max(1) as f64;
    for (i, edge) in edges.windows(2).enumerate() {
        let share = counter.mean(edge[0], edge[1]) / most;
        if let Some(c) = buffer.cell_mut((area.x + i as u16, area.y))
            && edge[0] < edge[1]
        {
            c.set_char(p.column(share)).set_style(p.muted());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use warpline_sim::timeline::{Row, RowKind, Span, SpanKind, Stall, Timeline, Work};

    fn model(spans: &[(u64, u64)]) -> Model {
        let kind = RowKind::Agent { role: "w".into(), warp: 0, lanes: None };
        let mut t = Timeline { rows: vec![Row { name: "w".into(), cta: 0, kind }], ..Timeline::default() };
        let mut at = 0;
        for (i, (gap, long)) in spans.iter().enumerate() {
            let what = if i % 2 == 0 { SpanKind::Work(Work::Mma) } else { SpanKind::Stall(Stall::Tensor) };
            t.spans.push(Span::new(0, (at + gap, at + gap + long), what));
            at += gap + long;
        }
        Model::new(t).unwrap()
    }

    proptest! {
        #[test]
        fn a_cell_is_of_the_one_with_most_of_it_or_says_that_there_are_several(
            spans in prop::collection::vec((prop_oneof![Just(0u64), 1..50u64], 1..90u64), 1..60),
            from in 0..500u64,
            widths in prop::collection::vec(1..120u64, 1..40),
        ) {
            let m = model(&spans);
            let node = m.track[0];
            let mut edges = vec![from];
            widths.iter().for_each(|w| edges.push(edges[edges.len() - 1] + w));
            let cells = track(&m, &m.nodes[node as usize], m.spans_of(node), &edges);
            for (cell, edge) in cells.iter().zip(edges.windows(2)) {
                let inside = |s: &Span| s.end.min(edge[1]).saturating_sub(s.start.max(edge[0]));
                let begun = m.t.spans.iter().filter(|s| edge[0] <= s.start && s.start < edge[1]).count();
                let most = m.t.spans.iter().map(inside).max().unwrap_or(0);
                match cell {
                    Cell::Nothing => prop_assert_eq!(most, 0),
                    Cell::Many(_) => prop_assert!(begun > 1),
                    Cell::One(s) => prop_assert!(begun < 2 && inside(m.span(*s)) == most && most > 0),
                }
            }
        }
    }
}
