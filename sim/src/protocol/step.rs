//! One step of one agent: control flow up to its next operation, then that operation.

use smallvec::SmallVec;

use crate::ir::{Executors, Instr, MmaKind, MoveKind, Op, Program, Queue, VarId};
use crate::timeline::Work;

use super::AgentId;
use super::eval::{Decision, Number};
use super::flight::FlightId;
use super::memory::{Footprint, TileKey};
use super::world::{Fault, WaitTarget, World};

/// What [`World::step`] did.
#[derive(Clone, Debug)]
pub enum Step {
    /// Performed the operation at `pc`, after closing `loops` loop iterations on the way.
    Performed {
        /// The operation's instruction.
        pc: u32,
        /// Loop iterations begun on the way to it.
        loops: u32,
        /// What it did.
        effect: StepEffect,
    },
    /// Cannot proceed at `pc` until this changes.
    Blocked {
        /// The operation's instruction.
        pc: u32,
        /// Loop iterations begun on the way to it.
        loops: u32,
        /// What it waits for.
        on: WaitTarget,
    },
    /// The agent has ended.
    Ended,
    /// The kernel did something that has no meaning; a finding tells what.
    Broken,
}

/// What an operation did, for the engine to give it a time.
#[derive(Clone, Debug)]
pub enum StepEffect {
    /// Moved data.
    Move(MoveEffect),
    /// Multiplied.
    Mma(MmaEffect),
    /// Vector arithmetic: index of the unit's operation in the code, lane operations of this warp.
    Alu {
        /// Lane operations.
        count: i64,
    },
    /// A flight that arrives on barriers was started: `commit umma`, `cp.arrive`, a remote arrive.
    Signal {
        /// The flight.
        flight: FlightId,
        /// It follows the agent's stream; else it only crosses the cluster.
        in_stream: bool,
    },
    /// Passed a rendezvous; `last` where this agent's arrival ended it.
    Rendezvous {
        /// Whether it was the last to arrive.
        last: bool,
    },
    /// Another synchronisation or bookkeeping instruction that takes an issue slot.
    Sync,
    /// Nothing that takes time.
    Nothing,
}

impl StepEffect {
    /// The flights it started, in the order in which they land.
    pub fn flights(&self) -> SmallVec<[FlightId; 2]> {
        match self {
            StepEffect::Move(m) => m.flights.clone(),
            StepEffect::Mma(m) => m.flight.into_iter().collect(),
            StepEffect::Signal { flight, .. } => smallvec::smallvec![*flight],
            _ => SmallVec::new(),
        }
    }
}

/// A move that was performed or started.
#[derive(Clone, Debug)]
pub struct MoveEffect {
    /// By which instruction.
    pub how: MoveKind,
    /// Elements this agent moves.
    pub elements: i64,
    /// Bytes on the global side, scales included; 0 where there is none.
    pub global_bytes: i64,
    /// Bytes on the on-chip side.
    pub chip_bytes: i64,
    /// Rows of the on-chip side, and bytes of one: what a copy engine writes line by line.
    pub chip_rows: i64,
    /// Unpacked on the way.
    pub dequant: bool,
    /// Device loads in flight before the first store (`load`).
    pub batch: Option<u32>,
    /// Flights started, in the order in which they land.
    pub flights: SmallVec<[FlightId; 2]>,
    /// The tile moved.
    pub tile: Option<TileKey>,
    /// The on-chip slot written, if any.
    pub fills: Option<Footprint>,
    /// Copies delivered at once (`multicast`).
    pub copies: u32,
}

