//! The canonical execution: one run in a fixed order, without time. Agents step in turn, each until it blocks. Flights land,
//! oldest first, when no agent can step, or all of them before agents step (`Landing`). Those that only fill registers of a
//! compiled kernel land at once.
//!
//! This run decides for all schedules if every arrival belongs to one phase in every schedule (Weft's theorem, applied
//! to mbarriers, groups and counters). It then ends or hangs as all others do, and happens-before shows all of their
//! races.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{
    AgentId, Decision, Entry, FlightId, PartialSum, Placement, Rules, Snapshot, Step, StepEffect, StepRecord,
    WaitTarget, World,
};
use warpline_sim::report::{Finding, Waiting};

use crate::budget::{Budget, Exceeded};
use crate::execution::aligned::AlignedTurns;
use crate::execution::livelock::Cycle;

/// The end of a run.
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
    /// A description of an arrival that another schedule could count in another phase.
    pub(crate) unordered: Option<String>,
    pub(crate) steps: u64,
    /// The cluster's launch index.
    pub(crate) cluster: i64,
    pub(crate) reads: (u64, u64),
    /// The last operations up to the first fault, or to the end: agent and site.
    pub(crate) trail: Vec<(String, u32)>,
    /// Partial sums that the run of one CTA alone stored.
    pub(crate) partial_sums: Vec<PartialSum>,
}

impl RunResult {
    /// Whether the run shows a fault.
    pub(crate) fn fails(&self) -> bool {
        matches!(self.end, RunEnd::Hung(_) | RunEnd::Broken) || self.findings.iter().any(|f| !f.note)
    }
}

/// The run to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'p> {
    pub(crate) prog: &'p Program,
    pub(crate) rules: Rules,
    /// The cluster's launch index.
    pub(crate) cluster: i64,
    /// The cell of CTAs that the run stands for; `None` where it stands for one CTA.
    pub(crate) place: Option<&'p Arc<Placement>>,
    pub(crate) landing: Landing,
    /// Whether states and decisions are up to a rotation of rings.
    pub(crate) rotates: bool,
    /// The budget, shared with other runs.
    pub(crate) budget: &'p Budget,
}

/// The landing order of flights. Any order decides, but the order in which a state recurs depends on the kernel. With
/// few flights, the relative progress of agents does not drift between outer iterations. With many, warps that copy in
/// turn keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    /// One flight, when no agent can proceed.
    Late,
    /// All flights, before agents proceed.
    Early,
    /// All flights, before agents proceed; agents start outer iterations together.
    Turns,
    /// As `Turns`; agents also start iterations of the loops directly inside together.
    Steps,
    /// Each flight immediately. Without this, flights that no agent waits for pile up while an agent runs through its
    /// loop.
    AtOnce,
}

/// The outcome of a step of the run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepOutcome {
    /// An agent performed the operation at an instruction. `last` says whether it completed a rendezvous.
    Performed { agent: AgentId, pc: u32, last: bool },
    /// The agent could not perform the operation.
    Blocked { agent: AgentId, pc: u32 },
    /// The agent has ended.
    AgentEnded { agent: AgentId },
    /// The oldest flight landed.
    Landed { agent: AgentId, pc: u32 },
    /// All agents start a job. Only runs that pause there report this.
    JobBegins,
    /// The run has ended.
    RunEnded(RunEnd),
}

/// An event of the run, for observers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// An agent tried to proceed.
    Step(AgentId, &'a Step),
    /// A flight is about to land.
    Land(FlightId),
}

/// Receives each event, with the world after a step or before a landing.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(&World<'_>, Event<'_>);

/// Steps that a run continues after its first fault, in addition to as many as it had made. It may find other faults
/// there.
const BEHIND_A_FAULT: u64 = 10_000;

/// Steps that a run takes from its budget at a time.
const TAKEN: u64 = 64;

