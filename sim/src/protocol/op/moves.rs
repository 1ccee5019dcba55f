//! What all moves share: operands, sizes, flights, and the scoreboard.

use smallvec::SmallVec;

use crate::ir::{BarRef, Class, Expr, IssueCount, MoveKind, Op, Place, Program, Waits, Writes};

use super::{BarrierAction, BarrierUse, BarrierUses, PlaceUse, PlaceUses};
use crate::protocol::flight::Flight;
use crate::protocol::footprint::{Footprint, TileKey};
use crate::protocol::order::Access;
use crate::protocol::step::{MoveEffect, StepEffect};
use crate::protocol::stream::StreamKind;
use crate::protocol::vocabulary::{AgentId, Blocked, FlightId, WaitTarget};
use crate::protocol::world::World;

/// A move with its operands, as in [`Op::Move`].
#[derive(Clone, Copy)]
pub(super) struct Move<'o> {
    pub(super) how: MoveKind,
    pub(super) src: &'o Place,
    pub(super) dst: &'o Place,
    pub(super) crew: u64,
    pub(super) issue: IssueCount,
    pub(super) dequant: bool,
    pub(super) masked: bool,
    pub(super) signals: Option<&'o BarRef>,
    pub(super) multicast: Option<&'o Expr>,
}

/// A move whose operands are evaluated.
pub(super) struct Evaluated {
    pub(super) src: Footprint,
    pub(super) dst: Footprint,
    /// The tile moved.
    pub(super) tile: TileKey,
    pub(super) effect: Box<MoveEffect>,
}

impl<'o> Move<'o> {
    /// The uses of the two places.
    #[inline]
    pub(super) fn ends(&self) -> [PlaceUse<'o>; 2] {
        let of = |place, writes| PlaceUse { place, writes, crew: self.crew };
        [of(self.src, false), of(self.dst, true)]
    }

    pub(super) fn places(&self) -> PlaceUses<'o> {
        self.ends().into_iter().collect()
    }

    pub(super) fn barriers(&self) -> BarrierUses<'o> {
        let everywhere = self.multicast.is_some();
        let signals = self.signals.map(|bar| BarrierUse { everywhere, ..BarrierUse::new(bar, BarrierAction::Deliver) });
        signals.into_iter().collect()
    }

    /// Evaluates the operands. The sums of an accumulator move with its values.
    pub(super) fn evaluate(&self, w: &mut World<'_>, a: AgentId) -> Result<Evaluated, Blocked> {
        let src = w.footprint(a, self.src, self.crew)?;
        let dst = w.footprint(a, self.dst, self.crew)?;
        let mut effect = Box::new(self.measure(w, &src, &dst));
        let tile = w.copied(a, &src, &dst);
        effect.tile = Some(tile);
        if w.prog.objects[dst.obj as usize].class != Class::Global {
            w.carry_sum(a, &src, &dst);
            w.load_sum(a, &src, &dst, self.src.elements);
        }
        Ok(Evaluated { src, dst, tile, effect })
    }

    /// Both ends of the move, and its bytes on chip.
    pub(super) fn ends_and_bytes(&self, w: &World<'_>, a: AgentId) -> Result<(Footprint, Footprint, i64), Blocked> {
        let (src, dst) = (w.footprint(a, self.src, self.crew)?, w.footprint(a, self.dst, self.crew)?);
        let bytes = self.measure(w, &src, &dst).chip_bytes;
        Ok((src, dst, bytes))
    }

    /// Sizes of the move.
    fn measure(&self, w: &World<'_>, src: &Footprint, dst: &Footprint) -> MoveEffect {
        let (s, d) = (&w.prog.objects[src.obj as usize], &w.prog.objects[dst.obj as usize]);
        let global_bytes = match (s.class, d.class) {
            (Class::Global, _) => s.bytes_of(src.elements()),
            (_, Class::Global) => d.bytes_of(dst.elements()),
            _ => 0,
        };
        let (chip, f) = if s.class == Class::Global || self.how == MoveKind::Sts { (d, dst) } else { (s, src) };
        MoveEffect {
            how: self.how,
            elements: f.elements(),
            global_bytes,
            chip_bytes: chip.bytes_of(f.elements()),
            chip_rows: copied_rows(w.prog, [src, dst], f),
            dequant: self.dequant,
            issue: self.issue,
            flights: SmallVec::new(),
            tile: None,
            target: (self.dst.sel.writes == Writes::Atomic).then(|| Box::new(dst.at)),
            fills: None,
            copies: 1,
        }
    }
}

