//! The canonical execution: one run in a fixed order, without time. Agents step in turn, each until it blocks. Flights land,
//! oldest first, when no agent can step, or all of them before agents step (`Landing`).
//!
//! Where every arrival belongs to one phase in every schedule (Weft's theorem, carried over to mbarriers, groups and
//! counters), this run decides for all: it ends or hangs as they do, and happens-before shows every race of theirs.

use std::cell::{Ref, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{
    AgentId, Decision, Entry, FlightId, Placement, Rules, Snapshot, Step, StepEffect, WaitTarget, World,
};
use warpline_sim::report::{Finding, Waiting};

use crate::budget::{Budget, Exceeded};
use crate::execution::aligned::AlignedTurns;
use crate::execution::livelock::Cycle;

/// How the run ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RunEnd {
    Finished,
    Hung(Vec<Waiting>),
    Broken,
    Limit(Exceeded),
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunResult {
    pub(crate) end: RunEnd,
    pub(crate) findings: Vec<Finding>,
    /// An arrival that another schedule could count in another phase, in words.
    pub(crate) unordered: Option<String>,
    pub(crate) steps: u64,
    /// The cluster's launch index.
    pub(crate) cluster: i64,
    pub(crate) reads: (u64, u64),
    /// The last operations up to the first fault, or to the end: agent and site.
    pub(crate) trail: Vec<(String, u32)>,
}

impl RunResult {
    /// Whether it shows a fault.
    pub(crate) fn fails(&self) -> bool {
        matches!(self.end, RunEnd::Hung(_) | RunEnd::Broken) || self.findings.iter().any(|f| !f.note)
    }
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'p> {
    pub(crate) prog: &'p Program,
    pub(crate) rules: Rules,
    /// The cluster's launch index.
    pub(crate) cluster: i64,
    /// The cell of CTAs that the run is to stand for; none where it is one CTA's.
    pub(crate) place: Option<&'p Arc<Placement>>,
    pub(crate) landing: Landing,
    /// What it may take, with others.
    pub(crate) budget: &'p Budget,
}

/// When flights land. Any order decides; in which one a state recurs is the kernel's own: with little in flight, who is ahead
/// of whom does not drift from one turn of an outer loop to the next; with much, warps that copy in turn keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    /// One, when nobody can go on.
    Late,
    /// All, before agents go on.
    Early,
    /// All, before agents go on, who begin turns of outer loops together.
    Turns,
    /// Each at once: what nobody waits for would be more and more where an agent goes through its loop unhindered.
    AtOnce,
}

/// What a step of the run was.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepOutcome {
    /// An agent performed the operation at an instruction, and ended a rendezvous with it.
    Performed { agent: AgentId, pc: u32, last: bool },
    /// It could not.
    Blocked { agent: AgentId, pc: u32 },
    /// It is at its end.
    AgentEnded { agent: AgentId },
    /// The oldest operation in flight ended.
    Landed { agent: AgentId, pc: u32 },
    /// All is over.
    RunEnded(RunEnd),
}

/// Something that the run did, for those who listen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// An agent tried to go on.
    Step(AgentId, &'a Step),
    /// A flight is about to land.
    Land(FlightId),
}

/// Hears of each with the world after the step, or before the landing.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(&World<'_>, Event<'_>);

/// Steps that a run makes behind its first fault, beside as many as it made before: other faults may be there.
const BEHIND_A_FAULT: u64 = 100_000;

/// Steps that a run takes from its budget at a time.
const TAKEN: u64 = 64;

/// A run under way.
#[derive(Clone)]
pub(crate) struct CanonicalRun<'p> {
    pub(crate) world: World<'p>,
    flying: VecDeque<FlightId>,
    blocked: Vec<Option<(u32, WaitTarget)>>,
    /// Agents at their end, and those whose wait nothing has touched since they were found blocked: a step of theirs would
    /// change nothing.
    asleep: Vec<bool>,
    /// Whose turn it is; the number of agents at the end of a round.
    turn: AgentId,
    /// Whether anybody went on in this round.
    moved: bool,
    pub(crate) steps: u64,
    budget: &'p Budget,
    landing: Landing,
    together: Option<AlignedTurns>,
    /// Detects that it repeats itself for ever.
    cycle: Option<Cycle>,
}

