//! Loops after their recurrences are solved: trip counts, the registers after the loop, and the code.

use rustc_hash::FxHashMap;

use crate::flow::BlockId;
use crate::lift::tree::{Kind, Node, Val};
use crate::lift::walk::exits::{Exit, Left};
use crate::lift::walk::{Stop, Walk};
use crate::ptx::{Error, Reg};
use crate::symbolic::{Arena, Atom, Facts, Linear, NO_LOOP, Node as TermNode, Op, Term};

use super::Solved;

impl Walk<'_, '_> {
    /// The number of iterations until a condition over the iteration fails for the first time.
    pub(crate) fn stays(&mut self, header: u32, stay: Term) -> Option<Term> {
        self.stays_linear(header, stay).or_else(|| {
            let mut only = true;
            self.s.arena.each_atom(stay, &mut |x| only &= x == Atom::Counter(header));
            let holds = |s: &mut Self, n: i64| s.s.arena.value(stay, &|_| Some(n));
            // What memory decides is not computed.
            let end = only.then(|| (0..4096).find(|n| matches!(holds(self, *n), None | Some(0)))).flatten()?;
            (holds(self, end) == Some(0)).then(|| self.s.arena.int(end))
        })
    }

    /// The same for a comparison of multiples of the iteration.
    fn stays_linear(&mut self, header: u32, stay: Term) -> Option<Term> {
        if let TermNode::Op(Op::Ge, args) = self.s.arena.node(stay).clone() {
            return self.s.arena.falls(args[0], header);
        }
        let (first, step) = self.until_zero(header, stay)?;
        let by = self.s.arena.int(step);
        Some(self.s.arena.div(first, by))
    }

    /// A loop that goes on while a number is not 0: the number in the first iteration, and what each iteration takes off.
    fn until_zero(&mut self, header: u32, stay: Term) -> Option<(Term, i64)> {
        let a = &mut self.s.arena;
        let TermNode::Op(Op::Not, args) = a.node(stay).clone() else { return None };
        let TermNode::Op(Op::Eq, args) = a.node(args[0]).clone() else { return None };
        let Linear { constant, rest, by } = a.linear(args[0], header)?;
        let first = a.sum(constant, rest);
        Some((if by < 0 { first } else { a.scale(first, -1) }, by.abs()))
    }

    /// The number that such a loop counts down to 0. It is not negative in any iteration, and positive where the loop goes on.
    pub(crate) fn counted_down(&mut self, header: u32, stay: Term, entry: &Facts) -> Option<Term> {
        let (first, step) = self.until_zero(header, stay)?;
        let a = &mut self.s.arena;
        // What is beside a multiple of the step: a remainder leaves the same as its dividend.
        let (k, parts) = a.parts(first);
        let dividend = |a: &Arena, t: Term| match a.node(t) {
            TermNode::Op(Op::Rem, args) if a.constant(args[1]).is_some_and(|d| d % step == 0) => args[0],
            _ => t,
        };
        let by = a.int(step);
        let all = parts.iter().map(|(t, c)| (dividend(a, *t), *c)).collect();
        let all = a.flat_sum(k, all);
        let beside = a.rem(all, by);
        // A multiple of the step that is less than a step below 0 is not below 0.
        if a.constant(beside) != Some(0) || a.bounded(first, entry).0 <= -step {
            return None;
        }
        // Without what is taken off for a remainder, it is no less.
        let is_taken = |a: &Arena, (t, c): (Term, i64)| {
            c < 0 && matches!(a.node(t), TermNode::Op(Op::Rem, _)) && a.range(t).0 >= 0
        };
        let parts = parts.iter().copied().filter(|p| !is_taken(a, *p)).collect();
        let first = a.sum(k, parts);
        let i = a.atom(Atom::Counter(header));
        let taken = a.scale(i, step);
        Some(a.sub(first, taken))
    }

