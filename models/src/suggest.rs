//! Suggestions for a misspelled name.

/// Least similarity of a suggestion, 0 to 1.
const ALIKE: f64 = 0.6;

/// The candidate most similar to `name`; the first of equals, so that the answer is deterministic.
pub(crate) fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let alike = strsim::normalized_damerau_levenshtein(name, candidate);
        if alike >= ALIKE && best.is_none_or(|(b, _)| alike > b) {
            best = Some((alike, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// "one of `a`, `b` and `c`".
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [init @ .., last] => format!("one of {} and {last}", init.join(", ")),
    }
}
