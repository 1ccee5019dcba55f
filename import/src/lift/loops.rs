//! Loops: what each register holds in iteration i, how often the loop goes on, and what registers hold behind it.

use rustc_hash::FxHashMap;

use crate::flow::BlockId;
use crate::ptx::{Error, Inst, Reg};
use crate::symbolic::{Atom, Node as TermNode, Op, Term};

use super::slice::{acts, writes};
use super::tree::{Kind, Node, Val};
use super::walk::{Exit, Frame, Stop, Walk};

/// Registers of an iteration's beginning, once solved.
#[derive(Debug, Default)]
pub(super) struct Solved {
    /// Values of registers that carry something from one iteration to the next.
    pub(super) values: FxHashMap<Reg, Val>,
    /// Registers kept as variables of the program: register, variable, value at entry.
    pub(super) vars: Vec<(Reg, u32, Term)>,
}

impl Walk<'_, '_> {
    /// A branch with one way out of the loop that is being walked: notes the exit and goes on inside.
    pub(super) fn leaves(
        &mut self,
        at: usize,
        cond: Term,
        taken: BlockId,
        falls: BlockId,
    ) -> Result<Option<Stop>, Error> {
        let Some(f) = self.frames.last() else { return Ok(None) };
        let body = &self.s.flow.loops[f.index].body;
        let (to, inside, stay) = match (body[taken], body[falls]) {
            (true, false) => (falls, taken, cond),
            (false, true) => (taken, falls, self.s.arena.not(cond)),
            _ => return Ok(None),
        };
        let inst = self.inst(at);
        let f = self.frames.last_mut().ok_or_else(|| self.s.error(inst, "no loop", "a loop"))?;
        if f.depth != self.depth {
            return Err(self.s.error(
                inst,
                "a loop is left inside of a condition",
                "an exit that every iteration comes to",
            ));
        }
        if f.exit.is_some() {
            return Err(self.s.error(inst, "a loop has two exits", "a loop with one exit"));
        }
        f.exit = Some(Exit { before: self.nodes.len(), stay, to, regs: self.regs.clone(), at });
        let mut facts = std::mem::take(&mut self.facts);
        self.s.arena.learn(stay, true, &mut facts);
        self.facts = facts;
        Ok(Some(Stop::At(inside)))
    }

    /// Walks a loop from its header to where it is left.
    pub(super) fn walk_loop(&mut self, l: usize) -> Result<Stop, Error> {
        if let Some(to) = self.polling(l)? {
            return Ok(Stop::At(to));
        }
        let flow = self.s.flow;
        let header = flow.loops[l].header;
        let changed = self.changed(l);
        let entry_regs = self.regs.clone();
        let entry_facts = self.facts.clone();
        // First pass: what an iteration makes of what the one before left.
        let mark = self.s.arena.opaque("a mark");
        for r in &changed {
            let Some(old) = &entry_regs[*r as usize] else { continue };
            self.regs[*r as usize] = Some(match old {
                Val::Uni(_) => Val::Uni(self.s.arena.atom(Atom::Carried(header as u32, *r, 0))),
                Val::Lanes(_) => {
                    Val::of(std::array::from_fn(|i| self.s.arena.atom(Atom::Carried(header as u32, *r, i as u8 + 1))))
                }
            });
        }
        let lanes = self.lanes;
        let peeked = self.peeked_terms.clone();
        let (stop, _, exit) = self.iteration(l, true)?;
        let back = std::mem::take(&mut self.regs);
        if stop != Stop::At(header) && exit.is_none() {
            // It is left in its first iteration, whatever happens.
            self.regs = entry_regs;
            self.facts = entry_facts;
            self.lanes = lanes;
            self.peeked_terms = peeked;
            let (stop, nodes, _) = self.iteration(l, false)?;
            self.nodes.extend(nodes);
            return Ok(stop);
        }
        let first = self.inst(flow.blocks[header].first);
        let Some(exit) = exit else {
            return Err(self.s.error(first, "this loop has no exit", "a loop that ends"));
        };
        let solved = self.solve(header as u32, &changed, &entry_regs, &back, mark);
        self.bound_counter(header as u32, &entry_regs, &solved, exit.stay);
        // Second pass: the same with values as functions of the iteration.
        self.regs = entry_regs.clone();
        for (r, v) in &solved.values {
            self.regs[*r as usize] = Some(v.clone());
        }
        self.facts = entry_facts.clone();
        self.lanes = lanes;
        let (stop, nodes, exit) = self.iteration(l, false)?;
        let back = std::mem::take(&mut self.regs);
        let Some(exit) = exit.filter(|_| stop == Stop::At(header)) else {
            return Err(self.s.error(
                first,
                "this loop is not left in the way that was found first",
                "a loop with one exit",
            ));
        };
        self.facts = entry_facts;
        self.lanes = lanes;
        self.close(l, nodes, exit, solved, back)
    }

