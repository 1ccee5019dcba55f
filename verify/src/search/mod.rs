//! Explicit search: every order in which agents can step and flights can land.
//!
//! ```text
//!   state = one small number a part (agent, mbarrier, rendezvous, piece)                            (cells)
//!            │  a move reads and changes a few parts: made once in a world (make), then looked up     (table)
//!            ▼
//!   breadth first, every state once (store); races, faults, states nobody leaves (turn)             (explore)
//!     all trip counts at once: how many are still possible is a part of the state, split where an   (trips)
//!       agent asks; what is a period past the start is the same state, moved back
//!     warps of one text are interchangeable: what they hold is sorted                               (classes)
//!     an agent goes on to its next synchronization at once: what others cannot notice, or would     (turn, mover)
//!       notice only as a race, is no state of its own
//!            │
//!            ▼
//!   a schedule of the kernel itself, at its own trip count                                          (replay)
//! ```
//!
//! The search does not use happens-before. A race is a reachable state with two conflicting accesses that can be made,
//! or are in flight. A deadlock is a state in which no agent can proceed. A numbered barrier is misused where more
//! arrivals can come next than it has places left. A parity answers as the hardware's does. So the search is an
//! independent check of the verifier that decides from one run, and the only check where one run decides nothing.
//! Faults that no order of steps shows (fences, scopes, sums over a whole loop) are outside of the search.

mod cells;
mod classes;
mod explore;
mod kinds;
mod make;
mod mover;
mod named;
mod replay;
mod store;
mod table;
mod trips;
mod turn;
pub(crate) mod verdict;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, Rules, agents};
use warpline_sim::report::FindingKind;

use crate::AtTrips;
use explore::explore;
use table::Tables;
use trips::Texts;

/// The result of a search of all orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchResult {
    /// No order has a fault.
    Clean,
    /// After this many moves of agents and flights, no agent can proceed.
    Deadlock(usize),
    /// Two accesses to one place, at least one a write, can coincide: their instructions.
    Race(u32, u32),
    /// Some order has a fault of this kind other than a race.
    Fault(FindingKind),
    /// More states than allowed.
    TooMany,
    /// The search does not apply, with the reason.
    Unfit(String),
}

/// One move of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// An agent steps.
    Step(AgentId),
    /// A flight lands: the agent whose part the flight is in, and the flight's index in
    /// [`warpline_sim::protocol::World::flights_of`].
    Land(AgentId, usize),
}

/// The report of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchReport {
    /// The first result, in breadth-first order.
    pub found: SearchResult,
    /// Number of states visited.
    pub states: usize,
    /// A shortest schedule to the result; empty where no fault was found.
    pub moves: Vec<Move>,
    /// The trip count of that schedule, where trip counts were varied.
    pub trips: Option<i64>,
}

/// The settings of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest number of states.
    pub states: usize,
    /// Largest memory of the states, in bytes.
    pub memory: u64,
    /// Whether the search uses partial-order reduction and symmetry reduction. Steps that no other agent can observe
    /// then go first and alone, and interchangeable warps are sorted.
    pub reduced: bool,
    /// Whether every step is also made in the whole world and the two are compared. For tests, since it is slow.
    pub checked: bool,
}

impl Settings {
    /// Settings with reduction and this many states.
    pub fn of(states: usize) -> Settings {
        Settings { states, memory: u64::MAX, reduced: true, checked: false }
    }
}

/// Largest number of agents of a cluster: 16 CTAs of 32 warps, each of two lane classes.
const AGENTS: usize = 1024;

/// Searches all orders of one cluster of a kernel as it is.
pub fn search(prog: &Program, rules: Rules, cluster: i64, settings: Settings) -> SearchReport {
    if let Some(none) = too_many(prog) {
        return none;
    }
    go(&Texts::one(prog), rules, cluster, settings)
}

/// Searches all orders for all trip counts of the main loop at once, or returns why the search does not apply.
pub fn search_every(at: AtTrips<'_>, rules: Rules, cluster: i64, settings: Settings) -> SearchReport {
    if let Some(none) = (0..).take(16).find_map(at).and_then(|prog| too_many(&prog)) {
        return none;
    }
    let (mut start, mut begun) = (1, None);
    loop {
        match Texts::every(at, rules, cluster, start) {
            Ok((texts, last)) => {
                let found = go(&texts, rules, cluster, settings);
                // An early start of repetition makes few states. Each repeated step is checked against the step that it
                // repeats.
                if start >= last || !matches!(found.found, SearchResult::Unfit(_)) {
                    return found;
                }
                (start, begun) = (start + 1, Some(found));
            }
            Err(why) => return begun.unwrap_or_else(|| unfit(why)),
        }
    }
}

fn unfit(why: String) -> SearchReport {
    SearchReport { found: SearchResult::Unfit(why), states: 0, moves: Vec::new(), trips: None }
}

fn too_many(prog: &Program) -> Option<SearchReport> {
    if !prog.counters.is_empty() {
        return Some(unfit("a search does not model counters in global memory".into()));
    }
    let n = agents(prog).len();
    (n > AGENTS).then(|| unfit(format!("{n} warps and elected lanes are more than the {AGENTS} that can be searched")))
}

/// The reason why a search must begin again or end.
enum Stop {
    /// This part changes but was assumed constant: begin again with the part.
    Changes(warpline_sim::protocol::StatePart),
    /// Other agents read or change a part that was assumed to be this agent's own: begin again without the assumption.
    Shares(AgentId),
    /// Another agent changes an mbarrier that one agent was assumed to change alone: begin again.
    Written(u32),
    /// Warps that were assumed interchangeable are not: begin again without that class.
    Unlike(usize),
    /// The search does not apply.
    Unfit(String),
    /// There are more values of one kind than numbers for them.
    TooMany,
}

fn go(texts: &Texts, rules: Rules, cluster: i64, settings: Settings) -> SearchReport {
    let mut plan = cells::Plan::of(texts, rules, cluster, settings.reduced);
    loop {
        let tables = Tables::new(texts, (rules, cluster), &plan, settings.checked);
        match tables.and_then(|mut tables| explore(&mut tables, settings)) {
            Ok(searched) => return searched,
            Err(Stop::Changes(part)) => plan.parts.push(part),
            Err(Stop::Shares(a)) => plan.shared.push(a),
            Err(Stop::Written(bar)) => plan.written.push(bar),
            Err(Stop::Unlike(class)) => {
                plan.classes.remove(class);
            }
            Err(Stop::Unfit(why)) => return unfit(why),
            Err(Stop::TooMany) => {
                return SearchReport {
                    found: SearchResult::TooMany,
                    states: settings.states,
                    moves: Vec::new(),
                    trips: None,
                };
            }
        }
    }
}
