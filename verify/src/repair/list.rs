//! The changes that repair tries, smallest and nearest to the fault first.

use warpline_sim::code::Code;
use warpline_sim::ir::{
    ArrivalsPer, Expr, Fence, Instr, Loop, MbarId, ObjId, Op, Order, Phase, Place, Program, Queue, Site,
};

use crate::Violation;
use crate::mutation::{Change, Edit, edits, synchronizes};

/// Largest number of fences that are tried for a compiled kernel that lacks one after `init`.
const NEAREST: usize = 32;

/// Whether a change only replaces a number or a word in a statement.
pub(super) fn is_operand(c: &Change) -> bool {
    size(c) == 0
}

/// The size of a change.
fn size(c: &Change) -> u32 {
    match c {
        Change::Phase(_)
        | Change::Count(_)
        | Change::Declared(..)
        | Change::Bytes(_)
        | Change::Outstanding(_)
        | Change::Per(_)
        | Change::Releases
        | Change::Orders(_) => 0,
        Change::Before(Op::Fence(_) | Op::Wait(..) | Op::Zero(_)) | Change::Behind(Op::Fence(_) | Op::Wait(..)) => 1,
        Change::Swap => 2,
        Change::Before(_) | Change::Behind(_) => 3,
        Change::Double | Change::Always => 4,
        // A barrier of another stage often holds by chance, where an arrival is missing.
        Change::Stage { .. } => 5,
        Change::Slot { .. } | Change::Drop => 6,
    }
}

/// All changes that are tried.
pub(super) fn candidates(given: &Program, prog: &Program, x: &Violation) -> Vec<Vec<Edit>> {
    // Another slot is another algorithm, and reads without an expected tile would accept it.
    let mut list: Vec<Edit> = edits(prog).into_iter().filter(|e| !matches!(e.change, Change::Slot { .. })).collect();
    list.retain(|e| !never_waits(prog, e));
    list.retain(|e| e.change != Change::Drop || !sets_up(prog, &e.site));
    // Dropping a wait repairs only an agent that waits for nothing; for other faults it would hide them.
    list.retain(|e| e.change != Change::Drop || x.findings.is_empty() || !waits_alone(prog, &e.site));
    let (sums, mut seen): (_, Vec<&Site>) = (sums(prog, x), Vec::new());
    for (pc, i) in prog.code.iter().enumerate() {
        let Instr::Op { op, .. } = i else { continue };
        let site = prog.site(pc as u32);
        words(prog, op, site, &mut list);
        if !seen.contains(&site) {
            seen.push(site);
            insertions((given, prog), (pc as u32, x), &sums, &mut list);
        }
    }
    let near = places(prog, x);
    let far = |s: &Site| near.iter().map(|l| l.abs_diff(s.line)).min().unwrap_or(0);
    // A stable sort: of equal changes, the first in the text comes first. An arrival without a count means one arrival.
    let implied = |e: &Edit| {
        matches!(e.change, Change::Count(_)) && e.site.text.starts_with("arrive ") && !e.site.text.contains(" count ")
    };
    list.sort_by_key(|e| (size(&e.change) + u32::from(implied(e)), far(&e.site)));
    // A compiled kernel has many statements, and only a fence near one of both repairs a missing fence after `init`.
    if prog.opaque_globals && lacks_init_fence(x) {
        list.retain(|e| matches!(e.change, Change::Before(Op::Fence(_)) | Change::Behind(Op::Fence(_))));
        list.truncate(NEAREST);
    }
    let both = together(prog, &list);
    list.into_iter().map(|e| vec![e]).chain(both).collect()
}

/// An arrival by every thread, together with a barrier that counts them all.
fn together(prog: &Program, list: &[Edit]) -> Vec<Vec<Edit>> {
    let mut pairs = Vec::new();
    for all in list.iter().filter(|e| e.change == Change::Always) {
        let on = prog.code.iter().enumerate().find_map(|(pc, i)| match i {
            Instr::Op { op: Op::Arrive { bar, .. }, .. } if *prog.site(pc as u32) == all.site => Some(bar.bar),
            _ => None,
        });
        let counts = list.iter().filter(|e| matches!(e.change, Change::Declared(bar, _) if Some(bar) == on));
        pairs.extend(counts.map(|count| vec![all.clone(), count.clone()]));
    }
    pairs
}

