//! The state of one mbarrier: what the hardware keeps, and what the checks keep beside it.

use smallvec::SmallVec;

use super::arrivals::Arrivals;
use crate::protocol::order::{Access, Epoch};
use crate::protocol::vocabulary::AgentId;

/// The numbers that the hardware keeps in one mbarrier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mbar {
    /// Initialized and not yet invalidated.
    pub live: bool,
    /// Number of the open phase; the hardware shows the lowest bit. Numbers go on after an `inval` and another `init`,
    /// so that clocks of the barrier's component never go back.
    pub phase: u32,
    /// Number of the first phase since the newest `init`, which is even.
    pub first: u32,
    /// Arrivals that each phase needs.
    pub expected: u32,
    /// Arrivals that the open phase still needs.
    pub pending: u32,
    /// Bytes expected less bytes delivered in the open phase.
    pub tx: i64,
}

/// A wait on an mbarrier that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::protocol) struct Wait {
    pub(in crate::protocol) phase: i64,
    pub(in crate::protocol) epoch: Epoch,
    pub(in crate::protocol) pc: u32,
}

/// A signal that an engine or another CTA gave a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::protocol) struct Signal {
    /// The clock a row must have reached to be ordered after this signal, or...
    pub(in crate::protocol) epoch: Epoch,
    /// ...the barrier phase that the signal arrived in.
    pub(in crate::protocol) phase: u32,
    pub(in crate::protocol) agent: AgentId,
    pub(in crate::protocol) pc: u32,
}

/// The state of an `init` that a `fence mbarrier_init` releases, whatever its thread did besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::protocol) enum PassedOn {
    /// The thread of the `init` has executed no `fence mbarrier_init` since.
    #[default]
    No,
    /// The thread has executed the fence: its next arrival at the cluster barrier passes the `init` on.
    Fenced,
    /// Whoever is ordered after this generation of the cluster barrier is ordered after the `init`.
    Behind(Epoch),
}

/// One mbarrier of a world.
#[derive(Debug)]
pub(in crate::protocol) struct MbarState {
    hardware: Mbar,
    /// The newest `init`.
    init: Option<Access>,
    /// The fences that followed the `init`: an agent that is ordered after one of them may let engines and other CTAs
    /// signal the barrier. None of them is ordered after another.
    init_fences: SmallVec<[Epoch; 1]>,
    /// How far a `fence mbarrier_init` and relaxed arrivals at the cluster barrier pass on the `init`.
    passed_on: PassedOn,
    /// The agent and instruction that last expected bytes.
    expected_at: Option<(AgentId, u32)>,
    /// Bytes expected without an arrival in the open phase: an arrival of that phase must come after each.
    expects: Vec<Access>,
    /// The arrivals of the open phase and of the two phases before it, newest first.
    arrivals: [Arrivals; 3],
    /// Signals by other CTAs and by engines, the newest of each component.
    signals: Vec<Signal>,
    /// The last wait of each agent that passed.
    waits: Vec<Option<Wait>>,
}

impl MbarState {
    /// An mbarrier before its `init`, in a cluster of this many agents.
    pub(in crate::protocol) fn new(agents: usize) -> MbarState {
        MbarState {
            hardware: Mbar::default(),
            init: None,
            init_fences: SmallVec::new(),
            passed_on: PassedOn::No,
            expected_at: None,
            expects: Vec::new(),
            arrivals: Default::default(),
            signals: Vec::new(),
            waits: vec![None; agents],
        }
    }

    /// Bytes that a copy takes, about: lists that are usually empty are left out.
    pub(in crate::protocol) fn bytes(&self) -> usize {
        size_of::<Mbar>() + size_of_val(&self.arrivals) + size_of_val(&self.waits[..])
    }

    /// The numbers that the hardware keeps.
    pub(in crate::protocol) fn hardware(&self) -> &Mbar {
        &self.hardware
    }

    /// The newest `init`; none before the first.
    pub(in crate::protocol) fn init(&self) -> Option<&Access> {
        self.init.as_ref()
    }

    /// The first fences that followed the newest `init`.
    pub(in crate::protocol) fn init_fences(&self) -> &[Epoch] {
        &self.init_fences
    }

    /// Records a fence that followed the `init`.
    pub(in crate::protocol) fn fence_init(&mut self, fence: Epoch) {
        self.init_fences.push(fence);
    }

    /// How far relaxed arrivals at the cluster barrier pass on the `init`.
    pub(in crate::protocol) fn passed_on(&self) -> PassedOn {
        self.passed_on
    }

    /// Records that the thread of the `init` executed `fence mbarrier_init`.
    pub(in crate::protocol) fn release_init(&mut self) {
        if self.passed_on == PassedOn::No {
            self.passed_on = PassedOn::Fenced;
        }
    }

    /// Records that the thread of the `init` arrived at the cluster barrier.
    pub(in crate::protocol) fn pass_on_init(&mut self, behind: Epoch) {
        if self.passed_on == PassedOn::Fenced {
            self.passed_on = PassedOn::Behind(behind);
        }
    }

    /// The agent and instruction that last expected bytes.
    pub(in crate::protocol) fn expected_at(&self) -> Option<(AgentId, u32)> {
        self.expected_at
    }

    /// `mbarrier.init` with a count of arrivals.
    pub(super) fn initialize(&mut self, count: u32, access: Access) {
        let first = self.hardware.phase.next_multiple_of(2);
        self.hardware = Mbar { live: true, phase: first, first, expected: count, pending: count, tx: 0 };
        self.arrivals = Default::default();
        self.init = Some(access);
        self.init_fences.clear();
        self.passed_on = PassedOn::No;
    }

