//! How long an operation takes: which servers it crosses, and the latency behind them.

use crate::ir::{Class, How, Instr, MmaKind, Op, Program};
use crate::protocol::{Did, MmaDid, MoveDid};
use crate::timeline::{Stall, TICKS};

use super::costs::Costs;
use super::device::{Level, Memory};
use super::server::Core;

/// The time of one operation of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Charge {
    /// Tick the work starts; before it the agent queues.
    pub(super) start: u64,
    /// What it queues for.
    pub(super) queued: Option<Stall>,
    /// Tick the agent goes on.
    pub(super) end: u64,
    /// When each flight lands, in order of the operation's flights.
    pub(super) lands: [u64; 2],
    /// When the engine that carries the flight (copy, tensor) starts and ends its own part.
    pub(super) engine: Option<(u64, u64)>,
    /// Further batches of a synchronous load.
    pub(super) load: Option<Load>,
}

/// A synchronous load (global to shared by the same threads), batch by batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Load {
    /// Machine instructions still to issue.
    pub(super) left: u32,
    /// Instructions of a batch.
    pub(super) batch: u32,
    /// Bytes an instruction brings, in 1/256.
    pub(super) bytes: u64,
    /// Where it comes from.
    pub(super) source: Source,
    /// Elements an instruction brings, for unpacking; 0 where nothing is unpacked.
    pub(super) elements: u64,
    /// Bytes an instruction stores to shared memory, in 1/256.
    pub(super) chip: u64,
    /// Ticks that an instruction's data takes shared memory's port on its way to registers.
    pub(super) port: u64,
    /// Instructions of the batch whose data is under way.
    pub(super) flying: u32,
}

/// Where a copy's bytes come from, and what they pass on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Source {
    /// Share that crosses DRAM, in 1/65536 of a core's fair share of it.
    dram: u64,
    /// Share that is looked up in the slices, likewise.
    looked: u64,
    /// Latency beyond that of a hit.
    extra: u64,
}

/// What timing needs to know of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// Scheduler of its warp.
    pub(super) scheduler: usize,
    /// Tick at which its matrix results are there.
    pub(super) matrix_ready: u64,
    /// The operation had to wait.
    pub(super) woken: bool,
    /// Wave of its CTA.
    pub(super) wave: u32,
}

/// When a load's data has passed shared memory's port; nothing waits where it does not pass there.
fn through_port(core: &mut Core, at: u64, port: u64) -> u64 {
    if port == 0 { at } else { core.shared.serve(at, port).1 }
}

/// Rounds a cost to ticks, up, so that nothing is free.
fn ticks(x: f64) -> u64 {
    x.ceil() as u64
}

/// The timing of one kernel on one machine.
pub(super) struct Timing<'a> {
    pub(super) prog: &'a Program,
    pub(super) costs: Costs,
    /// Share of each object's loads that come from DRAM.
    pub(super) misses: Vec<f64>,
    /// The memory of the device, where it is simulated.
    pub(super) memory: Option<Memory>,
}

