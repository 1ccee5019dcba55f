//! Conditions over what a warp keeps from tile to tile, such as "this group is another one than that of the tile before".
//!
//! ```text
//!   last = none                                       for i in 0..jobs:
//!   for i in 0..jobs:                           ─▶      if numbers(i) % 2 == 1:
//!     if last != group(i): <change the map>               <change the map>
//!     last = group(i)
//! ```
//!
//! One warp asks once in each iteration, and nothing else reads what the warp keeps. Whatever is kept, the condition has one
//! outcome in each iteration then, and it may be any: a proof that lets it be any holds for the kernel.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::merge::effects_of::terms_of;
use crate::lift::merge::{Merged, MergedKind, Set};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Term};

/// Who reads and sets variables.
#[derive(Default)]
struct Uses {
    /// Conditions over variables: the warps that ask, and the loops around.
    conditions: BTreeMap<Term, Vec<(Set, usize)>>,
    /// What each variable is set to.
    sets: Vec<(u32, Term)>,
    /// Variables that operations and trip counts read.
    others: BTreeSet<u32>,
}

/// The conditions of a tree of this kind in the loops that no loop is around.
pub(crate) fn conditions(s: &Shared<'_>, tree: &[Merged]) -> Vec<Term> {
    let mut uses = Uses::default();
    collect(&s.arena, tree, 0, &mut uses);
    let followed = |t: Term| s.arena.is_boolean(t) && !s.arena.mentions(t, |x| matches!(x, Atom::Opaque(_)));
    let once = |at: &[(Set, usize)]| matches!(at, [(warps, 1)] if warps.count_ones() == 1);
    let found = uses.conditions.iter().filter(|(t, at)| once(at) && followed(**t)).map(|(t, _)| *t);
    found.filter(|t| is_kept(&s.arena, *t, &uses)).collect()
}

fn collect(a: &Arena, list: &[Merged], depth: usize, uses: &mut Uses) {
    for n in list {
        match &n.kind {
            MergedKind::If(c, x, y) => {
                if a.vars(*c).next().is_some() {
                    uses.conditions.entry(*c).or_default().push((n.warps, depth));
                }
                collect(a, x, depth, uses);
                collect(a, y, depth, uses);
            }
            MergedKind::For(_, count, body) => {
                uses.others.extend(a.vars(*count));
                collect(a, body, depth + 1, uses);
            }
            MergedKind::Set(v, t) => uses.sets.push((*v, *t)),
            MergedKind::Op(ops) => {
                uses.others.extend(ops.iter().flat_map(|(_, _, e)| terms_of(e)).flat_map(|t| a.vars(t)));
            }
            MergedKind::End => {}
        }
    }
}

/// Whether a condition alone reads its variables, what they are made of, and what is made of them.
fn is_kept(a: &Arena, condition: Term, uses: &Uses) -> bool {
    let mut own: BTreeSet<u32> = a.vars(condition).collect();
    loop {
        let before = own.len();
        for (v, t) in &uses.sets {
            if own.contains(v) || a.vars(*t).any(|x| own.contains(&x)) {
                own.insert(*v);
                own.extend(a.vars(*t));
            }
        }
        if own.len() == before {
            break;
        }
    }
    let alone = |(c, _): (&Term, &Vec<(Set, usize)>)| *c == condition || !a.vars(*c).any(|v| own.contains(&v));
    own.is_disjoint(&uses.others) && uses.conditions.iter().all(alone)
}
