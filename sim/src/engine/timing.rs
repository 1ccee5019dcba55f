//! The time of an operation: the servers that the operation uses, and the latency behind them.

use crate::ir::{CounterAct, Fence, Instr, MbarId, Op, Program};
use crate::protocol::StepEffect;
use crate::timeline::{Stall, TICKS};

use super::costs::Costs;
use super::device::Memory;
use super::movement::Parts;
use super::server::Core;

/// The time of one operation of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Charge {
    /// Tick at which the work starts; until then the agent queues.
    pub(super) start: u64,
    /// The cause of the queueing.
    pub(super) queued: Option<Stall>,
    /// Tick at which the agent continues.
    pub(super) end: u64,
    /// Tick at which each flight lands, in order of the operation's flights.
    pub(super) lands: [u64; 2],
    /// Ticks at which the engine that carries the flight (copy, tensor) starts and ends its own part.
    pub(super) engine: Option<(u64, u64)>,
    /// The remainder that the agent continues with: a synchronous load's batches, a store's instructions.
    pub(super) parts: Option<Parts>,
}

/// The state of an agent that timing needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgentTiming {
    /// Scheduler of its warp.
    pub(super) scheduler: usize,
    /// Tick at which the agent's matrix results are ready.
    pub(super) matrix_ready: u64,
    /// Tick at which the agent's atomic accesses are done.
    pub(super) added: u64,
    /// Whether the operation had to wait.
    pub(super) woken: bool,
    /// Wave of the agent's CTA.
    pub(super) wave: u32,
    /// Number of the agent's cluster in the run.
    pub(super) cluster: u32,
}

/// Rounds a cost up to ticks, so that no cost is free.
pub(super) fn ticks(x: f64) -> u64 {
    x.ceil() as u64
}

/// The timing of one kernel on one machine.
pub(super) struct Timing<'a> {
    pub(super) prog: &'a Program,
    pub(super) costs: Costs,
    /// Share of each object's loads that come from DRAM.
    pub(super) misses: Vec<f64>,
    /// The memory of the device, where it is simulated.
    pub(super) memory: Option<Memory>,
}

