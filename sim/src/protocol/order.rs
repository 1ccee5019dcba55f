//! Happens-before, kept as vector clocks while the world steps.
//!
//! A *component* is a source of accesses that happen in one order: an agent, one of its streams (`cp.async`, `wgmma`,
//! bulk, counters, tensor core), or an mbarrier. An mbarrier's clock is its number of completed phases and stands for
//! the copies that signal it. An access is an epoch: a component with a clock. The access is ordered before an agent's
//! next operation if the agent's row has that clock. Races found this way are races of the program, not only of the
//! schedule that was run.
//!
//! A row has two halves: what happened before, and the part of it that a proxy fence on the way covers. `fence async`
//! copies the first half into the second; at the level `strict`, only what its own agent did, so that the writer itself
//! must fence. Some programs need a further part for order in time, visible or not: clusters, counters, `cp.arrive`,
//! and copies that signal a barrier on which their issuer does not arrive. A copy tells its reader how far the issuer
//! had come, and shows none of the issuer's own data. An arrival that follows copies shows only the copies. Two
//! questions are about time alone: the phase that an arrival counts in, and whether a waiter can be late. Tensor memory
//! needs one more part: what a `tcgen05.fence::before_thread_sync` on the way covers. A global matrix that the kernel
//! writes and the asynchronous proxy uses needs another: what a `fence async.global` on the way covers. A join of rows
//! joins all parts.

use smallvec::SmallVec;

/// A component's clock at an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Epoch {
    pub(super) comp: u32,
    pub(super) clock: u32,
}

/// Index of a row: the row of an agent, a barrier or a flight.
pub(super) type RowId = u32;

/// All rows, in one array.
#[derive(Debug)]
pub(super) struct Rows {
    /// Number of components.
    n: usize,
    /// Number of parts of a row: 2, and the optional ones below.
    parts: usize,
    /// The part for order in time, where it is separate.
    timed: Option<usize>,
    /// The part that `tcgen05.fence` covers, where those fences are needed.
    sealed: Option<usize>,
    /// The part that a proxy fence on global memory covers, where those fences are needed.
    global: Option<usize>,
    cells: Vec<u32>,
    free: Vec<RowId>,
    /// Whether no order is recorded and every question is answered with yes: for a search, which makes every order
    /// itself.
    off: bool,
}

clone_by_field!(Rows { n, parts, timed, sealed, global, cells, free, off });

impl Rows {
    pub(super) fn new(components: usize, rows: usize, timed: bool, sealed: bool, global: bool) -> Self {
        let parts = 2 + timed as usize + sealed as usize + global as usize;
        let cells = vec![0; parts * components * rows];
        let (timed, global) = (timed.then_some(2), global.then_some(parts - 1));
        let sealed = sealed.then_some(parts - 1 - global.is_some() as usize);
        Rows { n: components, parts, timed, sealed, global, cells, free: Vec::new(), off: false }
    }

    /// Records no order from now on.
    pub(super) fn turn_off(&mut self) {
        (self.cells, self.free, self.timed, self.sealed, self.off) = (Vec::new(), Vec::new(), None, None, true);
        self.global = None;
    }

