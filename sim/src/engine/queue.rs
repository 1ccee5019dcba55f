//! The event queue: events are ordered by time, then by content, never by order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The content of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A flight of a seat lands.
    Land {
        /// Index of the seat.
        seat: u32,
        /// Index of the flight in the seat's world.
        flight: u32,
    },
    /// An agent continues.
    Go {
        /// Index of the seat.
        seat: u32,
        /// Index of the agent in the seat's world.
        agent: u32,
    },
    /// An agent tries again to get the issue slot of its scheduler. The event follows all agents that continue at that
    /// tick, so the holder of the slot keeps it.
    Again {
        /// Index of the seat.
        seat: u32,
        /// Index of the agent in the seat's world.
        agent: u32,
    },
    /// A seat gets its next cluster.
    Seat {
        /// Index of the seat.
        seat: u32,
    },
}

/// Pending events.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Time, class, seat and index in one number, so that one comparison orders events by time and content.
    heap: BinaryHeap<Reverse<u128>>,
    /// The recorded operations, if recording is on, and the time of the last pop.
    record: Option<(Vec<Option<u64>>, u64)>,
}

impl Queue {
    /// An empty queue that appends its operations to this list, if there is one.
    pub(super) fn recorded(list: Option<Vec<Option<u64>>>) -> Queue {
        Queue { heap: BinaryHeap::new(), record: list.map(|l| (l, 0)) }
    }

    /// The recorded operations: for each push the ticks until the event, for each pop `None`.
    pub(super) fn take_record(&mut self) -> Option<Vec<Option<u64>>> {
        self.record.take().map(|(list, _)| list)
    }

    /// Adds an event.
    pub fn push(&mut self, at: u64, what: EventKind) {
        let (class, seat, index) = match what {
            EventKind::Land { seat, flight } => (0u128, seat, flight),
            EventKind::Go { seat, agent } => (1, seat, agent),
            EventKind::Again { seat, agent } => (2, seat, agent),
            EventKind::Seat { seat } => (3, seat, 0),
        };
        if let Some((list, now)) = &mut self.record {
            list.push(Some(at.saturating_sub(*now)));
        }
        self.heap.push(Reverse((at as u128) << 64 | class << 56 | (seat as u128) << 32 | index as u128));
    }

    /// Removes and returns the first event.
    pub fn pop(&mut self) -> Option<(u64, EventKind)> {
        let Reverse(key) = self.heap.pop()?;
        if let Some((list, now)) = &mut self.record {
            list.push(None);
            *now = (key >> 64) as u64;
        }
        let (at, seat, index) = ((key >> 64) as u64, (key >> 32) as u32 & 0xff_ffff, key as u32);
        let what = match (key >> 56) as u8 {
            0 => EventKind::Land { seat, flight: index },
            1 => EventKind::Go { seat, agent: index },
            2 => EventKind::Again { seat, agent: index },
            _ => EventKind::Seat { seat },
        };
        Some((at, what))
    }

    /// Pending events as (time, content), in order, for the comparison of states.
    pub fn sorted(&self) -> Vec<u128> {
        let mut list: Vec<u128> = self.heap.iter().map(|r| r.0).collect();
        list.sort_unstable();
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_content() {
        let mut q = Queue::default();
        q.push(5, EventKind::Go { seat: 1, agent: 2 });
        q.push(5, EventKind::Land { seat: 3, flight: 9 });
        q.push(4, EventKind::Seat { seat: 0 });
        q.push(5, EventKind::Go { seat: 0, agent: 7 });
        let order: Vec<_> = std::iter::from_fn(|| q.pop()).collect();
        assert_eq!(
            order,
            [
                (4, EventKind::Seat { seat: 0 }),
                (5, EventKind::Land { seat: 3, flight: 9 }),
                (5, EventKind::Go { seat: 0, agent: 7 }),
                (5, EventKind::Go { seat: 1, agent: 2 }),
            ]
        );
    }
}
