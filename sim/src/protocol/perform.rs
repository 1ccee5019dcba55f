//! The table of operations, with one arm each.

use crate::ir::{ArrivalsPer, BarRef, BarrierCta, Binary, MmaKind, MoveKind, Op};

use super::AgentId;
use super::eval::{Decision, Number};
use super::flight::Flight;
use super::footprint::TileKey;
use super::order::{Access, Epoch};
use super::step::{Blocked, StepEffect};
use super::stream::StreamKind;
use super::world::{Fault, World};

/// The way in which the lanes of a warp execute an operation.
pub(super) enum Aligned {
    /// All lanes together, once.
    Warp,
    /// Each lane for itself: loads, stores, arithmetic.
    Lanes,
    /// By the operation's own rule: synchronization.
    Own,
}

pub(super) fn alignment(op: &Op) -> Aligned {
    match op {
        Op::Move { how: MoveKind::TmemLd | MoveKind::TmemSt, .. }
        | Op::Mma { kind: MmaKind::Warp, .. }
        | Op::Regs { .. } => Aligned::Warp,
        Op::Move { how: MoveKind::TmaLoad | MoveKind::TmaStore, .. } => Aligned::Own,
        Op::Move { .. } | Op::Alu { .. } | Op::Zero(_) | Op::Put { .. } => Aligned::Lanes,
        _ => Aligned::Own,
    }
}

