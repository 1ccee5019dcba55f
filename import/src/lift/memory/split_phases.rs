//! Phases whose copies stand in two loops.
//!
//! A kernel may load the weights of its first tiles before `griddepcontrol.wait`, and the activations behind it. The barriers
//! of these tiles expect both, and a later loop loads both for each tile:
//!
//! ```text
//!   for i in 0..min(n, 6):  copy weights -> full[i % 6];  expect full[i % 6] 24576
//!   griddepcontrol.wait
//!   for i in 0..min(n, 6):  copy activations -> full[i]
//!   for i in 6..n:          copy weights, copy activations -> full[i % 6];  expect full[i % 6] 24576
//! ```
//!
//! The copies of the second loop belong to the phases of the first one. The tensor maps say so: those of both loops are
//! those of the third one.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::facts::maps::Maps;
use crate::symbolic::{Arena, Term};

use super::barriers::addresses;
use super::sizes::{Group, Groups, Signalled, Sizes};

/// A copy of a phase of another barrier term: instruction, destination, its own barrier, and the barrier of the phase.
type Joined = (usize, Term, Term, Term);

/// Adds copies that no `expect_tx` has to the phase whose rest they are.
pub(super) fn join(a: &Arena, groups: &mut Groups, maps: &Maps<'_>) -> Vec<Joined> {
    let mut joined = Vec::new();
    let keys: Vec<Signalled> = groups.keys().copied().collect();
    for key in keys {
        let [open] = groups[&key].as_slice() else { continue };
        if open.expect.is_some() {
            continue;
        }
        let Some((phase, n)) = phase_of(a, groups, (key, open), maps) else { continue };
        let Some(rest) = groups.remove(&key).and_then(|mut list| list.pop()) else { continue };
        joined.extend(rest.copies.keys().map(|(at, to)| (*at, *to, key.0, phase.0)));
        if let Some(g) = groups.get_mut(&phase).and_then(|list| list.get_mut(n)) {
            g.copies.extend(rest.copies);
        }
    }
    joined
}

/// The phase that lacks the copies of a group.
fn phase_of(
    a: &Arena,
    groups: &Groups,
    (key, open): (Signalled, &Group),
    maps: &Maps<'_>,
) -> Option<(Signalled, usize)> {
    let places = |bar: Term| addresses(a, bar).map(BTreeSet::from_iter);
    let own: BTreeSet<i64> = places(key.0)?;
    let beside: BTreeMap<&Signalled, &Vec<Group>> =
        groups.iter().filter(|(k, _)| **k != key && k.1 == key.1 && places(k.0).as_ref() == Some(&own)).collect();
    let rest = maps.all(open.copies.keys().map(|(at, _)| *at))?;
    let is_rest = |g: &Group, whole: &Group| {
        let all = |g: &Group| maps.all(g.copies.keys().map(|(at, _)| *at));
        let (Some(some), Some(all)) = (all(g), all(whole)) else { return false };
        g.expect.is_some() && g.expect == whole.expect && some.is_disjoint(&rest) && &some | &rest == all
    };
    beside.iter().find_map(|(k, list)| {
        let n = list.iter().position(|g| beside.values().any(|all| all.iter().any(|whole| is_rest(g, whole))))?;
        Some((**k, n))
    })
}

/// The sizes of the copies by their own barriers.
pub(super) fn by_own_barrier(joined: &[Joined], sizes: &mut Sizes) {
    for (at, to, own, phase) in joined {
        if let Some(n) = sizes.get(&(*at, *to, *phase)).copied() {
            sizes.insert((*at, *to, *own), n);
        }
    }
}
