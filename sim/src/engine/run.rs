//! The event loop.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::ir::{Instr, Program};
use crate::machine::Machine;
use crate::protocol::{AgentId, FlightId, Footprint, RendezvousKind, Rules, STREAM_KINDS, WaitTarget, World};
use crate::report::{Fidelity, Finding, Outcome, Report, RunError, RunOptions};
use crate::timeline::{SpanKind, Stall};

use super::cache::misses;
use super::costs::Costs;
use super::cycle::Cycle;
use super::device::{Followed, Launch, Memory, Routes};
use super::dispatch::Deal;
use super::ledger::Ledger;
use super::movement::Parts;
use super::occupancy::{not_empty, occupancy};
use super::queue::{EventKind, Queue};
use super::record::Recorder;
use super::repeat::{self, Repeats};
use super::server::Core;
use super::support::{rules, supported};
use super::timing::Timing;
use super::turns::Turns;

/// The engine's state of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentRun {
    /// Tick up to which the agent's time is accounted for.
    pub(super) upto: u64,
    /// The agent's wait, if it waits: instruction, stall cause, target.
    pub(super) waits: Option<(u32, Stall, WaitTarget)>,
    /// Loop iterations that began and were not charged yet.
    pub(super) loops: u32,
    /// Tick at which the agent's last matrix results are ready.
    pub(super) matrix_ready: u64,
    /// Tick at which the agent's atomic accesses are done.
    pub(super) added: u64,
    /// The operation that the agent performs part by part, and its instruction.
    pub(super) parts: Option<(Parts, u32)>,
    /// The tile of the store in progress; empty without a timeline.
    pub(super) storing: String,
    /// The slot that the load in progress fills, with tile and start; `None` without a timeline.
    pub(super) filling: Option<(Footprint, String, u64)>,
    /// Tick at which the agent ended.
    pub(super) ended: Option<u64>,
    /// Global loads into registers in flight; they decide the cause of a scoreboard stall.
    pub(super) fetching: u32,
    /// Whether the current operation had to wait.
    pub(super) woken: bool,
    /// The span that ended the agent's wait.
    pub(super) waker: Option<u32>,
    /// The mbarrier of the agent's wait, until this wait is drawn.
    pub(super) mbar: Option<u32>,
    /// The last span drawn of the agent.
    pub(super) last: Option<u32>,
}

/// A place for one cluster on the simulated cores.
pub(super) struct Seat<'p> {
    pub(super) world: Option<World<'p>>,
    pub(super) runs: Vec<AgentRun>,
    /// The waiting agents by target: mbarriers, then rendezvous, then own flights of each agent, then pools.
    pub(super) waiters: Vec<SmallVec<[AgentId; 4]>>,
    /// The latest landing so far, by agent and stream; a stream lands in order.
    pub(super) landed: Vec<[u64; STREAM_KINDS]>,
    /// The last span drawn of each stream, by agent.
    pub(super) drawn: Vec<[Option<u32>; STREAM_KINDS]>,
    /// Tiles that `clc` still hands to this cluster.
    pub(super) tiles: u32,
    /// Wave of the launch that the cluster belongs to; 0 at core fidelity.
    pub(super) wave: u32,
    /// The number of the cluster's route; 0 where the routes do not matter.
    pub(super) route: u32,
    /// Number of the cluster in this run.
    pub(super) number: u32,
    /// For each flight, the span that shows it, and whether the flight fills registers from global memory.
    pub(super) flights: Vec<(Option<u32>, bool)>,
    /// Phases of the barriers at the last check.
    pub(super) phases: Vec<u32>,
    /// The span whose end freed the seat.
    pub(super) freed: Option<u32>,
    /// The tick of the last arrival at the cluster barrier, and the span that the last agent had drawn before.
    pub(super) met: Option<(u64, Option<u32>)>,
    /// Objects that changed and whose waiters are not woken yet.
    pub(super) changed: Vec<WaitTarget>,
}

