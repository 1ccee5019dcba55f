//! The walks of all warps of a cluster.

use std::collections::BTreeMap;

use crate::flow::Flow;
use crate::lift::effects::bulk_rows::RowLanes;
use crate::lift::facts::{slice, threads};
use crate::lift::launch::Launch;
use crate::lift::launch::cases::{Outcome, Wanted};
use crate::lift::launch::clusters::cluster;
use crate::lift::tree::{Kind, Node};
use crate::ptx::{Entry, Error, Module};
use crate::symbolic::{Facts, Place};

use super::shared::{How, Shared};
use super::{WORK, Walk, words};

/// The largest number of warps of a cluster: a set of them is a `u128`.
const MOST_WARPS: u32 = 128;

/// The state after the walks of all warps, and the operations of each warp: those of the cluster's first CTA, then those
/// of the second, and so on.
pub(crate) type Walked<'a> = (Shared<'a>, Vec<Vec<Node>>);

/// The operations of each warp in one case. An error also has what would decide what is missing.
pub(crate) fn warps_in<'a>(
    module: &'a Module,
    entry: &'a Entry,
    flow: &'a Flow,
    launch: &Launch,
    outcomes: &[Outcome],
    how: How,
) -> Result<Walked<'a>, (Error, Option<Wanted>)> {
    let mut wanted = None;
    let mut walked = || {
        let block = block(entry, launch)?;
        let (mut shared, generic) = Shared::new((module, entry, flow), launch, block, outcomes, how);
        shared.cluster = cluster(&mut shared, launch)?;
        bound_places(&mut shared, launch);
        let warps = block.iter().product::<u32>().div_ceil(32);
        if shared.ctas() > 16 || shared.ctas() * warps > MOST_WARPS {
            return Err(at_entry(entry, "the cluster has too many warps", "at most 128 warps in a cluster"));
        }
        assume(&mut shared, launch, generic);
        let list = walks(&mut shared, &mut wanted)?;
        Ok((shared, list))
    };
    let result = walked();
    result.map_err(|e| (e, wanted))
}

fn at_entry(entry: &Entry, message: &str, expected: &str) -> Error {
    Error { line: entry.line, span: (0, 0), message: message.into(), expected: expected.into() }
}

/// The threads of a block in each dimension.
fn block(entry: &Entry, launch: &Launch) -> Result<[u32; 3], Error> {
    let block = launch.block.or_else(|| threads::block(entry)).ok_or_else(|| match entry.block {
        None => {
            let expected = "`.reqntid` or `.maxntid`, or `--block`";
            at_entry(entry, "the text does not say how many threads a block has", expected)
        }
        Some(_) => {
            let expected = "`.reqntid` or `--block`, such as `--block 32x4`";
            at_entry(entry, "the text does not say which shape a block has", expected)
        }
    })?;
    if !(1..=2048).contains(&block.iter().product::<u32>()) {
        return Err(at_entry(entry, "a block has at most 1024 threads", "a smaller block"));
    }
    Ok(block)
}

/// Bounds the coordinates of CTAs by the grid of a run.
fn bound_places(shared: &mut Shared<'_>, launch: &Launch) {
    let Some(grid) = launch.grid.filter(|_| launch.timed) else { return };
    for (d, n) in grid.into_iter().enumerate() {
        let most = i64::from(n / shared.cluster[d].max(1)) - 1;
        shared.arena.bound_place(Place::Cta(d as u8), most.max(0));
        shared.arena.bound_place(Place::Cluster(d as u8), most.max(0));
    }
}

/// Notes what every lift assumes. `generic` is the first access by a generic address.
fn assume(shared: &mut Shared<'_>, launch: &Launch, generic: Option<usize>) {
    let entry = shared.entry;
    let [x, y, z] = shared.block;
    let threads = x * y * z;
    if launch.block.or(entry.block).is_none() && entry.code.iter().any(|i| slice::acts(i) && !slice::only_global(i)) {
        shared.assume(entry.line, format!("a block has {threads} threads, as the text does not say (`--block`)"));
    }
    if entry.block_is_bound && launch.block.is_none() {
        let shape = match threads::rows_of_warps(entry) {
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
        shared.assume(entry.code[at].line, words::POINTERS);
    }
}

/// Walks all warps. The first walk finds quotients in comparisons, the addresses that tensor memory allocations write, and
/// the values of mailboxes. The second walk uses them. Where mailboxes are used, there is a third one.
fn walks(shared: &mut Shared<'_>, wanted: &mut Option<Wanted>) -> Result<Vec<Vec<Node>>, Error> {
    let (entry, ctas, threads) = (shared.entry, shared.ctas(), shared.block.iter().product::<u32>());
    let mut list = Vec::new();
    let mut kept = BTreeMap::new();
    shared.cases.note_arguments(&mut shared.arena);
    for round in 0..3 {
        let last = round == 2 || round == 1 && !shared.mail.is_used();
        shared.mail.begin();
        let known = shared.cases.begin(&mut shared.arena, last);
        list.clear();
        kept.clear();
        for (rank, warp) in (0..ctas).flat_map(|r| (0..threads.div_ceil(32)).map(move |w| (r, w))) {
            shared.rank = rank;
            shared.forget_vars();
            shared.work = 0;
            let left = threads - warp * 32;
            let lanes = if left >= 32 { u32::MAX } else { (1 << left) - 1 };
            let mut walk = Walk::new(shared, warp, lanes, known.clone());
            let end = walk.run(0, &[]);
            walk.flush(entry.code.len());
            let mut nodes = walk.nodes;
            *wanted = shared.cases.wanted;
            // A warp that is too long to follow stays so in the next walk.
            if last || shared.work > WORK {
                end?;
            }
            shared.keep_vars(&mut kept);
            nodes.push(Node { at: entry.code.len(), part: 0, kind: Kind::End });
            list.push(nodes);
        }
        if last {
            break;
        }
    }
    if !shared.mail.holds() {
        let expected = "constants that are stored before a barrier of all threads";
        return Err(at_entry(entry, "which code the warps run that a table dispatches is not known", expected));
    }
    kept.into_iter().for_each(|(v, bounds)| shared.arena.bound_var(v, bounds));
    // From here on, the conditions of the case stand around all nodes.
    shared.arena.unsettle();
    Ok(list)
}

impl<'s, 'a> Walk<'s, 'a> {
    /// The walk of a warp at its first instruction.
    fn new(shared: &'s mut Shared<'a>, warp: u32, lanes: u32, facts: Facts) -> Walk<'s, 'a> {
        Walk {
            warp,
            lanes,
            all_lanes: lanes,
            group: lanes,
            regs: vec![None; shared.entry.regs.len()],
            facts,
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
            history: Default::default(),
            loading: Default::default(),
            issued: Default::default(),
            open: Default::default(),
            open_before: Default::default(),
            passed: BTreeMap::new(),
            row_lanes: RowLanes::default(),
            fresh: None,
            s: shared,
        }
    }
}
