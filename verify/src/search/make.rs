//! Execution of moves in a world: the parts that a move depends on, its outcome, and the check that it is the same one
//! period later.

use smallvec::SmallVec;
use warpline_sim::ir::Instr;
use warpline_sim::protocol::{AgentId, Decision, PartState, StatePart, Step, StepRecord, StreamKind};
use warpline_sim::report::FindingKind;

use super::Stop;
use super::cells::Id;
use super::kinds::{ActionKind, Group, KEPT, Maker, NOBODY, Node, OWN, Outcome, Transition, maker};
use super::table::Tables;
use super::trips::alike;

impl Tables<'_> {
    /// Finds the parts that a move depends on, and checks that all members of a class make it alike.
    pub(super) fn look(&mut self, a: AgentId, (k, action): (usize, usize), row: &[Id]) -> Result<(), Stop> {
        let first = self.cells.first[a as usize];
        let grouped = self.cells.classes.iter().position(|c| c[0] == first);
        let what = self.known[k].actions[action].what;
        let id = row[1 + self.cells.agent[a as usize] as usize];
        let node = |me: &mut Self, a: AgentId| -> Result<Node, Stop> {
            let cell = me.cells.agent[a as usize];
            let held = me.cells.renamed(&me.any, me.cells.held(cell, id), (first, a));
            let pc = held.pc().unwrap_or(0);
            let asks = what == ActionKind::Step && me.texts.asks(pc);
            let any = me.texts.any();
            // Control flow after the operation accesses no memory.
            let texts = if asks && me.texts.names(pc) { 0..me.texts.len() } else { any..any + 1 };
            let mut parts: Vec<StatePart> = Vec::new();
            for text in texts {
                let w = me.world(text);
                w.put(StatePart::Agent(a), &held);
                let needs = match what {
                    ActionKind::Step => w.needs(a),
                    ActionKind::Land(i) => Some(w.landing_needs(a, w.flights_of(a)[i as usize])),
                };
                // An operand without a meaning is a fault, which the step itself reports.
                let needs = needs.unwrap_or(vec![StatePart::Agent(a)]);
                parts.extend(needs.into_iter().filter(|p| !parts.contains(p)).collect::<Vec<_>>());
            }
            let own = &me.cells.own[a as usize];
            let refs = parts[1..].iter().filter_map(|p| me.cells.of(*p));
            let deps = refs.map(|c| own.iter().position(|o| *o == c).map_or(c, |i| i as u16 | OWN)).collect();
            let (one, few, many) = Default::default();
            Ok(Node { parts, deps, asks, one, few, many })
        };
        let mine = node(self, a)?;
        let meets = |n: &Node| {
            n.parts.iter().any(|p| matches!(p, StatePart::Rendezvous(_) | StatePart::Ended)) && what == ActionKind::Step
        };
        let by = if grouped.is_some() && !meets(&mine) { AgentId::MAX } else { a };
        if let Some(class) = grouped.filter(|_| by == a) {
            // Agents at different rendezvous cannot change places.
            let met = |n: &Node| {
                n.parts.iter().filter(|p| matches!(p, StatePart::Rendezvous(_))).copied().collect::<Vec<_>>()
            };
            for b in self.cells.classes[class].clone() {
                if met(&node(self, b)?) != met(&mine) {
                    return Err(Stop::Unlike(class));
                }
            }
        }
        let other = |p: &&StatePart| matches!(p, StatePart::Agent(b) if *b != a && !self.shared[*b as usize]);
        if let Some(StatePart::Agent(b)) = mine.parts.iter().find(other) {
            return Err(Stop::Shares(*b));
        }
        self.known[k].actions[action].nodes.push((by, mine));
        let at = self.known[k].actions[action].nodes.len() - 1;
        let Some(class) = grouped.filter(|_| by == AgentId::MAX) else { return Ok(()) };
        // The first agent represents the class.
        self.known[k].actions[action].nodes[at].1 = node(self, first)?;
        let alike = self.make_all(first, (k, action, at), &self.swapped(row, a, first))?;
        for b in self.cells.classes[class].clone() {
            let other = node(self, b)?;
            let theirs = std::mem::replace(&mut self.known[k].actions[action].nodes[at].1, other);
            let made = self.make_all(b, (k, action, at), &self.swapped(row, a, b));
            let other = std::mem::replace(&mut self.known[k].actions[action].nodes[at].1, theirs);
            let same = other.deps == self.known[k].actions[action].nodes[at].1.deps;
            if !same || made? != alike {
                return Err(Stop::Unlike(class));
            }
        }
        Ok(())
    }

    /// Computes something for one agent, or for the first of its class in its place.
    pub(super) fn made_by<T>(
        &mut self,
        (a, k, action, at): (AgentId, usize, usize, usize),
        row: &[Id],
        ask: impl Fn(&mut Self, AgentId, (usize, usize, usize), &[Id]) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let first = self.cells.first[a as usize];
        match self.known[k].actions[action].nodes[at].0 == AgentId::MAX {
            true => ask(self, first, (k, action, at), &self.swapped(row, a, first)),
            false => ask(self, a, (k, action, at), row),
        }
    }

    /// A state in which two agents of a class have changed places.
    fn swapped(&self, row: &[Id], a: AgentId, b: AgentId) -> Vec<Id> {
        let mut row = row.to_vec();
        for (x, y) in self.cells.own[a as usize].iter().zip(&self.cells.own[b as usize]) {
            row.swap(1 + *x as usize, 1 + *y as usize);
        }
        row
    }

    /// The parts that a move depends on in a state, renamed to agent `a`.
    fn met(&self, a: AgentId, parts: &[StatePart], row: &[Id]) -> Vec<(StatePart, PartState)> {
        let own = &self.cells.own[a as usize];
        let held = |p: &StatePart| {
            let cell = self.cells.of(*p)?;
            let held = self.cells.held(cell, row[1 + cell as usize]);
            let first = self.cells.first[a as usize];
            let held = if own.contains(&cell) {
                self.cells.renamed(&self.any, held, (first, a))
            } else if let StatePart::Agent(b) = *p {
                self.cells.renamed(&self.any, held, (self.cells.first[b as usize], b))
            } else {
                held.clone()
            };
            Some((*p, held))
        };
        parts.iter().filter_map(held).collect()
    }

    /// Makes a move in the world of a text.
    fn make(
        &mut self,
        text: usize,
        a: AgentId,
        what: ActionKind,
        (parts, before): (&[StatePart], &[(StatePart, PartState)]),
        decisions: Option<&mut Vec<Decision>>,
    ) -> Transition {
        let (w, private) = self.world_and_private(text);
        before.iter().for_each(|(p, h)| w.put(*p, h));
        // A part without a cell has its initial content.
        let put = |p: &StatePart| before.iter().find(|(q, _)| q == p).map(|(_, h)| h);
        let start: Vec<Option<PartState>> = parts.iter().map(|p| put(p).is_none().then(|| w.part(*p))).collect();
        let mut record = StepRecord {
            accesses: Some(Vec::new()),
            decisions: decisions.is_some().then(Vec::new),
            ..StepRecord::default()
        };
        let mut made = Transition {
            held: Vec::new(),
            touches: Vec::new(),
            flies: false,
            maker: maker(a, None),
            pc: 0,
            fault: None,
            goes: true,
        };
        match what {
            ActionKind::Land(i) => {
                let f = w.flights_of(a)[i as usize];
                made.pc = w.flight(f).map_or(0, |f| f.pc);
                w.land(f, &mut record);
            }
            ActionKind::Step => {
                made.pc = w.pc(a);
                match w.step(a, &mut record) {
                    Step::Performed { effect, .. } => {
                        let mut touches = record.take_accesses();
                        touches.retain(|(p, _)| !private[*p as usize]);
                        touches.sort_unstable();
                        touches.dedup();
                        if let Some(f) = effect.flights().first() {
                            let stream = w.stream_of(*f);
                            made.maker = stream.map_or(NOBODY, |(owner, kind)| maker(owner, Some(kind)));
                            // The accesses of a flight last until it lands. Registers that a scoreboard guards belong
                            // to their agent alone.
                            if !matches!(stream, Some((_, StreamKind::Scoreboard))) {
                                w.under_way(*f, touches.clone());
                                made.flies = true;
                            }
                        }
                        made.touches = touches;
                        w.settle(a, &mut record);
                    }
                    Step::Ended | Step::Blocked { .. } => {}
                    Step::Broken => made.fault = Some(FindingKind::Range),
                }
            }
        }
        made.fault = made.fault.or(w.findings().iter().find(|f| !f.note).map(|f| f.kind));
        made.held = parts.iter().map(|p| w.part(*p)).collect();
        let was = parts.iter().zip(&start).map(|(p, start)| start.as_ref().or_else(|| put(p)));
        made.goes = made.fault.is_some() || was.zip(&made.held).any(|(was, now)| was != Some(now));
        if let (Some(list), Some(recorded)) = (decisions, record.decisions) {
            *list = recorded;
        }
        made
    }

    /// Makes a move for every trip count that a state allows.
    pub(super) fn make_all(
        &mut self,
        a: AgentId,
        (k, action, at): (usize, usize, usize),
        row: &[Id],
    ) -> Result<Group, Stop> {
        let (what, node) = (self.known[k].actions[action].what, &self.known[k].actions[action].nodes[at].1);
        let (parts, asks) = (node.parts.clone(), node.asks);
        let before = self.met(a, &parts, row);
        let (lo, hi) = self.tapes[row[0] as usize];
        let mut list: Vec<((i64, i64), Transition)> = Vec::new();
        if asks {
            let Some(e) = &self.texts.every else { return Err(Stop::Unfit("no trip count is varied".into())) };
            let (period, window, far, start) = (e.period, e.window, e.far, e.start);
            let near = (self.known[k].progress.unwrap_or(start) + 2) * period + window;
            let last = if hi == i64::MAX { lo.max(near) } else { hi };
            if last > far + period {
                return Err(Stop::Unfit("agents are further apart than the steps of a few periods".into()));
            }
            let large = self.texts.large();
            for n in (lo..=last)
                .filter(|n| self.texts.takes(*n))
                .chain((hi == i64::MAX).then_some(large))
                .collect::<Vec<_>>()
            {
                let made = self.make(self.texts.at(n), a, what, (&parts, &before), None);
                match list.last_mut() {
                    Some((tape, m)) if *m == made => tape.1 = if n == large { i64::MAX } else { n },
                    _ if n == large => {
                        return Err(Stop::Unfit("a decision depends on the distant end of the loop".into()));
                    }
                    _ => list.push(((n, n), made)),
                }
            }
        } else {
            let made = self.make(self.texts.at(lo), a, what, (&parts, &before), None);
            if self.checked {
                self.check(a, what, &parts, row, &made)?;
            }
            list.push(((lo, hi), made));
        }
        let mut group = Group::new();
        for (tape, made) in list {
            let tape = if asks { self.tape(tape)? } else { KEPT };
            let outcome = self.outcome(a, what, (&parts, &before), made)?;
            group.push((tape, outcome));
        }
        Ok(group)
    }

    /// A move's result as numbers.
    fn outcome(
        &mut self,
        a: AgentId,
        what: ActionKind,
        (parts, before): (&[StatePart], &[(StatePart, PartState)]),
        made: Transition,
    ) -> Result<Outcome, Stop> {
        let first = self.cells.first[a as usize];
        let mut writes = SmallVec::new();
        for (p, held) in parts.iter().zip(&made.held) {
            let was = before.iter().find(|(q, _)| q == p);
            if was.is_some_and(|(_, h)| h == held) {
                continue;
            }
            let Some(cell) = self.cells.of(*p) else {
                // The part was assumed constant.
                if self.any.part(*p) != *held {
                    return Err(Stop::Changes(*p));
                }
                continue;
            };
            let own = self.cells.own[a as usize].iter().position(|c| *c == cell);
            let held = match (own, *p) {
                (Some(_), _) => self.cells.renamed(&self.any, held, (a, first)),
                (None, StatePart::Agent(b)) => self.cells.renamed(&self.any, held, (b, self.cells.first[b as usize])),
                _ => held.clone(),
            };
            writes.push((own.map_or(cell, |i| i as u16 | OWN), self.cells.id(cell, &held)?));
        }
        self.sees_writes(a, (parts, before), &made)?;
        let mover = self.mover(a, what, (parts, before), &made);
        // The first agent of a class stands for all of its members.
        let by = if made.maker != NOBODY && made.maker >> 4 == a as Maker {
            (first as Maker) << 4 | made.maker & 15
        } else {
            made.maker
        };
        let touches = self.list(&made.touches)?;
        let ends = made.fault.is_none() && matches!(self.any.program().code[made.pc as usize], Instr::End);
        Ok(Outcome { writes, touches, maker: by, pc: made.pc, fault: made.fault, goes: made.goes, mover, ends })
    }

    /// Checks that a move has the same result one period later, and decides the same for the same reasons.
    pub(super) fn carries(
        &mut self,
        a: AgentId,
        (k, action, at): (usize, usize, usize),
        row: &[Id],
    ) -> Result<(), Stop> {
        let (what, node) = (self.known[k].actions[action].what, &self.known[k].actions[action].nodes[at].1);
        let parts = node.parts.clone();
        let group_tapes: Vec<i64> = {
            let (lo, hi) = self.tapes[row[0] as usize];
            if node.asks { vec![lo, if hi == i64::MAX { self.texts.large() } else { hi }] } else { vec![lo] }
        };
        let before = self.met(a, &parts, row);
        let Some(e) = &self.texts.every else { return Ok(()) };
        let texts = self.texts;
        let later: Vec<(StatePart, PartState)> =
            before.iter().map(|(p, h)| (*p, self.any.moved(*p, h, &e.rates, 1))).collect();
        for n in group_tapes {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            let mut now = self.make(texts.at(n), a, what, (&parts, &before), Some(&mut x));
            let then = self.make(texts.at(n + e.period), a, what, (&parts, &later), Some(&mut y));
            let held = parts.iter().zip(&now.held).map(|(p, h)| self.any.moved(*p, h, &e.rates, 1));
            // A part without a cell has its initial content.
            let same = held.zip(&then.held).zip(&parts).all(|((x, y), p)| self.cells.of(*p).is_none() || x == *y);
            now.held.clone_from(&then.held);
            if !same || now != then || !alike(&x, &y) {
                let line = self.any.program().site(now.pc).line;
                return Err(Stop::Unfit(format!("line {line}: a step differs one period later")));
            }
        }
        Ok(())
    }

    /// Makes a move in the whole state, and compares.
    fn check(
        &mut self,
        a: AgentId,
        what: ActionKind,
        parts: &[StatePart],
        row: &[Id],
        made: &Transition,
    ) -> Result<(), Stop> {
        let all = self.cells.parts.clone();
        let whole = self.met(a, &all, row);
        let text = self.texts.at(self.tapes[row[0] as usize].0);
        let other = self.make(text, a, what, (parts, &whole), None);
        let rest: Vec<StatePart> = all.iter().filter(|p| !parts.contains(p)).copied().collect();
        let after = self.make(text, a, what, (&rest, &whole), None);
        let quiet = rest.iter().zip(&after.held).all(|(p, h)| whole.iter().any(|(q, g)| p == q && g == h));
        assert!(other == *made && quiet, "{a} {what:?} {parts:?}: {made:?} in parts, {other:?} in the whole world");
        Ok(())
    }
}
