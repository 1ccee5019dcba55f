//! The text of a schedule: each move, and the two operations that nothing orders.

use std::ops::Range;

use warpline_sim::ir::Site;
use warpline_sim::report::{Finding, FindingKind};
use warpline_sim::schedule::Act;
use warpline_verify::{Meeting, MoveDescription, Pair, Violation, Witness};

use super::WIDTH;
use super::table::wrap;
use crate::console::Paint;
use warpline_sim::words::of;

/// The most moves shown: the last ones, and those of the fault.
const SHOWN: usize = 24;

/// The moves that lead to the fault, numbered.
pub(super) fn schedule(x: &Violation, w: &Witness, paint: Paint) -> String {
    let n = w.told.len();
    let least = if w.shortest && !x.findings.is_empty() { "; none of them can be left out" } else { "" };
    let mut text =
        format!("\n{}\n", paint.head(&format!("A schedule that leads to it ({}{least})", of(n as i64, "move"))));
    let key = |i: usize| w.pair.is_some_and(|p| p.first == i || p.second == i) || i + 1 == n;
    let groups = repeated(&w.told, &key);
    let first = groups.len().saturating_sub(SHOWN);
    let mut skipped = 0;
    for (nth, of_group) in groups.into_iter().enumerate() {
        let is_key = key(of_group.start);
        if nth < first && !is_key {
            skipped += of_group.len() as i64;
            continue;
        }
        if skipped > 0 {
            text += &format!("       {} before this (`--schedule-out FILE` writes them)\n", of(skipped, "move"));
            skipped = 0;
        }
        text += &line(of_group.start, &w.told[of_group], &x.sites, is_key && !x.findings.is_empty(), paint);
    }
    if let (Some(p), Some(f)) = (w.pair, x.findings.first()) {
        text += &format!("{}\n", wrap(&meaning(p, w, f, &x.sites), WIDTH, 0));
    }
    text + "\n"
}

/// Moves of one agent at one statement that follow each other, such as the stores of an instruction to several slots. A
/// move of the fault stands alone.
fn repeated(told: &[MoveDescription], key: &impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (i, x) in told.iter().enumerate() {
        match groups.last_mut() {
            Some(last) if !key(i) && !key(last.start) && same(&told[last.start], x) => last.end = i + 1,
            _ => groups.push(i..i + 1),
        }
    }
    groups
}

/// Whether two moves are steps of one agent at one statement.
fn same(a: &MoveDescription, b: &MoveDescription) -> bool {
    (&a.agent, a.site) == (&b.agent, b.site) && a.act == Act::Does && b.act == Act::Does
}

/// One move, `> 12  producer w0 line 23: ...`, or several alike, with the objects that they touch below.
fn line(i: usize, moves: &[MoveDescription], sites: &[Site], key: bool, paint: Paint) -> String {
    let [told, ..] = moves else { return String::new() };
    let site = sites.get(told.site as usize);
    let (line, what) = site.map_or((0, ""), |s| (s.line, s.text.as_str()));
    let words = match told.act {
        Act::Does => format!("{} line {line}: {what}", told.agent),
        Act::Waits => format!("{} waits at line {line}: {what}", told.agent),
        Act::Ends => format!("{} ends", told.agent),
        Act::Breaks => format!("{} fails at line {line}: {what}", told.agent),
        Act::Lands(_) => format!("an operation that {} started at line {line} lands: {what}", told.agent),
    };
    let words = if moves.len() > 1 { format!("{words} ({})", of(moves.len() as i64, "move")) } else { words };
    let mark = if key { ">" } else { " " };
    let words = wrap(&words, WIDTH, 9);
    let mut text = format!("{mark} {:>4}  {}\n", i + 1, if key { paint.head(&words) } else { words });
    let mut touches: Vec<&str> = Vec::new();
    for touch in moves.iter().flat_map(|m| &m.touches).map(String::as_str) {
        if !touches.contains(&touch) {
            touches.push(touch);
        }
    }
    if !touches.is_empty() {
        text += &format!("         {}\n", wrap(&touches.join(", "), WIDTH - 9, 9));
    }
    text
}

/// The missing order, in a sentence.
fn meaning(p: Pair, w: &Witness, f: &Finding, sites: &[Site]) -> String {
    let (first, second) = (p.first + 1, p.second + 1);
    let kind = f.kind;
    match p.how {
        Meeting::Reversed => {
            let stale = w.findings.iter().find(|g| g.kind == FindingKind::Stale);
            let at = |site: u32| sites.get(site as usize).map_or(0, |s| s.line);
            let seen = stale.map_or(String::new(), |g| format!(" Line {} {}.", at(g.site), g.message));
            format!("Nothing makes {first} wait for {second}, and here {first} comes first.{seen}")
        }
        Meeting::UnderWay if kind != FindingKind::Fence => {
            format!("Nothing makes {second} wait until {first} has landed, and here {first} has not landed.")
        }
        _ if kind == FindingKind::Fence => format!("No `fence async` is between {first} and {second}."),
        _ if kind == FindingKind::Scope => {
            format!("{first} comes before {second}, where its effect is not visible.")
        }
        _ => format!("Nothing orders {second} after {first}."),
    }
}
