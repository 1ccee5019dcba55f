//! Loops of which data decide whether an iteration does anything, such as the tiles of groups that have fewer rows than
//! others.
//!
//! ```text
//!   for i in 0..n:                         for i in 0..m:
//!     if word[i] ..:        becomes          ring steps
//!       ring steps
//! ```
//!
//! Where no trip count decides a condition over the launch and the iteration, such as `tile * n < m / k`, this is tried for
//! it, too (`Way::skips`). Then the number is a value of the launch: how often the condition holds.
//!
//! An iteration that is left out changes nothing that another one reads. So the loop is one over the other iterations:
//! any number of them, and the same number for all roles with this condition.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::merge::{Merged, MergedKind, Set, each_term, reads_of};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, NO_LOOP, Op, Term};

use super::data::each_set;

/// Stands before the condition in the address of the word that counts the iterations that do something.
const KEPT: i64 = 1 << 57;

/// The tree with loops over the iterations that do something.
pub(crate) fn without_skipped(s: &mut Shared<'_>, tree: Vec<Merged>, by_launch: bool) -> Vec<Merged> {
    let mut loops = BTreeMap::new();
    reads_in_loops(s, &tree, &mut loops);
    let read = Reads { all: reads_of(&s.arena, &tree), loops };
    in_list(s, tree, &read, by_launch)
}

/// How many terms read each variable.
type Count = BTreeMap<u32, usize>;

/// How many terms of the tree read each variable: all of them, and those of the copies of each loop.
struct Reads {
    all: Count,
    loops: BTreeMap<u32, (usize, Count)>,
}

impl Reads {
    /// The variables that code behind a loop may read. A copy of the loop sets a variable of one iteration first.
    fn outside(&self, s: &Shared<'_>, h: u32, body: &[Merged]) -> BTreeSet<u32> {
        let Some((copies, inside)) = self.loops.get(&h) else { return self.all.keys().copied().collect() };
        let of_others = |(v, n): &(&u32, &usize)| inside.get(v).copied().unwrap_or(0) < **n;
        let carried = |v: &u32| *copies > 1 && first_access(s, body, *v) != Some(Access::Set);
        self.all.iter().filter(|x| of_others(x) || carried(x.0)).map(|(v, _)| *v).collect()
    }
}

