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
//!     an agent goes on to its next synchronisation at once: what others cannot notice, or would     (turn, mover)
//!       notice only as a race, is no state of its own
//!            │
//!            ▼
//!   a schedule of the kernel itself, at its own trip count                                          (replay)
//! ```
//!
//! It knows nothing of happens-before. A race is two conflicting accesses that can be made, or are under way, in one
//! reachable state; a deadlock is a state in which nobody can go on; a numbered barrier is misused where more can come next than
//! it has places left; a parity answers as the hardware's does. That makes it
//! an independent judge of the verifier that decides from one run, and the only one where one run decides nothing. What no
//! order of steps shows (fences, scopes, sums over a whole loop) it does not see.

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

/// What a search of all orders found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchResult {
    /// Nothing wrong in any order.
    Clean,
    /// In this many moves of agents and flights, nobody can go on.
    Deadlock(usize),
    /// Two accesses to one place, at least one a write, can coincide: their instructions.
    Race(u32, u32),
    /// Some order meets a fault of this kind that is no race.
    Fault(FindingKind),
    /// More states than allowed.
    TooMany,
    /// The search does not apply, and why.
    Unfit(String),
}

/// One move of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// An agent steps.
    Step(AgentId),
    /// A flight lands: the agent that keeps it, and its place among that agent's flights, as
    /// [`warpline_sim::protocol::World::flights_of`] lists them.
    Land(AgentId, usize),
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchReport {
    /// What was found first, in breadth-first order.
    pub found: SearchResult,
    /// States looked at.
    pub states: usize,
    /// A shortest schedule to what was found; empty where nothing was.
    pub moves: Vec<Move>,
    /// The trip count of that schedule, where they were varied.
    pub trips: Option<i64>,
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// States to look at, at most.
    pub states: usize,
    /// Bytes that the states take, at most.
    pub memory: u64,
    /// Steps that nobody else can notice go first and alone, and interchangeable warps are sorted. Without it every order
    /// of everything is a state of its own.
    pub reduced: bool,
    /// Every step is made in the whole world as well, and the two compared. For tests: it is slow.
    pub checked: bool,
}

impl Settings {
    /// Reduced, with so many states.
    pub fn of(states: usize) -> Settings {
        Settings { states, memory: u64::MAX, reduced: true, checked: false }
    }
}

/// Agents of a cluster, at most: 16 CTAs of 32 warps, each of two lane classes.
const AGENTS: usize = 1024;

/// Searches all orders of one cluster of a kernel as it is.
pub fn search(prog: &Program, rules: Rules, cluster: i64, settings: Settings) -> SearchReport {
    if let Some(none) = too_many(prog) {
        return none;
    }
    go(&Texts::one(prog), rules, cluster, settings)
}

/// Searches all orders for all trip counts of the main loop at once, or says why it cannot.
pub fn search_every(at: AtTrips<'_>, rules: Rules, cluster: i64, settings: Settings) -> SearchReport {
    if let Some(none) = (0..).take(16).find_map(at).and_then(|prog| too_many(&prog)) {
        return none;
    }
    let (mut start, mut begun) = (1, None);
    loop {
        match Texts::every(at, rules, cluster, start) {
            Ok((texts, last)) => {
                let found = go(&texts, rules, cluster, settings);
                // What repeats soon makes few states; each step taken for a repeated one is held to that.
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
        return Some(unfit("a search does not follow counters in global memory".into()));
    }
    let n = agents(prog).len();
    (n > AGENTS).then(|| unfit(format!("{n} warps and elected lanes are more than the {AGENTS} that can be searched")))
}

/// Why a search cannot go on as it is.
enum Stop {
    /// This part changes and was taken for one that does not: begin again with it.
    Changes(warpline_sim::protocol::StatePart),
    /// Others read or change what was taken for this agent's own: begin again and let it be.
    Shares(AgentId),
    /// Another agent changes an mbarrier that one was taken to change alone: begin again.
    Written(u32),
    /// Warps that were taken for interchangeable are not: begin again without that class.
    Unlike(usize),
    /// It does not apply.
    Unfit(String),
    /// More kinds of something than numbers.
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
