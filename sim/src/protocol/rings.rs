//! Rings: arrays of slots of which a state may be rotated.
//!
//! ```text
//!   a ring of 4 slots, last accessed by counter 6    slot 0   1   2   3
//!   the same, one access later, by counter 7              1   2   3   0     the state names slots from the last one on
//! ```
//!
//! Steps treat the slots of an array alike, and so do all rules. So a state in which the slots of an array have changed
//! places is the same state under other names (docs/proof.md, lemma 12). In a world that rotates its rings, an access by
//! `counter % slots` decides only how far its slot is from the slot of the access before. A snapshot lists the slots
//! from the last one accessed on. A wait for `counter / slots` names a phase of the slot's barrier. A snapshot has, for
//! each slot, how far this phase is from the barrier's own.

use std::cell::Cell;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::ir::{Binary, Class, Expr, ExprUse, Instr, MbarId, ObjId, Object, Op, Phase, Program, each};

use super::footprint::{Footprint, Layout};
use super::op::instruction;
use super::vocabulary::MbarIx;
use super::world::World;

/// The rings of a world; empty where rings do not rotate.
#[derive(Clone, Debug, Default)]
pub(super) struct Rings {
    /// Objects, then declarations of mbarriers.
    list: Vec<Ring>,
    /// For each instruction, whether it is a wait for the phase `counter / slots` of the slot `counter % slots`.
    counted: Arc<[bool]>,
}

/// An array whose slots form groups, and the group of the last access in each CTA.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// Number of groups; one where the array does not rotate.
    groups: i64,
    /// Slots of a group.
    width: i64,
    /// The counter of the last access to the copy of each CTA, or its group where no counter is known. Expressions are
    /// evaluated behind a shared reference.
    last: SmallVec<[Cell<i64>; 2]>,
    /// The waits by a counter.
    waits: CountedWaits,
}

/// The waits for `counter / slots` on the barriers of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CountedWaits {
    None,
    /// Each of them names the parity of a phase.
    Parity,
    /// Some of them name a phase by its number.
    Number,
}

/// A slot `counter % groups * width + rest` with `rest` from 0 to `width - 1`.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedSlot<'e> {
    /// The counter, and the number of groups.
    pub(super) operands: &'e (Expr, Expr),
    groups: i64,
    width: i64,
}

impl<'e> CountedSlot<'e> {
    fn of(e: &'e Expr) -> Option<CountedSlot<'e>> {
        match e {
            Expr::Binary(Binary::Rem, p) => Some(CountedSlot { operands: p, groups: p.1.constant()?, width: 1 }),
            Expr::Binary(Binary::Mul, p) => {
                let (of, by) = if p.1.constant().is_some() { (&p.0, &p.1) } else { (&p.1, &p.0) };
                let slot = CountedSlot::of(of)?;
                Some(CountedSlot { width: slot.width.checked_mul(by.constant().filter(|w| *w > 0)?)?, ..slot })
            }
            Expr::Binary(Binary::Add, p) => CountedSlot::of(&p.0).or_else(|| CountedSlot::of(&p.1)),
            _ => None,
        }
    }

    /// Whether an array of some slots consists of these groups.
    fn fits(&self, slots: u32) -> bool {
        self.groups > 1 && self.groups.checked_mul(self.width) == Some(slots.into())
    }
}

impl Rings {
    fn of(prog: &Program, layouts: &[Layout]) -> Rings {
        let object = |(o, layout): (&Object, &Layout)| {
            let apart = o.class != Class::Global && layout.aliases.iter().all(Vec::is_empty);
            if apart { o.slots } else { 1 }
        };
        let objects = prog.objects.iter().zip(layouts).map(object);
        let slots = objects.chain(prog.mbars.iter().map(|b| b.stages));
        let ring = |slots: u32| Ring {
            groups: slots.into(),
            width: 1,
            last: (0..prog.cluster).map(|_| Cell::new(0)).collect(),
            waits: CountedWaits::None,
        };
        let mut list: Vec<Ring> = slots.map(ring).collect();
        let mut counted = vec![false; prog.code.len()];
        for (i, counted) in prog.code.iter().zip(&mut counted) {
            let Instr::Op { op, .. } = i else { continue };
            instruction(op, |i| {
                for used in i.places() {
                    let ring = &mut list[used.place.obj as usize];
                    let slot = used.place.at.first().and_then(CountedSlot::of);
                    if let Some(slot) = slot.filter(|slot| slot.fits((ring.groups * ring.width) as u32)) {
                        (ring.groups, ring.width) = (slot.groups, slot.width);
                    }
                }
            });
            let Op::MbarWait { bar, phase } = op else { continue };
            let ring = &mut list[prog.objects.len() + bar.bar as usize];
            let Some(slot) = ring.counted(&bar.stage) else { continue };
            let (e, waits) = match phase {
                Phase::Parity(e) => (bit(e), CountedWaits::Parity),
                Phase::Absolute(e) => (e, CountedWaits::Number),
                // A state has the phase of its arrival.
                Phase::State(_) => continue,
            };
            *counted = quotient(e).is_some_and(|quotient| rounds(quotient, slot.operands));
            if *counted {
                ring.waits = ring.waits.max(waits);
            }
        }
        Rings { list, counted: counted.into() }
    }

