//! A fault as a schedule: the fewest moves from the start to it, told in words, that any run which keeps to them meets.
//!
//! ```text
//!   Violation ── the run that met it ──▶ turns ── shorten ──▶ no turn can be left out ── turn round ──▶ Witness
//! ```
//!
//! What is left are the predecessors of the two operations that nothing orders, and the two (docs/proof.md, lemma 1): an
//! agent goes only as far as it must, a flight lands only where somebody waits for it. Then the two change places where
//! the kernel lets them, so that the fault is seen: the read comes after the write that overtakes it and finds another
//! tile, the waiter comes after its parity has flipped back. Where the first is a copy under way, the order as found shows
//! it: it has not landed.

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

pub(crate) use run::Turn;

/// A schedule that leads to a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The moves.
    pub schedule: Schedule,
    /// The same in words, move by move.
    pub told: Vec<MoveDescription>,
    /// The two operations that nothing orders; `None` where the fault is not about two.
    pub pair: Option<Pair>,
    /// What the run meets that keeps to the schedule; the fault is among it.
    pub findings: Vec<Finding>,
    /// Who waits for what, where nobody can go on then.
    pub hang: Vec<Waiting>,
    /// No single agent's last move, and no landing, can be left out. False where the search for less reached its limit.
    pub shortest: bool,
}

/// Two operations that nothing orders, as indices of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The one that comes first.
    pub first: usize,
    /// The other, which is the last move.
    pub second: usize,
    /// How they meet here.
    pub how: Meeting,
}

/// How the two operations of a fault meet in its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// The second is meant to come before the first: it is too late, or finds what it should not.
    Reversed,
    /// The first is a copy or a multiplication that has not landed when the second comes.
    UnderWay,
    /// One behind the other, with nothing that orders them.
    Unordered,
}

/// A move in words.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveDescription {
    /// Who.
    pub agent: String,
    /// The statement, as an index into the program's sites.
    pub site: u32,
    /// What happens.
    pub act: Act,
    /// What it touches: `reads a[1]`, `phase 2 of full[1]`, `completes phase 0 of empty[1]`.
    pub touches: Vec<String>,
}

/// Steps spent on making a schedule shorter, at most.
const EFFORT: u64 = 3_000_000;

/// The schedule of a violation of this kernel (the one of the violation's trip count); `None` where the run that met it
/// cannot be made again within `max_steps`.
pub fn witness(prog: &Program, rules: Rules, violation: &Violation, max_steps: u64) -> Option<Witness> {
    // A livelock is met in every order, and at no move in particular.
    if violation.findings.first().is_some_and(|f| f.code == Code::Livelock) {
        return None;
    }
    let set = Setting::new(prog, rules, violation.cluster, EFFORT);
    let turns = run::turns(&set, max_steps);
    let fault = violation.findings.first();
    let goal = fault.map_or(Goal::Hang, Goal::Same);
    // A fault that this run does not meet was found in an order that holds a warp back, or by a search of every order.
    let kept = |x: adversarial::FailedRun| run::attempt(&set, &x.turns, &goal, true);
    let found = run::attempt(&set, &turns, &goal, true)
        .or_else(|| kept(adversarial::wrong(prog, rules, violation.cluster, max_steps)?))
        .or_else(|| kept(verdict::wrong(prog, rules, violation.cluster)?))?;
    // Where all have to stand still, nobody can be left out.
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

/// Whether the two operations of a fault could come the other way round and still show it.
fn turnable(f: &Finding) -> bool {
    use FindingKind::*;
    f.other.is_some() && matches!(f.kind, Raw | War | Waw | ParityAlias | LifeCycle)
}

/// Whether the other order shows the fault better: a wrong tile does, and so does what comes too late to be in time.
fn clearer(set: &Setting<'_>, fault: &Finding, found: &[Move], turned: &[Move]) -> bool {
    match fault.kind {
        FindingKind::Raw => !run::stale(set, found) && run::stale(set, turned),
        FindingKind::War | FindingKind::Waw => !run::stale(set, found),
        _ => true,
    }
}

/// The moves with the two operations in the other order, if some run goes so and meets the fault.
fn turn(set: &Setting<'_>, found: &[Move], fault: &Finding) -> Option<(Vec<Move>, Pair)> {
    let last = *found.last()?;
    for x in earlier(set, found, fault) {
        let who = found[x].agent;
        if who == last.agent {
            continue;
        }
        // Whoever made the first stays in front of it until the second is over.
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
