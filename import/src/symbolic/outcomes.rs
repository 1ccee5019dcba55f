//! Numbers that differ by iteration, and of which nothing is known.

use super::{Arena, Atom, FUNCTIONS, Node, Op, Term};

/// Where these functions of the iteration are placed in the address range of global memory. Functions of the launch are
/// before them ([`FUNCTIONS`]), and terms too large to keep behind them.
const NUMBERS: i64 = FUNCTIONS + (1 << 56);

/// The largest number of outcomes.
const MOST_OUTCOMES: u32 = 1 << 8;

/// The name of what trip counts depend on.
pub(super) const LENGTH: i64 = NUMBERS + MOST_OUTCOMES as i64;

/// A part of the number of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// The outcome of the condition with this number: 0 or 1.
    Outcome(u32),
    /// What trip counts depend on.
    Length,
}

impl Arena {
    /// The outcome of the condition with this number in the iteration of a loop.
    pub fn outcome(&mut self, number: u32, header: u32) -> Term {
        debug_assert!(number < MOST_OUTCOMES);
        self.predicates.insert(NUMBERS + i64::from(number));
        self.number(number, header)
    }

    /// What trip counts depend on in the iteration of a loop.
    pub fn length(&mut self, header: u32) -> Term {
        self.number(MOST_OUTCOMES, header)
    }

    fn number(&mut self, number: u32, header: u32) -> Term {
        let name = self.int(NUMBERS + i64::from(number));
        let counter = self.atom(Atom::Counter(header));
        self.op(Op::Load, &[name, counter])
    }

    /// Whether a term reads the number of an iteration.
    pub fn is_numbered(&self, t: Term) -> bool {
        self.as_number(t).is_some()
            || match self.node(t) {
                Node::Const(_) | Node::Atom(_) => false,
                Node::Sum(_, parts) => parts.iter().any(|(x, _)| self.is_numbered(*x)),
                Node::Op(_, args) => args.iter().any(|x| self.is_numbered(*x)),
                Node::Table(i, ..) => self.is_numbered(*i),
            }
    }

    /// Whether a term reads the number of an iteration that a counter says.
    pub fn is_numbered_by(&self, t: Term, counter: Atom) -> bool {
        match (self.as_number(t), self.node(t)) {
            (Some((_, iteration)), _) => self.mentions(iteration, |x| x == counter),
            (None, Node::Const(_) | Node::Atom(_)) => false,
            (None, Node::Sum(_, parts)) => parts.iter().any(|(x, _)| self.is_numbered_by(*x, counter)),
            (None, Node::Op(_, args)) => args.iter().any(|x| self.is_numbered_by(*x, counter)),
            (None, Node::Table(i, ..)) => self.is_numbered_by(*i, counter),
        }
    }

    /// The part of the number of an iteration that a term is, and the iteration.
    pub fn as_number(&self, t: Term) -> Option<(Numbered, Term)> {
        let Node::Op(Op::Load, args) = self.node(t) else { return None };
        let name = u32::try_from(self.constant(args[0])?.checked_sub(NUMBERS)?).ok()?;
        let part = match name {
            MOST_OUTCOMES => Numbered::Length,
            n if n < MOST_OUTCOMES => Numbered::Outcome(n),
            _ => return None,
        };
        Some((part, *args.get(1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No address stands for two kinds of functions.
    #[test]
    fn a_function_is_no_number_of_an_iteration() {
        let mut a = Arena::default();
        let counter = a.atom(Atom::Counter(3));
        for name in [FUNCTIONS, FUNCTIONS + 7, crate::symbolic::large::LARGE, crate::symbolic::WORDS] {
            let name = a.int(name);
            let t = a.op(Op::Load, &[name, counter]);
            assert_eq!(a.as_number(t), None);
        }
        let (outcome, length) = (a.outcome(2, 3), a.length(3));
        assert_eq!(a.as_number(outcome), Some((Numbered::Outcome(2), counter)));
        assert_eq!(a.as_number(length), Some((Numbered::Length, counter)));
        const { assert!(LENGTH < crate::symbolic::large::LARGE) };
    }
}