/// The engine during a run.
pub(super) struct Engine<'p> {
    pub(super) prog: &'p Program,
    pub(super) timing: Timing<'p>,
    pub(super) rules: Rules,
    pub(super) cores: Vec<Core>,
    pub(super) seats: Vec<Seat<'p>>,
    pub(super) queue: Queue,
    pub(super) ledger: Ledger,
    pub(super) recorder: Option<Recorder<'p>>,
    pub(super) findings: Vec<Finding>,
    pub(super) reads: (u64, u64),
    /// Launch indices of the clusters that this unit runs, last first.
    pub(super) todo: Vec<i64>,
    /// The numbers of the routes of all clusters that this unit runs, first to last; empty where the routes do not matter.
    pub(super) routes: Vec<u32>,
    pub(super) more_tiles: Vec<i64>,
    pub(super) launched: u32,
    pub(super) retired: u32,
    /// Tiles that `clc` handed to clusters that ended.
    pub(super) handed: u32,
    pub(super) broken: bool,
    /// The schedule that the run follows, if there is one.
    pub(super) turns: Option<Turns>,
    pub(super) events: u64,
    pub(super) end: u64,
    pub(super) flops: f64,
    /// Operations of `flops` that multiply elements inside the matrices.
    pub(super) useful: f64,
    pub(super) steps: super::report::Steps,
    /// Ticks that later times are behind, because repetitions were skipped.
    pub(super) skipped: u64,
    /// Where the rest of the run goes on at the pace of its last wave: by how much of its time that wave differs from the
    /// one before.
    pub(super) pace_change: Option<f64>,
}

/// Runs a kernel on a machine at `core` fidelity: the cores of one cluster, with all their resident CTAs and a fair
/// share of the caches and of DRAM. The simulated clusters are those of one unit: every n-th of the launch order, up to
/// the last corner of the grid. If the grid is one wave of unequal clusters, the first unit is simulated too, and the
/// longer run counts.
///
/// # Errors
/// The machine lacks a number or a feature that the kernel needs, or no CTA fits.
pub fn run(prog: &Program, machine: &Machine, options: &RunOptions) -> Result<Report, RunError> {
    run_recorded(prog, machine, options, &mut None)
}

/// [`run`], with a record of the requests to its event queue, if there is a list for it: for each push the ticks until
/// the event, for each pop `None`. Benchmarks of queues use this mix of events.
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
    let units = units(prog, machine)?;
    let clusters = prog.grid.len();
    // The unit that runs the grid's last cluster, because guards take effect at edges and corners.
    let last = (clusters - 1).rem_euclid(units);
    let report = run_unit(prog, machine, options, mix, last)?;
    // In one wave, clusters that divide the work by index may get less work at a higher index, so the first cluster
    // ends last. Persistent kernels do this where the number of output tiles is not a multiple of the clusters.
    let uneven = last > 0 && clusters <= units && options.schedule.is_none() && World::depends_on_grid(prog);
    // A fault of a program that is for its time is one of `verify`.
    let faulty = |r: &Report| !prog.is_for_time() && r.faults().next().is_some();
    let wrong = |r: &Report| r.outcome != Outcome::Finished || faulty(r);
    if !uneven || wrong(&report) {
        return Ok(report);
    }
    let first = run_unit(prog, machine, options, &mut None, 0)?;
    Ok(if first.cycles > report.cycles || wrong(&first) { first } else { report })
}

/// Number of units that run side by side: cores, or groups of cores for one cluster.
fn units(prog: &Program, machine: &Machine) -> Result<i64, RunError> {
    Ok((machine.need("core.count", "every kernel")? as i64 / prog.cluster as i64).max(1))
}

