//! A kernel with every parameter bound: what the engine runs and the verifier explores.
//!
//! ```text
//!   .pipe text ──(warpline-scenarios)──▶ Program
//!                                          objects   what holds data: global, shared, tmem, registers, mailboxes
//!                                          mbars     arrays of mbarriers        named   numbered barriers
//!                                          code      one flat instruction list that every agent walks
//!                                          sites     the source line of each instruction
//! ```
//!
//! All agents share one code. An agent skips the blocks of other roles ([`Instr::Only`]), so a block common to several
//! roles is projected on each of them.

mod dtype;
mod eval;
mod executing;
mod execution;
mod expr;
mod names;
mod op;
mod sizes;
mod storage;
mod symbols;
mod uses;

pub use dtype::Dtype;
pub use eval::Domain;
pub use execution::{IssueCount, Queue};
pub use expr::{Binary, Env, Expr, Unary, apply};
pub use num_integer::{gcd, lcm};
pub use op::{
    ArrivalsPer, BarRef, BarrierCta, CounterAct, CounterRef, Exact, Fence, Instructions, MemOrder, MmaKind, MoveKind,
    Op, Operand, Order, Part, Phase, Place, Scope, Selection, Stages, TENSOR_LANES, Writes, reach_all_lanes, share,
};
pub use sizes::ANY_EXTENT;
pub use symbols::{Forms, ParamId, Symbol};
pub use uses::{ExprUse, each, each_mut};

/// Index into [`Program::objects`].
pub type ObjId = u16;
/// Index into [`Program::mbars`].
pub type MbarId = u16;
/// Number of a state that an arrival on an mbarrier returns; each agent has its own.
pub type StateId = u8;
/// Bytes that stand for a column of tensor memory in a compiled kernel, whose objects are sets of bytes.
pub const COLUMN_BYTES: i64 = 64;
/// States that an agent can keep.
pub const STATES: i64 = 64;
/// Index into [`Program::named`].
pub type NamedId = u16;
/// Index of a variable in an agent's frame; names in [`Program::vars`].
pub type VarId = u16;
/// Index into [`Program::counters`].
pub type CounterId = u16;
/// Index into [`Program::tapes`].
pub type TapeId = u16;
/// Index into [`Program::code`].
pub type Pc = u32;
/// Index into [`Program::sites`].
pub type SiteId = u32;

/// The memory that holds an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Device memory, shared by the grid.
    Global,
    /// Shared memory, threadgroup memory, LDS: one copy for each CTA.
    Shared,
    /// Tensor memory: one copy for each CTA.
    Tmem,
    /// Registers: one copy for each warp of an agent.
    Reg,
    /// A word of shared memory with a value that roles act on.
    Mailbox,
}

/// An object that holds data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Name in the source.
    pub name: String,
    /// The memory that holds the object.
    pub class: Class,
    /// Element type.
    pub dtype: Dtype,
    /// Global: extent of the matrix in elements. On chip: extent of one slot.
    pub rows: i64,
    /// See `rows`; 1 for vectors.
    pub cols: i64,
    /// Names of the two dimensions in the source (`m`, `k`), for global objects.
    pub dims: [String; 2],
    /// Global: elements of one block along each dimension, inferred from the first use.
    pub block: [i64; 2],
    /// Number of slots (stages); 1 for global objects.
    pub slots: u32,
    /// Row boundaries of the pieces, from 0 to `rows`, ascending: the coarsest partition that every access respects.
    pub row_cuts: Vec<u32>,
    /// Column boundaries of the pieces.
    pub col_cuts: Vec<u32>,
    /// The object whose storage this one shares (`overlay`).
    pub overlay: Option<ObjId>,
    /// Bytes of a swizzle atom; 0 for none. Tiles without a swizzle have bank conflicts.
    pub swizzle: u32,
    /// Elements that share one 16-bit scale (`group 32`), for packed global objects.
    pub scale_group: Option<u32>,
}

