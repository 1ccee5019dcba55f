//! A resource with a rate: one request after the other, in the order in which they come.

/// A server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Tick from which it is free.
    pub free: u64,
    /// Ticks it has worked.
    pub busy: u64,
}

impl Server {
    /// Serves a request that comes at `at` and takes `ticks`: when it starts and when it is done.
    pub fn serve(&mut self, at: u64, ticks: u64) -> (u64, u64) {
        let start = self.free.max(at);
        self.free = start + ticks;
        self.busy += ticks;
        (start, self.free)
    }

    /// Keeps it from what it is at work on at `at` for so many ticks; nothing where it is idle then.
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
    /// Shared memory.
    pub shared: Server,
    /// The way to it: lines that copies of threads look up, and instructions that read, in the order of their issue.
    pub front: Server,
    /// The copy engine: rows it writes.
    pub copy: Server,
    /// Its front: boxes it takes.
    pub boxes: Server,
    /// The port to the second-level cache.
    pub l2: Server,
    /// This core's share of the second-level cache's slices.
    pub slices: Server,
    /// This core's share of DRAM.
    pub dram: Server,
    /// Tensor-memory reads.
    pub tmem: Server,
}

impl Core {
    /// A core with this many schedulers, all idle.
    pub fn new(schedulers: usize) -> Self {
        Core {
            issue: vec![Server::default(); schedulers],
            matrix: vec![Server::default(); schedulers],
            vector: vec![Server::default(); schedulers],
            ..Core::default()
        }
    }

    /// Free times relative to `now`, for comparing states.
    pub fn ahead(&self, now: u64) -> Vec<u64> {
        let lists = [&self.issue, &self.matrix, &self.vector];
        let singles = [
            &self.tensor,
            &self.shared,
            &self.front,
            &self.copy,
            &self.boxes,
            &self.l2,
            &self.slices,
            &self.dram,
            &self.tmem,
        ];
        lists.into_iter().flatten().chain(singles).map(|s| s.free.saturating_sub(now)).collect()
    }
}

impl Core {
    /// Every server, in a fixed order.
    pub fn servers(&mut self) -> impl Iterator<Item = &mut Server> {
        let lists = [&mut self.issue, &mut self.matrix, &mut self.vector];
        let singles = [
            &mut self.tensor,
            &mut self.shared,
            &mut self.front,
            &mut self.copy,
            &mut self.boxes,
            &mut self.l2,
            &mut self.slices,
            &mut self.dram,
            &mut self.tmem,
        ];
        lists.into_iter().flatten().chain(singles)
    }
}
