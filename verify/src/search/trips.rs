//! The kernel at the trip counts that a search needs, and the growth of its counters in a period.

use smallvec::{SmallVec, smallvec};
use warpline_sim::ir::{Instr, Op, Program};
use warpline_sim::protocol::{Decision, Rates, Rules, outstanding};

use crate::AtTrips;
use crate::budget::Budget;
use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{CanonicalRun, Job, StepOutcome};
use crate::induction::carry_over;
use crate::induction::loop_counter::Watch;
use crate::induction::loop_counter::grown;
use crate::induction::refined_indices::refine;
use crate::{Options, induction::self_composition};

/// The kernel as given, or at every trip count.
pub(super) struct Texts {
    /// The kernels by trip count; `None` where the kernel refuses it. The last but one represents all larger trip
    /// counts, and the last is one period longer.
    list: Vec<Option<Program>>,
    pub(super) every: Option<VariedTrips>,
    /// For each instruction, whether it, or control flow between it and the next operation, reads the trip count.
    asks: Vec<bool>,
    /// For each instruction, whether it reads the trip count itself.
    names: Vec<bool>,
    /// For each instruction, whether a CTA or cluster barrier can still follow.
    meets: Vec<bool>,
}

/// Facts about a kernel with a varied trip count.
pub(super) struct VariedTrips {
    /// Steps of the main loop after which everything repeats.
    pub(super) period: i64,
    /// Periods past the start after which everything repeats.
    pub(super) start: i64,
    /// Trip counts from here on are far from agents that are at `start` or near it.
    pub(super) far: i64,
    /// Growth of the counters in a period.
    pub(super) rates: Rates,
    /// Distance up to which a number depends on later iterations.
    pub(super) window: i64,
}

/// Largest distance between agents, in periods.
const APART: i64 = 3;
/// The trip count that represents all large ones, in periods.
const LARGE: i64 = 1 << 12;

impl Texts {
    pub(super) fn one(prog: &Program) -> Texts {
        let none = vec![false; prog.code.len()];
        Texts { names: none.clone(), asks: none, meets: meets(prog), list: vec![Some(prog.clone())], every: None }
    }

    /// The kernel at every trip count, repeating from period `start` on, and the period from which its canonical run
    /// repeats. The error says why the search does not apply.
    pub(super) fn every(at: AtTrips<'_>, rules: Rules, cluster: i64, start: i64) -> Result<(Texts, i64), String> {
        let given = (0..).take(16).find_map(at).ok_or("the kernel refuses all small trip counts")?;
        let options = Options::default();
        let budget = &Budget::new(&options);
        let run = ClassRun::of_cluster(&given, rules, cluster, options, budget);
        let found = carry_over::find(&run, at, carry_over::Region::ALL)
            .or_else(|failed| carry_over::find(&run.early(), at, carry_over::Region::ALL).map_err(|_| failed.why))?;
        let period = found.period;
        let (rates, last) = moved(&run, at, period)?;
        let window = outstanding(&given) + 3;
        let far = (start + APART + 2) * period + 2 * window;
        let mut list = Vec::new();
        for n in (0..=far + period).chain([LARGE * period, (LARGE + 1) * period]) {
            list.push(at(n).map(|p| refine(&p)));
        }
        let kept: Vec<&Program> = list.iter().flatten().collect();
        let [.., near, _, _] = kept[..] else { return Err("the kernel refuses nearly all steps".into()) };
        if list[list.len() - 2..].iter().any(Option::is_none) {
            return Err(format!("the kernel refuses {} steps", LARGE * period));
        }
        let mut names = vec![false; near.code.len()];
        for (a, b) in kept.iter().zip(&kept[1..]) {
            if a.code.len() != names.len() || b.code.len() != names.len() {
                return Err("more steps change the program".into());
            }
            names.iter_mut().zip(a.code.iter().zip(&b.code)).for_each(|(differs, (x, y))| *differs |= x != y);
        }
        let (asks, meets) = (asks(near, &names), meets(near));
        Ok((Texts { list, asks, names, meets, every: Some(VariedTrips { period, start, far, rates, window }) }, last))
    }

    /// The text at a trip count.
    pub(super) fn at(&self, trips: i64) -> usize {
        match &self.every {
            None => 0,
            Some(e) if trips <= e.far + e.period => trips.max(0) as usize,
            Some(e) if trips < (LARGE + 1) * e.period => (e.far + e.period + 1) as usize,
            Some(e) => (e.far + e.period + 2) as usize,
        }
    }

