//! Statements that are tried where neither a statement that is missing altogether nor a small change repairs the fault.
//!
//! ```text
//!   a race       `barrier` behind the block of a role, where no statement stands beside which it could be inserted
//!   a scope      `release` or `acquire` at accesses to a counter
//!   a race       a wait on a barrier for which other statements wait already, or with another variable as the phase
//! ```

use warpline_sim::ir::{MbarId, Op, Program};
use warpline_sim::report::FindingKind;
use warpline_verify::Violation;

use super::Attempt;
use super::missing::{before, distance, indent, inserted, lines_of, replaced, wait_statements};

/// Lines between a wait that is tried and the fault, at most.
const REACH: u32 = 6;

/// Texts with one more statement, or with another memory order; nearest to the fault first.
pub(super) fn attempts(text: &str, prog: &Program, x: &Violation) -> Vec<Attempt> {
    let lines: Vec<&str> = text.lines().collect();
    let far = distance(x);
    let races = [FindingKind::Raw, FindingKind::War, FindingKind::Waw, FindingKind::Stale];
    let mut list: Vec<(u32, Attempt)> = Vec::new();
    list.extend(orders(&lines, prog).into_iter().map(|(line, a)| (far(line), a)));
    if x.findings.iter().any(|f| races.contains(&f.kind)) {
        let all = barriers(&lines, "barrier").into_iter().chain(ahead_of_heads(&lines, "barrier"));
        list.extend(all.map(|(line, a)| (far(line), a)));
        let waits = (0..prog.mbars.len()).flat_map(|bar| waits(&lines, prog, bar as MbarId));
        list.extend(waits.map(|(line, a)| (far(line), a)).filter(|(far, _)| *far <= REACH));
    }
    list.sort_by_key(|(far, _)| *far);
    list.into_iter().map(|(_, attempt)| attempt).collect()
}

/// Texts with other memory orders at counters, for a scope that does not include a thread. Few changes repair such a
/// fault, and each run of a grid that meets through counters takes long.
pub(super) fn scoped(text: &str, prog: &Program, x: &Violation) -> Vec<Attempt> {
    let mut faults = x.findings.iter().filter(|f| !f.note).peekable();
    if faults.peek().is_none() || !faults.all(|f| f.kind == FindingKind::Scope) {
        return Vec::new();
    }
    let (lines, far): (Vec<&str>, _) = (text.lines().collect(), distance(x));
    let mut list: Vec<(u32, Attempt)> = orders(&lines, prog).into_iter().map(|(line, a)| (far(line), a)).collect();
    list.sort_by_key(|(far, _)| *far);
    list.into_iter().map(|(_, attempt)| attempt).collect()
}

/// A barrier, in these words, on a line of its own behind each block, at each depth that ends there.
pub(super) fn barriers(lines: &[&str], word: &str) -> Vec<(u32, Attempt)> {
    let code = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let mut list = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    for (i, line) in lines.iter().enumerate().filter(|(_, l)| code(l)) {
        let own = indent(line);
        depths.retain(|d| *d < own);
        depths.push(own);
        let next = lines[i + 1..].iter().find(code).map_or(own, |l| indent(l));
        // A head with its statement on the same line ends its block there.
        let nested = line.split("//").next().is_some_and(|l| l.trim_end().contains(": "));
        for depth in depths.iter().filter(|d| next <= **d && (**d < own || nested)) {
            let new = format!("{}{word}", " ".repeat(*depth));
            let text = inserted(lines, i + 1, &new);
            let words = format!("behind the block that ends at line {}: `{word}`", i + 1);
            list.push((i as u32 + 1, Attempt { words, text }));
        }
    }
    list
}

/// A barrier, in these words, on a line of its own before each conditional block and each loop. What is inserted beside
/// a statement inside runs on its condition.
fn ahead_of_heads(lines: &[&str], word: &str) -> Vec<(u32, Attempt)> {
    let heads = ["if ", "for ", "while "];
    let head = |line: &str| heads.iter().any(|h| line.trim_start().starts_with(h));
    let ahead = |(i, line): (usize, &&str)| {
        let text = inserted(lines, i, &format!("{}{word}", " ".repeat(indent(line))));
        (i as u32 + 1, Attempt { words: format!("on a line before line {}: `{word}`", i + 1), text })
    };
    lines.iter().enumerate().filter(|(_, line)| head(line)).map(ahead).collect()
}

/// Stronger memory orders of accesses to counters: each alone, then all.
fn orders(lines: &[&str], prog: &Program) -> Vec<(u32, Attempt)> {
    const WORDS: [&str; 7] = ["relaxed", "release", "acquire", "acq_rel", "cta", "cluster", "gpu"];
    let stronger = |statement: &str| {
        let mut base = statement.trim_end();
        while let Some((head, last)) = base.rsplit_once(' ') {
            if !WORDS.contains(&last) {
                break;
            }
            base = head;
        }
        let order = match base.split(' ').next() {
            Some("st" | "red.add") => "release",
            Some("atom.add") => "acq_rel",
            _ => "acquire",
        };
        format!("{base} {order} gpu")
    };
    let accesses = lines_of(prog, |op| matches!(op, Op::Counter { .. }));
    let changed: Vec<_> =
        accesses.iter().map(|(line, old)| (*line, old, stronger(old))).filter(|c| *c.1 != c.2).collect();
    let mut list = Vec::new();
    for (line, old, new) in &changed {
        if let Some(text) = replaced(lines, *line, old, new) {
            list.push((*line, Attempt { words: format!("line {line}: `{new}` instead of `{old}`"), text }));
        }
    }
    if let [first, _, ..] = changed.as_slice() {
        let mut all: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
        for (line, old, new) in &changed {
            if let Some(at) = all.get_mut(*line as usize - 1) {
                *at = at.replacen(old.as_str(), new, 1);
            }
        }
        let words: Vec<String> = changed.iter().map(|(line, _, new)| format!("line {line}: `{new}`")).collect();
        list.push((first.0, Attempt { words: words.join("; and "), text: all.join("\n") + "\n" }));
    }
    list
}

/// Waits on a barrier, with each variable of the kernel as the phase.
fn waits(lines: &[&str], prog: &Program, bar: MbarId) -> Vec<(u32, Attempt)> {
    let users = lines_of(prog, |op| !matches!(op, Op::Init(_) | Op::Inval(_) | Op::Barrier(_)));
    let counters: Vec<&str> = prog.vars.iter().map(String::as_str).filter(|v| !v.starts_with('.')).collect();
    let waits = wait_statements((lines, prog), bar, &users, &counters);
    let mut list = Vec::new();
    for (line, statement) in &users {
        for wait in &waits {
            let words = format!("before line {line} (`{statement}`): `{wait}`");
            list.extend(before(lines, *line, statement, wait).map(|text| (*line, Attempt { words, text })));
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_go_behind_the_blocks_of_roles() {
        let text = "k:\n  for i in 0..4:\n    a:\n      x\n    b: y  // there\n  z";
        let lines: Vec<&str> = text.lines().collect();
        let at: Vec<_> = barriers(&lines, "barrier")
            .into_iter()
            .map(|(line, a)| {
                let new = a.text.lines().nth(line as usize).unwrap_or_default().to_string();
                (line, new.len() - new.trim_start().len())
            })
            .collect();
        assert_eq!(at, [(4, 4), (5, 2), (5, 4)]);
        let ahead = ahead_of_heads(&lines, "barrier");
        assert_eq!(ahead.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2]);
        assert_eq!(ahead[0].1.text.lines().nth(1), Some("  barrier"));
    }
}
