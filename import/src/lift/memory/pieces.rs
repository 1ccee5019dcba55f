//! Divides the slots of objects in shared and tensor memory into pieces.
//!
//! A piece is a set of bytes that each write covers or leaves. Where a slot has too many pieces, several stores of a warp
//! count as one write, if there is no synchronization between them. What is ordered with one of them is ordered with all.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::build::{at_inst, touched};
use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::tree::{Effect, Run, Touch};
use crate::lift::walk::shared::Shared;
use crate::ptx::Error;
use crate::symbolic::Term;

use super::intervals::{united, without};
use super::regions::{Part, Regions};
use super::sizes::Sizes;

/// An access: the object, and its bytes in one slot.
type Bytes = (usize, Vec<(u32, u32)>);

/// An object, a slot of it, and the slots that are added.
type SlotOf<'p> = (usize, i64, &'p [(Term, i64)]);

/// What an operation writes, and what it reads.
fn written_and_read(e: &Effect, at: usize, loads: &Sizes, stores: &BTreeMap<(usize, Term), u32>) -> [Vec<Run>; 2] {
    match e {
        Effect::TensorProduct { a, at, b, d, .. } => [d.clone(), a.iter().chain(at).chain(b).copied().collect()],
        Effect::Touch(Touch::Read, _)
        | Effect::Far { what: Touch::Read, .. }
        | Effect::BulkStore { .. }
        | Effect::Wgmma { .. }
        | Effect::TensorLoad(_) => [Vec::new(), touched(e, at, loads, stores)],
        _ => [touched(e, at, loads, stores), Vec::new()],
    }
}

/// Stores of a warp that follow each other without another operation than loads.
struct Series {
    warp: u32,
    lanes: u32,
    /// The first store.
    at: usize,
    stores: Vec<Vec<Run>>,
}

/// Adds the series of each warp.
fn series(list: &[Merged], found: &mut Vec<Series>) {
    // The open series of a warp.
    let mut open: BTreeMap<u32, Series> = BTreeMap::new();
    for n in list {
        let MergedKind::Op(ops) = &n.kind else {
            found.extend(std::mem::take(&mut open).into_values());
            match &n.kind {
                MergedKind::If(_, a, b) => [a, b].into_iter().for_each(|list| series(list, found)),
                MergedKind::For(_, _, body) => series(body, found),
                _ => {}
            }
            continue;
        };
        for (w, lanes, e) in ops {
            match e {
                Effect::Touch(Touch::Read, _) => {}
                Effect::Touch(Touch::Write, runs) => {
                    if open.get(w).is_some_and(|s| s.lanes != *lanes) {
                        found.extend(open.remove(w));
                    }
                    let new = || Series { warp: *w, lanes: *lanes, at: n.at, stores: Vec::new() };
                    open.entry(*w).or_insert_with(new).stores.push(runs.clone());
                }
                _ => found.extend(open.remove(w)),
            }
        }
    }
    found.extend(open.into_values());
}

/// The bytes of each series. Where warps of a CTA store to the same bytes, each store stays: they may store the same values
/// at one instruction, and not at two.
fn groups(tree: &[Merged], warps: u32) -> BTreeSet<Vec<Run>> {
    let mut all = Vec::new();
    series(tree, &mut all);
    let mut writers: BTreeMap<(u32, usize, Run), u32> = BTreeMap::new();
    let mut shared: BTreeSet<usize> = BTreeSet::new();
    for s in &all {
        for run in s.stores.iter().flatten() {
            let first = *writers.entry((s.warp / warps, s.at, *run)).or_insert(s.warp);
            shared.extend((first != s.warp).then_some(s.at));
        }
    }
    let mut found = BTreeSet::new();
    for Series { at, stores, .. } in all {
        if shared.contains(&at) {
            found.extend(stores);
            continue;
        }
        let mut runs = stores.concat();
        runs.sort_unstable();
        runs.dedup();
        found.insert(runs);
    }
    found
}

/// What accesses at places that differ by iteration expect.
pub(crate) const EQUAL_SLOTS: &str = "slots of equal size";

