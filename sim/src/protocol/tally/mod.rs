//! Counts of the operations of a grid that rates are made of: matrix instructions, and copies to and from global
//! memory.
//!
//! Clusters of one grid can do unequal work: jobs of a persistent kernel may not divide evenly, and guards may differ.
//! A walk finds the counts of all clusters at once, without time and without memory. The walk follows branches around
//! counted operations and the variables that the branches test, as ranges (`range`). Where a branch differs between
//! clusters, the walk visits each half of the clusters. Where no deciding value (`slice`) depends on the grid, all
//! clusters are alike. A walk does not know values that other agents hand over (mailboxes, `clc`).

mod range;
mod slice;

use rustc_hash::FxHashMap;

use crate::ir::{Executors, Instr, MmaKind, Op, Pc, Program};

use super::footprint::extent;
use super::op::{global_place, shape};
use super::spec::Rules;
use super::walk::first_to_move;
use super::world::World;
use crate::protocol::vocabulary::AgentId;
use range::{ClusterRange, EvalContext, Range, Stop};
use slice::{Slice, Turns};

/// Instructions after which a walk is given up: about a quarter of a second.
const LIMIT: u64 = 1 << 22;
/// Loops whose result is kept, at most.
const KEPT: usize = 1 << 14;

/// Number of executions of each counted instruction, by the agents that act for the others of an operation.
pub type Times = Vec<(Pc, u64)>;

/// The distribution of a grid's operations over its clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shares {
    /// Every cluster executes the same number.
    Alike,
    /// Clusters differ; these are the counts of the whole grid.
    Differ(Times),
    /// The counts depend on more than control flow, or take too long to find.
    Unknown,
}

/// A loop with its agent, its variables at the start, and the clusters, if the loop depends on them.
type Begun = (Pc, AgentId, Vec<Range>, Option<ClusterRange>);

/// Counts for one program.
#[derive(Clone, Debug)]
pub struct Tally<'p> {
    prog: &'p Program,
    /// The agents of a cluster.
    world: World<'p>,
    counted: Vec<Pc>,
    slice: Slice,
    loops: Vec<Option<Turns>>,
    part: ClusterRange,
    /// Variables of the walking agent.
    vars: Vec<Range>,
    /// Executions of each instruction in one cluster of the part.
    times: Vec<u64>,
    /// The counts that a loop adds, and the variables behind the loop.
    seen: FxHashMap<Begun, (Vec<u64>, Vec<Range>)>,
    left: u64,
}

impl<'p> Tally<'p> {
    /// A tally of matrix instructions, and of copies where asked.
    pub fn new(prog: &'p Program, rules: Rules, copies: bool) -> Self {
        let counts = |pc: &Pc| match &prog.code[*pc as usize] {
            Instr::Op { op, .. } => matches!(op, Op::Mma { .. }) || copies && global_place(prog, op).is_some(),
            _ => false,
        };
        let counted: Vec<Pc> = (0..prog.code.len() as Pc).filter(counts).collect();
        let slice = Slice::of(prog, &counted);
        Tally {
            prog,
            world: World::new(prog, rules, 0, &[]),
            loops: (0..prog.code.len()).map(|pc| slice.turns(prog, pc)).collect(),
            counted,
            slice,
            part: ClusterRange::Ids(0, 0),
            vars: vec![Range::default(); prog.vars.len()],
            times: vec![0; prog.code.len()],
            seen: FxHashMap::default(),
            left: LIMIT,
        }
    }

    /// Counts the whole grid.
    pub fn grid(&mut self) -> Shares {
        let grid = &self.prog.grid;
        let [m, n, z, id] = self.slice.coords;
        if self.slice.handed {
            return Shares::Unknown;
        }
        if [m, n, z, id] == [false; 4] {
            return Shares::Alike;
        }
        // Clusters that differ in no deciding coordinate count alike.
        let axis = |looked: bool, len: i64| (0, if looked { len - 1 } else { 0 });
        let whole = match id {
            true => ClusterRange::Ids(0, grid.len() - 1),
            false => ClusterRange::Block([axis(m, grid.m), axis(n, grid.n), axis(z, grid.z)]),
        };
        let each = grid.len() / whole.len().max(1);
        let mut sum: Times = self.counted.iter().map(|pc| (*pc, 0)).collect();
        let mut one: Option<Vec<u64>> = None;
        let mut alike = true;
        let mut open = vec![whole];
        while let Some(part) = open.pop() {
            self.part = part;
            self.times.fill(0);
            match (0..self.world.agents().len() as AgentId).try_for_each(|a| self.agent(a)) {
                Ok(()) => {
                    sum.iter_mut().for_each(|(pc, n)| *n += self.times[*pc as usize] * (part.len() * each) as u64);
                    alike &= *one.get_or_insert_with(|| self.times.clone()) == self.times;
                }
                Err(Stop::Split(by)) if part.len() > 1 => open.extend(part.halves(by)),
                Err(_) => return Shares::Unknown,
            }
        }
        if alike { Shares::Alike } else { Shares::Differ(sum) }
    }

