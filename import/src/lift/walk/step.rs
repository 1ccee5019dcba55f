//! One instruction: the registers it sets, and its effect on shared memory and barriers.

use crate::flow::{Ending, ending};
use crate::lift::facts::slice::{acts, unread, writes};
use crate::lift::memory::anywhere::Unknown;
use crate::lift::tree::{Effect, Fence, Kind, Node, Run, Stream, Touch, Val};
use crate::ptx::{Arg, Error, Inst, Reg};
use crate::symbolic::{Arena, Atom, Op, Term};

use super::Walk;
use super::loads::copied_float;
use super::masks::positive_mask;
use super::remainders::below_divisor;
use super::values::{apply, bytes_of, compare, unless_overflow};

impl Walk<'_, '_> {
    /// Executes an instruction that does not end its block.
    pub(crate) fn instruction(&mut self, at: usize) -> Result<(), Error> {
        let i = self.inst(at);
        self.charge(at, i)?;
        if !self.loading.is_empty() {
            self.loaded(at, i)?;
        }
        if ending(i) != Ending::Falls {
            return Ok(());
        }
        if i.op == "mma" && i.has("sync") {
            self.multiplied(at, i)?;
        }
        if !acts(i) {
            if unread(i) {
                return Err(self.unknown(i));
            }
            if !self.s.is_needed(i) && i.op != "call" && !self.s.accesses.contains_key(&at) {
                return Ok(());
            }
        }
        let Some(cond) = self.guard(i) else { return self.execute(at, i) };
        let (mut yes, mut open) = (0u32, Vec::<(Term, u32)>::new());
        for lane in (0..32).filter(|l| self.lanes >> l & 1 == 1) {
            let t = cond.at(lane);
            match self.s.arena.decide(t, &self.facts) {
                Some(true) => yes |= 1 << lane,
                Some(false) => {}
                None => match open.iter_mut().find(|(x, _)| *x == t) {
                    Some((_, m)) => *m |= 1 << lane,
                    None => open.push((t, 1 << lane)),
                },
            }
        }
        let all = self.lanes;
        if yes != 0 {
            self.lanes = yes;
            self.execute(at, i)?;
        }
        let of_launch = self.s.unknown == Unknown::OfLaunch;
        let several = open.len() > 1 && !of_launch;
        let unsure = several || open.iter().any(|(t, _)| self.opaque(*t));
        let before = self.regs.clone();
        let start = self.nodes.len();
        for (cond, mask) in open {
            let first = if of_launch { self.nodes.len() } else { start };
            self.lanes = mask;
            self.unsure += unsure as u32;
            self.lane_conditions.push((Val::Uni(cond), true));
            let done = self.execute(at, i);
            self.lane_conditions.pop();
            done?;
            self.unsure -= unsure as u32;
            self.lanes = all;
            let mut changed = Vec::new();
            writes(i, &mut |r| changed.push(r));
            for r in changed {
                let (Some(old), Some(new)) = (before[r as usize].clone(), self.regs[r as usize].clone()) else {
                    continue;
                };
                let merged: [Term; 32] = std::array::from_fn(|l| {
                    if mask >> l & 1 == 1 { self.s.arena.op(Op::If, &[cond, new.at(l), old.at(l)]) } else { new.at(l) }
                });
                self.regs[r as usize] = Some(Val::of(merged));
            }
            if !unsure || of_launch {
                let nodes = self.nodes.split_off(first);
                if !nodes.is_empty() && !self.opaque(cond) {
                    self.nodes.push(Node { at, part: 8, kind: Kind::If(cond, nodes, Vec::new()) });
                }
            }
        }
        self.lanes = all;
        Ok(())
    }

    /// Sets a register in the executing lanes, if anything depends on it.
    pub(crate) fn set(&mut self, r: Reg, v: Val) {
        if !self.s.need[r as usize] {
            return;
        }
        let slot = &mut self.regs[r as usize];
        *slot = match slot.take() {
            Some(old) if self.lanes != self.group => {
                Some(Val::of(std::array::from_fn(|l| if self.lanes >> l & 1 == 1 { v.at(l) } else { old.at(l) })))
            }
            _ => Some(v),
        };
    }

    pub(crate) fn set_arg(&mut self, a: &Arg, v: Val) {
        if let Arg::Reg(r) = a {
            self.set(*r, v);
        }
    }

