//! Statements that a kernel needs and does not have.

use warpline_sim::ir::{Instr, MbarId, Op, Place, Program, Queue};
use warpline_verify::Violation;

use super::{Attempt, guards, lives};

/// Texts with one more statement or guard, or without a statement that ends a role early; nearest to the fault first.
pub(super) fn attempts(text: &str, prog: &Program, x: &Violation) -> Vec<Attempt> {
    let lines: Vec<&str> = text.lines().collect();
    let mut list: Vec<(u32, Attempt)> = Vec::new();
    let far = distance(x);
    let mut add = |line: u32, words: String, text: Option<String>| {
        if let Some(text) = text {
            list.push((far(line), Attempt { words, text }));
        }
    };
    for bar in 0..prog.mbars.len() {
        expectations(&lines, prog, bar as MbarId, &mut add);
        waits(&lines, prog, bar as MbarId, &mut add);
    }
    for (queue, word) in [(Queue::Cp, "cp"), (Queue::Wgmma, "wgmma"), (Queue::Bulk, "bulk")] {
        commits(&lines, prog, (queue, word), &mut add);
    }
    let ends = |pc: &usize| matches!(prog.code[*pc], Instr::End) && prog.site(*pc as u32).text == "exit";
    let mut exits: Vec<u32> = (0..prog.code.len()).filter(ends).map(|pc| prog.site(pc as u32).line).collect();
    exits.dedup();
    for line in exits {
        add(line, format!("line {line}: `exit` left out"), without(&lines, line, "exit"));
    }
    list.extend(lives::initialized(&lines, prog, x).into_iter().map(|(line, a)| (far(line), a)));
    list.extend(lives::freed_behind(&lines, prog, x).into_iter().map(|(line, a)| (far(line), a)));
    list.extend(lives::freed(&lines, prog, x).into_iter().map(|(line, a)| (far(line), a)));
    list.extend(guards::attempts(&lines, prog, x).into_iter().map(|(line, a)| (far(line), a)));
    list.sort_by_key(|(far, _)| *far);
    list.into_iter().map(|(_, attempt)| attempt).collect()
}

/// How many lines a line is from the fault, or from a statement that waits for ever.
pub(super) fn distance(x: &Violation) -> impl Fn(u32) -> u32 {
    let sites = x.findings.iter().map(|f| f.site).chain(x.hang.iter().map(|w| w.site));
    let near: Vec<u32> = sites.filter_map(|s| x.sites.get(s as usize)).map(|s| s.line).collect();
    move |line| near.iter().map(|l| l.abs_diff(line)).min().unwrap_or(0)
}

/// The width of the white space at the start of a line.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The text with one more line ahead of the line with this index.
pub(super) fn inserted(lines: &[&str], at: usize, new: &str) -> String {
    let all = lines[..at].iter().copied().chain([new]).chain(lines[at..].iter().copied());
    all.collect::<Vec<_>>().join("\n") + "\n"
}

type Add<'a> = dyn FnMut(u32, String, Option<String>) + 'a;

/// The lines of statements, each once, with their texts.
pub(super) fn lines_of(prog: &Program, wanted: impl Fn(&Op) -> bool) -> Vec<(u32, String)> {
    let mut list: Vec<(u32, String)> = Vec::new();
    for (pc, i) in prog.code.iter().enumerate() {
        if let Instr::Op { op, .. } = i
            && wanted(op)
        {
            let site = prog.site(pc as u32);
            if !list.iter().any(|(line, text)| (*line, text) == (site.line, &site.text)) {
                list.push((site.line, site.text.clone()));
            }
        }
    }
    list.sort();
    list
}

