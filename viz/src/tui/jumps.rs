//! Jumps from one operation to another: along edges, wakes and the chain of causes, and to the other run.

use super::chain;
use super::runs::Runs;
use super::state::{Focus, State};
use crate::gantt::format::grouped;

/// Message of a jump without an operation under the cursor.
const NOTHING: &str = "there is no operation under the cursor";

/// To the next or previous edge, on this row or on any visible row.
pub(super) fn edge(s: &mut State, runs: &Runs, forward: bool, any: bool) {
    let rows = if any { s.lines(runs).into_iter().map(|l| l.focus).collect() } else { vec![s.focus] };
    let end = runs.models[s.axis()].end;
    let near = rows.into_iter().filter_map(|f| {
        let index = &runs.model(f).nodes[f.node as usize].index;
        let t = u64::try_from(s.in_run(f.run, s.at)).ok()?;
        let edge = if forward { index.edge_after(t) } else { index.edge_before(t) }?;
        Some(s.on_axis(f.run, edge)).filter(|e| if forward { *e > s.at && *e < end } else { *e < s.at })
    });
    match if forward { near.min() } else { near.max() } {
        Some(at) => s.move_to(at),
        None => s.says = format!("there is no edge {} here", if forward { "after" } else { "before" }),
    }
}

/// To the next row whose name contains a text.
pub(super) fn row(s: &mut State, runs: &Runs, text: Option<&str>) {
    let Some(text) = text else {
        s.says = "row takes part of a name".into();
        return;
    };
    let wanted = text.to_lowercase();
    // Includes folded rows: first the rest of this CTA from the row in focus, then the other CTAs.
    let m = runs.model(s.focus);
    let root = m.root(s.focus.node);
    let after = s.focus.node as usize + 1;
    let all = (after..m.nodes.len()).chain(0..after.min(m.nodes.len()));
    let found = all.filter(|i| m.nodes[*i].name.to_lowercase().contains(&wanted));
    match found.min_by_key(|i| m.root(*i as u32) != root) {
        Some(i) => {
            let tick = s.in_run(s.focus.run, s.at).max(0) as u64;
            s.jump(runs, Focus { run: s.focus.run, node: i as u32 }, tick);
        }
        None => s.says = format!("no row has `{text}` in its name"),
    }
}

/// Fits the window to the operation under the cursor, with a margin.
pub(super) fn zoom_operation(s: &mut State, runs: &Runs) {
    let Some((run, span)) = s.selected(runs) else {
        s.says = NOTHING.into();
        return;
    };
    let op = runs.models[run].span(span);
    let (start, end) = (s.on_axis(run, op.start), s.on_axis(run, op.end));
    let margin = (end - start) / 4;
    (s.from, s.to) = (start.saturating_sub(margin), end + margin);
}

/// To the next result of the search.
pub(super) fn found(s: &mut State, runs: &Runs, forward: bool) {
    if s.found.spans.is_empty() {
        s.says = if s.found.text.is_empty() { "search takes a text".into() } else { "nothing found".into() };
        return;
    }
    let run = s.found.run;
    let tick = s.in_run(run, s.at).max(0) as u64;
    let selected = s.selected(runs).filter(|(r, _)| *r == run).map(|(_, i)| i);
    if let Some(span) = s.found.next(&runs.models[run], (tick, selected), forward) {
        let spans = &s.found.spans;
        let key = |i: u32| (runs.models[run].span(i).start, i);
        let place = spans.partition_point(|i| key(*i) < key(span)) + 1;
        s.says = format!("{} of {} with `{}`", grouped(place as u64), grouped(spans.len() as u64), s.found.text);
        s.jump_to(runs, (run, span), false);
    }
}

/// To the span that the operation under the cursor waited for.
pub(super) fn waker(s: &mut State, runs: &Runs) {
    let Some((run, span)) = s.selected(runs) else {
        s.says = NOTHING.into();
        return;
    };
    match chain::cause(&runs.models[run], span) {
        Some(cause) => s.jump_to(runs, (run, cause), true),
        None => s.says = "the record has no cause of this operation".into(),
    }
}

/// To a span that the operation under the cursor woke; from one of them, to the next.
pub(super) fn woken(s: &mut State, runs: &Runs) {
    let Some((run, span)) = s.selected(runs) else {
        s.says = NOTHING.into();
        return;
    };
    let m = &runs.models[run];
    let next = match (m.woken_by(span).first(), chain::cause(m, span)) {
        (Some(first), _) => Some(*first),
        (None, Some(cause)) => {
            let all = m.woken_by(cause);
            let i = all.iter().position(|s| *s == span).map_or(0, |i| i + 1);
            all.get(i).or(all.first()).copied().filter(|next| *next != span)
        }
        (None, None) => None,
    };
    match next {
        Some(next) => s.jump_to(runs, (run, next), true),
        None => s.says = "it woke nobody".into(),
    }
}

