//! Terms of a flattened loop as terms over its tiles and steps.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::lift::iterations::data;
use crate::lift::merge::{Merged, Set};
use crate::symbolic::Atom;
use crate::symbolic::{Arena, Facts, Node, Op, Term};

/// The largest offset of a register or condition.
pub(super) const MOST: i64 = 8;

/// A number of iterations that is a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    /// All iterations.
    pub(super) all: Term,
    /// Steps of a tile.
    pub(super) steps: Term,
    /// Tiles.
    pub(super) tiles: Term,
}

/// How terms of one place are rewritten.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) products: Vec<Product>,
    /// The loop's counter, with the counters of tiles and steps, in the body of a loop.
    pub(super) inside: Option<(Term, Product, Term, Term)>,
    /// Registers that wrap, with their offset from the counter of steps; behind the loop, from zero.
    pub(super) wraps: BTreeMap<u32, (Product, i64)>,
    /// Behind a loop: the product, the iterations missing at the end.
    pub(super) behind: Option<(Term, i64)>,
    /// Variables that run with the iterations, by the lengths of the start and the cycle.
    pub(super) runs: BTreeMap<(usize, usize), u32>,
    /// What holds behind loops, for the warps of each.
    pub(super) later: Vec<(Set, Box<Rules>)>,
}

impl Rules {
    /// The rules for a node of these warps.
    pub(super) fn of(&self, warps: Set) -> Rules {
        match self.later.iter().rev().find(|(all, _)| warps & !all == 0) {
            Some((_, r)) => Rules { later: self.later.clone(), ..(**r).clone() },
            None => self.clone(),
        }
    }

    /// Forgets what is known of variables that nodes set. Returns whether anything was.
    pub(super) fn forget(&mut self, n: &Merged) -> bool {
        let mut any = false;
        data::each_set(std::slice::from_ref(n), &mut |v, _| {
            any |= self.wraps.remove(&v).is_some();
            for (_, r) in &mut self.later {
                any |= r.wraps.remove(&v).is_some();
            }
        });
        any
    }
}

/// `t * steps + k + d < tiles * steps`, for `k < steps`.
pub(super) fn within(a: &mut Arena, p: Product, (tile, step): (Term, Term), d: i64) -> Term {
    // The number of tiles that d steps go on by is at most w.
    let mut any = a.int(0);
    for w in 0..=d {
        let all = a.scale(p.steps, w + 1);
        let left = a.sub(all, step);
        let left = a.plus(left, -d - 1);
        let few = if w == d { a.int(1) } else { a.ge(left) };
        let tiles = a.sub(p.tiles, tile);
        let tiles = a.plus(tiles, -1 - w);
        let more = if w == 0 { a.int(1) } else { a.ge(tiles) };
        let both = a.both(few, more);
        any = a.either(any, both);
    }
    any
}

/// `tiles * steps >= c`, for positive steps.
fn at_least(a: &mut Arena, p: Product, c: i64) -> Option<Term> {
    if c == 0 {
        return Some(a.ge(p.tiles));
    }
    if !(1..=MOST).contains(&c) {
        return None;
    }
    let mut any = a.int(0);
    for n in 1..=c {
        let tiles = a.plus(p.tiles, -n);
        let steps = a.plus(p.steps, -((c + n - 1) / n));
        let (tiles, steps) = (a.ge(tiles), a.ge(steps));
        let few = (c + n - 1) / n;
        let both = match (few <= 1, n == 1) {
            (true, _) => tiles,
            // Checked below: no tile, no step.
            (false, true) if c > 1 => steps,
            (false, _) => a.both(tiles, steps),
        };
        any = a.either(any, both);
    }
    let one = a.plus(p.tiles, -1);
    let one = a.ge(one);
    Some(a.both(one, any))
}

/// Terms that were rewritten by the same rules, under the same facts.
pub(super) type Rewritten = FxHashMap<Term, Term>;

/// A term that follows the rules.
pub(super) fn rewritten(a: &mut Arena, t: Term, rules: &Rules, facts: &Facts, memo: &mut Rewritten) -> Term {
    if let Some(x) = memo.get(&t) {
        return *x;
    }
    let special = match a.node(t).clone() {
        Node::Op(Op::Ge, args) => compared(a, args[0], rules, facts),
        Node::Op(Op::Eq, args) => equal(a, args[0], rules),
        Node::Table(i, first, cycle) => sequence(a, i, &first, &cycle, rules),
        _ => None,
    };
    let new = match special {
        Some(x) => x,
        None => match a.node(t).clone() {
            Node::Const(_) | Node::Atom(_) => t,
            Node::Sum(k, parts) => a.sum_of(k, &parts, &mut |a, x| rewritten(a, x, rules, facts, memo)),
            Node::Op(op, args) => {
                let args: Vec<Term> = args.iter().map(|x| rewritten(a, *x, rules, facts, memo)).collect();
                a.op(op, &args)
            }
            Node::Table(i, first, cycle) => {
                let i = rewritten(a, i, rules, facts, memo);
                a.table(i, first.to_vec(), cycle.to_vec())
            }
        },
    };
    memo.insert(t, new);
    new
}

