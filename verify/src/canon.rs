//! One run in a fixed order, without time: agents in turn, each as far as it can; flights land, oldest first, when
//! nobody can go on.
//!
//! Where every arrival belongs to one phase in every schedule (Weft's theorem, carried over to mbarriers, groups and
//! counters), this run decides for all: it ends or hangs as they do, and happens-before shows every race of theirs.

use std::collections::VecDeque;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, Did, Entry, FlightId, On, Rules, Snapshot, Step, World};
use warpline_sim::report::{Finding, Waiting};

/// How the run ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    Finished,
    Hung(Vec<Waiting>),
    Broken,
    Limit,
}

/// What the run showed.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) end: End,
    pub(crate) findings: Vec<Finding>,
    /// An arrival that another schedule could count in another phase, in words.
    pub(crate) unordered: Option<String>,
    /// The state each time the watched variable took a new value in its first agent.
    pub(crate) states: Vec<At>,
    /// For each agent, which of the growing loops it executed, as bits.
    pub(crate) loops: Vec<u64>,
    /// A number for who performed which instructions in which order.
    pub(crate) path: u64,
    pub(crate) steps: u64,
    /// The cluster's launch index.
    pub(crate) cluster: i64,
    pub(crate) reads: (u64, u64),
    /// The last operations up to the first fault, or to the end: agent and site.
    pub(crate) trail: Vec<(String, u32)>,
}

/// A state on the way.
#[derive(Clone, Debug)]
pub(crate) struct At {
    /// The watched variable.
    pub(crate) step: i64,
    pub(crate) state: Snapshot,
    /// Where each agent is.
    pub(crate) pcs: Vec<u32>,
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'p> {
    pub(crate) prog: &'p Program,
    pub(crate) rules: Rules,
    /// The cluster's launch index.
    pub(crate) cluster: i64,
    /// The main loop's variable, whose values mark the states to keep.
    pub(crate) watch: Option<u16>,
    /// The loops whose bounds grow with the trip count, as first and last instruction.
    pub(crate) grown: &'p [(u32, u32)],
    pub(crate) max_steps: u64,
}

/// An odd number with bits all over.
const MIX: u64 = 0x517c_c1b7_2722_0a95;

/// Operations of the trail.
const TRAIL: usize = 24;

/// Something that the run did.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// An agent tried to go on.
    Step(AgentId, &'a Step),
    /// A flight is about to land.
    Land(FlightId),
}

/// Runs it.
pub(crate) fn run(job: Job<'_>) -> Seen {
    told(job, &mut |_, _| {})
}

/// Runs it and tells what it does, with the world after each step and before each landing.
pub(crate) fn told(job: Job<'_>, tell: &mut dyn FnMut(&World<'_>, Event<'_>)) -> Seen {
    let mut world = World::new(job.prog, job.rules, job.cluster, &[]);
    let n = world.agents().len() as AgentId;
    let mut flying: VecDeque<FlightId> = VecDeque::new();
    let mut blocked: Vec<Option<(u32, On)>> = vec![None; n as usize];
    let mut seen = Seen {
        end: End::Finished,
        findings: vec![],
        unordered: None,
        states: vec![],
        loops: vec![0; n as usize],
        path: 0,
        steps: 0,
        cluster: job.cluster,
        reads: (0, 0),
        trail: vec![],
    };
    let mut trail: VecDeque<(AgentId, u32)> = VecDeque::new();
    let mut faults = false;
    let mut watched: Option<(AgentId, i64)> = None;
    let end = 'run: loop {
        let mut moved = false;
        for a in 0..n {
            // Who ends a generation yields, so that the same agent is the last in every round.
            let mut last = false;
            while !last {
                let step = world.step(a);
                tell(&world, Event::Step(a, &step));
                seen.steps += 1;
                if seen.steps > job.max_steps {
                    break 'run End::Limit;
                }
                match step {
                    Step::Did { did, pc, .. } => {
                        moved = true;
                        if !faults {
                            if trail.len() == TRAIL {
                                trail.pop_front();
                            }
                            trail.push_back((a, pc));
                            faults = world.findings.iter().any(|f| !f.note);
                        }
                        seen.path = (seen.path.rotate_left(5) ^ ((a as u64) << 32 | pc as u64)).wrapping_mul(MIX);
                        for (bit, (head, end)) in job.grown.iter().enumerate() {
                            seen.loops[a as usize] |= ((*head..*end).contains(&pc) as u64) << bit;
                        }
                        blocked[a as usize] = None;
                        flying.extend(did.flights());
                        last = matches!(did, Did::Met { last: true });
                    }
                    Step::Blocked { pc, on, .. } => {
                        blocked[a as usize] = Some((pc, on));
                        break;
                    }
                    Step::Ended => {
                        moved |= blocked[a as usize].take().is_some();
                        break;
                    }
                    Step::Broken => break 'run End::Broken,
                }
                if let Some(v) = job.watch {
                    let now = world.var(a, v);
                    if watched.is_none() && now > 0 {
                        watched = Some((a, 0));
                    }
                    if let Some((agent, before)) = watched
                        && agent == a
                        && now > before
                    {
                        watched = Some((a, now));
                        let pcs = (0..n).map(|a| world.pc(a)).collect();
                        seen.states.push(At { step: now, state: state(&world, &flying, last), pcs });
                    }
                }
            }
        }
        world.touched.clear();
        if world.ended() && flying.is_empty() {
            break End::Finished;
        }
        if !moved {
            match flying.pop_front() {
                Some(f) => {
                    tell(&world, Event::Land(f));
                    world.land(f);
                }
                None => {
                    world.missing_bytes();
                    break End::Hung(diagnose(&world, &blocked));
                }
            }
        }
    };
    seen.end = end;
    seen.findings = std::mem::take(&mut world.findings);
    seen.reads = world.reads();
    seen.trail = trail.iter().map(|&(a, pc)| (world.agent_name(a), job.prog.at[pc as usize])).collect();
    seen.unordered = world.unordered.map(|(a, pc, _)| {
        let site = job.prog.site(pc);
        format!("line {}: `{}` by {}", site.line, site.text, world.agent_name(a))
    });
    seen
}

/// The state, with the order in which flights will land.
fn state(world: &World<'_>, flying: &VecDeque<FlightId>, last: bool) -> Snapshot {
    let mut s = world.snapshot();
    // Whether the agent yields now.
    s.entries.push(Entry::Same(last as u64));
    for f in flying {
        if let Some(f) = world.flight(*f) {
            s.entries.push(Entry::Same((f.agent as u64) << 32 | f.pc as u64));
        }
    }
    s
}

/// Who waits for what; agents of one kind stand once.
pub(crate) fn diagnose(world: &World<'_>, blocked: &[Option<(u32, On)>]) -> Vec<Waiting> {
    let mut list: Vec<Waiting> = Vec::new();
    for (a, b) in blocked.iter().enumerate() {
        let Some((pc, on)) = *b else { continue };
        let new = world.waiting(a as AgentId, pc, on);
        if !list.iter().any(|w| w.site == new.site && w.waits_for == new.waits_for) {
            list.push(new);
        }
    }
    list
}
