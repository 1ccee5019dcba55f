//! The tree of a kernel text. Every node knows its bytes, so that every message can point.

use std::ops::Range;

use warpline_sim::ir;

/// Bytes of the text.
pub(crate) type Span = Range<usize>;

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ident {
    /// The name.
    pub text: String,
    /// Its bytes.
    pub span: Span,
}

/// An integer expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its bytes, parentheses included.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprKind {
    /// A number.
    Int(i64),
    /// A name.
    Name(String),
    /// `cta.m`, `w.valid`.
    Dotted(Ident, Ident),
    /// `cdiv(a, b)`, `bytes(x)`, a tape with its index.
    Call(Ident, Vec<Expr>),
    /// One operand.
    Unary(ir::Unary, Box<Expr>),
    /// Two operands.
    Binary(ir::Binary, Box<(Expr, Expr)>),
    /// `c ? a : b`.
    Cond(Box<(Expr, Expr, Expr)>),
}

impl Expr {
    /// The names it reads, in order.
    pub(crate) fn names<'e>(&'e self, out: &mut Vec<&'e str>) {
        match &self.kind {
            ExprKind::Int(_) | ExprKind::Dotted(..) => {}
            ExprKind::Name(n) => out.push(n),
            ExprKind::Call(_, args) => args.iter().for_each(|a| a.names(out)),
            ExprKind::Unary(_, a) => a.names(out),
            ExprKind::Binary(_, p) => [&p.0, &p.1].into_iter().for_each(|e| e.names(out)),
            ExprKind::Cond(p) => [&p.0, &p.1, &p.2].into_iter().for_each(|e| e.names(out)),
        }
    }
}

/// A whole kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kernel {
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<Param>,
    /// What it declares, in order.
    pub decls: Vec<Decl>,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    /// Its name.
    pub name: Ident,
    /// Its value where none is given.
    pub default: Option<Expr>,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decl {
    /// What it declares.
    pub kind: DeclKind,
    /// Its bytes.
    pub span: Span,
}

/// The forms of a declaration; see `docs/language.md`, section 3.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeclKind {
    /// `needs sm_90a`.
    Needs(Ident),
    /// `let a = 1, b = 2`.
    Let(Vec<(Ident, Expr)>),
    /// `require stages >= 2 "why"`.
    Require(Expr, Option<String>),
    /// `grid a, b group 8`.
    Grid(Vec<Expr>, Option<Expr>),
    /// `cluster 2`.
    Cluster(Expr),
    /// `cooperative`.
    Cooperative,
    /// `global flags: counter[n]`.
    Counter(Ident, Option<Expr>),
    /// `warps 4`.
    Warps(Expr),
    /// `regs 168`.
    Regs(Expr),
    /// `waits manual`.
    Waits(ir::Waits),
    /// `global`, `shared`, `tmem`, `reg`.
    Memory(Memory),
    /// `mbar full[stages] (1)`.
    Mbar(Ident, Option<Expr>, Expr),
    /// `named order[2]`.
    Named(Ident, Option<Expr>),
    /// `role math[2] = warpgroups 1..3`.
    Role(Ident, Option<Expr>, WarpSet),
    /// `set hi = warps 4..8`.
    Set(Ident, WarpSet),
    /// `set leader = cta 0`.
    SetCta(Ident, Expr),
    /// `trips n = any per t run 8`.
    Trips {
        /// The tape.
        name: Ident,
        /// Name of its index, readable in `run`.
        per: Option<Ident>,
        /// The value when the kernel is run.
        run: Expr,
    },
}

/// An object that holds data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    /// Where it lives; a mailbox is written `shared` without a shape.
    pub class: ir::Class,
    /// Its name.
    pub name: Ident,
    /// Number of slots.
    pub slots: Option<Expr>,
    /// Element type and shape; registers may leave both out.
    pub ty: Option<Type>,
    /// `swizzle 128`.
    pub swizzle: Option<Expr>,
    /// `pieces 2 rows`.
    pub pieces: Option<(Expr, Axis)>,
    /// `overlay on x`.
    pub overlay: Option<Ident>,
    /// `group 32`.
    pub group: Option<Expr>,
}

/// Element type and shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Type {
    /// Element type.
    pub dtype: TypeName,
    /// Extents, as many as written.
    pub shape: Vec<Expr>,
    /// Its bytes.
    pub span: Span,
}

