//! What was decided about a loop, as numbers: for displays, and to hold against other compilers.

use super::body::Body;
use super::deps::Deps;
use super::items::{Act, Item, Queue};
use super::schedule::Slot;
use super::sync::{self, Event, SyncOptions};
use super::{Schedule, Via};

/// The plan of one loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How stage and order were found.
    pub schedule: Schedule,
    /// What carries the copies.
    pub via: Via,
    /// The number of stages asked for.
    pub stages: i64,
    /// The last stage: steps of the prologue and of the epilogue. The body runs n less this.
    pub depth: i64,
    /// One guarded loop, with the epilogue inside.
    pub guarded: bool,
    /// Warps that only copy.
    pub producers: usize,
    /// The statements, as written.
    pub statements: Vec<Planned>,
    /// The buffers on chip, by name.
    pub buffers: Vec<Buffer>,
    /// Commit groups of a step.
    pub commits: i64,
    /// Commit groups of the prologue.
    pub prologue_commits: i64,
    /// Waits of a body's step, each before a statement, in groups.
    pub waits: Vec<GroupWait>,
    /// The same for each step of the epilogue.
    pub epilogue_waits: Vec<Vec<GroupWait>>,
    /// Barriers of a body's step.
    pub barriers: usize,
}

/// A statement and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its line, from 1.
    pub line: usize,
    /// Its first words.
    pub text: String,
    /// Steps behind the newest.
    pub stage: i64,
    /// Place in the body.
    pub order: usize,
    /// Its commit group, if it is asynchronous.
    pub group: Option<usize>,
}

/// A buffer and its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// How many steps' data it holds.
    pub versions: usize,
    /// Shared memory, else registers.
    pub shared: bool,
}

/// A wait for commit groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupWait {
    /// The statement it stands before, by its index.
    pub statement: usize,
    /// Groups that may stay outstanding.
    pub open: i64,
}

/// What was chosen.
pub(super) struct Names {
    pub(super) schedule: Schedule,
    pub(super) via: Via,
    pub(super) stages: i64,
    pub(super) depth: i64,
    pub(super) guarded: bool,
    pub(super) producers: usize,
}

/// The plan of a loop, of the stages that were given and those that are written out. Waits are those in front of the first reader of each group, whatever the machine makes of them.
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
    // The statements as they stand, before a machine cuts them up.
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
