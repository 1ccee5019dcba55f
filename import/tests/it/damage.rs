//! Damaged texts: a pure function of a seed.

use warpline_campaign::Dice;

/// Kinds of damage, in the order of `damaged.tsv`.
pub(crate) const KINDS: [&str; 9] = [
    "truncate",
    "delete a line",
    "duplicate a line",
    "swap two lines",
    "delete characters",
    "insert characters",
    "replace a token by another of the text",
    "alter a number",
    "alter a modifier",
];

/// What a number becomes.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "31",
    "33",
    "4096",
    "65537",
    "2147483648",
    "-9223372036854775808",
    "18446744073709551615",
];

const MODIFIERS: [&str; 10] =
    ["shared", "global", "u64", "s32", "b128", "cta_group::2", "multicast::cluster", "x4", "noinc", "relaxed"];

/// A text with one to three damages, and the kind of the first.
pub(crate) fn damaged(text: &str, dice: &mut Dice) -> (usize, String) {
    let first = below(dice, KINDS.len());
    let mut text = one(text, first, dice);
    for _ in 0..below(dice, 3) {
        let kind = below(dice, KINDS.len());
        text = one(&text, kind, dice);
    }
    (first, text)
}

fn one(text: &str, kind: usize, dice: &mut Dice) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let (a, b) = (below(dice, lines.len()), below(dice, lines.len()));
    match kind {
        0 => return text[..place(text, dice)].to_string(),
        1 => drop(lines.remove(a)),
        2 => lines.insert(b, lines[a]),
        3 => lines.swap(a, b),
        4 => {
            let from = place(text, dice);
            let to = boundary(text, from + 1 + below(dice, 60)).max(from);
            return format!("{}{}", &text[..from], &text[to..]);
        }
        5 => {
            let at = place(text, dice);
            let some: String = (0..1 + below(dice, 12)).map(|_| char::from(b' ' + below(dice, 95) as u8)).collect();
            return format!("{}{some}{}", &text[..at], &text[at..]);
        }
        6 => return replaced(text, &words(text, |c| !c.is_whitespace()), None, dice),
        7 => return replaced(text, &words(text, |c| c.is_ascii_digit()), Some(&NUMBERS), dice),
        _ => {
            let after_dot = |w: &&(usize, usize)| text[..w.0].ends_with('.');
            let modifiers: Vec<_> = words(text, |c| c.is_alphanumeric() || "_:".contains(c));
            let modifiers: Vec<_> = modifiers.iter().filter(after_dot).copied().collect();
            return replaced(text, &modifiers, Some(&MODIFIERS), dice);
        }
    }
    lines.join("\n")
}

/// A number below `n`, which is not 0.
fn below(dice: &mut Dice, n: usize) -> usize {
    dice.range(0, n as i64 - 1) as usize
}

/// A place between two characters.
fn place(text: &str, dice: &mut Dice) -> usize {
    let at = below(dice, text.len() + 1);
    boundary(text, at)
}

/// The last place between two characters up to one byte.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// Where the words of some characters stand.
fn words(text: &str, of: impl Fn(char) -> bool) -> Vec<(usize, usize)> {
    let mut list = Vec::new();
    let mut start = None;
    for (i, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (of(c) && i < text.len(), start) {
            (true, None) => start = Some(i),
            (false, Some(s)) => {
                list.push((s, i));
                start = None;
            }
            _ => {}
        }
    }
    list
}

/// One word becomes one of a list, or another word of the text.
fn replaced(text: &str, words: &[(usize, usize)], by: Option<&[&str]>, dice: &mut Dice) -> String {
    if words.is_empty() {
        return text.to_string();
    }
    let (from, to) = *dice.pick(words);
    let other = *dice.pick(words);
    let new = by.map_or(&text[other.0..other.1], |list| *dice.pick(list));
    format!("{}{new}{}", &text[..from], &text[to..])
}
