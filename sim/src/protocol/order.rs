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

use std::sync::Arc;

use smallvec::SmallVec;

/// A component's clock at an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Epoch {
    pub(super) comp: u32,
    pub(super) clock: u32,
}

/// Index of a row: the row of an agent, a barrier or a flight.
pub(super) type RowId = u32;

/// All rows. Copies of a world share each row until one of them changes it.
#[derive(Debug)]
pub(super) struct Rows {
    /// Number of components.
    n: usize,
    /// The part for order in time, where it is separate.
    timed: Option<usize>,
    /// The part that `tcgen05.fence` covers, where those fences are needed.
    sealed: Option<usize>,
    /// The part that a proxy fence on global memory covers, where those fences are needed.
    global: Option<usize>,
    /// The clocks of each row, part after part.
    rows: Vec<Arc<[u32]>>,
    free: Vec<RowId>,
    /// Whether no order is recorded and every question is answered with yes: for a search, which makes every order
    /// itself.
    off: bool,
}

clone_by_field!(Rows { n, timed, sealed, global, rows, free, off });

impl Rows {
    pub(super) fn new(components: usize, rows: usize, timed: bool, sealed: bool, global: bool) -> Self {
        let parts = 2 + timed as usize + sealed as usize + global as usize;
        let row: Arc<[u32]> = vec![0; parts * components].into();
        let (timed, global) = (timed.then_some(2), global.then_some(parts - 1));
        let sealed = sealed.then_some(parts - 1 - global.is_some() as usize);
        Rows { n: components, timed, sealed, global, rows: vec![row; rows], free: Vec::new(), off: false }
    }