    /// Adds an operation to the nodes.
    pub(crate) fn push(&mut self, at: usize, part: u8, e: Effect) -> Result<(), Error> {
        self.waited(at, &e);
        self.overwrites(at, &e);
        match &e {
            Effect::TensorLoad(_) => self.open.loads = true,
            Effect::TensorStore(_) => self.open.stores = true,
            Effect::TensorWait(true) => self.open.loads = false,
            Effect::TensorWait(false) => self.open.stores = false,
            _ => {}
        }
        self.wrote |= matches!(e, Effect::Touch(what, _) | Effect::Far { what, .. } if what != Touch::Read);
        if self.lanes == u32::MAX && matches!(e, Effect::WarpSync | Effect::Bar(_, _, true)) {
            self.wrote = false;
        }
        match &e {
            Effect::Touch(..) | Effect::Far { .. } | Effect::Commit(Stream::Copy) => self.apart = true,
            Effect::WarpSync | Effect::Bar(..) | Effect::ClusterArrive(_) | Effect::ClusterWait => self.apart = false,
            Effect::WaitGroup(Stream::Wgmma, _) | Effect::TensorWait(_) => self.apart = false,
            _ => {}
        }
        if self.dry > 0 {
            return Ok(());
        }
        // It orders nothing here, so whether it is executed does not matter.
        if self.unsure > 0 && e == Effect::Fence(Fence::Cta) {
            return Ok(());
        }
        if self.unsure > 0 && !Self::only_accesses(&e) {
            let i = self.inst(at);
            for v in self.lane_conditions.iter().map(|(v, _)| v.clone()).collect::<Vec<_>>() {
                (0..32).for_each(|lane| self.wants_argument(at, v.at(lane)));
            }
            return Err(self.s.error(
                i,
                format!("whether `{}` is executed depends on data that is not followed", i.name()),
                "a condition over arguments, coordinates and loop counters",
            ));
        }
        self.nodes.push(Node { at, part, kind: Kind::Op(self.lanes, e) });
        Ok(())
    }

    /// The address of a memory operand.
    pub(crate) fn address(&mut self, a: &Arg) -> Result<Val, Error> {
        self.operand(a)
    }

    fn execute(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        if let Some(of) = self.s.accesses.get(&at).cloned() {
            self.push(at, 6, Effect::Registers(of))?;
            if !acts(i) && !self.s.is_needed(i) {
                return Ok(());
            }
        }
        if acts(i) && self.effect(at, i)? {
            return Ok(());
        }
        self.compute(at, i)?;
        self.at_most_default(at);
        Ok(())
    }

