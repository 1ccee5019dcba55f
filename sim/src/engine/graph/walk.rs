//! The walk of a cluster's agents that builds an event graph.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::engine::lags::{After, Prober};
use crate::engine::server::Core;
use crate::engine::timing::Timing;
use crate::ir::{Cost, Instr, Op, Queue};
use crate::protocol::{
    AgentId, AgentInfo, Decision, FlightId, RendezvousKind, Step, StepEffect, StepRecord, StreamKind, TileKey,
    WaitTarget, World,
};

use super::{Edge, Event, Graph, Kind};

/// Steps of agents after which the walk is given up.
const LIMIT: u64 = 4_000_000;

/// The state of an agent in the walk.
#[derive(Clone, Debug, Default)]
struct Agent {
    /// The event at which the agent continued after its last operation.
    at: Option<u32>,
    loops: u32,
    blocked: Option<WaitTarget>,
    asleep: bool,
    /// The last landing among the agent's own flights.
    own: Option<u32>,
    /// The last use of each resource, by its number.
    served: FxHashMap<u16, u32>,
    ready: Option<u32>,
    /// Commits of each queue, as positions in the queue's stream: a wait for a commit waits for the landings before its
    /// position.
    groups: FxHashMap<Queue, Vec<u32>>,
}

type Tiles = (Option<TileKey>, Option<TileKey>);

/// A walk, with the part of the graph found so far.
pub(super) struct Walk<'w> {
    prober: Prober<'w>,
    timing: &'w Timing<'w>,
    world: World<'w>,
    /// What the last step or landing did.
    record: StepRecord,
    /// Number of resources of a core.
    resources: u16,
    out: Graph,
    agents: Vec<Agent>,
    flying: VecDeque<(FlightId, u32)>,
    /// Landings of each stream, as position and event.
    streams: FxHashMap<(AgentId, StreamKind), Vec<(u32, u32)>>,
    /// For each mbarrier: the arrivals in its open phase, and the ends of earlier phases.
    arrivals: Vec<Vec<u32>>,
    phases: Vec<Vec<u32>>,
    /// For each rendezvous: the agents' arrivals in its open generation, and the ends of earlier ones.
    meeting: Vec<Vec<u32>>,
    met: Vec<Option<u32>>,
    steps: FxHashMap<(AgentId, u32), (Option<Tiles>, Vec<u32>)>,
}

