//! Conditions that the trip count of their loop decides. A loop of two steps an iteration asks before the second one
//! whether there is one. A loop of `n / 2` iterations always has it.
//!
//! A comparison that rises or falls with the iteration is decided by the first or the last iteration. The conditions
//! around the loop say which launches get there.

use rustc_hash::FxHashMap;

use crate::lift::merge::{Merged, MergedKind};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Facts, Node, Op, Term};

/// The tree without branches that are decided so.
pub(crate) fn decided(s: &mut Shared<'_>, list: Vec<Merged>) -> Vec<Merged> {
    in_list(&mut s.arena, list, &Facts::default(), &mut Vec::new())
}

/// The same below conditions, in loops with these counters and trip counts.
fn in_list(a: &mut Arena, list: Vec<Merged>, facts: &Facts, loops: &mut Vec<(u32, Term)>) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, yes, no) => match holds(a, c, facts, loops) {
                Some(true) => {
                    out.extend(in_list(a, yes, facts, loops));
                    continue;
                }
                Some(false) => {
                    out.extend(in_list(a, no, facts, loops));
                    continue;
                }
                None => {
                    let mut side = |list, outcome| {
                        let mut facts = facts.clone();
                        if of_launch(a, c) {
                            a.learn(c, outcome, &mut facts);
                        }
                        in_list(a, list, &facts, loops)
                    };
                    let (yes, no) = (side(yes, true), side(no, false));
                    MergedKind::If(c, yes, no)
                }
            },
            MergedKind::For(h, count, body) => {
                loops.push((h, count));
                let body = in_list(a, body, facts, loops);
                loops.pop();
                MergedKind::For(h, count, body)
            }
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

fn of_launch(a: &Arena, t: Term) -> bool {
    !a.mentions(t, |x| !matches!(x, Atom::Param(..) | Atom::Place(_)))
}

/// Whether a condition holds in all iterations of the loops around it, or in none.
fn holds(a: &mut Arena, c: Term, facts: &Facts, loops: &[(u32, Term)]) -> Option<bool> {
    match a.node(c).clone() {
        Node::Op(Op::Not, args) => holds(a, args[0], facts, loops).map(|v| !v),
        Node::Op(op @ (Op::Both | Op::Either), args) => {
            let (x, y) = (holds(a, args[0], facts, loops), holds(a, args[1], facts, loops));
            let one = op == Op::Either;
            match (x, y) {
                (Some(v), _) | (_, Some(v)) if v == one => Some(one),
                (Some(_), Some(_)) => Some(!one),
                _ => None,
            }
        }
        Node::Op(Op::Ge, args) => {
            let x = args[0];
            let (_, parts) = a.parts(x);
            let (h, count, by) = loops.iter().rev().find_map(|(h, count)| {
                let i = a.atom(Atom::Counter(*h));
                let by = parts.iter().find(|(t, _)| *t == i)?.1;
                let alone = parts.iter().all(|(t, _)| *t == i || of_launch(a, *t));
                (alone && of_launch(a, *count)).then_some((i, *count, by))
            })?;
            let first = a.int(0);
            let last = a.plus(count, -1);
            let (least, most) = if by > 0 { (first, last) } else { (last, first) };
            let mut at = |i: Term| a.replace(x, &FxHashMap::from_iter([(h, i)]), &mut FxHashMap::default());
            let (least, most) = (at(least), at(most));
            if each_choice(a, most).into_iter().all(|t| a.bounded(t, facts).1 < 0) {
                Some(false)
            } else if each_choice(a, least).into_iter().all(|t| a.bounded(t, facts).0 >= 0) {
                Some(true)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The values that a sum has where its first choice of the smaller or larger of two terms is either of them.
fn each_choice(a: &mut Arena, t: Term) -> Vec<Term> {
    let (_, parts) = a.parts(t);
    let choice = parts.iter().find_map(|(x, by)| match a.node(*x) {
        Node::Op(Op::Max | Op::Min, args) => Some((*x, *by, args.clone())),
        _ => None,
    });
    let Some((x, by, args)) = choice else { return vec![t] };
    let x = a.scale(x, -by);
    let rest = a.add(t, x);
    args.iter()
        .map(|y| {
            let y = a.scale(*y, by);
            a.add(rest, y)
        })
        .collect()
}
