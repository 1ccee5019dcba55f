//! Places in shared memory, tensor memory and barriers.

use std::collections::BTreeMap;

use warpline_sim::ir::{
    BarRef, BarrierCta, Exact, Expr, IssueCount, MoveKind, ObjId, Op as IrOp, Place, Selection, Stages,
};

use crate::lift::build::{ARRIVING, FIRST, LOADED, LOADED_BY_ONE, STORED};
use crate::lift::memory::barriers::{addresses, array_at};
use crate::lift::merge::Set;
use crate::ptx::Error;
use crate::symbolic::Term;

use super::{Emit, Feet};

impl Emit<'_, '_, '_> {
    /// `init` and `inval` of an array, emitted once for all its stages, unless they are initialized in parts.
    pub(super) fn life(&mut self, at: usize, t: Term, init: bool, set: Set) -> Result<(), Error> {
        let Some(x) = self.s.arena.constant(t) else {
            return Err(self.error(at, "which barrier this is is not known".into(), "a constant address"));
        };
        let found = array_at(&self.plan.barriers, x);
        let Some(i) = found else { return Err(self.error(at, "this barrier is in no array".into(), "a barrier")) };
        let b = &self.plan.barriers[i];
        let in_parts = self.plan.in_parts.contains(&i);
        if !in_parts {
            let seen = self.inits.entry((i, init, set)).or_default();
            seen.insert(x);
            // An `init` is emitted with its last stage, an `inval` with its first, so that uses in between are found.
            let now = if init { seen.len() == b.stages as usize } else { seen.len() == 1 };
            if seen.len() == b.stages as usize {
                seen.clear();
            }
            if !now {
                return Ok(());
            }
        }
        let stage = in_parts.then(|| Expr::Const((x - b.base) / b.stride));
        let list = vec![Stages { bar: i as u16, stage }];
        self.op(at, if init { IrOp::Init(list) } else { IrOp::Inval(list) });
        Ok(())
    }

    pub(super) fn bar(&mut self, at: usize, t: Term, cta: Option<Term>) -> Result<BarRef, Error> {
        let first = addresses(&self.s.arena, t).and_then(|l| l.first().copied());
        let found = first.and_then(|x| array_at(&self.plan.barriers, x));
        let Some(i) = found else { return Err(self.error(at, "this barrier is in no array".into(), "a barrier")) };
        let b = self.plan.barriers[i].clone();
        let (k, parts) = self.s.arena.parts(t);
        let parts = parts.iter().map(|(t, c)| (*t, c / b.stride)).collect();
        let index = self.s.arena.sum((k - b.base) / b.stride, parts);
        let stage = self.expr(at, index)?;
        let to = match cta {
            Some(t) => BarrierCta::Cta(self.expr(at, t)?),
            None => BarrierCta::Own,
        };
        Ok(BarRef { bar: i as u16, stage, at: to })
    }

    /// The slots that the accesses of warps cover.
    pub(super) fn feet<'r>(&self, runs: impl Iterator<Item = (u32, &'r [(Term, u32)])>) -> Feet {
        let mut feet = Feet::new();
        for (w, runs) in runs {
            for (t, n) in runs {
                for p in self.plan.regions.parts(&self.s.arena, *t, *n) {
                    let pieces = self.plan.regions.pieces(p.object, p.from, p.to);
                    let foot = feet.entry((p.object, p.slot, p.ring)).or_default().entry(w).or_default();
                    foot.pieces |= pieces;
                    foot.elements += p.to - p.from;
                }
            }
        }
        feet
    }

    pub(super) fn place(
        &mut self,
        at: usize,
        object: usize,
        slot: i64,
        ring: &[(Term, i64)],
        by_warp: &BTreeMap<u32, Exact>,
    ) -> Result<Place, Error> {
        let many = self.plan.regions.list[object].slots > 1;
        let slot = self.s.arena.sum(slot, ring.to_vec());
        let index = self.expr(at, slot)?;
        let exact = (0..self.warps).map(|w| by_warp.get(&w).copied().unwrap_or_default()).collect();
        let sel = Selection { exact, ..Selection::default() };
        let at = if many { vec![index] } else { Vec::new() };
        Ok(Place { at, sel, ..whole(FIRST + object as ObjId) })
    }

    /// A place in global memory with as many bytes as another place.
    pub(super) fn global(&self, p: &Place) -> Place {
        let exact = p.sel.exact.iter().map(|e| Exact { pieces: 0, ..*e }).collect();
        Place { at: vec![Expr::Const(0), Expr::Const(0)], sel: Selection { exact, ..Selection::default() }, ..whole(0) }
    }

    pub(super) fn threads_move(&self, how: MoveKind, place: Place, one: bool) -> IrOp {
        match how {
            MoveKind::CpAsync => moved(how, self.global(&place), place, None, None),
            MoveKind::TmemLd => moved(how, place, whole(ARRIVING), None, None),
            MoveKind::Lds => moved(how, place, whole(if one { LOADED_BY_ONE } else { LOADED }), None, None),
            _ => moved(how, whole(STORED), place, None, None),
        }
    }
}

/// The warps of a set.
pub(super) fn warp_list(warps: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |w| warps >> w & 1 == 1)
}

/// The place of a whole object.
pub(super) fn whole(obj: ObjId) -> Place {
    Place {
        obj,
        at: Vec::new(),
        elements: false,
        sel: Selection::default(),
        cta: None,
        tile: None,
        inside: None,
        begins_inside: [false; 2],
    }
}

/// A move of one kind.
pub(super) fn moved(how: MoveKind, src: Place, dst: Place, signals: Option<BarRef>, multicast: Option<Expr>) -> IrOp {
    IrOp::Move {
        how,
        src,
        dst,
        crew: 0,
        issue: IssueCount::FromBytes,
        dequant: false,
        masked: true,
        signals,
        multicast,
    }
}
