//! A lifted kernel as text: the recovered statements, with their lines.

mod explain;

pub use explain::explain;

use std::fmt::Write;

use warpline_sim::ir::{
    BarRef, BarrierCta, Binary, Class, CounterAct, Executors, Expr, Instr, MoveKind, Op, Phase, Place, Program, Stages,
    Unary,
};

use crate::lift::Lifted;

/// The kernel in a form like the kernel language. The language has no notation for sets of bytes, so a comment of a
/// move has the bytes of each warp.
pub fn kernel(l: &Lifted) -> String {
    let p = &l.program;
    let mut s = String::new();
    let params: Vec<String> = p.symbols.iter().map(|x| format!("{} = {}", x.name, x.value)).collect();
    let _ = writeln!(s, "kernel {}({})", p.name, params.join(", "));
    let regs = p.regs.map_or(String::new(), |r| format!("   regs {r}"));
    let cluster = if p.cluster > 1 { format!("   cluster {}", p.cluster) } else { String::new() };
    let _ = writeln!(s, "  warps {}{regs}{cluster}", p.warps);
    for (name, meaning) in &l.meaning {
        let _ = writeln!(s, "  // {name} stands for {meaning}");
    }
    for o in p.objects.iter().filter(|o| o.class == Class::Shared) {
        let slots = if o.slots > 1 { format!("[{}]", o.slots) } else { String::new() };
        let _ = writeln!(s, "  shared {}{slots}: i8[{}]   // {} pieces", o.name, o.rows, o.pieces());
    }
    for b in &p.mbars {
        let stages = if b.stages > 1 { format!("[{}]", b.stages) } else { String::new() };
        let _ = writeln!(s, "  mbar {}{stages} ({})", b.name, b.count);
    }
    for b in &p.named {
        let _ = writeln!(s, "  named {}   // number {}", b.name, b.first);
    }
    body(p, &mut s);
    s
}

/// The code, with blocks by indentation.
fn body(p: &Program, s: &mut String) {
    let mut ends: Vec<u32> = Vec::new();
    let mut skipped = None;
    // The kernel ends at the end of the text.
    let last = p.code.iter().rposition(|i| *i != Instr::End).map_or(0, |pc| pc + 1);
    for (pc, i) in p.code[..last].iter().enumerate() {
        let pc = pc as u32;
        if skipped == Some(pc) {
            continue;
        }
        while ends.last().is_some_and(|e| *e <= pc) {
            ends.pop();
        }
        let looped = p.loops.iter().find(|l| l.head == pc);
        let tail = p.loops.iter().any(|l| pc + 2 == l.end || pc + 1 == l.end);
        let site = p.site(pc);
        let words = match i {
            _ if tail && matches!(i, Instr::Jump(_) | Instr::Set(..)) => continue,
            // The `for` statement has the first value of the index.
            Instr::Set(v, _) if is_of_loop(p, pc, *v) => continue,
            Instr::Set(v, e) => format!("{} = {}", p.vars[*v as usize], expr(p, e)),
            Instr::Unless(_, to) if looped.is_some() => {
                let l = looped.and_then(|l| Some((l.var?, l.bound.as_ref()?)));
                ends.push(*to);
                l.map_or("while true:".into(), |(v, b)| format!("for {} in 0..{}:", p.vars[v as usize], expr(p, b)))
            }
            Instr::Unless(e, to) => match p.code.get(pc as usize + 1) {
                // A block that is skipped when the condition holds.
                Some(Instr::Jump(end)) if *to == pc + 2 => {
                    ends.push(*end);
                    skipped = Some(pc + 1);
                    format!("if not {}:", expr(p, e))
                }
                _ => {
                    ends.push(*to);
                    format!("if {}:", expr(p, e))
                }
            },
            Instr::Jump(to) => {
                while ends.last() == Some(&(pc + 1)) {
                    ends.pop();
                }
                line(s, ends.len(), "else:", "");
                ends.push(*to);
                continue;
            }
            Instr::Only(who, to) => {
                let words = match who {
                    Executors::Warps(w) if w.count_ones() == 1 => format!("warp {}:", warps(*w)),
                    Executors::Warps(w) => format!("warps {}:", warps(*w)),
                    Executors::Elected => "elect:".into(),
                    Executors::Cta(e) => format!("cta {}:", expr(p, e)),
                };
                line(s, ends.len(), &words, "");
                ends.push(*to);
                continue;
            }
            Instr::End => "exit".into(),
            Instr::Op { op, .. } => operation(p, op),
        };
        let depth = ends.len() - matches!(i, Instr::Unless(..)) as usize;
        let from = site.text.split_once(" // ").map_or(String::new(), |(_, at)| format!(" {at}"));
        line(s, depth, &words, &format!("{}:{}{from}", site.file, site.line));
    }
}

/// Whether an instruction sets the index or the hidden bound of the loop that begins behind it.
fn is_of_loop(p: &Program, pc: u32, v: u16) -> bool {
    let begins = |l: &warpline_sim::ir::Loop| l.var == Some(v) && (l.head == pc + 1 || l.head == pc + 2);
    p.vars[v as usize].starts_with('.') || p.loops.iter().any(begins)
}

