//! The progress of one agent: the engine times its next operation and accounts for each of its ticks.

use crate::ir::{Instr, Op, Queue as Group};
use crate::protocol::{AgentId, RendezvousKind, Step, StepEffect, WaitTarget};
use crate::timeline::{SpanKind, Stall, Work};

use super::movement::{Load, Parts, Store};
use super::queue::EventKind;
use super::record::Links;
use super::run::Engine;
use super::server::Core;
use super::timing::AgentTiming as Place;

impl Engine<'_> {
    /// Accounts an agent's time up to `until` as a stall, or as work.
    pub(super) fn account(
        &mut self,
        s: usize,
        a: AgentId,
        pc: u32,
        until: u64,
        what: SpanKind,
        label: String,
    ) -> Option<u32> {
        let seat = &mut self.seats[s];
        let run = &mut seat.runs[a as usize];
        debug_assert!(until >= run.upto, "time of an agent goes back");
        let (start, ticks) = (run.upto, until - run.upto);
        // The span that ended a wait also ended a wait that took no time.
        let stalls = matches!(what, SpanKind::Stall(_));
        let woken_by = if stalls { run.waker.take() } else { None };
        let waited = run.mbar.take().filter(|_| stalls);
        if ticks == 0 {
            return None;
        }
        run.upto = until;
        match what {
            SpanKind::Stall(k) => self.ledger.stall(a as usize, pc, k, ticks),
            SpanKind::Work(k) => self.ledger.work(a as usize, k, ticks),
            SpanKind::Hold { .. } => {}
        }
        let r = self.recorder.as_mut()?;
        let who = seat.world.as_ref()?.agents()[a as usize];
        let cta = seat.number * self.prog.cluster + who.cta;
        let row = r.agent(cta, a, who);
        // The launch and the time after an agent's end belong to no statement.
        let site = match what {
            SpanKind::Stall(Stall::Launch | Stall::Ended) => None,
            _ => Some(self.prog.at[pc as usize]),
        };
        let on = waited.and_then(|ix| {
            let (name, at) = seat.world.as_ref()?.mbar_label(ix);
            Some(r.barrier(seat.number * self.prog.cluster + at, ix, &name))
        });
        let span = r.span(row, (start, until), what, site, label, Links { woken_by, on, ..Links::default() });
        seat.runs[a as usize].last = span;
        span
    }

    /// Whether another warp holds the issue slot of an agent's scheduler; the agent then tries again when the slot is
    /// free. The policy is greedy, then oldest: the holder keeps the slot while it has instructions to issue, then the
    /// oldest waiter gets it. calibrate/probes/turns.cu shows the first half on an H200; among waiters an H200 takes
    /// the youngest (DEVIATIONS.md 49).
    fn waits_for_slot(&mut self, s: usize, a: AgentId, now: u64) -> bool {
        let Some((cta, place)) = self.place(s, a) else { return false };
        let free = self.cores[cta].issue[place.scheduler].free;
        if free <= now {
            return false;
        }
        // The event that the agent waited for has happened. From here on the agent waits for the slot.
        self.wait_over(s, a, now);
        if let Some((_, stall, _)) = &mut self.seats[s].runs[a as usize].waits {
            *stall = Stall::Issue;
        }
        self.queue.push(free, EventKind::Again { seat: s as u32, agent: a });
        true
    }

    /// Accounts for the time of an agent's wait, if the agent waited.
    fn wait_over(&mut self, s: usize, a: AgentId, now: u64) -> bool {
        let run = &mut self.seats[s].runs[a as usize];
        let Some((pc, stall, on)) = run.waits else { return false };
        run.mbar = match on {
            WaitTarget::Mbar(ix) if stall != Stall::Issue => Some(ix),
            _ => None,
        };
        let label = match (&self.recorder, &self.seats[s].world) {
            (Some(_), Some(w)) if stall != Stall::Issue => w.wait_label(a, pc, on),
            _ => String::new(),
        };
        self.account(s, a, pc, now, SpanKind::Stall(stall), label);
        true
    }

    /// Accounts for the time that an agent waited for its scheduler before it reached this instruction.
    fn was_queued(&mut self, s: usize, a: AgentId, pc: u32, now: u64) {
        if self.turns.is_none() {
            self.account(s, a, pc, now, SpanKind::Stall(Stall::Issue), String::new());
        }
    }

    /// Advances an agent: the rest of its load or store, or its next operations, until one takes time or waits.
    pub(super) fn proceed(&mut self, s: usize, a: AgentId, now: u64) {
        if self.waits_for_slot(s, a, now) {
            return;
        }
        if let Some((parts, pc)) = self.seats[s].runs[a as usize].parts {
            match parts {
                Parts::Load(load) => self.go_on_loading(s, a, (load, pc), now),
                Parts::Store(store) => self.go_on_storing(s, a, (store, pc), now),
            }
            return;
        }
        loop {
            if !self.may_go(a) {
                return;
            }
            let seat = &mut self.seats[s];
            let Some(w) = seat.world.as_mut() else { return };
            let step = w.step(a, &mut seat.changed);
            if !self.kept(s, a, &step, now) {
                return;
            }
            let seat = &mut self.seats[s];
            match step {
                Step::Blocked { pc, loops, on } => {
                    let run = &mut seat.runs[a as usize];
                    run.loops += loops;
                    if run.waits.is_none() {
                        self.was_queued(s, a, pc, now);
                    }
                    let stall = self.cause(s, a, pc, on);
                    let seat = &mut self.seats[s];
                    seat.runs[a as usize].waits = Some((pc, stall, on));
                    let place = seat.waiting_for(on);
                    seat.waiters[place].push(a);
                    self.settle(s, now, None, None);
                    return;
                }
                Step::Performed { pc, loops, effect } => {
                    let waited = self.wait_over(s, a, now);
                    self.was_held(s, a, now);
                    self.was_queued(s, a, pc, now);
                    let run = &mut self.seats[s].runs[a as usize];
                    (run.waits, run.woken) = (None, waited);
                    let loops = loops + std::mem::take(&mut run.loops);
                    let begin = now + (loops as f64 * self.timing.costs.loop_).ceil() as u64;
                    self.account(s, a, pc, begin, SpanKind::Work(Work::Control), String::new());
                    let end = self.charge(s, a, pc, &effect, begin);
                    if end > now || self.seats[s].runs[a as usize].parts.is_some() {
                        self.queue.push(end, EventKind::Go { seat: s as u32, agent: a });
                        return;
                    }
                }
                Step::Ended => {
                    self.wait_over(s, a, now);
                    self.was_held(s, a, now);
                    let pc = self.seats[s].world.as_ref().map_or(0, |w| w.pc(a));
                    self.was_queued(s, a, pc, now);
                    self.seats[s].runs[a as usize].waits = None;
                    self.seats[s].runs[a as usize].ended = Some(now);
                    self.settle(s, now, None, None);
                    self.retire(s, now);
                    return;
                }
                Step::Broken => {
                    self.settle(s, now, None, None);
                    self.keep_findings(s);
                    self.broken = true;
                    return;
                }
            }
        }
    }

    /// Times an operation, accounts for it, and schedules what it started. Returns the tick at which the agent
    /// continues.
    pub(super) fn charge(&mut self, s: usize, a: AgentId, pc: u32, effect: &StepEffect, now: u64) -> u64 {
        let Some((cta, place)) = self.place(s, a) else { return now };
        let (core, peer) = two(&mut self.cores, cta);
        let c = self.timing.charge(pc, effect, now, place, core, peer);
        let Instr::Op { op, cost } = &self.prog.code[pc as usize] else { return now };
        let last = self.seats[s].runs[a as usize].last;
        if let StepEffect::Rendezvous { .. } = effect {
            let end = match op {
                Op::ClusterWait => self.released(s, a, self.timing.release_of(op, cost), now),
                _ => c.end,
            };
            let stall = self.meeting(op);
            self.account(s, a, pc, end, SpanKind::Stall(stall), String::new());
            self.settle(s, now, None, last);
            return end;
        }
        let label = self.label(s, op, effect);
        let queued = c.queued.unwrap_or(Stall::Issue);
        self.account(s, a, pc, c.start, SpanKind::Stall(queued), String::new());
        let span = self.account(s, a, pc, c.end, SpanKind::Work(op.work()), label.clone());
        if let Some(parts) = c.parts {
            let run = &mut self.seats[s].runs[a as usize];
            run.parts = Some((parts, pc));
            if matches!(parts, Parts::Store(_)) {
                run.storing = label.clone();
            }
        }
        self.started(s, a, pc, effect, &c, (label, span));
        self.settle(s, now, span, last);
        c.end
    }

    /// The tick at which an agent continues that reaches the wait of the cluster barrier: a release latency after the
    /// last arrival, whoever arrived last. The time since that arrival counts toward the latency.
    fn released(&mut self, s: usize, a: AgentId, release: u64, now: u64) -> u64 {
        let seat = &mut self.seats[s];
        match seat.met {
            Some((met, by)) if met + release > now => {
                seat.runs[a as usize].waker = by;
                met + release
            }
            _ => now,
        }
    }

    /// The CTA whose core an agent runs on, and the state of the agent that timing needs.
    fn place(&self, s: usize, a: AgentId) -> Option<(usize, Place)> {
        let who = self.seats[s].world.as_ref()?.agents()[a as usize];
        let run = &self.seats[s].runs[a as usize];
        // Warps go to schedulers in turn, and a CTA goes on where the one before it ended.
        let slot = s * self.prog.warps as usize + who.warp as usize;
        let scheduler = slot % self.timing.costs.schedulers.max(1);
        Some((
            who.cta as usize,
            Place {
                scheduler,
                matrix_ready: run.matrix_ready,
                added: run.added,
                woken: run.woken,
                wave: self.seats[s].wave,
                cluster: self.seats[s].number,
            },
        ))
    }

    /// The next part of a synchronous load: its next batch, or the store of the batch that has arrived.
    fn go_on_loading(&mut self, s: usize, a: AgentId, (mut load, pc): (Load, u32), now: u64) {
        let Some((cta, place)) = self.place(s, a) else { return };
        let core = &mut self.cores[cta];
        if load.flying > 0 {
            let (start, done) = self.timing.load_store(&mut load, now, place, core);
            let label = self.loading(s, a);
            self.account(s, a, pc, start, SpanKind::Stall(Stall::Global), String::new());
            self.account(s, a, pc, done, SpanKind::Work(Work::Load), label);
            let run = &mut self.seats[s].runs[a as usize];
            run.parts = (load.left > 0).then_some((Parts::Load(load), pc));
            if load.left == 0
                && let Some((footprint, label, since)) = run.filling.take()
            {
                self.draw_fill(s, &footprint, label, since, done, self.prog.at[pc as usize]);
            }
            self.queue.push(done, EventKind::Go { seat: s as u32, agent: a });
            return;
        }
        let (start, issued, there) = self.timing.load_batch(&mut load, now, place, core);
        let label = self.loading(s, a);
        self.account(s, a, pc, start, SpanKind::Stall(Stall::Issue), String::new());
        self.account(s, a, pc, issued, SpanKind::Work(Work::Load), label);
        self.seats[s].runs[a as usize].parts = Some((Parts::Load(load), pc));
        self.queue.push(there, EventKind::Go { seat: s as u32, agent: a });
    }

    /// The next instruction of a store. The whole store is one span of work, from the issue of its first instruction on.
    /// Where other traffic delays it, the rest is a wait for global memory.
    fn go_on_storing(&mut self, s: usize, a: AgentId, (mut store, pc): (Store, u32), now: u64) {
        let Some((cta, place)) = self.place(s, a) else { return };
        let (start, done) = self.timing.store_part(&mut store, now, place, &mut self.cores[cta]);
        let first = !store.begun;
        store.begun = true;
        let run = &mut self.seats[s].runs[a as usize];
        run.parts = (store.left > 0).then_some((Parts::Store(store), pc));
        run.added = run.added.max(done + store.missing);
        if first {
            self.account(s, a, pc, start, SpanKind::Stall(Stall::Issue), String::new());
        }
        if store.left == 0 {
            let label = std::mem::take(&mut self.seats[s].runs[a as usize].storing);
            let busy = (self.seats[s].runs[a as usize].upto + store.alone).min(done);
            self.account(s, a, pc, busy, SpanKind::Work(Work::Store), label);
            self.account(s, a, pc, done, SpanKind::Stall(Stall::Global), String::new());
        }
        self.queue.push(done, EventKind::Go { seat: s as u32, agent: a });
    }

    /// The stall cause of a rendezvous.
    pub(super) fn meeting(&self, op: &Op) -> Stall {
        match op {
            Op::Barrier(_) => Stall::Barrier,
            Op::Named { .. } => Stall::Named,
            Op::ClusterWait | Op::ClusterArrive { .. } => Stall::Cluster,
            _ => Stall::Join,
        }
    }

    /// The cause of an agent's wait.
    pub(super) fn cause(&self, s: usize, a: AgentId, pc: u32, on: WaitTarget) -> Stall {
        let Instr::Op { op, .. } = &self.prog.code[pc as usize] else { return Stall::Issue };
        match on {
            WaitTarget::Mbar(_) => Stall::Mbarrier,
            WaitTarget::Rendezvous(ix) => match self.seats[s].world.as_ref().map(|w| w.rendezvous_kind(ix)) {
                Some(RendezvousKind::Cta(_)) => Stall::Barrier,
                Some(RendezvousKind::Named(..)) => Stall::Named,
                Some(RendezvousKind::Cluster) => Stall::Cluster,
                _ => Stall::Join,
            },
            WaitTarget::Pool(_) => Stall::Pool,
            WaitTarget::Counter(_) => Stall::Global,
            WaitTarget::Own(_) => match op {
                Op::Wait(Group::Vm | Group::Lgkm | Group::TmemLd | Group::TmemSt, _) => Stall::Counter,
                Op::Wait(Group::Wgmma, _) => Stall::Tensor,
                Op::Wait(..) => Stall::Group,
                _ if self.seats[s].runs[a as usize].fetching > 0 => Stall::Global,
                _ => Stall::Shared,
            },
        }
    }
}

/// A core and the other core of its pair, if there is one.
fn two(cores: &mut [Core], i: usize) -> (&mut Core, Option<&mut Core>) {
    let j = i ^ 1;
    if j >= cores.len() {
        return (&mut cores[i], None);
    }
    let (low, high) = cores.split_at_mut(i.max(j));
    if i < j { (&mut low[i], high.first_mut()) } else { (&mut high[0], low.get_mut(j)) }
}
