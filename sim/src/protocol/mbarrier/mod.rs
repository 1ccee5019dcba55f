//! mbarriers: phase, pending arrivals, transaction bytes (docs/rules.md 5 to 13).
//!
//! A phase completes when no arrival is pending and the byte count is zero, tested at each arrival and each delivery, not
//! at `expect`. The byte count may be negative while an arrival is pending: a copy may land before its `expect`.

use crate::code::Code;
use crate::ir::{BarRef, BarrierCta, Binary, Instr, MbarId, Phase};

use super::op::{BarrierAction, BarrierUse, instruction};
use super::order::{Epoch, RowId};
use super::world::World;
use crate::protocol::vocabulary::{AgentId, Blocked, Decision, Fault, MbarIx, WaitTarget};

mod arrivals;
mod state;

pub use state::Mbar;
pub(super) use state::{MbarState, PassedOn, Signal, Wait};

/// Largest count of arrivals and of bytes either way (PTX ISA, mbarrier contents: 2^20 − 1).
const LIMIT: i64 = (1 << 20) - 1;

/// Arrivals of one agent at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Number of arrivals.
    pub(super) count: u32,
    /// The row that the arrivals release; `None` for relaxed arrivals.
    pub(super) release: Option<RowId>,
    /// The epoch of the arrivals; `None` where an agent can know of them only by waiting.
    pub(super) epoch: Option<Epoch>,
}

