//! The kinds of edits.

use crate::dice::Dice;

use super::condition::{condition, equation};
use super::lines::{Lines, head, indent, opens};

/// A kind of edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edit {
    /// A constant is one more or one less.
    Number,
    /// A statement is executed under a condition.
    Guard,
    /// A statement is left out.
    Delete,
    /// Two neighboring statements change places.
    Swap,
    /// A loop ends earlier or later, always or under a condition.
    Loop,
    /// A statement is executed twice.
    Twice,
    /// A variable is another one.
    Name,
    /// A number of the header or of a body is rounded, clamped or shifted: ends of matrices, remainders of sizes.
    Form,
    /// A statement has another number or name where a parameter or a number of the header has one value.
    Branch,
}

impl Edit {
    /// All kinds.
    pub const ALL: [Edit; 9] = [
        Edit::Number,
        Edit::Guard,
        Edit::Delete,
        Edit::Swap,
        Edit::Loop,
        Edit::Twice,
        Edit::Name,
        Edit::Form,
        Edit::Branch,
    ];
}

/// What is drawn: a guard is as probable as three others, since it makes the rarest faults.
const DRAWN: [Edit; 10] = [
    Edit::Number,
    Edit::Number,
    Edit::Guard,
    Edit::Guard,
    Edit::Guard,
    Edit::Delete,
    Edit::Swap,
    Edit::Loop,
    Edit::Twice,
    Edit::Name,
];

/// Draws a kind and a line, and edits the line if the kind fits it. Half of the edits are `often`, if there is one.
pub(super) fn drawn(lines: &mut Lines, dice: &mut Dice, often: Option<Edit>) -> Option<Edit> {
    let edit = often.filter(|_| dice.chance(50)).unwrap_or_else(|| *dice.pick(&DRAWN));
    let bodies = if edit == Edit::Form { lines.with_numbers() } else { lines.bodies() };
    if bodies.is_empty() {
        return None;
    }
    let at = *dice.pick(&bodies);
    let line = lines.line(at).to_string();
    let space = " ".repeat(indent(&line));
    match edit {
        Edit::Number => lines.replace(at, vec![number(&line, dice)?]),
        Edit::Guard => {
            let statement = simple(&line)?;
            let condition = condition(lines, at, dice);
            lines.replace(at, vec![format!("{space}if {condition}: {statement}")]);
        }
        Edit::Delete if opens(&line) => return None,
        Edit::Delete => lines.replace(at, Vec::new()),
        Edit::Swap => {
            let next = lines.line(at + 1);
            if indent(next) != space.len() || opens(&line) || opens(next) || next.trim().is_empty() {
                return None;
            }
            lines.swap(at, at + 1);
        }
        Edit::Loop => lines.replace(at, vec![other_end(lines, at, dice)?]),
        Edit::Twice => {
            simple(&line)?;
            lines.replace(at, vec![line.clone(), line]);
        }
        Edit::Name => lines.replace(at, vec![other_name(lines, at, dice)?]),
        Edit::Form => lines.replace(at, vec![other_form(lines, at, dice)?]),
        Edit::Branch => {
            let statement = simple(&line)?;
            let other = if dice.chance(50) { number(&line, dice) } else { other_name(lines, at, dice) }?;
            let head = format!("{space}if {}:", equation(lines, dice)?);
            let branches = vec![head, format!("  {other}"), format!("{space}else:"), format!("{space}  {statement}")];
            lines.replace(at, branches);
        }
    }
    Some(edit)
}

/// The statement of a line that is neither a declaration nor control flow.
fn simple(line: &str) -> Option<&str> {
    let statement = line.trim();
    let word = statement.split([' ', ':']).next().unwrap_or("");
    (!opens(line) && !["var", "let", "if", "else", "for", "while", "reg"].contains(&word)).then_some(statement)
}

/// Ranges of words of a line, which are numbers or names.
fn words(line: &str) -> Vec<(usize, &str)> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut list = Vec::new();
    let mut start = 0;
    for part in line.split_inclusive(|c| !in_word(c)) {
        let word = part.trim_end_matches(|c| !in_word(c));
        // A range `0..n` is two words.
        let mut from = start;
        for bound in word.split("..") {
            list.push((from, bound));
            from += bound.len() + 2;
        }
        start += part.len();
    }
    list.retain(|(_, word)| !word.is_empty());
    list
}

/// The line with another word at a place.
fn with(line: &str, (at, word): (usize, &str), by: &str) -> String {
    format!("{}{by}{}", &line[..at], &line[at + word.len()..])
}

/// The line with one constant changed by one.
fn number(line: &str, dice: &mut Dice) -> Option<String> {
    let words: Vec<_> = words(line).into_iter().filter(|(_, w)| w.bytes().all(|b| b.is_ascii_digit())).collect();
    if words.is_empty() {
        return None;
    }
    let word = *dice.pick(&words);
    let value = word.1.parse::<i64>().ok()? + dice.pick(&[-1, 1]);
    (value >= 0).then(|| with(line, word, &value.to_string()))
}