    fn agent(&mut self, a: AgentId) -> Result<(), Stop> {
        self.vars.fill(Range::default());
        self.walk(a, 0, None)
    }

    /// Walks an agent from an instruction to its end, or through one iteration of a loop to the loop's end.
    fn walk(&mut self, a: AgentId, from: Pc, end: Option<Pc>) -> Result<(), Stop> {
        let own = end.map(|_| from);
        let mut pc = from;
        while end != Some(pc) {
            self.left = self.left.checked_sub(1).ok_or(Stop::Never)?;
            let at = pc as usize;
            let decides = self.slice.decides[at];
            pc = match &self.prog.code[at] {
                Instr::End => return Ok(()),
                Instr::Jump(to) => *to,
                Instr::Unless(..) | Instr::Only(..) if !decides => self.slice.end[at],
                Instr::Unless(..) if own != Some(pc) && self.loops[at].is_some() => self.turns(a, pc)?,
                Instr::Unless(e, to) => {
                    if self.here(a).value(e, 0.into())?.truth()? {
                        pc + 1
                    } else {
                        *to
                    }
                }
                Instr::Only(who, to) => {
                    if self.among(a, who)? {
                        pc + 1
                    } else {
                        *to
                    }
                }
                Instr::Set(v, e) => {
                    if decides {
                        self.vars[*v as usize] = self.here(a).value(e, 0.into())?;
                    }
                    pc + 1
                }
                Instr::Op { op, .. } => {
                    self.times[at] += (decides && self.acts(a, pc, op)) as u64;
                    pc + 1
                }
            };
        }
        Ok(())
    }

    /// Walks all iterations of a loop, reusing the result of a start with the same values. Returns the next
    /// instruction.
    fn turns(&mut self, a: AgentId, pc: Pc) -> Result<Pc, Stop> {
        let Some(Turns { end, vars, coords }) = self.loops[pc as usize].clone() else { return Err(Stop::Never) };
        let values = |t: &Self| -> Vec<Range> { vars.iter().map(|v| t.vars[*v as usize]).collect() };
        let key = (pc, a, values(self), coords.then_some(self.part));
        if let Some((more, after)) = self.seen.get(&key) {
            self.counted.iter().zip(more).for_each(|(pc, n)| self.times[*pc as usize] += n);
            vars.iter().zip(after).for_each(|(v, x)| self.vars[*v as usize] = *x);
            return Ok(end);
        }
        let before: Vec<u64> = self.counted.iter().map(|pc| self.times[*pc as usize]).collect();
        self.walk(a, pc, Some(end))?;
        if self.seen.len() < KEPT {
            let more = self.counted.iter().zip(before).map(|(pc, n)| self.times[*pc as usize] - n).collect();
            self.seen.insert(key, (more, values(self)));
        }
        Ok(end)
    }

    fn here(&self, a: AgentId) -> EvalContext<'_> {
        EvalContext { prog: self.prog, part: self.part, who: self.world.agents()[a as usize], vars: &self.vars }
    }

    fn among(&self, a: AgentId, who: &Executors) -> Result<bool, Stop> {
        let me = self.world.agents()[a as usize];
        Ok(match who {
            Executors::Warps(w) => w >> me.warp & 1 == 1,
            Executors::Cta(e) => self.here(a).value(e, 0.into())?.number()? == me.cta as i64,
            Executors::Elected => me.elected(),
        })
    }

    /// Whether the agent acts for all agents that take part.
    fn acts(&self, a: AgentId, pc: Pc, op: &Op) -> bool {
        match op {
            Op::Mma { kind: MmaKind::Wgmma, .. } => self.world.spec.group_lead[a as usize] == a,
            Op::Mma { kind: MmaKind::Umma | MmaKind::UmmaPair, .. } => true,
            Op::Mma { kind: MmaKind::Warp, .. } => self.world.does_lanes(a, pc),
            _ => first_to_move(&self.world, a, pc, op),
        }
    }
}

/// Floating-point operations of matrix instructions, from their counts.
pub fn flops(prog: &Program, times: &Times) -> f64 {
    let of = |(pc, n): &(Pc, u64)| match &prog.code[*pc as usize] {
        Instr::Op { op: Op::Mma { kind, a, b, .. }, .. } => shape(prog, *kind, a, b).flops() * *n as f64,
        _ => 0.0,
    };
    times.iter().map(of).sum()
}

/// Bytes from and to DRAM of copies, from their counts: all bytes stored, and the missing share of bytes loaded, by
/// object.
pub fn dram_bytes(prog: &Program, times: &Times, misses: &[f64]) -> f64 {
    let of = |(pc, n): &(Pc, u64)| {
        let Instr::Op { op, .. } = &prog.code[*pc as usize] else { return 0.0 };
        let Some((place, store)) = global_place(prog, op) else { return 0.0 };
        let (rows, cols) = extent(prog, place);
        let bytes = prog.objects[place.obj as usize].bytes_of(rows * cols) as f64;
        bytes * *n as f64 * if store { 1.0 } else { misses[place.obj as usize] }
    };
    times.iter().map(of).sum()
}
