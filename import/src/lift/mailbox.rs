//! Mailboxes: bytes of shared memory that tell waiting warps which code to run.
//!
//! A compiler that specializes warps (Triton's `warp_specialize`) lets the worker warps wait in a loop: pass a barrier of
//! all threads, load a byte, branch by a table (`brx.idx`). Another warp stores a constant there before it passes the
//! barrier. So the byte that a worker loads is the last one stored before a barrier that both have passed, provided that
//! no store races with the load. The verifier checks the proviso: the accesses stay in the program.
//!
//! The stores of several warps by one instruction have one value, which is no race. Each warp therefore stores into bytes
//! of its own beyond shared memory, and a load reads the bytes of every such warp.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::Block;
use crate::ptx::{Arg, Error, Inst};

use super::tree::{Run, Val};
use super::values::bytes_of;
use super::walk::Walk;

/// First of the addresses that stand for mailboxes, behind all shared memory that a CTA can have.
const COPIES: i64 = 1 << 18;
/// Most bytes of all mailboxes of a CTA.
const MOST: i64 = 64;

/// A CTA of the cluster and a warp of it.
type Warp = (u32, u32);

/// What the value in a mailbox depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A constant is stored: address, bytes, value.
    Store(i64, u32, i64),
    /// The warp passes a barrier of all threads, by number.
    Barrier(i64),
}

/// Mailboxes, and what warps do that concerns them.
#[derive(Clone, Debug, Default)]
pub(super) struct Mail {
    /// What each warp did outside of loops and conditions when all were walked last, in order.
    events: BTreeMap<Warp, Vec<Event>>,
    /// The same of the walk that is under way.
    next: BTreeMap<Warp, Vec<Event>>,
    /// Addresses of bytes that tell warps what to do.
    read: BTreeSet<i64>,
    /// Barriers that some warp uses under a condition, in a loop, or not for all threads to wait.
    irregular: BTreeSet<i64>,
    /// Those of them that the walk before found.
    found: BTreeSet<i64>,
    /// Constants that are stored under a condition: the bytes, and the outermost branch.
    conditional: BTreeSet<(i64, u32, usize)>,
}

impl Mail {
    /// Whether a warp loads from a mailbox.
    pub(super) fn is_used(&self) -> bool {
        !self.read.is_empty()
    }

    /// Begins a walk of all warps that knows what the walk before it found.
    pub(super) fn begin(&mut self) {
        self.events = std::mem::take(&mut self.next);
        self.found = self.irregular.clone();
    }

    /// Whether the walk of all warps found what it took for granted.
    pub(super) fn holds(&self) -> bool {
        self.read.is_empty() || (self.events == self.next && self.irregular == self.found)
    }

    fn is_mailbox(&self, address: i64, bytes: u32) -> bool {
        self.read.range(address..address + bytes as i64).next().is_some()
    }

    /// First and one past the last byte of stores into mailboxes.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let stores = self.events.values().flatten().filter_map(|e| match e {
            Event::Store(a, n, _) if self.is_mailbox(*a, *n) => Some((*a, *a + *n as i64)),
            _ => None,
        });
        stores.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
    }

    /// The last value that one warp stored before a barrier that a reader has passed.
    fn last(&self, events: &[Event], address: i64, bytes: u32, passed: &BTreeMap<i64, usize>) -> Option<i64> {
        let mut count: BTreeMap<i64, usize> = BTreeMap::new();
        let (mut open, mut known) = (None, None);
        for e in events {
            match e {
                Event::Store(a, n, v) if *a < address + bytes as i64 && address < *a + *n as i64 => {
                    // Two stores without a barrier in between, or one that covers a part.
                    if open.is_some() || *a > address || address + bytes as i64 > *a + *n as i64 {
                        return None;
                    }
                    let all = 1i64.checked_shl(8 * bytes).unwrap_or(0).wrapping_sub(1);
                    open = Some(v >> (8 * (address - a)) & all);
                }
                Event::Store(..) => {}
                Event::Barrier(id) => {
                    let n = count.entry(*id).or_default();
                    *n += 1;
                    if !self.irregular.contains(id) && open.is_some() {
                        if passed.get(id).is_some_and(|p| *p >= *n) {
                            known = open;
                        }
                        open = None;
                    }
                }
            }
        }
        let passes = |(id, n): (&i64, &usize)| self.irregular.contains(id) || count.get(id).is_some_and(|c| c >= n);
        known.filter(|_| passed.iter().all(passes))
    }

    /// Bytes that stand for those of a mailbox, as one warp stores them.
    fn copy(&self, warp: u32, address: i64) -> Option<i64> {
        let (low, high) = self.span()?;
        (high - low <= MOST).then(|| COPIES + warp as i64 * MOST + address - low)
    }
}

impl Walk<'_, '_> {
    /// Every run of the kernel comes here, once.
    fn once(&self) -> bool {
        self.frames.is_empty() && self.path.is_empty() && self.unsure == 0
    }

    /// Notes a barrier of the CTA.
    pub(super) fn passes(&mut self, id: i64, threads: i64, waits: bool) {
        let all: i64 = self.s.block.iter().map(|n| *n as i64).product();
        let whole = self.lanes == self.all_lanes;
        if !(self.once() && whole && waits && threads == all) {
            self.s.mail.irregular.insert(id);
            return;
        }
        *self.passed.entry(id).or_default() += 1;
        self.s.mail.next.entry((self.s.rank, self.warp)).or_default().push(Event::Barrier(id));
    }