    /// Sets the registers of an instruction that only computes.
    pub(crate) fn compute(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let Some(to) = i.args.first() else { return Ok(()) };
        if !self.s.is_needed(i) && i.op != "call" {
            return Ok(());
        }
        match i.op.as_str() {
            "setp" => {
                let (p, q) = (self.operand(i.arg(1))?, self.operand(i.args.get(2).unwrap_or(&Arg::Sink))?);
                let (mut overflows, mut divides) = (false, false);
                let outcome = |a: &mut Arena, x: &[Term]| match unless_overflow(a, i, x[0], x[1]) {
                    Some(holds) => {
                        overflows = true;
                        Some(a.int(holds as i64))
                    }
                    None => {
                        let t = compare(a, i, x[0], x[1])?;
                        let Some(holds) = below_divisor(a, t) else { return Some(t) };
                        divides = true;
                        Some(a.int(holds as i64))
                    }
                };
                let mut v = self.result(i, &[p, q], outcome, "a comparison of data");
                if overflows {
                    self.s.assume(
                        i.line,
                        "a number is less than those to which no tile can be added without an overflow",
                    );
                }
                if divides {
                    self.s.assume(i.line, "an argument that another number is divided by is positive");
                }
                if let Some(c) = i.args.get(3) {
                    let op = if i.has("and") {
                        Some(Op::Both)
                    } else if i.has("or") {
                        Some(Op::Either)
                    } else {
                        None
                    };
                    let c = self.operand(c)?;
                    v = self.each(&[v, c], |a, x| op.map(|op| a.op(op, x)), "a comparison with a third operand");
                }
                match to {
                    Arg::Pair(p, q) => {
                        let n = self.each(std::slice::from_ref(&v), |a, x| Some(a.not(x[0])), "not");
                        self.set_arg(p, v);
                        self.set_arg(q, n);
                    }
                    to => self.set_arg(to, v),
                }
            }
            "ld" => self.load(at, i)?,
            // A reduction over all threads of a barrier.
            "bar" | "barrier" if i.has("red") => {
                let zero = self.s.arena.int(0);
                let v = self.shared_word(at, 0, zero);
                self.set_arg(to, v);
            }
            "atom" => {
                let v = self.own_word(at, 0, i, false);
                self.set_arg(to, v);
            }
            "mapa" => {
                let (addr, cta) = (self.operand(i.arg(1))?, self.operand(i.arg(2))?);
                let v = self.each(
                    &[addr, cta],
                    |a, x| {
                        let c = a.plus(x[1], 1);
                        let c = a.scale(c, crate::lift::REMOTE);
                        Some(a.add(x[0], c))
                    },
                    "an address in another CTA",
                );
                self.set_arg(to, v);
            }
            "shfl" => self.shuffle(i, to)?,
            "activemask" => {
                let v = self.s.arena.int(self.lanes as i32 as i64);
                self.set_arg(to, Val::Uni(v));
            }
            "vote" => {
                let p = self.operand(i.arg(1))?;
                let known: Option<Vec<i64>> = (0..32)
                    .filter(|l| self.lanes >> l & 1 == 1)
                    .map(|l| self.s.arena.decide(p.at(l), &self.facts).map(|v| v as i64))
                    .collect();
                let v = match (known, p.uniform(self.lanes)) {
                    (Some(k), _) if i.has("any") => self.s.arena.int(k.iter().any(|v| *v != 0) as i64),
                    (Some(k), _) if i.has("all") => self.s.arena.int(k.iter().all(|v| *v != 0) as i64),
                    (Some(k), _) if i.has("ballot") && k.len() == 32 => {
                        let bits = k.iter().enumerate().fold(0u32, |m, (l, v)| m | (*v as u32) << l);
                        self.s.arena.int(bits as i32 as i64)
                    }
                    (None, Some(t)) if i.has("any") || i.has("all") || i.has("uni") => t,
                    _ => self.s.arena.opaque(super::alike::VOTE),
                };
                self.set_arg(to, Val::Uni(v));
            }
            "redux" | "match" => {
                let v = self.s.arena.opaque("a reduction over lanes");
                self.set_arg(to, Val::Uni(v));
            }
            "clusterlaunchcontrol" => self.answer(i),
            "call" => self.call(i)?,
            "and" if self.leader_mask(i).is_some() => self.leader(i)?,
            "and" if positive_mask(i).is_some() || self.has_upper_mask(i) => self.masked(i)?,
            "mov" if matches!(to, Arg::List(_)) || matches!(i.args.get(1), Some(Arg::List(_))) => self.packed(i, to)?,
            _ => {
                let mut args = Vec::new();
                for a in i.args_from(1) {
                    args.push(match copied_float(i, a) {
                        Some(bits) => Val::Uni(self.s.arena.int(bits)),
                        None => self.operand(a)?,
                    });
                }
                let facts = self.facts.clone();
                if i.op == "shr"
                    && !super::values::type_of(i).1
                    && matches!(to, Arg::Reg(r) if self.s.divided[*r as usize])
                    && let Some(v) = args.first().cloned()
                {
                    args[0] = self.each(&[v], |a, x| Some(a.positive_under(x[0], &facts)), "a shift");
                }
                let read = |a: &Arg| !matches!(a, Arg::Float(_) | Arg::List(_)) || copied_float(i, a).is_some();
                let known = matches!(to, Arg::Reg(_)) && i.args.iter().all(read);
                let why = format!("`{}` at line {}", i.name(), i.line);
                let v = if known {
                    self.result(i, &args, |a, x| apply(a, i, x), &why)
                } else if args.iter().all(|v| matches!(v, Val::Uni(_))) {
                    Val::Uni(self.s.arena.opaque(why.clone()))
                } else {
                    self.opaque_lanes(why.clone())
                };
                let v = match i.op.as_str() {
                    "shr" => self.each(
                        &[v],
                        |a, x| {
                            let t = a.quotient_under(x[0], &facts);
                            Some(a.sign_under(t, &facts))
                        },
                        &why,
                    ),
                    // The condition of a loop with at least one iteration says so, too: `max(steps, 1)` is `steps`.
                    "max" => self.each(&[v], |a, x| Some(a.under(x[0], &facts)), &why),
                    _ => v,
                };
                match to {
                    Arg::Reg(r) => {
                        let v = self.named_if_long(at, *r, v);
                        self.set(*r, v);
                    }
                    to => {
                        let mut regs = Vec::new();
                        to.each_reg(&mut |r| regs.push(r));
                        regs.retain(|r| self.s.need[*r as usize]);
                        for r in regs {
                            let v = self.opaque_lanes(why.clone());
                            self.set(r, v);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// `mov.b64 {lo, hi}, x` and `mov.b64 x, {lo, hi}`.
    fn packed(&mut self, i: &Inst, to: &Arg) -> Result<(), Error> {
        let (bits, _) = super::values::type_of(i);
        match (to, i.args.get(1)) {
            (Arg::List(parts), Some(from)) => {
                let v = self.operand(from)?;
                let each = bits / parts.len().max(1) as u32;
                for (n, p) in parts.iter().enumerate() {
                    let shift = each * n as u32;
                    let x = self.each(
                        std::slice::from_ref(&v),
                        |a, x| {
                            if let Some(part) = a.part(x[0], each, n) {
                                return Some(part);
                            }
                            let (by, size) = (a.int(1i64.checked_shl(shift).unwrap_or(0)), a.int(1i64 << each.min(62)));
                            let high = if shift == 0 { x[0] } else { a.op(Op::Div, &[x[0], by]) };
                            Some(a.op(Op::Rem, &[high, size]))
                        },
                        "part of a number",
                    );
                    self.set_arg(p, x);
                }
            }
            (to, Some(Arg::List(parts))) => {
                let each = bits / parts.len().max(1) as u32;
                let mut sum = Val::Uni(self.s.arena.int(0));
                let mut values = Vec::new();
                for (n, p) in parts.iter().enumerate() {
                    let v = self.operand(p)?;
                    values.push(v.clone());
                    let scale = 1i64.wrapping_shl(each * n as u32);
                    let last = n + 1 == parts.len();
                    sum = self.each(
                        &[sum, v],
                        |a, x| {
                            let v = match a.constant(x[1]) {
                                Some(c) if !last && each < 63 => a.int(c & ((1 << each) - 1)),
                                _ => x[1],
                            };
                            let v = a.scale(v, scale);
                            Some(a.add(x[0], v))
                        },
                        "a number of parts",
                    );
                }
                for lane in 0..if matches!(sum, Val::Uni(_)) { 1 } else { 32 } {
                    let parts: Vec<Term> = values.iter().map(|v| v.at(lane)).collect();
                    self.s.arena.pack(sum.at(lane), each, &parts);
                }
                self.set_arg(to, sum);
            }
            _ => {}
        }
        Ok(())
    }

    /// Accesses of threads to shared memory.
    pub(crate) fn touches(&mut self, at: usize, i: &Inst, what: Touch) -> Result<(), Error> {
        let address = if what == Touch::Read { i.arg(1) } else { i.arg(0) };
        let v = self.address(address)?;
        let matrix = i.op == "ldmatrix" || i.op == "stmatrix";
        let (bytes, lanes) = if matrix {
            let n = if i.has("x4") {
                32
            } else if i.has("x2") {
                16
            } else {
                8
            };
            let n = if i.has("m16n16") { (n * 2).min(32) } else { n };
            (16, n)
        } else {
            (bytes_of(i), 32)
        };
        if let Some((runs, true)) = self.placed(i, &v, bytes, lanes) {
            return self.scatter(at, what, runs, true);
        }
        let runs = self.runs(i, &v, bytes, lanes)?;
        self.bank_passes(at, &runs);
        self.access(at, i, what, runs, None)
    }

    /// The bytes that each executing lane accesses.
    pub(crate) fn runs(&mut self, i: &Inst, v: &Val, bytes: u32, lanes: usize) -> Result<Vec<Run>, Error> {
        let mut runs: Vec<Run> = Vec::new();
        if self.unsure > 0 && self.dry == 0 {
            self.places.push((i.line, v.clone()));
        }
        for lane in (0..lanes).filter(|l| self.lanes >> l & 1 == 1) {
            let t = v.at(lane);
            if self.dry == 0 && self.opaque(t) {
                let mut why = String::new();
                self.s.arena.each_atom(t, &mut |a| {
                    if let Atom::Opaque(n) = a {
                        why = self.s.arena.why(n).unwrap_or_default().to_string();
                    }
                });
                let message = format!("the shared-memory address of `{}` comes from {why}", i.name());
                return Err(self.s.error(i, message, "an address over arguments, lanes and loop counters"));
            }
            runs.push((t, bytes));
        }
        runs.sort_unstable();
        runs.dedup();
        Ok(runs)
    }
}
