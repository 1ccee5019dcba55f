//! Evaluation of expressions for an agent.

use std::cell::RefCell;

use crate::ir::{Binary, Domain, Env, Expr, ParamId, Program, TapeId, VarId, apply};

use super::divisors::Divisors;
use super::place::Placement;
use super::rings::{Ring, bit, quotient};
use super::vocabulary::{AgentId, AgentInfo, Coords, Decision, Fault, FormId, Number};
use super::world::World;

/// A slot of an array, and the counter that selects its group in a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) slot: i64,
    counter: i64,
}

impl World<'_> {
    /// The value of an expression that selects a place, a branch or a count.
    #[inline]
    pub(super) fn eval(&self, a: AgentId, e: &Expr) -> Result<i64, Fault> {
        self.eval_in(a, self.spec.info[a as usize].cta, e)
    }

    /// The value of an expression that may grow with a trip count and is the same for all CTAs of a cell, such as a
    /// phase.
    #[inline]
    pub(super) fn number(&self, a: AgentId, e: &Expr) -> Result<i64, Fault> {
        Ok(self.fixed(a, self.placed(a, e)?))
    }

    /// The slot that an expression selects in an array. Of a ring that rotates, [`Self::access`] must follow for each CTA
    /// whose copy is accessed.
    #[inline]
    pub(super) fn slot(&self, a: AgentId, e: &Expr, ring: Option<&Ring>) -> Result<Slot, Fault> {
        match ring {
            None => Ok(Slot { slot: self.eval(a, e)?, counter: 0 }),
            Some(ring) => self.slot_of(a, e, ring),
        }
    }

    fn slot_of(&self, a: AgentId, e: &Expr, ring: &Ring) -> Result<Slot, Fault> {
        let (numbers, counted) = (self.numbers(a), ring.counted(e));
        let quiet = counted.map(|slot| slot.operands);
        let slot = self.fixed(a, Numbers { quiet, ..numbers }.of(e)?);
        if let Some(counted) = counted {
            let counter = Numbers { decisions: None, ..numbers }.of(&counted.operands.0)?.v;
            if let Some(rest) = ring.rest(slot, counter) {
                self.judge(Decision::Fixed(rest));
                return Ok(Slot { slot, counter });
            }
        }
        // A slot that no counter selects is the same in longer runs.
        self.judge(Decision::Fixed(slot));
        Ok(Slot { slot, counter: ring.group(slot) })
    }

    /// An access to a slot of a CTA. In a ring that rotates, it decides only how far the slot is from that of the access
    /// before.
    #[inline]
    pub(super) fn access(&self, ring: Option<&Ring>, cta: u32, slot: Slot) {
        if let Some(ring) = ring {
            self.judge(Decision::Fixed(ring.access(cta, slot.counter)));
        }
    }

    /// The phase that a wait names. Where a counter selects both slot and phase, its quotient is no decision by itself.
    #[inline]
    pub(super) fn phase(&self, a: AgentId, pc: u32, e: &Expr) -> Result<i64, Fault> {
        if !self.rings.counts(pc) {
            return self.number(a, e);
        }
        Ok(self.fixed(a, Numbers { quiet: quotient(e), ..self.numbers(a) }.of(e)?))
    }

    /// A number with the parity of the phase that a wait names.
    #[inline]
    pub(super) fn parity(&self, a: AgentId, pc: u32, e: &Expr) -> Result<i64, Fault> {
        self.phase(a, pc, if self.rings.counts(pc) { bit(e) } else { e })
    }

    /// A number that must be the same for all CTAs of a cell.
    #[inline]
    fn fixed(&self, a: AgentId, Number { v, form }: Number) -> i64 {
        if let Some(place) = &self.spec.place {
            place.fixed(self.agents[a].pc, v, form);
        }
        v
    }

    /// The value of an expression that may also depend on the place of the CTA: a variable, a tile's coordinate.
    #[inline]
    pub(super) fn placed(&self, a: AgentId, e: &Expr) -> Result<Number, Fault> {
        self.placed_in(a, self.spec.info[a as usize].cta, e)
    }

    /// [`Self::placed`] with the coordinates of a CTA of the agent's cluster.
    #[inline]
    pub(super) fn placed_in(&self, a: AgentId, cta: u32, e: &Expr) -> Result<Number, Fault> {
        let who = AgentInfo { cta, ..self.spec.info[a as usize] };
        match self.plain(a) {
            Some(plain) => Values { who, ..plain }.of(e).map(|v| Number { v, form: 0 }),
            None => Numbers { who, ..self.numbers(a) }.of(e),
        }
    }

    /// [`Self::eval`] with the coordinates of a CTA of the agent's cluster.
    #[inline]
    pub(super) fn eval_in(&self, a: AgentId, cta: u32, e: &Expr) -> Result<i64, Fault> {
        let v = self.fixed(a, self.placed_in(a, cta, e)?);
        self.judge(Decision::Fixed(v));
        Ok(v)
    }

    /// The truth of a condition.
    #[inline]
    pub(super) fn holds(&self, a: AgentId, e: &Expr) -> Result<bool, Fault> {
        if let Some(plain) = self.plain(a) {
            return Ok(plain.of(e)? != 0);
        }
        let numbers = self.numbers(a);
        numbers.truth(&numbers.of(e)?).ok_or(Fault::Arithmetic)
    }

    /// An agent's environment where only values count: no cell is followed and no decision is recorded.
    #[inline]
    fn plain(&self, a: AgentId) -> Option<Values<'_>> {
        (self.spec.place.is_none() && self.journal.decisions().is_none())
            .then(|| self.values(a, self.coords, self.agents.vars(a)))
    }

    /// An agent's environment at these coordinates, with these variables.
    #[inline]
    pub(super) fn values<'a>(&'a self, a: AgentId, coords: Coords, vars: &'a [i64]) -> Values<'a> {
        Values { prog: self.prog, coords, who: self.spec.info[a as usize], vars, tape_index: 0 }
    }

    #[inline]
    fn numbers(&self, a: AgentId) -> Numbers<'_> {
        Numbers {
            prog: self.prog,
            coords: self.coords,
            who: self.spec.info[a as usize],
            vars: self.agents.vars(a),
            forms: self.agents.forms(a),
            pc: self.agents[a].pc,
            place: self.spec.place.as_deref(),
            tape_index: Number::default(),
            decisions: self.journal.decisions(),
            quiet: None,
            divisors: &self.spec.divisors,
            launch: false,
        }
    }

    #[inline]
    pub(super) fn judge(&self, what: Decision) {
        self.journal.decided(what);
    }
}

