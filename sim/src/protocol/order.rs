//! Happens-before, kept as vector clocks while the world steps.
//!
//! A *component* is something that acts in one order: an agent, one of its streams (`cp.async`, `wgmma`, bulk, counters,
//! tensor core), or an mbarrier, whose clock is its completed phases and stands for the copies that signal it.
//! An access is an epoch, a component with a clock; it is ordered before an agent's next operation if the agent's row
//! has that clock. Races found this way are races of the program, not of the one schedule that showed them.
//!
//! A row has two halves: what happened before, and of that, what a proxy fence on the way covers (`fence async` copies
//! the first into the second). In a cluster it has a third part: what came before in time, visible or not. A copy that
//! another CTA issued tells whoever waits for it that its issuer had got that far, and shows none of the issuer's data;
//! which phase an arrival counts in, and whether a waiter can be late, are questions about time alone. Joining rows joins
//! all parts.

/// A component's clock at an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Epoch {
    pub(super) comp: u32,
    pub(super) clock: u32,
}

/// Index of a row: of an agent, a barrier, a flight.
pub(super) type RowId = u32;

/// All rows, in one array.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Components.
    n: usize,
    /// Parts of a row: 2, or 3 where order in time is kept apart.
    parts: usize,
    cells: Vec<u32>,
    free: Vec<RowId>,
}

impl Rows {
    pub(super) fn new(components: usize, rows: usize, timed: bool) -> Self {
        let parts = if timed { 3 } else { 2 };
        Rows { n: components, parts, cells: vec![0; parts * components * rows], free: Vec::new() }
    }

    pub(super) fn components(&self) -> u32 {
        self.n as u32
    }

    fn range(&self, r: RowId) -> std::ops::Range<usize> {
        let w = self.parts * self.n;
        r as usize * w..(r as usize + 1) * w
    }

    /// A row for a flight, with the contents of another.
    pub(super) fn snapshot(&mut self, of: RowId) -> RowId {
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
        self.free.push(r);
    }

    /// Everything before `from` is now also before `into`.
    pub(super) fn join(&mut self, into: RowId, from: RowId) {
        let (i, f) = (self.range(into).start, self.range(from).start);
        for k in 0..self.parts * self.n {
            let v = self.cells[f + k];
            let c = &mut self.cells[i + k];
            if *c < v {
                *c = v;
            }
        }
    }

    pub(super) fn clock(&self, r: RowId, comp: u32) -> u32 {
        self.cells[self.range(r).start + comp as usize]
    }

    /// Everything that came before `from` came before `into`, which sees none of it.
    pub(super) fn follow(&mut self, into: RowId, from: RowId) {
        let (i, f) = (self.range(into).start, self.range(from).start);
        for k in 2 * self.n..self.parts * self.n {
            self.cells[i + k] = self.cells[i + k].max(self.cells[f + k]);
        }
    }

    /// A component's clock of which it is known that it has been reached.
    pub(super) fn reached(&self, r: RowId, comp: u32) -> u32 {
        self.cells[self.range(r).start + (self.parts - 2) * 2 * self.n + comp as usize]
    }

    /// Raises one clock: that component's accesses up to it are before this row.
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

    /// Where a row keeps a component's clock: as seen, and as reached.
    fn clocks(&self, r: RowId, comp: u32) -> impl Iterator<Item = usize> + use<> {
        let first = self.range(r).start + comp as usize;
        (first..=first + (self.parts - 2) * 2 * self.n).step_by(2 * self.n)
    }

    pub(super) fn has(&self, r: RowId, e: Epoch) -> bool {
        self.clock(r, e.comp) >= e.clock
    }

    /// A component's clocks in all parts of a row.
    pub(super) fn all(&self, r: RowId, comp: u32) -> impl Iterator<Item = u32> {
        let first = self.range(r).start + comp as usize;
        (0..self.parts).map(move |p| self.cells[first + p * self.n])
    }

    /// Whether a proxy fence on the way covers it.
    pub(super) fn fenced(&self, r: RowId, e: Epoch) -> bool {
        self.cells[self.range(r).start + self.n + e.comp as usize] >= e.clock
    }

    /// A proxy fence: all that happened before is covered from here on.
    pub(super) fn fence(&mut self, r: RowId) {
        let s = self.range(r).start;
        for k in 0..self.n {
            self.cells[s + self.n + k] = self.cells[s + self.n + k].max(self.cells[s + k]);
        }
    }
}

/// One access remembered for a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Access {
    pub(super) epoch: Epoch,
    /// Instruction.
    pub(super) pc: u32,
    /// Agent that issued it.
    pub(super) agent: u32,
    /// By the generic proxy, so that an asynchronous read of it needs a fence.
    pub(super) generic: bool,
    /// Accesses of one in-order component never race with each other.
    pub(super) in_order: bool,
}

/// Who accessed a piece: the last write, the reads since, and writes of overlaid objects to the same storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Trace {
    pub(super) write: Option<Access>,
    pub(super) reads: Vec<Access>,
    /// Writes since by objects that share the storage, with the object.
    pub(super) over: Vec<(u16, Access)>,
}

impl Trace {
    /// Remembers a read; a later read of one component stands for its earlier ones.
    pub(super) fn read(&mut self, x: Access) {
        for r in &mut self.reads {
            if r.epoch.comp == x.epoch.comp {
                *r = x;
                return;
            }
        }
        self.reads.push(x);
    }

    pub(super) fn wrote(&mut self, x: Access) {
        self.write = Some(x);
        self.reads.clear();
        self.over.clear();
    }

    /// An overlaid object was written. The piece's own accesses stay: other warps may write other parts of that object.
    pub(super) fn overwritten(&mut self, by: u16, x: Access) {
        match self.over.iter_mut().find(|(obj, o)| *obj == by && o.epoch.comp == x.epoch.comp) {
            Some(o) => o.1 = x,
            None => self.over.push((by, x)),
        }
    }
}
