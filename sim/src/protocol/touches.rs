//! The memory and barriers that an operation uses, in words: places with their slots, barriers with their phases.

use crate::ir::{BarRef, Class, Op, Phase, Place};

use super::AgentId;
use super::flight::FlightId;
use super::world::World;

impl World<'_> {
    /// What the operation at `pc` touches for an agent that is at it or has just performed it, as `a[1]` or `phase 2 of
    /// full[1]`; empty where it names no place and no barrier.
    pub fn touches(&self, a: AgentId, pc: u32) -> Vec<String> {
        let crate::ir::Instr::Op { op, .. } = &self.prog.code[pc as usize] else { return Vec::new() };
        let mut list = Vec::new();
        let mut place = |verb: &str, p: &Place, crew: u64| {
            // The statement itself names memory outside of the kernel's own objects.
            if self.prog.objects[p.obj as usize].class != Class::Global
                && let Ok(f) = self.footprint(a, p, crew)
            {
                list.push(format!("{verb} {}", self.footprint_name(&f)));
            }
        };
        match op {
            Op::Move { src, dst, crew, .. } => {
                place("reads", src, *crew);
                place("writes", dst, *crew);
            }
            Op::Mma { a: left, b: right, acc, .. } => {
                place("reads", left, 0);
                place("reads", right, 0);
                place("writes", acc, 0);
            }
            Op::Put { dst, .. } | Op::NextTile { dst, .. } => place("writes", dst, 0),
            Op::Get { src, .. } => place("reads", src, 0),
            Op::Zero(p) => place("writes", p, 0),
            _ => {}
        }
        match op {
            Op::MbarWait { bar, phase } => {
                let want = match phase {
                    Phase::Absolute(e) => self.eval(a, e).map(|v| format!("phase {v}")),
                    Phase::Parity(e) => self.eval(a, e).map(|v| format!("parity {}", v & 1)),
                };
                let name = self.bars(a, bar).ok().and_then(|b| b.first().map(|ix| self.mbar_name(*ix)));
                list.extend(want.ok().zip(name).map(|(want, name)| format!("{want} of {name}")));
            }
            Op::Move { signals: Some(bar), .. }
            | Op::Arrive { bar, .. }
            | Op::Expect { bar, .. }
            | Op::CpArrive { bar, .. }
            | Op::NextTile { signals: bar, .. } => list.extend(self.signals_of(a, bar)),
            Op::CommitUmma(bars) => bars.iter().for_each(|b| list.extend(self.signals_of(a, b))),
            _ => {}
        }
        list
    }

    fn signals_of(&self, a: AgentId, bar: &BarRef) -> Vec<String> {
        let bars = self.bars(a, bar).unwrap_or_default();
        bars.iter().map(|ix| format!("signals {}", self.mbar_name(*ix))).collect()
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
