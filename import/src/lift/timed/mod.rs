//! What a timed program has beyond the protocol: instructions that only compute, accesses to global memory, and the
//! first use of registers that a load wrote.
//!
//! Every warp instruction is charged to the unit that executes it. Addresses of global memory are bytes from the start
//! of an array that the launch names; the lanes of an access are offsets from its first lane.
//!
//! | file | what it does |
//! |---|---|
//! | `arithmetic`, `issue` | the unit of each instruction; the time of a stretch of them for one warp alone |
//! | `gather` | joins accesses for which one operation of the engine can stand |
//! | `loaded`, `pressure`, `unrolled` | when a loaded register is first used, and how many loads are in flight |
//! | `deferred`, `shadow`, `serial` | instructions that the assembler moves behind stores or under a product, or serializes |

pub(crate) mod arithmetic;
pub(crate) mod deferred;
pub(crate) mod gather;
pub(crate) mod issue;
pub(crate) mod loaded;
pub(crate) mod pressure;
pub(crate) mod serial;
pub(crate) mod shadow;
pub(crate) mod unrolled;

use warpline_sim::ir::Instructions;

use crate::lift::effects::copies;
use crate::lift::facts::slice;
use crate::lift::facts::slice::writes;
use crate::lift::launch::{Argument, Launch, ParamField};
use crate::lift::walk::Walk;
use crate::lift::walk::values::bytes_of;
use crate::ptx::{Arg, Error, Inst, Reg};
use crate::symbolic::{Arena, Atom, Node as TermNode, Term};

use super::tree::{Effect, Fence, Global, GlobalAccess, Kind, Node, Run, Val};
use arithmetic::Reciprocals;
use issue::{Block, LATENCY};
use loaded::{Loaded, loads_global};
use shadow::{Results, shadow};

/// The part of a node of [`Effect::Work`].
const WORK_PART: u8 = 90;
/// The part of a node of [`Effect::Parts`].
const PARTS_PART: u8 = 91;
/// The part of a node of [`Effect::Work`] that was moved behind a product; several follow.
const SHADOW_PART: u8 = 100;
/// The part of a node of [`Effect::Use`]; several follow.
const USE_PART: u8 = 60;
/// The part of a node of [`Effect::Global`].
const GLOBAL_PART: u8 = 50;
/// The part of the fence before an access to global memory.
const FENCE_PART: u8 = 48;
/// The part of a node of [`Effect::Passes`].
const PASSES_PART: u8 = 45;
/// The number of loads from shared memory in [`Effect::Use`].
pub(crate) const SHARED_LOAD: u32 = u32::MAX;
/// Bytes beyond the end of any array.
const OUTSIDE: i64 = 1 << 36;

/// What a warp has issued and loaded.
#[derive(Debug, Default)]
pub(crate) struct Issued {
    /// Instructions since the last node.
    work: Instructions,
    /// Those instructions, with what each needs.
    block: Block,
    /// Loads that no instruction has used yet.
    loads: Loaded,
    /// Registers whose reciprocal is known.
    reciprocals: Reciprocals,
    /// Registers that depend on memory, products or other warps.
    results: Results,
    /// Whether one of the instructions since the last node needs such a register.
    bound: bool,
}

/// Cycles until the result of a special function can be used ([`LATENCY`] for other arithmetic).
const SPECIAL_LATENCY: u64 = 16;
/// Cycles until the result of a shuffle can be used, as of a load of shared memory (`memory.shared_latency`).
const SHUFFLE_LATENCY: u64 = 24;

impl Walk<'_, '_> {
    /// The launch whose run the program is for.
    pub(crate) fn timing(&self) -> Option<&Launch> {
        self.s.timing.as_ref()
    }

    /// The whole number that a run's launch gives for a value among the parameters.
    pub(crate) fn argument(&self, param: u16, offset: u32) -> Option<i64> {
        self.timing()?.number(ParamField { param, offset })
    }

    /// The tensor map of this name among the parameters, in a program that is for a run.
    pub(crate) fn map_named(&self, name: &str) -> Option<u16> {
        self.timing()?;
        let p = self.s.entry.params.iter().position(|p| p.name == name)? as u16;
        matches!(self.s.argument(ParamField { param: p, offset: 0 }), Some(Argument::Map(_))).then_some(p)
    }

    /// CTAs along an axis of the grid, in a program that is for a run.
    pub(crate) fn grid(&self, axis: usize) -> Option<i64> {
        self.timing()?.grid.map(|g| i64::from(g[axis]))
    }

