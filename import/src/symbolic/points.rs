//! The values of a term with few of them, from every combination of what it reads.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::lcm;

use super::{Arena, Atom, Node, Term};

/// The largest number of combinations.
const MOST: usize = 4096;

/// The largest number of values of one part.
const FEW: i64 = 64;

impl Arena {
    /// Computes the values of a term of which bounds say little. In such a term, operators combine several parts, or a
    /// counter stands beside a sequence of it.
    pub fn note_points(&mut self, t: Term) {
        let (_, parts) = self.parts(t);
        let combined = |x: Term| match self.node(x) {
            Node::Op(..) => true,
            Node::Table(i, ..) => parts.iter().any(|(y, _)| y == i),
            _ => false,
        };
        if parts.iter().any(|(x, _)| combined(*x)) && !self.noted.contains_key(&t) {
            let all = self.points(t).map(|all| all.into_iter().collect());
            self.noted.insert(t, all);
        }
    }

    /// The values of a term that [`Arena::note_points`] computed, in order.
    pub fn noted_points(&self, t: Term) -> Option<&[i64]> {
        self.noted.get(&t)?.as_deref()
    }

    /// The values that a term can have; `None` if it may have many. Equal parts of the term have equal values.
    fn points(&mut self, t: Term) -> Option<BTreeSet<i64>> {
        let mut leaves = BTreeMap::new();
        self.leaves(t, &mut leaves)?;
        let total = leaves.values().try_fold(1usize, |n, l: &Vec<i64>| n.checked_mul(l.len()).filter(|n| *n <= MOST));
        total.and_then(|_| self.combinations(t, &leaves))
    }

    /// The parts of a term that vary by themselves, with their values.
    fn leaves(&self, t: Term, found: &mut BTreeMap<Term, Vec<i64>>) -> Option<()> {
        match self.node(t) {
            Node::Const(_) => return Some(()),
            Node::Sum(_, parts) => return parts.iter().try_for_each(|(x, _)| self.leaves(*x, found)),
            Node::Op(_, args) => {
                let mut inner = found.clone();
                if args.iter().try_for_each(|x| self.leaves(*x, &mut inner)).is_some() {
                    *found = inner;
                    return Some(());
                }
            }
            Node::Table(i, first, cycle) if matches!(self.node(*i), Node::Atom(Atom::Counter(_))) => {
                // Tables of one counter go through their values together: as many as their longest start and common cycle.
                let list = found.entry(*i).or_default();
                let cycles = lcm(list.len().max(1), cycle.len());
                let n = (first.len() + cycles).next_multiple_of(cycles);
                *list = (0..n.max(list.len()) as i64).collect();
                return (n <= MOST).then_some(());
            }
            Node::Table(_, first, cycle) => {
                found.insert(t, first.iter().chain(cycle.iter()).copied().collect());
                return Some(());
            }
            Node::Atom(_) => {}
        }
        let (low, high) = self.range(t);
        if low <= -(1 << 40) || high - low >= FEW {
            return None;
        }
        // A sequence of a counter may have needed fewer values of it.
        let list = found.entry(t).or_default();
        if (list.len() as i64) <= high - low {
            *list = (low..=high).collect();
        }
        Some(())
    }
}
