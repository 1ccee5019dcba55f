//! Guards for accesses outside a matrix: a prologue that fills more stages than there are blocks, or a prefetch behind
//! the last block.
//!
//! ```text
//!   cp K[i, 0] -> k[i]    ─▶    if i < tiles: cp K[i, 0] -> k[i]
//!   for i in 0..2:        ─▶    for i in 0..min(2, tiles):
//! ```

use warpline_sim::code::Code;
use warpline_sim::ir::Program;
use warpline_verify::Violation;

use super::Attempt;
use super::missing::{closing, indent, replaced};

/// Texts in which the accesses of a fault outside a matrix happen only below the end of a loop of the kernel.
pub(super) fn attempts(lines: &[&str], prog: &Program, x: &Violation) -> Vec<(u32, Attempt)> {
    let mut sites: Vec<(u32, &str)> = x
        .findings
        .iter()
        .filter(|f| f.code == Code::Outside)
        .filter_map(|f| prog.sites.get(f.site as usize))
        .map(|site| (site.line, site.text.as_str()))
        .collect();
    // A guard covers the rest of its line.
    let place = |(line, text): &(u32, &str)| (*line, lines.get(*line as usize - 1).and_then(|l| l.find(text)));
    sites.sort_by_key(place);
    sites.dedup_by_key(|(line, _)| *line);
    let Some((first, statement)) = sites.first().copied() else { return Vec::new() };
    let heads: Vec<(u32, Head<'_>)> =
        (1..).zip(lines).filter_map(|(line, text)| Some((line, Head::of(text)?))).collect();
    let mut ends: Vec<&str> = heads.iter().map(|(_, head)| head.to).collect();
    ends.dedup();
    let mut list = Vec::new();
    for index in indices(statement).into_iter().filter_map(own_part) {
        for end in &ends {
            let condition = format!("if {index} < {end}: ");
            let guarded = sites.iter().try_fold(lines.join("\n"), |text, (line, statement)| {
                let lines: Vec<&str> = text.lines().collect();
                replaced(&lines, *line, statement, &format!("{condition}{statement}"))
            });
            let places: Vec<String> =
                sites.iter().map(|(line, statement)| format!("line {line} (`{statement}`)")).collect();
            let words = format!("{}: only `if {index} < {end}`", places.join(" and "));
            list.extend(guarded.map(|text| (first, Attempt { words, text })));
        }
    }
    // The loops around the first access, innermost first.
    for (line, head) in heads.iter().rev().filter(|(line, head)| *line < first && head.holds(lines, *line, first)) {
        for end in ends.iter().filter(|end| **end != head.to) {
            let (old, new) = (format!("..{}", head.to), format!("..min({}, {end})", head.to));
            let words = format!("line {line}: the loop ends at `min({}, {end})`", head.to);
            list.extend(replaced(lines, *line, &old, &new).map(|text| (*line, Attempt { words, text })));
        }
    }
    list
}

/// The expressions by which a statement names a block of its first place.
fn indices(statement: &str) -> Vec<&str> {
    let place = statement.find('[').and_then(|open| Some(&statement[open + 1..closing(statement, open)? - 1]));
    let list = place.unwrap_or("");
    list.split(',').map(str::trim).filter(|e| e.parse::<i64>().is_err() && !e.is_empty()).collect()
}

/// The part of an index that the loops of a CTA count: `i + 1` of `cta.m * tiles + i + 1`. The ends of these loops are no
/// ends for the whole index.
fn own_part(index: &str) -> Option<String> {
    if !index.contains("cta.") && !index.contains("cluster.") {
        return Some(index.to_string());
    }
    let own: Vec<&str> =
        index.split(" + ").filter(|term| !term.contains("cta.") && !term.contains("cluster.")).collect();
    let own = own.join(" + ");
    let balanced = own.matches('(').count() == own.matches(')').count();
    (balanced && !own.is_empty() && own.parse::<i64>().is_err()).then_some(own)
}

/// The head of a counted loop.
struct Head<'a> {
    depth: usize,
    to: &'a str,
}

impl Head<'_> {
    fn of(line: &str) -> Option<Head<'_>> {
        let text = line.trim_start();
        let (range, _) = text.strip_prefix("for ")?.split_once(" in ")?.1.split_once(':')?;
        let to = range.split_once("..")?.1.split(" step ").next()?;
        Some(Head { depth: indent(line), to: to.trim() })
    }

    /// Whether the loop that begins at one line goes on to another.
    fn holds(&self, lines: &[&str], from: u32, to: u32) -> bool {
        let body = &lines[from as usize..to as usize];
        body.iter().filter(|l| !l.trim().is_empty()).all(|l| indent(l) > self.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_indices_are_read_from_the_text() {
        assert_eq!(indices("cp K[i + 2, 0] -> k[(i + 2) % 3]"), ["i + 2"]);
        assert_eq!(indices("store r -> C[cta.m, cta.n]"), ["cta.m", "cta.n"]);
        let head = Head::of("    for i in cta.id..tiles step 2:  // all").expect("a loop");
        assert_eq!((head.depth, head.to), (4, "tiles"));
        assert!(head.holds(&["    for i in a..b:", "      x", "", "      y"], 1, 4));
        assert!(!head.holds(&["    for i in a..b:", "      x", "    z", "      y"], 1, 4));
        assert!(Head::of("    if i < 3: x").is_none());
        assert_eq!(own_part("cta.m * tiles + i + 1").as_deref(), Some("i + 1"));
        assert_eq!([own_part("cta.m"), own_part("i + 2")], [None, Some("i + 2".into())]);
    }
}
