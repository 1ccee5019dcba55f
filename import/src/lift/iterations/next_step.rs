//! What the variables of an unrolled step are in the next one: see [`super::steps`].

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::with_atoms;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, Term};

use super::steps::{Expansion, same};

/// The largest number of values of a variable whose next value is looked up.
const MOST_VALUES: i64 = 64;

/// The value of a variable in the next step. It follows from a term of an operation that determines the variable, and the
/// same term of the next step. `each` is the number of operations of a step.
pub(crate) fn next_value(s: &mut Shared<'_>, run: &Expansion<'_>, each: usize, v: u32) -> Option<Term> {
    let atom = s.arena.atom(Atom::Var(v));
    let pairs = || {
        let steps = run.items[..each].iter().zip(&run.items[each..]);
        steps.flat_map(|(now, next)| now.terms.iter().copied().zip(next.terms.iter().copied()))
    };
    // A sum of a number and a multiple of the variable.
    let plain = pairs().find_map(|(now, next)| {
        let (offset, parts) = s.arena.parts(now);
        match *parts {
            [(x, by)] if x == atom => Some((next, offset, by)),
            _ => None,
        }
    });
    if let Some((next, offset, by)) = plain {
        let (first, parts) = s.arena.parts(next);
        let first = first - offset;
        let whole = first % by == 0 && parts.iter().all(|(_, c)| c % by == 0);
        return whole.then(|| s.arena.sum(first / by, parts.iter().map(|(t, c)| (*t, c / by)).collect()));
    }
    // Such as the opposite of a phase.
    let pairs: Vec<(Term, Term)> = pairs().collect();
    pairs.into_iter().find_map(|(now, next)| {
        let (least, values) = inverse(s, now, v)?;
        let index = s.arena.plus(next, -least);
        let last = *values.last()?;
        Some(s.arena.table(index, values, vec![last]))
    })
}

/// The least value of a term of one variable alone that has another value for each value of the variable. For each number
/// from there on, the value of the variable.
fn inverse(s: &mut Shared<'_>, t: Term, v: u32) -> Option<(i64, Vec<i64>)> {
    let (low, high) = s.arena.var_bounds(v).filter(|(low, high)| high - low < MOST_VALUES)?;
    if *s.arena.atoms(t) != [Atom::Var(v)] {
        return None;
    }
    let mut values = Vec::new();
    for x in low..=high {
        values.push((s.arena.value(t, &|a| (a == Atom::Var(v)).then_some(x))?, x));
    }
    values.sort_unstable();
    let (least, most) = (values.first()?.0, values.last()?.0);
    if values.windows(2).any(|w| w[0].0 == w[1].0) || most - least >= MOST_VALUES {
        return None;
    }
    let mut inverse = vec![low; (most - least + 1) as usize];
    values.iter().for_each(|(y, x)| inverse[(y - least) as usize] = *x);
    Some((least, inverse))
}

/// Terms of the steps of an iteration as one term over the number of the step, such as a slot that a variable moves on. In
/// each, the counter `i` stands in multiples of the number of steps only.
pub(crate) fn by_number(s: &mut Shared<'_>, i: Term, all: &[Term]) -> Option<Term> {
    let u = all.len() as i64;
    let iterations = [(vec![(i, u)].into(), i)];
    let t = with_atoms(&mut s.arena, *all.first()?, &iterations, &mut FxHashMap::default());
    for (j, of) in (0..).zip(all) {
        let number = s.arena.sum(j, vec![(i, u)]);
        let step = s.arena.replace(t, &FxHashMap::from_iter([(i, number)]), &mut FxHashMap::default());
        if !same(s, *of, step) {
            return None;
        }
    }
    Some(t)
}
