//! Replay: from the path of a search to a schedule of the kernel itself.

use warpline_sim::protocol::AgentId;

use super::cells::Id;
use super::explore::{packed, settle, steady};
use super::kinds::ActionKind;
use super::store::Store;
use super::table::Tables;
use super::turn::{Access, Turns};
use super::{Move, SearchReport, SearchResult, Settings, Stop};

/// The end of a search.
pub(super) enum End {
    /// At a state.
    Here(usize),
    /// At a state that allows two conflicting accesses.
    Race(usize, Access, Access),
    /// At a state, in a turn that leaves a set of trip counts.
    Fault(usize, Id),
}

/// The agents of a state as agents of the kernel, and the moves so far.
struct Way {
    who: Vec<AgentId>,
    /// Number of periods by which the state was shifted back.
    back: i64,
    moves: Vec<Move>,
}

impl Way {
    fn tell(&mut self, a: AgentId, moves: &[ActionKind]) {
        let a = self.who[a as usize];
        self.moves.extend(moves.iter().map(|what| match what {
            ActionKind::Step => Move::Step(a),
            ActionKind::Land(i) => Move::Land(a, *i as usize),
        }));
    }
}

/// The schedule to the result of the search, with its trip count.
pub(super) fn replay(
    tables: &mut Tables<'_>,
    store: &Store,
    settings: Settings,
    end: End,
    found: SearchResult,
) -> Result<SearchReport, Stop> {
    let (End::Here(at) | End::Race(at, ..) | End::Fault(at, ..)) = end;
    let mut list = vec![at];
    while let (from, _) = store.from[list[list.len() - 1]]
        && from != u32::MAX
    {
        list.push(from as usize);
    }
    list.reverse();
    let period = tables.texts.every.as_ref().map_or(0, |e| e.period);
    let mut way = Way { who: (0..tables.agents()).collect(), back: 0, moves: Vec::new() };
    let mut turns = Turns::telling();
    let width = 1 + tables.cells.len();
    for pair in list.windows(2) {
        let (row, to, by) = (store.row(pair[0]).to_vec(), store.row(pair[1]), store.from[pair[1]].1);
        let steady = steady(tables, &row)?;
        turns.rows.clear();
        turns.of(tables, &row, steady, settings.reduced)?;
        for (turn, next) in turns.list.iter().zip(turns.rows.chunks_exact_mut(width)) {
            let lo = tables.tapes[next[0] as usize].0;
            if packed(turn.agent, turn.action) != by {
                continue;
            }
            let places = settle(tables, next, settings.reduced)?;
            if next != to {
                continue;
            }
            way.tell(turn.agent, &turn.moves);
            way.back += if period > 0 { (lo - tables.tapes[next[0] as usize].0) / period } else { 0 };
            if let Some(places) = places {
                way.who = places.iter().map(|b| way.who[*b as usize]).collect();
            }
            break;
        }
    }
    let row = store.row(at).to_vec();
    let mut tape = row[0];
    let steady = steady(tables, &row)?;
    match end {
        End::Here(_) => {}
        End::Fault(_, last) => {
            turns.of(tables, &row, steady, settings.reduced)?;
            if let Some((_, turn, _)) = &turns.fault {
                way.tell(turn.agent, &turn.moves);
            }
            tape = last;
        }
        End::Race(_, x, y) => {
            for x in [x, y] {
                turns.until = Some((x.agent, x.pc));
                turns.before.clear();
                turns.of(tables, &row, steady, settings.reduced)?;
                way.tell(x.agent, &turns.before);
            }
        }
    }
    let found = if let SearchResult::Deadlock(_) = found { SearchResult::Deadlock(way.moves.len()) } else { found };
    let trips = tables.texts.every.as_ref().map(|_| tables.tapes[tape as usize].0 + way.back * period);
    Ok(SearchReport { found, states: store.len(), moves: way.moves, trips })
}
