//! Stage, order and commit group of every statement.
//!
//! The stage is the number of steps that a statement runs behind the newest; the order is its position in the body.
//! Rules:
//!
//! * `num_stages` is TileLang's `PipelinePlanning` (0.1.15). Copies from global to shared memory and what they depend
//!   on go to stage 0, each after the last statement that reads the copied data. Everything else goes to stage S. If
//!   all copies end up last and S is 2 or more, they move to the front and the others one stage closer. Copies with the
//!   same last reader form one group.
//! * `triton` is what Triton 3.9 compiles: copies S - 1 steps ahead, one group for each operand. Copies follow the
//!   readers, or precede them where one barrier in each step must suffice (CDNA).
//! * `multistage` is CUTLASS's main loop: copies first and S - 1 steps ahead, with one group and one barrier in each
//!   step.
//! * A table gives stage and order of each statement.

use super::body::Unit;
use super::{Schedule, Via};

/// The place of a statement in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Number of steps behind the newest.
    pub(super) stage: i64,
    /// Position in the body.
    pub(super) order: usize,
    /// Commit group of an asynchronous statement that its readers wait for.
    pub(super) group: Option<usize>,
}

/// Schedules the statements of a loop.
pub(super) fn schedule(units: &[Unit], rule: Schedule, stages: i64, via: Via) -> Result<Vec<Slot>, String> {
    let mut slots = match rule {
        Schedule::Table => table(units)?,
        _ if stages <= 0 => plain(units),
        Schedule::NumStages => num_stages(units, stages)?,
        Schedule::Triton | Schedule::Multistage if stages == 1 => plain(units),
        Schedule::Triton => ahead(units, stages, via == Via::Dma),
        Schedule::Multistage | Schedule::TwoStepAhead => ahead(units, stages, true),
    };
    groups(units, (rule, via), &mut slots);
    Ok(slots)
}

/// Sets all stages to 0 if all statements have the same stage: the loop then stays a plain loop.
pub(super) fn level(slots: &mut [Slot]) {
    let first = slots.first().map_or(0, |s| s.stage);
    if slots.iter().all(|s| s.stage == first) {
        slots.iter_mut().for_each(|s| s.stage = 0);
    }
}

/// One step with all statements, in source order.
fn plain(units: &[Unit]) -> Vec<Slot> {
    (0..units.len()).map(|order| Slot { stage: 0, order, group: None }).collect()
}

fn table(units: &[Unit]) -> Result<Vec<Slot>, String> {
    let mut slots: Vec<Slot> = plain(units);
    for (n, (slot, unit)) in slots.iter_mut().zip(units).enumerate() {
        let Some((stage, order, _)) = unit.given else { continue };
        slot.stage = stage;
        slot.order = order.map_or(n, |o| o as usize);
    }
    let mut seen: Vec<usize> = slots.iter().map(|s| s.order).collect();
    seen.sort_unstable();
    if seen.windows(2).any(|w| w[0] == w[1]) {
        return Err("two statements have the same place in the order".to_string());
    }
    Ok(slots)
}

/// The last statement after `n` that reads what `n` writes.
pub(super) fn last_use(units: &[Unit], n: usize) -> Option<usize> {
    let reads = |u: &Unit| u.touches.iter().any(|r| !r.write && units[n].touches.iter().any(|w| w.write && w.meets(r)));
    (n + 1..units.len()).rev().find(|k| reads(&units[*k]))
}

/// For each statement, whether a copy depends on it, directly or through other such statements.
fn feeds(units: &[Unit]) -> Vec<bool> {
    let mut read: Vec<&str> = Vec::new();
    let of = |u: &'_ Unit, write: bool| -> Vec<String> {
        u.touches.iter().filter(|t| t.write == write).map(|t| t.buffer.clone()).collect()
    };
    for t in units.iter().filter(|u| u.copies).flat_map(|u| &u.touches).filter(|t| !t.write) {
        read.push(&t.buffer);
    }
    let mut read: Vec<String> = read.into_iter().map(String::from).collect();
    let mut feeds = vec![false; units.len()];
    let last_copy = units.iter().rposition(|u| u.copies).unwrap_or(0);
    loop {
        let mut changed = false;
        for n in 0..last_copy {
            if feeds[n] || units[n].copies || !of(&units[n], true).iter().any(|b| read.contains(b)) {
                continue;
            }
            feeds[n] = true;
            changed = true;
            read.extend(of(&units[n], false));
        }
        if !changed {
            return feeds;
        }
    }
}

