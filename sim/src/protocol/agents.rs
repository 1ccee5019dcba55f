//! Agents: one for each warp, two for a warp whose elected lane runs apart from the rest.
//!
//! Two lane classes are enough (docs/rules.md 1): the question is whether a lane that signals can run ahead of lanes
//! that only wait. A warp is split only where its lanes perform an operation apart that is not a collective.

use std::ops::{Index, IndexMut, Range};

use crate::ir::{Executors, Instr, Program, StateId, VarId};
use crate::timeline::Lanes;

use super::op::instruction;
use super::vocabulary::{AgentId, AgentInfo, FormId, MbarIx, Number, RendezvousIx};

/// The changing state of an agent, without its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Agent {
    pub(super) pc: u32,
    pub(super) ended: bool,
    /// The rendezvous and generation that the agent arrived in and waits for.
    pub(super) waits_in: Option<(RendezvousIx, u32)>,
    /// The generation of the cluster barrier that the agent arrived in and has not waited for yet.
    pub(super) cluster_arrived: Option<u32>,
    /// Instruction of the last operation that the warp's lanes performed one by one, since an operation that joined them;
    /// kept where the rule `warp-arrive` asks.
    pub(super) last_unjoined: Option<u32>,
    /// Whether this agent joined the lanes of its warp for the current operation and performs it: for all lanes, or for its
    /// own where each class does.
    pub(super) performs_for_warp: bool,
    /// Whether this lane class of a split warp came to an `elect:` block since the classes last joined. The classes
    /// then run apart.
    pub(super) diverged: bool,
    /// Whether this lane class of a split warp passed an operation that the other class does not know of, since the
    /// classes last joined.
    pub(super) unmet: bool,
    /// Each state that an arrival returned and no wait has used.
    pub(super) states: Vec<Option<ArrivalState>>,
}

/// What `mbarrier.arrive` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArrivalState {
    /// The mbarrier.
    pub(super) bar: MbarIx,
    /// The phase in which the arrival counts.
    pub(super) phase: u32,
    /// Whether the lane that arrived for its warp has passed the state on to the other lanes.
    pub(super) passed_on: bool,
}

impl Agent {
    /// Remembers the phase of an arrival that returns a state.
    pub(super) fn returned(&mut self, s: StateId, bar: MbarIx, phase: u32) {
        self.keep_state(s, Some(ArrivalState { bar, phase, passed_on: false }));
    }

    /// Sets what the agent keeps as a state.
    pub(super) fn keep_state(&mut self, s: StateId, state: Option<ArrivalState>) {
        let s = s as usize;
        if self.states.len() <= s {
            self.states.resize(s + 1, None);
        }
        self.states[s] = state;
    }

    /// What the agent keeps as a state.
    pub(super) fn kept(&self, s: StateId) -> Option<ArrivalState> {
        self.states.get(s as usize).copied().flatten()
    }

    /// The phase of a state of an mbarrier; `None` where no arrival on that barrier returned the state, or a wait has
    /// used it.
    pub(super) fn state(&self, s: StateId, ix: MbarIx) -> Option<u32> {
        self.kept(s).filter(|state| state.bar == ix).map(|state| state.phase)
    }

    /// Forgets a state that a wait has used.
    pub(super) fn use_state(&mut self, s: StateId) {
        self.states[s as usize] = None;
    }
}

/// All agents of a cluster, with their variables.
#[derive(Debug)]
pub(super) struct Agents {
    list: Vec<Agent>,
    /// Number of variables of an agent.
    frame: usize,
    /// The variables of all agents, agent after agent.
    vars: Vec<i64>,
    /// How each variable depends on the place of the CTA; empty where this is not followed.
    forms: Vec<FormId>,
}

