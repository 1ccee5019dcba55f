//! Tickets: a thread takes the next number of an atomic counter in each iteration, and hands it to the other warps.
//!
//! ```text
//!   for ..:                                 for ..:
//!     wait free                               wait full
//!     t = atomicAdd(counter, 1)               t = word
//!     word = t                                arrive free
//!     arrive full                             if t >= tiles: break
//!     if t >= tiles: break                    <tile t>
//! ```
//!
//! Each signal of the barrier `full` follows one store, and each read of the word follows a wait for `full`. So what a warp
//! reads in its n-th iteration is the n-th ticket of the CTA. Other CTAs take tickets, too. So the first one may be any
//! number, and the next ones any larger numbers.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::facts::slice::writes;
use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::tree::{Effect, Run, Touch};
use crate::lift::walk::shared::Shared;
use crate::lift::walk::words;
use crate::ptx::{Arg, Inst};
use crate::symbolic::{Term, WORDS};

/// Bytes of a word.
const WORD: i64 = 4;

/// The reads of tickets, by the number of the word in a term, and the address of the word that hands them on.
pub(crate) fn tickets(s: &Shared<'_>, tree: &[Merged]) -> BTreeMap<i64, i64> {
    let addresses: BTreeSet<Term> = s.words.keys().filter_map(|w| w.address).collect();
    let mut found = BTreeMap::new();
    for address in addresses {
        let Some(word) = s.arena.constant(address).filter(|_| s.ctas() == 1) else { continue };
        let Some(taken) = handed(s, tree, word) else { continue };
        let is_read = |w: &words::Word| w.address == Some(address) || w.address.is_none() && w.at.0 == taken;
        found.extend(s.words.iter().filter(|(w, _)| is_read(w)).map(|(_, id)| (WORDS + id, word)));
    }
    found
}

/// The atomic addition whose result is stored to a word, if each read of the word finds the store of its iteration.
fn handed(s: &Shared<'_>, tree: &[Merged], word: i64) -> Option<usize> {
    let store =
        only(tree, &mut |e| matches!(e, Effect::Touch(what, runs) if *what != Touch::Read && meets(s, runs, word)))?;
    let taken = source(s, store)?;
    let mut shape = Shape { s, word, store, full: None, holds: true };
    shape.list(tree, false);
    let (full, arrive) = shape.full.filter(|_| shape.holds)?;
    let is_full = |t: Term| s.arena.constant(t) == Some(full);
    // The barrier completes a phase for each store.
    let signals = only(tree, &mut |e| match e {
        Effect::Arrive { bar, .. } | Effect::Expect { bar, .. } | Effect::TensorCommit { bar, .. } => is_full(*bar),
        Effect::BulkLoad { bar, .. } | Effect::CopyArrive(bar, _) => is_full(*bar),
        _ => false,
    });
    let one = |t: Term| s.arena.constant(t) == Some(1);
    let init = only(tree, &mut |e| matches!(e, Effect::Init(bar, count) if is_full(*bar) && one(*count)));
    (signals == Some(arrive) && init.is_some()).then_some(taken)
}

/// The instruction with an effect of a kind, if only one has.
fn only(tree: &[Merged], f: &mut dyn FnMut(&Effect) -> bool) -> Option<usize> {
    let mut found = BTreeSet::new();
    each_op(tree, &mut |at, (.., e)| found.extend(f(e).then_some(at)));
    found.first().copied().filter(|_| found.len() == 1)
}

/// Whether runs may have bytes of a word.
fn meets(s: &Shared<'_>, runs: &[Run], word: i64) -> bool {
    runs.iter().any(|(t, n)| {
        let (low, high) = s.arena.range(*t);
        low < word + WORD && word < high + i64::from(*n)
    })
}

/// The atomic addition of a number to a word of global memory whose result an instruction stores.
fn source(s: &Shared<'_>, store: usize) -> Option<usize> {
    let code = &s.entry.code;
    let Some(Arg::Reg(value)) = code.get(store).filter(|i| i.op == "st")?.args.get(1) else { return None };
    let sets = |i: &Inst| {
        let mut found = false;
        writes(i, &mut |r| found |= r == *value);
        found
    };
    let mut sources = (0..code.len()).filter(|at| sets(&code[*at]));
    let taken = sources.next().filter(|_| sources.next().is_none())?;
    let i = &code[taken];
    let adds = i.op == "atom" && i.has("global") && i.has("add") && matches!(i.args.get(2), Some(Arg::Int(1)));
    adds.then_some(taken)
}

/// Where the store and the reads of a word stand.
struct Shape<'s, 'a> {
    s: &'s Shared<'a>,
    word: i64,
    store: usize,
    /// The barrier that is signaled behind each store, and the instruction that does.
    full: Option<(i64, usize)>,
    holds: bool,
}

impl Shape<'_, '_> {
    /// Looks at a list. `reads` says whether reads are looked at, and not the store.
    fn list(&mut self, list: &[Merged], reads: bool) {
        self.pass(list, reads);
        if !reads {
            self.pass(list, true);
        }
    }

    fn pass(&mut self, list: &[Merged], reads: bool) {
        for (n, node) in list.iter().enumerate() {
            match &node.kind {
                MergedKind::If(_, a, b) => {
                    self.pass(a, reads);
                    self.pass(b, reads);
                }
                MergedKind::For(_, _, body) => self.pass(body, reads),
                MergedKind::Op(ops) if reads => {
                    let is_read =
                        |e: &Effect| matches!(e, Effect::Touch(Touch::Read, runs) if meets(self.s, runs, self.word));
                    if ops.iter().any(|(.., e)| is_read(e)) {
                        self.holds &= self.waits(&list[..n]);
                    }
                }
                MergedKind::Op(ops) if node.at == self.store => {
                    let one = ops.len() == 1 && ops[0].1.count_ones() == 1;
                    let next = self.signal(&list[n + 1..]);
                    self.holds &= one && next.is_some() && (self.full.is_none() || self.full == next);
                    self.full = self.full.or(next);
                }
                _ => {}
            }
        }
    }

    /// The barrier that one thread signals next, and the instruction.
    fn signal(&self, behind: &[Merged]) -> Option<(i64, usize)> {
        let first = behind.iter().find_map(|n| match &n.kind {
            MergedKind::Op(ops) => ops.iter().find_map(|(.., e)| match e {
                Effect::Arrive { bar, count, expect: None, cta: None, drop: false, .. } => Some((*bar, *count, n.at)),
                _ => None,
            }),
            _ => None,
        });
        let (bar, count, at) = first?;
        (self.s.arena.constant(count) == Some(1)).then_some((self.s.arena.constant(bar)?, at))
    }

    /// Whether the last wait of these nodes is one for the barrier.
    fn waits(&self, before: &[Merged]) -> bool {
        let last = before.iter().rev().find_map(|n| match &n.kind {
            MergedKind::Op(ops) => ops.iter().find_map(|(.., e)| match e {
                Effect::Wait(bar, _) => Some(*bar),
                _ => None,
            }),
            _ => None,
        });
        last.is_some_and(|bar| self.full.is_some_and(|(full, _)| self.s.arena.constant(bar) == Some(full)))
    }
}
