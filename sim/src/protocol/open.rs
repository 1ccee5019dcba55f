//! The open part of a state: records and clocks that a further step can depend on.
//!
//! ```text
//!   clocks of a component that the state names    3 ──────── 9 ───────────── 20   21 the newest
//!   clocks of it in rows                       1    5    8      12    17       20    21
//!   as the snapshot has them                   0    3    3      9     9        20    21
//! ```
//!
//! The only question about a row is whether the row has reached a clock: a clock that the state names, or a newer clock
//! still to come. So a row's clock may be rounded down to a clock that the state names ([`NamedClocks`]). Near the
//! newest clock of a component there is no rounding, since clocks are subtracted there. Rows only grow, so a record
//! that waits for rows to reach a clock is closed once the rows have. A state without closed records recurs sooner.
//!
//! Only the rows of an mbarrier's *users* are asked which of its phases are complete. Users are the agents that may
//! come to an operation on the mbarrier. Any other row can only add to what a user knows. So the number of a phase is
//! no named clock. Other rows are rounded where they do not exceed the clock that all users have reached.

use std::sync::Arc;

use crate::ir::{Instr, Op, Phase, Program};

use super::mbarrier::{Signal, Wait};
use super::order::{Epoch, RowId};
use super::peers::Visit;
use super::snapshot::{Entry, Family, PARTS, Snapshot};
use super::users::barrier_users;
use super::vocabulary::{AgentId, MbarIx};
use super::world::World;

/// The largest number of operations that a wait of the program leaves outstanding; 2 at least.
pub fn outstanding(prog: &Program) -> i64 {
    let left = prog.code.iter().filter_map(|i| match i {
        Instr::Op { op: Op::Wait(_, n), .. } => prog.launch_value(n),
        _ => None,
    });
    left.max().unwrap_or(0).max(2)
}

/// The facts about a program that snapshots need.
#[derive(Debug)]
pub(super) struct SnapshotFacts {
    /// For each barrier, the agents that may come to an operation on that barrier, by the heads around the operation.
    barrier_users: Vec<Vec<AgentId>>,
    /// For each component, the distance from its newest clock within which clocks are subtracted. For a stream: the
    /// number of operations that a wait leaves outstanding. For an mbarrier: from the clock that a copy in flight will
    /// have, to the phase before the open phase.
    pub(super) windows: Arc<[i64]>,
    /// Whether a wait names its phase by a number since the newest `init`.
    pub(super) numbers_phases: bool,
}

impl SnapshotFacts {
    fn of(world: &World<'_>) -> SnapshotFacts {
        let (agents, streams_end) = (world.spec.info.len(), world.spec.meet_comp(0) as usize);
        let mut windows = vec![0; world.order.components() as usize];
        windows[agents..streams_end].fill(outstanding(world.prog) + 1);
        windows[world.spec.mbar_comp(0) as usize..].fill(2);
        let by_number = |i: &Instr| matches!(i, Instr::Op { op: Op::MbarWait { phase: Phase::Absolute(_), .. }, .. });
        let numbers_phases = world.prog.code.iter().any(by_number);
        SnapshotFacts { barrier_users: barrier_users(world), windows: windows.into(), numbers_phases }
    }
}

/// For each component, the clocks that a state names outside of rows, in order, and the newest clock that a row can
/// have reached.
pub(super) struct NamedClocks {
    clocks: Vec<Vec<i64>>,
    newest: Vec<i64>,
    /// For each part of rows and each component, the last question of [`Self::reached`] and its answer: most rows have
    /// reached one clock.
    last: Vec<Option<Reached>>,
    /// The first component that is an mbarrier.
    mbars: u32,
    /// For each part of rows that is asked which phases are complete, and each mbarrier: the clock that all users of
    /// the barrier have reached.
    known: [Option<Vec<i64>>; PARTS],
}

/// A clock of a row, and the named clock that it is rounded down to.
#[derive(Clone, Copy, Debug)]
struct Reached {
    clock: u32,
    named: Option<i64>,
}

