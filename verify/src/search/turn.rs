//! The turns of a state: for each agent, its moves up to its next synchronization.
//!
//! ```text
//!   unreduced:  every step and every landing is a turn
//!   reduced:    [both, right ...] [left or non] [both, left ...]     one turn, nobody else in between
//!                 reads, arithmetic,  arrive, wait,    arithmetic,
//!                 pulled landings     one landing      copies begun
//! ```
//!
//! Accesses that a turn makes before its synchronization count as made in the state itself, because they need no other
//! agent. They are listed even where the synchronization is blocked, so the search sees all races between them.

use warpline_sim::protocol::AgentId;
use warpline_sim::report::FindingKind;

use super::Stop;
use super::cells::Id;
use super::kinds::{ActionKind, Arrives, Bits, KEPT, Maker, Mover, NOBODY};
use super::named::mixed;
use super::table::Tables;

/// An access that a state allows or has in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) agent: AgentId,
    pub(super) maker: Maker,
    pub(super) list: u16,
    pub(super) pc: u32,
}

/// A turn: the agent, the index of its action, and the result.
pub(super) struct Turn {
    pub(super) agent: AgentId,
    pub(super) action: usize,
    /// The moves of the turn, if requested.
    pub(super) moves: Vec<ActionKind>,
}

/// All turns of a state.
#[derive(Default)]
pub(super) struct Turns {
    /// Whether moves are recorded.
    told: bool,
    pub(super) list: Vec<Turn>,
    /// The successor states, after the successors of earlier states.
    pub(super) rows: Vec<Id>,
    steps: Vec<Access>,
    flights: Vec<Access>,
    /// A fault, its turn, and the remaining trip counts.
    pub(super) fault: Option<(FindingKind, Turn, Id)>,
    /// Two accesses of one agent that may coincide.
    race: Option<(Access, Access)>,
    /// Moves up to an access of this agent's instruction, if requested.
    pub(super) until: Option<(AgentId, u32)>,
    pub(super) before: Vec<ActionKind>,
    moves: Vec<ActionKind>,
    /// Agents that are about to arrive at a numbered barrier, in the state itself or in their turn: see
    /// [`super::kinds::Known`].
    arrive: Vec<(AgentId, Arrives)>,
    /// For each agent, the index of the facts about its cell.
    places: Vec<usize>,
    /// The state of a turn in progress.
    row: Vec<Id>,
}

/// Largest number of moves in one turn; it ends a loop without synchronization.
const MOVES: usize = 64;

/// The continuation of an agent's moves.
enum On {
    /// Further moves follow.
    On,
    /// The turn is over.
    Over,
}

impl Turns {
    fn clear(&mut self) {
        self.list.clear();
        self.steps.clear();
        self.flights.clear();
        self.arrive.clear();
        (self.fault, self.race) = (None, None);
    }

    /// Turns with recorded moves.
    pub(super) fn telling() -> Turns {
        Turns { told: true, ..Turns::default() }
    }

    /// Computes the turns of a state; successors are appended to `rows`.
    pub(super) fn of(&mut self, tables: &mut Tables<'_>, row: &[Id], steady: bool, reduced: bool) -> Result<(), Stop> {
        self.clear();
        self.places.clear();
        let mut quiet = true;
        for a in 0..tables.agents() {
            let k = tables.place(a, row)?;
            self.places.push(k);
            quiet &= !tables.known[k].meets;
            for &(m, list, pc) in &tables.known[k].flights {
                self.flights.push(Access { agent: a, maker: mine(tables, a, m), list, pc });
            }
        }
        for a in 0..tables.agents() {
            let k = self.places[a as usize];
            for action in 0..tables.known[k].actions.len() {
                if action == 0 {
                    self.comes(tables, a, k);
                }
                if reduced && action == 0 {
                    self.turn(tables, a, row, (steady, quiet))?;
                    continue;
                }
                let g = tables.outcomes(a, (k, action), row, steady)?;
                if reduced && matches!(single(tables, g), Some(Mover::Both | Mover::Right)) || stays(tables, g) {
                    continue;
                }
                self.moves.clear();
                self.moved(tables, (a, k, action), g);
                self.end(tables, (a, action, g), row, None)?;
            }
        }
        if self.arrive.len() > 1
            && self.fault.is_none()
            && let Some(agent) = mixed(tables, row, &self.arrive)
        {
            let turn = Turn { agent, action: 0, moves: Vec::new() };
            self.fault = Some((FindingKind::ArrivalCount, turn, row[0]));
        }
        Ok(())
    }

    /// Records an agent that is about to arrive at a numbered barrier.
    fn comes(&mut self, tables: &Tables<'_>, a: AgentId, k: usize) {
        if let Some(at) = tables.known[k].arrives
            && self.arrive.last().is_none_or(|last| last.0 != a)
        {
            self.arrive.push((a, at));
        }
    }

