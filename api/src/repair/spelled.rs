//! The verifier's change as a change of the text.

use warpline_sim::ir::{Class, Program};
use warpline_verify::{Change, Edit, Suggestion};

use super::missing::{before, behind, replaced, without};

/// Texts that may express a suggestion, the most readable first.
pub(super) fn attempts(text: &str, prog: &Program, found: &Suggestion) -> Vec<String> {
    if found.edits.is_empty() {
        return parameter(text, &found.words).into_iter().collect();
    }
    let mut texts = vec![text.to_string()];
    // From the last line to the first, so that line numbers stay valid.
    let mut edits: Vec<&Edit> = found.edits.iter().collect();
    edits.sort_by_key(|e| std::cmp::Reverse(e.site.line));
    for e in edits {
        texts = texts.iter().flat_map(|t| one(t, prog, e)).collect();
    }
    texts
}

/// Another value of a parameter in the kernel's head: `stages = 3 instead of 2`.
fn parameter(text: &str, words: &str) -> Option<String> {
    let (new, old) = words.split_once(" instead of ")?;
    let (name, _) = new.split_once(" = ")?;
    let was = format!("{name} = {old}");
    let at = text.find("kernel ").and_then(|k| text[k..].find(&was).map(|i| k + i))?;
    Some(format!("{}{new}{}", &text[..at], &text[at + was.len()..]))
}

/// Lines that other changes to one statement put before it, at most.
const SAME_LINE: usize = 3;

fn one(text: &str, prog: &Program, e: &Edit) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let statement = &e.site.text;
    // Another change to the statement may have put lines before it.
    let from = (e.site.line as usize).saturating_sub(1);
    let moved = lines.iter().skip(from).position(|l| l.contains(statement.as_str())).filter(|by| *by <= SAME_LINE);
    let line = &(e.site.line + moved.unwrap_or(0) as u32);
    let replace = |new: String| replaced(&lines, *line, statement, &new);
    let texts: Vec<Option<String>> = match &e.change {
        Change::Drop => vec![without(&lines, *line, statement)],
        Change::Double => vec![behind(&lines, *line, statement, statement)],
        Change::Before(_) => vec![inserted(e, "before").and_then(|new| before(&lines, *line, statement, new))],
        Change::Behind(_) => vec![inserted(e, "after").and_then(|new| behind(&lines, *line, statement, new))],
        Change::Swap => vec![swapped(&lines, *line)],
        Change::Phase(by) => {
            let new = [" for ", " parity "].iter().find_map(|word| {
                let (head, phase) = statement.split_once(word)?;
                Some(format!("{head}{word}{}", more(phase, *by)))
            });
            vec![new.and_then(replace)]
        }
        Change::Outstanding(by) => {
            vec![statement.split_once("<= ").and_then(|(head, n)| replace(format!("{head}<= {}", more(n, *by))))]
        }
        Change::Bytes(by) => bytes(prog, statement, *by).into_iter().map(replace).collect(),
        Change::Count(by) => vec![
            statement
                .strip_suffix(')')
                .and_then(|s| s.rsplit_once('('))
                .and_then(|(head, n)| replace(format!("{head}({})", more(n, *by)))),
            counted(statement, *by).and_then(replace),
        ],
        Change::Declared(bar, by) => vec![declared(&lines, &prog.mbars[*bar as usize].name, *by)],
        Change::Stage { by, .. } => stage(prog, e, statement, *by).into_iter().map(replace).collect(),
        Change::Per(_) => {
            // `line 9: `arrive empty[s]` per warp`
            let words = e.words.split_once(": `").map(|(_, rest)| rest.replacen('`', "", 1));
            vec![words.and_then(replace)]
        }
        Change::Releases => {
            let plain = statement.replace(" relaxed", "").replace(" cluster", "");
            vec![replace(format!("{plain} cluster")), replace(plain)]
        }
        Change::Orders(_) => vec![replace("barrier".to_string())],
        Change::Always => vec![always(&lines, *line, statement)],
        Change::Slot { .. } => Vec::new(),
    };
    texts.into_iter().flatten().collect()
}

/// An arrival with another count, which is written after the bytes and before the arriving threads.
fn counted(statement: &str, by: i64) -> Option<String> {
    let end = [" per ", " once", " relaxed", " cluster"].iter().filter_map(|w| statement.find(w)).min();
    let (head, tail) = statement.split_at(end.unwrap_or(statement.len()));
    match head.rsplit_once(" count ") {
        Some((head, n)) => Some(format!("{head} count {}{tail}", more(n, by))),
        None if head.starts_with("arrive ") => Some(format!("{head} count {}{tail}", 1 + by)),
        None => None,
    }
}