/// A matrix operation that was performed or started.
#[derive(Clone, Debug)]
pub struct MmaEffect {
    /// By which instruction.
    pub kind: MmaKind,
    /// Rows of the product, of the executing unit (warp, warpgroup, CTA or pair).
    pub m: i64,
    /// Columns.
    pub n: i64,
    /// Depth.
    pub k: i64,
    /// Bits of an operand element.
    pub bits: u32,
    /// Bytes of operands read from shared memory, in one CTA.
    pub shared_bytes: i64,
    /// The tiles multiplied, where the operands hold any.
    pub tiles: (Option<TileKey>, Option<TileKey>),
    /// The flight started, by the agent that acts for a warpgroup; none for the others and for synchronous ones.
    pub flight: Option<FlightId>,
    /// Whether this agent acts for all (else it only takes part).
    pub acts: bool,
}

impl MmaEffect {
    /// Floating-point operations: a product and a sum each.
    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// Why an operation was not performed.
#[derive(Clone, Debug)]
pub(super) enum Blocked {
    On(WaitTarget),
    Fault(Fault),
}

impl From<Fault> for Blocked {
    fn from(f: Fault) -> Self {
        Blocked::Fault(f)
    }
}

impl Op {
    /// The class of work an operation is shown as.
    pub fn work(&self) -> Work {
        match self {
            Op::Move { how, .. } => match how {
                MoveKind::Load | MoveKind::Ldg | MoveKind::CpAsync | MoveKind::LdsDma | MoveKind::TmaLoad => Work::Load,
                MoveKind::Sts | MoveKind::Lds | MoveKind::TmemLd | MoveKind::TmemSt => Work::Shared,
                MoveKind::Store | MoveKind::TmaStore => Work::Store,
            },
            Op::Mma { .. } => Work::Mma,
            Op::Alu { .. } | Op::Zero(_) => Work::Alu,
            _ => Work::Sync,
        }
    }
}

/// Control-flow instructions an agent may execute without an operation before the kernel is said to hang.
const CONTROL_LIMIT: u32 = 1 << 22;

impl<'p> World<'p> {
    /// Performs an agent's next operation, or says what it waits for.
    pub fn step(&mut self, a: AgentId) -> Step {
        if self.agents[a as usize].ended {
            return Step::Ended;
        }
        let (pc, loops) = match self.go_on(a) {
            Ok(at) => at,
            Err(f) => return self.broken(a, self.agents[a as usize].pc, &f),
        };
        let Instr::Op { op, .. } = &self.prog.code[pc as usize] else {
            self.end(a, pc);
            return Step::Ended;
        };
        match self.perform(a, pc, op) {
            Ok(effect) => {
                self.agents[a as usize].pc = pc + 1;
                Step::Performed { pc, loops, effect }
            }
            Err(Blocked::On(on)) => Step::Blocked { pc, loops, on },
            Err(Blocked::Fault(f)) => self.broken(a, pc, &f),
        }
    }

    /// Control flow up to an agent's next operation or its end: where that is, and loop iterations begun on the way.
    pub(super) fn go_on(&mut self, a: AgentId) -> Result<(u32, u32), Fault> {
        self.go_on_by_way_of(a, |_| {})
    }

    /// The same; also says which instructions it comes to.
    fn go_on_by_way_of(&mut self, a: AgentId, mut comes_to: impl FnMut(u32)) -> Result<(u32, u32), Fault> {
        let mut loops = 0;
        let prog = self.prog;
        for _ in 0..CONTROL_LIMIT {
            let pc = self.agents[a as usize].pc;
            comes_to(pc);
            let instr = &prog.code[pc as usize];
            if matches!(instr, Instr::Op { .. } | Instr::End) {
                return Ok((pc, loops));
            }
            let to = self.control(a, pc, instr)?;
            if matches!(instr, Instr::Jump(_)) && to <= pc {
                loops += 1;
                self.judge(Decision::Again);
            }
            self.agents[a as usize].pc = to;
        }
        Err(Fault::Endless)
    }