    /// The number of iterations before a loop takes one of its exits.
    fn count(&mut self, header: u32, (at, stay): (usize, Term), acts: bool) -> Result<Term, Error> {
        let inst = self.inst(at);
        let stays = match self.goes_on(header, stay) {
            Some(q) => q,
            None if self.opaque(stay) => {
                if self.dry == 0 && acts {
                    return Err(self.condition_error(inst, stay));
                }
                self.s.arena.opaque(format!("how often the loop at line {} goes on", inst.line))
            }
            None => {
                if self.s.arena.reads_memory(stay) {
                    self.s.assume(inst.line, "a loop that a value in memory ends is left at some time");
                }
                self.trips(header, stay)
            }
        };
        let stays = self.s.arena.under(stays, &self.facts);
        // A count below 0 means 0.
        let less = self.s.arena.plus(stays, -1);
        let stays = match self.s.arena.floored(less) {
            Some(x) => self.s.arena.plus(x, 1),
            None => stays,
        };
        // At least 0.
        let zero = self.s.arena.int(0);
        let positive = self.s.arena.ge(stays);
        Ok(match self.s.arena.decide(positive, &self.facts) {
            Some(true) => stays,
            _ => self.s.arena.op(Op::Max, &[stays, zero]),
        })
    }

    /// The trip count of a loop. Loops with equal conditions over their index have the same count.
    fn trips(&mut self, header: u32, stay: Term) -> Term {
        let arena = &mut self.s.arena;
        let stay = arena.of_no_loop(stay, header);
        // The size of a grid can leave one more turn, or none.
        let (first, second) = (arena.at_number(stay, 0), arena.at_number(stay, 1));
        if arena.range(second) == (0, 0) && !arena.mentions(first, |a| a == Atom::Counter(NO_LOOP)) {
            return first;
        }
        arena.op(Op::Trips, &[stay])
    }

    /// The number of iterations for which a condition over the iteration holds. Of two conditions that must both hold,
    /// the smaller count.
    fn goes_on(&mut self, header: u32, stay: Term) -> Option<Term> {
        if let Some(q) = self.stays(header, stay) {
            return Some(q);
        }
        if self.opaque(stay) {
            return None;
        }
        let args = match self.s.arena.node(stay).clone() {
            TermNode::Op(Op::Both, args) => args,
            TermNode::Op(Op::Either, args) => {
                let either = self.goes_on_below(header, (args[0], args[1]));
                return either.or_else(|| self.goes_on_below(header, (args[1], args[0])));
            }
            _ => return None,
        };
        let each = |s: &mut Self, t: Term| s.goes_on(header, t).unwrap_or_else(|| s.trips(header, t));
        let (x, y) = (each(self, args[0]), each(self, args[1]));
        Some(self.s.arena.op(Op::Min, &[x, y]))
    }

    /// The same for a condition that holds on both sides of a number, as an unsigned comparison does. The loop ends where
    /// the iteration reaches the number from below.
    fn goes_on_below(&mut self, header: u32, (below, above): (Term, Term)) -> Option<Term> {
        let a = &mut self.s.arena;
        let TermNode::Op(Op::Ge, args) = a.node(below).clone() else { return None };
        let end = a.falls(args[0], header)?;
        let beyond = a.at_iteration(above, header, end);
        let starts_below = a.ge(end);
        let reaches = a.decide(starts_below, &self.facts) == Some(true) && a.decide(beyond, &self.facts) == Some(false);
        reaches.then_some(end)
    }

