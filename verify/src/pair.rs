//! Two runs of one kernel that differ by some steps of its loops, laid beside each other.
//!
//! ```text
//!   short  ────────a─────────────────a'──────────── end      both step together, but for
//!                  │ ╲               │ ╲                     the periods that only the long
//!   long   ────────a──b──────────────a'─b'───────── end      run has: a─b, a'─b', ...
//! ```
//!
//! They step together until the end comes into sight of the short one: a number decides otherwise. Before that, at a, the
//! long run alone makes one period more, after which its state, at b, is that of the short one but for how far its
//! numbers have moved; from there on they step together again. Each pass through a loop that grows has its period.
//!
//! What this shows. Every number decides alike in both (`alike`), a period before a and a period behind it included, and a
//! period before a, a and b are one state. So the run with one more period in each place does the same once more, and so
//! on: every run that is longer by a multiple of the difference ends as these two did, with the same findings.

use warpline_sim::ir::{Binary, Expr, Instr, Loop, Op, Program};
use warpline_sim::protocol::{AgentId, Snapshot};
use warpline_sim::report::FindingKind;

use crate::alike;
use crate::canon::{Job, Made, Walk};
use crate::further::grown;

/// Where the steps of a loop that grows are counted.
#[derive(Clone, Debug)]
struct Watch {
    /// The loop's index.
    var: u16,
    /// Its instructions: another role may keep another index in the same place.
    head: u32,
    end: u32,
    /// The agent whose steps count; if none is named, the first to make one.
    agent: Option<AgentId>,
    /// Its index.
    last: i64,
    /// Steps that the long run has more in each pass.
    period: usize,
}

/// Where a run begins to repeat, and how often, both as trip counts; read off a loop that grows from `shorter` to it.
pub(crate) fn repeats(shorter: Job<'_>, job: Job<'_>) -> Option<(i64, i64)> {
    let window = window(job.prog);
    let loops = grown(shorter.prog, job.prog);
    let steps: Vec<i64> = loops.iter().map(|(l, _)| step_of(job.prog, l)).collect();
    // The index of the loop that counts most finely.
    let (step, (l, _)) = steps.iter().zip(&loops).filter(|(_, (l, _))| l.var.is_some()).min_by_key(|(s, _)| **s)?;
    let mut watch = Watch::of(l, None, 0)?;
    let mut walk = Walk::new(job);
    let mut marks: Vec<(u64, Snapshot)> = Vec::new();
    let mut passes = vec![0];
    loop {
        let made = walk.next();
        if let Made::Over(_) = made {
            break;
        }
        let before = watch.last;
        if watch.steps(&walk, &made) {
            // A loop around it begins it anew.
            if watch.last < before {
                passes.push(marks.len());
            }
            marks.push((walk.outline(), walk.state()));
        }
    }
    // The longest pass; in it well before the end, and as near the middle as that allows.
    passes.push(marks.len());
    let pass = passes.windows(2).max_by_key(|w| w[1] - w[0])?;
    let marks = &marks[pass[0]..pass[1]];
    let like = |i: usize, p: usize| {
        let (a, b) = (marks.get(i)?, marks.get(i + p)?);
        Some(a.0 == b.0 && alike::states(&a.1, &b.1, window))
    };
    let middle = marks.len() / 2;
    let period =
        (1..=middle / 2).find(|p| like(middle - p, *p) == Some(true) && like(middle - 2 * p, *p) == Some(true))?;
    let mut first = middle - period;
    while first > 0 && like(first - 1, period) == Some(true) {
        first -= 1;
    }
    // As often as every loop makes whole steps.
    let period = steps.iter().fold(period as i64 * step, |all, s| all / gcd(all, *s) * s);
    Some((first as i64 * step, period))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A part of the two runs in which they step together.
struct Stretch<'p> {
    short: Walk<'p>,
    long: Walk<'p>,
    watches: Vec<Watch>,
    /// When each watched loop made a step, in steps of the walk since the start, and the short run's outline then.
    marks: Vec<Vec<(u64, u64)>>,
    /// When they parted and why; none if they ended together.
    parted: Option<(u64, String)>,
}