impl<'p> CanonicalRun<'p> {
    pub(crate) fn new(job: Job<'p>) -> CanonicalRun<'p> {
        let world = match job.place {
            Some(place) => World::placed_at(job.prog, job.rules, place),
            None => World::alone(job.prog, job.rules, job.cluster),
        };
        let n = world.agents().len();
        CanonicalRun {
            world,
            flying: VecDeque::new(),
            blocked: vec![None; n],
            asleep: vec![false; n],
            turn: 0,
            moved: false,
            steps: 0,
            budget: job.budget,
            landing: job.landing,
            together: (job.landing == Landing::Turns).then(|| AlignedTurns::of(job.prog, n)),
            cycle: Cycle::of(job.prog),
        }
    }

    /// Keeps what numbers decide, from now on.
    pub(crate) fn record_decisions(&mut self, keep: bool) {
        self.world.decisions = keep.then(RefCell::default);
    }

    /// What numbers decided in the last step.
    pub(crate) fn decisions(&self) -> Option<Ref<'_, Vec<Decision>>> {
        self.world.decisions.as_ref().map(RefCell::borrow)
    }

    /// Makes the next step. After [`StepOutcome::RunEnded`] there is none.
    pub(crate) fn next(&mut self) -> StepOutcome {
        self.next_observed(&mut |_, _| {})
    }

    /// What happens before an agent tries to go on, if anything does.
    pub(crate) fn before_agent_step(&mut self, observer: Observer<'_>) -> Option<StepOutcome> {
        if let Some(list) = &mut self.world.decisions {
            list.get_mut().clear();
        }
        loop {
            if self.landing == Landing::AtOnce
                && let Some(landed) = self.land(observer)
            {
                self.moved = true;
                return Some(landed);
            }
            self.wake();
            let rests = |a: usize| self.asleep[a] || self.together.as_ref().is_some_and(|t| t.waits()[a]);
            while (self.turn as usize) < self.asleep.len() && rests(self.turn as usize) {
                self.turn += 1;
            }
            if (self.turn as usize) < self.blocked.len() {
                return None;
            }
            let stuck = !std::mem::take(&mut self.moved);
            if self.landing != Landing::Late
                && let Some(landed) = self.land(observer)
            {
                self.moved = true;
                return Some(landed);
            }
            self.turn = 0;
            if self.world.ended() && self.flying.is_empty() {
                return Some(StepOutcome::RunEnded(RunEnd::Finished));
            }
            if stuck && !self.together.as_mut().is_some_and(AlignedTurns::go_on) {
                return Some(self.land(observer).unwrap_or_else(|| {
                    self.world.missing_bytes();
                    StepOutcome::RunEnded(RunEnd::Hung(diagnose(&self.world, &self.blocked)))
                }));
            }
        }
    }

    fn next_observed(&mut self, observer: Observer<'_>) -> StepOutcome {
        self.before_agent_step(observer).unwrap_or_else(|| self.agent_step(observer))
    }

    /// Whose turn it is, once all is settled.
    pub(crate) fn turn(&self) -> AgentId {
        self.turn
    }

    /// Where the agent is whose turn it is, once all is settled.
    pub(crate) fn pc(&self) -> u32 {
        self.world.pc(self.turn)
    }

