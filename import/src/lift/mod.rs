//! From a kernel's text to a program.
//!
//! ```text
//!                     each warp
//!   text ──facts──▶ ┌────────────────┐ trees ──merge──▶ one tree ──iterations──▶ loops that a program has
//!                   │ walk           │                                               │
//!   launch ───────▶ │ loops, effects │                       Program ◀──emit── objects of memory, slots
//!                   └────────────────┘
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `ways`, `build` | the order of these steps, and other ways where the first one gives no program |
//! | `launch` | values of a launch, symbols over them, cases that are lifted apart |
//! | `facts` | facts of the text that hold for every launch |
//! | `walk`, `loops`, `effects` | the operations of one warp, as a [`tree`] of conditions and loops |
//! | `merge` | one tree of all warps |
//! | `iterations` | loops of the tree in a form that the program can state |
//! | `memory` | shared memory as objects with slots and pieces; barriers; accesses at places that are not known |
//! | `emit` | the code of the program |
//! | `timed` | what a run charges beyond the protocol |

mod build;
mod effects;
mod emit;
mod facts;
mod iterations;
pub mod launch;
mod loops;
mod memory;
mod merge;
mod timed;
pub mod tree;
mod walk;
mod ways;

use std::collections::BTreeMap;

use crate::flow::Flow;
use crate::ptx::{Entry, Error, Module};
use crate::symbolic::{Arena, Place};

pub use facts::threads::leaves_block_open;
pub use launch::capped::Capped;
use launch::cases::{Cases, Outcome, Wanted};
use launch::clusters::cluster;
pub use launch::clusters::lift;
pub use launch::one_launch::{OneLaunch, in_launches};
pub use launch::possible_launch::PossibleLaunch;
pub use launch::{Argument, Launch};
use memory::anywhere::Unknown;
pub use memory::objects::UNKNOWN_GLOBAL;
pub(crate) use timed::loaded::{Loaded, loads_global};
pub use timed::pressure::load_order;
use tree::{Kind, Node};
use walk::Walk;
pub use walk::shared::Shared;
use warpline_sim::ir::{ParamId, Program};

/// The unit of addresses in other CTAs of the cluster: `address + REMOTE * (cta + 1)`.
const REMOTE: i64 = 1 << 24;

/// A condition over the launch that selects operations and is not a comparison of trip counts. Both outcomes are
/// checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// The symbol, 0 or 1.
    pub symbol: ParamId,
    /// Line of the branch.
    pub line: u32,
}

/// The largest number of free conditions of a kernel: every combination of their outcomes is checked.
const MOST_FREE: usize = 8;

/// The largest number of warps of a cluster: a set of them is a `u128`.
const MOST_WARPS: u32 = 128;

/// A kernel as a program.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The program.
    pub program: Program,
    /// The assumptions of the lift, each with the first line that needed it.
    pub assumptions: Vec<(String, u32)>,
    /// Symbols for which both values are checked.
    pub free: Vec<Free>,
    /// Symbols of which every value is checked, as large values are one.
    pub capped: Vec<Capped>,
    /// Symbols and what they stand for.
    pub meaning: Vec<(String, String)>,
    /// Symbols that are computed from the same arguments, so that some combinations of their values are impossible. A
    /// fault that is found with such a combination may not be a fault.
    pub related: Option<String>,
    /// What data may decide otherwise than the program has it: a proof of the program is one for some data.
    pub partial: Option<String>,
    /// What the program leaves open, so that it is not proved. Its faults count.
    pub unproved: Option<String>,
    /// Values of all symbols that occur together in some launches, if symbols are related.
    pub launches: Vec<Vec<(String, i64)>>,
    /// The symbols in this launch, in order.
    pub bound: Vec<launch::BoundSymbol>,
    /// Line of a loop that stands for any number of iterations, as data decide: the program is one to prove and not to run.
    pub cut: Option<u32>,
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// Conditions over the launch under which the program is the kernel, each with its outcome.
    pub under: Vec<(launch::BoundSymbol, bool)>,
    /// The kernel under the other outcomes.
    pub others: Vec<Lifted>,
    /// The kernel without the accesses that its program takes to happen always. A fault of this kernel is one in any case.
    pub without: Option<Box<Lifted>>,
    /// The kernel in which what differs by iteration may be anything in each. A proof of it is one of the kernel.
    pub numbered: Option<Box<Lifted>>,
    /// The same where each loop whose length differs by iteration has a step.
    pub stepped: Option<Box<Lifted>>,
    /// Whether the program takes what differs by iteration to be the same in each, or to change a few times.
    differs: bool,
    /// Line of the first access at a place that is not known, which covers more bytes than it touches.
    unknown_at: Option<u32>,
}

