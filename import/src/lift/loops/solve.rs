//! Recurrences: the value of a register at the start of iteration i, derived from its change in one iteration.

use rustc_hash::FxHashMap;

use crate::lift::merge::effects_of::map_effect;
use crate::lift::tree::{Kind, Node, Val};
use crate::lift::walk::Walk;
use crate::ptx::Reg;
use crate::symbolic::{ALL_LANES, Arena, Atom, Node as TermNode, Op, Sequence, Term};

use super::bounded::{Carries, bound_sequences};
use super::{LoopVar, Solved};

/// The largest number of lanes in which a register becomes a variable.
const FEW_LANES: usize = 2;

/// First of the numbers that tell apart the variables of a register in each lane.
const LANE: u32 = 500;

/// The largest number of steps until a set of registers repeats.
const STEPS: usize = 512;

impl Walk<'_, '_> {
    /// Solves the registers that a loop changes. Opaque values after `mark` belong to the iteration.
    pub(crate) fn solve(
        &mut self,
        header: u32,
        changed: &[Reg],
        entry: &[Option<Val>],
        back: &[Option<Val>],
        mark: Term,
    ) -> Solved {
        let mark = match self.s.arena.node(mark) {
            TermNode::Atom(Atom::Opaque(n)) => *n,
            _ => 0,
        };
        let i = self.s.arena.atom(Atom::Counter(header));
        // Unknowns: register, lane (0 for all), initial value, value after an iteration.
        let mut open: Vec<(Reg, u8, Term, Term)> = Vec::new();
        let mut lost: Vec<Reg> = Vec::new();
        for r in changed {
            match (&entry[*r as usize], &back[*r as usize]) {
                (Some(Val::Uni(e)), Some(Val::Uni(b))) => open.push((*r, 0, *e, *b)),
                (Some(Val::Uni(_)), Some(Val::Lanes(_)) | None) => lost.push(*r),
                (Some(Val::Lanes(e)), Some(b)) => {
                    (0..32).for_each(|l| open.push((*r, l as u8 + 1, e[l], b.at(l))));
                }
                (Some(Val::Lanes(_)), None) => lost.push(*r),
                (None, _) => {}
            }
        }
        let mut known: FxHashMap<Term, Term> = FxHashMap::default();
        let mut searched = Vec::new();
        loop {
            let before = open.len();
            let mut next = Vec::new();
            for (r, lane, first, b) in std::mem::take(&mut open) {
                let x = self.s.arena.atom(Atom::Carried(header, r, lane));
                let b = self.s.arena.replace(b, &known, &mut FxHashMap::default());
                match self.closed(header, i, x, first, b, mark) {
                    Some(v) => drop(known.insert(x, v)),
                    None => next.push((r, lane, first, b)),
                }
            }
            open = next;
            self.together(header, entry, &mut known);
            if open.len() == before {
                let mut sequences = self.sequences(header, i, &open);
                if sequences.is_empty() {
                    let memory = |t: Term| self.s.arena.reads_memory(t) || self.opaque(t);
                    let by_data = open.iter().filter(|(_, _, _, b)| memory(*b)).map(|o| o.0);
                    let registers = by_data.chain(lost.iter().copied()).collect();
                    sequences = self.recurrences(header, i, entry, &registers);
                    let a = &mut self.s.arena;
                    let all = open.iter().map(|(r, lane, first, next)| Carries {
                        register: a.atom(Atom::Carried(header, *r, *lane)),
                        first: *first,
                        next: *next,
                    });
                    let all: Vec<Carries> = all.collect();
                    bound_sequences(a, &all, &mut sequences);
                    searched.extend(all.into_iter().filter(|c| sequences.contains_key(&c.register)));
                }
                if sequences.is_empty() {
                    break;
                }
                known.extend(sequences);
                let mut is_known = |r: &Reg| {
                    [0, 1].iter().any(|l| known.contains_key(&self.s.arena.atom(Atom::Carried(header, *r, *l))))
                };
                lost.retain(|r| !is_known(r));
                let a = &mut self.s.arena;
                open.retain(|(r, lane, ..)| !known.contains_key(&a.atom(Atom::Carried(header, *r, *lane))));
            }
        }
        self.note_sequences(i, &searched, &known);
        self.rest(header, changed, entry, open, lost, &known, mark)
    }

