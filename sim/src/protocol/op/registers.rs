//! `setmaxnreg`: registers that the warpgroups of a CTA hand to each other.
//!
//! All four warps of a warpgroup execute `setmaxnreg` alike and equally often, and the warps meet between two
//! executions (PTX ISA, setmaxnreg). Anything else is undefined, and a finding. In this model each warp changes its own
//! count. A core has a register file for each of its four schedulers, and warp `w` runs on scheduler `w % 4`. So a warp
//! gets only registers that such a warp gave back (`calibrate/data/h200_setmaxnreg.csv`).

use crate::code::Code;
use crate::ir::{Instr, Op, Program};
use crate::timeline::Lanes;

use super::{Aligned, Instruction};
use crate::protocol::order::Access;
use crate::protocol::parts::StatePart;
use crate::protocol::step::StepEffect;
use crate::protocol::vocabulary::{AgentId, Blocked, WaitTarget};
use crate::protocol::world::World;

/// Schedulers of a core, each of which has its own registers.
const SCHEDULERS: usize = 4;

/// Registers of one CTA: the free ones, and those of each warp. No warps where the program never changes registers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registers {
    /// Free registers of each scheduler, of all lanes.
    pub(in crate::protocol) free: [i64; SCHEDULERS],
    pub(in crate::protocol) warps: Vec<Owned>,
}

/// Registers of one warp.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::protocol) struct Owned {
    /// Registers of one thread.
    pub(in crate::protocol) count: u32,
    /// The number of changes by the warp, and the last change: the instruction, the count, and whether the change was
    /// `inc`.
    pub(in crate::protocol) times: u32,
    pub(in crate::protocol) last: Option<(Access, (u32, bool))>,
}

impl Registers {
    /// The registers that the CTAs of a program start with.
    pub(in crate::protocol) fn of(prog: &Program) -> Registers {
        let first = Owned { count: prog.regs.unwrap_or(0), ..Owned::default() };
        Registers {
            free: [0; SCHEDULERS],
            warps: vec![first; if hands_registers(prog) { prog.warps as usize } else { 0 }],
        }
    }

    /// Free registers, of all lanes, that a warp can get.
    pub(in crate::protocol) fn free_for(&self, warp: u32) -> i64 {
        self.free[warp as usize % SCHEDULERS]
    }
}

/// Whether a program changes the registers of its warps.
pub(in crate::protocol) fn hands_registers(prog: &Program) -> bool {
    prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::Regs { .. }, .. }))
}

/// `setmaxnreg`.
pub(super) struct SetRegisters {
    /// Registers of a thread.
    pub(super) count: u32,
    /// `inc`, which may wait, or `dec`.
    pub(super) inc: bool,
}

impl Instruction for SetRegisters {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        w.set_regs(a, pc, self.count, self.inc)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.extend([StatePart::Ended, StatePart::Pool(w.spec.info[a as usize].cta)]);
        Ok(())
    }

    fn aligned(&self) -> Aligned {
        Aligned::Warp
    }

    fn joins_lanes(&self) -> bool {
        true
    }

    fn together(&self) -> Option<bool> {
        Some(true)
    }
}

