//! The event loop.

use smallvec::SmallVec;

use crate::ir::{How, Instr, MmaKind, Op, Program, Queue as Group};
use crate::machine::Machine;
use crate::protocol::{AgentId, Did, FlightId, Foot, MeetKind, On, Rules, Step, StreamKind, World};
use crate::report::{Finding, Outcome, Report, RunError, RunOptions};
use crate::timeline::{Engine as EngineRow, Stall, What as Shown, Work};

use super::cache::misses;
use super::costs::Costs;
use super::ledger::Ledger;
use super::occupancy::occupancy;
use super::queue::{Queue, What};
use super::record::Recorder;
use super::repeat::Repeats;
use super::server::Core;
use super::support::{rules, supported};
use super::timing::{Charge, Load, Seat as Place, Timing};

/// What the engine keeps of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Tick up to which its time is accounted for.
    pub(super) upto: u64,
    /// It waits: at which instruction, why.
    pub(super) waits: Option<(u32, Stall, On)>,
    /// Loop iterations begun and not charged yet.
    loops: u32,
    /// Tick at which its last matrix results are there.
    pub(super) matrix_ready: u64,
    /// A synchronous load it is in the middle of, and its instruction.
    pub(super) load: Option<(Load, u32)>,
    /// What that load fills, with which tile and since when, where it is drawn.
    filling: Option<(Foot, String, u64)>,
    /// Tick it ended.
    pub(super) ended: Option<u64>,
    /// Global loads into registers on the way, for naming scoreboard stalls.
    pub(super) fetching: u32,
    /// The operation at hand had to wait.
    woken: bool,
    /// Span that let it go on.
    waker: Option<u32>,
}

/// One place for a cluster on the simulated cores.
pub(super) struct Seat<'p> {
    pub(super) world: Option<World<'p>>,
    pub(super) runs: Vec<Run>,
    /// Who waits for what: mbarriers, then rendezvous, then agents' own, then pools.
    pub(super) waiters: Vec<SmallVec<[AgentId; 4]>>,
    /// Landing times so far, by agent and stream, which land in order.
    pub(super) landed: Vec<[u64; 10]>,
    /// Number of the cluster in this run.
    pub(super) number: u32,
    /// For each flight, the span that shows it, and whether it fills registers from global memory.
    flights: Vec<(Option<u32>, bool)>,
    /// Phases of the barriers when last looked at.
    phases: Vec<u32>,
}

/// The engine in the middle of a run.
pub(super) struct Engine<'p> {
    pub(super) prog: &'p Program,
    pub(super) timing: Timing<'p>,
    rules: Rules,
    pub(super) cores: Vec<Core>,
    pub(super) seats: Vec<Seat<'p>>,
    pub(super) queue: Queue,
    pub(super) ledger: Ledger,
    pub(super) recorder: Option<Recorder<'p>>,
    pub(super) findings: Vec<Finding>,
    pub(super) reads: (u64, u64),
    /// Launch indices of the clusters this unit runs, last first.
    pub(super) todo: Vec<i64>,
    more_tiles: Vec<i64>,
    pub(super) launched: u32,
    pub(super) retired: u32,
    pub(super) broken: bool,
    pub(super) events: u64,
    pub(super) end: u64,
    pub(super) flops: f64,
    pub(super) steps: super::report::Steps,
    /// Ticks by which everything from here on is late, because repetitions were skipped.
    pub(super) skipped: u64,
}

/// Runs a kernel on a machine at `core` fidelity: the cores of one cluster, with all their resident CTAs and a fair share
/// of the caches and of DRAM. Of the clusters, those one such unit gets are run: every n-th of the launch order, up to the
/// grid's last corner.
///
/// # Errors
/// When the machine lacks a number or a feature the kernel needs, or no CTA fits.
pub fn run(prog: &Program, machine: &Machine, options: &RunOptions) -> Result<Report, RunError> {
    run_recorded(prog, machine, options, &mut None)
}