/// Runs the clusters of one unit: every n-th cluster from `unit` on.
fn run_unit(
    prog: &Program,
    machine: &Machine,
    options: &RunOptions,
    mix: &mut Option<Vec<Option<u64>>>,
    unit: i64,
) -> Result<Report, RunError> {
    let units = units(prog, machine)?;
    let clusters = prog.grid.len();
    not_empty(prog)?;
    let share = (clusters + units - 1) / units;
    let occupancy = occupancy(prog, machine, share)?;
    let active = (clusters * prog.cluster as i64).clamp(1, units * prog.cluster as i64);
    let costs = Costs::new(prog, machine, active)?;
    // A schedule is for one cluster alone.
    let only = options.schedule.as_ref().map(|s| s.cluster);
    if let Some(cluster) = only.filter(|c| !(0..clusters).contains(c)) {
        let message = format!("the schedule is of cluster {cluster} of the grid, which has {clusters}");
        return Err(RunError::Order { at: 0, message });
    }
    let seats = if only.is_some() { 1 } else { occupancy.ctas_per_core as usize };
    let rules = Rules { fences: options.fences, ..rules(machine) };
    let uneven = clusters > units && only.is_none() && !prog.hands_out() && World::depends_on_grid(prog);
    let device = options.fidelity == Fidelity::Device && only.is_none();
    let most = options.max_events.max(RunOptions::default().max_events);
    // A grid that is too large for its caches needs no routes.
    let too_large = device && !prog.hands_out() && Memory::least_requests(clusters) > most;
    let routes = if (uneven || device) && !too_large { Routes::new(prog, rules, device) } else { None };
    let deal = Deal { clusters, units, seats: seats as i64, starts: device };
    let dealt = routes.as_ref().filter(|_| uneven).and_then(|r| r.deal(deal));
    let (dealt, starts) = dealt.map_or((None, Vec::new()), |d| (Some(d.last), d.starts));
    let in_turn = || (0..share).map(|i| unit + i * units).filter(|id| *id < clusters).collect();
    let mut list: Vec<i64> = dealt.unwrap_or_else(in_turn);
    let more_tiles = if prog.hands_out() && list.len() > seats { list.split_off(seats) } else { Vec::new() };
    let repeats = match World::depends_on_grid(prog) {
        _ if only.is_some() || !options.skip_repeats => Repeats::off(),
        false => Repeats::of_equal(),
        true if uneven && !device && routes.is_some() && repeat::place_is_for_tiles(prog) => Repeats::of_routes(),
        true => Repeats::off(),
    };
    let numbers = routes.as_ref().filter(|_| repeats.by_routes());
    let numbers = numbers.map_or(Vec::new(), |r| list.iter().map(|id| r.number(*id)).collect());
    let own: FxHashSet<i64> = list.iter().copied().collect();
    list.reverse();
    let (list, more_tiles) = only.map_or((list, more_tiles), |cluster| (vec![cluster], Vec::new()));
    let resident = units * seats as i64;
    let launch = Launch { seats: seats as i64, units, own: &own, starts: &starts, warm: options.warm_l2 };
    let routes = routes.as_ref().filter(|_| device);
    let (memory, too_large) = match Memory::follow(prog, machine, rules, launch, routes, most)? {
        Followed::Not => (None, too_large),
        Followed::Through(memory) => (Some(memory), false),
        Followed::Limit => (None, true),
    };
    let misses = if options.warm_l2 { vec![0.0; prog.objects.len()] } else { misses(prog, resident) };
    let schedulers = costs.schedulers.max(1);
    let agents = crate::protocol::agents(prog).len();
    let mut engine = Engine {
        prog,
        timing: Timing { prog, costs, misses, memory },
        rules,
        cores: vec![Core::new(schedulers); prog.cluster as usize],
        seats: Vec::new(),
        queue: Queue::recorded(mix.take()),
        ledger: Ledger::new(agents, prog.code.len()),
        recorder: options.timeline.map(|n| Recorder::new(prog, n)),
        findings: Vec::new(),
        reads: (0, 0),
        routes: numbers,
        todo: list,
        more_tiles,
        launched: 0,
        retired: 0,
        handed: 0,
        broken: false,
        turns: options.schedule.as_ref().map(|s| Turns::new(s, agents)),
        events: 0,
        end: 0,
        flops: 0.0,
        useful: 0.0,
        steps: super::report::Steps::default(),
        skipped: 0,
        pace_change: None,
    };
    for seat in 0..seats as u32 {
        engine.seats.push(Seat::empty());
        engine.queue.push(0, EventKind::Seat { seat });
    }
    let outcome = if too_large { Outcome::Limit } else { engine.go(options.max_events, repeats) };
    engine.close();
    *mix = engine.queue.take_record();
    if let Some(misfit) = engine.turns.as_mut().and_then(|t| t.misfit.take()) {
        return Err(RunError::Order { at: misfit.at, message: misfit.message });
    }
    Ok(engine.report(machine, outcome, occupancy, share))
}

