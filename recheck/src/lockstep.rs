//! The lockstep comparison of lemma 5: two runs a period apart, or four, two periods apart.
//!
//! ```text
//!   shorter  ─────────a═══════════────────▶ end     all step together; at each place that the certificate names, the
//!                     │ ╲         ╲                 longer runs make a period alone (a─b); ═ the period behind a, in
//!   longer   ─────────a──b═══════════─────▶ end     which all are compared twice: before, and after the longer made it
//! ```
//!
//! In the order of [`decisions`]: neither, first, second, both. Runs with an odd index are longer in the first loop.
//! Runs in the second half are longer in the second loop.

use std::collections::BTreeMap;

use warpline_sim::ir::{Loop, Program};
use warpline_sim::protocol::{AgentId, Decision, Snapshot, decisions_at_launch};

use crate::execution::{Execution, Move};
use crate::schema::{Compared, Inserted};
use crate::{decisions, loops, state};

/// Runs that step in lockstep.
#[derive(Clone)]
struct Lockstep<'p, 'c> {
    runs: Vec<Execution<'p>>,
    /// Remaining places at which the longer runs make a period alone, for the first and for the second loop.
    ahead: [Vec<&'c Inserted>; 2],
    /// For each loop, how many times its next place was reached since the one before.
    passed: [u64; 2],
    /// The newest index of each loop and agent.
    index: BTreeMap<(usize, AgentId), i64>,
    moves: u64,
    /// Largest number of periods by which the longest run exceeds the shortest; `None` for no limit.
    periods: Option<i64>,
}

/// The reason why a comparison fails.
pub(crate) type Why = String;

/// The end of a comparison.
#[derive(Clone, Copy)]
struct Until {
    of: usize,
    agent: AgentId,
    index: i64,
}

/// Compares runs up to their ends. Returns the comparison with the facts computed from its claims.
pub(crate) fn compare(runs: Vec<Execution<'_>>, claim: &Compared, periods: Option<i64>) -> Result<Compared, Why> {
    launch(&runs.iter().map(Execution::program).collect::<Vec<_>>(), periods)?;
    let runs = runs.into_iter().map(Execution::judging).collect();
    // Each list is reversed, so that its next place is the last element.
    let ahead = [false, true].map(|second| claim.inserted.iter().filter(|p| p.second == second).rev().collect());
    let mut lockstep = Lockstep { runs, ahead, passed: [0; 2], index: BTreeMap::new(), moves: 0, periods };
    let mut inserted = Vec::new();
    lockstep.go(None, &mut inserted)?;
    if let Some(left) = lockstep.ahead.iter().flatten().last() {
        return Err(format!("no run reaches the place of loop {} at index {}", left.of, left.index));
    }
    Ok(Compared { moves: lockstep.moves, inserted })
}

/// Checks the values computed at launch, which are decisions too, and that all runs have one grid.
fn launch(programs: &[&Program], periods: Option<i64>) -> Result<(), Why> {
    let first = programs[0];
    if !first.hands_out() && programs.iter().any(|p| p.grid != first.grid) {
        return Err("longer runs have another grid".into());
    }
    let launched = |p: &&Program| {
        // The grid of tiles that are handed out may grow.
        let grid = p.forms.grid.iter().flatten().filter(|_| !p.hands_out());
        decisions_at_launch(p, grid.chain(p.forms.extents.iter().flatten().flatten()))
    };
    let decisions: Vec<_> = programs.iter().map(launched).collect();
    let alike = decisions::alike(&decisions.iter().map(Vec::as_slice).collect::<Vec<_>>(), periods);
    alike.then_some(()).ok_or_else(|| "a value computed at launch decides differently in longer runs".into())
}

impl Lockstep<'_, '_> {
    /// Steps all runs in lockstep, to their ends or until an agent's loop reaches an index.
    fn go(&mut self, until: Option<Until>, inserted: &mut Vec<Inserted>) -> Result<(), Why> {
        loop {
            let made: Vec<Move> = self.runs.iter_mut().map(Execution::next).collect();
            self.moves += 1;
            let decisions: Vec<&[Decision]> = self.runs.iter().map(Execution::decisions).collect();
            if made.iter().any(|m| *m != made[0]) || !decisions::alike(&decisions, self.periods) {
                return Err(self.parted(made[0]));
            }
            let (agent, pc) = match made[0] {
                Move::Performed { agent, pc, .. } => (agent, pc),
                Move::Blocked { .. } | Move::Ended { .. } | Move::Landed { .. } => continue,
                Move::Hung => return Err("a compared run hangs".into()),
                Move::Broken => return Err("a compared run meets an operation without a meaning".into()),
                Move::Finished => {
                    let fault = self.runs.iter().find_map(|run| run.fault(false));
                    let early = until.map(|_| "the runs end within a period".to_string());
                    return fault.or(early).map_or(Ok(()), Err);
                }
            };
            let turned = self.turned(agent, pc);
            if until.is_some_and(|u| turned.contains(&(u.of, u.index)) && u.agent == agent) {
                return Ok(());
            }
            for k in 0..2 {
                let Some(place) = self.ahead[k].last().copied() else { continue };
                if place.agent != agent || !turned.contains(&(place.of, place.index)) {
                    continue;
                }
                self.passed[k] += 1;
                if self.passed[k] == place.pass {
                    self.passed[k] = 0;
                    self.ahead[k].pop();
                    inserted.push(self.insert(place)?);
                }
            }
        }
    }