    /// Bounds the counter of a loop that goes on a known number of times.
    fn bound_counter(&mut self, header: u32, entry: &[Option<Val>], solved: &Solved, stay: Term) {
        let mut with = FxHashMap::default();
        for (r, v) in &solved.values {
            let lanes = matches!(entry[*r as usize], Some(Val::Lanes(_)));
            for l in 0..if lanes { 32 } else { 1 } {
                let x = self.s.arena.atom(Atom::Carried(header, *r, if lanes { l + 1 } else { 0 }));
                with.insert(x, v.at(l as usize));
            }
        }
        let stay = self.s.arena.replace(stay, &with, &mut FxHashMap::default());
        let known = self.stays(header, stay).and_then(|q| self.s.arena.constant(q));
        match known {
            Some(q) => drop(self.s.arena.counter_ranges.insert(header, q.max(0))),
            None => drop(self.s.arena.counter_ranges.remove(&header)),
        }
    }

    /// Walks one iteration; dry where nothing is to be written down.
    fn iteration(&mut self, l: usize, dry: bool) -> Result<(Stop, Vec<Node>, Option<Exit>), Error> {
        let flow = self.s.flow;
        let header = flow.loops[l].header;
        let outer = std::mem::take(&mut self.nodes);
        self.depth += 1;
        self.frames.push(Frame { index: l, depth: self.depth, exit: None });
        self.dry += dry as u32;
        let mut stops = vec![header];
        let body = &flow.loops[l].body;
        stops.extend(
            (0..flow.blocks.len())
                .filter(|b| !body[*b] && flow.blocks.iter().enumerate().any(|(x, k)| body[x] && k.next.contains(b))),
        );
        let end = self.run(header, &stops);
        self.dry -= dry as u32;
        self.depth -= 1;
        let frame = self.frames.pop();
        let nodes = std::mem::replace(&mut self.nodes, outer);
        Ok((end?, nodes, frame.and_then(|f| f.exit)))
    }