impl<'w> Walk<'w> {
    pub(super) fn new(timing: &'w Timing<'w>, world: World<'w>) -> Walk<'w> {
        let (mbars, meets, _) = world.objects();
        Walk {
            prober: Prober::new(timing),
            resources: Core::new(timing.costs.schedulers.max(1)).servers().count() as u16,
            timing,
            out: Graph::default(),
            agents: vec![Agent::default(); world.agents().len()],
            flying: VecDeque::new(),
            streams: FxHashMap::default(),
            arrivals: vec![Vec::new(); mbars],
            phases: vec![Vec::new(); mbars],
            meeting: vec![Vec::new(); meets],
            met: vec![None; meets],
            steps: FxHashMap::default(),
            record: StepRecord { decisions: Some(Vec::new()), ..StepRecord::default() },
            world,
        }
    }

    pub(super) fn graph(mut self, resident: i64) -> Option<Graph> {
        let mut steps = 0;
        loop {
            let mut moved = false;
            for a in 0..self.agents.len() as AgentId {
                while !self.agents[a as usize].asleep {
                    steps += 1;
                    moved = true;
                    if steps > LIMIT || !self.step(a) {
                        return None;
                    }
                }
            }
            if moved {
                continue;
            }
            let Some((flight, land)) = self.flying.pop_front() else { break };
            let before = self.mbars();
            self.world.land(flight, &mut self.record);
            self.changed(&before, land);
        }
        if !self.world.ended() || self.world.findings().iter().any(|f| !f.note) {
            return None;
        }
        let mut lists: Vec<_> = self.steps.into_iter().collect();
        lists.sort_by_key(|(who, (_, list))| (std::cmp::Reverse(list.len()), *who));
        self.out.steps = lists.into_iter().next().map(|(_, (_, list))| list).unwrap_or_default();
        self.out.resident = resident;
        Some(self.out)
    }

    fn event(&mut self, kind: Kind, agent: u32, pc: u32) -> u32 {
        self.out.events.push(Event { kind, agent, pc });
        self.out.events.len() as u32 - 1
    }

    fn edge(&mut self, from: u32, to: u32, ticks: u64) {
        self.out.edges.push(Edge { from, to, ticks });
    }

    /// Phase and pending counts of each mbarrier.
    fn mbars(&self) -> Vec<(u32, u32, i64)> {
        let of = |ix| {
            let m = self.world.mbar(ix as u32);
            (m.phase, m.pending, m.tx)
        };
        (0..self.phases.len()).map(of).collect()
    }

    /// Records the consequences of an event: arrivals, and ends of phases and generations.
    fn changed(&mut self, before: &[(u32, u32, i64)], by: u32) {
        let now = self.mbars();
        for (ix, (was, is)) in before.iter().zip(&now).enumerate() {
            if was != is {
                self.arrivals[ix].push(by);
            }
            if is.0 > was.0 {
                let done = self.event(Kind::Phase, ix as u32, 0);
                for from in std::mem::take(&mut self.arrivals[ix]) {
                    self.edge(from, done, 0);
                }
                self.phases[ix].resize(is.0 as usize, done);
            }
        }
        for on in std::mem::take(&mut self.record.changed) {
            if let WaitTarget::Rendezvous(ix) = on
                && !self.meeting[ix as usize].is_empty()
            {
                self.meeting[ix as usize].push(by);
                self.end_meeting(ix);
            }
            for a in 0..self.agents.len() {
                let agent = &mut self.agents[a];
                if on == WaitTarget::Own(a as AgentId) {
                    agent.own = Some(by);
                }
                if agent.blocked == Some(on) {
                    agent.asleep = false;
                }
            }
        }
    }

    /// Completes a generation of a rendezvous with all agents that arrived.
    fn end_meeting(&mut self, ix: u32) {
        let met = self.event(Kind::Met, ix, 0);
        let came = std::mem::take(&mut self.meeting[ix as usize]);
        for from in came {
            self.edge(from, met, 0);
        }
        self.met[ix as usize] = Some(met);
    }

    /// The numbers that decided a branch, slot or phase in the last step.
    fn numbers(&self) -> Vec<i64> {
        let fixed = |j: &Decision| if let Decision::Fixed(n) = j { Some(*n) } else { None };
        self.record.decisions.iter().flatten().filter_map(fixed).collect()
    }

    /// Performs an agent's next operation. Returns false where the kernel broke.
    fn step(&mut self, a: AgentId) -> bool {
        self.record.clear_decisions();
        let before = self.mbars();
        match self.world.step(a, &mut self.record) {
            Step::Blocked { loops, on, pc } => {
                let agent = &mut self.agents[a as usize];
                agent.loops += loops;
                agent.asleep = true;
                let first = agent.blocked.is_none();
                agent.blocked = Some(on);
                if let (true, WaitTarget::Rendezvous(ix)) = (first, on) {
                    self.come(a, pc, ix);
                }
                true
            }
            Step::Performed { pc, loops, effect } => {
                self.agents[a as usize].loops += loops;
                self.effect(a, pc, &effect, &before);
                true
            }
            Step::Ended => {
                self.agents[a as usize].asleep = true;
                self.agents[a as usize].blocked = None;
                let at = self.begin(a, Kind::End, self.world.pc(a));
                self.changed(&before, at);
                true
            }
            Step::Broken => false,
        }
    }

    /// An agent reaches a rendezvous, or the wait of the cluster barrier, where it has arrived before.
    fn come(&mut self, a: AgentId, pc: u32, ix: u32) {
        let here = self.begin(a, Kind::Come, pc);
        self.agents[a as usize].at = Some(here);
        if self.world.rendezvous_kind(ix) != RendezvousKind::Cluster {
            self.meeting[ix as usize].push(here);
        }
    }

    /// An agent reaches an operation, after the loop iterations on the way.
    fn begin(&mut self, a: AgentId, kind: Kind, pc: u32) -> u32 {
        let begin = self.event(kind, a, pc);
        let loops = self.loops(a);
        let agent = &mut self.agents[a as usize];
        agent.loops = 0;
        if let Some(at) = agent.at {
            self.edge(at, begin, loops);
        }
        begin
    }

    /// Ticks of the loop iterations before an agent's operation.
    fn loops(&self, a: AgentId) -> u64 {
        (self.agents[a as usize].loops as f64 * self.timing.costs.loop_).ceil() as u64
    }

    fn effect(&mut self, a: AgentId, pc: u32, effect: &StepEffect, before: &[(u32, u32, i64)]) {
        let Instr::Op { op, cost } = &self.world.program().code[pc as usize] else { return };
        let blocked = self.agents[a as usize].blocked.take();
        let loops = self.loops(a);
        let waits = !matches!(op, Op::Named { sync: false, .. } | Op::ClusterArrive { .. });
        let ended = self
            .record
            .changed
            .iter()
            .find_map(|on| if let WaitTarget::Rendezvous(ix) = on { Some(*ix) } else { None });
        let ended = ended.filter(|_| waits);
        if let Some(ix) = ended {
            // The last agent in this order need not be the last in time.
            self.come(a, pc, ix);
            self.end_meeting(ix);
        }
        let begin = self.begin(a, Kind::Begin, pc);
        let mut woken = None;
        if let Some(met) = ended.and_then(|ix| self.met[ix as usize]) {
            self.edge(met, begin, 0);
        }
        match (blocked, op) {
            (_, Op::ClusterWait) => self.released(self.meet(RendezvousKind::Cluster), begin, op, cost),
            (Some(WaitTarget::Rendezvous(ix)), _) => self.released(Some(ix as usize), begin, op, cost),
            (_, Op::Wait(q, _)) => {
                if let Some(land) = self.waited(a, *q) {
                    self.edge(land, begin, 0);
                }
            }
            (Some(WaitTarget::Own(_)), _) => {
                if let Some(land) = self.agents[a as usize].own {
                    self.edge(land, begin, 0);
                }
            }
            _ => {}
        }
        if let Op::MbarWait { bar, .. } = op {
            let numbers = self.numbers();
            let (Some(stage), Some(ahead)) = (numbers.first(), numbers.last()) else { return };
            let cta = self.world.agents()[a as usize].cta;
            let stages = self.world.program().mbars[bar.bar as usize].stages;
            let ix = self.world.mbars_of(bar.bar).start + cta * stages + *stage as u32;
            let phase = before[ix as usize].0 as i64 + ahead;
            let done = usize::try_from(phase).ok().and_then(|p| self.phases[ix as usize].get(p).copied());
            if let Some(done) = done {
                let event = self.event(Kind::Woken, a, pc);
                // An agent that is woken pays for its loop iterations after it wakes.
                self.edge(done, event, self.timing.costs.mbar_wake.ceil() as u64 + loops);
                woken = Some(event);
            }
        }
        let end = self.takes(a, pc, effect, begin, woken);
        let arrives = match op {
            Op::Named { sync: false, bar, .. } => self.numbers().first().and_then(|index| {
                self.meet(RendezvousKind::Named(*bar, *index as u32, self.world.agents()[a as usize].cta))
            }),
            Op::ClusterArrive { .. } => self.meet(RendezvousKind::Cluster),
            _ => None,
        };
        if let Some(ix) = arrives {
            self.meeting[ix].push(begin);
        }
        if let Op::Commit(q) = op {
            let place = self.stream(a, *q).last().map_or(0, |l| l.0);
            self.agents[a as usize].groups.entry(*q).or_default().push(place);
        }
        self.changed(before, begin);
        self.agents[a as usize].at = Some(end);
    }

    /// Agents continue from a rendezvous a release latency after the last arrival.
    fn released(&mut self, ix: Option<usize>, begin: u32, op: &Op, cost: &Cost) {
        if let Some(met) = ix.and_then(|ix| self.met[ix]) {
            self.edge(met, begin, self.timing.release_of(op, cost));
        }
    }

    fn meet(&self, kind: RendezvousKind) -> Option<usize> {
        (0..self.met.len()).find(|ix| self.world.rendezvous_kind(*ix as u32) == kind)
    }

    /// The landings of an agent's queue.
    fn stream(&self, a: AgentId, q: Queue) -> &[(u32, u32)] {
        let all = self.world.agents();
        let who = all[a as usize];
        let of = |same: &dyn Fn(&AgentInfo) -> bool| {
            all.iter().position(|x| x.cta == who.cta && same(x)).map_or(a, |i| i as AgentId)
        };
        let owner = match q {
            Queue::Wgmma => of(&|x| x.warp / 4 == who.warp / 4),
            Queue::TmemLd | Queue::TmemSt => of(&|x| x.warp == who.warp && !x.elected()),
            _ => a,
        };
        self.streams.get(&(owner, StreamKind::of(q))).map_or(&[], Vec::as_slice)
    }

    /// The landing that a wait was for, given the number of operations that may stay outstanding.
    fn waited(&self, a: AgentId, q: Queue) -> Option<u32> {
        let left = usize::try_from(*self.numbers().first()?).ok()?;
        let list = self.stream(a, q);
        let place = match q {
            Queue::Cp | Queue::Wgmma | Queue::Bulk | Queue::BulkRead => {
                let groups = self.agents[a as usize].groups.get(&q)?;
                *groups.get(groups.len().checked_sub(1 + left)?)?
            }
            _ => list.last()?.0.checked_sub(left as u32)?,
        };
        let at = list.partition_point(|l| l.0 < place);
        list.get(at).filter(|_| place > 0).map(|l| l.1)
    }

    /// Adds the delays of an operation, and the flights that it starts. Returns the event at which the agent continues.
    fn takes(&mut self, a: AgentId, pc: u32, effect: &StepEffect, begin: u32, woken: Option<u32>) -> u32 {
        let lags = self.prober.lags(pc, effect, self.world.agents()[a as usize], false);
        let end = self.event(Kind::End, a, pc);
        let flights = effect.flights();
        // Operations of a stream follow each other, whichever agent starts them.
        let stream = flights.first().and_then(|f| self.world.stream_of(*f)).map_or(a, |s| s.0);
        let cta = self.world.agents()[a as usize].cta as u16;
        let number = |n: u16| {
            if n < self.resources { cta * self.resources + n } else { (cta ^ 1) * self.resources + n - self.resources }
        };
        let numbers: Vec<u16> = lags.served.iter().map(|s| number(s.number)).collect();
        let served: Vec<(u16, u32)> = numbers.iter().map(|n| (*n, self.event(Kind::Served(*n), stream, pc))).collect();
        let lands: Vec<u32> = (0..flights.len()).map(|i| self.event(Kind::Land(i as u8), a, pc)).collect();
        let ready = lags.ready.then(|| self.event(Kind::Ready, a, pc));
        let mut join = |from: Option<u32>, after: &After| {
            let Some(from) = from else { return };
            let lands = lands.iter().zip(&after.lands).map(|(to, lag)| (*to, *lag));
            let served = served.iter().zip(&after.served).map(|(to, lag)| (to.1, *lag));
            let outs = [(end, after.end)].into_iter().chain(lands).chain(served);
            let outs = outs.chain(ready.map(|to| (to, after.ready)));
            self.out.edges.extend(outs.filter_map(|(to, lag)| lag.map(|ticks| Edge { from, to, ticks })));
        };
        join(Some(begin), &lags.from_begin);
        join(self.agents[a as usize].ready, &lags.from_ready);
        for (s, n) in lags.served.iter().zip(&numbers) {
            join(self.agents[stream as usize].served.get(n).copied(), &s.from);
        }
        if woken.is_some() {
            join(woken, &self.prober.lags(pc, effect, self.world.agents()[a as usize], true).from_begin);
        }
        for (s, (number, event)) in lags.served.iter().zip(&served) {
            self.out.work.push((*event, *number, s.busy));
            self.agents[stream as usize].served.insert(*number, *event);
        }
        if ready.is_some() {
            self.agents[a as usize].ready = ready;
        }
        for (f, land) in flights.iter().zip(&lands) {
            if let Some((owner, kind, place)) = self.world.stream_place(*f) {
                let list = self.streams.entry((owner, kind)).or_default();
                let last = list.last().map(|l| l.1);
                list.push((place, *land));
                if let (Some(last), true) = (last, kind != StreamKind::Scoreboard) {
                    self.edge(last, *land, 0);
                }
            }
            self.flying.push_back((*f, *land));
        }
        if let StepEffect::Mma(m) = effect
            && m.acts
        {
            let at = |t: Tiles| (t.0.map(|k| (k.obj, k.at)), t.1.map(|k| (k.obj, k.at)));
            let e = self.steps.entry((stream, pc)).or_default();
            if e.0.is_none_or(|last| at(last) != at(m.tiles)) {
                e.0 = Some(m.tiles);
                e.1.push(begin);
            }
        }
        end
    }
}
