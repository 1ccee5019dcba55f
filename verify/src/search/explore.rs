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

/// States whose followers are looked for together.
const TOGETHER: usize = 64;

pub(super) fn explore(tables: &mut Tables<'_>, settings: Settings) -> Result<Searched, Stop> {
    let width = 1 + tables.cells.len();
    let mut store = Store::new(width);
    for mut row in tables.start()? {
        settle(tables, &mut row, settings.reduced)?;
        store.add(&row, &[(u32::MAX, 0)]);
    }
    let (mut turns, mut from) = (Turns::default(), Vec::new());
    let mut at = 0;
    while at < store.len() {
        if store.len() > settings.states {
            return Ok(Searched { found: Found::TooMany, states: store.len(), moves: Vec::new(), trips: None });
        }
        let these = at..store.len().min(at + TOGETHER);
        at = these.end;
        turns.rows.clear();
        from.clear();
        for at in these {
            let row = store.row(at);
            let (steady, first) = (steady(tables, row)?, turns.rows.len());
            turns.of(tables, row, steady, settings.reduced)?;
            if let Some((kind, _, tape)) = turns.fault.take() {
                return replay(tables, &store, settings, End::Fault(at, tape), Found::Fault(kind));
            }
            if let Some((x, y)) = turns.race(tables) {
                let found = Found::Race(x.pc.min(y.pc), x.pc.max(y.pc));
                return replay(tables, &store, settings, End::Race(at, x, y), found);
            }
            if turns.list.is_empty() && !ended(tables, row) {
                return replay(tables, &store, settings, End::Here(at), Found::Deadlock(0));
            }
            for next in turns.rows[first..].chunks_exact_mut(width) {
                settle(tables, next, settings.reduced)?;
            }
            from.extend(turns.list.iter().map(|turn| (at as u32, packed(turn.agent, turn.action))));
        }
        store.add(&turns.rows, &from);
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

/// Whether all agents are at least so many periods past their start, as far as that says anything of them.
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

/// Whether a state is one of those that stand for their like a period later.
pub(super) fn steady(tables: &mut Tables<'_>, row: &[Id]) -> Result<bool, Stop> {
    match tables.texts.every.as_ref().map(|e| e.start) {
        Some(start) => all_past(tables, row, start),
        None => Ok(false),
    }
}

/// Brings a state into the form in which it is kept: as few periods past the start as it can be, alike agents sorted.
/// Returns how agents changed places: for each, who it was.
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
