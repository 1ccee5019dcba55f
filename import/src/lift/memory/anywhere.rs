//! Accesses to shared memory at places that are not known, such as words of a table that data choose.
//!
//! Such an access covers each byte that the bounds of its address allow, so that a proof holds for all addresses. A fault
//! may be one of bytes that no access touches. It counts only if it remains without these accesses (`ways.rs`).

use warpline_sim::ir::gcd;

use crate::lift::build::{FEWER_SLOTS, Plan, at_inst, plan};
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::tree::{Effect, Run, Touch, Val};
use crate::lift::walk::Walk;
use crate::lift::walk::remainders;
use crate::lift::walk::shared::Shared;
use crate::ptx::{Error, Inst};
use crate::symbolic::{Atom, Facts, Node as TermNode, Term};

use super::chosen::by_condition;
use super::intervals::{Interval, united_bytes};
use super::pieces::EQUAL_SLOTS;
use super::places::{MOST_SPLITS, told_apart};

/// Bytes of shared memory that a CTA can have.
pub(crate) const SHARED: i64 = 227 * 1024;
/// The largest number of runs of bytes of one lane.
const MOST_RUNS: i64 = 2048;
/// The largest number of runs of an access of a warp that stay apart where they follow each other.
const MOST_APART: usize = 4096;
/// The largest number of runs of an access of a warp at known places, and the longest of them.
const MOST_KNOWN: usize = 64;
const LONGEST: u32 = 128;
/// Multiples from here on lead to another CTA.
const FAR_AWAY: i64 = 1 << 20;

/// The smallest slots of rings that are told apart, one after the other, where all slots are too many.
const LEAST: [i64; 6] = [0, 16, 64, 256, 1024, 4096];

/// What becomes of accesses at places that are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// They cover each byte that they may touch.
    #[default]
    Anywhere,
    /// They never happen.
    LeftOut,
    /// They never happen, and no access that data decide in each lane does: the program is that of a launch.
    OfLaunch,
}

impl Walk<'_, '_> {
    /// The bytes that lanes access. Says whether they are more than those that the lanes touch.
    pub(crate) fn placed(&mut self, i: &Inst, v: &Val, bytes: u32, lanes: usize) -> Option<(Vec<Run>, bool)> {
        let (mut runs, mut all) = (Vec::new(), None);
        let executing = self.lanes;
        for lane in (0..lanes).filter(|l| executing >> l & 1 == 1) {
            let t = v.at(lane);
            if self.dry > 0 || self.s.is_placed(t) && !self.opaque(t) {
                runs.push((t, bytes));
                continue;
            }
            if self.s.timing.is_some() || self.s.ctas() > 1 && i.has("shared::cluster") {
                return None;
            }
            let bounds = self.bounds(t, lane);
            all.get_or_insert_with(Vec::new).extend(self.s.anywhere(i.line, t, bytes, bounds)?);
        }
        let any = all.is_some();
        runs.extend(self.s.runs(all.unwrap_or_default()));
        runs.sort_unstable();
        runs.dedup();
        Some((runs, any))
    }

    /// Bounds of the address of a lane, from the branches around it.
    pub(crate) fn bounds(&mut self, t: Term, lane: usize) -> (i64, i64) {
        let (low, high) = self.s.arena.bounded(t, &self.facts);
        let atoms = self.s.arena.atoms(t);
        let mut facts = Facts::default();
        for (cond, holds) in &self.lane_conditions {
            let cond = cond.at(lane);
            if self.s.arena.mentions(cond, |a| atoms.contains(&a)) {
                self.s.arena.learn(cond, *holds, &mut facts);
            }
        }
        let (least, most) = self.s.arena.bounded(t, &facts);
        (low.max(least), high.min(most))
    }

