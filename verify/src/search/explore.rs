//! Breadth-first search over all states, each visited once.

use std::ops::Range;

use warpline_sim::protocol::{AgentId, PartState, StatePart};

use super::cells::Id;
use super::replay::{End, replay};
use super::store::{From, Store};
use super::table::Tables;
use super::turn::Turns;
use super::{SearchReport, SearchResult, Settings, Stop};

/// A turn as one number: the agent and the index of its action.
pub(super) fn packed(a: AgentId, action: usize) -> u32 {
    a << 8 | (action as u32).min(255)
}

/// States whose successors are computed together, while successors of earlier states are inserted into the store. With
/// fewer states the overhead shows; with many more, the successors leave the caches.
const TOGETHER: usize = 2048;

/// Consecutive states in the store, with their successors.
#[derive(Default)]
struct Several {
    states: Range<usize>,
    turns: Turns,
    from: Vec<From>,
}

impl Several {
    /// Computes the successors of the states. Stops at the first state with a fault, or in which no agent can proceed.
    fn follow(
        &mut self,
        tables: &mut Tables<'_>,
        rows: &[Id],
        reduced: bool,
    ) -> Result<Option<(End, SearchResult)>, Stop> {
        let width = 1 + tables.cells.len();
        let settles = reduced || tables.texts.every.is_some();
        self.turns.rows.clear();
        self.from.clear();
        for (at, row) in self.states.clone().zip(rows.chunks_exact(width)) {
            let (steady, first) = (steady(tables, row)?, self.turns.rows.len());
            let turns = &mut self.turns;
            turns.of(tables, row, steady, reduced)?;
            if let Some((kind, _, tape)) = turns.fault.take() {
                return Ok(Some((End::Fault(at, tape), SearchResult::Fault(kind))));
            }
            if let Some((x, y)) = turns.race(tables) {
                return Ok(Some((End::Race(at, x, y), SearchResult::Race(x.pc.min(y.pc), x.pc.max(y.pc)))));
            }
            if turns.list.is_empty() && !ended(tables, row) {
                return Ok(Some((End::Here(at), SearchResult::Deadlock(0))));
            }
            if settles {
                for next in turns.rows[first..].chunks_exact_mut(width) {
                    settle(tables, next, reduced)?;
                }
            }
            self.from.extend(turns.list.iter().map(|turn| (at as u32, packed(turn.agent, turn.action))));
        }
        Ok(None)
    }
}

pub(super) fn explore(tables: &mut Tables<'_>, settings: Settings) -> Result<SearchReport, Stop> {
    let mut store = Store::new(1 + tables.cells.len());
    for mut row in tables.start()? {
        settle(tables, &mut row, settings.reduced)?;
        store.add(&row, &[(u32::MAX, 0)]);
    }
    let (mut now, mut before) = (Several::default(), Several::default());
    let mut rows = Vec::new();
    loop {
        if store.len() > settings.states || store.bytes() > settings.memory {
            return Ok(SearchReport {
                found: SearchResult::TooMany,
                states: store.len(),
                moves: Vec::new(),
                trips: None,
            });
        }
        let next = before.states.end;
        // For few states, handing over costs more than computing.
        let handed = store.len() >= next + TOGETHER;
        if !handed {
            store.add(&before.turns.rows, &before.from);
        }
        now.states = next..store.len().min(next + TOGETHER);
        if now.states.is_empty() {
            return Ok(SearchReport {
                found: SearchResult::Clean,
                states: store.len(),
                moves: Vec::new(),
                trips: None,
            });
        }
        rows.clear();
        rows.extend_from_slice(store.rows(now.states.clone()));
        let mut follow = || now.follow(tables, &rows, settings.reduced);
        // Insertion waits for memory, computation for the processor.
        let found = match handed {
            true => rayon::join(follow, || store.add(&before.turns.rows, &before.from)).0?,
            false => follow()?,
        };
        if let Some((end, found)) = found {
            return replay(tables, &store, settings, end, found);
        }
        std::mem::swap(&mut now, &mut before);
    }
}

/// Whether all agents have ended.
fn ended(tables: &Tables<'_>, row: &[Id]) -> bool {
    let Some(cell) = tables.cells.of(StatePart::Ended) else { return false };
    matches!(tables.cells.held(cell, row[1 + cell as usize]), PartState::Ended(set) if set.len() == tables.agents() as usize)
}

/// Whether all agents are at least `least` periods past their start, where their progress is defined.
fn all_past(tables: &mut Tables<'_>, row: &[Id], least: i64) -> Result<bool, Stop> {
    let mut says = false;
    for a in 0..tables.agents() {
        let k = tables.place(a, row)?;
        match tables.known[k].progress {
            Some(p) if p < least => return Ok(false),
            Some(_) => says = true,
            None => {}
        }
    }
    Ok(says)
}

/// Whether a state represents its equivalent one period later.
pub(super) fn steady(tables: &mut Tables<'_>, row: &[Id]) -> Result<bool, Stop> {
    match tables.texts.every.as_ref().map(|e| e.start) {
        Some(start) => all_past(tables, row, start),
        None => Ok(false),
    }
}

/// Normalizes a state: as few periods past the start as possible, interchangeable agents sorted. Returns the previous
/// number of each agent, if any changed places.
pub(super) fn settle(tables: &mut Tables<'_>, row: &mut [Id], reduced: bool) -> Result<Option<Vec<AgentId>>, Stop> {
    if let Some((start, period)) = tables.texts.every.as_ref().map(|e| (e.start, e.period)) {
        while all_past(tables, row, start + 1)? {
            let (lo, hi) = tables.tapes[row[0] as usize];
            if !tables.texts.takes(lo - period) || lo < period {
                break;
            }
            row[0] = tables.tape((lo - period, if hi == i64::MAX { hi } else { hi - period }))?;
            for cell in 0..tables.cells.len() {
                row[1 + cell] = tables.back(cell as u16, row[1 + cell])?;
            }
        }
    }
    if !reduced {
        return Ok(None);
    }
    tables.cells.sort(row)
}
