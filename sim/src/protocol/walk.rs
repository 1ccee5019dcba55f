//! The loads and stores of a CTA in the order of its text, found by its agents' control flow without performing
//! operations.
//!
//! The tile of a copy follows from variables and coordinates alone, since a wait changes neither. So the traffic of a
//! whole grid is known without a run. A kernel whose variables come from other agents (mailboxes, tiles that `clc`
//! hands out) has no such list.

use crate::ir::{Env, Expr, Instr, Op, Program};
use crate::timeline::Lanes;

use super::footprint::Footprint;
use super::op::global_place;
use super::spec::Rules;
use super::vocabulary::{AgentId, Coords};
use super::world::World;

/// One copy from or to global memory, of all warps that share the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Instruction.
    pub pc: u32,
    /// The agent that issues the copy: the first of its warps.
    pub agent: AgentId,
    /// The variables of that agent.
    pub vars: Box<[i64]>,
    /// Whether it writes global memory.
    pub store: bool,
    /// Progress of that agent at the copy, in 1/65536 of its whole way.
    pub progress: u32,
}

/// What the control flow of a cluster says.
#[derive(Clone, Debug)]
pub struct Route {
    /// Every copy, by progress, then agent.
    pub copies: Vec<Traffic>,
    /// Instructions of the longest agent.
    pub length: u64,
}

/// Dependence of a place in global memory on the cluster's coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridDependence {
    /// All clusters use the same place.
    None,
    /// Clusters of different rows of the grid use different places.
    Rows,
    /// Clusters of different columns use different places.
    Columns,
    /// Every cluster may use a different place.
    All,
}

impl GridDependence {
    fn and(self, other: GridDependence) -> GridDependence {
        match (self, other) {
            (GridDependence::None, x) | (x, GridDependence::None) => x,
            (x, y) if x == y => x,
            _ => GridDependence::All,
        }
    }
}

/// The coordinates of the grid that an expression reads.
fn mentions(e: &Expr) -> GridDependence {
    let mut grid_dependence = GridDependence::None;
    e.visit(&mut |x| match x {
        Expr::Env(Env::CtaM | Env::ClusterM) => grid_dependence = grid_dependence.and(GridDependence::Rows),
        Expr::Env(Env::CtaN | Env::ClusterN) => grid_dependence = grid_dependence.and(GridDependence::Columns),
        Expr::Env(Env::CtaZ | Env::CtaId | Env::ClusterId) | Expr::Tape(..) => grid_dependence = GridDependence::All,
        _ => {}
    });
    grid_dependence
}

/// Instructions of one agent after which its walk is given up.
const LIMIT: u64 = 1 << 24;

/// The clusters of a grid, as a source of the places of their copies.
#[derive(Clone, Debug)]
pub struct Walker<'p> {
    world: World<'p>,
}

impl<'p> Walker<'p> {
    /// A walker at launch index `id`.
    pub fn new(prog: &'p Program, rules: Rules, id: i64) -> Self {
        Walker { world: World::new(prog, rules, id, &[]) }
    }

    /// The route of the cluster. `None` where the copies depend on more than control flow, or where the control flow has
    /// no end.
    pub fn route(&mut self) -> Option<Route> {
        let (mut list, mut length) = (Vec::new(), 0);
        for a in 0..self.world.spec.info.len() as AgentId {
            let first = list.len();
            let steps = self.walk(a, &mut list)?;
            length = length.max(steps);
            for t in &mut list[first..] {
                t.progress = (t.progress as u64 * 65536 / steps.max(1)) as u32;
            }
        }
        list.sort_by_key(|t| (t.progress, t.agent));
        Some(Route { copies: list, length })
    }

    fn walk(&mut self, a: AgentId, list: &mut Vec<Traffic>) -> Option<u64> {
        let w = &mut self.world;
        let mut pc = w.agents[a].pc;
        for n in 0..LIMIT {
            match &w.prog.code[pc as usize] {
                Instr::End => return Some(n + 1),
                Instr::Op { op: Op::Get { .. } | Op::NextTile { .. } | Op::Counter { .. }, .. } => return None,
                Instr::Op { op, .. } => {
                    if let Some((_, store)) = global_place(w.prog, op)
                        && first_to_move(w, a, pc, op)
                    {
                        let vars = w.agents.vars(a).into();
                        list.push(Traffic { pc, agent: a, vars, store, progress: n as u32 });
                    }
                    pc += 1;
                }
                control => pc = w.control(a, pc, control).ok()?,
            }
        }
        None
    }

    /// The footprint of a listed copy in cluster `id`. `None` where the place is outside of what the kernel may touch.
    pub fn footprint(&mut self, id: i64, t: &Traffic) -> Option<Footprint> {
        let w = &mut self.world;
        let (m, n, z) = w.prog.grid.at(id);
        w.coords = Coords { id, m, n, z };
        w.agents.vars_mut(t.agent).copy_from_slice(&t.vars);
        let Instr::Op { op, .. } = &w.prog.code[t.pc as usize] else { return None };
        let (place, _) = global_place(w.prog, op)?;
        w.footprint(t.agent, place, 0).ok()
    }

    /// The footprint on the chip of a listed copy from global memory in the cluster that was looked at last.
    pub fn destination(&mut self, t: &Traffic) -> Option<Footprint> {
        let w = &mut self.world;
        w.agents.vars_mut(t.agent).copy_from_slice(&t.vars);
        let Instr::Op { op: Op::Move { dst, .. }, .. } = &w.prog.code[t.pc as usize] else { return None };
        w.footprint(t.agent, dst, 0).ok()
    }

    /// Dependence of a listed copy's place on the cluster's coordinates.
    pub fn grid_dependence(&self, t: &Traffic) -> GridDependence {
        let Instr::Op { op, .. } = &self.world.prog.code[t.pc as usize] else { return GridDependence::All };
        let Some((place, _)) = global_place(self.world.prog, op) else { return GridDependence::All };
        let parts = place.sel.rows.iter().chain(&place.sel.cols).map(|p| &p.index);
        place.at.iter().chain(parts).map(mentions).fold(GridDependence::None, GridDependence::and)
    }

    /// Whether a copy's place counts elements instead of blocks.
    pub fn by_elements(&self, t: &Traffic) -> bool {
        let Instr::Op { op, .. } = &self.world.prog.code[t.pc as usize] else { return false };
        global_place(self.world.prog, op).is_some_and(|(p, _)| p.elements)
    }
}

/// Whether an agent is the first agent of those that share a copy.
pub(super) fn first_to_move(w: &World<'_>, a: AgentId, pc: u32, op: &Op) -> bool {
    let Op::Move { crew, .. } = op else { return false };
    w.does_lanes(a, pc) && (*crew == 0 || crew.trailing_zeros() == w.spec.info[a as usize].warp)
}

impl World<'_> {
    /// Whether an agent performs operations of single lanes. An operation of all lanes is performed by the class that
    /// has nearly all lanes.
    pub(super) fn does_lanes(&self, a: AgentId, pc: u32) -> bool {
        let me = self.spec.info[a as usize];
        if self.spec.elected_at[pc as usize] { me.elected() } else { me.lanes != Some(Lanes::Elected) }
    }
}