    /// Adds accesses that may happen, at known places or `anywhere`.
    pub(crate) fn scatter(&mut self, at: usize, what: Touch, runs: Vec<Run>, anywhere: bool) -> Result<(), Error> {
        if self.dry == 0 {
            let line = self.inst(at).line;
            self.s.unknown_at.get_or_insert(line);
        }
        if self.s.unknown != Unknown::Anywhere {
            return Ok(());
        }
        let what = if what == Touch::Write && anywhere { Touch::Scatter } else { what };
        self.push(at, 0, Effect::Touch(what, runs))
    }
}

impl Shared<'_> {
    /// The runs of bytes of intervals. Of many, those that follow each other are one.
    fn runs(&mut self, all: Vec<Interval>) -> Vec<Run> {
        let all = if all.len() > MOST_APART { united_bytes(all) } else { all };
        all.into_iter().map(|(low, end)| (self.arena.int(low), (end - low) as u32)).collect()
    }

    /// Whether an address needs no bounds, or has bounds.
    fn is_placed(&self, t: Term) -> bool {
        let (low, high) = self.arena.range(t);
        !self.arena.reads_memory(t) || low >= 0 && high < FAR_AWAY
    }

    /// All bytes that an access to an address may touch, as far as its bounds say.
    fn anywhere(&mut self, line: u32, t: Term, bytes: u32, bounds: (i64, i64)) -> Option<Vec<Interval>> {
        let least = remainders::least(&mut self.arena, t);
        let a = &self.arena;
        let (k, parts) = a.parts(t);
        if k.abs() >= FAR_AWAY || parts.iter().any(|(_, c)| c.abs() >= FAR_AWAY) {
            return None;
        }
        let step = parts.iter().fold(0, |g, (x, c)| gcd(g, c.abs() << a.low_zeros(*x).min(20)));
        let (mut low, mut high) = bounds;
        low = low.max(least);
        let counts = |x: &Term| matches!(a.node(*x), TermNode::Atom(Atom::Counter(_)));
        let counted = parts.iter().all(|(x, c)| counts(x) && *c > 0);
        let (mut end, mut array) = (SHARED, None);
        if counted && high >= SHARED {
            // The first of these addresses is in the array.
            let inside = |v: &(String, i64, i64)| v.1 <= k && k < v.1 + v.2;
            let variables = self.module.shared.iter().chain(&self.entry.shared);
            let placed =
                variables.filter_map(|v| Some((v.name.clone(), *self.addresses.get(&v.name)?, v.bytes as i64)));
            array = placed.into_iter().find(inside);
            end = array.as_ref().map_or(end, |(_, base, bytes)| base + bytes);
        }
        let step = step.max(1);
        let index = k > 0 && parts.iter().all(|(_, c)| *c > 0);
        if low < 0 {
            low = if index { k } else { k.rem_euclid(step) };
        }
        let natural = low == k && index && bounds.0 < k && least < k;
        if high > end - i64::from(bytes) {
            high = end - i64::from(bytes);
            high -= (high - low).rem_euclid(step);
        }
        if high < low {
            return Some(Vec::new());
        }
        if natural {
            self.assume(line, "an index that data choose is not negative");
        }
        if let Some((name, ..)) = array {
            self.assume(line, format!("indices that a loop counts stay inside of the array `{name}`"));
        }
        let count = (high - low) / step + 1;
        if step <= i64::from(bytes) || count > MOST_RUNS {
            return Some(vec![(low, high + i64::from(bytes))]);
        }
        let at = |n: i64| (low + n * step, low + n * step + i64::from(bytes));
        Some((0..count).map(at).collect())
    }
}

