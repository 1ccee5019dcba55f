//! When two states are one state some steps of the main loop apart.

use std::collections::BTreeMap;

use warpline_sim::protocol::{Entry, Family, Snapshot};

/// How far each family moved between two such states.
pub(crate) type Moves = BTreeMap<Family, i64>;

/// Compares two states, the second `period` steps later. Equal entries must be equal; a counter stands still or moves
/// with its family, variables and tiles by just `period`. `None` where they are different states.
///
/// A family's standing clocks must all be older than its moving ones: then comparing the two gives the same answer in
/// every later period.
pub(crate) fn shifted(early: &Snapshot, late: &Snapshot, period: i64) -> Option<Moves> {
    if early.entries.len() != late.entries.len() {
        return None;
    }
    let mut moves: Moves = BTreeMap::new();
    let mut ages: BTreeMap<Family, (i64, i64)> = BTreeMap::new();
    for (x, y) in early.entries.iter().zip(&late.entries) {
        match (x, y) {
            (Entry::Same(a), Entry::Same(b)) if a == b => {}
            (Entry::Count(f, a), Entry::Count(g, b)) if f == g => {
                let by = b - a;
                let age = ages.entry(*f).or_insert((i64::MIN, i64::MAX));
                if by == 0 {
                    age.0 = age.0.max(*a);
                    continue;
                }
                age.1 = age.1.min(*a);
                if by != *moves.entry(*f).or_insert(by) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    for (family, by) in &moves {
        let apart = match family {
            Family::Clock(_) => ages[family].0 < ages[family].1 && *by > 0,
            Family::Variable | Family::Tile => *by == period,
        };
        if !apart {
            return None;
        }
    }
    Some(moves)
}

/// Which variables moved, and the least value of one that did.
pub(crate) fn moving_variables(early: &Snapshot, late: &Snapshot, frame: usize, agents: usize) -> (Vec<bool>, i64) {
    let mut moved = vec![false; frame];
    let mut least = i64::MAX;
    let vars = early.entries.iter().zip(&late.entries).filter_map(|(x, y)| match (x, y) {
        (Entry::Count(Family::Variable, x), Entry::Count(_, y)) => Some((*x, *y)),
        _ => None,
    });
    for (i, (x, y)) in vars.take(frame * agents).enumerate() {
        if x != y {
            moved[i % frame] = true;
            least = least.min(x);
        }
    }
    (moved, least)
}
