//! Words of memory that the kernel itself may change: each read of such a word has an unknown value.
//!
//! Two warps read the same value from shared memory under four conditions: the same instruction, the same iteration,
//! the same address, and the same waits before it. A write between the two reads would have no order with one of them,
//! and the verifier would report a race. All other reads have separate values.
//!
//! Behind a barrier of all threads, only that barrier and those before it count, where all of them stand outside of loops:
//!
//! ```text
//!   warp 0:  wait full     bar.sync   ld.shared done
//!   warp 1:  wait empty    bar.sync   ld.shared done     the same value
//! ```
//!
//! Both reads stand between the same two barriers. A write between the two reads would follow the first barrier, and a
//! wait behind that barrier would order the write before one of them.

use crate::lift::tree::{Effect, Val};
use crate::ptx::{Arg, Inst};
use crate::symbolic::{Arena, Atom, FUNCTIONS, Op, Term, WORDS};

use super::Walk;

/// The identity of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Word {
    /// The instruction, and the register that it writes.
    pub(crate) at: (usize, usize),
    /// The address, if all lanes read the same one.
    pub(crate) address: Option<Term>,
    /// The waits of the warp before it ([`History::waits`]).
    history: u32,
    /// The CTA of the cluster.
    pub(crate) rank: u32,
    /// The warp and the lane, if others may read another value.
    reader: Option<(u32, u32)>,
}

/// What a warp has waited for, as numbers from [`Shared::histories`](super::shared::Shared::histories).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// The waits that count.
    waits: u32,
    /// The barriers of all threads. `None` where some of them stand in loops, or where lanes pass them apart.
    barriers: Option<u32>,
}

impl Default for History {
    fn default() -> History {
        History { waits: 0, barriers: Some(0) }
    }
}

/// The assumption about generic addresses.
pub(crate) const POINTERS: &str = "pointers that come from arguments or memory do not point into shared memory";

impl Walk<'_, '_> {
    /// Adds an operation to the history of the warp's waits.
    pub(crate) fn remember(&mut self, what: (usize, Term, Term)) {
        self.history.waits = self.history_of(self.history.waits, what);
    }

    /// The number of a history and an operation behind it.
    fn history_of(&mut self, history: u32, what: (usize, Term, Term)) -> u32 {
        let next = self.s.histories.len() as u32 + 1;
        *self.s.histories.entry((history, what)).or_insert(next)
    }

    /// Goes back to the history before a loop whose iterations end with another one.
    pub(crate) fn remember_loop(&mut self, at: usize, before: History) {
        let ending = self.history;
        self.history = History { waits: before.waits, barriers: before.barriers.and(ending.barriers) };
        self.remember((at, ending.waits, 0));
    }

    /// Adds a barrier of the CTA to the history of barriers, and forgets the waits before one of all threads.
    fn remember_barrier(&mut self, what: (usize, Term, Term), threads: i64, waits: bool) {
        let all: i64 = self.s.block.iter().map(|n| i64::from(*n)).product();
        if threads != all {
            return;
        }
        let once = self.frames.is_empty() && self.unsure == 0 && self.lanes == self.all_lanes;
        self.history.barriers = self.history.barriers.filter(|_| once).map(|before| self.history_of(before, what));
        if let (true, Some(barriers)) = (waits, self.history.barriers) {
            self.history.waits = barriers;
        }
    }

    /// Joins the histories of both sides of a branch.
    pub(crate) fn remember_either(&mut self, at: usize, cond: Term, ways: &[History]) {
        let [a, b] = *ways else { return };
        self.history = a;
        if a.waits != b.waits {
            self.remember((at, cond, b.waits));
        }
        if a.barriers != b.barriers {
            let both = a.barriers.zip(b.barriers);
            self.history.barriers = both.map(|(a, b)| self.history_of(a, (at, cond, b)));
        }
    }

    /// Records an operation that waits for other warps.
    pub(crate) fn waited(&mut self, at: usize, e: &Effect) {
        if matches!(e, Effect::Wait(..) | Effect::WaitState(..) | Effect::ClusterWait | Effect::GridWait) {
            self.fresh = None;
        }
        match e {
            Effect::Bar(id, threads, waits) => {
                let (id, n) = (self.s.arena.int(*id), self.s.arena.int(*threads));
                self.remember((at, id, n));
                self.remember_barrier((at, id, n), *threads, *waits);
            }
            Effect::Wait(bar, parity) => self.remember((at, *bar, *parity)),
            Effect::WaitState(bar, _) => self.remember((at, *bar, 0)),
            Effect::ClusterWait | Effect::GridWait => self.remember((at, 0, 0)),
            _ => {}
        }
    }

