//! The state of a world in parts, for a search that meets the same parts in millions of states.
//!
//! An operation reads and changes only a few parts: its agent, and the barriers and slots that the operation names
//! ([`World::needs`]). A search finds the effect on these parts once: it puts the parts into a fresh world and steps
//! that world. The effect holds wherever the same parts come together again. A bare world ([`World::bare`]) keeps no
//! happens-before, since a search makes every order itself.

use crate::ir::Class;

use super::agents::Agent;
use super::flight::Flight;
use super::footprint::TileKey;
use super::mbarrier::Mbar;
use super::observer::Observer;
use super::op::Registers;
use super::order::{Access, Epoch};
use super::stream::{ALL, Stream, StreamKind};
use super::vocabulary::{AgentId, FlightId};
use super::who::AgentSet;
use super::world::World;

/// A part of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatePart {
    /// The set of agents that have ended.
    Ended,
    /// An agent: its position, its variables, its streams and its operations in flight.
    Agent(AgentId),
    /// An mbarrier.
    Mbar(u32),
    /// A rendezvous.
    Rendezvous(u32),
    /// A piece of a slot.
    Piece(u32),
    /// The register pool of a CTA.
    Pool(u32),
    /// The objects that are allocated in tensor memory.
    Tensor,
}

/// The state of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentPart {
    pub(super) agent: Agent,
    pub(super) vars: Vec<i64>,
    /// The streams that something is or was in.
    pub(super) streams: Vec<(StreamKind, Stream)>,
    pub(super) flights: Vec<Flight>,
}

/// The state of a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartState {
    /// The agents that have ended.
    Ended(AgentSet),
    /// An agent.
    Agent(Box<AgentPart>),
    /// An mbarrier.
    Mbar(Mbar),
    /// A rendezvous: generation, threads arrived, threads needed, and the agents that arrived.
    Rendezvous(u32, u32, u32, AgentSet),
    /// A piece: its tile, whether anything wrote it, loads under way into it, and a mailbox's value.
    Piece(Option<TileKey>, bool, u32, i64),
    /// The register pool of a CTA.
    Pool(Registers),
    /// Allocated objects, each with its CTA.
    Tensor(Vec<(u16, u32)>),
}

impl<'p> World<'p> {
    /// Copies the state of another world of the same program into this world. Faster than a new copy, since existing
    /// allocations are reused.
    pub fn refresh(&mut self, from: &World<'p>) {
        let World {
            prog,
            spec: _,
            coords: _,
            agents,
            mbars,
            rendezvous,
            streams,
            memory,
            registers,
            flights,
            order,
            global,
            rings,
            journal: _,
            results,
        } = from;
        debug_assert!(std::ptr::eq(*prog, self.prog), "of one program");
        self.agents.clone_from(agents);
        self.mbars.clone_from(mbars);
        self.rendezvous.clone_from(rendezvous);
        self.streams.clone_from(streams);
        self.memory.clone_from(memory);
        self.registers.clone_from(registers);
        self.flights.clone_from(flights);
        self.order.clone_from(order);
        self.global.clone_from(global);
        self.rings.clone_from(rings);
        self.results.clone_from(results);
    }

    /// All parts, in a fixed order.
    pub fn parts(&self) -> Vec<StatePart> {
        let list = |n: usize, part: fn(u32) -> StatePart| (0..n as u32).map(part);
        std::iter::once(StatePart::Ended)
            .chain(list(self.agents.len(), StatePart::Agent))
            .chain(list(self.mbars.len(), StatePart::Mbar))
            .chain(list(self.rendezvous.len(), StatePart::Rendezvous))
            .chain(list(self.memory.pieces().len(), StatePart::Piece))
            .chain(list(self.registers.len(), StatePart::Pool))
            .chain([StatePart::Tensor])
            .collect()
    }