/// [`run`], and what the run asked of its event queue, if there is a list for it: for each push the ticks until the event,
/// for each pop `None`. For measuring queues with the mix of events that kernels make.
///
/// # Errors
/// As [`run`].
pub fn run_recorded(
    prog: &Program,
    machine: &Machine,
    options: &RunOptions,
    mix: &mut Option<Vec<Option<u64>>>,
) -> Result<Report, RunError> {
    supported(prog, machine)?;
    let cores = machine.need("core.count", "every kernel")? as i64;
    let units = (cores / prog.cluster as i64).max(1);
    let clusters = prog.grid.len();
    if prog.grid.is_empty() {
        return Err(RunError::EmptyGrid { m: prog.grid.m, n: prog.grid.n, z: prog.grid.z });
    }
    let share = (clusters + units - 1) / units;
    let occupancy = occupancy(prog, machine, share)?;
    let active = (clusters * prog.cluster as i64).clamp(1, units * prog.cluster as i64);
    let costs = Costs::new(prog, machine, active)?;
    let seats = occupancy.ctas_per_core as usize;
    let rules = rules(machine);
    // The unit that runs the grid's last cluster: edges and corners are where guards bite.
    let unit = (clusters - 1).rem_euclid(units);
    let mut list: Vec<i64> = (0..share).map(|i| unit + i * units).filter(|id| *id < clusters).collect();
    let hands_out = prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::NextTile { .. }, .. }));
    let more_tiles = if hands_out && list.len() > seats { list.split_off(seats) } else { Vec::new() };
    list.reverse();
    let resident = units * seats as i64;
    let misses = if options.warm_l2 { vec![0.0; prog.objects.len()] } else { misses(prog, resident) };
    let schedulers = costs.schedulers.max(1);
    let agents = World::new(prog, rules, 0, &[]).agents().len();
    let mut engine = Engine {
        prog,
        timing: Timing { prog, costs, misses },
        rules,
        cores: vec![Core::new(schedulers); prog.cluster as usize],
        seats: Vec::new(),
        queue: Queue::recorded(mix.take()),
        ledger: Ledger::new(agents, prog.code.len()),
        recorder: options.timeline.map(|n| Recorder::new(prog, n)),
        findings: Vec::new(),
        reads: (0, 0),
        todo: list,
        more_tiles,
        launched: 0,
        retired: 0,
        broken: false,
        events: 0,
        end: 0,
        flops: 0.0,
        steps: super::report::Steps::default(),
        skipped: 0,
    };
    for seat in 0..seats as u32 {
        engine.seats.push(Seat::empty());
        engine.queue.push(0, What::Seat { seat });
    }
    let mut repeats = Repeats::new(options.skip_repeats && options.timeline.is_none() && !World::depends_on_grid(prog));
    let outcome = engine.go(options.max_events, &mut repeats);
    *mix = engine.queue.take_record();
    Ok(engine.report(machine, outcome, occupancy, share, active))
}

impl<'p> Seat<'p> {
    fn empty() -> Self {
        Seat {
            world: None,
            runs: Vec::new(),
            waiters: Vec::new(),
            landed: Vec::new(),
            number: 0,
            flights: Vec::new(),
            phases: Vec::new(),
        }
    }

    /// Where the waiters of something are kept.
    fn waiting_for(&self, on: On) -> usize {
        let Some(w) = &self.world else { return 0 };
        let (mbars, meets, _) = w.objects();
        match on {
            On::Mbar(i) => i as usize,
            On::Meet(i) => mbars + i as usize,
            On::Own(a) => mbars + meets + a as usize,
            On::Pool(c) => mbars + meets + self.runs.len() + c as usize,
        }
    }
}

impl<'p> Engine<'p> {
    fn go(&mut self, max_events: u64, repeats: &mut Repeats) -> Outcome {
        while let Some((now, what)) = self.queue.pop() {
            self.events += 1;
            if self.events > max_events {
                return Outcome::Limit;
            }
            match what {
                What::Seat { seat } => {
                    repeats.look(self, now);
                    self.launch(seat as usize, now);
                }
                What::Land { seat, flight } => self.land(seat as usize, flight, now),
                What::Go { seat, agent } => self.proceed(seat as usize, agent, now),
            }
            if self.broken {
                self.end = now;
                return Outcome::Broken;
            }
        }
        if self.seats.iter().any(|s| s.world.is_some()) {
            return Outcome::Hung(self.diagnose());
        }
        Outcome::Finished
    }