/// The statement that an insertion adds: the last part of its words.
fn inserted<'a>(e: &'a Edit, side: &str) -> Option<&'a str> {
    let head = format!("{side} line {} (`{}`): `", e.site.line, e.site.text);
    e.words.strip_prefix(&head)?.strip_suffix('`')
}

/// An expression with a number added: `i / 4 - 1` and 1 are `i / 4`.
fn more(e: &str, by: i64) -> String {
    let (e, comment) = e.split_at(e.find("  //").unwrap_or(e.len()));
    let e = e.trim();
    if let Ok(n) = e.replace('_', "").parse::<i64>() {
        return format!("{}{comment}", n + by);
    }
    // Operators in parentheses bind more tightly than a sum.
    let inner = e.strip_prefix('(').and_then(|e| e.strip_suffix(')'));
    if inner.is_some_and(|inner| !inner.contains(['(', ')'])) {
        return format!("{e}{}{comment}", term(by));
    }
    // Operators that bind less tightly than a sum.
    if e.contains(['?', '<', '>', '=', '|', '&']) || [" or ", " and ", "not "].iter().any(|w| e.contains(w)) {
        return format!("({e}){}{comment}", term(by));
    }
    let last = [(" + ", 1), (" - ", -1)].into_iter().filter_map(|(sign, s)| {
        let (rest, n) = e.rsplit_once(sign)?;
        Some((rest, s * n.parse::<i64>().ok()?))
    });
    match last.max_by_key(|(rest, _)| rest.len()) {
        Some((rest, n)) => format!("{rest}{}{comment}", term(n + by)),
        None => format!("{e}{}{comment}", term(by)),
    }
}

/// A number as the last term of a sum: ` + 2`, ` - 1`, nothing for 0.
fn term(n: i64) -> String {
    match n {
        0 => String::new(),
        n if n > 0 => format!(" + {n}"),
        n => format!(" - {}", n.unsigned_abs()),
    }
}

/// Bytes as whole buffers if these make up the difference, else as a number.
fn bytes(prog: &Program, statement: &str, by: i64) -> Vec<String> {
    let mut fitting: Vec<_> = prog.objects.iter().filter(|o| o.slot_bytes() == by.abs()).collect();
    // Of buffers with the same size, the one that the statement does not count yet is missing.
    fitting.sort_by_key(|o| (o.class != Class::Shared, statement.contains(&format!("bytes({})", o.name))));
    let buffers = fitting.into_iter().map(|o| format!("bytes({})", o.name));
    let mut list: Vec<String> = Vec::new();
    for name in buffers {
        if by > 0 {
            let at = ["expect "].iter().find_map(|w| statement.find(w).map(|i| i + w.len())).unwrap_or(0);
            let end = [" count ", " per ", " once", " relaxed", " cluster"]
                .iter()
                .filter_map(|w| statement[at..].find(w).map(|i| at + i))
                .min()
                .unwrap_or(statement.len());
            list.push(format!("{} + {name}{}", &statement[..end], &statement[end..]));
        } else {
            for part in [format!(" + {name}"), format!("{name} + ")] {
                if statement.contains(&part) {
                    list.push(statement.replacen(&part, "", 1));
                }
            }
        }
    }
    if let Some((head, rest)) = statement.split_once(" expect ") {
        list.push(format!("{head} expect {}", more(rest, by)));
    } else {
        list.push(more(statement, by));
    }
    list
}

/// The declaration of an mbarrier with another count.
fn declared(lines: &[&str], name: &str, by: i64) -> Option<String> {
    let word = format!("mbar {name}");
    let here = |l: &str| l.find(&word).filter(|i| l[i + word.len()..].starts_with(['[', ' ', '(']));
    let at = lines.iter().position(|l| here(l).is_some())?;
    let line = lines[at];
    let from = here(line)? + word.len();
    // The stages are in brackets, the count in parentheses after them.
    let from = if line[from..].starts_with('[') { from + line[from..].find(']')? } else { from };
    let open = from + line[from..].find('(')?;
    let close = open + line[open..].find(')')?;
    let new = format!("{}({}){}", &line[..open], more(&line[open + 1..close], by), &line[close + 1..]);
    let mut all = lines.to_vec();
    all[at] = &new;
    Some(all.join("\n") + "\n")
}

