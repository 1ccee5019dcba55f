//! The time of copies: to and from shared memory, registers, tensor memory, the caches and memory behind them.

use crate::ir::Writes;
use crate::ir::{MoveKind, Op};
use crate::protocol::MoveEffect;
use crate::timeline::{Stall, TICKS};

use super::device::{Level, Wave};
use super::pursuit::Pursuit;
use super::server::{Core, Server};
use super::timing::{AgentTiming, Charge, Timing, ticks};

/// An operation that a warp performs part by part; other warps issue between the parts.
/// Bytes of a pass through all banks of shared memory.
const PASS_BYTES: f64 = 128.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Parts {
    Load(Load),
    Store(Store),
}

/// A store to global memory, instruction by instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Store {
    /// Machine instructions still to issue.
    pub(super) left: u32,
    /// Whether the first instruction has been issued.
    pub(super) begun: bool,
    /// Ticks that all instructions take where nothing else is on the way to L2.
    pub(super) alone: u64,
    /// Bytes of one instruction, in units of 1/256.
    bytes: u64,
    /// Ticks of the slices of L2 for an atomic access; 0 for a plain store.
    atomic: u64,
    /// Ticks that an atomic access waits for lines that L2 does not have.
    pub(super) missing: u64,
    /// Ticks of DRAM for the lines of one instruction that L2 does not have.
    read: u64,
}

/// A synchronous load (global to shared memory by the same threads), batch by batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Load {
    /// Machine instructions still to issue.
    pub(super) left: u32,
    /// Instructions of a batch.
    batch: u32,
    /// Bytes that one instruction loads, in units of 1/256.
    bytes: u64,
    /// The source of the data.
    source: Source,
    /// Elements that one instruction loads, for unpacking; 0 where nothing is unpacked.
    elements: u64,
    /// Bytes that one instruction stores to shared memory, in units of 1/256.
    chip: u64,
    /// Ticks of shared memory's port for the data of one instruction, on its way to registers.
    port: u64,
    /// Instructions of the batch whose data is in flight.
    pub(super) flying: u32,
}

/// The source of a copy's bytes, and the resources on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Source {
    /// Share that crosses DRAM, in 1/65536 of a core's fair share of DRAM.
    dram: u64,
    /// Share that is looked up in the slices, in the same unit.
    looked: u64,
    /// Latency beyond that of a hit, in ticks.
    extra: u64,
    /// Latency of a hit in the core's own cache, in ticks; the data then comes from nowhere else.
    hit: Option<u64>,
}

/// The tick at which a load's data has passed shared memory's port; `at` where the data does not pass this port.
fn through_port(core: &mut Core, at: u64, port: u64) -> u64 {
    if port == 0 { at } else { core.shared.serve(at, port).1 }
}

/// The mean use of a server since the launch began, as a fraction; at most 0.95, beyond which no wait was measured.
fn use_until(server: &Server, now: u64) -> f64 {
    (server.free as f64 / now.max(1) as f64).min(0.95)
}

/// Requests in the queue of a server with this use, as a multiple of those where half of it is used.
fn queued(used: f64) -> f64 {
    used / (1.0 - used)
}

/// In place of a cluster's number, for tiles that a core's own cache keeps for all clusters.
const ANY_CLUSTER: u32 = u32::MAX;

/// The wait of a line at DRAM of which a share is used, where a share of the traffic is stores. DRAM writes in bursts,
/// and reads wait for them (calibrate/probes/queue.cu).
fn line_wait((busy, stored, queue): (f64, f64, f64), used: f64, stores: f64) -> f64 {
    (busy + stored * stores) * used + queue * queued(used)
}