    /// Records a move in a state: its access, and conflicts with accesses of its own agent.
    fn moved(&mut self, tables: &Tables<'_>, (a, k, action): (AgentId, usize, usize), g: u32) {
        for (_, out) in tables.group(g) {
            if out.touches == 0 {
                continue;
            }
            let access = Access { agent: a, maker: mine(tables, a, out.maker), list: out.touches, pc: out.pc };
            if self.until == Some((a, out.pc)) {
                self.before = self.moves.clone();
            }
            for &(m, list, pc) in &tables.known[k].flights {
                let other = Access { agent: a, maker: mine(tables, a, m), list, pc };
                if apart(access, other) && tables.conflict(list, out.touches) {
                    self.race.get_or_insert((access, other));
                }
            }
            self.steps.push(access);
        }
        if self.told {
            self.moves.push(tables.known[k].actions[action].what);
        }
    }

    /// Ends a turn with a move, once for each set of trip counts that it distinguishes. `on` continues with moves that
    /// can begin at once.
    fn end(
        &mut self,
        tables: &mut Tables<'_>,
        (a, action, g): (AgentId, usize, u32),
        row: &[Id],
        on: Option<(bool, bool)>,
    ) -> Result<(), Stop> {
        for i in 0..tables.group(g).len() {
            let many = tables.group(g).len() > 1;
            let (tape, out) = &tables.group(g)[i];
            let tape = kept(*tape, row[0]);
            if let Some(kind) = out.fault {
                let turn = Turn { agent: a, action, moves: self.moves.clone() };
                self.fault.get_or_insert((kind, turn, tape));
                return Ok(());
            }
            if !out.goes && !many {
                return Ok(());
            }
            let mut rows = std::mem::take(&mut self.rows);
            let first = rows.len();
            rows.extend_from_slice(row);
            let next = &mut rows[first..];
            next[0] = tape;
            tables.write(a, next, out);
            let told = self.moves.len();
            if let Some((steady, quiet)) = on {
                for _ in 0..MOVES {
                    if let On::Over = self.further(tables, (a, action), next, (steady, quiet))? {
                        break;
                    }
                }
            }
            self.rows = rows;
            self.list.push(Turn { agent: a, action, moves: if self.told { self.moves.clone() } else { Vec::new() } });
            self.moves.truncate(told);
        }
        Ok(())
    }

    /// A move after a turn's synchronization that can be made at once, if there is one.
    fn further(
        &mut self,
        tables: &mut Tables<'_>,
        (a, turn): (AgentId, usize),
        row: &mut [Id],
        (steady, quiet): (bool, bool),
    ) -> Result<On, Stop> {
        let k = tables.place(a, row)?;
        if self.landed(tables, (a, k), row, steady)? {
            return Ok(On::On);
        }
        let g = tables.outcomes(a, (k, 0), row, steady)?;
        let [(tape, out)] = &tables.group(g)[..] else { return Ok(On::Over) };
        let free = matches!(out.mover, Mover::Both | Mover::Left) || out.ends && quiet;
        if !free || !out.goes {
            return Ok(On::Over);
        }
        if let Some(kind) = out.fault {
            self.moves.push(ActionKind::Step);
            let turn = Turn { agent: a, action: turn, moves: self.moves.clone() };
            self.fault.get_or_insert((kind, turn, kept(*tape, row[0])));
            return Ok(On::Over);
        }
        row[0] = kept(*tape, row[0]);
        tables.write(a, row, out);
        if self.told {
            self.moves.push(ActionKind::Step);
        }
        Ok(On::On)
    }

