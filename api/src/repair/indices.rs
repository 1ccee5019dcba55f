//! Another slot: a statement near the fault gets the index that another statement has.
//!
//! ```text
//!   tma A[m, i] -> a[(i + 1) % 4] signals full[i % 4]    ─▶    tma A[m, i] -> a[i % 4] signals full[i % 4]
//! ```

use warpline_sim::ir::Program;
use warpline_verify::Violation;

use super::Attempt;
use super::missing::{closing, lines_of, near, replaced};

/// Largest number of lines between a changed statement and the fault.
const REACH: u32 = 12;

/// Texts in which one index of a slot is that of another slot in the kernel. An index that occurs more often than the one it
/// replaces comes first, and then the statement nearest to the fault.
pub(super) fn attempts(text: &str, prog: &Program, x: &Violation) -> Vec<Attempt> {
    let lines: Vec<&str> = text.lines().collect();
    let near = near(x);
    let far = |line: u32| near.iter().map(|l| l.abs_diff(line)).min().unwrap_or(0);
    let statements = lines_of(prog, |_| true);
    let all: Vec<&str> = statements
        .iter()
        .flat_map(|(_, statement)| slots(prog, statement).into_iter().map(|(at, end)| &statement[at..end]))
        .collect();
    let often = |index: &str| all.iter().filter(|e| **e == index).count();
    let mut list: Vec<((bool, u32), Attempt)> = Vec::new();
    for (line, statement) in statements.iter().filter(|(line, _)| far(*line) <= REACH) {
        let slots = slots(prog, statement);
        for (at, end) in &slots {
            // An index of the same statement first.
            let own = slots.iter().map(|(at, end)| &statement[*at..*end]);
            let mut others: Vec<&str> = Vec::new();
            for other in own.chain(all.iter().copied()).filter(|e| *e != &statement[*at..*end]) {
                if !others.contains(&other) {
                    others.push(other);
                }
            }
            for other in others {
                let order = (often(other) <= often(&statement[*at..*end]), far(*line));
                let new = format!("{}{other}{}", &statement[..*at], &statement[*end..]);
                let words = format!("line {line}: `{new}` instead of `{statement}`");
                list.extend(replaced(&lines, *line, statement, &new).map(|text| (order, Attempt { words, text })));
            }
        }
    }
    list.sort_by_key(|(order, _)| *order);
    list.into_iter().map(|(_, attempt)| attempt).collect()
}

/// Where the indices of slots and stages stand in a statement: `[i % 4]` behind a buffer or barrier with several.
fn slots(prog: &Program, statement: &str) -> Vec<(usize, usize)> {
    let several = |name: &str| {
        let object = prog.objects.iter().any(|o| o.name == name && o.slots > 1);
        object || prog.mbars.iter().any(|b| b.name == name && b.stages > 1)
    };
    let mut list = Vec::new();
    let mut from = 0;
    while let Some(open) = statement[from..].find('[').map(|i| from + i) {
        let Some(end) = closing(statement, open) else { break };
        let word = |c: char| !c.is_alphanumeric() && c != '_';
        let name = &statement[statement[..open].rfind(word).map_or(0, |i| i + 1)..open];
        if several(name) {
            list.push((open + 1, end - 1));
        }
        from = end;
    }
    list
}