    fn of_object(&self, obj: ObjId) -> Option<&Ring> {
        self.list.get(obj as usize).filter(|ring| ring.groups > 1)
    }

    /// The ring of a declaration of barriers, in a program of some objects.
    fn of_barrier(&self, objects: usize, bar: MbarId) -> Option<&Ring> {
        self.list.get(objects + bar as usize).filter(|ring| ring.groups > 1)
    }

    /// Whether an instruction waits for a phase by a counter.
    pub(super) fn counts(&self, pc: u32) -> bool {
        self.counted.get(pc as usize) == Some(&true)
    }
}

impl Ring {
    /// A slot that a counter selects, if its groups are those of the ring.
    pub(super) fn counted<'e>(&self, e: &'e Expr) -> Option<CountedSlot<'e>> {
        CountedSlot::of(e).filter(|slot| (slot.groups, slot.width) == (self.groups, self.width))
    }

    /// The group of a slot.
    pub(super) fn group(&self, slot: i64) -> i64 {
        slot.div_euclid(self.width)
    }

    /// The place of a slot in the group that a counter selects, if it is in this group.
    pub(super) fn rest(&self, slot: i64, counter: i64) -> Option<i64> {
        let rest = slot - counter.rem_euclid(self.groups) * self.width;
        (0..self.width).contains(&rest).then_some(rest)
    }

    /// Takes an access to the copy of a CTA by a counter. Returns the distance of its group from the group of the access
    /// before.
    pub(super) fn access(&self, cta: u32, counter: i64) -> i64 {
        let last = self.last[cta as usize].replace(counter);
        (counter.rem_euclid(self.groups) - last.rem_euclid(self.groups)).rem_euclid(self.groups)
    }

    /// Whether every slot has its own name.
    fn plain(&self) -> bool {
        self.last.iter().all(|last| last.get().rem_euclid(self.groups) == 0)
    }

    /// The name of a slot of a CTA: its distance from the group of the last access.
    fn name(&self, cta: u32, slot: u32) -> u32 {
        let by = self.last[cta as usize].get().rem_euclid(self.groups) * self.width;
        (i64::from(slot) - by).rem_euclid(self.groups * self.width) as u32
    }
}

/// The operands of the quotient in `counter / slots`, to which other numbers are added.
pub(super) fn quotient(e: &Expr) -> Option<&(Expr, Expr)> {
    match e {
        Expr::Binary(Binary::Div, p) => Some(p),
        Expr::Binary(Binary::Add, p) => quotient(&p.0).or_else(|| quotient(&p.1)),
        Expr::Binary(Binary::Sub, p) => quotient(&p.0),
        _ => None,
    }
}