    /// Lands a flight that only its own agent can observe, if there is one.
    fn landed(
        &mut self,
        tables: &mut Tables<'_>,
        (a, k): (AgentId, usize),
        row: &mut [Id],
        steady: bool,
    ) -> Result<bool, Stop> {
        for action in 1..tables.known[k].actions.len() {
            let g = tables.outcomes(a, (k, action), row, steady)?;
            if single(tables, g) == Some(Mover::Both) && tables.group(g)[0].1.goes {
                tables.write(a, row, &tables.group(g)[0].1);
                if self.told {
                    self.moves.push(tables.known[k].actions[action].what);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An agent's turn.
    fn turn(&mut self, tables: &mut Tables<'_>, a: AgentId, state: &[Id], how: (bool, bool)) -> Result<(), Stop> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(state);
        self.moves.clear();
        let made = self.turned(tables, a, (state, &mut row), how);
        self.row = row;
        made
    }

    fn turned(
        &mut self,
        tables: &mut Tables<'_>,
        a: AgentId,
        (state, row): (&[Id], &mut [Id]),
        (steady, quiet): (bool, bool),
    ) -> Result<(), Stop> {
        for _ in 0..MOVES {
            let k = tables.place(a, row)?;
            if self.landed(tables, (a, k), row, steady)? {
                continue;
            }
            self.comes(tables, a, k);
            let g = tables.outcomes(a, (k, 0), row, steady)?;
            let goes = tables.group(g).len() > 1 || tables.group(g)[0].1.goes;
            if !goes {
                if self.pulled(tables, (a, k), row, steady)? {
                    continue;
                }
                // Moves on the way are delayed, unless a flight that the next step waits for starts there.
                let mut lands = false;
                for action in 1..tables.known[k].actions.len() {
                    let g = tables.outcomes(a, (k, action), row, steady)?;
                    lands |= tables.group(g).iter().any(|(_, out)| out.goes);
                }
                if lands && *row != *state {
                    self.cut(a, row);
                }
                return Ok(());
            }
            self.moved(tables, (a, k, 0), g);
            let free = matches!(single(tables, g), Some(Mover::Both | Mover::Right));
            if !free {
                return self.end(tables, (a, 0, g), row, Some((steady, quiet)));
            }
            let (tape, out) = &tables.group(g)[0];
            row[0] = kept(*tape, row[0]);
            tables.write(a, row, out);
        }
        self.cut(a, row);
        Ok(())
    }

    /// Ends a turn at its current state.
    fn cut(&mut self, a: AgentId, row: &[Id]) {
        self.rows.extend_from_slice(row);
        self.list.push(Turn { agent: a, action: 0, moves: self.moves.clone() });
    }

    /// Ends the fewest of the agent's own accesses that its next step waits for. Nothing changes where this does not
    /// help.
    fn pulled(
        &mut self,
        tables: &mut Tables<'_>,
        (a, k): (AgentId, usize),
        row: &mut [Id],
        steady: bool,
    ) -> Result<bool, Stop> {
        if tables.known[k].actions.len() == 1 {
            return Ok(false);
        }
        let mut tried: Vec<(Vec<Id>, Vec<ActionKind>)> = vec![(row.to_vec(), Vec::new())];
        let mut at = 0;
        while at < tried.len() {
            let now = tried[at].0.clone();
            let k = tables.place(a, &now)?;
            for action in 1..tables.known[k].actions.len() {
                let g = tables.outcomes(a, (k, action), &now, steady)?;
                let out = &tables.group(g)[0].1;
                if !matches!(single(tables, g), Some(Mover::Right | Mover::Both)) || !out.goes {
                    continue;
                }
                let mut next = now.clone();
                tables.write(a, &mut next, out);
                if tried.iter().any(|(row, _)| *row == next) {
                    continue;
                }
                let mut moves = tried[at].1.clone();
                moves.push(tables.known[k].actions[action].what);
                let k = tables.place(a, &next)?;
                let step = tables.outcomes(a, (k, 0), &next, steady)?;
                if tables.group(step).iter().any(|(_, out)| out.goes) {
                    row.copy_from_slice(&next);
                    if self.told {
                        self.moves.extend(moves);
                    }
                    return Ok(true);
                }
                tried.push((next, moves));
            }
            at += 1;
        }
        Ok(false)
    }

    /// Two conflicting accesses that may coincide or are in flight together.
    pub(super) fn race(&self, tables: &Tables<'_>) -> Option<(Access, Access)> {
        if self.race.is_some() {
            return self.race;
        }
        // A quick test excludes most states.
        let (mut seen, mut may) = (Bits::default(), false);
        for x in self.flights.iter().chain(&self.steps) {
            let bits = tables.bits(x.list);
            may |= bits.may_conflict(seen);
            seen = seen.and(bits);
        }
        if !may {
            return None;
        }
        let hit = |x: &Access, y: &Access| apart(*x, *y) && tables.conflict(x.list, y.list);
        let others = |i: usize| {
            let x = self.steps[i];
            let rest = self.steps[i + 1..].iter().chain(&self.flights);
            rest.into_iter().find(|y| x.agent != y.agent && hit(&x, y)).map(|y| (x, *y))
        };
        // Both are in flight: the later one began at once, after its agent's turn.
        let flying = |i: usize| {
            let x = self.flights[i];
            self.flights[i + 1..].iter().find(|y| hit(&x, y)).map(|y| (x, *y))
        };
        (0..self.steps.len()).find_map(others).or_else(|| (0..self.flights.len()).find_map(flying))
    }
}

fn apart(x: Access, y: Access) -> bool {
    x.maker == NOBODY || x.maker != y.maker
}

/// A maker renamed to the agent itself, where it is stored under the first agent of its class.
fn mine(tables: &Tables<'_>, a: AgentId, m: Maker) -> Maker {
    let first = tables.cells.first[a as usize] as Maker;
    if m != NOBODY && m >> 4 == first { (a as Maker) << 4 | m & 15 } else { m }
}

/// The directions of a move that trip counts do not distinguish.
fn single(tables: &Tables<'_>, g: u32) -> Option<Mover> {
    match &tables.group(g)[..] {
        [(_, out)] => Some(out.mover),
        _ => None,
    }
}

/// Whether a move changes nothing and accesses nothing: its agent waits.
fn stays(tables: &Tables<'_>, g: u32) -> bool {
    matches!(&tables.group(g)[..], [(_, out)] if !out.goes && out.touches == 0)
}

/// The possible trip counts after a move.
pub(super) fn kept(tape: Id, before: Id) -> Id {
    if tape == KEPT { before } else { tape }
}