    fn launch(&mut self, s: usize, now: u64) {
        let Some(id) = self.todo.pop() else { return };
        let spare = self.seats.len().max(1);
        // Tiles that `clc` hands out are dealt to the resident clusters in turn.
        let more: Vec<i64> = self.more_tiles.iter().skip(s).step_by(spare).copied().collect();
        let mut world = World::new(self.prog, self.rules, id, &more);
        world.touched.clear();
        let n = world.agents().len();
        let (mbars, meets, ctas) = world.objects();
        let start = now + self.timing.costs.cta_launch.ceil() as u64;
        let seat = &mut self.seats[s];
        seat.number = self.launched;
        self.launched += 1;
        seat.runs = vec![Run { upto: now, ..Run::default() }; n];
        seat.waiters = vec![SmallVec::new(); mbars + meets + n + ctas];
        seat.landed = vec![[0; 10]; n];
        seat.flights.clear();
        seat.phases = vec![0; mbars];
        seat.world = Some(world);
        for a in 0..n as u32 {
            self.account(s, a, 0, start, Shown::Stall(Stall::Launch), String::new());
            self.queue.push(start, What::Go { seat: s as u32, agent: a });
        }
    }

    fn land(&mut self, s: usize, flight: FlightId, now: u64) {
        let seat = &mut self.seats[s];
        let Some(w) = seat.world.as_mut() else { return };
        let (span, fetch) = seat.flights.get(flight as usize).copied().unwrap_or((None, false));
        if fetch && let Some(f) = w.flight(flight) {
            let run = &mut seat.runs[f.agent as usize];
            run.fetching = run.fetching.saturating_sub(1);
        }
        w.land(flight);
        self.settle(s, now, span);
        self.retire(s, now);
    }

    /// Deals with what a step or a landing changed: findings get their time, waiters are woken, phases are drawn.
    fn settle(&mut self, s: usize, now: u64, waker: Option<u32>) {
        let at = (now + self.skipped) as f64 / crate::timeline::TICKS as f64;
        let seat = &mut self.seats[s];
        let Some(w) = seat.world.as_mut() else { return };
        for f in w.findings.iter_mut().filter(|f| f.cycle < 0.0) {
            f.cycle = at;
        }
        let touched = std::mem::take(&mut w.touched);
        for &on in &touched {
            if let (On::Mbar(ix), Some(_)) = (on, &self.recorder) {
                self.draw_phase(s, ix, now);
            }
            let seat = &mut self.seats[s];
            let place = seat.waiting_for(on);
            let waiters = std::mem::take(&mut seat.waiters[place]);
            for a in waiters {
                let run = &mut seat.runs[a as usize];
                run.waker = waker;
                let Some((pc, _, _)) = run.waits else { continue };
                let delay = match on {
                    On::Mbar(_) => self.timing.costs.mbar_wake.ceil() as u64,
                    On::Meet(_) => match &self.prog.code[pc as usize] {
                        Instr::Op { op, cost } => self.timing.release_of(op, cost),
                        _ => 0,
                    },
                    On::Own(_) | On::Pool(_) => 0,
                };
                self.queue.push(now + delay, What::Go { seat: s as u32, agent: a });
            }
        }
        if let Some(w) = self.seats[s].world.as_mut() {
            w.touched = touched;
            w.touched.clear();
        }
    }

    fn draw_phase(&mut self, s: usize, ix: u32, now: u64) {
        let seat = &mut self.seats[s];
        let (Some(w), Some(r)) = (&seat.world, &mut self.recorder) else { return };
        let m = w.mbar(ix);
        let drawn = &mut seat.phases[ix as usize];
        if m.phase + 1 > *drawn {
            *drawn = m.phase + 1;
            let (name, cta) = w.mbar_label(ix);
            r.phase(seat.number * self.prog.cluster + cta, ix, &name, m.phase, now);
        }
    }