    /// Charges an instruction to the warp, and records its access to global memory.
    pub(crate) fn charge(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        if self.s.timing.is_none() || self.lanes == 0 {
            return Ok(());
        }
        self.uses(at, i);
        if self.dry == 0 {
            let more = self.issued.reciprocals.work(i);
            self.issued.work = self.issued.work.and(more);
            self.depends(i, more);
            let free = self.issued.results.follow(i);
            self.issued.bound |= !free && more != Instructions::default();
        }
        if i.op == "mma" {
            self.product(at, i)?;
        }
        self.global(at, i)?;
        let exchange = matches!(i.op.as_str(), "shfl" | "vote" | "redux" | "match");
        if i.op == "wgmma" && !i.has("wait_group") {
            // A product waits for its operands only; other instructions follow it.
            let mut operands = Vec::new();
            i.args_from(0).iter().for_each(|a| a.each_reg(&mut |r| operands.push(r)));
            self.flush_needed(at, &operands);
        } else if slice::acts(i) && !exchange {
            self.flush(at);
        }
        Ok(())
    }

    /// Adds the instructions since the last node as a node.
    pub(crate) fn flush(&mut self, at: usize) {
        if self.dry > 0 {
            return;
        }
        let mut work = std::mem::take(&mut self.issued.work);
        let block = std::mem::take(&mut self.issued.block);
        work.chain = block.cycles().div_ceil(LATENCY) as u32;
        let bound = std::mem::take(&mut self.issued.bound);
        if work == Instructions::default() {
            return;
        }
        let kind = Kind::Op(self.lanes, Effect::Work(work));
        match shadow(&self.nodes).filter(|_| !bound) {
            Some(i) => {
                // Distinct from other instructions moved there: each came from before an instruction of its own.
                let part = SHADOW_PART + self.nodes[i..].iter().filter(|n| n.part >= SHADOW_PART).count() as u8;
                let product = self.nodes[i - 1].at;
                self.nodes.insert(i, Node { at: product, part, kind });
            }
            None => {
                self.nodes.push(Node { at, part: WORK_PART, kind });
                if bound && work.special > 0 {
                    let (first, second) = block.parts();
                    let parts = Effect::Parts(first.scheduled(), second.scheduled());
                    self.nodes.push(Node { at, part: PARTS_PART, kind: Kind::Op(self.lanes, parts) });
                }
            }
        }
    }

    /// Adds the instructions that these registers depend on as a node.
    fn flush_needed(&mut self, at: usize, registers: &[Reg]) {
        if self.dry > 0 {
            return;
        }
        let work = self.issued.block.take(registers).scheduled();
        let left = &mut self.issued.work;
        left.int = left.int.saturating_sub(work.int);
        left.fma = left.fma.saturating_sub(work.fma);
        left.special = left.special.saturating_sub(work.special);
        if work != Instructions::default() {
            self.nodes.push(Node { at, part: WORK_PART, kind: Kind::Op(self.lanes, Effect::Work(work)) });
        }
    }

    /// What an instruction needs and writes.
    fn depends(&mut self, i: &Inst, work: Instructions) {
        let mut written = Vec::new();
        writes(i, &mut |r| written.push(r));
        if written.is_empty() {
            return;
        }
        let mut read: Vec<Reg> = i.guard.iter().map(|g| g.0).collect();
        i.args_from(1).iter().for_each(|a| a.each_reg(&mut |r| read.push(r)));
        let latency = match i.op.as_str() {
            "shfl" | "redux" | "match" | "vote" => SHUFFLE_LATENCY,
            _ if work.special > 0 => SPECIAL_LATENCY,
            _ if work == Instructions::default() => 0,
            _ => LATENCY,
        };
        self.issued.block.add(&read, &written, work, latency);
    }

    fn record(&mut self, at: usize, part: u8, e: Effect) {
        if self.dry == 0 {
            self.flush(at);
            self.nodes.push(Node { at, part, kind: Kind::Op(self.lanes, e) });
        }
    }

    /// Waits for the loads whose registers an instruction is the first to use.
    fn uses(&mut self, at: usize, i: &Inst) {
        for (n, load) in self.issued.loads.used(i).into_iter().enumerate() {
            self.record(at, USE_PART + n.min(20) as u8, Effect::Use(load));
        }
    }