    /// `mbarrier.inval`.
    pub(super) fn invalidate(&mut self) {
        self.hardware.live = false;
    }

    /// Makes the hardware's numbers these, after an `init` that everything is ordered after.
    pub(in crate::protocol) fn restore(&mut self, hardware: &Mbar, init: Access) {
        self.hardware = hardware.clone();
        self.init = hardware.live.then_some(init);
        self.init_fences = SmallVec::from_elem(init.epoch, 1);
        self.passed_on = PassedOn::No;
    }

    /// Expects bytes in the open phase. Returns the byte count.
    pub(super) fn expect_bytes(&mut self, a: AgentId, pc: u32, bytes: i64) -> i64 {
        self.expected_at = Some((a, pc));
        self.hardware.tx += bytes;
        self.arrivals[0].make_unsure();
        self.hardware.tx
    }

    /// Delivers bytes to the open phase.
    pub(super) fn deliver_bytes(&mut self, bytes: i64) {
        self.hardware.tx -= bytes;
    }

    /// Adds arrivals to those that the open phase needs.
    pub(in crate::protocol) fn add_pending(&mut self, arrivals: u32) {
        self.hardware.pending += arrivals;
    }

    /// Takes arrivals off those that the open phase needs, down to zero. Returns whether the phase needed that many.
    pub(super) fn take_pending(&mut self, arrivals: u32) -> bool {
        let enough = arrivals <= self.hardware.pending;
        self.hardware.pending = self.hardware.pending.saturating_sub(arrivals);
        enough
    }

    /// Takes arrivals off those that later phases need, down to zero. Returns whether the phases needed that many.
    pub(super) fn take_expected(&mut self, arrivals: u32) -> bool {
        let enough = arrivals <= self.hardware.expected;
        self.hardware.expected = self.hardware.expected.saturating_sub(arrivals);
        enough
    }

    /// Completes the open phase if nothing is missing. Returns the phase.
    pub(super) fn complete_phase(&mut self) -> Option<u32> {
        let m = &mut self.hardware;
        if m.pending != 0 || m.tx != 0 || !m.live {
            return None;
        }
        let done = m.phase;
        m.phase += 1;
        m.pending = m.expected;
        Some(done)
    }

    /// Bytes expected without an arrival in the open phase.
    pub(in crate::protocol) fn expects(&self) -> &[Access] {
        &self.expects
    }

    /// Notes an access that an arrival of the open phase must come after.
    pub(in crate::protocol) fn note_expect(&mut self, access: Access) {
        self.expects.push(access);
    }

    /// An agent will arrive at the open phase: the arrival comes after what the agent did before.
    pub(in crate::protocol) fn note_own_arrival(&mut self, a: AgentId) {
        self.expects.retain(|x| x.agent != a);
    }

    /// Takes the accesses that an arrival of the completed phase must have come after.
    pub(super) fn take_expects(&mut self) -> Vec<Access> {
        std::mem::take(&mut self.expects)
    }

    /// The arrivals of the open phase and of the two phases before it, newest first.
    pub(in crate::protocol) fn arrivals(&self) -> &[Arrivals] {
        &self.arrivals
    }

    /// Counts an arrival in the open phase.
    pub(super) fn count_arrival(&mut self, epoch: Option<Epoch>) {
        self.arrivals[0].count(epoch);
    }

    /// Begins the list of arrivals of the next phase.
    pub(super) fn close_arrivals(&mut self) {
        self.arrivals.rotate_right(1);
        self.arrivals[0] = Arrivals::default();
    }

    /// Signals by other CTAs and by engines, the newest of each component.
    pub(in crate::protocol) fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// Remembers a signal, in the place of an earlier one of its component.
    pub(in crate::protocol) fn note_signal(&mut self, s: Signal) {
        match self.signals.iter_mut().find(|x| x.epoch.comp == s.epoch.comp) {
            Some(x) => *x = s,
            None => self.signals.push(s),
        }
    }

    /// Takes the signals that the end of a CTA must come after.
    pub(in crate::protocol) fn take_signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.signals)
    }

    /// The last wait of each agent that passed.
    pub(in crate::protocol) fn waits(&self) -> &[Option<Wait>] {
        &self.waits
    }

    /// Remembers a wait that passed.
    pub(super) fn note_wait(&mut self, a: AgentId, wait: Wait) {
        self.waits[a as usize] = Some(wait);
    }
}

/// Written by hand, so that copying into a state of the same program allocates nothing.
impl Clone for MbarState {
    fn clone(&self) -> MbarState {
        MbarState {
            hardware: self.hardware.clone(),
            init: self.init,
            init_fences: self.init_fences.clone(),
            passed_on: self.passed_on,
            expected_at: self.expected_at,
            expects: self.expects.clone(),
            arrivals: self.arrivals.clone(),
            signals: self.signals.clone(),
            waits: self.waits.clone(),
        }
    }

    fn clone_from(&mut self, from: &MbarState) {
        let MbarState { hardware, init, init_fences, passed_on, expected_at, expects, arrivals, signals, waits } = from;
        self.hardware.clone_from(hardware);
        (self.init, self.expected_at) = (*init, *expected_at);
        self.init_fences.clone_from(init_fences);
        self.passed_on = *passed_on;
        self.expects.clone_from(expects);
        self.arrivals.clone_from(arrivals);
        self.signals.clone_from(signals);
        self.waits.clone_from(waits);
    }
}
