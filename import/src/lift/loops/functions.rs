//! What a part of a loop computes, as a function without a meaning.
//!
//! The part is evaluated once, for values that it does not know: an iteration is a list of terms over the registers at its
//! start (`c0`, `c1`) and over what the loop reads (`a0`). A term stands for the values of all lanes; the number of the lane
//! is an atom of it. What lanes exchange is a function of the whole term.
//!
//! ```text
//!   while tile >= end:                           f: end = c0, group = c1
//!     end += tiles[group]; group += 1      =>       next end = c0 + load(a0 + c1), next group = c1 + 1
//!                                                   again if a1 - c0 >= 0
//! ```
//!
//! The shape of these terms names the function (`shape.rs`), so copies of a loop with other registers, or with operands in
//! another order, compute one function.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::BlockId;
use crate::lift::facts::loop_parts::{Part, written};
use crate::lift::facts::shape::{CARRIED, INNER, LANE, Shape};
use crate::lift::facts::slice::reads;
use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::ptx::{Arg, Inst, Reg};
use crate::symbolic::{Arena, Atom, FUNCTIONS, Op, Term};

use super::computed::is_function;
use super::named::Loop;
use super::searches::exchanges;

/// The largest number of instructions that are evaluated for one register.
const MOST: u32 = 20_000;

/// Values of registers: terms for all lanes, or nothing for a value that is not followed. A register that is not in the list
/// is not set.
pub(crate) type Env = BTreeMap<Reg, Option<Term>>;

/// Where control goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    At(BlockId),
    Again,
    Out(BlockId),
}

/// A way through a list of blocks.
struct Outcome {
    to: To,
    cond: Term,
    env: Env,
}

/// An iteration of a loop.
pub(crate) struct Iteration {
    /// Whether another one follows.
    pub(crate) again: Term,
    /// The registers at the start of the next one.
    pub(crate) next: Env,
    /// The registers where the loop is left, and the block there.
    pub(crate) left: Option<(Env, BlockId)>,
    /// The blocks to which it is left, and when.
    pub(crate) ends: Vec<(BlockId, Term)>,
}

/// The evaluation of a part.
pub(crate) struct Eval<'w, 's, 'a, 'p> {
    pub(crate) walk: &'w mut Walk<'s, 'a>,
    pub(crate) part: &'p Part<'a>,
    /// Instructions that may still be evaluated.
    left: u32,
    /// Branches around whose condition differs by lane.
    apart: u32,
}

