//! The names of functions that loops compute, and which of them are never negative.
//!
//! A sum of what votes count is not negative if its first value is not. So the name of a function says which of its operands
//! must not be negative for its value not to be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::flow::BlockId;
use crate::lift::facts::loop_parts::When;
use crate::lift::facts::shape::{CARRIED, INNER, Shape};
use crate::ptx::Reg;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

use super::functions::{Env, Eval, Iteration};

/// A loop that was evaluated.
pub(crate) struct Loop {
    pub(crate) header: u32,
    pub(crate) before: Env,
    pub(crate) changed: BTreeSet<Reg>,
    /// Those of them that differ by lane.
    pub(crate) differ: BTreeSet<Reg>,
    pub(crate) one: Iteration,
}

/// A function: its name, its operands, and whether its values differ by lane.
pub(crate) type Function = (i64, Vec<Term>, bool);

/// What is compared with 0: a constant and a multiple of the value of a function.
pub(crate) type Compared = (Op, i64, i64);

impl Loop {
    /// The function that a part names.
    pub(crate) fn named(&self, eval: &mut Eval<'_, '_, '_, '_>, r: Reg) -> Option<Function> {
        match eval.part.when {
            When::Behind if eval.differs(self.one.again) => None,
            _ => self.function(eval, r),
        }
    }

    /// The function that a register behind the loop compares with a number, and the comparison. Such as whether all lanes
    /// voted: other code may compare the last vote again.
    pub(crate) fn compared(&self, eval: &mut Eval<'_, '_, '_, '_>, r: Reg) -> Option<(Function, Compared)> {
        if eval.part.when != When::Behind || eval.differs(self.one.again) {
            return None;
        }
        let t = (*self.one.left.as_ref()?.0.get(&r)?)?;
        let a = &eval.walk.s.arena;
        let Node::Op(op @ (Op::Eq | Op::Ge), args) = a.node(t).clone() else { return None };
        let (k, parts) = a.parts(args[0]);
        let [(value, by)] = *parts else { return None };
        let is_word = matches!(a.node(value), Node::Op(Op::Load, _));
        is_word.then_some(())?;
        Some((self.function_of(eval, r, Some(value))?, (op, k, by)))
    }

    /// Whether the loop is left to a block, as a function. All lanes leave it together.
    pub(crate) fn leaves_to(&self, eval: &mut Eval<'_, '_, '_, '_>, r: Reg, to: BlockId) -> Option<Function> {
        let ends = self.one.ends.iter().filter(|(b, _)| *b == to).map(|(_, c)| *c);
        let when = ends.reduce(|a, b| eval.walk.s.arena.either(a, b))?;
        let apart = eval.differs(self.one.again) || eval.differs(when);
        (!apart).then(|| self.function_of(eval, r, Some(when)))?
    }

    /// What the loop leaves in a register, or what the register is at the start of an iteration of the part's loop.
    pub(crate) fn function(&self, eval: &mut Eval<'_, '_, '_, '_>, r: Reg) -> Option<Function> {
        self.function_of(eval, r, None)
    }