/// `x >= 0` of a product or of a product less the counter.
fn compared(a: &mut Arena, x: Term, rules: &Rules, facts: &Facts) -> Option<Term> {
    let (k, parts) = a.parts(x);
    let of = |t: Term| parts.iter().find(|(y, _)| *y == t).map(|(_, c)| *c);
    let p = *rules.products.iter().find(|p| of(p.all).is_some())?;
    let positive = {
        let less = a.plus(p.steps, -1);
        let t = a.ge(less);
        a.decide(t, facts) == Some(true)
    };
    let up = match of(p.all)? {
        1 => true,
        -1 => false,
        _ => return None,
    };
    if !positive {
        return None;
    }
    // up: all - i >= -k. Else all - i <= k, not all - i >= k + 1.
    let c = if up { -k } else { k + 1 };
    let t = match (parts.len(), rules.inside) {
        (1, _) => at_least(a, p, c)?,
        (2, Some((counter, q, tile, step))) if q == p && of(counter)? == if up { -1 } else { 1 } => {
            if c <= 1 {
                a.int(1)
            } else if c > MOST {
                return None;
            } else {
                within(a, p, (tile, step), c - 1)
            }
        }
        _ => return None,
    };
    Some(if up { t } else { a.not(t) })
}

/// `x == 0` of a register that wraps, less its last or first value.
fn equal(a: &mut Arena, x: Term, rules: &Rules) -> Option<Term> {
    // What wraps to zero was the last.
    if let Node::Op(Op::If, args) = a.node(x).clone()
        && a.constant(args[1]) == Some(0)
    {
        let (k, parts) = a.parts(args[2]);
        let [(t, 1)] = *parts else { return None };
        let wraps = matches!(a.node(t), Node::Atom(Atom::Var(v)) if rules.wraps.contains_key(v));
        let Node::Op(Op::Eq, last) = a.node(args[0]).clone() else { return None };
        return if k == 1 && wraps { equal(a, last[0], rules) } else { None };
    }
    let (k, parts) = a.parts(x);
    let (v, sign, p, c) = parts.iter().find_map(|(t, c)| match a.node(*t) {
        Node::Atom(Atom::Var(v)) if c.abs() == 1 => rules.wraps.get(v).map(|(p, o)| (*t, *c, *p, *o)),
        _ => None,
    })?;
    // v == rest
    let mut rest = a.int(k);
    for (t, c) in parts.iter().filter(|(t, _)| *t != v) {
        let y = a.scale(*t, *c);
        rest = a.add(rest, y);
    }
    let rest = a.scale(rest, -sign);
    let last = a.plus(p.steps, -1);
    let more = if rest == last {
        1
    } else if a.constant(rest) == Some(0) {
        0
    } else {
        return None;
    };
    // (position + c + more) % steps == 0
    let n = c + more;
    let mut any = a.int(0);
    match rules.inside {
        Some((_, q, _, step)) if q == p => {
            for m in 0..=n {
                let d = a.scale(p.steps, -m);
                let d = a.add(d, step);
                let d = a.plus(d, n);
                let same = a.eq(d);
                any = a.either(any, same);
            }
        }
        _ if n == 0 => any = a.int(1),
        _ => {
            for m in (1..=n.abs()).filter(|m| n % m == 0) {
                let d = a.plus(p.steps, -m);
                let same = a.eq(d);
                any = a.either(any, same);
            }
        }
    }
    Some(any)
}

/// A sequence of the counter, or of the number of iterations behind the loop, as one of a variable that runs with them.
fn sequence(a: &mut Arena, i: Term, first: &[i64], cycle: &[i64], rules: &Rules) -> Option<Term> {
    let (k, parts) = a.parts(i);
    let shift = match (&*parts, rules.inside, rules.behind) {
        ([(t, 1)], Some((counter, ..)), _) if *t == counter => k,
        ([(t, 1)], None, Some((all, less))) if *t == all => k + less,
        _ => return None,
    };
    // The index is never negative, so a sequence without a start goes on backwards.
    let shift = if first.is_empty() { shift.rem_euclid(cycle.len() as i64) } else { shift };
    if shift < 0 {
        return None;
    }
    let fits =
        |(start, long): &(usize, usize)| *start + shift as usize >= first.len() && long.is_multiple_of(cycle.len());
    let ((start, long), v) = rules.runs.iter().find(|(shape, _)| fits(shape))?;
    let at = |i: usize| first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()]);
    let n = start + long;
    let values = (0..n - 1).map(|i| at(i + shift as usize)).collect();
    let x = a.atom(Atom::Var(*v));
    Some(a.table(x, values, vec![at(n - 1 + shift as usize)]))
}
