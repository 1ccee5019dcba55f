//! Repetition: when the state of the cores recurs at a launch of a CTA, everything after it recurs too.
//!
//! The clusters of a unit run the same program. At each launch, the whole state relative to the current time (agents,
//! barriers, flights, servers, pending events) is compared with the states of earlier launches. Where two are equal,
//! the ledger gains as many whole periods as fit, without running them. Nothing is approximated, because the comparison
//! covers the whole state.

use super::run::Engine;

/// Number of kept states; a period of more launches is not found.
const KEEP: usize = 48;

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
        if !self.on || e.todo.len() < 2 * e.seats.len() || e.launched == 0 {
            return;
        }
        let state = e.state(now);
        if let Some(old) = self.seen.iter().find(|s| s.state == state) {
            let step = (e.launched - old.launched) as usize;
            let periods = e.alike(step);
            if periods > 0 && step > 0 {
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
                self.on = false;
            }
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
}
