//! Intervals of bytes.

use super::anywhere::SHARED;

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

/// The same for intervals of shared memory. Those of all lanes can be tens of thousands, so each byte has a flag.
pub(crate) fn united_bytes(list: Vec<Interval>) -> Vec<Interval> {
    let fits = |(from, to): &Interval| *from >= 0 && from < to && *to <= SHARED;
    if !list.iter().all(fits) {
        return united(list);
    }
    let mut bytes = vec![false; SHARED as usize];
    list.iter().for_each(|(from, to)| bytes[*from as usize..*to as usize].fill(true));
    let (mut out, mut at) = (Vec::new(), 0);
    for same in bytes.chunk_by(|x, y| x == y) {
        let end = at + same.len() as i64;
        if same[0] {
            out.push((at, end));
        }
        at = end;
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
