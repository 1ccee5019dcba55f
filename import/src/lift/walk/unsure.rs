//! Branches that data decide in each lane.

use warpline_sim::ir::gcd;

use crate::flow::BlockId;
use crate::lift::memory::anywhere::Unknown;
use crate::lift::tree::{Effect, Kind, Node, Run, Touch, Val};
use crate::ptx::{Error, Reg};
use crate::symbolic::Term;

use super::{Stop, Walk};

/// The largest depth of nested branches by data. A damaged text can lead back to one of them without a loop.
const DEEPEST: u32 = 200;

impl Walk<'_, '_> {
    /// A branch that depends on data in each lane: the code until the paths join must not synchronize.
    pub(crate) fn unsure(
        &mut self,
        at: usize,
        cond: &Val,
        (taken, falls): (BlockId, BlockId),
        join: BlockId,
        stops: &[BlockId],
    ) -> Result<Stop, Error> {
        let inst = self.inst(at);
        let leaves = |b: BlockId| self.frames.last().is_some_and(|f| !self.s.flow.loops[f.index].body[b]);
        if leaves(taken) != leaves(falls) {
            return Err(self.s.error(
                inst,
                "some lanes of a warp leave a loop here and others stay",
                "a condition that all lanes of a warp share",
            ));
        }
        let inner: Vec<BlockId> = stops.iter().copied().chain([join]).collect();
        let mut sides = Vec::new();
        let regs = self.regs.clone();
        let lanes = self.lanes;
        if self.unsure == DEEPEST {
            return Err(self.s.error(
                inst,
                "branches by data that is not followed are nested too deeply here",
                "fewer of them, and no way back to one of them",
            ));
        }
        self.unsure += 1;
        let (first, noted) = (self.nodes.len(), self.places.len());
        let mut second = first;
        let decided: Vec<Option<bool>> = (0..32).map(|l| self.s.arena.decide(cond.at(l), &self.facts)).collect();
        for (to, holds) in [(taken, true), (falls, false)] {
            second = self.nodes.len();
            self.regs = regs.clone();
            // A lane with a known outcome is on one side alone.
            self.lanes = (0..32).filter(|l| decided[*l] != Some(!holds)).fold(0, |all, l| all | lanes & 1 << l);
            self.lane_conditions.push((cond.clone(), holds));
            let end = if to == join { Ok(Stop::At(join)) } else { self.run(to, &inner) };
            self.lane_conditions.pop();
            let end = end?;
            if end != Stop::At(join) && !(end == Stop::End && join == self.s.flow.exit()) {
                return Err(self.s.error(
                    inst,
                    "lanes of a warp part for good, by data that is not followed",
                    "a condition that lanes of a warp share",
                ));
            }
            self.lanes = lanes;
            sides.push(std::mem::take(&mut self.regs));
        }
        self.unsure -= 1;
        // A lane is on one side, and its bytes are not those of the other lanes.
        match self.s.unknown {
            Unknown::OfLaunch => self.nodes.truncate(first),
            // A barrier that tracks copies orders no store.
            _ if self.s.entry.code.iter().any(|i| i.op == "cp" && i.has("mbarrier")) => {}
            _ => {
                let mut b = self.nodes.split_off(second.min(self.nodes.len()));
                let mut a = self.nodes.split_off(first.min(self.nodes.len()));
                let place = |at: usize| {
                    let line = self.s.entry.code[at].line;
                    let mut all = self.places[noted..].iter().filter(|(l, _)| *l == line).map(|(_, v)| v);
                    let first = all.next()?;
                    all.all(|v| v == first).then_some(first)
                };
                without_copied(&mut a, &b, &place);
                without_copied(&mut b, &a, &place);
                self.nodes.extend(a.into_iter().chain(b));
            }
        }
        self.places.truncate(noted);
        self.arrived_behind(at)?;
        let (Some(b), Some(a)) = (sides.pop(), sides.pop()) else { return Ok(Stop::At(join)) };
        for (r, (x, y)) in a.into_iter().zip(b).enumerate() {
            let v = match (x, y) {
                (Some(x), Some(y)) if x == y => Some(x),
                (Some(_), Some(_)) if !self.s.live.is(join, r as Reg) => None,
                (Some(x), Some(y)) => match self.either(r as u32, cond, (&x, &y)) {
                    Some(v) => Some(v),
                    None => {
                        let v = self.opaque_lanes(format!("data that decides at line {}", inst.line));
                        let v = self.unknown_of(r as u32, v);
                        Some(self.at_distance(&x, &y, &v).unwrap_or(v))
                    }
                },
                (x, y) => x.or(y),
            };
            self.regs.push(v);
        }
        Ok(if join == self.s.flow.exit() { Stop::End } else { Stop::At(join) })
    }

    /// The values of lanes of which each has one or another, where both differ by multiples of a number: one of them and a
    /// multiple, which `times` says for each lane.
    fn at_distance(&mut self, x: &Val, y: &Val, times: &Val) -> Option<Val> {
        if self.dry > 0 {
            return None;
        }
        let lanes = || (0..32).filter(|l| self.lanes >> l & 1 == 1);
        let apart: Vec<Term> = lanes().map(|l| (x.at(l), y.at(l))).map(|(x, y)| self.s.arena.sub(y, x)).collect();
        let step = apart.iter().fold(0, |g, t| gcd(g, self.s.arena.step(*t)));
        let from = if apart.iter().all(|t| self.s.arena.range(*t).0 >= 0) {
            x
        } else if apart.iter().all(|t| self.s.arena.range(*t).1 <= 0) {
            y
        } else {
            return None;
        };
        let followed = lanes().all(|l| !self.s.arena.reads_memory(from.at(l)));
        (step > 1 && followed).then(|| self.advanced(from.clone(), times, step))
    }

    /// The values of lanes of which each has one or another, where all are followed and lanes search with them.
    fn either(&mut self, r: Reg, cond: &Val, (x, y): (&Val, &Val)) -> Option<Val> {
        if !self.s.searches.read.contains(&r) {
            return None;
        }
        let lanes = (0..32).filter(|l| self.lanes >> l & 1 == 1);
        if lanes.clone().any(|l| [cond, x, y].iter().any(|v| self.opaque(v.at(l)))) {
            return None;
        }
        let a = &mut self.s.arena;
        Some(Val::of(std::array::from_fn(|l| a.cond(cond.at(l), x.at(l), y.at(l)))))
    }
}

/// Takes away the stores of one side of a branch to what lanes copy on the other side: each lane stores to a place of its own,
/// or copies to this place. What orders the copies of all lanes also orders a store in the place of a copy. `place` has the
/// addresses of all lanes.
fn without_copied<'v>(stores: &mut Vec<Node>, copies: &[Node], place: &dyn Fn(usize) -> Option<&'v Val>) {
    let alone = |lanes: u32, runs: &[Run]| runs.len() == lanes.count_ones() as usize;
    stores.retain(|n| {
        let Kind::Op(lanes, Effect::Touch(Touch::Write, runs)) = &n.kind else { return true };
        let copied = copies.iter().any(|c| {
            let Kind::Op(same, Effect::Touch(Touch::Copy, all)) = &c.kind else { return false };
            let both = place(n.at).zip(place(c.at));
            same == lanes && all == runs && alone(*lanes, runs) && both.is_some_and(|(x, y)| x == y)
        });
        !copied
    });
}
