//! Repetition: when the state of the cores recurs at a launch of a CTA, everything after it recurs too.
//!
//! The clusters of a unit run the same program. At each launch, the whole state relative to the current time (agents,
//! barriers, flights, servers, pending events) is compared with the states of earlier launches. Where two are equal,
//! the ledger gains as many whole periods as fit, without running them. Nothing is approximated, because the comparison
//! covers the whole state.
//!
//! Control flow of clusters may depend on their place. Such clusters repeat each other if they have one route, and if
//! their operations use the place for coordinates of tiles alone. Then the state has the route of each cluster. A short
//! run of such a kernel simulates every cluster.
//!
//! Where the state does not recur, the CTAs of a core drift against each other. Still, each wave takes almost the same time
//! as the one before. After [`LONG`] events, the rest of such a run is taken to go on at the pace of its last
//! wave. This is an approximation, and the report says so.

use crate::ir::{Env, Expr, ExprUse, Instr, Program, each};

use super::run::Engine;

/// Number of kept states; a period of more launches is not found.
const KEEP: usize = 48;
/// Events after which a run is long.
const LONG: u64 = 1_000_000;
/// Events after which the routes of clusters are compared. Charts and reports of shorter runs show every cluster.
const LONG_OF_ROUTES: u64 = 4_000_000;
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

/// The clusters that may repeat each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// None, or no more.
    Off,
    /// All clusters: their control flow is the same.
    All,
    /// Those of one route.
    Routes,
}

/// The kept states of earlier launches.
pub(super) struct Repeats {
    among: Among,
    seen: Vec<LaunchState>,
}

impl Repeats {
    /// No search for repetitions.
    pub(super) fn off() -> Self {
        Repeats { among: Among::Off, seen: Vec::new() }
    }

    /// A search among clusters whose control flow is the same.
    pub(super) fn of_equal() -> Self {
        Repeats { among: Among::All, ..Repeats::off() }
    }

    /// A search among clusters of equal routes, in a long run.
    pub(super) fn of_routes() -> Self {
        Repeats { among: Among::Routes, ..Repeats::off() }
    }

    /// Whether the route of each cluster matters.
    pub(super) fn by_routes(&self) -> bool {
        self.among == Among::Routes
    }

    /// Compares states when a seat is free, before its next cluster is launched.
    pub(super) fn look(&mut self, e: &mut Engine<'_>, now: u64) {
        // A record shows each launch until it is full.
        let recorded = e.recorder.as_ref().is_some_and(|r| !r.is_full());
        let early = e.launched == 0 || self.by_routes() && e.events < LONG_OF_ROUTES;
        if self.among == Among::Off || recorded || e.todo.len() < 2 * e.seats.len() || early {
            return;
        }
        let state = e.state(now);
        if let Some(old) = self.seen.iter().find(|s| s.state == state) {
            if skip(e, old, now) {
                // Behind clusters of another route, the state may recur once more.
                self.seen.clear();
                self.among = if self.by_routes() { Among::Routes } else { Among::Off };
            }
            return;
        }
        if !self.by_routes()
            && let Some((old, change)) = self.steady(e, now)
            && skip(e, old, now)
        {
            e.pace_change = Some(change);
            self.among = Among::Off;
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

    /// The state one wave ago in a long run at one pace. Also, by how much of its time the last wave differs from the
    /// one before.
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

/// Whether operations use the place of the CTA, and variables that depend on the place, for coordinates of tiles alone.
pub(super) fn place_is_for_tiles(prog: &Program) -> bool {
    let mut placed = vec![false; prog.vars.len()];
    let depends = |e: &Expr, placed: &[bool]| {
        e.any(|x| match x {
            Expr::Var(v) => placed[*v as usize],
            Expr::Env(env) => !matches!(env, Env::Warp | Env::CtaRank | Env::TapeIndex),
            Expr::Tape(..) => true,
            _ => false,
        })
    };
    loop {
        let new = prog.code.iter().find_map(|i| match i {
            Instr::Set(v, e) if !placed[*v as usize] && depends(e, &placed) => Some(*v),
            _ => None,
        });
        let Some(v) = new else { break };
        placed[v as usize] = true;
    }
    let mut tiles = true;
    for i in prog.code.iter().filter(|i| matches!(i, Instr::Op { .. })) {
        each(prog, i, &mut |what, e| tiles &= matches!(what, ExprUse::Tile(..)) || !depends(e, &placed));
    }
    tiles
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