fn line(s: &mut String, depth: usize, words: &str, from: &str) {
    let pad = "  ".repeat(depth + 1);
    let _ = if from.is_empty() { writeln!(s, "{pad}{words}") } else { writeln!(s, "{pad}{words}   // {from}") };
}

/// The first feature that the kernel language lacks, with its line, so that the kernel cannot be written in it.
pub fn beyond_the_language(l: &Lifted) -> Option<(String, u32)> {
    let p = &l.program;
    if !l.others.is_empty() {
        return Some(("a condition over the launch decides which code warps run".into(), 0));
    }
    if let Some(o) = p.objects.iter().find(|o| matches!(o.class, Class::Shared | Class::Tmem)) {
        let uses = |i: &Instr| match i {
            Instr::Op { op: Op::Move { src, dst, .. }, .. } => [src, dst].iter().any(|x| !x.sel.exact.is_empty()),
            Instr::Op { op: Op::Mma { a, b, .. }, .. } => [a, b].iter().any(|x| !x.sel.exact.is_empty()),
            _ => false,
        };
        let line = p.code.iter().position(uses).map_or(0, |pc| p.site(pc as u32).line);
        return Some((
            format!("each warp accesses a set of bytes of `{}`, and the language has rows and columns", o.name),
            line,
        ));
    }
    let set = |i: &Instr| matches!(i, Instr::Only(Executors::Warps(w), _) if runs(*w) > 1);
    let at = p.code.iter().position(set)?;
    Some((
        "a statement is for several ranges of warps, and a block of the language has one".into(),
        p.site(at as u32).line,
    ))
}

/// The number of ranges of a set of warps.
fn runs(mask: u64) -> u32 {
    (mask & !(mask << 1)).count_ones()
}

/// Warps of a set: `0..4, 7`.
pub fn warps(mask: u64) -> String {
    let mut list = Vec::new();
    let mut w = 0;
    while w < 64 {
        if mask >> w & 1 == 1 {
            let from = w;
            while w < 64 && mask >> w & 1 == 1 {
                w += 1;
            }
            list.push(if w - from == 1 { from.to_string() } else { format!("{from}..{w}") });
        }
        w += 1;
    }
    list.join(", ")
}

fn place(p: &Program, x: &Place) -> String {
    let o = &p.objects[x.obj as usize];
    let mut s = o.name.clone();
    if o.class != Class::Global
        && let Some(e) = x.at.first()
    {
        let _ = write!(s, "[{}]", expr(p, e));
    }
    let mut bytes: Vec<u32> = x.sel.exact.iter().map(|e| e.elements).filter(|n| *n > 0).collect();
    bytes.sort_unstable();
    bytes.dedup();
    if let [n] = bytes.as_slice() {
        let _ = write!(s, ".bytes({n})");
    } else if !bytes.is_empty() {
        let _ = write!(s, ".bytes({}..{})", bytes[0], bytes[bytes.len() - 1]);
    }
    s
}

fn bar(p: &Program, b: &BarRef) -> String {
    bar_written(p, b, false)
}

fn bar_written(p: &Program, b: &BarRef, tables: bool) -> String {
    let d = &p.mbars[b.bar as usize];
    let part = |e: &Expr| written(p, e, tables);
    let stage = if d.stages > 1 { format!("[{}]", part(&b.stage)) } else { String::new() };
    let at = match &b.at {
        BarrierCta::Own => String::new(),
        BarrierCta::Cta(e) => format!(" @cta {}", part(e)),
        BarrierCta::Ctas(e) => format!(" @ctas {}", part(e)),
    };
    format!("{}{stage}{at}", d.name)
}