    /// Accounts an agent's time up to `until` as a stall, or as work.
    fn account(&mut self, s: usize, a: AgentId, pc: u32, until: u64, what: Shown, label: String) -> Option<u32> {
        let seat = &mut self.seats[s];
        let run = &mut seat.runs[a as usize];
        debug_assert!(until >= run.upto, "time of an agent goes back");
        let (start, ticks) = (run.upto, until - run.upto);
        if ticks == 0 {
            return None;
        }
        run.upto = until;
        match what {
            Shown::Stall(k) => self.ledger.stall(a as usize, pc, k, ticks),
            Shown::Work(k) => self.ledger.work(a as usize, k, ticks),
            Shown::Hold { .. } => {}
        }
        let waker = if matches!(what, Shown::Stall(_)) { run.waker.take() } else { None };
        let r = self.recorder.as_mut()?;
        let who = seat.world.as_ref()?.agents()[a as usize];
        let cta = seat.number * self.prog.cluster + who.cta;
        let row = r.agent(cta, a, who);
        // Launching and having ended belong to no statement.
        let site = match what {
            Shown::Stall(Stall::Launch | Stall::Ended) => None,
            _ => Some(self.prog.at[pc as usize]),
        };
        r.span(row, (start, until), what, site, label, waker)
    }

    fn proceed(&mut self, s: usize, a: AgentId, mut now: u64) {
        if self.seats[s].runs[a as usize].load.is_some() {
            match self.go_on_loading(s, a, now) {
                Some(t) => now = t,
                None => return,
            }
        }
        loop {
            let seat = &mut self.seats[s];
            let Some(w) = seat.world.as_mut() else { return };
            let step = w.step(a);
            match step {
                Step::Blocked { pc, loops, on } => {
                    let run = &mut seat.runs[a as usize];
                    run.loops += loops;
                    let stall = self.cause(s, a, pc, on);
                    let seat = &mut self.seats[s];
                    seat.runs[a as usize].waits = Some((pc, stall, on));
                    let place = seat.waiting_for(on);
                    seat.waiters[place].push(a);
                    self.settle(s, now, None);
                    return;
                }
                Step::Did { pc, loops, did } => {
                    let waited = seat.runs[a as usize].waits.take();
                    if let Some((at, stall, _)) = waited {
                        self.account(s, a, at, now, Shown::Stall(stall), String::new());
                    }
                    let run = &mut self.seats[s].runs[a as usize];
                    run.woken = waited.is_some();
                    let loops = loops + std::mem::take(&mut run.loops);
                    let begin = now + (loops as f64 * self.timing.costs.loop_).ceil() as u64;
                    self.account(s, a, pc, begin, Shown::Work(Work::Control), String::new());
                    let end = self.charge(s, a, pc, &did, begin);
                    if self.seats[s].runs[a as usize].load.is_some() {
                        self.queue.push(end, What::Go { seat: s as u32, agent: a });
                        return;
                    }
                    if end > now {
                        self.queue.push(end, What::Go { seat: s as u32, agent: a });
                        return;
                    }
                }
                Step::Ended => {
                    if let Some((at, stall, _)) = seat.runs[a as usize].waits.take() {
                        self.account(s, a, at, now, Shown::Stall(stall), String::new());
                    }
                    self.seats[s].runs[a as usize].ended = Some(now);
                    self.settle(s, now, None);
                    self.retire(s, now);
                    return;
                }
                Step::Broken => {
                    self.settle(s, now, None);
                    self.keep_findings(s);
                    self.broken = true;
                    return;
                }
            }
        }
    }

