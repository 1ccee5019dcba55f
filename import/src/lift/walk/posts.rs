//! Words that one warp stores for other warps in each of its turns, such as the next tile of a scheduler.
//!
//! ```text
//!   scheduler, turn i:  wait empty;  st slot[i % 2], tile(i + 1);  arrive full
//!   role, turn i:       ...;  wait full;  ld slot[i % 2]: tile(i + 1);  arrive empty
//! ```
//!
//! The word of turn i of the reader is that of turn i of the writer if both name the same slot in the same turn. So all
//! roles end with the same turn, and what the word decides is the same for all of them. That a reader does not see an
//! earlier or a later word of its slot follows from the order of both accesses, which the verifier checks as it does for
//! any data. It is an assumption that both accesses are of the same turn and not whole rounds of the ring apart.
//!
//! The first walks of all warps find the words, the last one uses them. A word that is no value of the launch is data of
//! its turn: a word that has one value for all readers.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::merge::{Merged, each_op};
use crate::lift::tree::{Effect, Run, Touch, Val};
use crate::ptx::{Arg, Error, Inst, Reg};
use crate::symbolic::{Arena, Atom, NO_LOOP, Op, Term};

use super::Walk;
use super::values::bytes_of;

/// Where posted words that are no values of the launch are placed in the address range of global memory.
const POSTED: i64 = 1 << 57;
/// Between the words of two turns there.
const TURN: i64 = 1 << 12;
/// The largest number of words with a place there.
const MOST: i64 = TURN;

/// A warp of a CTA of the cluster.
type Warp = (u32, u32);
/// An instruction, and the number of a word that it loads or stores.
type WordAt = (usize, usize);

/// A word that a warp stores or loads, at an address that all its lanes share.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Access {
    at: WordAt,
    warp: Warp,
    /// The first block of the only loop around it.
    header: Option<u32>,
    /// Every turn of this loop comes here.
    always: bool,
    address: Term,
    bytes: u32,
    /// The value that is stored, if it is followed.
    value: Option<Term>,
}

/// A word that is posted in each turn.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Post {
    /// The value over the turn, as the counter of no loop.
    value: Term,
    /// The turn of the writer in the reader's first turn.
    first: i64,
}

/// Words that warps post, and those that they read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Posts {
    stores: Vec<Access>,
    loads: Vec<Access>,
    /// By CTA and load, the words that an earlier walk found.
    known: BTreeMap<(u32, WordAt), Post>,
    /// The stores of these words.
    stored: BTreeSet<usize>,
    /// These words, by store.
    words: BTreeSet<WordAt>,
    /// The bytes of their slots, by CTA.
    slots: BTreeSet<(u32, i64, i64)>,
    /// The places of words that are no values of the launch, by the store.
    places: BTreeMap<(u32, WordAt), i64>,
}

impl Posts {
    /// Whether a load reads a posted word.
    pub(crate) fn is_used(&self) -> bool {
        !self.known.is_empty()
    }

    /// Registers that these words come from and that are not followed.
    pub(crate) fn unfollowed(&self, code: &[Inst], need: &[bool]) -> BTreeSet<Reg> {
        let mut registers = BTreeSet::new();
        for (at, n) in &self.words {
            stored_words(&code[*at])[*n].each_reg(&mut |r| {
                registers.insert(r);
            });
        }
        registers.retain(|r| !need[*r as usize]);
        registers
    }

    /// Begins a walk of all warps with what the walk before it found.
    /// `look_up` says whether values of words are looked up.
    pub(crate) fn begin(&mut self, a: &mut Arena, look_up: bool) {
        let (stores, mut loads) = (std::mem::take(&mut self.stores), std::mem::take(&mut self.loads));
        (self.known, self.stored, self.slots) = Default::default();
        loads.retain(|_| look_up);
        let (mut refused, mut ahead) = (BTreeSet::new(), BTreeMap::new());
        for load in &loads {
            let key = (load.warp.0, load.at);
            let first = |n: usize| ahead.get(&(load.warp, n)).copied().unwrap_or(0);
            let mut found = (0..stores.len()).filter(|n| is_of_turn(a, &stores[*n], load, first(*n)));
            let one = found.next().map(|n| (n, first(n)));
            // A slot has one writer.
            let Some((n, first)) = one.filter(|_| found.next().is_none()) else {
                refused.insert(key);
                continue;
            };
            if load.header.is_none() {
                *ahead.entry((load.warp, n)).or_default() += 1;
            }
            let store = &stores[n];
            let post = Post { value: self.value(a, store), first };
            if self.known.get(&key).is_some_and(|known| *known != post) {
                // Warps that execute one load must all read the same word by it.
                refused.insert(key);
                continue;
            }
            let (low, high) = a.range(store.address);
            self.slots.insert((load.warp.0, low, high + i64::from(store.bytes)));
            self.stored.insert(store.at.0);
            self.known.insert(key, post);
        }
        self.known.retain(|key, _| !refused.contains(key));
        self.words = stores.iter().filter(|s| self.stored.contains(&s.at.0)).map(|s| s.at).collect();
    }