impl Lifted {
    /// One program for each combination of outcomes of the free conditions and values of the capped symbols, in each case.
    /// Equal programs stand once: in a branch that is not taken, other conditions do not matter.
    pub fn variants(&self) -> Vec<Program> {
        let mut list: Vec<Program> = Vec::new();
        let free = self.free.iter().map(|f| (f.symbol, 1));
        let symbols: Vec<(ParamId, i64)> = free.chain(self.capped.iter().map(|c| (c.symbol, c.last))).collect();
        let kept = (0..self.program.symbols.len() as ParamId).filter(|p| symbols.iter().all(|(s, _)| s != p));
        let kept = kept.collect();
        for mut n in 0..symbols.iter().map(|(_, last)| last + 1).product() {
            let mut values = Vec::new();
            for (symbol, last) in &symbols {
                values.push((self.program.symbols[*symbol as usize].name.as_str(), n % (last + 1)));
                n /= last + 1;
            }
            let Some(next) = self.program.with(&values).map(|p| p.bind_all_but(&kept)) else { continue };
            let same = |p: &Program| Program { params: next.params.clone(), ..p.clone() } == next;
            if !list.iter().any(|p| p.code == next.code && same(p)) {
                list.push(next);
            }
        }
        list.extend(self.others.iter().flat_map(Lifted::variants));
        list
    }
}

/// The operations of each warp.
///
/// The list has the warps of the cluster's first CTA, then those of the second, and so on.
pub fn warps<'a>(
    module: &'a Module,
    entry: &'a Entry,
    flow: &'a Flow,
    launch: &Launch,
) -> Result<(Shared<'a>, Vec<Vec<Node>>), Error> {
    warps_in(module, entry, flow, launch, &[], (true, Unknown::Anywhere)).map_err(|(e, _)| e)
}

/// The state after the walks of all warps, and the operations of each warp.
type Walked<'a> = (Shared<'a>, Vec<Vec<Node>>);

/// The operations of each warp in one case. The first of `how` says whether words in shared memory are looked up. An error
/// also has what would decide what is missing.
fn warps_in<'a>(
    module: &'a Module,
    entry: &'a Entry,
    flow: &'a Flow,
    launch: &Launch,
    outcomes: &[Outcome],
    how: (bool, Unknown),
) -> Result<Walked<'a>, (Error, Option<Wanted>)> {
    let mut wanted = None;
    walked(module, entry, flow, launch, (outcomes, how), &mut wanted).map_err(|e| (e, wanted))
}

