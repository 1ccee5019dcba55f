//! The state of one cluster: its agents, barriers, streams, memory, and happens-before.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::fences::{Cover, Fences, Level};
use crate::ir::{Instr, MbarId, NamedId, ObjId, Op, Program};
use crate::report::Finding;

use super::agents::{AgentId, AgentInfo, agents_of};
use super::counters::{Counter, only_grow};
use super::coverage::{KeptSum, Stored, Sum};
use super::eval::{Coords, Decision};
use super::fence::LastTouch;
use super::flight::{Flight, FlightId};
use super::global::{GlobalMatrices, Region};
use super::mbarrier::{Mbar, MbarIx, MbarState};
use super::memory::{Layout, Piece, layouts};
use super::named::RecentArrivals;
use super::open::SnapshotFacts;
use super::order::{Access, RowId, Rows};
use super::place::{FormId, Placement};
use super::regs::Registers;
use super::rendezvous::{Rendezvous, RendezvousIx};
use super::setup::{self, elected_code, groups_asked, streams_used, written};
use super::stream::{KINDS, Stream};

/// The rules that differ between vendors, and the strictness of fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Threads of a warp.
    pub warp_size: u32,
    /// Whether a barrier does not wait for ended warps, and a kernel may rely on that (AMD `s_barrier`, docs/rules.md
    /// 37).
    pub exit_releases: bool,
    /// Whether a barrier without memory flags still orders what program order completed (AMD: `s_waitcnt` does that
    /// part).
    pub bare_barrier_orders: bool,
    /// Bytes that a lane moves with one vector-memory instruction.
    pub bytes_per_lane: u32,
    /// Bytes that a lane moves with one direct load to LDS; 0 where the vendor has no such load.
    pub dma_bytes_per_lane: u32,
    /// The strictness of each fence rule.
    pub fences: Fences,
}

/// The target of a wait: an object whose change can unblock an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitTarget {
    /// An mbarrier.
    Mbar(u32),
    /// A rendezvous.
    Rendezvous(u32),
    /// The agent's own operations in flight.
    Own(AgentId),
    /// The register pool of a CTA, which `setmaxnreg` changes.
    Pool(u32),
    /// A counter in global memory.
    Counter(u32),
}

/// An operation that has no meaning in the current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Arithmetic,
    Slot { obj: ObjId, slot: i64 },
    Part { index: i64, of: u32 },
    Stage { bar: MbarId, stage: i64 },
    Named { bar: NamedId, index: i64 },
    Word { counter: crate::ir::CounterId, index: i64 },
    Threads(i64),
    Cta(i64),
    Mask(i64),
    Pair(u32, u32),
    Negative(&'static str, i64),
    Endless,
}

/// The changing state of an agent, without its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Agent {
    pub(super) pc: u32,
    pub(super) ended: bool,
    /// The rendezvous and generation that the agent arrived in and waits for.
    pub(super) waits_in: Option<(RendezvousIx, u32)>,
    /// The generation of the cluster barrier that the agent arrived in and has not waited for yet.
    pub(super) cluster_arrived: Option<u32>,
    /// Instruction of the last operation that the warp's lanes performed one by one, since an operation that joined them;
    /// kept where the rule `warp-arrive` asks.
    pub(super) last_unjoined: Option<u32>,
    /// Whether this agent joined the lanes of its warp for the current operation and performs the operation for all.
    pub(super) performs_for_warp: bool,
    /// Whether this lane class of a split warp came to an `elect:` block since the classes last joined. The classes
    /// then run apart.
    pub(super) diverged: bool,
    /// Whether this lane class of a split warp passed an operation that the other class does not know of, since the
    /// classes last joined.
    pub(super) unmet: bool,
}

