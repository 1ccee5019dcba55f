//! Breadth first over all states, each once.

use warpline_sim::protocol::{AgentId, Held, Part};

use super::cells::Id;
use super::replay::{End, replay};
use super::store::Store;
use super::table::Tables;
use super::turn::Turns;
use super::{Found, Searched, Settings, Stop};

/// A turn as one number: the agent and which of its actions.
pub(super) fn packed(a: AgentId, action: usize) -> u16 {
    (a as u16) << 8 | (action as u16).min(255)
}

pub(super) fn explore(tables: &mut Tables<'_>, settings: Settings) -> Result<Searched, Stop> {
    let width = 1 + tables.cells.len();
    let mut store = Store::new(width);
    for mut row in tables.start()? {
        settle(tables, &mut row, settings.reduced)?;
        store.add(&row, (u32::MAX, 0));
    }
    let mut row = Vec::new();
    let mut turns = Turns::default();
    let mut at = 0;
    while at < store.len() {
        if store.len() > settings.states {
            return Ok(Searched { found: Found::TooMany, states: store.len(), moves: Vec::new(), trips: None });
        }
        row.clear();
        row.extend_from_slice(store.row(at));
        let steady = steady(tables, &row)?;
        turns.of(tables, &row, steady, settings.reduced)?;
        if let Some((kind, _, tape)) = turns.fault.take() {
            return replay(tables, &store, settings, End::Fault(at, tape), Found::Fault(kind));
        }
        if let Some((x, y)) = turns.race(tables) {
            return replay(tables, &store, settings, End::Race(at, x, y), Found::Race(x.pc.min(y.pc), x.pc.max(y.pc)));
        }
        if turns.list.is_empty() && !ended(tables, &row) {
            return replay(tables, &store, settings, End::Here(at), Found::Deadlock(0));
        }
        for (turn, next) in turns.list.iter().zip(turns.rows.chunks_exact_mut(width)) {
            settle(tables, next, settings.reduced)?;
            store.add(next, (at as u32, packed(turn.agent, turn.action)));
        }
        at += 1;
    }
    Ok(Searched { found: Found::Clean, states: store.len(), moves: Vec::new(), trips: None })
}

/// Whether everybody is at its end.
fn ended(tables: &Tables<'_>, row: &[Id]) -> bool {
    let Some(cell) = tables.cells.of(Part::Ended) else { return false };
    let all = tables.agents();
    let bits = if all == 128 { u128::MAX } else { (1 << all) - 1 };
    *tables.cells.held(cell, row[1 + cell as usize]) == Held::Ended(bits)
}

/// The least number of periods that agents are past their start; `None` where that says nothing.
fn behind(tables: &mut Tables<'_>, row: &[Id]) -> Result<Option<i64>, Stop> {
    let mut least = None;
    if tables.texts.every.is_some() {
        for a in 0..tables.agents() {
            let k = tables.place(a, row)?;
            if let Some(p) = tables.known[k].progress {
                least = Some(least.map_or(p, |l: i64| l.min(p)));
            }
        }
    }
    Ok(least)
}

/// Whether a state is one of those that stand for their like a period later.
pub(super) fn steady(tables: &mut Tables<'_>, row: &[Id]) -> Result<bool, Stop> {
    let start = tables.texts.every.as_ref().map(|e| e.start);
    Ok(start.zip(behind(tables, row)?).is_some_and(|(start, least)| least >= start))
}

/// Brings a state into the form in which it is kept: as few periods past the start as it can be, alike agents sorted.
/// Returns how agents changed places: for each, who it was.
pub(super) fn settle(tables: &mut Tables<'_>, row: &mut [Id], reduced: bool) -> Result<Option<Vec<AgentId>>, Stop> {
    if let Some((start, period)) = tables.texts.every.as_ref().map(|e| (e.start, e.period)) {
        while behind(tables, row)?.is_some_and(|least| least > start) {
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