    /// Registers that are not solved and keep their value under a condition get the value that they have where another
    /// iteration follows: no exit was taken. Returns whether there are any.
    pub(crate) fn goes_back(&mut self, header: u32, solved: &Solved, back: &mut [Option<Val>]) -> bool {
        let mut any = false;
        for v in &solved.vars {
            let Some(old) = back[v.reg as usize].clone() else { continue };
            let keeps = |x: Atom| matches!(x, Atom::Carried(h, of, _) if h == header && of == v.reg);
            let mut memo = FxHashMap::default();
            let mut known = |t: Term| match self.s.arena.mentions(t, keeps) {
                true => self.s.arena.known_in(t, &self.facts, &mut memo),
                false => t,
            };
            let new = match &old {
                Val::Uni(t) => Val::Uni(known(*t)),
                Val::Lanes(all) => Val::of(std::array::from_fn(|l| known(all[l]))),
            };
            any |= new != old;
            back[v.reg as usize] = Some(new);
        }
        any
    }

    /// Keeps what the registers of sequences are in the first iteration and what each iteration makes of them.
    fn note_sequences(&mut self, i: Term, all: &[Carries], known: &FxHashMap<Term, Term>) {
        let a = &mut self.s.arena;
        let earlier = a.plus(i, -1);
        let earlier = FxHashMap::from_iter([(i, earlier)]);
        for Carries { register, first, next } in all {
            let next = a.replace(*next, known, &mut FxHashMap::default());
            if !a.mentions(next, |x| matches!(x, Atom::Carried(..) | Atom::Opaque(_))) {
                let next = a.replace(next, &earlier, &mut FxHashMap::default());
                let first = a.known_under(*first, &self.begins);
                a.sequences.insert(next, Sequence { first, value: known[register], begins: self.begins.clone() });
            }
        }
    }

    /// Adds the values of all lanes of registers of which each lane's value is known.
    fn together(&mut self, header: u32, entry: &[Option<Val>], known: &mut FxHashMap<Term, Term>) {
        let a = &mut self.s.arena;
        for r in (0..entry.len() as Reg).filter(|r| matches!(entry[*r as usize], Some(Val::Lanes(_)))) {
            if !a.reads_lanes(header, r) {
                continue;
            }
            let lane = |a: &mut Arena, l: u8| a.atom(Atom::Carried(header, r, l));
            let list: Vec<Term> = (1..=32).map_while(|l| known.get(&lane(a, l)).copied()).collect();
            if let Ok(list) = <&[Term; 32]>::try_from(list.as_slice()) {
                let all = a.lanes(list);
                known.insert(lane(a, ALL_LANES), all);
            }
        }
    }

    /// A closed form for one register, if its next value has a simple form.
    fn closed(&mut self, header: u32, i: Term, x: Term, first: Term, b: Term, mark: u32) -> Option<Term> {
        let a = &mut self.s.arena;
        let varies = |a: &Arena, t: Term| {
            a.mentions(t, |y| match y {
                Atom::Carried(h, ..) | Atom::Counter(h) => h == header,
                Atom::Opaque(n) => n > mark,
                _ => false,
            })
        };
        if b == x || b == first && !varies(a, b) {
            return Some(first);
        }
        // A register that keeps its value or gets its first one again.
        let again = FxHashMap::from_iter([(x, first)]);
        if a.mentions(b, |y| matches!(y, Atom::Carried(h, ..) if h == header))
            && a.replace(b, &again, &mut FxHashMap::default()) == first
        {
            return Some(first);
        }
        let step = a.sub(b, x);
        let steady = !varies(a, step) && !self.sets_part_of(header, step);
        let a = &mut self.s.arena;
        if steady {
            let all = a.mul(step, i);
            return Some(a.add(first, all));
        }
        // A value that the previous iteration computed from its index.
        let carried = a.mentions(b, |y| matches!(y, Atom::Carried(h, ..) if h == header));
        let opaque = a.mentions(b, |y| matches!(y, Atom::Opaque(n) if n > mark));
        // A variable may change before the register is read.
        let variable = a.mentions(b, |y| matches!(y, Atom::Var(_)));
        if carried || opaque || variable {
            return None;
        }
        if let Some(t) = self.shifted(i, first, b) {
            return Some(t);
        }
        let a = &mut self.s.arena;
        let earlier = a.plus(i, -1);
        let with = FxHashMap::from_iter([(i, earlier)]);
        let before = a.replace(b, &with, &mut FxHashMap::default());
        let none = a.int(-1);
        let with = FxHashMap::from_iter([(i, none)]);
        if a.replace(b, &with, &mut FxHashMap::default()) == first {
            return Some(before);
        }
        let zero = a.eq(i);
        Some(a.op(Op::If, &[zero, first, before]))
    }

