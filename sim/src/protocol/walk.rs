//! The loads and stores of a CTA in the order of its text, found by its agents' control flow without performing
//! operations.
//!
//! The tile of a copy follows from variables and coordinates alone, since a wait changes neither. So the traffic of a
//! whole grid is known without a run. A kernel whose variables come from other agents (mailboxes, tiles that `clc`
//! hands out) has no such list.

use smallvec::SmallVec;

use crate::ir::{Binary, Env, Executors, Expr, Instr, MoveKind, Op, Place, Program, VarId, Writes, apply};
use crate::timeline::Lanes;

use super::blocks::{AXES, Block, Partition, Position};
use super::footprint::{Footprint, size};
use super::linear::{Linear, Numbers, Obstacle};
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
    /// Position of the agent's variables in the route's list.
    vars: usize,
    /// Whether it writes global memory.
    pub store: bool,
    /// Progress of that agent at the copy, in 1/65536 of its whole way.
    pub progress: u32,
}

/// What the control flow of clusters says.
#[derive(Clone, Debug)]
pub struct Route {
    /// The clusters of this route.
    pub block: Block,
    /// Every copy, by progress, then agent. Empty where copies were not asked for.
    pub copies: Vec<Traffic>,
    /// Instructions of the longest agent.
    pub length: u64,
    /// The variables of the agents at their copies in the first cluster, copy after copy.
    vars: Vec<i64>,
    /// Their growth along each axis; empty where none grows.
    by: [Vec<i64>; AXES],
    /// Number of variables of an agent.
    frame: usize,
}

impl Route {
    /// The variables of the agent that issues a copy of this route, in the cluster at a position.
    pub fn vars(&self, t: &Traffic, at: Position) -> SmallVec<[i64; 8]> {
        let of = t.vars..t.vars + self.frame;
        let mut vars = SmallVec::from_slice(&self.vars[of.clone()]);
        for ((by, at), from) in self.by.iter().zip(at).zip(self.block.from) {
            if let Some(by) = by.get(of.clone()).filter(|_| at > from) {
                vars.iter_mut().zip(by).for_each(|(v, by)| *v += by * (at - from));
            }
        }
        vars
    }
}

/// The part of a global matrix that a copy moves, as in [`Footprint`].
#[derive(Clone, Copy, Debug)]
pub struct GlobalTile {
    /// The matrix.
    pub obj: u16,
    /// Block coordinates, or element coordinates of the corner.
    pub at: [i64; 2],
    /// First row inside the block, and one past the last.
    pub rows: (i64, i64),
    /// First column inside the block, and one past the last.
    pub cols: (i64, i64),
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

/// Largest grid whose coordinates are kept.
const KNOWN: i64 = 1 << 18;

/// What a walk does at an instruction.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// An operation that moves no global data and gets no value from another agent.
    Pass,
    /// A variable becomes the result of an operator on a variable and a number known at launch.
    Set { to: VarId, op: Binary, var: VarId, by: i64 },
    /// Jumps unless such a result is true.
    Unless { op: Binary, var: VarId, by: i64, to: u32 },
    /// Jumps.
    Jump(u32),
    /// Everything else.
    Other,
}

impl Way {
    fn of(prog: &Program, i: &Instr) -> Way {
        // `and` and `or` are no operators of `apply` alone.
        let simple = |e: &Expr| match e {
            Expr::Binary(Binary::And | Binary::Or, _) => None,
            Expr::Binary(op, p) => match **p {
                (Expr::Var(var), ref y) => prog.launch_value(y).map(|by| (*op, var, by)),
                _ => None,
            },
            _ => None,
        };
        match i {
            Instr::Op { op: Op::Get { .. } | Op::NextTile { .. } | Op::Counter { .. }, .. } => Way::Other,
            Instr::Op { op, .. } if global_place(prog, op).is_none() => Way::Pass,
            Instr::Set(to, e) => simple(e).map_or(Way::Other, |(op, var, by)| Way::Set { to: *to, op, var, by }),
            Instr::Unless(e, to) => simple(e).map_or(Way::Other, |(op, var, by)| Way::Unless { op, var, by, to: *to }),
            Instr::Jump(to) => Way::Jump(*to),
            _ => Way::Other,
        }
    }
}

/// The clusters of a grid, as a source of the places of their copies.
#[derive(Clone, Debug)]
pub struct Walker<'p> {
    world: World<'p>,
    /// The coordinates of each cluster; empty for large grids.
    coords: Vec<Coords>,
    way: Vec<Way>,
}

impl<'p> Walker<'p> {
    /// A walker at launch index `id`.
    pub fn new(prog: &'p Program, rules: Rules, id: i64) -> Self {
        let known = if prog.grid.len() <= KNOWN { 0..prog.grid.len() } else { 0..0 };
        Walker {
            world: World::new(prog, rules, id, &[]),
            coords: known.map(|id| coords(prog, id)).collect(),
            way: prog.code.iter().map(|i| Way::of(prog, i)).collect(),
        }
    }

    /// The route of a cluster. `None` where the copies depend on more than control flow, or where the control flow has
    /// no end.
    pub fn route_of(&mut self, id: i64) -> Option<Route> {
        self.common_route(Block::one(self.position(id)), true).ok()
    }

