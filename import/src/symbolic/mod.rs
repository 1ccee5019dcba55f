//! Symbolic integers: affine forms over atoms, hash-consed, so that equal terms have equal numbers.
//!
//! Values are treated as mathematical integers. Constants wrap as their instruction defines. The lift lists an
//! assumption that arithmetic on arguments does not overflow.

mod arith;
mod bits;
mod boolean;
mod follows;
mod known;
mod large;
mod long_magic;
mod memo;
mod merged;
mod numbers;
mod outcomes;
mod points;
mod pulled;
mod quotients;
mod range;
mod reads;
mod rounded;
mod settled;
mod sharpened;
mod show;
mod signs;
mod table;

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

pub use boolean::Facts;
pub use outcomes::Numbered;
pub use pulled::Sequence;
pub use range::Largest;
use reads::Memory;
pub use reads::{Linear, NO_LOOP};

/// Number of a term in its arena.
pub type Term = u32;

/// A term without structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// Bytes of a parameter: its position, and the offset into it.
    Param(u16, u32),
    /// A coordinate of the CTA.
    Place(Place),
    /// The index of an iteration, by the header block of the loop.
    Counter(u32),
    /// The value of a register at the start of an iteration, while its loop is being solved: header, register, lane. Lane 0
    /// stands for each lane where all have one value, others are counted from 1, and [`ALL_LANES`] is the list of all.
    Carried(u32, u32, u8),
    /// A variable of the program that is built.
    Var(u32),
    /// A sum that a loop bound depends on.
    Symbol(u32),
    /// A value of one iteration that depends on data.
    Data(u32),
    /// A value that is not tracked.
    Opaque(u32),
}

/// The number of all lanes together.
pub const ALL_LANES: u8 = 33;

/// A coordinate of the CTA, or a size of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// `%ctaid`, by dimension.
    Cta(u8),
    /// `%nctaid`.
    Ctas(u8),
    /// `%clusterid`.
    Cluster(u8),
    /// `%nclusterid`.
    Clusters(u8),
}

/// Operators on operands that are not constants. Booleans are 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Floor division by a positive constant, or by any term.
    Div,
    /// Its remainder.
    Rem,
    /// Division that rounds to zero.
    DivZero,
    /// Product of two terms.
    Mul,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift to the left by a term.
    Shl,
    /// `x < 0 ? c : 0`.
    IfNegative,
    /// High half of a product with a constant: operand, constant, bits (negative where the product is signed).
    MulHigh,
    /// `x >= 0`.
    Ge,
    /// `x == 0`.
    Eq,
    /// Logical not.
    Not,
    /// Logical and.
    Both,
    /// Logical or.
    Either,
    /// `c ? a : b`.
    If,
    /// A word of global memory that never changes and has an unknown value: address.
    Load,
    /// A trip count that is not tracked: its condition over a counter that belongs to no loop.
    Trips,
    /// How often a condition holds: the condition over a counter that belongs to no loop, and the number of iterations.
    HowOften,
}

/// The structure of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number.
    Const(i64),
    /// An atom.
    Atom(Atom),
    /// A constant and multiples of terms that are neither constants nor sums, by term.
    Sum(i64, Rc<[(Term, i64)]>),
    /// An operator.
    Op(Op, Rc<[Term]>),
    /// A sequence of numbers at an index: first some numbers, then a cycle that repeats.
    Table(Term, Rc<[i64]>, Rc<[i64]>),
}

/// Terms and their multiples.
type Parts = Rc<[(Term, i64)]>;

/// Parts of a packed number.
type Packed = Rc<[Term]>;

/// The constant of a dividend, the divisor, and the rounding of the quotient.
type Divisor = (i64, i64, Op);

/// The largest number of nodes of a term, counted as often as they are used.
const LARGEST: u64 = 20_000;

/// Where the words of memory that a kernel may change are placed in the address range of global memory.
pub const WORDS: i64 = 1 << 59;

/// Where functions of values of the launch are placed there.
pub const FUNCTIONS: i64 = 1 << 58;

/// The largest number of different atoms of a term.
const MOST_ATOMS: usize = 64;