    /// Adds a loop to the nodes and sets registers to their values after it.
    pub(crate) fn close(
        &mut self,
        l: usize,
        mut nodes: Vec<Node>,
        exits: Vec<Exit>,
        solved: Solved,
        back: Vec<Option<Val>>,
        stops: &[BlockId],
    ) -> Result<Stop, Error> {
        let header = self.s.flow.loops[l].header as u32;
        let at = self.s.flow.blocks[header as usize].first;
        let counter = self.s.arena.atom(Atom::Counter(header));
        let acts = !nodes.is_empty() || exits.iter().any(|e| !e.tail.is_empty());
        let (mut counts, mut stays) = (Vec::new(), Vec::new());
        let mut passed = Facts::default();
        for e in &exits {
            // An exit is reached where those before it in the iteration are not taken. Otherwise its count does not matter.
            let stay = self.s.arena.known_but(e.stay, &passed);
            self.s.arena.learn(e.stay, true, &mut passed);
            counts.push(self.count(header, (e.at, stay), acts)?);
            stays.push(stay);
        }
        self.only_in_last(header, (&exits, &stays), &mut counts);
        let stays = counts[1..].iter().fold(counts[0], |m, q| self.s.arena.op(Op::Min, &[m, *q]));
        let whole = exits.iter().all(|e| e.before == Some(nodes.len()));
        let rotated = !nodes.is_empty() && whole || (nodes.is_empty() && !solved.vars.is_empty());
        let stays = if rotated { self.with_first(stays) } else { stays };
        let whole = (!rotated).then(|| self.whole_iterations(&exits, &counts, nodes.len(), &solved)).flatten();
        let mut sets = Vec::new();
        let mut shadows: FxHashMap<Term, u32> = FxHashMap::default();
        let own: Vec<u32> = solved.vars.iter().map(|v| v.var).collect();
        // The iteration in which the loop is left.
        let mut with = FxHashMap::default();
        with.insert(counter, stays);
        let mut memo = FxHashMap::default();
        let mentions_own = |s: &Self, t: Term| s.s.arena.mentions(t, |a| matches!(a, Atom::Var(v) if own.contains(&v)));
        let mut updates = Vec::new();
        for v in &solved.vars {
            let value = |x: &Val| match v.lane {
                Some(lane) => Some(x.at(usize::from(lane))),
                None => x.uniform(self.lanes),
            };
            if let Some(t) = back[v.reg as usize].as_ref().and_then(value) {
                updates.push((v.var, t));
            }
        }
        let mut all: Vec<Vec<Option<Val>>> = Vec::new();
        let after: &[(u32, Term)] = if rotated { &updates } else { &[] };
        self.polled_last(&exits, &with, after, &own);
        for e in &exits {
            let mut regs = e.regs.clone();
            for (r, slot) in regs.iter_mut().enumerate() {
                let Some(v) = slot.take() else { continue };
                let new: [Term; 32] = std::array::from_fn(|lane| {
                    let mut t = v.at(lane);
                    if lane > 0 && t == v.at(0) && matches!(v, Val::Uni(_)) {
                        return t;
                    }
                    if rotated && mentions_own(self, t) {
                        // If a variable's value before its last change is used, another variable keeps it.
                        if let Some((v, _)) = updates.iter().find(|(_, x)| *x == t) {
                            t = self.s.arena.atom(Atom::Var(*v));
                        } else {
                            let id = match shadows.get(&t) {
                                Some(id) => *id,
                                None => {
                                    let id = self.s.var(header, r as Reg, 1 + shadows.len().min(200) as u32);
                                    self.s.sets(id, t);
                                    shadows.insert(t, id);
                                    sets.push((id, t));
                                    id
                                }
                            };
                            t = self.s.arena.atom(Atom::Var(id));
                        }
                    }
                    self.behind(t, (&with, &mut memo))
                });
                *slot = Some(match v {
                    Val::Uni(_) => Val::Uni(new[0]),
                    Val::Lanes(_) => Val::of(new),
                });
            }
            all.push(regs);
        }
        if self.dry == 0 {
            for (id, t) in &sets {
                nodes.push(Node { at: exits[0].at, part: 20, kind: Kind::Set(*id, *t) });
            }
            self.update(header, exits[0].at, &updates, &mut nodes);
            for (n, v) in solved.vars.iter().enumerate() {
                self.nodes.push(Node { at, part: 30 + n.min(100) as u8, kind: Kind::Set(v.var, v.first) });
            }
            let count = whole.unwrap_or(if rotated { self.s.arena.plus(stays, 1) } else { stays });
            if !nodes.is_empty() {
                self.nodes.push(Node { at, part: 5, kind: Kind::For(header, count, nodes) });
            }
        }
        let mut sides = Vec::new();
        for (e, regs) in exits.iter().zip(all) {
            let tail = if rotated || whole.is_some() || self.dry > 0 { Vec::new() } else { e.tail.clone() };
            let tail = self.at_iteration(tail, &with);
            // The condition for the next iteration does not hold any more.
            let left = self.s.arena.replace(e.stay, &with, &mut memo);
            let learnt = !mentions_own(self, left) && self.s.arena.constant(left).is_none();
            sides.push(Left { at: e.at, to: e.to, tail, regs, left: learnt.then_some(left) });
        }
        self.remember((at, stays, 1));
        self.left(l, sides, counts, stops)
    }

