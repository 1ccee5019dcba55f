//! Terms that are too large to follow, as functions of the values that they read.
//!
//! A search for the sequence of a tile may use each of its results several times, so that its term doubles in each step.
//! Such a term becomes a function without a meaning: `f7(arg3, cta_0)`. Equal terms are one function, so all roles that
//! compute a bound in the same way have one symbol. Iterations, and what a loop carries, differ by role, so a function has
//! places for them. Terms over variables of the program, or over words that the kernel may change, become opaque.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{ALL_LANES, Arena, Atom, NO_LOOP, Node, Op, Term, WORDS};

/// The parameter whose bytes stand for the places of a function. No kernel has as many.
const PLACES: u16 = u16::MAX;

/// Where functions that stand for terms are placed in the address range of global memory.
pub(super) const LARGE: i64 = WORDS - (1 << 57);

impl Arena {
    /// What stands for a term that is too large and has these atoms.
    pub(super) fn large(&mut self, n: &Node, atoms: &[Atom], most: usize) -> Term {
        let follows = |a: &Atom| match a {
            Atom::Param(..) | Atom::Place(_) | Atom::Carried(..) => true,
            Atom::Counter(h) => *h != NO_LOOP,
            _ => false,
        };
        let of_role = |a: &Atom| matches!(a, Atom::Carried(..) | Atom::Counter(_));
        let known = !atoms.is_empty() && atoms.len() <= most && atoms.iter().all(follows);
        if !known || self.operands(n).iter().any(|t| self.reads_words(*t)) {
            return self.opaque("a value that is too large to follow");
        }
        let (n, atoms) = match atoms.iter().any(of_role) {
            true => self.with_places(n),
            false => (n.clone(), atoms.to_vec()),
        };
        let name = LARGE + self.number_of(&n) as i64;
        if matches!(n, Node::Op(Op::Ge | Op::Eq | Op::Not | Op::Both | Op::Either, _)) {
            self.predicates.insert(name);
        }
        let mut args = vec![self.int(name)];
        args.extend(atoms.iter().map(|a| self.atom(*a)).collect::<Vec<_>>());
        self.op(Op::Load, &args)
    }

    /// The number of the function that stands for a node.
    fn number_of(&mut self, n: &Node) -> usize {
        if let Some(known) = self.large_numbers.get(n) {
            return *known;
        }
        self.large.push(n.clone());
        self.large_numbers.insert(n.clone(), self.large.len() - 1);
        self.large.len() - 1
    }

    /// One term for the values of all lanes of a warp.
    pub fn lanes(&mut self, values: &[Term; 32]) -> Term {
        if let Some(Atom::Carried(h, r, 1)) = self.as_atom(values[0])
            && (0u8..).zip(values).all(|(l, t)| self.as_atom(*t) == Some(Atom::Carried(h, r, l + 1)))
        {
            return self.atom(Atom::Carried(h, r, ALL_LANES));
        }
        let name = self.int(LARGE - 1);
        let mut atoms: Vec<Atom> = values.iter().flat_map(|t| self.atoms(*t).to_vec()).collect();
        atoms.sort_unstable();
        atoms.dedup();
        let node = Node::Op(Op::Load, std::iter::once(name).chain(values.iter().copied()).collect());
        // Numbers have no places.
        if atoms.is_empty() {
            let at = self.number_of(&node);
            return self.int(LARGE + at as i64);
        }
        self.large(&node, &atoms, super::MOST_ATOMS)
    }

    /// Whether the values of all lanes of a register at the start of an iteration are an operand of a function.
    pub fn reads_lanes(&self, header: u32, register: u32) -> bool {
        self.known.contains_key(&Node::Atom(Atom::Carried(header, register, ALL_LANES)))
    }

    /// A node with places for its atoms, and the atoms in the order in which it reads them.
    fn with_places(&mut self, n: &Node) -> (Node, Vec<Atom>) {
        let (mut order, mut seen) = (Vec::new(), FxHashSet::default());
        self.operands(n).into_iter().for_each(|t| self.in_order(t, &mut seen, &mut order));
        let places: FxHashMap<Term, Term> = (0..order.len() as u32)
            .map(|i| (self.atom(order[i as usize]), self.atom(Atom::Param(PLACES, i))))
            .collect();
        let mut memo = FxHashMap::default();
        let mut of = |s: &mut Self, t: Term| s.replace(t, &places, &mut memo);
        let n = match n.clone() {
            Node::Sum(k, parts) => {
                let mut parts: Vec<(Term, i64)> = parts.iter().map(|(t, c)| (of(self, *t), *c)).collect();
                parts.sort_unstable();
                Node::Sum(k, parts.into())
            }
            Node::Op(op, args) => Node::Op(op, args.iter().map(|t| of(self, *t)).collect()),
            Node::Table(i, first, cycle) => Node::Table(of(self, i), first, cycle),
            same => same,
        };
        (n, order)
    }