    /// Runs an agent's control flow up to its next operation or its end. False where a number on the way has no
    /// meaning.
    pub fn settle(&mut self, a: AgentId, observer: &mut impl Observer) -> bool {
        self.journal.begin(observer);
        let settled = match self.go_on(a) {
            Ok(_) => true,
            Err(f) => {
                self.broken(a, self.agents[a].pc, &f);
                false
            }
        };
        self.journal.report(observer);
        settled
    }

    /// The agent whose part a flight belongs to: the owner of the flight's stream, or the agent that started the
    /// flight.
    fn keeper(&self, f: &Flight) -> AgentId {
        f.streams.first().map_or(f.agent, |&(kind, _)| self.stream_owner(f.agent, kind))
    }

    /// The flights of an agent's part, in the part's order.
    pub fn flights_of(&self, a: AgentId) -> Vec<FlightId> {
        let mine = |id: &FlightId| self.flight(*id).is_some_and(|f| self.keeper(f) == a);
        let mut list: Vec<FlightId> = self.flight_ids().filter(mine).collect();
        list.sort_by_cached_key(|id| self.flight(*id).map(order_of));
        list
    }

    /// The state of a part. Of an agent's flights, only the fields that decide their effect.
    pub fn part(&self, part: StatePart) -> PartState {
        match part {
            StatePart::Ended => {
                let ended = self.agents.iter().enumerate().filter(|(_, a)| a.ended);
                PartState::Ended(ended.map(|(i, _)| i as AgentId).collect())
            }
            StatePart::Agent(a) => {
                let bare = |id: &FlightId| {
                    let f = self.flight(*id)?.clone();
                    let phases = Default::default();
                    Some(Flight { releases: None, issued_after: None, epoch: None, follows: None, phases, ..f })
                };
                let used = ALL.iter().zip(self.streams.of(a)).filter(|(_, s)| !s.unused());
                PartState::Agent(Box::new(AgentPart {
                    agent: Agent { ended: false, ..self.agents[a].clone() },
                    vars: self.agents.vars(a).to_vec(),
                    streams: used.map(|(kind, s)| (*kind, s.clone())).collect(),
                    flights: self.flights_of(a).iter().filter_map(bare).collect(),
                }))
            }
            StatePart::Mbar(ix) => PartState::Mbar(self.mbar(ix).clone()),
            StatePart::Rendezvous(ix) => {
                let m = &self.rendezvous[ix as usize];
                PartState::Rendezvous(m.generation, m.arrived, m.needed, m.who.clone())
            }
            StatePart::Piece(p) => {
                let p = p as usize;
                let trace = &self.memory[p].trace;
                let written = trace.write.is_some() || !trace.over.is_empty() || !trace.atomics.is_empty();
                PartState::Piece(self.memory[p].holds, written, self.memory.fills()[p], self.memory.words()[p])
            }
            StatePart::Pool(cta) => PartState::Pool(self.registers[cta as usize].clone()),
            StatePart::Tensor => PartState::Tensor(self.memory.allocations()),
        }
    }