impl NamedClocks {
    /// The clocks that a snapshot names. The snapshot lacks only its rows.
    pub(super) fn of(world: &World<'_>, s: &Snapshot) -> NamedClocks {
        let mut clocks = vec![Vec::new(); world.order.components() as usize];
        let mut phases = s.phases.iter().copied().peekable();
        for (i, entry) in s.entries.iter().enumerate() {
            if phases.next_if_eq(&i).is_none()
                && let Entry::Count(Family::Clock(comp), clock) = *entry
                && clocks[comp as usize].last() != Some(&clock)
            {
                clocks[comp as usize].push(clock);
            }
        }
        // Whether a peer has started is asked by the first clock of its agents and of the cluster barrier.
        if world.prog.cluster > 1 {
            clocks[..world.spec.mbar_comp(0) as usize].iter_mut().for_each(|list| list.push(1));
        }
        for list in &mut clocks {
            list.sort_unstable();
            list.dedup();
        }
        let mut newest: Vec<i64> = clocks.iter().map(|list| list.last().copied().unwrap_or(0)).collect();
        for a in 0..world.spec.info.len() as AgentId {
            newest[a as usize] = world.order.reached(world.spec.agent_row(a), a) as i64;
        }
        // A copy in flight will have written with the clock behind the open phase.
        let mbars = world.spec.mbar_comp(0);
        newest[mbars as usize..]
            .iter_mut()
            .zip(&world.mbars)
            .for_each(|(newest, m)| *newest = m.hardware().phase as i64);
        let known = std::array::from_fn(|part| world.order.orders_phases(part).then(|| world.known_phases(part)));
        NamedClocks { last: vec![None; PARTS * clocks.len()], clocks, newest, mbars, known }
    }

    /// The newest clock that the state names and a part of a row has reached, or the row's own clock where clocks are
    /// subtracted. `None` where the row has reached no such clock. The row is not that of a user of the component's
    /// mbarrier.
    #[inline]
    pub(super) fn reached(&mut self, part: usize, comp: u32, clock: u32) -> Option<i64> {
        let last = &mut self.last[part * self.newest.len() + comp as usize];
        match last {
            Some(last) if last.clock == clock => last.named,
            _ => {
                let named = self.first_reached(part, comp, clock);
                self.last[part * self.newest.len() + comp as usize] = Some(Reached { clock, named });
                named
            }
        }
    }

    fn first_reached(&self, part: usize, comp: u32, clock: u32) -> Option<i64> {
        // Phases are compared with the phase before (`mbar_wait`). Only users of the barrier compare, and no row tells
        // them of phases that all of them know. An agent's next operation has the agent's newest clock.
        let exact = match comp.checked_sub(self.mbars) {
            Some(ix) => {
                let told = |known: &Vec<i64>| clock as i64 > known[ix as usize];
                self.near(comp, clock) && self.known[part].as_ref().is_some_and(told)
            }
            None => self.newest[comp as usize] == clock as i64 && clock > 0,
        };
        if exact { Some(clock as i64) } else { self.rounded(comp, clock as i64) }
    }

    /// The mbarrier of a component.
    pub(super) fn mbar(&self, comp: u32) -> Option<MbarIx> {
        comp.checked_sub(self.mbars)
    }

    /// The clock of an mbarrier in a part of the row of one of its users, where this agent is asked for it.
    pub(super) fn asked(&self, part: usize, comp: u32, clock: u32) -> Option<i64> {
        (self.known[part].is_some() && self.near(comp, clock)).then_some(clock as i64)
    }

    /// Whether a clock is that of an mbarrier's open phase or of the phase before.
    fn near(&self, comp: u32, clock: u32) -> bool {
        self.newest[comp as usize] - clock as i64 <= 1
    }

    /// Whether parts of a row that have reached one clock can have different answers of [`Self::reached`].
    pub(super) fn depends_on_part(&self, comp: u32, clock: u32) -> bool {
        comp >= self.mbars && self.near(comp, clock)
    }

