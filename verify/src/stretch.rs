//! Runs that step together, and the periods that the longer ones make alone on the way.
//!
//! A pair is a short run and one with some steps more in each pass through its main loop (`pair`). Two such pairs, the
//! second with some turns more of the loop around, step together as well (`nested`): then all four make one step at a
//! time, and where the short runs have no period the long ones make it, both of them together.

use warpline_sim::protocol::{AgentId, Judged, Snapshot};
use warpline_sim::report::FindingKind;

use crate::alike;
use crate::canon::{Made, Walk};
use crate::further::grown;
use crate::watch::{Watch, step_of, window};

/// A short run and a long one.
pub(crate) type Pair<'p> = [Walk<'p>; 2];

/// Where the runs have come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Came {
    /// All of them to their ends.
    Over,
    /// As far as was asked.
    Until,
    /// The second pair goes on otherwise than the first.
    Parted(String),
}

/// Pairs that have come as far as this.
#[derive(Clone)]
pub(crate) struct Reached<'p> {
    pub(crate) pairs: Vec<Pair<'p>>,
    /// The loops that the long runs go through more often, by each agent.
    watches: Vec<Watch>,
    pub(crate) came: Came,
}

/// A loop, and how many steps of it to go.
#[derive(Clone, Debug)]
pub(crate) struct Until {
    pub(crate) watch: Watch,
    pub(crate) left: usize,
}

impl Until {
    fn steps(&mut self, walk: &Walk<'_>, made: &Made) {
        self.left -= (self.left > 0 && self.watch.steps(walk, made)) as usize;
    }
}

/// A part in which all runs step together.
struct Stretch<'p> {
    start: Reached<'p>,
    until: Option<Until>,
    /// When each watched loop made a step, in steps of the walks since the start, and the first run's outline then.
    marks: Vec<Vec<(u64, u64)>>,
    /// Where the runs were now and then, so that no place is far from one of these.
    kept: Vec<(u64, Reached<'p>, Option<Until>)>,
    at: u64,
    end: End<'p>,
}

/// Steps of the walks from one place that is kept to the next.
const KEPT: u64 = 1024;

enum End<'p> {
    /// A short run and its long one go on otherwise.
    Parted(String),
    Reached(Reached<'p>, Option<Until>),
}

/// Passes through loops, at most.
const PASSES: usize = 4096;
/// Loops in which a period is tried.
const NEAREST: usize = 4;
/// Places for a period that are tried in each.
const TRIES: usize = 24;
/// Of them, those whose states are not one: the period is another.
const UNLIKE: usize = 6;

impl<'p> Reached<'p> {
    pub(crate) fn start(pairs: Vec<Pair<'p>>) -> Reached<'p> {
        let watches = watches(&pairs[0]);
        Reached { pairs, watches, came: Came::Until }
    }

    /// The same loops, watched in other runs that have come as far.
    pub(crate) fn with(&self, pairs: Vec<Pair<'p>>) -> Reached<'p> {
        let watches = self.watches.iter().map(|w| w.on(&pairs[0][0])).collect();
        Reached { pairs, watches, came: Came::Until }
    }

    /// Goes on to the end, or until a loop has made so many steps in the first run; or says where a short run and its long
    /// one are not one kernel.
    pub(crate) fn go_on(self, until: Option<&mut Until>) -> Result<Reached<'p>, String> {
        let mut now = self.together(until.as_deref().cloned());
        let mut back = 0;
        for _ in 0..PASSES {
            let why = match now.end {
                End::Reached(reached, left) => {
                    if let (Some(until), Some(left)) = (until, left) {
                        *until = left;
                    }
                    return Ok(reached);
                }
                End::Parted(ref why) => why.clone(),
            };
            now = now.inserted(&mut back).ok_or(why)?;
        }
        Err("a run has too many passes through its loops".into())
    }

    /// Steps all until they part, end, or are as far as asked.
    fn together(self, mut until: Option<Until>) -> Stretch<'p> {
        let start = self.clone();
        let from = until.clone();
        let Reached { mut pairs, mut watches, .. } = self;
        let mut marks = vec![Vec::new(); watches.len()];
        let mut kept = Vec::new();
        pairs.as_flattened_mut().iter_mut().for_each(|w| w.judge(true));
        let mut made = Vec::with_capacity(alike::RUNS);
        let mut at = 0;
        let end = loop {
            if until.as_ref().is_some_and(|u| u.left == 0) {
                break End::Reached(Reached { pairs, watches, came: Came::Until }, until);
            }
            if at % KEPT == 0 && at > 0 {
                let reached = Reached { pairs: pairs.clone(), watches: watches.clone(), came: Came::Until };
                kept.push((at, reached, until.clone()));
            }
            made.clear();
            made.extend(pairs.as_flattened_mut().iter_mut().map(Walk::next));
            match differ(&pairs, &made) {
                None => {}
                Some((Apart::Pairs, why)) => {
                    break End::Reached(Reached { pairs, watches, came: Came::Parted(why) }, until);
                }
                Some((Apart::Runs, why)) => break End::Parted(why),
            }
            at += 1;
            if let Made::Over(_) = made[0] {
                break match pairs.as_flattened().iter().find_map(fault) {
                    Some(why) => End::Parted(why),
                    None => End::Reached(Reached { pairs, watches, came: Came::Over }, until),
                };
            }
            let first = &pairs[0][0];
            if let Some(u) = &mut until {
                u.steps(first, &made[0]);
            }
            for (w, marks) in watches.iter_mut().zip(&mut marks) {
                if w.steps(first, &made[0]) {
                    marks.push((at, first.outline()));
                }
            }
        };
        Stretch { start, until: from, marks, kept, at, end }
    }
}

