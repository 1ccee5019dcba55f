//! Asynchronous operations in flight, and what happens when they land.

use smallvec::SmallVec;

use crate::code::Code;

use super::footprint::Footprint;
use super::mbarrier::{Arrival, Signal};
use super::observer::Observer;
use super::order::{Epoch, RowId};
use super::stream::StreamKind;
use super::vocabulary::{AgentId, FlightId, MbarIx, WaitTarget};
use super::world::World;

/// An asynchronous operation that has been started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flight {
    /// The agent that started the flight.
    pub agent: AgentId,
    /// The instruction that started the flight.
    pub pc: u32,
    /// The flight's streams, with the number of its last instruction in each. Operations of a stream land in order.
    pub(super) streams: SmallVec<[(StreamKind, u32); 2]>,
    /// Bytes that the flight delivers: barrier, bytes, and the phase that the bytes are meant for.
    pub(super) delivers: SmallVec<[(MbarIx, i64, u32); 2]>,
    /// Arrivals that the flight performs: barrier and count.
    pub(super) arrives: SmallVec<[(MbarIx, u32); 2]>,
    /// The phases that these arrivals are meant for.
    pub(super) phases: SmallVec<[u32; 2]>,
    pub(super) releases: Option<RowId>,
    /// ...to threads of the issuer's CTA only.
    pub(super) cta_scope: bool,
    /// What the issuer had done, for agents that wait for a copy from another CTA.
    pub(super) issued_after: Option<RowId>,
    /// The clock of the arriving agent, to decide who knows of the arrival.
    pub(super) epoch: Option<Epoch>,
    /// The place in a stream that the arrival follows: a row that knows of that place knows of the arrival.
    pub(super) follows: Option<Epoch>,
    /// Registers that become ready.
    pub(super) fills: Option<Footprint>,
    /// Bytes that an arrival from another CTA expects.
    pub(super) expects: Option<i64>,
    /// Whether later phases need its arrivals no longer.
    pub(super) drops: bool,
    /// Mailboxes that get a value.
    pub(super) posts: SmallVec<[(usize, i64); 2]>,
    /// Pieces that the flight reads and writes until it lands, where the caller records these.
    pub(super) touches: Vec<(u32, bool)>,
}

impl Flight {
    pub(super) fn new(agent: AgentId, pc: u32) -> Self {
        Flight {
            agent,
            pc,
            streams: SmallVec::new(),
            delivers: SmallVec::new(),
            arrives: SmallVec::new(),
            phases: SmallVec::new(),
            releases: None,
            cta_scope: false,
            issued_after: None,
            epoch: None,
            follows: None,
            fills: None,
            expects: None,
            drops: false,
            posts: SmallVec::new(),
            touches: Vec::new(),
        }
    }

    /// Remembers the phase that an arrival is meant for, in the order of `arrives`.
    pub(super) fn meant_for(&mut self, phase: u32) {
        self.phases.push(phase);
    }
}

/// The flights of a cluster, by index.
#[derive(Debug, Default)]
pub(super) struct Flights {
    slots: Vec<Option<Flight>>,
    /// Empty slots. The newest is used first.
    free: Vec<FlightId>,
    /// Number of flights.
    count: u32,
}

clone_by_field!(Flights { slots, free, count });

impl Flights {
    /// Adds a flight.
    pub(super) fn add(&mut self, f: Flight) -> FlightId {
        self.count += 1;
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = Some(f);
            id
        } else {
            self.slots.push(Some(f));
            (self.slots.len() - 1) as FlightId
        }
    }

    /// Takes the flight of an index out.
    fn take(&mut self, id: FlightId) -> Option<Flight> {
        let f = self.slots.get_mut(id as usize).and_then(Option::take)?;
        self.free.push(id);
        self.count -= 1;
        Some(f)
    }

    #[inline]
    pub(super) fn get(&self, id: FlightId) -> Option<&Flight> {
        self.slots.get(id as usize).and_then(Option::as_ref)
    }

    pub(super) fn get_mut(&mut self, id: FlightId) -> Option<&mut Flight> {
        self.slots.get_mut(id as usize).and_then(Option::as_mut)
    }

    /// All slots, in order of their indices.
    #[inline]
    pub(super) fn slots(&self) -> &[Option<Flight>] {
        &self.slots
    }

    /// All flights, in order of their indices.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.slots.iter().flatten()
    }

    /// Number of flights.
    pub(super) fn count(&self) -> u32 {
        self.count
    }
}