/// Divides slots into pieces, as few as possible. Slots with more pieces than 64 become smaller ones.
pub(crate) fn divide(
    s: &Shared<'_>,
    tree: &[Merged],
    regions: &mut Regions,
    loads: &Sizes,
    stores: &BTreeMap<(usize, Term), u32>,
) -> Result<(), Error> {
    let a = &s.arena;
    let (mut writes, mut reads) = (BTreeMap::<Vec<Run>, usize>::new(), BTreeMap::<Vec<Run>, usize>::new());
    let mut grouped = BTreeSet::new();
    each_op(tree, &mut |at, (_, _, e)| {
        let [written, read] = written_and_read(e, at, loads, stores);
        if !written.is_empty() {
            if !matches!(e, Effect::Touch(Touch::Write, _)) {
                grouped.insert(written.clone());
            }
            writes.entry(written).or_insert(at);
        }
        if !read.is_empty() {
            reads.entry(read).or_insert(at);
        }
    });
    let warps = s.block.iter().product::<u32>().div_ceil(32).max(1);
    grouped.extend(groups(tree, warps));
    let each: BTreeSet<Vec<Run>> = writes.keys().cloned().collect();
    let read: BTreeSet<Run> = reads.keys().flatten().copied().collect();
    loop {
        let fits = regions.divide(&accesses(s, regions, (&each, &read)));
        if fits.iter().all(|fit| *fit) {
            break;
        }
        let fine = regions.clone();
        let fits_grouped = regions.divide(&accesses(s, regions, (&grouped, &read)));
        let mut halved = false;
        for (i, fit) in fits.iter().enumerate() {
            if *fit {
                regions.list[i] = fine.list[i].clone();
            } else if !fits_grouped[i] {
                // Smaller slots have fewer pieces each.
                if !regions.halve(i) {
                    let base = regions.list[i].base;
                    let message = format!(
                        "the bytes of shared memory from {base} on are accessed in more ways than can be told apart"
                    );
                    return Err(at_inst(s, 0, message, "at most 64 sets of bytes in a part"));
                }
                halved = true;
            }
        }
        if !halved {
            break;
        }
    }
    for (runs, at) in writes.iter().chain(&reads) {
        for (t, n) in runs {
            if let Some(object) = regions.varies(a, *t, *n) {
                let (base, term) = (regions.list[object].base, a.show(*t));
                let message = format!(
                    "the bytes of shared memory from {base} on are accessed at places that differ by iteration ({term})"
                );
                return Err(at_inst(s, *at, message, EQUAL_SLOTS));
            }
        }
    }
    Ok(())
}

/// The bytes of each write in each object, and the bytes that are only read as one access.
fn accesses(s: &Shared<'_>, regions: &Regions, (writes, reads): (&BTreeSet<Vec<Run>>, &BTreeSet<Run>)) -> Vec<Bytes> {
    let a = &s.arena;
    let mut list: BTreeSet<Bytes> = BTreeSet::new();
    for runs in writes {
        let places: Vec<Vec<Vec<Part>>> = runs.iter().filter_map(|(t, n)| regions.all_parts(a, *t, *n)).collect();
        for i in 0..places.iter().map(Vec::len).max().unwrap_or(0) {
            let mut by: BTreeMap<SlotOf<'_>, Vec<(u32, u32)>> = BTreeMap::new();
            for p in places.iter().filter_map(|all| all.get(i).or(all.last())).flatten() {
                by.entry((p.object, p.slot, &p.ring)).or_default().push((p.from, p.to));
            }
            list.extend(by.into_iter().map(|((object, ..), runs)| (object, united(runs))));
        }
    }
    // Bytes that are only read are one piece.
    let mut read: BTreeMap<usize, Vec<(u32, u32)>> = BTreeMap::new();
    for (t, n) in reads {
        for p in regions.all_parts(a, *t, *n).iter().flatten().flatten() {
            read.entry(p.object).or_default().push((p.from, p.to));
        }
    }
    let mut all: Vec<Bytes> = list.into_iter().collect();
    for (object, runs) in read {
        let written = all.iter().filter(|(o, _)| *o == object).flat_map(|(_, runs)| runs.iter().copied());
        let rest = without(united(runs), &united(written.collect()));
        if !rest.is_empty() {
            all.push((object, rest));
        }
    }
    all
}