    /// Records no order from now on.
    pub(super) fn turn_off(&mut self) {
        (self.rows, self.free, self.timed, self.sealed, self.off) = (Vec::new(), Vec::new(), None, None, true);
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

    /// Bytes that a copy takes, and the rows that it then changes, about.
    pub(super) fn bytes(&self) -> usize {
        self.rows.len() * size_of::<Arc<[u32]>>() + self.rows.iter().map(|row| size_of_val(&row[..])).sum::<usize>()
    }

    pub(super) fn components(&self) -> u32 {
        self.n as u32
    }

    /// The clocks of a row, to be changed.
    #[inline]
    fn row_mut(&mut self, r: RowId) -> &mut [u32] {
        Arc::make_mut(&mut self.rows[r as usize])
    }

    /// A new row for a flight, with the contents of another row.
    pub(super) fn snapshot(&mut self, of: RowId) -> RowId {
        if self.off {
            return of;
        }
        let row = self.rows[of as usize].clone();
        if let Some(r) = self.free.pop() {
            self.rows[r as usize] = row;
            r
        } else {
            self.rows.push(row);
            (self.rows.len() - 1) as RowId
        }
    }

    pub(super) fn release(&mut self, r: RowId) {
        if !self.off {
            self.free.push(r);
        }
    }

    /// Orders everything before `from` before `into` as well.
    pub(super) fn join(&mut self, into: RowId, from: RowId) {
        if self.off || into == from {
            return;
        }
        let (i, f) = (into as usize, from as usize);
        let (low, high) = self.rows.split_at_mut(i.max(f));
        let (into, from) = if i < f { (&mut low[i], &high[0]) } else { (&mut high[0], &low[f]) };
        if let Some(own) = Arc::get_mut(into) {
            own.iter_mut().zip(&from[..]).for_each(|(c, v)| *c = (*c).max(*v));
        } else if !Arc::ptr_eq(into, from) {
            *into = into.iter().zip(&from[..]).map(|(c, v)| *c.max(v)).collect();
        }
    }

    #[inline]
    pub(super) fn clock(&self, r: RowId, comp: u32) -> u32 {
        if self.off {
            return u32::MAX;
        }
        self.rows[r as usize][comp as usize]
    }

    /// Orders everything before `from` before `into` in time, with nothing visible.
    pub(super) fn follow(&mut self, into: RowId, from: RowId) {
        if let Some(part) = self.timed.filter(|_| into != from) {
            let (n, from) = (self.n, self.rows[from as usize].clone());
            let known = &from[part * n..(part + 1) * n];
            let own = &mut self.row_mut(into)[part * n..(part + 1) * n];
            own.iter_mut().zip(known).for_each(|(c, v)| *c = (*c).max(*v));
        }
    }

    /// Reduces a row to order in time: nothing of what came before is visible.
    pub(super) fn forget(&mut self, r: RowId) {
        if self.off {
            return;
        }
        let (n, timed) = (self.n, self.timed);
        let parts = self.row_mut(r).chunks_mut(n.max(1)).enumerate();
        parts.filter(|(part, _)| Some(*part) != timed).for_each(|(_, clocks)| clocks.fill(0));
    }

    /// The clock of a component that a row knows to be reached.
    #[inline]
    pub(super) fn reached(&self, r: RowId, comp: u32) -> u32 {
        if self.off {
            return u32::MAX;
        }
        self.rows[r as usize][self.timed.unwrap_or(0) * self.n + comp as usize]
    }

    /// Raises one clock: the component's accesses up to that clock are before this row.
    pub(super) fn raise(&mut self, r: RowId, comp: u32, clock: u32) {
        self.change(r, comp, |c| *c = (*c).max(clock));
    }

    pub(super) fn tick(&mut self, r: RowId, comp: u32) {
        self.change(r, comp, |c| *c += 1);
    }

    /// Changes a component's clock in a row: as visible, and as reached.
    fn change(&mut self, r: RowId, comp: u32, by: impl Fn(&mut u32)) {
        if self.off {
            return;
        }
        let timed = self.timed.map(|part| part * self.n + comp as usize);
        let row = self.row_mut(r);
        by(&mut row[comp as usize]);
        if let Some(i) = timed {
            by(&mut row[i]);
        }
    }

    #[inline]
    pub(super) fn has(&self, r: RowId, e: Epoch) -> bool {
        self.clock(r, e.comp) >= e.clock
    }

    /// Whether a part of rows is asked which phases are complete. The others are only asked about accesses.
    pub(super) fn orders_phases(&self, part: usize) -> bool {
        part == 0 || Some(part) == self.timed
    }

    /// All clocks of a row, part after part.
    pub(super) fn row(&self, r: RowId) -> &[u32] {
        &self.rows[r as usize]
    }

    /// Whether a part of a row covers an epoch.
    #[inline]
    fn covers(&self, r: RowId, part: usize, e: Epoch) -> bool {
        self.rows[r as usize][part * self.n + e.comp as usize] >= e.clock
    }

    /// Makes a part of a row cover what happened before, of the components named.
    fn cover(&mut self, r: RowId, part: usize, covers: impl Fn(u32) -> bool) {
        let n = self.n;
        let (before, others) = self.row_mut(r).split_at_mut(n);
        let part = &mut others[(part - 1) * n..part * n];
        let named = part.iter_mut().zip(before).enumerate().filter(|(k, _)| covers(*k as u32));
        named.for_each(|(_, (c, v))| *c = (*c).max(*v));
    }

    /// Whether a proxy fence on the way covers an epoch.
    pub(super) fn fenced(&self, r: RowId, e: Epoch) -> bool {
        self.off || self.covers(r, 1, e)
    }

    /// A proxy fence: covers what happened before, of the components named.
    pub(super) fn fence(&mut self, r: RowId, covers: impl Fn(u32) -> bool) {
        if !self.off {
            self.cover(r, 1, covers);
        }
    }

    /// A proxy fence on global memory: covers what happened before, of the components named.
    pub(super) fn fence_global(&mut self, r: RowId, covers: impl Fn(u32) -> bool) {
        if let Some(part) = self.global {
            self.cover(r, part, covers);
        }
    }

    /// Whether a proxy fence on global memory on the way covers an epoch; true where those fences are not needed.
    pub(super) fn fenced_global(&self, r: RowId, e: Epoch) -> bool {
        self.global.is_none_or(|part| self.covers(r, part, e))
    }

    /// `tcgen05.fence::before_thread_sync`: covers all that happened before.
    pub(super) fn seal(&mut self, r: RowId) {
        if let Some(part) = self.sealed {
            self.cover(r, part, |_| true);
        }
    }

    /// Whether a `before_thread_sync` on the way covers an epoch; true where those fences are not needed.
    pub(super) fn sealed(&self, r: RowId, e: Epoch) -> bool {
        self.sealed.is_none_or(|part| self.covers(r, part, e))
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
    /// Whether something was written here.
    pub(super) fn is_written(&self) -> bool {
        self.write.is_some() || !self.over.is_empty() || !self.atomics.is_empty()
    }

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
