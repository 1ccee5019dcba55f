//! Fences: what each fence covers, and the accesses that need a fence. The levels are in [`crate::fences`]. The reasons
//! for what each level accepts are in `docs/fences.md`.
//!
//! Each check comes after the check that the accesses are ordered at all. An unordered access is a race, and then no
//! fence is checked.

use crate::code::Code;
use crate::fences::{Cover, Level};
use crate::ir::{Class, Fence, Writes};

use super::footprint::Footprint;
use super::order::{Access, Epoch, RowId};
use super::stream::StreamKind;
use super::vocabulary::{AgentId, MbarIx};
use super::world::World;

/// The last use of a register piece since its warp's last `wgmma.fence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LastTouch {
    /// No use.
    Not,
    /// An instruction other than `wgmma`, or no use and no fence yet.
    Other,
    /// A product with this many rows and columns.
    Product(u32, u32),
}

impl LastTouch {
    /// A number for snapshots: different for different uses.
    pub(super) fn number(self) -> u64 {
        match self {
            LastTouch::Not => 0,
            LastTouch::Other => 1,
            LastTouch::Product(rows, cols) => 2 + ((rows as u64) << 32 | cols as u64),
        }
    }
}

impl World<'_> {
    /// Executes a fence.
    pub(super) fn fence(&mut self, a: AgentId, kind: Fence) {
        let row = self.spec.agent_row(a);
        match kind {
            Fence::Async => {
                if self.spec.rules.fences.async_read == Cover::Strict {
                    // The agent's own stores, and its copies where the agent makes any (streams come behind the
                    // agents).
                    let copies = self.stream_comp(a, StreamKind::Cp);
                    self.order.fence(row, |comp| comp == a || (comp == copies && copies > 0));
                } else {
                    self.order.fence(row, |_| true);
                }
                // The fence does not cover the agent's later accesses.
                self.order.tick(row, a);
            }
            Fence::AsyncGlobal if self.spec.followed.proxies() => {
                if self.spec.rules.fences.async_read == Cover::Strict {
                    self.order.fence_global(row, |comp| comp == a);
                } else {
                    self.order.fence_global(row, |_| true);
                }
                self.order.tick(row, a);
            }
            Fence::Gpu => self.fence_gpu(a),
            Fence::TmemBefore => self.order.seal(row),
            Fence::TmemAfter if self.spec.tensor_fences => {
                let opened = self.spec.opened_row(a);
                self.order.join(opened, row);
            }
            Fence::Wgmma if self.memory.checks_register_fences() => self.fence_registers(a),
            _ => {}
        }
        if matches!(kind, Fence::Async | Fence::MbarrierInit) {
            // Whoever is ordered after the fence, and nobody else: another agent's fence can come too late.
            let here = Epoch { comp: a, clock: self.order.clock(row, a) };
            for ix in 0..self.mbars.len() {
                let Some(init) = self.mbars[ix].init().map(|x| x.epoch) else { continue };
                if self.order.has(row, init) && !self.init_fenced(row, ix as MbarIx) {
                    self.mbars[ix].fence_init(here);
                }
                if kind == Fence::MbarrierInit && init.comp == a {
                    self.mbars[ix].release_init();
                }
            }
        }
    }

    /// Checks a read `x` that is ordered after the write `w` of the same place.
    pub(super) fn fenced_read(&mut self, a: AgentId, row: RowId, f: &Footprint, w: &Access, x: &Access) {
        match self.prog.objects[f.obj as usize].class {
            Class::Shared if self.spec.proxies && !x.generic && w.generic && !self.order.fenced(row, w.epoch) => {
                let between = match self.spec.rules.fences.async_read {
                    Cover::Strict => "and their thread executed no `fence async` before it let others know",
                    _ => "with no `fence async` in between",
                };
                let message = format!(
                    "the asynchronous proxy reads {}, which ordinary stores or `cp` wrote, {between}",
                    self.footprint_name(f)
                );
                self.find(Code::ProxyRead, a, x.pc, message, Some((w.pc, "written here".into())));
            }
            Class::Global
                if self.spec.rules.fences.async_read != Cover::Off
                    && !x.generic
                    && w.generic
                    && !self.order.fenced_global(row, w.epoch) =>
            {
                let between = match self.spec.rules.fences.async_read {
                    Cover::Strict => "and their thread executed no `fence async.global` before it let others know",
                    _ => "with no `fence async.global` in between",
                };
                let message = format!(
                    "the asynchronous proxy reads {}, which ordinary stores wrote, {between}",
                    self.footprint_name(f)
                );
                self.find(Code::ProxyRead, a, x.pc, message, Some((w.pc, "written here".into())));
            }
            Class::Tmem => self.fenced_tensor(a, row, f, w, x),
            _ => {}
        }
    }

    /// Checks a write `x` that is ordered after the access `e` of the same place.
    pub(super) fn fenced_write(&mut self, a: AgentId, row: RowId, f: &Footprint, e: &Access, x: &Access) {
        match self.prog.objects[f.obj as usize].class {
            Class::Shared | Class::Mailbox | Class::Global
                if !x.generic && e.generic && !self.covered(f.obj, row, e) =>
            {
                let level = self.spec.rules.fences.async_write;
                if level != Level::Off && !self.met(Code::ProxyWrite, x.pc, Some(e.pc)) {
                    let message = format!(
                        "the asynchronous proxy overwrites {}, which ordinary instructions used, with no `{}` in between",
                        self.footprint_name(f),
                        if self.in_global(f.obj) { "fence async.global" } else { "fence async" }
                    );
                    self.report(level, Code::ProxyWrite, (a, x.pc), message, Some((e.pc, "used here".into())));
                }
            }
            Class::Tmem => self.fenced_tensor(a, row, f, e, x),
            _ => {}
        }
    }

    /// Whether a proxy fence for an object's memory covers an access.
    fn covered(&self, obj: crate::ir::ObjId, row: RowId, e: &Access) -> bool {
        if self.in_global(obj) { self.order.fenced_global(row, e.epoch) } else { self.order.fenced(row, e.epoch) }
    }

    /// Checks a use `x` of tensor memory that is ordered after another thread's use `e` (PTX, tcgen05 memory
    /// consistency: canonical patterns). A commit fences the operations that the commit waits for. Operations of one
    /// thread need no fence between them.
    fn fenced_tensor(&mut self, a: AgentId, row: RowId, f: &Footprint, e: &Access, x: &Access) {
        let in_order = e.epoch.comp == x.epoch.comp || (e.agent == x.agent && e.generic);
        if !self.spec.tensor_fences || in_order {
            return;
        }
        // Multiplications use the asynchronous proxy; the threads themselves move tensor memory.
        let before = !e.generic || self.order.sealed(row, e.epoch);
        let after = self.order.has(self.spec.opened_row(x.agent), e.epoch);
        if (before && after) || self.met(Code::TensorFence, x.pc, Some(e.pc)) {
            return;
        }
        let what = match (before, after) {
            (false, true) => "the other thread let it go without `tmem.fence before`",
            (true, false) => "no `tmem.fence after` follows the wait for the other thread",
            _ => "neither `tmem.fence before` nor `tmem.fence after` is in between",
        };
        let message = format!("uses {} after another thread; {what}", self.footprint_name(f));
        let level = self.spec.rules.fences.tcgen05;
        self.report(level, Code::TensorFence, (a, x.pc), message, Some((e.pc, "used here".into())));
    }

    /// Records that an instruction other than `wgmma` used a register piece.
    pub(super) fn touch_register(&mut self, piece: usize, x: &Access) {
        if x.generic {
            self.memory.touch(piece, LastTouch::Other);
        }
    }

    /// `wgmma.fence`: orders the warp's own uses of its registers before the products that follow.
    fn fence_registers(&mut self, a: AgentId) {
        for obj in 0..self.prog.objects.len() {
            let o = &self.prog.objects[obj];
            if o.class != Class::Reg {
                continue;
            }
            let n = o.pieces();
            let pieces = if n == 64 { u64::MAX } else { (1 << n) - 1 };
            let (rows, cols) = ((0, o.rows), (0, o.cols));
            for slot in 0..o.slots {
                let f = Footprint {
                    obj: obj as u16,
                    cta: self.spec.info[a as usize].cta,
                    slot,
                    at: [0, 0],
                    forms: [0; 2],
                    rows,
                    cols,
                    pieces,
                    writes: Writes::Exclusive,
                };
                for p in self.each_piece(a, &f) {
                    self.memory.touch(p, LastTouch::Not);
                }
            }
        }
    }

    /// Holds the registers of a `wgmma` to a `wgmma.fence` before the first product and after their last other use. A
    /// product of another shape is another use of its accumulator.
    pub(super) fn fenced_registers(&mut self, a: AgentId, pc: u32, left: &Footprint, acc: &Footprint) {
        if !self.memory.checks_register_fences() {
            return;
        }
        let shape = LastTouch::Product((acc.rows.1 - acc.rows.0) as u32, (acc.cols.1 - acc.cols.0) as u32);
        for (f, allowed) in [(left, None), (acc, Some(shape))] {
            if self.prog.objects[f.obj as usize].class != Class::Reg {
                continue;
            }
            let bad = |t: LastTouch| t != LastTouch::Not && Some(t) != allowed;
            if let Some(p) = self.each_piece(a, f).find(|p| bad(self.memory.last_touches()[*p])) {
                let t = &self.memory[p].trace;
                // An accumulator that `zero` clears is listed as a write and is not a use.
                let product = matches!(self.memory.last_touches()[p], LastTouch::Product(..));
                let used = t.reads.iter().chain(&t.write).rfind(|x| x.generic || product);
                let used = used.map(|x| (x.pc, "used here".to_string()));
                let since = if used.is_some() { "since it was last used" } else { "before the first product" };
                let message = format!("uses {} with no `wgmma.fence` {since}", self.footprint_name(f));
                self.report(self.spec.rules.fences.wgmma, Code::WgmmaFence, (a, pc), message, used);
            }
        }
        for p in self.each_piece(a, acc) {
            self.memory.touch(p, shape);
        }
    }
}
