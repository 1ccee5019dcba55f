//! One step of one agent: control flow up to its next operation, then that operation.

use smallvec::SmallVec;

use crate::ir::{Executors, Instr, IssueCount, MmaKind, MoveKind, Program, Queue};

use super::footprint::{Footprint, TileKey};
use super::observer::Observer;
use super::vocabulary::{AgentId, Blocked, Decision, Fault, FlightId, WaitTarget};
use super::world::World;

/// The result of [`World::step`].
#[derive(Clone, Debug)]
pub enum Step {
    /// Performed the operation at `pc`, after closing `loops` loop iterations on the way.
    Performed {
        /// The operation's instruction.
        pc: u32,
        /// Loop iterations begun on the way to the operation.
        loops: u32,
        /// The effect of the operation.
        effect: StepEffect,
    },
    /// Cannot proceed at `pc` until the wait target changes.
    Blocked {
        /// The operation's instruction.
        pc: u32,
        /// Loop iterations begun on the way to the operation.
        loops: u32,
        /// The target of the wait.
        on: WaitTarget,
    },
    /// The agent has ended.
    Ended,
    /// The operation has no meaning; a finding says why.
    Broken,
}

/// The effect of an operation, from which the engine computes its time. The two large effects are boxed: every step
/// passes its effect on by value.
#[derive(Clone, Debug)]
pub enum StepEffect {
    /// A move.
    Move(Box<MoveEffect>),
    /// A matrix operation.
    Mma(Box<MmaEffect>),
    /// Vector arithmetic.
    Alu {
        /// Lane operations of this warp.
        count: i64,
    },
    /// A flight that arrives on barriers was started: `commit umma`, `cp.arrive`, a remote arrive.
    Signal {
        /// The flight.
        flight: FlightId,
        /// Whether the flight follows the agent's stream; else the flight only crosses the cluster.
        in_stream: bool,
    },
    /// Passed a rendezvous.
    Rendezvous {
        /// Whether this agent's arrival ended the generation.
        last: bool,
    },
    /// Another synchronization or bookkeeping instruction that takes an issue slot.
    Sync,
    /// An operation that takes no time.
    Nothing,
}

impl StepEffect {
    /// The flights that the operation started, in the order in which they land.
    pub fn flights(&self) -> SmallVec<[FlightId; 2]> {
        match self {
            StepEffect::Move(m) => m.flights.clone(),
            StepEffect::Mma(m) => m.flight.into_iter().collect(),
            StepEffect::Signal { flight, .. } => smallvec::smallvec![*flight],
            _ => SmallVec::new(),
        }
    }
}

/// The effect of a move that was performed or started.
#[derive(Clone, Debug)]
pub struct MoveEffect {
    /// The kind of move instruction.
    pub how: MoveKind,
    /// Elements that this agent moves.
    pub elements: i64,
    /// Bytes on the global side, scales included; 0 where there is none.
    pub global_bytes: i64,
    /// Bytes on the on-chip side.
    pub chip_bytes: i64,
    /// Rows of the on-chip side. A copy engine writes row by row.
    pub chip_rows: i64,
    /// Whether the values are unpacked on the way.
    pub dequant: bool,
    /// The number that the move states of its execution.
    pub issue: IssueCount,
    /// Flights started, in the order in which they land.
    pub flights: SmallVec<[FlightId; 2]>,
    /// The tile moved.
    pub tile: Option<TileKey>,
    /// Coordinates of the block of global memory that an atomic access adds to.
    pub target: Option<Box<[i64; 2]>>,
    /// The on-chip slot written, if any.
    pub fills: Option<Footprint>,
    /// Copies delivered at once (`multicast`).
    pub copies: u32,
}

/// The effect of a matrix operation that was performed or started.
#[derive(Clone, Debug)]
pub struct MmaEffect {
    /// The kind of matrix instruction.
    pub kind: MmaKind,
    /// Rows of the product, for the executing unit (warp, warpgroup, CTA or pair).
    pub m: i64,
    /// Columns of the product.
    pub n: i64,
    /// Depth of the product.
    pub k: i64,
    /// Bits of an operand element.
    pub bits: u32,
    /// Bytes of operands read from shared memory, in one CTA.
    pub shared_bytes: i64,
    /// The tiles multiplied, where the operands hold any.
    pub tiles: (Option<TileKey>, Option<TileKey>),
    /// The flight that the acting agent of a warpgroup started; `None` for the other agents and for synchronous
    /// instructions.
    pub flight: Option<FlightId>,
    /// Whether this agent acts for the whole unit; else the agent only takes part.
    pub acts: bool,
}

impl MmaEffect {
    /// Floating-point operations: two for each multiply-add.
    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// Control-flow instructions that an agent may execute without an operation before the kernel counts as hanging.
const CONTROL_LIMIT: u32 = 1 << 22;

impl<'p> World<'p> {
    /// Performs an agent's next operation, or returns what the operation waits for. The observer receives what the step
    /// did.
    pub fn step(&mut self, a: AgentId, observer: &mut impl Observer) -> Step {
        self.journal.begin(observer);
        let step = self.next_step(a);
        self.journal.report(observer);
        step
    }