/// Passes through loops, at most.
const PASSES: usize = 4096;

/// Holds two runs beside each other, or says where they are not one kernel.
pub(crate) fn alike(short: Job<'_>, long: Job<'_>) -> Result<(), String> {
    let window = window(short.prog);
    let (short, long) = (Walk::new(short), Walk::new(long));
    let watches = watches(&short, &long);
    let mut now = together((short, long), watches);
    let mut back = 0;
    for _ in 0..PASSES {
        let Some((_, why)) = &now.parted else { return Ok(()) };
        let why = why.clone();
        now = inserted(&now, window, &mut back).ok_or(why)?;
    }
    Err("a run has too many passes through its loops".into())
}

/// The loops that the long run goes through more often, by each agent.
fn watches(short: &Walk<'_>, long: &Walk<'_>) -> Vec<Watch> {
    let prog = short.world.program();
    let mut list: Vec<Watch> = Vec::new();
    for (l, by) in grown(prog, long.world.program()) {
        let step = step_of(prog, l);
        if by % step == 0 {
            let agents = 0..short.world.agents().len() as AgentId;
            list.extend(agents.filter_map(|a| Watch::of(l, Some(a), (by / step) as usize)));
        }
    }
    list
}

/// By how much a loop's index grows in a step: the last but one of its instructions adds it.
fn step_of(prog: &Program, l: &Loop) -> i64 {
    match prog.code.get((l.end as usize).wrapping_sub(2)) {
        Some(Instr::Set(_, Expr::Binary(Binary::Add, p))) => p.1.constant().unwrap_or(1).max(1),
        _ => 1,
    }
}

/// Clocks that a wait can subtract from: as many as the largest number a wait leaves outstanding, and two phases.
fn window(prog: &Program) -> i64 {
    let outstanding = prog.code.iter().filter_map(|i| match i {
        Instr::Op { op: Op::Wait(_, n), .. } => n.constant(),
        _ => None,
    });
    outstanding.max().unwrap_or(0).max(2) + 1
}

/// Steps both until they part or end.
fn together<'p>((mut short, mut long): (Walk<'p>, Walk<'p>), watches: Vec<Watch>) -> Stretch<'p> {
    let start = (short.clone(), long.clone());
    let from = watches.clone();
    let mut watches = watches;
    let mut marks = vec![Vec::new(); watches.len()];
    short.judge(true);
    long.judge(true);
    let mut at = 0;
    let parted = loop {
        let (x, y) = (short.next(), long.next());
        if let Some(why) = differ(&short, (&x, &y), &long) {
            break Some((at, why));
        }
        at += 1;
        if let Made::Over(_) = x {
            break fault(&short).or_else(|| fault(&long)).map(|why| (at, why));
        }
        for (w, marks) in watches.iter_mut().zip(&mut marks) {
            if w.steps(&short, &x) {
                marks.push((at, short.outline()));
            }
        }
    };
    Stretch { short: start.0, long: start.1, watches: from, marks, parted }
}

/// Why the last steps of two runs are not one.
fn differ(short: &Walk<'_>, (x, y): (&Made, &Made), long: &Walk<'_>) -> Option<String> {
    let (a, b) = (short.judged(), long.judged());
    let judged = alike::decided(a.as_deref().map_or(&[], Vec::as_slice), b.as_deref().map_or(&[], Vec::as_slice));
    if judged && x == y {
        return None;
    }
    let place = |pc: u32| {
        let site = short.world.program().site(pc);
        format!("line {}: `{}`: ", site.line, site.text)
    };
    let at = match x {
        Made::Did { pc, .. } | Made::Blocked { pc, .. } | Made::Landed { pc, .. } => place(*pc),
        _ => String::new(),
    };
    Some(at + "what it does does not carry on evenly from step to step")
}

