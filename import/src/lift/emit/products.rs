//! Matrix instructions.

use warpline_sim::ir::{MmaKind, Op as IrOp, Operand, Place};

use crate::lift::build::LEFT;
use crate::lift::effects::copies::width;
use crate::lift::facts::in_flight::first;
use crate::lift::tree::TensorShape;
use crate::ptx::Error;
use crate::symbolic::Term;

use super::Emit;
use super::places::{warp_list, whole};

impl Emit<'_, '_, '_> {
    /// A matrix multiplication in tensor memory. It becomes several where operands cover several slots.
    pub(super) fn tensor_product(
        &mut self,
        at: usize,
        operands: [&Vec<(Term, u32)>; 4],
        (kind, shape): (MmaKind, TensorShape),
        warps: u64,
    ) -> Result<(), Error> {
        let mut places: Vec<Vec<Place>> = Vec::new();
        for runs in operands {
            let feet = self.feet(warp_list(warps).map(|w| (w, runs.as_slice())));
            let mut list = Vec::new();
            for ((object, slot, ring), by_warp) in feet {
                list.push(self.place(at, object, slot, &ring, &by_warp)?);
            }
            places.push(list);
        }
        let d = places.pop().unwrap_or_default();
        let mut reads: Vec<Place> = places.into_iter().flatten().collect();
        let timed = self.s.timing.is_some();
        if timed && reads.len() > 2 {
            // For its time, one product is enough: the left operand comes first, the right one last.
            reads.drain(1..reads.len() - 1);
        }
        let n = if timed { 1 } else { d.len().max(reads.len().div_ceil(2)) };
        for i in 0..n {
            let read = |j: usize| reads.get(j).or(reads.last()).or(d.first()).cloned();
            let (Some(mut a), Some(mut b), Some(acc)) = (read(2 * i), read(2 * i + 1), d.get(i).or(d.last()).cloned())
            else {
                break;
            };
            // A product with several places divides the depth.
            let depth = shape.depth.div_ceil(n.max(1) as u32);
            let operand = |rows: u32| Some(Operand { rows: rows as u16, depth: depth as u16, bits: shape.bits as u8 });
            (a.sel.operand, b.sel.operand) = (operand(shape.rows), operand(shape.columns));
            self.op(at, IrOp::Mma { kind, a, b, acc });
        }
        Ok(())
    }

    pub(super) fn product(
        &mut self,
        at: usize,
        a: Option<&[(Term, u32)]>,
        b: &[(Term, u32)],
        (acc, columns, depth_bytes): (u32, u32, u32),
        warps: u64,
    ) -> Result<(), Error> {
        let mut places = Vec::new();
        for runs in [a, Some(b)] {
            let mut list = Vec::new();
            if let Some(runs) = runs {
                let feet = self.feet(warp_list(warps).map(|w| (w, runs)));
                for ((object, slot, ring), by_warp) in feet {
                    list.push(self.place(at, object, slot, &ring, &by_warp)?);
                }
            } else {
                // A left operand that other instructions access has an object of its own.
                let own = first(self.s.entry.code[at].arg(1)).and_then(|r| self.plan.accumulators.get(&(r, 0)));
                list.push(whole(own.copied().unwrap_or(LEFT)));
            }
            places.push(list);
        }
        // For its time, one product with all of the depth is enough.
        let n = if self.s.timing.is_some() { 1 } else { places[0].len().max(places[1].len()) };
        let acc = whole(self.plan.accumulators.get(&(acc, columns)).copied().unwrap_or(LEFT));
        // Operands that cover several slots divide the depth.
        let bits = self.s.entry.code[at].mods.iter().filter_map(|m| width(m)).nth(1).unwrap_or(16);
        let depth = (depth_bytes * 8 / bits).div_ceil(n.max(1) as u32);
        for i in 0..n {
            let pick = |list: &Vec<Place>, rows: u32| {
                let mut place = list[i.min(list.len() - 1)].clone();
                place.sel.operand = Some(Operand { rows: rows as u16, depth: depth as u16, bits: bits as u8 });
                place
            };
            let (x, y) = (pick(&places[0], 64), pick(&places[1], columns));
            self.op(at, IrOp::Mma { kind: MmaKind::Wgmma, a: x, b: y, acc: acc.clone() });
        }
        Ok(())
    }
}
