//! Bytes that are read and that no operation of the kernel writes.
//!
//! A missing copy, or a barrier that expects too few bytes, leaves such bytes: sizes of copies by tensor map follow from the
//! bytes that are expected. A kernel may read them and not use the result, such as rows of a tile that a size cuts off. So
//! they are no fault, and no proof either.

use crate::lift::effects::shapes::WIDEST;
use crate::lift::facts::maps::Maps;
use crate::lift::merge::{Merged, each_op};
use crate::lift::tree::{Effect, Run, Touch};
use crate::lift::walk::shared::Shared;
use crate::symbolic::Arena;

use super::barriers::addresses;
use super::intervals::{Interval, united, without};
use super::sizes::Sizes;

/// Two boxes of copies to one place that differ by fewer bytes than this are one box: destinations are aligned to it.
const ALIGNED: u32 = 128;

/// The accesses of a kernel to shared memory, each once.
#[derive(Default)]
struct Accesses {
    copied: Vec<Run>,
    stored: Vec<Run>,
    multiplied: Vec<(Run, usize)>,
    loaded: Vec<(Run, usize)>,
}

/// Forbids a proof of a kernel that reads bytes that nothing writes. A product may read them, or threads right behind those
/// that a copy brings. Other bytes that threads read and nothing writes are an assumption.
pub(crate) fn checked(s: &mut Shared<'_>, tree: &[Merged], loads: &Sizes) {
    if let Some(why) = other_box(s, loads) {
        s.leaves_open(why);
    }
    let Accesses { mut copied, stored, multiplied, loaded } = accesses(tree, loads);
    let Some(copies) = intervals(&s.arena, &copied, true) else { return };
    copied.extend(stored);
    let Some(written) = intervals(&s.arena, &copied, true) else { return };
    let line = |s: &Shared<'_>, at: usize| s.entry.code.get(at).map_or(s.entry.line, |i| i.line);
    if let Some((bytes, at)) = unwritten(&s.arena, &multiplied, &written, |i, runs| !whole_rows(i, runs)) {
        let line = line(s, at);
        s.leaves_open(format!(
            "the product at line {line} reads {bytes} bytes that nothing writes, and the rest of their rows"
        ));
    } else if !s.has_assumed(WIDEST)
        && let Some((_, at)) = unwritten(&s.arena, &multiplied, &written, |_, _| true)
    {
        s.assume(line(s, at), "a result is not used where a row of its operands is one that nothing writes");
    }
    if s.unknown_at.is_some() {
        return;
    }
    let behind_copy = |(from, _): Interval, _: &[Run]| copies.iter().any(|(_, end)| *end == from);
    if let Some((bytes, at)) = unwritten(&s.arena, &loaded, &written, behind_copy) {
        let line = line(s, at);
        s.leaves_open(format!("threads read {bytes} bytes at line {line} that nothing writes, behind those of a copy"));
    } else if let Some((_, at)) = unwritten(&s.arena, &loaded, &written, |_, _| true) {
        s.assume(line(s, at), "threads do not use the bytes that they read and that nothing writes");
    }
}

fn accesses(tree: &[Merged], loads: &Sizes) -> Accesses {
    let mut all = Accesses::default();
    each_op(tree, &mut |at, (_, _, e)| match e {
        Effect::Touch(Touch::Read, runs) | Effect::Far { what: Touch::Read, runs, .. } => {
            all.loaded.extend(runs.iter().map(|r| (*r, at)));
        }
        Effect::Touch(Touch::Copy, runs) => all.copied.extend(runs),
        Effect::Touch(_, runs) | Effect::Far { runs, .. } => all.stored.extend(runs),
        Effect::BulkLoad { to, bar, .. } => {
            all.copied.push((*to, loads.get(&(at, *to, *bar)).copied().unwrap_or(0)));
        }
        Effect::Wgmma { a, b, .. } => {
            all.multiplied.extend(a.iter().flatten().chain(b).map(|r| (*r, at)));
        }
        Effect::TensorProduct { a, b, .. } => all.multiplied.extend(a.iter().chain(b).map(|r| (*r, at))),
        _ => {}
    });
    all
}