    /// The routes of all clusters of a block, with the copies on them if `copies`. Clusters that decide alike have one
    /// route. `None` as for [`Self::route_of`].
    pub fn routes(&self, block: Block, copies: bool) -> Option<(Partition, Vec<Route>)> {
        let route = |block: Block| {
            self.common_route(block, copies).map_err(|obstacle| match obstacle {
                Obstacle::NoRoute => Err(()),
                Obstacle::Divide(division) => Ok(division),
            })
        };
        Partition::new(block, route).ok()
    }

    fn common_route(&self, block: Block, copies: bool) -> Result<Route, Obstacle> {
        let frame = self.world.agents.vars(0).len();
        let mut list = Route { block, copies: Vec::new(), length: 0, vars: Vec::new(), by: Default::default(), frame };
        for class in classes(&self.world) {
            let first = list.copies.len();
            let steps = self.walk(&class, &mut list, copies)?;
            list.length = list.length.max(steps);
            for t in &mut list.copies[first..] {
                t.progress = (t.progress as u64 * 65536 / steps.max(1)) as u32;
            }
        }
        list.copies.sort_by_key(|t| (t.progress, t.agent));
        for by in list.by.iter_mut().filter(|by| by.iter().all(|by| *by == 0)) {
            *by = Vec::new();
        }
        Ok(list)
    }

    /// Walks once for agents with equal control flow. Returns the instructions of each.
    fn walk(&self, class: &[AgentId], list: &mut Route, copies: bool) -> Result<u64, Obstacle> {
        let w = &self.world;
        let a = *class.first().ok_or(Obstacle::NoRoute)?;
        let (mut pc, single) = (w.agents[a].pc, list.block.is_one());
        let mut now = Numbers::new(list.block, list.frame);
        let [m, n, z] = list.block.from;
        let at = Coords { id: w.prog.grid.id(m, n, z), m, n, z };
        let number = |now: &Numbers, e: &Expr| now.of(w.prog, e, &w.values(a, at, &now.vars));
        for n in 0..LIMIT {
            pc = match self.way[pc as usize] {
                Way::Pass => pc + 1,
                Way::Jump(to) => to,
                Way::Set { to, op, var, by } if single => {
                    now.vars[to as usize] = apply(op, now.vars[var as usize], by).ok_or(Obstacle::NoRoute)?;
                    pc + 1
                }
                Way::Set { to, op, var, by } => {
                    let x = now.binary(op, now.var(var), Linear::same(by))?;
                    now.set(to, x);
                    pc + 1
                }
                Way::Unless { op, var, by, to } => {
                    let x = now.binary(op, now.var(var), Linear::same(by))?;
                    if now.truth(x)? { pc + 1 } else { to }
                }
                Way::Other => match &w.prog.code[pc as usize] {
                    Instr::End => return Ok(n + 1),
                    Instr::Op { op, .. } => {
                        let (_, store) = global_place(w.prog, op).ok_or(Obstacle::NoRoute)?;
                        if !copies {
                            pc += 1;
                            continue;
                        }
                        let vars = list.vars.len();
                        let first = list.copies.len();
                        for agent in class.iter().copied().filter(|b| first_to_move(w, *b, pc, op)) {
                            list.copies.push(Traffic { pc, agent, vars, store, progress: n as u32 });
                        }
                        if list.copies.len() > first {
                            list.vars.extend_from_slice(&now.vars);
                            for (i, by) in list.by.iter_mut().enumerate().filter(|(i, _)| list.block.len[*i] > 1) {
                                by.extend(now.by.iter().map(|by| by[i]));
                            }
                        }
                        pc + 1
                    }
                    Instr::Set(to, e) => {
                        let x = number(&now, e)?;
                        now.set(*to, x);
                        pc + 1
                    }
                    Instr::Jump(to) => *to,
                    Instr::Unless(e, to) => {
                        if now.truth(number(&now, e)?)? {
                            pc + 1
                        } else {
                            *to
                        }
                    }
                    Instr::Only(Executors::Cta(e), to) => {
                        let own = Linear::same(w.spec.info[a as usize].cta as i64);
                        let x = now.binary(Binary::Eq, number(&now, e)?, own)?;
                        if now.truth(x)? { pc + 1 } else { *to }
                    }
                    Instr::Only(who, to) => match w.among(a, who).map_err(|_| Obstacle::NoRoute)? {
                        true => pc + 1,
                        false => *to,
                    },
                },
            };
        }
        Err(Obstacle::NoRoute)
    }

    /// Coordinates of a cluster, by axis.
    pub fn position(&self, id: i64) -> Position {
        let Coords { m, n, z, .. } = self.coords_of(id);
        [m, n, z]
    }

    fn coords_of(&self, id: i64) -> Coords {
        self.coords.get(id as usize).copied().unwrap_or_else(|| coords(self.world.prog, id))
    }