    /// The number of iterations of a loop that is left where an iteration begins and where it ends, and nowhere else. The
    /// loop carries no variable.
    fn whole_iterations(&mut self, exits: &[Exit], counts: &[Term], nodes: usize, solved: &Solved) -> Option<Term> {
        let ends = |e: &Exit| e.before == Some(nodes);
        let ahead = |e: &Exit| e.before == Some(0) && e.tail.is_empty();
        if !self.s.second_try || nodes == 0 || !solved.vars.is_empty() || !exits.iter().all(|e| ends(e) || ahead(e)) {
            return None;
        }
        let a = &mut self.s.arena;
        let each = exits.iter().zip(counts).map(|(e, q)| if ends(e) { a.plus(*q, 1) } else { *q });
        let each: Vec<Term> = each.collect();
        each.into_iter().reduce(|m, q| a.op(Op::Min, &[m, q]))
    }

    /// How often a loop goes on behind its first iteration, by the count of all its iterations: a loop whose condition is
    /// tested before it has as many as one that tests it in each.
    pub(super) fn with_first(&mut self, stays: Term) -> Term {
        let a = &mut self.s.arena;
        let TermNode::Op(Op::Trips, args) = a.node(stays).clone() else { return stays };
        let before = a.at_number(args[0], -1);
        if a.decide(before, &self.facts) != Some(true) {
            return stays;
        }
        let n = a.atom(Atom::Counter(NO_LOOP));
        let earlier = a.plus(n, -1);
        let all = a.at_iteration(args[0], NO_LOOP, earlier);
        let all = a.op(Op::Trips, &[all]);
        a.plus(all, -1)
    }

    /// The value of a term where a loop is left. What a search finds is known only where an iteration begins.
    fn behind(&mut self, t: Term, (with, memo): (&FxHashMap<Term, Term>, &mut FxHashMap<Term, Term>)) -> Term {
        let (a, searched) = (&mut self.s.arena, &self.s.searched);
        if !searched.is_empty() && a.replace(t, with, memo) != t && a.calls(t, searched) {
            return a.opaque("what a search leaves behind its loop");
        }
        a.replace(t, with, memo)
    }

    /// Sets variables to their next values, all at once.
    fn update(&mut self, header: u32, at: usize, updates: &[(u32, Term)], nodes: &mut Vec<Node>) {
        let reads = |s: &Self, t: Term, own: u32| {
            s.s.arena.mentions(t, |a| matches!(a, Atom::Var(v) if v != own && updates.iter().any(|(u, _)| *u == v)))
        };
        let crossed = updates.iter().any(|(v, t)| reads(self, *t, *v));
        let mut second = Vec::new();
        for (n, (v, t)) in updates.iter().enumerate() {
            let part = 40 + n.min(50) as u8;
            if crossed {
                let kept = self.s.var(header, *v, 255);
                nodes.push(Node { at, part, kind: Kind::Set(kept, *t) });
                let from = self.s.arena.atom(Atom::Var(kept));
                second.push(Node { at, part: part + 60, kind: Kind::Set(*v, from) });
            } else {
                nodes.push(Node { at, part, kind: Kind::Set(*v, *t) });
            }
        }
        nodes.extend(second);
    }
}