    /// Sets a part of a bare world. The part must have the state that it has in a fresh world.
    pub fn put(&mut self, part: StatePart, held: &PartState) {
        let some = Access { epoch: Epoch { comp: 0, clock: 0 }, pc: 0, agent: 0, generic: true, in_order: true };
        match (part, held) {
            (StatePart::Ended, PartState::Ended(set)) => {
                self.agents.iter_mut().enumerate().for_each(|(i, a)| a.ended = set.contains(i as AgentId));
            }
            (StatePart::Agent(a), PartState::Agent(x)) => {
                let ended = self.agents[a].ended;
                self.agents[a] = Agent { ended, ..x.agent.clone() };
                self.agents.vars_mut(a).copy_from_slice(&x.vars);
                for (kind, s) in &x.streams {
                    self.streams.get_mut(a, *kind).clone_from(s);
                }
                for f in &x.flights {
                    self.launch(f.clone());
                }
            }
            (StatePart::Mbar(ix), PartState::Mbar(m)) => {
                // A search makes every order, so every use is after the `init`.
                self.mbars[ix as usize].restore(m, some);
            }
            (StatePart::Rendezvous(ix), PartState::Rendezvous(generation, arrived, needed, who)) => {
                let m = &mut self.rendezvous[ix as usize];
                (m.generation, m.arrived, m.needed) = (*generation, *arrived, *needed);
                m.who.clone_from(who);
                m.first = (*arrived > 0).then(|| (who.first().unwrap_or(0), 0));
            }
            (StatePart::Piece(p), &PartState::Piece(holds, written, filling, mail)) => {
                let p = p as usize;
                self.memory[p].holds = holds;
                self.memory[p].trace.write = written.then_some(some);
                self.memory.set_fills(p, filling);
                self.memory.post_word(p, mail);
            }
            (StatePart::Pool(cta), PartState::Pool(x)) => self.registers[cta as usize].clone_from(x),
            (StatePart::Tensor, PartState::Tensor(list)) => self.memory.set_allocations(list, some),
            _ => debug_assert!(false, "{part:?} cannot hold {held:?}"),
        }
    }

    /// Records the pieces that a flight reads and writes until the flight lands.
    pub fn under_way(&mut self, id: FlightId, touches: Vec<(u32, bool)>) {
        if let Some(f) = self.flights.get_mut(id) {
            f.touches = touches;
        }
    }

    /// The pieces of registers that a warp of a CTA holds, in order.
    pub fn registers_of(&self, a: AgentId) -> Vec<u32> {
        let who = self.spec.info[a as usize];
        let mut list = Vec::new();
        for (l, o) in self.spec.layouts.iter().zip(&self.prog.objects) {
            if o.class == Class::Reg {
                let each = l.slots * l.pieces;
                let first = l.base + (who.cta * self.prog.warps + who.warp) * each;
                list.extend(first..first + each);
            }
        }
        list
    }
}

impl PartState {
    /// The instruction an agent is at.
    pub fn pc(&self) -> Option<u32> {
        match self {
            PartState::Agent(x) => Some(x.agent.pc),
            _ => None,
        }
    }

    /// An mbarrier's completed phases; nothing for one that is not initialized.
    pub fn phase(&self) -> Option<u32> {
        match self {
            PartState::Mbar(m) if m.live => Some(m.phase),
            _ => None,
        }
    }

    /// Whether one of an agent's flights will come to an mbarrier.
    pub fn comes_to(&self, bar: u32) -> bool {
        let to = |f: &Flight| f.delivers.iter().any(|d| d.0 == bar) || f.arrives.iter().any(|x| x.0 == bar);
        matches!(self, PartState::Agent(x) if x.flights.iter().any(to))
    }

    /// Whether a flight that other agents can notice shares a stream with the agent's flight at this index, and so
    /// waits for that flight.
    pub fn holds_back(&self, place: usize) -> bool {
        let PartState::Agent(x) = self else { return false };
        let Some(one) = x.flights.get(place) else { return false };
        let noticed = |f: &Flight| !(f.delivers.is_empty() && f.arrives.is_empty() && f.posts.is_empty());
        let shares = |f: &Flight| f.streams.iter().any(|s| one.streams.iter().any(|t| s.0 == t.0));
        x.flights.iter().enumerate().any(|(i, f)| i != place && noticed(f) && shares(f))
    }

    /// An agent's flights in the part's order: instruction, and the pieces that the flight reads and writes until it
    /// lands.
    pub fn under_way(&self) -> impl Iterator<Item = (u32, &[(u32, bool)])> {
        let list = match self {
            PartState::Agent(x) => x.flights.as_slice(),
            _ => &[],
        };
        list.iter().map(|f| (f.pc, f.touches.as_slice()))
    }
}

/// A sort key by the content of a flight, not by its index.
fn order_of(f: &Flight) -> impl Ord + use<> {
    (f.agent, f.pc, f.streams.clone(), f.delivers.clone(), f.arrives.clone())
}
