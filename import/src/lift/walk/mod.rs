//! Walks the control flow of one warp and records its operations as a [`tree`](super::tree).
//!
//! | file | what it does |
//! |---|---|
//! | `mod`, `warps`, `shared` | the walk of a warp, the walks of all warps, and the state that they share |
//! | `step` | one instruction: the registers that it sets, or its effect |
//! | `values`, `loads`, `special`, `shuffle`, `masks`, `calls`, `wraps` | the value of a result |
//! | `exits`, `choice`, `resume`, `vars` | where ways meet or leave a loop, and the registers there |
//! | `optional`, `unsure`, `alike`, `loaded_behind` | branches that data decide |
//! | `words` | words of memory that the kernel itself may change |

pub(crate) mod alike;
pub(crate) mod calls;
pub(crate) mod choice;
pub(crate) mod exits;
pub(crate) mod loaded_behind;
pub(crate) mod loads;
pub(crate) mod masks;
pub(crate) mod optional;
pub(crate) mod remainders;
pub(crate) mod resume;
pub(crate) mod shared;
pub(crate) mod shuffle;
pub(crate) mod special;
pub(crate) mod step;
pub(crate) mod unsure;
pub(crate) mod values;
pub(crate) mod vars;
pub(crate) mod warps;
pub(crate) mod words;
pub(crate) mod wraps;

use crate::flow::{BlockId, Ending, ending};
use crate::lift::effects::bulk_rows;
use crate::lift::timed;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::{Arena, Facts, Term};

use super::tree::{Node, Val};
use exits::{Exit, Side};
use shared::Shared;

/// The largest number of instructions of one warp that are walked.
pub(crate) const WORK: u64 = 40_000;
/// The largest depth of nested branches.
const MOST_NESTED: usize = 100;

/// Where a walk stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Before a block.
    At(BlockId),
    /// The thread ended.
    End,
}

/// A loop that is being walked.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) index: usize,
    /// Its exits, in order.
    pub(crate) exits: Vec<Exit>,
    /// Conditions of branches around it.
    pub(crate) path: usize,
    /// Lists of nodes around it.
    pub(crate) levels: usize,
    /// Lanes that walk it.
    pub(crate) group: u32,
    /// Branches around it with a condition that differs by lane and is not tracked.
    pub(crate) unsure: u32,
    /// Accesses to tensor memory that may be open at an exit.
    pub(crate) open: optional::OpenTensor,
}

/// The state of the walk of one warp.
pub(crate) struct Walk<'s, 'a> {
    pub(crate) s: &'s mut Shared<'a>,
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
    /// Its lanes at the start.
    pub(crate) all_lanes: u32,
    /// Lanes that took the same branches; under a guard, `lanes` has fewer.
    pub(crate) group: u32,
    pub(crate) regs: Vec<Option<Val>>,
    pub(crate) facts: Facts,
    /// What is known where the loop that is being solved begins its first iteration.
    pub(crate) begins: Facts,
    pub(crate) nodes: Vec<Node>,
    pub(crate) frames: Vec<Frame>,
    /// Conditions of the branches taken so far.
    pub(crate) path: Vec<Term>,
    /// The instructions of the branches that the walk is inside of, outermost first.
    pub(crate) forks: Vec<usize>,
    /// Nodes before each of these branches.
    pub(crate) outer: Vec<Vec<Node>>,
    /// Branches with a condition that differs by lane and is not tracked: operations under them must not synchronize.
    pub(crate) unsure: u32,
    /// Conditions that differ by lane, of the branches taken so far, and whether they hold.
    pub(crate) lane_conditions: Vec<(Val, bool)>,
    /// The addresses of accesses under such conditions, by line.
    pub(crate) places: Vec<(u32, Val)>,
    /// Results of polling outside of a loop.
    pub(crate) peeked_terms: Vec<Term>,
    /// The number of loops that are being solved: no nodes are added.
    pub(crate) dry: u32,
    /// Whether lanes may have performed operations by themselves since the warp converged.
    pub(crate) apart: bool,
    /// Whether lanes may have stored to shared memory by themselves since the warp converged.
    pub(crate) wrote: bool,
    /// The waits of the warp so far.
    pub(crate) history: words::History,
    /// Registers of each `tcgen05.ld` that no operation has waited for, in a text that never waits.
    pub(crate) loading: optional::Loading,
    /// What it has issued and loaded, in a program that is timed.
    pub(crate) issued: timed::Issued,
    /// Loads and stores of tensor memory that no `tcgen05.wait` may have followed yet.
    pub(crate) open: optional::OpenTensor,
    /// The same at the branch whose sides were walked last.
    pub(crate) open_before: optional::OpenTensor,
    /// How often the warp has passed each barrier of all threads outside of loops and conditions.
    pub(crate) passed: std::collections::BTreeMap<i64, usize>,
    /// The barrier of all threads that the warp passed last, and how often, if it has not waited since.
    pub(crate) fresh: Option<(i64, usize)>,
    /// The lanes that store rows of their own, commit and wait.
    pub(crate) row_lanes: bulk_rows::RowLanes,
}