impl World<'_> {
    /// Performs one operation for an agent, or returns why the operation cannot be performed yet. A blocked operation
    /// changes nothing but the arrival that it counted.
    pub(super) fn perform(&mut self, a: AgentId, pc: u32, op: &Op) -> Result<StepEffect, Blocked> {
        let me = self.spec.info[a as usize].lanes;
        if me.is_none() || self.spec.elected_at[pc as usize] {
            let effect = self.execute(a, pc, op)?;
            if !self.spec.elected_at[pc as usize] {
                self.keeps_step(a, pc, op);
            }
            return Ok(effect);
        }
        // A split warp. Operations in step (`.sync.aligned`) join its lanes and are performed once. Operations of
        // single lanes are performed by the class that has nearly all lanes, so that the elected lane's own order stays
        // separate.
        match alignment(op) {
            Aligned::Warp => {
                if !self.agents[a].performs_for_warp && !self.join_warp(a, pc)? {
                    self.passes(a, pc, op);
                    return Ok(StepEffect::Nothing);
                }
                self.agents[a].performs_for_warp = true;
                let rest = self.rest_of(a);
                if rest != a {
                    let (mine, other) = (self.spec.agent_row(a), self.spec.agent_row(rest));
                    self.order.join(other, mine);
                    // The rest has not seen the elected lane's next operations.
                    self.order.tick(mine, a);
                }
                let effect = self.execute(rest, pc, op)?;
                self.agents[a].performs_for_warp = false;
                self.passes(a, pc, op);
                Ok(effect)
            }
            Aligned::Lanes if me == Some(crate::timeline::Lanes::Elected) => {
                self.passes(a, pc, op);
                Ok(StepEffect::Nothing)
            }
            _ => {
                let effect = self.execute(a, pc, op)?;
                self.passes(a, pc, op);
                Ok(effect)
            }
        }
    }

    /// The agent of a warp that holds all lanes, or all lanes but the elected one.
    pub(super) fn rest_of(&self, a: AgentId) -> AgentId {
        if self.spec.info[a as usize].lanes == Some(crate::timeline::Lanes::Elected) { a + 1 } else { a }
    }

    /// The table of operations.
    fn execute(&mut self, a: AgentId, pc: u32, op: &Op) -> Result<StepEffect, Blocked> {
        match op {
            Op::Move { .. } => self.do_move(a, pc, op),
            Op::Mma { kind, a: x, b: y, acc } => self.do_mma(a, pc, *kind, (x, y, acc)),
            Op::Alu { count, reads, writes, .. } => {
                let (mut read, mut written) =
                    (smallvec::SmallVec::<[_; 2]>::new(), smallvec::SmallVec::<[_; 2]>::new());
                for p in reads {
                    let f = self.footprint(a, p, 0)?;
                    self.ready(a, &f)?;
                    let x = self.own_access(a, pc);
                    self.check_read(a, self.spec.agent_row(a), &f, x);
                    read.push(f);
                }
                for p in writes {
                    let f = self.footprint(a, p, 0)?;
                    self.ready(a, &f)?;
                    written.push(f);
                    let x = self.own_access(a, pc);
                    let key = TileKey { obj: p.obj, at: [self.member(a), 0], shift: [0, 0], forms: [0; 2] };
                    self.check_write(a, self.spec.agent_row(a), &f, x, Some(key));
                }
                if self.memory.coverage.keeps_sums() {
                    self.add_sums(a, &read, &written);
                }
                let count = self.eval(a, count)?;
                if count < 0 {
                    return Err(Fault::Negative("a number of operations", count).into());
                }
                Ok(StepEffect::Alu { count })
            }
            Op::Zero(p) => {
                let f = self.footprint(a, p, 0)?;
                self.clear_sum(a, &f);
                if f.pieces != 0 && !self.in_tmem(p.obj) {
                    // The next product ignores the old sum (`scale-d`): no instruction writes the registers.
                    let x = Access { generic: false, ..self.own_access(a, pc) };
                    self.check_write(a, self.spec.agent_row(a), &f, x, None);
                }
                Ok(StepEffect::Nothing)
            }
            Op::Commit(q) => {
                self.commit(a, StreamKind::of(*q));
                if *q == crate::ir::Queue::Bulk {
                    self.commit(a, StreamKind::BulkRead);
                }
                Ok(StepEffect::Sync)
            }
            Op::CommitUmma(bars) => {
                let mut all = smallvec::SmallVec::new();
                for b in bars {
                    for ix in self.bars(a, b)? {
                        self.usable_remotely(a, pc, ix);
                        self.arrives_in_order(a, pc, ix);
                        all.push((ix, 1));
                    }
                }
                let epoch = self.start(a, StreamKind::Tensor, 1);
                let row = self.released(a, Some(epoch));
                let mut f = Flight::new(a, pc);
                all.iter().for_each(|&(ix, _): &(u32, u32)| f.meant_for(self.mbar(ix).phase));
                f.streams.push((StreamKind::Tensor, epoch.clock));
                f.arrives = all;
                f.releases = Some(row);
                f.epoch = Some(epoch);
                f.follows = Some(epoch);
                Ok(StepEffect::Signal { flight: self.launch(f), in_stream: true })
            }
            Op::Wait(q, n) => {
                let n = self.eval(a, n)?;
                if n < 0 {
                    return Err(Fault::Negative("what may be outstanding", n).into());
                }
                self.wait_stream(a, *q, n)?;
                Ok(StepEffect::Sync)
            }
            Op::CpArrive { bar, noinc } => {
                let ix = self.bars(a, bar)?[0];
                self.alive(a, pc, ix);
                self.arrives_in_order(a, pc, ix);
                let lanes = self.lanes(a, pc);
                if !noinc {
                    self.mbars[ix as usize].add_pending(lanes);
                }
                let epoch = self.start(a, StreamKind::Cp, 1);
                let row = self.released(a, None);
                // The arrival tracks the thread's copies and nothing else (PTX, cp.async.mbarrier.arrive).
                self.order.forget(row);
                self.order.raise(row, epoch.comp, epoch.clock);
                if !noinc {
                    // The added pending count is in time only if another arrival of the phase comes behind it. The
                    // operation's own arrival, which has `row`, does not show that.
                    let access = self.own_access(a, pc);
                    self.mbars[ix as usize].note_expect(access);
                }
                let mut f = Flight::new(a, pc);
                f.follows = Some(epoch);
                f.streams.push((StreamKind::Cp, epoch.clock));
                f.meant_for(self.mbar(ix).phase);
                f.arrives.push((ix, lanes));
                f.releases = Some(row);
                Ok(StepEffect::Signal { flight: self.launch(f), in_stream: true })
            }
            Op::Init(bars) => {
                for b in bars {
                    self.init(a, pc, *b);
                }
                Ok(StepEffect::Sync)
            }
            Op::Inval(bars) => {
                for b in bars {
                    self.inval(a, pc, *b);
                }
                Ok(StepEffect::Sync)
            }
            Op::Arrive { bar, per, count, expect, relaxed, cluster } => {
                if self.arrives_in_step(a, pc, *per) {
                    self.join_warp(a, pc)?;
                }
                let times = self.arrivals(a, pc, *per);
                if times == 0 {
                    return Ok(StepEffect::Nothing);
                }
                self.speaks_for_all(a, pc, *per);
                let count = self.eval(a, count)? * times as i64;
                if count <= 0 {
                    return Err(Fault::Negative("a count of arrivals", count).into());
                }
                let bytes = match expect {
                    Some(e) => Some(self.eval(a, e)?),
                    None => None,
                };
                self.do_arrive(a, pc, bar, (count as u32, bytes), (*relaxed, *cluster))
            }
            Op::Expect { bar, bytes } => {
                let bytes = self.eval(a, bytes)?;
                for ix in self.bars(a, bar)? {
                    self.alive(a, pc, ix);
                    self.arrives_in_order(a, pc, ix);
                    let access = self.own_access(a, pc);
                    let cta = self.mbar_cta(ix);
                    if cta != self.spec.info[a as usize].cta {
                        self.visit_cta(cta, access);
                    }
                    self.mbars[ix as usize].note_expect(access);
                    self.expect(a, pc, ix, bytes);
                }
                Ok(StepEffect::Sync)
            }
            Op::MbarWait { bar, phase } => {
                let ix = self.bars(a, bar)?[0];
                self.mbar_wait(a, pc, ix, phase)?;
                Ok(StepEffect::Sync)
            }
            Op::Barrier(order) => Ok(StepEffect::Rendezvous { last: self.cta_barrier(a, pc, *order)? }),
            Op::Named { bar, index, threads, sync } => {
                let (index, threads) = (self.eval(a, index)?, self.eval(a, threads)?);
                let last = self.named_barrier(a, pc, *bar, index, threads, *sync)?;
                Ok(if *sync { StepEffect::Rendezvous { last } } else { StepEffect::Sync })
            }
            Op::WarpSync => Ok(StepEffect::Rendezvous { last: self.join_warp(a, pc)? }),
            Op::Elect => Ok(StepEffect::Rendezvous { last: self.elect(a, pc)? }),
            Op::ClusterArrive { relaxed } => {
                self.cluster_arrive(a, pc, *relaxed)?;
                Ok(StepEffect::Sync)
            }
            Op::ClusterWait => {
                self.cluster_wait(a, pc)?;
                Ok(StepEffect::Rendezvous { last: false })
            }
            Op::Fence(kind) => {
                self.fence(a, *kind);
                Ok(StepEffect::Sync)
            }
            Op::TmemAlloc { obj, .. } => {
                if self.join_warp(a, pc)? {
                    self.tmem_alloc(a, pc, *obj);
                }
                Ok(StepEffect::Sync)
            }
            Op::TmemDealloc { obj, pair } => {
                if self.join_warp(a, pc)? {
                    self.tmem_dealloc(a, pc, *obj, *pair);
                }
                Ok(StepEffect::Sync)
            }
            Op::Regs { count, inc } => self.set_regs(a, pc, *count, *inc),
            Op::Put { dst, value } => {
                let f = self.footprint(a, dst, 0)?;
                let v = self.placed(a, value)?;
                let key = self.version(a, dst)?;
                let x = self.own_access(a, pc);
                self.check_write(a, self.spec.agent_row(a), &f, x, Some(key));
                for p in self.each_piece(a, &f) {
                    self.memory.set_word(p, v);
                }
                Ok(StepEffect::Sync)
            }
            Op::Get { src, var } => {
                let f = self.footprint(a, src, 0)?;
                self.expect_tile(a, pc, src, &f)?;
                let x = self.own_access(a, pc);
                self.check_read(a, self.spec.agent_row(a), &f, x);
                if let Some(p) = self.each_piece(a, &f).next() {
                    self.agents.set_var(a, *var, self.memory.word(p));
                }
                Ok(StepEffect::Sync)
            }
            Op::NextTile { dst, signals } => self.next_tile(a, pc, dst, signals),
            Op::Counter { act, at, value, order, scope } => self.do_counter(a, pc, (*act, at, value), (*order, *scope)),
            Op::GridWait => Ok(StepEffect::Sync),
        }
    }

    /// The key of a mailbox slot's content after a write.
    fn version(&self, a: AgentId, dst: &crate::ir::Place) -> Result<TileKey, Fault> {
        let version = match &dst.tile {
            Some(t) => self.placed(a, &t.at[0])?,
            None => Number::default(),
        };
        Ok(TileKey { obj: dst.obj, at: [version.v, 0], shift: [0, 0], forms: [version.form, 0] })
    }

    fn in_tmem(&self, obj: u16) -> bool {
        self.prog.objects[obj as usize].class == crate::ir::Class::Tmem
    }

    /// Number of threads that execute an instruction one by one.
    pub(super) fn lanes(&self, a: AgentId, pc: u32) -> u32 {
        use crate::timeline::Lanes::*;
        if self.spec.elected_at[pc as usize] {
            return 1;
        }
        match self.spec.info[a as usize].lanes {
            None => self.spec.rules.warp_size,
            Some(Elected) => 1,
            Some(Rest) => self.spec.rules.warp_size - 1,
        }
    }

    /// Number of arrivals by an agent; 0 where another agent arrives for all.
    fn arrivals(&self, a: AgentId, pc: u32, per: ArrivalsPer) -> u32 {
        let who = self.spec.info[a as usize];
        match per {
            ArrivalsPer::Thread => self.lanes(a, pc),
            ArrivalsPer::Warp => who.elected() as u32,
            ArrivalsPer::Once => (self.leads(who.warp) && who.elected()) as u32,
        }
    }

    /// Whether a warp is the first of its role, or of its member of the role.
    pub(super) fn leads(&self, warp: u32) -> bool {
        match self.prog.role_of(warp) {
            Some(r) => {
                let size = (r.warps.count_ones() / r.members.max(1)).max(1);
                (r.warps & ((1u64 << warp) - 1)).count_ones().is_multiple_of(size)
            }
            None => warp == 0,
        }
    }

    /// What an agent has done so far, as a row for a signal that arrives later. The agent's clock advances.
    fn released(&mut self, a: AgentId, with: Option<Epoch>) -> u32 {
        let row = self.order.snapshot(self.spec.agent_row(a));
        if let Some(e) = with {
            self.order.raise(row, e.comp, e.clock);
        }
        self.order.tick(self.spec.agent_row(a), a);
        row
    }

    /// An arrival: on the own CTA's barrier at once, on another CTA's barrier by a flight that crosses the cluster.
    fn do_arrive(
        &mut self,
        a: AgentId,
        pc: u32,
        bar: &BarRef,
        (count, bytes): (u32, Option<i64>),
        (relaxed, cluster): (bool, bool),
    ) -> Result<StepEffect, Blocked> {
        let own = self.spec.info[a as usize].cta;
        let mut remote = smallvec::SmallVec::new();
        for ix in self.bars(a, bar)? {
            if self.mbar_cta(ix) == own && !matches!(bar.at, BarrierCta::Ctas(_)) {
                self.alive(a, pc, ix);
                self.arrives_in_order(a, pc, ix);
                if let Some(n) = bytes {
                    self.expect(a, pc, ix, n);
                }
                let row = (!relaxed).then(|| self.spec.agent_row(a));
                let epoch = self.own_access(a, pc).epoch;
                self.arrive(a, pc, ix, count, (row, Some(epoch)));
            } else {
                self.usable_remotely(a, pc, ix);
                self.arrives_in_order(a, pc, ix);
                remote.push((ix, count));
            }
        }
        if remote.is_empty() {
            self.order.tick(self.spec.agent_row(a), a);
            return Ok(StepEffect::Sync);
        }
        let mut f = Flight::new(a, pc);
        remote.iter().for_each(|&(ix, _): &(u32, u32)| f.meant_for(self.mbar(ix).phase));
        // The bytes are expected when the arrival reaches the barrier.
        if let Some(n) = bytes {
            f.expects = Some(n);
        }
        f.arrives = remote;
        f.epoch = Some(self.own_access(a, pc).epoch);
        f.releases = if relaxed { None } else { Some(self.released(a, None)) };
        f.cta_scope = !cluster;
        Ok(StepEffect::Signal { flight: self.launch(f), in_stream: false })
    }

    /// `clusterlaunchcontrol.try_cancel`: 16 bytes on the barrier of every CTA of the cluster.
    fn next_tile(
        &mut self,
        a: AgentId,
        pc: u32,
        dst: &crate::ir::Place,
        signals: &BarRef,
    ) -> Result<StepEffect, Blocked> {
        self.judge(Decision::Op(Binary::Gt, self.global.more_tiles.len() as i64, 0));
        let value = self.global.more_tiles.pop().unwrap_or(-1);
        let key = self.version(a, dst)?;
        let own = self.spec.info[a as usize].cta;
        let stages = self.prog.mbars[signals.bar as usize].stages;
        let here = self.bars(a, signals)?[0];
        let f = self.footprint(a, dst, 0)?;
        let mut flight = Flight::new(a, pc);
        for cta in 0..self.prog.cluster {
            let ix = here - own * stages + cta * stages;
            self.usable_remotely(a, pc, ix);
            let phase = self.mbar(ix).phase;
            let epoch = Epoch { comp: self.spec.mbar_comp(ix), clock: phase + 1 };
            let x = Access { epoch, pc, agent: a, generic: false, in_order: false };
            let there = super::footprint::Footprint { cta, ..f };
            self.check_write(a, self.spec.agent_row(a), &there, x, Some(key));
            for p in self.each_piece(a, &there) {
                flight.posts.push((p, value));
            }
            flight.delivers.push((ix, 16, phase));
        }
        flight.issued_after = self.issued(a);
        Ok(StepEffect::Signal { flight: self.launch(flight), in_stream: false })
    }
}