impl<'p> Seat<'p> {
    fn empty() -> Self {
        Seat {
            world: None,
            runs: Vec::new(),
            waiters: Vec::new(),
            landed: Vec::new(),
            drawn: Vec::new(),
            tiles: 0,
            wave: 0,
            route: 0,
            number: 0,
            flights: Vec::new(),
            phases: Vec::new(),
            freed: None,
            met: None,
            changed: Vec::new(),
        }
    }

    /// The index in `waiters` of a wait's target.
    pub(super) fn waiting_for(&self, on: WaitTarget) -> usize {
        let Some(w) = &self.world else { return 0 };
        let (mbars, meets, ctas) = w.objects();
        match on {
            WaitTarget::Mbar(i) => i as usize,
            WaitTarget::Rendezvous(i) => mbars + i as usize,
            WaitTarget::Own(a) => mbars + meets + a as usize,
            WaitTarget::Pool(c) => mbars + meets + self.runs.len() + c as usize,
            WaitTarget::Counter(i) => mbars + meets + self.runs.len() + ctas + i as usize,
        }
    }
}

impl<'p> Engine<'p> {
    fn go(&mut self, max_events: u64, mut repeats: Repeats) -> Outcome {
        let mut cycle = Cycle::of(self.prog);
        while let Some((now, what)) = self.queue.pop() {
            self.events += 1;
            if self.events > max_events {
                self.end = self.end.max(now);
                return Outcome::Limit;
            }
            match what {
                EventKind::Seat { seat } => {
                    repeats.look(self, now);
                    self.launch(seat as usize, now);
                }
                EventKind::Land { seat, flight } if !self.may_land(seat as usize, flight, now) => {}
                EventKind::Land { seat, flight } => self.land(seat as usize, flight, now),
                EventKind::Go { seat, agent } | EventKind::Again { seat, agent } => {
                    if cycle.closes(self, (seat as usize, agent), now) {
                        self.settle(seat as usize, now, None, None);
                        self.keep_findings(seat as usize);
                        self.broken = true;
                    } else {
                        self.proceed(seat as usize, agent, now);
                    }
                }
            }
            if self.broken {
                self.end = now;
                return Outcome::Broken;
            }
            if let Some(outcome) = self.next_turn(now) {
                return outcome;
            }
        }
        self.starved();
        if self.seats.iter().any(|s| s.world.is_some()) {
            return Outcome::Hung(self.diagnose());
        }
        Outcome::Finished
    }

