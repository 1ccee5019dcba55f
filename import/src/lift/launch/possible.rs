//! Values of symbols in possible launches. Symbols may be computed from the same arguments. A fault with some values of
//! such symbols is a fault only if some arguments give all these values together.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::symbolic::{Arena, Atom, Node, Op, Place, Term};

/// Launches tried.
const TRIED: u64 = 4000;

/// Launches kept.
const KEPT: usize = 48;

/// The largest trip count of a launch that is kept, and the largest where no launch has fewer iterations.
const MOST: [i64; 2] = [9, 40];

/// The largest number of iterations of which those are counted in which a condition holds.
const LONGEST: i64 = 64;

/// Values of arguments that are tried.
const VALUES: [i64; 32] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 192, 255, 256, 257, 300, 384, 512,
    513, 640, 1000, 1024,
];

/// Values of all symbols, one list per launch. Each symbol has the number by which loops divide it. `original` has the term
/// that a symbol stands for.
pub(crate) fn launches(a: &mut Arena, symbols: &[(Term, i64)], original: &FxHashMap<Term, Term>) -> Vec<Vec<i64>> {
    let [few, most] = MOST;
    match small(a, symbols, original, (few, TRIED)) {
        list if list.is_empty() => small(a, symbols, original, (most, TRIED / 8)),
        list => list,
    }
}

/// The size that one launch gives all arguments: as large as a block, and with products of three that do not overflow.
const SIZE: i64 = 1024;

/// The value of a term in a launch of which all arguments are one large size, in its first CTA. `None` where it depends on
/// data.
pub(crate) fn at_size(a: &mut Arena, t: Term, original: &FxHashMap<Term, Term>) -> Option<i64> {
    let mut seed = 0;
    Launch {
        values: FxHashMap::default(),
        loads: FxHashMap::default(),
        seed: &mut seed,
        original,
        most: SIZE,
        size: Some(SIZE),
    }
    .value(a, t)
}

/// The launches among those tried in which no loop has more than `most` iterations.
fn small(
    a: &mut Arena,
    symbols: &[(Term, i64)],
    original: &FxHashMap<Term, Term>,
    (most, tried): (i64, u64),
) -> Vec<Vec<i64>> {
    let terms: Vec<Term> = symbols.iter().map(|(t, _)| original.get(t).copied().unwrap_or(*t)).collect();
    let mut found = BTreeSet::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..tried {
        if found.len() == KEPT {
            break;
        }
        let mut launch = Launch {
            values: FxHashMap::default(),
            loads: FxHashMap::default(),
            seed: &mut seed,
            original,
            most,
            size: None,
        };
        let list: Option<Vec<i64>> = terms.iter().map(|t| launch.value(a, *t)).collect();
        if let Some(list) = list.filter(|l| l.iter().zip(symbols).all(|(v, (_, by))| *v <= most * by)) {
            found.insert(list.into_iter().map(|v| v.max(0)).collect::<Vec<_>>());
        }
    }
    // A size of zero is rarely launched: other sizes first.
    let mut list: Vec<Vec<i64>> = found.into_iter().collect();
    list.sort_by_key(|l| l.iter().filter(|v| **v == 0).count());
    list
}

/// One launch: values of terms, chosen when they are read.
struct Launch<'l> {
    values: FxHashMap<Term, i64>,
    /// Words of memory and functions without a meaning, by their operands.
    loads: FxHashMap<Vec<i64>, i64>,
    seed: &'l mut u64,
    original: &'l FxHashMap<Term, Term>,
    /// The largest trip count.
    most: i64,
    /// The value of all arguments, where they are not chosen.
    size: Option<i64>,
}