/// The index of a barrier, moved around the ring.
fn stage(prog: &Program, e: &Edit, statement: &str, by: i64) -> Vec<String> {
    let bars = prog.mbars.iter().map(|b| (&b.name, b.stages)).chain(prog.named.iter().map(|b| (&b.name, b.len)));
    let mut list = Vec::new();
    for (name, n) in bars.filter(|(name, _)| e.words.contains(&format!("the `{name}` one further"))) {
        let Some(at) = statement.find(&format!("{name}[")).map(|i| i + name.len()) else { continue };
        let Some(end) = statement[at..].find(']').map(|i| at + i) else { continue };
        let index = &statement[at + 1..end];
        let simple = index.rsplit_once(" % ").filter(|(i, _)| !i.contains(['?', '%']));
        let mut indices: Vec<String> = Vec::new();
        if let Some((i, of)) = simple {
            let i = i.trim_start_matches('(').trim_end_matches(')');
            indices.push(match more(i, by) {
                i if i.contains(' ') => format!("({i}) % {of}"),
                i => format!("{i} % {of}"),
            });
        }
        indices.push(format!("({index} + {by}) % {n}"));
        list.extend(indices.into_iter().map(|i| format!("{}[{i}{}", &statement[..at], &statement[end..])));
    }
    list
}

/// Swaps a line and the next line of its depth.
fn swapped(lines: &[&str], line: u32) -> Option<String> {
    let at = line.checked_sub(1)? as usize;
    let depth = |l: &str| l.len() - l.trim_start().len();
    let here = *lines.get(at)?;
    if let Some((a, b)) = here.trim().split_once(';').filter(|(_, b)| !b.contains(';') && !b.contains("//")) {
        let new = format!("{}{}; {}", &here[..depth(here)], b.trim(), a.trim());
        let mut all = lines.to_vec();
        all[at] = &new;
        return Some(all.join("\n") + "\n");
    }
    let next = *lines.get(at + 1)?;
    if depth(here) != depth(next) || lines.get(at + 2).is_some_and(|l| depth(l) > depth(next) && !l.trim().is_empty()) {
        return None;
    }
    let mut all = lines.to_vec();
    all.swap(at, at + 1);
    Some(all.join("\n") + "\n")
}

/// A statement without the condition that guards only this statement, on the same line or the line above.
fn always(lines: &[&str], line: u32, statement: &str) -> Option<String> {
    let at = line.checked_sub(1)? as usize;
    let here = *lines.get(at)?;
    let start = here.find(statement)?;
    let indent = &here[..here.len() - here.trim_start().len()];
    let head = here[indent.len()..start].trim_end();
    let mut all: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
    if let Some(head) = head.strip_suffix(':') {
        let outer = head.rfind(": ").map_or("", |i| &head[..i + 2]);
        all[at] = format!("{indent}{outer}{}", &here[start..]);
    } else {
        let above = lines.get(at.checked_sub(1)?)?;
        let depth = &above[..above.len() - above.trim_start().len()];
        all[at] = format!("{depth}{}", here.trim_start());
        all.remove(at - 1);
    }
    Some(all.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_added_the_way_people_write_them() {
        assert_eq!(more("3", -1), "2");
        assert_eq!(more("i / 4 - 1", 1), "i / 4");
        assert_eq!(more("i / 4", -1), "i / 4 - 1");
        assert_eq!(more("stages - 1", -1), "stages - 2");
        assert_eq!(more("stages - 2  // late", 1), "stages - 1  // late");
        assert_eq!(more("i + 1 - k", 1), "i + 1 - k + 1");
        assert_eq!(more("i << n - 1", 1), "(i << n - 1) + 1");
        assert_eq!(more("a ? b : c", 1), "(a ? b : c) + 1");
        assert_eq!(
            parameter("kernel x(k = 4, stages = 2)", "stages = 3 instead of 2").as_deref(),
            Some("kernel x(k = 4, stages = 3)")
        );
        assert_eq!(
            declared(&["  mbar full[2] (1)  // (x)"], "full", 1).as_deref(),
            Some("  mbar full[2] (2)  // (x)\n")
        );
    }

    #[test]
    fn a_condition_is_taken_away_on_its_line_and_above() {
        assert_eq!(always(&["  if i > 0: arrive x"], 1, "arrive x").as_deref(), Some("  arrive x\n"));
        assert_eq!(always(&["  if i > 0:", "    arrive x"], 2, "arrive x").as_deref(), Some("  arrive x\n"));
        assert_eq!(swapped(&["  a", "  b"], 1).as_deref(), Some("  b\n  a\n"));
    }
}
