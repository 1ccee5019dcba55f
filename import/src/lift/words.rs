//! Words of memory that the kernel itself may change: each read of one is a value that nothing is known of.
//!
//! Two warps get the same value from shared memory where they execute the same instruction in the same iteration, at the same
//! address, behind the same waits. A write between both reads would then be unordered with one of them, which the verifier
//! finds as a race. Other reads are values of their own.

use crate::ptx::Inst;
use crate::symbolic::{Atom, Op, Term};

use super::tree::{Effect, Val};
use super::walk::Walk;

/// What tells the reads of words apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Word {
    /// The instruction, and the register that it fills.
    at: (usize, usize),
    /// The address, where all lanes read one.
    address: Option<Term>,
    /// What the warp has waited for before.
    history: u32,
    /// The CTA of the cluster.
    rank: u32,
    /// The warp and the lane, where others may get another value.
    reader: Option<(u32, u32)>,
}

/// Where words stand among addresses of global memory.
const WORDS: i64 = 1 << 59;

impl Walk<'_, '_> {
    /// Continues the history of what the warp has waited for.
    pub(super) fn remember(&mut self, what: (usize, Term, Term)) {
        let next = self.s.histories.len() as u32 + 1;
        self.history = *self.s.histories.entry((self.history, what)).or_insert(next);
    }

    /// Continues the history behind both ways of a branch.
    pub(super) fn remember_either(&mut self, at: usize, cond: Term, ways: &[u32]) {
        let [a, b] = *ways else { return };
        self.history = a;
        if a != b {
            self.remember((at, cond, b));
        }
    }

    /// Notes an operation that waits for other warps.
    pub(super) fn waited(&mut self, at: usize, e: &Effect) {
        match e {
            Effect::Bar(id, n, _) => {
                let (id, n) = (self.s.arena.int(*id), self.s.arena.int(*n));
                self.remember((at, id, n));
            }
            Effect::Wait(bar, parity) => self.remember((at, *bar, *parity)),
            Effect::ClusterWait | Effect::GridWait => self.remember((at, 0, 0)),
            _ => {}
        }
    }

    /// What an instruction reads into its `n`-th register, from shared memory at an address that all lanes share.
    pub(super) fn shared_word(&mut self, at: usize, n: usize, address: Term) -> Val {
        let (history, rank) = (self.history, self.s.rank);
        let word = Word { at: (at, n), address: Some(address), history, rank, reader: None };
        Val::Uni(self.word(word))
    }

    /// What an instruction reads into its `n`-th register, where other warps may read something else.
    pub(super) fn own_word(&mut self, at: usize, n: usize, i: &Inst, lanes_agree: bool) -> Val {
        let (rank, warp) = (self.s.rank, self.warp);
        let of = |s: &mut Self, lane: u32| {
            s.word(Word { at: (at, n), address: None, history: 0, rank, reader: Some((warp, lane)) })
        };
        if lanes_agree {
            self.s.assume(i.line, "lanes of a warp that load one word at one instruction get the same value");
            return Val::Uni(of(self, 0));
        }
        Val::of(std::array::from_fn(|l| of(self, l as u32)))
    }

    fn word(&mut self, word: Word) -> Term {
        let next = self.s.words.len() as i64;
        let id = *self.s.words.entry(word).or_insert(next);
        let mut args = vec![self.s.arena.int(WORDS + id)];
        for f in &self.frames {
            let header = self.s.flow.loops[f.index].header as u32;
            args.push(self.s.arena.atom(Atom::Counter(header)));
        }
        self.s.arena.op(Op::Load, &args)
    }
}