impl Object {
    /// Whether reads of fragments across the rows meet in the banks of shared memory.
    pub fn has_bank_conflicts(&self) -> bool {
        self.class == Class::Shared && self.swizzle == 0
    }

    /// One slot in one piece, with a swizzle of 128 bytes and unnamed dimensions; a block of a global object is all of it.
    pub fn whole(name: String, class: Class, dtype: Dtype, [rows, cols]: [i64; 2]) -> Object {
        Object {
            name,
            class,
            dtype,
            rows,
            cols,
            dims: [String::new(), String::new()],
            block: [rows, cols],
            slots: 1,
            row_cuts: vec![0, rows as u32],
            col_cuts: vec![0, cols as u32],
            overlay: None,
            swizzle: 128,
            scale_group: None,
        }
    }

    /// Bytes of `elements` elements, scales included.
    pub fn bytes_of(&self, elements: i64) -> i64 {
        let data = (elements * self.dtype.bits() as i64 + 7) / 8;
        data + self.scale_group.map_or(0, |g| elements / g as i64 * 2)
    }

    /// Bytes of one slot.
    pub fn slot_bytes(&self) -> i64 {
        self.bytes_of(self.rows * self.cols)
    }

    /// Number of pieces of a slot; at most 64.
    pub fn pieces(&self) -> usize {
        (self.row_cuts.len() - 1) * (self.col_cuts.len() - 1)
    }
}

/// An array of mbarriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MbarDecl {
    /// Name in the source.
    pub name: String,
    /// Length of the array.
    pub stages: u32,
    /// Arrivals that complete a phase.
    pub count: u32,
}

/// An array of numbered barriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDecl {
    /// Name in the source.
    pub name: String,
    /// Length of the array.
    pub len: u32,
    /// Hardware number of the first barrier.
    pub first: u32,
}

/// An array of counters in global memory; each is 0 when the kernel starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterDecl {
    /// Name in the source.
    pub name: String,
    /// Length of the array.
    pub len: u32,
}

/// A role, or a set of warps used like a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Name in the source.
    pub name: String,
    /// Its warps, as bits.
    pub warps: u64,
    /// Members (`role math[2]`); 1 for a role without members.
    pub members: u32,
}

/// A trip count that the kernel learns at run time; every role reads the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tape {
    /// Name in the source.
    pub name: String,
    /// The value used when the kernel is run; may read [`Env::TapeIndex`].
    pub run: Expr,
}

/// The tile that a read expects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileRef {
    /// The global object of the tile, or the register object that was stored.
    pub obj: ObjId,
    /// Block coordinates; for a register object, the member (`acc(self)`), if given.
    pub at: Vec<Expr>,
    /// The part of the tile.
    pub sel: Selection,
}

/// The agents that execute a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Executors {
    /// These warps, as bits.
    Warps(u64),
    /// The CTA of this rank in its cluster.
    Cta(Expr),
    /// One elected lane of each warp.
    Elected,
}

/// Costs that the kernel states itself (`takes`, `lands`), for designs on paper.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Cycles that the agent is busy; the middle value where `spread` is not 0.
    pub takes: Option<f64>,
    /// Largest deviation from `takes`, in cycles. An emitted kernel draws a value for each CTA; simulated time uses the
    /// middle.
    pub spread: f64,
    /// Cycles from the start until the result is available, for asynchronous operations.
    pub lands: Option<f64>,
}

/// One instruction of the flat code.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a kernel has a few hundred; a box would be in the way of matching")]
pub enum Instr {
    /// An operation.
    Op {
        /// The operation.
        op: Op,
        /// Costs that the kernel states itself.
        cost: Cost,
    },
    /// Evaluates into a variable.
    Set(VarId, Expr),
    /// Continues at this address.
    Jump(Pc),
    /// Continues at this address where the expression is zero.
    Unless(Expr, Pc),
    /// Continues at this address where the agent is not one of the executors.
    Only(Executors, Pc),
    /// The agent ends.
    End,
}

