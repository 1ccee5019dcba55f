//! The memory and barriers that an operation uses, in words: places with their slots, barriers with their phases.

use crate::ir::{Class, Op, Phase};

use super::op::{BarrierAction, instruction};
use super::vocabulary::{AgentId, FlightId};
use super::world::World;

impl World<'_> {
    /// What the operation at `pc` touches for an agent that is at it or has just performed it, as `a[1]` or `phase 2 of
    /// full[1]`; empty where it names no place and no barrier.
    pub fn touches(&self, a: AgentId, pc: u32) -> Vec<String> {
        let crate::ir::Instr::Op { op, .. } = &self.prog.code[pc as usize] else { return Vec::new() };
        let mut list = Vec::new();
        instruction(op, |i| {
            // A statement of arithmetic names its places.
            for p in i.places().iter().filter(|_| !matches!(op, Op::Alu { .. })) {
                // The statement itself names memory outside of the kernel's own objects.
                if self.prog.objects[p.place.obj as usize].class != Class::Global
                    && let Ok(f) = self.footprint(a, p.place, p.crew)
                {
                    list.push(format!("{} {}", if p.writes { "writes" } else { "reads" }, self.footprint_name(&f)));
                }
            }
            for used in i.barriers().iter().filter(|used| used.action != BarrierAction::Wait) {
                let bars = self.bars(a, used.bar).unwrap_or_default();
                list.extend(bars.iter().map(|ix| format!("signals {}", self.mbar_name(*ix))));
            }
        });
        if let Op::MbarWait { bar, phase } = op {
            let want = match phase {
                Phase::Absolute(e) => self.eval(a, e).map(|v| format!("phase {v}")),
                Phase::Parity(e) => self.eval(a, e).map(|v| format!("parity {}", v & 1)),
                Phase::State(s) => Ok(format!("the phase of state {s}")),
            };
            let name = self.bars(a, bar).ok().and_then(|b| b.first().map(|ix| self.mbar_name(*ix)));
            list.extend(want.ok().zip(name).map(|(want, name)| format!("{want} of {name}")));
        }
        list
    }

    /// The effect of a flight's landing: `16384 bytes for phase 0 of full[1]`.
    pub fn brings(&self, id: FlightId) -> Vec<String> {
        let Some(f) = self.flight(id) else { return Vec::new() };
        let bytes = f.delivers.iter().map(|(bar, n, phase)| {
            let name = self.mbar_name(*bar);
            format!("{n} bytes for phase {phase} of {name}")
        });
        let arrivals = f.arrives.iter().map(|(bar, n)| match n {
            1 => format!("an arrival on {}", self.mbar_name(*bar)),
            n => format!("{n} arrivals on {}", self.mbar_name(*bar)),
        });
        bytes.chain(arrivals).collect()
    }
}
