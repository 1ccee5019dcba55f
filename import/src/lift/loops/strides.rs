//! Loops in which each lane makes its own number of iterations, such as `for (i = thread; i < n; i += threads) a[i] = 0`.
//!
//! Where such a loop only computes and accesses memory, it orders nothing. Its accesses to shared memory then stand once,
//! each at all places where any iteration may perform it (`anywhere.rs`). Words of global memory that lanes wait for, or
//! release, are not followed in any loop.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::gcd;

use crate::flow::{BlockId, Flow};
use crate::lift::facts::idle::{is_elsewhere, is_passive, only_exit};
use crate::lift::facts::pointers::Pointers;
use crate::lift::facts::slice::{reads, writes};
use crate::lift::memory::anywhere::Unknown;
use crate::lift::tree::{Touch, Val};
use crate::lift::walk::Walk;
use crate::lift::walk::values::bytes_of;
use crate::lift::walk::words;
use crate::ptx::{Arg, Error, Inst, Reg};
use crate::symbolic::{Atom, Node as TermNode};

/// The first of the numbers of counters that stand for how often an instruction was executed.
const EXECUTED: u32 = 1 << 30;

/// The largest number of instructions between two values of a register of a loop.
const LONGEST: usize = 8;

/// The loops that only compute and access memory: their first blocks, and the blocks where their lanes meet.
pub(crate) fn loops(code: &[Inst], flow: &Flow, pointers: &Pointers) -> BTreeMap<BlockId, BlockId> {
    let fine = |i: &Inst| only_accesses(i, pointers) || exchanges(i);
    let found = flow.loops.iter().enumerate().filter_map(|(n, l)| {
        let mut blocks = flow.blocks.iter().zip(&l.body).filter(|(_, inside)| **inside).map(|(b, _)| b);
        let to = only_exit(code, flow, n)?;
        blocks.all(|b| code[b.first..b.end].iter().all(fine)).then_some((l.header, to))
    });
    found.collect()
}

/// Whether an instruction only computes, waits for some time, or accesses memory.
pub(crate) fn only_accesses(i: &Inst, pointers: &Pointers) -> bool {
    is_passive(i) || i.op == "nanosleep" || is_elsewhere(i, pointers) || accesses(i)
}

/// Whether an instruction copies a register, with at least 32 bits.
fn is_copy(i: &Inst) -> bool {
    let wide = |m: &String| matches!(m.as_str(), "s32" | "u32" | "b32" | "s64" | "u64" | "b64");
    matches!(i.op.as_str(), "mov" | "cvt") && i.args.len() == 2 && i.mods.iter().all(wide)
}

/// Whether lanes of a warp exchange values by an instruction, and do nothing else.
fn exchanges(i: &Inst) -> bool {
    matches!(i.op.as_str(), "shfl" | "redux" | "vote" | "match")
}

/// Whether an instruction may be a plain or an atomic access of each lane to shared memory.
pub(crate) fn accesses(i: &Inst) -> bool {
    let has = |list: &[&str]| list.iter().any(|m| i.has(m));
    match i.op.as_str() {
        "cp" => i.has("async") && !has(&["bulk", "mbarrier", "commit_group", "wait_group", "wait_all", "reduce"]),
        "ld" | "st" | "red" | "atom" => {
            let elsewhere = has(&["global", "local", "param", "const"]);
            !elsewhere && !has(&["async", "bulk", "mbarrier", "acquire", "release", "acq_rel"])
        }
        _ => false,
    }
}

/// What a loop does to one register.
#[derive(Clone, Debug, Default)]
struct Changes {
    /// Instructions that add a number that the loop does not change, with these operands.
    added: Vec<(usize, Vec<Arg>)>,
    /// Other instructions that write it, each with its block.
    others: Vec<(usize, BlockId)>,
}

impl Walk<'_, '_> {
    /// Walks a loop of which each lane makes its own number of iterations.
    pub(crate) fn own_iterations(&mut self, l: usize) -> Result<(), Error> {
        let flow = self.s.flow;
        if self.s.unknown == Unknown::LeftOut {
            self.first_iteration(l)?;
        }
        let mut blocks: Vec<BlockId> = (0..flow.blocks.len()).filter(|b| flow.loops[l].body[*b]).collect();
        blocks.sort_by_key(|b| flow.order[*b]);
        let line = self.inst(flow.blocks[flow.loops[l].header].first).line;
        let why: std::rc::Rc<str> = format!("what the loop at line {line} leaves").into();
        if self.dry == 0 {
            self.all_accesses(&blocks, &why)?;
        }
        let changes = self.changes(&blocks);
        for r in self.changed(l) {
            let steps = changes.get(&r).and_then(|c| self.steps_of(c));
            let first = self.regs[r as usize].clone().filter(|_| self.dry == 0);
            let left = self.opaque_lanes(why.clone());
            self.regs[r as usize] = Some(match (first, steps) {
                (Some(first), Some(steps)) => self.advanced(first, &left, steps),
                _ => left,
            });
        }
        self.s.assume(line, "a loop whose lanes make their own numbers of iterations ends");
        self.assume_no_trap(l);
        self.apart |= self.touched(l);
        self.wrote |= self.stored(l);
        Ok(())
    }

