//! The detail pane: the operation under the cursor, its statement, what it waited for, who woke it and whom it woke.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use warpline_sim::timeline::RowKind;

use super::super::chain;
use super::super::class::{self, Class};
use super::super::layout::cell;
use super::super::model::{Model, NodeKind, file_name};
use super::super::runs::Runs;
use super::super::state::{Pane, State};
use super::super::text::{self, cycles, cycles_signed};
use super::{put, row, rows, stalls};

pub(super) fn detail(state: &State, runs: &Runs, buffer: &mut Buffer, area: Rect, wide: bool) {
    let p = state.palette;
    let rule = p.pick('─', '-').to_string().repeat(usize::from(area.width));
    put(buffer, area, 0, &rule, p.muted());
    let inside = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let (left, right) = if wide {
        let half = inside.width * 3 / 5;
        (Rect { width: half - 2, ..inside }, Some(Rect { x: half, width: inside.width - half, ..inside }))
    } else {
        (inside, None)
    };
    match (state.pane, right) {
        (Pane::Legend, _) => stalls::legend(state, buffer, inside),
        (Pane::Stalls, None) => stalls::stalls(state, runs, buffer, inside),
        (_, right) => {
            operation(state, runs, buffer, left);
            if let Some(right) = right {
                stalls::stalls(state, runs, buffer, right);
            }
        }
    }
}

fn operation(state: &State, runs: &Runs, buffer: &mut Buffer, area: Rect) {
    let m = runs.model(state.focus);
    let mut lines = match state.selected(runs) {
        Some((run, span)) => {
            let mut lines = of_span(m, span);
            if let Some(line) = compared(runs, run, span) {
                lines.insert(1, line);
            }
            lines
        }
        None => of_row(state, m),
    };
    lines.extend(faults_here(state, m));
    let mut y = 0;
    for (i, line) in lines.iter().enumerate() {
        let style = if i == 0 { state.palette.head() } else { Style::new() };
        for part in wrapped(line, usize::from(area.width)) {
            if y < area.height {
                put(buffer, row(area, y), 0, &part, style);
            }
            y += 1;
        }
    }
}

/// The faults in the cell of the cursor.
fn faults_here(state: &State, m: &Model) -> Vec<String> {
    let here = |tick: u64| {
        let at = state.on_axis(state.focus.run, tick);
        cell(state.from, state.to, state.cells(), at.min(state.to.saturating_sub(1))).is_some()
            && at.abs_diff(state.at) <= state.cell()
    };
    let faults = m.t.faults.iter().enumerate().filter(|(_, f)| here(f.tick));
    faults.map(|(i, f)| format!("fault at {}: {}", cycles(f.tick), m.fault(i))).collect()
}

/// A line wrapped between words, with an indented continuation.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut now = String::new();
    for word in line.split(' ') {
        if !now.trim().is_empty() && now.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut now, "  ".into()));
        } else if !now.is_empty() {
            now.push(' ');
        }
        now += word;
    }
    lines.push(now);
    lines
}

/// Facts about an operation, most important first.
fn of_span(m: &Model, span: u32) -> Vec<String> {
    let s = m.span(span);
    let class = class::ALL[usize::from(m.class[span as usize])];
    let what = match class {
        Class::Stall(warpline_sim::timeline::Stall::Ended) => "ended".to_string(),
        Class::Stall(_) if s.label.is_empty() => format!("waits for {}", class.legend()),
        Class::Stall(_) => format!("waits for {} ({})", s.label, class.legend()),
        Class::Phase(odd) => format!("phase {}, parity {}", s.label.trim_start_matches('φ'), u8::from(odd)),
        Class::Full => format!("holds {}", s.label),
        Class::Filling => format!("is filled with {}", s.label),
        Class::Work(_) => format!("{} {}", class.legend(), s.label),
    };
    let bytes = if s.bytes > 0 { format!(", {}", text::bytes(s.bytes)) } else { String::new() };
    let mut lines = vec![format!(
        "{}: {}, {} cycles, {} to {}{bytes}",
        m.nodes[m.track[span as usize] as usize].path,
        what.trim_end(),
        cycles(s.end - s.start),
        cycles(s.start),
        cycles(s.end)
    )];
    if let Some(site) = s.site.and_then(|i| m.t.sites.get(i as usize)) {
        let file = file_name(&site.file);
        lines.push(format!("{file}:{}  {}", site.line, site.text));
    }
    let mut about: Vec<String> = Vec::new();
    if let Some(phase) = s.on.and_then(|row| ended(m, row, s.end)) {
        about.push(phase);
    }
    if let Some(slot) = slot(m, span) {
        about.push(slot);
    }
    if !about.is_empty() {
        lines.push(about.join("; "));
    }
    lines.extend(caused(m, span));
    lines.extend(woke(m, span));
    if let Some(line) = waited(m, span) {
        lines.push(line);
    }
    lines
}