/// The decisions of expressions over symbols that are evaluated at launch, with the expressions that symbols are
/// computed from.
pub fn decisions_at_launch<'e>(prog: &'e Program, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<Decision> {
    let decisions = RefCell::default();
    let coords = Coords { id: 0, m: 0, n: 0, z: 0 };
    let who = AgentInfo { cta: 0, warp: 0, lanes: None };
    let nothing = Divisors::default();
    let numbers = Numbers {
        prog,
        coords,
        who,
        vars: &[],
        forms: &[],
        pc: 0,
        place: None,
        tape_index: Number::default(),
        decisions: Some(&decisions),
        quiet: None,
        divisors: &nothing,
        launch: true,
    };
    let definitions = prog.symbols.iter().filter_map(|s| s.definition.as_ref());
    for e in definitions.chain(exprs) {
        // An expression without a value makes the kernel refuse its parameters before the run.
        let _ = e.eval(&numbers);
    }
    decisions.into_inner()
}

/// The environment in which an agent evaluates expressions.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    prog: &'a Program,
    coords: Coords,
    who: AgentInfo,
    vars: &'a [i64],
    forms: &'a [FormId],
    pc: u32,
    place: Option<&'a Placement>,
    tape_index: Number,
    decisions: Option<&'a RefCell<Vec<Decision>>>,
    /// The operands of an operator whose result decides only in a ring, so that it is no decision by itself.
    quiet: Option<&'a (Expr, Expr)>,
    /// The divisions whose quotient decides.
    divisors: &'a Divisors,
    /// Nothing runs yet.
    launch: bool,
}

impl Numbers<'_> {
    fn of(&self, e: &Expr) -> Result<Number, Fault> {
        e.eval(self).ok_or(Fault::Arithmetic)
    }

    fn judge(&self, what: Decision) {
        if let Some(list) = self.decisions {
            list.borrow_mut().push(what);
        }
    }

    fn one_place(&self) -> bool {
        self.prog.grid.len() == 1
    }

    /// Decides a quotient by a number that a longer run may change: the quotient is one number, and the dividend keeps
    /// between two multiples of the divisor.
    fn judge_quotient(&self, op: Binary, x: i64, y: i64) {
        // A quotient that is rounded up is one more than that of the number before.
        let x = if op == Binary::CeilDiv { x.saturating_sub(1) } else { x };
        let rest = |q: i64| Some((q, x.checked_sub(q.checked_mul(y)?)?));
        match (y > 0).then(|| rest(x.div_euclid(y))).flatten() {
            Some((q, rest)) => {
                self.judge(Decision::Fixed(q));
                self.judge(Decision::Op(Binary::Gt, y, 0));
                self.judge(Decision::Op(Binary::Gt, rest.saturating_add(1), 0));
                self.judge(Decision::Op(Binary::Gt, y, rest));
            }
            None => self.judge(Decision::Op(op, x, y)),
        }
    }
}