    /// Notes a store, and returns the bytes that it stores to if it stores into a mailbox.
    pub(super) fn mails(&mut self, i: &Inst) -> Result<Option<Vec<Run>>, Error> {
        let bytes = bytes_of(i);
        let values = match i.arg(1) {
            Arg::List(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let each = bytes / values.len().max(1) as u32;
        let to = self.operand(i.arg(0))?;
        let Some(address) = to.uniform(self.lanes).and_then(|t| self.s.arena.constant(t)) else { return Ok(None) };
        if self.dry > 0 || each > 8 {
            return Ok(None);
        }
        if let (false, Some(branch)) = (self.once(), self.forks.first()) {
            self.s.mail.conditional.insert((address, bytes, *branch));
        }
        if !self.once() {
            return Ok(None);
        }
        let mut events = Vec::new();
        for (n, value) in values.iter().enumerate() {
            let value = self.operand(value)?.uniform(self.lanes).and_then(|t| self.s.arena.constant(t));
            let Some(value) = value else { return Ok(None) };
            events.push(Event::Store(address + n as i64 * each as i64, each, value));
        }
        self.s.mail.next.entry((self.s.rank, self.warp)).or_default().extend(events);
        if !self.s.mail.is_mailbox(address, bytes) {
            return Ok(None);
        }
        let copy = self.s.mail.copy(self.warp, address);
        Ok(copy.map(|c| vec![(self.s.arena.int(c), bytes)]))
    }

    /// The value that a load finds in a mailbox, and the bytes that it reads for that; none where it loads from none.
    pub(super) fn mail(&mut self, i: &Inst, from: &Val) -> Result<Option<(i64, Vec<Run>)>, Error> {
        let bytes = bytes_of(i);
        let flow = self.s.flow;
        if !(0..flow.loops.len()).any(|l| self.handed(l).any(|x| std::ptr::eq(x, i))) {
            return Ok(None);
        }
        let address = from.uniform(self.lanes).and_then(|t| self.s.arena.constant(t));
        let signed = i.mods.iter().any(|m| matches!(m.as_str(), "s8" | "s16"));
        let found = match address {
            Some(address) if self.dry == 0 && self.once() && bytes <= 4 && !signed => self.found(address, bytes),
            _ => None,
        };
        if let (None, Some(address)) = (&found, address) {
            let stored = |(a, n, _): &&(i64, u32, usize)| *a < address + bytes as i64 && address < a + *n as i64;
            self.s.cases.wanted = self.s.mail.conditional.iter().find(stored).map(|(_, _, branch)| *branch);
        }
        let error = || {
            self.s.error(
                i,
                "the value that this load finds is not known, and tells warps what to do",
                "a constant that warps store before a barrier of all threads",
            )
        };
        found.map(Some).ok_or_else(error)
    }

    fn found(&mut self, address: i64, bytes: u32) -> Option<(i64, Vec<Run>)> {
        self.s.mail.read.extend(address..address + bytes as i64);
        let rank = self.s.rank;
        let meets =
            |e: &Event| matches!(e, Event::Store(a, n, _) if *a < address + bytes as i64 && address < *a + *n as i64);
        let (mut value, mut copies) = (None, Vec::new());
        for ((r, warp), events) in &self.s.mail.events {
            if *r != rank || !events.iter().any(meets) {
                continue;
            }
            let here = self.s.mail.last(events, address, bytes, &self.passed)?;
            if value.is_some_and(|v| v != here) {
                return None;
            }
            value = Some(here);
            copies.push(self.s.mail.copy(*warp, address)?);
        }
        let runs = copies.into_iter().map(|c| (self.s.arena.int(c), bytes)).collect();
        value.map(|v| (v, runs))
    }

    /// Whether a loop hands out work, so that each iteration has its own way.
    pub(super) fn dispatches(&self, l: usize) -> bool {
        self.handed(l).next().is_some()
    }

    /// Loads of a byte behind a barrier, in one block of a loop, where branches of the loop depend on the byte.
    fn handed(&self, l: usize) -> impl Iterator<Item = &Inst> {
        let (flow, code) = (self.s.flow, &self.s.entry.code);
        let blocks = move || flow.loops[l].body.iter().zip(&flow.blocks).filter(|(inside, _)| **inside).map(|(_, b)| b);
        let decides = move |byte: &Arg| {
            blocks().any(|b| {
                let branch = &code[b.end - 1];
                let here = &code[b.first..b.end];
                let compared = |i: &Inst| i.op == "setp" && i.args[1..].contains(byte) && guards(branch, i.arg(0));
                branch.op == "brx" && branch.arg(0) == byte || here.iter().any(compared)
            })
        };
        let loads = move |b: &Block| {
            let here = &code[b.first..b.end];
            let barrier = here.iter().position(|i| matches!(i.op.as_str(), "bar" | "barrier") && !i.has("warp"));
            here[barrier.unwrap_or(here.len())..].iter().filter(|i| i.op == "ld" && i.has("shared") && bytes_of(i) == 1)
        };
        blocks().flat_map(loads).filter(move |i| decides(i.arg(0)))
    }
}

fn guards(branch: &Inst, predicate: &Arg) -> bool {
    branch.op == "bra" && branch.guard.is_some_and(|(p, _)| *predicate == Arg::Reg(p))
}
