//! Beginnings and ends of lives: an mbarrier without `init`, a barrier that is missing behind it, and tensor memory that is
//! never freed.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::code::Code;
use warpline_sim::ir::{Expr, Instr, MbarId, Op, Program, Stages};
use warpline_verify::Violation;

use super::Attempt;
use super::last::barriers;
use super::missing::{indent, inserted, lines_of, replaced};

/// Texts in which every mbarrier has its `init`, or a barrier stands behind it.
pub(super) fn initialized(lines: &[&str], prog: &Program, x: &Violation) -> Vec<(u32, Attempt)> {
    if !x.findings.iter().any(|f| f.code == Code::NotLive) {
        return Vec::new();
    }
    let inits = lines_of(prog, |op| matches!(op, Op::Init(_)));
    let missing = uninitialized(prog);
    let mut list = Vec::new();
    for (line, init) in inits {
        if missing.is_empty() {
            let words: &[&str] = if prog.cluster > 1 { &["cluster.sync", "barrier"] } else { &["barrier"] };
            let behind = words.iter().flat_map(|word| barriers(lines, word));
            list.extend(behind.filter(|(at, _)| (line..=line + NEAR).contains(at)));
        } else {
            let new = format!("{init}{missing}");
            let words = format!("line {line}: `{new}` instead of `{init}`");
            list.extend(replaced(lines, line, &init, &new).map(|text| (line, Attempt { words, text })));
        }
    }
    list
}

/// The mbarriers without an `init`, as more operands of one.
fn uninitialized(prog: &Program) -> String {
    let mut begun: BTreeMap<MbarId, BTreeSet<i64>> = BTreeMap::new();
    for op in prog.code.iter().filter_map(|i| if let Instr::Op { op, .. } = i { Some(op) } else { None }) {
        let Op::Init(list) = op else { continue };
        for Stages { bar, stage } in list {
            let all = 0..i64::from(prog.mbars[usize::from(*bar)].stages);
            let of = begun.entry(*bar).or_default();
            // An index that is not a number may be any.
            match stage.as_ref().and_then(Expr::constant) {
                Some(s) => of.extend([s]),
                None => of.extend(all),
            }
        }
    }
    let mut missing = String::new();
    for (bar, decl) in (0..).zip(&prog.mbars) {
        match begun.get(&bar) {
            None => missing += &format!(", {}", decl.name),
            Some(of) => {
                let left = (0..i64::from(decl.stages)).filter(|s| !of.contains(s));
                missing.extend(left.map(|s| format!(", {}[{s}]", decl.name)));
            }
        }
    }
    missing
}

/// Lines behind an `init` in which its barrier is tried.
const NEAR: u32 = 6;

/// Texts with a barrier ahead of the line that frees tensor memory.
pub(super) fn freed_behind(lines: &[&str], prog: &Program, x: &Violation) -> Vec<(u32, Attempt)> {
    if !x.findings.iter().any(|f| f.code == Code::FreedInUse) {
        return Vec::new();
    }
    let barrier = if prog.cluster > 1 { "cluster.sync" } else { "barrier" };
    let ahead = |(line, _): (u32, String)| {
        let at = line as usize - 1;
        let old = lines.get(at)?;
        let text = inserted(lines, at, &format!("{}{barrier}", " ".repeat(indent(old))));
        Some((line, Attempt { words: format!("on a line before line {line}: `{barrier}`"), text }))
    };
    lines_of(prog, |op| matches!(op, Op::TmemDealloc { .. })).into_iter().filter_map(ahead).collect()
}

/// Texts in which the warp that allocates an object frees it at the end of the kernel, behind a barrier.
pub(super) fn freed(lines: &[&str], prog: &Program, x: &Violation) -> Vec<(u32, Attempt)> {
    if !x.findings.iter().any(|f| f.code == Code::AllocBalance) {
        return Vec::new();
    }
    let freed = lines_of(prog, |op| matches!(op, Op::TmemDealloc { .. }));
    let barrier = if prog.cluster > 1 { "cluster.sync" } else { "barrier" };
    let mut list = Vec::new();
    for (line, alloc) in lines_of(prog, |op| matches!(op, Op::TmemAlloc { .. })) {
        let dealloc = alloc.replacen("tmem.alloc", "tmem.dealloc", 1);
        let Some(old) = lines.get(line as usize - 1).filter(|_| !freed.iter().any(|(_, text)| *text == dealloc)) else {
            continue;
        };
        let warps = old.find(&alloc).map_or("", |at| executing(lines, line, old[..at].trim()));
        let text = format!("{}\n  all:\n    {barrier}\n    {warps} {dealloc}\n", lines.join("\n").trim_end());
        let words = format!("at the end, behind `{barrier}`: `{warps} {dealloc}`");
        list.push((line, Attempt { words, text }));
    }
    list
}

/// The head of the block that executes a statement with this text before it on its line: `warp 1:`.
fn executing<'a>(lines: &[&'a str], line: u32, before: &'a str) -> &'a str {
    if before.ends_with(':') {
        return before;
    }
    let (above, own) = lines.split_at(line as usize - 1);
    let inner = own.first().map_or(0, |text| indent(text));
    let head = above.iter().rev().find(|text| !text.trim().is_empty() && indent(text) < inner);
    head.map_or("all:", |text| text.trim()).split_inclusive(':').next().unwrap_or("all:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_statement_is_on_its_line_or_above() {
        let lines = ["  warp 1:  // the products", "    init b", "    tmem.alloc acc", "  warp 2: tmem.alloc x"];
        assert_eq!(executing(&lines, 3, ""), "warp 1:");
        assert_eq!(executing(&lines, 4, "warp 2:"), "warp 2:");
    }
}
