//! Objects of the program: shared and tensor memory, and the registers that accesses name.

use warpline_sim::ir::{Class, Dtype, Object};

use crate::lift::build::Plan;
use crate::lift::effects::tensor::TENSOR;

/// The object of accesses to global memory whose array is not known.
pub const UNKNOWN_GLOBAL: &str = "global";

pub(crate) fn objects(plan: &Plan) -> Vec<Object> {
    let object = |name: &str, class, dtype, rows, cols| Object::whole(name.into(), class, dtype, [rows, cols]);
    let mut list = vec![
        object(UNKNOWN_GLOBAL, Class::Global, Dtype::I8, 1, 128),
        object("loaded", Class::Reg, Dtype::I8, 1, 1),
        object("stored", Class::Reg, Dtype::I8, 1, 1),
        object("left", Class::Reg, Dtype::I8, 64, 32),
        object("arriving", Class::Reg, Dtype::I8, 1, 1),
        object("loaded_by_one", Class::Reg, Dtype::I8, 1, 1),
    ];
    for r in &plan.regions.list {
        let tensor = r.base >= TENSOR;
        let (name, class) = if tensor {
            (format!("tmem_{}", (r.base - TENSOR) / 64), Class::Tmem)
        } else {
            // The slots of a ring may begin ahead of shared memory, where nothing accesses the first ones.
            let sign = if r.base < 0 { "minus_" } else { "" };
            (format!("smem_{sign}{:x}", r.base.unsigned_abs()), Class::Shared)
        };
        let mut o = object(&name, class, Dtype::I8, r.slot, 1);
        o.slots = r.slots as u32;
        o.row_cuts = vec![0];
        // The last slot may reach beyond the object. Each slot leaves out a part of that: bytes that nothing accesses, or
        // bytes of the largest piece.
        let beyond = (r.slots * r.slot - (r.end - r.base)).max(0);
        let rows = r.slot - (beyond + r.slots - 1) / r.slots;
        let mut more = r.sizes.iter().map(|n| i64::from(*n)).sum::<i64>() - rows;
        let largest = r.sizes.iter().copied().max();
        let mut at = 0;
        for n in &r.sizes {
            let less = if Some(*n) == largest { more.clamp(0, i64::from(*n) - 1) } else { 0 };
            more -= less;
            at += n - less as u32;
            o.row_cuts.push(at);
        }
        // Bytes that no operation accesses are one piece, or are left out if all 64 pieces are used.
        if i64::from(at) < rows && r.sizes.len() < 64 {
            o.row_cuts.push(rows as u32);
            o.rows = rows;
        } else {
            o.rows = i64::from(at);
        }
        o.block = [o.rows, 1];
        list.push(o);
    }
    for (reg, n) in plan.accumulators.keys() {
        if *n == 0 {
            list.push(object(&format!("left_r{reg}"), Class::Reg, Dtype::I8, 64, 32));
            continue;
        }
        list.push(object(&format!("acc_r{reg}"), Class::Reg, Dtype::F32, 64, *n as i64));
    }
    list
}
