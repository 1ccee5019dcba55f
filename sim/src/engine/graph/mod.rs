//! What the events of one cluster follow from, and how long after: a run's dependences without a run's times.
//!
//! ```text
//!   Begin ─▶ End ─▶ Begin ...                     an agent, operation after operation
//!     └────▶ Land ─▶ Phase ─▶ Woken ─▶ End        a copy, the barrier it signals, who waits there
//! ```
//!
//! Agents step in turn, in any order that the semantics allow: where every arrival belongs to one phase in every schedule,
//! what waits for what is the same in all. How long an operation takes is asked of the timing of the engine, on resources
//! that are idle but for what the same agent asked of them before. What several agents ask of one resource is kept as
//! work, for nothing here says who of them comes first.

use crate::ir::Program;
use crate::machine::Machine;
use crate::protocol::World;
use crate::report::{RunError, RunOptions};

use super::cache::misses;
use super::costs::Costs;
use super::occupancy::occupancy;
use super::server::Core;
use super::support::{rules, supported};
use super::timing::Timing;

mod walk;

use walk::Walk;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An agent comes to a rendezvous.
    Come,
    /// An agent gets to an operation.
    Begin,
    /// It was woken for it.
    Woken,
    /// It goes on.
    End,
    /// What the operation started ends; the number is that of several.
    Land(u8),
    /// The operation's matrix results are there.
    Ready,
    /// A resource has done its part of the operation.
    Served(u16),
    /// A phase of an mbarrier, whose number stands for the agent, is complete.
    Phase,
    /// A generation of a rendezvous, whose number stands for the agent, is complete.
    Met,
}

/// An event; the same comes again in every step of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// The agent, or the barrier.
    pub agent: u32,
    /// The instruction.
    pub pc: u32,
}

/// One event comes no earlier than so many ticks after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The earlier one.
    pub from: u32,
    /// The later one.
    pub to: u32,
    /// Ticks between them at least.
    pub ticks: u64,
}

/// The events of one cluster.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All, as they came; an edge goes from an earlier to a later one.
    pub events: Vec<Event>,
    /// What follows from what.
    pub edges: Vec<Edge>,
    /// The steps of the main loop: for the agent, or its warpgroup, and the matrix instruction with the most, where each begins.
    pub steps: Vec<u32>,
    /// Ticks of work that an event asks of a resource: the event, the resource, the ticks.
    pub work: Vec<(u32, u16, u64)>,
    /// Clusters that share the cores' resources.
    pub resident: i64,
}

/// The name of a resource of a core with so many schedulers, by the number that [`Kind::Served`] gives; those of a
/// cluster's next core come behind.
pub fn resource_name(schedulers: usize, number: u16) -> &'static str {
    let mut core = Core::new(schedulers.max(1));
    let n = core.servers().count();
    core.name_of(number as usize % n)
}

/// The events of the launch's first cluster, at `core` fidelity. `None` where they do not end well.
///
/// # Errors
/// When the machine lacks a number or a feature the kernel needs, or no CTA fits.
pub fn graph(prog: &Program, machine: &Machine, options: &RunOptions) -> Result<Option<Graph>, RunError> {
    supported(prog, machine)?;
    let units = (machine.need("core.count", "every kernel")? as i64 / prog.cluster as i64).max(1);
    let clusters = prog.grid.len();
    let share = (clusters + units - 1) / units.max(1);
    let resident = occupancy(prog, machine, share)?.ctas_per_core as i64;
    let costs = Costs::new(prog, machine, (clusters * prog.cluster as i64).clamp(1, units * prog.cluster as i64))?;
    let misses = if options.warm_l2 { vec![0.0; prog.objects.len()] } else { misses(prog, units * resident) };
    let timing = Timing { prog, costs, misses, memory: None };
    let world = World::new(prog, rules(machine), 0, &[]);
    Ok(Walk::new(&timing, world).graph(resident.min(share)))
}
