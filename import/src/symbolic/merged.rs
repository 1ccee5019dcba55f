//! Sums of sequences of one index: `slot + 4 * wrapped` with `slot = 0, 1, 2, 3` and `wrapped = 1, 1, 1, 0` is 4, 5, 6, 3.

use super::{Arena, Node, Term};

/// The longest sequence that becomes of a sum.
const LONGEST: usize = 64;

impl Arena {
    /// A sum whose sequences of one index become a single sequence, where its values are evenly spaced numbers without a
    /// gap: the places of a ring.
    pub(super) fn merged_sequences(&mut self, k: i64, list: &[(Term, i64)]) -> Option<Term> {
        let index = |s: &Self, t: Term| if let Node::Table(i, ..) = s.node(t) { Some(*i) } else { None };
        let mut known = Vec::new();
        for (at, (t, _)) in list.iter().enumerate() {
            let Some(i) = index(self, *t).filter(|i| !known.contains(i)) else { continue };
            known.push(i);
            if !list[at + 1..].iter().any(|(x, _)| index(self, *x) == Some(i)) {
                continue;
            }
            let (of, rest): (Vec<_>, Vec<_>) = list.iter().copied().partition(|(x, _)| index(self, *x) == Some(i));
            if let Some((_, first, cycle)) =
                self.sequence((0, &of), LONGEST).filter(|(_, first, cycle)| is_even(first, cycle))
            {
                let one = self.table(i, first, cycle);
                let rest = self.sum(k, rest);
                return Some(self.add(rest, one));
            }
        }
        None
    }
}

/// Whether the values of a sequence are evenly spaced numbers.
fn is_even(first: &[i64], cycle: &[i64]) -> bool {
    let mut places = [first, cycle].concat();
    places.sort_unstable();
    places.dedup();
    places.windows(3).all(|w| w[2].checked_sub(w[1]) == w[1].checked_sub(w[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Atom;

    #[test]
    fn a_slot_and_its_wrap_are_one_ring() {
        let mut a = Arena::default();
        let i = a.atom(Atom::Counter(1));
        let slot = a.table(i, vec![], vec![0, 1, 2, 3]);
        let wrapped = a.table(i, vec![], vec![1, 1, 1, 0]);
        let (x, y) = (a.scale(slot, 4096), a.scale(wrapped, 16_384));
        let sum = a.add(x, y);
        let ring = a.table(i, vec![], vec![16_384, 20_480, 24_576, 12_288]);
        assert_eq!(sum, ring);
        assert_eq!(a.range(sum), (12_288, 24_576));
        assert_eq!(a.sub(sum, x), y);
    }

    #[test]
    fn sequences_whose_sum_has_gaps_stay() {
        let mut a = Arena::default();
        let (i, j) = (a.atom(Atom::Counter(1)), a.atom(Atom::Counter(2)));
        let slot = a.table(i, vec![], vec![0, 1, 2, 3]);
        let bit = a.table(i, vec![], vec![1, 1, 1, 0]);
        let x = a.scale(slot, 4096);
        let sum = a.add(x, bit);
        assert_eq!(a.parts(sum).1.len(), 2);
        // Of another loop.
        let other = a.table(j, vec![], vec![1, 1, 1, 0]);
        let y = a.scale(other, 16_384);
        let sum = a.add(x, y);
        assert_eq!(a.parts(sum).1.len(), 2);
    }
}
