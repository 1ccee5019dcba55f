//! The decisions about a loop as numbers, for displays and for comparison with other compilers.

use super::body::Body;
use super::deps::Deps;
use super::items::{Act, Item, Queue};
use super::schedule::Slot;
use super::sync::{self, Event, SyncOptions};
use super::{Schedule, Via};

/// The plan of one loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The rule that assigned stage and order.
    pub schedule: Schedule,
    /// The instruction for the copies.
    pub via: Via,
    /// The requested number of stages.
    pub stages: i64,
    /// The last stage, which is the number of steps of the prologue and of the epilogue. The body runs `depth` times
    /// less than the loop.
    pub depth: i64,
    /// Whether the loop is one guarded loop, which contains the epilogue.
    pub guarded: bool,
    /// Number of warps that only copy.
    pub producers: usize,
    /// The statements, as written.
    pub statements: Vec<Planned>,
    /// The buffers on chip, by name.
    pub buffers: Vec<Buffer>,
    /// Commit groups of each step.
    pub commits: i64,
    /// Commit groups of the prologue.
    pub prologue_commits: i64,
    /// Waits of a step of the body, in groups, each before a statement.
    pub waits: Vec<GroupWait>,
    /// Waits of each step of the epilogue.
    pub epilogue_waits: Vec<Vec<GroupWait>>,
    /// Barriers of a step of the body.
    pub barriers: usize,
}

/// A statement with its place in the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Line, from 1.
    pub line: usize,
    /// First words of the statement.
    pub text: String,
    /// Number of steps behind the newest.
    pub stage: i64,
    /// Position in the body.
    pub order: usize,
    /// Commit group of an asynchronous statement.
    pub group: Option<usize>,
}

/// A buffer with its number of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Name.
    pub name: String,
    /// Number of steps whose data the buffer holds.
    pub versions: usize,
    /// Whether it is in shared memory; else in registers.
    pub shared: bool,
}

/// A wait for commit groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupWait {
    /// Index of the statement after the wait.
    pub statement: usize,
    /// Number of groups that may stay outstanding.
    pub open: i64,
}

/// The chosen names.
pub(super) struct Names {
    pub(super) schedule: Schedule,
    pub(super) via: Via,
    pub(super) stages: i64,
    pub(super) depth: i64,
    pub(super) guarded: bool,
    pub(super) producers: usize,
}

/// The plan of a loop, from the given stages and the generated code. Its waits are before the first reader of each
/// group, whatever the machine needs.
pub(super) fn plan(
    text: &str,
    body: &Body,
    (given, slots): (&[Slot], &[Slot]),
    (items, deps, options): (&[Item], &Deps, SyncOptions),
    names: &Names,
) -> Plan {
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let statements: Vec<Planned> = body
        .units
        .iter()
        .zip(given)
        .map(|(u, s)| Planned {
            line: line(u.stmt.span.start),
            text: text[u.stmt.span.clone()].to_string(),
            stage: s.stage,
            order: s.order,
            group: s.group,
        })
        .collect();
    // The statements in source order, before lowering splits them.
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|n| slots[*n].order);
    let whole: Vec<Item> = order
        .iter()
        .map(|n| Item {
            unit: *n,
            text: *n,
            stage: slots[*n].stage,
            touches: body.units[*n].touches.clone(),
            act: Act::Plain,
            queue: slots[*n].group.map(Queue::Cp),
            lag: 0,
            proxy: false,
        })
        .collect();
    let events = sync::events(&whole);
    let depth = whole.iter().map(|i| i.stage).max().unwrap_or(0);
    let waits = waits(&whole, &events, |_| true, (None, None));
    let epilogue_waits =
        (0..depth).map(|e| self::waits(&whole, &events, |stage| stage > e, (None, Some(-1 - e)))).collect();
    let prologue_commits = events.iter().map(|e| (depth - e.stage).max(0)).sum();
    Plan {
        schedule: names.schedule,
        via: names.via,
        stages: names.stages,
        depth: names.depth,
        guarded: names.guarded,
        producers: names.producers,
        statements,
        buffers: deps
            .versions
            .iter()
            .map(|(name, versions)| Buffer { name: name.clone(), versions: *versions, shared: deps.shared[name] })
            .collect(),
        commits: events.len() as i64,
        prologue_commits,
        waits,
        epilogue_waits,
        barriers: sync::sync(items, deps, options).barriers.len(),
    }
}

/// Waits of a step in which some stages take part.
fn waits(
    items: &[Item],
    events: &[Event],
    present: impl Fn(i64) -> bool,
    bounds: (Option<i64>, Option<i64>),
) -> Vec<GroupWait> {
    let mut out: Vec<GroupWait> = Vec::new();
    let mut done: Vec<usize> = Vec::new();
    for (p, reader) in items.iter().enumerate().filter(|(_, i)| present(i.stage)) {
        let reads = |e: &Event| {
            let mut writes = e.items.iter().flat_map(|w| &items[*w].touches).filter(|t| t.write);
            writes.any(|w| reader.touches.iter().any(|r| !r.write && r.meets(w)))
        };
        for (n, _) in events.iter().enumerate().filter(|(_, e)| reads(e)) {
            if done.contains(&n) || events[n].items.contains(&p) {
                continue;
            }
            done.push(n);
            let open = sync::after(events, (n, -reader.stage), p, items.len(), bounds).iter().map(|(_, k)| k).sum();
            match out.iter_mut().find(|w| w.statement == reader.unit) {
                Some(w) => w.open = w.open.min(open),
                None => out.push(GroupWait { statement: reader.unit, open }),
            }
        }
    }
    out
}
