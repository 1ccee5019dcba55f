//! A resource with a rate, which serves requests one by one in order of arrival.

use rustc_hash::{FxHashMap, FxHashSet};

use super::pursuit::Pursuit;

/// A server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Tick from which the server is free.
    pub free: u64,
    /// Ticks of work so far.
    pub busy: u64,
}

impl Server {
    /// Serves a request that arrives at `at` and takes `ticks`. Returns start and end.
    pub fn serve(&mut self, at: u64, ticks: u64) -> (u64, u64) {
        let start = self.free.max(at);
        self.free = start + ticks;
        self.busy += ticks;
        (start, self.free)
    }

    /// Ticks of work until a tick, without requests that start later.
    pub fn busy_until(&self, tick: u64) -> u64 {
        self.busy.saturating_sub(self.free.saturating_sub(tick)).min(self.busy)
    }

    /// Serves a request with the time that the server was idle before, and then with its own. Returns the end.
    pub fn serve_ahead(&mut self, at: u64, ticks: u64) -> u64 {
        self.busy += ticks;
        self.free += ticks;
        self.free.max(at)
    }

    /// Delays the request in progress at `at` by this many ticks; an idle server is not delayed.
    pub fn hold(&mut self, at: u64, ticks: u64) {
        if self.free > at {
            self.free += ticks;
        }
    }
}

/// The servers of one core.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// Issue slot of each scheduler.
    pub issue: Vec<Server>,
    /// Matrix unit of each scheduler, for warp-level instructions.
    pub matrix: Vec<Server>,
    /// The tensor pipe that `wgmma` and `tcgen05.mma` share.
    pub tensor: Server,
    /// Vector unit of each scheduler.
    pub vector: Vec<Server>,
    /// The integer, floating-point and special-function units of each scheduler, for instructions of compiled kernels.
    pub units: Vec<[Server; 3]>,
    /// Whether the last integer work of each scheduler was addresses alone, which products do not slow.
    pub addresses: Vec<bool>,
    /// Shared memory.
    pub shared: Server,
    /// The front of shared memory: lines that copies of threads look up, and instructions that read, in order of issue.
    pub front: Server,
    /// The copy engine, by rows written.
    pub copy: Server,
    /// The front of the copy engine, by boxes.
    pub boxes: Server,
    /// The port from the second-level cache, by bytes received.
    pub l2: Server,
    /// The port to the second-level cache: requests for copied lines, and stored bytes. Replies have their own network.
    pub requests: Server,
    /// This core's share of the slices of the second-level cache, for lookups.
    pub slices: Server,
    /// Ticks of the slices that other cores used while this core changed from one CTA to the next, available until the
    /// next lookup. `None` outside such a gap.
    pub lent: Option<u64>,
    /// This core's share of the slices, for stores and for lines from DRAM. A slice does lookups at the same time.
    pub writes: Server,
    /// This core's share of DRAM.
    pub dram: Server,
    /// Lines that leave L2 for stored ones, at the rate of this core's share of DRAM.
    pub evicted: Server,
    /// Tensor-memory reads.
    pub tmem: Server,
    /// This core's share of the unit that launches CTAs.
    pub launch: Server,
    /// Tiles that clusters have read and read again later: cluster, object, coordinates, rows and columns to the part.
    pub read: FxHashSet<(u32, u16, [i64; 2], [i32; 2])>,
    /// By cluster: its distance from clusters that started earlier.
    pub pursuits: FxHashMap<u32, Pursuit>,
}

/// The servers of which a core has one, in a fixed order, with their names; `mut` gives mutable references.
macro_rules! singles {
    ($core:expr $(, $mutable:tt)?) => {
        [
            (&$($mutable)? $core.tensor, "the tensor pipe"),
            (&$($mutable)? $core.shared, "shared memory"),
            (&$($mutable)? $core.front, "the way to shared memory"),
            (&$($mutable)? $core.copy, "the copy engine"),
            (&$($mutable)? $core.boxes, "the copy engine's front"),
            (&$($mutable)? $core.l2, "the port to L2"),
            (&$($mutable)? $core.requests, "the way of requests to L2"),
            (&$($mutable)? $core.slices, "the slices of L2"),
            (&$($mutable)? $core.writes, "what the slices of L2 take"),
            (&$($mutable)? $core.dram, "DRAM"),
            (&$($mutable)? $core.evicted, "the lines that leave L2"),
            (&$($mutable)? $core.tmem, "tensor memory"),
            (&$($mutable)? $core.launch, "the launch of CTAs"),
        ]
    };
}

