//! Matrix instructions that the assembler serializes.
//!
//! `wgmma.mma_async` runs beside its warps only while nothing else writes the accumulator. ptxas decides this on the
//! text, between a `wgmma.mma_async` and the next `wgmma.wait_group 0`. If an instruction there writes an accumulator,
//! ptxas warns (C7515) and waits for each product where it is issued. LLVM writes such instructions for a loop that may
//! be skipped: they set the accumulators to zero. Source: ptxas of CUDA 12.8 on 230 kernels of Triton. It serializes 35
//! of them, and the rule names the same 35.

use std::collections::BTreeSet;

use crate::lift::facts::slice::writes;
use crate::ptx::{Arg, Inst, Reg};

/// Whether ptxas waits for each matrix product of an entry where it is issued.
pub(crate) fn serialized(code: &[Inst]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 128\n{{\n\t.reg .f32 %f<8>;\n\t\
             .reg .b64 %rd<3>;\n\t.reg .pred %p<2>;\n{body}\tret;\n}}\n"
        );
        serialized(&crate::ptx::read(&text).expect("PTX").entries[0].code)
    }

    #[test]
    fn a_zero_for_a_skipped_loop_serializes_only_behind_a_product() {
        let product = "\twgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\
                       \twgmma.commit_group.sync.aligned;\n";
        let (wait, zero) = ("\twgmma.wait_group.sync.aligned 0;\n", "\tmov.f32 %f2, 0f00000000;\n");
        assert!(of(&format!("{product}{zero}{wait}")));
        assert!(!of(&format!("{zero}{product}{wait}")));
        assert!(!of(&format!("{product}{wait}{zero}")));
        // A wait that leaves products in flight does not end the stage, and other registers do not count.
        assert!(of(&format!("{product}\twgmma.wait_group.sync.aligned 1;\n{zero}{wait}")));
        assert!(!of(&format!("{product}\tmov.f32 %f5, 0f00000000;\n{wait}")));
    }
}