/// A number of the parity of an expression: `e` in `e % 2`.
pub(super) fn bit(e: &Expr) -> &Expr {
    match e {
        Expr::Binary(Binary::Rem, p) if p.1 == Expr::Const(2) => bit(&p.0),
        Expr::Binary(Binary::BitAnd, p) if p.1 == Expr::Const(1) => bit(&p.0),
        _ => e,
    }
}

/// Whether a quotient counts the rounds of the counter of a slot: `(counter + k * slots) / slots`.
fn rounds(quotient: &(Expr, Expr), slot: &(Expr, Expr)) -> bool {
    let ((x, c), (y, d)) = (sum(&quotient.0), sum(&slot.0));
    quotient.1 == slot.1 && x == y && slot.1.constant().is_some_and(|slots| (c - d) % slots == 0)
}

/// An expression without the constant that is added to it, and the constant.
fn sum(e: &Expr) -> (&Expr, i64) {
    match e {
        Expr::Binary(Binary::Add, p) => match (&p.0, &p.1) {
            (x, Expr::Const(c)) | (Expr::Const(c), x) => (x, *c),
            _ => (e, 0),
        },
        Expr::Binary(Binary::Sub, p) => match (&p.0, &p.1) {
            (x, Expr::Const(c)) => (x, c.wrapping_neg()),
            _ => (e, 0),
        },
        _ => (e, 0),
    }
}

/// Whether a wait for a parity names its slot and the parity by one counter: `counter % slots` and `counter / slots`.
pub fn counts_rounds(stage: &Expr, slots: u32, parity: &Expr) -> bool {
    let slot = CountedSlot::of(stage).filter(|slot| slot.fits(slots) && slot.width == 1);
    slot.zip(quotient(bit(parity))).is_some_and(|(slot, quotient)| rounds(quotient, slot.operands))
}

/// Whether a program accesses a ring by a counter, so that its states can be equal up to a rotation.
pub fn may_rotate(prog: &Program) -> bool {
    let slots = prog.objects.iter().filter(|o| o.class != Class::Global).map(|o| o.slots);
    let rings: Vec<u32> = slots.chain(prog.mbars.iter().map(|b| b.stages)).collect();
    let mut found = false;
    for i in &prog.code {
        each(prog, i, &mut |what, e| {
            let slot = CountedSlot::of(e).filter(|_| what == ExprUse::Slot);
            found |= slot.is_some_and(|slot| rings.iter().any(|slots| slot.fits(*slots)));
        });
    }
    found
}

/// The names of slots in a state: from the last one accessed on. `None` where each has its own name.
#[derive(Debug, Default)]
pub(super) struct SlotNames {
    mbars: Option<Names>,
    pieces: Option<Names>,
    /// The first component that is an mbarrier.
    first_mbar: u32,
    /// The first row that is an mbarrier's, and the one behind the last.
    mbar_rows: (u32, u32),
}

/// A permutation of indices.
#[derive(Debug)]
struct Names {
    /// The index of each name.
    index: Vec<u32>,
    /// The name of each index.
    name: Vec<u32>,
}

impl Names {
    /// `None` where every name is its index.
    fn of(name: Vec<u32>) -> Option<Names> {
        if (0..).zip(&name).all(|(i, name)| i == *name) {
            return None;
        }
        let mut index = vec![0; name.len()];
        (0..).zip(&name).for_each(|(i, name)| index[*name as usize] = i);
        Some(Names { index, name })
    }
}

fn renamed(names: &Option<Names>, index: u32) -> u32 {
    names.as_ref().map_or(index, |names| names.name[index as usize])
}

fn indexed(names: &Option<Names>, name: u32) -> u32 {
    names.as_ref().map_or(name, |names| names.index[name as usize])
}