    /// Gives an operation its time, accounts for it, and schedules what it started. The tick the agent goes on.
    fn charge(&mut self, s: usize, a: AgentId, pc: u32, did: &Did, now: u64) -> u64 {
        let seat = &mut self.seats[s];
        let Some(w) = &seat.world else { return now };
        let who = w.agents()[a as usize];
        let place = Place {
            scheduler: who.warp as usize % self.timing.costs.schedulers.max(1),
            matrix_ready: seat.runs[a as usize].matrix_ready,
            woken: seat.runs[a as usize].woken,
        };
        let (core, peer) = two(&mut self.cores, who.cta as usize);
        let c = self.timing.charge(pc, did, now, place, core, peer);
        let Instr::Op { op, .. } = &self.prog.code[pc as usize] else { return now };
        if let Did::Met { last: true } = did {
            let stall = self.meeting(op);
            self.account(s, a, pc, c.end, Shown::Stall(stall), String::new());
            self.settle(s, now, None);
            return c.end;
        }
        let label = self.label(s, did);
        let queued = c.queued.unwrap_or(Stall::Issue);
        self.account(s, a, pc, c.start, Shown::Stall(queued), String::new());
        let span = self.account(s, a, pc, c.end, Shown::Work(op.work()), label.clone());
        if let Some(load) = c.load {
            self.seats[s].runs[a as usize].load = Some((load, pc));
        }
        self.started(s, a, pc, did, &c, label);
        self.settle(s, now, span);
        c.end
    }

    /// Schedules the landings of what an operation started, draws engines and slots, and counts matrix work.
    fn started(&mut self, s: usize, a: AgentId, pc: u32, did: &Did, c: &Charge, label: String) {
        let now = c.start;
        let site = self.prog.at[pc as usize];
        let mut flights: SmallVec<[(FlightId, u64); 2]> = SmallVec::new();
        let mut row = None;
        let mut fetch = false;
        match did {
            Did::Move(m) => {
                flights.extend(m.flights.iter().copied().zip(c.lands));
                row = match m.how {
                    How::TmaLoad | How::TmaStore => Some(EngineRow::Copy),
                    How::Ldg | How::CpAsync | How::LdsDma => Some(EngineRow::Loads),
                    _ => None,
                };
                fetch = m.how == How::Ldg;
            }
            Did::Mma(m) => {
                if m.acts {
                    self.flops += 2.0 * m.m as f64 * m.n as f64 * m.k as f64;
                    self.steps.note(self.seats[s].number, a, pc, m.tiles, now);
                }
                if let Some(f) = m.flight {
                    flights.push((f, c.lands[0]));
                    row = Some(EngineRow::Tensor);
                } else if m.kind == MmaKind::Warp {
                    let run = &mut self.seats[s].runs[a as usize];
                    run.matrix_ready = run.matrix_ready.max(c.lands[0]);
                }
            }
            Did::Alu { .. } => self.steps.note_alu(self.seats[s].number, a, pc, now),
            Did::Signal { flight, .. } => flights.push((*flight, c.lands[0])),
            _ => {}
        }
        for (i, &(f, at)) in flights.iter().enumerate() {
            let seat = &mut self.seats[s];
            let Some(w) = seat.world.as_ref() else { return };
            // Operations of one stream land in the order they were started.
            let land = match w.stream_of(f) {
                Some((owner, kind)) if kind != StreamKind::Scoreboard => {
                    let last = &mut seat.landed[owner as usize][kind as usize];
                    *last = (*last).max(at);
                    *last
                }
                _ => at,
            };
            let cta = seat.number * self.prog.cluster + w.agents()[a as usize].cta;
            let span = match (&mut self.recorder, row, i) {
                (Some(r), Some(engine), 0) => {
                    let work = if engine == EngineRow::Tensor { Work::Mma } else { Work::Load };
                    let row = r.engine(cta, engine);
                    let (from, to) = c.engine.unwrap_or((now, land));
                    r.span(row, (from, to.max(from + 1)), Shown::Work(work), Some(site), label.clone(), None)
                }
                _ => None,
            };
            if seat.flights.len() <= f as usize {
                seat.flights.resize(f as usize + 1, (None, false));
            }
            seat.flights[f as usize] = (span, fetch);
            if let (true, Some(flight)) = (fetch, w.flight(f)) {
                let starter = flight.agent as usize;
                seat.runs[starter].fetching += 1;
            }
            self.queue.push(land, What::Land { seat: s as u32, flight: f });
        }
        if let (Did::Move(m), true) = (did, self.recorder.is_some())
            && let Some(foot) = &m.fills
        {
            if c.load.is_some() {
                self.seats[s].runs[a as usize].filling = Some((*foot, label, now));
                return;
            }
            let full = if m.flights.is_empty() { c.end } else { c.lands[0] };
            self.draw_fill(s, foot, label, now, full, site);
        }
    }