    /// The same, of a value where the loop is left, if there is one.
    fn function_of(&self, eval: &mut Eval<'_, '_, '_, '_>, r: Reg, value: Option<Term>) -> Option<Function> {
        let next = self.one.next.iter().filter_map(|(r, t)| Some((*r, (*t)?)));
        let mut shape = Shape::of_loop(&mut eval.walk.s.arena, self.header, next);
        let outer = eval.part.when == When::Each && self.header as usize == eval.flow().loops[eval.part.l].header;
        let mut differs = self.differ.contains(&r);
        let result = match value {
            None if outer => None,
            None => Some((*self.one.left.as_ref()?.0.get(&r)?)?),
            value => value,
        };
        if outer {
            shape.text.push_str("each ");
            shape.carried.push(Atom::Carried(self.header, r, INNER));
        } else {
            let t = result?;
            differs = eval.differs(t);
            let a = &mut eval.walk.s.arena;
            shape.text.push_str("behind ");
            shape.add(a, t);
            shape.add(a, self.one.again);
        }
        let mut n = 0;
        while let Some(Atom::Carried(_, x, _)) = shape.carried.get(n).copied() {
            n += 1;
            for (what, env) in [("first ", &self.before), ("next ", &self.one.next)] {
                shape.text.push_str(what);
                if let Some(t) = env.get(&x) {
                    shape.add(&mut eval.walk.s.arena, (*t)?);
                }
            }
        }
        let naturals = self.naturals(&eval.walk.s.arena);
        let needs = match result {
            Some(t) => self.needs(&eval.walk.s.arena, &naturals, t),
            None => naturals.get(&r).map(|_| BTreeSet::from([r])),
        };
        let needs = needs.and_then(|needs| self.operands(&eval.walk.s.arena, &naturals, needs, &shape.read));
        let _ = write!(shape.text, " natural {needs:?}");
        let id = eval.walk.s.function_id(shape.text);
        if let Some(needs) = needs {
            eval.walk.s.arena.natural_functions.insert(id, needs);
        }
        let a = &mut eval.walk.s.arena;
        if let Some(most) = self.largest(a, &shape.read, r, result) {
            a.largest.insert(id, most);
        }
        Some((id, shape.read, differs))
    }

    /// The registers that are never negative if their first values are not, each with those that it is made of.
    fn naturals(&self, a: &Arena) -> BTreeMap<Reg, BTreeSet<Reg>> {
        let all = |r: &Reg| self.one.next.get(r).copied().flatten().map(|t| (*r, t));
        let next: BTreeMap<Reg, Term> = self.changed.iter().filter_map(all).collect();
        let mut found: BTreeMap<Reg, BTreeSet<Reg>> = next.keys().map(|r| (*r, BTreeSet::new())).collect();
        loop {
            let before = found.clone();
            found = before.keys().filter_map(|r| Some((*r, self.needs(a, &before, next[r])?))).collect();
            if found == before {
                return found;
            }
        }
    }

    /// The registers at the start of an iteration that must not be negative for a term not to be. `None` if it may be.
    fn needs(&self, a: &Arena, naturals: &BTreeMap<Reg, BTreeSet<Reg>>, t: Term) -> Option<BTreeSet<Reg>> {
        if a.range(t).0 >= 0 {
            return Some(BTreeSet::new());
        }
        let all = |list: &[Term]| {
            let each = list.iter().map(|x| self.needs(a, naturals, *x));
            each.collect::<Option<Vec<_>>>().map(|sets| sets.into_iter().flatten().collect())
        };
        match a.node(t) {
            Node::Atom(Atom::Carried(h, r, INNER)) if *h == self.header && naturals.contains_key(r) => {
                Some(BTreeSet::from([*r]))
            }
            Node::Sum(k, parts) if *k >= 0 && parts.iter().all(|(_, c)| *c > 0) => {
                all(&parts.iter().map(|(x, _)| *x).collect::<Vec<_>>())
            }
            Node::Op(Op::If, args) => all(&args[1..]),
            Node::Op(Op::Load, args) => match a.constant(args[0])? {
                CARRIED => self.needs(a, naturals, args[1]),
                name => {
                    let of = a.natural_functions.get(&name)?;
                    all(&of.iter().map(|n| args[*n]).collect::<Vec<_>>())
                }
            },
            _ => None,
        }
    }

    /// The operands of a function that must not be negative for its value not to be: the first values of registers. `None`
    /// if one may be negative and is no operand.
    fn operands(
        &self,
        a: &Arena,
        naturals: &BTreeMap<Reg, BTreeSet<Reg>>,
        mut open: BTreeSet<Reg>,
        read: &[Term],
    ) -> Option<Vec<usize>> {
        let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
        while let Some(r) = open.pop_first() {
            if !seen.insert(r) {
                continue;
            }
            open.extend(naturals.get(&r)?);
            // A register that is not set matters nowhere.
            let Some(first) = self.before.get(&r) else { continue };
            let first = (*first)?;
            if a.range(first).0 < 0 {
                // The name stands first.
                found.insert(1 + read.iter().position(|t| *t == first)?);
            }
        }
        Some(found.into_iter().collect())
    }
}
