//! Clusters that load the tiles of others which started earlier.
//!
//! The first cluster to load a tile waits for memory, and those behind it find the tile in the cache. They are faster,
//! so they catch up. Then they wait for memory with the first.

/// The distance of a cluster from the first that loads a tile, if both make as many copies in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    /// Copies of a cluster between the two requests.
    pub(super) copies: u32,
    /// Copies that the later cluster has made before its request.
    pub(super) done: u32,
}

/// The distance of a cluster from the front, which is the cluster that waits for memory. Where the front's cluster ends,
/// the next one is the front: it found the tiles before in the cache, so it is not late.
#[derive(Clone, Copy, Debug)]
pub struct Pursuit {
    /// Tick of the cluster's first request.
    start: u64,
    /// Tick of its last request for a tile that another cluster loaded first.
    last: u64,
    /// Copies to the front at that request, at the same pace.
    copies: u32,
    /// Ticks that the front has waited for memory while it was the front.
    late: u64,
}

impl Pursuit {
    /// A cluster whose first request is at this tick.
    pub(super) fn from(start: u64) -> Self {
        Pursuit { start, last: start, copies: 0, late: 0 }
    }

    /// Ticks that a request at `now` waits for data that a cluster ahead has asked memory for, where memory takes `miss`
    /// ticks longer than the cache. Requests that follow each other sooner than that gain the time between them.
    pub(super) fn wait(&mut self, lead: Lead, now: u64, miss: u64) -> u64 {
        // Warps of a cluster are charged step by step, and the next one's step may begin earlier.
        let now = now.max(self.last);
        let elapsed = now - self.start;
        let time_of = |copies: u32| (elapsed * u64::from(copies)).checked_div(u64::from(lead.done)).unwrap_or(0);
        self.late = self.late.saturating_sub(time_of(self.copies.saturating_sub(lead.copies)));
        // The first requests come at one time, and do not show how long a copy takes.
        let gap = if elapsed > miss { time_of(lead.copies).saturating_sub(self.late) } else { miss };
        let wait = miss.saturating_sub(gap);
        self.late += (miss - wait).min(now - self.last);
        (self.last, self.copies) = (now, lead.copies);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_catches_up_with_the_one_that_waits_for_memory() {
        let mut p = Pursuit::from(1000);
        let mut waits = Vec::new();
        for step in 0..8 {
            // Two requests of each step of 100 ticks come at one time, and gain once.
            let now = 1000 + 100 * u64::from(step);
            waits.push([0, 1].map(|_| p.wait(Lead { copies: 4, done: 2 * step }, now, 60)));
        }
        // The other is 200 ticks ahead, and each step gains 60 of them.
        assert_eq!(waits, [[0, 0], [0, 0], [0, 0], [0, 40], [40, 60], [60, 60], [60, 60], [60, 60]]);
        // A nearer cluster that takes over the front is not late.
        let mut p = Pursuit::from(0);
        let late = [(8, 1), (8, 2), (7, 3), (4, 4)].map(|(copies, step)| {
            p.wait(Lead { copies, done: 2 * step }, 100 * u64::from(step), 60);
            p.late
        });
        assert_eq!(late, [60, 120, 120 - 50 + 60, 60]);
        // A request that another warp made earlier counts as one at the same time.
        let mut p = Pursuit::from(1000);
        assert_eq!(p.wait(Lead { copies: 4, done: 0 }, 900, 60), 0);
    }
}
