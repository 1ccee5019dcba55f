//! The state of one cluster: its agents, barriers, streams, memory, and happens-before.

use std::sync::Arc;

use crate::code::Code;
use crate::ir::{Expr, Instr, MbarId, Op, Program};

use super::agents::Agents;
use super::coverage::Sum;
use super::findings::Results;
use super::flight::Flights;
use super::global::GlobalState;
use super::mbarrier::{Mbar, MbarState};
use super::memory::{Memory, MemorySize, Piece};
use super::observer::Journal;
use super::op::Registers;
use super::order::{RowId, Rows};
use super::place::Placement;
use super::rendezvous::Rendezvous;
use super::rings::Rings;
use super::spec::{Rules, Spec};
use super::stream::Streams;
use super::vocabulary::{AgentId, AgentInfo, Coords, WaitTarget};

/// One cluster: the facts that steps do not change, which copies share, and the state.
#[derive(Clone, Debug)]
pub struct World<'p> {
    pub(super) prog: &'p Program,
    pub(super) spec: Arc<Spec>,
    /// The place of the cluster in the grid.
    pub(super) coords: Coords,
    pub(super) agents: Agents,
    pub(super) mbars: Vec<MbarState>,
    pub(super) rendezvous: Vec<Rendezvous>,
    pub(super) streams: Streams,
    pub(super) memory: Memory,
    /// Registers that warps hand to each other, by CTA.
    pub(super) registers: Vec<Registers>,
    pub(super) flights: Flights,
    pub(super) order: Rows,
    /// Global memory: counters, accesses to matrices, tiles still to hand out.
    pub(super) global: GlobalState,
    /// The last access to each ring, where rings rotate.
    pub(super) rings: Rings,
    /// What the current step did so far.
    pub(super) journal: Journal,
    /// What all steps found.
    pub(super) results: Results,
}

