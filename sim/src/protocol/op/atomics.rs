//! Operations on counters in global memory. What a counter does is in [`counters`](crate::protocol::counters).

use crate::ir::{CounterAct, CounterRef, Expr, MemOrder, Scope};

use super::Instruction;
use crate::protocol::counters::Semantics;
use crate::protocol::parts::StatePart;
use crate::protocol::step::StepEffect;
use crate::protocol::vocabulary::{AgentId, Blocked, Fault, FormId, Number, WaitTarget};
use crate::protocol::world::World;

/// `red`, `atom`, `st`, `ld` of a counter, or a wait that polls it.
pub(super) struct Counter<'o> {
    pub(super) act: CounterAct,
    pub(super) at: &'o CounterRef,
    pub(super) value: &'o Expr,
    pub(super) order: MemOrder,
    pub(super) scope: Scope,
}

/// A value of a counter. Every CTA of a cell gets the same value: the counter, its index and what is added to it are the
/// same in the whole cell ([`World::number`]).
fn of_every_cta(v: i64) -> Number {
    Number { v, form: FormId::default() }
}

impl Instruction for Counter<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let (how, act) = (Semantics { order: self.order, scope: self.scope }, self.act);
        let ix = w.counter_ix(a, self.at)?;
        match act {
            CounterAct::Fetch(_) if w.holds_atomic(a, ix) => return Err(Blocked::On(WaitTarget::Counter(ix))),
            CounterAct::Add | CounterAct::Fetch(_) => {
                // Each executing thread adds.
                let times = if act == CounterAct::Add { w.lanes(a, pc) as i64 } else { 1 };
                let delta = w.eval(a, self.value)?.saturating_mul(times);
                let old = w.counter_value(ix);
                let new = old.checked_add(delta).ok_or(Fault::Arithmetic)?;
                w.change(a, pc, ix, (new, act), how);
                if let CounterAct::Fetch(var) = act {
                    w.agents.set_var(a, var, of_every_cta(old));
                }
            }
            CounterAct::Set => {
                let new = w.number(a, self.value)?;
                w.change(a, pc, ix, (new, act), how);
            }
            CounterAct::Load(var) => {
                let all = w.counter_steps(ix);
                w.in_order_here(a, pc, ix);
                w.see(a, pc, ix, (all.collect(), true), how);
                let v = w.counter_value(ix);
                w.agents.set_var(a, var, of_every_cta(v));
            }
            CounterAct::Wait(cmp) => {
                let v = w.number(a, self.value)?;
                if !w.satisfies(w.counter_value(ix), cmp, v) {
                    return Err(Blocked::On(WaitTarget::Counter(ix)));
                }
                let must = w.must_see(a, pc, ix, cmp, v);
                w.see(a, pc, ix, must, how);
            }
        }
        w.forget_known(ix);
        Ok(StepEffect::Sync)
    }

    fn parts(&self, _w: &World<'_>, _a: AgentId, _pc: u32, _list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        // The whole grid shares counters in global memory.
        Err(Fault::Endless.into())
    }

    fn together(&self) -> Option<bool> {
        Some(false)
    }
}