/// To the next fault, on the row of the warp that met it if recorded.
pub(super) fn fault(s: &mut State, runs: &Runs) {
    let run = s.focus.run;
    let m = &runs.models[run];
    let tick = s.in_run(run, s.at).max(0) as u64;
    let faults = &m.t.faults;
    let Some(i) = faults.iter().position(|f| f.tick > tick).or((!faults.is_empty()).then_some(0)) else {
        s.says = "no fault was met".into();
        return;
    };
    let met = |span: &u32| {
        let x = m.span(*span);
        let agent = m.nodes[m.track[*span as usize] as usize].agents;
        agent && x.site == Some(faults[i].site) && (x.start..=x.end).contains(&faults[i].tick)
    };
    let node = (0..m.t.spans.len() as u32).find(met).map_or(s.focus.node, |span| m.track[span as usize]);
    s.jump(runs, Focus { run, node }, faults[i].tick.min(m.end - 1));
    s.says = format!("{} of {}: {}", i + 1, faults.len(), m.fault(i));
}

/// Along the moves of the schedule that the run follows.
pub(super) fn schedule(s: &mut State, runs: &Runs, forward: bool) {
    let run = s.focus.run;
    let m = &runs.models[run];
    let moves = &m.t.moves;
    if moves.is_empty() {
        s.says = "the run follows no schedule; `--schedule` sets one".into();
        return;
    }
    // Several moves can be at one instant, so the last one shown counts while the cursor is on it.
    let tick = s.in_run(run, s.at).max(0) as u64;
    let here = s.made.filter(|i| moves.get(*i).is_some_and(|x| x.tick.min(m.end - 1) == tick));
    let next = match (here, forward) {
        (Some(i), true) => Some(i + 1),
        (Some(i), false) => i.checked_sub(1),
        (None, true) => Some(moves.partition_point(|x| x.tick < tick)),
        (None, false) => moves.partition_point(|x| x.tick <= tick).checked_sub(1),
    };
    let Some((i, x)) = next.and_then(|i| Some((i, moves.get(i)?))) else {
        s.says = format!("the schedule {} here", if forward { "ends" } else { "begins" });
        return;
    };
    let at = x.tick.min(m.end - 1);
    if let Some(node) = m.track_of_row(x.row) {
        s.jump(runs, Focus { run, node }, at);
    }
    s.made = Some(i);
    let site = m.t.sites.get(x.site as usize);
    let what = site.map_or(String::new(), |l| format!(" {}: {}", l.line, l.text));
    let name = m.t.rows.get(x.row as usize).map_or("", |r| r.name.as_str());
    s.says = format!("move {} of {}: {name} {}{what}", i + 1, moves.len(), x.act.name());
}

/// Along the chain of causes that ends last.
pub(super) fn path(s: &mut State, runs: &Runs, forward: bool) {
    let run = s.focus.run;
    let m = &runs.models[run];
    let tick = s.in_run(run, s.at).max(0) as u64;
    let here = s.selected(runs).map(|(_, i)| i);
    // By ends, which is the order of the chain; the cursor may be anywhere.
    let at = here.and_then(|h| m.chain.iter().position(|c| *c == h));
    let i = match (at, forward) {
        (Some(i), true) => Some(i + 1),
        (Some(i), false) => i.checked_sub(1),
        (None, true) => Some(m.chain.partition_point(|c| m.span(*c).end <= tick)),
        (None, false) => m.chain.partition_point(|c| m.span(*c).end <= tick).checked_sub(1),
    };
    match i.and_then(|i| Some((i, *m.chain.get(i)?))) {
        Some((i, span)) => {
            s.says = format!("{} of {} on the chain that ends last", i + 1, m.chain.len());
            s.jump_to(runs, (run, span), false);
        }
        None => s.says = "the chain ends here".into(),
    }
}

/// Shifts B so that the operation under the cursor starts at the same instant in both.
pub(super) fn align(s: &mut State, runs: &Runs) {
    let Some((run, span)) = s.selected(runs) else {
        s.says = NOTHING.into();
        return;
    };
    let Some((other, there)) = runs.same(run, span) else {
        s.says = "the other run has no such operation".into();
        return;
    };
    let (x, y) = (runs.models[run].span(span).start as i64, runs.models[other].span(there).start as i64);
    s.offset = if run == 0 { y - x } else { x - y };
    s.says = format!("B is drawn {} cycles earlier", super::text::cycles_signed(s.offset));
}

/// To the same operation of the other run.
pub(super) fn same(s: &mut State, runs: &Runs) {
    match s.selected(runs).map(|(run, span)| runs.same(run, span)) {
        Some(Some(there)) => s.jump_to(runs, there, false),
        Some(None) => s.says = "the other run has no such operation".into(),
        None => s.says = NOTHING.into(),
    }
}