    /// Where an agent's next operation (or its end) is, and its variables there, if it went on from this place with these
    /// variables by this program: its own, or another of the same text. `None` where that has no meaning. Also says which
    /// instructions it comes to; what numbers decide on the way is kept where the caller put a list for it.
    pub fn way(
        &mut self,
        a: AgentId,
        (pc, vars): (u32, &[i64]),
        by: &'p Program,
        comes_to: impl FnMut(u32),
    ) -> Option<(u32, Vec<i64>)> {
        let frame = a as usize * self.frame..(a as usize + 1) * self.frame;
        let (own, own_agent, own_vars) = (self.prog, self.agents[a as usize].clone(), self.vars_of(a).to_vec());
        let own_forms = self.var_forms.get(frame.clone()).map(<[_]>::to_vec);
        self.prog = by;
        self.agents[a as usize].pc = pc;
        self.vars[frame.clone()].copy_from_slice(vars);
        let at = self.go_on_by_way_of(a, comes_to).ok().map(|(at, _)| at);
        let then = self.vars_of(a).to_vec();
        self.prog = own;
        self.agents[a as usize] = own_agent;
        self.vars[frame.clone()].copy_from_slice(&own_vars);
        if let Some(forms) = own_forms {
            self.var_forms[frame].copy_from_slice(&forms);
        }
        at.map(|at| (at, then))
    }

    /// Sets a variable of an agent.
    pub(super) fn set_var(&mut self, a: AgentId, v: VarId, x: Number) {
        let at = a as usize * self.frame + v as usize;
        self.vars[at] = x.v;
        if let Some(form) = self.var_forms.get_mut(at) {
            *form = x.form;
        }
    }

    /// An agent's variables.
    pub fn vars_of(&self, a: AgentId) -> &[i64] {
        &self.vars[a as usize * self.frame..(a as usize + 1) * self.frame]
    }

    /// From here on it is a world of another program of the same text, which would have come here as well.
    pub fn go_on_by(&mut self, prog: &'p Program) {
        self.prog = prog;
        self.more_tiles.retain(|id| *id < prog.grid.len());
    }

    /// Whether the next tile that is handed out is one by another program, too, whose grid is as large or smaller.
    pub fn hands_as_by(&self, prog: &Program) -> bool {
        self.more_tiles.last().is_none_or(|id| *id < prog.grid.len())
    }

    /// Where an agent goes on behind an instruction of control flow.
    pub(super) fn control(&mut self, a: AgentId, pc: u32, instr: &Instr) -> Result<u32, Fault> {
        match instr {
            Instr::Set(v, e) => {
                let x = self.placed(a, e)?;
                self.set_var(a, *v, x);
                Ok(pc + 1)
            }
            Instr::Jump(to) => Ok(*to),
            Instr::Unless(e, to) => Ok(if self.holds(a, e)? { pc + 1 } else { *to }),
            Instr::Only(who, to) => {
                if *who == Executors::Elected {
                    self.diverge(a);
                }
                Ok(if self.among(a, who)? { pc + 1 } else { *to })
            }
            Instr::Op { .. } | Instr::End => Ok(pc),
        }
    }

    /// Whether the head of a block names an agent.
    pub(super) fn among(&self, a: AgentId, who: &Executors) -> Result<bool, Fault> {
        let me = self.info[a as usize];
        Ok(match who {
            Executors::Warps(w) => w >> me.warp & 1 == 1,
            Executors::Cta(e) => self.eval(a, e)? == me.cta as i64,
            Executors::Elected => me.elected(),
        })
    }

    /// How many groups or instructions of a queue an agent has outstanding.
    pub fn outstanding(&self, a: AgentId, q: Queue) -> usize {
        let kind = super::StreamKind::of(q);
        match q {
            Queue::Cp | Queue::Wgmma | Queue::Bulk | Queue::BulkRead => self.groups_in_flight(a, kind),
            _ => {
                let s = &self.streams[a as usize * super::stream::KINDS + kind as usize];
                (s.issued - s.landed) as usize
            }
        }
    }
}