fn reads_in_loops(s: &Shared<'_>, list: &[Merged], loops: &mut BTreeMap<u32, (usize, Count)>) {
    for n in list {
        match &n.kind {
            MergedKind::For(h, _, body) => {
                let (copies, inside) = loops.entry(*h).or_default();
                *copies += 1;
                for (v, n) in reads_of(&s.arena, body) {
                    *inside.entry(v).or_default() += n;
                }
                reads_in_loops(s, body, loops);
            }
            MergedKind::If(_, a, b) => {
                reads_in_loops(s, a, loops);
                reads_in_loops(s, b, loops);
            }
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Set,
}

/// What nodes do first with a variable; `None` where they may do nothing.
fn first_access(s: &Shared<'_>, list: &[Merged], v: u32) -> Option<Access> {
    let is = |x| x == Atom::Var(v);
    list.iter().find_map(|n| match &n.kind {
        MergedKind::If(c, _, _) | MergedKind::For(_, c, _) if s.arena.mentions(*c, is) => Some(Access::Read),
        MergedKind::If(_, a, b) => match (first_access(s, a, v), first_access(s, b, v)) {
            (Some(Access::Read), _) | (_, Some(Access::Read)) => Some(Access::Read),
            (x, y) if x == y => x,
            _ => None,
        },
        MergedKind::For(_, _, body) => first_access(s, body, v).filter(|x| *x == Access::Read),
        MergedKind::Op(_) | MergedKind::Set(..) | MergedKind::End => {
            let mut read = false;
            each_term(std::slice::from_ref(n), &mut |t| read |= s.arena.mentions(t, is));
            let set = matches!(n.kind, MergedKind::Set(w, _) if w == v);
            if read { Some(Access::Read) } else { set.then_some(Access::Set) }
        }
    })
}

/// The same for a list of the tree. With `by_launch`, values of the launch may decide which iterations do something.
fn in_list(s: &mut Shared<'_>, list: Vec<Merged>, read: &Reads, by_launch: bool) -> Vec<Merged> {
    let mut out = Vec::new();
    for n in list {
        match n.kind {
            MergedKind::For(h, count, body) => {
                let outside = read.outside(s, h, &body);
                let body = in_list(s, body, read, by_launch);
                match kept(s, (h, count), &body, n.warps, (&outside, by_launch)) {
                    Some(Kept { before, count, body }) => {
                        out.extend(before);
                        out.push(Merged { kind: MergedKind::For(h, count, body), ..n });
                    }
                    None => out.push(Merged { kind: MergedKind::For(h, count, body), ..n }),
                }
            }
            MergedKind::If(c, a, b) => {
                let (a, b) = (in_list(s, a, read, by_launch), in_list(s, b, read, by_launch));
                out.push(Merged { kind: MergedKind::If(c, a, b), ..n });
            }
            _ => out.push(n),
        }
    }
    out
}

/// A loop over the iterations that do something.
struct Kept {
    /// What an iteration that is left out sets, where code behind the loop reads it.
    before: Vec<Merged>,
    count: Term,
    body: Vec<Merged>,
}

/// Values that variables have, as terms over their values before.
type Values = BTreeMap<u32, Term>;

fn only_sets(list: &[Merged]) -> bool {
    list.iter().all(|n| matches!(n.kind, MergedKind::Set(..)))
}

/// The loop over the iterations that do something. One condition over a word must decide which these are, or with
/// `by_launch` one over values of the launch.
fn kept(
    s: &mut Shared<'_>,
    (h, count): (u32, Term),
    body: &[Merged],
    warps: Set,
    (outside, by_launch): (&BTreeSet<u32>, bool),
) -> Option<Kept> {
    let (first, rest) = body.split_first()?;
    let MergedKind::If(c, a, b) = &first.kind else { return None };
    if first.warps != warps || !only_sets(rest) || s.timing.is_some() {
        return None;
    }
    let (done, left) = match (only_sets(a), only_sets(b)) {
        (true, false) => (b, a),
        (false, true) => (a, b),
        _ => return None,
    };
    let by_number = s.arena.mentions(*c, |x| x == Atom::Counter(h));
    let other =
        |x| matches!(x, Atom::Var(_) | Atom::Opaque(_)) || matches!(x, Atom::Counter(g) if g != h && g != NO_LOOP);
    let memory = s.arena.reads_memory(*c);
    let nested = s.arena.mentions(*c, |x| x == Atom::Counter(NO_LOOP));
    if !by_number || !memory && (!by_launch || nested) || s.arena.mentions(*c, other) || s.arena.mentions(count, other)
    {
        return None;
    }
    // The others do not depend on the number of the iteration.
    let all: Vec<Merged> = done.iter().chain(rest).cloned().collect();
    let skips: Vec<Merged> = left.iter().chain(rest).cloned().collect();
    let mut numbered = false;
    each_term(&all, &mut |t| numbered |= s.arena.mentions(t, |x| x == Atom::Counter(h)));
    each_term(&skips, &mut |t| numbered |= s.arena.mentions(t, |x| x == Atom::Counter(h)));
    let changed = changed(s, &skips);
    if numbered || !leaves_no_trace(s, &all, &skips, &changed) {
        return None;
    }
    // A loop of no iterations sets nothing.
    let before = if changed.is_disjoint(outside) { Vec::new() } else { skips };
    if !before.is_empty() && s.arena.range(count).0 < 1 {
        return None;
    }
    let holds = if std::ptr::eq(done, a) { *c } else { s.arena.not(*c) };
    let holds = s.arena.of_no_loop(holds, h);
    let count = if memory {
        number_of(s, holds, count)
    } else {
        s.skips.get_or_insert(first.at);
        s.arena.op(Op::HowOften, &[holds, count])
    };
    Some(Kept { before, count, body: all })
}

/// The number of iterations for which a word lets a condition hold: a word of memory that the condition and the count name.
fn number_of(s: &mut Shared<'_>, holds: Term, count: Term) -> Term {
    let any = s.arena.atom(Atom::Counter(NO_LOOP));
    let further = s.arena.sub(count, any);
    let further = s.arena.plus(further, -1);
    let further = s.arena.ge(further);
    let both = s.arena.op(Op::Both, &[holds, further]);
    let address = s.arena.plus(both, KEPT);
    s.arena.op(Op::Load, &[address])
}

/// Whether an iteration that is left out leaves no trace, however often it is made between others. The others set what it
/// sets before they read it, and after them it sets what is there.
fn leaves_no_trace(s: &mut Shared<'_>, done: &[Merged], left: &[Merged], changed: &BTreeSet<u32>) -> bool {
    let skip = values(s, left);
    let full = values(s, done);
    let again = |s: &mut Shared<'_>, t: Term, now: &Values| {
        let with = now.iter().map(|(v, t)| (s.arena.atom(Atom::Var(*v)), *t)).collect();
        s.arena.replace(t, &with, &mut FxHashMap::default())
    };
    let twice = skip.iter().all(|(_, t)| again(s, *t, &skip) == *t);
    let after = skip.iter().all(|(v, t)| {
        let old = s.arena.atom(Atom::Var(*v));
        again(s, *t, &full) == full.get(v).copied().unwrap_or(old)
    });
    twice && after && !reads(s, done, changed)
}

/// The variables that nodes change.
fn changed(s: &mut Shared<'_>, list: &[Merged]) -> BTreeSet<u32> {
    let values = values(s, list);
    values.iter().filter(|(v, t)| s.arena.atom(Atom::Var(**v)) != **t).map(|(v, _)| *v).collect()
}

/// Whether nodes read a variable before they set it.
fn reads(s: &Shared<'_>, list: &[Merged], of: &BTreeSet<u32>) -> bool {
    let mut open = of.clone();
    for n in list {
        let mut read = false;
        let is_open = |x| matches!(x, Atom::Var(v) if open.contains(&v));
        each_term(std::slice::from_ref(n), &mut |t| read |= s.arena.mentions(t, is_open));
        if read {
            return true;
        }
        if let MergedKind::Set(v, _) = &n.kind {
            open.remove(v);
        }
    }
    false
}

/// The values of variables after nodes; those that inner nodes set are unknown.
fn values(s: &mut Shared<'_>, list: &[Merged]) -> Values {
    let mut now = Values::new();
    for n in list {
        match &n.kind {
            MergedKind::Set(v, t) => {
                let with = now.iter().map(|(v, t)| (s.arena.atom(Atom::Var(*v)), *t)).collect();
                let t = s.arena.replace(*t, &with, &mut FxHashMap::default());
                now.insert(*v, t);
            }
            _ => {
                let mut inner = BTreeSet::new();
                each_set(std::slice::from_ref(n), &mut |v, _| inner.extend([v]));
                for v in inner {
                    let any = s.arena.opaque("a variable that an inner loop sets");
                    now.insert(v, any);
                }
            }
        }
    }
    now
}
