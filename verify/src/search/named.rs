//! Numbered barriers in a state: which of the agents that can arrive take which places.

use warpline_sim::protocol::{AgentId, PartState, StatePart};

use super::cells::Id;
use super::kinds::Arrives;
use super::table::Tables;

/// An agent that can arrive at a numbered barrier now, where more agents can arrive than there are places left. The
/// schedule then decides who meets.
pub(super) fn mixed(tables: &Tables<'_>, row: &[Id], coming: &[(AgentId, Arrives)]) -> Option<AgentId> {
    let arrived = |meet: u32| {
        let cell = tables.cells.of(StatePart::Rendezvous(meet))?;
        match *tables.cells.held(cell, row[1 + cell as usize]) {
            PartState::Rendezvous(_, arrived, ..) => Some(arrived),
            _ => None,
        }
    };
    let over = |&&(_, (meet, _, threads)): &&(AgentId, Arrives)| {
        let more: u32 = coming.iter().filter(|x| x.1.0 == meet).map(|x| x.1.1).sum();
        arrived(meet).unwrap_or(0) + more > threads
    };
    coming.iter().find(over).map(|x| x.0)
}
