//! Conditions with one outcome in all launches that are looked at.

use super::{Arena, Term};

impl Arena {
    /// Gives a condition this outcome wherever it is computed, until [`Arena::unsettle`].
    pub fn settle(&mut self, condition: Term, holds: bool) {
        if self.constant(condition).is_none() {
            self.settled.insert(condition, holds);
            self.memo.clear();
        }
    }

    /// No condition has a known outcome any more.
    pub fn unsettle(&mut self) {
        self.settled.clear();
        self.memo.clear();
    }

    /// A term, or the outcome of a condition that has one.
    pub(super) fn as_settled(&mut self, t: Term) -> Term {
        match self.settled.get(&t) {
            Some(holds) => self.int(i64::from(*holds)),
            None => t,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Atom;

    #[test]
    fn a_settled_condition_has_its_outcome_in_new_terms_only() {
        let mut a = Arena::default();
        let n = a.atom(Atom::Param(0, 0));
        let is = a.eq(n);
        let (x, y) = (a.atom(Atom::Param(1, 0)), a.atom(Atom::Param(2, 0)));
        let choice = a.cond(is, x, y);
        a.settle(is, false);
        assert_eq!(a.eq(n), a.int(0));
        let again = a.eq(n);
        assert_eq!(a.cond(again, x, y), y);
        a.unsettle();
        assert_eq!(a.eq(n), is);
        let again = a.eq(n);
        assert_eq!(a.cond(again, x, y), choice);
    }
}