    /// The lanes that execute an instruction, as far as is known.
    fn executing(&mut self, i: &Inst) -> u32 {
        let Some(cond) = self.guard(i) else { return self.lanes };
        let lanes = (0..32).filter(|l| self.lanes >> l & 1 == 1);
        lanes.filter(|l| self.s.arena.decide(cond.at(*l), &self.facts) != Some(false)).fold(0, |m, l| m | 1 << l)
    }

    /// Accesses to global memory, and loads of shared memory.
    fn global(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let far = i.has("global") && !i.has("param");
        let (how, operand, bytes) = match i.op.as_str() {
            _ if loads_global(i) => (GlobalAccess::Load(at as u32), 1, bytes_of(i)),
            "ld" | "ldmatrix" if i.mods.iter().any(|m| m.starts_with("shared")) || i.op == "ldmatrix" => {
                self.issued.loads.load(i, SHARED_LOAD);
                return Ok(());
            }
            "st" if far && !i.has("async") => (GlobalAccess::Store, 0, bytes_of(i)),
            "red" if far && !i.has("async") => (GlobalAccess::Atomic, 0, bytes_of(i)),
            "atom" if far => (GlobalAccess::Atomic, 1, bytes_of(i)),
            "cp" if i.has("async") && !i.has("bulk") && far => {
                let bytes = self.operand(i.arg(2))?.uniform(self.lanes).and_then(|t| self.s.arena.constant(t));
                (GlobalAccess::Copy, 1, bytes.unwrap_or(16).clamp(0, 16) as u32)
            }
            "cp" if i.has("tensor") && far && !i.has("prefetch") => return self.boxed(at, i),
            _ => return Ok(()),
        };
        let lanes = self.executing(i);
        if lanes == 0 {
            return Ok(());
        }
        let v = self.operand(i.arg(operand))?;
        if let GlobalAccess::Load(number) = how {
            self.issued.loads.load(i, number);
        }
        let mut g = self.lanes_of(how, &v, lanes, bytes);
        if how == GlobalAccess::Copy {
            self.leave_out(i, bytes, &mut g)?;
        }
        // The assembler puts a fence before an access that releases.
        if matches!(how, GlobalAccess::Atomic | GlobalAccess::Store) && ["acq_rel", "release"].iter().any(|m| i.has(m))
        {
            self.record(at, FENCE_PART, Effect::Fence(Fence::Gpu));
        }
        self.record(at, GLOBAL_PART, Effect::Global(g));
        Ok(())
    }

    /// The array and the offsets of an access by threads.
    fn lanes_of(&mut self, how: GlobalAccess, v: &Val, lanes: u32, bytes: u32) -> Global {
        let list: Vec<usize> = (0..32).filter(|l| lanes >> l & 1 == 1).collect();
        let unknown = |source| Global {
            how,
            source,
            at: Vec::new(),
            lanes: list.iter().map(|l| (*l as i64 * i64::from(bytes), bytes)).collect(),
            instructions: 1,
            sectors: (list.len() as u32 * bytes).div_ceil(32),
        };
        let Some((source, first)) = self.array_of(v.at(list[0])) else { return unknown(None) };
        let source = Some(source);
        if self.opaque(first) || self.s.arena.reads_memory(first) {
            return unknown(source);
        }
        let mut offsets = Vec::new();
        for l in &list {
            let d = self.s.arena.sub(v.at(*l), v.at(list[0]));
            let Some(offset) = sample(&mut self.s.arena, d) else { return unknown(source) };
            offsets.push((offset, bytes));
        }
        let mut sectors: Vec<i64> = offsets.iter().map(|(o, _)| o.div_euclid(32)).collect();
        sectors.sort_unstable();
        sectors.dedup();
        let sectors = sectors.len() as u32;
        Global { how, source, at: vec![first], lanes: offsets, instructions: 1, sectors }
    }

    /// Moves a copy outside its array where its source size is zero: it fills with zeros, and reads nothing.
    /// `bytes` are those of a lane's copy.
    fn leave_out(&mut self, i: &Inst, bytes: u32, g: &mut Global) -> Result<(), Error> {
        let size = match i.args.len() {
            0..=3 => None,
            _ => self.operand(i.arg(3))?.uniform(self.lanes),
        };
        if let (Some(size), [at]) = (size, g.at.as_mut_slice())
            && self.s.arena.constant(size).is_none()
            && !self.opaque(size)
            && !self.s.arena.reads_memory(size)
        {
            let all = self.s.arena.int(i64::from(bytes));
            let missing = self.s.arena.sub(all, size);
            let far = self.s.arena.int(OUTSIDE);
            let away = self.s.arena.mul(missing, far);
            *at = self.s.arena.add(*at, away);
        }
        Ok(())
    }

