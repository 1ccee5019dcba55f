//! Registers that count the iterations as long as the loop goes on.
//!
//! ```text
//!   while i != n:                              while i != n:
//!     if n - a >= 1:                             <body with b = i>
//!       b = b + 1; <body with b>       ─▶
//!     a = a + min(n - a, 1)                      a = i + 1; b = i + 1
//! ```
//!
//! Each register is taken to be its first value and the number of the iteration. With what is known in an iteration, its next
//! value must be one more. Registers of which that is not shown are left out, until it is shown for all that are left. Then
//! it holds in each iteration, by induction.

use rustc_hash::FxHashMap;

use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::lift::walk::exits::Exit;
use crate::ptx::Reg;
use crate::symbolic::{Arena, Atom, Facts, Term};

use super::Solved;
use super::implied::choices;

/// The largest number of registers that are tried.
const MOST: usize = 16;

/// A register that becomes a variable.
struct Tried {
    reg: Reg,
    /// The variable.
    var: Term,
    first: Term,
    /// What an iteration makes of it.
    next: Term,
}

/// What is known in an iteration of a loop.
pub(super) struct During {
    /// The values of registers at its start by its number.
    pub(super) by_iteration: FxHashMap<Term, Term>,
    /// The conditions under which the loop goes on.
    pub(super) stays: Vec<Term>,
    /// What holds at its start, and at its end where another one follows.
    pub(super) begins_with: Facts,
    pub(super) goes_on: Facts,
}

impl Walk<'_, '_> {
    /// What is known in an iteration of a loop whose registers are solved. Before the loop, registers and facts are `entry`.
    pub(super) fn during(
        &mut self,
        header: u32,
        (entry, facts): (&[Option<Val>], &Facts),
        solved: &Solved,
        exits: &[Exit],
    ) -> During {
        let mut by_iteration = self.by_iteration(header, entry, solved);
        by_iteration.values_mut().for_each(|t| *t = self.s.arena.under(*t, facts));
        let mut memo = FxHashMap::default();
        let stays: Vec<Term> = exits.iter().map(|e| self.s.arena.replace(e.stay, &by_iteration, &mut memo)).collect();
        let (mut goes_on, mut begins_with) = (self.facts.clone(), facts.clone());
        for t in &stays {
            self.s.arena.learn(*t, true, &mut goes_on);
            if let Some(left) = self.counted_down(header, *t, facts) {
                let (begins, more) = (self.s.arena.ge(left), self.s.arena.plus(left, -1));
                let more = self.s.arena.ge(more);
                self.s.arena.learn(begins, true, &mut begins_with);
                self.s.arena.learn(more, true, &mut goes_on);
            }
        }
        During { by_iteration, stays, begins_with, goes_on }
    }

    /// What an iteration leaves in all registers, with one more in those that count. `None` where there are none.
    /// `by_iteration` has the values of registers at the start of an iteration, and `facts` say what is known there.
    pub(crate) fn in_step(
        &mut self,
        header: u32,
        (solved, back): (&Solved, &[Option<Val>]),
        by_iteration: &FxHashMap<Term, Term>,
        facts: &Facts,
    ) -> Option<Vec<Option<Val>>> {
        let i = self.s.arena.atom(Atom::Counter(header));
        let mut memo = FxHashMap::default();
        let mut tried = Vec::new();
        for v in solved.vars.iter().filter(|v| v.lane.is_none()) {
            let Some(Val::Uni(next)) = &back[v.reg as usize] else { continue };
            let a = &mut self.s.arena;
            let var = a.atom(Atom::Var(v.var));
            tried.push(Tried { reg: v.reg, var, first: v.first, next: a.replace(*next, by_iteration, &mut memo) });
        }
        if tried.len() > MOST {
            return None;
        }
        while !tried.is_empty() {
            let a = &mut self.s.arena;
            let with: FxHashMap<Term, Term> = tried.iter().map(|t| (t.var, a.add(t.first, i))).collect();
            let before = tried.len();
            let mut memo = FxHashMap::default();
            tried.retain(|t| {
                let next = a.replace(t.next, &with, &mut memo);
                let next = decided(a, next, facts);
                let more = a.sub(next, with[&t.var]);
                a.constant(more) == Some(1)
            });
            if tried.len() == before {
                break;
            }
        }
        if tried.is_empty() {
            return None;
        }
        let a = &mut self.s.arena;
        let with: FxHashMap<Term, Term> = tried.iter().map(|t| (t.var, a.add(t.first, i))).collect();
        let mut back = back.to_vec();
        for t in &tried {
            let x = a.atom(Atom::Carried(header, t.reg, 0));
            back[t.reg as usize] = Some(Val::Uni(a.plus(x, 1)));
        }
        // Choices of other registers may be decided, too.
        let (mut now, mut then) = (FxHashMap::default(), FxHashMap::default());
        for value in back.iter_mut().flatten() {
            let Val::Uni(t) = value else { continue };
            let mut conditions = Vec::new();
            choices(a, *t, &mut |c| conditions.push(c));
            let mut known = FxHashMap::default();
            for c in conditions {
                let at_start = a.replace(c, by_iteration, &mut now);
                let at_start = a.replace(at_start, &with, &mut then);
                if let Some(v) = a.decide_with_numbers(at_start, facts) {
                    known.insert(c, a.int(i64::from(v)));
                }
            }
            if !known.is_empty() {
                *t = a.replace(*t, &known, &mut FxHashMap::default());
            }
        }
        Some(back)
    }
}

/// A term without the choices and extremes that facts decide.
fn decided(a: &mut Arena, t: Term, facts: &Facts) -> Term {
    let mut conditions = Vec::new();
    choices(a, t, &mut |c| conditions.push(c));
    let mut known = FxHashMap::default();
    for c in conditions {
        if let Some(v) = a.decide_with_numbers(c, facts) {
            known.insert(c, a.int(i64::from(v)));
        }
    }
    let t = a.replace(t, &known, &mut FxHashMap::default());
    a.under(t, facts)
}