impl<'a> Walk<'_, 'a> {
    /// A register behind a loop, or at the start of an iteration, as a function. It is one of the registers before the loop,
    /// of memory that does not change, and of the iteration. `None` if the part reads what is not followed, or lanes
    /// exchange values where not all take part.
    pub(crate) fn function(&mut self, part: &Part<'a>, entry: &[Option<Val>], iteration: Option<Term>) -> Option<Val> {
        self.function_at(part, entry, (iteration, None))
    }

    /// Whether a loop is left to a block, as a function of the same. Other registers of the part have no meaning.
    pub(crate) fn leaves_to(&mut self, part: &Part<'a>, entry: &[Option<Val>], to: BlockId) -> Option<Val> {
        self.function_at(part, entry, (None, Some(to)))
    }

    fn function_at(
        &mut self,
        part: &Part<'a>,
        entry: &[Option<Val>],
        (iteration, to): (Option<Term>, Option<BlockId>),
    ) -> Option<Val> {
        if part.code().any(exchanges) && self.lanes != u32::MAX {
            return None;
        }
        self.s.arena.bound_counter(lane_header(), Some(31));
        let facts = if iteration.is_some() { self.begins.clone() } else { self.facts.clone() };
        let mut before = Env::new();
        for r in part.inputs.iter().copied() {
            if let Some(v) = &entry[r as usize] {
                before.insert(r, self.of_lanes(v));
            }
        }
        let names = |i: &&Inst| !i.has("param") && i.args.iter().any(|x| matches!(x, Arg::Name(_)));
        let mut special = Vec::new();
        for x in part.code().filter(names).flat_map(|i| &i.args).filter(|x| matches!(x, Arg::Name(_))) {
            let v = self.operand(x).ok()?;
            special.push(self.of_lanes(&v));
        }
        let key = (part.l, part.of, iteration.is_some(), (before.clone().into_iter().collect(), special));
        let known = match self.s.computed.get(&key).filter(|_| to.is_none()) {
            Some(known) => known.clone(),
            None => {
                let none = vec![None; self.s.entry.regs.len()];
                let (facts, regs) = (std::mem::take(&mut self.facts), std::mem::replace(&mut self.regs, none));
                let mut eval = Eval { part, left: MOST, apart: 0, walk: self };
                let found = eval.looped(part.l, before).and_then(|one| match to {
                    Some(to) => Some((one.leaves_to(&mut eval, part.of, to)?, None)),
                    None => match one.compared(&mut eval, part.of) {
                        Some((of, compared)) => Some((of, Some(compared))),
                        None => Some((one.named(&mut eval, part.of)?, None)),
                    },
                });
                (self.facts, self.regs) = (facts, regs);
                if to.is_none() {
                    self.s.computed.insert(key, found.clone());
                }
                found
            }
        };
        let ((id, read, differs), compared) = known?;
        if (to.is_some() || self.s.entry.widths[part.of as usize] == 1) && compared.is_none() {
            self.s.arena.predicates.insert(id);
        }
        self.s.searched.extend(iteration.map(|_| id));
        let a = &mut self.s.arena;
        let mut operands = vec![a.int(id)];
        operands.extend(read.into_iter().map(|t| a.known_under(t, &facts)).collect::<Vec<_>>());
        operands.extend(iteration);
        let outcome = |a: &mut Arena, t: Term| match compared {
            Some((op, k, by)) => {
                let t = a.scale(t, by);
                let t = a.plus(t, k);
                a.op(op, &[t])
            }
            None => t,
        };
        Some(match differs {
            true => Val::of(std::array::from_fn(|l| {
                let lane = a.int(l as i64);
                let t = a.op(Op::Load, &[operands.as_slice(), &[lane]].concat());
                outcome(a, t)
            })),
            false => {
                let t = a.op(Op::Load, &operands);
                Val::Uni(outcome(a, t))
            }
        })
    }

    /// The term of a value for all lanes.
    fn of_lanes(&mut self, v: &Val) -> Option<Term> {
        let mask = self.lanes;
        let t = match v.uniform(mask) {
            Some(t) => t,
            None => {
                let all: [Term; 32] = std::array::from_fn(|l| v.at(l));
                let a = &mut self.s.arena;
                let lane = a.atom(LANE);
                let step = a.sub(all[1], all[0]);
                let even = (1..32).all(|l| a.sub(all[l], all[l - 1]) == step);
                match a.constant(step).filter(|_| even) {
                    Some(by) => {
                        let more = a.scale(lane, by);
                        a.add(all[0], more)
                    }
                    None => {
                        let name = a.int(FUNCTIONS - 1);
                        let all = a.lanes(&all);
                        a.op(Op::Load, &[name, all, lane])
                    }
                }
            }
        };
        let follows = |x: Atom| !matches!(x, Atom::Opaque(_) | Atom::Var(_) | Atom::Symbol(_) | Atom::Data(_));
        (!self.s.arena.mentions(t, |x| !follows(x)) && !self.s.arena.reads_words(t)).then_some(t)
    }
}

/// The header of the loop whose counter stands for the lane.
fn lane_header() -> u32 {
    if let Atom::Counter(h) = LANE { h } else { 0 }
}