fn walked<'a>(
    module: &'a Module,
    entry: &'a Entry,
    flow: &'a Flow,
    launch: &Launch,
    (outcomes, (words, unknown)): (&[Outcome], (bool, Unknown)),
    wanted: &mut Option<Wanted>,
) -> Result<Walked<'a>, Error> {
    let here = |message: &str, expected: &str| Error {
        line: entry.line,
        span: (0, 0),
        message: message.into(),
        expected: expected.into(),
    };
    let block = launch.block.or_else(|| facts::threads::block(entry)).ok_or_else(|| match entry.block {
        None => here("the text does not say how many threads a block has", "`.reqntid` or `.maxntid`, or `--block`"),
        Some(_) => {
            here("the text does not say which shape a block has", "`.reqntid` or `--block`, such as `--block 32x4`")
        }
    })?;
    let threads = block.iter().product::<u32>();
    if threads == 0 || threads > 2048 {
        return Err(here("a block has at most 1024 threads", "a smaller block"));
    }
    let mut addresses = rustc_hash::FxHashMap::default();
    let mut next = 0u64;
    // Dynamic shared memory begins after the static variables.
    let all = module.shared.iter().chain(&entry.shared);
    for v in all.clone().filter(|v| v.bytes > 0).chain(all.filter(|v| v.bytes == 0)) {
        let align = if v.bytes == 0 { v.align.max(1024) } else { v.align.max(1) };
        next = next.next_multiple_of(align);
        addresses.insert(v.name.clone(), next as i64);
        next += v.bytes;
    }
    let pointers = facts::pointers::Pointers::of(module, entry);
    let accesses =
        if launch.timed { facts::in_flight::List::new() } else { facts::in_flight::accesses(&entry.code, flow) };
    let facts::slice::Slice { need, idle, idle_loops, generic } =
        facts::slice::slice(&entry.code, flow, entry.regs.len(), launch.timed, (&pointers, &accesses));
    let searches = if launch.timed {
        loops::searches::Searches::default()
    } else {
        loops::searches::Searches::of(entry, flow, &need)
    };
    let mut shared = Shared {
        module,
        entry,
        flow,
        searches,
        need,
        idle,
        idle_loops,
        own_loops: if launch.timed { BTreeMap::new() } else { loops::strides::loops(&entry.code, flow, &pointers) },
        not_followed: Default::default(),
        accesses,
        pointers,
        natural: facts::natural::registers(entry),
        unknown,
        unproved: None,
        unknown_at: None,
        orders: BTreeMap::new(),
        ordered_at: None,
        of_one_launch: false,
        timing: launch.timed.then(|| launch.clone()),
        serialized: launch.timed && timed::serial::serialized(&entry.code),
        arena: Arena::default(),
        addresses,
        block,
        cluster: [1; 3],
        rank: 0,
        work: 0,
        vars: Vec::new(),
        var_ids: Default::default(),
        var_sets: BTreeMap::new(),
        settled: true,
        tensors: Default::default(),
        overwritten: Default::default(),
        columns: 0,
        assumed: BTreeMap::new(),
        mail: effects::mailbox::Mail::new(words),
        states: Default::default(),
        cases: Cases { outcomes: outcomes.to_vec(), ..Cases::default() },
        data: 0,
        taken: None,
        skips: None,
        histories: Default::default(),
        polls: Default::default(),
        words: Default::default(),
        functions: Default::default(),
        computed: Default::default(),
        parts: Default::default(),
        searching: Default::default(),
        searched: Default::default(),
        loads: 0,
        signals: entry.code.iter().any(|i| i.op == "mbarrier" && i.has("arrive")),
        every_fence: launch.every_fence,
        waits_for_loads: entry.code.iter().any(|i| i.op == "tcgen05" && i.has("wait::ld")),
    };
    shared.states = effects::states::States::of(&entry.code, &mut shared.arena);
    for (parameter, offset, line) in facts::natural::sizes(entry) {
        shared.arena.bound_param(parameter, offset);
        shared.assume(line, "sizes that set trip counts are not negative");
    }
    shared.cluster = cluster(&mut shared, launch)?;
    if let Some(grid) = launch.grid.filter(|_| launch.timed) {
        for (d, n) in grid.into_iter().enumerate() {
            let most = i64::from(n / shared.cluster[d].max(1)) - 1;
            shared.arena.bound_place(Place::Cta(d as u8), most.max(0));
            shared.arena.bound_place(Place::Cluster(d as u8), most.max(0));
        }
    }
    let ctas = shared.ctas();
    let warps = threads.div_ceil(32);
    if ctas > 16 || ctas * warps > MOST_WARPS {
        return Err(here("the cluster has too many warps", "at most 128 warps in a cluster"));
    }
    if launch.block.or(entry.block).is_none()
        && entry.code.iter().any(|i| facts::slice::acts(i) && !facts::slice::only_global(i))
    {
        shared.assume(entry.line, format!("a block has {threads} threads, as the text does not say (`--block`)"));
    }
    if entry.block_is_bound && launch.block.is_none() {
        let [x, y, z] = block;
        let shape = match facts::threads::rows_of_warps(entry) {
            Some(_) => format!(", {x}x{y}x{z}: a row of threads is taken for a warp"),
            None if y * z > 1 => format!(", {x}x{y}x{z} by the numbers that the text gives them"),
            None => String::new(),
        };
        let what = format!("blocks have the largest size that `.maxntid` allows, {threads} threads{shape}");
        shared.assume(entry.line, what);
    }
    for what in [
        "32-bit arithmetic on arguments does not overflow",
        "addresses in global memory are not followed: races there, and which tile a read finds, are not looked at",
        "of registers, only those of `wgmma` are followed, and a `mov` of them is no use: that others have been loaded is not looked at",
        "whole rows that products read and no copy brings are not used; of bytes that threads read, only those right behind a copy are compared with what is written",
        "`elect.sync` picks the first active lane, each time the same; the other lanes of a warp are in step",
        "PTX is what runs: the assembler keeps the order of synchronization and of what it orders",
    ] {
        shared.assume(entry.line, what);
    }
    if let Some(at) = generic {
        shared.assume(entry.code[at].line, walk::words::POINTERS);
    }
    let mut list = Vec::new();
    // Two walks. The first finds quotients in comparisons, the addresses that tensor memory allocations write, and the
    // values of mailboxes.
    let mut kept = BTreeMap::new();
    shared.cases.note_arguments(&mut shared.arena);
    for round in 0..3 {
        let last = round == 2 || round == 1 && !shared.mail.is_used();
        shared.mail.begin();
        let known = shared.cases.begin(&mut shared.arena, last);
        list.clear();
        kept.clear();
        for (rank, warp) in (0..ctas).flat_map(|r| (0..warps).map(move |w| (r, w))) {
            shared.rank = rank;
            shared.forget_vars();
            shared.work = 0;
            let left = threads - warp * 32;
            let lanes = if left >= 32 { u32::MAX } else { (1 << left) - 1 };
            let mut w = Walk {
                warp,
                lanes,
                all_lanes: lanes,
                group: lanes,
                regs: vec![None; entry.regs.len()],
                facts: known.clone(),
                begins: Default::default(),
                nodes: Vec::new(),
                path: Vec::new(),
                forks: Vec::new(),
                outer: Vec::new(),
                frames: Vec::new(),
                unsure: 0,
                lane_conditions: Vec::new(),
                places: Vec::new(),
                peeked_terms: Vec::new(),
                dry: 0,
                apart: false,
                wrote: false,
                history: 0,
                loading: Default::default(),
                issued: Default::default(),
                open: Default::default(),
                open_before: Default::default(),
                passed: BTreeMap::new(),
                row_lanes: effects::bulk_rows::RowLanes::default(),
                fresh: None,
                s: &mut shared,
            };
            let end = w.run(0, &[]);
            w.flush(entry.code.len());
            let mut nodes = w.nodes;
            *wanted = shared.cases.wanted;
            // A warp that is too long to follow stays so in the next walk.
            if last || shared.work > walk::WORK {
                end?;
            }
            shared.keep_vars(&mut kept);
            nodes.push(Node { at: entry.code.len(), part: 0, kind: Kind::End });
            list.push(nodes);
        }
        if last {
            if !shared.mail.holds() {
                return Err(here(
                    "which code the warps run that a table dispatches is not known",
                    "constants that are stored before a barrier of all threads",
                ));
            }
            break;
        }
    }
    kept.into_iter().for_each(|(v, bounds)| shared.arena.bound_var(v, bounds));
    // From here on, the conditions of the case stand around all nodes.
    shared.arena.unsettle();
    Ok((shared, list))
}