impl SlotNames {
    /// Whether each slot has its own name.
    pub(super) fn plain(&self) -> bool {
        self.mbars.is_none() && self.pieces.is_none()
    }

    pub(super) fn mbar(&self, ix: MbarIx) -> u32 {
        renamed(&self.mbars, ix)
    }

    /// The mbarrier of a name.
    pub(super) fn mbar_of(&self, name: u32) -> MbarIx {
        indexed(&self.mbars, name)
    }

    pub(super) fn piece(&self, piece: u32) -> u32 {
        renamed(&self.pieces, piece)
    }

    /// The piece of a name.
    pub(super) fn piece_of(&self, name: usize) -> usize {
        indexed(&self.pieces, name as u32) as usize
    }

    pub(super) fn component(&self, comp: u32) -> u32 {
        comp.checked_sub(self.first_mbar).map_or(comp, |ix| self.first_mbar + self.mbar(ix))
    }

    /// The component of a name.
    pub(super) fn component_of(&self, name: u32) -> u32 {
        name.checked_sub(self.first_mbar).map_or(name, |ix| self.first_mbar + self.mbar_of(ix))
    }

    /// The row of a name; each mbarrier has two.
    pub(super) fn row_of(&self, name: u32) -> u32 {
        let (first, end) = self.mbar_rows;
        if (first..end).contains(&name) {
            let at = name - first;
            first + 2 * self.mbar_of(at / 2) + at % 2
        } else {
            name
        }
    }
}