impl Core {
    /// An idle core with this many schedulers.
    pub fn new(schedulers: usize) -> Self {
        Core {
            issue: vec![Server::default(); schedulers],
            matrix: vec![Server::default(); schedulers],
            vector: vec![Server::default(); schedulers],
            units: vec![<[Server; 3]>::default(); schedulers],
            addresses: vec![true; schedulers],
            lent: Some(0),
            ..Core::default()
        }
    }

    /// Looks up in the core's share of the slices for this many ticks. Returns the end.
    pub fn look_up(&mut self, at: u64, ticks: u64) -> u64 {
        let lent = self.lent.unwrap_or_else(|| at.saturating_sub(self.slices.free));
        let returned = lent.min(ticks);
        self.lent = Some(lent - returned);
        self.slices.busy += returned;
        self.slices.serve(at, ticks - returned).1
    }

    /// Free times relative to `now`, the lent ticks, and the kinds of integer work, for the comparison of states.
    pub fn ahead(&self, now: u64) -> Vec<u64> {
        let lists = [&self.issue, &self.matrix, &self.vector];
        let singles = singles!(self).map(|s| s.0);
        let units = self.units.iter().flatten();
        let free = lists.into_iter().flatten().chain(units).chain(singles).map(|s| s.free.saturating_sub(now));
        let addresses = self.addresses.iter().map(|a| u64::from(*a));
        free.chain([self.lent.unwrap_or(u64::MAX)]).chain(addresses).collect()
    }

    /// Every server, in a fixed order.
    pub fn servers(&mut self) -> impl Iterator<Item = &mut Server> {
        let lists = [&mut self.issue, &mut self.matrix, &mut self.vector];
        let units = self.units.iter_mut().flatten();
        lists.into_iter().flatten().chain(units).chain(singles!(self, mut).map(|s| s.0))
    }

    /// The name of the server at this position of [`Self::servers`].
    pub fn name_of(&self, number: usize) -> &'static str {
        let lists = [(&self.issue, "an issue slot"), (&self.matrix, "a matrix unit"), (&self.vector, "a vector unit")];
        let each = lists.into_iter().flat_map(|(list, name)| list.iter().map(move |_| name));
        let each = each.chain(self.units.iter().flatten().map(|_| "a vector unit"));
        each.chain(singles!(self).map(|s| s.1)).nth(number).unwrap_or("nothing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_has_a_name_and_the_name_is_its_own() {
        let mut core = Core::new(2);
        core.l2.busy = 7;
        let at = core.servers().position(|s| s.busy == 7).expect("it is among them");
        let names: Vec<_> = (0..core.servers().count()).map(|n| core.name_of(n)).collect();
        assert_eq!((names[at], &names[..2]), ("the port to L2", &["an issue slot"; 2][..]));
        assert!(!names.contains(&"nothing") && core.name_of(names.len()) == "nothing");
        assert_eq!(core.ahead(0).len(), names.len() + 3);
    }

    #[test]
    fn work_behind_the_end_of_a_run_is_not_done() {
        let mut s = Server::default();
        s.serve(0, 10);
        s.serve(0, 30);
        assert_eq!([s.busy_until(5), s.busy_until(15), s.busy_until(40), s.busy_until(99)], [5, 15, 40, 40]);
    }

    #[test]
    fn what_was_lent_between_ctas_is_returned() {
        let mut core = Core::new(1);
        assert_eq!((core.look_up(10, 5), core.look_up(10, 5)), (15, 20));
        // 30 ticks pass until the next CTA asks, so its first 30 ticks of lookups are done at once.
        core.lent = None;
        assert_eq!((core.look_up(50, 20), core.look_up(50, 20), core.look_up(50, 5)), (50, 60, 65));
        assert_eq!(core.slices.busy, 55);
        // Without the end of a CTA, idle time is lost.
        assert_eq!(core.look_up(100, 5), 105);
    }
}