impl Instr {
    /// The address where an agent may continue, other than the next instruction.
    pub fn target(&self) -> Option<Pc> {
        match self {
            Instr::Jump(to) | Instr::Unless(_, to) | Instr::Only(_, to) => Some(*to),
            Instr::Op { .. } | Instr::Set(..) | Instr::End => None,
        }
    }

    /// The target of the instruction, mutable.
    pub fn target_mut(&mut self) -> Option<&mut Pc> {
        match self {
            Instr::Jump(to) | Instr::Unless(_, to) | Instr::Only(_, to) => Some(to),
            Instr::Op { .. } | Instr::Set(..) | Instr::End => None,
        }
    }
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Site {
    /// File name as given.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub col: u32,
    /// The text of the statement, on one line.
    pub text: String,
}

/// A loop of the code, for displays and for the verifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The index variable; none for `while`.
    pub var: Option<VarId>,
    /// First instruction of the loop (its test).
    pub head: Pc,
    /// First instruction after the loop.
    pub end: Pc,
    /// The upper bound of a `for`.
    pub bound: Option<Expr>,
    /// The variable that receives a mailbox's word for the next iteration, for a `while` over tiles that are handed on.
    pub passed: Option<VarId>,
}

impl Loop {
    /// The variable whose value is different in each iteration.
    pub fn index(&self) -> Option<VarId> {
        self.var.or(self.passed)
    }
}

/// The order in which CTAs (clusters, where there are any) take the tiles of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Rows of CTAs or clusters.
    pub m: i64,
    /// Columns.
    pub n: i64,
    /// Third dimension.
    pub z: i64,
    /// Rows that are walked together before the next column (`group 8`). 0 means column by column along m: launch index
    /// `id` is row `id % m`, column `id / m`.
    pub group: i64,
}

impl Grid {
    /// Number of launch units (CTAs, or clusters where there are any).
    pub fn len(&self) -> i64 {
        self.m * self.n * self.z
    }

    /// Whether nothing is launched.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row, column and third coordinate of a launch index.
    pub fn at(&self, id: i64) -> (i64, i64, i64) {
        let plane = self.m * self.n;
        let (z, id) = (id / plane, id % plane);
        let g = if self.group == 0 { self.m } else { self.group };
        let width = g * self.n;
        let first = id / width * g;
        let rows = g.min(self.m - first);
        let inside = id % width;
        (first + inside % rows, inside / rows, z)
    }

    /// The launch index of coordinates, which [`Self::at`] gives back.
    pub fn id(&self, m: i64, n: i64, z: i64) -> i64 {
        let g = if self.group == 0 { self.m } else { self.group };
        let first = m / g * g;
        let rows = g.min(self.m - first);
        z * self.m * self.n + first * self.n + n * rows + (m - first)
    }
}

/// Who makes an operation wait until its registers are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Hardware scoreboard or compiler: a use waits exactly for its own registers.
    Auto,
    /// The kernel's own `wait vm` and `wait lgkm`: a use before the wait is a race.
    Manual,
}

/// An order in which agents come to their first `atom`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderOfAtomics {
    /// The word, counted through all declarations of counters; `None` for the first `atom` on any word, where this is
    /// the only order of the program.
    pub word: Option<u32>,
    /// The agents, first to last.
    pub agents: Vec<u32>,
}