/// The phase of an mbarrier that ended when a wait did.
fn ended(m: &Model, row: u32, at: u64) -> Option<String> {
    let name = &m.t.rows.get(row as usize)?.name;
    let node = m
        .nodes
        .iter()
        .position(|n| matches!(&n.kind, NodeKind::Track(s) if s.first().is_some_and(|s| m.span(*s).row == row)))?;
    let spans = m.spans_of(node as u32);
    let last = spans[..spans.partition_point(|s| m.span(*s).end <= at)].last()?;
    let phase = m.span(*last);
    // A phase drawn to the last tick did not end there.
    Some(if phase.end == m.t.end {
        format!("on {name}, whose phase {} is open to the end", phase.label)
    } else {
        format!("on {name}, whose phase {} ended at {}", phase.label, cycles(phase.end))
    })
}

/// The slot that holds the tile of an operation, or is filled with it.
fn slot(m: &Model, span: u32) -> Option<String> {
    let s = m.span(span);
    if s.label.is_empty() || matches!(m.t.rows[s.row as usize].kind, RowKind::Slot(_) | RowKind::Barrier(_)) {
        return None;
    }
    let cta = m.t.rows[s.row as usize].cta;
    let slots = m.nodes.iter().filter_map(|n| match &n.kind {
        NodeKind::Track(spans) => {
            let row = &m.t.rows[m.span(*spans.first()?).row as usize];
            (row.cta == cta && matches!(row.kind, RowKind::Slot(_))).then_some((&n.name, spans))
        }
        _ => None,
    });
    for (name, spans) in slots {
        let last = spans.partition_point(|x| m.span(*x).start < s.end);
        // Filling and full are two spans; the previous tile does not belong to this operation.
        let here =
            spans[..last].iter().rev().take(2).find(|x| m.span(**x).label == s.label && m.span(**x).end > s.start);
        if let Some(x) = here {
            let state = if m.class[*x as usize] == class::FILLING { "filling" } else { "full" };
            return Some(format!("tile {} in {name}, {state}", s.label));
        }
    }
    None
}

fn caused(m: &Model, span: u32) -> Option<String> {
    let s = m.span(span);
    let cause = chain::cause(m, span)?;
    let verb = if s.woken_by.is_some() { "woken by" } else { "started by" };
    let c = m.span(cause);
    let gap = (if s.woken_by.is_some() { s.end } else { s.start }) as i64 - c.end as i64;
    Some(format!("{verb} {}, which ended at {} ({} cycles)", brief(m, cause), cycles(c.end), cycles_signed(gap)))
}

fn woke(m: &Model, span: u32) -> Option<String> {
    /// Most names on a line.
    const NAMED: usize = 3;
    let all = m.woken_by(span);
    let names: Vec<String> =
        all.iter().take(NAMED).map(|s| m.nodes[m.track[*s as usize] as usize].name.clone()).collect();
    let more = all.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!all.is_empty()).then(|| format!("woke {}{more}", names.join(", ")))
}

/// For work: what its row waited for just before.
fn waited(m: &Model, span: u32) -> Option<String> {
    let i = m.place(span).checked_sub(1)?;
    let before = *m.spans_of(m.track[span as usize]).get(i)?;
    let s = m.span(before);
    (class::works(m.class[span as usize]) && class::waits(m.class[before as usize]) && s.end == m.span(span).start)
        .then(|| {
            let class = class::ALL[usize::from(m.class[before as usize])];
            let woken = chain::cause(m, before).map(|c| format!(", woken by {}", brief(m, c))).unwrap_or_default();
            format!("waited {} cycles for {} before{woken}", cycles(s.end - s.start), class.legend())
        })
}

fn brief(m: &Model, span: u32) -> String {
    format!("{} ({})", m.nodes[m.track[span as usize] as usize].name, rows::word(m, span))
}

/// The same operation in the other run.
fn compared(runs: &Runs, run: usize, span: u32) -> Option<String> {
    if !runs.two() {
        return None;
    }
    let name = ["B", "A"][run];
    Some(match runs.same(run, span) {
        Some((other, there)) => {
            let (s, t) = (runs.models[run].span(span), runs.models[other].span(there));
            let longer = (t.end - t.start) as i64 - (s.end - s.start) as i64;
            let later = t.start as i64 - s.start as i64;
            format!("in {name}: starts {} cycles, takes {}", cycles_signed(later), cycles_signed(longer))
        }
        None => format!("{name} has no such operation"),
    })
}

/// Facts about a row without a selected operation.
fn of_row(state: &State, m: &Model) -> Vec<String> {
    let node = &m.nodes[state.focus.node as usize];
    let tick = state.in_run(state.focus.run, state.at).max(0) as u64;
    match &node.kind {
        NodeKind::Counter(c) => {
            let unit = c.unit();
            let (now, most) = (c.mean(tick, tick), c.most());
            vec![
                format!("{}: {now} {unit} at {}", node.path, cycles(tick)),
                format!("at most {most} {unit} in the run; a cell shows the mean"),
            ]
        }
        NodeKind::Track(_) => vec![format!("{}: nothing at {}", node.path, cycles(tick))],
        NodeKind::Cta | NodeKind::Group => vec![
            format!("{}: {} rows together", node.path, rows_under(m, state.focus.node)),
            "height: the share at work or full; color: the most frequent class".into(),
            "space folds and unfolds".into(),
        ],
    }
}

fn rows_under(m: &Model, node: u32) -> usize {
    let n = &m.nodes[node as usize];
    if n.children.is_empty() { 1 } else { n.children.iter().map(|c| rows_under(m, *c)).sum() }
}
