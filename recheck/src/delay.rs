//! A second check for races, by the definition of happens-before and without clocks.
//!
//! An access `x` happens before a later access `y` exactly if no schedule has `y` without `x`. So each access of a base
//! case is *delayed*: its agent stops before the operation, or the operation in flight does not land. All other agents
//! and operations proceed as far as they can. Nothing that happens then depends on `x`. So if one of these accesses
//! conflicts with `x`, the two race, whatever the clocks of the transition function say.
//!
//! Each access takes its own run, so a budget of steps limits the number of base cases.

use std::collections::BTreeMap;

use warpline_sim::ir::{Instr, ObjId, Op};
use warpline_sim::protocol::{AgentId, FlightId, Step, StepRecord, StreamKind, World};

/// The agent or operation that is delayed.
#[derive(Clone, Copy)]
enum Delayed {
    Agent(AgentId),
    Flight(FlightId),
}

/// An access to a piece of memory.
#[derive(Clone, Copy)]
struct Access {
    piece: u32,
    writes: bool,
    /// Whether the operation names the piece's object. If not, the operation writes another object that shares the
    /// storage.
    named: bool,
}

impl Access {
    /// Accesses to two objects that share storage appear at the pieces of both, so one of two conflicting accesses must
    /// name the object.
    fn conflicts(&self, other: &Access) -> bool {
        self.piece == other.piece && (self.writes || other.writes) && (self.named || other.named)
    }
}

/// The accesses of the operation at an instruction.
fn taken(world: &World<'_>, pc: u32, record: &mut StepRecord) -> Vec<Access> {
    let list = record.take_accesses();
    let objects: Vec<ObjId> = match &world.program().code[pc as usize] {
        Instr::Op { op: Op::Move { src, dst, .. }, .. } => vec![src.obj, dst.obj],
        Instr::Op { op: Op::Mma { a, b, acc, .. }, .. } => vec![a.obj, b.obj, acc.obj],
        Instr::Op { op: Op::Alu { reads, writes, .. }, .. } => reads.iter().chain(writes).map(|p| p.obj).collect(),
        Instr::Op { op: Op::Zero(p) | Op::Put { dst: p, .. } | Op::Get { src: p, .. }, .. } => vec![p.obj],
        Instr::Op { op: Op::NextTile { dst, .. }, .. } => vec![dst.obj],
        _ => Vec::new(),
    };
    let access = |(piece, writes)| Access { piece, writes, named: objects.contains(&world.object_of(piece)) };
    list.into_iter().map(access).collect()
}

/// The reason why a run is faulty.
pub(crate) type Why = String;

/// Cost of copying a world, in steps.
const COPY: u64 = 32;

/// Delays each access of a run in turn. Returns whether all accesses were delayed within the budget.
pub(crate) fn races(start: World<'_>, budget: &mut u64) -> Result<bool, Why> {
    let users = users(start.clone());
    let mut world = start;
    let mut record = StepRecord { accesses: Some(Vec::new()), ..StepRecord::default() };
    let mut flying = Vec::new();
    let agents = world.agents().len() as AgentId;
    loop {
        let mut moved = false;
        for a in 0..agents {
            loop {
                if *budget < 2 * COPY {
                    return Ok(false);
                }
                *budget -= COPY;
                let before = world.clone();
                let Step::Performed { effect, pc, .. } = world.step(a, &mut record) else { break };
                moved = true;
                let own = taken(&world, pc, &mut record);
                let waiting = flying.clone();
                flying.extend(effect.flights());
                let shared: Vec<Access> = own.iter().copied().filter(|x| users.get(&x.piece) == Some(&None)).collect();
                if !shared.is_empty() {
                    without(before, waiting, Delayed::Agent(a), &shared, budget)
                        .map_err(|why| named(&world, pc, &why))?;
                }
                // An access that the scoreboard guards happens at issue. A bulk store has read its source when its read
                // lands, which is a separate operation.
                let other =
                    |f: FlightId| matches!(world.stream_of(f), Some((_, StreamKind::Scoreboard | StreamKind::Bulk)));
                for f in effect.flights().into_iter().filter(|f| !own.is_empty() && !other(*f)) {
                    *budget = budget.saturating_sub(COPY);
                    without(world.clone(), flying.clone(), Delayed::Flight(f), &own, budget)
                        .map_err(|why| named(&world, pc, &why))?;
                }
            }
        }
        if !moved {
            if flying.is_empty() {
                return Ok(true);
            }
            world.land(flying.remove(0), &mut ());
        }
    }
}

fn named(world: &World<'_>, pc: u32, why: &str) -> Why {
    let site = world.program().site(pc);
    format!("line {}: `{}` can be delayed, and {why}", site.line, site.text)
}

/// For each piece, the only agent that accesses it; `None` where several agents do.
fn users(mut world: World<'_>) -> BTreeMap<u32, Option<AgentId>> {
    let mut record = StepRecord { accesses: Some(Vec::new()), ..StepRecord::default() };
    let mut users = BTreeMap::new();
    let mut flying: Vec<FlightId> = Vec::new();
    loop {
        let mut moved = false;
        for a in 0..world.agents().len() as AgentId {
            while let Step::Performed { effect, .. } = world.step(a, &mut record) {
                moved = true;
                flying.extend(effect.flights());
                for (piece, _) in record.take_accesses() {
                    let user = users.entry(piece).or_insert(Some(a));
                    *user = user.filter(|user| *user == a);
                }
            }
        }
        match (moved, flying.is_empty()) {
            (false, true) => return users,
            (false, false) => world.land(flying.remove(0), &mut ()),
            _ => {}
        }
    }
}

/// Proceeds as far as possible without the delayed operation, and searches for a conflicting access.
fn without(
    mut world: World<'_>,
    mut flying: Vec<FlightId>,
    delayed: Delayed,
    own: &[Access],
    budget: &mut u64,
) -> Result<(), Why> {
    let agents = world.agents().len() as AgentId;
    let mut record = StepRecord { accesses: Some(Vec::new()), ..StepRecord::default() };
    let stream = match delayed {
        Delayed::Flight(f) => world.stream_of(f),
        Delayed::Agent(_) => None,
    };
    // Operations of one stream land in order, so a delayed operation also delays those after it.
    let lands = |world: &World<'_>, flying: &[FlightId]| {
        let Delayed::Flight(x) = delayed else { return (!flying.is_empty()).then_some(0) };
        let at = flying.iter().position(|f| *f == x)?;
        let behind = |f: FlightId| stream.is_some() && world.stream_of(f) == stream;
        (0..flying.len()).find(|i| *i < at || *i > at && !behind(flying[*i]))
    };
    loop {
        let mut moved = false;
        for a in (0..agents).filter(|a| !matches!(delayed, Delayed::Agent(x) if x == *a)) {
            while let Step::Performed { effect, pc, .. } = world.step(a, &mut record) {
                moved = true;
                *budget = budget.saturating_sub(1);
                let flights = effect.flights();
                // Accesses of one stream are ordered.
                let in_order = stream.is_some() && flights.iter().any(|f| world.stream_of(*f) == stream);
                flying.extend(flights);
                for x in taken(&world, pc, &mut record) {
                    if !in_order && own.iter().any(|own| own.conflicts(&x)) {
                        let site = world.program().site(pc);
                        return Err(format!("line {}: `{}` does not wait for it", site.line, site.text));
                    }
                }
                if *budget == 0 {
                    return Ok(());
                }
            }
        }
        if !moved {
            let Some(i) = lands(&world, &flying) else { return Ok(()) };
            world.land(flying.remove(i), &mut ());
        }
    }
}
