//! The values of one launch: of arguments, of coordinates of a CTA, and of words of memory that the host wrote.
//!
//! A launch has a number. Each of its values is chosen by this number and by what has the value. So a launch has the same
//! values wherever they are read. Only what a host chooses freely has a value. Some things have none: a word that the kernel
//! may store, a factor of a division that the host computes, and the result of an instruction that is not computed.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::walk::masks::is_canceled;
use crate::symbolic::{Arena, Atom, FUNCTIONS, NO_LOOP, Node, Op, Place, Term};

/// Values of arguments and of words: numbers of heads and tiles, and sizes.
const VALUES: [i64; 16] = [1, 2, 3, 4, 5, 16, 31, 64, 100, 128, 129, 192, 256, 300, 512, 1000];

/// The largest trip count, and the largest number of iterations of which those are counted in which a condition holds.
const MOST: i64 = 64;

/// The number of iterations of a loop that a condition does not end.
const NEVER: i64 = 1 << 31;

/// The distance of arrays, in bytes: more than any index reaches.
const APART: i64 = 1 << 40;

/// Addresses from here on stand for values that have no place in memory.
const NO_ADDRESS: i64 = 1 << 56;

/// First tickets are less than this number, and the tickets of CTAs that take many are this number apart.
const FEW: i64 = 3;
const MANY: i64 = 1 << 20;

/// The largest number of values that are described.
const DESCRIBED: usize = 12;

/// The smallest distance in bytes of two words that do not overlap.
const WORD: i64 = 4;

/// What a value of a loop or a variable is where a term is read.
pub(crate) trait Inside {
    fn counter(&self, header: u32) -> Option<i64>;
    fn var(&self, var: u32) -> Option<i64>;
}

/// What launches choose.
#[derive(Default)]
pub(crate) struct Chosen {
    /// The arguments that are addresses of arrays.
    pub(crate) bases: BTreeSet<Atom>,
    /// The arguments that are factors and shifts of divisions: 0 for a division by one, which needs none.
    pub(crate) factors: BTreeSet<Atom>,
    /// The names of words that are tickets, each with the word that hands them on (`tickets.rs`).
    pub(crate) tickets: BTreeMap<i64, i64>,
    /// Whether branches by data that only wait are taken (`alike.rs`).
    pub(crate) taken: Option<Term>,
}

/// The values of one launch.
pub(crate) struct LaunchValues<'c> {
    number: u64,
    chosen: &'c Chosen,
    /// Words of memory that were read, by address.
    words: BTreeMap<i64, i64>,
    /// Terms without counters and variables.
    known: FxHashMap<Term, Option<i64>>,
    /// The arguments and coordinates that were read, without addresses.
    read: BTreeMap<Atom, i64>,
}