/// One cluster. Copies of a world share the parts that steps do not change.
#[derive(Clone, Debug)]
pub struct World<'p> {
    pub(super) prog: &'p Program,
    pub(super) rules: Rules,
    pub(super) coords: Coords,
    pub(super) info: Arc<[AgentInfo]>,
    pub(super) agents: Vec<Agent>,
    pub(super) frame: usize,
    pub(super) vars: Vec<i64>,
    /// The cell of CTAs that the run stands for, with its table of forms.
    pub(super) place: Option<Arc<Placement>>,
    pub(super) var_forms: Vec<FormId>,
    pub(super) mbars: Vec<MbarState>,
    pub(super) mbar_base: Arc<[MbarIx]>,
    /// Accesses to the memory of each CTA by agents of other CTAs, the newest of each component.
    pub(super) visits: Vec<Vec<Access>>,
    pub(super) meets: Vec<Rendezvous>,
    pub(super) recent_arrivals: RecentArrivals,
    pub(super) group_size: Arc<[u32]>,
    pub(super) group_lead: Arc<[AgentId]>,
    pub(super) streams: Vec<Stream>,
    /// Number of committed groups that a wait can ask about.
    pub(super) groups_kept: usize,
    pub(super) stream_comps: Arc<[u32]>,
    pub(super) layouts: Arc<[Layout]>,
    pub(super) pieces: Vec<Piece>,
    /// Number of loads in flight into a register piece.
    pub(super) filling: Vec<u32>,
    pub(super) sums: Vec<Sum>,
    pub(super) stored: Vec<Stored>,
    /// Sums that were stored to a global matrix that the kernel reads again.
    pub(super) kept_sums: Vec<KeptSum>,
    /// The largest first row and column of a block that was accessed without a mask, by object.
    pub(super) reached: Vec<[i64; 2]>,
    pub(super) mail: Vec<i64>,
    pub(super) mail_forms: Vec<FormId>,
    /// Tensor-memory objects allocated, by object and CTA.
    pub(super) tmem: FxHashMap<(ObjId, u32), Access>,
    /// Registers that warps hand to each other, by CTA.
    pub(super) registers: Vec<Registers>,
    pub(super) flights: Vec<Option<Flight>>,
    pub(super) free_flights: Vec<FlightId>,
    pub(super) in_flight: u32,
    pub(super) rows: Rows,
    /// Whether asynchronous reads of shared memory need proxy fences.
    pub(super) proxies: bool,
    /// Whether tensor memory that passes between threads needs `tcgen05.fence`. Each agent then has a row of what the
    /// agent knew at its last `after_thread_sync`.
    pub(super) tensor_fences: bool,
    /// Words of global memory that are used as counters.
    pub(super) counters: Vec<Counter>,
    /// Whether a counter only grows, by declaration.
    pub(super) grows: Arc<[bool]>,
    /// Global matrices whose accesses can race.
    pub(super) followed: Arc<GlobalMatrices>,
    /// Accesses to these matrices that later accesses can conflict with, oldest first, by object.
    pub(super) regions: Vec<Vec<Region>>,
    /// For each piece of a register object, its last use since its warp's last `wgmma.fence`. Empty where that rule is
    /// off or the program has no `wgmma`.
    pub(super) unfenced: Vec<LastTouch>,
    /// Tiles that `clc` hands out, last first.
    pub(super) more_tiles: Vec<i64>,
    /// Whether an instruction is inside an `elect:` block.
    pub(super) elected_at: Arc<[bool]>,
    /// Objects that some statement writes.
    pub(super) written: Arc<[bool]>,
    /// For each declaration of barriers, whether some outcome depends on the phase of an arrival.
    pub(super) phases_matter: Arc<[bool]>,
    /// The facts about the program that snapshots need, found by the first snapshot.
    pub(super) asked: Arc<OnceLock<SnapshotFacts>>,
    /// Number of reads of tiles that state an expectation, and of all reads of tiles.
    pub(super) reads: (u64, u64),
    /// Pieces accessed since the caller last took the list, and whether written; recorded only where the caller put a
    /// list here.
    pub accesses: Option<Vec<(u32, bool)>>,
    /// Decisions since the caller last took the list; recorded only where the caller put a list here.
    pub decisions: Option<RefCell<Vec<Decision>>>,
    /// Wait targets that changed since the caller last took the list.
    pub touched: Vec<WaitTarget>,
    /// The first arrival that nothing orders after the end of the phase or generation before: agent, instruction,
    /// target. Another schedule could count the arrival there, so one run does not decide for all.
    pub unordered: Option<(AgentId, u32, WaitTarget)>,
    /// Findings in order; the caller may take them. The caller fills in cycles.
    pub findings: Vec<Finding>,
}