/// Whether every fault is a missing fence after the `init` of an mbarrier.
fn lacks_init_fence(x: &Violation) -> bool {
    x.hang.is_empty() && x.findings.iter().all(|f| f.note || f.code == Code::InitFence)
}

/// Lines of the fault: its statements, and the statements of waiting agents.
fn places(prog: &Program, x: &Violation) -> Vec<u32> {
    let sites = x.findings.iter().flat_map(|f| [Some(f.site), f.other.as_ref().map(|o| o.0)]).flatten();
    let sites = sites.chain(x.hang.iter().map(|w| w.site));
    sites.filter_map(|s| prog.sites.get(s as usize)).map(|s| s.line).collect()
}

/// Whether a change makes a wait for a phase before the first one, which never waits; dropping the wait says the same.
fn never_waits(prog: &Program, e: &Edit) -> bool {
    let Change::Phase(by) = e.change else { return false };
    prog.code.iter().enumerate().any(|(pc, i)| match i {
        Instr::Op { op: Op::MbarWait { phase: Phase::Absolute(at), .. }, .. } => {
            *prog.site(pc as u32) == e.site && at.constant().is_some_and(|n| n + by < 0)
        }
        _ => false,
    })
}

/// Whether no other agent waits for the barrier, so that the barrier would be useless without this wait.
fn waits_alone(prog: &Program, site: &Site) -> bool {
    let waits = |pc: usize| match &prog.code[pc] {
        Instr::Op { op: Op::MbarWait { bar, .. }, .. } => Some((bar.bar, prog.site(pc as u32) == site)),
        _ => None,
    };
    let all: Vec<_> = (0..prog.code.len()).filter_map(waits).collect();
    all.iter().any(|(bar, here)| *here && all.iter().all(|(other, at)| other != bar || *at))
}

fn sets_up(prog: &Program, site: &Site) -> bool {
    prog.code
        .iter()
        .enumerate()
        .any(|(pc, i)| matches!(i, Instr::Op { op: Op::Init(_), .. }) && prog.site(pc as u32) == site)
}

/// Replacements for numbers and words of one statement, beyond those off by one.
fn words(prog: &Program, op: &Op, site: &Site, list: &mut Vec<Edit>) {
    if synchronizes(op) {
        list.push(Edit::new(site, Change::Always, format!("`{}` without its condition", site.text)));
    }
    match op {
        Op::Expect { bar, .. } => {
            let (bar, count) = (bar.clone(), Expr::Const(1));
            let name = &prog.mbars[bar.bar as usize].name;
            let words = format!("after line {} (`{}`): `arrive {name}`", site.line, site.text);
            let op = Op::Arrive {
                bar,
                per: ArrivalsPer::Thread,
                count,
                expect: None,
                relaxed: false,
                cluster: false,
                drop: false,
                state: None,
            };
            list.push(Edit { site: site.clone(), change: Change::Behind(op), words });
        }
        Op::Wait(_, e) => {
            if let Some(n) = e.constant().filter(|n| *n > 1) {
                list.push(Edit::new(site, Change::Outstanding(-n), format!("outstanding 0 instead of {n}")));
            }
        }
        Op::Arrive { bar, expect: Some(bytes), .. } if delivered(prog, bar.bar) != bytes.constant() => {
            if let (Some(new), Some(now)) = (delivered(prog, bar.bar), bytes.constant()) {
                list.push(Edit::new(site, Change::Bytes(new - now), format!("bytes {new} instead of {now}")));
            }
        }
        Op::Arrive { per, relaxed, cluster, .. } => {
            for (new, words) in
                [(ArrivalsPer::Thread, "per thread"), (ArrivalsPer::Warp, "per warp"), (ArrivalsPer::Once, "once")]
            {
                if new != *per {
                    list.push(Edit::new(site, Change::Per(new), format!("`{}`", executed(&site.text, words))));
                }
            }
            if *relaxed || !*cluster && prog.cluster > 1 {
                list.push(Edit::new(site, Change::Releases, format!("`{} cluster`", bare(&site.text, &ORDERS))));
            }
        }
        Op::ClusterArrive { relaxed: true } => {
            list.push(Edit::new(site, Change::Releases, "without `relaxed`"));
        }
        Op::Barrier(order) if *order != Order::Shared => {
            list.push(Edit::new(site, Change::Orders(Order::Shared), "`barrier`, which orders shared memory"));
        }
        Op::Init(stages) => {
            for bar in stages.iter().map(|s| s.bar) {
                let (decl, now) = (&prog.mbars[bar as usize], prog.mbars[bar as usize].count as i64);
                for n in counts(prog) {
                    let words = format!("arrivals of `{}` {n} instead of {now}", decl.name);
                    let change = Change::Declared(bar, n - now);
                    if n != now && !list.iter().any(|e| e.change == change) {
                        list.push(Edit::new(site, change, words));
                    }
                }
            }
        }
        _ => {}
    }
}