impl Domain for Numbers<'_> {
    type Value = Number;

    fn constant(&self, v: i64) -> Number {
        Number { v, form: 0 }
    }

    fn param(&self, p: ParamId) -> Option<Number> {
        Some(self.constant(self.prog.symbols[p as usize].value))
    }

    fn var(&self, v: VarId) -> Option<Number> {
        Some(Number { v: self.vars[v as usize], form: self.forms.get(v as usize).copied().unwrap_or(0) })
    }

    fn env(&self, env: Env) -> Option<Number> {
        let v = match coordinate(self.prog, &self.coords, self.who, env) {
            Some(v) => v,
            None => return Some(self.tape_index),
        };
        Some(Number { v, form: self.place.map_or(0, |place| place.env(env)) })
    }

    fn tape(&self, t: TapeId, at: Number) -> Option<Number> {
        self.prog.tapes[t as usize].run.eval(&Numbers { tape_index: at, ..*self })
    }

    fn truth(&self, x: &Number) -> Option<bool> {
        self.judge(Decision::Op(Binary::Ne, x.v, 0));
        if let Some(place) = self.place {
            place.sign(self.pc, x.v, x.form);
        }
        Some(x.v != 0)
    }

    fn negate(&self, x: Number) -> Option<Number> {
        Some(Number { v: x.v.wrapping_neg(), form: self.place.map_or(0, |place| place.times(x.form, -1)) })
    }

    fn binary(&self, op: Binary, p: &(Expr, Expr), x: Number, y: Number) -> Option<Number> {
        match op {
            Binary::Add | Binary::Sub => {}
            _ if self.quiet.is_some_and(|quiet| std::ptr::eq(quiet, p)) => {}
            // No loop runs at launch, so each operand is linear in one parameter.
            Binary::Mul if !self.launch && !p.0.is_fixed() && !p.1.is_fixed() => {
                self.judge(Decision::Fixed(x.v));
                self.judge(Decision::Fixed(y.v));
            }
            _ if self.decisions.is_some() && self.divisors.quotient_decides(op, p, self.one_place()) => {
                self.judge_quotient(op, x.v, y.v);
            }
            _ => self.judge(Decision::Op(op, x.v, y.v)),
        }
        let v = apply(op, x.v, y.v)?;
        let form = match self.place {
            Some(_) if x.form == 0 && y.form == 0 => 0,
            // A factor that may differ in a longer run makes no linear form.
            Some(place) if op == Binary::Mul && p.0.constant().or(p.1.constant()).is_none() => {
                place.opaque(op, (x.v, x.form), (y.v, y.form))
            }
            Some(place) => place.binary(self.pc, op, (x.v, x.form), (y.v, y.form)),
            None => 0,
        };
        Some(Number { v, form })
    }
}

/// The value of a coordinate; `None` for the index of a tape.
#[inline]
fn coordinate(prog: &Program, c: &Coords, who: AgentInfo, env: Env) -> Option<i64> {
    let (size, rank) = (prog.cluster as i64, who.cta as i64);
    Some(match env {
        Env::Warp => who.warp as i64,
        Env::CtaRank => rank,
        Env::CtaM => c.m * size + rank,
        Env::CtaN | Env::ClusterN => c.n,
        Env::CtaZ => c.z,
        Env::CtaId => c.id * size + rank,
        Env::ClusterM => c.m,
        Env::ClusterId => c.id,
        Env::TapeIndex => return None,
    })
}

/// The environment in which an agent evaluates expressions to plain values.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    prog: &'a Program,
    coords: Coords,
    who: AgentInfo,
    vars: &'a [i64],
    tape_index: i64,
}

impl Values<'_> {
    /// The value of an expression.
    #[inline]
    pub(super) fn of(&self, e: &Expr) -> Result<i64, Fault> {
        match e {
            Expr::Const(v) => Ok(*v),
            Expr::Var(v) => Ok(self.vars[*v as usize]),
            _ => e.eval(self).ok_or(Fault::Arithmetic),
        }
    }
}

impl Domain for Values<'_> {
    type Value = i64;

    #[inline]
    fn constant(&self, v: i64) -> i64 {
        v
    }

    #[inline]
    fn param(&self, p: ParamId) -> Option<i64> {
        Some(self.prog.symbols[p as usize].value)
    }

    #[inline]
    fn var(&self, v: VarId) -> Option<i64> {
        Some(self.vars[v as usize])
    }

    #[inline]
    fn env(&self, env: Env) -> Option<i64> {
        coordinate(self.prog, &self.coords, self.who, env).or(Some(self.tape_index))
    }

    fn tape(&self, t: TapeId, at: i64) -> Option<i64> {
        self.prog.tapes[t as usize].run.eval(&Values { tape_index: at, ..*self })
    }

    #[inline]
    fn truth(&self, v: &i64) -> Option<bool> {
        Some(*v != 0)
    }

    #[inline]
    fn negate(&self, v: i64) -> Option<i64> {
        Some(v.wrapping_neg())
    }

    #[inline]
    fn binary(&self, op: Binary, _: &(Expr, Expr), x: i64, y: i64) -> Option<i64> {
        apply(op, x, y)
    }
}
