//! Global matrices that a kernel both reads and writes: which rectangles were accessed, and who may touch them when.
//!
//! An access to a global matrix covers a rectangle of elements. Two accesses conflict where their rectangles overlap and one
//! of them writes; they are held to happens-before like accesses to a piece of shared memory (`races`). A matrix that the
//! kernel only reads cannot race, and one that it only writes is held to storing each element once (`coverage`), so neither
//! is followed here.
//!
//! A list of recent accesses stays short: a write replaces what it covers, a read replaces earlier reads of its component,
//! and what every agent knows of is dropped.

use crate::ir::{Binary, Class, Instr, MoveKind, ObjId, Op, Program};
use crate::report::FindingKind;

use super::AgentId;
use super::eval::Decision;
use super::memory::Footprint;
use super::order::Access;
use super::place::FormId;
use super::walk::global;
use super::world::World;

/// A rectangle of elements: first row and column, and one past the last of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rect {
    pub(super) rows: (i64, i64),
    pub(super) cols: (i64, i64),
}

impl Rect {
    /// Whether all of it is in another one.
    pub(super) fn inside(&self, other: &Rect) -> bool {
        let axis = |x: (i64, i64), y: (i64, i64)| y.0 <= x.0 && x.1 <= y.1;
        axis(self.rows, other.rows) && axis(self.cols, other.cols)
    }

    /// Whether some of it is in another one.
    pub(super) fn meets(&self, other: &Rect) -> bool {
        let axis = |x: (i64, i64), y: (i64, i64)| x.0 < y.1 && y.0 < x.1;
        axis(self.rows, other.rows) && axis(self.cols, other.cols)
    }
}

/// An access to a global matrix that a later one can conflict with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Region {
    pub(super) rect: Rect,
    /// How its first row and column depend on the place of the CTA.
    pub(super) forms: [FormId; 2],
    pub(super) write: bool,
    pub(super) access: Access,
}

/// How a program uses its global matrices, by object.
#[derive(Clone, Debug, Default)]
pub(super) struct GlobalMatrices {
    /// Read and written by the kernel, so that accesses to it can race.
    pub(super) matrices: Vec<bool>,
    /// Of those, the ones that the asynchronous proxy reads or writes.
    pub(super) by_proxy: Vec<bool>,
}

impl GlobalMatrices {
    /// Reads off which matrices need to be followed.
    pub(super) fn of(prog: &Program) -> GlobalMatrices {
        let n = prog.objects.len();
        let (mut read, mut written, mut by_proxy) = (vec![false; n], vec![false; n], vec![false; n]);
        for i in &prog.code {
            let Instr::Op { op, .. } = i else { continue };
            let Some((place, write)) = global(prog, op) else { continue };
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

    /// Whether proxy fences matter to any of them.
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

    /// A comparison that decides something, noted for proofs over trip counts.
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

    /// Checks an access to a global matrix against those it is not ordered with, and remembers it. Whether it is another
    /// write of elements that nothing orders it with.
    pub(super) fn touch_global(&mut self, a: AgentId, f: &Footprint, elements: bool, x: Access, write: bool) -> bool {
        let obj = f.obj as usize;
        if !self.followed.matrices.get(obj).is_some_and(|followed| *followed) {
            return false;
        }
        let rect = self.rectangle(f, elements);
        if !write {
            self.stored_is_read(f.obj, &rect);
        }
        if self.rows.is_off() {
            return false;
        }
        let mut twice = false;
        let row = self.agent_row(a);
        let mut list = std::mem::take(&mut self.regions[obj]);
        for r in list.iter().filter(|r| write || r.write) {
            if let Some(place) = &self.place {
                // Whether they meet is seen in the representative of a cell.
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
        self.regions[obj] = list;
        twice
    }

    /// Whether every agent that goes on is ordered after an access, and past the fence it may need: no later access can
    /// conflict with it.
    fn known_to_all(&self, obj: ObjId, x: &Access) -> bool {
        let fences = x.generic && self.followed.by_proxy[obj as usize];
        (0..self.info.len()).filter(|i| !self.agents[*i].ended).all(|i| {
            let row = self.agent_row(i as AgentId);
            self.rows.has(row, x.epoch) && (!fences || self.rows.fenced_global(row, x.epoch))
        })
    }

    /// Stored elements that are read again may be stored again: the matrix is a workspace.
    fn stored_is_read(&mut self, obj: ObjId, rect: &Rect) {
        for s in self.stored.iter_mut().filter(|s| s.obj == obj) {
            s.read |= rect.meets(&Rect { rows: s.rows, cols: s.cols });
        }
    }

    /// Whether an object is a global matrix.
    pub(super) fn in_global(&self, obj: ObjId) -> bool {
        self.prog.objects[obj as usize].class == Class::Global
    }
}
