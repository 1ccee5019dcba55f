//! Conditions that ask whether a loop has an iteration.
//!
//! A loop of `min(n, 64 * cta + 64) / 16` iterations, rounded up, has one if and only if `n >= 1`. A comparison `n >= 1`
//! then reads the trip count: both are not free of each other.

use rustc_hash::FxHashMap;

use crate::symbolic::{Arena, Node, Op, Term};

use super::exprs::Names;
use super::merge::Merged;
use super::shared::Shared;
use super::symbols::replaced;

/// Replaces comparisons that are equal to a comparison of a trip count with 0.
pub(super) fn by_counts(s: &mut Shared<'_>, names: &Names, tree: Vec<Merged>) -> Vec<Merged> {
    let mut with = FxHashMap::default();
    for count in &names.trips {
        for x in alike(&mut s.arena, *count) {
            let (of, by) = (asked(&mut s.arena, x), asked(&mut s.arena, *count));
            with.extend(of.into_iter().zip(by));
        }
    }
    if with.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The conditions `t >= 1` and `t <= 0`.
fn asked(a: &mut Arena, t: Term) -> [Term; 2] {
    let (less, negative) = (a.plus(t, -1), a.scale(t, -1));
    [a.ge(less), a.ge(negative)]
}

/// The terms that are at least 1 if and only if a term is.
fn alike(a: &mut Arena, t: Term) -> Vec<Term> {
    let mut list: Vec<Term> = Vec::new();
    let mut open = vec![t];
    while let Some(t) = open.pop() {
        list.push(t);
        let Node::Op(op, args) = a.node(t).clone() else { continue };
        match (op, &args[..]) {
            (Op::Div | Op::DivZero, [x, by]) => {
                // The quotient is at least 1 where the dividend is at least the divisor.
                if let Some(by) = a.constant(*by).filter(|by| *by > 0) {
                    open.push(a.plus(*x, 1 - by));
                }
            }
            (Op::Min, [x, y]) => {
                open.extend((a.range(*y).0 >= 1).then_some(*x));
                open.extend((a.range(*x).0 >= 1).then_some(*y));
            }
            (Op::Max, [x, y]) => {
                open.extend((a.range(*y).1 <= 0).then_some(*x));
                open.extend((a.range(*x).1 <= 0).then_some(*y));
            }
            _ => {}
        }
    }
    list.retain(|x| *x != t);
    list
}
