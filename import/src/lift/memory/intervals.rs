//! Intervals of bytes.

/// The first byte, and one past the last.
pub(crate) type Interval = (i64, i64);

/// Intervals, each from its first byte to behind its last one, in order and without overlap. Adjacent ones become one.
pub(crate) fn united<T: Copy + Ord>(mut list: Vec<(T, T)>) -> Vec<(T, T)> {
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

/// What some intervals leave of others. Both lists are in order and without overlap.
pub(crate) fn without<T: Copy + Ord>(list: Vec<(T, T)>, taken: &[(T, T)]) -> Vec<(T, T)> {
    let mut out = Vec::new();
    for (start, to) in list {
        let mut from = start;
        for (low, high) in taken.iter().filter(|(_, high)| *high > start) {
            if *low >= to {
                break;
            }
            if from < *low {
                out.push((from, *low));
            }
            from = (*high).min(to);
        }
        if from < to {
            out.push((from, to));
        }
    }
    out
}
