//! Rings that are moved on by a value of the launch, such as the steps of a tile.
//!
//! CUTLASS's `PipelineState::advance(n)` sets `slot = (slot + n) % S`. It flips the phase if
//! `n < S && slot + n >= S`. It also does so if `n >= S && (slot + n) / S % 2 == 1`. For every slot, phase and `n`, the counter of the
//! ring grows by `n`. That is found by evaluation: from some `n` on, the new slot and phase recur with a period, which
//! follows from the operators between `n` and them. So the values of `n` up to one period decide for all.

use rustc_hash::FxHashMap;
use warpline_sim::ir::{gcd, lcm};

use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// The largest number of values of `n` that are evaluated.
const MOST: i64 = 1 << 10;

/// How a term depends on `n`: `f(n + period) = f(n) + gain` from `n = first` on, for all values of its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Recurrence {
    first: i64,
    period: i64,
    gain: i64,
}

/// A ring whose slot and phase are known: `n = slot + slots * phase`.
pub(crate) struct Turn {
    pub(crate) slots: i64,
    pub(crate) slot: Atom,
    pub(crate) phase: Option<Atom>,
}

impl Turn {
    fn all(&self) -> i64 {
        self.slots * if self.phase.is_some() { 2 } else { 1 }
    }

    /// The value of a term for a value of the counter and one of `n`.
    fn value(&self, a: &mut Arena, t: Term, counter: i64, (by, n): (Term, i64)) -> Option<i64> {
        let read = |x: Atom| match x {
            x if x == self.slot => Some(counter % self.slots),
            x if Some(x) == self.phase => Some(counter / self.slots),
            _ => None,
        };
        a.value_with(t, &read, &mut FxHashMap::from_iter([(by, Some(n))]))
    }

    /// The least and the largest value of a term for `n` of one period.
    fn extremes(&self, a: &mut Arena, t: Term, by: Term, of: Recurrence) -> Option<(i64, i64)> {
        let mut found: Option<(i64, i64)> = None;
        for n in of.first..of.first + of.period {
            for counter in 0..self.all() {
                let v = self.value(a, t, counter, (by, n))?;
                let (low, high) = found.unwrap_or((v, v));
                found = Some((low.min(v), high.max(v)));
            }
        }
        found
    }

    fn recurrence(&self, a: &mut Arena, t: Term, by: Term) -> Option<Recurrence> {
        if t == by {
            return Some(Recurrence { first: 0, period: 1, gain: 1 });
        }
        let one = match a.node(t).clone() {
            Node::Const(_) => Recurrence { first: 0, period: 1, gain: 0 },
            Node::Atom(x) => {
                return (x == self.slot || Some(x) == self.phase).then_some(Recurrence {
                    first: 0,
                    period: 1,
                    gain: 0,
                });
            }
            Node::Sum(_, parts) => {
                let mut all = Recurrence { first: 0, period: 1, gain: 0 };
                for (x, c) in parts.iter() {
                    let x = self.recurrence(a, *x, by)?;
                    let period = lcm(all.period as usize, x.period as usize) as i64;
                    let gain = all.gain * (period / all.period) + c.checked_mul(x.gain)? * (period / x.period);
                    all = Recurrence { first: all.first.max(x.first), period, gain };
                }
                all
            }
            Node::Table(i, ..) => self.recurrence(a, i, by).filter(|x| x.gain == 0)?,
            Node::Op(op @ (Op::Div | Op::DivZero | Op::Rem), args) => {
                let x = self.recurrence(a, args[0], by)?;
                let divisor = a.constant(args[1]).filter(|by| *by > 0)?;
                // A quotient that rounds to zero is rounded down from where the dividend is not negative.
                let first = match op {
                    Op::DivZero => {
                        let (low, _) = self.extremes(a, args[0], by, x)?;
                        let turns = if low < 0 { (-low - 1).checked_div(x.gain.max(0))? + 1 } else { 0 };
                        x.first + turns * x.period
                    }
                    _ => x.first,
                };
                if x.gain < 0 && op == Op::DivZero {
                    return None;
                }
                let times = divisor / gcd(x.gain, divisor);
                let gain = if op == Op::Rem { 0 } else { x.gain * times / divisor };
                Recurrence { first, period: x.period.checked_mul(times)?, gain }
            }
            Node::Op(Op::Ge | Op::Eq, args) => {
                let x = self.recurrence(a, args[0], by)?;
                if x.gain == 0 {
                    x
                } else {
                    // From here on the operand is on one side of zero.
                    let (low, high) = self.extremes(a, args[0], by, x)?;
                    let beyond = if x.gain > 0 { -low } else { high };
                    let turns = (beyond.max(-1) + 1).div_euclid(x.gain.abs()) + 1;
                    Recurrence { first: x.first + turns * x.period, period: 1, gain: 0 }
                }
            }
            Node::Op(Op::Both | Op::Either | Op::Not | Op::If | Op::Xor, args) => {
                let mut all = Recurrence { first: 0, period: 1, gain: 0 };
                for x in args.iter() {
                    let x = self.recurrence(a, *x, by).filter(|x| x.gain == 0)?;
                    let period = lcm(all.period as usize, x.period as usize) as i64;
                    all = Recurrence { first: all.first.max(x.first), period, gain: 0 };
                }
                all
            }
            Node::Op(..) => return None,
        };
        (one.period <= MOST && one.first <= MOST).then_some(one)
    }

    /// What a slot and a phase are moved on by: a multiple of a value of the launch, and a constant.
    pub(crate) fn moved(&self, a: &mut Arena, slot: Term, phase: Option<Term>) -> Option<(Term, i64)> {
        let (by, times) = self.value_of_launch(a, slot)?;
        let mut upto = self.all();
        let mut first = 0;
        for t in [Some(slot), phase].into_iter().flatten() {
            let of = self.recurrence(a, t, by).filter(|of| of.gain == 0)?;
            upto = lcm(upto as usize, of.period as usize) as i64;
            first = first.max(of.first);
        }
        if first + upto > MOST {
            return None;
        }
        let mut constant = None;
        for n in 0..first + upto {
            for counter in 0..self.all() {
                let mut next = self.value(a, slot, counter, (by, n))?;
                if let Some(p) = phase {
                    next += self.slots * self.value(a, p, counter, (by, n))?;
                }
                let k = (next - counter - times * n).rem_euclid(self.all());
                if !(0..self.all()).contains(&next) || constant.is_some_and(|known| known != k) {
                    return None;
                }
                constant = Some(k);
            }
        }
        Some((a.scale(by, times), constant?))
    }

    /// The value of the launch, and its multiple, that is added to a slot before its remainder is taken.
    fn value_of_launch(&self, a: &Arena, slot: Term) -> Option<(Term, i64)> {
        let Node::Op(Op::Rem, args) = a.node(slot) else { return None };
        let (_, parts) = a.parts(args[0]);
        let varies = |x: Atom| matches!(x, Atom::Var(_) | Atom::Counter(_) | Atom::Opaque(_));
        let mut others = parts.iter().filter(|(x, _)| *a.node(*x) != Node::Atom(self.slot));
        let (by, times) = others.next()?;
        (others.next().is_none() && *times > 0 && !a.mentions(*by, varies)).then_some((*by, *times))
    }
}