    /// The same run by another kernel of the same text, which would have come here as well; none where a matrix of that ends
    /// where something was stored.
    pub(crate) fn continued_by(&self, prog: &'p Program) -> Option<CanonicalRun<'p>> {
        self.world.stored_as_by(prog).then(|| {
            self.budget.keep(self.world.bytes()).ok();
            let mut walk = self.clone();
            walk.world.go_on_by(prog);
            walk
        })
    }

    /// Where that agent would go on by a kernel of the same text, and its variables then; also says what it comes to.
    pub(crate) fn way(&mut self, by: &'p Program, comes_to: impl FnMut(u32)) -> Option<(u32, Vec<i64>)> {
        let (agent, pc) = (self.turn, self.pc());
        let vars = self.world.vars_of(agent).to_vec();
        self.world.way(agent, (pc, &vars), by, comes_to)
    }

    /// It tries to go on.
    pub(crate) fn agent_step(&mut self, observer: Observer<'_>) -> StepOutcome {
        if self.steps.is_multiple_of(TAKEN)
            && let Err(over) = self.budget.take_steps(TAKEN)
        {
            return StepOutcome::RunEnded(RunEnd::Limit(over));
        }
        self.steps += 1;
        let agent = self.turn;
        if let Some(mut cycle) = self.cycle.take() {
            if cycle.closes(self) {
                self.world.livelock(agent);
                return StepOutcome::RunEnded(RunEnd::Broken);
            }
            self.cycle = Some(cycle);
        }
        let step = self.world.step(agent);
        observer(&self.world, Event::Step(agent, &step));
        match step {
            Step::Performed { effect, pc, .. } => {
                self.moved = true;
                let waited = self.blocked[agent as usize].take().is_some();
                self.flying.extend(effect.flights());
                let last = matches!(effect, StepEffect::Rendezvous { last: true });
                // Who meets the others and need not wait yields, so that the same agent is the last in every round.
                let begins = self.together.as_mut().is_some_and(|t| t.begins(&self.world, agent, pc));
                self.turn += (begins || matches!(effect, StepEffect::Rendezvous { .. }) && !waited) as u32;
                StepOutcome::Performed { agent, pc, last }
            }
            Step::Blocked { pc, on, .. } => {
                self.blocked[agent as usize] = Some((pc, on));
                self.asleep[agent as usize] = true;
                if let Some(together) = &mut self.together {
                    together.begins(&self.world, agent, pc);
                }
                self.turn += 1;
                StepOutcome::Blocked { agent, pc }
            }
            Step::Ended => {
                self.moved |= self.blocked[agent as usize].take().is_some();
                self.asleep[agent as usize] = true;
                self.turn += 1;
                StepOutcome::AgentEnded { agent }
            }
            Step::Broken => StepOutcome::RunEnded(RunEnd::Broken),
        }
    }

    /// Wakes those who wait for what was touched.
    fn wake(&mut self) {
        for touched in self.world.touched.drain(..) {
            let waits = |b: &Option<(u32, WaitTarget)>| b.is_some_and(|(_, on)| on == touched);
            self.blocked.iter().zip(&mut self.asleep).filter(|(b, _)| waits(b)).for_each(|(_, asleep)| *asleep = false);
        }
    }

    /// The oldest flight lands.
    fn land(&mut self, observer: Observer<'_>) -> Option<StepOutcome> {
        let f = self.flying.pop_front()?;
        let (agent, pc) = self.world.flight(f).map_or((0, 0), |f| (f.agent, f.pc));
        observer(&self.world, Event::Land(f));
        self.world.land(f);
        Some(StepOutcome::Landed { agent, pc })
    }

    /// The state, with whose turn it is and the order in which flights will land.
    pub(crate) fn state(&self) -> Snapshot {
        let mut s = self.world.snapshot();
        s.entries.push(Entry::Same((self.turn as u64) << 1 | self.moved as u64));
        let agents = self.blocked.iter().zip(&self.asleep);
        s.entries.extend(agents.map(|(b, asleep)| Entry::Same((b.is_some() as u64) << 1 | *asleep as u64)));
        let waits = self.together.iter().flat_map(AlignedTurns::waits);
        s.entries.extend(waits.map(|waits| Entry::Same(*waits as u64)));
        for f in self.flying.iter().filter_map(|f| self.world.flight(*f)) {
            s.entries.push(Entry::Same((f.agent as u64) << 32 | f.pc as u64));
        }
        // Where that is too much, the next step says so.
        self.budget.keep((s.entries.capacity() * size_of::<Entry>()) as u64).ok();
        s
    }

    /// A number that is equal for equal states, and quick to get: where the agents are, and what is in flight.
    pub(crate) fn outline(&self) -> u64 {
        let agents = (0..self.blocked.len()).map(|a| self.world.pc(a as AgentId) as u64);
        let flights =
            self.flying.iter().filter_map(|f| self.world.flight(*f)).map(|f| (f.agent as u64) << 32 | f.pc as u64);
        agents.chain([self.turn as u64]).chain(flights).fold(0, |all, x| (all.rotate_left(5) ^ x).wrapping_mul(MIX))
    }

    /// An arrival that another schedule could count in another phase, in words.
    pub(crate) fn unordered(&self) -> Option<String> {
        self.world.unordered.map(|(a, pc, _)| {
            let site = self.world.program().site(pc);
            format!("line {}: `{}` by {}", site.line, site.text, self.world.agent_name(a))
        })
    }
}

/// Who waits for what; agents of one kind stand once.
pub(crate) fn diagnose(world: &World<'_>, blocked: &[Option<(u32, WaitTarget)>]) -> Vec<Waiting> {
    let mut list: Vec<Waiting> = Vec::new();
    for (a, b) in blocked.iter().enumerate() {
        let Some((pc, on)) = *b else { continue };
        let new = world.waiting(a as AgentId, pc, on);
        if !list.iter().any(|w| w.site == new.site && w.waits_for == new.waits_for) {
            list.push(new);
        }
    }
    list
}

/// An odd number with bits all over.
const MIX: u64 = 0x517c_c1b7_2722_0a95;

/// The last operations of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(VecDeque<(AgentId, u32)>);

impl Trail {
    /// Operations that are kept.
    const LEN: usize = 24;