/// An element type, or one of two by a condition known at load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypeName {
    /// `bf16`.
    Plain(ir::Dtype),
    /// `(bits == 8 ? fp8 : bf16)`.
    Cond(Box<Expr>, ir::Dtype, ir::Dtype),
}

/// Rows or columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// The first dimension.
    Rows,
    /// The second.
    Cols,
}

/// A set of warps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WarpSet {
    /// First warp or warpgroup.
    pub from: Expr,
    /// One past the last; absent for `warp e`, `warpgroup e`.
    pub to: Option<Expr>,
    /// Counted in warpgroups of four.
    pub groups: bool,
    /// Its bytes.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Its bytes; of a block, its head's.
    pub span: Span,
}

/// The forms of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StmtKind {
    /// `all:`, a role, `warp e:`, `elect:`.
    Block(Head, Vec<Stmt>),
    /// `for r in 0..8, c in 0..2:`.
    For(Vec<Range1>, Vec<Stmt>),
    /// `while e:`.
    While(Expr, Vec<Stmt>),
    /// `if`, every `else if`, and `else`.
    If(Vec<Arm>, Option<Vec<Stmt>>),
    /// `let s = i % 2, far = i + 2 < tiles`.
    Let(Vec<(Ident, Expr)>),
    /// `var p = 0`.
    Var(Ident, Expr),
    /// `p += 1`; `None` is plain assignment.
    Assign(Ident, Option<ir::Binary>, Expr),
    /// An operation with the cost the kernel states.
    Op(Box<Operation>, ir::Cost),
    /// `pipelined i in 0..tiles stages 3:`.
    Pipelined(Box<Pipelined>),
    /// `stage 0 order 1 async:`, inside a `pipelined` loop.
    Staged(Box<Staged>),
}

/// A plain loop that the pipelining pass expands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pipelined {
    /// The index and its range.
    pub range: Range1,
    /// `stages 3`.
    pub stages: Option<Expr>,
    /// `schedule triton`.
    pub schedule: Option<Ident>,
    /// `via cp`.
    pub via: Option<Ident>,
    /// `producers 2`.
    pub producers: Option<Expr>,
    /// `unrolled` or `guarded`.
    pub form: Option<Ident>,
    /// What a step does, without any synchronisation.
    pub body: Vec<Stmt>,
    /// Bytes of the whole statement, its body included.
    pub extent: Span,
}

/// A statement of a `pipelined` loop with its place in the schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Staged {
    /// How many steps behind the loop's newest it runs.
    pub stage: Expr,
    /// Its place in the body; where it is written, if absent.
    pub order: Option<Expr>,
    /// Started here, awaited by its readers.
    pub asynchronous: bool,
    /// What is scheduled together.
    pub body: Vec<Stmt>,
}

/// One `if` or `else if`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arm {
    /// The condition.
    pub cond: Expr,
    /// What it guards.
    pub body: Vec<Stmt>,
    /// Bytes of its head.
    pub span: Span,
}

/// One index of a `for`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range1 {
    /// The index.
    pub var: Ident,
    /// First value.
    pub from: Expr,
    /// One past the last.
    pub to: Expr,
    /// Increment; 1 where absent.
    pub step: Option<Expr>,
}

/// Who executes a block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Head {
    /// Every warp.
    All,
    /// A role or set.
    Name(Ident),
    /// `warp e`, `warps a..b`.
    Warps(WarpSet),
    /// One lane of each warp.
    Elect,
    /// A head that could not be read.
    Broken,
}

/// An operand in memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The object.
    pub name: Ident,
    /// Slot or block coordinates.
    pub at: Vec<Expr>,
    /// `.at(row, col)`: coordinates count elements.
    pub elements: bool,
    /// A second bracket: the piece, as an expression.
    pub piece: Option<Expr>,
    /// Parts, outermost first.
    pub sels: Vec<Selector>,
    /// `@cta e`.
    pub cta: Option<Expr>,
    /// `: A[cta.m, i]`.
    pub tile: Option<Tile>,
    /// Its bytes, the tile excluded.
    pub span: Span,
}