impl Timing<'_> {
    /// Issues so many instructions of so many ticks each. What a scheduler issues beside its `mma.sync` takes their time.
    fn issue(&self, core: &mut Core, seat: Seat, at: u64, (n, each): (f64, f64)) -> (u64, u64) {
        core.matrix[seat.scheduler].hold(at, ticks(n * self.costs.beside));
        core.issue[seat.scheduler].serve(at, ticks(n * each))
    }

    /// Time on the path from L2 and DRAM: when the last byte is there.
    fn fetch(&self, core: &mut Core, at: u64, (bytes, lines): (f64, f64), from: Source) -> u64 {
        let c = &self.costs;
        let (_, port) = core.l2.serve(at, ticks(lines * c.l2_byte));
        let (_, slices) = core.slices.serve(at, ticks(bytes * (from.looked as f64 / 65536.0) * c.slice_byte));
        let (_, dram) = core.dram.serve(at, ticks(bytes * (from.dram as f64 / 65536.0) * c.dram_byte));
        port.max(slices).max(dram)
    }

    /// Bytes of a copy, and those of the lines they are in.
    fn lines(&self, m: &MoveDid, obj: u16) -> (f64, f64) {
        let (bytes, rows) = (m.global_bytes as f64, m.chip_rows.max(1) as f64);
        let line = self.costs.line;
        if line == 0.0 || bytes == 0.0 {
            return (bytes, bytes);
        }
        let wide = bytes / rows;
        // Rows that do not all start with a line reach into one more, but for the last sector's length.
        let o = &self.prog.objects[obj as usize];
        let aligned = (o.bytes_of(o.cols) as f64) % line == 0.0;
        let lines = if aligned { (wide / line).ceil() } else { wide / line + 0.75 };
        (bytes, rows * lines * line)
    }

    /// Ticks that a load's data takes shared memory's port on its way to registers: one line at a time, however little of it is
    /// asked for. None where it does not pass there.
    fn load_port(&self, m: &MoveDid, obj: u16) -> f64 {
        let c = &self.costs;
        if c.line == 0.0 || c.load_line == 0.0 { 0.0 } else { self.lines(m, obj).1 / c.line * c.load_line }
    }

    /// Where a copy's bytes come from.
    fn source(&self, m: &MoveDid, obj: u16, wave: u32) -> Source {
        let c = &self.costs;
        let part = |x: f64| (x * 65536.0) as u64;
        let Some(w) = self.memory.as_ref().and_then(|d| d.waves.get(wave as usize)) else {
            let miss = self.misses[obj as usize];
            let extra = ticks(miss * (c.dram_latency - c.l2_latency).max(0.0));
            return Source { dram: part(miss), looked: 0, extra };
        };
        // In a wave that leaves cores idle the others have more each.
        let share = (w.units * self.prog.cluster as i64) as f64 / c.sharers as f64;
        let shares = w.shares[obj as usize];
        let level = m.tile.map_or(Level::Near, |t| w.level(obj, t.at));
        let extra = ticks(match level {
            Level::Near => 0.0,
            Level::Far => c.far_extra,
            Level::Last => c.last_extra,
            Level::Dram => c.dram_extra,
        });
        Source { dram: part(shares.dram * share), looked: part(shares.looked * share), extra }
    }

    /// Charges an operation that an agent performs at `now` on its core; `peer` is the other core of a pair.
    pub(super) fn charge(
        &self,
        pc: u32,
        did: &Did,
        now: u64,
        seat: Seat,
        core: &mut Core,
        peer: Option<&mut Core>,
    ) -> Charge {
        let Instr::Op { op, cost } = &self.prog.code[pc as usize] else {
            return Charge { start: now, end: now, ..Charge::default() };
        };
        if let Did::Met { last: false } = did {
            // Its wait was its time: it was woken a release after the last arrival. At the cluster barrier whoever comes to
            // wait later has the rest of that, which the engine knows.
            return Charge { start: now, end: now, ..Charge::default() };
        }
        if cost.takes.is_some() || cost.lands.is_some() {
            // A design on paper: the kernel's own numbers, and no queueing.
            let end = now + ticks(cost.takes.unwrap_or(0.0) * TICKS as f64);
            let land = now + ticks(cost.lands.or(cost.takes).unwrap_or(0.0) * TICKS as f64);
            return Charge { start: now, end, lands: [land, land], engine: Some((now, land)), ..Charge::default() };
        }
        match did {
            Did::Move(m) => self.movement(op, m, now, seat, core),
            Did::Mma(m) => self.matrix(m, now, seat, core, peer),
            Did::Alu { count } => self.vector(op, *count, now, seat, core),
            Did::Signal { in_stream, .. } => {
                let (start, end) = self.issue(core, seat, now, (1.0, self.costs.issue_sync));
                let land = if *in_stream { end } else { end + ticks(self.costs.mbar_remote) };
                Charge { start, queued: Some(Stall::Issue), end, lands: [land, land], ..Charge::default() }
            }
            Did::Met { last } => {
                let wait = if *last { self.release(op) } else { 0 };
                Charge { start: now, end: now + wait, ..Charge::default() }
            }
            Did::Sync => {
                let extra = match op {
                    Op::Fence(_) => self.costs.fence,
                    Op::Init(bars) => {
                        let n: u32 = bars.iter().map(|b| self.prog.mbars[*b as usize].stages).sum();
                        self.costs.mbar_init * n as f64
                    }
                    Op::TmemAlloc { .. } | Op::TmemDealloc { .. } => self.costs.tmem_alloc,
                    Op::Regs { .. } => self.costs.setmaxnreg,
                    // One that had to wait was woken with this included.
                    Op::MbarWait { .. } if !seat.woken => (self.costs.mbar_wait - self.costs.issue_sync).max(0.0),
                    _ => 0.0,
                };
                let (start, issued) = self.issue(core, seat, now, (1.0, self.costs.issue_sync));
                Charge { start, queued: Some(Stall::Issue), end: issued + ticks(extra), ..Charge::default() }
            }
            Did::Nothing => Charge { start: now, end: now, ..Charge::default() },
        }
    }

    /// The same, with the kernel's own number where it states one.
    pub(super) fn release_of(&self, op: &Op, cost: &crate::ir::Cost) -> u64 {
        cost.takes.map_or_else(|| self.release(op), |t| ticks(t * TICKS as f64))
    }

    /// From the last arrival at a rendezvous until its agents go on.
    pub(super) fn release(&self, op: &Op) -> u64 {
        let c = &self.costs;
        ticks(match op {
            Op::Barrier(_) => c.barrier + c.barrier_warp * self.prog.warps as f64,
            Op::Named { .. } => c.named + c.barrier_warp * self.prog.warps as f64,
            Op::ClusterWait | Op::ClusterArrive { .. } => c.cluster,
            Op::WarpSync => c.warp_sync,
            _ => 0.0,
        })
    }

    fn movement(&self, op: &Op, m: &MoveDid, now: u64, seat: Seat, core: &mut Core) -> Charge {
        let Op::Move { src, dst, .. } = op else { return Charge::default() };
        let c = &self.costs;
        let lanes = c.warp_size.max(1) as u64;
        let per = (c.bytes_per_lane.max(1) as u64 * lanes) as f64;
        let from = self.source(m, src.obj, seat.wave);
        let issue = |core: &mut Core, at: u64, n: f64, each: f64| self.issue(core, seat, at, (n, each));
        match m.how {
            How::Load => {
                let n = (m.global_bytes as f64 / per).ceil().max(1.0);
                let batch = m.batch.map_or(n as u32, |b| b.clamp(1, n as u32));
                let load = Load {
                    left: n as u32,
                    batch,
                    bytes: (m.global_bytes as f64 / n * 256.0) as u64,
                    source: from,
                    elements: if m.dequant { (m.elements as f64 / n) as u64 } else { 0 },
                    chip: (m.chip_bytes as f64 / n * 256.0) as u64,
                    port: ticks(self.load_port(m, src.obj) / n),
                    flying: 0,
                };
                Charge { start: now, end: now, load: Some(load), ..Charge::default() }
            }
            How::Ldg | How::CpAsync | How::LdsDma => {
                let each = if m.how == How::CpAsync { c.issue_cp } else { c.issue_load };
                let wide = if m.how == How::LdsDma { c.dma_bytes_per_lane.max(1) as f64 * lanes as f64 } else { per };
                let n = (m.global_bytes as f64 / wide).ceil().max(1.0);
                let (start, end) = issue(core, now, n, each);
                // Requests leave one by one while the instructions issue. A copy's lines are looked up in order with what is
                // read from shared memory; a load's take the port itself.
                let port = ticks(self.load_port(m, src.obj));
                if m.how == How::CpAsync {
                    core.front.serve(start, port);
                }
                let port = if m.how == How::Ldg { port } else { 0 };
                let there = self.fetch(core, start, self.lines(m, src.obj), from).max(end);
                let there = there.max(through_port(core, start, port));
                let extra = if m.how == How::CpAsync { c.cp_extra } else { 0.0 };
                let land = there + ticks(c.l2_latency + extra) + from.extra;
                Charge {
                    start,
                    queued: Some(Stall::Issue),
                    end,
                    lands: [land, land],
                    engine: Some((start, land)),
                    ..Charge::default()
                }
            }
            How::Lds | How::Sts => {
                let n = (m.chip_bytes as f64 / per).ceil().max(1.0);
                let each = if m.how == How::Lds { c.issue_lds } else { c.issue_sts };
                let shared = if m.how == How::Lds { src } else { dst };
                // Rows are stored as they come; it is reading fragments across rows that meets in the banks.
                let ways = if m.how == How::Lds { self.conflict(shared.obj) } else { 1.0 };
                let ready = now.max(if m.how == How::Sts { seat.matrix_ready } else { 0 });
                let (start, issued) = issue(core, ready, n, each);
                let unpacked = if m.dequant { self.unpack(core, seat, issued, m.elements as f64) } else { issued };
                // Behind the copies that were issued before; an instruction passes there as a line of theirs does.
                let at = if c.load_line > 0.0 { core.front.serve(start, ticks(n * c.load_line)).0 } else { start };
                let (_, port) = core.shared.serve(at, ticks(m.chip_bytes as f64 * c.shared_byte * ways));
                // A store goes on when the port has taken it; a load's data comes a latency later.
                let end = if m.how == How::Sts { unpacked.max(port) } else { issued };
                let land = port.max(issued) + ticks(c.shared_latency);
                Charge { start, queued: Some(Stall::Issue), end, lands: [land, land], ..Charge::default() }
            }
            How::Store => {
                let n = (m.global_bytes as f64 / per).ceil().max(1.0);
                let ready = now.max(seat.matrix_ready);
                let (start, issued) = issue(core, ready, n, c.issue_store);
                let (_, port) = core.l2.serve(start, ticks(m.global_bytes as f64 * c.store_byte));
                core.dram.serve(start, ticks(m.global_bytes as f64 * c.dram_byte));
                let queued = if ready > now { Stall::Tensor } else { Stall::Issue };
                let end = issued.max(port);
                Charge { start, queued: Some(queued), end, lands: [end, end], ..Charge::default() }
            }
            How::TmaLoad => {
                let (start, end) = issue(core, now, 1.0, c.issue_tma);
                // Rows of at most 128 bytes, one after the other.
                let row = (m.chip_bytes as f64 / m.chip_rows.max(1) as f64 / 128.0).ceil();
                let rows = m.chip_rows as f64 * row.max(1.0);
                // The latency is counted from the start of the issue.
                // One box for each stretch of a row that the swizzle spans, one after the other.
                let span = self.prog.objects[dst.obj as usize].swizzle as f64;
                let wide = m.chip_bytes as f64 / m.chip_rows.max(1) as f64;
                let boxes = if span > 0.0 { (wide / span).ceil().max(1.0) } else { 1.0 };
                let (begun, taken) = core.boxes.serve(start, ticks(boxes * c.tma_request));
                let (_, written) = core.copy.serve(begun, ticks(rows * c.tma_row));
                let written = written.max(taken);
                let there = self.fetch(core, start, self.lines(m, src.obj), from).max(written);
                let land = there + ticks(c.tma_latency) + from.extra;
                Charge {
                    start,
                    queued: Some(Stall::Issue),
                    end,
                    lands: [land, land],
                    engine: Some((begun, land)),
                    ..Charge::default()
                }
            }
            How::TmaStore => {
                let (start, end) = issue(core, now, 1.0, c.issue_tma);
                let row = (m.chip_bytes as f64 / m.chip_rows.max(1) as f64 / 128.0).ceil();
                let (begun, read) = core.copy.serve(end, ticks(m.chip_rows as f64 * row.max(1.0) * c.tma_row));
                let (_, port) = core.l2.serve(read, ticks(m.global_bytes as f64 * c.l2_byte));
                core.dram.serve(read, ticks(m.global_bytes as f64 * c.dram_byte));
                let land = port + ticks(c.tma_store_latency);
                Charge {
                    start,
                    queued: Some(Stall::Issue),
                    end,
                    lands: [read, land],
                    engine: Some((begun, land)),
                    ..Charge::default()
                }
            }
            How::TmemLd | How::TmemSt => {
                let (start, issued) = issue(core, now.max(seat.matrix_ready), 1.0, c.issue_sync);
                let (_, moved) = core.tmem.serve(start, ticks(m.chip_bytes as f64 * c.tmem_byte));
                let land = moved.max(issued) + ticks(c.tmem_latency);
                Charge { start, queued: Some(Stall::Issue), end: issued, lands: [land, land], ..Charge::default() }
            }
        }
    }

    /// Starts the next batch of a synchronous load: issued at `.1`, its data there at `.2`.
    pub(super) fn load_batch(&self, load: &mut Load, now: u64, seat: Seat, core: &mut Core) -> (u64, u64, u64) {
        let c = &self.costs;
        let n = load.batch.min(load.left);
        let (start, issued) = self.issue(core, seat, now, (n as f64, c.issue_load));
        let bytes = load.bytes as f64 / 256.0 * n as f64;
        let from = load.source;
        let there = self.fetch(core, start, (bytes, bytes), from).max(issued);
        let there = there.max(through_port(core, start, load.port * n as u64)) + ticks(c.l2_latency) + from.extra;
        load.left -= n;
        load.flying = n;
        (start, issued, there)
    }

    /// Stores the batch whose data has come: started, done.
    pub(super) fn load_store(&self, load: &mut Load, now: u64, seat: Seat, core: &mut Core) -> (u64, u64) {
        let c = &self.costs;
        let n = load.flying as f64;
        load.flying = 0;
        let unpacked = if load.elements > 0 { self.unpack(core, seat, now, load.elements as f64 * n) } else { now };
        let (_, issued) = self.issue(core, seat, unpacked, (n, c.issue_sts));
        let (_, port) = core.shared.serve(unpacked, ticks(load.chip as f64 / 256.0 * n * c.shared_byte));
        (now, issued.max(port))
    }

    fn unpack(&self, core: &mut Core, seat: Seat, at: u64, elements: f64) -> u64 {
        let c = &self.costs;
        self.compute(core, seat, at, elements * c.dequant_ops, c.int).1
    }

    /// So many operations of one lane, at a rate of the core, of which a scheduler has its share.
    fn compute(&self, core: &mut Core, seat: Seat, at: u64, lane_ops: f64, each: f64) -> (u64, u64) {
        let c = &self.costs;
        core.matrix[seat.scheduler].hold(at, ticks(lane_ops / c.warp_size.max(1) as f64 * c.beside));
        core.vector[seat.scheduler].serve(at, ticks(lane_ops * each * c.schedulers as f64))
    }

    /// Bank conflicts of a tile that is not swizzled.
    fn conflict(&self, obj: u16) -> f64 {
        let o = &self.prog.objects[obj as usize];
        if o.class == Class::Shared && o.swizzle == 0 { self.costs.conflict } else { 1.0 }
    }

    fn vector(&self, op: &Op, count: i64, now: u64, seat: Seat, core: &mut Core) -> Charge {
        let Op::Alu { unit, reads, .. } = op else { return Charge::default() };
        let c = &self.costs;
        let rate = match unit.as_str() {
            "exp" => c.exp,
            "int" => c.int,
            _ => c.fma,
        };
        let ready = if reads.is_empty() { now } else { now.max(seat.matrix_ready) };
        let (start, end) = self.compute(core, seat, ready, count as f64, rate);
        let queued = if ready > now { Stall::Tensor } else { Stall::Alu };
        Charge { start, queued: Some(queued), end, ..Charge::default() }
    }

    fn matrix(&self, m: &MmaDid, now: u64, seat: Seat, core: &mut Core, peer: Option<&mut Core>) -> Charge {
        let c = &self.costs;
        // Depth of one instruction: 32 bytes of each operand row.
        let steps = (m.k * m.bits as i64 / 8) as f64 / 32.0;
        match m.kind {
            MmaKind::Warp => {
                let (wm, wn, wk) = (c.warp_m.max(1), c.warp_n.max(1), c.warp_k_bytes.max(1));
                let up = |x: i64, y: i64| (x + y - 1) / y;
                let n = (up(m.m, wm) * up(m.n, wn) * up(m.k * m.bits as i64 / 8, wk)) as f64;
                // Operands in shared memory come through its port; the first fragment's latency is exposed.
                let (ready, port) = if m.shared_bytes > 0 {
                    let (_, done) = core.shared.serve(now, ticks(m.shared_bytes as f64 * c.shared_byte));
                    (now + ticks(c.shared_latency), done)
                } else {
                    (now, now)
                };
                let (start, done) = core.matrix[seat.scheduler].serve(ready, ticks(n * c.warp_interval));
                let queued = if start > ready { Stall::Tensor } else { Stall::Shared };
                let tail = ticks((c.warp_latency - c.warp_interval).max(0.0));
                let end = done.max(port);
                Charge { start, queued: Some(queued), end, lands: [end + tail, end + tail], ..Charge::default() }
            }
            MmaKind::Wgmma => {
                let issued = ticks(steps.ceil() * (m.m as f64 / 64.0).ceil() * c.issue_mma);
                let (start, end) = core.issue[seat.scheduler].serve(now, issued);
                let mut charge = Charge { start, queued: Some(Stall::Issue), end, ..Charge::default() };
                if m.flight.is_some() {
                    // m64nNk16: N/2 cycles at 4096 FLOP a cycle, or its operands through shared memory (hardware.md R1).
                    let flop = (m.m.max(64) * m.n) as f64 * steps * 32.0;
                    let bytes = self.group_bytes(m, steps);
                    let (begun, done) =
                        core.tensor.serve(start, ticks((flop * c.tensor_flop).max(bytes / 128.0 * TICKS as f64)));
                    charge.engine = Some((begun, done));
                    charge.lands = [done + ticks(c.wgmma_latency); 2];
                }
                charge
            }
            MmaKind::Umma | MmaKind::UmmaPair => {
                let (start, end) = core.issue[seat.scheduler].serve(now, ticks(steps.ceil().max(1.0) * c.issue_umma));
                // hardware.md R2: cN cycles a step, c = 1/2, or 1/4 for a pair of 64 rows each; or the operand bytes a CTA
                // reads, 128 a cycle.
                let pair = m.kind == MmaKind::UmmaPair;
                let rows = (m.m as f64 / 128.0).max(1.0);
                let c_n = if pair && m.m <= 128 {
                    0.25
                } else if pair {
                    0.25 * rows
                } else {
                    0.5 * rows.ceil()
                };
                // The rule is for 8192 FLOP a cycle; another rate scales it.
                let scale = c.tensor_flop * 8192.0 / TICKS as f64;
                let cycles = (c_n * m.n as f64 * steps * scale).max(m.shared_bytes as f64 / 128.0);
                let at = start;
                let (mut begun, mut done) = core.tensor.serve(at, ticks(cycles * TICKS as f64));
                if let (true, Some(peer)) = (pair, peer) {
                    let (b, d) = peer.tensor.serve(begun, ticks(cycles * TICKS as f64));
                    (begun, done) = (begun.max(b), done.max(d));
                }
                // The measured latency ends when a waiter has seen the commit; its wake is charged to the waiter.
                let behind = (if pair { c.umma_pair_latency } else { c.umma_latency } - c.mbar_wake).max(0.0);
                Charge {
                    start,
                    queued: Some(Stall::Issue),
                    end,
                    lands: [done + ticks(behind); 2],
                    engine: Some((begun, done)),
                    ..Charge::default()
                }
            }
        }
    }

    /// Operand bytes of a warpgroup's instruction: B is read again for every 64 rows.
    fn group_bytes(&self, m: &MmaDid, steps: f64) -> f64 {
        let depth = steps * 32.0;
        let groups = (m.m as f64 / 64.0).ceil();
        let b = m.n as f64 * depth;
        let a = (m.shared_bytes as f64 - b).max(0.0);
        a + groups * b
    }
}
