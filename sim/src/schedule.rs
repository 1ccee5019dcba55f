//! Schedules: an order of the moves of one cluster, steps of agents and landings of flights.
//!
//! A schedule names each move by its agent and its statement, so that the schedule can be compared with a kernel.
//! [`Order`] says which move is next and refuses a move that the kernel does not make there. The engine follows an
//! order in addition to time; [`Replay`] makes the moves without time. Both use the one transition function.

use crate::ir::{Program, Site, SiteId};
use crate::protocol::{AgentId, FlightId, Rules, Step, WaitTarget, World};

/// The event of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub enum Act {
    /// The agent performs the operation.
    Does,
    /// The agent reaches the operation and waits. It arrives at a rendezvous before the others, or its wait is the
    /// fault.
    Waits,
    /// The agent ends.
    Ends,
    /// The operation has no meaning there, and the run stops.
    Breaks,
    /// An operation in flight of the agent lands: the n-th one that the agent started, from 0.
    Lands(u32),
}

impl Act {
    /// One word for the event: `does`.
    pub fn name(self) -> &'static str {
        match self {
            Act::Does => "does",
            Act::Waits => "waits",
            Act::Ends => "ends",
            Act::Breaks => "fails",
            Act::Lands(_) => "lands",
        }
    }
}

/// One move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Move {
    /// The agent that moves, or that started the operation that lands.
    pub agent: AgentId,
    /// The statement.
    pub site: SiteId,
    /// The event.
    pub act: Act,
}

/// An order of moves of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Launch index of the cluster.
    pub cluster: i64,
    /// The moves, first to last.
    pub moves: Vec<Move>,
}

/// A move that the kernel does not make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Index of the move, from 0.
    pub at: usize,
    /// The move of the schedule and the move of the kernel, in one sentence.
    pub message: String,
}

/// The progress of a run along a schedule.
#[derive(Clone, Debug)]
pub struct Order {
    moves: Vec<Move>,
    at: usize,
    /// For each agent, the flights that it started, in order; `None` for a flight that has landed.
    started: Vec<Vec<Option<FlightId>>>,
}

impl Order {
    /// The order before the first move of a cluster with this many agents.
    pub fn new(schedule: &Schedule, agents: usize) -> Order {
        Order { moves: schedule.moves.clone(), at: 0, started: vec![Vec::new(); agents] }
    }

    /// The next move; `None` at the end.
    pub fn next(&self) -> Option<Move> {
        self.moves.get(self.at).copied()
    }

    /// Number of moves made.
    pub fn made(&self) -> usize {
        self.at
    }

    /// Whether the next move is a step of this agent.
    pub fn turn_of(&self, a: AgentId) -> bool {
        self.next().is_some_and(|m| m.agent == a && !matches!(m.act, Act::Lands(_)))
    }

    /// The flight whose landing is the next move, if it is in flight and the first of its stream.
    ///
    /// # Errors
    /// The kernel has not started the flight, the flight has landed, or another flight of its stream is before it.
    pub fn landing(&self, world: &World<'_>) -> Result<Option<FlightId>, Misfit> {
        let Some(Move { agent, act: Act::Lands(n), .. }) = self.next() else { return Ok(None) };
        let flight = self.started.get(agent as usize).and_then(|l| l.get(n as usize).copied().flatten());
        match flight {
            Some(f) if world.may_land(f) => Ok(Some(f)),
            Some(_) => Err(self.misfit(world, "and an earlier operation of its stream is still in flight")),
            None => Err(self.misfit(world, "and it is not in flight")),
        }
    }

    /// Records that this flight has landed.
    pub fn landed(&mut self) {
        if let Some(Move { agent, act: Act::Lands(n), .. }) = self.next() {
            self.started[agent as usize][n as usize] = None;
            self.at += 1;
        }
    }

    /// Records the step of an agent at its turn.
    ///
    /// # Errors
    /// The agent did something else than the schedule says.
    pub fn stepped(&mut self, world: &World<'_>, a: AgentId, step: &Step) -> Result<(), Misfit> {
        let Some(m) = self.next() else { return Ok(()) };
        let prog = world.program();
        let here = |pc: u32| place(prog.site(pc)) == prog.sites.get(m.site as usize).map_or((0, 0), place);
        let comes_to = |pc: u32, what: &str| {
            let s = prog.site(pc);
            format!("and it {what} line {}: `{}`", s.line, s.text)
        };
        let found = match step {
            Step::Performed { pc, effect, .. } if m.act == Act::Does && here(*pc) => {
                self.started[a as usize].extend(effect.flights().into_iter().map(Some));
                self.at += 1;
                return Ok(());
            }
            Step::Blocked { pc, .. } if m.act == Act::Waits && here(*pc) => {
                self.at += 1;
                return Ok(());
            }
            Step::Ended if m.act == Act::Ends => {
                self.at += 1;
                return Ok(());
            }
            Step::Broken if m.act == Act::Breaks => {
                self.at += 1;
                return Ok(());
            }
            Step::Performed { pc, .. } => comes_to(*pc, "performs"),
            Step::Blocked { pc, .. } => comes_to(*pc, "has to wait at"),
            Step::Ended => "and it has ended".to_string(),
            Step::Broken => comes_to(world.pc(a), "cannot proceed at"),
        };
        Err(self.misfit(world, &found))
    }

