//! Cases of a launch: a condition over the launch that shapes the whole kernel, such as a size of zero for which worker
//! warps get no work. The kernel is lifted once for each outcome. Together the cases cover every launch, because every
//! warp has the same condition.

use std::collections::BTreeMap;

use crate::lift::merge::{Merged, MergedKind, Set};
use crate::lift::walk::Walk;
use crate::lift::walk::shared::Shared;
use crate::ptx::Error;
use crate::symbolic::{Arena, Atom, Facts, Term};

use super::argument_cases::ArgumentIs;
use super::asserted::Behind;

/// The largest number of conditions that are decided by cases.
pub(crate) const MOST: usize = 3;

/// The outcome of a branch in one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The branch instruction.
    pub(crate) at: usize,
    /// Whether the branch is taken.
    pub(crate) taken: bool,
    /// What has the outcome.
    pub(crate) of: Asked,
}

/// What a condition of a case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The condition of a branch. The outcome is known behind it.
    Branch,
    /// The condition that chooses the count of a barrier. The outcome is known everywhere.
    Count,
    /// Whether an argument is a number. The outcome is known everywhere.
    Argument(ArgumentIs),
}

/// The case that is lifted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cases {
    /// The outcomes that define it.
    pub(crate) outcomes: Vec<Outcome>,
    /// The condition of each of these branches.
    pub(crate) conditions: BTreeMap<usize, Term>,
    /// What assertions say of the arguments: the branch of the first one, by condition.
    pub(crate) asserted: BTreeMap<Term, usize>,
    /// Assertions behind branches.
    pub(crate) behind: Vec<Behind>,
    /// The bytes that the first load of each argument has, by parameter and offset.
    pub(crate) bytes: BTreeMap<(u16, u32), u32>,
    /// Whether the nodes of this walk are those of the program.
    pub(crate) last: bool,
    /// What would decide what the lift has to know.
    pub(crate) wanted: Option<Wanted>,
}

impl Cases {
    /// Begins a walk. Returns what is known from the start: what the assertions say, and the outcomes of conditions that
    /// are known everywhere. The walks before this one found them.
    pub(crate) fn begin(&mut self, a: &mut Arena, last: bool) -> Facts {
        (self.last, self.wanted) = (last, None);
        let mut facts = Facts::default();
        self.asserted.keys().for_each(|condition| a.learn(*condition, true, &mut facts));
        self.behind.clear();
        let everywhere = |at: &usize| self.outcomes.iter().any(|o| o.at == *at && o.of != Asked::Branch);
        self.conditions.retain(|at, _| everywhere(at));
        for outcome in self.outcomes.iter().filter(|o| o.of != Asked::Branch) {
            if let Some(condition) = self.conditions.get(&outcome.at) {
                a.learn(*condition, outcome.taken, &mut facts);
                a.settle(*condition, outcome.taken);
            }
        }
        facts
    }

    /// The conditions that hold in this case, outermost first, each with its branch.
    fn holding(&self, a: &mut Arena) -> Vec<(usize, Term)> {
        let mut list: Vec<(usize, Term)> = Vec::new();
        for outcome in &self.outcomes {
            let Some(condition) = self.conditions.get(&outcome.at).copied() else { continue };
            list.push((outcome.at, if outcome.taken { condition } else { a.not(condition) }));
        }
        list.extend(self.asserted.iter().map(|(condition, at)| (*at, *condition)));
        list
    }
}

/// What the text leaves open and the lift has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The outcome of a condition at this instruction.
    Outcome(usize, Asked),
    /// At least so many CTAs in a cluster: the mask at this line names the last of them.
    Ctas(u32, u32),
}

/// The nodes of a case below its conditions, outermost first. So whatever replaces terms in nodes also replaces terms in
/// the conditions.
pub(crate) fn guarded(s: &mut Shared<'_>, mut tree: Vec<Merged>, warps: Set) -> Vec<Merged> {
    for (at, holds) in s.cases.holding(&mut s.arena).into_iter().rev() {
        tree = vec![Merged { at, part: 0, warps, kind: MergedKind::If(holds, tree, Vec::new()) }];
    }
    tree
}

/// The conditions that [`guarded`] put around the nodes, each with its branch, and the nodes.
pub(crate) fn unguarded(s: &mut Shared<'_>, mut tree: Vec<Merged>) -> (Vec<(usize, Term)>, Vec<Merged>) {
    let mut conditions = Vec::new();
    for (branch, _) in s.cases.holding(&mut s.arena) {
        match tree.as_mut_slice() {
            [Merged { at, kind: MergedKind::If(holds, nodes, other), .. }] if *at == branch && other.is_empty() => {
                conditions.push((*at, *holds));
                tree = std::mem::take(nodes);
            }
            _ => {}
        }
    }
    (conditions, tree)
}

impl Walk<'_, '_> {
    /// The outcome of a branch outside of loops, where the case has one. The outcome is a fact from then on.
    ///
    /// # Errors
    /// Two warps have different conditions there, or the condition is not one over the launch.
    pub(crate) fn case(&mut self, at: usize, cond: Term) -> Result<Option<bool>, Error> {
        let found = self.s.cases.outcomes.iter().find(|o| o.at == at && o.of == Asked::Branch);
        let Some(taken) = found.map(|o| o.taken) else { return Ok(None) };
        let of_launch = !self.s.arena.mentions(cond, |a| !matches!(a, Atom::Param(..) | Atom::Place(_)));
        let known = *self.s.cases.conditions.entry(at).or_insert(cond);
        if !self.frames.is_empty() || !of_launch || known != cond {
            let inst = self.inst(at);
            return Err(self.s.error(
                inst,
                "this condition decides which code warps run, and is not one condition over the launch",
                "a condition that all warps share",
            ));
        }
        let mut facts = std::mem::take(&mut self.facts);
        self.s.arena.learn(cond, taken, &mut facts);
        self.facts = facts;
        Ok(Some(taken))
    }
}