impl World<'_> {
    /// From here on, snapshots and decisions do not depend on a rotation of rings. To be called before the first step.
    pub fn rotate_rings(&mut self) {
        self.rings = Rings::of(self.prog, &self.spec.layouts);
    }

    /// The ring of an object, if it rotates.
    pub(super) fn ring_of_object(&self, obj: ObjId) -> Option<&Ring> {
        self.rings.of_object(obj)
    }

    /// The ring of a declaration of barriers, if it rotates.
    pub(super) fn ring_of_barrier(&self, bar: MbarId) -> Option<&Ring> {
        self.rings.of_barrier(self.prog.objects.len(), bar)
    }

    /// The names of slots in this state.
    pub(super) fn slot_names(&self) -> SlotNames {
        let first_row = self.spec.mbar_row(0);
        let names = SlotNames {
            mbars: None,
            pieces: None,
            first_mbar: self.spec.mbar_comp(0),
            mbar_rows: (first_row, first_row + 2 * self.spec.mbars),
        };
        if self.rings.list.iter().all(Ring::plain) {
            return names;
        }
        let mut mbars: Vec<u32> = Vec::with_capacity(self.mbars.len());
        for (bar, decl) in (0..).zip(&self.prog.mbars) {
            let ring = self.ring_of_barrier(bar);
            for cta in 0..self.prog.cluster {
                let name = |stage| self.mbar_ix(bar, ring.map_or(stage, |ring| ring.name(cta, stage)), cta);
                mbars.extend((0..decl.stages).map(name));
            }
        }
        let mut pieces: Vec<u32> = (0..self.memory.pieces().len() as u32).collect();
        for (obj, layout) in (0..).zip(&self.spec.layouts) {
            let Some(ring) = self.ring_of_object(obj).filter(|ring| !ring.plain()) else { continue };
            // Each warp has a copy of registers.
            let registers = self.prog.objects[obj as usize].class == Class::Reg;
            let copies = if registers { self.prog.warps } else { 1 };
            let next = self.spec.layouts.get(obj as usize + 1).map_or(pieces.len() as u32, |next| next.base);
            for index in layout.base..next {
                let at = index - layout.base;
                let (slot, piece) = (at / layout.pieces % layout.slots, at % layout.pieces);
                let copy = at / layout.pieces / layout.slots;
                pieces[index as usize] =
                    layout.base + (copy * layout.slots + ring.name(copy / copies, slot)) * layout.pieces + piece;
            }
        }
        SlotNames { mbars: Names::of(mbars), pieces: Names::of(pieces), ..names }
    }

    /// The name of the slot of a footprint.
    pub(super) fn slot_name(&self, f: &Footprint) -> u32 {
        self.ring_of_object(f.obj).map_or(f.slot, |ring| ring.name(f.cta, f.slot))
    }

    /// For a barrier whose phases are waited for by a counter: how far its phase is from the number `counter / slots`
    /// of the next counter of its slot. Of parities, whether this is odd.
    pub(super) fn phase_ahead(&self, ix: MbarIx) -> Option<i64> {
        let bar = self.mbar_decl(ix);
        let ring = self.ring_of_barrier(bar).filter(|ring| ring.waits != CountedWaits::None)?;
        let (cta, stages) = (self.mbar_cta(ix), self.prog.mbars[bar as usize].stages);
        let stage = (ix - self.spec.mbar_base[bar as usize]) % stages;
        let counter = ring.last[cta as usize].get().wrapping_add(ring.name(cta, stage).into());
        let m = self.mbar(ix);
        Some(match ring.waits {
            CountedWaits::Number => i64::from(m.phase) - i64::from(m.first) - counter.div_euclid(ring.groups),
            _ => (i64::from(m.phase) - counter.div_euclid(ring.groups)) & 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(op: Binary, a: Expr, b: i64) -> Expr {
        Expr::binary(op, a, Expr::Const(b))
    }

    fn ring(groups: i64, width: i64) -> Ring {
        Ring { groups, width, last: SmallVec::from_elem(Cell::new(0), 2), waits: CountedWaits::Parity }
    }

    #[test]
    fn a_counter_selects_a_group_of_slots() {
        let x = || Expr::Var(0);
        let group = with(Binary::Mul, with(Binary::Rem, x(), 8), 4);
        for (e, groups, width, counted) in [
            (with(Binary::Rem, x(), 8), 8, 1, true),
            (with(Binary::Rem, x(), 7), 8, 1, false),
            (with(Binary::Add, group.clone(), 3), 8, 4, true),
            (Expr::binary(Binary::Add, Expr::Var(1), group.clone()), 8, 4, true),
            (group, 32, 1, false),
            (x(), 8, 1, false),
        ] {
            assert_eq!(ring(groups, width).counted(&e).is_some(), counted, "{e:?}");
        }
        // A rest that is not in the group selects another one.
        assert_eq!([4, 7, 8, 3].map(|slot| ring(8, 4).rest(slot, 9)), [Some(0), Some(3), None, None]);
    }

    #[test]
    fn slots_are_named_from_the_last_one_accessed_on() {
        let ring = ring(4, 1);
        assert_eq!([6, 7, 8, 6].map(|counter| ring.access(1, counter)), [2, 1, 1, 2]);
        assert_eq!([0, 1, 2, 3].map(|slot| ring.name(1, slot)), [2, 3, 0, 1]);
        // Another CTA has a ring of its own.
        assert_eq!([0, 1, 2, 3].map(|slot| ring.name(0, slot)), [0, 1, 2, 3]);
    }

    #[test]
    fn a_wait_names_slot_and_round_by_one_counter() {
        let x = |c: i64| with(Binary::Add, Expr::Var(0), c);
        let round = |e: Expr| with(Binary::Div, e, 4);
        let stage = with(Binary::Rem, x(1), 4);
        for (parity, counts) in [
            (round(x(1)), true),
            (round(x(5)), true),
            (with(Binary::Rem, with(Binary::Add, round(x(1)), 1), 2), true),
            (round(x(2)), false),
            (with(Binary::Div, x(1), 8), false),
            (round(Expr::Var(1)), false),
            (Expr::binary(Binary::Sub, Expr::Const(1), round(x(1))), false),
        ] {
            assert_eq!(counts_rounds(&stage, 4, &parity), counts, "{parity:?}");
        }
    }
}