/// All terms of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    nodes: Vec<Node>,
    /// Nodes in each term, counted as often as they are used.
    sizes: Vec<u64>,
    /// Atoms of each term.
    atoms: Vec<Rc<[Atom]>>,
    /// Which memory each term reads.
    memory: Vec<Memory>,
    /// Whether each term has variables or counters.
    passing: Vec<bool>,
    /// Results of operators.
    memo: memo::Memo,
    known: FxHashMap<Node, Term>,
    /// The term of each opaque value, and the reason why it is one. The first has number 1.
    opaque: Vec<(Term, Rc<str>)>,
    /// Divisors in use, by the dividend without its constant: constants and divisors.
    divisors: BTreeMap<Parts, Vec<Divisor>>,
    /// Bounds of variables, where they are known.
    var_ranges: FxHashMap<u32, (i64, i64)>,
    /// Largest values of counters, where they are known.
    counter_ranges: FxHashMap<u32, i64>,
    /// Bounds of symbols, where they are known.
    symbol_ranges: FxHashMap<u32, (i64, i64)>,
    /// Largest values of coordinates of the CTA, where the grid is known.
    place_ranges: FxHashMap<Place, i64>,
    /// The opaque values that are not negative.
    natural: rustc_hash::FxHashSet<u32>,
    /// Parameters that are not negative.
    natural_params: rustc_hash::FxHashSet<(u16, u32)>,
    /// Bounds of terms that were looked up.
    ranges: std::cell::RefCell<FxHashMap<Term, (i64, i64)>>,
    /// The same for terms with variables and counters, under their bounds.
    passing_ranges: std::cell::RefCell<FxHashMap<Term, (i64, i64)>>,
    /// The largest value of a term that is a number shifted to the right, and whether the number has no sign.
    shifted: FxHashMap<Term, (i64, bool)>,
    /// Values of terms that were enumerated; none where there are too many.
    noted: FxHashMap<Term, Option<Rc<[i64]>>>,
    /// Whether an unsigned division of a number without bounds was taken to be one of a number that is not negative.
    pub divides_unsigned: bool,
    /// Arguments by which the kernel divides with a factor and a shift that are arguments, too.
    pub host_divisors: std::collections::BTreeSet<Term>,
    /// Whether a size that an unsigned instruction compares was taken to be not negative.
    pub compares_unsigned: bool,
    /// Addresses that stand for functions whose value is 0 or 1 ([`Op::Load`]).
    pub predicates: std::collections::BTreeSet<i64>,
    /// Functions whose values are not negative where some of their operands are not.
    pub natural_functions: BTreeMap<i64, Vec<usize>>,
    /// By its name, the largest value of a function.
    pub largest: BTreeMap<i64, Largest>,
    /// What searches leave for each iteration, by what the iteration before makes.
    pub sequences: FxHashMap<Term, Sequence>,
    /// The parts of numbers that are packed from parts of this many bits, lowest first.
    packed: FxHashMap<(Term, u32), Packed>,
    /// The nodes that functions stand for.
    large: Vec<Node>,
    /// The same by node.
    large_numbers: FxHashMap<Node, usize>,
    /// Conditions with one outcome in all launches that are looked at.
    settled: FxHashMap<Term, bool>,
}

impl Arena {
    /// The term of a node.
    pub fn intern(&mut self, n: Node) -> Term {
        if let Some(t) = self.known.get(&n).copied() {
            return self.as_settled(t);
        }
        // A term that grows without limit becomes opaque or a function, so that traversing a term stays cheap.
        let of = |t: &Term| self.sizes[*t as usize];
        let size = 1 + match &n {
            Node::Const(_) | Node::Atom(_) => 0,
            Node::Sum(_, parts) => parts.iter().map(|(t, _)| of(t)).sum(),
            Node::Op(_, args) => args.iter().map(of).sum(),
            Node::Table(i, ..) => of(i),
        };
        let atoms = self.atoms_of(&n);
        if size > LARGEST || atoms.len() > MOST_ATOMS {
            let t = self.large(&n, &atoms, MOST_ATOMS);
            self.known.insert(n, t);
            return t;
        }
        let t = self.nodes.len() as Term;
        self.sizes.push(size);
        self.passing.push(Arena::are_passing(&atoms));
        self.atoms.push(atoms);
        self.memory.push(self.memory_of(&n));
        self.nodes.push(n.clone());
        self.known.insert(n, t);
        t
    }