impl Timing<'_> {
    /// The tick at which the last byte has come from L2 and DRAM. Each line takes its full time, even if only part of
    /// it is requested. Whole lines copied to shared memory arrive at the rate of requests, where this rate is known.
    fn fetch(&self, core: &mut Core, at: u64, (bytes, lines): (f64, f64), from: Source, copied: bool) -> u64 {
        let c = &self.costs;
        let (_, port) = match c.request_byte {
            Some(request) if copied => core.requests.serve(at, ticks(lines * request)),
            _ => core.l2.serve(at, ticks(lines * c.l2_byte)),
        };
        let looked = ticks(bytes * (from.looked as f64 / 65536.0) * c.slice_byte);
        let slices =
            if self.prog.opaque_globals { core.slices.serve_ahead(at, looked) } else { core.look_up(at, looked) };
        let missed = bytes * (from.dram as f64 / 65536.0);
        let dram = self.served_by_dram(core, at, ticks(missed * c.dram_byte));
        // Lines from DRAM are written to the slices, as stored bytes are. A load without such lines also waits for stores
        // before it.
        let filled = core.writes.serve_ahead(at, ticks(missed * c.fill_byte));
        port.max(slices).max(dram).max(filled)
    }

    /// The tick at which DRAM has served the core's share of a request. CTAs of a compiled kernel that load in bursts are
    /// not in step: while one core loads, others compute. So a core may use what it left idle before.
    fn served_by_dram(&self, core: &mut Core, at: u64, ticks: u64) -> u64 {
        if !self.prog.opaque_globals {
            return core.dram.serve(at, ticks).1;
        }
        core.dram.serve_ahead(at, ticks)
    }

    /// Bytes of a copy, and bytes of the lines that contain them.
    fn lines(&self, m: &MoveEffect, obj: u16) -> (f64, f64) {
        let (bytes, rows) = (m.global_bytes as f64, m.chip_rows.max(1) as f64);
        let line = self.costs.line;
        if line == 0.0 || bytes == 0.0 {
            return (bytes, bytes);
        }
        let wide = bytes / rows;
        // Rows that do not all start at a line boundary touch one more line, less the length of one sector.
        let o = &self.prog.objects[obj as usize];
        let aligned = (o.bytes_of(o.cols) as f64) % line == 0.0;
        let lines = if aligned { (wide / line).ceil() } else { wide / line + 0.75 };
        (bytes, rows * lines * line)
    }

    /// Ticks after which the last line of a block arrives from DRAM, beyond a hit: later for more lines. Warps that copy
    /// parts of a block wait for each other. `bytes` are those of the lines of one part.
    fn last_line(&self, obj: u16, bytes: f64) -> f64 {
        let c = &self.costs;
        if c.line == 0.0 || c.far_lines == 0.0 {
            return c.dram_extra;
        }
        let o = &self.prog.objects[obj as usize];
        let [rows, cols] = o.block;
        let lines = rows as f64 * (o.bytes_of(cols) as f64 / c.line).ceil();
        let near = c.dram_latency - c.l2_latency;
        let share = lines.max(bytes / c.line).max(1.0).log2() / c.far_lines;
        near + (c.dram_extra - near) * share.min(1.0)
    }

    /// Ticks of the copy engine for a tile: rows of at most 128 bytes, one after the other.
    fn copied(&self, m: &MoveEffect) -> u64 {
        let row = (m.chip_bytes as f64 / m.chip_rows.max(1) as f64 / 128.0).ceil();
        ticks(m.chip_rows as f64 * row.max(1.0) * self.costs.tma_row)
    }

    /// Ticks of shared memory's port for a load's data on its way to registers. Each line takes its full time, even if
    /// only part of it is requested. 0 where the data does not pass this port.
    fn load_port(&self, m: &MoveEffect, obj: u16) -> f64 {
        let c = &self.costs;
        if c.line == 0.0 || c.load_line == 0.0 { 0.0 } else { self.lines(m, obj).1 / c.line * c.load_line }
    }

    /// The wave of a CTA, at device fidelity.
    fn device_wave(&self, wave: u32) -> Option<&Wave> {
        self.memory.as_ref()?.waves.get(wave as usize)
    }

    /// The fraction of cores that work in this wave like this one. Where others have less work or none, this core has a
    /// larger part of the shared resources.
    fn share(&self, w: &Wave) -> f64 {
        w.peers * self.prog.cluster as f64 / self.costs.sharers as f64
    }

    /// Ticks that a block waits for its last line from busy DRAM, behind lines of other cores, although DRAM could serve
    /// all of them (calibrate/probes/queue.cu). A core's use of its share stands for all cores.
    fn dram_wait(&self, core: &Core, now: u64, bytes: f64, stores: f64) -> f64 {
        let c = &self.costs;
        if c.line == 0.0 {
            return 0.0;
        }
        let used = use_until(&core.dram, now);
        let line = line_wait((c.dram_busy, c.dram_stored, c.dram_queue), used, stores);
        // Sixteen lines wait 1.7 times as long as one there.
        line * (1.0 + 0.17 * (bytes / c.line).max(1.0).log2())
    }

    /// Ticks that a block waits for its last line at the slices of L2, behind lines of other cores. The slices could
    /// serve all of them (calibrate/probes/port.cu). A core's use of its share stands for all cores.
    fn slice_wait(&self, core: &Core, now: u64) -> f64 {
        self.costs.slice_queue * queued(use_until(&core.slices, now))
    }

    /// The source of a copy's bytes.
    fn source(&self, m: &MoveEffect, obj: u16, (now, seat): (u64, AgentTiming), core: &mut Core) -> Source {
        let c = &self.costs;
        let part = |x: f64| (x * 65536.0) as u64;
        let Some(w) = self.device_wave(seat.wave) else {
            let miss = self.misses[obj as usize];
            let extra = ticks(miss * (c.dram_latency - c.l2_latency).max(0.0));
            return Source { dram: part(miss), looked: 0, extra, hit: None };
        };
        let (share, shares) = (self.share(w), w.shares[obj as usize]);
        let again = m.tile.and_then(|t| Some((t, w.again(obj, t.at)?)));
        // A load to registers leaves its lines in the core's own cache, a copy does not.
        let near = again.filter(|(t, _)| !core.read.insert((seat.cluster, obj, t.at, t.shift)));
        let to_registers = m.how == MoveKind::Ldg;
        let kept = to_registers
            && m.tile.is_some_and(|t| w.keeps(obj, t.at) && !core.read.insert((ANY_CLUSTER, obj, t.at, t.shift)));
        let missed = near.filter(|_| to_registers && !kept).map_or(0.0, |(t, _)| w.missed(obj, t.at));
        // A block is late if one of its lines is.
        let late = || 1.0 - (1.0 - missed).powf(self.lines(m, obj).1 / c.line.max(1.0)) >= 0.5;
        if let Some(l1) = c.l1_latency
            && to_registers
            && (kept || near.is_some() && !late())
        {
            return Source { dram: 0, looked: 0, extra: 0, hit: Some(ticks(l1)) };
        }
        let level = near.map_or_else(|| m.tile.map_or(Level::Near, |t| w.level(obj, t.at)), |(_, level)| level);
        let miss = |core: &Core| {
            let bytes = self.lines(m, obj).1;
            self.last_line(obj, bytes) + self.dram_wait(core, now, bytes, w.stores)
        };
        let hit = match level {
            Level::Near => 0.0,
            Level::Far => c.far_extra,
            Level::Last => c.last_extra,
            Level::Dram => miss(core),
        };
        let lead = m.tile.filter(|_| level < Level::Dram && near.is_none()).and_then(|t| w.lead(obj, t.at));
        let joined = lead.map_or(0, |lead| {
            let more = ticks((miss(core) - hit).max(0.0));
            core.pursuits.entry(seat.cluster).or_insert_with(|| Pursuit::from(now)).wait(lead, now, more)
        });
        let behind = hit + joined as f64;
        let extra = ticks(behind + self.slice_wait(core, now));
        let dram = if near.is_some() && level < Level::Dram { 0.0 } else { shares.dram };
        let looked = shares.looked * share * if near.is_some() && to_registers { missed } else { 1.0 };
        Source { dram: part(dram * share), looked: part(looked), extra, hit: None }
    }

    /// The source of the lines that an atomic access adds to: L2 reads those that it does not have. An instruction adds to
    /// few lines, which arrive like a single one. Loads do not delay the access, because a kernel adds its results when it
    /// has loaded.
    fn added_to(&self, m: &MoveEffect, obj: u16, seat: AgentTiming) -> Source {
        let (Some(w), Some(at)) = (self.device_wave(seat.wave), m.target.as_ref()) else { return Source::default() };
        if w.level(obj, **at) < Level::Dram {
            return Source::default();
        }
        let extra = ticks(self.costs.dram_latency - self.costs.l2_latency);
        let dram = (w.shares[obj as usize].dram * self.share(w) * 65536.0) as u64;
        Source { dram, extra, ..Source::default() }
    }

    pub(super) fn movement(&self, op: &Op, m: &MoveEffect, now: u64, seat: AgentTiming, core: &mut Core) -> Charge {
        let Op::Move { src, dst, .. } = op else { return Charge::default() };
        let c = &self.costs;
        let lanes = c.warp_size.max(1) as u64;
        let per = (c.bytes_per_lane.max(1) as u64 * lanes) as f64;
        let from = self.source(m, src.obj, (now, seat), core);
        let issue = |core: &mut Core, at: u64, n: f64, each: f64| self.issue(core, seat, at, (n, each));
        match m.how {
            MoveKind::Load => {
                let n = (m.global_bytes as f64 / per).ceil().max(1.0);
                let batch = m.issue.in_flight().map_or(n as u32, |b| b.clamp(1, n as u32));
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
                Charge { start: now, end: now, parts: Some(Parts::Load(load)), ..Charge::default() }
            }
            MoveKind::Ldg | MoveKind::CpAsync | MoveKind::LdsDma => {
                let copied = m.how == MoveKind::CpAsync;
                // The time of a `cp.async` contains its address arithmetic, which a compiled kernel has on its own.
                let each = if copied && m.issue.instructions().is_none() { c.issue_cp } else { c.issue_load };
                let wide =
                    if m.how == MoveKind::LdsDma { c.dma_bytes_per_lane.max(1) as f64 * lanes as f64 } else { per };
                // A part of a block that several instructions copy together may have none of its own.
                let n = m.issue.instructions().map_or((m.global_bytes as f64 / wide).ceil().max(1.0), f64::from);
                let (start, end) = issue(core, now, n, each);
                // Requests leave one by one while the instructions issue. Lines of an asynchronous copy are looked up
                // in order with reads of shared memory; a register load uses the port itself.
                let port = ticks(self.load_port(m, src.obj));
                if let Some(hit) = from.hit {
                    let land = through_port(core, start, port).max(end) + hit;
                    return Charge { start, queued: Some(Stall::Issue), end, lands: [land, land], ..Charge::default() };
                }
                if copied {
                    core.front.serve(start, port);
                }
                let port = if m.how == MoveKind::Ldg { port } else { 0 };
                let there = self.fetch(core, start, self.lines(m, src.obj), from, copied).max(end);
                let there = there.max(through_port(core, start, port));
                let extra = if copied { c.cp_extra } else { 0.0 };
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
            MoveKind::Lds | MoveKind::Sts => {
                let n = if m.issue.passes().is_some() { 1.0 } else { (m.chip_bytes as f64 / per).ceil().max(1.0) };
                let each = if m.how == MoveKind::Lds { c.issue_lds } else { c.issue_sts };
                let shared = if m.how == MoveKind::Lds { src } else { dst };
                // Stores write whole rows; only reads of fragments across rows conflict in the banks.
                let ways = if m.how == MoveKind::Lds { self.conflict(shared.obj, m.chip_rows) } else { 1.0 };
                let ready = now.max(if m.how == MoveKind::Sts { seat.matrix_ready } else { 0 });
                let (start, issued) = issue(core, ready, n, each);
                let unpacked = if m.dequant { self.unpack(core, seat, issued, m.elements as f64) } else { issued };
                // The instruction queues behind earlier copies; it passes there at the rate of one line of a copy.
                let at = if c.load_line > 0.0 { core.front.serve(start, ticks(n * c.load_line)).0 } else { start };
                let bytes =
                    m.issue.passes().map_or(m.chip_bytes as f64 * ways, |passes| f64::from(passes) * PASS_BYTES);
                let (_, port) = core.shared.serve(at, ticks(bytes * c.shared_byte));
                // A store continues when the port has taken its data. The data of a load arrives one latency later.
                let end = if m.how == MoveKind::Sts { unpacked.max(port) } else { issued };
                let land = port.max(issued) + ticks(c.shared_latency);
                Charge { start, queued: Some(Stall::Issue), end, lands: [land, land], ..Charge::default() }
            }
            MoveKind::Store => {
                let n = m.issue.instructions().map_or((m.global_bytes as f64 / per).ceil(), f64::from).max(1.0);
                let ready = now.max(seat.matrix_ready);
                let (mut atomic, mut missing, mut read) = (0, 0, 0);
                if dst.sel.writes == Writes::Atomic {
                    let lines = self.added_to(m, dst.obj, seat);
                    (atomic, missing) = (ticks(c.atomic), lines.extra);
                    read = ticks(m.global_bytes as f64 / n * (lines.dram as f64 / 65536.0) * c.dram_byte);
                }
                let bytes = (m.global_bytes as f64 / n * 256.0) as u64;
                let alone = ticks(n * c.issue_store.max(bytes as f64 / 256.0 * c.store_byte));
                let store = Store { left: n as u32, begun: false, alone, bytes, atomic, missing, read };
                let queued = Some(Stall::Tensor);
                Charge { start: ready, queued, end: ready, parts: Some(Parts::Store(store)), ..Charge::default() }
            }
            MoveKind::TmaLoad => {
                let (start, end) = self.issue_copy(core, seat, now);
                // One box for each stretch of a row that the swizzle spans, one after the other.
                let span = self.prog.objects[dst.obj as usize].swizzle as f64;
                let wide = m.chip_bytes as f64 / m.chip_rows.max(1) as f64;
                let boxes = if span > 0.0 { (wide / span).ceil().max(1.0) } else { 1.0 };
                let (begun, taken) = core.boxes.serve(start, ticks(boxes * c.tma_request));
                let (_, written) = core.copy.serve(begun, self.copied(m));
                let written = written.max(taken);
                let there = self.fetch(core, start, self.lines(m, src.obj), from, true).max(written);
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
            MoveKind::TmaStore => {
                let (start, end) = self.issue_copy(core, seat, now);
                let (begun, read) = core.copy.serve(end, self.copied(m));
                let bytes = m.global_bytes as f64;
                let stored = self.stored(core, read, (bytes, ticks(bytes * c.dram_byte)), seat);
                let land = stored + ticks(c.tma_store_latency);
                Charge {
                    start,
                    queued: Some(Stall::Issue),
                    end,
                    lands: [read, land],
                    engine: Some((begun, land)),
                    ..Charge::default()
                }
            }
            MoveKind::TmemLd | MoveKind::TmemSt => {
                let (start, issued) = issue(core, now.max(seat.matrix_ready), 1.0, c.issue_sync);
                let (_, moved) = core.tmem.serve(start, ticks(m.chip_bytes as f64 * c.tmem_byte));
                let land = moved.max(issued) + ticks(c.tmem_latency);
                Charge { start, queued: Some(Stall::Issue), end: issued, lands: [land, land], ..Charge::default() }
            }
        }
    }

    /// Issues an instruction to the copy engine. Its warp continues when the engine has taken it; the scheduler does at
    /// once (calibrate/probes/tma.cu: 256 additions of another warp take 264 cycles, beside sixteen copies and alone).
    fn issue_copy(&self, core: &mut Core, seat: AgentTiming, now: u64) -> (u64, u64) {
        let (start, issued) = self.issue(core, seat, now, (1.0, TICKS as f64));
        // Copies of a compiled kernel wait in a queue: of two between barriers, no warp waits (Nsight Compute).
        if self.prog.opaque_globals {
            return (start, issued);
        }
        (start, issued.max(start + ticks(self.costs.issue_tma)))
    }

    /// Starts the next batch of a synchronous load. Returns its start, the end of its issue, and the arrival of its
    /// data.
    pub(super) fn load_batch(&self, load: &mut Load, now: u64, seat: AgentTiming, core: &mut Core) -> (u64, u64, u64) {
        let c = &self.costs;
        let n = load.batch.min(load.left);
        let (start, issued) = self.issue(core, seat, now, (n as f64, c.issue_load));
        let bytes = load.bytes as f64 / 256.0 * n as f64;
        let from = load.source;
        let there = self.fetch(core, start, (bytes, bytes), from, false).max(issued);
        let there = there.max(through_port(core, start, load.port * n as u64)) + ticks(c.l2_latency) + from.extra;
        load.left -= n;
        load.flying = n;
        (start, issued, there)
    }

    /// Stores the batch whose data has arrived. Returns start and end.
    pub(super) fn load_store(&self, load: &mut Load, now: u64, seat: AgentTiming, core: &mut Core) -> (u64, u64) {
        let c = &self.costs;
        let n = load.flying as f64;
        load.flying = 0;
        let unpacked = if load.elements > 0 { self.unpack(core, seat, now, load.elements as f64 * n) } else { now };
        let (_, issued) = self.issue(core, seat, unpacked, (n, c.issue_sts));
        let (_, port) = core.shared.serve(unpacked, ticks(load.chip as f64 / 256.0 * n * c.shared_byte));
        (now, issued.max(port))
    }

    /// Issues the next instruction of a store. Returns its start, and the tick at which the port has taken it.
    pub(super) fn store_part(&self, store: &mut Store, now: u64, seat: AgentTiming, core: &mut Core) -> (u64, u64) {
        let bytes = store.bytes as f64 / 256.0;
        // Rounded once for the whole store, because the ticks of DRAM count the bytes.
        let dram = |left: u32| ticks(bytes * left as f64 * self.costs.dram_byte);
        let before = store.left;
        store.left -= 1;
        let (start, issued) = self.issue(core, seat, now, (1.0, self.costs.issue_store));
        let taken = self.stored(core, start, (bytes, dram(before) - dram(store.left)), seat);
        if store.atomic == 0 {
            return (start, issued.max(taken));
        }
        let added = core.writes.serve(start, store.atomic).1;
        self.served_by_dram(core, start, store.read);
        (start, issued.max(taken).max(added))
    }

    /// The tick at which L2 has taken the stored bytes. DRAM receives the bytes later, in `dram` ticks.
    fn stored(&self, core: &mut Core, at: u64, (bytes, dram): (f64, u64), seat: AgentTiming) -> u64 {
        let c = &self.costs;
        let (_, sent) = core.requests.serve(at, ticks(bytes * c.store_byte));
        let share = self.device_wave(seat.wave).map_or(0.0, |w| self.share(w));
        let (_, taken) = core.writes.serve(at, ticks(bytes * share * c.write_byte));
        // Stored data goes to DRAM when a cache evicts it.
        let evicted = self.device_wave(seat.wave).filter(|_| self.prog.opaque_globals).map_or(1.0, |w| w.written);
        let dram = dram as f64 * evicted;
        self.served_by_dram(core, at, dram as u64);
        // DRAM changes between reads and writes. Its ticks of work count bytes, and this time has none.
        core.dram.free += (dram * (c.written - 1.0)) as u64;
        // A store of a compiled kernel waits for the lines that leave to make room.
        let room = if self.prog.opaque_globals { core.evicted.serve(at, dram as u64).1 } else { at };
        sent.max(taken).max(room)
    }

    fn unpack(&self, core: &mut Core, seat: AgentTiming, at: u64, elements: f64) -> u64 {
        let c = &self.costs;
        self.compute(core, seat, at, elements * c.dequant_ops, c.int).1
    }

    /// The slowdown of a read of a tile without swizzle by bank conflicts. Only rows conflict with each other: a single
    /// row lies in all banks in turn.
    fn conflict(&self, obj: u16, rows: i64) -> f64 {
        let conflicts = self.prog.objects[obj as usize].has_bank_conflicts();
        if conflicts { self.costs.conflict.min(rows.max(1) as f64) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_grows_with_the_use_up_to_the_highest_that_was_measured() {
        let server = Server { free: 50, ..Server::default() };
        assert_eq!(
            (use_until(&server, 200), use_until(&server, 50), use_until(&Server::default(), 0)),
            (0.25, 0.95, 0.0)
        );
        assert_eq!(
            (line_wait((100.0, 800.0, 10.0), 0.5, 0.0), line_wait((100.0, 800.0, 10.0), 0.5, 0.5)),
            (60.0, 260.0)
        );
        assert_eq!((queued(0.0), queued(0.5), queued(0.75)), (0.0, 1.0, 3.0));
    }
}
