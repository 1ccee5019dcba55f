//! Ordered streams: what an agent has started, in order, and waits for by "at most n outstanding".
//!
//! `cp.async`, `wgmma` and bulk operations wait in commit groups, which may be empty; `vmcnt` and `lgkmcnt` count
//! instructions. Operations of a stream end in the order they were started (groups complete in commit order; VMEM and LDS
//! return in order, CDNA ISA 4.4).

use std::collections::VecDeque;

use crate::ir::Queue;

use super::order::Epoch;
use super::vocabulary::{AgentId, Blocked, WaitTarget};
use super::world::World;

/// The streams of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// `cp.async`.
    Cp,
    /// `wgmma`; kept by the first agent of the warpgroup, groups by each agent.
    Wgmma,
    /// Bulk stores, source reads.
    BulkRead,
    /// Bulk stores, writes.
    Bulk,
    /// Vector memory, in instructions.
    Vm,
    /// LDS, in instructions.
    Lgkm,
    /// `tcgen05.mma`, `commit`.
    Tensor,
    /// `tcgen05.ld`.
    TmemLd,
    /// `tcgen05.st`.
    TmemSt,
    /// Register loads under a scoreboard.
    Scoreboard,
}

/// Number of kinds.
pub(crate) const KINDS: usize = 10;

/// All kinds, in order of their index.
pub(super) static ALL: [StreamKind; KINDS] = [
    StreamKind::Cp,
    StreamKind::Wgmma,
    StreamKind::BulkRead,
    StreamKind::Bulk,
    StreamKind::Vm,
    StreamKind::Lgkm,
    StreamKind::Tensor,
    StreamKind::TmemLd,
    StreamKind::TmemSt,
    StreamKind::Scoreboard,
];

impl StreamKind {
    /// The stream a wait asks about.
    pub(crate) fn of(q: Queue) -> StreamKind {
        match q {
            Queue::Cp => StreamKind::Cp,
            Queue::Wgmma => StreamKind::Wgmma,
            Queue::Bulk => StreamKind::Bulk,
            Queue::BulkRead => StreamKind::BulkRead,
            Queue::Vm => StreamKind::Vm,
            Queue::Lgkm => StreamKind::Lgkm,
            Queue::TmemLd => StreamKind::TmemLd,
            Queue::TmemSt => StreamKind::TmemSt,
        }
    }
}

/// One stream of one agent.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    /// Number of instructions started.
    pub(super) issued: u32,
    /// Number of instructions ended. All earlier instructions have ended too.
    pub(super) landed: u32,
    /// For each committed group that may not have ended: the number of its last instruction, or of the last one before
    /// it.
    pub(super) groups: VecDeque<u32>,
    /// For each operation in flight, oldest first: the number of its last instruction, and how many instructions it
    /// has.
    pub(super) flying: VecDeque<(u32, u32)>,
}

impl Clone for Stream {
    fn clone(&self) -> Stream {
        // Hardly any stream of a world is used, and a copy of an empty list takes longer than a new one.
        if self.unused() {
            return Stream::default();
        }
        Stream { groups: self.groups.clone(), flying: self.flying.clone(), ..*self }
    }

    // A derived copy would allocate anew.
    fn clone_from(&mut self, from: &Stream) {
        if from.unused() && self.unused() {
            return;
        }
        (self.issued, self.landed) = (from.issued, from.landed);
        self.groups.clone_from(&from.groups);
        self.flying.clone_from(&from.flying);
    }
}

impl Stream {
    /// Whether no operation was ever in the stream.
    pub(super) fn unused(&self) -> bool {
        self.issued == 0 && self.landed == 0 && self.groups.is_empty() && self.flying.is_empty()
    }
}

/// The streams of all agents: one of each kind for each agent.
#[derive(Debug)]
pub(super) struct Streams {
    list: Vec<Stream>,
}

clone_by_field!(Streams { list });

impl Streams {
    /// Unused streams of this many agents.
    pub(super) fn new(agents: usize) -> Streams {
        Streams { list: vec![Stream::default(); agents * KINDS] }
    }

    #[inline]
    pub(super) fn get(&self, a: AgentId, kind: StreamKind) -> &Stream {
        &self.list[a as usize * KINDS + kind as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, a: AgentId, kind: StreamKind) -> &mut Stream {
        &mut self.list[a as usize * KINDS + kind as usize]
    }

    /// The streams of an agent, in order of [`ALL`].
    pub(super) fn of(&self, a: AgentId) -> &[Stream] {
        &self.list[a as usize * KINDS..(a as usize + 1) * KINDS]
    }

    /// All streams: agent after agent, kind after kind.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.list.iter()
    }

