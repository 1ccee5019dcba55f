//! Kanata 0004, the text that the pipeline viewer Konata reads.
//!
//! An operation of a warp, with the waits before it, is an instruction; its waits and its work are stages. An
//! engine's work is an instruction of its own. Slots and phases are states and are left out. Cycles are whole, so
//! shorter stages show as none. An arrow leads from what woke a wait to the operation that waited.

use std::fmt::Write;

use warpline_sim::timeline::{RowKind, SpanKind, TICKS, Timeline};

use super::{TraceError, causes, row_name};
use warpline_sim::words;

/// An operation: its row, and its spans in order of time.
struct Op {
    row: u32,
    spans: Vec<usize>,
}

/// A line of the file: cycle, order in the cycle, operation, text.
type Line = (u64, u8, usize, String);

/// Writes a timeline as a Kanata log.
///
/// # Errors
/// A span refers to a row that does not exist.
pub fn write(t: &Timeline) -> Result<String, TraceError> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); t.rows.len()];
    for (i, span) in t.spans.iter().enumerate() {
        let bad = TraceError::BadRow { span: i, row: span.row, rows: t.rows.len() };
        rows.get_mut(span.row as usize).ok_or(bad)?.push(i);
    }
    let mut ops: Vec<Op> = Vec::new();
    for (row, mut spans) in rows.into_iter().enumerate() {
        spans.sort_by_key(|&i| (t.spans[i].start, i));
        match t.rows[row].kind {
            RowKind::Agent { .. } => ops.extend(operations(t, row as u32, spans)),
            RowKind::Engine(_) => ops.extend(spans.into_iter().map(|i| Op { row: row as u32, spans: vec![i] })),
            RowKind::Barrier(_) | RowKind::Slot(_) => {}
        }
    }
    // Instructions are numbered in the order of their starts.
    ops.sort_by_key(|op| (t.spans[op.spans[0]].start, op.row));
    let mut of_span: Vec<Option<usize>> = vec![None; t.spans.len()];
    for (n, op) in ops.iter().enumerate() {
        op.spans.iter().for_each(|&i| of_span[i] = Some(n));
    }
    let mut lines: Vec<Line> = Vec::new();
    for (n, op) in ops.iter().enumerate() {
        describe(t, n, op, &of_span, &mut lines);
    }
    lines.sort_by_key(|l| (l.0, l.1, l.2));
    let mut out = format!("Kanata\t0004\nC=\t{}\n", lines.first().map_or(0, |l| l.0));
    let mut now = lines.first().map_or(0, |l| l.0);
    for (cycle, _, _, text) in lines {
        if cycle > now {
            let _ = writeln!(out, "C\t{}", cycle - now);
            now = cycle;
        }
        out.push_str(&text);
    }
    Ok(out)
}

/// Splits a warp's spans after each piece of work; having ended is no operation.
fn operations(t: &Timeline, row: u32, spans: Vec<usize>) -> Vec<Op> {
    let ended = |i: &usize| t.spans[*i].what == SpanKind::Stall(warpline_sim::timeline::Stall::Ended);
    let spans: Vec<usize> = spans.into_iter().filter(|i| !ended(i)).collect();
    let parts = spans.split_inclusive(|&i| matches!(t.spans[i].what, SpanKind::Work(_)));
    parts.map(|part| Op { row, spans: part.to_vec() }).collect()
}

/// The lines of an operation. In one cycle, starts come first, then stages and arrows, and ends last.
fn describe(t: &Timeline, n: usize, op: &Op, of_span: &[Option<usize>], lines: &mut Vec<Line>) {
    let cycle = |tick: u64| tick / TICKS;
    let last = op.spans[op.spans.len() - 1];
    let (row, begin, end) = (&t.rows[op.row as usize], t.spans[op.spans[0]].start, t.spans[last].end);
    let text = |s: &str| s.replace(['\t', '\n', '\r'], " ");
    let span = &t.spans[last];
    let label = match span.label.as_str() {
        "" => words::what(span.what).to_owned(),
        label => format!("{} {label}", words::what(span.what)),
    };
    let mut intro = format!("I\t{n}\t{n}\t{}\n", op.row);
    let _ = writeln!(intro, "L\t{n}\t0\tCTA {} {}: {}", row.cta, text(&row_name(row)), text(&label));
    let site = |i: &usize| t.spans[*i].site.and_then(|s| t.sites.get(s as usize));
    if let Some(s) = op.spans.iter().rev().find_map(site) {
        let _ = writeln!(intro, "L\t{n}\t1\t{}:{} {}", text(&s.file), s.line, text(&s.text));
    }
    lines.push((cycle(begin), 1, n, intro));
    for &i in &op.spans {
        let s = &t.spans[i];
        // Konata draws arrows between stages with an X in their name.
        let stage = match s.what {
            SpanKind::Work(w) => format!("X {}", words::work(w)),
            what => words::what(what).to_owned(),
        };
        lines.push((cycle(s.start), 2, n, format!("S\t{n}\t0\t{stage}\n")));
        for (_, by, cause) in causes(t, s) {
            // A cause after its effect is ignored.
            if let Some(by) = of_span[by].filter(|by| *by != n && cause.start <= s.end) {
                lines.push((cycle(s.end), 3, n, format!("W\t{n}\t{by}\t0\n")));
            }
        }
        if i == last {
            lines.push((cycle(end), 4, n, format!("E\t{n}\t0\t{stage}\nR\t{n}\t{n}\t0\n")));
        }
    }
}