    /// Loops in which the agent of the shortest run reached another iteration, with the index there.
    fn turned(&mut self, agent: AgentId, pc: u32) -> Vec<(usize, i64)> {
        let prog = self.runs[0].program();
        let mut turned = Vec::new();
        for (of, l) in prog.loops.iter().enumerate().filter(|(_, l)| (l.head..l.end).contains(&pc)) {
            let Some(var) = loops::index(prog, l) else { continue };
            let now = self.runs[0].world.var(agent, var);
            if self.index.insert((of, agent), now).is_some_and(|last| last != now) {
                turned.push((of, now));
            }
        }
        turned
    }

    /// Lets the longer runs make a period alone. Before that, the next period is compared without the insertion.
    fn insert(&mut self, place: &Inserted) -> Result<Inserted, Why> {
        let no = |what: &str| format!("at index {} of loop {}: {what}", place.index, place.of);
        let apart = if place.second { 2 } else { 1 };
        if self.runs.len() <= apart {
            return Err(no("there is no second loop"));
        }
        let period = self.period(place, apart).ok_or_else(|| no("the loop does not grow by whole iterations"))?;
        let index = place.index.checked_add(period).ok_or_else(|| no("no loop counts that far"))?;
        let behind = Until { of: place.of, agent: place.agent, index };
        self.clone().go(Some(behind), &mut Vec::new()).map_err(|why| no(&format!("in the next period, {why}")))?;
        let longer: Vec<usize> = (0..self.runs.len()).filter(|i| i & apart != 0).collect();
        let mut states: Vec<Snapshot> = self.runs.iter().map(Execution::state).collect();
        for i in longer {
            self.alone(i, behind, place.index).map_err(|why| no(&why))?;
            states.push(self.runs[i].state());
        }
        if !state::alike(&states.iter().collect::<Vec<_>>()) {
            return Err(no("the states before and after the period differ"));
        }
        Ok(Inserted { moves: self.moves, state: state::digest(&states[0]), ..place.clone() })
    }

    /// The growth of a loop's index at a place: some parts of the difference between the bounds of a shorter and a
    /// longer run.
    fn period(&self, place: &Inserted, apart: usize) -> Option<i64> {
        let (short, long) = (self.runs[0].program(), self.runs[apart].program());
        let (a, b) = (short.loops.get(place.of)?, long.loops.get(place.of)?);
        let by = match a.passed {
            Some(_) => long.grid.len() - short.grid.len(),
            // A bound that reads variables has the value that it has here.
            None => {
                let end =
                    |run: usize, prog: &Program, l| self.runs[run].world.value_of(place.agent, loops::bound(prog, l)?);
                end(apart, long, b)? - end(0, short, a)?
            }
        };
        let count = |n: u64| i64::try_from(n).ok().filter(|n| *n > 0);
        let (parts, made) = (count(place.parts)?, count(place.made)?);
        let whole = by > 0 && by % parts == 0 && by / parts % loops::step(short, a) == 0;
        whole.then(|| (by / parts).checked_mul(made)).flatten()
    }

    /// Advances one run alone until an agent's loop reaches an index.
    fn alone(&mut self, run: usize, until: Until, from: i64) -> Result<(), Why> {
        let run = &mut self.runs[run];
        let l: &Loop = &run.program().loops[until.of];
        let (range, var) = (l.head..l.end, loops::index(run.program(), l).ok_or("the loop has no index")?);
        let base = run.world.var(until.agent, var) - from;
        loop {
            match run.next() {
                Move::Performed { agent, pc, .. } if agent == until.agent && range.contains(&pc) => {
                    match (run.world.var(agent, var) - base).cmp(&until.index) {
                        std::cmp::Ordering::Less => {}
                        std::cmp::Ordering::Equal => return Ok(()),
                        std::cmp::Ordering::Greater => return Err("a longer run makes no whole period".into()),
                    }
                }
                Move::Finished | Move::Hung | Move::Broken => return Err("a longer run ends within the period".into()),
                _ => {}
            }
        }
    }

    fn parted(&self, made: Move) -> Why {
        let prog = self.runs[0].program();
        match made {
            Move::Performed { pc, .. } | Move::Blocked { pc, .. } | Move::Landed { pc, .. } => {
                let site = prog.site(pc);
                format!("line {}: `{}` does not carry over to longer runs (move {})", site.line, site.text, self.moves)
            }
            _ => format!("the runs diverge at move {}", self.moves),
        }
    }
}