/// Bytes of one copy by each statement that signals a barrier; `None` without such a statement.
fn delivered(prog: &Program, bar: MbarId) -> Option<i64> {
    let mut sites: Vec<(&Site, i64)> = Vec::new();
    for (pc, i) in prog.code.iter().enumerate() {
        if let Instr::Op { op: Op::Move { dst, signals: Some(b), .. }, .. } = i
            && b.bar == bar
            && !sites.iter().any(|(s, _)| *s == prog.site(pc as u32))
        {
            sites.push((prog.site(pc as u32), prog.objects[dst.obj as usize].slot_bytes()));
        }
    }
    (!sites.is_empty()).then(|| sites.iter().map(|(_, bytes)| bytes).sum())
}

/// The words for the arriving threads, and for the memory order of an arrival.
const EXECUTORS: [&str; 3] = [" per warp", " per thread", " once"];
const ORDERS: [&str; 2] = [" relaxed", " cluster"];

/// A statement without some of its words.
fn bare(text: &str, words: &[&str]) -> String {
    words.iter().fold(text.to_string(), |t, w| t.replace(w, ""))
}

/// An arrival with other words for the arriving threads, which stand before those for its order.
fn executed(text: &str, words: &str) -> String {
    let base = bare(text, &EXECUTORS);
    let at = ORDERS.iter().filter_map(|w| base.find(w)).min().unwrap_or(base.len());
    format!("{} {words}{}", &base[..at], &base[at..])
}

/// Plausible numbers of arrivals: warps and threads of each role, in one CTA and in all.
fn counts(prog: &Program) -> Vec<i64> {
    let warps = prog.roles.iter().map(|r| r.warps.count_ones() as i64);
    let members = prog.roles.iter().map(|r| r.members as i64);
    let of_member = prog.roles.iter().map(|r| r.warps.count_ones() as i64 / (r.members as i64).max(1));
    let mut list: Vec<i64> =
        [1, 2, prog.warps as i64].into_iter().chain(warps).chain(members).chain(of_member).collect();
    let own = list.clone();
    list.extend(own.iter().map(|n| n * 32));
    list.extend(own.iter().map(|n| n * prog.cluster as i64));
    list.sort_unstable();
    list.dedup();
    list.retain(|n| *n > 0);
    list
}

/// Insertions of synchronization before and after a statement.
fn insertions(
    (given, prog): (&Program, &Program),
    (at, x): (u32, &Violation),
    sums: &[(Place, &str)],
    list: &mut Vec<Edit>,
) {
    let site = prog.site(at);
    let mut put = |op: Op, text: &str| {
        let edit = |change, side| Edit {
            site: site.clone(),
            change,
            words: format!("{side} line {} (`{}`): `{text}`", site.line, site.text),
        };
        list.push(edit(Change::Before(op.clone()), "before"));
        list.push(edit(Change::Behind(op), "after"));
    };
    for (sum, name) in sums {
        put(Op::Zero(sum.clone()), &format!("zero {name}"));
    }
    // The narrower fence first: it orders only `init`.
    for fence in [Fence::MbarrierInit, Fence::Async] {
        put(Op::Fence(fence), fence.name());
    }
    // This fence orders only registers of `wgmma`.
    if x.findings.iter().any(|f| f.code == Code::WgmmaFence) {
        put(Op::Fence(Fence::Wgmma), Fence::Wgmma.name());
    }
    for queue in QUEUES {
        let asked = |i: &Instr| matches!(i, Instr::Op { op, .. } if starts(op, queue));
        if prog.code.iter().any(asked) {
            put(Op::Wait(queue, Expr::Const(0)), &format!("wait {} <= 0", queue.name()));
        }
    }
    put(Op::Barrier(Order::Shared), "barrier");
    put(Op::WarpSync, "warp.sync");
    let mut others: Vec<(&Op, &str)> = Vec::new();
    for (pc, i) in prog.code.iter().enumerate() {
        if let Instr::Op { op, .. } = i
            && synchronizes(op)
            && copied(given, prog, op, (pc as u32, at))
            && matches!(
                op,
                Op::Named { .. }
                    | Op::Arrive { expect: None, .. }
                    | Op::CpArrive { .. }
                    | Op::MbarWait { .. }
                    | Op::Commit(_)
                    | Op::CommitUmma(_)
            )
        {
            let text = prog.site(pc as u32).text.as_str();
            if !others.contains(&(op, text)) {
                others.push((op, text));
            }
        }
    }
    others.iter().for_each(|(op, text)| put((*op).clone(), text));
}

