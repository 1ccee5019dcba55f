//! What terms read: memory, and the iteration of a loop.

use rustc_hash::FxHashMap;

use super::{Arena, Atom, Node, Op, Term, WORDS};

/// The header of the counter that belongs to no loop. Conditions of trip counts are over it, so that loops with equal
/// conditions have equal counts.
pub const NO_LOOP: u32 = u32::MAX;

/// Which memory a term reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Any.
    any: bool,
    /// Words that the kernel may change.
    words: bool,
}

/// A sum with a multiple of the iteration of a loop.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The constant.
    pub constant: i64,
    /// Other parts, with their factors.
    pub rest: Vec<(Term, i64)>,
    /// The factor of the iteration.
    pub by: i64,
}

impl Arena {
    /// A term in which other terms replace atoms.
    pub fn replace(&mut self, t: Term, with: &FxHashMap<Term, Term>, memo: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(x) = with.get(&t).or(memo.get(&t)) {
            return *x;
        }
        let new = match self.node(t).clone() {
            Node::Const(_) | Node::Atom(_) => t,
            Node::Sum(k, parts) => self.sum_of(k, &parts, &mut |a, x| a.replace(x, with, memo)),
            Node::Op(op, args) => {
                let args: Vec<Term> = args.iter().map(|x| self.replace(*x, with, memo)).collect();
                self.op(op, &args)
            }
            Node::Table(i, first, cycle) => {
                let i = self.replace(i, with, memo);
                self.table(i, first.to_vec(), cycle.to_vec())
            }
        };
        memo.insert(t, new);
        new
    }

    /// Whether a term contains an atom for which `f` is true.
    pub fn mentions(&self, t: Term, f: impl Fn(Atom) -> bool) -> bool {
        self.atoms[t as usize].iter().any(|a| f(*a))
    }

    /// Whether a term reads a word that the kernel may change.
    pub fn reads_words(&self, t: Term) -> bool {
        self.memory[t as usize].words
    }

    /// Whether a term reads a word of memory.
    pub fn reads_memory(&self, t: Term) -> bool {
        self.memory[t as usize].any
    }

    /// What a node reads, by what its operands do.
    pub(super) fn memory_of(&self, n: &Node) -> Memory {
        let operands = self.operands(n).into_iter().map(|t| self.memory[t as usize]);
        let mut all =
            operands.fold(Memory::default(), |x, y| Memory { any: x.any || y.any, words: x.words || y.words });
        if let Node::Op(Op::Load, args) = n {
            all.any = true;
            all.words |= self.constant(args[0]).is_some_and(|at| at >= WORDS);
        }
        all
    }

    /// Whether a term is or contains another one.
    pub fn has(&self, t: Term, part: Term) -> bool {
        t == part
            || match self.node(t) {
                Node::Const(_) | Node::Atom(_) => false,
                Node::Sum(_, parts) => parts.iter().any(|(x, _)| self.has(*x, part)),
                Node::Op(_, args) => args.iter().any(|x| self.has(*x, part)),
                Node::Table(i, ..) => self.has(*i, part),
            }
    }

    /// Whether a term has the value of one of these functions.
    pub fn calls(&self, t: Term, functions: &std::collections::BTreeSet<i64>) -> bool {
        match self.node(t) {
            Node::Const(_) | Node::Atom(_) => false,
            Node::Sum(_, parts) => parts.iter().any(|(x, _)| self.calls(*x, functions)),
            Node::Op(Op::Load, args) if self.constant(args[0]).is_some_and(|at| functions.contains(&at)) => true,
            Node::Op(_, args) => args.iter().any(|x| self.calls(*x, functions)),
            Node::Table(i, ..) => self.calls(*i, functions),
        }
    }

    /// The variables that a term reads, each once.
    pub fn vars(&self, t: Term) -> impl Iterator<Item = u32> + '_ {
        self.atoms[t as usize].iter().filter_map(|a| if let Atom::Var(v) = a { Some(*v) } else { None })
    }

    /// A term of which the iteration of a loop is another one.
    pub fn at_iteration(&mut self, t: Term, header: u32, iteration: Term) -> Term {
        let counter = self.atom(Atom::Counter(header));
        self.replace(t, &FxHashMap::from_iter([(counter, iteration)]), &mut FxHashMap::default())
    }

    /// A sum with a multiple of the iteration of a loop. `None` if another part reads the iteration, too.
    pub fn linear(&mut self, t: Term, header: u32) -> Option<Linear> {
        let i = self.atom(Atom::Counter(header));
        let (constant, parts) = self.parts(t);
        let by = parts.iter().find(|(x, _)| *x == i)?.1;
        let rest: Vec<(Term, i64)> = parts.iter().copied().filter(|(x, _)| *x != i).collect();
        let free = rest.iter().all(|(x, _)| !self.mentions(*x, |a| a == Atom::Counter(header)));
        free.then_some(Linear { constant, rest, by })
    }

    /// The number of iterations before a sum that falls by a multiple of the iteration is negative, if it is not negative
    /// at first.
    pub fn falls(&mut self, t: Term, header: u32) -> Option<Term> {
        let Linear { constant, rest, by } = self.linear(t, header).filter(|l| l.by < 0)?;
        let (rest, by) = (self.sum(constant, rest), self.int(-by));
        let q = self.div(rest, by);
        Some(self.plus(q, 1))
    }

    /// A term over the iteration of a loop, as one over the counter that belongs to no loop.
    pub fn of_no_loop(&mut self, t: Term, header: u32) -> Term {
        let any = self.atom(Atom::Counter(NO_LOOP));
        self.at_iteration(t, header, any)
    }

    /// A term over the counter that belongs to no loop, in the iteration of this number.
    pub fn at_number(&mut self, t: Term, n: i64) -> Term {
        let n = self.int(n);
        self.at_iteration(t, NO_LOOP, n)
    }
}
