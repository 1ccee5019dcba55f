//! Races: each access to a piece against the accesses that it is not ordered with.

use crate::code::Code;
use crate::ir::{Class, ObjId, Writes};
use crate::report::FindingKind;

use super::footprint::{Footprint, TileKey};
use super::order::{Access, Epoch, RowId};
use super::vocabulary::AgentId;
use super::world::World;

impl World<'_> {
    /// Whether a piece of a ring of slots has not been written yet, although the kernel writes the ring. An object that
    /// no statement writes, or that has one slot, may hold an input.
    pub(super) fn unwritten(&self, obj: ObjId, piece: usize) -> bool {
        let trace = &self.memory[piece].trace;
        // An imported kernel may read values that it does not use.
        let ring =
            self.spec.written[obj as usize] && self.prog.objects[obj as usize].slots > 1 && !self.prog.opaque_globals;
        ring && !trace.is_written()
    }

    /// Whether a read by an imported kernel finds nothing that the kernel wrote. A product or bulk copy uses what it reads,
    /// except for rows that a tile leaves unused: none of its pieces may have been written. Threads load ahead of a loop's
    /// end and do not use the data, so only objects that no statement writes count there.
    fn finds_nothing(&self, a: AgentId, f: &Footprint, x: &Access) -> bool {
        if !self.prog.reads_checked || self.prog.objects[f.obj as usize].class != Class::Shared {
            return false;
        }
        let written = |p: usize| self.memory[p].trace.is_written();
        if x.generic { !self.spec.written[f.obj as usize] } else { !self.each_piece(a, f).any(written) }
    }

    /// Checks a read against the writes that are unordered with it, and remembers the read. `row` is what happened
    /// before the read.
    pub(super) fn check_read(&mut self, a: AgentId, row: RowId, f: &Footprint, x: Access) {
        self.visit(row, f, &x, true);
        if self.finds_nothing(a, f, &x) {
            let message = format!("reads {}, which nothing has written", self.footprint_name(f));
            self.find(Code::Unwritten, a, x.pc, message, None);
        }
        for p in self.each_piece(a, f) {
            self.journal.accessed(p, false);
            if self.unwritten(f.obj, p) {
                let message = format!("reads {}, which nothing has written", self.footprint_name(f));
                self.find(Code::Unwritten, a, x.pc, message, None);
            }
            if let Some(w) = self.memory[p].trace.write {
                if !self.before(row, &w, &x) {
                    self.race(FindingKind::Raw, a, f, x.pc, (w, row));
                } else {
                    self.fenced_read(a, row, f, &w, &x);
                }
            }
            for i in 0..self.memory[p].trace.over.len() {
                let (_, w) = self.memory[p].trace.over[i];
                if !self.before(row, &w, &x) {
                    self.race(FindingKind::Raw, a, f, x.pc, (w, row));
                }
            }
            for i in 0..self.memory[p].trace.atomics.len() {
                let w = self.memory[p].trace.atomics[i];
                if !self.before(row, &w, &x) {
                    self.race(FindingKind::Raw, a, f, x.pc, (w, row));
                } else {
                    self.fenced_read(a, row, f, &w, &x);
                }
            }
            self.memory[p].trace.read(x);
            self.touch_register(p, &x);
        }
    }

    /// Checks a write against all accesses that are unordered with it, and puts `holds` into the pieces.
    pub(super) fn check_write(&mut self, a: AgentId, row: RowId, f: &Footprint, x: Access, holds: Option<TileKey>) {
        self.visit(row, f, &x, false);
        for p in self.each_piece(a, f) {
            self.journal.accessed(p, true);
            self.conflicts(a, row, f, p, &x, f.obj);
            match f.writes {
                Writes::Atomic => self.memory[p].trace.wrote_atomically(x),
                _ => self.memory[p].trace.wrote(x),
            }
            self.touch_register(p, &x);
            self.memory[p].holds = holds;
        }
        for (g, p) in self.aliased(f) {
            self.journal.accessed(p, true);
            self.conflicts(a, row, &g, p, &x, f.obj);
            self.memory[p].trace.overwritten(f.obj, x);
            self.memory[p].holds = None;
        }
    }

    /// Checks a write by object `by` against all accesses of a piece of another object.
    fn conflicts(&mut self, a: AgentId, row: RowId, f: &Footprint, p: usize, x: &Access, by: ObjId) {
        for i in 0..self.memory[p].trace.over.len() {
            let (obj, w) = self.memory[p].trace.over[i];
            if obj != by && !self.before(row, &w, x) {
                self.race(FindingKind::Waw, a, f, x.pc, (w, row));
            }
        }
        if let Some(w) = self.memory[p].trace.write {
            if f.writes == Writes::SameValues && w.pc == x.pc {
                // The same values at the same instruction.
            } else if self.before(row, &w, x) {
                self.fenced_write(a, row, f, &w, x);
            } else {
                self.race(FindingKind::Waw, a, f, x.pc, (w, row));
            }
        }
        for i in 0..self.memory[p].trace.atomics.len() {
            let w = self.memory[p].trace.atomics[i];
            if f.writes == Writes::Atomic {
                // Atomic with respect to each other.
            } else if self.before(row, &w, x) {
                self.fenced_write(a, row, f, &w, x);
            } else {
                self.race(FindingKind::Waw, a, f, x.pc, (w, row));
            }
        }
        for i in 0..self.memory[p].trace.reads.len() {
            let r = self.memory[p].trace.reads[i];
            if self.before(row, &r, x) {
                self.fenced_write(a, row, f, &r, x);
            } else {
                self.race(FindingKind::War, a, f, x.pc, (r, row));
            }
        }
    }

    /// Whether an earlier access is ordered before `x`, which knows `row`.
    pub(super) fn before(&self, row: RowId, earlier: &Access, x: &Access) -> bool {
        (earlier.in_order && x.in_order && earlier.epoch.comp == x.epoch.comp) || self.order.has(row, earlier.epoch)
    }

    pub(super) fn race(
        &mut self,
        kind: FindingKind,
        a: AgentId,
        f: &Footprint,
        pc: u32,
        (other, row): (Access, RowId),
    ) {
        let place = self.footprint_name(f);
        let far = self.spec.info[other.agent as usize].cta != self.spec.info[a as usize].cta;
        let class = self.prog.objects[f.obj as usize].class;
        let (code, message, part) = match kind {
            _ if class == Class::Global && self.order.reached(row, other.epoch.comp) >= other.epoch.clock => {
                let (code, missing) = self.flag_missing();
                let message =
                    format!("what was done to {place} before is not visible here: only {missing} comes in between");
                (code, message, "done here")
            }
            // Later in time, but not ordered.
            _ if far && self.order.reached(row, other.epoch.comp) >= other.epoch.clock => {
                let message = format!(
                    "what another CTA did to {place} is not visible here: only an arrival of CTA scope, or a copy, comes in between; `cluster` scope is needed"
                );
                (Code::Scope, message, "by the other CTA")
            }
            FindingKind::Raw => (
                by_class(class, [Code::RawShared, Code::RawRegister, Code::RawTensor, Code::RawGlobal]),
                format!("reads {place}; nothing orders it after the write"),
                "the write",
            ),
            FindingKind::War => (
                by_class(class, [Code::WarShared, Code::WarRegister, Code::WarTensor, Code::WarGlobal]),
                format!("overwrites {place}; nothing orders it after the read"),
                "the read",
            ),
            _ => (
                by_class(class, [Code::WawShared, Code::WawRegister, Code::WawTensor, Code::WawGlobal]),
                format!("writes {place}; nothing orders it after the other write"),
                "the other write",
            ),
        };
        self.find(code, a, pc, message, Some((other.pc, part.to_string())));
    }

    /// An access by the agent itself, at the agent's own clock.
    pub(super) fn own_access(&self, a: AgentId, pc: u32) -> Access {
        let comp = a;
        let epoch = Epoch { comp, clock: self.order.clock(self.spec.agent_row(a), comp) };
        Access { epoch, pc, agent: a, generic: true, in_order: true }
    }
}

/// The code of a race by memory: shared memory (mailboxes are words of it), registers, tensor memory, global memory.
fn by_class(class: Class, [shared, register, tensor, global]: [Code; 4]) -> Code {
    match class {
        Class::Reg => register,
        Class::Tmem => tensor,
        Class::Shared | Class::Mailbox => shared,
        Class::Global => global,
    }
}