impl<'p> World<'p> {
    /// The cluster of this launch index, before its first step. `more_tiles` are the tiles that `clc` will hand out to
    /// the cluster.
    pub fn new(prog: &'p Program, rules: Rules, cluster: i64, more_tiles: &[i64]) -> World<'p> {
        let meets = Self::all_rendezvous(prog);
        World::with_spec(prog, Spec::of(prog, rules, &meets), cluster, meets, more_tiles)
    }

    /// The cluster of this launch index as the only one on the machine: `clc` hands out all later tiles to it, in
    /// order.
    pub fn alone(prog: &'p Program, rules: Rules, cluster: i64) -> World<'p> {
        World::new(prog, rules, cluster, &later_tiles(prog, cluster))
    }

    /// The representative of a cell of CTAs as the only cluster on the machine, with forms for how numbers depend on
    /// the place in the cell.
    pub fn placed_at(prog: &'p Program, rules: Rules, place: &Arc<Placement>) -> World<'p> {
        let meets = Self::all_rendezvous(prog);
        let spec = Spec { place: Some(place.clone()), ..Spec::of(prog, rules, &meets) };
        let cluster = place.cluster();
        let mut world = World::with_spec(prog, spec, cluster, meets, &later_tiles(prog, cluster));
        world.coords = place.coords;
        world
    }

    /// A world without happens-before: every access is in order, and a parity test answers as the hardware does.
    /// Findings are only the faults of this very order.
    pub fn bare(prog: &'p Program, rules: Rules, cluster: i64) -> World<'p> {
        let meets = Self::all_rendezvous(prog);
        let spec = Spec::of(prog, rules, &meets);
        let spec = Spec { proxies: false, tensor_fences: false, register_fences: false, ..spec };
        let mut world = World::with_spec(prog, spec, cluster, meets, &[]);
        world.order.turn_off();
        world
    }

    /// The first state of a cluster.
    fn with_spec(prog: &'p Program, spec: Spec, cluster: i64, meets: Vec<Rendezvous>, more_tiles: &[i64]) -> World<'p> {
        let (m, n, z) = prog.grid.at(cluster);
        let coords = Coords { id: cluster, m, n, z };
        let n = spec.info.len();
        let (components, rows) = (spec.components as usize, spec.fixed_rows() as usize);
        let mut order = Rows::new(components, rows, spec.timed, spec.tensor_fences, spec.followed.proxies());
        for a in 0..n {
            order.tick(a as RowId, a as u32);
        }
        let size = MemorySize {
            pieces: spec.pieces,
            objects: prog.objects.len(),
            ctas: prog.cluster as usize,
            forms: spec.place.is_some(),
            register_fences: spec.register_fences,
        };
        World {
            prog,
            coords,
            agents: Agents::new(n, prog.vars.len(), spec.place.is_some()),
            mbars: vec![MbarState::new(n); spec.mbars as usize],
            rendezvous: meets,
            streams: Streams::new(n),
            memory: Memory::new(&size),
            registers: vec![Registers::of(prog); prog.cluster as usize],
            flights: Flights::default(),
            order,
            global: GlobalState::new(prog, spec.counters, more_tiles),
            rings: Rings::default(),
            journal: Journal::default(),
            results: Results::default(),
            spec: Arc::new(spec),
        }
    }

    /// Agents of the cluster.
    pub fn agents(&self) -> &[AgentInfo] {
        &self.spec.info
    }

    /// Number of tiles that `clc` has left for the cluster.
    pub fn tiles_left(&self) -> usize {
        self.global.more_tiles.len()
    }

    /// The program that the cluster runs.
    pub fn program(&self) -> &'p Program {
        self.prog
    }

    /// Whether every agent has ended.
    pub fn ended(&self) -> bool {
        self.agents.iter().all(|a| a.ended)
    }

    /// Whether one agent has ended.
    pub fn agent_ended(&self, a: AgentId) -> bool {
        self.agents[a].ended
    }

    /// Number of operations in flight.
    pub fn in_flight(&self) -> u32 {
        self.flights.count()
    }

    /// Number of reads of tiles that state an expectation, and of all reads of tiles.
    pub fn reads(&self) -> (u64, u64) {
        self.results.reads()
    }

    /// Bytes that a copy takes, about: happens-before, pieces and barriers.
    pub fn bytes(&self) -> u64 {
        let pieces = self.memory.pieces().len() * (size_of::<Piece>() + size_of::<Sum>());
        let mbars = self.mbars.iter().map(MbarState::bytes).sum::<usize>();
        (self.order.bytes() + pieces + mbars + self.streams.bytes()) as u64
    }

    /// The value of an agent's variable.
    pub fn var(&self, a: AgentId, v: u16) -> i64 {
        self.agents.vars(a)[v as usize]
    }

    /// The value of an expression for an agent; `None` where it has none.
    pub fn value_of(&self, a: AgentId, e: &Expr) -> Option<i64> {
        self.eval(a, e).ok()
    }

    /// The next instruction of an agent.
    pub fn pc(&self, a: AgentId) -> u32 {
        self.agents[a].pc
    }

    /// The state of an mbarrier.
    pub fn mbar(&self, ix: u32) -> &Mbar {
        self.mbars[ix as usize].hardware()
    }

    /// Number of mbarriers, rendezvous and CTAs, for callers that keep waiters by [`WaitTarget`].
    pub fn objects(&self) -> (usize, usize, usize) {
        (self.mbars.len(), self.rendezvous.len(), self.prog.cluster as usize)
    }

    /// Number of words of global memory that are used as counters.
    pub fn counters(&self) -> usize {
        self.global.counters.len()
    }

    /// The mbarriers of a declaration in all CTAs of the cluster.
    pub fn mbars_of(&self, bar: MbarId) -> std::ops::Range<u32> {
        let first = self.spec.mbar_base[bar as usize];
        first..first + self.prog.mbars[bar as usize].stages * self.prog.cluster
    }

    /// Records an arrival or delivery that does not know of the end of the phase or generation before.
    pub(super) fn must_know(&mut self, a: AgentId, pc: u32, on: WaitTarget, comp: u32, ended: u32) {
        if self.order.reached(self.spec.agent_row(a), comp) < ended {
            self.results.note_unordered(a, pc, on);
        }
    }

    /// Ends an agent: barriers, registers and checks that depend on its end.
    pub(super) fn end(&mut self, a: AgentId, pc: u32) {
        self.agents[a].ended = true;
        self.leave_meets(a);
        self.leave_registers(a);
        self.atomics_changed();
        let cta = self.spec.info[a as usize].cta;
        if self.cta_ended(cta) {
            self.leave_mbars(cta);
            self.leave_visits(cta);
            self.leave_stores(cta);
        }
        if self.ended() {
            for (obj, cta) in self.memory.allocations() {
                let name = &self.prog.objects[obj as usize].name;
                let message = format!("CTA {cta} ends with {name} still allocated in tensor memory");
                self.find(Code::AllocBalance, a, pc, message, None);
            }
            self.check_stores();
            self.check_kept_sums();
        }
    }

    /// Whether CTAs can behave differently, because control flow or a count depends on their place in the grid.
    pub fn depends_on_grid(prog: &Program) -> bool {
        prog.code.iter().any(|i| match i {
            Instr::Set(_, e) | Instr::Unless(e, _) => super::footprint::mentions_grid(e),
            Instr::Op { op: Op::Wait(_, e), .. } => super::footprint::mentions_grid(e),
            _ => false,
        })
    }
}

/// The tiles of a launch behind the tile of a cluster, where the program asks for more tiles.
fn later_tiles(prog: &Program, cluster: i64) -> Vec<i64> {
    if prog.hands_out() { (cluster + 1..prog.grid.len()).collect() } else { Vec::new() }
}