impl Timing<'_> {
    /// Issues a number of instructions of equal ticks. Instructions beside an `mma.sync` take time of its scheduler's
    /// matrix unit.
    pub(super) fn issue(&self, core: &mut Core, seat: AgentTiming, at: u64, (n, each): (f64, f64)) -> (u64, u64) {
        core.matrix[seat.scheduler].hold(at, ticks(n * self.costs.beside));
        core.issue[seat.scheduler].serve(at, ticks(n * each))
    }

    /// Issues a synchronization instruction. Operations on an mbarrier are memory instructions: they take one cycle of
    /// the scheduler, and their warp continues when they are done. The cost in a kernel of the language contains address
    /// arithmetic, which a compiled kernel has on its own.
    fn issue_sync(&self, op: &Op, core: &mut Core, seat: AgentTiming, at: u64) -> (u64, u64) {
        let all = self.costs.issue_sync;
        let memory = matches!(op, Op::MbarWait { .. } | Op::Arrive { .. } | Op::Expect { .. } | Op::Init(_));
        let slot = if self.prog.opaque_globals && memory { all.min(TICKS as f64) } else { all };
        let (start, issued) = self.issue(core, seat, at, (1.0, slot));
        (start, issued.max(start + ticks(all)))
    }

    /// Charges an operation that an agent performs at `now` on its core; `peer` is the other core of a pair.
    pub(super) fn charge(
        &self,
        pc: u32,
        effect: &StepEffect,
        now: u64,
        seat: AgentTiming,
        core: &mut Core,
        peer: Option<&mut Core>,
    ) -> Charge {
        let Instr::Op { op, cost } = &self.prog.code[pc as usize] else {
            return Charge { start: now, end: now, ..Charge::default() };
        };
        if let StepEffect::Rendezvous { last: false } = effect {
            // The wait already contained the time: a rendezvous wakes its agents one release latency after the last
            // arrival. The engine charges the rest to an agent that reaches the cluster barrier's wait later.
            return Charge { start: now, end: now, ..Charge::default() };
        }
        if cost.takes.is_some() || cost.lands.is_some() {
            // A design on paper has the kernel's own numbers, and no queueing.
            let end = now + ticks(cost.takes.unwrap_or(0.0) * TICKS as f64);
            let land = now + ticks(cost.lands.or(cost.takes).unwrap_or(0.0) * TICKS as f64);
            return Charge { start: now, end, lands: [land, land], engine: Some((now, land)), ..Charge::default() };
        }
        match effect {
            StepEffect::Move(m) => self.movement(op, m, now, seat, core),
            StepEffect::Mma(m) => self.matrix(m, now, seat, core, peer),
            StepEffect::Alu { count } => self.vector(op, *count, now, seat, core),
            StepEffect::Signal { in_stream, .. } => {
                let (start, end) = self.issue_sync(op, core, seat, now);
                let land = if *in_stream { end } else { end + ticks(self.costs.mbar_remote) };
                Charge { start, queued: Some(Stall::Issue), end, lands: [land, land], ..Charge::default() }
            }
            StepEffect::Rendezvous { last } => {
                let wait = if *last { self.release(op) } else { 0 };
                Charge { start: now, end: now + wait, ..Charge::default() }
            }
            StepEffect::Sync => {
                let extra = match op {
                    Op::Fence(Fence::Gpu) => self.costs.fence_gpu,
                    Op::Fence(_) => self.costs.fence,
                    Op::Init(list) => {
                        let all = |bar: MbarId| self.prog.mbars[bar as usize].stages;
                        let n: u32 = list.iter().map(|s| if s.stage.is_some() { 1 } else { all(s.bar) }).sum();
                        self.costs.mbar_init * n as f64
                    }
                    Op::TmemAlloc { .. } | Op::TmemDealloc { .. } => self.costs.tmem_alloc,
                    Op::Regs { .. } => self.costs.setmaxnreg,
                    // For an agent that had to wait, the wake included this latency.
                    Op::MbarWait { .. } if !seat.woken => (self.costs.mbar_wait - self.costs.issue_sync).max(0.0),
                    // Adding and storing do not wait. For an agent that had to wait, the wake included this latency.
                    Op::Counter { act: CounterAct::Fetch(_) | CounterAct::Load(_), .. } => self.costs.counter,
                    Op::Counter { act: CounterAct::Wait(_), .. } if !seat.woken => self.costs.counter,
                    _ => 0.0,
                };
                let (start, issued) = self.issue_sync(op, core, seat, now);
                // A fence waits for atomic accesses before it.
                let done = if matches!(op, Op::Fence(Fence::Gpu)) { issued.max(seat.added) } else { issued };
                Charge { start, queued: Some(Stall::Issue), end: done + ticks(extra), ..Charge::default() }
            }
            StepEffect::Nothing => Charge { start: now, end: now, ..Charge::default() },
        }
    }

    /// [`Self::release`], with the kernel's own number where it states one.
    pub(super) fn release_of(&self, op: &Op, cost: &crate::ir::Cost) -> u64 {
        cost.takes.map_or_else(|| self.release(op), |t| ticks(t * TICKS as f64))
    }

    /// Ticks from the last arrival at a rendezvous until its agents continue.
    pub(super) fn release(&self, op: &Op) -> u64 {
        let c = &self.costs;
        ticks(match op {
            Op::Barrier(_) => c.barrier + c.barrier_warp * self.prog.warps as f64,
            Op::Named { .. } => c.named + c.barrier_warp * self.prog.warps as f64,
            Op::ClusterWait | Op::ClusterArrive { .. } => c.cluster,
            Op::WarpSync | Op::Elect => c.warp_sync,
            _ => 0.0,
        })
    }
}
