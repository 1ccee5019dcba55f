//! Commutation: the moves of other agents past which a move can be shifted.

use warpline_sim::ir::{Instr, Op};
use warpline_sim::protocol::{AgentId, PartState, StatePart};

use super::Stop;
use super::kinds::{ActionKind, Mover, Transition, Writer};
use super::table::Tables;

impl Tables<'_> {
    /// Records which agent alone changes an mbarrier after its initialization.
    pub(super) fn sees_writes(
        &mut self,
        a: AgentId,
        (parts, before): (&[StatePart], &[(StatePart, PartState)]),
        made: &Transition,
    ) -> Result<(), Stop> {
        for (p, now) in parts.iter().zip(&made.held) {
            let StatePart::Mbar(bar) = *p else { continue };
            let was = before.iter().find(|(q, _)| q == p).map(|(_, was)| was);
            let init = was.is_none_or(|was| was.phase().is_none()) && now.phase().is_some();
            if init || was == Some(now) {
                continue;
            }
            match self.writer[bar as usize] {
                Writer::None => self.writer[bar as usize] = Writer::One(a),
                Writer::One(b) if b != a => return Err(Stop::Written(bar)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The directions in which a move can be shifted.
    pub(super) fn mover(
        &self,
        a: AgentId,
        what: ActionKind,
        (parts, before): (&[StatePart], &[(StatePart, PartState)]),
        made: &Transition,
    ) -> Mover {
        let me = before.first().map(|(_, held)| held);
        let flight: Vec<(u32, bool)> = match (what, me) {
            (ActionKind::Land(i), Some(held)) => {
                held.under_way().nth(i as usize).map_or(Vec::new(), |(_, touches)| touches.to_vec())
            }
            _ => Vec::new(),
        };
        let touches = if what == ActionKind::Step { &made.touches } else { &flight };
        let was = |p: &StatePart| before.iter().find(|(q, _)| q == p).map(|(_, was)| was);
        let mut signals = false;
        // The agent's own parts, and the pieces it accesses, which change only by its writes.
        let mut its = |(p, now): (&StatePart, &PartState)| match p {
            StatePart::Agent(b) => *b == a,
            StatePart::Piece(x) => {
                let written = was(p).is_some_and(|was| was != now);
                self.private[*x as usize] || touches.iter().any(|(y, writes)| x == y && (*writes || !written))
            }
            // Of a barrier that this agent alone changes, others see only the phase.
            StatePart::Mbar(bar) => {
                signals = true;
                let one = matches!(self.writer[*bar as usize], Writer::None | Writer::One(_));
                let phase = was(p).and_then(PartState::phase);
                let coming = me.is_none_or(|me| me.comes_to(*bar));
                what == ActionKind::Step && one && phase.is_some() && phase == now.phase() && !coming
            }
            _ => false,
        };
        let held_back = matches!((what, me), (ActionKind::Land(i), Some(me)) if me.holds_back(i as usize));
        if self.shared[a as usize] || held_back || made.fault.is_some() || !parts.iter().zip(&made.held).all(&mut its) {
            return Mover::Non;
        }
        match (touches.is_empty(), what, made.flies) {
            // A wait that passes can be neither delayed nor advanced.
            _ if signals && self.waits(made.pc) => Mover::Non,
            // A landing may need the expected bytes or the arrival, so the move does not wait for its agent's next
            // step.
            (true, ActionKind::Step, _) if signals => Mover::Left,
            (true, ..) => Mover::Both,
            (false, ActionKind::Step, true) => Mover::Left,
            _ if signals => Mover::Non,
            (false, ..) => Mover::Right,
        }
    }

    fn waits(&self, pc: u32) -> bool {
        matches!(self.any.program().code[pc as usize], Instr::Op { op: Op::MbarWait { .. }, .. })
    }
}
