//! The shape of terms: what they compute of the lane and of registers that a loop changes.
//!
//! Whatever else a term reads is an operand of the function that the shape names: `8 * lane + max(arg3, 0)` is
//! `8 * lane + a0` of `max(arg3, 0)`. A shape is a text of nodes in the order in which they are reached. Operands that can be
//! swapped are in the order of their own shapes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::ptx::Reg;
use crate::symbolic::{Arena, Atom, FUNCTIONS, NO_LOOP, Node, Op, Term};

/// The lane, in a term that stands for the values of all lanes of a warp.
pub(crate) const LANE: Atom = Atom::Counter(NO_LOOP - 1);

/// The name of the function that picks the value of a lane of a register at the start of an iteration.
pub(crate) const CARRIED: i64 = FUNCTIONS - 2;

/// The lane of the values at the start of an iteration of a loop that is evaluated as a function.
pub(crate) const INNER: u8 = 34;

/// A shape that is being written.
#[derive(Default)]
pub(crate) struct Shape {
    /// The text.
    pub(crate) text: String,
    /// The terms that are operands, in order. None of them reads the lane.
    pub(crate) read: Vec<Term>,
    /// Atoms of registers that the loop with this header changes, in order.
    pub(crate) carried: Vec<Atom>,
    header: Option<u32>,
    /// Numbers that tell apart registers at the start of an iteration.
    colors: BTreeMap<Atom, u64>,
    nodes: FxHashMap<Term, usize>,
    hashes: FxHashMap<Term, u64>,
}

impl Shape {
    /// A shape over the registers of a loop, with what an iteration makes of each.
    pub(crate) fn of_loop(a: &mut Arena, header: u32, next: impl Iterator<Item = (Reg, Term)>) -> Shape {
        let mut shape = Shape { header: Some(header), ..Shape::default() };
        let colors = next.map(|(r, t)| (Atom::Carried(header, r, INNER), shape.hash(a, t))).collect();
        Shape { header: Some(header), colors, ..Shape::default() }
    }

    /// Adds a term.
    pub(crate) fn add(&mut self, a: &mut Arena, t: Term) {
        let n = self.node(a, t);
        let _ = write!(self.text, "{n};");
    }

    fn node(&mut self, a: &mut Arena, t: Term) -> usize {
        if let Some(n) = self.nodes.get(&t) {
            return *n;
        }
        let mut text = String::new();
        let _ = match a.node(t).clone() {
            _ if self.is_operand(a, t) => write!(text, "a{}", place(&mut self.read, t)),
            Node::Const(v) => write!(text, "{v}"),
            Node::Atom(LANE) => write!(text, "lane"),
            Node::Atom(x) => write!(text, "c{}", place(&mut self.carried, x)),
            Node::Sum(k, parts) => {
                // All operands of a sum are one.
                let (own, mut parts): (Vec<_>, Vec<_>) =
                    parts.iter().copied().partition(|(x, _)| self.is_operand(a, *x));
                parts.sort_by_key(|(x, c)| (self.hash(a, *x), *c));
                let operand = a.flat_sum(k, own);
                let operand = place(&mut self.read, operand);
                let list: Vec<(usize, i64)> = parts.iter().map(|(x, c)| (self.node(a, *x), *c)).collect();
                write!(text, "a{operand} + {list:?}")
            }
            Node::Op(op, args) => {
                let mut args = self.choice(a, op, &args);
                if commutes(op) {
                    args.sort_by_key(|x| self.hash(a, *x));
                }
                // Functions of one name alone have one meaning.
                let name = a.constant(args[0]).filter(|_| op == Op::Load);
                let list: Vec<usize> = args[usize::from(name.is_some())..].iter().map(|x| self.node(a, *x)).collect();
                write!(text, "{op:?} {name:?} {list:?}")
            }
            Node::Table(i, first, cycle) => {
                let i = self.node(a, i);
                write!(text, "{first:?} {cycle:?} {i}")
            }
        };
        let n = self.nodes.len();
        self.nodes.insert(t, n);
        let _ = write!(self.text, "{text}, ");
        n
    }

    /// Whether a term is an operand of the function.
    fn is_operand(&self, a: &Arena, t: Term) -> bool {
        let own = |x: Atom| x == LANE || matches!(x, Atom::Carried(h, _, INNER) if Some(h) == self.header);
        !a.mentions(t, own)
    }

    /// The operands of an operator. Of a condition and its opposite, one picks the sides of a choice.
    fn choice(&mut self, a: &mut Arena, op: Op, args: &[Term]) -> Vec<Term> {
        if op != Op::If || self.is_operand(a, args[0]) {
            return args.to_vec();
        }
        let opposite = a.not(args[0]);
        match self.hash(a, opposite) < self.hash(a, args[0]) {
            true => vec![opposite, args[2], args[1]],
            false => args.to_vec(),
        }
    }

    /// A number of a term's shape.
    fn hash(&mut self, a: &mut Arena, t: Term) -> u64 {
        if let Some(h) = self.hashes.get(&t) {
            return *h;
        }
        let mut state = FxHasher::default();
        match a.node(t).clone() {
            _ if self.is_operand(a, t) => "operand".hash(&mut state),
            Node::Atom(LANE) => "lane".hash(&mut state),
            Node::Const(_) => {}
            Node::Atom(x) => ("carried", self.colors.get(&x)).hash(&mut state),
            Node::Sum(_, parts) => {
                let own = parts.iter().filter(|(x, _)| !self.is_operand(a, *x));
                let mut all: Vec<(u64, i64)> =
                    own.copied().collect::<Vec<_>>().iter().map(|(x, c)| (self.hash(a, *x), *c)).collect();
                all.sort_unstable();
                all.hash(&mut state);
            }
            Node::Op(op, args) => {
                let args = self.choice(a, op, &args);
                let mut all: Vec<u64> = args.iter().map(|x| self.hash(a, *x)).collect();
                if commutes(op) {
                    all.sort_unstable();
                }
                (op, all).hash(&mut state);
            }
            Node::Table(i, first, cycle) => (self.hash(a, i), first, cycle).hash(&mut state),
        }
        let h = state.finish();
        self.hashes.insert(t, h);
        h
    }
}

fn commutes(op: Op) -> bool {
    matches!(op, Op::Mul | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor | Op::Both | Op::Either)
}

fn place<T: PartialEq>(list: &mut Vec<T>, x: T) -> usize {
    list.iter().position(|y| *y == x).unwrap_or_else(|| {
        list.push(x);
        list.len() - 1
    })
}