fn operation(p: &Program, op: &Op) -> String {
    match op {
        Op::Move { how, src, dst, signals, multicast, .. } => {
            let word = match how {
                MoveKind::Load => "load",
                MoveKind::Ldg => "ldg",
                MoveKind::Sts => "sts",
                MoveKind::Lds => "lds",
                MoveKind::Store => "store",
                MoveKind::CpAsync => "cp",
                MoveKind::LdsDma => "dma",
                MoveKind::TmaLoad => "tma",
                MoveKind::TmaStore => "tma.store",
                MoveKind::TmemLd => "tmem.ld",
                MoveKind::TmemSt => "tmem.st",
            };
            let signals = signals.as_ref().map_or(String::new(), |b| format!(" signals {}", bar(p, b)));
            let mask = multicast.as_ref().map_or(String::new(), |e| format!(" multicast {}", expr(p, e)));
            format!("{word} {} -> {}{signals}{mask}", place(p, src), place(p, dst))
        }
        Op::Mma { kind, a, b, acc } => format!("{} {}, {} -> {}", kind.name(), place(p, a), place(p, b), place(p, acc)),
        Op::Commit(q) => format!("commit {}", q.name()),
        Op::Wait(q, n) => format!("wait {} <= {}", q.name(), expr(p, n)),
        Op::CommitUmma(list) => {
            let bars: Vec<String> = list.iter().map(|b| bar(p, b)).collect();
            format!("commit umma -> {}", bars.join(", "))
        }
        Op::TmemAlloc { obj, pair } | Op::TmemDealloc { obj, pair } => {
            let word = if matches!(op, Op::TmemAlloc { .. }) { "alloc" } else { "dealloc" };
            let name = &p.objects[*obj as usize].name;
            format!("tmem.{word} {name}{}", if *pair { " pair" } else { "" })
        }
        Op::Init(list) => format!("init {}", stages(p, list)),
        Op::Inval(list) => format!("inval {}", stages(p, list)),
        Op::Arrive { bar: b, count, expect, relaxed, cluster, drop, state, .. } => {
            let expect = expect.as_ref().map_or(String::new(), |e| format!(" expect {}", expr(p, e)));
            let count = if *count == Expr::Const(1) { String::new() } else { format!(" count {}", expr(p, count)) };
            let words = [(*relaxed, " relaxed"), (*cluster, " cluster"), (*drop, " drop")];
            let mut more: String = words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect();
            if let Some(s) = state {
                more += &format!(" state {s}");
            }
            format!("arrive {}{expect}{count}{more}", bar(p, b))
        }
        Op::Expect { bar: b, bytes } => format!("expect {} {}", bar(p, b), expr(p, bytes)),
        Op::CpArrive { bar: b, noinc } => format!("cp.arrive {}{}", bar(p, b), if *noinc { " noinc" } else { "" }),
        Op::MbarWait { bar: b, phase } => match phase {
            Phase::Absolute(e) => format!("wait {} for {}", bar(p, b), expr(p, e)),
            Phase::Parity(e) => format!("wait {} parity {}", bar(p, b), expr(p, e)),
            Phase::State(s) => format!("wait {} state {s}", bar(p, b)),
        },
        Op::Barrier(_) => "barrier".into(),
        Op::Named { bar, threads, sync, .. } => {
            let word = if *sync { "sync" } else { "arrive" };
            format!("bar {word} {} ({})", p.named[*bar as usize].name, expr(p, threads))
        }
        Op::WarpSync => "warp.sync".into(),
        Op::Elect => "elect.sync".into(),
        Op::ClusterArrive { relaxed } => format!("cluster.arrive{}", if *relaxed { " relaxed" } else { "" }),
        Op::ClusterWait => "cluster.wait".into(),
        Op::Fence(f) => f.name().into(),
        Op::Regs { count, inc } => format!("regs {} {count}", if *inc { "inc" } else { "dec" }),
        Op::GridWait => "grid.wait".into(),
        Op::Counter { act: CounterAct::Add, .. } => "red.add".into(),
        other => format!("{other:?}"),
    }
}

fn stages(p: &Program, list: &[Stages]) -> String {
    let one = |s: &Stages| {
        let name = &p.mbars[s.bar as usize].name;
        s.stage.as_ref().map_or(name.clone(), |e| format!("{name}[{}]", expr(p, e)))
    };
    list.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// An expression in the kernel language.
pub fn expr(p: &Program, e: &Expr) -> String {
    written(p, e, false)
}

/// An expression. With `tables`, a choice among constants is `[a, b, c][index]`, which the kernel language does not have.
fn written(p: &Program, e: &Expr, tables: bool) -> String {
    let part = |x: &Expr| written(p, x, tables);
    match e {
        Expr::Const(v) => v.to_string(),
        Expr::Param(x) => p.symbols[*x as usize].name.clone(),
        Expr::Var(v) => p.vars[*v as usize].clone(),
        Expr::Env(_) => "cta".into(),
        Expr::Unary(Unary::Neg, x) => format!("-{}", part(x)),
        Expr::Unary(Unary::Not, x) => format!("not {}", part(x)),
        Expr::Binary(op, x) => {
            let (word, left, right) = (op.word(), part(&x.0), part(&x.1));
            match op {
                Binary::CeilDiv | Binary::Min | Binary::Max => format!("{word}({left}, {right})"),
                _ => format!("({left} {word} {right})"),
            }
        }
        Expr::If(x) => match constants(e).filter(|_| tables) {
            Some((index, list)) => format!("{list:?}[{}]", part(index)),
            None => format!("({} ? {} : {})", part(&x.0), part(&x.1), part(&x.2)),
        },
        Expr::Tape(t, at) => format!("{}({})", p.tapes[*t as usize].name, part(at)),
    }
}

/// The index and the list of a choice among constants by the index 0, 1, 2 and so on.
fn constants(e: &Expr) -> Option<(&Expr, Vec<i64>)> {
    let (mut e, mut index, mut list) = (e, None, Vec::new());
    while let Expr::If(x) = e {
        let (Expr::Binary(Binary::Eq, test), Expr::Const(v)) = (&x.0, &x.1) else { return None };
        if test.1 != Expr::Const(list.len() as i64) || index.is_some_and(|known| known != &test.0) {
            return None;
        }
        index = Some(&test.0);
        list.push(*v);
        e = &x.2;
    }
    let Expr::Const(last) = e else { return None };
    list.push(*last);
    Some((index?, list))
}