/// The tile a read expects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    /// The object it comes from.
    pub name: Ident,
    /// `acc(self)`: whose registers.
    pub member: Option<Expr>,
    /// Block coordinates.
    pub at: Vec<Expr>,
    /// Parts.
    pub sels: Vec<Selector>,
    /// Its bytes.
    pub span: Span,
}

/// A part of a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Selector {
    /// Which.
    pub kind: SelKind,
    /// Its bytes.
    pub span: Span,
}

/// The forms of a selector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SelKind {
    /// `.rows(i, n)`, `.cols(i, n)`.
    Part(Axis, Expr, Option<Expr>),
    /// `.half(e)`.
    Half(Expr),
    /// `.block(r, c)`.
    Block(Expr, Expr),
    /// `.0`, `.01`.
    Digits(String),
}

/// An mbarrier operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// The array.
    pub name: Ident,
    /// Which of it.
    pub index: Option<Expr>,
    /// In which CTA.
    pub at: BarAt,
    /// Its bytes.
    pub span: Span,
}

/// Which CTA's mbarrier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BarAt {
    /// The own one's.
    Own,
    /// `@cta e`.
    Cta(Expr),
    /// `@ctas mask`.
    Ctas(Expr),
}

/// An operation; the operands of [`ir::Op`] before names are known.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
#[allow(clippy::large_enum_variant, reason = "always boxed")]
pub(crate) enum Operation {
    Move(Box<Move>),
    Mma { kind: ir::MmaKind, a: Place, b: Place, acc: Place },
    Alu { unit: Ident, count: Expr, times: Option<Expr>, uses: Vec<Place>, dst: Option<Place> },
    Zero(Place, Option<Type>),
    Commit(ir::Queue),
    CommitUmma(Vec<Bar>),
    Wait(ir::Queue, Expr),
    MbarWait { bar: Bar, parity: bool, phase: Expr },
    CpArrive { bar: Bar, noinc: bool },
    Init(Vec<Ident>),
    Inval(Vec<Ident>),
    Arrive(Box<Arrive>),
    Expect(Bar, Expr),
    Barrier(ir::Order),
    Named { sync: bool, name: Ident, index: Option<Expr>, threads: Expr },
    WarpSync,
    ClusterSync,
    ClusterArrive { relaxed: bool },
    ClusterWait,
    Fence(ir::Fence),
    TmemAlloc { name: Ident, pair: bool },
    TmemDealloc { name: Ident, pair: bool },
    Regs { inc: bool, count: Expr },
    Put { value: Expr, dst: Place, version: Option<Expr> },
    Get { src: Place, version: Option<Expr>, var: Ident },
    Clc { dst: Place, signals: Bar },
    Counter(Box<Counter>),
    GridWait,
    Exit,
}

/// What is done to a counter in global memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CounterVerb {
    /// `red.add x, v`.
    Add(Expr),
    /// `atom.add x, v -> old`.
    Fetch(Expr, Ident),
    /// `st x, v`.
    Set(Expr),
    /// `ld x -> v`.
    Load(Ident),
    /// `wait x >= v`.
    Wait(ir::Binary, Expr),
}

/// An operation on a counter in global memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counter {
    /// What is done.
    pub verb: CounterVerb,
    /// The array.
    pub name: Ident,
    /// Which of it.
    pub index: Option<Expr>,
    /// What it orders; relaxed where absent.
    pub order: ir::MemOrder,
    /// Among whom; the device where absent.
    pub scope: ir::Scope,
}

/// A move of data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Move {
    /// By which instruction.
    pub how: ir::MoveKind,
    /// From.
    pub src: Place,
    /// To.
    pub dst: Place,
    /// Loads in flight.
    pub batch: Option<Expr>,
    /// `via dequant`.
    pub dequant: bool,
    /// `masked`.
    pub masked: bool,
    /// `signals bar`.
    pub signals: Option<Bar>,
    /// `multicast mask`.
    pub multicast: Option<Expr>,
}

/// An arrival.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrive {
    /// Where.
    pub bar: Bar,
    /// By whom; every executing thread where absent.
    pub per: Option<ir::ArrivalsPer>,
    /// How many; 1 where absent.
    pub count: Option<Expr>,
    /// Bytes expected.
    pub expect: Option<Expr>,
    /// Orders nothing.
    pub relaxed: bool,
    /// Cluster scope.
    pub cluster: bool,
}