/// A run in progress.
#[derive(Clone)]
pub(crate) struct CanonicalRun<'p> {
    pub(crate) world: World<'p>,
    /// What the last step or landing did, and changes that no agent was woken for yet.
    pub(crate) record: StepRecord,
    flying: VecDeque<FlightId>,
    blocked: Vec<Option<(u32, WaitTarget)>>,
    /// Agents that have ended, and blocked agents whose wait has not been touched since. A step of these changes
    /// nothing.
    asleep: Vec<bool>,
    /// The agent whose turn it is; the number of agents at the end of a round.
    turn: AgentId,
    /// Whether an agent proceeded in this round.
    moved: bool,
    pub(crate) steps: u64,
    budget: &'p Budget,
    landing: Landing,
    together: Option<AlignedTurns>,
    /// Whether the run pauses between jobs; if so, whether it has paused there.
    pauses: Option<bool>,
    /// The detector of livelocks.
    cycle: Option<Cycle>,
}

impl<'p> CanonicalRun<'p> {
    pub(crate) fn new(job: Job<'p>) -> CanonicalRun<'p> {
        let mut world = match job.place {
            Some(place) => World::placed_at(job.prog, job.rules, place),
            None => World::alone(job.prog, job.rules, job.cluster),
        };
        if job.rotates {
            world.rotate_rings();
        }
        let n = world.agents().len();
        CanonicalRun {
            world,
            record: StepRecord::default(),
            flying: VecDeque::new(),
            blocked: vec![None; n],
            asleep: vec![false; n],
            turn: 0,
            moved: false,
            steps: 0,
            budget: job.budget,
            landing: job.landing,
            together: match job.landing {
                Landing::Turns => Some(AlignedTurns::of(job.prog, n, false)),
                Landing::Steps => Some(AlignedTurns::of(job.prog, n, true)),
                Landing::Late | Landing::Early | Landing::AtOnce => None,
            },
            pauses: None,
            cycle: Cycle::of(job.prog),
        }
    }

    /// The same run, pausing between jobs.
    pub(crate) fn pausing(self) -> CanonicalRun<'p> {
        CanonicalRun { pauses: Some(false), ..self }
    }

    /// Whether all agents start one job.
    pub(crate) fn starts_a_job(&self) -> bool {
        self.together.as_ref().is_some_and(AlignedTurns::start_a_job)
    }

    /// The decisions of the last step, where they are recorded.
    pub(crate) fn decisions(&self) -> &[Decision] {
        self.record.decisions.as_deref().unwrap_or_default()
    }

    /// Makes the next step. After [`StepOutcome::RunEnded`] there is none.
    pub(crate) fn next(&mut self) -> StepOutcome {
        self.next_observed(&mut |_, _| {})
    }

    /// The event before the next step of an agent, if there is one.
    pub(crate) fn before_agent_step(&mut self, observer: Observer<'_>) -> Option<StepOutcome> {
        self.record.clear_decisions();
        loop {
            if self.landing == Landing::AtOnce
                && let Some(landed) = self.land(observer)
            {
                self.moved = true;
                return Some(landed);
            }
            self.wake();
            let rests = |a: usize| self.asleep[a] || self.together.as_ref().is_some_and(|t| t.rests(a));
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
            if stuck && self.pauses == Some(false) && self.starts_a_job() {
                self.pauses = Some(true);
                return Some(StepOutcome::JobBegins);
            }
            self.pauses = self.pauses.map(|_| false);
            if stuck && !self.together.as_mut().is_some_and(AlignedTurns::go_on) {
                if let Some(landed) = self.land(observer) {
                    return Some(landed);
                }
                if self.world.release_atomics() {
                    self.blocked.iter().zip(&mut self.asleep).for_each(|(b, asleep)| *asleep &= b.is_none());
                    continue;
                }
                self.world.missing_bytes();
                return Some(StepOutcome::RunEnded(RunEnd::Hung(diagnose(&self.world, &self.blocked))));
            }
        }
    }

    fn next_observed(&mut self, observer: Observer<'_>) -> StepOutcome {
        self.before_agent_step(observer).unwrap_or_else(|| self.agent_step(observer))
    }

