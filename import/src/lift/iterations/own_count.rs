//! Trip counts that the body of their loop reads, such as `i + 2 < last - first + 1` in a loop of that many iterations.
//!
//! Where the count is a sum, it becomes one symbol. Inside of the loop the sum is the symbol, as an iteration is made
//! only if the count is positive. Elsewhere, comparisons of the sum are those of `max(0, sum)`.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lift::launch::symbols::{replaced, size, symbol_for, times, with_atoms};
use crate::lift::merge::{Merged, MergedKind, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

use super::positive::made_by;

/// The tree with a symbol for each such count. `stands_for` receives its meaning; symbols are numbered from `first` on.
pub(crate) fn named(
    s: &mut Shared<'_>,
    mut tree: Vec<Merged>,
    (first, stands_for): (u32, &mut FxHashMap<Term, Term>),
) -> Vec<Merged> {
    let mut found = Vec::new();
    find(&s.arena, &tree, &mut found);
    found.sort_unstable();
    found.dedup();
    if !found.is_empty() {
        s.assume(s.entry.line, "sizes that set trip counts are not negative");
    }
    for count in found {
        let size = size(&s.arena, count);
        let zero = s.arena.int(0);
        let meaning = s.arena.op(Op::Max, &[size, zero]);
        let symbol = symbol_for(s, (first, &mut *stands_for), meaning, (1 << 31) - 1);
        tree = inside(s, tree, count, (size, symbol));
        let mut with: FxHashMap<Term, Term> = compared(&mut s.arena, &tree, size, symbol).into_iter().collect();
        with.extend([(count, symbol), (meaning, symbol)]);
        let mut memo = FxHashMap::default();
        let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
        tree = tree.iter().map(|n| replaced(s, n, &mut f)).collect();
    }
    tree
}

/// The counts that are sums over the launch and that the body of their loop compares with its iteration.
fn find(a: &Arena, list: &[Merged], found: &mut Vec<Term>) {
    for n in list {
        match &n.kind {
            MergedKind::If(_, x, y) => [x, y].into_iter().for_each(|list| find(a, list, found)),
            MergedKind::For(h, count, body) => {
                let (_, parts) = a.parts(size(a, *count));
                let varies = |x: Atom| !matches!(x, Atom::Param(..) | Atom::Place(_));
                if parts.len() > 1 && !a.mentions(*count, varies) && reads(a, body, *h, &parts) {
                    found.push(*count);
                }
                find(a, body, found);
            }
            _ => {}
        }
    }
}

/// Whether a comparison is one of the iteration of a loop with a sum.
fn reads(a: &Arena, body: &[Merged], h: u32, sum: &[(Term, i64)]) -> bool {
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    each_term(body, &mut |t| {
        made_by(a, Op::Ge, t, &mut seen, &mut found);
        seen.clear();
        made_by(a, Op::Eq, t, &mut seen, &mut found);
        seen.clear();
    });
    let is_own = |t: Term| matches!(a.node(t), Node::Atom(Atom::Counter(x)) if *x == h);
    found.into_iter().any(|t| {
        let Node::Op(_, args) = a.node(t) else { return false };
        let (_, parts) = a.parts(args[0]);
        let rest: Vec<(Term, i64)> = parts.iter().copied().filter(|(x, _)| !is_own(*x)).collect();
        rest.len() < parts.len() && rest.len() == sum.len() && matches!(times(&rest, sum), Some(1 | -1))
    })
}

/// The tree in which loops with a count have a symbol as count, and their bodies read the symbol in place of the sum.
fn inside(s: &mut Shared<'_>, list: Vec<Merged>, count: Term, (size, symbol): (Term, Term)) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => {
                let (a, b) = (inside(s, a, count, (size, symbol)), inside(s, b, count, (size, symbol)));
                MergedKind::If(c, a, b)
            }
            MergedKind::For(h, x, body) => {
                let mut body = inside(s, body, count, (size, symbol));
                if x == count {
                    let (k, parts) = s.arena.parts(size);
                    let sums = [(parts, s.arena.plus(symbol, -k))];
                    let mut memo = FxHashMap::default();
                    let mut f = |a: &mut Arena, t: Term| with_atoms(a, t, &sums, &mut memo);
                    body = body.iter().map(|n| replaced(s, n, &mut f)).collect();
                }
                MergedKind::For(h, x, body)
            }
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

/// Comparisons of a term in a tree, as those of `max(0, term)`. These are `term <= k` with `k >= 0`, and `term >= k` with
/// `k > 0`.
fn compared(a: &mut Arena, tree: &[Merged], term: Term, most: Term) -> Vec<(Term, Term)> {
    let (mut seen, mut found, mut list) = (FxHashSet::default(), Vec::new(), Vec::new());
    each_term(tree, &mut |t| made_by(a, Op::Ge, t, &mut seen, &mut found));
    for t in found {
        let Node::Op(Op::Ge, args) = a.node(t).clone() else { continue };
        let (above, below) = (a.sub(args[0], term), a.add(args[0], term));
        if let Some(k) = a.constant(above).filter(|k| *k < 0) {
            let more = a.plus(most, k);
            list.push((t, a.ge(more)));
        } else if let Some(k) = a.constant(below).filter(|k| *k >= 0) {
            let less = a.scale(most, -1);
            let less = a.plus(less, k);
            list.push((t, a.ge(less)));
        }
    }
    list
}
