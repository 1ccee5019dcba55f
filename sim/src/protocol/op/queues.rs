//! Commit groups and waits of an agent's ordered streams.

use crate::ir::{Expr, Queue, Waits};

use super::{Aligned, Instruction};
use crate::protocol::parts::StatePart;
use crate::protocol::step::StepEffect;
use crate::protocol::stream::{ALL, StreamKind};
use crate::protocol::vocabulary::{AgentId, Blocked, Fault};
use crate::protocol::world::World;

/// Closes the open group of a stream.
pub(super) struct Commit {
    pub(super) queue: Queue,
}

impl Instruction for Commit {
    fn step(&self, w: &mut World<'_>, a: AgentId, _pc: u32) -> Result<StepEffect, Blocked> {
        w.commit(a, StreamKind::of(self.queue));
        if self.queue == Queue::Bulk {
            w.commit(a, StreamKind::BulkRead);
        }
        Ok(StepEffect::Sync)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.push(StatePart::Agent(w.stream_owner(a, StreamKind::of(self.queue))));
        Ok(())
    }

    fn together(&self) -> Option<bool> {
        (self.queue == Queue::Wgmma).then_some(true)
    }

    fn may_wait(&self) -> bool {
        false
    }
}

/// Waits until at most `n` groups or instructions of a stream are outstanding.
pub(super) struct Wait<'o> {
    pub(super) queue: Queue,
    pub(super) n: &'o Expr,
}

impl Wait<'_> {
    /// Whether the lanes of a warp wait together.
    fn is_aligned(&self) -> bool {
        matches!(self.queue, Queue::Wgmma | Queue::TmemLd | Queue::TmemSt)
    }
}

impl Instruction for Wait<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, _pc: u32) -> Result<StepEffect, Blocked> {
        let n = w.eval(a, self.n)?;
        if n < 0 {
            return Err(Fault::Negative("what may be outstanding", n).into());
        }
        w.wait_stream(a, self.queue, n)?;
        Ok(StepEffect::Sync)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.push(StatePart::Agent(w.stream_owner(a, StreamKind::of(self.queue))));
        Ok(())
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        let kind = StreamKind::of(self.queue);
        if kind == StreamKind::Bulk { &[StreamKind::Bulk, StreamKind::BulkRead] } else { &ALL[kind as usize..][..1] }
    }

    fn aligned(&self) -> Aligned {
        if matches!(self.queue, Queue::TmemLd | Queue::TmemSt) { Aligned::Each } else { Aligned::Own }
    }

    fn together(&self) -> Option<bool> {
        Some(self.is_aligned())
    }

    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        !self.is_aligned()
    }
}
