//! The barrier and the phase that a poll names, compared with those of the wait that a successful poll skips.
//!
//! A poll ahead of its wait often stands in the iteration before: its result is carried to the next one. The walk that
//! solves a loop records each wait behind a carried result, over the registers of its iteration. The wait of the next
//! iteration has the values that the iteration leaves in these registers. A poll that names another barrier or phase lets
//! a warp pass its wait too early, and the kernel is not proved.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::lift::walk::exits::Exit;
use crate::ptx::{Error, Inst, Reg};
use crate::symbolic::{Atom, Facts, Node as TermNode, Op, Term};

use super::states::waits_for_state;

/// The largest number of registers that hand on the result of a poll.
const MOST_HANDED_ON: usize = 4;

/// Values of a byte. Compilers keep the result of a poll in a register of 16 bits, and compare its low byte.
const BYTE: i64 = 256;

/// A phase of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    bar: Term,
    /// The parity, or the state of an arrival.
    parity: Term,
    line: u32,
}

/// The registers at the start of an iteration, and what is known there.
type Left<'a> = (&'a [Option<Val>], &'a Facts);

/// A register that a loop carries: its header, and the register.
type Flag = (u32, Reg);

/// A wait that is skipped where a carried result of a poll says so.
#[derive(Clone, Copy, Debug)]
struct Skipped {
    flag: Flag,
    /// The branch.
    at: usize,
    wait: Phase,
    /// Whether it is skipped where the register is not 0.
    when: bool,
    /// How many registers have handed it on.
    handed: usize,
}

/// Polls and waits of the warp that is walked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Polls {
    /// What polls name, by their results.
    named: FxHashMap<Term, Phase>,
    /// The waits so far.
    waits: Vec<Phase>,
    /// Waits behind registers of loops that are being solved.
    skipped: Vec<Skipped>,
    /// Results of polls at the start of an iteration.
    carried: FxHashMap<Term, Flag>,
    /// Branches by carried results whose polls were compared.
    compared: BTreeSet<(Flag, usize, bool)>,
    /// Those whose values too many registers hand on.
    handed_on: BTreeSet<(Flag, usize)>,
}

impl Walk<'_, '_> {
    /// The phase that an instruction names.
    fn phase(&mut self, i: &Inst) -> Result<Option<Phase>, Error> {
        let (bar, parity) = (self.operand(i.arg(1))?, self.operand(i.arg(2))?);
        let (Some(bar), Some(mut parity)) = (bar.uniform(self.lanes), parity.uniform(self.lanes)) else {
            return Ok(None);
        };
        if !waits_for_state(i) {
            let two = self.s.arena.int(2);
            parity = self.s.arena.rem(parity, two);
        }
        Ok(Some(Phase { bar, parity, line: i.line }))
    }

    /// Records a poll with its result.
    pub(crate) fn polls(&mut self, i: &Inst, result: Term) -> Result<(), Error> {
        if let Some(p) = self.phase(i)? {
            self.s.polls.named.insert(result, p);
        }
        Ok(())
    }

    /// Records a wait.
    pub(crate) fn waits(&mut self, i: &Inst) -> Result<(), Error> {
        if let Some(p) = self.phase(i)? {
            self.s.polls.waits.push(p);
        }
        Ok(())
    }

    /// The number of waits so far.
    pub(crate) fn waits_so_far(&self) -> usize {
        self.s.polls.waits.len()
    }

    /// The register of the innermost loop that decides a condition which may be the result of a poll.
    fn flag(&self, t: Term) -> Option<Flag> {
        match self.s.arena.node(t) {
            TermNode::Atom(Atom::Carried(h, r, 0)) => {
                let inner = self.frames.last().map(|f| self.s.flow.loops[f.index].header as u32);
                (inner == Some(*h)).then_some((*h, *r))
            }
            TermNode::Op(Op::Not | Op::Eq, args) => self.flag(args[0]),
            TermNode::Op(Op::Rem, args) if self.is_byte(args[1]) => self.flag(args[0]),
            TermNode::Op(Op::If, args) => args.iter().find_map(|x| self.flag(*x)),
            TermNode::Sum(_, parts) if parts.len() == 1 => self.flag(parts[0].0),
            _ => None,
        }
    }

    /// Whether a modulus keeps the low byte, or more.
    fn is_byte(&self, modulus: Term) -> bool {
        self.s.arena.constant(modulus).is_some_and(|m| m > 0 && m % BYTE == 0)
    }

