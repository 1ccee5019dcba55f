//! Exits that only the last iteration of a loop can take, such as "this warp's rows of the last tile are beyond the end".
//!
//! ```text
//!   loop:                                            for i in 0..tiles - 1: <body>
//!     if 64 * warp + 256 * tile >= rows: leave  =>   if 64 * warp + 256 * last < rows: <body>
//!     <body>
//!     tile += step
//!     if tile >= ceil(rows / 256): leave
//! ```
//!
//! The rule is for a loop that goes on at its last exit in an iteration only if it goes on at its first one there, too.
//! A warp that has a later tile has all rows of this one. With n iterations until the last exit is taken, the first
//! exit is not taken in iterations 0 to n - 1. In iteration n it is taken or not, and no iteration follows. So its trip
//! count is n where it is taken then, and may be stated as n + 1 otherwise. If the first exit follows from the last one
//! of the iteration before, and from what is known ahead of the loop, it is never taken.

use crate::lift::walk::Walk;
use crate::lift::walk::exits::Exit;
use crate::symbolic::{Atom, Node, Op, Term};

impl Walk<'_, '_> {
    /// States the trip counts of exits by those of exits that decide about them. `stays` has the conditions under which the
    /// loop goes on at each exit, where the exits before it in the iteration are not taken.
    pub(super) fn only_in_last(&mut self, header: u32, (exits, stays): (&[Exit], &[Term]), counts: &mut [Term]) {
        // A count with a closed form needs no other.
        let of_search: Vec<bool> =
            counts.iter().map(|q| matches!(self.s.arena.node(*q), Node::Op(Op::Trips, _))).collect();
        for k in (0..exits.len()).filter(|k| of_search[*k]) {
            let condition = exits[k].stay;
            // A variable has other values behind the loop.
            if self.s.arena.mentions(condition, |x| matches!(x, Atom::Var(_) | Atom::Carried(..))) {
                continue;
            }
            // What an exit decides about is stated by the exit, not the other way round.
            let by = (0..exits.len()).rev().find(|j| *j != k && self.s.arena.follows(condition, stays[*j]));
            let Some(by) = by.filter(|j| !self.s.arena.follows(exits[*j].stay, stays[k])) else { continue };
            let n = self.with_first(counts[by]);
            counts[by] = n;
            // What is known ahead of the loop, if it is that the loop went on.
            let a = &mut self.s.arena;
            let none = a.int(-1);
            let before = a.at_iteration(stays[by], header, none);
            let known = (a.decide(before, &self.facts) == Some(true)).then_some(before);
            let always = known.is_some() && self.is_never_left(header, condition, stays[by]);
            let condition = known.map_or(condition, |known| self.possible(header, condition, known));
            let a = &mut self.s.arena;
            let (zero, one) = (a.int(0), a.int(1));
            let last = a.at_iteration(condition, header, n);
            let more = if always { one } else { a.cond(last, one, zero) };
            counts[k] = a.add(n, more);
        }
    }

    /// Whether a condition holds in each iteration because the loop went on with `stay` in the one before, or would have.
    fn is_never_left(&mut self, header: u32, condition: Term, stay: Term) -> bool {
        let a = &mut self.s.arena;
        let i = a.atom(Atom::Counter(header));
        let before = a.plus(i, -1);
        let before = a.at_iteration(stay, header, before);
        a.follows(condition, before)
    }

    /// A disjunction without the parts that no iteration changes and that what is known excludes.
    fn possible(&mut self, header: u32, condition: Term, known: Term) -> Term {
        let Node::Op(Op::Either, args) = self.s.arena.node(condition).clone() else { return condition };
        let a = &mut self.s.arena;
        let mut kept = Vec::new();
        for x in args.iter() {
            let opposite = a.not(*x);
            if a.mentions(*x, |x| x == Atom::Counter(header)) || !a.follows(opposite, known) {
                kept.push(*x);
            }
        }
        let none = a.int(0);
        kept.into_iter().reduce(|x, y| a.either(x, y)).unwrap_or(none)
    }
}