impl World<'_> {
    /// `setmaxnreg`: `dec` gives registers to the CTA's pool; `inc` waits until the pool has enough.
    fn set_regs(&mut self, a: AgentId, pc: u32, count: u32, inc: bool) -> Result<StepEffect, Blocked> {
        let who = self.spec.info[a as usize];
        let (cta, warp) = (who.cta as usize, who.warp as usize);
        self.whole_group(a, pc);
        let has = self.registers[cta].warps[warp].count;
        let (wrong, way) = if inc { (count < has, "inc") } else { (count > has, "dec") };
        let gets = if wrong { has } else { count };
        let change = (gets as i64 - has as i64) * self.spec.rules.warp_size as i64;
        if inc && change > self.registers[cta].free_for(who.warp) {
            return Err(Blocked::On(WaitTarget::Pool(who.cta)));
        }
        if wrong {
            let message = format!("`regs {way}` to {count} registers a thread, where it has {has}");
            self.find(Code::Number, a, pc, message, None);
        }
        self.in_turn(a, pc, (count, inc), count == has);
        let access = self.own_access(a, pc);
        let pool = &mut self.registers[cta];
        pool.free[warp % SCHEDULERS] -= change;
        let held = &mut pool.warps[warp];
        *held = Owned { count: gets, times: held.times + 1, last: Some((access, (count, inc))) };
        self.journal.changed(WaitTarget::Pool(who.cta));
        Ok(StepEffect::Sync)
    }

    /// The agent that acts for each other warp of an agent's warpgroup.
    fn others_of_group(&self, a: AgentId) -> impl Iterator<Item = AgentId> + use<> {
        let who = self.spec.info[a as usize];
        let same = |i: &AgentId| {
            let x = self.spec.info[*i as usize];
            (x.cta, x.warp / 4) == (who.cta, who.warp / 4) && x.warp != who.warp && x.lanes != Some(Lanes::Elected)
        };
        (0..self.spec.info.len() as AgentId).filter(same).collect::<Vec<_>>().into_iter()
    }

    fn registers_of_warp(&self, a: AgentId) -> &Owned {
        let who = self.spec.info[a as usize];
        &self.registers[who.cta as usize].warps[who.warp as usize]
    }

    /// Whether all warps of the warpgroup come to an instruction of this kind. Checked before the operation waits for
    /// registers, since a part of a warpgroup can wait without end. Reported once per place. A block can end within a
    /// warpgroup: that PTX speaks of four warps is a note then, since an H200 counts those that exist.
    fn whole_group(&mut self, a: AgentId, pc: u32) {
        let warp = self.spec.info[a as usize].warp;
        let group = warp / 4;
        let comes = |v: AgentId| {
            let any = |(at, i): (usize, &Instr)| {
                matches!(i, Instr::Op { op: Op::Regs { .. }, .. }) && self.may_reach(v, at as u32)
            };
            self.prog.code.iter().enumerate().any(any)
        };
        let times = self.registers_of_warp(a).times;
        let gone = |v: &AgentId| self.agents[*v].ended && self.registers_of_warp(*v).times <= times;
        let others = || self.others_of_group(a);
        let (message, note) = if self.spec.elected_at[pc as usize] {
            ("changes the registers of one lane: all threads of the warpgroup must".to_string(), false)
        } else if let Some(v) = others().find(|v| !comes(*v)) {
            let name = self.agent_name(v);
            (format!("changes the registers of a part of warpgroup {group}: {name} never does"), false)
        } else if let Some(v) = others().find(gone) {
            (self.part_of_group(a, v), false)
        } else if self.prog.warps < group * 4 + 4 {
            (format!("warpgroup {group} has only {} warps of four", self.prog.warps - group * 4), true)
        } else {
            return;
        };
        let site = self.prog.at[pc as usize];
        if !self.findings().iter().any(|f| f.code == Code::RegsPart && f.site == site) {
            if note {
                self.note(Code::RegsPart, a, pc, message, None);
            } else {
                self.find(Code::RegsPart, a, pc, message, None);
            }
        }
    }

    fn part_of_group(&self, a: AgentId, gone: AgentId) -> String {
        let group = self.spec.info[a as usize].warp / 4;
        format!("changes the registers of a part of warpgroup {group}: {} ended without", self.agent_name(gone))
    }

    /// The other warps of the warpgroup must have changed their registers as often, ordered before this change, or make
    /// the same change now. A warp that asks for what it has changes nothing: that the warps do not meet before is a note
    /// (Triton's worker warps do so).
    fn in_turn(&mut self, a: AgentId, pc: u32, (count, inc): (u32, bool), keeps: bool) {
        let again = if keeps { Self::note } else { Self::find };
        let times = self.registers_of_warp(a).times;
        for v in self.others_of_group(a) {
            let there = self.registers_of_warp(v);
            let (more, last) = (there.times, there.last);
            let name = self.agent_name(v);
            match last {
                Some((x, what)) if more == times + 1 && what != (count, inc) => {
                    let message = format!("changes the registers of one warpgroup in two ways: {name} to {}", what.0);
                    self.find(Code::RegsPart, a, pc, message, Some((x.pc, "there".into())));
                }
                Some((x, _))
                    if more == times && self.order.reached(self.spec.agent_row(a), x.epoch.comp) < x.epoch.clock =>
                {
                    let message = format!("follows another `regs`, and nothing orders it after that of {name}");
                    again(self, Code::RegsAgain, a, pc, message, Some((x.pc, "that one".into())));
                }
                _ if more < times => {
                    let message = format!("follows another `regs`, which {name} has not come to");
                    let last = self.registers_of_warp(a).last.map(|(x, _)| (x.pc, "the one before".into()));
                    again(self, Code::RegsAgain, a, pc, message, last);
                }
                _ => {}
            }
        }
    }

    /// An agent ended: its last change of registers counts for the other warps of its warpgroup. An elected lane can end
    /// while the other lanes of its warp still wait for registers.
    pub(in crate::protocol) fn leave_registers(&mut self, a: AgentId) {
        if self.spec.info[a as usize].lanes == Some(Lanes::Elected) {
            return;
        }
        if self.registers[self.spec.info[a as usize].cta as usize].warps.is_empty() {
            return;
        }
        let times = self.registers_of_warp(a).times;
        let ahead = self.others_of_group(a).find_map(|v| {
            let there = self.registers_of_warp(v);
            there.last.filter(|_| there.times > times).map(|(x, _)| (v, x.pc))
        });
        if let Some((v, pc)) = ahead {
            let message = self.part_of_group(v, a);
            self.find(Code::RegsPart, v, pc, message, None);
        }
    }
}