    /// The value among the parameters that a term is.
    fn pointer(&self, t: Term) -> Option<ParamField> {
        match *self.s.arena.node(t) {
            TermNode::Atom(Atom::Param(param, offset)) => Some(ParamField { param, offset }),
            _ => None,
        }
    }

    /// The array that an address points into, and the bytes from its start.
    fn array_of(&mut self, t: Term) -> Option<(ParamField, Term)> {
        let (constant, parts) = self.s.arena.parts(t);
        let is_array = |x| self.pointer(x).filter(|p| matches!(self.s.argument(*p), Some(Argument::Array(_))));
        let p = parts.iter().filter(|(_, c)| *c == 1).find_map(|(x, _)| is_array(*x))?;
        let rest = parts.iter().copied().filter(|(x, _)| is_array(*x) != Some(p)).collect();
        Some((p, self.s.arena.sum(constant, rest)))
    }

    /// A bulk copy by a tensor map that is a parameter.
    fn boxed(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let loads = i.mods.iter().find(|m| m.starts_with("shared") || *m == "global").is_none_or(|m| m != "global");
        let operand = i.arg(usize::from(loads)).clone();
        let Arg::Mem { base, offset: 0, extra } = &operand else { return Ok(()) };
        let map = self.operand(base)?;
        let whole = map.uniform(self.lanes).and_then(|t| self.pointer(t));
        let inside =
            self.parameter_at(&map).and_then(|(param, at)| Some(ParamField { param, offset: at.try_into().ok()? }));
        let is_map = |f: &ParamField| matches!(self.s.argument(*f), Some(Argument::Map(_)));
        let Some(source) = whole.filter(is_map).or(inside.filter(is_map)) else { return Ok(()) };
        let coordinates: Vec<Arg> = match extra.first() {
            Some(Arg::List(l)) => l.clone(),
            _ => extra.clone(),
        };
        let mut place = Vec::new();
        for c in &coordinates {
            match self.operand(c)?.uniform(self.lanes) {
                Some(t) if !self.opaque(t) => place.push(t),
                _ => {
                    place.clear();
                    break;
                }
            }
        }
        let how = if loads { GlobalAccess::BoxLoad } else { GlobalAccess::BoxStore };
        self.record(
            at,
            GLOBAL_PART,
            Effect::Global(Global {
                how,
                source: Some(source),
                at: place,
                lanes: Vec::new(),
                instructions: 1,
                sectors: 0,
            }),
        );
        Ok(())
    }

    /// The passes through the banks of shared memory that an access takes: a pass serves one word of each bank.
    pub(crate) fn bank_passes(&mut self, at: usize, runs: &[Run]) {
        let (Some((first, _)), true) = (runs.first().copied(), self.timing().is_some() && self.dry == 0) else {
            return;
        };
        let mut words: Vec<i64> = Vec::new();
        for (t, bytes) in runs {
            let d = self.s.arena.sub(*t, first);
            let from = sample(&mut self.s.arena, d).unwrap_or(0);
            words.extend(from.div_euclid(4)..=(from + i64::from(*bytes) - 1).div_euclid(4));
        }
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u32; 32];
        words.iter().for_each(|w| banks[w.rem_euclid(32) as usize] += 1);
        self.record(at, PASSES_PART, Effect::Passes(banks.into_iter().max().unwrap_or(1)));
    }

    /// `mma.sync`.
    fn product(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let shape = i.mods.iter().find_map(|m| copies::shape(m));
        let Some((m, n, k)) = shape else { return Ok(()) };
        let bits = i.mods.iter().filter_map(|m| copies::width(m)).nth(1).unwrap_or(16);
        self.record(at, 0, Effect::Product([m, n, k, bits], 1));
        Ok(())
    }
}

/// A difference of addresses: its value, or that in the first CTA and iteration where it is no constant.
pub(crate) fn sample(a: &mut Arena, t: Term) -> Option<i64> {
    a.constant(t).or_else(|| {
        a.value(t, &|atom| match atom {
            Atom::Place(_) | Atom::Counter(_) | Atom::Var(_) => Some(0),
            _ => None,
        })
    })
}
