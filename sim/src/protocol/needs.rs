//! The parts of a world that an operation reads or changes.

use crate::ir::{BarRef, Instr, Op};
use crate::timeline::Lanes;

use super::footprint::Footprint;
use super::op::{Aligned, PlaceUse, hands_registers, instruction};
use super::parts::StatePart;
use super::rendezvous::RendezvousKind;
use super::vocabulary::{AgentId, Blocked, FlightId};
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
            match instruction(op, |i| i.aligned()) {
                aligned @ (Aligned::Warp | Aligned::Each) => {
                    if aligned == Aligned::Warp {
                        by = self.rest_of(a);
                        list.push(StatePart::Agent(by));
                    }
                    list.push(StatePart::Rendezvous(self.rendezvous_of(RendezvousKind::Warp(me.cta, me.warp))));
                }
                Aligned::Lanes if me.lanes == Some(Lanes::Elected) => return Ok(()),
                _ => {}
            }
        }
        instruction(op, |i| {
            i.pieces(self, by, list)?;
            i.parts(self, by, pc, list)
        })
    }

    /// Adds the mbarriers that a reference names.
    pub(super) fn add_barriers(&self, a: AgentId, bar: &BarRef, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.extend(self.bars(a, bar)?.into_iter().map(StatePart::Mbar));
        Ok(())
    }

    /// Adds the pieces that a place covers in these CTAs; in its own CTA where none are given. Pieces of other objects
    /// that share the storage are included.
    pub(super) fn add_pieces(
        &self,
        a: AgentId,
        used: &PlaceUse<'_>,
        ctas: &[u32],
        list: &mut Vec<StatePart>,
    ) -> Result<(), Blocked> {
        let footprint = self.footprint(a, used.place, used.crew)?;
        let own = [footprint.cta];
        for cta in if ctas.is_empty() { &own } else { ctas } {
            let footprint = Footprint { cta: *cta, ..footprint };
            let shared = self.aliased(&footprint).into_iter().map(|x| x.1);
            list.extend(self.each_piece(a, &footprint).chain(shared).map(|p| StatePart::Piece(p as u32)));
        }
        Ok(())
    }
}
