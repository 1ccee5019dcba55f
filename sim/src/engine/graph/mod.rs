//! The event graph of one cluster: which events depend on which, and the delays between them, without simulated times.
//!
//! ```text
//!   Begin ─▶ End ─▶ Begin ...                     an agent, operation after operation
//!     └────▶ Land ─▶ Phase ─▶ Woken ─▶ End        a copy, the barrier it signals, who waits there
//! ```
//!
//! Agents step in any order that the semantics allow. Every arrival belongs to one phase in every schedule, so all
//! orders give the same dependences. The engine's timing gives the delay of an operation on resources that are idle,
//! except for earlier requests of the same agent. Requests of several agents to one resource are recorded as work,
//! because the graph does not order them.

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

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An agent reaches a rendezvous.
    Come,
    /// An agent reaches an operation.
    Begin,
    /// An agent is woken at an operation.
    Woken,
    /// An agent continues after an operation.
    End,
    /// A flight of the operation lands; the number is its index among several.
    Land(u8),
    /// The matrix results of the operation are ready.
    Ready,
    /// A resource has finished its part of the operation.
    Served(u16),
    /// A phase of an mbarrier is complete; the event's agent is the barrier's number.
    Phase,
    /// A generation of a rendezvous is complete; the event's agent is the number of the rendezvous.
    Met,
}

/// An event. Every iteration of a loop has equal events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Event {
    /// The kind.
    pub kind: Kind,
    /// The agent or the barrier.
    pub agent: u32,
    /// The instruction.
    pub pc: u32,
}

/// A dependence: an event happens at least this many ticks after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The earlier event.
    pub from: u32,
    /// The later event.
    pub to: u32,
    /// The least number of ticks between the two.
    pub ticks: u64,
}

/// The events of one cluster.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All events, in the order in which they were found; an edge leads from an earlier to a later one.
    pub events: Vec<Event>,
    /// The dependences.
    pub edges: Vec<Edge>,
    /// The starts of the main loop's steps, for the agent (or warpgroup) and the matrix instruction with the most
    /// steps.
    pub steps: Vec<u32>,
    /// Ticks of work that an event requests of a resource, as event, resource, ticks.
    pub work: Vec<(u32, u16, u64)>,
    /// Clusters that share the cores' resources.
    pub resident: i64,
}

/// The name of a resource by the number in [`Kind::Served`], for a core with this many schedulers. The numbers of the
/// cluster's next core follow.
pub fn resource_name(schedulers: usize, number: u16) -> &'static str {
    let mut core = Core::new(schedulers.max(1));
    let n = core.servers().count();
    core.name_of(number as usize % n)
}

/// The event graph of the launch's first cluster, at `core` fidelity. `None` where the run does not finish.
///
/// # Errors
/// The machine lacks a number or a feature that the kernel needs, or no CTA fits.
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