    fn draw_fill(&mut self, s: usize, foot: &Foot, label: String, now: u64, full: u64, site: u32) {
        let seat = &self.seats[s];
        if let Some(r) = &mut self.recorder {
            r.fill(seat.number * self.prog.cluster + foot.cta, foot, label, now, full, site);
        }
    }

    /// The next part of a synchronous load. The tick the agent can go on to its next operation, once it is over.
    fn go_on_loading(&mut self, s: usize, a: AgentId, now: u64) -> Option<u64> {
        let run = &self.seats[s].runs[a as usize];
        let (mut load, pc) = run.load?;
        let who = self.seats[s].world.as_ref()?.agents()[a as usize];
        let place = Place {
            scheduler: who.warp as usize % self.timing.costs.schedulers.max(1),
            matrix_ready: run.matrix_ready,
            woken: run.woken,
        };
        let core = &mut self.cores[who.cta as usize];
        let mut at = now;
        if load.flying > 0 {
            let (start, done) = self.timing.load_store(&mut load, now, place, core);
            let label = self.loading(s, a);
            self.account(s, a, pc, start, Shown::Stall(Stall::Global), String::new());
            self.account(s, a, pc, done, Shown::Work(Work::Load), label);
            self.seats[s].runs[a as usize].load = Some((load, pc));
            at = done;
            if load.left == 0 {
                let run = &mut self.seats[s].runs[a as usize];
                run.load = None;
                if let Some((foot, label, since)) = run.filling.take() {
                    self.draw_fill(s, &foot, label, since, done, self.prog.at[pc as usize]);
                }
            }
            self.queue.push(at, What::Go { seat: s as u32, agent: a });
            return None;
        }
        let (start, issued, there) = self.timing.load_batch(&mut load, at, place, core);
        let label = self.loading(s, a);
        self.account(s, a, pc, start, Shown::Stall(Stall::Issue), String::new());
        self.account(s, a, pc, issued, Shown::Work(Work::Load), label);
        self.seats[s].runs[a as usize].load = Some((load, pc));
        self.queue.push(there, What::Go { seat: s as u32, agent: a });
        None
    }

    /// The tile a synchronous load is about, where it is drawn.
    fn loading(&self, s: usize, a: AgentId) -> String {
        self.seats[s].runs[a as usize].filling.as_ref().map_or(String::new(), |(_, tile, _)| tile.clone())
    }

    /// When all agents have ended and nothing is in flight: the seat is free.
    fn retire(&mut self, s: usize, now: u64) {
        let seat = &self.seats[s];
        let Some(w) = &seat.world else { return };
        if !w.ended() || w.in_flight() > 0 {
            return;
        }
        for a in 0..seat.runs.len() as u32 {
            self.account(s, a, 0, now, Shown::Stall(Stall::Ended), String::new());
        }
        let number = self.seats[s].number;
        if let Some(r) = &mut self.recorder {
            for cta in 0..self.prog.cluster {
                r.close(number * self.prog.cluster + cta, now);
            }
        }
        self.keep_findings(s);
        self.seats[s].world = None;
        self.retired += 1;
        self.end = self.end.max(now);
        self.queue.push(now, What::Seat { seat: s as u32 });
    }

    /// Takes what a cluster's world found; the same two places in another cluster count as a repetition.
    pub(super) fn keep_findings(&mut self, s: usize) {
        let Some(w) = self.seats[s].world.as_mut() else { return };
        let r = w.reads();
        self.reads = (self.reads.0 + r.0, self.reads.1 + r.1);
        for f in std::mem::take(&mut w.findings) {
            let same = |g: &&mut Finding| {
                g.kind == f.kind && g.site == f.site && g.other.as_ref().map(|o| o.0) == f.other.as_ref().map(|o| o.0)
            };
            match self.findings.iter_mut().find(same) {
                Some(g) => g.times += f.times,
                None => self.findings.push(f),
            }
        }
    }