impl Evaluated {
    /// The effect of the move, once everything is done.
    pub(super) fn done(mut self, w: &World<'_>) -> Result<StepEffect, Blocked> {
        self.effect.fills = (w.prog.objects[self.dst.obj as usize].class == Class::Shared).then_some(self.dst);
        Ok(StepEffect::Move(self.effect))
    }
}

impl World<'_> {
    /// Machine instructions of one warp: what `vmcnt` and `lgkmcnt` count.
    pub(super) fn instructions(&self, effect: &MoveEffect) -> u32 {
        let lane = match effect.how {
            MoveKind::LdsDma => self.spec.rules.dma_bytes_per_lane.max(1),
            _ => self.spec.rules.bytes_per_lane.max(1),
        };
        let bytes = if effect.global_bytes > 0 { effect.global_bytes } else { effect.chip_bytes };
        (bytes as u64).div_ceil((lane * self.spec.rules.warp_size) as u64).max(1) as u32
    }

    /// Starts `n` instructions in a stream. Returns their access and their flight.
    #[inline]
    pub(super) fn start_move(&mut self, a: AgentId, pc: u32, kind: StreamKind, n: u32) -> (Access, Flight) {
        let epoch = self.start(a, kind, n);
        let mut f = Flight::new(a, pc);
        f.streams.push((kind, epoch.clock));
        (Access { epoch, pc, agent: a, generic: true, in_order: true }, f)
    }

    /// Launches a flight that makes registers ready when it lands.
    pub(super) fn fill(&mut self, mut f: Flight, regs: &Footprint) -> FlightId {
        if self.prog.waits == Waits::Auto {
            for p in self.each_piece(f.agent, regs) {
                self.memory.begin_fill(p);
            }
            f.fills = Some(*regs);
        }
        self.launch(f)
    }

    /// The scoreboard: a use of a register, or another load into it, waits until the register's load has landed.
    #[inline]
    pub(super) fn ready(&self, a: AgentId, f: &Footprint) -> Result<(), Blocked> {
        let registers = self.prog.objects[f.obj as usize].class == Class::Reg;
        if registers && self.each_piece(a, f).any(|p| self.memory.filling(p)) {
            return Err(Blocked::On(WaitTarget::Own(a)));
        }
        Ok(())
    }
}

/// The place in global memory of a copy, and whether it is written.
#[inline]
pub(in crate::protocol) fn global_place<'o>(prog: &Program, op: &'o Op) -> Option<(&'o Place, bool)> {
    let Op::Move { how, src, dst, .. } = op else { return None };
    match how {
        MoveKind::Load | MoveKind::Ldg | MoveKind::CpAsync | MoveKind::LdsDma | MoveKind::TmaLoad => Some((src, false)),
        MoveKind::Store | MoveKind::TmaStore => Some((dst, true)),
        _ => None,
    }
    .filter(|(p, _)| prog.objects[p.obj as usize].class == Class::Global)
}

/// Rows that a move copies one by one. A compiled kernel's shared memory has bytes and no rows, so the rows are those of
/// the block in global memory, where it is known.
fn copied_rows(prog: &Program, ends: [&Footprint; 2], chip: &Footprint) -> i64 {
    let object = |f: &Footprint| &prog.objects[f.obj as usize];
    // A block of whole lines stands for bytes whose place is not known: its matrix has one row.
    let known = |f: &&Footprint| object(f).class == Class::Global && object(f).rows > 1;
    let f = ends.into_iter().find(known).filter(|_| prog.opaque_globals).unwrap_or(chip);
    f.rows.1 - f.rows.0
}
