//! The parts of a world that an operation reads or changes.

use crate::ir::{Class, Instr, MmaKind, MoveKind, Op, Place};
use crate::timeline::Lanes;

use super::AgentId;
use super::flight::FlightId;
use super::parts::StatePart;
use super::perform::{Aligned, alignment};
use super::regs::hands_registers;
use super::rendezvous::RendezvousKind;
use super::step::Blocked;
use super::stream::StreamKind;
use super::world::World;

impl World<'_> {
    /// The parts that an agent's current operation reads or changes, in order and each once; the agent's own part
    /// first. The end of an agent counts as an operation. `None` where an operand has no meaning, or where the
    /// operation uses something that the whole grid shares.
    pub fn needs(&self, a: AgentId) -> Option<Vec<StatePart>> {
        let pc = self.agents[a].pc;
        let mut list = Vec::new();
        match &self.prog.code[pc as usize] {
            Instr::Op { op, .. } => self.needs_of(a, pc, op, &mut list).ok()?,
            _ => {
                let cta = self.spec.info[a as usize].cta;
                let meets = [RendezvousKind::Cta(cta), RendezvousKind::Cluster]
                    .map(|k| StatePart::Rendezvous(self.rendezvous_of(k)));
                list.extend([StatePart::Ended, StatePart::Tensor].into_iter().chain(meets));
                list.extend(hands_registers(self.prog).then_some(StatePart::Pool(cta)));
            }
        }
        list.sort_unstable();
        list.dedup();
        list.retain(|p| *p != StatePart::Agent(a));
        list.insert(0, StatePart::Agent(a));
        Some(list)
    }

    /// The parts that a flight changes when it lands; the part that the flight is in comes first.
    pub fn landing_needs(&self, keeper: AgentId, id: FlightId) -> Vec<StatePart> {
        let Some(f) = self.flight(id) else { return Vec::new() };
        let mut list: Vec<StatePart> = Vec::new();
        list.extend(
            f.delivers.iter().map(|d| StatePart::Mbar(d.0)).chain(f.arrives.iter().map(|x| StatePart::Mbar(x.0))),
        );
        list.extend(f.posts.iter().map(|p| StatePart::Piece(p.0 as u32)));
        if let Some(footprint) = &f.fills {
            list.extend(self.each_piece(f.agent, footprint).map(|p| StatePart::Piece(p as u32)));
        }
        list.sort_unstable();
        list.dedup();
        list.insert(0, StatePart::Agent(keeper));
        list
    }

    fn needs_of(&self, a: AgentId, pc: u32, op: &Op, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let me = self.spec.info[a as usize];
        let mut by = a;
        if me.lanes.is_some() && !self.spec.elected_at[pc as usize] {
            match alignment(op) {
                Aligned::Warp => {
                    by = self.rest_of(a);
                    list.extend([
                        StatePart::Agent(by),
                        StatePart::Rendezvous(self.rendezvous_of(RendezvousKind::Warp(me.cta, me.warp))),
                    ]);
                }
                Aligned::Lanes if me.lanes == Some(Lanes::Elected) => return Ok(()),
                _ => {}
            }
        }
        self.needs_of_places(by, op, list)?;
        let meet = |kind| StatePart::Rendezvous(self.rendezvous_of(kind));
        let lanes = meet(RendezvousKind::Warp(me.cta, me.warp));
        let bars = |bar| self.bars(by, bar).map(|all| all.into_iter().map(StatePart::Mbar));
        match op {
            Op::Move { signals: Some(bar), multicast, dst, crew, .. } => {
                let own = self.footprint(by, dst, *crew)?.cta;
                for cta in self.copies_to(by, multicast.as_ref(), own)? {
                    list.push(StatePart::Mbar(self.signal_in(by, bar, cta, multicast.is_some())?));
                }
            }
            Op::Mma { kind: MmaKind::Wgmma, .. } => {
                list.push(StatePart::Agent(self.spec.group_lead[by as usize]));
                list.push(meet(RendezvousKind::Warpgroup(me.cta, me.warp / 4)));
            }
            Op::Commit(q) | Op::Wait(q, _) => {
                list.push(StatePart::Agent(self.stream_owner(by, StreamKind::of(*q))));
            }
            Op::CommitUmma(all) => {
                for b in all {
                    list.extend(bars(b)?);
                }
            }
            Op::CpArrive { bar, .. } | Op::Arrive { bar, .. } | Op::Expect { bar, .. } | Op::MbarWait { bar, .. } => {
                list.extend(bars(bar)?);
                if let Op::Arrive { per, .. } = op
                    && self.arrives_in_step(by, pc, *per)
                {
                    list.push(lanes);
                }
            }
            Op::Init(all) | Op::Inval(all) => {
                let stages = |b: u16| (0..self.prog.mbars[b as usize].stages).map(move |s| self.mbar_ix(b, s, me.cta));
                list.extend(all.iter().copied().flat_map(stages).map(StatePart::Mbar));
            }
            Op::Barrier(_) => list.extend([StatePart::Ended, meet(RendezvousKind::Cta(me.cta))]),
            Op::ClusterArrive { .. } | Op::ClusterWait => {
                list.extend([StatePart::Ended, meet(RendezvousKind::Cluster)])
            }
            Op::Named { bar, index, .. } => {
                let index = self.eval(by, index)?;
                if (0..self.prog.named[*bar as usize].len as i64).contains(&index) {
                    list.push(meet(RendezvousKind::Named(*bar, index as u32, me.cta)));
                }
            }
            Op::WarpSync | Op::Elect if me.lanes.is_some() => list.push(lanes),
            Op::TmemAlloc { .. } | Op::TmemDealloc { .. } => list.extend([StatePart::Tensor, lanes]),
            Op::Regs { .. } => list.extend([StatePart::Ended, StatePart::Pool(me.cta)]),
            // The whole grid shares the tiles still to be handed out and the counters in global memory.
            Op::NextTile { .. } | Op::Counter { .. } => return Err(Blocked::Fault(super::world::Fault::Endless)),
            _ => {}
        }
        Ok(())
    }

    /// The pieces that an operation's places cover.
    fn needs_of_places(&self, a: AgentId, op: &Op, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let mut pieces = |who: AgentId, p: &Place, crew: u64, ctas: &[u32]| -> Result<(), Blocked> {
            let footprint = self.footprint(who, p, crew)?;
            let own = [footprint.cta];
            for cta in if ctas.is_empty() { &own } else { ctas } {
                let footprint = super::footprint::Footprint { cta: *cta, ..footprint };
                let shared = self.aliased(&footprint).into_iter().map(|x| x.1);
                list.extend(self.each_piece(who, &footprint).chain(shared).map(|p| StatePart::Piece(p as u32)));
            }
            Ok(())
        };
        let mut tensor = false;
        match op {
            Op::Move { how, src, dst, crew, multicast, .. } => {
                pieces(a, src, *crew, &[])?;
                let own = self.footprint(a, dst, *crew)?.cta;
                pieces(a, dst, *crew, &self.copies_to(a, multicast.as_ref(), own)?)?;
                tensor = matches!(how, MoveKind::TmemLd | MoveKind::TmemSt);
            }
            Op::Mma { kind, a: x, b: y, acc } => {
                let own = self.spec.info[a as usize].cta;
                let ctas = if *kind == MmaKind::UmmaPair { vec![own & !1, own | 1] } else { Vec::new() };
                for p in [x, y, acc] {
                    pieces(a, p, 0, &ctas)?;
                }
                if *kind == MmaKind::Wgmma {
                    // Each warp of the group holds its rows of the accumulator.
                    let lead = self.spec.group_lead[a as usize];
                    for w in (0..self.spec.info.len()).filter(|w| self.spec.group_lead[*w] == lead) {
                        pieces(w as AgentId, acc, 0, &[])?;
                    }
                }
                tensor = matches!(kind, MmaKind::Umma | MmaKind::UmmaPair);
            }
            Op::Alu { reads, writes, .. } => {
                for p in reads.iter().chain(writes) {
                    pieces(a, p, 0, &[])?;
                }
            }
            Op::Zero(p) | Op::Put { dst: p, .. } | Op::Get { src: p, .. } => pieces(a, p, 0, &[])?,
            _ => {}
        }
        if tensor || self.prog.objects.iter().any(|o| o.class == Class::Tmem) && matches!(op, Op::Mma { .. }) {
            list.push(StatePart::Tensor);
        }
        Ok(())
    }
}