    /// Whether order in time is separate from visibility.
    pub(super) fn keeps_time(&self) -> bool {
        self.timed.is_some()
    }

    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.off
    }

    /// Bytes of all rows.
    pub(super) fn bytes(&self) -> usize {
        self.cells.len() * size_of::<u32>()
    }

    pub(super) fn components(&self) -> u32 {
        self.n as u32
    }

    #[inline]
    fn range(&self, r: RowId) -> std::ops::Range<usize> {
        let w = self.parts * self.n;
        r as usize * w..(r as usize + 1) * w
    }

    /// A new row for a flight, with the contents of another row.
    pub(super) fn snapshot(&mut self, of: RowId) -> RowId {
        if self.off {
            return of;
        }
        let from = self.range(of);
        if let Some(r) = self.free.pop() {
            let at = self.range(r).start;
            self.cells.copy_within(from, at);
            r
        } else {
            let r = (self.cells.len() / (self.parts * self.n)) as RowId;
            self.cells.extend_from_within(from);
            r
        }
    }

    pub(super) fn release(&mut self, r: RowId) {
        if !self.off {
            self.free.push(r);
        }
    }

    /// Orders everything before `from` before `into` as well.
    pub(super) fn join(&mut self, into: RowId, from: RowId) {
        if self.off {
            return;
        }
        let (i, f) = (self.range(into), self.range(from));
        // Splits the array at the row that lies second.
        let (into, from) = if i.start < f.start {
            let (low, high) = self.cells.split_at_mut(f.start);
            (&mut low[i], &high[..f.len()])
        } else if f.start < i.start {
            let (low, high) = self.cells.split_at_mut(i.start);
            (&mut high[..i.len()], &low[f])
        } else {
            return;
        };
        into.iter_mut().zip(from).for_each(|(c, v)| *c = (*c).max(*v));
    }

    #[inline]
    pub(super) fn clock(&self, r: RowId, comp: u32) -> u32 {
        if self.off {
            return u32::MAX;
        }
        self.cells[self.range(r).start + comp as usize]
    }

    /// Orders everything before `from` before `into` in time, with nothing visible.
    pub(super) fn follow(&mut self, into: RowId, from: RowId) {
        let (i, f) = (self.range(into).start, self.range(from).start);
        if let Some(part) = self.timed {
            for k in part * self.n..(part + 1) * self.n {
                self.cells[i + k] = self.cells[i + k].max(self.cells[f + k]);
            }
        }
    }

    /// Reduces a row to order in time: nothing of what came before is visible.
    pub(super) fn forget(&mut self, r: RowId) {
        if self.off {
            return;
        }
        let (start, n, timed) = (self.range(r).start, self.n, self.timed);
        for part in (0..self.parts).filter(|part| Some(*part) != timed) {
            self.cells[start + part * n..start + (part + 1) * n].fill(0);
        }
    }

    /// The clock of a component that a row knows to be reached.
    #[inline]
    pub(super) fn reached(&self, r: RowId, comp: u32) -> u32 {
        if self.off {
            return u32::MAX;
        }
        self.cells[self.range(r).start + self.timed.unwrap_or(0) * self.n + comp as usize]
    }

    /// Raises one clock: the component's accesses up to that clock are before this row.
    pub(super) fn raise(&mut self, r: RowId, comp: u32, clock: u32) {
        for i in self.clocks(r, comp) {
            self.cells[i] = self.cells[i].max(clock);
        }
    }

    pub(super) fn tick(&mut self, r: RowId, comp: u32) {
        for i in self.clocks(r, comp) {
            self.cells[i] += 1;
        }
    }

    /// The positions of a component's clock in a row: as visible, and as reached.
    fn clocks(&self, r: RowId, comp: u32) -> impl Iterator<Item = usize> + use<> {
        let first = self.range(r).start + comp as usize;
        let n = self.n;
        let seen = (!self.off).then_some(first);
        seen.into_iter().chain(self.timed.map(move |part| first + part * n))
    }

    #[inline]
    pub(super) fn has(&self, r: RowId, e: Epoch) -> bool {
        self.clock(r, e.comp) >= e.clock
    }

    /// All clocks of a row, part after part.
    pub(super) fn row(&self, r: RowId) -> &[u32] {
        &self.cells[self.range(r)]
    }

    /// Whether a proxy fence on the way covers an epoch.
    pub(super) fn fenced(&self, r: RowId, e: Epoch) -> bool {
        self.off || self.cells[self.range(r).start + self.n + e.comp as usize] >= e.clock
    }

    /// A proxy fence: covers what happened before, of the components named.
    pub(super) fn fence(&mut self, r: RowId, covers: impl Fn(u32) -> bool) {
        if self.off {
            return;
        }
        let s = self.range(r).start;
        for k in (0..self.n).filter(|k| covers(*k as u32)) {
            self.cells[s + self.n + k] = self.cells[s + self.n + k].max(self.cells[s + k]);
        }
    }

    /// A proxy fence on global memory: covers what happened before, of the components named.
    pub(super) fn fence_global(&mut self, r: RowId, covers: impl Fn(u32) -> bool) {
        let s = self.range(r).start;
        if let Some(part) = self.global {
            for k in (0..self.n).filter(|k| covers(*k as u32)) {
                let c = s + part * self.n + k;
                self.cells[c] = self.cells[c].max(self.cells[s + k]);
            }
        }
    }

    /// Whether a proxy fence on global memory on the way covers an epoch; true where those fences are not needed.
    pub(super) fn fenced_global(&self, r: RowId, e: Epoch) -> bool {
        let s = self.range(r).start;
        self.global.is_none_or(|part| self.cells[s + part * self.n + e.comp as usize] >= e.clock)
    }

    /// `tcgen05.fence::before_thread_sync`: covers all that happened before.
    pub(super) fn seal(&mut self, r: RowId) {
        let s = self.range(r).start;
        if let Some(part) = self.sealed {
            for k in 0..self.n {
                let c = s + part * self.n + k;
                self.cells[c] = self.cells[c].max(self.cells[s + k]);
            }
        }
    }

    /// Whether a `before_thread_sync` on the way covers an epoch; true where those fences are not needed.
    pub(super) fn sealed(&self, r: RowId, e: Epoch) -> bool {
        let s = self.range(r).start;
        self.sealed.is_none_or(|part| self.cells[s + part * self.n + e.comp as usize] >= e.clock)
    }
}