impl Launch<'_> {
    fn next(&mut self, below: u64) -> u64 {
        *self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*self.seed >> 33) % below
    }

    /// The value of a word of memory or of a function without a meaning: one value for equal operands. Some functions are 0
    /// or 1.
    fn loaded(&mut self, a: &mut Arena, t: Term, args: &[Term]) -> i64 {
        let operands: Option<Vec<i64>> = args.iter().map(|x| self.value(a, *x)).collect();
        if let Some(v) = operands.as_ref().and_then(|operands| self.loads.get(operands)) {
            return *v;
        }
        let v = if a.is_boolean(t) { self.next(2) as i64 } else { VALUES[self.next(VALUES.len() as u64) as usize] };
        if let Some(operands) = operands {
            self.loads.insert(operands, v);
        }
        v
    }

    fn value(&mut self, a: &mut Arena, t: Term) -> Option<i64> {
        if let Some(v) = self.values.get(&t) {
            return Some(*v);
        }
        let node = match a.unfolded(t) {
            Some((node, true)) => node.clone(),
            Some((_, false)) => return None,
            None => a.node(t).clone(),
        };
        let v = match node {
            Node::Const(v) => v,
            Node::Atom(Atom::Param(..)) if self.size.is_some() => self.size?,
            Node::Atom(Atom::Place(Place::Ctas(_) | Place::Clusters(_))) if self.size.is_some() => 8,
            Node::Atom(Atom::Place(_)) if self.size.is_some() => 0,
            Node::Atom(Atom::Data(_)) | Node::Op(Op::Load, _) if self.size.is_some() => return None,
            Node::Atom(Atom::Param(..) | Atom::Data(_)) => VALUES[self.next(VALUES.len() as u64) as usize],
            Node::Atom(Atom::Place(Place::Ctas(_) | Place::Clusters(_))) => 1 + self.next(8) as i64,
            Node::Atom(Atom::Place(_)) => self.next(8) as i64,
            Node::Atom(Atom::Symbol(_)) => self.value(a, *self.original.get(&t)?)?,
            Node::Atom(_) => return None,
            Node::Sum(k, parts) => {
                let mut sum = k;
                for (x, c) in parts.iter() {
                    sum = sum.wrapping_add(self.value(a, *x)?.wrapping_mul(*c));
                }
                sum
            }
            Node::Op(Op::Load, args) => self.loaded(a, t, &args),
            Node::Op(Op::Trips, args) => {
                let mut n = 0;
                loop {
                    let stay = a.at_number(args[0], n);
                    if self.value(a, stay)? == 0 {
                        break n;
                    }
                    n += 1;
                    if n > self.most {
                        return None;
                    }
                }
            }
            Node::Op(Op::HowOften, args) => {
                let iterations = self.value(a, args[1])?;
                if iterations > LONGEST {
                    return None;
                }
                let mut often = 0;
                for n in 0..iterations {
                    let now = a.at_number(args[0], n);
                    often += (self.value(a, now)? != 0) as i64;
                }
                often
            }
            Node::Op(op, args) => {
                let mut list = Vec::new();
                for x in args.iter() {
                    let v = self.value(a, *x)?;
                    list.push(a.int(v));
                }
                let t = a.op(op, &list);
                a.constant(t)?
            }
            Node::Table(i, first, cycle) => {
                let i = usize::try_from(self.value(a, i)?).ok()?;
                first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()])
            }
        };
        self.values.insert(t, v);
        Some(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_one_value_for_equal_operands() {
        let mut a = Arena::default();
        let (name, other) = (crate::symbolic::FUNCTIONS, crate::symbolic::FUNCTIONS + 1);
        a.predicates.insert(other);
        let (name, other, three) = (a.int(name), a.int(other), a.int(3));
        let p = a.atom(Atom::Param(0, 0));
        let least = a.op(Op::Min, &[p, three]);
        let (x, y) = (a.op(Op::Load, &[name, p]), a.op(Op::Load, &[name, least]));
        let condition = a.op(Op::Load, &[other, p]);
        let found = launches(&mut a, &[(p, 1000), (x, 1000), (y, 1000), (condition, 1)], &FxHashMap::default());
        assert!(found.iter().any(|l| l[0] <= 3) && found.iter().any(|l| l[0] > 3 && l[1] != l[2]));
        assert!(found.iter().all(|l| l[0] > 3 || l[1] == l[2]), "{found:?}");
        assert!(found.iter().all(|l| l[3] <= 1) && found.iter().any(|l| l[3] == 1), "{found:?}");
    }
}