fn num_stages(units: &[Unit], stages: i64) -> Result<Vec<Slot>, String> {
    let count = units.len();
    for (n, u) in units.iter().enumerate().filter(|(_, u)| u.copies) {
        let again = (n + 1..count).find(|k| {
            let wrote = u.touches.iter().filter(|t| t.write);
            wrote.into_iter().any(|w| units[*k].touches.iter().any(|t| t.write && t.meets(w)))
        });
        if let (Some(_), Some(t)) = (again, u.touches.iter().find(|t| t.write)) {
            return Err(format!("`{}` is written twice in a step; such a copy can't be moved", t.buffer));
        }
    }
    let feeds = feeds(units);
    let first = |n: usize| units[n].copies || feeds[n];
    let last: Vec<Option<usize>> = (0..count).map(|n| if first(n) { last_use(units, n) } else { None }).collect();
    let mut slots: Vec<Slot> = plain(units);
    let mut order = 0;
    for n in 0..count {
        if first(n) && last[n].is_some() {
            continue;
        }
        slots[n] = Slot { stage: stages, order, group: None };
        order += 1;
        for k in (0..count).filter(|k| first(*k) && last[*k] == Some(n)) {
            slots[k] = Slot { stage: 0, order, group: None };
            order += 1;
        }
    }
    if order != count {
        return Err("the copies of this loop depend on one another".to_string());
    }
    let copies = (0..count).filter(|n| first(*n)).count();
    let behind = |n: usize| (0..count).filter(|k| !first(*k)).all(|k| slots[k].order < slots[n].order);
    if copies > 0 && stages >= 2 && (0..count).filter(|n| first(*n)).all(behind) {
        for (n, slot) in slots.iter_mut().enumerate() {
            slot.order = (slot.order + copies) % count;
            slot.stage -= i64::from(!first(n));
        }
    }
    Ok(slots)
}

/// Copies and what they depend on run `stages - 1` steps ahead of the rest.
fn ahead(units: &[Unit], stages: i64, in_front: bool) -> Vec<Slot> {
    let feeds = feeds(units);
    let first = |n: usize| (units[n].copies && last_use(units, n).is_some()) || feeds[n];
    let (front, back): (Vec<usize>, Vec<usize>) = (0..units.len()).partition(|n| first(*n) == in_front);
    let mut slots = plain(units);
    for (order, n) in front.into_iter().chain(back).enumerate() {
        slots[n] = Slot { stage: if first(n) { 0 } else { stages - 1 }, order, group: None };
    }
    slots
}

/// Assigns commit groups, in body order, to copies that run ahead of a reader.
fn groups(units: &[Unit], (rule, via): (Schedule, Via), slots: &mut [Slot]) {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by_key(|n| slots[*n].order);
    let mut keys: Vec<(i64, usize)> = Vec::new();
    for n in order {
        let u = &units[n];
        let Some(last) = last_use(units, n).filter(|_| u.copies && !u.conditional && !u.converts) else { continue };
        let told = rule != Schedule::Table || u.given.is_none_or(|g| g.2);
        // A copy in the step of its reader would be waited for at once.
        if !told || slots.iter().all(|s| s.stage == slots[n].stage) {
            continue;
        }
        let key = match rule {
            // The bytes of several copies complete on one mbarrier.
            Schedule::Triton if matches!(via, Via::Tma | Via::TmaJoint) => (slots[n].stage, last),
            Schedule::Triton => (slots[n].stage, n),
            Schedule::Multistage => (slots[n].stage, 0),
            Schedule::TwoStepAhead => (slots[n].stage, slots[n].order + units.len()),
            Schedule::NumStages | Schedule::Table => (slots[n].stage, last),
        };
        let group = keys.iter().position(|k| *k == key).unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        });
        slots[n].group = Some(group);
    }
}
