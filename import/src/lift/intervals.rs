//! Intervals of bytes.

/// Intervals, each from its first byte to behind its last one, in order and without overlap. Adjacent ones become one.
pub(super) fn united<T: Copy + Ord>(mut list: Vec<(T, T)>) -> Vec<(T, T)> {
    list.sort_unstable();
    let mut out: Vec<(T, T)> = Vec::new();
    for (from, to) in list {
        match out.last_mut() {
            Some((_, end)) if from <= *end => *end = (*end).max(to),
            _ => out.push((from, to)),
        }
    }
    out
}