/// A barrier that copies signal without expected bytes.
fn expectations(lines: &[&str], prog: &Program, bar: MbarId, add: &mut Add<'_>) {
    let copies = lines_of(prog, |op| matches!(op, Op::Move { signals: Some(b), .. } if b.bar == bar));
    let expects = lines_of(prog, |op| match op {
        Op::Arrive { bar: b, expect: Some(_), .. } | Op::Expect { bar: b, .. } => b.bar == bar,
        _ => false,
    });
    let (Some((first, copy)), true) = (copies.first(), expects.is_empty()) else { return };
    let bytes = bytes(prog, bar);
    // An arrival without bytes gets them.
    for (line, arrival) in lines_of(prog, |op| matches!(op, Op::Arrive { bar: b, .. } if b.bar == bar)) {
        for by in &bytes {
            let (name, rest) = split_bar(&arrival);
            let new = format!("{name} expect {by}{rest}");
            add(line, format!("line {line}: `{new}` instead of `{arrival}`"), replaced(lines, line, &arrival, &new));
        }
    }
    let Some(on) = copy.split(" signals ").nth(1).map(|s| s.split(" multicast").next().unwrap_or(s).trim()) else {
        return;
    };
    for by in &bytes {
        let new = format!("arrive {on} expect {by}");
        let words = format!("before line {first} (`{copy}`): `{new}`");
        add(*first, words, before(lines, *first, copy, &new));
    }
}

/// `arrive full[i]` and what follows the barrier.
fn split_bar(arrival: &str) -> (&str, &str) {
    let word = arrival.find(' ').map_or(0, |i| i + 1);
    let end = match arrival[word..].find(['[', ' ']) {
        Some(i) if arrival.as_bytes()[word + i] == b'[' => closing(arrival, word + i).unwrap_or(arrival.len()),
        Some(i) => word + i,
        None => arrival.len(),
    };
    arrival.split_at(end)
}

/// The position after the bracket that closes the one at `open`.
pub(super) fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text[open..].char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(open + i + 1),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The bytes of the copies on a barrier, as expressions: whole buffers where copies fill whole slots.
fn bytes(prog: &Program, bar: MbarId) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut each: Vec<(&Place, String)> = Vec::new();
    for (pc, i) in prog.code.iter().enumerate() {
        if let Instr::Op { op: Op::Move { dst, signals: Some(b), .. }, .. } = i
            && b.bar == bar
            && !each.iter().any(|(_, text)| *text == prog.site(pc as u32).text)
        {
            each.push((dst, prog.site(pc as u32).text.clone()));
            parts.push(format!("bytes({})", prog.objects[dst.obj as usize].name));
        }
    }
    let mut once = parts.clone();
    once.dedup();
    let mut list = vec![parts.join(" + ")];
    if once != parts {
        list.push(once.join(" + "));
    }
    list
}

/// A barrier that no agent waits for.
fn waits(lines: &[&str], prog: &Program, bar: MbarId, add: &mut Add<'_>) {
    if !lines_of(prog, |op| matches!(op, Op::MbarWait { bar: b, .. } if b.bar == bar)).is_empty() {
        return;
    }
    let users = lines_of(prog, |op| !matches!(op, Op::Init(_) | Op::Inval(_) | Op::Barrier(_)));
    let waits = wait_statements((lines, prog), bar, &users, &["i"]);
    for (line, statement) in &users {
        for wait in &waits {
            add(*line, format!("before line {line} (`{statement}`): `{wait}`"), before(lines, *line, statement, wait));
        }
    }
}

