//! Matrix instructions that the assembler serializes.
//!
//! `wgmma.mma_async` runs beside its warps only while nothing else writes the accumulator. ptxas decides this on the
//! text: where an instruction between a `wgmma.mma_async` and the next `wgmma.wait_group 0` writes one of its
//! accumulators, as LLVM's copies of a zero for a loop that is skipped do, ptxas warns (C7515) and waits for each
//! product where it is issued. Source: ptxas of CUDA 12.8 on 230 kernels of Triton, of which 35 are serialized; the
//! rule names the same 35.

use std::collections::BTreeSet;

use crate::ptx::{Arg, Inst, Reg};

use super::slice::writes;

/// Whether ptxas waits for each matrix product of an entry where it is issued.
pub(super) fn serialized(code: &[Inst]) -> bool {
    let mut accumulators: BTreeSet<Reg> = BTreeSet::new();
    for i in code {
        if i.op == "wgmma" {
            if i.has("mma_async") {
                i.arg(0).each_reg(&mut |r| {
                    accumulators.insert(r);
                });
            } else if i.has("wait_group") && matches!(i.args.first(), Some(Arg::Int(0))) {
                accumulators.clear();
            }
            continue;
        }
        let mut hit = false;
        if !accumulators.is_empty() {
            writes(i, &mut |r| hit |= accumulators.contains(&r));
        }
        if hit {
            return true;
        }
    }
    false
}
