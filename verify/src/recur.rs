//! A proof for every trip count from two long runs: the state recurs up to a shift, and the end is seen from a fixed
//! distance.

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Class, Expr, Instr, Program};
use warpline_sim::protocol::{Entry, Family, Snapshot, World};

use crate::canon::{At, Seen};
use crate::every::Run;
use crate::exprs::each;
use crate::{AtTrips, period, shift};

/// What a proof rests on.
pub(crate) struct Proof {
    /// The largest trip count that must be tried one by one.
    pub(crate) need: i64,
    pub(crate) period: i64,
    /// The largest trip count whose compiled kernel was compared.
    pub(crate) compared: i64,
}

const REFUSES: &str = "the kernel refuses some trip counts";

/// Looks for a recurring state.
pub(crate) fn recurrence(run: &Run<'_>, at: AtTrips<'_>) -> Result<Proof, String> {
    let max = run.options.max_trips;
    let any = at(max.min(12)).ok_or("the kernel refuses long runs")?;
    let period = common_period(&any).ok_or("slots, phases and moduli have no small common period")?;
    let mut n = 4 * period + 12;
    let mut last = String::new();
    while n <= max {
        let (long, short) = (at(n).ok_or(REFUSES)?, at(n - period).ok_or(REFUSES)?);
        let (seen, before) = (run.watched(n).ok_or(REFUSES)?, run.watched(n - period).ok_or(REFUSES)?);
        let pair = Pair { run, short: &short, long: &long, before: &before, seen: &seen, period };
        match pair.recurs()? {
            Ok((start, tail)) => {
                // Runs of other remainders see their end up to a period earlier.
                let need = start + tail + 2 * period;
                if need <= n {
                    let compared = even_further_on(at, need, &pair, start)?;
                    return Ok(Proof { need, period, compared });
                }
                n = n.max(need);
            }
            Err(why) => last = why,
        }
        n += 2 * period;
    }
    let why = if last.is_empty() { String::new() } else { format!(": {last}") };
    Err(format!("no state recurs within {max} steps{why}"))
}

/// Trip counts behind the proved ones whose compiled kernel is compared with that of one period more, one after the other;
/// then some far away, in periods.
const FURTHER: i64 = 128;
const FAR: [i64; 4] = [61, 1009, 65_537, 1 << 20];

/// A number computed from the trip count is a constant of the compiled kernel, and that it keeps moving evenly is read off
/// more compilations.
fn even_further_on(at: AtTrips<'_>, need: i64, pair: &Pair<'_>, start: i64) -> Result<i64, String> {
    let (period, n) = (pair.period, need + 1 - pair.period);
    let mut compared = need;
    let (early, late) = pair.states(start).ok_or("no state recurs")?;
    let (moving, phases, least) = pair.moves(early, late).ok_or("no state recurs")?;
    for m in (n..n + FURTHER).chain(FAR.iter().map(|k| n + k * period)) {
        // A kernel may refuse trip counts; nothing is said of those.
        let (Some(short), Some(long)) = (at(m), at(m + period)) else { continue };
        let threshold = shift::Shift::new(&short, &long, period, moving.clone(), phases.clone())
            .check()
            .map_err(|why| format!("at {m} steps and more it is another kernel: {why}"))?;
        if threshold > least {
            return Err(format!("at {m} steps and more it is another kernel: a comparison settles late"));
        }
        compared = compared.max(m + period);
    }
    Ok(compared)
}

/// Two runs a period apart.
struct Pair<'a> {
    run: &'a Run<'a>,
    short: &'a Program,
    long: &'a Program,
    before: &'a Seen,
    seen: &'a Seen,
    period: i64,
}

/// How variables and phases move, and the least moving variable.
type Moving = (Vec<bool>, BTreeMap<u16, Option<i64>>, i64);