    pub(crate) fn push(&mut self, agent: AgentId, pc: u32) {
        if self.0.len() == Trail::LEN {
            self.0.pop_front();
        }
        self.0.push_back((agent, pc));
    }

    /// Agent and site of each.
    pub(crate) fn named(&self, world: &World<'_>) -> Vec<(String, u32)> {
        self.0.iter().map(|&(a, pc)| (world.agent_name(a), world.program().at[pc as usize])).collect()
    }
}

/// A canonical run with its trail and the step of its first fault.
#[derive(Clone)]
pub(crate) struct RecordedRun<'p> {
    pub(crate) walk: CanonicalRun<'p>,
    trail: Trail,
    /// Steps until the first fault, if one was met.
    fault: Option<u64>,
}

impl<'p> RecordedRun<'p> {
    pub(crate) fn new(job: Job<'p>) -> RecordedRun<'p> {
        RecordedRun { walk: CanonicalRun::new(job), trail: Trail::default(), fault: None }
    }

    /// Takes note of a step; how it ended, after the last.
    pub(crate) fn record(&mut self, made: StepOutcome) -> Option<RunEnd> {
        match made {
            StepOutcome::Performed { agent, pc, .. } => {
                if self.fault.is_none() {
                    self.trail.push(agent, pc);
                    let fault = self.walk.world.findings.iter().any(|f| !f.note);
                    self.fault = fault.then_some(self.walk.steps);
                }
                // A loop whose end the fault took away may have no other.
                self.fault.filter(|at| self.walk.steps > 2 * at + BEHIND_A_FAULT).map(|_| RunEnd::Broken)
            }
            StepOutcome::RunEnded(end) => Some(end),
            _ => None,
        }
    }

    pub(crate) fn result(&self, end: RunEnd, cluster: i64) -> RunResult {
        let RecordedRun { walk, trail, .. } = self;
        RunResult {
            end,
            findings: walk.world.findings.clone(),
            unordered: walk.unordered(),
            steps: walk.steps,
            cluster,
            reads: walk.world.reads(),
            trail: trail.named(&walk.world),
        }
    }
}

/// Runs a job to its end.
pub(crate) fn run(job: Job<'_>) -> RunResult {
    observed(job, &mut |_, _| {})
}

/// Runs a job to its end and reports each event to the observer.
pub(crate) fn observed(job: Job<'_>, observer: Observer<'_>) -> RunResult {
    let mut run = RecordedRun::new(job);
    loop {
        let made = run.walk.next_observed(observer);
        if let Some(end) = run.record(made) {
            return run.result(end, job.cluster);
        }
    }
}