/// The bytes of runs; none where an address has no bounds. An address with too many values is all bytes in its bounds,
/// unless `wide` is false: it is then left out.
fn intervals(a: &Arena, runs: &[Run], wide: bool) -> Option<Vec<Interval>> {
    let mut runs = runs.to_vec();
    runs.sort_unstable();
    runs.dedup();
    let mut list = Vec::with_capacity(runs.len());
    for (t, n) in runs {
        let n = i64::from(n);
        match addresses(a, t) {
            Some(all) => list.extend(all.into_iter().map(|x| (x, x + n))),
            None if !wide => {}
            None => {
                let (low, high) = a.range(t);
                list.push((low, high.checked_add(n)?));
            }
        }
    }
    Some(united(list))
}

/// Whether an interval of operands, which are in these runs, is of whole rows.
fn whole_rows((from, to): Interval, runs: &[Run]) -> bool {
    // A run is an atom of eight rows. Without a swizzle, an atom is the unit.
    let row = runs.iter().map(|(_, n)| if *n <= 128 { i64::from(*n) } else { i64::from(*n) / 8 }).min().unwrap_or(1);
    from % row == 0 && to % row == 0
}

/// How many bytes of some reads are not written, and the first instruction that reads some of them. Only intervals that
/// `counts` selects, with the runs that meet them, are looked at.
fn unwritten(
    a: &Arena,
    reads: &[(Run, usize)],
    written: &[Interval],
    counts: impl Fn(Interval, &[Run]) -> bool,
) -> Option<(i64, usize)> {
    let runs: Vec<Run> = reads.iter().map(|(r, _)| *r).collect();
    let mut open = without(intervals(a, &runs, false)?, written);
    let meets = |(t, n): Run, (from, to): Interval| {
        addresses(a, t).is_some_and(|list| list.into_iter().any(|x| x < to && from < x + i64::from(n)))
    };
    open.retain(|i| counts(*i, &runs.iter().copied().filter(|r| meets(*r, *i)).collect::<Vec<_>>()));
    let first = *open.first()?;
    let at = reads.iter().filter(|(r, _)| meets(*r, first)).map(|(_, at)| *at).min()?;
    Some((open.iter().map(|(from, to)| to - from).sum(), at))
}

/// Two copies by tensor map to one place whose boxes differ by a few bytes, or two by one map whose boxes differ. Some
/// barrier then expects too few bytes or too many.
fn other_box(s: &Shared<'_>, loads: &Sizes) -> Option<String> {
    let inst = |at: usize| s.entry.code.get(at);
    let mut boxes: Vec<(i64, u32, usize)> = Vec::new();
    for ((at, to, _), n) in loads.iter().filter(|((at, ..), _)| inst(*at).is_some_and(|i| i.has("tensor"))) {
        boxes.extend(addresses(&s.arena, *to).unwrap_or_default().into_iter().map(|x| (x, *n, *at)));
    }
    boxes.sort_unstable();
    let differ = |p: &&[(i64, u32, usize)]| p[0].0 == p[1].0 && (1..ALIGNED).contains(&(p[1].1.wrapping_sub(p[0].1)));
    // One tensor map has one box.
    let maps = Maps::of(&s.entry.code);
    let of_one_map = || {
        let by_map: Vec<_> = boxes.iter().filter_map(|b| Some((b, maps.all(std::iter::once(b.2))?))).collect();
        by_map.iter().find_map(|(x, map)| by_map.iter().find(|(y, m)| y.1 != x.1 && m == map).map(|(y, _)| (**x, **y)))
    };
    let pair = boxes.windows(2).find(differ).map(|p| (p[0], p[1]));
    let ((_, n, at), (_, m, other)) = pair.or_else(of_one_map)?;
    let (line, other) = (inst(at)?.line, inst(other)?.line);
    Some(format!(
        "barriers expect {n} bytes of the copy at line {line}, and {m} bytes of that to the same place or by the same tensor map at line {other}"
    ))
}