    fn next_step(&mut self, a: AgentId) -> Step {
        if self.agents[a].ended {
            return Step::Ended;
        }
        let (pc, loops) = match self.go_on(a) {
            Ok(at) => at,
            Err(f) => return self.broken(a, self.agents[a].pc, &f),
        };
        let Instr::Op { op, .. } = &self.prog.code[pc as usize] else {
            self.end(a, pc);
            return Step::Ended;
        };
        match self.perform(a, pc, op) {
            Ok(effect) => {
                self.agents[a].pc = pc + 1;
                Step::Performed { pc, loops, effect }
            }
            Err(Blocked::On(on)) => Step::Blocked { pc, loops, on },
            Err(Blocked::Fault(f)) => self.broken(a, pc, &f),
        }
    }

    /// Runs control flow up to an agent's next operation or its end. Returns that instruction and the loop iterations
    /// begun.
    #[inline]
    pub(super) fn go_on(&mut self, a: AgentId) -> Result<(u32, u32), Fault> {
        self.go_on_by_way_of(a, |_| {})
    }

    /// Runs control flow likewise, and reports each instruction on the way.
    fn go_on_by_way_of(&mut self, a: AgentId, mut comes_to: impl FnMut(u32)) -> Result<(u32, u32), Fault> {
        let mut loops = 0;
        let prog = self.prog;
        for _ in 0..CONTROL_LIMIT {
            let pc = self.agents[a].pc;
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
            self.agents[a].pc = to;
        }
        Err(Fault::Endless)
    }

    /// The next operation (or the end) of an agent that continues from this place with these variables, and its
    /// variables there. The program is the world's own or another of the same text. `None` where a number on the way
    /// has no meaning. Each instruction on the way is reported to `comes_to`, each decision to the observer.
    pub fn way(
        &mut self,
        a: AgentId,
        (pc, vars): (u32, &[i64]),
        by: &'p Program,
        observer: &mut impl Observer,
        comes_to: impl FnMut(u32),
    ) -> Option<(u32, Vec<i64>)> {
        self.journal.begin(observer);
        let (own, own_agent, own_vars) = (self.prog, self.agents[a].clone(), self.vars_of(a).to_vec());
        let own_forms = self.agents.forms(a).to_vec();
        self.prog = by;
        self.agents[a].pc = pc;
        self.agents.vars_mut(a).copy_from_slice(vars);
        let at = self.go_on_by_way_of(a, comes_to).ok().map(|(at, _)| at);
        self.journal.report(observer);
        let then = self.vars_of(a).to_vec();
        self.prog = own;
        self.agents[a] = own_agent;
        self.agents.vars_mut(a).copy_from_slice(&own_vars);
        self.agents.forms_mut(a).copy_from_slice(&own_forms);
        at.map(|at| (at, then))
    }

    /// An agent's variables.
    #[inline]
    pub fn vars_of(&self, a: AgentId) -> &[i64] {
        self.agents.vars(a)
    }

    /// Whether another program of the same text, which came to the same state, can take the place of this one: it has no
    /// code that this one lacks, and no matrix that ends where this one stored something.
    pub fn goes_on_by(&self, prog: &Program) -> bool {
        self.spec.hold_for(prog) && self.stored_as_by(prog)
    }

    /// Replaces the program by another of the same text, which must have come to the same state.
    pub fn go_on_by(&mut self, prog: &'p Program) {
        self.prog = prog;
        self.global.more_tiles.retain(|id| *id < prog.grid.len());
    }

    /// Whether the next tile that is handed out is also a tile of another program, whose grid is as large or smaller.
    pub fn hands_as_by(&self, prog: &Program) -> bool {
        self.global.more_tiles.last().is_none_or(|id| *id < prog.grid.len())
    }

    /// The instruction behind an instruction of control flow, for an agent.
    pub(super) fn control(&mut self, a: AgentId, pc: u32, instr: &Instr) -> Result<u32, Fault> {
        match instr {
            Instr::Set(v, e) => {
                let x = self.placed(a, e)?;
                self.agents.set_var(a, *v, x);
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

    /// Whether the head of a block includes an agent.
    #[inline]
    pub(super) fn among(&self, a: AgentId, who: &Executors) -> Result<bool, Fault> {
        let me = self.spec.info[a as usize];
        Ok(match who {
            Executors::Warps(w) => w >> me.warp & 1 == 1,
            Executors::Cta(e) => self.eval(a, e)? == me.cta as i64,
            Executors::Elected => me.elected(),
        })
    }

    /// Number of groups or instructions of a queue that an agent has outstanding.
    pub fn outstanding(&self, a: AgentId, q: Queue) -> usize {
        let kind = super::StreamKind::of(q);
        match q {
            Queue::Cp | Queue::Wgmma | Queue::Bulk | Queue::BulkRead => self.groups_in_flight(a, kind),
            _ => {
                let s = self.streams.get(a, kind);
                (s.issued - s.landed) as usize
            }
        }
    }
}
