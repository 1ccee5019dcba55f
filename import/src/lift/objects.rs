//! Objects of the program: shared and tensor memory, and the registers that accesses name.

use warpline_sim::ir::{Class, Dtype, Object};

use super::build::Plan;
use super::tensor::TENSOR;

pub(super) fn objects(plan: &Plan) -> Vec<Object> {
    let object = |name: &str, class, dtype, rows, cols| Object::whole(name.into(), class, dtype, [rows, cols]);
    let mut list = vec![
        object("global", Class::Global, Dtype::I8, 1, 128),
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
            (format!("smem_{:x}", r.base), Class::Shared)
        };
        let mut o = object(&name, class, Dtype::I8, r.slot, 1);
        o.slots = r.slots as u32;
        o.row_cuts = vec![0];
        let mut at = 0;
        for n in &r.sizes {
            at += n;
            o.row_cuts.push(at);
        }
        // Bytes that no operation accesses are one piece, or are left out if all 64 pieces are used.
        if (at as i64) < r.slot && r.sizes.len() < 64 {
            o.row_cuts.push(r.slot as u32);
        } else {
            o.rows = at as i64;
        }
        o.block = [o.rows, 1];
        list.push(o);
    }
    for (reg, n) in plan.accumulators.keys() {
        list.push(object(&format!("acc_r{reg}"), Class::Reg, Dtype::F32, 64, *n as i64));
    }
    list
}