/// A kernel, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The kernel's name.
    pub name: String,
    /// Its file, as given.
    pub file: String,
    /// Parameters with their values, in order of declaration.
    pub params: Vec<(String, i64)>,
    /// Parameters and header `let`s that stay symbolic in the code; none in a bound program.
    pub symbols: Vec<Symbol>,
    /// Expressions over symbols for the numbers that the program keeps as numbers.
    pub forms: Forms,
    /// Features that the kernel needs of the machine (`sm_90a`, `apple7`, `gfx950`), each with its place.
    pub needs: Vec<(String, SiteId)>,
    /// The grid, in CTAs or clusters.
    pub grid: Grid,
    /// CTAs of a cluster; 1 without clusters. For a cooperative launch, the CTAs of the whole grid.
    pub cluster: u32,
    /// Whether all CTAs of the grid run at the same time and see each other's counters. [`Program::grid`] is then one
    /// unit.
    pub cooperative: bool,
    /// Orders in which agents come to their first `atom`. Where nothing orders these, a proof decides each order. Empty
    /// where the order is open.
    pub atomic_order: Vec<OrderOfAtomics>,
    /// Warps in a CTA; at most 64.
    pub warps: u32,
    /// Registers of a thread at launch, if the kernel states them.
    pub regs: Option<u32>,
    /// Who makes a use wait for its registers.
    pub waits: Waits,
    /// Objects that hold data.
    pub objects: Vec<Object>,
    /// mbarriers.
    pub mbars: Vec<MbarDecl>,
    /// Numbered barriers.
    pub named: Vec<NamedDecl>,
    /// Counters in global memory.
    pub counters: Vec<CounterDecl>,
    /// Roles, in order of declaration.
    pub roles: Vec<Role>,
    /// Run-time trip counts.
    pub tapes: Vec<Tape>,
    /// Names of the variables of an agent's frame; hidden ones start with a dot.
    pub vars: Vec<String>,
    /// The code.
    pub code: Vec<Instr>,
    /// Site of each instruction of the code.
    pub at: Vec<SiteId>,
    /// Places in the source.
    pub sites: Vec<Site>,
    /// Loops, outermost first, in order of their heads.
    pub loops: Vec<Loop>,
    /// Header `let`s with their values, in order: `tile_m`, `tiles`, ... These are the numbers that a user sees as the
    /// kernel's own.
    pub lets: Vec<(String, i64)>,
    /// Whether some `let` has another value than its text computes, as a proof over trip counts may ask. Extents of
    /// matrices then need not cover every access.
    pub loose: bool,
    /// Whether global accesses are checked for neither extents nor races: imported kernels, whose addresses are unknown.
    pub opaque_globals: bool,
    /// Whether a CTA barrier does not wait for warps that have ended, and the program may rely on that: compiled kernels (PTX
    /// ISA, `exit`). What an ended warp did is in no order with what is behind the barrier.
    pub ended_leave: bool,
    /// Whether a read of shared memory that nothing has written is a fault in an imported kernel, too.
    pub reads_checked: bool,
}

impl Program {
    /// Whether accesses to matrices are compared with their ends.
    pub fn compares_ends(&self) -> bool {
        !self.loose && !self.opaque_globals
    }

    /// The value of a parameter or header `let`.
    pub fn value(&self, name: &str) -> Option<i64> {
        self.params.iter().chain(&self.lets).find(|(n, _)| n == name).map(|(_, v)| *v)
    }

    /// Whether the program stands for the time of a compiled kernel: it then has the kernel's instructions and addresses,
    /// and of its accesses to shared memory only what takes time. Races are to be looked for in the kernel's other
    /// program.
    pub fn is_for_time(&self) -> bool {
        self.code.iter().any(|i| matches!(i, Instr::Op { op: Op::Alu { mix: Some(_), .. }, .. }))
    }

    /// Whether the kernel has a `clc`, which hands out tiles.
    pub fn hands_out(&self) -> bool {
        self.code.iter().any(|i| matches!(i, Instr::Op { op: Op::NextTile { .. }, .. }))
    }

    /// The source place of an instruction.
    pub fn site(&self, pc: Pc) -> &Site {
        &self.sites[self.at[pc as usize] as usize]
    }

    /// The role of a warp; the first declared where several roles have the warp.
    pub fn role_of(&self, warp: u32) -> Option<&Role> {
        self.roles.iter().find(|r| r.warps >> warp & 1 == 1)
    }
}
