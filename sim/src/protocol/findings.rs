//! Findings in words, and their record.

use crate::code::Code;
use crate::fences::Level;
use crate::ir::ObjId;
use crate::report::Finding;
use crate::timeline::Lanes;

use super::step::Step;
use super::vocabulary::{AgentId, Fault, WaitTarget};
use super::world::World;

/// What the steps of a world found.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    findings: Vec<Finding>,
    /// The first arrival that nothing orders after the end of the phase or generation before: agent, instruction,
    /// target.
    unordered: Option<(AgentId, u32, WaitTarget)>,
    /// Number of reads of tiles that state an expectation, and of all reads of tiles.
    reads: (u64, u64),
}

impl Results {
    /// Whether an arrival that another schedule could count elsewhere was noted.
    pub(super) fn is_unordered(&self) -> bool {
        self.unordered.is_some()
    }

    /// Notes an arrival that another schedule could count elsewhere. The first one is kept.
    pub(super) fn note_unordered(&mut self, a: AgentId, pc: u32, on: WaitTarget) {
        self.unordered.get_or_insert((a, pc, on));
    }

    /// Counts a read of a tile, and whether it states an expectation.
    pub(super) fn count_read(&mut self, expects: bool) {
        self.reads.0 += expects as u64;
        self.reads.1 += 1;
    }

    /// Number of reads of tiles that state an expectation, and of all reads of tiles.
    pub(super) fn reads(&self) -> (u64, u64) {
        self.reads
    }
}

impl World<'_> {
    /// All findings so far, in order.
    pub fn findings(&self) -> &[Finding] {
        &self.results.findings
    }

    /// Takes all findings.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.results.findings)
    }

    /// Gives a time in cycles to the findings that have none.
    pub fn date_findings(&mut self, cycle: f64) {
        self.results.findings.iter_mut().filter(|f| f.cycle < 0.0).for_each(|f| f.cycle = cycle);
    }

    /// The first arrival that nothing orders after the end of the phase or generation before: agent, instruction,
    /// target. Another schedule could count the arrival there, so one run does not decide for all.
    pub fn unordered(&self) -> Option<(AgentId, u32, WaitTarget)> {
        self.results.unordered
    }

    /// An agent's name, such as `math w4`, with lanes and CTA where these matter.
    pub fn agent_name(&self, a: AgentId) -> String {
        let who = self.spec.info[a as usize];
        let role = self.prog.role_of(who.warp).map_or("", |r| r.name.as_str());
        let mut s = if role.is_empty() { format!("warp {}", who.warp) } else { format!("{role} w{}", who.warp) };
        match who.lanes {
            Some(Lanes::Elected) => s += " (elected lane)",
            Some(Lanes::Rest) => s += " (other lanes)",
            None => {}
        }
        if self.prog.cluster > 1 {
            s += &format!(" of CTA {}", who.cta);
        }
        s
    }

    /// Counts a finding that these two places showed before; false where they did not. For checks whose message is slow
    /// to build and that a clean kernel can reach at every step.
    pub(super) fn met(&mut self, code: Code, pc: u32, other: Option<u32>) -> bool {
        let (site, other) = (self.prog.at[pc as usize], other.map(|pc| self.prog.at[pc as usize]));
        let same = |f: &&mut Finding| f.code == code && f.site == site && f.other.as_ref().map(|o| o.0) == other;
        let found = self.results.findings.iter_mut().find(same);
        found.is_some_and(|f| {
            f.times += 1;
            true
        })
    }

    /// Records a finding. A finding that the same two places showed before is only counted.
    pub(super) fn find(&mut self, code: Code, a: AgentId, pc: u32, message: String, other: Option<(u32, String)>) {
        let site = self.prog.at[pc as usize];
        let other = other.map(|(pc, text)| (self.prog.at[pc as usize], text));
        let (kind, agent) = (code.kind(), String::new());
        let new = Finding { code, kind, message, site, other, agent, cycle: -1.0, times: 1, note: false };
        if let Some(f) = self.results.findings.iter_mut().find(|f| f.same_places(&new)) {
            f.times += 1;
            return;
        }
        let agent = self.agent_name(a);
        self.results.findings.push(Finding { agent, ..new });
    }

    /// Records a note: worth knowing, but not a fault.
    pub(super) fn note(&mut self, code: Code, a: AgentId, pc: u32, message: String, other: Option<(u32, String)>) {
        let before = self.results.findings.len();
        self.find(code, a, pc, message, other);
        for f in &mut self.results.findings[before..] {
            f.note = true;
        }
    }

    /// Records a finding at the severity that a fence rule's level gives.
    pub(super) fn report(
        &mut self,
        level: Level,
        code: Code,
        (a, pc): (AgentId, u32),
        message: String,
        other: Option<(u32, String)>,
    ) {
        match level {
            Level::Off => {}
            Level::Note => self.note(code, a, pc, message, other),
            Level::Error => self.find(code, a, pc, message, other),
        }
    }

    pub(super) fn broken(&mut self, a: AgentId, pc: u32, f: &Fault) -> Step {
        let o = |id: &ObjId| &self.prog.objects[*id as usize];
        let message = match f {
            Fault::Arithmetic => "divides by zero, or a number grows past 64 bits".to_string(),
            Fault::Slot { obj, slot } => {
                format!("uses slot {slot} of {}, which has {}", o(obj).name, o(obj).slots)
            }
            Fault::Part { index, of } => format!("uses part {index} of {of}"),
            Fault::Stage { bar, stage } => {
                let b = &self.prog.mbars[*bar as usize];
                format!("uses {}[{stage}], which has {}", b.name, b.stages)
            }
            Fault::State { bar, state } => {
                let name = &self.prog.mbars[*bar as usize].name;
                format!(
                    "waits for state {state} of {name}, which no arrival on it has returned since the last such wait"
                )
            }
            Fault::Named { bar, index } => {
                let b = &self.prog.named[*bar as usize];
                format!("uses {}[{index}], which has {}", b.name, b.len)
            }
            Fault::Word { counter, index } => {
                let c = &self.prog.counters[*counter as usize];
                format!("uses {}[{index}], which has {}", c.name, c.len)
            }
            Fault::Threads(n) => format!("{n} threads of a barrier are not whole warps"),
            Fault::Cta(c) => format!("CTA {c} is not in the cluster of {}", self.prog.cluster),
            Fault::Mask(m) => format!("CTA mask {m:#b} does not fit a cluster of {}", self.prog.cluster),
            Fault::Elsewhere(bar, cta) => {
                format!("stores to CTA {cta} and signals an mbarrier of CTA {bar}, where both must be of one CTA")
            }
            Fault::Pair(at, cta) => {
                format!("a copy into CTA {cta} signals in CTA {at}, which is not of its pair")
            }
            Fault::Negative(what, n) => format!("{what} is {n}"),
            Fault::Endless => "loops without ever reaching an operation".to_string(),
        };
        let code = match f {
            Fault::Arithmetic | Fault::Threads(_) | Fault::Negative(..) | Fault::Endless => Code::Number,
            _ => Code::Index,
        };
        self.find(code, a, pc, message, None);
        Step::Broken
    }
}