impl<'a> Eval<'_, '_, 'a, '_> {
    pub(crate) fn flow(&self) -> &'a crate::flow::Flow {
        self.walk.s.flow
    }

    /// One iteration of loop `l`, over its registers at the start, and what is before the loop.
    fn looped(&mut self, l: usize, before: Env) -> Option<Loop> {
        let header = self.flow().loops[l].header as u32;
        let changed = self.part.changed(l);
        // A register differs by lane where its first value does, or what an iteration makes of it.
        let by_lane = |s: &Self, env: &Env| -> BTreeSet<Reg> {
            let differs = |r: &&Reg| env.get(r).is_some_and(|t| t.is_some_and(|t| s.differs(t)));
            changed.iter().filter(differs).copied().collect()
        };
        let mut differ = by_lane(self, &before);
        loop {
            let mut env = before.clone();
            for r in &changed {
                let a = &mut self.walk.s.arena;
                let t = a.atom(Atom::Carried(header, *r, INNER));
                let (name, lane) = (a.int(CARRIED), a.atom(LANE));
                env.insert(*r, Some(if differ.contains(r) { a.op(Op::Load, &[name, t, lane]) } else { t }));
            }
            let one = self.iteration(l, env)?;
            let more = by_lane(self, &one.next);
            if more.is_subset(&differ) {
                return Some(Loop { header, before, changed, differ, one });
            }
            differ.extend(more);
        }
    }

    pub(crate) fn differs(&self, t: Term) -> bool {
        self.walk.s.arena.mentions(t, |x| x == LANE)
    }

    fn iteration(&mut self, l: usize, env: Env) -> Option<Iteration> {
        let header = self.flow().loops[l].header;
        let mut one = Iteration { again: self.walk.s.arena.int(0), next: Env::new(), left: None, ends: Vec::new() };
        for o in self.run(l, (header, true), None, env)? {
            match o.to {
                To::Again => (one.again, one.next) = (o.cond, o.env),
                // The registers of the loop itself are the same functions wherever it is left.
                To::Out(b) if l == self.part.l || one.left.as_ref().is_none_or(|(_, x)| *x == b) => {
                    let env = match one.left.take() {
                        Some((env, _)) => self.merged(o.cond, o.env, env),
                        None => o.env,
                    };
                    one.left = Some((env, b));
                    one.ends.push((b, o.cond));
                }
                _ => return None,
            }
        }
        Some(one)
    }

    /// The ways from a block on, up to block `stop` or out of an iteration of loop `l`.
    fn run(
        &mut self,
        l: usize,
        (mut b, mut first): (BlockId, bool),
        stop: Option<BlockId>,
        mut env: Env,
    ) -> Option<Vec<Outcome>> {
        let (flow, mut all) = (self.flow(), Vec::new());
        let (body, header) = (&flow.loops[l].body, flow.loops[l].header);
        let mut cond = self.walk.s.arena.int(1);
        loop {
            let to = if Some(b) == stop {
                Some(To::At(b))
            } else if !body[b] {
                Some(To::Out(b))
            } else {
                (b == header && !first).then_some(To::Again)
            };
            if let Some(to) = to {
                all.push(Outcome { to, cond, env });
                return Some(all);
            }
            first = false;
            self.left = self.left.checked_sub(1)?;
            if let Some(inner) = flow.header_of[b].filter(|x| *x != l && self.part.has_code(*x)) {
                (env, b) = self.inner(inner, env)?;
                continue;
            }
            for n in self.part.code_of(b) {
                self.exec(n, &mut env)?;
            }
            if !self.part.branches.contains(&b) {
                b = self.part.after(b)?;
                continue;
            }
            let c = self.guard(&self.walk.s.entry.code[flow.blocks[b].end - 1], &env)?;
            let [taken, falls] = *flow.blocks[b].next else { return None };
            let join = flow.join[b].filter(|j| body[*j] && *j != header);
            let differs = self.differs(c);
            self.apart += u32::from(differs);
            let x = self.run(l, (taken, false), join.or(stop), env.clone())?;
            let y = self.run(l, (falls, false), join.or(stop), env)?;
            self.apart -= u32::from(differs);
            let mut both = self.either(c, x, y);
            if differs && both.len() > 1 {
                return None;
            }
            let at = both.iter().position(|o| join.is_some_and(|j| o.to == To::At(j)));
            let then = at.map(|n| both.remove(n));
            for o in both {
                let cond = self.walk.s.arena.both(cond, o.cond);
                all.push(Outcome { cond, ..o });
            }
            match then {
                Some(o) => {
                    cond = self.walk.s.arena.both(cond, o.cond);
                    (b, env) = (join?, o.env);
                }
                None => return Some(all),
            }
        }
    }

    /// The ways of both sides of a branch; those to one place are one.
    fn either(&mut self, c: Term, x: Vec<Outcome>, mut y: Vec<Outcome>) -> Vec<Outcome> {
        let mut all = Vec::new();
        for o in x {
            let a = &mut self.walk.s.arena;
            all.push(match y.iter().position(|p| p.to == o.to) {
                Some(n) => {
                    let p = y.remove(n);
                    let cond = a.cond(c, o.cond, p.cond);
                    Outcome { to: o.to, cond, env: self.merged(c, o.env, p.env) }
                }
                None => Outcome { cond: a.both(c, o.cond), ..o },
            });
        }
        let not = self.walk.s.arena.not(c);
        for p in y {
            let cond = self.walk.s.arena.both(not, p.cond);
            all.push(Outcome { cond, ..p });
        }
        all
    }

    /// The registers of two ways. No result depends on a register that one of them does not set.
    fn merged(&mut self, c: Term, x: Env, mut y: Env) -> Env {
        let mut all = Env::new();
        for (r, t) in x {
            let t = match (t, y.remove(&r)) {
                (Some(t), Some(Some(other))) => Some(self.walk.s.arena.cond(c, t, other)),
                (_, Some(None)) => None,
                (t, _) => t,
            };
            all.insert(r, t);
        }
        all.extend(y);
        all
    }

    /// The registers behind an inner loop, and the block there.
    fn inner(&mut self, l: usize, env: Env) -> Option<(Env, BlockId)> {
        let found = self.looped(l, env.clone())?;
        let (left, to) = found.one.left.as_ref()?;
        // Lanes that leave a loop one by one would each have iterations of their own.
        if self.differs(found.one.again) {
            return None;
        }
        let mut after = env;
        for r in left.keys().copied().filter(|r| found.changed.contains(r)) {
            // The next iteration of the part's loop may begin with it.
            let is_read = self.part.reads_outside(l, r) || self.part.inputs.contains(&r);
            let known = is_read.then(|| found.function(self, r)).flatten();
            let Some((id, read, differs)) = known else {
                after.insert(r, None);
                continue;
            };
            let a = &mut self.walk.s.arena;
            let mut operands = vec![a.int(id)];
            operands.extend(read);
            operands.extend(differs.then(|| a.atom(LANE)));
            after.insert(r, Some(a.op(Op::Load, &operands)));
        }
        Some((after, *to))
    }

    /// The condition of a guard.
    fn guard(&mut self, i: &Inst, env: &Env) -> Option<Term> {
        let (p, not) = i.guard?;
        let c = (*env.get(&p)?)?;
        Some(if not { self.walk.s.arena.not(c) } else { c })
    }

    fn exec(&mut self, n: usize, env: &mut Env) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let i = &self.walk.s.entry.code[n];
        let guard = if i.guard.is_some() { Some(self.guard(i, env)?) } else { None };
        let results = written(i);
        results.iter().for_each(|r| self.walk.regs[*r as usize] = None);
        let (mut is_set, mut known) = (true, true);
        reads(i, &mut |r| {
            let t = env.get(&r);
            (is_set, known) = (is_set && t.is_some(), known && t != Some(&None));
            self.walk.regs[r as usize] = t.copied().flatten().map(Val::Uni);
        });
        let values = match (known, is_set) {
            (false, _) => vec![None; results.len()],
            (true, false) => {
                results.iter().for_each(|r| {
                    env.remove(r);
                });
                return Some(());
            }
            _ if exchanges(i) => self.exchange(i, guard)?.into_iter().map(Some).collect(),
            // What another lane or another time may give.
            _ if !is_function(i) => vec![None; results.len()],
            _ => self.computed(n, i, &results)?,
        };
        for (r, mut t) in results.into_iter().zip(values) {
            if let (Some(g), Some(old)) = (guard, env.get(&r)) {
                t = t.zip(*old).map(|(t, old)| self.walk.s.arena.cond(g, t, old));
            }
            env.insert(r, t);
        }
        Some(())
    }

    /// The results of an instruction that each lane executes by itself.
    fn computed(&mut self, n: usize, i: &'a Inst, results: &[Reg]) -> Option<Vec<Option<Term>>> {
        self.walk.compute(n, i).ok()?;
        let values: Vec<Option<Val>> = results.iter().map(|r| self.walk.regs[*r as usize].clone()).collect();
        let of = |s: &mut Self, (r, v): (&Reg, Option<Val>)| s.walk.of_lanes(&v?).or_else(|| s.unknown(i, *r));
        Some(results.iter().zip(values).map(|x| of(self, x)).collect())
    }

    /// The result of an instruction that is not computed, as a function of its operands.
    fn unknown(&mut self, i: &Inst, r: Reg) -> Option<Term> {
        if matches!(i.op.as_str(), "ld" | "ldu" | "call") {
            return None;
        }
        let mut name = format!("{} {}", i.name(), written(i).iter().position(|x| *x == r)?);
        let mut operands = Vec::new();
        for x in i.args_from(1) {
            match x {
                Arg::Float(bits) => name.push_str(&format!(" {bits:x}")),
                x => {
                    let v = self.walk.operand(x).ok()?;
                    operands.push(self.walk.of_lanes(&v)?);
                }
            }
        }
        let id = self.walk.s.function_id(name);
        let a = &mut self.walk.s.arena;
        if matches!(i.op.as_str(), "popc" | "clz") {
            a.natural_functions.insert(id, Vec::new());
        }
        let all: Vec<Term> = std::iter::once(a.int(id)).chain(operands).collect();
        Some(a.op(Op::Load, &all))
    }

    /// What lanes receive from each other.
    fn exchange(&mut self, i: &Inst, guard: Option<Term>) -> Option<Vec<Term>> {
        if self.apart > 0 || guard.is_some() {
            return None;
        }
        let mut operands = Vec::new();
        for x in i.args_from(1) {
            let v = self.walk.operand(x).ok()?;
            operands.push(self.walk.of_lanes(&v)?);
        }
        let of_one = i.op == "shfl" && i.has("idx") && !operands.get(1).is_some_and(|t| self.differs(*t));
        let same = of_one || i.op == "vote" || i.op == "redux" || (i.op == "match" && i.has("all"));
        let results = written(i).len();
        let mut all = Vec::new();
        for n in 0..results {
            // One lane's value of a number that all lanes have.
            if of_one && n == 0 && !self.differs(operands[0]) {
                all.push(operands[0]);
                continue;
            }
            let mut shape = Shape::default();
            shape.text = format!("{} {n}: ", i.name());
            operands.iter().for_each(|t| shape.add(&mut self.walk.s.arena, *t));
            let id = self.walk.s.function_id(shape.text);
            let a = &mut self.walk.s.arena;
            let mut list = vec![a.int(id)];
            list.extend(shape.read);
            list.extend((!same).then(|| a.atom(LANE)));
            all.push(a.op(Op::Load, &list));
        }
        Some(all)
    }
}