    /// Records the waits on one side of a branch in a loop that is being solved, if none is on the other side.
    pub(crate) fn skips(&mut self, at: usize, cond: Term, [start, middle, end]: [usize; 3]) {
        if self.dry == 0 || (start == middle) == (middle == end) {
            return;
        }
        let Some((header, _)) = self.flag(cond) else { return };
        let facts = self.facts.clone();
        for wait in self.s.polls.waits.get(start..end).unwrap_or_default().to_vec() {
            let mut from = Vec::new();
            if self.names(cond, (wait, at), start == middle, &facts, &mut from).is_ok() {
                let from = from.into_iter().filter(|(flag, _)| flag.0 == header);
                let new = from.map(|(flag, when)| Skipped { flag, at, wait, when, handed: 0 });
                self.s.polls.skipped.extend(new);
            }
        }
    }

    /// Forgets what was recorded for a loop.
    pub(crate) fn forget_skipped(&mut self, header: u32) {
        self.s.polls.skipped.retain(|s| s.flag.0 != header);
        self.s.polls.compared.retain(|(f, ..)| f.0 != header);
        self.s.polls.handed_on.retain(|(f, _)| f.0 != header);
    }

    /// An unknown value that stands for a carried result of a poll.
    pub(crate) fn carries(&mut self, header: u32, reg: Reg, value: Term) {
        self.s.polls.carried.insert(value, (header, reg));
    }

    /// The carried result of a poll. Where a number other than 0 stands ahead of the loop for a poll that succeeded, the
    /// first iteration skips its wait, and nothing was polled.
    pub(crate) fn not_polled_first(&mut self, header: u32, result: Term, first: &Val) -> Val {
        let Some(number) = first.uniform(self.lanes).filter(|t| self.is_no_poll(*t)) else { return Val::Uni(result) };
        let i = self.s.arena.atom(Atom::Counter(header));
        let is_first = self.s.arena.eq(i);
        Val::Uni(self.s.arena.op(Op::If, &[is_first, number, result]))
    }

    /// Whether a value is a number that stands for a poll that succeeded.
    fn is_no_poll(&self, t: Term) -> bool {
        self.s.arena.constant(t).is_some_and(|k| k % BYTE != 0)
    }

