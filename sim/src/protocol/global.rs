//! Global matrices that a kernel both reads and writes: the rectangles accessed, and the order that conflicting
//! accesses need.
//!
//! An access to a global matrix covers a rectangle of elements. Two accesses conflict where their rectangles overlap
//! and one of them writes. Conflicting accesses need an order by happens-before, like accesses to a piece of shared
//! memory (`races`). A matrix that the kernel only reads cannot race. A matrix that the kernel only writes must store
//! each element once (`coverage`). So neither is followed here.
//!
//! The list of recent accesses stays short. A write replaces the accesses that it covers, a read replaces earlier reads
//! of its component, and an access that every agent knows of is dropped.

use crate::ir::{Binary, Class, Instr, MoveKind, ObjId, Op, Program};
use crate::report::FindingKind;

use super::atomic_order::AtomicOrder;
use super::counters::Counter;
use super::footprint::Footprint;
use super::op::global_place;
use super::order::Access;
use super::vocabulary::{AgentId, Decision, FormId};
use super::world::World;

/// A rectangle of elements: the first row and column, and one past the last of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rect {
    pub(super) rows: (i64, i64),
    pub(super) cols: (i64, i64),
}

impl Rect {
    /// Whether all of the rectangle is in another one.
    pub(super) fn inside(&self, other: &Rect) -> bool {
        let axis = |x: (i64, i64), y: (i64, i64)| y.0 <= x.0 && x.1 <= y.1;
        axis(self.rows, other.rows) && axis(self.cols, other.cols)
    }

    /// Whether some of the rectangle is in another one.
    pub(super) fn meets(&self, other: &Rect) -> bool {
        let axis = |x: (i64, i64), y: (i64, i64)| x.0 < y.1 && y.0 < x.1;
        axis(self.rows, other.rows) && axis(self.cols, other.cols)
    }
}

/// An access to a global matrix that a later access can conflict with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Region {
    pub(super) rect: Rect,
    /// Dependence of the first row and column on the place of the CTA.
    pub(super) forms: [FormId; 2],
    pub(super) write: bool,
    pub(super) access: Access,
}

/// The state of global memory that a cluster uses.
#[derive(Debug)]
pub(super) struct GlobalState {
    /// Words that are used as counters.
    pub(super) counters: Vec<Counter>,
    /// For each declaration of counters, how the indices so far depend on the place of the CTA.
    pub(super) index_forms: Vec<Option<FormId>>,
    /// Accesses to followed matrices that later accesses can conflict with, oldest first, by object.
    pub(super) regions: Vec<Vec<Region>>,
    /// The order of `atom`.
    pub(super) atomics: AtomicOrder,
    /// Tiles that `clc` hands out, last first.
    pub(super) more_tiles: Vec<i64>,
}

clone_by_field!(GlobalState { counters, index_forms, regions, atomics, more_tiles });

impl GlobalState {
    /// Before the first step: this many words of counters, and the tiles to hand out in order.
    pub(super) fn new(prog: &Program, counters: usize, more_tiles: &[i64]) -> GlobalState {
        GlobalState {
            counters: vec![Counter::default(); counters],
            index_forms: vec![None; prog.counters.len()],
            regions: vec![Vec::new(); prog.objects.len()],
            atomics: AtomicOrder::default(),
            more_tiles: more_tiles.iter().rev().copied().collect(),
        }
    }
}

/// The use of each global matrix of a program, by object.
#[derive(Clone, Debug, Default)]
pub(super) struct GlobalMatrices {
    /// Whether the kernel reads and writes the matrix, so that accesses to the matrix can race.
    pub(super) matrices: Vec<bool>,
    /// Whether, in addition, the asynchronous proxy reads or writes the matrix.
    pub(super) by_proxy: Vec<bool>,
}

impl GlobalMatrices {
    /// Finds the matrices that need to be followed.
    pub(super) fn of(prog: &Program) -> GlobalMatrices {
        let n = prog.objects.len();
        let (mut read, mut written, mut by_proxy) = (vec![false; n], vec![false; n], vec![false; n]);
        for i in &prog.code {
            let Instr::Op { op, .. } = i else { continue };
            let Some((place, write)) = global_place(prog, op) else { continue };
            let obj = place.obj as usize;
            if write {
                written[obj] = true
            } else {
                read[obj] = true
            }
            by_proxy[obj] |= matches!(op, Op::Move { how: MoveKind::TmaLoad | MoveKind::TmaStore, .. });
        }
        let matrices: Vec<bool> = (0..n).map(|i| read[i] && written[i] && !prog.opaque_globals).collect();
        by_proxy.iter_mut().zip(&matrices).for_each(|(proxy, followed)| *proxy &= followed);
        GlobalMatrices { matrices, by_proxy }
    }

