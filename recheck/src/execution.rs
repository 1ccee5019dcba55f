//! One run of one cluster: agents step in turn, and operations in flight land oldest first.
//!
//! By lemma 1 of `docs/proof.md`, any order decides for all, if no arrival could count for another phase in another
//! schedule. The order in which a state recurs depends on the kernel, so the certificate names one of five.

use std::collections::VecDeque;

use warpline_sim::ir::{Program, VarId};
use warpline_sim::protocol::{
    AgentId, Decision, Entry, FlightId, Snapshot, Step, StepEffect, StepRecord, WaitTarget, World,
};
use warpline_sim::report::FindingKind;

use crate::loops;
use crate::schema::Order;

/// The last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// An agent performed the operation at an instruction. `last` says whether it completed a rendezvous.
    Performed { agent: AgentId, pc: u32, last: bool },
    /// The agent cannot proceed.
    Blocked { agent: AgentId, pc: u32 },
    /// The agent ended.
    Ended { agent: AgentId },
    /// The oldest operation in flight landed.
    Landed { agent: AgentId, pc: u32 },
    /// All agents have ended, and nothing is in flight.
    Finished,
    /// No agent can proceed.
    Hung,
    /// An operation has no meaning.
    Broken,
}

/// A run in progress.
#[derive(Clone)]
pub(crate) struct Execution<'p> {
    pub(crate) world: World<'p>,
    /// What the last move did, and changes that no agent was woken for yet.
    record: StepRecord,
    order: Order,
    flying: VecDeque<FlightId>,
    /// The wait of each agent. Until its target changes, a step of the agent changes nothing.
    blocked: Vec<Option<WaitTarget>>,
    asleep: Vec<bool>,
    turn: usize,
    /// Whether an agent proceeded in this round.
    moved: bool,
    /// The number of loops around the iteration at whose start an agent waits, that one included; 0 where it does not
    /// wait.
    waits: Vec<u8>,
    /// For each agent, the iterations of the outermost loop and of the loop directly inside.
    begun: Vec<[Option<(u32, i64)>; 2]>,
    pub(crate) operations: u64,
}

impl<'p> Execution<'p> {
    pub(crate) fn new(world: World<'p>, order: Order) -> Execution<'p> {
        let n = world.agents().len();
        Execution {
            world,
            record: StepRecord::default(),
            order,
            flying: VecDeque::new(),
            blocked: vec![None; n],
            asleep: vec![false; n],
            turn: 0,
            moved: false,
            waits: vec![0; n],
            begun: vec![[None; 2]; n],
            operations: 0,
        }
    }

    pub(crate) fn program(&self) -> &'p Program {
        self.world.program()
    }

    /// Records the decisions of each move.
    pub(crate) fn judging(mut self) -> Self {
        self.record.record_decisions();
        self
    }

    /// The decisions of the last move.
    pub(crate) fn decisions(&self) -> &[Decision] {
        self.record.decisions.as_deref().unwrap_or_default()
    }

    /// Makes the next move.
    pub(crate) fn next(&mut self) -> Move {
        self.record.clear_decisions();
        loop {
            if self.order == Order::AtOnce
                && let Some(landed) = self.land()
            {
                self.moved = true;
                return landed;
            }
            self.wake();
            while self.turn < self.blocked.len() && self.rests(self.turn) {
                self.turn += 1;
            }
            if self.turn < self.blocked.len() {
                return self.act();
            }
            let stuck = !std::mem::take(&mut self.moved);
            if self.order != Order::Late
                && let Some(landed) = self.land()
            {
                self.moved = true;
                return landed;
            }
            self.turn = 0;
            if self.world.ended() && self.flying.is_empty() {
                return Move::Finished;
            }
            if stuck && !self.begin_together() {
                return self.land().unwrap_or(Move::Hung);
            }
        }
    }

    /// The agent whose turn it is tries to proceed.
    fn act(&mut self) -> Move {
        let a = self.turn;
        let agent = a as AgentId;
        match self.world.step(agent, &mut self.record) {
            Step::Performed { pc, effect, .. } => {
                self.moved = true;
                self.operations += 1;
                let waited = self.blocked[a].take().is_some();
                for f in effect.flights() {
                    if self.world.lands_at_once(f) {
                        self.world.land(f, &mut ());
                    } else {
                        self.flying.push_back(f);
                    }
                }
                let begins = self.begins(a, pc);
                // An agent that completes a rendezvous without waiting yields.
                let yields = matches!(effect, StepEffect::Rendezvous { .. }) && !waited;
                self.turn += usize::from(begins || yields);
                Move::Performed { agent, pc, last: matches!(effect, StepEffect::Rendezvous { last: true }) }
            }
            Step::Blocked { pc, on, .. } => {
                self.blocked[a] = Some(on);
                self.asleep[a] = true;
                self.begins(a, pc);
                self.turn += 1;
                Move::Blocked { agent, pc }
            }
            Step::Ended => {
                self.moved |= self.blocked[a].take().is_some();
                self.turn += 1;
                Move::Ended { agent }
            }
            Step::Broken => Move::Broken,
        }
    }

