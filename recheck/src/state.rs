//! Equality of states up to a shift of their counters, and a digest that no shift changes.

use std::collections::BTreeMap;

use warpline_sim::protocol::{Entry, Family, Snapshot};

/// Whether states are equal up to a shift. Entries that do not count must be equal. Clocks of a component must have the
/// same order in all states. Clocks within the window must also have the same distance from the newest one. The counts
/// in variables and tiles are compared where they decide something (`decisions`).
pub(crate) fn alike(states: &[&Snapshot]) -> bool {
    let first = states[0];
    let same_shape = |s: &&Snapshot| {
        s.entries.len() == first.entries.len()
            && s.entries.iter().zip(&first.entries).all(|(x, y)| match (x, y) {
                (Entry::Count(f, _), Entry::Count(g, _)) => f == g,
                _ => x == y,
            })
    };
    if !states.iter().all(same_shape) {
        return false;
    }
    // For each component, its clocks, with one number for each state. A state names few clocks, and each one often.
    let mut clocks: BTreeMap<u32, Vec<Vec<i64>>> = BTreeMap::new();
    for (i, entry) in first.entries.iter().enumerate() {
        let Entry::Count(Family::Clock(component), _) = entry else { continue };
        let value = |s: &Snapshot| match s.entries[i] {
            Entry::Count(_, n) => n,
            Entry::Same(_) => 0,
        };
        let list = clocks.entry(*component).or_default();
        let known = |clock: &&Vec<i64>| clock.iter().zip(states).all(|(n, s)| *n == value(s));
        if list.iter().rev().find(known).is_none() {
            list.push(states.iter().map(|s| value(s)).collect());
        }
    }
    clocks.iter_mut().all(|(component, list)| {
        let window = first.windows[*component as usize];
        list.sort_unstable();
        let newest = list[list.len() - 1].clone();
        let ordered = list.windows(2).all(|w| w[0].iter().zip(&w[1]).all(|(a, b)| a < b));
        ordered
            && list.iter().all(|clock| {
                let back: Vec<i64> = newest.iter().zip(clock).map(|(new, old)| new - old).collect();
                back.iter().all(|b| *b > window) || back.iter().all(|b| *b == back[0])
            })
    })
}

/// The digest of a state: its entries that do not count, and the distance of each clock from the newest of its
/// component, up to the window.
pub(crate) fn digest(s: &Snapshot) -> String {
    let mut newest: BTreeMap<Family, i64> = BTreeMap::new();
    for entry in &s.entries {
        if let Entry::Count(family, n) = entry {
            let most = newest.entry(*family).or_insert(*n);
            *most = (*most).max(*n);
        }
    }
    let word = |entry: &Entry| match entry {
        Entry::Same(v) => *v,
        Entry::Count(Family::Clock(c), n) => {
            let back = (newest[&Family::Clock(*c)] - n).min(s.windows[*c as usize] + 1);
            u64::from(*c) << 32 | back as u64
        }
        Entry::Count(..) => 0,
    };
    fnv(s.entries.iter().flat_map(|entry| word(entry).to_le_bytes()))
}

/// FNV-1a. It distinguishes inputs that differ by accident, not by intent; no proof relies on it.
pub(crate) fn fnv(bytes: impl IntoIterator<Item = u8>) -> String {
    let digest =
        bytes.into_iter().fold(0xcbf2_9ce4_8422_2325u64, |d, b| (d ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{digest:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(same: u64, clocks: &[i64]) -> Snapshot {
        let clocks = clocks.iter().map(|n| Entry::Count(Family::Clock(0), *n));
        let mut state = Snapshot::default();
        state.entries = [Entry::Same(same)].into_iter().chain(clocks).collect();
        state.windows = vec![3; 8].into();
        state
    }

    #[test]
    fn states_are_one_but_for_a_shift() {
        let of = |x: Snapshot, y: Snapshot| alike(&[&x, &y]);
        assert!(of(state(1, &[10, 9, 9]), state(1, &[14, 13, 13])));
        assert!(!of(state(1, &[10, 9, 9]), state(2, &[14, 13, 13])));
        assert!(!of(state(1, &[10, 9, 9]), state(1, &[14, 12, 12])));
        assert!(!of(state(1, &[10, 9, 9]), state(1, &[14, 13, 12])));
        // For old clocks only the order counts.
        assert!(of(state(1, &[10, 2]), state(1, &[14, 3])));
        assert_eq!(digest(&state(1, &[10, 9])), digest(&state(1, &[14, 13])));
        assert_ne!(digest(&state(1, &[10, 9])), digest(&state(1, &[14, 12])));
    }
}
