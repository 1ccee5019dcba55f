//! Placement of waits and barriers in a step.
//!
//! A gap is a place in the body: gap p is before item p, and gap 0 is the start of a step. A pair of items that
//! different warps execute needs a barrier in between. The pass chooses as few gaps as possible, and among equal
//! choices the gaps where the warps wait anyway. The warps that started a copy (`cp.async`, `vmcnt`) wait for it right
//! before the barrier that shows its data to the others. The number of operations that may stay outstanding is the
//! number started after the needed one.

use super::deps::{Deps, Pair};
use super::items::{Act, Item, Queue};

/// An asynchronous event that a wait is for: a commit group of a step, or the loads of an item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// Position of the item that completes it.
    pub(super) at: usize,
    /// Stage of this item.
    pub(super) stage: i64,
    /// The queue.
    pub(super) queue: Queue,
    /// The items of the event.
    pub(super) items: Vec<usize>,
}

/// A wait for events, at a gap.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wait {
    /// The gap.
    pub(super) gap: usize,
    /// The events, each with its iteration relative to the iteration of the step.
    pub(super) needs: Vec<(usize, i64)>,
    /// Position of the item that reads the data, for readers of the plan.
    pub(super) reader: usize,
}

/// A barrier.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Barrier {
    /// The gap.
    pub(super) gap: usize,
    /// The pairs that it separates, each with the number of steps after it at which the second item runs.
    pub(super) serves: Vec<(Pair, i64)>,
}

/// The synchronization of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Sync {
    /// Every event that a wait is for.
    pub(super) events: Vec<Event>,
    /// Waits of each warp for its own operations.
    pub(super) waits: Vec<Wait>,
    /// Barriers of all warps.
    pub(super) barriers: Vec<Barrier>,
}

/// Options of the placement.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncOptions {
    /// Whether to wait right before the first reader, as compilers do, not at an earlier barrier.
    pub(super) late: bool,
    /// Whether uses of registers need the kernel's own waits for loads.
    pub(super) manual: bool,
}

/// The events of the items.
pub(super) fn events(items: &[Item]) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for (p, item) in items.iter().enumerate() {
        let Some(queue) = item.queue else { continue };
        let same = out.iter_mut().find(|e| e.queue == queue && queue != Queue::Vm && e.stage == item.stage);
        match same {
            Some(e) => {
                e.at = p;
                e.items.push(p);
            }
            None => out.push(Event { at: p, stage: item.stage, queue, items: vec![p] }),
        }
    }
    out
}

/// The event that item `p` is part of.
pub(super) fn event_of(events: &[Event], p: usize) -> Option<usize> {
    events.iter().position(|e| e.items.contains(&p))
}

/// Places waits and barriers.
pub(super) fn sync(items: &[Item], deps: &Deps, options: SyncOptions) -> Sync {
    let m = items.len() as i64;
    let mut out = Sync { events: events(items), ..Sync::default() };
    // The gaps between the two items of a pair, counted from the step of the first.
    let span = |p: &Pair| {
        let steps = p.apart + items[p.after].stage - items[p.before].stage;
        let lag = if p.apart > 0 { items[p.before].lag } else { 0 };
        (lag * m + p.before as i64 + 1, steps * m + p.after as i64)
    };
    // A load without a reader is waited for by the item that overwrites its destination.
    let unread = |x: usize| !deps.pairs.iter().any(|p| p.before == x && p.flows);
    let awaited = |p: &Pair| items[p.before].queue.is_some() && (p.flows || !p.shared && unread(p.before));
    let by_bytes = |p: &Pair| matches!(items[p.before].queue, Some(Queue::Tma(_)));
    let meet: Vec<&Pair> =
        deps.pairs.iter().filter(|p| p.shared && p.before != p.after && !(by_bytes(p) && p.flows)).collect();
    let mut forced = vec![false; items.len()];
    let mut seen: Vec<usize> = Vec::new();
    let mut readers: Vec<&Pair> = deps.pairs.iter().filter(|p| awaited(p)).collect();
    readers.sort_by_key(|p| (p.after, p.before));
    for p in &readers {
        let Some(e) = event_of(&out.events, p.before) else { continue };
        // The wait for a group is before its first reader.
        if seen.contains(&e) {
            continue;
        }
        seen.push(e);
        forced[p.after] |= p.shared && options.late && !by_bytes(p);
    }
    let gaps = choose(items, &meet.iter().map(|p| span(p)).collect::<Vec<_>>(), &forced, options);
    // The last barrier before the second item of a pair separates the pair.
    let serving = |p: &Pair| -> Option<(usize, i64)> {
        let (low, high) = span(p);
        let at = (low..=high).rev().find(|g| gaps.contains(&(g.rem_euclid(m) as usize)))?;
        let steps = p.apart + items[p.after].stage - items[p.before].stage;
        Some((at.rem_euclid(m) as usize, steps - at.div_euclid(m)))
    };
    out.barriers = gaps.iter().map(|g| Barrier { gap: *g, serves: Vec::new() }).collect();
    for p in &meet {
        let Some((gap, ahead)) = serving(p) else { continue };
        if let Some(b) = out.barriers.iter_mut().find(|b| b.gap == gap) {
            b.serves.push((**p, ahead));
        }
    }
    for p in readers {
        let Some(e) = event_of(&out.events, p.before) else { continue };
        if by_bytes(p) || (!p.shared && !options.manual) {
            continue;
        }
        let (gap, ahead) = if p.shared { serving(p).unwrap_or((p.after, 0)) } else { (p.after, 0) };
        let need = |ahead: i64| (e, ahead - p.apart - items[p.after].stage);
        if options.late && out.waits.iter().any(|w| w.needs.contains(&need(ahead)) && w.gap <= gap) {
            continue;
        }
        // One wait in each step if this suffices: an earlier wait of the same step also covers this event.
        let (low, high) = span(p);
        let inside = |w: &Wait| (low..=high).contains(&(high - (p.after as i64 - w.gap as i64)));
        let earlier = out.waits.iter_mut().find(|w| {
            w.gap == gap || (!options.late && p.shared && w.gap <= p.after && gaps.contains(&w.gap) && inside(w))
        });
        match earlier {
            Some(w) => {
                let need = need(if w.gap == gap { ahead } else { 0 });
                if !w.needs.contains(&need) {
                    w.needs.push(need);
                }
            }
            None => out.waits.push(Wait { gap, needs: vec![need(ahead)], reader: p.after }),
        }
    }
    out.waits.sort_by_key(|w| w.gap);
    out
}