    fn in_order(&self, t: Term, seen: &mut FxHashSet<Term>, order: &mut Vec<Atom>) {
        if !seen.insert(t) {
            return;
        }
        match self.node(t) {
            Node::Atom(a) => order.push(*a),
            n => self.operands(n).into_iter().for_each(|t| self.in_order(t, seen, order)),
        }
    }

    /// The node that a function stands for. The second value says whether its operands are still those of the node.
    pub fn unfolded(&self, t: Term) -> Option<(&Node, bool)> {
        let Node::Op(Op::Load, args) = self.node(t) else { return None };
        let name = self.constant(*args.first()?).filter(|at| (LARGE..WORDS).contains(at))?;
        let node = self.large.get((name - LARGE) as usize)?;
        let mut atoms: Vec<Atom> = self.operands(node).iter().flat_map(|t| self.atoms(*t).to_vec()).collect();
        atoms.sort_unstable();
        atoms.dedup();
        let mut given: Vec<Option<Atom>> = args[1..].iter().map(|t| self.as_atom(*t)).collect();
        given.sort_unstable();
        Some((node, given == atoms.into_iter().map(Some).collect::<Vec<_>>()))
    }

    fn as_atom(&self, t: Term) -> Option<Atom> {
        match self.node(t) {
            Node::Atom(a) => Some(*a),
            _ => None,
        }
    }

    /// The terms that a node combines.
    pub fn operands(&self, n: &Node) -> Vec<Term> {
        match n {
            Node::Const(_) | Node::Atom(_) => Vec::new(),
            Node::Sum(_, parts) => parts.iter().map(|(t, _)| *t).collect(),
            Node::Op(_, args) => args.to_vec(),
            Node::Table(i, ..) => vec![*i],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search of `n` steps, each of which uses the result before it twice.
    fn search(a: &mut Arena, n: i64) -> Term {
        let mut t = a.atom(Atom::Param(0, 0));
        for i in 0..n {
            let is_less = a.plus(t, i);
            let is_less = a.ge(is_less);
            let at = a.scale(t, 4);
            let next = a.op(Op::Load, &[at]);
            t = a.op(Op::If, &[is_less, t, next]);
        }
        t
    }

    #[test]
    fn a_large_term_over_the_launch_is_one_function() {
        let mut a = Arena::default();
        let (x, y) = (search(&mut a, 40), search(&mut a, 40));
        assert_eq!(x, y);
        assert!(!a.mentions(x, |a| matches!(a, Atom::Opaque(_))));
        let found = (0..a.len() as Term).find_map(|t| a.unfolded(t).map(|(n, same)| (n.clone(), same)));
        assert!(matches!(found, Some((Node::Op(..), true))));
        // With a number in place of the argument, the node is no longer what the function stands for.
        let function = (0..a.len() as Term).find(|t| a.unfolded(*t).is_some()).unwrap_or(0);
        let (p, one) = (a.atom(Atom::Param(0, 0)), a.int(1));
        let other = a.replace(function, &[(p, one)].into_iter().collect(), &mut Default::default());
        assert!(matches!(a.unfolded(other), Some((_, false))));
    }

    /// Two roles search from the tile that their own loop carries.
    #[test]
    fn functions_have_places_for_what_loops_carry() {
        let mut a = Arena::default();
        let searches: Vec<Term> = [3, 7]
            .map(|header| {
                let mut t = a.atom(Atom::Carried(header, header + 1, 0));
                for i in 0..40 {
                    let is_less = a.plus(t, i);
                    let is_less = a.ge(is_less);
                    let at = a.scale(t, 4);
                    let next = a.op(Op::Load, &[at]);
                    t = a.op(Op::If, &[is_less, t, next]);
                }
                // Once the loops are solved, both carry the number of the iteration.
                let carried = a.atom(Atom::Carried(header, header + 1, 0));
                let i = a.atom(Atom::Counter(9));
                a.replace(t, &[(carried, i)].into_iter().collect(), &mut Default::default())
            })
            .into();
        assert_eq!(searches[0], searches[1]);
        assert!(!a.mentions(searches[0], |a| matches!(a, Atom::Opaque(_) | Atom::Carried(..))));
    }

    #[test]
    fn a_large_term_over_words_that_change_is_opaque() {
        let mut a = Arena::default();
        let name = a.int(WORDS + 1);
        let word = a.op(Op::Load, &[name]);
        let x = search(&mut a, 40);
        let mut t = a.add(x, word);
        for i in 0..40 {
            let at = a.scale(t, 4 + i);
            let next = a.op(Op::Load, &[at]);
            t = a.op(Op::Max, &[t, next]);
        }
        assert!(a.mentions(t, |a| matches!(a, Atom::Opaque(_))));
    }
}