/// One access remembered for a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Access {
    pub(super) epoch: Epoch,
    /// Instruction.
    pub(super) pc: u32,
    /// The agent that issued the access.
    pub(super) agent: u32,
    /// Whether the access is by the generic proxy, so that an asynchronous read of the data needs a fence.
    pub(super) generic: bool,
    /// Whether the component is in order: accesses of one such component never race with each other.
    pub(super) in_order: bool,
}

/// The accesses of a piece: the last write, the reads since, and writes of overlaid objects to the same storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Trace {
    pub(super) write: Option<Access>,
    pub(super) reads: SmallVec<[Access; 1]>,
    /// Writes since by objects that share the storage, with the object.
    pub(super) over: Vec<(u16, Access)>,
    /// Atomic writes since the last write that is not atomic, one for each component.
    pub(super) atomics: SmallVec<[Access; 1]>,
}

impl Trace {
    /// Remembers a read; a later read of one component stands for the earlier ones.
    pub(super) fn read(&mut self, x: Access) {
        latest(&mut self.reads, x);
    }

    /// Remembers an atomic write. Earlier accesses stay, since another atomic write need not be ordered after this one.
    pub(super) fn wrote_atomically(&mut self, x: Access) {
        latest(&mut self.atomics, x);
    }

    pub(super) fn wrote(&mut self, x: Access) {
        self.write = Some(x);
        self.reads.clear();
        self.over.clear();
        self.atomics.clear();
    }

    /// Remembers a write of an overlaid object. The piece's own accesses stay, since other warps may write other parts
    /// of that object.
    pub(super) fn overwritten(&mut self, by: u16, x: Access) {
        match self.over.iter_mut().find(|(obj, o)| *obj == by && o.epoch.comp == x.epoch.comp) {
            Some(o) => o.1 = x,
            None => self.over.push((by, x)),
        }
    }
}

/// Adds an access in place of the earlier one of its component.
fn latest(list: &mut SmallVec<[Access; 1]>, x: Access) {
    match list.iter_mut().find(|r| r.epoch.comp == x.epoch.comp) {
        Some(r) => *r = x,
        None => list.push(x),
    }
}