    fn misfit(&self, world: &World<'_>, found: &str) -> Misfit {
        let Some(m) = self.next() else { return Misfit { at: self.at, message: found.to_string() } };
        let name = world.agent_name(m.agent);
        let what = match world.program().sites.get(m.site as usize) {
            Some(s) => format!("line {}: `{}`", s.line, s.text),
            None => "a statement that the kernel does not have".to_string(),
        };
        let does = match m.act {
            Act::Does => format!("{name} is to perform {what}"),
            Act::Waits => format!("{name} is to wait at {what}"),
            Act::Ends => format!("{name} is to end"),
            Act::Breaks => format!("{name} is to fail at {what}"),
            Act::Lands(n) => format!("operation {} that {name} started, {what}, is to land", n + 1),
        };
        Misfit { at: self.at, message: format!("move {}: {does}, {found}", self.at + 1) }
    }
}

fn place(s: &Site) -> (u32, u32) {
    (s.line, s.col)
}

/// A replay: the moves of a schedule, made one by one without time.
#[derive(Clone, Debug)]
pub struct Replay<'p> {
    /// The current state, with the findings so far.
    pub world: World<'p>,
    order: Order,
    changed: Vec<WaitTarget>,
}

impl<'p> Replay<'p> {
    /// The replay before the first move.
    pub fn new(prog: &'p Program, rules: Rules, schedule: &Schedule) -> Replay<'p> {
        let world = World::alone(prog, rules, schedule.cluster);
        let order = Order::new(schedule, world.agents().len());
        Replay { world, order, changed: Vec::new() }
    }

    /// The objects that the last move changed and that agents may wait for.
    pub fn changed(&self) -> &[WaitTarget] {
        &self.changed
    }

    /// The flight whose landing is the next move, if the next move is a landing.
    pub fn landing(&self) -> Option<FlightId> {
        self.order.landing(&self.world).ok().flatten()
    }

    /// Number of operations in flight that an agent has started.
    pub fn started(&self, a: AgentId) -> u32 {
        self.order.started.get(a as usize).map_or(0, Vec::len) as u32
    }

    /// Makes the next move; `None` at the end.
    ///
    /// # Errors
    /// A move that the kernel does not make.
    pub fn go(&mut self) -> Result<Option<Move>, Misfit> {
        let Some(m) = self.order.next() else { return Ok(None) };
        self.changed.clear();
        match self.order.landing(&self.world)? {
            Some(f) => {
                self.world.land(f, &mut self.changed);
                self.order.landed();
            }
            None => {
                let step = self.world.step(m.agent, &mut self.changed);
                self.order.stepped(&self.world, m.agent, &step)?;
            }
        }
        Ok(Some(m))
    }

    /// Makes all moves. Returns the waits of all agents, if no agent can proceed then.
    ///
    /// # Errors
    /// A move that the kernel does not make.
    pub fn to_the_end(&mut self) -> Result<Vec<Stuck>, Misfit> {
        while self.go()?.is_some() {}
        let waiting = stuck(&self.world);
        if waiting.is_some() {
            self.world.missing_bytes();
        }
        Ok(waiting.unwrap_or_default())
    }
}

/// A waiting agent: the instruction that it waits at, and the target of its wait.
pub type Stuck = (AgentId, u32, WaitTarget);

/// The waits of all agents, where no agent can proceed and nothing is in flight; `None` where one can.
pub fn stuck(world: &World<'_>) -> Option<Vec<Stuck>> {
    if world.in_flight() > 0 || world.ended() {
        return None;
    }
    // A step that succeeds changes the state, so the question needs a copy.
    let mut ahead = world.clone();
    let mut list = Vec::new();
    for a in 0..world.agents().len() as AgentId {
        if world.agent_ended(a) {
            continue;
        }
        match ahead.step(a, &mut ()) {
            Step::Blocked { pc, on, .. } => list.push((a, pc, on)),
            _ => return None,
        }
    }
    Some(list)
}
