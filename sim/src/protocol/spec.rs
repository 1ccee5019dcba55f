//! The facts of a program's clusters that steps do not change. All copies of a world share them.

use std::sync::{Arc, OnceLock};

use crate::fences::{Cover, Fences, Level};
use crate::ir::{CounterId, Program};

use super::agents::agents_of;
use super::counters::only_grow;
use super::divisors::Divisors;
use super::footprint::{Layout, layouts};
use super::global::GlobalMatrices;
use super::open::SnapshotFacts;
use super::place::Placement;
use super::rendezvous::Rendezvous;
use super::setup::{self, elected_code, groups_asked, streams_used, written};
use super::stream::KINDS;
use super::users::counter_operations;
use super::vocabulary::{AgentId, AgentInfo, MbarIx};

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

/// The facts of a program's clusters that steps do not change, apart from the program itself. Another program of the same text
/// may take its place ([`World::go_on_by`](super::World::go_on_by)), and these facts hold for both.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) rules: Rules,
    /// For each instruction, whether the program's values leave it alive. These facts are of that code.
    pub(super) live: Vec<bool>,
    /// The cell of CTAs that the run stands for, with its table of forms.
    pub(super) place: Option<Arc<Placement>>,
    pub(super) info: Vec<AgentInfo>,
    /// Number of mbarriers: every stage of every declaration, for every CTA.
    pub(super) mbars: u32,
    /// Index of the first mbarrier of each declaration.
    pub(super) mbar_base: Vec<MbarIx>,
    /// Number of rendezvous.
    pub(super) meets: u32,
    /// Number of agents of each warpgroup, by CTA and warpgroup.
    pub(super) group_size: Vec<u32>,
    /// The first agent of each agent's warpgroup.
    pub(super) group_lead: Vec<AgentId>,
    /// Number of committed groups that a wait can ask about.
    pub(super) groups_kept: usize,
    /// The component of each stream, by agent and kind; 0 for a stream that the program does not use.
    pub(super) stream_comps: Vec<u32>,
    /// Number of components of happens-before: agents, then the streams in use, then rendezvous, then mbarriers.
    pub(super) components: u32,
    pub(super) layouts: Vec<Layout>,
    /// Number of pieces.
    pub(super) pieces: usize,
    /// Number of words of global memory that are used as counters.
    pub(super) counters: usize,
    /// Whether order in time is kept apart from visibility.
    pub(super) timed: bool,
    /// Whether asynchronous reads of shared memory need proxy fences.
    pub(super) proxies: bool,
    /// Whether tensor memory that passes between threads needs `tcgen05.fence`. Each agent then has a row of what the
    /// agent knew at its last `after_thread_sync`.
    pub(super) tensor_fences: bool,
    /// Whether `wgmma` needs `wgmma.fence` after other uses of its registers.
    pub(super) register_fences: bool,
    /// For each declaration of counters, whether a counter only grows.
    pub(super) grows: Vec<bool>,
    /// Global matrices whose accesses can race.
    pub(super) followed: GlobalMatrices,
    /// For each instruction, whether it is inside an `elect:` block.
    pub(super) elected_at: Vec<bool>,
    /// For each instruction, bits of the warps that the heads around it name.
    pub(super) warps_at: Vec<u64>,
    /// For each object, whether some statement writes it.
    pub(super) written: Vec<bool>,
    /// For each declaration of barriers, whether some outcome depends on the phase of an arrival.
    pub(super) phases_matter: Vec<bool>,
    /// For each agent, the operations on counters that it may come to (`users.rs`).
    pub(super) counter_operations: Vec<Vec<(CounterId, u32)>>,
    /// The divisions whose quotient decides.
    pub(super) divisors: Divisors,
    /// The facts about the program that snapshots need, found by the first snapshot.
    pub(super) asked: OnceLock<SnapshotFacts>,
}

impl Spec {
    /// The facts of a program's clusters, which have these rendezvous.
    pub(super) fn of(prog: &Program, rules: Rules, meets: &[Rendezvous]) -> Spec {
        // Facts of the program text are facts of the code that symbols' values leave alive.
        let live = if prog.symbols.is_empty() { vec![true; prog.code.len()] } else { prog.live() };
        let shape = (!prog.symbols.is_empty()).then(|| prog.with_code(&live));
        let shape = shape.as_ref().unwrap_or(prog);
        let info = agents_of(shape);
        let mut mbar_base = Vec::new();
        let mut mbars = 0u32;
        for b in &prog.mbars {
            mbar_base.push(mbars);
            mbars += b.stages * prog.cluster;
        }
        let groups = prog.warps.div_ceil(4);
        let mut group_size = vec![0; (prog.cluster * groups) as usize];
        let mut group_lead = vec![0; info.len()];
        for (i, who) in info.iter().enumerate() {
            group_size[(who.cta * groups + who.warp / 4) as usize] += 1;
            let lead = info.iter().position(|x| x.cta == who.cta && x.warp / 4 == who.warp / 4);
            group_lead[i] = lead.unwrap_or(i) as AgentId;
        }
        let warps_at = shape.warps_at();
        let used = streams_used(shape, &warps_at);
        let mut comps = info.len() as u32;
        let mut stream_comps = vec![0; info.len() * KINDS];
        for (a, who) in info.iter().enumerate() {
            for (k, used) in used.iter().enumerate() {
                if used >> who.warp & 1 == 1 {
                    stream_comps[a * KINDS + k] = comps;
                    comps += 1;
                }
            }
        }
        let asked = |on: bool, by: fn(&Program) -> bool| on && by(shape);
        let counters = prog.counters.iter().map(|c| c.len as usize).sum::<usize>();
        let (layouts, pieces) = layouts(prog);
        let elected_at = elected_code(shape);
        Spec {
            rules,
            live,
            place: None,
            mbars,
            mbar_base,
            meets: meets.len() as u32,
            group_size,
            group_lead,
            groups_kept: groups_asked(shape),
            stream_comps,
            components: comps + meets.len() as u32 + mbars,
            layouts,
            pieces,
            counters,
            timed: prog.cluster > 1
                || counters > 0
                || setup::arrives_behind_copies(shape)
                || setup::copies_without_arrivals(shape, &warps_at)
                || setup::elects(shape),
            proxies: asked(rules.fences.async_read != Cover::Off, setup::reads_by_async_proxy),
            tensor_fences: asked(rules.fences.tcgen05 != Level::Off, setup::uses_tensor_memory),
            register_fences: asked(rules.fences.wgmma != Level::Off, setup::uses_wgmma),
            grows: only_grow(prog),
            followed: GlobalMatrices::of(prog),
            phases_matter: setup::phases_matter(shape, &elected_at),
            elected_at,
            warps_at,
            written: written(shape),
            divisors: Divisors::of(prog),
            asked: OnceLock::new(),
            counter_operations: counter_operations(prog, &info),
            info,
        }
    }

    /// Whether these facts hold for another program of the same text: its values leave no other code alive.
    pub(super) fn hold_for(&self, prog: &Program) -> bool {
        let other = prog.live();
        self.live.len() == other.len() && self.live.iter().zip(other).all(|(own, other)| *own || !other)
    }
}