    /// Needed registers that a loop writes.
    fn changed(&self, l: usize) -> Vec<Reg> {
        let flow = self.s.flow;
        let mut list = Vec::new();
        for (b, block) in flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]) {
            let _ = b;
            for i in &self.s.entry.code[block.first..block.end] {
                writes(i, &mut |r| list.push(r));
            }
        }
        list.retain(|r| self.s.need[*r as usize]);
        list.sort_unstable();
        list.dedup();
        list
    }

    /// A loop that only polls a barrier is one wait; returns where it goes on.
    fn polling(&mut self, l: usize) -> Result<Option<BlockId>, Error> {
        let flow = self.s.flow;
        let mut wait: Option<usize> = None;
        let mut out = None;
        for (b, block) in flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]) {
            let _ = b;
            for at in block.first..block.end {
                let i = self.inst(at);
                if i.op == "mbarrier" && (i.has("try_wait") || i.has("test_wait")) && wait.is_none() {
                    wait = Some(at);
                } else if acts(i) || i.op == "call" {
                    return Ok(None);
                }
            }
            for to in &block.next {
                if !flow.loops[l].body[*to] {
                    if out.is_some_and(|o| o != *to) {
                        return Ok(None);
                    }
                    out = Some(*to);
                }
            }
        }
        let (Some(at), Some(out)) = (wait, out) else { return Ok(None) };
        // Operands that are computed in the loop are so in its first iteration.
        let (dry, nodes) = (self.dry, self.nodes.len());
        let block = flow.blocks[flow.loops[l].header].clone();
        for n in block.first..block.end.min(at) {
            self.instruction(n)?;
        }
        debug_assert!(dry == self.dry && nodes == self.nodes.len());
        let i: &Inst = self.inst(at);
        self.wait(at, i)?;
        for r in self.changed(l) {
            let yes = self.s.arena.opaque("what a polling loop leaves");
            if self.regs[r as usize].is_none() || self.s.entry.widths[r as usize] == 1 {
                self.set(r, Val::Uni(yes));
            }
        }
        Ok(Some(out))
    }

    /// How often a condition over the iteration holds before it does not.
    fn stays(&mut self, header: u32, stay: Term) -> Option<Term> {
        let i = self.s.arena.atom(Atom::Counter(header));
        let a = &mut self.s.arena;
        let linear = |a: &crate::symbolic::Arena, x: Term| {
            let (k, parts) = a.parts(x);
            let m = parts.iter().find(|(t, _)| *t == i)?.1;
            let rest: Vec<_> = parts.iter().copied().filter(|(t, _)| *t != i).collect();
            let free = rest.iter().all(|(t, _)| !a.mentions(*t, |x| x == Atom::Counter(header)));
            free.then_some((k, rest, m))
        };
        match a.node(stay).clone() {
            TermNode::Op(Op::Ge, args) => {
                let (k, rest, m) = linear(a, args[0])?;
                if m >= 0 {
                    return None;
                }
                let x = a.sum(k, rest);
                let by = a.int(-m);
                let q = a.div(x, by);
                Some(a.plus(q, 1))
            }
            TermNode::Op(Op::Not, args) => match a.node(args[0]).clone() {
                TermNode::Op(Op::Eq, args) => {
                    let (k, rest, m) = linear(a, args[0])?;
                    let x = a.sum(k, rest);
                    let x = if m < 0 { x } else { a.scale(x, -1) };
                    let by = a.int(m.abs());
                    Some(a.div(x, by))
                }
                _ => None,
            },
            _ => None,
        }
        .or_else(|| {
            let mut only = true;
            self.s.arena.each_atom(stay, &mut |x| only &= x == Atom::Counter(header));
            let holds = |s: &mut Self, n: i64| s.s.arena.value(stay, &|_| Some(n));
            only.then(|| (0..4096).find(|n| holds(self, *n) == Some(0))).flatten().map(|n| self.s.arena.int(n))
        })
    }

    /// Writes a loop down and sets registers to what they hold behind it.
    fn close(
        &mut self,
        l: usize,
        mut nodes: Vec<Node>,
        exit: Exit,
        solved: Solved,
        back: Vec<Option<Val>>,
    ) -> Result<Stop, Error> {
        let header = self.s.flow.loops[l].header as u32;
        let at = self.s.flow.blocks[header as usize].first;
        let inst = self.inst(exit.at);
        let counter = self.s.arena.atom(Atom::Counter(header));
        let stays = match self.stays(header, exit.stay) {
            Some(q) => q,
            None if self.opaque(exit.stay) => {
                if self.dry == 0 && !nodes.is_empty() {
                    return Err(self.condition_error(inst, exit.stay));
                }
                self.s.arena.opaque(format!("how often the loop at line {} goes on", inst.line))
            }
            None => {
                // Loops that go on while the same holds of their index go on as often.
                let any = self.s.arena.atom(Atom::Counter(u32::MAX));
                let same = FxHashMap::from_iter([(counter, any)]);
                let stay = self.s.arena.replace(exit.stay, &same, &mut FxHashMap::default());
                self.s.arena.op(Op::Trips, &[stay])
            }
        };
        let stays = self.s.arena.under(stays, &self.facts);
        // A count of none is as good as one below.
        let less = self.s.arena.plus(stays, -1);
        let stays = match self.s.arena.floored(less) {
            Some(x) => self.s.arena.plus(x, 1),
            None => stays,
        };
        // Not less than none.
        let zero = self.s.arena.int(0);
        let positive = self.s.arena.ge(stays);
        let stays = match self.s.arena.decide(positive, &self.facts) {
            Some(true) => stays,
            _ => self.s.arena.op(Op::Max, &[stays, zero]),
        };
        let rotated = nodes.len() == exit.before && !nodes.is_empty() || (nodes.is_empty() && !solved.vars.is_empty());
        let mut sets = Vec::new();
        let mut shadows: FxHashMap<Term, u32> = FxHashMap::default();
        let mut regs = exit.regs;
        let own: Vec<u32> = solved.vars.iter().map(|(_, v, _)| *v).collect();
        // The iteration in which it is left.
        let mut with = FxHashMap::default();
        with.insert(counter, stays);
        let mut memo = FxHashMap::default();
        let mentions_own = |s: &Self, t: Term| s.s.arena.mentions(t, |a| matches!(a, Atom::Var(v) if own.contains(&v)));
        let mut updates = Vec::new();
        for (r, v, _) in &solved.vars {
            if let Some(t) = back[*r as usize].as_ref().and_then(|x| x.uniform(self.lanes)) {
                updates.push((*v, t));
            }
        }
        for (r, slot) in regs.iter_mut().enumerate() {
            let Some(v) = slot.take() else { continue };
            let new: [Term; 32] = std::array::from_fn(|lane| {
                let mut t = v.at(lane);
                if lane > 0 && t == v.at(0) && matches!(v, Val::Uni(_)) {
                    return t;
                }
                if rotated && mentions_own(self, t) {
                    // What is computed from a variable before its last change is kept in another one.
                    if let Some((v, _)) = updates.iter().find(|(_, x)| *x == t) {
                        t = self.s.arena.atom(Atom::Var(*v));
                    } else {
                        let id = match shadows.get(&t) {
                            Some(id) => *id,
                            None => {
                                let id = self.s.var(header, r as Reg, 1 + shadows.len().min(200) as u8);
                                self.s.sets(id, t);
                                shadows.insert(t, id);
                                sets.push((id, t));
                                id
                            }
                        };
                        t = self.s.arena.atom(Atom::Var(id));
                    }
                }
                self.s.arena.replace(t, &with, &mut memo)
            });
            *slot = Some(match v {
                Val::Uni(_) => Val::Uni(new[0]),
                Val::Lanes(_) => Val::of(new),
            });
        }
        self.regs = regs;
        if self.dry == 0 {
            for (id, t) in &sets {
                nodes.push(Node { at: exit.at, part: 20, kind: Kind::Set(*id, *t) });
            }
            self.update(header, exit.at, &updates, &mut nodes);
            for (n, (_, v, t)) in solved.vars.iter().enumerate() {
                self.nodes.push(Node { at, part: 30 + n.min(100) as u8, kind: Kind::Set(*v, *t) });
            }
            let count = if rotated { self.s.arena.plus(stays, 1) } else { stays };
            let tail: Vec<Node> = if rotated { Vec::new() } else { nodes[..exit.before].to_vec() };
            if !nodes.is_empty() {
                self.nodes.push(Node { at, part: 5, kind: Kind::For(header, count, nodes) });
            }
            let tail = self.at_iteration(tail, &with);
            self.nodes.extend(tail);
        }
        // What keeps it inside does not hold any more.
        let left = self.s.arena.replace(exit.stay, &with, &mut memo);
        if !mentions_own(self, left) && self.s.arena.constant(left).is_none() {
            let mut facts = std::mem::take(&mut self.facts);
            self.s.arena.learn(left, false, &mut facts);
            self.facts = facts;
        }
        Ok(Stop::At(exit.to))
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

impl super::walk::Shared<'_> {
    /// A variable of the program for a register of a loop.
    pub(super) fn var(&mut self, header: u32, reg: Reg, kind: u8) -> u32 {
        if let Some(v) = self.var_ids.get(&(header, reg, kind)) {
            return *v;
        }
        let id = self.vars.len() as u32;
        let name = self.entry.regs.get(reg as usize).map_or("v", |n| n.trim_start_matches('%'));
        self.vars.push(format!("{name}_{id}"));
        self.var_ids.insert((header, reg, kind), id);
        id
    }
}