/// The accumulators to which a product adds what does not belong to its sum, with their names; each is a whole object. If
/// other products add to it, too, a `zero` might clear what they added.
fn sums<'p>(prog: &'p Program, x: &Violation) -> Vec<(Place, &'p str)> {
    let products = |site: u32| {
        let product = move |(i, at): (&'p Instr, &u32)| match i {
            Instr::Op { op: Op::Mma { acc, .. }, .. } if *at == site => Some(acc),
            _ => None,
        };
        prog.code.iter().zip(&prog.at).filter_map(product)
    };
    let others = |site: u32, obj: ObjId| {
        let adds = |i: &Instr| matches!(i, Instr::Op { op: Op::Mma { acc, .. }, .. } if acc.obj == obj);
        prog.code.iter().zip(&prog.at).any(|(i, at)| *at != site && adds(i))
    };
    let mut list: Vec<(Place, &str)> = Vec::new();
    for f in x.findings.iter().filter(|f| f.code == Code::SumBlocks) {
        let Some(acc) = products(f.site).next().filter(|acc| !others(f.site, acc.obj)) else { continue };
        let name = prog.objects[acc.obj as usize].name.as_str();
        let whole = prog.sites[f.site as usize].text.ends_with(&format!("-> {name}"));
        if whole && !list.iter().any(|(_, other)| *other == name) {
            list.push((acc.clone(), name));
        }
    }
    list
}

/// Whether the text of an operation has the same meaning at another place. Nothing in it may be computed from the trip
/// count, and its variables must belong to loops around both places.
fn copied(given: &Program, prog: &Program, op: &Op, (from, to): (u32, u32)) -> bool {
    let mut shared = given.code.iter().any(|i| matches!(i, Instr::Op { op: o, .. } if o == op));
    let around = |v: u16| {
        let both = |l: &&Loop| [from, to].iter().all(|pc| (l.head..l.end).contains(pc));
        prog.loops.iter().filter(both).any(|l| l.var == Some(v))
    };
    let instr = Instr::Op { op: op.clone(), cost: Default::default() };
    warpline_sim::ir::each(prog, &instr, &mut |_, e| {
        e.visit(&mut |x| {
            if let Expr::Var(v) = x {
                shared &= around(*v);
            }
        });
    });
    shared
}

/// The queues that a repair may wait for. The wait for reads of bulk stores, which asks for less, is tried first.
const QUEUES: [Queue; 8] =
    [Queue::Cp, Queue::Wgmma, Queue::BulkRead, Queue::Bulk, Queue::Vm, Queue::Lgkm, Queue::TmemLd, Queue::TmemSt];

/// Whether an operation starts something that a wait on this queue covers.
fn starts(op: &Op, queue: Queue) -> bool {
    use warpline_sim::ir::{MmaKind, MoveKind};
    match op {
        Op::Move { how, .. } => match queue {
            Queue::Cp => *how == MoveKind::CpAsync,
            Queue::Bulk | Queue::BulkRead => *how == MoveKind::TmaStore,
            Queue::Vm => matches!(how, MoveKind::LdsDma | MoveKind::Ldg),
            Queue::Lgkm => matches!(how, MoveKind::Lds | MoveKind::Sts),
            Queue::TmemLd => *how == MoveKind::TmemLd,
            Queue::TmemSt => *how == MoveKind::TmemSt,
            Queue::Wgmma => false,
        },
        Op::Mma { kind: MmaKind::Wgmma, .. } => queue == Queue::Wgmma,
        _ => false,
    }
}