/// Waits on a barrier as the kernel may write them. The stage is the index of any barrier or buffer in these statements,
/// or a variable that is one (`let s = i % stages`). A barrier without stages has the phase 0, or that of one of the
/// counters.
pub(super) fn wait_statements(
    (lines, prog): (&[&str], &Program),
    bar: MbarId,
    users: &[(u32, String)],
    counters: &[&str],
) -> Vec<String> {
    let name = &prog.mbars[bar as usize].name;
    if prog.mbars[bar as usize].stages == 1 {
        let phases = counters.iter().flat_map(|c| [format!("wait {name} for {c}"), format!("wait {name} for {c} - 1")]);
        return std::iter::once(format!("wait {name} for 0")).chain(phases).collect();
    }
    let mut stages: Vec<String> = Vec::new();
    for (_, statement) in users {
        let mut at = 0;
        while let Some(open) = statement[at..].find('[').map(|i| at + i) {
            let Some(end) = closing(statement, open) else { break };
            let index = statement[open + 1..end - 1].to_string();
            if index.contains('%') && !index.contains(',') && !stages.contains(&index) {
                stages.push(index);
            }
            at = end;
        }
    }
    let written = stages.iter().filter_map(|stage| Some((stage.as_str(), stage.rsplit_once(" % ")?)));
    let named = stage_variables(lines);
    let both = named.iter().copied().chain(written).flat_map(|(stage, (i, n))| {
        let on = format!("{name}[{stage}]");
        [format!("wait {on} for {i} / {n}"), format!("wait {on} for {i} / {n} - 1")]
    });
    both.collect()
}

/// Variables for a stage, each with its counter and the number of stages: `let s = i % stages`.
fn stage_variables<'a>(lines: &[&'a str]) -> Vec<(&'a str, (&'a str, &'a str))> {
    let word = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut list = Vec::new();
    for code in lines.iter().filter_map(|l| l.split("//").next()?.trim().strip_prefix("let ")) {
        for (name, value) in code.split(',').filter_map(|part| part.split_once('=')) {
            let Some((i, n)) = value.trim().rsplit_once(" % ") else { continue };
            let one = word(i) || i.starts_with('(') && i.ends_with(')');
            let variable = (name.trim(), (i, n));
            if one && word(n) && word(name.trim()) && !list.contains(&variable) {
                list.push(variable);
            }
        }
    }
    list
}

/// A queue that receives operations and is never committed.
fn commits(lines: &[&str], prog: &Program, (queue, word): (Queue, &str), add: &mut Add<'_>) {
    use warpline_sim::ir::{MmaKind, MoveKind};
    let starts = |op: &Op| match op {
        Op::Move { how, .. } => match queue {
            Queue::Cp => *how == MoveKind::CpAsync,
            Queue::Bulk => *how == MoveKind::TmaStore,
            _ => false,
        },
        Op::Mma { kind: MmaKind::Wgmma, .. } => queue == Queue::Wgmma,
        _ => false,
    };
    let committed = lines_of(prog, |op| matches!(op, Op::Commit(q) if *q == queue));
    let started = lines_of(prog, starts);
    if !committed.is_empty() || started.is_empty() {
        return;
    }
    let new = format!("commit {word}");
    // After the last of each run of neighbors, at every place that starts some.
    let last = |i: usize| started.get(i + 1).is_none_or(|next| next.0 > started[i].0 + 1);
    let ends: Vec<&(u32, String)> = (0..started.len()).filter(|i| last(*i)).map(|i| &started[i]).collect();
    let mut all = lines.iter().map(|l| l.to_string()).collect::<Vec<_>>();
    for (line, statement) in ends.iter().rev() {
        let changed: Vec<&str> = all.iter().map(String::as_str).collect();
        let Some(text) = behind(&changed, *line, statement, &new) else { return };
        all = text.lines().map(str::to_string).collect();
    }
    let where_: Vec<String> = ends.iter().map(|(line, s)| format!("line {line} (`{s}`)")).collect();
    add(ends[0].0, format!("after {}: `{new}`", where_.join(" and ")), Some(all.join("\n") + "\n"));
}

/// The text with a new statement before a statement of a line; on its own line if that statement starts its line.
pub(super) fn before(lines: &[&str], line: u32, statement: &str, new: &str) -> Option<String> {
    changed(lines, line, |old| {
        let at = old.find(statement)?;
        let indent = &old[..old.len() - old.trim_start().len()];
        Some(match at == indent.len() {
            true => format!("{indent}{new}\n{old}"),
            false => format!("{}{new}; {}", &old[..at], &old[at..]),
        })
    })
}