/// A fault of a run; those that rest on which tiles are stored are other runs' to find.
fn fault(walk: &Walk<'_>) -> Option<String> {
    let faults = walk.world.findings.iter();
    let worst = faults.filter(|f| !f.note && f.kind != FindingKind::Coverage).map(|f| f.message.clone()).next();
    worst.or_else(|| walk.unordered())
}

impl Watch {
    fn of(l: &Loop, agent: Option<AgentId>, period: usize) -> Option<Watch> {
        l.var.map(|var| Watch { var, head: l.head, end: l.end, agent, last: 0, period })
    }

    /// Whether its loop made a step with this.
    fn steps(&mut self, walk: &Walk<'_>, made: &Made) -> bool {
        let Made::Did { agent, pc, .. } = *made else { return false };
        if self.agent.is_some_and(|a| a != agent) || !(self.head..self.end).contains(&pc) {
            return false;
        }
        let now = walk.world.var(agent, self.var);
        let stepped = std::mem::replace(&mut self.last, now) != now;
        if stepped {
            self.agent = Some(agent);
        }
        stepped
    }
}

/// The runs from where the long one has made a period more; `back` is how many steps before the parting that was last.
fn inserted<'p>(now: &Stretch<'p>, window: i64, back: &mut usize) -> Option<Stretch<'p>> {
    let (parted, _) = now.parted.as_ref()?;
    // The loops whose last steps are nearest.
    let mut order: Vec<usize> = (0..now.watches.len()).filter(|w| !now.marks[*w].is_empty()).collect();
    order.sort_by_key(|w| std::cmp::Reverse(now.marks[*w].last().map(|m| m.0)));
    for w in order.into_iter().take(NEAREST) {
        let (marks, period) = (&now.marks[w], now.watches[w].period);
        // A period before, and one behind.
        let Some(latest) = marks.len().checked_sub(1 + period).filter(|m| *m >= period) else { continue };
        let farthest = latest - period;
        let tries = (*back..=farthest).chain(0..(*back).min(farthest + 1));
        let like = |b: &usize| marks[latest - b].1 == marks[latest - b - period].1;
        let mut unlike = 0;
        for b in tries.filter(like).take(TRIES) {
            let (at, before) = (marks[latest - b].0, marks[latest - b - period].0);
            match insert(now, (w, period), (before, at), window) {
                Some(next) if next.parted.as_ref().is_none_or(|(until, _)| at + until > *parted) => {
                    *back = b;
                    return Some(next);
                }
                // The end was in sight already.
                Some(_) => {}
                None => unlike += 1,
            }
            if unlike == UNLIKE {
                break;
            }
        }
    }
    None
}

/// Loops in which a period is tried.
const NEAREST: usize = 4;
/// Places for a period that are tried in each.
const TRIES: usize = 24;
/// Of them, those whose states are not one: the period is another.
const UNLIKE: usize = 6;

/// Lets the long run make a period more at a mark.
fn insert<'p>(
    now: &Stretch<'p>,
    (w, period): (usize, usize),
    (before, at): (u64, u64),
    window: i64,
) -> Option<Stretch<'p>> {
    let (mut short, mut long) = (now.short.clone(), now.long.clone());
    let mut watches = now.watches.clone();
    let mut early: Option<Snapshot> = None;
    for i in 1..=at {
        let x = short.next();
        long.next();
        watches.iter_mut().for_each(|watch| {
            watch.steps(&short, &x);
        });
        if i == before {
            early = Some(short.state());
        }
    }
    let here = short.state();
    if !alike::states(&early?, &here, window) || !alike::states(&here, &long.state(), window) {
        return None;
    }
    let mut watch = watches[w].clone();
    if let Some(a) = watch.agent {
        watch.last = long.world.var(a, watch.var);
    }
    let was = long.state();
    let mut left = period;
    while left > 0 {
        let y = long.next();
        if let Made::Over(_) = y {
            return None;
        }
        left -= watch.steps(&long, &y) as usize;
    }
    let then = long.state();
    if !alike::states(&was, &then, window) || !alike::states(&here, &then, window) {
        return None;
    }
    Some(together((short, long), watches))
}