    /// The value that an instruction reads into its `n`-th register, from shared memory at an address that all lanes
    /// share.
    pub(crate) fn shared_word(&mut self, at: usize, n: usize, address: Term) -> Val {
        let (history, rank) = (self.history.waits, self.s.rank);
        let word = Word { at: (at, n), address: Some(address), history, rank, reader: None };
        Val::Uni(self.word(word))
    }

    /// The value that an instruction reads into its `n`-th register, if other warps may read another value.
    pub(crate) fn own_word(&mut self, at: usize, n: usize, i: &Inst, lanes_agree: bool) -> Val {
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

    /// The result of an instruction on the values of each lane. If it is not tracked and the operands are values of the
    /// launch, it is a function of these values without a meaning: equal operands give equal results.
    pub(crate) fn result(
        &mut self,
        i: &Inst,
        args: &[Val],
        mut f: impl FnMut(&mut Arena, &[Term]) -> Option<Term>,
        why: &str,
    ) -> Val {
        // Most instructions are computed: the name of the function is made when it is needed.
        let mut functions = std::mem::take(&mut self.s.functions);
        let mut named = None;
        // What words of memory decide for a whole warp, and the lane that a vote picks, where lanes search.
        let decides = matches!(i.op.as_str(), "setp" | "brev" | "bfind" | "popc" | "clz")
            && !self.s.searches.is_empty()
            && args.iter().all(|v| matches!(v, Val::Uni(_)));
        let mut function = |a: &mut Arena, x: &[Term]| {
            let mut any = false;
            let mut of_launch = |y: Atom| {
                any = true;
                matches!(y, Atom::Param(..) | Atom::Place(_))
            };
            let read = x.iter().zip(i.args_from(1)).filter(|(_, a)| !matches!(a, Arg::Float(_))).map(|(t, _)| *t);
            let read: Vec<Term> = read.collect();
            let known = read.iter().all(|t| {
                let mut all = true;
                a.each_atom(*t, &mut |y| {
                    all &= of_launch(y) || decides && matches!(y, Atom::Counter(_) | Atom::Carried(..))
                });
                all && (decides || !a.reads_words(*t))
            });
            if !known || !any {
                return None;
            }
            let (id, opposite) = *named.get_or_insert_with(|| {
                // Floating-point constants are part of the function.
                let constants = i.args.iter().zip(0u64..).filter_map(|(a, n)| match a {
                    Arg::Float(bits) => Some([n, *bits]),
                    _ => None,
                });
                let (name, opposite) = function_of(i);
                let next = functions.len() as i64;
                (*functions.entry((name, constants.flatten().collect())).or_insert(next), opposite)
            });
            if i.op == "setp" {
                a.predicates.insert(FUNCTIONS + id);
            }
            if matches!(i.op.as_str(), "popc" | "clz") {
                a.natural_functions.insert(FUNCTIONS + id, Vec::new());
            }
            let name = a.int(FUNCTIONS + id);
            let all: Vec<Term> = std::iter::once(name).chain(read).collect();
            let t = a.op(Op::Load, &all);
            Some(if opposite { a.not(t) } else { t })
        };
        let v = self.each(args, |a, x| f(a, x).or_else(|| function(a, x)), why);
        self.s.functions = functions;
        v
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

/// The function that an instruction computes, by name, and whether the instruction computes the opposite. A comparison that
/// also holds for numbers that are none, such as `neu`, is the opposite of one that does not.
fn function_of(i: &Inst) -> (String, bool) {
    const OPPOSITES: [(&str, &str); 6] =
        [("neu", "eq"), ("equ", "ne"), ("ltu", "ge"), ("leu", "gt"), ("gtu", "le"), ("geu", "lt")];
    let name = i.name();
    let unordered = OPPOSITES.iter().find(|(word, _)| i.op == "setp" && i.has(word));
    match unordered.filter(|_| !i.has("and") && !i.has("or") && !i.has("xor")) {
        Some((word, other)) => (name.replacen(&format!(".{word}"), &format!(".{other}"), 1), true),
        None => (name, false),
    }
}

impl Walk<'_, '_> {
    /// Whether a generic address is in shared memory.
    pub(crate) fn is_shared(&mut self, i: &Inst, v: &Val) -> bool {
        if i.mods.iter().any(|m| m.starts_with("shared")) {
            return true;
        }
        if i.has("global") || i.has("local") || i.has("const") || i.has("param") {
            return false;
        }
        let t = v.at(self.lanes.trailing_zeros().min(31) as usize);
        let mut pointer = false;
        self.s.arena.each_atom(t, &mut |a| pointer |= matches!(a, Atom::Param(..) | Atom::Opaque(_)));
        // Data may choose a place in shared memory.
        if pointer && !self.s.pointers.elsewhere(i) {
            return true;
        }
        if pointer {
            self.s.assume(i.line, POINTERS);
        }
        !pointer
    }
}
