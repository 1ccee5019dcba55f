//! Symbols that are computed from the same values of the launch, so that some combinations of their values are impossible.
//! What a warp stores for others, such as the next tile, depends on all that it knows, and all that read it read the same.
//! The numbers by which a kernel divides without a division come from the host, which also passes the divisor elsewhere.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use warpline_sim::ir::{Expr, ParamId, Program, each};

use crate::lift::iterations::{residues, thresholds};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term, WORDS};

use super::exprs::Names;

/// The smallest distance in bytes of words that do not overlap.
const WORD: i64 = 4;

/// What a symbol is computed from: values of the launch, and words of memory by address.
#[derive(Default)]
struct Read {
    atoms: BTreeSet<Atom>,
    words: BTreeSet<Term>,
    /// The reads of words that the kernel may have stored to shared memory.
    stored: BTreeSet<i64>,
    /// Whether it divides by numbers that the host computes.
    divides: bool,
    /// Whether it is what a search finds, which is not any value.
    searched: bool,
    /// Terms that were looked at.
    seen: BTreeSet<Term>,
}

/// A relation between symbols.
pub(crate) struct Relation {
    /// Why the symbols are related, in words.
    pub why: String,
    /// Whether no launch can be chosen: words that the kernel stored relate the symbols, or numbers of the host.
    pub no_launch: bool,
}

/// The first relation between two symbols that the program reads, if there is one.
pub(crate) fn related(
    s: &mut Shared<'_>,
    (names, program): (&Names, &Program),
    stands_for: &FxHashMap<Term, Term>,
) -> Option<Relation> {
    if let Some(why) = s.approximates.take() {
        return Some(Relation { why, no_launch: true });
    }
    let words: BTreeSet<i64> = s.words.iter().filter_map(|(w, id)| w.address.map(|_| WORDS + *id)).collect();
    let known = Known { stands_for, words: &words, searched: &s.searched };
    let a = &mut s.arena;
    let used = symbols_of(program);
    let order: Vec<&(Term, String)> =
        names.order.iter().enumerate().filter(|(i, _)| used.contains(&(*i as ParamId))).map(|(_, of)| of).collect();
    let read: Vec<Read> = order
        .iter()
        .map(|(t, _)| {
            let mut read = Read::default();
            reads(a, *t, known, &mut read);
            read
        })
        .collect();
    // Two reads may find one word, and how many tiles one role is told another role knows.
    let is_trips = |i: usize| names.trips.contains(&order[i].0);
    let told = |i: usize, j: usize| {
        let (x, y) = (&read[i].stored, &read[j].stored);
        !x.is_empty() && if y.is_empty() { is_trips(i) && is_trips(j) } else { x != y }
    };
    if let Some(i) = (0..read.len()).find(|i| (0..read.len()).any(|j| told(*i, j))) {
        let name = &order[i].1;
        let why = format!("`{name}` comes from shared memory, where the kernel may have stored it");
        return Some(Relation { why, no_launch: true });
    }
    if let Some(i) = read.iter().position(|r| r.searched) {
        let name = &order[i].1;
        let why = format!("`{name}` depends on what a search finds");
        return Some(Relation { why, no_launch: true });
    }
    if let Some(i) = read.iter().position(|r| r.divides).filter(|_| read.len() > 1) {
        let name = &order[i].1;
        let why = format!("the host computes the numbers by which `{name}` divides");
        return Some(Relation { why, no_launch: true });
    }
    for (i, (x, one)) in order.iter().enumerate() {
        for (j, (y, other)) in order.iter().enumerate().skip(i + 1) {
            // The quotient and the remainder of a size are any.
            let parts = residues::FIRST..thresholds::FIRST;
            let split = |t: Term| matches!(a.node(t), Node::Atom(Atom::Symbol(n)) if parts.contains(n));
            let any = split(*x) && split(*y) || apart(a, &read[i], &read[j]);
            if !any {
                let why = format!("`{one}` and `{other}` depend on the same arguments");
                return Some(Relation { why, no_launch: false });
            }
        }
    }
    None
}

/// The symbols that a program reads.
fn symbols_of(program: &Program) -> BTreeSet<ParamId> {
    let mut used = BTreeSet::new();
    let mut note = |e: &Expr| {
        e.visit(&mut |x| {
            if let Expr::Param(p) = x {
                used.insert(*p);
            }
        });
    };
    program.code.iter().for_each(|i| each(program, i, &mut |_, e| note(e)));
    program.loops.iter().filter_map(|l| l.bound.as_ref()).for_each(&mut note);
    program.tapes.iter().for_each(|t| note(&t.run));
    used
}

/// Whether no value decides both.
fn apart(a: &mut Arena, x: &Read, y: &Read) -> bool {
    let mut far = |p: Term, q: Term| {
        let distance = a.sub(p, q);
        a.constant(distance).is_some_and(|d| d.abs() >= WORD)
    };
    x.atoms.is_disjoint(&y.atoms) && x.words.iter().all(|p| y.words.iter().all(|q| far(*p, *q)))
}

/// What is known of symbols and words.
#[derive(Clone, Copy)]
struct Known<'k> {
    /// The term that a symbol stands for.
    stands_for: &'k FxHashMap<Term, Term>,
    /// The names of words of shared memory.
    words: &'k BTreeSet<i64>,
    /// The names of words that a search finds.
    searched: &'k BTreeSet<i64>,
}

fn reads(a: &Arena, t: Term, known: Known<'_>, read: &mut Read) {
    if !read.seen.insert(t) {
        return;
    }
    // A function that stands for a term reads what the term reads.
    if let Some((node, _)) = a.unfolded(t) {
        a.operands(node).into_iter().for_each(|x| reads(a, x, known, read));
    }
    match a.node(t) {
        Node::Const(_) | Node::Atom(Atom::Counter(_)) => {}
        Node::Atom(Atom::Symbol(_)) => {
            if let Some(original) = known.stands_for.get(&t) {
                reads(a, *original, known, read);
            }
        }
        Node::Atom(atom) => {
            read.divides |= a.host_divisors.contains(&t);
            read.atoms.insert(*atom);
        }
        Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| reads(a, *x, known, read)),
        // Whatever its address is, a word of memory has any value.
        Node::Op(Op::Load, args) if args.len() == 1 && a.constant(args[0]).is_none_or(|at| at < WORDS) => {
            read.words.insert(args[0]);
        }
        Node::Op(op, args) => {
            let name = args.first().and_then(|t| a.constant(*t)).filter(|_| *op == Op::Load);
            read.searched |= name.is_some_and(|name| known.searched.contains(&name));
            read.stored.extend(name.filter(|name| known.words.contains(name)));
            let of_launch = |n: usize| args.get(n).is_some_and(|t| a.constant(*t).is_none());
            read.divides |= matches!(op, Op::Shl | Op::MulHigh) && of_launch(1);
            args.iter().for_each(|x| reads(a, *x, known, read));
        }
        Node::Table(i, ..) => reads(a, *i, known, read),
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
            let none = BTreeSet::new();
            let known = Known { stands_for: &FxHashMap::default(), words: &none, searched: &none };
            reads(a, t, known, &mut read);
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
