//! Explanations of a blocked agent: what the agent waits for, the state of that, and what would have to happen.

use crate::code::Code;
use crate::ir::{Binary, CounterAct, Instr, NamedId, Op, Phase};
use crate::report::Waiting;

use super::op::{BarrierUse, instruction};
use super::rendezvous::RendezvousKind;
use super::vocabulary::{AgentId, WaitTarget};
use super::world::World;

impl World<'_> {
    /// For an agent blocked at `pc` in a hang: what the agent waits for with its state, and what would have to happen.
    /// The caller fills in the time.
    pub fn waiting(&self, a: AgentId, pc: u32, on: WaitTarget) -> Waiting {
        let (waits_for, needs) = self.explain(a, pc, on);
        let code = if self.left_behind(on) { Code::TripCounts } else { Code::Hang };
        Waiting { code, agent: self.agent_name(a), site: self.prog.at[pc as usize], since: 0.0, waits_for, needs }
    }

    /// What an agent waits for at `pc`, in a few words: `full[2] phase 3`, `cp <= 1`. Empty where the cause of the stall
    /// says all there is.
    pub fn wait_label(&self, a: AgentId, pc: u32, on: WaitTarget) -> String {
        let Instr::Op { op, .. } = &self.prog.code[pc as usize] else { return String::new() };
        match (on, op) {
            (WaitTarget::Mbar(ix), Op::MbarWait { phase, .. }) => {
                let name = self.mbar_label(ix).0;
                match self.awaited(a, phase) {
                    Some(phase) => format!("{name} {phase}"),
                    None => name,
                }
            }
            (_, Op::Wait(queue, n)) => {
                let n = self.eval(a, n).map_or("n".to_string(), |v| v.to_string());
                format!("{} <= {n}", queue.name())
            }
            (_, Op::Named { .. } | Op::Counter { .. }) => {
                let text = self.prog.site(pc).text.as_str();
                text.strip_prefix("wait ").unwrap_or(text).to_string()
            }
            _ => String::new(),
        }
    }

    /// The phase that a wait is for, in words; `None` where it has no value.
    fn awaited(&self, a: AgentId, phase: &Phase) -> Option<String> {
        match phase {
            Phase::Absolute(e) => Some(format!("phase {}", self.eval(a, e).ok()?)),
            Phase::Parity(e) => Some(format!("parity {}", self.eval(a, e).ok()? & 1)),
            Phase::State(s) => Some(format!("the phase of state {s}")),
        }
    }

    fn explain(&self, a: AgentId, pc: u32, on: WaitTarget) -> (String, String) {
        let warp = self.spec.info[a as usize].warp;
        match on {
            WaitTarget::Mbar(ix) => self.explain_mbar(a, pc, ix),
            WaitTarget::Rendezvous(ix) => self.explain_rendezvous(a, ix),
            WaitTarget::Own(_) => self.explain_own(a, pc),
            WaitTarget::Counter(ix) => self.explain_counter(a, pc, ix),
            WaitTarget::Pool(cta) => (
                format!(
                    "registers: CTA {cta} has {} for this warp in its pool",
                    self.registers[cta as usize].free_for(warp)
                ),
                "another warpgroup gives registers back with `regs dec`".into(),
            ),
        }
    }

    fn explain_mbar(&self, a: AgentId, pc: u32, ix: u32) -> (String, String) {
        let m = self.mbar(ix);
        let want = match &self.prog.code[pc as usize] {
            Instr::Op { op: Op::MbarWait { phase, .. }, .. } => self.awaited(a, phase),
            _ => None,
        };
        let want = want.unwrap_or_else(|| "a phase".into());
        let mut state = if m.live {
            format!("phase {} is open with {} of {} arrivals missing", m.phase, m.pending, m.expected)
        } else {
            "it is not initialized".to_string()
        };
        match m.tx {
            0 => {}
            n if n > 0 => state += &format!(" and {n} expected bytes missing"),
            n => state += &format!(" and {} bytes too many", -n),
        }
        (format!("{want} of {}: {state}", self.mbar_name(ix)), self.who_signals(ix))
    }

    fn explain_counter(&self, a: AgentId, pc: u32, ix: u32) -> (String, String) {
        let want = match &self.prog.code[pc as usize] {
            Instr::Op { op: Op::Counter { act: CounterAct::Wait(cmp), value, .. }, .. } => {
                let sign = if *cmp == Binary::Eq { "==" } else { ">=" };
                self.number(a, value).map_or("a value".into(), |v| format!("{sign} {v}"))
            }
            _ => "a value".into(),
        };
        let decl = self.counter_decl(ix);
        let mut parts = Vec::new();
        for (pc, i) in self.prog.code.iter().enumerate() {
            let Instr::Op { op: Op::Counter { act, at, .. }, .. } = i else { continue };
            let verb = match act {
                CounterAct::Add | CounterAct::Fetch(_) => "adds",
                CounterAct::Set => "sets it",
                CounterAct::Wait(_) | CounterAct::Load(_) => continue,
            };
            if at.counter == decl {
                parts.push(format!("line {} {verb}{}", self.prog.site(pc as u32).line, self.holders(pc as u32)));
            }
        }
        let mut needs = if parts.is_empty() { "nobody changes it".into() } else { parts.join("; ") };
        if !self.prog.cooperative && self.prog.grid.len() > 1 {
            needs += "; only the CTAs of one cluster run together here: declare the kernel `cooperative` if others add";
        }
        (format!("{} {want}: it is {}", self.counter_name(ix), self.counter_value(ix)), needs)
    }

    /// The statements that signal a barrier, and what blocks the agents that would execute them.
    fn who_signals(&self, ix: u32) -> String {
        let decl = self.mbar_decl(ix);
        let mut parts = Vec::new();
        for (pc, i) in self.prog.code.iter().enumerate() {
            let Instr::Op { op, .. } = i else { continue };
            let verb =
                instruction(op, |i| i.barriers().iter().filter(|b| b.bar.bar == decl).find_map(|b| b.action.verb()));
            let Some(verb) = verb else { continue };
            let who = self.holders(pc as u32);
            parts.push(format!("line {} {verb}{who}", self.prog.site(pc as u32).line));
        }
        if parts.is_empty() { "nobody signals it".into() } else { parts.join("; ") }
    }

    /// Agents that could still come to an instruction, or a note that none can.
    fn holders(&self, pc: u32) -> String {
        match self.executors(pc, None) {
            (0, 1..) => " (whoever executes it has ended)".into(),
            _ => String::new(),
        }
    }

    /// The number of running agents that an instruction is for, and the number of ended ones; in one CTA, or in all.
    fn executors(&self, pc: u32, cta: Option<u32>) -> (usize, usize) {
        let here = |i: &usize| cta.is_none_or(|c| self.spec.info[*i].cta == c) && self.may_reach(*i as AgentId, pc);
        let ended = (0..self.spec.info.len()).filter(here).filter(|i| self.agents[*i as AgentId].ended).count();
        ((0..self.spec.info.len()).filter(here).count() - ended, ended)
    }

    /// Whether a wait is for an agent that ended after fewer steps: the roles disagree on the number of steps. A phase
    /// that some agents began and no agent is left to end is a wrong count instead.
    fn left_behind(&self, on: WaitTarget) -> bool {
        let of = |counts: &dyn Fn(&Op) -> bool, cta| {
            let mut all = (0, 0);
            for (pc, i) in self.prog.code.iter().enumerate() {
                if let Instr::Op { op, .. } = i
                    && counts(op)
                {
                    let (go, ended) = self.executors(pc as u32, cta);
                    all = (all.0 + go, all.1 + ended);
                }
            }
            all
        };
        match on {
            WaitTarget::Mbar(ix) => {
                let decl = self.mbar_decl(ix);
                let m = self.mbar(ix);
                let (go, ended) = of(
                    &|op| {
                        let arrives = |b: &BarrierUse<'_>| b.bar.bar == decl && b.action.arrives();
                        instruction(op, |i| i.barriers().iter().any(arrives))
                    },
                    None,
                );
                m.live && m.pending > 0 && ended > 0 && (go > 0 || m.pending == m.expected)
            }
            WaitTarget::Rendezvous(ix) => match self.rendezvous[ix as usize].kind {
                RendezvousKind::Named(bar, _, cta) => {
                    let uses = |op: &Op| matches!(op, Op::Named { bar: b, .. } if *b as NamedId == bar);
                    of(&uses, Some(cta)).1 > 0
                }
                _ => false,
            },
            WaitTarget::Own(_) | WaitTarget::Pool(_) | WaitTarget::Counter(_) => false,
        }
    }

    /// Whether the blocks around an instruction include an agent.
    pub(super) fn may_reach(&self, a: AgentId, pc: u32) -> bool {
        self.prog.code[..pc as usize].iter().all(|i| match i {
            Instr::Only(who, to) if *to > pc => self.among(a, who).unwrap_or(false),
            _ => true,
        })
    }

    fn explain_rendezvous(&self, a: AgentId, ix: u32) -> (String, String) {
        let m = &self.rendezvous[ix as usize];
        let name = self.meet_name(ix);
        let what = match m.kind {
            RendezvousKind::Named(..) => {
                format!("{name}: {} of {} threads have arrived, {} times before", m.arrived, m.needed, m.generation)
            }
            _ => format!("{name}, the {}. time: {} have arrived", m.generation + 1, m.arrived),
        };
        let scope = |i: usize| match m.kind {
            RendezvousKind::Cta(c) | RendezvousKind::Named(_, _, c) => self.spec.info[i].cta == c,
            RendezvousKind::Warp(c, w) => self.spec.info[i].cta == c && self.spec.info[i].warp == w,
            RendezvousKind::Warpgroup(c, g) => self.spec.info[i].cta == c && self.spec.info[i].warp / 4 == g,
            RendezvousKind::Cluster => true,
        };
        let missing: Vec<String> = (0..self.spec.info.len())
            .filter(|&i| i as u32 != a && scope(i) && !m.who.contains(i as AgentId))
            .map(|i| {
                let name = self.agent_name(i as AgentId);
                if self.agents[i as AgentId].ended {
                    format!("{name} (ended)")
                } else {
                    format!("{name} (at line {})", self.prog.site(self.agents[i as AgentId].pc).line)
                }
            })
            .take(8)
            .collect();
        (
            what,
            if missing.is_empty() {
                "more arrivals than there are warps".into()
            } else {
                format!("still to come: {}", missing.join(", "))
            },
        )
    }

    fn explain_own(&self, a: AgentId, pc: u32) -> (String, String) {
        if let Instr::Op { op: Op::Wait(q, _), .. } = &self.prog.code[pc as usize] {
            let n = self.outstanding(a, *q);
            return (format!("its own {q:?} operations: {n} outstanding"), "they land".into());
        }
        ("registers that a load has not filled yet".into(), "the load lands".into())
    }
}