impl Pair<'_> {
    /// Where the long run starts to repeat, and how many steps before its end it stops to; or why neither is found. An
    /// error outside is one that longer runs do not mend.
    fn recurs(&self) -> Result<Result<(i64, i64), String>, String> {
        if self.seen.loops.iter().any(|l| l.count_ones() > 1) {
            return Err("a warp runs through two loops that grow with the trip count, one after the other".into());
        }
        let frame = self.long.vars.len();
        let bounds = bound_variables(self.short, self.long, self.period);
        // The end is first seen where the two runs part.
        let (before, states) = (&self.before.states, &self.seen.states);
        let together = before
            .iter()
            .zip(states)
            .take_while(|(a, b)| a.step == b.step && equal_but(&a.state, &b.state, (frame, self.period), &bounds))
            .count();
        let Some(last) = together.checked_sub(1).map(|i| before[i].step) else {
            return Ok(Err("the first step depends on the trip count".into()));
        };
        let steps = before.last().map_or(0, |s| s.step) + 1;
        let tail = steps - last;
        for at in states.iter().take_while(|s| s.step + self.period <= last) {
            let Some((early, late)) = self.states(at.step) else { continue };
            let Some((moving, phases, least)) = self.moves(early, late) else { continue };
            self.begun(late)?;
            let threshold = shift::Shift::new(self.short, self.long, self.period, moving, phases).check()?;
            if threshold <= least {
                return Ok(Ok((at.step, tail)));
            }
        }
        Ok(Err("states differ from period to period".into()))
    }

    /// The state at a step and a period later.
    fn states(&self, step: i64) -> Option<(&At, &At)> {
        let find = |i: i64| self.seen.states.iter().find(|s| s.step == i);
        Some((find(step)?, find(step + self.period)?))
    }

    fn moves(&self, early: &At, late: &At) -> Option<Moving> {
        let moves = period::shifted(&early.state, &late.state, self.period)?;
        let world = World::new(self.long, self.run.rules, self.run.cluster, &[]);
        let agents = world.agents().len();
        let (moving, least) = period::moving_variables(&early.state, &late.state, self.long.vars.len(), agents);
        Some((moving, phase_moves(&world, self.long, &moves), least))
    }

    /// No agent has its growing loop still before it: what it would do there depends on the trip count.
    fn begun(&self, late: &At) -> Result<(), String> {
        let grown = shift::grown(self.short, self.long);
        for (agent, loops) in self.seen.loops.iter().enumerate() {
            for (bit, (head, _)) in grown.iter().enumerate() {
                if loops >> bit & 1 == 1 && late.pcs[agent] < *head {
                    let line = self.long.site(*head).line;
                    return Err(format!("the loop at line {line} starts only when another that grows has ended"));
                }
            }
        }
        Ok(())
    }
}

/// How far each declaration's phases move; `None` where its stages disagree.
fn phase_moves(world: &World<'_>, prog: &Program, moves: &period::Moves) -> BTreeMap<u16, Option<i64>> {
    (0..prog.mbars.len() as u16)
        .map(|bar| {
            // Another CTA's copy of a barrier may stand still: only the owner of a role uses it.
            let mut by: Vec<i64> = world
                .mbars_of(bar)
                .filter_map(|ix| moves.get(&Family::Clock(world.phase_clock(ix))).copied())
                .collect();
            by.dedup();
            (
                bar,
                if by.len() == 1 {
                    Some(by[0])
                } else if by.is_empty() {
                    Some(0)
                } else {
                    None
                },
            )
        })
        .collect()
}

/// Variables that hold a bound: set to a constant that grows with the trip count.
fn bound_variables(short: &Program, long: &Program, period: i64) -> Vec<bool> {
    let mut list = vec![false; long.vars.len()];
    for (a, b) in short.code.iter().zip(&long.code) {
        if let (Instr::Set(v, Expr::Const(x)), Instr::Set(_, Expr::Const(y))) = (a, b)
            && y - x == period
        {
            list[*v as usize] = true;
        }
    }
    list
}

/// Whether two states of runs a period apart are equal, but for variables that hold bounds, and for indices of agents that
/// have run to their loop's end: those are equal counted from the end.
fn equal_but(a: &Snapshot, b: &Snapshot, (frame, period): (usize, i64), bounds: &[bool]) -> bool {
    if a.entries.len() != b.entries.len() {
        return false;
    }
    let mut var = 0;
    a.entries.iter().zip(&b.entries).all(|(x, y)| {
        let mut skip = false;
        if let (Entry::Count(Family::Variable, early), Entry::Count(_, late)) = (x, y) {
            skip = bounds.get(var % frame.max(1)).copied().unwrap_or(false) || late - early == period;
            var += 1;
        }
        skip || x == y
    })
}

/// A number of steps after which slots, parities and every modulus of the kernel are back where they were.
fn common_period(prog: &Program) -> Option<i64> {
    let mut of = vec![2];
    of.extend(prog.objects.iter().filter(|o| o.class != Class::Global).map(|o| o.slots as i64));
    of.extend(prog.mbars.iter().map(|b| 2 * b.stages as i64));
    for i in &prog.code {
        // A variable that counts in larger steps is back in step with the others after as many.
        if let Instr::Set(v, Expr::Binary(Binary::Add, p)) = i
            && p.0 == Expr::Var(*v)
        {
            of.extend(p.1.constant().filter(|c| *c > 1));
        }
        each(prog, i, &mut |_, e| {
            e.visit(&mut |x| {
                if let Expr::Binary(Binary::Rem | Binary::Div, p) = x
                    && let Some(c) = p.1.constant()
                    && c > 0
                    && moves(&p.0)
                {
                    of.push(c);
                }
            });
        });
    }
    of.into_iter().try_fold(1i64, |all, x| {
        let l = all / gcd(all, x) * x;
        (l <= 120).then_some(l)
    })
}

/// Whether an expression can change from step to step.
fn moves(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |x| found |= matches!(x, Expr::Var(_)));
    found
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