impl Agents {
    /// Agents at their first instruction, with `frame` variables each. `forms`: whether the run stands for a cell.
    pub(super) fn new(agents: usize, frame: usize, forms: bool) -> Agents {
        let vars = agents * frame;
        let forms = vec![0; if forms { vars } else { 0 }];
        Agents { list: vec![Agent::default(); agents], frame, vars: vec![0; vars], forms }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Agent> {
        self.list.iter()
    }

    #[inline]
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Agent> {
        self.list.iter_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The positions of an agent's variables among the variables of all agents.
    #[inline]
    pub(super) fn frame_of(&self, a: AgentId) -> Range<usize> {
        a as usize * self.frame..(a as usize + 1) * self.frame
    }

    /// The variables of an agent.
    #[inline]
    pub(super) fn vars(&self, a: AgentId) -> &[i64] {
        &self.vars[self.frame_of(a)]
    }

    #[inline]
    pub(super) fn vars_mut(&mut self, a: AgentId) -> &mut [i64] {
        let frame = self.frame_of(a);
        &mut self.vars[frame]
    }

    /// The variables of all agents.
    pub(super) fn all_vars(&self) -> &[i64] {
        &self.vars
    }

    /// The forms of an agent's variables; empty where forms are not followed.
    #[inline]
    pub(super) fn forms(&self, a: AgentId) -> &[FormId] {
        self.forms.get(self.frame_of(a)).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn forms_mut(&mut self, a: AgentId) -> &mut [FormId] {
        let frame = self.frame_of(a);
        self.forms.get_mut(frame).unwrap_or(&mut [])
    }

    /// The forms of all variables.
    pub(super) fn all_forms(&self) -> &[FormId] {
        &self.forms
    }

    /// Sets a variable and its form.
    #[inline]
    pub(super) fn set_var(&mut self, a: AgentId, v: VarId, x: Number) {
        self.vars_mut(a)[v as usize] = x.v;
        if let Some(form) = self.forms_mut(a).get_mut(v as usize) {
            *form = x.form;
        }
    }
}

impl Index<AgentId> for Agents {
    type Output = Agent;

    #[inline]
    fn index(&self, a: AgentId) -> &Agent {
        &self.list[a as usize]
    }
}

impl IndexMut<AgentId> for Agents {
    #[inline]
    fn index_mut(&mut self, a: AgentId) -> &mut Agent {
        &mut self.list[a as usize]
    }
}

clone_by_field!(Agents { list, frame, vars, forms });

/// Bits of the warps that are split into elected lane and rest. These warps execute an `elect:` block and, outside of
/// any such block, an operation that lanes perform one by one.
pub(super) fn split_warps(prog: &Program) -> u64 {
    let all = if prog.warps == 64 { u64::MAX } else { (1 << prog.warps) - 1 };
    let (mut inside, mut outside) = (0u64, 0u64);
    // Open blocks as (end, warps that were executing before, elected before).
    let mut open: Vec<(u32, u64, bool)> = Vec::new();
    let (mut warps, mut elected) = (all, false);
    for (pc, instr) in prog.code.iter().enumerate() {
        while let Some(&(end, w, e)) = open.last()
            && end <= pc as u32
        {
            (warps, elected) = (w, e);
            open.pop();
        }
        match instr {
            Instr::Only(who, to) => {
                open.push((*to, warps, elected));
                match who {
                    Executors::Warps(w) => warps &= w,
                    Executors::Cta(_) => {}
                    Executors::Elected => elected = true,
                }
            }
            Instr::Op { .. } if elected => inside |= warps,
            Instr::Op { op, .. } if !instruction(op, |i| i.joins_lanes()) => outside |= warps,
            _ => {}
        }
    }
    inside & outside
}

/// All agents of a cluster, by CTA, then warp, then lane class.
pub fn agents_of(prog: &Program) -> Vec<AgentInfo> {
    let split = split_warps(prog);
    let mut list = Vec::new();
    for cta in 0..prog.cluster {
        for warp in 0..prog.warps {
            if split >> warp & 1 == 1 {
                list.push(AgentInfo { cta, warp, lanes: Some(Lanes::Elected) });
                list.push(AgentInfo { cta, warp, lanes: Some(Lanes::Rest) });
            } else {
                list.push(AgentInfo { cta, warp, lanes: None });
            }
        }
    }
    list
}