impl LaunchValues<'_> {
    pub(crate) fn new(number: u64, chosen: &Chosen) -> LaunchValues<'_> {
        LaunchValues { number, chosen, words: BTreeMap::new(), known: FxHashMap::default(), read: BTreeMap::new() }
    }

    /// A number for this launch and something in it.
    fn hash(&self, what: &impl std::hash::Hash) -> u64 {
        use std::hash::{BuildHasher, BuildHasherDefault};
        let of_what = BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(what);
        let mut x = of_what ^ (self.number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for by in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
            x = (x ^ x >> 30).wrapping_mul(by);
        }
        x ^ x >> 31
    }

    /// A size, or a number of things. Many values of a launch are equal, as tiles of a problem are.
    fn size(&self, what: &impl std::hash::Hash) -> i64 {
        let usual = |n: u64| VALUES[(self.hash(&n) % VALUES.len() as u64) as usize];
        match self.hash(what) % 8 {
            0..=2 => usual(1),
            3 | 4 => usual(2),
            5 | 6 => 1,
            _ => 0,
        }
    }

    fn atom(&mut self, a: &Arena, x: Atom, inside: &dyn Inside) -> Option<i64> {
        let v = match x {
            Atom::Param(..) if self.chosen.factors.contains(&x) => 0,
            Atom::Param(..) => match self.chosen.bases.iter().position(|b| *b == x) {
                Some(n) => (n as i64 + 1) * APART,
                None => self.size(&x),
            },
            // One CTA, or cluster, has all tiles.
            Atom::Place(Place::Ctas(_) | Place::Clusters(_)) if self.number % 4 == 3 => 1,
            Atom::Place(Place::Ctas(_) | Place::Clusters(_)) => 1 + (self.hash(&x) % 4) as i64,
            Atom::Place(place @ (Place::Cta(d) | Place::Cluster(d))) => {
                let all = if place == Place::Cta(d) { Place::Ctas(d) } else { Place::Clusters(d) };
                let ctas = self.atom(a, Atom::Place(all), inside)?;
                let h = self.hash(&x);
                if h.is_multiple_of(4) { (h >> 8) as i64 % ctas } else { 0 }
            }
            Atom::Data(_) => {
                let of_waits = self.chosen.taken.is_some_and(|t| a.mentions(t, |y| y == x));
                of_waits.then(|| -((self.hash(&x) % 2) as i64))?
            }
            Atom::Counter(NO_LOOP) => return None,
            Atom::Counter(h) => inside.counter(h)?,
            Atom::Var(v) => inside.var(v)?,
            Atom::Carried(..) | Atom::Symbol(_) | Atom::Opaque(_) => return None,
        };
        if matches!(x, Atom::Param(..) | Atom::Place(_)) && !self.chosen.bases.contains(&x) {
            self.read.insert(x, v);
        }
        Some(v)
    }

    /// A word of memory. `None` where another word overlaps it.
    fn word(&mut self, a: &Arena, t: Term, address: i64) -> Option<i64> {
        // No other CTA is left whose work `clusterlaunchcontrol` could hand out.
        if is_canceled(address) {
            return Some(0);
        }
        if !(APART..NO_ADDRESS).contains(&address) {
            return None;
        }
        let (low, high) = a.range(t);
        let v = match self.words.get(&address) {
            Some(known) => *known,
            None => {
                let near = self.words.range(address - WORD + 1..address + WORD).next();
                if near.is_some() {
                    return None;
                }
                let v = self.size(&address);
                let v = if a.is_boolean(t) { v % 2 } else { v };
                self.words.insert(address, v);
                v
            }
        };
        (low <= v && v <= high).then_some(v)
    }

    /// The number that the CTA takes in an iteration. Other CTAs take few of the numbers in between, or many.
    fn ticket(&self, word: i64, iteration: i64) -> i64 {
        let kind = self.hash(&("ticket", word));
        let apart = if kind.is_multiple_of(2) { 1 } else { MANY };
        (kind >> 8) as i64 % FEW + iteration * apart
    }

    /// The value of a term. `None` where the host does not choose what it is computed from, or where it is not known there.
    pub(crate) fn value(&mut self, a: &mut Arena, t: Term, inside: &dyn Inside) -> Option<i64> {
        let varies = |x: Atom| matches!(x, Atom::Counter(_) | Atom::Var(_));
        if let Some(known) = self.known.get(&t) {
            return *known;
        }
        let value = self.computed(a, t, inside);
        if !a.mentions(t, varies) {
            self.known.insert(t, value);
        }
        value
    }

    fn computed(&mut self, a: &mut Arena, t: Term, inside: &dyn Inside) -> Option<i64> {
        let node = match a.unfolded(t) {
            Some((node, true)) => node.clone(),
            Some((_, false)) => return None,
            None => a.node(t).clone(),
        };
        if a.host_divisors.contains(&t) {
            return None;
        }
        Some(match node {
            Node::Const(v) => v,
            Node::Atom(x) => self.atom(a, x, inside)?,
            Node::Sum(k, parts) => {
                let mut sum = k;
                for (x, c) in parts.iter() {
                    sum = sum.checked_add(self.value(a, *x, inside)?.checked_mul(*c)?)?;
                }
                sum
            }
            Node::Op(Op::Load, args) => {
                let name = a.constant(args[0]).filter(|at| *at >= FUNCTIONS);
                if let Some(word) = name.and_then(|name| self.chosen.tickets.get(&name).copied()) {
                    let iteration = match args[1..] {
                        [] => 0,
                        [n] => self.value(a, n, inside)?,
                        _ => return None,
                    };
                    return Some(self.ticket(word, iteration));
                }
                if args.len() != 1 || name.is_some() {
                    return None;
                }
                let address = self.value(a, args[0], inside)?;
                self.word(a, t, address)?
            }
            Node::Op(Op::Trips, args) => {
                let mut n = 0;
                // Another exit ends such a loop.
                if !a.mentions(args[0], |x| x == Atom::Counter(NO_LOOP)) && self.value(a, args[0], inside)? != 0 {
                    return Some(NEVER);
                }
                loop {
                    let stay = a.at_number(args[0], n);
                    if self.value(a, stay, inside)? == 0 {
                        break n;
                    }
                    n += 1;
                    if n > MOST {
                        return None;
                    }
                }
            }
            Node::Op(Op::HowOften, args) => {
                let iterations = self.value(a, args[1], inside)?;
                if iterations > MOST {
                    return None;
                }
                let mut often = 0;
                for n in 0..iterations {
                    let now = a.at_number(args[0], n);
                    often += i64::from(self.value(a, now, inside)? != 0);
                }
                often
            }
            Node::Op(Op::If, args) => {
                let side = if self.value(a, args[0], inside)? != 0 { args[1] } else { args[2] };
                self.value(a, side, inside)?
            }
            // One operand may be enough.
            Node::Op(op @ (Op::Min | Op::Max), args) => {
                let [x, y] = [args[0], args[1]].map(|t| (self.value(a, t, inside), a.range(t)));
                match (x, y) {
                    ((Some(x), _), (Some(y), _)) if op == Op::Min => x.min(y),
                    ((Some(x), _), (Some(y), _)) => x.max(y),
                    ((Some(v), _), (None, (low, high))) | ((None, (low, high)), (Some(v), _)) => {
                        let decides = if op == Op::Min { v <= low } else { v >= high };
                        decides.then_some(v)?
                    }
                    _ => return None,
                }
            }
            Node::Op(op @ (Op::Both | Op::Either), args) => {
                let first = self.value(a, args[0], inside)?;
                let decided = (first != 0) == (op == Op::Either);
                if decided { first } else { self.value(a, args[1], inside)? }
            }
            // The host computes the factor and the shift of a division. A shift by nothing divides by one.
            Node::Op(Op::MulHigh, args) if a.constant(args[1]).is_none() => return None,
            Node::Op(Op::Shl, args) if a.constant(args[1]).is_none() => {
                let by = self.value(a, args[1], inside)?;
                if by != 0 {
                    return None;
                }
                self.value(a, args[0], inside)?
            }
            Node::Op(op, args) => {
                let mut list = Vec::new();
                for x in args.iter() {
                    let v = self.value(a, *x, inside)?;
                    list.push(a.int(v));
                }
                if matches!(op, Op::Div | Op::DivZero | Op::Rem) && a.constant(list[1]).is_none_or(|by| by < 1) {
                    return None;
                }
                let t = a.op(op, &list);
                a.constant(t)?
            }
            Node::Table(i, first, cycle) => {
                let i = usize::try_from(self.value(a, i, inside)?).ok()?;
                first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()])
            }
        })
    }

    /// What was read, in words: numbers among the arguments, coordinates, and words of memory.
    pub(crate) fn described(&self, a: &mut Arena) -> String {
        let mut name = |x: &Atom| {
            let t = a.atom(*x);
            a.show(t)
        };
        let mut list: Vec<String> = self.read.iter().map(|(x, v)| format!("{} = {v}", name(x))).collect();
        for (address, v) in &self.words {
            if let Some(base) = self.chosen.bases.iter().nth((address / APART - 1) as usize) {
                list.push(format!("memory[{} + {}] = {v}", name(base), address % APART));
            }
        }
        let more = list.len() > DESCRIBED;
        list.truncate(DESCRIBED);
        list.extend(more.then(|| "others".to_string()));
        list.join(", ")
    }
}