    /// Whether accesses to any of the matrices can race.
    pub(super) fn any(&self) -> bool {
        self.matrices.contains(&true)
    }

    /// Whether proxy fences matter to any of the matrices.
    pub(super) fn proxies(&self) -> bool {
        self.by_proxy.contains(&true)
    }
}

impl World<'_> {
    /// The elements that a footprint covers; `elements` as in [`crate::ir::Place`].
    pub(super) fn rectangle(&self, f: &Footprint, elements: bool) -> Rect {
        let o = &self.prog.objects[f.obj as usize];
        let by = if elements { [1, 1] } else { o.block };
        let along = |axis: usize, (lo, hi): (i64, i64)| {
            let first = f.at[axis].saturating_mul(by[axis]);
            (first.saturating_add(lo), first.saturating_add(hi))
        };
        Rect { rows: along(0, f.rows), cols: along(1, f.cols) }
    }

    /// Records a comparison that decides something, for proofs over trip counts.
    fn less(&self, a: i64, b: i64) -> bool {
        self.judge(Decision::Op(Binary::Lt, a, b));
        a < b
    }

    pub(super) fn overlap(&self, a: &Rect, b: &Rect) -> bool {
        let axis = |x: (i64, i64), y: (i64, i64)| self.less(x.0, y.1) && self.less(y.0, x.1);
        axis(a.rows, b.rows) && axis(a.cols, b.cols)
    }

    fn covers(&self, a: &Rect, b: &Rect) -> bool {
        let axis = |x: (i64, i64), y: (i64, i64)| !self.less(y.0, x.0) && !self.less(x.1, y.1);
        axis(a.rows, b.rows) && axis(a.cols, b.cols)
    }

    /// Checks an access to a global matrix against accesses that are unordered with it, and remembers the access.
    /// Returns whether the access is an unordered second write of the same elements.
    pub(super) fn touch_global(&mut self, a: AgentId, f: &Footprint, elements: bool, x: Access, write: bool) -> bool {
        let obj = f.obj as usize;
        if !self.spec.followed.matrices.get(obj).is_some_and(|followed| *followed) {
            return false;
        }
        let rect = self.rectangle(f, elements);
        if !write {
            self.memory.coverage.note_read(f.obj, &rect);
        }
        if self.order.is_off() {
            return false;
        }
        let mut twice = false;
        let row = self.spec.agent_row(a);
        let mut list = std::mem::take(&mut self.global.regions[obj]);
        for r in list.iter().filter(|r| write || r.write) {
            if let Some(place) = &self.spec.place {
                // The representative of a cell decides whether the rectangles overlap.
                let apart = |i: usize| place.fixed(x.pc, 0, place.minus(f.forms[i], r.forms[i]));
                (0..2).filter(|i| f.forms[*i] != r.forms[*i]).for_each(apart);
            }
            if !self.overlap(&rect, &r.rect) {
                continue;
            }
            match (self.before(row, &r.access, &x), write, r.write) {
                (true, true, _) => self.fenced_write(a, row, f, &r.access, &x),
                (true, false, _) => self.fenced_read(a, row, f, &r.access, &x),
                (false, false, _) => self.race(FindingKind::Raw, a, f, x.pc, (r.access, row)),
                (false, true, false) => self.race(FindingKind::War, a, f, x.pc, (r.access, row)),
                (false, true, true) => {
                    twice = true;
                    self.race(FindingKind::Waw, a, f, x.pc, (r.access, row));
                }
            }
        }
        list.retain(|r| {
            let replaced = write || !r.write && r.access.epoch.comp == x.epoch.comp;
            !(replaced && self.covers(&rect, &r.rect) || self.known_to_all(f.obj, &r.access))
        });
        list.push(Region { rect, forms: f.forms, write, access: x });
        self.global.regions[obj] = list;
        twice
    }

    /// Whether every running agent is ordered after an access, and past the fence that the access may need. No later
    /// access can then conflict with it.
    fn known_to_all(&self, obj: ObjId, x: &Access) -> bool {
        let fences = x.generic && self.spec.followed.by_proxy[obj as usize];
        (0..self.spec.info.len()).filter(|i| !self.agents[*i as AgentId].ended).all(|i| {
            let row = self.spec.agent_row(i as AgentId);
            self.order.has(row, x.epoch) && (!fences || self.order.fenced_global(row, x.epoch))
        })
    }

    /// Whether an object is a global matrix.
    pub(super) fn in_global(&self, obj: ObjId) -> bool {
        self.prog.objects[obj as usize].class == Class::Global
    }
}