    /// A constant first, then a sequence that starts one iteration later.
    fn shifted(&mut self, i: Term, first: Term, b: Term) -> Option<Term> {
        let a = &mut self.s.arena;
        let first = a.constant(first)?;
        let (k, parts) = a.parts(b);
        if parts.is_empty() {
            return Some(a.table(i, vec![first], vec![k]));
        }
        let [(t, c)] = *parts else { return None };
        let TermNode::Table(index, start, cycle) = a.node(t).clone() else { return None };
        if index != i {
            return None;
        }
        let value = |v: &i64| v.wrapping_mul(c).wrapping_add(k);
        let start = std::iter::once(first).chain(start.iter().map(value)).collect();
        let cycle = cycle.iter().map(value).collect();
        Some(a.table(i, start, cycle))
    }

    /// Registers that run through finitely many values together.
    fn sequences(&mut self, header: u32, i: Term, open: &[(Reg, u8, Term, Term)]) -> FxHashMap<Term, Term> {
        let mut found = FxHashMap::default();
        let id = |s: &mut Self, r: Reg, lane: u8| s.s.arena.atom(Atom::Carried(header, r, lane));
        for (r, lane, ..) in open {
            // All registers that this one depends on.
            let mut set: Vec<usize> = Vec::new();
            let mut todo = vec![(*r, *lane)];
            let mut fine = true;
            let (mut prefix, mut period) = (0usize, 1usize);
            while let Some((r, lane)) = todo.pop() {
                let Some(n) = open.iter().position(|o| (o.0, o.1) == (r, lane)) else {
                    fine = false;
                    break;
                };
                if set.contains(&n) {
                    continue;
                }
                set.push(n);
                fine &= self.s.arena.constant(open[n].2).is_some() && set.len() <= 8;
                let mut other = false;
                self.s.arena.each_atom(open[n].3, &mut |a| match a {
                    Atom::Carried(h, r, lane) if h == header => todo.push((r, lane)),
                    Atom::Counter(h) if h == header => other = true,
                    _ => fine = false,
                });
                // The iteration's index may occur only inside sequences.
                fine &= !other || self.s.arena.in_tables(open[n].3, i, &mut prefix, &mut period);
                if !fine {
                    break;
                }
            }
            if !fine {
                continue;
            }
            set.sort_unstable();
            let mut states: Vec<Vec<i64>> =
                vec![set.iter().filter_map(|n| self.s.arena.constant(open[*n].2)).collect()];
            let mut cycle = None;
            while states.len() < STEPS && cycle.is_none() {
                let now = states[states.len() - 1].clone();
                let step = states.len() as i64 - 1;
                let read = |a: Atom| match a {
                    Atom::Counter(h) if h == header => Some(step),
                    Atom::Carried(h, r, lane) if h == header => {
                        let n = open.iter().position(|o| (o.0, o.1) == (r, lane))?;
                        set.iter().position(|x| *x == n).map(|p| now[p])
                    }
                    _ => None,
                };
                let next: Option<Vec<i64>> = set.iter().map(|n| self.s.arena.value(open[*n].3, &read)).collect();
                let Some(next) = next else { break };
                let at = states.len();
                cycle = states
                    .iter()
                    .enumerate()
                    .position(|(n, s)| *s == next && n >= prefix && (at - n).is_multiple_of(period));
                states.push(next);
            }
            let Some(from) = cycle else { continue };
            states.pop();
            for (p, n) in set.iter().enumerate() {
                let values: Vec<i64> = states.iter().map(|s| s[p]).collect();
                let x = id(self, open[*n].0, open[*n].1);
                let t = self.s.arena.table(i, values[..from].to_vec(), values[from..].to_vec());
                found.insert(x, t);
            }
            return found;
        }
        found
    }

