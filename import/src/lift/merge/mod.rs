//! Merges the trees of all warps: an operation that several warps perform at the same place appears once.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | the merged tree, and the merge of warps and CTAs |
//! | `choices` | choices that a branch around them decides |
//! | `effects_of` | applies a function to each term of an effect |
//! | `ends` | longest common subsequences of two lists |
//! | `sides`, `outcomes` | branches whose sides do the same; a tree under the outcomes of some conditions |
//! | `one_form`, `nested` | one form for each condition; branches directly inside of a branch |
//! | `repeated`, `unread`, `folded` | leaves out repeated accesses, and variables that nothing reads or that have one value |
//! | `roles` | names of warps that take different parts |

pub(crate) mod choices;
pub(crate) mod effects_of;
mod ends;
pub(crate) mod folded;
pub(crate) mod nested;
pub(crate) mod one_form;
pub(crate) mod outcomes;
pub(crate) mod repeated;
pub(crate) mod roles;
pub(crate) mod sides;
pub(crate) mod unread;

use std::collections::BTreeMap;
use std::mem::Discriminant;

use rustc_hash::FxHashMap;

use crate::lift::iterations::{flat, last, turns, within};
use crate::lift::memory::barriers;
use crate::lift::timed::{deferred, gather};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Term};

use super::tree::{Effect, Kind, Node};
use effects_of::terms_of;
use ends::Ends;

/// Warps of a cluster, as bits: those of its first CTA, then those of the second, and so on.
pub(crate) type Set = u128;

/// A node of the tree of all warps.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    /// The instruction.
    pub(crate) at: usize,
    pub(crate) part: u8,
    /// Warps of the cluster, as bits.
    pub(crate) warps: Set,
    pub(crate) kind: MergedKind,
}

/// What it is.
#[derive(Clone, Debug)]
pub(crate) enum MergedKind {
    /// The operations of the warps of the cluster: warp, lanes, effect.
    Op(Vec<(u32, u32, Effect)>),
    If(Term, Vec<Merged>, Vec<Merged>),
    For(u32, Term, Vec<Merged>),
    Set(u32, Term),
    End,
}

/// The tree of the nodes of all warps of the cluster, with loops and conditions in their plainest form.
pub(crate) fn of_all(s: &mut Shared<'_>, lists: Vec<Vec<Node>>, timed: bool) -> Vec<Merged> {
    let in_cta = lists.len() / s.ctas() as usize;
    let mut tree = Vec::new();
    let mut first: Vec<Vec<Merged>> = Vec::new();
    for (w, nodes) in lists.into_iter().enumerate() {
        let nodes = if timed { deferred::deferred(nodes) } else { nodes };
        let mut one = single(w as u32, nodes);
        match first.get(w % in_cta).filter(|_| !timed) {
            Some(first) => one = turns::alike(s, one, first),
            None => first.push(one.clone()),
        }
        tree = if w == 0 { one } else { merge(tree, one) };
    }
    let tree = barriers::unrolled(s, tree);
    let tree = if timed { gather::gather(s, tree) } else { tree };
    let tree = flat::unflattened(s, tree);
    let tree = last::decided(s, tree);
    let tree = within::decided(s, tree);
    let tree = unread::without_unread(s, tree);
    if timed {
        return tree;
    }
    let tree = choices::decided(s, tree);
    let tree = sides::without_equal(s, tree);
    unread::without_unread(s, tree)
}

/// A warp's nodes as a tree of all warps.
pub(crate) fn single(warp: u32, nodes: Vec<Node>) -> Vec<Merged> {
    let one = |n: Node| Merged {
        at: n.at,
        part: n.part,
        warps: 1 << warp,
        kind: match n.kind {
            Kind::Op(lanes, e) => MergedKind::Op(vec![(warp, lanes, e)]),
            Kind::If(c, a, b) => MergedKind::If(c, single(warp, a), single(warp, b)),
            Kind::For(h, n, body) => MergedKind::For(h, n, single(warp, body)),
            Kind::Set(v, t) => MergedKind::Set(v, t),
            Kind::End => MergedKind::End,
        },
    };
    nodes.into_iter().map(one).collect()
}

/// What nodes have in common that become one.
#[derive(PartialEq, Eq, Hash)]
enum Class {
    Op(Discriminant<Effect>),
    If(Term),
    For(u32, Term),
    Set(u32, Term),
    End,
}

