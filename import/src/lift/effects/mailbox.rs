//! Mailboxes: bytes of shared memory that tell waiting warps which code to run.
//!
//! A compiler that specializes warps (Triton's `warp_specialize`) lets the worker warps wait in a loop: pass a barrier of
//! all threads, load a byte, branch by a table (`brx.idx`). Another warp stores a constant there before it passes the
//! barrier. So the byte that a worker loads is the last one stored before a barrier that both have passed. No store may race
//! with the load. The verifier checks the proviso: the accesses stay in the program.
//!
//! The stores of several warps by one instruction have one value, which is no race. Each warp therefore stores into bytes
//! of its own beyond shared memory, and a load reads the bytes of every such warp.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::{Block, Flow};
use crate::lift::launch::cases::{Asked, Wanted};
use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::tree::{Effect, Run, Touch, Val};
use crate::lift::walk::Walk;
use crate::lift::walk::values::bytes_of;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::{Arena, Atom, Term};

/// First of the addresses that stand for mailboxes, behind all shared memory that a CTA can have.
const COPIES: i64 = 1 << 18;
/// Most bytes of all mailboxes of a CTA.
const MOST: i64 = 64;

/// A CTA of the cluster and a warp of it.
type Warp = (u32, u32);

/// What the value in a mailbox depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A value of the launch is stored: address, bytes, value.
    Store(i64, u32, Term),
    /// The warp passes a barrier of all threads, by number.
    Barrier(i64),
}

/// Where a word is loaded: behind the n-th pass of a barrier by all threads, and no wait since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    reader: Warp,
    /// The number of the barrier.
    barrier: i64,
    /// How often the warp has passed it.
    passes: usize,
}

/// Mailboxes, and what warps do that concerns them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mail {
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
    /// Words that are loaded outside of loops and conditions: address and bytes.
    loaded: BTreeSet<(i64, u32)>,
    /// Those of them whose values are known, each with the place of the load.
    words: BTreeSet<(i64, u32, Place)>,
    /// Stores that are events: the warp, and the instruction.
    stored: BTreeSet<(Warp, usize)>,
    /// Values of words are not looked up: something else is written to their bytes.
    without_words: bool,
    /// For each loop, the loads that hand out work in it.
    handed: std::cell::OnceCell<Vec<Vec<usize>>>,
}

impl Mail {
    /// No mailboxes yet; `words` says whether values of words are looked up.
    pub(crate) fn new(words: bool) -> Mail {
        Mail { without_words: !words, ..Mail::default() }
    }

    /// Whether a warp loads from a mailbox.
    pub(crate) fn is_used(&self) -> bool {
        let meets = |e: &Event| matches!(e, Event::Store(a, n, _) if self.loaded.contains(&(*a, *n)));
        !self.read.is_empty() || self.next.values().flatten().any(meets)
    }

    /// Whether the value of a word was looked up.
    pub(crate) fn knows_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// The instruction of an operation that may change a word between the store that gives its value and the load. The
    /// load is behind the n-th pass of a barrier, and behind no other wait. So the operation is one of the reader, or one
    /// that a warp performs before its n-th pass. Later writes race with the load, or come after it. `touched` has the
    /// bytes that an operation accesses.
    pub(crate) fn overwritten(
        &self,
        a: &Arena,
        list: &[Merged],
        warps: u32,
        touched: &dyn Fn(&Effect, usize) -> Vec<Run>,
    ) -> Option<usize> {
        if self.words.is_empty() {
            return None;
        }
        let mut passed: BTreeMap<(Warp, i64), usize> = BTreeMap::new();
        for n in list {
            let mut bad = None;
            each_op(std::slice::from_ref(n), &mut |at, (warp, _, e)| {
                let warp = (warp / warps, warp % warps);
                let top = matches!(n.kind, MergedKind::Op(_));
                let writes = match e {
                    Effect::Touch(Touch::Write, _) => !(top && self.stored.contains(&(warp, at))),
                    Effect::Touch(Touch::Copy | Touch::Scatter | Touch::Atomic, _) | Effect::BulkLoad { .. } => true,
                    Effect::Far { what, .. } => *what != Touch::Read,
                    _ => false,
                };
                let far = matches!(e, Effect::BulkLoad { multicast: Some(_), .. });
                let early = |p: &Place| {
                    let here = passed.get(&(warp, p.barrier)).copied().unwrap_or(0);
                    far || p.reader == warp || (p.reader.0 == warp.0 && here < p.passes)
                };
                let meets = |(t, n): &Run| {
                    let (low, high) = a.range(*t);
                    self.words
                        .iter()
                        .any(|(w, bytes, p)| low < w + i64::from(*bytes) && *w < high + i64::from(*n) && early(p))
                };
                if writes && touched(e, at).iter().any(meets) {
                    bad = Some(at);
                }
            });
            if bad.is_some() {
                return bad;
            }
            if let MergedKind::Op(ops) = &n.kind {
                for (warp, _, e) in ops {
                    if let Effect::Bar(id, _, true) = e {
                        *passed.entry(((warp / warps, warp % warps), *id)).or_default() += 1;
                    }
                }
            }
        }
        None
    }