/// The line with one variable replaced by another that it can read.
fn other_name(lines: &Lines, at: usize, dice: &mut Dice) -> Option<String> {
    let line = lines.line(at);
    let names = [lines.in_scope(at).concat(), lines.parameters()].concat();
    let words: Vec<_> = words(line).into_iter().filter(|(_, w)| names.iter().any(|n| n == w)).collect();
    if words.is_empty() {
        return None;
    }
    let word = *dice.pick(&words);
    let by = dice.pick(&names);
    (by != word.1).then(|| with(line, word, by))
}

/// The line with one use of a variable rounded, clamped or shifted, or with a quotient rounded the other way.
fn other_form(lines: &Lines, at: usize, dice: &mut Dice) -> Option<String> {
    let line = lines.line(at);
    let code = line.find("//").map_or(line, |comment| &line[..comment]);
    if dice.chance(50)
        && let Some((before, behind)) = code.split_once("cdiv(")
    {
        return floored(before, behind);
    }
    let names = [lines.in_scope(at).concat(), lines.parameters(), lines.numbers()].concat();
    let declared = |word: &(usize, &str)| code[word.0 + word.1.len()..].trim_start().starts_with(['=', ':', '[']);
    let used = |word: &(usize, &str)| names.iter().any(|n| n == word.1) && !declared(word);
    let words: Vec<_> = words(code).into_iter().filter(used).collect();
    if words.is_empty() {
        return None;
    }
    let word = *dice.pick(&words);
    let (x, c, d) = (word.1, dice.range(1, 9), dice.range(2, 5));
    let by = match dice.range(0, 7) {
        0 => format!("min({x}, {c})"),
        1 => format!("max({x}, {c})"),
        2 => format!("({x} / {d} * {d})"),
        3 => format!("(cdiv({x}, {d}) * {d})"),
        4 => format!("({x} + {})", dice.pick(&[1, 1, 2, 8, 16])),
        5 => format!("({x} - {})", dice.pick(&[1, 1, 2, 8, 16])),
        6 => format!("({x} + {x} % {d})"),
        _ => format!("({x} - {x} % {d})"),
    };
    Some(with(code, word, &by))
}

/// The line with the quotient `a / b` for `cdiv(a, b)`, of which `rest` is what follows the parenthesis.
fn floored(before: &str, rest: &str) -> Option<String> {
    let (mut depth, mut comma) = (0, None);
    for (at, c) in rest.char_indices() {
        match c {
            ',' if depth == 0 => comma = Some(at),
            ')' if depth == 0 => {
                let (a, b) = (&rest[..comma?], rest[comma? + 1..at].trim());
                return Some(format!("{before}(({a}) / ({b})){}", &rest[at + 1..]));
            }
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The head of a loop with another end.
fn other_end(lines: &Lines, at: usize, dice: &mut Dice) -> Option<String> {
    let line = lines.line(at);
    let (start, rest) = line.split_at(line.find("for ")?);
    let end = start.len() + head(rest)? - 1;
    let (range, step) = match line[..end].rfind(" step ") {
        Some(step) => (&line[..step], &line[step..end]),
        None => (&line[..end], ""),
    };
    let (first, last) = range.split_once("..")?;
    let last = match dice.range(0, 2) {
        0 => format!("{last} - 1"),
        1 => format!("{last} + 1"),
        _ => format!("{last} - ({} ? 0 : 1)", condition(lines, at, dice)),
    };
    Some(format!("{first}..{last}{step}{}", &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers_and_names() {
        let line = "for i in 0..2 * n: tma A[cta.m, i]";
        let list: Vec<&str> = words(line).iter().map(|(_, w)| *w).collect();
        assert_eq!(list, ["for", "i", "in", "0", "2", "n", "tma", "A", "cta.m", "i"]);
        assert!(words(line).iter().all(|(at, w)| line[*at..].starts_with(w)));
    }

    #[test]
    fn a_quotient_is_rounded_down() {
        let floor = |line: &str| line.split_once("cdiv(").and_then(|(before, rest)| floored(before, rest));
        let line = "  let tiles = cdiv(min(k, 64), tile_k), rows = 3";
        assert_eq!(floor(line), Some("  let tiles = ((min(k, 64)) / (tile_k)), rows = 3".to_string()));
        assert_eq!(floor("cdiv(k"), None);
    }

    #[test]
    fn forms_change_uses_in_the_header_too() {
        let lines = Lines::of("kernel t(k = 64)\n  let tiles = k / 16\n  global A: f16[64, k]\n  all:\n    alu 1\n");
        let form =
            |at: usize| (0..40).filter_map(|seed| other_form(&lines, at, &mut Dice::new(seed))).collect::<Vec<_>>();
        assert!(form(1).iter().any(|l| l.starts_with("  let tiles = max(k, ")), "{:?}", form(1));
        assert!(form(2).iter().any(|l| l.starts_with("  global A: f16[64, (k + ")), "{:?}", form(2));
        assert!(form(4).is_empty());
    }

    #[test]
    fn the_end_of_a_loop_changes_before_its_step() {
        let lines = Lines::of("kernel t(n = 3)\n  all:\n    elect: for i in 0..n step 2: alu 1\n");
        let seeds = 0..20;
        let ends: Vec<String> = seeds.filter_map(|seed| other_end(&lines, 2, &mut Dice::new(seed))).collect();
        assert!(ends.contains(&"    elect: for i in 0..n + 1 step 2: alu 1".to_string()), "{ends:?}");
    }
}
