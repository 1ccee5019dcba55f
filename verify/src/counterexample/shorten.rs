//! Removal of moves that a fault does not need.
//!
//! An agent's moves can be removed only from its last one backwards, because later moves depend on earlier ones. So
//! each agent has a smallest number of turns, which a binary search finds, and each landing is needed or not. Every
//! shorter schedule is run, and only one that shows the fault is kept.

use warpline_sim::protocol::AgentId;
use warpline_sim::schedule::{Act, Move};

use super::run::{Goal, Setting, Turn, attempt, turn_of};

/// The moves without those that the goal does not need.
pub(super) fn shorten(set: &Setting<'_>, mut moves: Vec<Move>, goal: &Goal<'_>) -> Vec<Move> {
    loop {
        let before = moves.len();
        let mut agents: Vec<AgentId> = moves.iter().map(|m| m.agent).collect();
        agents.sort_unstable();
        agents.dedup();
        for a in agents {
            moves = fewest_turns(set, moves, a, goal);
        }
        moves = without_landings(set, moves, goal);
        moves = without_waits(set, moves, goal);
        if moves.len() == before || set.left() == 0 {
            return moves;
        }
    }
}

fn of(m: &Move, a: AgentId) -> bool {
    m.agent == a && !matches!(m.act, Act::Lands(_))
}

/// The moves with as few turns of one agent as the goal is met with.
fn fewest_turns(set: &Setting<'_>, mut best: Vec<Move>, a: AgentId, goal: &Goal<'_>) -> Vec<Move> {
    let (mut few, mut enough) = (0, best.iter().filter(|m| of(m, a)).count());
    let all: Vec<Turn> = best.iter().map(turn_of).collect();
    // Mostly an agent is not needed at all, or for all it does.
    let mut tried = 0;
    // Without steps left no shorter schedule is found, and to write down a long one takes time, too.
    while few < enough && set.left() > 0 {
        let keep = if tried == 0 {
            0
        } else if tried == 1 {
            enough - 1
        } else {
            few + (enough - few) / 2
        };
        tried += 1;
        let mut had = 0;
        let turns: Vec<Turn> = all
            .iter()
            .copied()
            .filter(|t| {
                had += (*t == Turn::Agent(a)) as usize;
                *t != Turn::Agent(a) || had <= keep
            })
            .collect();
        match attempt(set, &turns, goal, false) {
            Some(moves) => {
                enough = keep;
                best = moves;
            }
            None => few = keep + 1,
        }
    }
    best
}

/// The moves without the arrivals that can as well come at the agent's next turn, each tried alone, last first.
fn without_waits(set: &Setting<'_>, mut best: Vec<Move>, goal: &Goal<'_>) -> Vec<Move> {
    let mut at = best.len();
    while at > 0 && set.left() > 0 {
        at = at.min(best.len()) - 1;
        if best[at].act == Act::Waits {
            let turns: Vec<Turn> = best.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, m)| turn_of(m)).collect();
            let less = attempt(set, &turns, goal, false).filter(|moves| moves.len() < best.len());
            best = less.unwrap_or(best);
        }
    }
    best
}

/// The moves without the landings that the goal is met without: half of them at once, then fewer.
fn without_landings(set: &Setting<'_>, mut best: Vec<Move>, goal: &Goal<'_>) -> Vec<Move> {
    let landings = |moves: &[Move]| moves.iter().filter(|m| matches!(m.act, Act::Lands(_))).count();
    let mut size = landings(&best);
    while size > 0 && set.left() > 0 {
        let mut end = landings(&best);
        while end > 0 {
            let from = end.saturating_sub(size);
            let mut nth = 0;
            let turns: Vec<Turn> = best
                .iter()
                .filter(|m| {
                    let landing = matches!(m.act, Act::Lands(_));
                    nth += landing as usize;
                    !(landing && (from..end).contains(&(nth - 1)))
                })
                .map(turn_of)
                .collect();
            if let Some(moves) = attempt(set, &turns, goal, false) {
                best = moves;
            }
            end = from.min(landings(&best));
        }
        size /= 2;
    }
    best
}