    /// Begins a walk of all warps that knows what the walk before it found.
    pub(crate) fn begin(&mut self) {
        self.events = std::mem::take(&mut self.next);
        self.found = self.irregular.clone();
        self.words.clear();
        self.stored.clear();
    }

    /// Whether the walk of all warps found what it took for granted.
    pub(crate) fn holds(&self) -> bool {
        self.read.is_empty() && self.words.is_empty() || (self.events == self.next && self.irregular == self.found)
    }

    fn is_mailbox(&self, address: i64, bytes: u32) -> bool {
        self.read.range(address..address + bytes as i64).next().is_some()
    }

    /// First and one past the last byte of stores into mailboxes.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let stores = self.events.values().flatten().filter_map(|e| match e {
            Event::Store(a, n, _) if self.is_mailbox(*a, *n) => Some((*a, *a + *n as i64)),
            _ => None,
        });
        stores.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
    }

    /// The last value that one warp stored before a barrier that a reader has passed.
    fn last(
        &self,
        arena: &mut Arena,
        events: &[Event],
        (address, bytes): (i64, u32),
        passed: &BTreeMap<i64, usize>,
    ) -> Option<Term> {
        let mut count: BTreeMap<i64, usize> = BTreeMap::new();
        let (mut open, mut known) = (None, None);
        for e in events {
            match e {
                Event::Store(a, n, v) if *a < address + bytes as i64 && address < *a + *n as i64 => {
                    // Two stores without a barrier in between, or one that covers a part.
                    if open.is_some() || *a > address || address + bytes as i64 > *a + *n as i64 {
                        return None;
                    }
                    open = Some(match arena.constant(*v) {
                        Some(v) => {
                            let all = 1i64.checked_shl(8 * bytes).unwrap_or(0).wrapping_sub(1);
                            arena.int(v >> (8 * (address - a)) & all)
                        }
                        None if *n == bytes => *v,
                        None => return None,
                    });
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
    pub(crate) fn passes(&mut self, id: i64, threads: i64, waits: bool) {
        let all: i64 = self.s.block.iter().map(|n| *n as i64).product();
        let whole = self.lanes == self.all_lanes;
        if !(self.once() && whole && waits && threads == all) {
            self.s.mail.irregular.insert(id);
            self.fresh = None;
            return;
        }
        let n = self.passed.entry(id).or_default();
        *n += 1;
        self.fresh = Some((id, *n));
        self.s.mail.next.entry((self.s.rank, self.warp)).or_default().push(Event::Barrier(id));
    }

    /// Notes a store, and returns the bytes that it stores to if it stores into a mailbox.
    pub(crate) fn mails(&mut self, at: usize, i: &Inst) -> Result<Option<Vec<Run>>, Error> {
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
            let of_launch = |a| matches!(a, Atom::Param(..) | Atom::Place(_));
            let value = self.operand(value)?.uniform(self.lanes);
            let value =
                value.filter(|t| !self.s.arena.mentions(*t, |a| !of_launch(a)) && !self.s.arena.reads_memory(*t));
            let Some(value) = value else { return Ok(None) };
            events.push(Event::Store(address + n as i64 * each as i64, each, value));
        }
        self.s.mail.next.entry((self.s.rank, self.warp)).or_default().extend(events);
        self.s.mail.stored.insert(((self.s.rank, self.warp), at));
        if !self.s.mail.is_mailbox(address, bytes) {
            return Ok(None);
        }
        let copy = self.s.mail.copy(self.warp, address);
        Ok(copy.map(|c| vec![(self.s.arena.int(c), bytes)]))
    }

    /// The value that a load finds in a mailbox, and the bytes that it reads for that; none where it loads from none.
    pub(crate) fn mail(&mut self, i: &Inst, from: &Val) -> Result<Option<(i64, Vec<Run>)>, Error> {
        let bytes = bytes_of(i);
        let flow = self.s.flow;
        if !(0..flow.loops.len()).any(|l| self.handed(l).iter().any(|at| std::ptr::eq(self.inst(*at), i))) {
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
            let found = self.s.mail.conditional.iter().find(stored);
            self.s.cases.wanted = found.map(|(_, _, branch)| Wanted::Outcome(*branch, Asked::Branch));
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

    /// The value of a word that all lanes load from shared memory. Warps must have stored a value of the launch there
    /// before a barrier of all threads.
    pub(crate) fn known_word(&mut self, address: Term, bytes: u32) -> Option<Term> {
        let address = self.s.arena.constant(address)?;
        if self.s.mail.without_words || self.dry > 0 || !self.once() {
            return None;
        }
        self.s.mail.loaded.insert((address, bytes));
        let (barrier, passes) = self.fresh.filter(|(id, _)| !self.s.mail.irregular.contains(id))?;
        let (value, _) = self.stored_value(address, bytes)?;
        let place = Place { reader: (self.s.rank, self.warp), barrier, passes };
        self.s.mail.words.insert((address, bytes, place));
        Some(value)
    }

    fn found(&mut self, address: i64, bytes: u32) -> Option<(i64, Vec<Run>)> {
        self.s.mail.read.extend(address..address + bytes as i64);
        let (value, warps) = self.stored_value(address, bytes)?;
        let value = self.s.arena.constant(value)?;
        let copies: Option<Vec<i64>> = warps.into_iter().map(|w| self.s.mail.copy(w, address)).collect();
        Some((value, copies?.into_iter().map(|c| (self.s.arena.int(c), bytes)).collect()))
    }

    /// The value that warps stored, and these warps.
    fn stored_value(&mut self, address: i64, bytes: u32) -> Option<(Term, Vec<u32>)> {
        let rank = self.s.rank;
        let meets =
            |e: &Event| matches!(e, Event::Store(a, n, _) if *a < address + bytes as i64 && address < *a + *n as i64);
        let (mut value, mut warps) = (None, Vec::new());
        for ((r, warp), events) in &self.s.mail.events {
            if *r != rank || !events.iter().any(meets) {
                continue;
            }
            let here = self.s.mail.last(&mut self.s.arena, events, (address, bytes), &self.passed)?;
            if value.is_some_and(|v| v != here) {
                return None;
            }
            value = Some(here);
            warps.push(*warp);
        }
        value.map(|v| (v, warps))
    }

    /// Whether a loop hands out work, so that each iteration has its own way.
    pub(crate) fn dispatches(&self, l: usize) -> bool {
        !self.handed(l).is_empty()
    }

    /// Loads of a byte behind a barrier, in one block of a loop, where branches of the loop depend on the byte. They follow
    /// from the text alone, and are asked for at each loop.
    fn handed(&self, l: usize) -> &[usize] {
        let of = |l: usize| loads_that_decide(self.s.flow, &self.s.entry.code, l);
        let all = self.s.mail.handed.get_or_init(|| (0..self.s.flow.loops.len()).map(of).collect());
        &all[l]
    }
}

/// The loads of [`Walk::handed`] in one loop.
fn loads_that_decide(flow: &Flow, code: &[Inst], l: usize) -> Vec<usize> {
    let blocks = || flow.loops[l].body.iter().zip(&flow.blocks).filter(|(inside, _)| **inside).map(|(_, b)| b);
    let decides = |byte: &Arg| {
        blocks().any(|b| {
            let branch = &code[b.end - 1];
            let here = &code[b.first..b.end];
            let compared = |i: &Inst| i.op == "setp" && i.args[1..].contains(byte) && guards(branch, i.arg(0));
            branch.op == "brx" && branch.arg(0) == byte || here.iter().any(compared)
        })
    };
    let loads = |b: &Block| {
        let here = &code[b.first..b.end];
        let barrier = here.iter().position(|i| matches!(i.op.as_str(), "bar" | "barrier") && !i.has("warp"));
        let behind = b.first + barrier.unwrap_or(here.len())..b.end;
        behind.filter(|at| code[*at].op == "ld" && code[*at].has("shared") && bytes_of(&code[*at]) == 1)
    };
    blocks().flat_map(loads).filter(|at| decides(code[*at].arg(0))).collect()
}

fn guards(branch: &Inst, predicate: &Arg) -> bool {
    branch.op == "bra" && branch.guard.is_some_and(|(p, _)| *predicate == Arg::Reg(p))
}