    /// Bytes of all streams without their lists.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.list[..])
    }
}

impl World<'_> {
    /// The component of a stream in the happens-before rows.
    pub(super) fn stream_comp(&self, a: AgentId, kind: StreamKind) -> u32 {
        self.spec.stream_comps[a as usize * KINDS + kind as usize]
    }

    /// Starts an operation of `n` instructions. Returns the epoch of its accesses.
    pub(super) fn start(&mut self, a: AgentId, kind: StreamKind, n: u32) -> Epoch {
        let s = self.streams.get_mut(a, kind);
        s.issued += n;
        let clock = s.issued;
        s.flying.push_back((clock, n));
        debug_assert!(self.stream_comp(a, kind) > 0, "streams_used names every warp that starts an operation");
        Epoch { comp: self.stream_comp(a, kind), clock }
    }

    /// Ends the oldest operations up to instruction `seq`.
    pub(super) fn end_stream(&mut self, a: AgentId, kind: StreamKind, seq: u32) {
        let s = self.streams.get_mut(a, kind);
        s.landed = s.landed.max(seq);
        while s.flying.front().is_some_and(|f| f.0 <= s.landed) {
            s.flying.pop_front();
        }
        self.journal.changed(WaitTarget::Own(a));
    }

    /// Closes the open group.
    pub(super) fn commit(&mut self, a: AgentId, kind: StreamKind) {
        let owner = self.stream_owner(a, kind);
        let issued = self.streams.get(owner, kind).issued;
        let keep = self.spec.groups_kept;
        let s = self.streams.get_mut(a, kind);
        s.groups.push_back(issued);
        // No wait of the kernel asks about groups further back.
        if s.groups.len() > keep {
            s.groups.pop_front();
        }
    }

    /// The owner of an agent's stream: for `wgmma` the first agent of the warpgroup, for tensor-memory moves one of the
    /// warp.
    pub(super) fn stream_owner(&self, a: AgentId, kind: StreamKind) -> AgentId {
        match kind {
            StreamKind::Wgmma => self.spec.group_lead[a as usize],
            StreamKind::TmemLd | StreamKind::TmemSt => self.rest_of(a),
            _ => a,
        }
    }

    /// Number of groups committed and not ended.
    pub(super) fn groups_in_flight(&self, a: AgentId, kind: StreamKind) -> usize {
        let landed = self.streams.get(self.stream_owner(a, kind), kind).landed;
        let s = self.streams.get(a, kind);
        // A group ends with its last instruction; an empty group ends with the group before it.
        s.groups.iter().rev().take_while(|&&last| last > landed).count()
    }

    /// Waits until at most `n` groups or instructions are outstanding. Older operations are then ordered before the
    /// agent.
    pub(super) fn wait_stream(&mut self, a: AgentId, q: Queue, n: i64) -> Result<(), Blocked> {
        let kind = StreamKind::of(q);
        let owner = self.stream_owner(a, kind);
        let n = n.max(0) as usize;
        let known = match q {
            Queue::Vm | Queue::Lgkm | Queue::TmemLd | Queue::TmemSt => {
                let s = self.streams.get(owner, kind);
                let outstanding = (s.issued - s.landed) as usize;
                // The oldest operation may have returned all but its last instruction.
                let slack = s.flying.front().map_or(0, |f| f.1 as usize - 1);
                if outstanding.saturating_sub(slack) > n {
                    return Err(Blocked::On(WaitTarget::Own(a)));
                }
                s.issued.saturating_sub(n as u32)
            }
            _ => {
                let s = self.streams.get(a, kind);
                let landed = self.streams.get(owner, kind).landed;
                let last = if s.groups.len() > n { s.groups[s.groups.len() - 1 - n] } else { 0 };
                if last > landed {
                    return Err(Blocked::On(WaitTarget::Own(a)));
                }
                last
            }
        };
        let (row, comp) = (self.spec.agent_row(a), self.stream_comp(owner, kind));
        self.order.raise(row, comp, known);
        if q == Queue::Bulk {
            let read = self.stream_comp(a, StreamKind::BulkRead);
            self.order.raise(row, read, known);
        }
        Ok(())
    }
}
