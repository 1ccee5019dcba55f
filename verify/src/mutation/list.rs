//! The mutations that the table of mutants makes.

use warpline_sim::ir::{Class, Expr, Instr, MbarId, Op, Phase, Program, Site};

use super::{Change, Edit, bars, places};

/// Whether an operation takes part in synchronization: waits, arrivals, commits, fences, set-up of barriers.
pub fn synchronizes(op: &Op) -> bool {
    matches!(
        op,
        Op::Barrier(_)
            | Op::WarpSync
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::Named { .. }
            | Op::Wait(..)
            | Op::MbarWait { .. }
            | Op::Fence(_)
            | Op::Arrive { .. }
            | Op::Expect { .. }
            | Op::CpArrive { .. }
            | Op::Commit(_)
            | Op::CommitUmma(_)
            | Op::Init(_)
            | Op::Inval(_)
    )
}

/// Threads of a warp on machines with numbered barriers (PTX ISA, `bar`).
const WARP: i64 = 32;

/// All mutations of a kernel, in source order. Each synchronization is dropped, doubled, swapped with its neighbor, or
/// moved to the next stage. Its phase, count, bytes or outstanding groups are changed. Each access is moved to the next
/// slot.
pub fn edits(prog: &Program) -> Vec<Edit> {
    let mut list: Vec<Edit> = Vec::new();
    for (pc, i) in prog.code.iter().enumerate() {
        let Instr::Op { op, .. } = i else { continue };
        let site = prog.site(pc as u32);
        let mut all = Vec::new();
        if synchronizes(op) {
            all.extend([
                (Change::Drop, format!("`{}` left out", site.text)),
                (Change::Double, format!("`{}` twice", site.text)),
                (Change::Swap, format!("`{}` and the next statement swapped", site.text)),
            ]);
        }
        indices(prog, op, &mut all);
        numbers(prog, op, &mut all);
        for (change, words) in all {
            let edit = Edit::new(site, change, words);
            // `cluster.sync` is two operations of one statement.
            if !list.contains(&edit) {
                list.push(edit);
            }
        }
    }
    list.sort_by(|a, b| order(&a.site).cmp(&order(&b.site)));
    list
}

fn order(s: &Site) -> (&str, u32, u32) {
    (&s.file, s.line, s.col)
}

/// The next stage of each barrier, and the next slot of each buffer.
fn indices(prog: &Program, op: &Op, all: &mut Vec<(Change, String)>) {
    let mut own = op.clone();
    if let Op::Named { bar, .. } = op {
        let decl = &prog.named[*bar as usize];
        if decl.len > 1 {
            all.push((Change::Stage { nth: 0, by: 1 }, format!("the `{}` one further", decl.name)));
        }
    }
    for (nth, b) in bars(&mut own).iter().enumerate() {
        let decl = &prog.mbars[b.bar as usize];
        if decl.stages > 1 {
            all.push((Change::Stage { nth, by: 1 }, format!("the `{}` one further", decl.name)));
        }
    }
    let objects = places(&mut own).into_iter().map(|p| &prog.objects[p.obj as usize]);
    for (nth, o) in objects.filter(|o| o.class != Class::Global && o.slots > 1).enumerate() {
        all.push((Change::Slot { nth, by: 1 }, format!("the `{}` one further", o.name)));
    }
}

/// Other phases, counts, bytes, and numbers of outstanding groups.
fn numbers(prog: &Program, op: &Op, all: &mut Vec<(Change, String)>) {
    let mut each = |what: &str, e: &Expr, by: &[i64], change: fn(i64) -> Change| {
        all.extend(by.iter().map(|&by| (change(by), instead(what, e, by))));
    };
    match op {
        Op::MbarWait { phase: Phase::Absolute(e), .. } => each("phase", e, &[-1, 1], Change::Phase),
        // A raw parity has one other value.
        Op::MbarWait { phase: Phase::Parity(e), .. } => each("parity", e, &[1], Change::Phase),
        Op::Wait(_, e) => each("outstanding", e, &[-1, 1], Change::Outstanding),
        Op::Named { threads, .. } => each("threads", threads, &[-WARP, -1, 1, WARP], Change::Count),
        Op::Arrive { bar, count, expect, .. } => {
            each("arrivals", count, &[-1, 1], Change::Count);
            if let Some(e) = expect {
                each("bytes", e, &by_bytes(prog, bar.bar), Change::Bytes);
            }
        }
        Op::Expect { bar, bytes } => each("bytes", bytes, &by_bytes(prog, bar.bar), Change::Bytes),
        Op::Init(list) => {
            for bar in list.iter().map(|s| s.bar) {
                let decl = &prog.mbars[bar as usize];
                let what =
                    |by: i64| instead(&format!("arrivals of `{}`", decl.name), &Expr::Const(decl.count as i64), by);
                all.extend([-1, 1].map(|by| (Change::Declared(bar, by), what(by))));
            }
        }
        _ => {}
    }
}

/// `phase 3 instead of 2`; for a number known only at run time, the difference.
fn instead(what: &str, e: &Expr, by: i64) -> String {
    match e.constant() {
        Some(n) => format!("{what} {} instead of {n}", n + by),
        None if by > 0 => format!("{what} {by} more"),
        None => format!("{what} {} fewer", -by),
    }
}

/// Byte counts off by one, and off by one copy to the barrier.
fn by_bytes(prog: &Program, bar: MbarId) -> Vec<i64> {
    let copies = prog.code.iter().filter_map(|i| match i {
        Instr::Op { op: Op::Move { dst, signals: Some(b), .. }, .. } if b.bar == bar => {
            Some(prog.objects[dst.obj as usize].slot_bytes())
        }
        _ => None,
    });
    let unit = copies.min();
    unit.iter().flat_map(|&u| [-u]).chain([-1, 1]).chain(unit).collect()
}