    /// The common divisor of the numbers that a loop adds to a register, if it does nothing else to it and adds no negative
    /// number.
    fn steps_of(&self, c: &Changes) -> Option<i64> {
        let added = |(at, operands): &(usize, Vec<Arg>)| {
            let numbers = operands.iter().map(|a| if let Arg::Int(v) = a { Some(*v) } else { None });
            let sum = numbers.sum::<Option<i64>>()?;
            (sum > 0 && self.inst(*at).op == "add").then_some(sum)
        };
        let steps = c.added.iter().map(added).collect::<Option<Vec<i64>>>()?;
        (c.others.is_empty() && !steps.is_empty()).then(|| steps.into_iter().fold(0, gcd))
    }

    /// A value and a multiple of a number, which is not known and not negative in any lane.
    pub(crate) fn advanced(&mut self, first: Val, times: &Val, step: i64) -> Val {
        for lane in 0..32 {
            if let TermNode::Atom(Atom::Opaque(n)) = *self.s.arena.node(times.at(lane)) {
                self.s.arena.bound_opaque(n);
            }
        }
        self.each(
            &[first, times.clone()],
            |a, x| {
                let all = a.scale(x[1], step);
                Some(a.add(x[0], all))
            },
            "a sum",
        )
    }

    /// Adds the accesses of a loop's blocks.
    fn all_accesses(&mut self, blocks: &[BlockId], why: &std::rc::Rc<str>) -> Result<(), Error> {
        let flow = self.s.flow;
        let wanted = self.wanted(blocks);
        let mut changes = self.changes(blocks);
        changes.retain(|r, _| wanted.contains(r));
        let before = self.regs.clone();
        for r in changes.keys() {
            self.regs[*r as usize] = Some(self.opaque_lanes(why.clone()));
        }
        for (r, c) in changes.iter().filter(|(_, c)| c.others.is_empty()) {
            let Some(first) = before[*r as usize].clone() else { continue };
            self.regs[*r as usize] = Some(self.stepped(first, c)?);
        }
        let unknown = self.regs.clone();
        let mut written: BTreeMap<Reg, Val> = BTreeMap::new();
        for b in blocks {
            for (r, c) in changes.iter().filter(|(_, c)| !c.others.is_empty()) {
                let known = written.get(r).filter(|_| c.others.iter().all(|(_, d)| d != b && flow.dominates(*d, *b)));
                self.regs[*r as usize] = known.cloned().or_else(|| unknown[*r as usize].clone());
            }
            for at in flow.blocks[*b].first..flow.blocks[*b].end {
                let i = self.inst(at);
                self.s.work += 1;
                if accesses(i) {
                    self.any_access(at, i)?;
                    continue;
                }
                let mut results = Vec::new();
                writes(i, &mut |r| results.push(r));
                results.retain(|r| wanted.contains(r));
                let once = |r: &Reg| changes.get(r).is_some_and(|c| c.others.len() == 1 && c.others[0].0 == at);
                if !is_passive(i) || i.op == "ld" || i.guard.is_some() || results.is_empty() {
                    continue;
                }
                if results.iter().all(once) {
                    self.compute(at, i)?;
                    for r in results {
                        let (Some(first), Some(c)) = (self.regs[r as usize].clone(), changes.get(&r)) else { continue };
                        let v = self.stepped(first, c)?;
                        self.regs[r as usize] = Some(v.clone());
                        written.insert(r, v);
                    }
                }
            }
        }
        self.regs = before;
        Ok(())
    }

    /// An access to memory in any iteration.
    fn any_access(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let address = match i.op.as_str() {
            "st" | "red" | "cp" => i.arg(0),
            _ => i.arg(1),
        };
        if self.s.pointers.elsewhere(i) {
            self.s.assume(i.line, words::POINTERS);
            return Ok(());
        }
        let v = self.address(address)?;
        let what = match i.op.as_str() {
            "ld" => Touch::Read,
            "st" => Touch::Write,
            "cp" => Touch::Copy,
            _ => Touch::Atomic,
        };
        let bytes = match what {
            Touch::Copy => u32::try_from(self.number(i, i.arg(2), "bytes")?).unwrap_or(0),
            _ => bytes_of(i),
        };
        match self.placed(i, &v, bytes, 32) {
            Some((runs, any)) => self.scatter(at, what, runs, any),
            None => Err(self.s.error(i, "where this access goes is not known", "an address in shared memory")),
        }
    }