/// The tree and its plan. Where rings have too many slots, the slots of the smallest ones are not told apart.
pub(crate) fn planned(
    s: &mut Shared<'_>,
    tree: Vec<Merged>,
    warps: u32,
    timed: bool,
) -> Result<(Vec<Merged>, Plan), Error> {
    if timed {
        let plan = plan(s, &tree, warps)?;
        return Ok((tree, plan));
    }
    let mut first = None;
    for least in LEAST {
        let mut tree = bounded(s, tree.clone(), least);
        let mut found = plan(s, &tree, warps);
        for _ in 0..MOST_SPLITS {
            let Err(e) = &found else { break };
            let line = e.line;
            if e.expected != EQUAL_SLOTS {
                break;
            }
            let Some(apart) = by_condition(s, &tree, line).or_else(|| told_apart(s, &tree, line)) else { break };
            tree = apart;
            let next = plan(s, &tree, warps);
            // What is left is of this kind, or the first reason counts.
            if next.as_ref().is_err_and(|e| e.expected != EQUAL_SLOTS) {
                break;
            }
            found = next;
        }
        match found {
            Ok(plan) => return Ok((tree, plan)),
            Err(e) if e.expected == FEWER_SLOTS => drop(first.get_or_insert(e)),
            Err(e) => return Err(first.unwrap_or(e)),
        }
    }
    Err(first.unwrap_or_else(|| at_inst(s, 0, "no plan".to_string(), FEWER_SLOTS)))
}

/// The tree in which accesses of threads without bounds cover all bytes that they may touch. So do accesses to rings with
/// slots of less than `least` bytes.
fn bounded(s: &mut Shared<'_>, tree: Vec<Merged>, least: i64) -> Vec<Merged> {
    let mut out = Vec::with_capacity(tree.len());
    for n in tree {
        let kind = match n.kind {
            MergedKind::Op(mut ops) => {
                let line = s.entry.code.get(n.at).map_or(0, |i| i.line);
                ops.retain_mut(|(.., e)| keeps(s, line, e, least));
                if ops.is_empty() {
                    continue;
                }
                MergedKind::Op(ops)
            }
            MergedKind::If(c, a, b) => MergedKind::If(c, bounded(s, a, least), bounded(s, b, least)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, bounded(s, body, least)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

/// The runs of bytes that are known, and the intervals that others are in.
pub(crate) fn known(s: &Shared<'_>, e: &Effect, runs: Vec<Run>) -> (Vec<Run>, Option<(i64, i64)>) {
    let wide = matches!(e, Effect::Touch(..)) && (runs.len() > MOST_KNOWN || runs.iter().any(|(_, n)| *n > LONGEST));
    let constant = |t: Term| s.arena.constant(t);
    if !wide || runs.iter().any(|(t, _)| constant(*t).is_none()) {
        return (runs, None);
    }
    let low = runs.iter().filter_map(|(t, _)| constant(*t)).min();
    let high = runs.iter().filter_map(|(t, n)| Some(constant(*t)? + i64::from(*n))).max();
    (Vec::new(), low.zip(high))
}

/// Gives an access bounds. Returns whether it stays.
fn keeps(s: &mut Shared<'_>, line: u32, e: &mut Effect, least: i64) -> bool {
    let Effect::Touch(what, runs) = e else { return true };
    if *what == Touch::Copy {
        return true;
    }
    let free = |s: &Shared<'_>, t: Term| {
        let (low, high) = s.arena.range(t);
        let fine = s.arena.parts(t).1.iter().any(|(_, c)| c.abs() < least);
        fine && high < FAR_AWAY || s.arena.noted_points(t).is_none() && (low < 0 || high >= FAR_AWAY)
    };
    if !runs.iter().any(|(t, _)| free(s, *t)) {
        return true;
    }
    let (mut all, mut any) = (Vec::new(), Vec::new());
    for (t, n) in runs.iter() {
        let bounds = s.arena.range(*t);
        match free(s, *t).then(|| s.anywhere(line, *t, *n, bounds)) {
            None => all.push((*t, *n)),
            Some(Some(list)) => any.extend(list),
            Some(None) => return true,
        }
    }
    all.extend(s.runs(any));
    s.unknown_at.get_or_insert(line);
    if s.unknown != Unknown::Anywhere {
        return false;
    }
    all.sort_unstable();
    all.dedup();
    *runs = all;
    if *what == Touch::Write {
        *what = Touch::Scatter;
    }
    true
}