impl<'a> Walk<'_, 'a> {
    pub(crate) fn inst(&self, at: usize) -> &'a Inst {
        &self.s.entry.code[at]
    }

    /// Walks from a block until one of `stops`.
    pub(crate) fn run(&mut self, mut b: BlockId, stops: &[BlockId]) -> Result<Stop, Error> {
        let flow = self.s.flow;
        let mut first = true;
        loop {
            if b == flow.exit() {
                return Ok(Stop::End);
            }
            if stops.contains(&b) && !(first && self.frames.last().is_some_and(|f| flow.loops[f.index].header == b)) {
                return Ok(Stop::At(b));
            }
            if let Some(l) = flow.header_of[b]
                && !self.frames.iter().any(|f| f.index == l)
                && !self.dispatches(l)
            {
                match self.walk_loop(l, stops)? {
                    Stop::At(to) => {
                        b = to;
                        first = false;
                        continue;
                    }
                    Stop::End => return Ok(Stop::End),
                }
            }
            first = false;
            let block = flow.blocks[b].clone();
            for at in block.first..block.end {
                self.s.work += 1;
                if self.s.work > WORK {
                    return Err(self.s.error(
                        self.inst(at),
                        "the kernel takes too many steps to follow",
                        "a smaller kernel",
                    ));
                }
                self.instruction(at)?;
            }
            let last = block.end - 1;
            self.flush(last);
            let inst = self.inst(last);
            match ending(inst) {
                Ending::Falls => b = block.next[0],
                Ending::Branch | Ending::Exit if inst.guard.is_none() => b = block.next[0],
                Ending::Trap if inst.guard.is_none() => {
                    return Err(self.s.error(inst, "every way from here ends in `trap`", "a way on"));
                }
                Ending::Trap => {
                    self.s.assume(inst.line, "traps are not reached");
                    b = block.next[0];
                }
                Ending::Table => match self.table(last, &block.next)? {
                    Some(to) => b = to,
                    None => {
                        return Err(self.s.error(
                            inst,
                            "the index of this branch is not one number for a warp",
                            "an index that a warp knows",
                        ));
                    }
                },
                _ => match self.branch(b, last, &block.next, stops)? {
                    Stop::At(to) => b = to,
                    Stop::End => return Ok(Stop::End),
                },
            }
        }
    }

    fn table(&mut self, at: usize, next: &[BlockId]) -> Result<Option<BlockId>, Error> {
        let i = self.inst(at);
        let v = self.operand(i.arg(0))?;
        let index = v.uniform(self.lanes).and_then(|t| self.s.arena.constant(t));
        Ok(index.and_then(|i| usize::try_from(i).ok()).and_then(|i| next.get(i).copied()))
    }

    /// The condition under which a guarded instruction is executed.
    pub(crate) fn guard(&mut self, i: &Inst) -> Option<Val> {
        let (reg, not) = i.guard?;
        let v = self.regs[reg as usize]
            .clone()
            .unwrap_or_else(|| Val::Uni(self.s.arena.opaque("a predicate that is not set")));
        Some(if not { self.each(&[v], |a, x| Some(a.not(x[0])), "not") } else { v })
    }

    /// Whether a block leads only to `trap`.
    fn traps(&self, mut b: BlockId) -> bool {
        let flow = self.s.flow;
        for _ in 0..8 {
            let block = &flow.blocks[b];
            if b == flow.exit() {
                return false;
            }
            let code = &self.s.entry.code[block.first..block.end];
            if code.last().is_some_and(|i| ending(i) == Ending::Trap && i.guard.is_none()) {
                return true;
            }
            // A failed assertion ends the kernel.
            if code.iter().any(|i| i.op == "call" && i.args.contains(&Arg::Name("__assertfail".into()))) {
                return true;
            }
            if block.next.len() != 1 {
                return false;
            }
            b = block.next[0];
        }
        false
    }

    /// A conditional branch: lanes with equal conditions continue together.
    fn branch(&mut self, b: BlockId, at: usize, next: &[BlockId], stops: &[BlockId]) -> Result<Stop, Error> {
        let inst = self.inst(at);
        let (taken, falls) = (next[0], next[1]);
        for (bad, good) in [(taken, falls), (falls, taken)] {
            if self.traps(bad) {
                self.asserted(at, good == taken);
                return Ok(Stop::At(good));
            }
        }
        if let Some(join) = self.s.flow.join[b].filter(|_| self.s.idle.contains(&at)) {
            self.passes_over(at, (b, join))?;
            return Ok(Stop::At(join));
        }
        let Some(cond) = self.guard(inst) else { return Ok(Stop::At(taken)) };
        let join = self.s.flow.join[b].unwrap_or(self.s.flow.exit());
        // Lanes by condition.
        let mut groups: Vec<(Term, u32)> = Vec::new();
        for lane in (0..32).filter(|l| self.lanes >> l & 1 == 1) {
            let t = cond.at(lane);
            let t = match self.s.arena.decide(t, &self.facts) {
                Some(v) => self.s.arena.int(v as i64),
                None => t,
            };
            match groups.iter_mut().find(|(x, _)| *x == t) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => groups.push((t, 1 << lane)),
            }
        }
        if let [(t, _)] = groups.as_slice() {
            return match self.s.arena.constant(*t) {
                Some(v) => Ok(Stop::At(if v != 0 { taken } else { falls })),
                None => self.fork(at, *t, (taken, falls), join, stops),
            };
        }
        // Registers of a loop that is being solved have a name in each lane: the second pass compares their values.
        let leaves = |b: BlockId| self.frames.last().is_some_and(|f| !self.s.flow.loops[f.index].body[b]);
        if self.dry > 0
            && leaves(taken) != leaves(falls)
            && let Some((t, _)) = groups.iter().find(|(t, _)| self.s.arena.constant(*t).is_none())
            && groups.iter().all(|(t, _)| !self.opaque(*t))
        {
            return self.fork(at, *t, (taken, falls), join, stops);
        }
        let unknown = groups.iter().filter(|(t, _)| self.s.arena.constant(*t).is_none()).count();
        if unknown > 1
            || (unknown == 1
                && groups
                    .iter()
                    .any(|(t, m)| self.s.arena.constant(*t).is_none() && self.opaque(*t) && m.count_ones() < 32))
        {
            return self.unsure(at, &cond, (taken, falls), join, stops);
        }
        // Each group continues alone until the paths join.
        let all = self.lanes;
        let inner: Vec<BlockId> = stops.iter().copied().chain([join]).collect();
        let mut ended = 0u32;
        let (whole, mut after) = (self.group, self.regs.clone());
        let before = self.regs.clone();
        for (t, mask) in groups {
            (self.lanes, self.group) = (mask, mask);
            // A value that the lanes of the group share is uniform for them.
            self.regs =
                before.iter().map(|v| v.as_ref().map(|v| v.uniform(mask).map_or(v.clone(), Val::Uni))).collect();
            let end = match self.s.arena.constant(t) {
                Some(v) => {
                    let to = if v != 0 { taken } else { falls };
                    if to == join { Stop::At(join) } else { self.run(to, &inner)? }
                }
                None => self.fork(at, t, (taken, falls), join, stops)?,
            };
            for (to, new) in after.iter_mut().zip(std::mem::take(&mut self.regs)) {
                *to = match (to.take(), new) {
                    (Some(old), Some(new)) if old != new => {
                        Some(Val::of(std::array::from_fn(|l| if mask >> l & 1 == 1 { new.at(l) } else { old.at(l) })))
                    }
                    (old, new) => old.or(new),
                };
            }
            match end {
                Stop::At(to) if to == join => {}
                Stop::End => ended |= mask,
                Stop::At(_) => {
                    return Err(self.s.error(
                        inst,
                        "some lanes of a warp leave a loop here and others stay",
                        "a condition that all lanes of a warp share",
                    ));
                }
            }
        }
        self.lanes = all & !ended;
        self.group = whole & !ended;
        self.regs = after;
        if self.lanes == 0 {
            return Ok(Stop::End);
        }
        Ok(Stop::At(join))
    }

    /// Whether a condition depends on a value that is not tracked.
    pub(crate) fn opaque(&self, t: Term) -> bool {
        self.s.arena.mentions(t, |a| matches!(a, crate::symbolic::Atom::Opaque(_)))
    }

    /// Both sides of a uniform condition.
    pub(crate) fn fork(
        &mut self,
        at: usize,
        cond: Term,
        (taken, falls): (BlockId, BlockId),
        join: BlockId,
        stops: &[BlockId],
    ) -> Result<Stop, Error> {
        let inst = self.inst(at);
        if self.outer.len() > MOST_NESTED {
            return Err(self.s.error(inst, "conditions are nested too deeply to follow", "ways that meet again"));
        }
        let cond = self.split_choice(inst.line, cond, &Default::default());
        let cond = self.s.arena.comparison_under(cond, &self.facts);
        if let Some(holds) = self.case(at, cond)? {
            return Ok(Stop::At(if holds { taken } else { falls }));
        }
        if let Some(end) = self.leaves(at, cond, taken, falls)? {
            return Ok(end);
        }
        let cond = self.alike(at, cond, (taken, falls), join);
        if let Some(holds) = self.s.arena.decide(cond, &self.facts) {
            return Ok(Stop::At(if holds { taken } else { falls }));
        }
        let inner: Vec<BlockId> = stops.iter().copied().chain([join]).collect();
        let (facts, regs, lanes) = (self.facts.clone(), self.regs.clone(), self.lanes);
        let (loading, history) = (std::mem::take(&mut self.loading), self.history);
        let (wrote, mut wrote_after) = (self.wrote, false);
        let (open, mut open_after) = (self.open, optional::OpenTensor::default());
        let (mut sides, mut left, mut histories) = (Vec::new(), optional::Loading::default(), Vec::new());
        let mut waits = vec![self.waits_so_far()];
        for (to, holds) in [(taken, true), (falls, false)] {
            let mut known = facts.clone();
            self.s.arena.learn(cond, holds, &mut known);
            self.facts = known;
            self.regs = regs.clone();
            self.lanes = lanes;
            self.loading = loading.clone();
            (self.history, self.open, self.wrote) = (history, open, wrote);
            let outer = std::mem::take(&mut self.nodes);
            self.outer.push(outer);
            let holds = if holds { cond } else { self.s.arena.not(cond) };
            self.path.push(holds);
            self.forks.push(at);
            let end = if to == join || stops.contains(&to) { Stop::At(to) } else { self.run(to, &inner)? };
            self.forks.pop();
            self.path.pop();
            let outer = self.outer.pop().unwrap_or_default();
            let nodes = std::mem::replace(&mut self.nodes, outer);
            let regs = std::mem::take(&mut self.regs);
            sides.push(Side { end, nodes, regs, facts: self.facts.clone(), lanes: self.lanes });
            left = left.or(std::mem::take(&mut self.loading));
            open_after = open_after.or(self.open);
            wrote_after |= self.wrote;
            histories.push(self.history);
            waits.push(self.waits_so_far());
        }
        self.wrote = wrote_after;
        self.remember_either(at, cond, &histories);
        self.open_before = open;
        self.open_before.loads |= !loading.is_empty();
        (self.loading, self.open) = (left, open_after);
        let (Some(b), Some(a)) = (sides.pop(), sides.pop()) else { return Ok(Stop::At(join)) };
        if self.peeks(cond) {
            let ways = [waits[0], waits[1], waits[2]];
            let anyway = self.skipped_anyway(cond, ways);
            let mut known = self.facts.clone();
            anyway.iter().for_each(|(t, _)| self.s.arena.learn(*t, false, &mut known));
            self.compare(at, cond, ways, &known)?;
            return self.peeked(at, (a, b), anyway, facts);
        }
        self.skips(at, cond, [waits[0], waits[1], waits[2]]);
        self.meet(at, cond, a, b, facts)
    }

    pub(crate) fn condition_error(&self, inst: &Inst, cond: Term) -> Error {
        let mut why = None;
        self.s.arena.each_atom(cond, &mut |a| {
            if let crate::symbolic::Atom::Opaque(n) = a {
                why = why.take().or(self.s.arena.why(n).map(str::to_string));
            }
        });
        let why = why.unwrap_or_else(|| "a value that is not followed".into());
        self.s.error(
            inst,
            format!("operations of the protocol depend on a condition that comes from {why}"),
            "a condition over arguments, coordinates and loop counters",
        )
    }

    pub(crate) fn opaque_lanes(&mut self, why: impl Into<std::rc::Rc<str>>) -> Val {
        let why = why.into();
        Val::of(std::array::from_fn(|_| self.s.arena.opaque(why.clone())))
    }

    /// A function applied to the values of each lane.
    pub(crate) fn each(
        &mut self,
        args: &[Val],
        mut f: impl FnMut(&mut Arena, &[Term]) -> Option<Term>,
        why: &str,
    ) -> Val {
        if args.iter().all(|v| matches!(v, Val::Uni(_))) {
            let x: Vec<Term> = args.iter().map(|v| v.at(0)).collect();
            let t = f(&mut self.s.arena, &x);
            return Val::Uni(t.unwrap_or_else(|| self.s.arena.opaque(why)));
        }
        let mut out = [0; 32];
        let why: std::rc::Rc<str> = why.into();
        let mut known: Vec<(Vec<Term>, Option<Term>)> = Vec::new();
        for (lane, out) in out.iter_mut().enumerate() {
            let x: Vec<Term> = args.iter().map(|v| v.at(lane)).collect();
            let t = match known.iter().rev().take(4).find(|(k, _)| *k == x) {
                Some((_, t)) => *t,
                None => {
                    let t = f(&mut self.s.arena, &x);
                    known.push((x, t));
                    t
                }
            };
            *out = t.unwrap_or_else(|| self.s.arena.opaque(why.clone()));
        }
        Val::of(out)
    }

    /// The value of an operand.
    pub(crate) fn operand(&mut self, a: &Arg) -> Result<Val, Error> {
        Ok(match a {
            Arg::Reg(r) => match &self.regs[*r as usize] {
                Some(v) => v.clone(),
                None => Val::Uni(self.s.arena.opaque("a register that is not set")),
            },
            Arg::Not(r) => {
                let v = self.operand(&Arg::Reg(*r))?;
                self.each(&[v], |a, x| Some(a.not(x[0])), "not")
            }
            Arg::Int(v) => Val::Uni(self.s.arena.int(*v)),
            Arg::Mem { base, offset, .. } => {
                let v = self.operand(base)?;
                let offset = *offset;
                self.each(&[v], |a, x| Some(a.plus(x[0], offset)), "an address")
            }
            Arg::Name(n) => self.special(n),
            Arg::List(_) | Arg::Pair(..) | Arg::Group(_) | Arg::Label(_) | Arg::Sink | Arg::Float(_) => {
                Val::Uni(self.s.arena.opaque("an operand of no number"))
            }
        })
    }
}