    /// A value of a register, and all that additions of the loop make of it.
    fn stepped(&mut self, first: Val, c: &Changes) -> Result<Val, Error> {
        let mut v = first;
        for (at, operands) in &c.added {
            let n = self.s.arena.atom(Atom::Counter(EXECUTED + *at as u32));
            for a in operands {
                let by = self.operand(a)?;
                let sign = if self.inst(*at).op == "sub" { -1 } else { 1 };
                v = self.each(
                    &[v, by],
                    |a, x| {
                        let all = a.mul(x[1], n);
                        let all = a.scale(all, sign);
                        Some(a.add(x[0], all))
                    },
                    "a sum",
                );
            }
        }
        Ok(v)
    }

    /// What the blocks of a loop do to each register.
    fn changes(&self, blocks: &[BlockId]) -> BTreeMap<Reg, Changes> {
        let flow = self.s.flow;
        let mut all: BTreeMap<Reg, Vec<(usize, BlockId)>> = BTreeMap::new();
        for b in blocks {
            for at in flow.blocks[*b].first..flow.blocks[*b].end {
                writes(self.inst(at), &mut |r| all.entry(r).or_default().push((at, *b)));
            }
        }
        let of = |(r, list): (&Reg, &Vec<(usize, BlockId)>)| {
            let mut c = Changes::default();
            for (at, b) in list {
                match self.added(*r, (*at, *b), &all) {
                    Some(operands) => c.added.push((*at, operands)),
                    None => c.others.push((*at, *b)),
                }
            }
            (*r, c)
        };
        all.iter().map(of).collect()
    }

    /// What an instruction adds to an earlier value of a register, where the loop changes nothing of it.
    fn added(
        &self,
        r: Reg,
        (at, block): (usize, BlockId),
        all: &BTreeMap<Reg, Vec<(usize, BlockId)>>,
    ) -> Option<Vec<Arg>> {
        let (mut now, mut place, mut operands) = (at, block, Vec::new());
        for _ in 0..LONGEST {
            let i = self.inst(now);
            let copies = is_copy(i);
            if i.guard.is_some() || !copies && !matches!(i.op.as_str(), "add" | "sub") || i.op == "sub" && now != at {
                return None;
            }
            if now != at && self.inst(at).op == "sub" || i.mods.iter().any(|m| m.starts_with('f') || m == "cc") {
                return None;
            }
            let fixed = |a: &Arg| matches!(a, Arg::Int(_)) || matches!(a, Arg::Reg(x) if !all.contains_key(x));
            let (from, by) = match (i.arg(1), i.arg(2)) {
                (Arg::Reg(x), _) if copies => (*x, None),
                (Arg::Reg(x), by) if fixed(by) => (*x, Some(by)),
                (by, Arg::Reg(x)) if fixed(by) && i.op == "add" => (*x, Some(by)),
                _ => return None,
            };
            operands.extend(by.cloned());
            if from == r {
                return (!operands.is_empty()).then_some(operands);
            }
            // The only instruction that writes the operand, and control comes over it to this one.
            let [(one, b)] = all.get(&from)?.as_slice() else { return None };
            if !(*b == place && *one < now || *b != place && self.s.flow.dominates(*b, place)) {
                return None;
            }
            (now, place) = (*one, *b);
        }
        None
    }

    /// The registers that addresses of accesses to shared memory depend on.
    fn wanted(&self, blocks: &[BlockId]) -> BTreeSet<Reg> {
        let flow = self.s.flow;
        let code = || blocks.iter().flat_map(|b| flow.blocks[*b].first..flow.blocks[*b].end).map(|at| self.inst(at));
        let mut wanted = BTreeSet::new();
        for i in code().filter(|i| accesses(i)) {
            i.args.iter().filter(|a| matches!(a, Arg::Mem { .. })).for_each(|a| {
                a.each_reg(&mut |r| {
                    wanted.insert(r);
                })
            });
        }
        loop {
            let before = wanted.len();
            for i in code() {
                let mut is = false;
                writes(i, &mut |r| is |= wanted.contains(&r));
                if is {
                    reads(i, &mut |r| {
                        wanted.insert(r);
                    });
                }
            }
            if wanted.len() == before {
                return wanted;
            }
        }
    }
}
