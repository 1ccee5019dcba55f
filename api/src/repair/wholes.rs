//! A condition on the sizes: a kernel that is right for whole blocks only says so.
//!
//! ```text
//!   let tiles = cdiv(seq, bk)    ─▶    require seq % bk == 0 "whole blocks only"
//! ```

use warpline_sim::code::Code;
use warpline_sim::ir::Program;
use warpline_verify::Violation;

use super::Attempt;
use super::missing::inserted;

/// Texts that reject sizes which are no multiples of their blocks, where blocks lie outside a matrix or are not added.
/// Only quotients of a parameter count. The condition is the last declaration, so that it may use every name.
pub(super) fn attempts(text: &str, prog: &Program, x: &Violation) -> Vec<Attempt> {
    let sizes = [Code::Outside, Code::SumBlocks];
    let mut faults = x.findings.iter().filter(|f| !f.note).peekable();
    if faults.peek().is_none() || !x.hang.is_empty() || !faults.all(|f| sizes.contains(&f.code)) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|l| l.starts_with("  grid ") || l.starts_with("  warps ")) else {
        return Vec::new();
    };
    let at = lines.iter().rposition(|l| l.starts_with("  let ")).map_or(at, |last| at.max(last + 1));
    let mut conditions: Vec<String> = Vec::new();
    for line in &lines {
        let code = line.split("//").next().unwrap_or("");
        for (size, block) in quotients(code) {
            let condition = format!("{size} % {block} == 0");
            let given = prog.params.iter().any(|(name, _)| name == size) && !text.contains(&condition);
            if given && !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
    }
    let mut list: Vec<String> = conditions.clone();
    if conditions.len() > 1 {
        list.push(conditions.join(" and "));
    }
    let attempt = |condition: String| {
        let require = format!("require {condition} \"whole blocks only\"");
        let text = inserted(&lines, at, &format!("  {require}"));
        Attempt { words: format!("for whole blocks only: `{require}`"), text }
    };
    list.into_iter().map(attempt).collect()
}

/// The quotients of a line, as dividend and divisor: `cdiv(k, tile_k)` and `k / step / splits`.
fn quotients(code: &str) -> Vec<(&str, String)> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let simple = |s: &str| !s.is_empty() && s.chars().all(word);
    let mut list = Vec::new();
    for (at, _) in code.match_indices("cdiv(") {
        let inner = &code[at + 5..];
        if let Some((size, rest)) = inner.split_once(',')
            && let Some((block, _)) = rest.split_once(')')
            && simple(size.trim())
            && simple(block.trim())
        {
            list.push((size.trim(), block.trim().to_string()));
        }
    }
    let mut parts = code.split(" / ");
    let Some(mut before) = parts.next() else { return list };
    let mut divided: Option<(&str, Vec<&str>)> = None;
    for after in parts {
        let first = &before[before.rfind(|c| !word(c)).map_or(0, |i| i + 1)..];
        let divisor = &after[..after.find(|c| !word(c)).unwrap_or(after.len())];
        let chained = divided.as_ref().is_some_and(|(_, by)| by.last() == Some(&before));
        match &mut divided {
            Some((_, by)) if chained => by.push(divisor),
            _ => {
                list.extend(divided.take().map(product));
                divided = (simple(first) && simple(divisor)).then(|| (first, vec![divisor]));
            }
        }
        before = after;
    }
    list.extend(divided.map(product));
    list
}

/// A dividend with the product of its divisors.
fn product<'a>((size, by): (&'a str, Vec<&'a str>)) -> (&'a str, String) {
    if let [one] = by[..] { (size, one.to_string()) } else { (size, format!("({})", by.join(" * "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_read_from_the_text() {
        let is = |code: &str| quotients(code).into_iter().map(|(a, b)| format!("{a} % {b}")).collect::<Vec<_>>();
        assert_eq!(is("let tiles = cdiv(k, tile_k), rows = m / 64"), ["k % tile_k", "m % 64"]);
        assert_eq!(is("let steps = k / step / splits"), ["k % (step * splits)"]);
        assert_eq!(is("grid m / tile, n / tile"), ["m % tile", "n % tile"]);
        assert_eq!(is("let x = cdiv(k + 1, 2)"), Vec::<String>::new());
    }
}
