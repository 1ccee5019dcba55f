//! The largest values of what a search finds, such as the number of a group.
//!
//! ```text
//!   while tile >= (group + 1) * tiles:
//!     if group + 1 > 7: leave                  group is at most 7, if it was ahead of the loop
//!     group += 1
//! ```
//!
//! A register has a largest value if another iteration follows only where its next value is at most a number. It also has
//! one if all that its next value may be has one. By induction, the register is then never larger than this number and its
//! first value.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::ptx::Reg;
use crate::symbolic::{Arena, Atom, Largest, Node, Op, Term};

use super::named::Loop;

/// Magnitude from which on a bound is none.
const FAR: i64 = 1 << 40;

/// The largest next values of registers.
type Known = BTreeMap<Reg, i64>;

impl Loop {
    /// The largest value of a register at the start of an iteration, or of a term over such registers, by operands of the
    /// function that names the value. Its name stands first, and `read` behind the name.
    pub(super) fn largest(&self, a: &mut Arena, read: &[Term], r: Reg, result: Option<Term>) -> Option<Largest> {
        let known = self.largest_next(a);
        let mut from = BTreeSet::new();
        let mut largest = match result {
            Some(t) => self.upper(a, &known, t, &mut from)?,
            None => {
                from.insert(r);
                *known.get(&r)?
            }
        };
        // What these registers are made of may begin with other values.
        let mut open: Vec<Reg> = from.iter().copied().collect();
        while let Some(r) = open.pop() {
            let (next, mut more) = ((*self.one.next.get(&r)?)?, BTreeSet::new());
            if let Some(by) = self.by_condition(a, next) {
                largest = largest.max(by);
            } else {
                largest = largest.max(self.upper(a, &known, next, &mut more)?);
            }
            open.extend(more.into_iter().filter(|r| from.insert(*r)));
        }
        let mut operands = Vec::new();
        for r in from {
            let Some(first) = self.before.get(&r) else { continue };
            let first = (*first)?;
            let most = a.range(first).1;
            if most < FAR {
                largest = largest.max(most);
            } else {
                operands.push(1 + read.iter().position(|t| *t == first)?);
            }
        }
        Some(Largest { number: largest, operands })
    }

    fn largest_next(&self, a: &mut Arena) -> Known {
        let next: Vec<(Reg, Term)> =
            self.changed.iter().filter_map(|r| Some((*r, (*self.one.next.get(r)?)?))).collect();
        let mut known = Known::new();
        for (r, t) in &next {
            known.extend(self.by_condition(a, *t).map(|most| (*r, most)));
        }
        for (r, t) in &next {
            if !known.contains_key(r) {
                // Of a register that may stay as it is, the other next values count.
                known.insert(*r, i64::MIN);
                match self.upper(a, &known, *t, &mut BTreeSet::new()) {
                    Some(most) => known.insert(*r, most),
                    None => known.remove(r),
                };
            }
        }
        known
    }

    /// The largest next value with which another iteration follows.
    fn by_condition(&self, a: &mut Arena, next: Term) -> Option<i64> {
        let mut open = vec![self.one.again];
        while let Some(c) = open.pop() {
            match a.node(c).clone() {
                Node::Op(Op::Both, args) => open.extend(args.iter()),
                Node::Op(Op::Ge, args) => {
                    let most = a.add(args[0], next);
                    if let Some(most) = a.constant(most).filter(|most| most.abs() < FAR) {
                        return Some(most);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The largest value of a term where registers are at most their largest next values. `from` gets these registers.
    fn upper(&self, a: &Arena, known: &Known, t: Term, from: &mut BTreeSet<Reg>) -> Option<i64> {
        upper(a, t, &mut |x| match x {
            Atom::Carried(h, r, _) if h == self.header => {
                from.insert(r);
                Some(known.get(&r).copied())
            }
            _ => None,
        })
    }
}

/// The largest value of a term. `of` says whether an atom is a register, and its largest value if it has one.
fn upper(a: &Arena, t: Term, of: &mut dyn FnMut(Atom) -> Option<Option<i64>>) -> Option<i64> {
    match a.node(t) {
        Node::Atom(x) => of(*x).unwrap_or_else(|| Some(a.range(t).1).filter(|most| *most < FAR)),
        Node::Op(Op::If, args) => {
            let (x, y) = (upper(a, args[1], of)?, upper(a, args[2], of)?);
            Some(x.max(y))
        }
        Node::Op(Op::Load, args) => {
            let found = a.largest.get(&a.constant(args[0])?)?;
            let each = found.operands.iter().map(|n| upper(a, *args.get(*n)?, of));
            each.collect::<Option<Vec<i64>>>().map(|list| list.into_iter().fold(found.number, i64::max))
        }
        _ => Some(a.range(t).1).filter(|most| *most < FAR),
    }
}

/// The first value of a register that a loop carries, and what an iteration makes of it.
pub(super) struct Carries {
    pub(super) register: Term,
    pub(super) first: Term,
    pub(super) next: Term,
}

/// States the largest value of registers at the start of each iteration: by induction, that of what an iteration makes of
/// them and of their first values. `sequences` has their values.
pub(super) fn bound_sequences(a: &mut Arena, carried: &[Carries], sequences: &mut FxHashMap<Term, Term>) {
    for c in carried {
        let Some(value) = sequences.get(&c.register).copied() else { continue };
        let Node::Atom(own) = *a.node(c.register) else { continue };
        // A register that stays as it is is no larger than before.
        let next = upper(a, c.next, &mut |x| (x == own).then_some(Some(i64::MIN)));
        let first = a.range(c.first).1;
        if let Some(next) = next.filter(|_| first < FAR) {
            let most = a.int(next.max(first));
            let bounded = a.op(Op::Min, &[value, most]);
            sequences.insert(c.register, bounded);
        }
    }
}
