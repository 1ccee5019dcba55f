//! Terms over a number of steps that repeat from some number on, but for what grows evenly with it.

use warpline_sim::ir::gcd;

use crate::lift::merge::{Merged, MergedKind, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Node, Op, Term};

use super::reroll::MOST_TRIED;
use super::steps::with;

/// How a term follows a number of steps `n`. From `n = from` on, the term grows by `rise` where `n` grows by `period`.
#[derive(Clone, Copy, Debug)]
struct Follows {
    from: i64,
    period: i64,
    rise: i64,
    /// How far the term is at most from the line through 0 with this slope.
    spread: i64,
}

/// A term that does not follow the number.
const CONSTANT: Follows = Follows { from: 0, period: 1, rise: 0, spread: 0 };

/// The spread of a term without bounds.
const FAR: i64 = 1 << 40;

/// A number of steps behind all that terms are compared with.
const LATE: i64 = 1 << 20;

/// The number of steps from which on all terms of operations and variables repeat, and after how many steps; `None` where
/// that is not known, or too many.
pub(crate) fn all(s: &mut Shared<'_>, list: &[Merged], count: Term) -> Option<(i64, i64)> {
    let mut terms = Vec::new();
    each_value(list, &mut |t| terms.push(t));
    terms.sort_unstable();
    terms.dedup();
    let any = s.arena.opaque("a number of steps");
    let of_count = s.arena.atoms(count);
    let mut all = CONSTANT;
    for t in terms {
        let atoms = s.arena.atoms(t);
        if of_count.iter().any(|a| !atoms.contains(a)) {
            continue;
        }
        let t = with(s, t, count, any);
        let found = follows(s, t, any)?;
        all = Follows { from: all.from.max(found.from), period: common(all.period, found.period)?, ..CONSTANT };
    }
    Some((all.from, all.period))
}

/// Calls `f` on each term of operations and each value of a variable.
fn each_value(list: &[Merged], f: &mut dyn FnMut(Term)) {
    for n in list {
        match &n.kind {
            MergedKind::If(_, a, b) => {
                each_value(a, f);
                each_value(b, f);
            }
            MergedKind::For(_, _, body) => each_value(body, f),
            _ => each_term(std::slice::from_ref(n), &mut |t| f(t)),
        }
    }
}

/// The smallest common multiple of two periods.
fn common(x: i64, y: i64) -> Option<i64> {
    x.checked_mul(y / gcd(x, y)).filter(|p| *p <= MOST_TRIED)
}

/// A sum of a term and a multiple of another one.
fn sum(x: Follows, y: Follows, times: i64) -> Option<Follows> {
    let period = common(x.period, y.period)?;
    let rise =
        (x.rise * (period / x.period)).checked_add(y.rise.checked_mul(period / y.period)?.checked_mul(times)?)?;
    let spread = x.spread.saturating_add(y.spread.saturating_mul(times.saturating_abs())).min(FAR);
    Some(Follows { from: x.from.max(y.from), period, rise, spread })
}

/// A term that only depends on terms that repeat.
fn repeats(all: &[Follows]) -> Option<Follows> {
    let period = all.iter().try_fold(1, |p, x| common(p, x.period))?;
    let from = all.iter().map(|x| x.from).max().unwrap_or(0);
    all.iter().all(|x| x.rise == 0).then_some(Follows { from, period, rise: 0, spread: 1 })
}

/// The number from which on the sign of a term no longer changes, if the term grows or falls.
fn settled(of: Follows) -> Option<i64> {
    // Twice as far, as the spread is that of the term at each number.
    let far = of.spread.saturating_add(1).saturating_mul(2).saturating_mul(of.period);
    (of.rise != 0).then(|| of.from.saturating_add(far))
}

