//! Explicit search: every order in which agents can step and flights can land, for one trip count.
//!
//! It knows nothing of happens-before. A race is two conflicting accesses that can be made, or are under way, in one
//! reachable state; a deadlock is a state in which nobody can go on. That makes it an independent judge of the verifier
//! that decides from one run, and the tests hold the two against each other on kernels small enough for it.

use std::collections::{BTreeMap, HashSet, VecDeque};

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, FlightId, Rules, Step, StreamKind, World};
use warpline_sim::report::FindingKind;

/// What a search of all orders found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
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
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// What was found first, in breadth-first order.
    pub found: Found,
    /// States looked at.
    pub states: usize,
}

/// Who makes an access: an agent itself, or a stream of one, whose own operations are in order.
type Maker = (AgentId, Option<StreamKind>);

/// An access under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Under {
    maker: Option<Maker>,
    pc: u32,
    pieces: Vec<(u32, bool)>,
}

#[derive(Clone)]
struct State<'p> {
    world: World<'p>,
    flying: BTreeMap<FlightId, Under>,
    depth: usize,
}

/// Searches all orders of one cluster.
pub fn search(prog: &Program, rules: Rules, cluster: i64, max_states: usize) -> Searched {
    let mut first = World::new(prog, rules, cluster, &[]);
    first.accesses = Some(Vec::new());
    let mut queue = VecDeque::from([State { world: first, flying: BTreeMap::new(), depth: 0 }]);
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    while let Some(state) = queue.pop_front() {
        if !seen.insert(key(&state)) {
            continue;
        }
        if seen.len() > max_states {
            return Searched { found: Found::TooMany, states: seen.len() };
        }
        match expand(&state, &mut queue) {
            None => {}
            Some(found) => return Searched { found, states: seen.len() },
        }
    }
    Searched { found: Found::Clean, states: seen.len() }
}

/// Adds a state's successors; what is wrong with the state, if anything.
fn expand<'p>(state: &State<'p>, queue: &mut VecDeque<State<'p>>) -> Option<Found> {
    let n = state.world.agents().len() as AgentId;
    let mut moves: Vec<Under> = Vec::new();
    let mut stuck = true;
    for a in 0..n {
        let mut next = state.clone();
        next.depth += 1;
        match next.world.step(a) {
            Step::Did { pc, did, .. } => {
                stuck = false;
                let pieces = next.world.accesses.replace(Vec::new()).unwrap_or_default();
                let flights = did.flights();
                // An access by a flight lasts until it lands; registers it fills are its agent's own.
                let maker = flights.first().map(|f| next.world.stream_of(*f).map(|(owner, kind)| (owner, Some(kind))));
                let under = Under { maker: maker.unwrap_or(Some((a, None))), pc, pieces };
                if let Some(f) = flights.first()
                    && !matches!(under.maker, Some((_, Some(StreamKind::Scoreboard))))
                {
                    next.flying.insert(*f, under.clone());
                }
                for f in flights.iter().skip(1) {
                    let none = Under { maker: None, pc, pieces: Vec::new() };
                    next.flying.insert(*f, none);
                }
                if let Some(found) = fault(&next.world) {
                    return Some(found);
                }
                moves.push(under);
                queue.push_back(next);
            }
            // A rendezvous counts an arrival although the agent then waits.
            Step::Blocked { .. } => {
                let mut before = Vec::new();
                let mut after = Vec::new();
                state.world.fingerprint(&mut before);
                next.world.fingerprint(&mut after);
                if before != after {
                    stuck = false;
                    if let Some(found) = fault(&next.world) {
                        return Some(found);
                    }
                    queue.push_back(next);
                }
            }
            Step::Ended => {
                if !state.world.agent_ended(a) {
                    stuck = false;
                    if let Some(found) = fault(&next.world) {
                        return Some(found);
                    }
                    queue.push_back(next);
                }
            }
            Step::Broken => return Some(Found::Fault(FindingKind::Range)),
        }
    }
    for (i, x) in moves.iter().enumerate() {
        let others = moves[i + 1..].iter().chain(state.flying.values());
        if let Some(y) = others.into_iter().find(|y| conflict(x, y)) {
            return Some(Found::Race(x.pc.min(y.pc), x.pc.max(y.pc)));
        }
    }
    for f in state.world.landable() {
        stuck = false;
        let mut next = state.clone();
        next.depth += 1;
        next.world.land(f);
        next.flying.remove(&f);
        if let Some(found) = fault(&next.world) {
            return Some(found);
        }
        queue.push_back(next);
    }
    (stuck && !state.world.ended()).then_some(Found::Deadlock(state.depth))
}

/// A fault the world itself noticed that rests on no happens-before: counts, bytes, phases, tiles.
fn fault(world: &World<'_>) -> Option<Found> {
    let kinds = [FindingKind::TxBytes, FindingKind::ArrivalCount, FindingKind::Coverage];
    world.findings.iter().find(|f| !f.note && kinds.contains(&f.kind)).map(|f| Found::Fault(f.kind))
}

/// Whether two accesses touch one piece, one of them writing, and no order of their makers' own decides.
fn conflict(x: &Under, y: &Under) -> bool {
    if x.maker.is_some() && x.maker == y.maker {
        return false;
    }
    x.pieces.iter().any(|(p, w)| y.pieces.iter().any(|(q, v)| p == q && (*w || *v)))
}

/// The state as numbers: the world's, with every flight's place in its stream and what it signals.
fn key(state: &State<'_>) -> Vec<u64> {
    let mut out = Vec::new();
    state.world.fingerprint(&mut out);
    state.world.flights_fingerprint(&mut out);
    out
}
