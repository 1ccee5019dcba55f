//! Conditions that follow from other conditions, by arithmetic alone and so in every launch.
//!
//! ```text
//!   (n + 255) / 256 - 1 - i >= 0                  n - 256 * i - 1 >= 0
//! ```
//!
//! The right one follows from the left one: `256 * ((n + 255) / 256)` is at most `n + 255`.

use super::{Arena, Node, Op, Term};

/// The largest divisor by which a comparison is multiplied.
const MOST: i64 = 1 << 16;

impl Arena {
    /// Whether a condition holds wherever another one holds.
    pub fn follows(&mut self, condition: Term, from: Term) -> bool {
        if condition == from {
            return true;
        }
        match (self.node(condition).clone(), self.node(from).clone()) {
            (Node::Const(v), _) => v != 0,
            (Node::Op(Op::Both, args), _) => args.iter().all(|c| self.follows(*c, from)),
            (_, Node::Op(Op::Both, args)) => args.iter().any(|f| self.follows(condition, *f)),
            (_, Node::Op(Op::Either, args)) => args.iter().all(|f| self.follows(condition, *f)),
            (Node::Op(Op::Either, args), _) => args.iter().any(|c| self.follows(*c, from)),
            (Node::Op(Op::Ge, x), Node::Op(Op::Ge, y)) => self.follows_sign(x[0], y[0]),
            _ => false,
        }
    }

    /// Whether a number is not negative wherever another one is not.
    pub fn follows_sign(&mut self, x: Term, y: Term) -> bool {
        self.is_no_less(x, y) || self.without_quotients(y).into_iter().any(|y| self.is_no_less(x, y))
    }

    fn is_no_less(&mut self, x: Term, y: Term) -> bool {
        let more = self.sub(x, y);
        self.range(more).0 >= 0
    }

    /// For each quotient in a sum: the sum times the divisor, with the dividend in place of the quotient. That is no less,
    /// as `c * (x / c)` is at most `x`. It is not negative where the sum is not.
    fn without_quotients(&mut self, y: Term) -> Vec<Term> {
        let (_, parts) = self.parts(y);
        let mut found = Vec::new();
        for (q, by) in parts.iter().filter(|(_, by)| *by > 0) {
            let Node::Op(Op::Div, args) = self.node(*q).clone() else { continue };
            let Some(c) = self.constant(args[1]).filter(|c| (2..=MOST).contains(c)) else { continue };
            let quotient = self.scale(*q, *by);
            let rest = self.sub(y, quotient);
            let (rest, dividend) = (self.scale(rest, c), self.scale(args[0], *by));
            found.push(self.add(rest, dividend));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::{Atom, Place};

    /// `(n + 255) / 256 - 1 - place - step * i - more` and `n - 256 * (place + step * i) - less`.
    fn terms(a: &mut Arena, more: Option<Term>, less: i64) -> (Term, Term) {
        let n = a.atom(Atom::Param(0, 0));
        let (place, step) = (a.atom(Atom::Place(Place::Cta(0))), a.atom(Atom::Place(Place::Ctas(0))));
        let i = a.atom(Atom::Counter(7));
        let turns = a.mul(step, i);
        let at = a.add(place, turns);
        let (up, by) = (a.plus(n, 255), a.int(256));
        let q = a.div(up, by);
        let goes_on = a.sub(q, at);
        let goes_on = a.plus(goes_on, -1);
        let goes_on = more.map_or(goes_on, |m| a.sub(goes_on, m));
        let rows = a.scale(at, 256);
        let inside = a.sub(n, rows);
        (goes_on, a.plus(inside, -less))
    }

    #[test]
    fn a_row_of_a_tile_is_inside_where_the_tile_is_and_no_later_row_is() {
        let mut a = Arena::default();
        let (tile, first) = terms(&mut a, None, 1);
        assert!(a.follows_sign(first, tile));
        let (tile, second) = terms(&mut a, None, 2);
        assert!(!a.follows_sign(second, tile));
    }

    #[test]
    fn all_rows_of_a_tile_are_inside_where_a_later_tile_exists() {
        let mut a = Arena::default();
        let step = a.atom(Atom::Place(Place::Ctas(0)));
        let (later, last) = terms(&mut a, Some(step), 256);
        assert!(a.follows_sign(last, later));
        let (later, beyond) = terms(&mut a, Some(step), 258);
        assert!(!a.follows_sign(beyond, later));
    }

    #[test]
    fn conjunctions_and_disjunctions_follow_from_their_parts() {
        let mut a = Arena::default();
        let (tile, first) = terms(&mut a, None, 1);
        let (tile, first) = (a.ge(tile), a.ge(first));
        let other = a.atom(Atom::Param(1, 0));
        let other = a.ge(other);
        let (both, either) = (a.both(first, other), a.either(first, other));
        assert!(a.follows(either, tile));
        assert!(!a.follows(both, tile));
        assert!(a.follows(first, both));
        assert!(!a.follows(first, either));
    }
}
