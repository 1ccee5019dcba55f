//! Conditions that a comparison of choices implies, such as whether a CTA has another tile.
//!
//! ```text
//!   next  = has ? tile + 1 : 0                while has:
//!   limit = has ? end : 0              ─▶       <body with tile + 1 and end>
//!   while next < limit: <body>
//! ```
//!
//! A scheduler that returns a structure leaves the members of an empty one where there is no tile, and compares two of them.
//! Without a tile the comparison fails, if no number of tiles is negative. So a loop that goes on has a tile. A single choice
//! in a comparison is a count, and stays one.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::lift::walk::exits::Exit;
use crate::ptx::Reg;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// The largest number of conditions that are looked for in a comparison.
const MOST: usize = 8;

/// What is known not to be negative beside words of memory: values that a loop carries.
type Carried = BTreeSet<Term>;

impl Walk<'_, '_> {
    /// A comparison of choices as the condition of the choices and what is left of it: `(c ? x : 0) > y` is `c and x > y`.
    pub(crate) fn split_choice(&mut self, line: u32, cond: Term, carried: &Carried) -> Term {
        for c in members(&self.s.arena, cond) {
            let a = &mut self.s.arena;
            let [without, with] = [0, 1].map(|v| {
                let v = a.int(v);
                a.replace(cond, &FxHashMap::from_iter([(c, v)]), &mut FxHashMap::default())
            });
            let (needed, rest) = match (never(a, without, carried), never(a, with, carried)) {
                (true, false) => (c, with),
                (false, true) => (a.not(c), without),
                _ => continue,
            };
            self.s.assume(line, "sizes that set trip counts are not negative");
            let rest = self.split_choice(line, rest, carried);
            return self.s.arena.both(needed, rest);
        }
        cond
    }

    /// Values ahead of a loop without the choices that what is known there decides.
    pub(crate) fn choose(&mut self, changed: &[Reg], entry: &mut [Option<Val>]) {
        for r in changed {
            let Some(Val::Uni(t)) = &mut entry[*r as usize] else { continue };
            let mut conditions = Vec::new();
            choices(&self.s.arena, *t, &mut |c| conditions.push(c));
            let mut decided = FxHashMap::default();
            for c in conditions {
                if let Some(v) = self.s.arena.decide(c, &self.facts) {
                    decided.insert(c, self.s.arena.int(i64::from(v)));
                }
            }
            if !decided.is_empty() {
                *t = self.s.arena.replace(*t, &decided, &mut FxHashMap::default());
            }
        }
    }

    /// Splits the conditions under which a loop goes on, and decides choices by them in the registers that an iteration
    /// leaves to the next one.
    pub(crate) fn split_stays(
        &mut self,
        header: u32,
        changed: &[Reg],
        entry: &[Option<Val>],
        back: &mut [Option<Val>],
        exits: &mut [Exit],
    ) {
        self.decided_by_search(changed, back, exits);
        if exits.iter().all(|e| members(&self.s.arena, e.stay).is_empty()) {
            return;
        }
        let mut carried: FxHashMap<Term, [Term; 2]> = FxHashMap::default();
        for r in changed {
            if let (Some(Val::Uni(first)), Some(Val::Uni(next))) = (&entry[*r as usize], &back[*r as usize]) {
                let x = self.s.arena.atom(Atom::Carried(header, *r, 0));
                carried.insert(x, [*first, *next]);
            }
        }
        // Of values that are not negative as long as none of them is.
        let mut known: Carried = carried.keys().copied().collect();
        while let Some(x) =
            known.iter().copied().find(|x| carried[x].iter().any(|t| !is_natural(&self.s.arena, *t, &known)))
        {
            known.remove(&x);
        }
        let mut holds = FxHashMap::default();
        for e in exits {
            let line = self.inst(e.at).line;
            let stay = self.split_choice(line, e.stay, &known);
            if stay != e.stay {
                parts(&mut self.s.arena, stay, &mut holds);
                e.stay = stay;
            }
        }
        if holds.is_empty() {
            return;
        }
        let mut memo = FxHashMap::default();
        for r in changed {
            if let Some(Val::Uni(t)) = &mut back[*r as usize] {
                *t = self.s.arena.replace(*t, &holds, &mut memo);
            }
        }
    }
}

