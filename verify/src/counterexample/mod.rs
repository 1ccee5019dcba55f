//! Counterexamples: the shortest schedule from the start to a fault, in words, that any run which follows it
//! reproduces.
//!
//! ```text
//!   Violation ── the run that met it ──▶ turns ── shorten ──▶ no turn can be left out ── turn round ──▶ Witness
//! ```
//!
//! The remaining moves are the two operations that nothing orders and their predecessors (docs/proof.md, lemma 1). An
//! agent moves only as far as needed, and a flight lands only where an agent waits for it. Then the two operations
//! change places where the kernel allows it, so that the fault is visible. The read comes after the write that
//! overtakes it and finds another tile; the waiter comes after its parity has flipped back. Where the first operation
//! is a copy in flight, the order as found already shows the fault: the copy has not landed.

mod run;
mod shorten;
mod tell;

use warpline_sim::code::Code;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_sim::report::{Finding, FindingKind, Waiting};
use warpline_sim::schedule::{Act, Move, Schedule};

use crate::{Violation, execution::adversarial, search::verdict};
use run::{Goal, Setting};

pub(crate) use run::{BYTES_A_STEP, Turn};

/// A schedule that leads to a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The moves.
    pub schedule: Schedule,
    /// The moves in words.
    pub told: Vec<MoveDescription>,
    /// The two operations that nothing orders; `None` where the fault does not have two operations.
    pub pair: Option<Pair>,
    /// The findings of a run that follows the schedule; the fault is one of them.
    pub findings: Vec<Finding>,
    /// The waits of all agents, where no agent can proceed at the end.
    pub hang: Vec<Waiting>,
    /// Whether no agent's last move and no landing can be left out. False where the search for a shorter schedule
    /// reached its limit.
    pub shortest: bool,
}

/// Two operations that nothing orders, as indices of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The operation that comes first.
    pub first: usize,
    /// The other operation, which is the last move.
    pub second: usize,
    /// The relation of the two operations in the schedule.
    pub how: Meeting,
}

/// The relation of the two operations of a fault in its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// The second operation should come before the first: the second is too late, or finds wrong data.
    Reversed,
    /// The first operation is a copy or a multiplication that has not landed when the second comes.
    UnderWay,
    /// The first operation is complete before the second, but nothing orders them.
    Unordered,
}

/// A move in words.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveDescription {
    /// The agent.
    pub agent: String,
    /// The statement, as an index into the program's sites.
    pub site: u32,
    /// The event.
    pub act: Act,
    /// The places and barriers of the move: `reads a[1]`, `phase 2 of full[1]`, `completes phase 0 of empty[1]`.
    pub touches: Vec<String>,
}

/// Largest number of steps spent on a shorter schedule...
const EFFORT: u64 = 3_000_000;
/// ...and for a compiled kernel, whose text is long.
const COMPILED_EFFORT: u64 = 400_000;

/// The schedule of a violation of this kernel, at the violation's trip count. `None` where the run with the fault
/// cannot be repeated within `max_steps`.
pub fn witness(prog: &Program, rules: Rules, violation: &Violation, max_steps: u64) -> Option<Witness> {
    // A livelock occurs in every order, and at no single move. Stores of two clusters meet in no run of one cluster.
    if violation.findings.first().is_some_and(|f| matches!(f.code, Code::Livelock | Code::StoredTwice)) {
        return None;
    }
    let set = Setting::new(prog, rules, violation.cluster, if prog.opaque_globals { COMPILED_EFFORT } else { EFFORT });
    let turns = run::turns(&set, max_steps);
    let fault = violation.findings.first();
    let goal = fault.map_or(Goal::Hang, Goal::Same);
    // A fault that this run does not show was found in an adversarial order, or by a search of every order.
    let kept = |x: adversarial::FailedRun| run::attempt(&set, &x.turns, &goal, true);
    let found = run::attempt(&set, &turns, &goal, true)
        .or_else(|| kept(adversarial::wrong(prog, rules, violation.cluster, max_steps)?))
        .or_else(|| kept(verdict::wrong(prog, rules, violation.cluster)?))?;
    // Where all agents are blocked, no agent's moves can be left out.
    let found = if fault.is_some() { shorten::shorten(&set, found, &goal) } else { found };
    let turned = fault.filter(|f| turnable(f)).and_then(|f| turn(&set, &found, f));
    let turned = turned.filter(|t| fault.is_some_and(|f| clearer(&set, f, &found, &t.0)));
    let (moves, pair) = match (turned, fault) {
        (Some((moves, pair)), _) => (moves, Some(pair)),
        (None, Some(f)) => {
            let first = earlier(&set, &found, f).first().copied();
            let how = if run::stale(&set, &found) { Meeting::Reversed } else { Meeting::Unordered };
            let pair = first.map(|first| Pair { first, second: found.len() - 1, how });
            (found, pair)
        }
        (None, None) => (found, None),
    };
    let shortest = set.left() > 0;
    let schedule = Schedule { cluster: violation.cluster, moves };
    tell::tell(&set, schedule, pair, shortest)
}

/// Whether the two operations of a fault could come in the other order and still show the fault.
fn turnable(f: &Finding) -> bool {
    use FindingKind::*;
    f.other.is_some() && matches!(f.kind, Raw | War | Waw | ParityAlias | LifeCycle)
}

/// Whether the other order shows the fault better, as a wrong tile or a late wait does.
fn clearer(set: &Setting<'_>, fault: &Finding, found: &[Move], turned: &[Move]) -> bool {
    match fault.kind {
        FindingKind::Raw => !run::stale(set, found) && run::stale(set, turned),
        FindingKind::War | FindingKind::Waw => !run::stale(set, found),
        _ => true,
    }
}

/// The moves with the two operations in the other order, if some run follows them and shows the fault.
fn turn(set: &Setting<'_>, found: &[Move], fault: &Finding) -> Option<(Vec<Move>, Pair)> {
    let last = *found.last()?;
    for x in earlier(set, found, fault) {
        let who = found[x].agent;
        if who == last.agent {
            continue;
        }
        // The agent of the first operation stays in front of it until the second is complete.
        let kept = found.iter().enumerate().filter(|(i, m)| m.agent != who || *i < x || matches!(m.act, Act::Lands(_)));
        let mut turns: Vec<_> = kept.map(|(_, m)| run::turn_of(m)).collect();
        turns.push(run::turn_of(&found[x]));
        let Some(moves) = run::attempt(set, &turns, &Goal::Alike(fault), false) else { continue };
        let moves = shorten::shorten(set, moves, &Goal::Alike(fault));
        let second = moves.len() - 1;
        let first = (0..second).rev().find(|&i| (moves[i].agent, moves[i].site) == (last.agent, last.site));
        if let (true, Some(first)) = (moves[second] == found[x], first) {
            return Some((moves, Pair { first, second, how: Meeting::Reversed }));
        }
    }
    None
}

/// Moves that can be the other operation of a fault, last first.
fn earlier(set: &Setting<'_>, moves: &[Move], fault: &Finding) -> Vec<usize> {
    let Some((site, _)) = &fault.other else { return Vec::new() };
    let last = moves.len().saturating_sub(1);
    (0..last).rev().filter(|&i| moves[i].act == Act::Does && set.same_place(moves[i].site, *site)).collect()
}