fn follows(s: &mut Shared<'_>, t: Term, any: Term) -> Option<Follows> {
    let Node::Atom(number) = *s.arena.node(any) else { return None };
    if t == any {
        return Some(Follows { rise: 1, ..CONSTANT });
    }
    if !s.arena.mentions(t, |a| a == number) {
        let (low, high) = s.arena.range(t);
        let spread = low.saturating_abs().max(high.saturating_abs()).min(FAR);
        return Some(Follows { spread, ..CONSTANT });
    }
    match s.arena.node(t).clone() {
        Node::Sum(k, parts) => {
            let k = Follows { spread: k.saturating_abs().min(FAR), ..CONSTANT };
            parts.iter().try_fold(k, |all, (x, c)| sum(all, follows(s, *x, any)?, *c))
        }
        Node::Op(op @ (Op::Div | Op::DivZero | Op::Rem), args) => {
            let by = s.arena.constant(args[1]).filter(|by| *by > 0)?;
            let of = follows(s, args[0], any)?;
            let times = by / gcd(by, of.rise);
            let period = of.period.checked_mul(times).filter(|p| *p <= MOST_TRIED)?;
            // Rounding to zero differs for numbers below 0 only.
            let from = if op == Op::DivZero { settled(of).unwrap_or(of.from) } else { of.from };
            let (rise, spread) = match op {
                Op::Rem => (0, by),
                _ => (of.rise * times / by, of.spread / by + 1),
            };
            Some(Follows { from, period, rise, spread })
        }
        Node::Op(Op::Ge | Op::Eq, args) => {
            let of = follows(s, args[0], any)?;
            let from = settled(of);
            Some(from.map_or(Follows { spread: 1, ..of }, |from| Follows { from, spread: 1, ..CONSTANT }))
        }
        Node::Op(op @ (Op::Min | Op::Max), args) => {
            let (x, y) = (follows(s, args[0], any)?, follows(s, args[1], any)?);
            let of = sum(x, y, -1)?;
            let from = settled(of).unwrap_or(of.from);
            // Of two terms that grow evenly, the one that grows faster is larger in the end.
            let larger = if of.rise > 0 { x } else { y };
            let smaller = if of.rise > 0 { y } else { x };
            let last = if of.rise == 0 {
                Follows { period: of.period, rise: x.rise * (of.period / x.period), ..x }
            } else if op == Op::Max {
                larger
            } else {
                smaller
            };
            Some(Follows { from: from.max(last.from), spread: x.spread.max(y.spread), ..last })
        }
        Node::Op(Op::Not | Op::Both | Op::Either, args) => {
            let list = args.iter().map(|x| follows(s, *x, any)).collect::<Option<Vec<_>>>()?;
            repeats(&list)
        }
        Node::Op(Op::If, args) => {
            let (c, x, y) = (follows(s, args[0], any)?, follows(s, args[1], any)?, follows(s, args[2], any)?);
            let from = c.from.max(x.from).max(y.from);
            if c.period == 1 && from < LATE {
                let holds = s.arena.value(args[0], &|a| (a == number).then_some(LATE));
                if let Some(holds) = holds {
                    return Some(Follows { from, ..if holds != 0 { x } else { y } });
                }
            }
            let even = sum(x, y, -1)?.rise == 0;
            let period = common(common(x.period, y.period)?, c.period)?;
            let spread = x.spread.max(y.spread);
            even.then(|| Follows { from, period, rise: x.rise * (period / x.period), spread })
        }
        // Bits of numbers that repeat, such as phases.
        Node::Op(Op::Xor, args) => {
            let list = args.iter().map(|x| follows(s, *x, any)).collect::<Option<Vec<_>>>()?;
            repeats(&list).map(|f| Follows { spread: FAR, ..f })
        }
        Node::Table(index, first, cycle) => {
            let of = follows(s, index, any)?;
            let by = cycle.len() as i64;
            let period = of.period.checked_mul(by / gcd(by, of.rise)).filter(|p| *p <= MOST_TRIED)?;
            let late = (first.len() as i64 + 2).saturating_mul(of.period);
            let from = settled(of).unwrap_or(of.from).saturating_add(late);
            let spread = first.iter().chain(cycle.iter()).map(|v| v.saturating_abs()).max().unwrap_or(0);
            Some(Follows { from, period, rise: 0, spread })
        }
        _ => None,
    }
}
