//! States of mbarriers: what `mbarrier.arrive` returns, and waits without a parity take.
//!
//! Registers between which a text copies states are one state of the program. An arrival into one of these registers makes
//! the values of the others old. A wait is followed if its register holds the newest state, and uses the state up.

use rustc_hash::FxHashMap;
use warpline_sim::ir::{STATES, StateId};

use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::ptx::{Arg, Error, Inst, Reg};
use crate::symbolic::{Arena, Term};

/// The registers of a text that hold states.
#[derive(Clone, Debug, Default)]
pub(crate) struct States {
    /// The state of the program that each register holds.
    of: FxHashMap<Reg, usize>,
    /// The value of a register that holds the newest arrival's state, by state.
    newest: Vec<Term>,
    /// The value of a register that holds an earlier arrival's state, or one that a wait has used.
    old: Term,
}

impl States {
    /// The states that waits of a text take.
    pub(crate) fn of(code: &[Inst], arena: &mut Arena) -> States {
        let mut group: FxHashMap<Reg, Reg> = FxHashMap::default();
        for i in code.iter().filter(|i| i.op == "mbarrier") {
            if let (true, Arg::Reg(r)) = (i.mods.first().is_some_and(|m| m.starts_with("arrive")), i.arg(0)) {
                group.insert(*r, *r);
            }
        }
        // A copy joins the groups of both registers; the group with the least register is that of both.
        let copies = || code.iter().filter(|i| matches!(i.op.as_str(), "mov" | "selp")).filter(|i| i.args.len() > 1);
        let mut changed = !group.is_empty();
        while std::mem::take(&mut changed) {
            for i in copies() {
                let Arg::Reg(to) = i.arg(0) else { continue };
                for from in &i.args[1..] {
                    let Arg::Reg(from) = from else { continue };
                    let Some(from) = group.get(from).copied() else { continue };
                    match group.get(to).copied() {
                        Some(to) if to == from => continue,
                        Some(old) => {
                            let least = old.min(from);
                            group.values_mut().filter(|g| **g == old || **g == from).for_each(|g| *g = least);
                        }
                        None => drop(group.insert(*to, from)),
                    }
                    changed = true;
                }
            }
        }
        let mut waited: Vec<Reg> = Vec::new();
        for i in code.iter().filter(|i| waits_for_state(i)) {
            if let Some(g) = state_of(i).and_then(|r| group.get(&r)).filter(|g| !waited.contains(g)) {
                waited.push(*g);
            }
        }
        let place = |g: &Reg| waited.iter().position(|w| w == g);
        let of = group.iter().filter_map(|(r, g)| Some((*r, place(g)?))).collect();
        let newest = waited.iter().map(|_| arena.opaque("the state of an arrival on an mbarrier")).collect();
        States { of, newest, old: arena.opaque("the state of an earlier arrival, or one that a wait has used") }
    }
}

/// Whether an instruction polls for a state.
pub(crate) fn waits_for_state(i: &Inst) -> bool {
    i.op == "mbarrier" && (i.has("try_wait") || i.has("test_wait")) && !i.has("parity")
}

/// The register with the state that a wait takes.
fn state_of(i: &Inst) -> Option<Reg> {
    if let Arg::Reg(r) = i.arg(2) { Some(*r) } else { None }
}

impl Walk<'_, '_> {
    /// The state that an arrival's register holds from now on; `None` where no wait takes the state.
    pub(crate) fn returned(&mut self, i: &Inst) -> Result<Option<StateId>, Error> {
        let Arg::Reg(to) = i.arg(0) else { return Ok(None) };
        let Some(s) = self.s.states.of.get(to).copied() else {
            let v = self.s.arena.opaque(format!("the state that line {} returns", i.line));
            self.set(*to, Val::Uni(v));
            return Ok(None);
        };
        self.forget_state(s);
        let newest = self.s.states.newest[s];
        self.set(*to, Val::Uni(newest));
        match StateId::try_from(s) {
            Ok(s) if i64::from(s) < STATES => Ok(Some(s)),
            _ => Err(self.s.error(i, format!("more than {STATES} states are kept"), "fewer states of mbarriers")),
        }
    }

    /// The state that a wait takes, which it uses up.
    pub(crate) fn awaited(&mut self, i: &Inst) -> Result<StateId, Error> {
        let state = state_of(i).and_then(|r| self.s.states.of.get(&r).copied());
        let v = self.operand(i.arg(2))?.uniform(self.lanes);
        let newest = state.filter(|s| v == Some(self.s.states.newest[*s]));
        if let Some(s) = state {
            self.forget_state(s);
        }
        match newest.or(state.filter(|_| self.dry > 0)) {
            Some(s) => Ok(s as StateId),
            None => Err(self.s.error(
                i,
                format!("`{}` waits for a state that is not known to come from the newest arrival", i.name()),
                "the register that an `mbarrier.arrive` wrote, or a copy of it",
            )),
        }
    }

    /// Makes the values of a state's registers old.
    fn forget_state(&mut self, s: usize) {
        let mut all: Vec<Reg> = self.s.states.of.iter().filter(|(_, x)| **x == s).map(|(r, _)| *r).collect();
        all.sort_unstable();
        let old = self.s.states.old;
        for r in all {
            if self.regs[r as usize].is_some() {
                self.set(r, Val::Uni(old));
            }
        }
    }
}