/// Largest number of barriers in a step beyond the required ones. A body that needs more has one in every gap.
const MOST: usize = 5;

/// The smallest set of gaps that has at least one gap in every span.
fn choose(items: &[Item], spans: &[(i64, i64)], forced: &[bool], options: SyncOptions) -> Vec<usize> {
    let m = items.len();
    let hit = |set: &[usize]| {
        spans.iter().all(|(low, high)| {
            let wide = high - low + 1 >= m as i64;
            (wide && !set.is_empty()) || (*low..=*high).any(|g| set.contains(&(g.rem_euclid(m as i64) as usize)))
        })
    };
    let base: Vec<usize> = (0..m).filter(|g| forced[*g]).collect();
    let free: Vec<usize> = (0..m).filter(|g| !forced[*g]).collect();
    // Before a product the warp waits for its registers anyway, and at the end of a step nothing is left to wait for.
    let stalls = |g: usize| usize::from(options.manual && g != 0 && !matches!(items[g].act, Act::Product));
    let late = |g: usize| if g == 0 { m } else { g };
    for more in 0..=free.len().min(MOST) {
        let mut best: Option<(usize, Vec<usize>, Vec<usize>)> = None;
        let mut budget = 200_000usize;
        subsets(&free, more, &mut Vec::new(), 0, &mut |extra| {
            budget = budget.saturating_sub(1);
            let mut set = base.clone();
            set.extend(extra);
            if budget > 0 && hit(&set) {
                set.sort_unstable();
                let cost = set.iter().map(|g| stalls(*g)).sum();
                let mut key: Vec<usize> = set.iter().map(|g| m - late(*g)).collect();
                key.sort_unstable();
                let better = best.as_ref().is_none_or(|b| (cost, &key) < (b.0, &b.1));
                if better {
                    best = Some((cost, key, set));
                }
            }
        });
        if let Some((_, _, set)) = best {
            return set;
        }
    }
    (0..m).collect()
}

fn subsets(of: &[usize], count: usize, taken: &mut Vec<usize>, from: usize, f: &mut impl FnMut(&[usize])) {
    if taken.len() == count {
        f(taken);
        return;
    }
    for n in from..of.len() {
        taken.push(of[n]);
        subsets(of, count, taken, n + 1, f);
        taken.pop();
    }
}

/// The operations that may stay outstanding: for each event, how often it starts after the needed one and before a gap.
///
/// `from` and `to` bound the existing iterations, relative to the step's own; `None` means no bound.
pub(super) fn after(
    events: &[Event],
    need: (usize, i64),
    gap: usize,
    m: usize,
    (from, to): (Option<i64>, Option<i64>),
) -> Vec<(usize, i64)> {
    let m = m as i64;
    let time = |e: &Event, a: i64| (a + e.stage) * m + e.at as i64;
    let needed = time(&events[need.0], need.1);
    let alike = |q: Queue| std::mem::discriminant(&q) == std::mem::discriminant(&events[need.0].queue);
    let mut out = Vec::new();
    for (n, e) in events.iter().enumerate().filter(|(_, e)| alike(e.queue)) {
        let first = need.1 + events[need.0].stage - e.stage - 1;
        let times = (first..=1)
            .filter(|a| time(e, *a) > needed && time(e, *a) < gap as i64)
            .filter(|a| from.is_none_or(|f| *a >= f) && to.is_none_or(|t| *a <= t))
            .count();
        if times > 0 {
            out.push((n, times as i64));
        }
    }
    out
}