    /// The value of a word over the turn.
    fn value(&mut self, a: &mut Arena, store: &Access) -> Term {
        let header = store.header.unwrap_or(NO_LOOP);
        let of_turn = |x: Atom| matches!(x, Atom::Param(..) | Atom::Place(_)) || x == Atom::Counter(header);
        match store.value {
            Some(t) if !a.mentions(t, |x| !of_turn(x)) && !a.reads_words(t) => a.of_no_loop(t, header),
            _ => {
                let next = self.places.len() as i64;
                let place = *self.places.entry((store.warp.0, store.at)).or_insert(next % MOST);
                let turn = a.atom(Atom::Counter(NO_LOOP));
                let turn = a.scale(turn, TURN);
                let address = a.plus(turn, POSTED + place);
                a.op(Op::Load, &[address])
            }
        }
    }

    /// The instruction of an operation that may write to a slot and is no store of its words. `touched` has the bytes that
    /// an operation accesses.
    pub(crate) fn overwritten(
        &self,
        a: &Arena,
        list: &[Merged],
        warps: u32,
        touched: &dyn Fn(&Effect, usize) -> Vec<Run>,
    ) -> Option<usize> {
        let mut bad = None;
        if self.slots.is_empty() {
            return bad;
        }
        each_op(list, &mut |at, (warp, _, e)| {
            let far = match e {
                Effect::Touch(Touch::Write, _) if self.stored.contains(&at) => return,
                Effect::Touch(Touch::Read, _) | Effect::Far { what: Touch::Read, .. } => return,
                Effect::Touch(..) => false,
                Effect::BulkLoad { multicast, cta, .. } => multicast.is_some() || cta.is_some(),
                Effect::Far { .. } => true,
                _ => return,
            };
            let meets = |(t, n): &Run| {
                let (low, high) = a.range(*t);
                let of_cta = |rank: u32| far || rank == warp / warps;
                self.slots.iter().any(|(r, from, to)| of_cta(*r) && low < *to && *from < high + i64::from(*n))
            };
            if touched(e, at).iter().any(meets) {
                bad.get_or_insert(at);
            }
        });
        bad
    }
}

/// Whether a load reads, in each turn, the slot that the writer fills in the turn that is `first` turns later.
fn is_of_turn(a: &mut Arena, store: &Access, load: &Access, first: i64) -> bool {
    let Some(writer) = store.header.filter(|_| store.always && load.always) else { return false };
    if store.warp.0 != load.warp.0 || store.warp == load.warp || store.bytes != load.bytes {
        return false;
    }
    let turn = turn(a, load.header, first);
    a.at_iteration(store.address, writer, turn) == load.address
}

/// The turn of a load, by the first block of the loop around it.
fn turn(a: &mut Arena, header: Option<u32>, first: i64) -> Term {
    match header {
        Some(header) => {
            let i = a.atom(Atom::Counter(header));
            a.plus(i, first)
        }
        None => a.int(first),
    }
}

/// The words that a store stores.
fn stored_words(i: &Inst) -> &[Arg] {
    match i.arg(1) {
        Arg::List(list) => list,
        one => std::slice::from_ref(one),
    }
}

impl Walk<'_, '_> {
    /// The first block of the only loop around the walk, and whether every turn comes here. `None` in a loop of a loop.
    fn turns(&self) -> Option<(Option<u32>, bool)> {
        let certain = self.unsure == 0;
        match self.frames.as_slice() {
            [] => Some((None, certain)),
            [f] => {
                let header = self.s.flow.loops[f.index].header as u32;
                Some((Some(header), certain && self.path.len() == f.path))
            }
            _ => None,
        }
    }

    /// Notes the words that one warp stores at an address of all lanes that store.
    pub(crate) fn posts(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        if self.dry > 0 || self.timing().is_some() {
            return Ok(());
        }
        let Some((header, always)) = self.turns() else { return Ok(()) };
        let (words, to) = (stored_words(i), self.operand(i.arg(0))?);
        let bytes = bytes_of(i) / words.len().max(1) as u32;
        let Some(address) = to.uniform(self.lanes).filter(|t| bytes == 4 && !self.opaque(*t)) else { return Ok(()) };
        for (n, word) in words.iter().enumerate() {
            let value = self.operand(word)?.uniform(self.lanes);
            let address = self.s.arena.plus(address, n as i64 * i64::from(bytes));
            let warp = (self.s.rank, self.warp);
            self.s.posts.stores.push(Access { at: (at, n), warp, header, always, address, bytes, value });
        }
        Ok(())
    }

    /// The value of the `n`-th word that an instruction loads, if another warp posts it in each turn.
    pub(crate) fn posted(&mut self, at: usize, n: usize, i: &Inst, address: Term, bytes: u32) -> Option<Val> {
        if self.timing().is_some() {
            return None;
        }
        let (header, always) = self.turns()?;
        let (warp, at) = ((self.s.rank, self.warp), (at, n));
        if self.dry == 0 {
            self.s.posts.loads.push(Access { at, warp, header, always, address, bytes, value: None });
        }
        let Post { value, first } = self.s.posts.known.get(&(warp.0, at)).cloned()?;
        self.s.assume(
            i.line,
            "roles read the words that another warp stores for them in order, those of one turn in each turn",
        );
        let turn = turn(&mut self.s.arena, header, first);
        Some(Val::Uni(self.s.arena.at_iteration(value, NO_LOOP, turn)))
    }
}