    fn atoms_of(&self, n: &Node) -> Rc<[Atom]> {
        let of = |t: &Term| &self.atoms[*t as usize];
        let lists: Vec<&Rc<[Atom]>> = match n {
            Node::Const(_) => Vec::new(),
            Node::Atom(a) => return Rc::new([*a]),
            Node::Sum(_, parts) => parts.iter().map(|(t, _)| of(t)).collect(),
            Node::Op(_, args) => args.iter().map(of).collect(),
            Node::Table(i, ..) => vec![of(i)],
        };
        let longest = lists.iter().max_by_key(|l| l.len());
        match longest {
            None => Rc::new([]),
            Some(l) if lists.iter().all(|x| x.iter().all(|a| l.contains(a))) => (*l).clone(),
            Some(_) => {
                let mut all: Vec<Atom> = lists.iter().flat_map(|l| l.iter().copied()).collect();
                all.sort_unstable();
                all.dedup();
                all.into()
            }
        }
    }

    /// Sets or forgets the bounds of a variable.
    pub fn bound_var(&mut self, v: u32, bounds: Option<(i64, i64)>) {
        let old = match bounds {
            Some(b) => self.var_ranges.insert(v, b),
            None => self.var_ranges.remove(&v),
        };
        if old != bounds {
            self.forget_passing_bounds();
        }
    }

    /// The bounds of a variable, where they are known.
    pub fn var_bounds(&self, v: u32) -> Option<(i64, i64)> {
        self.var_ranges.get(&v).copied()
    }

    /// Sets the bounds of a symbol.
    pub fn bound_symbol(&mut self, symbol: u32, bounds: (i64, i64)) {
        self.symbol_ranges.insert(symbol, bounds);
        self.forget_bounds();
    }

    /// Sets the largest value of a coordinate of the CTA.
    pub fn bound_place(&mut self, place: Place, most: i64) {
        self.place_ranges.insert(place, most);
        self.forget_bounds();
    }

    /// Sets or forgets the largest value of a loop's counter.
    pub fn bound_counter(&mut self, header: u32, most: Option<i64>) {
        let old = match most {
            Some(b) => self.counter_ranges.insert(header, b),
            None => self.counter_ranges.remove(&header),
        };
        if old != most {
            self.forget_passing_bounds();
        }
    }

    /// Nodes in a term, counted as often as they are used.
    pub fn size(&self, t: Term) -> u64 {
        self.sizes[t as usize]
    }

