//! The syntax tree of a kernel. Every node has a byte range, so that every message can point at its source.

mod operation;

use std::ops::Range;

use warpline_sim::ir;

pub(crate) use operation::{Arrive, AwaitedPhase, Counter, CounterVerb, Move, Operation};

/// A byte range of the text.
pub(crate) type Span = Range<usize>;

/// A name and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ident {
    /// The name.
    pub text: String,
    /// Byte range.
    pub span: Span,
}

/// An integer expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    /// The form.
    pub kind: ExprKind,
    /// Byte range, with parentheses.
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
    /// The names that the expression reads, in order.
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
    /// Name.
    pub name: Ident,
    /// Parameters.
    pub params: Vec<Param>,
    /// Declarations, in order.
    pub decls: Vec<Decl>,
    /// Statements.
    pub body: Vec<Stmt>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    /// Name.
    pub name: Ident,
    /// Default value.
    pub default: Option<Expr>,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decl {
    /// The form.
    pub kind: DeclKind,
    /// Byte range.
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
        /// The name.
        name: Ident,
        /// The name of the index, readable in `run`.
        per: Option<Ident>,
        /// The value in a run.
        run: Expr,
    },
}

/// An object that holds data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    /// The memory that holds it; a mailbox is written `shared` without a shape.
    pub class: ir::Class,
    /// Name.
    pub name: Ident,
    /// Number of slots.
    pub slots: Option<Expr>,
    /// Element type and shape; optional for registers.
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
    /// Extents that are written: one or two.
    pub shape: Vec<Expr>,
    /// Byte range.
    pub span: Span,
}

/// An element type, or a choice of two by a condition that is known at load.
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
    /// One past the last; `None` for `warp e` and `warpgroup e`.
    pub to: Option<Expr>,
    /// Whether `from` and `to` count warpgroups of four warps.
    pub groups: bool,
    /// Byte range.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stmt {
    /// The form.
    pub kind: StmtKind,
    /// Byte range; for a block, the range of its head.
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
    /// `p += 1`; without an operator, plain assignment.
    Assign(Ident, Option<ir::Binary>, Expr),
    /// An operation, with the cost that the kernel states.
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
    /// The operations of a step, without synchronization.
    pub body: Vec<Stmt>,
    /// Byte range of the whole statement, with its body.
    pub extent: Span,
}

/// A statement of a `pipelined` loop with its place in the schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Staged {
    /// Number of steps behind the newest at which the statement runs.
    pub stage: Expr,
    /// Position in the body; the written position if absent.
    pub order: Option<Expr>,
    /// Whether the statement starts an asynchronous operation that its readers wait for.
    pub asynchronous: bool,
    /// Statements that are scheduled together.
    pub body: Vec<Stmt>,
}

/// One `if` or `else if`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arm {
    /// The condition.
    pub cond: Expr,
    /// The guarded statements.
    pub body: Vec<Stmt>,
    /// Byte range of the head.
    pub span: Span,
}

/// One index of a `for`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range1 {
    /// The index.
    pub var: Ident,
    /// First value.
    pub from: Expr,
    /// One past the last value.
    pub to: Expr,
    /// Increment; 1 where absent.
    pub step: Option<Expr>,
}

/// The executors of a block.
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
    /// A head with a syntax error.
    Broken,
}

/// An operand in memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The object.
    pub name: Ident,
    /// Slot or block coordinates.
    pub at: Vec<Expr>,
    /// `.at(row, col)`: whether coordinates count elements.
    pub elements: bool,
    /// A second bracket: the piece, as an expression.
    pub piece: Option<Expr>,
    /// Parts, outermost first.
    pub sels: Vec<Selector>,
    /// `@cta e`.
    pub cta: Option<Expr>,
    /// `: A[cta.m, i]`.
    pub tile: Option<Tile>,
    /// Byte range, without the tile.
    pub span: Span,
}

/// The tile that a read expects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    /// The object of the tile.
    pub name: Ident,
    /// `acc(self)`: the member whose registers are meant.
    pub member: Option<Expr>,
    /// Block coordinates.
    pub at: Vec<Expr>,
    /// Parts.
    pub sels: Vec<Selector>,
    /// Byte range.
    pub span: Span,
}

/// A part of a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Selector {
    /// The form.
    pub kind: SelKind,
    /// Byte range.
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

/// The operand of `init` and `inval`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stages {
    /// The array.
    pub name: Ident,
    /// Index in the array; all its mbarriers where there is none.
    pub index: Option<Expr>,
}

/// An mbarrier operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// The array.
    pub name: Ident,
    /// Index in the array.
    pub index: Option<Expr>,
    /// The CTA that has the mbarrier.
    pub at: BarAt,
    /// Byte range.
    pub span: Span,
}

/// The CTA whose mbarrier is meant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BarAt {
    /// The own CTA.
    Own,
    /// `@cta e`.
    Cta(Expr),
    /// `@ctas mask`.
    Ctas(Expr),
}