    /// Compares the waits that carried results skip with the polls before the loop and in the previous iteration. Each of
    /// the two comes with what is known there. `by_iteration` has the values of registers by the number of an iteration.
    pub(crate) fn compare_carried(
        &mut self,
        header: u32,
        changed: &[Reg],
        (entry, back): (Left<'_>, Left<'_>),
        by_iteration: &FxHashMap<Term, Term>,
    ) -> Result<(), Error> {
        let mut todo: Vec<Skipped> = Vec::new();
        self.s.polls.skipped.retain(|s| {
            todo.extend((s.flag.0 == header).then_some(*s));
            s.flag.0 != header
        });
        let polled: Vec<Reg> = self.s.polls.carried.values().filter(|f| f.0 == header).map(|f| f.1).collect();
        todo.retain(|s| self.dry > 0 || polled.contains(&s.flag.1));
        if todo.is_empty() {
            return Ok(());
        }
        let (first, next) = (self.values_of(header, changed, entry.0), self.values_of(header, changed, back.0));
        let mut counted = by_iteration.clone();
        counted.retain(|_, t| !self.opaque(*t));
        let known = [self.s.arena.sharpened(entry.1), self.s.arena.sharpened(back.1)];
        let (entry, back) = ((entry.0, &known[0]), (back.0, &known[1]));
        while let Some(s) = todo.pop() {
            self.s.polls.compared.insert((s.flag, s.at, s.when));
            for (is_next, with, (regs, facts)) in [(false, &first, entry), (true, &next, back)] {
                let Some(Val::Uni(value)) = &regs[s.flag.1 as usize] else {
                    return self.unlike(s.at, s.wait, None);
                };
                // Without a poll, the first iteration skips the wait by a branch of its own.
                if !is_next && s.when && s.flag.0 == header && self.is_no_poll(*value) {
                    continue;
                }
                let value = self.s.arena.replace(*value, &counted, &mut FxHashMap::default());
                let mut memo = FxHashMap::default();
                let mut at = |t: Term| self.s.arena.replace(t, with, &mut memo);
                let wait = Phase { bar: at(s.wait.bar), parity: at(s.wait.parity), line: s.wait.line };
                let mut from = Vec::new();
                if let Err(poll) = self.names(value, (wait, s.at), s.when, facts, &mut from)
                    && self.dry == 0
                {
                    return self.unlike(s.at, wait, poll);
                }
                for (flag, when) in from {
                    let new = Skipped { flag, at: s.at, wait, when, handed: s.handed + 1 };
                    if flag.0 != header {
                        self.s.polls.skipped.push(new);
                    } else if (flag, when) != (s.flag, s.when) && is_next {
                        if s.handed < MOST_HANDED_ON {
                            todo.push(new);
                        } else if self.dry == 0 {
                            return self.unlike(s.at, wait, None);
                        } else {
                            // It may be no result of a poll.
                            self.s.polls.handed_on.insert((s.flag, s.at));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Values that replace the registers of an iteration.
    pub(crate) fn values_of(&mut self, header: u32, changed: &[Reg], regs: &[Option<Val>]) -> FxHashMap<Term, Term> {
        let mut with = FxHashMap::default();
        for r in changed {
            let Some(v) = &regs[*r as usize] else { continue };
            if let Val::Uni(t) = v {
                with.insert(self.s.arena.atom(Atom::Carried(header, *r, 0)), *t);
            }
            for lane in 0..32u8 {
                with.insert(self.s.arena.atom(Atom::Carried(header, *r, lane + 1)), v.at(lane as usize));
            }
        }
        with
    }

    /// Whether all polls in a value name the phase of a wait, and succeeded where the wait is skipped. If `when` holds, the
    /// wait is skipped where the value is not 0, else where it is 0. Adds the registers that the value comes from, of loops
    /// that are being solved. An error is the poll of another phase, if that is the cause.
    fn names(
        &mut self,
        value: Term,
        (wait, at): (Phase, usize),
        when: bool,
        facts: &Facts,
        from: &mut Vec<(Flag, bool)>,
    ) -> Result<(), Option<Phase>> {
        match self.s.arena.node(value).clone() {
            // Skipped, and nothing was polled.
            TermNode::Const(k) if (k != 0) == when => Err(None),
            // Its low byte may be looked at alone.
            TermNode::Const(k) if k != 0 && k % BYTE == 0 => Err(None),
            TermNode::Const(_) => Ok(()),
            TermNode::Atom(Atom::Carried(h, r, _)) => {
                from.push(((h, r), when));
                Ok(())
            }
            TermNode::Atom(Atom::Opaque(_)) => {
                if let Some(p) = self.s.polls.named.get(&value).copied() {
                    let same = when
                        && self.equal_under(p.bar, wait.bar, facts)
                        && self.equal_under(p.parity, wait.parity, facts);
                    return if same { Ok(()) } else { Err(when.then_some(p)) };
                }
                let flag = self.s.polls.carried.get(&value);
                let polls = &self.s.polls;
                let compared = flag
                    .is_some_and(|f| polls.compared.contains(&(*f, at, when)) && !polls.handed_on.contains(&(*f, at)));
                if compared { Ok(()) } else { Err(None) }
            }
            TermNode::Op(Op::If, args) => self.names_either([args[0], args[1], args[2]], (wait, at), when, facts, from),
            TermNode::Op(Op::Not | Op::Eq, args) => self.names(args[0], (wait, at), !when, facts, from),
            TermNode::Op(Op::Rem, args) if self.is_byte(args[1]) => self.names(args[0], (wait, at), when, facts, from),
            TermNode::Op(op @ (Op::Either | Op::Both), args) => {
                // Where all parts are needed to skip the wait, a poll is needed, whatever else is.
                let all = (op == Op::Both) == when;
                let (mut left, mut polled) = (Vec::new(), false);
                for x in args.iter().copied() {
                    let neutral = self.s.arena.decide_with_numbers(x, facts) == Some(op == Op::Both);
                    let is_polled = self.peekish(x) || self.flag(x).is_some();
                    polled |= is_polled && !neutral;
                    left.extend((!neutral).then_some((x, is_polled)));
                }
                left.retain(|(_, is_polled)| !(all && polled) || *is_polled);
                left.into_iter().try_for_each(|(x, _)| self.names(x, (wait, at), when, facts, from))
            }
            // A multiple of a result, or what is left of 1.
            TermNode::Sum(k, parts) => match *parts {
                [(x, c)] => match self.s.arena.node(x).clone() {
                    TermNode::Op(Op::If, args) => {
                        let a = &mut self.s.arena;
                        let [first, second] = [args[1], args[2]].map(|t| a.scale(t, c)).map(|t| a.plus(t, k));
                        self.names_either([args[0], first, second], (wait, at), when, facts, from)
                    }
                    _ if k == 0 && c % BYTE != 0 => self.names(x, (wait, at), when, facts, from),
                    _ if k == -c => self.names(x, (wait, at), !when, facts, from),
                    _ => Err(None),
                },
                _ => Err(None),
            },
            _ => Err(None),
        }
    }

    /// The same for a choice: a condition, the value where it holds, and the value where it does not.
    fn names_either(
        &mut self,
        [cond, first, second]: [Term; 3],
        (wait, at): (Phase, usize),
        when: bool,
        facts: &Facts,
        from: &mut Vec<(Flag, bool)>,
    ) -> Result<(), Option<Phase>> {
        let polled = self.peekish(cond) || self.flag(cond).is_some();
        if polled {
            let not_zero = |t: Term| self.s.arena.constant(t).map(|k| k != 0);
            let when = match (not_zero(first), not_zero(second)) {
                (Some(a), Some(b)) if a == b => return self.names(first, (wait, at), when, facts, from),
                (Some(true), _) | (_, Some(false)) => when,
                (Some(false), _) | (_, Some(true)) => !when,
                (None, None) => return Err(None),
            };
            self.names(cond, (wait, at), when, facts, from)?;
        }
        for (x, holds) in [(first, true), (second, false)] {
            let mut known = facts.clone();
            // A number stands for the outcome of the poll.
            if polled && self.s.arena.constant(x).is_some() {
                continue;
            }
            if !polled {
                if self.s.arena.decide_with_numbers(cond, facts) == Some(!holds) {
                    continue;
                }
                self.s.arena.learn(cond, holds, &mut known);
                known = self.s.arena.sharpened(&known);
                if self.s.arena.excluded(&known) {
                    continue;
                }
            }
            self.names(x, (wait, at), when, &known, from)?;
        }
        Ok(())
    }

    /// Gives polls of a loop the phases that they name behind it: those of the last iteration. Where variables have their
    /// next values there, `updates` has these values.
    pub(crate) fn polled_last(
        &mut self,
        exits: &[Exit],
        last: &FxHashMap<Term, Term>,
        updates: &[(u32, Term)],
        own: &[u32],
    ) {
        if self.s.polls.named.is_empty() {
            return;
        }
        let mut polls: Vec<Term> = Vec::new();
        for v in exits.iter().flat_map(|e| e.regs.iter().flatten()) {
            let Val::Uni(t) = v else { continue };
            for a in self.s.arena.atoms(*t).iter().filter(|a| matches!(a, Atom::Opaque(_))) {
                polls.push(self.s.arena.atom(*a));
            }
        }
        polls.sort_unstable();
        polls.dedup();
        polls.retain(|p| self.s.polls.named.contains_key(p));
        if polls.is_empty() {
            return;
        }
        let (mut marks, mut values) = (FxHashMap::default(), FxHashMap::default());
        for (v, next) in updates {
            if self.s.arena.constant(*next).is_some() {
                continue;
            }
            let mark = self.s.arena.opaque("the next value of a variable");
            marks.insert(*next, mark);
            values.insert(mark, self.s.arena.atom(Atom::Var(*v)));
        }
        for p in polls {
            let Some(Phase { bar, parity, line }) = self.s.polls.named.get(&p).copied() else { continue };
            let mut after = |t: Term| {
                let a = &mut self.s.arena;
                let t = a.replace(t, &marks, &mut FxHashMap::default());
                // The value of a variable before its last change.
                if !values.is_empty() && a.mentions(t, |x| matches!(x, Atom::Var(v) if own.contains(&v))) {
                    return None;
                }
                let t = a.replace(t, last, &mut FxHashMap::default());
                Some(a.replace(t, &values, &mut FxHashMap::default()))
            };
            match (after(bar), after(parity)) {
                (Some(bar), Some(parity)) => drop(self.s.polls.named.insert(p, Phase { bar, parity, line })),
                _ => drop(self.s.polls.named.remove(&p)),
            }
        }
    }

    fn equal_under(&mut self, a: Term, b: Term, facts: &Facts) -> bool {
        let (a, b) = (self.s.arena.under(a, facts), self.s.arena.under(b, facts));
        let d = self.s.arena.sub(a, b);
        let same = self.s.arena.eq(d);
        a == b || self.s.arena.decide(same, facts) == Some(true)
    }

    /// Compares a poll with the waits that it skips.
    pub(crate) fn compare(
        &mut self,
        at: usize,
        cond: Term,
        [start, middle, end]: [usize; 3],
        facts: &Facts,
    ) -> Result<(), Error> {
        if self.dry > 0 {
            return Ok(());
        }
        for wait in self.s.polls.waits.get(start..end).unwrap_or_default().to_vec() {
            if let Err(poll) = self.names(cond, (wait, at), start == middle, facts, &mut Vec::new()) {
                return self.unlike(at, wait, poll);
            }
        }
        Ok(())
    }

    /// Forbids a proof where a poll is not shown to name the phase of its wait. The wait happens where the poll fails, so
    /// that faults count. Polls that are not known are an error.
    fn unlike(&mut self, at: usize, wait: Phase, poll: Option<Phase>) -> Result<(), Error> {
        let Some(p) = poll else {
            let what = format!("which polls skip the wait at line {} is not known", wait.line);
            return Err(self.s.error(self.inst(at), what, "a poll of the same barrier for the same phase"));
        };
        self.s.leaves_open(format!(
            "the poll at line {} is not shown to name the barrier and the phase of the wait at line {} that it skips",
            p.line, wait.line
        ));
        Ok(())
    }
}
