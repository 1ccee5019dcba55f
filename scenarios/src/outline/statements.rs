//! The statements of a tree, and the words under which documents explain them.

use warpline_sim::ir::{Class, Fence};

use super::Statement;
use super::declared::inner;
use crate::ast::{AwaitedPhase, Counter, CounterVerb, DeclKind, Head, Kernel, Operation, Stmt, StmtKind};

/// The statements and declarations of a kernel.
pub(super) fn statements(kernel: &Kernel) -> Vec<Statement> {
    let declared = kernel.decls.iter().map(|d| Statement { span: d.span.clone(), topic: declaration(&d.kind).into() });
    let mut all: Vec<Statement> = declared.collect();
    walk(&kernel.body, &mut all);
    all
}

fn walk(body: &[Stmt], all: &mut Vec<Statement>) {
    for s in body {
        all.push(Statement { span: s.span.clone(), topic: statement(&s.kind) });
        if let StmtKind::If(arms, _) = &s.kind {
            let more = arms.iter().skip(1);
            all.extend(more.map(|a| Statement { span: a.span.clone(), topic: "if".to_string() }));
        }
        inner(s).into_iter().for_each(|b| walk(b, all));
    }
}

fn declaration(kind: &DeclKind) -> &'static str {
    match kind {
        DeclKind::Needs(_) => "needs",
        DeclKind::Let(_) => "let",
        DeclKind::Require(..) => "require",
        DeclKind::Grid(..) => "grid",
        DeclKind::Cluster(_) => "cluster",
        DeclKind::Cooperative => "cooperative",
        DeclKind::Counter(..) => "global x: counter",
        DeclKind::Warps(_) => "warps",
        DeclKind::Regs(_) => "regs",
        DeclKind::Waits(_) => "waits",
        DeclKind::Memory(m) => match m.class {
            Class::Global => "global",
            Class::Shared | Class::Mailbox => "shared",
            Class::Tmem => "tmem",
            Class::Reg => "reg",
        },
        DeclKind::Mbar(..) => "mbar",
        DeclKind::Named(..) => "named",
        DeclKind::Role(..) => "role",
        DeclKind::Set(..) | DeclKind::SetCta(..) => "set",
        DeclKind::Trips { .. } => "trips",
    }
}

fn statement(kind: &StmtKind) -> String {
    match kind {
        StmtKind::Block(Head::All, _) => "all".into(),
        StmtKind::Block(Head::Elect, _) => "elect".into(),
        StmtKind::Block(Head::Name(_), _) => "role".into(),
        StmtKind::Block(Head::Warps(_), _) => "warp".into(),
        StmtKind::Block(Head::Broken, _) => String::new(),
        StmtKind::For(..) => "for".into(),
        StmtKind::While(..) => "while".into(),
        StmtKind::If(..) => "if".into(),
        StmtKind::Let(_) => "let".into(),
        StmtKind::Var(..) | StmtKind::Assign(..) => "var".into(),
        StmtKind::Op(op, _) => operation(op),
        StmtKind::Pipelined(_) => "pipelined".into(),
        StmtKind::Staged(_) => "stage".into(),
    }
}

fn operation(op: &Operation) -> String {
    let word = match op {
        Operation::Move(m) => crate::lower::ends(m.how).0,
        Operation::Mma { kind, .. } => kind.name(),
        Operation::Alu { .. } => "alu",
        Operation::Zero(..) => "zero",
        Operation::Commit(q) => return format!("commit {}", q.name()),
        Operation::CommitUmma(_) => "commit umma",
        Operation::Wait(q, _) => return format!("wait {}", q.name()),
        Operation::MbarWait { phase: AwaitedPhase::Parity(_), .. } => "wait b parity",
        Operation::MbarWait { .. } => "wait b for",
        Operation::CpArrive { .. } => "cp.arrive",
        Operation::Init(_) => "init",
        Operation::Inval(_) => "inval",
        Operation::Arrive(_) => "arrive",
        Operation::Expect(..) => "expect",
        Operation::Barrier(_) => "barrier",
        Operation::Named { sync: true, .. } => "bar sync",
        Operation::Named { sync: false, .. } => "bar arrive",
        Operation::WarpSync => "warp.sync",
        Operation::ClusterSync => "cluster.sync",
        Operation::ClusterArrive { .. } => "cluster.arrive",
        Operation::ClusterWait => "cluster.wait",
        Operation::Fence(Fence::TmemBefore | Fence::TmemAfter) => "tmem.fence",
        Operation::Fence(f) => f.name(),
        Operation::TmemAlloc { .. } => "tmem.alloc",
        Operation::TmemDealloc { .. } => "tmem.dealloc",
        Operation::Regs { inc: true, .. } => "regs inc",
        Operation::Regs { inc: false, .. } => "regs dec",
        Operation::Put { .. } => "put",
        Operation::Get { .. } => "get",
        Operation::Clc { .. } => "clc",
        Operation::Counter(c) => return counter(c).to_string(),
        Operation::GridWait => "grid.wait",
        Operation::Exit => "exit",
    };
    word.to_string()
}

fn counter(c: &Counter) -> &'static str {
    match c.verb {
        CounterVerb::Add(_) => "red.add",
        CounterVerb::Fetch(..) => "atom.add",
        CounterVerb::Set(_) => "st",
        CounterVerb::Load(_) => "ld",
        CounterVerb::Wait(..) => "wait x",
    }
}