    /// The part of a global matrix that a listed copy moves in cluster `id`, with the variables `vars` of its agent.
    /// `None` where the place is outside of what the kernel may touch.
    pub fn tile(&mut self, id: i64, t: &Traffic, vars: &[i64]) -> Option<GlobalTile> {
        let w = &self.world;
        let Instr::Op { op, .. } = &w.prog.code[t.pc as usize] else { return None };
        let (place, _) = global_place(w.prog, op)?;
        if !is_whole(place) {
            let f = self.footprint(id, t, vars)?;
            return Some(GlobalTile { obj: f.obj, at: f.at, rows: f.rows, cols: f.cols });
        }
        let values = w.values(t.agent, self.coords_of(id), vars);
        let mut at = [0; 2];
        for (v, e) in at.iter_mut().zip(&place.at) {
            *v = values.of(e).ok()?;
        }
        let (height, width) = size(&w.prog.objects[place.obj as usize]);
        Some(GlobalTile { obj: place.obj, at, rows: (0, height), cols: (0, width) })
    }

    /// The footprint of a listed copy in cluster `id`, with the variables `vars` of its agent. `None` where the place is
    /// outside of what the kernel may touch.
    pub fn footprint(&mut self, id: i64, t: &Traffic, vars: &[i64]) -> Option<Footprint> {
        let w = &mut self.world;
        w.coords = coords(w.prog, id);
        w.agents.vars_mut(t.agent).copy_from_slice(vars);
        let Instr::Op { op, .. } = &w.prog.code[t.pc as usize] else { return None };
        let (place, _) = global_place(w.prog, op)?;
        w.footprint(t.agent, place, 0).ok()
    }

    /// The footprint on the chip of a listed copy from global memory in the cluster that was looked at last.
    pub fn destination(&mut self, t: &Traffic, vars: &[i64]) -> Option<Footprint> {
        let w = &mut self.world;
        w.agents.vars_mut(t.agent).copy_from_slice(vars);
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

    /// Whether a listed copy is an atomic access.
    pub fn is_atomic(&self, t: &Traffic) -> bool {
        let Instr::Op { op, .. } = &self.world.prog.code[t.pc as usize] else { return false };
        global_place(self.world.prog, op).is_some_and(|(p, _)| p.sel.writes == Writes::Atomic)
    }

    /// Whether a listed copy is a load by tensor map.
    pub fn is_boxed(&self, t: &Traffic) -> bool {
        self.is_move(t, MoveKind::TmaLoad)
    }

    /// Whether a listed copy is a load to registers.
    pub fn is_register_load(&self, t: &Traffic) -> bool {
        self.is_move(t, MoveKind::Ldg)
    }

    fn is_move(&self, t: &Traffic, kind: MoveKind) -> bool {
        matches!(self.world.prog.code[t.pc as usize], Instr::Op { op: Op::Move { how, .. }, .. } if how == kind)
    }

    /// Whether a copy's place counts elements instead of blocks.
    pub fn by_elements(&self, t: &Traffic) -> bool {
        let Instr::Op { op, .. } = &self.world.prog.code[t.pc as usize] else { return false };
        global_place(self.world.prog, op).is_some_and(|(p, _)| p.elements)
    }
}

fn coords(prog: &Program, id: i64) -> Coords {
    let (m, n, z) = prog.grid.at(id);
    Coords { id, m, n, z }
}

/// Whether a global place is a whole block of the agent's own CTA.
fn is_whole(place: &Place) -> bool {
    place.cta.is_none() && place.sel.rows.is_empty() && place.sel.cols.is_empty() && place.sel.exact.is_empty()
}

/// Agents with equal control flow, as long as no agent gets a number from another. Every head of a block includes all or
/// none of them, and no expression of the control flow names what differs between them.
fn classes(w: &World<'_>) -> Vec<Vec<AgentId>> {
    let prog = w.prog;
    let (mut warp, mut rank) = (false, false);
    let mut names = |e: &Expr| {
        e.visit(&mut |x| match x {
            Expr::Env(Env::Warp) => warp = true,
            Expr::Env(Env::CtaRank | Env::CtaM | Env::CtaId) => rank = true,
            _ => {}
        });
    };
    prog.tapes.iter().for_each(|t| names(&t.run));
    for i in &prog.code {
        match i {
            Instr::Set(_, e) | Instr::Unless(e, _) | Instr::Only(Executors::Cta(e), _) => names(e),
            _ => {}
        }
    }
    rank |= prog.code.iter().any(|i| matches!(i, Instr::Only(Executors::Cta(_), _)));
    let mut keys = Vec::new();
    let mut list: Vec<Vec<AgentId>> = Vec::new();
    for (a, me) in w.spec.info.iter().enumerate() {
        let heads = prog.code.iter().filter_map(|i| match i {
            Instr::Only(Executors::Warps(warps), _) => Some(warps >> me.warp & 1 == 1),
            Instr::Only(Executors::Elected, _) => Some(me.elected()),
            _ => None,
        });
        let key = (warp.then_some(me.warp), rank.then_some(me.cta), heads.collect::<Vec<bool>>());
        match keys.iter().position(|k| *k == key) {
            Some(class) => list[class].push(a as AgentId),
            None => {
                keys.push(key);
                list.push(vec![a as AgentId]);
            }
        }
    }
    list
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