/// The text with a new statement after a statement of a line.
pub(super) fn behind(lines: &[&str], line: u32, statement: &str, new: &str) -> Option<String> {
    changed(lines, line, |old| {
        let at = old.find(statement)?;
        let end = at + statement.len();
        let indent = &old[..old.len() - old.trim_start().len()];
        let rest = old[end..].trim_start();
        Some(match at == indent.len() && (rest.is_empty() || rest.starts_with("//")) {
            true => format!("{old}\n{indent}{new}"),
            false => format!("{}; {new}{}", &old[..end], &old[end..]),
        })
    })
}

/// The text with a statement replaced.
pub(super) fn replaced(lines: &[&str], line: u32, statement: &str, new: &str) -> Option<String> {
    changed(lines, line, |old| {
        let at = old.find(statement)?;
        Some(format!("{}{new}{}", &old[..at], &old[at + statement.len()..]))
    })
}

/// The text without a statement, and without its line if nothing else is on it.
pub(super) fn without(lines: &[&str], line: u32, statement: &str) -> Option<String> {
    let old = *lines.get(line.checked_sub(1)? as usize)?;
    let at = old.find(statement)?;
    let (head, tail) = (&old[..at], old[at + statement.len()..].trim_start());
    let alone = head.trim().is_empty() || head.trim_end().ends_with(':');
    if alone && (tail.is_empty() || tail.starts_with("//")) {
        let kept = lines.iter().enumerate().filter(|(i, _)| i + 1 != line as usize).map(|(_, l)| *l);
        return Some(kept.collect::<Vec<_>>().join("\n") + "\n");
    }
    let new = match tail.strip_prefix(';') {
        Some(tail) => format!("{head}{}", tail.trim_start()),
        None => format!("{}  {tail}", head.trim_end().trim_end_matches(';')),
    };
    changed(lines, line, |_| Some(new.trim_end().to_string()))
}

fn changed(lines: &[&str], line: u32, f: impl FnOnce(&str) -> Option<String>) -> Option<String> {
    let at = line.checked_sub(1)? as usize;
    let new = f(lines.get(at)?)?;
    let all: Vec<&str> =
        lines[..at].iter().copied().chain([new.as_str()]).chain(lines[at + 1..].iter().copied()).collect();
    Some(all.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_added_and_taken_out_in_the_text() {
        let lines = ["k:", "  for i in 0..4:", "    a; b  // both", "  x: y", "    c"];
        let line = |text: Option<String>, n: usize| text.and_then(|t| t.lines().nth(n - 1).map(str::to_string));
        assert_eq!(line(before(&lines, 5, "c", "new"), 5).as_deref(), Some("    new"));
        assert_eq!(line(before(&lines, 3, "b", "new"), 3).as_deref(), Some("    a; new; b  // both"));
        assert_eq!(line(behind(&lines, 5, "c", "new"), 6).as_deref(), Some("    new"));
        assert_eq!(line(behind(&lines, 4, "y", "new"), 4).as_deref(), Some("  x: y; new"));
        assert_eq!(line(without(&lines, 3, "a"), 3).as_deref(), Some("    b  // both"));
        assert_eq!(line(without(&lines, 3, "b"), 3).as_deref(), Some("    a  // both"));
        assert_eq!(line(without(&lines, 5, "c"), 5), None);
        assert_eq!(split_bar("arrive full[i % s[0]] per warp"), ("arrive full[i % s[0]]", " per warp"));
        assert_eq!(split_bar("arrive full"), ("arrive full", ""));
        let stages = stage_variables(&[
            "  let at = a + b, s = j % stages",
            "  let x = i + 1 % 2",
            "  let t = (i + 1) % 4  // t",
        ]);
        assert_eq!(stages, [("s", ("j", "stages")), ("t", ("(i + 1)", "4"))]);
    }
}