impl World<'_> {
    /// What an agent has done, for agents that will wait for a copy issued now; nothing where order in time is not kept
    /// apart. The agent's clock advances, since the copy says nothing of later operations.
    pub(super) fn issued(&mut self, a: AgentId) -> Option<RowId> {
        self.order.keeps_time().then(|| {
            let row = self.order.snapshot(self.spec.agent_row(a));
            self.order.tick(self.spec.agent_row(a), a);
            row
        })
    }

    pub(super) fn launch(&mut self, f: Flight) -> FlightId {
        self.flights.add(f)
    }

    /// The flight of this index, if the flight has not landed.
    pub fn flight(&self, id: FlightId) -> Option<&Flight> {
        self.flights.get(id)
    }

    /// Whether a flight only makes registers of a compiled kernel ready. These registers are not followed, so a run without
    /// time may land the flight as soon as it has started: any order of landings is a schedule.
    pub fn lands_at_once(&self, id: FlightId) -> bool {
        self.prog.opaque_globals
            && self.flight(id).is_some_and(|f| {
                f.fills.is_some()
                    && f.streams.iter().all(|(kind, _)| *kind == StreamKind::Scoreboard)
                    && (f.delivers.is_empty() && f.arrives.is_empty() && f.posts.is_empty())
            })
    }

    /// The agent that owns a flight's stream, and the stream; `None` for copies that only signal a barrier.
    pub fn stream_of(&self, id: FlightId) -> Option<(AgentId, StreamKind)> {
        let f = self.flight(id)?;
        f.streams.first().map(|&(kind, _)| (self.stream_owner(f.agent, kind), kind))
    }

    /// Flights that have not landed, by index.
    pub fn flight_ids(&self) -> impl Iterator<Item = FlightId> + '_ {
        (0..).zip(self.flights.slots()).filter(|(_, f)| f.is_some()).map(|(id, _)| id)
    }

    /// A flight's stream and the number of its last instruction there; the least number lands first.
    pub fn stream_place(&self, id: FlightId) -> Option<(AgentId, StreamKind, u32)> {
        let f = self.flight(id)?;
        f.streams.first().map(|&(kind, seq)| (self.stream_owner(f.agent, kind), kind, seq))
    }

    /// Flights that may land next, in order of their indices: the oldest flight of each ordered stream, and every
    /// flight without a stream.
    pub fn landable(&self) -> Vec<FlightId> {
        self.flight_ids().filter(|id| self.may_land(*id)).collect()
    }

    /// Whether no earlier flight of a flight's stream is still in flight.
    pub fn may_land(&self, id: FlightId) -> bool {
        let Some((owner, kind, seq)) = self.stream_place(id) else { return self.flight(id).is_some() };
        let mut rivals = self.flight_ids().filter_map(|g| self.stream_place(g));
        rivals.all(|(o, k, s)| (o, k) != (owner, kind) || s >= seq)
    }

    /// The effects of the flights as numbers, in an order that does not depend on their indices.
    pub fn flights_fingerprint(&self, out: &mut Vec<u64>) {
        let mut list: Vec<_> = self.flights.iter().collect();
        list.sort_by_key(|f| (f.agent, f.pc, f.streams.clone(), f.delivers.clone(), f.arrives.clone()));
        for f in list {
            out.push((f.agent as u64) << 32 | f.pc as u64);
            out.extend(f.streams.iter().map(|(kind, seq)| (*kind as u64) << 32 | *seq as u64));
            out.extend(f.delivers.iter().flat_map(|(bar, bytes, phase)| [*bar as u64, *bytes as u64, *phase as u64]));
            out.extend(f.arrives.iter().map(|(bar, n)| (*bar as u64) << 32 | *n as u64));
        }
    }

    /// Ends an operation in flight: its stream advances, its barriers are signaled, its registers are ready. The caller
    /// keeps the order within each stream. The observer receives what the landing did.
    pub fn land(&mut self, id: FlightId, observer: &mut impl Observer) {
        self.journal.begin(observer);
        self.end_flight(id);
        self.journal.report(observer);
    }

    fn end_flight(&mut self, id: FlightId) {
        let Some(f) = self.flights.take(id) else { return };
        if let Some(footprint) = &f.fills {
            for p in self.each_piece(f.agent, footprint) {
                self.memory.end_fill(p);
            }
            // The registers are the warp's: both its lane classes may wait for them.
            let rest = self.rest_of(f.agent);
            self.journal.changed(WaitTarget::Own(rest));
            if self.spec.info[rest as usize].lanes.is_some() {
                self.journal.changed(WaitTarget::Own(rest - 1));
            }
        }
        for &(p, v) in &f.posts {
            self.memory.post_word(p, v);
        }
        for &(kind, seq) in &f.streams {
            let owner = self.stream_owner(f.agent, kind);
            self.end_stream(owner, kind, seq);
            match kind {
                StreamKind::Wgmma => self.wake_group(owner),
                // Both lane classes of a split warp wait for the flight.
                StreamKind::TmemLd | StreamKind::TmemSt if self.spec.info[owner as usize].lanes.is_some() => {
                    self.journal.changed(WaitTarget::Own(owner - 1));
                }
                _ => {}
            }
        }
        for &(bar, bytes, phase) in &f.delivers {
            let epoch = Epoch { comp: self.spec.mbar_comp(bar), clock: phase + 1 };
            self.signaled(bar, Signal { epoch, phase, agent: f.agent, pc: f.pc });
            if let Some(r) = f.issued_after {
                let row = self.spec.mbar_row(bar);
                self.order.follow(row, r);
            }
            self.deliver(f.agent, f.pc, bar, bytes, phase);
        }
        for (i, &(bar, count)) in f.arrives.iter().enumerate() {
            // Two arrivals of one phase were in flight, and this arrival came too late for that phase: their order
            // decides.
            if f.phases.get(i).is_some_and(|meant| *meant != self.mbar(bar).phase) {
                self.may_be_counted_elsewhere(f.agent, f.pc, bar);
            }
            if let Some(epoch) = f.epoch {
                let phase = self.mbar(bar).phase;
                self.signaled(bar, Signal { epoch, phase, agent: f.agent, pc: f.pc });
            }
            if let Some(n) = f.expects {
                self.expect(f.agent, f.pc, bar, n);
            }
            if f.drops {
                self.drop_expected(f.agent, f.pc, bar, count);
            }
            let hidden = f.cta_scope && self.mbar_cta(bar) != self.spec.info[f.agent as usize].cta;
            if let (true, Some(r)) = (hidden, f.releases) {
                let row = self.spec.mbar_row(bar);
                self.order.follow(row, r);
            }
            let release = f.releases.filter(|_| !hidden);
            self.arrive(f.agent, f.pc, bar, Arrival { count, release, epoch: f.follows });
        }
        for r in [f.releases, f.issued_after].into_iter().flatten() {
            self.order.release(r);
        }
    }

    pub(super) fn cta_ended(&self, cta: u32) -> bool {
        (0..self.spec.info.len()).all(|i| self.spec.info[i].cta != cta || self.agents[i as AgentId].ended)
    }

    /// Remembers a signal until its CTA ends. A CTA may not end before the operations that signal its barriers
    /// (docs/rules.md 13).
    fn signaled(&mut self, bar: MbarIx, s: Signal) {
        let cta = self.mbar_cta(bar);
        if self.cta_ended(cta) {
            self.outlived(bar, cta, &s);
            return;
        }
        self.mbars[bar as usize].note_signal(s);
    }

    /// The last agent of a CTA has ended: checks the signals of the CTA's barriers.
    pub(super) fn leave_mbars(&mut self, cta: u32) {
        for bar in 0..self.mbars.len() as MbarIx {
            if self.mbar_cta(bar) == cta {
                for s in self.mbars[bar as usize].take_signals() {
                    self.outlived(bar, cta, &s);
                }
            }
        }
    }

    /// Holds the end of a CTA to being after a signal: one of the CTA's agents must know of the signal.
    fn outlived(&mut self, bar: MbarIx, cta: u32, s: &Signal) {
        if !self.knows_signal(bar, s) {
            let message =
                format!("signals {}, and nothing in CTA {cta} waits for it before it ends", self.mbar_name(bar));
            // A signal of bytes has the barrier's own clock.
            let code = if s.epoch.comp == self.spec.mbar_comp(bar) { Code::ExitBytes } else { Code::ExitSignal };
            self.find(code, s.agent, s.pc, message, None);
        }
    }

    /// The last agent of a CTA has ended: shared memory that the CTA's bulk stores may still read is gone (PTX,
    /// cp.async.bulk). Working kernels leave this wait out (ThunderKittens), so the finding is a note.
    pub(super) fn leave_stores(&mut self, cta: u32) {
        let here = |i: &AgentId| self.spec.info[*i as usize].cta == cta;
        let comps: Vec<u32> = (0..self.spec.info.len() as AgentId)
            .filter(here)
            .map(|i| self.stream_comp(i, StreamKind::BulkRead))
            .filter(|comp| *comp > 0)
            .collect();
        let known =
            |e| (0..self.spec.info.len() as AgentId).filter(here).any(|i| self.order.has(self.spec.agent_row(i), e));
        let open = self.memory.pieces().iter().flat_map(|p| &p.trace.reads);
        let open = open.filter(|r| comps.contains(&r.epoch.comp) && !known(r.epoch)).map(|r| (r.agent, r.pc));
        let open: std::collections::BTreeSet<_> = open.collect();
        for (a, pc) in open {
            let message = format!("reads shared memory, and nothing in CTA {cta} waits for it before it ends");
            self.note(Code::ExitStore, a, pc, message, None);
        }
    }

    fn wake_group(&mut self, lead: AgentId) {
        for i in 0..self.spec.info.len() {
            if self.spec.group_lead[i] == lead {
                self.journal.changed(WaitTarget::Own(i as AgentId));
            }
        }
    }
}
