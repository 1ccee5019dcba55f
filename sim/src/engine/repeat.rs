//! Repetition: when the state of the cores recurs at a launch of a CTA, everything after it recurs too.
//!
//! The clusters of a unit run the same program. At each launch, the whole state relative to the current time (agents,
//! barriers, flights, servers, pending events) is compared with the states of earlier launches. Where two are equal,
//! the ledger gains as many whole periods as fit, without running them. Nothing is approximated, because the comparison
//! covers the whole state.
//!
//! Where the state does not recur, the CTAs of a core drift against each other. Still, each wave takes almost the same time
//! as the one before. After [`LONG`] events, the rest of such a run is taken to go on at the pace of its last
//! wave. This is an approximation, and the report says so.

use super::run::Engine;

/// Number of kept states; a period of more launches is not found.
const KEEP: usize = 48;
/// Events after which a run is long.
const LONG: u64 = 1_000_000;
/// Waves that a run needs before its pace counts: the CTAs of the first wave start together.
const WAVES: u32 = 3;
/// Largest relative difference of the times of two waves that are at one pace.
const STEADY: f64 = 0.005;

struct LaunchState {
    state: Vec<u64>,
    at: u64,
    launched: u32,
    retired: u32,
    ledger: super::ledger::Ledger,
    busy: Vec<u64>,
    flops: f64,
    useful: f64,
    reads: (u64, u64),
}

/// The kept states of earlier launches.
pub(super) struct Repeats {
    on: bool,
    seen: Vec<LaunchState>,
}

impl Repeats {
    /// A detector that is active if `on`.
    pub(super) fn new(on: bool) -> Self {
        Repeats { on, seen: Vec::new() }
    }

    /// Compares states when a seat is free, before its next cluster is launched.
    pub(super) fn look(&mut self, e: &mut Engine<'_>, now: u64) {
        // A record shows each launch until it is full.
        let recorded = e.recorder.as_ref().is_some_and(|r| !r.is_full());
        if !self.on || recorded || e.todo.len() < 2 * e.seats.len() || e.launched == 0 {
            return;
        }
        let state = e.state(now);
        if let Some(old) = self.seen.iter().find(|s| s.state == state) {
            self.on = !skip(e, old, now);
            return;
        }
        if let Some((old, change)) = self.steady(e, now)
            && skip(e, old, now)
        {
            e.pace_change = Some(change);
            self.on = false;
            return;
        }
        if self.seen.len() == KEEP {
            self.seen.remove(0);
        }
        let busy = e.servers().map(|s| s.busy).collect();
        self.seen.push(LaunchState {
            state,
            at: now,
            launched: e.launched,
            retired: e.retired,
            ledger: e.ledger.clone(),
            busy,
            flops: e.flops,
            useful: e.useful,
            reads: e.reads,
        });
    }

    /// The state one wave ago in a long run at one pace, and by how much of its time the last wave differs from the one
    /// before.
    fn steady(&self, e: &Engine<'_>, now: u64) -> Option<(&LaunchState, f64)> {
        let wave = e.seats.len() as u32;
        if e.events < LONG || e.launched < WAVES * wave {
            return None;
        }
        let ago = |waves: u32| self.seen.iter().find(|s| s.launched + waves * wave == e.launched);
        let (one, two) = (ago(1)?, ago(2)?);
        let (last, before) = ((now - one.at) as f64, (one.at - two.at) as f64);
        let change = (last - before).abs() / before;
        (change <= STEADY).then_some((one, change))
    }
}

/// Skips as many whole periods from an old state to the present one as fit, and returns whether any did.
fn skip(e: &mut Engine<'_>, old: &LaunchState, now: u64) -> bool {
    let step = (e.launched - old.launched) as usize;
    let periods = e.alike(step);
    if periods == 0 || step == 0 {
        return false;
    }
    let n = periods as u64;
    e.skipped += n * (now - old.at);
    e.todo.truncate(e.todo.len() - periods * step);
    e.ledger.repeat(&old.ledger, n);
    e.retired += periods as u32 * (e.retired - old.retired);
    e.flops += n as f64 * (e.flops - old.flops);
    e.useful += n as f64 * (e.useful - old.useful);
    e.reads.0 += n * (e.reads.0 - old.reads.0);
    e.reads.1 += n * (e.reads.1 - old.reads.1);
    for (s, was) in e.servers().zip(&old.busy) {
        s.busy += n * (s.busy - was);
    }
    true
}
