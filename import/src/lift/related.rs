//! Symbols that are computed from the same values of the launch, so that some combinations of their values are impossible.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::symbolic::{Arena, Atom, Node, Op, Term, WORDS};

use super::exprs::Names;
use super::residues;

/// The smallest distance in bytes of words that do not overlap.
const WORD: i64 = 4;

/// What a symbol is computed from: values of the launch, and words of memory by address.
#[derive(Default)]
struct Read {
    atoms: BTreeSet<Atom>,
    words: BTreeSet<Term>,
    /// Terms that were looked at.
    seen: BTreeSet<Term>,
}

/// Why symbols are related, if two of them are.
pub(super) fn related(a: &mut Arena, names: &Names, stands_for: &FxHashMap<Term, Term>) -> Option<String> {
    let read: Vec<Read> = names
        .order
        .iter()
        .map(|(t, _)| {
            let mut read = Read::default();
            reads(a, *t, stands_for, &mut read);
            read
        })
        .collect();
    for (i, (x, one)) in names.order.iter().enumerate() {
        for (j, (y, other)) in names.order.iter().enumerate().skip(i + 1) {
            // The quotient and the remainder of a size are any.
            let parts = residues::FIRST..super::thresholds::FIRST;
            let split = |t: Term| matches!(a.node(t), Node::Atom(Atom::Symbol(n)) if parts.contains(n));
            let any = split(*x) && split(*y) || apart(a, &read[i], &read[j]);
            if !any {
                return Some(format!("`{one}` and `{other}` depend on the same arguments"));
            }
        }
    }
    None
}

/// Whether no value decides both.
fn apart(a: &mut Arena, x: &Read, y: &Read) -> bool {
    let mut far = |p: Term, q: Term| {
        let distance = a.sub(p, q);
        a.constant(distance).is_some_and(|d| d.abs() >= WORD)
    };
    x.atoms.is_disjoint(&y.atoms) && x.words.iter().all(|p| y.words.iter().all(|q| far(*p, *q)))
}

fn reads(a: &Arena, t: Term, stands_for: &FxHashMap<Term, Term>, read: &mut Read) {
    if !read.seen.insert(t) {
        return;
    }
    // A function that stands for a term reads what the term reads.
    if let Some((node, _)) = a.unfolded(t) {
        a.operands(node).into_iter().for_each(|x| reads(a, x, stands_for, read));
    }
    match a.node(t) {
        Node::Const(_) | Node::Atom(Atom::Counter(_)) => {}
        Node::Atom(Atom::Symbol(_)) => {
            if let Some(original) = stands_for.get(&t) {
                reads(a, *original, stands_for, read);
            }
        }
        Node::Atom(atom) => drop(read.atoms.insert(*atom)),
        Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| reads(a, *x, stands_for, read)),
        // Whatever its address is, a word of memory has any value.
        Node::Op(Op::Load, args) if args.len() == 1 && a.constant(args[0]).is_none_or(|at| at < WORDS) => {
            read.words.insert(args[0]);
        }
        Node::Op(_, args) => args.iter().for_each(|x| reads(a, *x, stands_for, read)),
        Node::Table(i, ..) => reads(a, *i, stands_for, read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_different_places_of_an_array_are_independent() {
        let mut a = Arena::default();
        let p = a.atom(Atom::Param(0, 0));
        let word = |a: &mut Arena, base: Term, offset: i64| {
            let at = a.plus(base, offset);
            a.op(Op::Load, &[at])
        };
        let (first, second) = (word(&mut a, p, 0), word(&mut a, p, 4));
        let q = a.atom(Atom::Param(1, 0));
        let elsewhere = word(&mut a, q, 0);
        let read = |a: &Arena, t: Term| {
            let mut read = Read::default();
            reads(a, t, &FxHashMap::default(), &mut read);
            read
        };
        let mut is_apart = |x: Term, y: Term| {
            let (x, y) = (read(&a, x), read(&a, y));
            apart(&mut a, &x, &y)
        };
        assert!(is_apart(first, second));
        assert!(!is_apart(first, first));
        // Two pointers can be one.
        assert!(!is_apart(first, elsewhere));
        assert!(is_apart(first, p));
        assert!(!is_apart(p, p));
    }
}