impl World<'_> {
    pub(super) fn mbar_ix(&self, bar: MbarId, stage: u32, cta: u32) -> MbarIx {
        self.spec.mbar_base[bar as usize] + cta * self.prog.mbars[bar as usize].stages + stage
    }

    /// `full[1]`, with the CTA where there are several.
    pub(super) fn mbar_name(&self, ix: MbarIx) -> String {
        let d = self.spec.mbar_base.partition_point(|&b| b <= ix) - 1;
        let decl = &self.prog.mbars[d];
        let (cta, stage) = ((ix - self.spec.mbar_base[d]) / decl.stages, (ix - self.spec.mbar_base[d]) % decl.stages);
        let mut s = decl.name.clone();
        if decl.stages > 1 {
            s += &format!("[{stage}]");
        }
        if self.prog.cluster > 1 {
            s += &format!(" of CTA {cta}");
        }
        s
    }

    /// Name without CTA, and the CTA.
    pub fn mbar_label(&self, ix: u32) -> (String, u32) {
        let d = self.mbar_decl(ix) as usize;
        let decl = &self.prog.mbars[d];
        let stage = (ix - self.spec.mbar_base[d]) % decl.stages;
        let name = if decl.stages > 1 { format!("{}[{stage}]", decl.name) } else { decl.name.clone() };
        (name, self.mbar_cta(ix))
    }

    /// The declaration that an index belongs to.
    pub(super) fn mbar_decl(&self, ix: MbarIx) -> MbarId {
        (self.spec.mbar_base.partition_point(|&b| b <= ix) - 1) as MbarId
    }

    /// The barriers that a reference names: one, or one in each CTA of a mask.
    pub(super) fn bars(&self, a: AgentId, r: &BarRef) -> Result<smallvec::SmallVec<[MbarIx; 2]>, Fault> {
        let ring = self.ring_of_barrier(r.bar);
        let slot = self.slot(a, &r.stage, ring)?;
        let (stage, stages) = (slot.slot, self.prog.mbars[r.bar as usize].stages);
        if stage < 0 || stage >= stages as i64 {
            return Err(Fault::Stage { bar: r.bar, stage });
        }
        let ix = |cta| {
            self.access(ring, cta, slot);
            self.mbar_ix(r.bar, stage as u32, cta)
        };
        let own = self.spec.info[a as usize].cta;
        Ok(match &r.at {
            BarrierCta::Own => smallvec::smallvec![ix(own)],
            BarrierCta::Cta(e) => smallvec::smallvec![ix(self.in_cluster(self.eval(a, e)?)?)],
            BarrierCta::Ctas(e) => {
                let mask = self.eval(a, e)?;
                if mask <= 0 || mask >> self.prog.cluster != 0 {
                    return Err(Fault::Mask(mask));
                }
                (0..self.prog.cluster).filter(|c| mask >> c & 1 == 1).map(ix).collect()
            }
        })
    }

    /// The CTA whose memory holds a barrier.
    pub(super) fn mbar_cta(&self, ix: MbarIx) -> u32 {
        let d = self.mbar_decl(ix) as usize;
        (ix - self.spec.mbar_base[d]) / self.prog.mbars[d].stages
    }

    /// `mbarrier.init` of one mbarrier.
    pub(super) fn init(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        let count = self.prog.mbars[self.mbar_decl(ix) as usize].count;
        if self.mbar(ix).live {
            let message = format!("initializes {} again while it is live", self.mbar_name(ix));
            self.find(Code::InitAgain, a, pc, message, None);
        }
        let access = self.own_access(a, pc);
        self.mbars[ix as usize].initialize(count, access);
        // Whoever is ordered after this `init` knows that the phases before it are over; nothing else of an earlier life
        // is passed on.
        let first = self.mbar(ix).first;
        if first > 0 {
            let (gathers, done, comp) = (self.spec.mbar_row(ix), self.spec.mbar_done_row(ix), self.spec.mbar_comp(ix));
            for row in [gathers, done] {
                self.order.forget(row);
                self.order.raise(row, comp, first);
            }
            self.order.raise(self.spec.agent_row(a), comp, first);
        }
        self.journal.changed(WaitTarget::Mbar(ix));
    }

    /// `mbarrier.inval` of one mbarrier.
    pub(super) fn inval(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        self.alive(a, pc, ix);
        let m = self.mbar(ix);
        if m.live && m.tx != 0 {
            let message = format!("invalidates {} with copies in flight", self.mbar_name(ix));
            self.find(Code::InvalInFlight, a, pc, message, None);
        }
        self.mbars[ix as usize].invalidate();
    }

    /// Holds a use of a barrier to being after its `init`.
    pub(super) fn alive(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        let row = self.spec.agent_row(a);
        match self.mbars[ix as usize].init() {
            Some(&init) if self.mbar(ix).live => {
                if !self.passed_on(row, ix) && !self.order.has(row, init.epoch) {
                    let message = format!("uses {}; nothing orders it after the `init`", self.mbar_name(ix));
                    self.find(Code::NotLive, a, pc, message, Some((init.pc, "initialized here".into())));
                }
            }
            _ => {
                let message = format!("uses {}, which is not initialized", self.mbar_name(ix));
                self.find(Code::NotLive, a, pc, message, None);
            }
        }
    }

    /// Whether a row is ordered after the cluster barrier that passes on the `init`, with its fence.
    fn passed_on(&self, row: RowId, ix: MbarIx) -> bool {
        match self.mbars[ix as usize].passed_on() {
            PassedOn::Behind(barrier) => self.order.has(row, barrier),
            _ => false,
        }
    }

    /// Whether a row is ordered after a fence that followed the `init`.
    pub(super) fn init_fenced(&self, row: RowId, ix: MbarIx) -> bool {
        let fences = self.mbars[ix as usize].init_fences();
        self.passed_on(row, ix) || fences.iter().any(|e| self.order.has(row, *e))
    }

    /// `expect_tx`.
    pub(super) fn expect(&mut self, a: AgentId, pc: u32, ix: MbarIx, bytes: i64) {
        if self.mbars[ix as usize].expect_bytes(a, pc, bytes).abs() > LIMIT {
            let message = format!("{} is past its byte count of {LIMIT}", self.mbar_name(ix));
            self.find(Code::BytesField, a, pc, message, None);
        }
    }

    /// Takes arrivals off those that the phases behind the open one need.
    pub(super) fn drop_expected(&mut self, a: AgentId, pc: u32, ix: MbarIx, count: u32) {
        let expected = self.mbar(ix).expected;
        if !self.mbars[ix as usize].take_expected(count) {
            let message = format!("drops {count} arrivals of {}, whose phases need {expected}", self.mbar_name(ix));
            self.find(Code::Arrivals, a, pc, message, None);
        }
    }

    /// Performs arrivals.
    pub(super) fn arrive(&mut self, a: AgentId, pc: u32, ix: MbarIx, arrival: Arrival) {
        let Arrival { count, release, epoch } = arrival;
        self.mbars[ix as usize].count_arrival(epoch.filter(|_| release.is_some()));
        if let Some(row) = release {
            let acc = self.spec.mbar_row(ix);
            self.order.join(acc, row);
        }
        let Mbar { pending, expected, phase, .. } = *self.mbar(ix);
        if !self.mbars[ix as usize].take_pending(count) {
            let message = format!(
                "arrives {count} times on {}, whose phase {phase} needs {pending} more of {expected}",
                self.mbar_name(ix)
            );
            self.find(Code::Arrivals, a, pc, message, None);
        }
        self.too_many(a, pc, ix);
        self.try_complete(a, pc, ix);
    }

    /// Reports more bytes than expected with no arrival pending: no delivery can bring the count back to zero.
    fn too_many(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        let m = self.mbar(ix);
        if m.pending == 0 && m.tx < 0 {
            let message = format!(
                "phase {} of {} gets {} bytes more than expected, with no arrival pending: the phase cannot complete",
                m.phase,
                self.mbar_name(ix),
                -m.tx
            );
            self.find(Code::BytesTooMany, a, pc, message, None);
        }
    }

    /// In a hang: reports phases that only wait for bytes which no copy delivers.
    pub fn missing_bytes(&mut self) {
        for ix in 0..self.mbars.len() {
            let m = self.mbars[ix].hardware();
            if let (true, 0, 1.., Some((a, pc))) = (m.live, m.pending, m.tx, self.mbars[ix].expected_at()) {
                let message = format!(
                    "phase {} of {} is to get {} bytes more than the copies deliver",
                    m.phase,
                    self.mbar_name(ix as MbarIx),
                    m.tx
                );
                self.find(Code::BytesMissing, a, pc, message, None);
            }
        }
    }

    /// A copy delivers bytes that are meant for `phase`.
    pub(super) fn deliver(&mut self, a: AgentId, pc: u32, ix: MbarIx, bytes: i64, phase: u32) {
        let now = self.mbar(ix).phase;
        if now != phase {
            let message = format!(
                "{bytes} bytes meant for phase {phase} of {} arrive in phase {now}: fewer bytes were expected than the copies deliver",
                self.mbar_name(ix)
            );
            self.find(Code::BytesTooMany, a, pc, message, None);
        }
        self.mbars[ix as usize].deliver_bytes(bytes);
        self.too_many(a, pc, ix);
        self.try_complete(a, pc, ix);
    }

    fn try_complete(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        let Some(done) = self.mbars[ix as usize].complete_phase() else { return };
        let row = self.spec.mbar_row(ix);
        self.order.raise(row, self.spec.mbar_comp(ix), done + 1);
        self.mbars[ix as usize].close_arrivals();
        self.check_expects(a, ix, done);
        // Later waiters learn what completed; arrivals of the next phase are joined on top of it.
        let shown = self.spec.mbar_done_row(ix);
        self.order.join(shown, row);
        self.check_lag(a, pc, ix, done);
        self.journal.changed(WaitTarget::Mbar(ix));
    }

    /// Bytes are expected before the phase can complete only if an arrival of that phase comes after the `expect`.
    fn check_expects(&mut self, a: AgentId, ix: MbarIx, done: u32) {
        let row = self.spec.mbar_row(ix);
        for x in self.mbars[ix as usize].take_expects() {
            if !self.order.has(row, x.epoch) {
                let adds = |b: &BarrierUse<'_>| b.action == BarrierAction::ArriveBehindCopies;
                let what = match &self.prog.code[x.pc as usize] {
                    Instr::Op { op, .. } if instruction(op, |i| i.barriers().iter().any(adds)) => "adds an arrival to",
                    _ => "expects bytes of",
                };
                let message = format!(
                    "{what} phase {done} of {}; nothing orders it before the phase's arrivals, so the phase can complete without them",
                    self.mbar_name(ix)
                );
                self.find(Code::LateExpect, a, x.pc, message, None);
            }
        }
    }

    /// A waiter for phase h must have passed before phase h + 1 completes, else the waiter sees the parity flip back.
    /// Each wait that passed must be *ordered* before the completion, and not only be earlier in this run.
    fn check_lag(&mut self, a: AgentId, pc: u32, ix: MbarIx, done: u32) {
        for w in 0..self.spec.info.len() {
            let Some(wait) = self.mbars[ix as usize].waits()[w] else { continue };
            if wait.phase < done as i64 && self.may_be_late(ix, &wait) {
                let message = format!(
                    "completes phase {done} of {}; nothing orders {}'s wait for phase {} before it, which would then see its parity flip back and wait for a phase that has passed",
                    self.mbar_name(ix),
                    self.agent_name(w as u32),
                    wait.phase
                );
                self.find(Code::LateWait, a, pc, message, Some((wait.pc, "this wait can be late".into())));
            }
        }
    }

    /// `try_wait` until the phase is complete.
    pub(super) fn mbar_wait(&mut self, a: AgentId, pc: u32, ix: MbarIx, want: &Phase) -> Result<(), Blocked> {
        let m = self.mbar(ix);
        let (phase, first, live) = (m.phase as i64, m.first as i64, m.live);
        let target = match want {
            Phase::State(s) => match self.agents[a].state(*s, ix) {
                Some(phase) => phase as i64,
                None => return Err(Fault::State { bar: self.mbar_decl(ix), state: *s }.into()),
            },
            Phase::Absolute(e) => self.phase(a, pc, e)? + first,
            Phase::Parity(e) => {
                // The bit stands for the newest phase of that parity that the waiter can know to be complete, or the
                // next one. With h completed phases known to the waiter, that is phase h if its parity fits, else h − 1
                // (docs/rules.md 9).
                let v = self.parity(a, pc, e)?;
                // Where a search makes every order, the bit answers as the hardware's does: for the open phase or the
                // last one.
                let known = self.order.clock(self.spec.agent_row(a), self.spec.mbar_comp(ix)) as i64;
                let h = if self.order.is_off() { phase } else { known };
                // Only the difference decides: a bit that is computed from a running count grows with the phases.
                self.judge(Decision::Op(Binary::Rem, h - v, 2));
                if (h - v) & 1 == 0 { h } else { h - 1 }
            }
        };
        self.judge(Decision::Fixed(target - phase));
        if target < 0 {
            return Ok(());
        }
        // A state names one phase; a bit or a number answers for another one, too.
        let state = if let Phase::State(s) = want { Some(*s) } else { None };
        if state.is_none() && target <= phase && !self.knows_phases(a, ix, target) {
            let message = format!(
                "waits for phase {target} of {}; nothing orders it after the end of phase {}, until when the parity of phase {} answers",
                self.mbar_name(ix),
                target - 1,
                target - 2
            );
            self.find(Code::EarlyWait, a, pc, message, None);
        }
        if !live {
            self.alive(a, pc, ix);
        }
        if target >= phase {
            if target > phase {
                let message = format!(
                    "waits for phase {target} of {} while phase {phase} is open: the parity of phase {} answers instead",
                    self.mbar_name(ix),
                    target - 2
                );
                self.find(Code::EarlyWait, a, pc, message, None);
            }
            return Err(Blocked::On(WaitTarget::Mbar(ix)));
        }
        if phase - target >= 2 {
            let message = format!(
                "waits for phase {target} of {} when {phase} phases are complete: it lags two phases and its parity has flipped back",
                self.mbar_name(ix)
            );
            self.find(Code::LateWait, a, pc, message, None);
        }
        self.alive(a, pc, ix);
        let (row, done) = (self.spec.agent_row(a), self.spec.mbar_done_row(ix));
        self.order.join(row, done);
        let access = self.own_access(a, pc);
        self.mbars[ix as usize].note_wait(a, Wait { phase: target, epoch: access.epoch, pc });
        if let Some(s) = state {
            self.agents[a].use_state(s);
        }
        Ok(())
    }
}
