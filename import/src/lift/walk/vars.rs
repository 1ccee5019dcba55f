//! Values of variables of the program that have few: ring indices and phases that an inner loop carries on from the
//! outer loop.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::symbolic::{Atom, Node, Op, Term};

use super::shared::Shared;

/// The largest number of values of one variable.
const VALUES: usize = 128;

/// The largest number of combinations of values that are examined.
const POINTS: usize = 4096;

/// The upper bound of a variable with many values.
const MANY: i64 = 1 << 61;

/// The largest number of variables by way of which one is set to itself.
const DEEPEST: u32 = 4;

/// Values of variables.
type Values = BTreeMap<u32, BTreeSet<i64>>;

/// Values of terms that were looked up.
type Memo = FxHashMap<Term, Option<Rc<BTreeSet<i64>>>>;

impl Shared<'_> {
    /// Records a value that a variable is set to.
    pub(crate) fn sets(&mut self, var: u32, t: Term) {
        let list = self.var_sets.entry(var).or_default();
        if !list.contains(&t) {
            list.push(t);
            self.settled = false;
        }
    }

    /// Records all values that a variable is set to.
    pub(crate) fn sets_all(&mut self, var: u32, list: Vec<Term>) {
        self.settled &= self.var_sets.get(&var) == Some(&list);
        self.var_sets.insert(var, list);
    }

    /// Removes the variables of the previous warp.
    pub(crate) fn forget_vars(&mut self) {
        for v in std::mem::take(&mut self.var_sets).into_keys() {
            self.arena.bound_var(v, None);
        }
        self.settled = true;
    }

    /// Stores the values of the variables of the warp that was walked.
    pub(crate) fn keep_vars(&mut self, all: &mut BTreeMap<u32, Option<(i64, i64)>>) {
        self.settle(&FxHashMap::default());
        for v in self.var_sets.keys() {
            let new = self.arena.var_bounds(*v);
            let known = all.entry(*v).or_insert(new);
            *known = known.zip(new).map(|((a, b), (c, d))| (a.min(c), b.max(d)));
        }
    }

    /// Computes the values of all variables again. Variables replace the values that a loop carried before it was
    /// solved.
    pub(crate) fn settle(&mut self, with: &FxHashMap<Term, Term>) {
        let carried = |t: &Term| self.arena.mentions(*t, |a| matches!(a, Atom::Carried(..)));
        if self.settled && !self.var_sets.values().flatten().any(carried) {
            return;
        }
        self.settled = true;
        let vars: Vec<u32> = self.var_sets.keys().copied().collect();
        let mut replaced = FxHashMap::default();
        for v in &vars {
            let list = self.var_sets[v].clone();
            let list = list.into_iter().map(|t| self.arena.replace(t, with, &mut replaced)).collect();
            self.var_sets.insert(*v, list);
        }
        let mut lost: BTreeSet<u32> = vars.iter().copied().filter(|v| self.grows(*v)).collect();
        let kept = vars.iter().filter(|v| !lost.contains(v));
        let mut values: Values = kept.map(|v| (*v, BTreeSet::new())).collect();
        // Variables that read each variable: only these are computed again where it changes.
        let mut readers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for v in &vars {
            for t in &self.var_sets[v] {
                self.arena.each_atom(*t, &mut |a| {
                    if let Atom::Var(x) = a {
                        readers.entry(x).or_default().push(*v);
                    }
                });
            }
        }
        let mut open: BTreeSet<u32> = vars.iter().copied().collect();
        while let Some(v) = open.pop_first() {
            if lost.contains(&v) {
                continue;
            }
            let mut all = values[&v].clone();
            let (mut known, mut memo) = (true, Memo::default());
            for t in self.var_sets[&v].clone() {
                match self.possible(t, &values, &mut memo) {
                    Some(new) => all.extend(new.iter()),
                    None => known = false,
                }
            }
            if !known || all.len() > VALUES {
                lost.insert(v);
                values.remove(&v);
            } else if all.len() > values[&v].len() {
                values.insert(v, all);
            } else {
                continue;
            }
            open.extend(readers.get(&v).into_iter().flatten());
        }
        for v in &vars {
            let found = values.get(v);
            match (lost.contains(v), found.and_then(|l| l.first()), found.and_then(|l| l.last())) {
                (false, Some(a), Some(b)) => self.arena.bound_var(*v, Some((*a, *b))),
                _ => drop(lost.insert(*v)),
            }
        }
        self.never_negative(lost);
    }

    /// Whether a variable is set to itself plus a constant, perhaps by way of others.
    fn grows(&self, v: u32) -> bool {
        let mut open = vec![(v, 0i64, 0)];
        while let Some((at, sum, depth)) = open.pop() {
            let mut ways = self.var_sets.get(&at).cloned().unwrap_or_default();
            while let Some(t) = ways.pop() {
                let (k, parts) = self.arena.parts(t);
                let [(x, 1)] = *parts else { continue };
                let wraps = |t: Term| self.arena.mentions(t, |a| matches!(a, Atom::Var(_)));
                if let (0, Node::Op(Op::If, args)) = (k, self.arena.node(x)) {
                    // A condition over variables may begin a ring again.
                    ways.extend(args[1..].iter().filter(|_| !wraps(args[0])));
                    continue;
                }
                let Node::Atom(Atom::Var(u)) = *self.arena.node(x) else { continue };
                let sum = sum.wrapping_add(k);
                if u == v && sum != 0 {
                    return true;
                }
                if u != v && depth < DEEPEST && open.len() < VALUES {
                    open.push((u, sum, depth + 1));
                }
            }
        }
        false
    }

    /// Bounds variables with many values that are never negative, such as the number of all steps so far. While none of
    /// these variables is negative, none is set to a negative value. The others have no bounds.
    fn never_negative(&mut self, mut open: BTreeSet<u32>) {
        for v in &open {
            self.arena.bound_var(*v, Some((0, MANY)));
        }
        loop {
            let negative = |v: &u32| self.var_sets[v].iter().any(|t| self.arena.range(*t).0 < 0);
            let Some(v) = open.iter().copied().find(negative) else { return };
            open.remove(&v);
            self.arena.bound_var(v, None);
        }
    }

    /// The values of a term, if there are few.
    pub(crate) fn values(&mut self, t: Term) -> Option<Rc<BTreeSet<i64>>> {
        self.possible(t, &Values::new(), &mut FxHashMap::default())
    }

    /// The values of a term for these values of variables; `None` if there may be too many.
    fn possible(&mut self, t: Term, known: &Values, memo: &mut Memo) -> Option<Rc<BTreeSet<i64>>> {
        if let Some(found) = memo.get(&t) {
            return found.clone();
        }
        let set = match self.by_points(t, known) {
            Some(set) => Some(set),
            None => self.possible_anew(t, known, memo),
        };
        let set = set.filter(|s| s.len() <= VALUES).map(Rc::new).or_else(|| {
            let (low, high) = self.arena.range(t);
            (high.saturating_sub(low) < VALUES as i64).then(|| Rc::new((low..=high).collect()))
        });
        memo.insert(t, set.clone());
        set
    }

    /// The values of a function of a few variables and conditions, for each combination of them.
    fn by_points(&mut self, t: Term, known: &Values) -> Option<BTreeSet<i64>> {
        let mut reads = BTreeMap::new();
        if !self.leaves(t, known, &mut reads) {
            return None;
        }
        reads.values().try_fold(1usize, |n, l: &Vec<i64>| n.checked_mul(l.len()).filter(|n| *n <= POINTS))?;
        self.arena.combinations(t, &reads)
    }

    /// The variables that a term depends on, and the conditions without known outcome, with their values. False if the
    /// term reads anything else.
    fn leaves(&mut self, t: Term, known: &Values, reads: &mut BTreeMap<Term, Vec<i64>>) -> bool {
        if reads.contains_key(&t) {
            return true;
        }
        let fine = match self.arena.node(t).clone() {
            Node::Const(_) => true,
            Node::Atom(Atom::Var(v)) => match known.get(&v) {
                Some(all) => {
                    reads.insert(t, all.iter().copied().collect());
                    true
                }
                None => false,
            },
            Node::Atom(_) => false,
            Node::Sum(_, parts) => parts.iter().all(|(x, _)| self.leaves(*x, known, reads)),
            Node::Op(_, args) => args.iter().all(|x| self.leaves(*x, known, reads)),
            Node::Table(i, ..) => self.leaves(i, known, reads),
        };
        if !fine && self.arena.is_boolean(t) {
            reads.insert(t, vec![0, 1]);
            return true;
        }
        fine
    }

    fn possible_anew(&mut self, t: Term, known: &Values, memo: &mut Memo) -> Option<BTreeSet<i64>> {
        match self.arena.node(t).clone() {
            Node::Const(v) => Some(BTreeSet::from([v])),
            Node::Atom(Atom::Var(v)) => known.get(&v).cloned(),
            Node::Atom(_) => None,
            Node::Sum(k, parts) => {
                let mut sums = BTreeSet::from([k]);
                for (x, c) in parts.iter() {
                    let all = self.possible(*x, known, memo)?;
                    sums =
                        sums.iter().flat_map(|s| all.iter().map(move |v| s.wrapping_add(c.wrapping_mul(*v)))).collect();
                    if sums.len() > VALUES {
                        return None;
                    }
                }
                Some(sums)
            }
            Node::Op(Op::If, args) => {
                let cond = self.possible(args[0], known, memo);
                let is = |v: i64| cond.as_ref().is_none_or(|c| c.contains(&v));
                let mut all = BTreeSet::new();
                for (v, x) in [(1, args[1]), (0, args[2])] {
                    if is(v) {
                        all.extend(self.possible(x, known, memo)?.iter());
                    }
                }
                Some(all)
            }
            Node::Op(op, args) => {
                let mut lists: Vec<Vec<Term>> = vec![Vec::new()];
                for x in args.iter() {
                    let all = self.possible(*x, known, memo)?;
                    let numbers: Vec<Term> = all.iter().map(|v| self.arena.int(*v)).collect();
                    lists = lists.iter().flat_map(|l| numbers.iter().map(|n| [l.as_slice(), &[*n]].concat())).collect();
                    if lists.len() > POINTS {
                        return None;
                    }
                }
                let mut all = BTreeSet::new();
                for l in lists {
                    let t = self.arena.op(op, &l);
                    all.insert(self.arena.constant(t)?);
                }
                Some(all)
            }
            Node::Table(i, first, cycle) => match self.possible(i, known, memo) {
                Some(at) if at.iter().all(|i| *i >= 0) => {
                    let value =
                        |i: usize| first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()]);
                    Some(at.iter().map(|i| value(*i as usize)).collect())
                }
                _ => Some(first.iter().chain(cycle.iter()).copied().collect()),
            },
        }
    }
}