    /// The stall a meeting is.
    fn meeting(&self, op: &Op) -> Stall {
        match op {
            Op::Barrier(_) => Stall::Barrier,
            Op::Named { .. } => Stall::Named,
            Op::ClusterWait | Op::ClusterArrive { .. } => Stall::Cluster,
            _ => Stall::Join,
        }
    }

    /// Why an agent is blocked.
    fn cause(&self, s: usize, a: AgentId, pc: u32, on: On) -> Stall {
        let Instr::Op { op, .. } = &self.prog.code[pc as usize] else { return Stall::Issue };
        match on {
            On::Mbar(_) => Stall::Mbarrier,
            On::Meet(ix) => match self.seats[s].world.as_ref().map(|w| w.meet_kind(ix)) {
                Some(MeetKind::Cta(_)) => Stall::Barrier,
                Some(MeetKind::Named(..)) => Stall::Named,
                Some(MeetKind::Cluster) => Stall::Cluster,
                _ => Stall::Join,
            },
            On::Pool(_) => Stall::Pool,
            On::Own(_) => match op {
                Op::Wait(Group::Vm | Group::Lgkm | Group::TmemLd | Group::TmemSt, _) => Stall::Counter,
                Op::Wait(Group::Wgmma, _) => Stall::Tensor,
                Op::Wait(..) => Stall::Group,
                _ if self.seats[s].runs[a as usize].fetching > 0 => Stall::Global,
                _ => Stall::Shared,
            },
        }
    }

    fn label(&self, s: usize, did: &Did) -> String {
        if self.recorder.is_none() {
            return String::new();
        }
        let tile = match did {
            Did::Move(m) => m.tile,
            Did::Mma(m) => m.tiles.0,
            _ => None,
        };
        match (&self.seats[s].world, tile) {
            (Some(w), Some(k)) => w.tile_name(&k),
            _ => String::new(),
        }
    }
}

/// A core and the other one of its pair, if it has one.
fn two(cores: &mut [Core], i: usize) -> (&mut Core, Option<&mut Core>) {
    let j = i ^ 1;
    if j >= cores.len() {
        return (&mut cores[i], None);
    }
    let (low, high) = cores.split_at_mut(i.max(j));
    if i < j { (&mut low[i], high.first_mut()) } else { (&mut high[0], low.get_mut(j)) }
}

impl Engine<'_> {
    /// Every server of the simulated cores, in a fixed order.
    pub(super) fn servers(&mut self) -> impl Iterator<Item = &mut super::server::Server> {
        self.cores.iter_mut().flat_map(Core::servers)
    }

    /// The whole state relative to `now`, without what it does not act on (tile coordinates, happens-before).
    pub(super) fn state(&self, now: u64) -> Vec<u64> {
        let mut out = Vec::new();
        for c in &self.cores {
            out.extend(c.ahead(now));
        }
        for q in self.queue.sorted() {
            let at = (q >> 64) as u64 - now;
            out.extend([at, q as u64]);
        }
        for seat in &self.seats {
            let Some(w) = &seat.world else {
                out.push(u64::MAX);
                continue;
            };
            w.fingerprint(&mut out);
            for (r, landed) in seat.runs.iter().zip(&seat.landed) {
                out.extend([
                    now.wrapping_sub(r.upto),
                    r.loops as u64,
                    r.matrix_ready.saturating_sub(now),
                    r.fetching as u64,
                ]);
                out.push(r.waits.map_or(u64::MAX, |(pc, stall, _)| (pc as u64) << 8 | stall as u64));
                out.push(r.ended.map_or(u64::MAX, |t| now - t));
                if let Some((l, pc)) = r.load {
                    out.extend([pc as u64, l.left as u64, l.flying as u64]);
                }
                out.extend(landed.iter().map(|t| t.saturating_sub(now)));
            }
            for list in &seat.waiters {
                out.push(list.len() as u64);
                out.extend(list.iter().map(|a| *a as u64));
            }
        }
        out
    }
}