    /// The trip count that represents all large ones.
    pub(super) fn large(&self) -> i64 {
        self.every.as_ref().map_or(0, |e| LARGE * e.period)
    }

    pub(super) fn program(&self, text: usize) -> Option<&Program> {
        self.list[text].as_ref()
    }

    /// Whether the kernel accepts a trip count.
    pub(super) fn takes(&self, trips: i64) -> bool {
        self.list[self.at(trips)].is_some()
    }

    /// A text for everything that does not depend on the trip count.
    pub(super) fn any(&self) -> usize {
        self.list.len().saturating_sub(2)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn meets(&self, pc: u32) -> bool {
        self.meets[pc as usize]
    }

    /// Whether an instruction reads the trip count itself.
    pub(super) fn names(&self, pc: u32) -> bool {
        self.names[pc as usize]
    }

    /// Whether an instruction, or control flow between it and the next operation, reads the trip count.
    pub(super) fn asks(&self, pc: u32) -> bool {
        self.asks[pc as usize]
    }
}

/// The instructions that can follow an instruction.
fn behind(prog: &Program, pc: usize) -> SmallVec<[usize; 2]> {
    match prog.code[pc] {
        Instr::Jump(to) => smallvec![to as usize],
        Instr::Unless(_, to) | Instr::Only(_, to) => smallvec![pc + 1, to as usize],
        Instr::End => smallvec![],
        _ => smallvec![pc + 1],
    }
}

/// For each instruction, whether `holds` is true of it or of any that can follow, as far as `past` allows.
fn ahead(prog: &Program, holds: impl Fn(usize) -> bool, past: impl Fn(usize) -> bool) -> Vec<bool> {
    let from = |pc: usize| {
        let mut seen = vec![false; prog.code.len()];
        let mut open: Vec<usize> = behind(prog, pc).to_vec();
        let mut found = holds(pc);
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) && past(at) {
                found |= holds(at);
                open.extend(behind(prog, at));
            }
        }
        found
    };
    (0..prog.code.len()).map(from).collect()
}

/// For each instruction, whether it, with the control flow up to the next operation, distinguishes trip counts.
fn asks(prog: &Program, names: &[bool]) -> Vec<bool> {
    let control = |pc: usize| !matches!(prog.code[pc], Instr::Op { .. } | Instr::End);
    ahead(prog, |pc| names[pc], control)
}

fn meets(prog: &Program) -> Vec<bool> {
    let meets = |pc: usize| match &prog.code[pc] {
        Instr::Op { op, .. } => matches!(op, Op::Barrier(_) | Op::ClusterArrive { .. } | Op::ClusterWait),
        _ => false,
    };
    ahead(prog, meets, |_| true)
}

/// The growth of the counters of a long run in a period of its middle, and the period from which it repeats.
fn moved(run: &ClassRun<'_>, at: AtTrips<'_>, period: i64) -> Result<(Rates, i64), String> {
    let long = 8 * period + 24;
    let why = || format!("no state recurs within {long} steps");
    let (Some(a), Some(b)) = (at(long), at(long - 1)) else { return Err(why()) };
    let (x, y) = (refine(&a), refine(&b));
    let (first, _) = self_composition::repeats(run.job(&y), run.job(&x)).ok_or_else(why)?;
    let loops = grown(&y, &x);
    let (l, _) = loops.iter().find(|(l, _)| l.var.is_some()).ok_or_else(why)?;
    let mut watch = Watch::of(&y, l, None, 0).ok_or_else(why)?;
    let mut walk = CanonicalRun::new(Job { ..run.job(&x) });
    let mut then = None;
    loop {
        let made = walk.next();
        if let StepOutcome::RunEnded(_) = made {
            return Err(why());
        }
        if watch.steps(&walk, &made) == 0 {
            continue;
        }
        match (&then, watch.last) {
            (None, Some(i)) if i >= first + period => then = Some((i, walk.world.clone())),
            (Some((from, world)), Some(i)) if i >= from + period => {
                return Ok((walk.world.rates(world), first.div_euclid(period) + 1));
            }
            _ => {}
        }
    }
}

/// Whether a step one period later has the same decisions as this one, and so do all further ones.
pub(super) fn alike(now: &[Decision], later: &[Decision]) -> bool {
    crate::induction::shift_invariance::decided(
        &[now, later],
        &mut crate::induction::shift_invariance::Conditions::default(),
    )
}