    /// Whether an agent cannot proceed: it ended, waits at the start of an iteration, or waits for a target that has not
    /// changed.
    fn rests(&self, a: usize) -> bool {
        self.asleep[a] || self.waits[a] > 0 || self.world.agent_ended(a as AgentId)
    }

    fn wake(&mut self) {
        for changed in self.record.changed.drain(..) {
            let waits = |on: &Option<WaitTarget>| *on == Some(changed);
            self.blocked
                .iter()
                .zip(&mut self.asleep)
                .filter(|(on, _)| waits(on))
                .for_each(|(_, asleep)| *asleep = false);
        }
    }

    fn land(&mut self) -> Option<Move> {
        let f = self.flying.pop_front()?;
        let (agent, pc) = self.world.flight(f).map_or((0, 0), |f| (f.agent, f.pc));
        self.operations += 1;
        self.world.land(f, &mut self.record);
        Some(Move::Landed { agent, pc })
    }

    /// The outermost loop around an instruction and the loop directly inside, each with its index.
    fn around(&self, pc: u32) -> [Option<(u32, VarId)>; 2] {
        let mut around = self.program().loops.iter().filter(|l| (l.head..l.end).contains(&pc));
        [around.next(), around.next()].map(|l| l.and_then(|l| Some((l.head, loops::index(self.program(), l)?))))
    }

    /// Whether an agent at this instruction starts another iteration that agents start together; it then waits for the
    /// others.
    fn begins(&mut self, a: usize, pc: u32) -> bool {
        let loops = match self.order {
            Order::Turns => 1,
            Order::Steps => 2,
            Order::Late | Order::Early | Order::AtOnce => return false,
        };
        let now = self.around(pc).map(|of| of.map(|(head, index)| (head, self.world.var(a as AgentId, index))));
        let before = std::mem::replace(&mut self.begun[a], now);
        let another = (0..loops).find(|i| now[*i].is_some() && now[*i] != before[*i]);
        self.waits[a] = another.map_or(0, |i| i as u8 + 1);
        self.waits[a] > 0
    }

    /// Releases the agents that wait in the inner loop, or all others where there are none. Returns whether there were
    /// any.
    fn begin_together(&mut self) -> bool {
        let deepest = self.waits.iter().copied().max().unwrap_or(0);
        self.waits.iter_mut().filter(|waits| **waits == deepest).for_each(|waits| *waits = 0);
        deepest > 0
    }

    /// The state that determines all further moves.
    pub(crate) fn state(&self) -> Snapshot {
        let mut s = self.world.snapshot();
        s.entries.push(Entry::Same((self.turn as u64) << 1 | u64::from(self.moved)));
        for a in 0..self.blocked.len() {
            let flags = [self.blocked[a].is_some(), self.asleep[a]];
            let flags = flags.iter().fold(0, |bits, flag| bits << 1 | u64::from(*flag));
            s.entries.push(Entry::Same(flags << 2 | u64::from(self.waits[a])));
        }
        for f in self.flying.iter().filter_map(|f| self.world.flight(*f)) {
            s.entries.push(Entry::Same(u64::from(f.agent) << 32 | u64::from(f.pc)));
        }
        s
    }

    /// The first fault of the run so far. With `coverage`, this includes blocks that were not summed and stored once.
    /// Runs that are compared do not check coverage, which concerns whole tiles.
    pub(crate) fn fault(&self, coverage: bool) -> Option<String> {
        let faults = self.world.findings().iter().filter(|f| !f.note);
        let mut faults = faults.filter(|f| coverage || f.kind != FindingKind::Coverage);
        if let Some(f) = faults.next() {
            let line = self.program().sites.get(f.site as usize).map_or(0, |s| s.line);
            return Some(format!("line {line}: {} ({})", f.message, f.code.id()));
        }
        let (agent, pc, _) = self.world.unordered()?;
        let (line, name) = (self.program().site(pc).line, self.world.agent_name(agent));
        Some(format!("line {line}: an arrival by {name} can count in another phase in another schedule"))
    }
}