    fn launch(&mut self, s: usize, now: u64) {
        let Some(id) = self.todo.pop() else { return };
        let route = self.routes.len().checked_sub(self.todo.len() + 1).map_or(0, |i| self.routes[i]);
        let world = match self.turns {
            // Schedules are found on one cluster alone.
            Some(_) => World::alone(self.prog, self.rules, id),
            None if self.prog.is_for_time() => World::bare(self.prog, self.rules, id),
            None => {
                // Tiles that `clc` hands out are dealt to the resident clusters in turn.
                let spare = self.seats.len().max(1);
                let more: Vec<i64> = self.more_tiles.iter().skip(s).step_by(spare).copied().collect();
                World::new(self.prog, self.rules, id, &more)
            }
        };
        let n = world.agents().len();
        let (mbars, meets, ctas) = world.objects();
        let counters = world.counters();
        // The launches of all cores pass one unit.
        let interval = if self.timing.memory.is_some() { self.timing.costs.launch_interval } else { 0.0 };
        let (begun, _) = self.cores[0].launch.serve(now, interval as u64);
        let start = begun + self.timing.costs.cta_launch.ceil() as u64;
        // Cores that hold one CTA at a time drift apart by more than the gap between two CTAs
        // (calibrate/data/h200_places.csv). So in this gap other cores use this core's share of the slices, and this
        // core uses theirs later.
        if self.seats.len() == 1 && self.launched > 0 {
            self.cores.iter_mut().for_each(|core| core.lent = None);
        }
        let seat = &mut self.seats[s];
        seat.tiles = world.tiles_left() as u32;
        seat.wave = self.timing.memory.as_ref().map_or(0, |m| (id / m.resident) as u32);
        (seat.route, seat.number) = (route, self.launched);
        self.launched += 1;
        // The launch waited for the end of the seat's previous cluster.
        seat.runs = vec![AgentRun { upto: now, waker: seat.freed, ..AgentRun::default() }; n];
        seat.waiters = vec![SmallVec::new(); mbars + meets + n + ctas + counters];
        seat.landed = vec![[0; STREAM_KINDS]; n];
        seat.drawn = vec![[None; STREAM_KINDS]; n];
        seat.flights.clear();
        seat.changed.clear();
        seat.phases = vec![0; mbars];
        seat.met = None;
        seat.world = Some(world);
        for a in 0..n as u32 {
            self.account(s, a, 0, start, SpanKind::Stall(Stall::Launch), String::new());
            self.queue.push(start, EventKind::Go { seat: s as u32, agent: a });
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
        w.land(flight, &mut seat.changed);
        self.settle(s, now, span, None);
        self.retire(s, now);
    }

    /// Handles the consequences of a step or a landing: findings get their time, waiters are woken, phases are drawn.
    /// `by` is the span of the event. Agents that met the actor were held by its earlier work, `last`.
    pub(super) fn settle(&mut self, s: usize, now: u64, by: Option<u32>, last: Option<u32>) {
        let at = (now + self.skipped) as f64 / crate::timeline::TICKS as f64;
        let seat = &mut self.seats[s];
        let Some(w) = seat.world.as_mut() else { return };
        w.date_findings(at);
        let changed = std::mem::take(&mut seat.changed);
        for &on in &changed {
            if let (WaitTarget::Mbar(ix), Some(_)) = (on, &self.recorder) {
                self.draw_phase(s, ix, now);
            }
            let seat = &mut self.seats[s];
            if let (WaitTarget::Rendezvous(ix), Some(w)) = (on, &seat.world)
                && w.rendezvous_kind(ix) == RendezvousKind::Cluster
            {
                seat.met = Some((now, last));
            }
            let place = seat.waiting_for(on);
            let waiters = std::mem::take(&mut seat.waiters[place]);
            for a in waiters {
                let run = &mut seat.runs[a as usize];
                run.waker = if matches!(on, WaitTarget::Rendezvous(_)) { last } else { by };
                let Some((pc, _, _)) = run.waits else { continue };
                let delay = match on {
                    WaitTarget::Mbar(_) => self.timing.costs.mbar_wake.ceil() as u64,
                    WaitTarget::Rendezvous(_) => match &self.prog.code[pc as usize] {
                        Instr::Op { op, cost } => self.timing.release_of(op, cost),
                        _ => 0,
                    },
                    // The agent polls: the value that ends its wait takes a round trip to L2.
                    WaitTarget::Counter(_) => self.timing.costs.counter.ceil() as u64,
                    WaitTarget::Own(_) | WaitTarget::Pool(_) => 0,
                };
                self.queue.push(now + delay, EventKind::Go { seat: s as u32, agent: a });
            }
        }
        // The allocation is used again.
        self.seats[s].changed = changed;
        self.seats[s].changed.clear();
    }

    /// Frees the seat when all agents have ended and nothing is in flight.
    pub(super) fn retire(&mut self, s: usize, now: u64) {
        let seat = &self.seats[s];
        let Some(w) = &seat.world else { return };
        if !w.ended() || w.in_flight() > 0 {
            return;
        }
        self.handed += seat.tiles - w.tiles_left() as u32;
        if let Some(r) = &self.recorder {
            let of_agents = seat.runs.iter().map(|run| run.last);
            let of_engines = seat.drawn.iter().flatten().copied();
            self.seats[s].freed = r.latest(of_agents.chain(of_engines));
        }
        for a in 0..self.seats[s].runs.len() as u32 {
            self.account(s, a, 0, now, SpanKind::Stall(Stall::Ended), String::new());
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
        self.queue.push(now, EventKind::Seat { seat: s as u32 });
    }

    /// Takes the findings of a cluster's world. A finding at the same two places in another cluster counts as a
    /// repetition.
    pub(super) fn keep_findings(&mut self, s: usize) {
        let Some(w) = self.seats[s].world.as_mut() else { return };
        let r = w.reads();
        self.reads = (self.reads.0 + r.0, self.reads.1 + r.1);
        for f in w.take_findings() {
            match self.findings.iter_mut().find(|g| g.same_places(&f)) {
                Some(g) => g.times += f.times,
                None => self.findings.push(f),
            }
        }
    }
}