/// Numbers of nodes: equal for nodes that become one.
fn numbers(list: &[Merged], known: &mut FxHashMap<(usize, u8, Class), u32>) -> Vec<u32> {
    let number = |n: &Merged| {
        let class = match &n.kind {
            MergedKind::Op(x) => Class::Op(std::mem::discriminant(&x[0].2)),
            MergedKind::If(c, ..) => Class::If(*c),
            MergedKind::For(h, n, _) => Class::For(*h, *n),
            MergedKind::Set(v, t) => Class::Set(*v, *t),
            MergedKind::End => Class::End,
        };
        let next = known.len() as u32;
        *known.entry((n.at, n.part, class)).or_insert(next)
    };
    list.iter().map(number).collect()
}

/// Merges two lists and keeps the order of both.
pub(crate) fn merge(a: Vec<Merged>, b: Vec<Merged>) -> Vec<Merged> {
    let mut known = FxHashMap::default();
    let (x, y) = (numbers(&a, &mut known), numbers(&b, &mut known));
    let same = x.iter().zip(&y).take_while(|(x, y)| x == y).count();
    // The longest common subsequence of equal nodes, behind those that both lists begin with.
    let (x, y) = (&x[same..], &y[same..]);
    let (n, m) = (x.len(), y.len());
    let ends = Ends::of(x, y);
    let (mut left, mut right) = (a.into_iter(), b.into_iter());
    let mut out: Vec<Merged> = left.by_ref().zip(right.by_ref()).take(same).map(|(x, y)| both(x, y)).collect();
    let (mut i, mut j) = (0, 0);
    while i < n && j < m {
        if x[i] == y[j] {
            if let (Some(x), Some(y)) = (left.next(), right.next()) {
                out.push(both(x, y));
            }
            i += 1;
            j += 1;
        } else if ends.common(i + 1, j) >= ends.common(i, j + 1) {
            out.extend(left.next());
            i += 1;
        } else {
            out.extend(right.next());
            j += 1;
        }
    }
    out.extend(left);
    out.extend(right);
    out
}

fn both(a: Merged, b: Merged) -> Merged {
    let kind = match (a.kind, b.kind) {
        (MergedKind::Op(mut x), MergedKind::Op(y)) => {
            x.extend(y);
            MergedKind::Op(x)
        }
        (MergedKind::If(c, x, y), MergedKind::If(_, u, v)) => MergedKind::If(c, merge(x, u), merge(y, v)),
        (MergedKind::For(h, n, x), MergedKind::For(_, _, y)) => MergedKind::For(h, n, merge(x, y)),
        (kind, _) => kind,
    };
    Merged { at: a.at, part: a.part, warps: a.warps | b.warps, kind }
}

/// Calls `f` on each term: of operations, conditions, counts and values of variables.
pub(crate) fn each_term(list: &[Merged], f: &mut dyn FnMut(Term)) {
    for n in list {
        match &n.kind {
            MergedKind::Op(ops) => ops.iter().for_each(|(_, _, e)| terms_of(e).into_iter().for_each(&mut *f)),
            MergedKind::If(c, a, b) => {
                f(*c);
                each_term(a, f);
                each_term(b, f);
            }
            MergedKind::For(_, count, body) => {
                f(*count);
                each_term(body, f);
            }
            MergedKind::Set(_, t) => f(*t),
            MergedKind::End => {}
        }
    }
}

/// How many terms read each variable; variables that none reads are left out.
pub(crate) fn reads_of(a: &Arena, list: &[Merged]) -> BTreeMap<u32, usize> {
    let mut read = BTreeMap::new();
    each_term(list, &mut |t| a.vars(t).for_each(|v| *read.entry(v).or_default() += 1));
    read
}

/// Calls `f` with every node, outer nodes first.
pub(crate) fn each_node(list: &[Merged], f: &mut impl FnMut(&Merged)) {
    for n in list {
        f(n);
        match &n.kind {
            MergedKind::If(_, a, b) => {
                each_node(a, f);
                each_node(b, f);
            }
            MergedKind::For(_, _, body) => each_node(body, f),
            MergedKind::Op(_) | MergedKind::Set(..) | MergedKind::End => {}
        }
    }
}

/// Calls `f` on each operation, in order.
pub(crate) fn each_op(list: &[Merged], f: &mut impl FnMut(usize, &(u32, u32, Effect))) {
    for n in list {
        match &n.kind {
            MergedKind::Op(ops) => ops.iter().for_each(|o| f(n.at, o)),
            MergedKind::If(_, a, b) => {
                each_op(a, f);
                each_op(b, f);
            }
            MergedKind::For(_, _, body) => each_op(body, f),
            MergedKind::Set(..) | MergedKind::End => {}
        }
    }
}