    /// What a term is.
    pub fn node(&self, t: Term) -> &Node {
        &self.nodes[t as usize]
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A number.
    pub fn int(&mut self, v: i64) -> Term {
        self.intern(Node::Const(v))
    }

    /// An atom.
    pub fn atom(&mut self, a: Atom) -> Term {
        if let Atom::Opaque(n) = a
            && let Some((t, _)) = self.opaque.get((n as usize).wrapping_sub(1))
        {
            return *t;
        }
        self.intern(Node::Atom(a))
    }

    /// A new value that is not tracked. There are many, each made once, so none is looked up by its structure.
    pub fn opaque(&mut self, why: impl Into<Rc<str>>) -> Term {
        let t = self.nodes.len() as Term;
        self.opaque.push((t, why.into()));
        let a = Atom::Opaque(self.opaque.len() as u32);
        self.sizes.push(1);
        self.passing.push(false);
        self.atoms.push(Rc::new([a]));
        self.memory.push(Memory::default());
        self.nodes.push(Node::Atom(a));
        t
    }

    /// The reason for an opaque value.
    pub fn why(&self, n: u32) -> Option<&str> {
        self.opaque.get((n as usize).wrapping_sub(1)).map(|(_, why)| &**why)
    }

    /// The number, if the term is a constant.
    pub fn constant(&self, t: Term) -> Option<i64> {
        if let Node::Const(v) = self.node(t) { Some(*v) } else { None }
    }

    /// Remembers the parts that a number is packed from, lowest first. A part may be negative, so the parts do not follow
    /// from the number.
    pub fn pack(&mut self, t: Term, bits: u32, parts: &[Term]) {
        self.packed.insert((t, bits), parts.into());
    }

    /// A part of a number that was packed from parts of this many bits.
    pub fn part(&self, t: Term, bits: u32, n: usize) -> Option<Term> {
        self.packed.get(&(t, bits))?.get(n).copied()
    }

    /// The constant and the multiples of a sum.
    pub fn parts(&self, t: Term) -> (i64, Rc<[(Term, i64)]>) {
        match self.node(t) {
            Node::Const(v) => (*v, Rc::new([])),
            Node::Sum(k, parts) => (*k, parts.clone()),
            _ => (0, Rc::new([(t, 1)])),
        }
    }

    /// The term of a constant and multiples, in any order.
    pub fn sum(&mut self, k: i64, mut parts: Vec<(Term, i64)>) -> Term {
        parts.sort_unstable();
        let mut list: Vec<(Term, i64)> = Vec::with_capacity(parts.len());
        for (t, c) in parts {
            match list.last_mut() {
                Some((last, sum)) if *last == t => *sum = sum.wrapping_add(c),
                _ => list.push((t, c)),
            }
        }
        list.retain(|(_, c)| *c != 0);
        if let Some(t) = self.signs_of(k, &list).or_else(|| self.rounded_up(k, &list)) {
            return t;
        }
        if let Some(t) = self.remainder_of(k, &list).or_else(|| self.bits_between(k, &list)) {
            return t;
        }
        if let Some(t) = self.remainder_of_largest(k, &list).or_else(|| self.merged_sequences(k, &list)) {
            return t;
        }
        match (k, list.as_slice()) {
            (k, []) => self.int(k),
            (0, [(t, 1)]) => *t,
            _ => self.intern(Node::Sum(k, list.into())),
        }
    }

    /// The atoms of a term, each once.
    pub fn atoms(&self, t: Term) -> Rc<[Atom]> {
        self.atoms[t as usize].clone()
    }

    /// Calls `f` on each atom of a term, once.
    pub fn each_atom(&self, t: Term, f: &mut impl FnMut(Atom)) {
        self.atoms[t as usize].iter().for_each(|a| f(*a));
    }

    /// An operator on operands, simplified.
    pub fn op(&mut self, op: Op, args: &[Term]) -> Term {
        match Arena::key_of(op, args) {
            Some(key) => self.remembered(key, |a| a.computed(op, args)),
            None => self.computed(op, args),
        }
    }

    fn computed(&mut self, op: Op, args: &[Term]) -> Term {
        let at = |i: usize| args.get(i).map_or(Some(0), |t| self.constant(*t));
        if let (Some(x), Some(y), Some(z)) = (at(0), at(1), at(2))
            && let Some(v) = [x, y, z].get(..args.len()).and_then(|values| numbers::folded(op, values))
        {
            return self.int(v);
        }
        self.simplified(op, args)
    }

    /// As [`Arena::op`], by the rules for terms.
    fn simplified(&mut self, op: Op, args: &[Term]) -> Term {
        if let Some(t) = self.over_table(op, args) {
            return t;
        }
        match (op, args) {
            (Op::Div, [a, b]) => self.div(*a, *b),
            (Op::Rem, [a, b]) => self.rem(*a, *b),
            (Op::DivZero, [a, b]) => self.div_zero(*a, *b),
            (Op::Mul, [a, b]) => self.mul(*a, *b),
            (Op::Min | Op::Max, [a, b]) => self.extreme(op, *a, *b),
            (Op::And, [a, b]) => self.and(*a, *b),
            (Op::Or, [a, b]) => self.or(*a, *b),
            (Op::Xor, [a, b]) => self.xor(*a, *b),
            (Op::Ge, [a]) => self.ge(*a),
            (Op::Eq, [a]) => self.eq(*a),
            (Op::Not, [a]) => self.not(*a),
            (Op::Both, [a, b]) => self.both(*a, *b),
            (Op::Either, [a, b]) => self.either(*a, *b),
            (Op::If, [c, a, b]) => self.cond(*c, *a, *b),
            (Op::IfNegative, [a, b]) => self.if_negative(*a, *b),
            (Op::MulHigh, [x, m, bits]) => self.mul_high(*x, *m, *bits),
            (Op::Trips, [c]) => self.trips(*c),
            (Op::Shl, [a, b]) => match self.constant(*b) {
                Some(s @ 0..=62) => self.scale(*a, 1 << s),
                _ => self.intern(Node::Op(op, args.into())),
            },
            _ => self.intern(Node::Op(op, args.into())),
        }
    }
}