/// The loops that the long run goes through more often, by each agent.
fn watches([short, long]: &Pair<'_>) -> Vec<Watch> {
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

/// Who goes on otherwise.
enum Apart {
    /// A short run and its long one.
    Runs,
    /// The second pair than the first.
    Pairs,
}

/// Why the last steps of the runs are not one.
fn differ(pairs: &[Pair<'_>], made: &[Made]) -> Option<(Apart, String)> {
    let runs = pairs.as_flattened();
    let judged: Vec<_> = runs.iter().map(Walk::judged).collect();
    let list = |i: usize| -> &[Judged] { judged[i].as_deref().map_or(&[], Vec::as_slice) };
    let one = |is: &[usize]| {
        let lists: [&[Judged]; alike::RUNS] = std::array::from_fn(|i| list(is.get(i).copied().unwrap_or(0)));
        is.iter().all(|i| made[*i] == made[is[0]]) && alike::decided(&lists[..is.len()])
    };
    let apart = match runs.len() {
        2 if one(&[0, 1]) => return None,
        4 if one(&[0, 1, 2, 3]) => return None,
        4 if one(&[0, 1]) && one(&[2, 3]) && !(one(&[0, 2]) && one(&[1, 3])) => Apart::Pairs,
        _ => Apart::Runs,
    };
    let site = match made[0] {
        Made::Did { pc, .. } | Made::Blocked { pc, .. } | Made::Landed { pc, .. } => {
            Some(runs[0].world.program().site(pc))
        }
        _ => None,
    };
    let at = site.map_or(String::new(), |site| format!("line {}: `{}`: ", site.line, site.text));
    Some((apart, at + "what it does does not carry on evenly from step to step"))
}

/// A fault of a run; those that rest on which tiles are stored are other runs' to find.
fn fault(walk: &Walk<'_>) -> Option<String> {
    let faults = walk.world.findings.iter();
    let worst = faults.filter(|f| !f.note && f.kind != FindingKind::Coverage).map(|f| f.message.clone()).next();
    worst.or_else(|| walk.unordered())
}

impl<'p> Stretch<'p> {
    /// The runs from where the long ones have made a period more; `back` is how many steps before the parting that was
    /// last.
    fn inserted(&self, back: &mut usize) -> Option<Stretch<'p>> {
        // The loops whose last steps are nearest.
        let mut order: Vec<usize> = (0..self.marks.len()).filter(|w| !self.marks[*w].is_empty()).collect();
        order.sort_by_key(|w| std::cmp::Reverse(self.marks[*w].last().map(|m| m.0)));
        for w in order.into_iter().take(NEAREST) {
            let (marks, period) = (&self.marks[w], self.start.watches[w].period);
            // In the period behind it, which the long run makes alone, both were seen to decide alike.
            let Some(latest) = marks.len().checked_sub(1 + period) else { continue };
            let tries = (*back..=latest).chain(0..(*back).min(latest + 1));
            let like = |b: &usize| marks[latest - b].1 == marks[latest - b + period].1;
            let mut unlike = 0;
            for b in tries.filter(like).take(TRIES) {
                let at = marks[latest - b].0;
                match self.insert((w, period), at) {
                    Some(next) if matches!(next.end, End::Reached(..)) || at + next.at > self.at => {
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

    /// Lets the long runs make a period more at a mark.
    fn insert(&self, (w, period): (usize, usize), at: u64) -> Option<Stretch<'p>> {
        let near = self.kept.iter().rev().find(|kept| kept.0 <= at);
        let (from, start, until) = near.map_or((0, &self.start, &self.until), |(at, start, until)| (*at, start, until));
        let Reached { mut pairs, mut watches, .. } = start.clone();
        let mut until = until.clone();
        let window = window(pairs[0][0].world.program());
        for _ in from..at {
            let x = pairs[0][0].next();
            pairs.as_flattened_mut().iter_mut().skip(1).for_each(|w| drop(w.next()));
            let first = &pairs[0][0];
            for watch in &mut watches {
                watch.steps(first, &x);
            }
            if let Some(u) = &mut until {
                u.steps(first, &x);
            }
        }
        let here: Vec<Snapshot> = pairs.iter().map(|p| p[0].state()).collect();
        let was: Vec<Snapshot> = pairs.iter().map(|p| p[1].state()).collect();
        let like = |x: &[Snapshot], y: &[Snapshot]| x.iter().zip(y).all(|(x, y)| alike::states(&[x, y], window));
        if !like(&here, &was) {
            return None;
        }
        for (_, long) in pairs.iter_mut().map(|[a, b]| (a, b)) {
            let mut watch = watches[w].on(long);
            let mut left = period;
            while left > 0 {
                let y = long.next();
                if let Made::Over(_) = y {
                    return None;
                }
                left -= watch.steps(long, &y) as usize;
            }
        }
        let then: Vec<Snapshot> = pairs.iter().map(|p| p[1].state()).collect();
        if !like(&was, &then) || !squares(&here, &then, window) {
            return None;
        }
        Some(Reached { pairs, watches, came: Came::Until }.together(until))
    }
}

/// Whether two pairs of states are one in both directions at once; one pair is.
pub(crate) fn squares(short: &[Snapshot], long: &[Snapshot], window: i64) -> bool {
    match (short, long) {
        ([a, c], [b, d]) => alike::states(&[a, b, c, d], window),
        _ => true,
    }
}