    /// The agent whose turn it is, after landings.
    pub(crate) fn turn(&self) -> AgentId {
        self.turn
    }

    /// The instruction of that agent, after landings.
    pub(crate) fn pc(&self) -> u32 {
        self.world.pc(self.turn)
    }

    /// The same run by another kernel of the same text, which makes the same run up to here. `None` where that kernel has
    /// other code, or a matrix that ends where the run stored something.
    pub(crate) fn continued_by(&self, prog: &'p Program) -> Option<CanonicalRun<'p>> {
        self.world.goes_on_by(prog).then(|| {
            self.budget.keep(self.world.bytes()).ok();
            let mut walk = self.clone();
            walk.world.go_on_by(prog);
            walk
        })
    }

    /// The next operation and variables of that agent by a kernel of the same text. `comes_to` receives each
    /// instruction on the way.
    pub(crate) fn way(&mut self, by: &'p Program, comes_to: impl FnMut(u32)) -> Option<(u32, Vec<i64>)> {
        let (agent, pc) = (self.turn, self.pc());
        let vars = self.world.vars_of(agent).to_vec();
        self.world.way(agent, (pc, &vars), by, &mut self.record, comes_to)
    }

    /// That agent tries to proceed.
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
        let step = self.world.step(agent, &mut self.record);
        observer(&self.world, Event::Step(agent, &step));
        match step {
            Step::Performed { effect, pc, .. } => {
                self.moved = true;
                let waited = self.blocked[agent as usize].take().is_some();
                for f in effect.flights() {
                    if self.world.lands_at_once(f) {
                        observer(&self.world, Event::Land(f));
                        self.world.land(f, &mut ());
                    } else {
                        self.flying.push_back(f);
                    }
                }
                let last = matches!(effect, StepEffect::Rendezvous { last: true });
                // An agent that completes a rendezvous without waiting yields, so that the same agent is last in every
                // round.
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

    /// Wakes the agents that wait for an object that changed.
    fn wake(&mut self) {
        for changed in self.record.changed.drain(..) {
            let waits = |b: &Option<(u32, WaitTarget)>| b.is_some_and(|(_, on)| on == changed);
            self.blocked.iter().zip(&mut self.asleep).filter(|(b, _)| waits(b)).for_each(|(_, asleep)| *asleep = false);
        }
    }

    /// Lands the oldest flight.
    fn land(&mut self, observer: Observer<'_>) -> Option<StepOutcome> {
        let f = self.flying.pop_front()?;
        let (agent, pc) = self.world.flight(f).map_or((0, 0), |f| (f.agent, f.pc));
        observer(&self.world, Event::Land(f));
        self.world.land(f, &mut self.record);
        Some(StepOutcome::Landed { agent, pc })
    }

    /// The state, including whose turn it is and the order of landings.
    pub(crate) fn state(&self) -> Snapshot {
        let mut s = self.world.snapshot();
        s.entries.push(Entry::Same((self.turn as u64) << 1 | self.moved as u64));
        let agents = self.blocked.iter().zip(&self.asleep);
        s.entries.extend(agents.map(|(b, asleep)| Entry::Same((b.is_some() as u64) << 1 | *asleep as u64)));
        let waits = self.together.iter().flat_map(AlignedTurns::waits);
        s.entries.extend(waits.map(Entry::Same));
        for f in self.flying.iter().filter_map(|f| self.world.flight(*f)) {
            s.entries.push(Entry::Same((f.agent as u64) << 32 | f.pc as u64));
        }
        // If this exceeds the budget, the next step reports it.
        self.budget.keep((s.entries.capacity() * size_of::<Entry>()) as u64).ok();
        s
    }

    /// A hash that is equal for equal states and fast to compute: the instructions of agents, and the flights.
    pub(crate) fn outline(&self) -> u64 {
        let agents = (0..self.blocked.len()).map(|a| self.world.pc(a as AgentId) as u64);
        let flights =
            self.flying.iter().filter_map(|f| self.world.flight(*f)).map(|f| (f.agent as u64) << 32 | f.pc as u64);
        agents.chain([self.turn as u64]).chain(flights).fold(0, |all, x| (all.rotate_left(5) ^ x).wrapping_mul(MIX))
    }

    /// Agents whose first `atom` on a word nothing orders with that of another agent, by word.
    pub(crate) fn open_atomics(&self) -> BTreeMap<u32, Vec<AgentId>> {
        self.world.open_atomics()
    }

    /// Records that this run, made for a comparison, had a fault.
    pub(crate) fn note_fault(&self) {
        self.budget.note_fault(self.world.program().symbols.iter().map(|s| s.value).collect());
    }

    /// A step that another schedule could count elsewhere: an arrival in another phase, a step of a counter in another order.
    pub(crate) fn unordered(&self) -> Option<String> {
        self.world.unordered().map(|(a, pc, on)| {
            let what = match on {
                WaitTarget::Counter(_) => "another schedule can have this step of a counter in another order",
                _ => "another schedule can count this arrival in another phase",
            };
            let (site, by) = (self.world.program().site(pc), self.world.agent_name(a));
            format!("{what}, so one run does not decide: line {}: `{}` by {by}", site.line, site.text)
        })
    }
}

/// The waits of agents; agents of one kind are listed once.
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

/// An odd number with well-distributed bits.
const MIX: u64 = 0x517c_c1b7_2722_0a95;

/// The last operations of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(VecDeque<(AgentId, u32)>);

impl Trail {
    /// Number of operations kept.
    const LEN: usize = 24;

    pub(crate) fn push(&mut self, agent: AgentId, pc: u32) {
        if self.0.len() == Trail::LEN {
            self.0.pop_front();
        }
        self.0.push_back((agent, pc));
    }

    /// The operations as agent and site.
    pub(crate) fn named(&self, world: &World<'_>) -> Vec<(String, u32)> {
        self.0.iter().map(|&(a, pc)| (world.agent_name(a), world.program().at[pc as usize])).collect()
    }
}

/// A canonical run with its trail and the step of its first fault.
#[derive(Clone)]
pub(crate) struct RecordedRun<'p> {
    pub(crate) walk: CanonicalRun<'p>,
    trail: Trail,
    /// Steps until the first fault.
    fault: Option<u64>,
}

impl<'p> RecordedRun<'p> {
    pub(crate) fn new(job: Job<'p>) -> RecordedRun<'p> {
        RecordedRun { walk: CanonicalRun::new(job), trail: Trail::default(), fault: None }
    }

    /// Records a step. Returns how the run ended, after its last step.
    pub(crate) fn record(&mut self, made: StepOutcome) -> Option<RunEnd> {
        match made {
            StepOutcome::Performed { agent, pc, .. } => {
                if self.fault.is_none() {
                    self.trail.push(agent, pc);
                    let fault = self.walk.world.findings().iter().any(|f| !f.note);
                    self.fault = fault.then_some(self.walk.steps);
                }
                // The fault may have removed the exit of a loop, so such a run is cut off.
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
            findings: walk.world.findings().to_vec(),
            unordered: walk.unordered(),
            steps: walk.steps,
            cluster,
            reads: walk.world.reads(),
            trail: trail.named(&walk.world),
            partial_sums: walk.world.partial_sums().to_vec(),
        }
    }
}

/// Runs a job to its end.
pub(crate) fn run(job: Job<'_>) -> RunResult {
    observed(job, &mut |_, _| {})
}

/// Runs a job to its end and passes each event to the observer.
pub(crate) fn observed(job: Job<'_>, observer: Observer<'_>) -> RunResult {
    let mut run = RecordedRun::new(job);
    loop {
        let made = run.walk.next_observed(observer);
        if let Some(end) = run.record(made) {
            return run.result(end, job.cluster);
        }
    }
}