impl Walk<'_, '_> {
    /// Decides choices by the conditions over data under which a loop goes on. Where a search by votes has found a tile, the
    /// next iteration has the sizes of the tile's group.
    fn decided_by_search(&mut self, changed: &[Reg], back: &mut [Option<Val>], exits: &[Exit]) {
        if self.s.searches.is_empty() {
            return;
        }
        let a = &mut self.s.arena;
        let mut holds = FxHashMap::default();
        for e in exits.iter().filter(|e| a.reads_memory(e.stay)).map(|e| e.stay).collect::<Vec<_>>() {
            parts(a, e, &mut holds);
        }
        let mut memo = FxHashMap::default();
        for r in changed {
            let Some(Val::Uni(t)) = &mut back[*r as usize] else { continue };
            let mut decides = false;
            choices(a, *t, &mut |c| decides |= holds.contains_key(&c));
            if decides {
                *t = a.replace(*t, &holds, &mut memo);
            }
        }
    }
}

/// The conditions that hold where all parts of a conjunction do.
fn parts(a: &mut Arena, t: Term, holds: &mut FxHashMap<Term, Term>) {
    match a.node(t).clone() {
        Node::Op(Op::Both, args) => args.iter().for_each(|x| parts(a, *x, holds)),
        Node::Op(Op::Not, args) => drop(holds.insert(args[0], a.int(0))),
        _ => drop(holds.insert(t, a.int(1))),
    }
}

/// The conditions of several choices in a term: those of the members of a structure.
fn members(a: &Arena, t: Term) -> Vec<Term> {
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    choices(a, t, &mut |c| {
        if !seen.insert(c) && !found.contains(&c) && found.len() < MOST {
            found.push(c);
        }
    });
    found
}

/// Calls `f` on the condition of each choice in a term.
pub(super) fn choices(a: &Arena, t: Term, f: &mut dyn FnMut(Term)) {
    match a.node(t) {
        Node::Const(_) | Node::Atom(_) | Node::Table(..) | Node::Op(Op::Load, _) => {}
        Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| choices(a, *x, f)),
        Node::Op(op, args) => {
            if *op == Op::If {
                f(args[0]);
            }
            args.iter().for_each(|x| choices(a, *x, f));
        }
    }
}

/// Whether a condition never holds.
fn never(a: &Arena, t: Term, carried: &Carried) -> bool {
    match a.node(t) {
        Node::Const(v) => *v == 0,
        Node::Op(Op::Both, args) => args.iter().any(|x| never(a, *x, carried)),
        Node::Op(Op::Not, args) => always(a, args[0], carried),
        Node::Op(Op::Ge, args) => {
            let (k, parts) = a.parts(args[0]);
            k < 0 && parts.iter().all(|(x, c)| *c < 0 && is_natural(a, *x, carried))
        }
        _ => false,
    }
}

/// Whether a condition always holds.
fn always(a: &Arena, t: Term, carried: &Carried) -> bool {
    match a.node(t) {
        Node::Const(v) => *v != 0,
        Node::Op(Op::Both, args) => args.iter().all(|x| always(a, *x, carried)),
        Node::Op(Op::Not, args) => never(a, args[0], carried),
        Node::Op(Op::Ge, args) => is_natural(a, args[0], carried),
        _ => false,
    }
}

/// Whether a number is not negative, if no word of memory that it is computed from is.
fn is_natural(a: &Arena, t: Term, carried: &Carried) -> bool {
    a.range(t).0 >= 0
        || carried.contains(&t)
        || match a.node(t) {
            Node::Op(Op::Load, _) => true,
            Node::Op(Op::If, args) => args[1..].iter().all(|x| is_natural(a, *x, carried)),
            Node::Sum(k, parts) => *k >= 0 && parts.iter().all(|(x, c)| *c > 0 && is_natural(a, *x, carried)),
            _ => false,
        }
}