    /// Registers without a closed form: variables of the program, or opaque.
    #[expect(clippy::too_many_arguments, reason = "the state of one solution")]
    fn rest(
        &mut self,
        header: u32,
        changed: &[Reg],
        entry: &[Option<Val>],
        mut open: Vec<(Reg, u8, Term, Term)>,
        mut lost: Vec<Reg>,
        known: &FxHashMap<Term, Term>,
        mark: u32,
    ) -> Solved {
        // The result of a poll may be carried from an iteration to the next, and not polled ahead of the loop.
        let polled: Vec<Reg> = open.iter().filter(|(.., b)| self.peekish(*b)).map(|o| o.0).collect();
        let a = &mut self.s.arena;
        // A value that depends on an opaque value is opaque.
        loop {
            let bad = open.iter().position(|(r, lane, first, b)| {
                let opaque = |t: Term| {
                    a.mentions(t, |x| match x {
                        Atom::Opaque(_) => true,
                        Atom::Carried(h, r, _) => h == header && lost.contains(&r),
                        _ => false,
                    })
                };
                // Few lanes do what the others do not, such as the one that issues copies.
                let several = *lane > 0 && open.iter().filter(|o| o.0 == *r).count() > FEW_LANES;
                several || opaque(*first) || opaque(*b)
            });
            let Some(n) = bad else { break };
            let (r, ..) = open[n];
            open.retain(|o| o.0 != r);
            lost.push(r);
        }
        let _ = mark;
        let mut solved = Solved::default();
        let mut with = known.clone();
        let kind = |lane: u8| if lane == 0 { 0 } else { LANE + u32::from(lane) };
        for (reg, lane, first, _) in &open {
            let var = self.s.var(header, *reg, kind(*lane));
            let t = self.s.arena.atom(Atom::Var(var));
            with.insert(self.s.arena.atom(Atom::Carried(header, *reg, *lane)), t);
            solved.vars.push(LoopVar { reg: *reg, lane: lane.checked_sub(1), var, first: *first });
            if *lane == 0 {
                solved.values.insert(*reg, Val::Uni(t));
            }
        }
        for (r, lane, first, b) in &open {
            let v = self.s.var(header, *r, kind(*lane));
            let b = self.s.arena.replace(*b, &with, &mut FxHashMap::default());
            self.s.sets_all(v, vec![*first, b]);
        }
        self.s.settle(&with);
        for r in changed {
            if solved.values.contains_key(r) {
                continue;
            }
            let Some(old) = &entry[*r as usize] else { continue };
            if lost.contains(r) {
                let name = &self.s.entry.regs[*r as usize];
                let why = format!("`{name}`, which a loop changes in a way that is not followed");
                let peeks = polled.contains(r) || old.uniform(self.lanes).is_some_and(|t| self.peekish(t));
                let v = match old {
                    Val::Uni(_) if self.s.entry.widths[*r as usize] >= 1 => Val::Uni(self.s.arena.opaque(why)),
                    _ => self.opaque_lanes(why),
                };
                let v = self.unknown_of(*r, v);
                if let (true, Val::Uni(t)) = (peeks, &v) {
                    self.peeked_terms.push(*t);
                    self.carries(header, *r, *t);
                    let v = self.not_polled_first(header, *t, old);
                    solved.values.insert(*r, v);
                    continue;
                }
                solved.values.insert(*r, v);
                continue;
            }
            let mut memo = FxHashMap::default();
            let value = |s: &mut Self, lane: u8, memo: &mut FxHashMap<Term, Term>| {
                let x = s.s.arena.atom(Atom::Carried(header, *r, lane));
                let t = with.get(&x).copied().unwrap_or(x);
                s.s.arena.replace(t, &with, memo)
            };
            let v = match old {
                Val::Uni(_) => Val::Uni(value(self, 0, &mut memo)),
                Val::Lanes(_) => Val::of(std::array::from_fn(|l| value(self, l as u8 + 1, &mut memo))),
            };
            solved.values.insert(*r, v);
        }
        solved
    }

    /// Nodes in which other terms replace atoms.
    pub(crate) fn at_iteration(&mut self, nodes: Vec<Node>, with: &FxHashMap<Term, Term>) -> Vec<Node> {
        let mut memo = FxHashMap::default();
        nodes.into_iter().map(|n| self.replaced(n, with, &mut memo)).collect()
    }

    fn replaced(&mut self, n: Node, with: &FxHashMap<Term, Term>, memo: &mut FxHashMap<Term, Term>) -> Node {
        let all = |s: &mut Self, list: Vec<Node>, memo: &mut FxHashMap<Term, Term>| -> Vec<Node> {
            list.into_iter().map(|n| s.replaced(n, with, memo)).collect()
        };
        let kind = match n.kind {
            Kind::Op(mask, e) => Kind::Op(mask, map_effect(e, &mut |t| self.s.arena.replace(t, with, memo))),
            Kind::If(c, x, y) => {
                let c = self.s.arena.replace(c, with, memo);
                Kind::If(c, all(self, x, memo), all(self, y, memo))
            }
            Kind::For(h, count, body) => {
                let count = self.s.arena.replace(count, with, memo);
                Kind::For(h, count, all(self, body, memo))
            }
            Kind::Set(v, t) => Kind::Set(v, self.s.arena.replace(t, with, memo)),
            Kind::End => Kind::End,
        };
        Node { part: n.part.saturating_add(100), kind, ..n }
    }
}