impl<'p> World<'p> {
    /// The cluster of this launch index as the only one on the machine: `clc` hands out all later tiles to it, in
    /// order.
    pub fn alone(prog: &'p Program, rules: Rules, cluster: i64) -> World<'p> {
        let later: Vec<i64> = if prog.hands_out() { (cluster + 1..prog.grid.len()).collect() } else { Vec::new() };
        World::new(prog, rules, cluster, &later)
    }

    /// The representative of a cell of CTAs as the only cluster on the machine, with forms for how numbers depend on
    /// the place in the cell.
    pub fn placed_at(prog: &'p Program, rules: Rules, place: &Arc<Placement>) -> World<'p> {
        let mut world = World::alone(prog, rules, place.cluster());
        world.coords = place.coords;
        world.var_forms = vec![0; world.vars.len()];
        world.mail_forms = vec![0; world.mail.len()];
        world.place = Some(place.clone());
        world
    }

    /// The cluster of this launch index, before its first step. `more_tiles` are the tiles that `clc` will hand out to
    /// the cluster.
    pub fn new(prog: &'p Program, rules: Rules, cluster: i64, more_tiles: &[i64]) -> World<'p> {
        // Facts of the program text are facts of the code that these values leave alive.
        let shape = (!prog.symbols.is_empty()).then(|| prog.without_dead_code());
        let shape = shape.as_ref().unwrap_or(prog);
        let info = agents_of(shape);
        let n = info.len();
        let mut mbar_base = Vec::new();
        let mut mbars = 0u32;
        for b in &prog.mbars {
            mbar_base.push(mbars);
            mbars += b.stages * prog.cluster;
        }
        let groups = prog.warps.div_ceil(4);
        let mut group_size = vec![0; (prog.cluster * groups) as usize];
        let mut group_lead = vec![0; n];
        for (i, who) in info.iter().enumerate() {
            group_size[(who.cta * groups + who.warp / 4) as usize] += 1;
            let lead = info.iter().position(|x| x.cta == who.cta && x.warp / 4 == who.warp / 4);
            group_lead[i] = lead.unwrap_or(i) as AgentId;
        }
        let meets = Self::all_rendezvous(prog);
        // Components: agents, then the streams in use, then rendezvous, then mbarriers.
        let used = streams_used(shape);
        let mut comps = n as u32;
        let mut stream_comps = vec![0; n * KINDS];
        for (a, who) in info.iter().enumerate() {
            for (k, used) in used.iter().enumerate() {
                if used >> who.warp & 1 == 1 {
                    stream_comps[a * KINDS + k] = comps;
                    comps += 1;
                }
            }
        }
        let comps = comps + meets.len() as u32 + mbars;
        let asked = |on: bool, by: fn(&Program) -> bool| on && by(shape);
        let tensor_fences = asked(rules.fences.tcgen05 != Level::Off, setup::uses_tensor_memory);
        let counters = prog.counters.iter().map(|c| c.len as usize).sum::<usize>();
        let own_rows = tensor_fences as usize + 2 * (counters > 0) as usize;
        let row_count = n + 2 * mbars as usize + 2 * meets.len() + own_rows * n;
        let timed = prog.cluster > 1
            || counters > 0
            || setup::arrives_behind_copies(shape)
            || setup::copies_without_arrivals(shape)
            || setup::elects(shape);
        let followed = GlobalMatrices::of(prog);
        let mut rows = Rows::new(comps as usize, row_count, timed, tensor_fences, followed.proxies());
        for a in 0..n {
            rows.tick(a as RowId, a as u32);
        }
        let (layouts, pieces) = layouts(prog);
        let wgmma = asked(rules.fences.wgmma != Level::Off, setup::uses_wgmma);
        let (m, nn, z) = prog.grid.at(cluster);
        let elected = elected_code(shape);
        World {
            prog,
            rules,
            coords: Coords { id: cluster, m, n: nn, z },
            agents: vec![Agent::default(); n],
            frame: prog.vars.len(),
            vars: vec![0; n * prog.vars.len()],
            place: None,
            var_forms: Vec::new(),
            mbars: vec![MbarState::new(n); mbars as usize],
            mbar_base: mbar_base.into(),
            visits: vec![Vec::new(); prog.cluster as usize],
            recent_arrivals: RecentArrivals::at(&meets),
            meets,
            group_size: group_size.into(),
            group_lead: group_lead.into(),
            streams: vec![Stream::default(); n * KINDS],
            groups_kept: groups_asked(shape),
            stream_comps: stream_comps.into(),
            layouts: layouts.into(),
            pieces: vec![Piece::default(); pieces],
            filling: vec![0; pieces],
            sums: vec![Sum::default(); pieces],
            stored: Vec::new(),
            kept_sums: Vec::new(),
            reached: vec![[-1; 2]; prog.objects.len()],
            mail: vec![0; pieces],
            mail_forms: Vec::new(),
            tmem: FxHashMap::default(),
            registers: vec![Registers::of(prog); prog.cluster as usize],
            flights: Vec::new(),
            free_flights: Vec::new(),
            in_flight: 0,
            rows,
            proxies: asked(rules.fences.async_read != Cover::Off, setup::reads_by_async_proxy),
            tensor_fences,
            counters: vec![Counter::default(); counters],
            grows: only_grow(prog).into(),
            followed: followed.into(),
            regions: vec![Vec::new(); prog.objects.len()],
            unfenced: vec![LastTouch::Other; if wgmma { pieces } else { 0 }],
            more_tiles: more_tiles.iter().rev().copied().collect(),
            phases_matter: setup::phases_matter(shape, &elected).into(),
            asked: Arc::default(),
            elected_at: elected.into(),
            written: written(shape).into(),
            reads: (0, 0),
            accesses: None,
            decisions: None,
            touched: Vec::new(),
            unordered: None,
            findings: Vec::new(),
            info: info.into(),
        }
    }

    /// Agents of the cluster.
    pub fn agents(&self) -> &[AgentInfo] {
        &self.info
    }

    /// Number of tiles that `clc` has left for the cluster.
    pub fn tiles_left(&self) -> usize {
        self.more_tiles.len()
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
        self.agents[a as usize].ended
    }

    /// Number of operations in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Number of reads of tiles that state an expectation, and of all reads of tiles.
    pub fn reads(&self) -> (u64, u64) {
        self.reads
    }

    /// Bytes that a copy takes, about: happens-before, pieces and barriers.
    pub fn bytes(&self) -> u64 {
        let pieces = self.pieces.len() * (size_of::<Piece>() + size_of::<Sum>());
        let mbars = self.mbars.iter().map(MbarState::bytes).sum::<usize>();
        let streams = self.streams.len() * size_of::<Stream>();
        (self.rows.bytes() + pieces + mbars + streams) as u64
    }

    /// The value of an agent's variable.
    pub fn var(&self, a: AgentId, v: u16) -> i64 {
        self.vars[a as usize * self.frame + v as usize]
    }

    /// The next instruction of an agent.
    pub fn pc(&self, a: AgentId) -> u32 {
        self.agents[a as usize].pc
    }

    /// The state of an mbarrier.
    pub fn mbar(&self, ix: u32) -> &Mbar {
        self.mbars[ix as usize].hardware()
    }

    /// Number of mbarriers, rendezvous and CTAs, for callers that keep waiters by [`WaitTarget`].
    pub fn objects(&self) -> (usize, usize, usize) {
        (self.mbars.len(), self.meets.len(), self.prog.cluster as usize)
    }

    pub(super) fn agent_row(&self, a: AgentId) -> RowId {
        a
    }

    /// The row that joins the arrivals of the open phase.
    pub(super) fn mbar_row(&self, ix: MbarIx) -> RowId {
        self.info.len() as u32 + 2 * ix
    }

    /// The row that waiters join: what completed phases released.
    pub(super) fn mbar_done_row(&self, ix: MbarIx) -> RowId {
        self.mbar_row(ix) + 1
    }

    pub(super) fn meet_row(&self, ix: RendezvousIx) -> RowId {
        (self.info.len() + 2 * self.mbars.len()) as u32 + 2 * ix
    }

    pub(super) fn meet_done_row(&self, ix: RendezvousIx) -> RowId {
        self.meet_row(ix) + 1
    }

    /// The row of what an agent knew at its last `tcgen05.fence::after_thread_sync`; only where those fences are
    /// needed.
    pub(super) fn opened_row(&self, a: AgentId) -> RowId {
        (self.info.len() + 2 * self.mbars.len() + 2 * self.meets.len()) as u32 + a
    }

    /// The row of what an agent had done at its last `fence gpu`; only where there are counters in global memory.
    pub(super) fn released_row(&self, a: AgentId) -> RowId {
        self.opened_row(if self.tensor_fences { self.info.len() as AgentId } else { 0 }) + a
    }

    /// The row of what an agent saw of counters since its last `fence gpu`; only where there are counters.
    pub(super) fn pending_row(&self, a: AgentId) -> RowId {
        self.released_row(self.info.len() as AgentId) + a
    }

    /// Number of rows that exist from the start: those of agents, barriers and rendezvous.
    pub(super) fn fixed_rows(&self) -> u32 {
        let n = self.info.len() as AgentId;
        if self.counters.is_empty() { self.released_row(0) } else { self.pending_row(n) }
    }

    /// Number of words of global memory that are used as counters.
    pub fn counters(&self) -> usize {
        self.counters.len()
    }

    pub(super) fn mbar_comp(&self, ix: MbarIx) -> u32 {
        // Behind the agents, their streams and the rendezvous.
        self.rows.components() - self.mbars.len() as u32 + ix
    }

    /// The component whose clock is the number of completed generations of a rendezvous.
    pub(super) fn meet_comp(&self, ix: RendezvousIx) -> u32 {
        self.rows.components() - (self.mbars.len() + self.meets.len()) as u32 + ix
    }

    /// The component whose clock is the number of completed phases of an mbarrier, as snapshots name it.
    pub fn phase_clock(&self, ix: u32) -> u32 {
        self.mbar_comp(ix)
    }

    /// The mbarriers of a declaration in all CTAs of the cluster.
    pub fn mbars_of(&self, bar: MbarId) -> std::ops::Range<u32> {
        let first = self.mbar_base[bar as usize];
        first..first + self.prog.mbars[bar as usize].stages * self.prog.cluster
    }

    /// Records an arrival or delivery that does not know of the end of the phase or generation before.
    pub(super) fn must_know(&mut self, a: AgentId, pc: u32, on: WaitTarget, comp: u32, ended: u32) {
        if self.unordered.is_none() && self.rows.reached(self.agent_row(a), comp) < ended {
            self.unordered = Some((a, pc, on));
        }
    }

    /// Ends an agent: barriers, registers and checks that depend on its end.
    pub(super) fn end(&mut self, a: AgentId, pc: u32) {
        self.agents[a as usize].ended = true;
        self.leave_meets(a);
        self.leave_registers(a);
        let cta = self.info[a as usize].cta;
        if self.cta_ended(cta) {
            self.leave_mbars(cta);
            self.leave_visits(cta);
            self.leave_stores(cta);
        }
        if self.ended() {
            let mut held: Vec<_> = self.tmem.keys().copied().collect();
            held.sort_unstable();
            for (obj, cta) in held {
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
            Instr::Set(_, e) | Instr::Unless(e, _) => super::memory::mentions_grid(e),
            Instr::Op { op: Op::Wait(_, e), .. } => super::memory::mentions_grid(e),
            _ => false,
        })
    }
}