    /// Whether a row at the start of a component has reached no clock of that component.
    pub(super) fn nothing(&self, comp: u32) -> bool {
        comp < self.mbars || self.newest[comp as usize] > 1
    }

    fn rounded(&self, comp: u32, clock: i64) -> Option<i64> {
        let named = &self.clocks[comp as usize];
        named[..named.partition_point(|x| *x <= clock)].last().copied().filter(|x| *x > 0)
    }
}

impl World<'_> {
    /// The facts about the program that snapshots need.
    pub(super) fn asked(&self) -> &SnapshotFacts {
        self.spec.asked.get_or_init(|| SnapshotFacts::of(self))
    }

    /// For each mbarrier, the clock that its users have reached in a part of their rows.
    fn known_phases(&self, part: usize) -> Vec<i64> {
        let rows = self.order.components() as usize;
        let known = |(ix, users): (usize, &Vec<AgentId>)| {
            let at = part * rows + self.spec.mbar_comp(ix as MbarIx) as usize;
            let live = users.iter().filter(|a| !self.agents[**a].ended);
            live.map(|a| self.order.row(self.spec.agent_row(*a))[at] as i64).min().unwrap_or(i64::MAX)
        };
        self.asked().barrier_users.iter().enumerate().map(known).collect()
    }

    /// Whether the owner of a row may come to an operation on an mbarrier. False for rows that no agent owns.
    pub(super) fn uses(&self, owner: Option<AgentId>, ix: MbarIx) -> bool {
        owner.is_some_and(|a| self.asked().barrier_users[ix as usize].contains(&a))
    }

    /// The open arrivals of the phase `back` phases before the open one. First, whether arrivals took part that no
    /// agent can know of. Second, the arrivals that some user of the barrier does not know of. Both are empty where all
    /// users know that the phase is complete.
    pub(super) fn open_arrivals(&self, ix: MbarIx, back: usize) -> (bool, Vec<Epoch>) {
        let users = || self.asked().barrier_users[ix as usize].iter().filter(|a| !self.agents[**a].ended);
        let all =
            |comp: u32, clock: i64| users().all(|a| self.order.reached(self.spec.agent_row(*a), comp) as i64 >= clock);
        let list = &self.mbars[ix as usize].arrivals()[back];
        let complete = self.mbar(ix).phase as i64 + 1 - back as i64;
        if back > 0 && all(self.spec.mbar_comp(ix), complete) {
            return (false, Vec::new());
        }
        let open = list.epochs().iter().filter(|e| !list.unsure() && !all(e.comp, e.clock as i64));
        (list.unsure(), open.copied().collect())
    }

    /// The fences behind the `init` of an mbarrier. `None` where each user of the barrier is ordered after one of them.
    pub(super) fn open_init_fences(&self, ix: MbarIx) -> Option<&[Epoch]> {
        let list = self.mbars[ix as usize].init_fences();
        let knows = |a: &AgentId| self.init_fenced(self.spec.agent_row(*a), ix);
        let mut users = self.asked().barrier_users[ix as usize].iter().filter(|a| !self.agents[**a].ended);
        (list.is_empty() || !users.all(knows)).then_some(list)
    }

    /// Signals of a barrier that no agent of its CTA knows of yet. One agent must know each signal before the CTA ends.
    pub(super) fn open_signals(&self, ix: MbarIx) -> Vec<&Signal> {
        self.mbars[ix as usize].signals().iter().filter(|s| !self.knows_signal(ix, s)).collect()
    }

    /// Whether some agent of a barrier's CTA knows that a signal has come. The agent knows the signal itself, or that
    /// the signal's phase is complete. Order in time is enough here: no data of the signaling agent is read.
    pub(super) fn knows_signal(&self, ix: MbarIx, s: &Signal) -> bool {
        let knows = |row| {
            let reached = |comp| self.order.reached(row, comp);
            reached(s.epoch.comp) >= s.epoch.clock || reached(self.spec.mbar_comp(ix)) > s.phase
        };
        self.rows_of(self.mbar_cta(ix)).any(knows)
    }

    /// Accesses to the memory of a CTA that none of its agents knows of yet. One agent must know each access before the
    /// CTA ends.
    pub(super) fn open_visits(&self, cta: u32) -> Vec<&Visit> {
        self.memory.visits(cta).iter().filter(|x| !self.knows_visit(cta, x)).collect()
    }

    /// Whether some agent of a CTA knows of an access to its memory, or of the generation of the cluster barrier that
    /// completed after the access.
    pub(super) fn knows_visit(&self, cta: u32, x: &Visit) -> bool {
        let mut known = [Some(x.access.epoch), x.over].into_iter().flatten();
        known.any(|epoch| self.rows_of(cta).any(|row| self.order.has(row, epoch)))
    }

    fn rows_of(&self, cta: u32) -> impl Iterator<Item = RowId> {
        let here = (0..).zip(self.spec.info.iter()).filter(move |(_, who)| who.cta == cta);
        here.map(|(a, _)| self.spec.agent_row(a))
    }

    /// Whether a phase of a barrier can complete before a wait for an earlier phase has passed: no arrival is ordered
    /// after that wait.
    pub(super) fn may_be_late(&self, ix: MbarIx, wait: &Wait) -> bool {
        self.order.reached(self.spec.mbar_row(ix), wait.epoch.comp) < wait.epoch.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Component 0 is an agent, component 1 an mbarrier.
    fn named() -> NamedClocks {
        NamedClocks {
            clocks: vec![vec![3, 9, 20], vec![2, 7]],
            newest: vec![21, 6],
            last: vec![None; 2 * PARTS],
            mbars: 1,
            known: [Some(vec![i64::MIN]), None, None, None, None],
        }
    }

    #[test]
    fn a_clock_is_rounded_down_to_one_that_the_state_names() {
        let of = |clock| named().reached(0, 0, clock);
        assert_eq!([0, 2, 3, 8, 9, 19, 20].map(of), [None, None, Some(3), Some(3), Some(9), Some(9), Some(20)]);
    }

    #[test]
    fn a_phase_that_all_users_know_is_rounded_in_other_rows() {
        let known = |clock| NamedClocks { known: [Some(vec![clock]), None, None, None, None], ..named() };
        assert_eq!([4, 5, 6].map(|clock| known(clock).reached(0, 1, 5)), [Some(5), Some(2), Some(2)]);
        // A user itself is asked.
        assert_eq!([4, 5, 6].map(|clock| known(5).asked(0, 1, clock)), [None, Some(5), Some(6)]);
    }

    #[test]
    fn a_part_that_records_fences_is_not_asked_for_phases() {
        assert_eq!([(0, 5), (1, 5)].map(|(part, clock)| named().reached(part, 1, clock)), [Some(5), Some(2)]);
        assert_eq!([0, 1].map(|part| named().asked(part, 1, 6)), [Some(6), None]);
    }

    #[test]
    fn the_newest_clock_of_an_agent_is_kept() {
        assert_eq!(named().reached(0, 0, 21), Some(21));
    }

    #[test]
    fn the_last_two_phases_of_an_mbarrier_are_kept() {
        let of = |clock| named().reached(0, 1, clock);
        assert_eq!([1, 3, 4, 5, 6].map(of), [None, Some(2), Some(2), Some(5), Some(6)]);
    }

    #[test]
    fn nothing_is_known_of_a_phase_only_where_some_are_over() {
        let mut early = NamedClocks {
            clocks: vec![Vec::new()],
            newest: vec![1],
            last: vec![None; PARTS],
            mbars: 0,
            known: std::array::from_fn(|_| Some(vec![i64::MIN])),
        };
        assert_eq!([early.nothing(0), named().nothing(1)], [false, true]);
        assert_eq!(early.reached(0, 0, 0), Some(0));
    }
}
