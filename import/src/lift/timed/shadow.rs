//! Arithmetic in the shadow of a matrix product.
//!
//! Some instructions need no result of a load, of a product or of another warp. The assembler moves them to where a warp
//! would wait anyway. So addresses of the next copies are computed while a product runs, not behind the barrier after it.
//! Source: the machine code of Triton's products (`HGMMA`, then `IADD3` and `IMAD`, then `WARPGROUP.DEPBAR`).

use std::collections::BTreeSet;

use crate::lift::facts::slice::writes;
use crate::lift::tree::{Effect, Kind, Node};
use crate::ptx::{Inst, Reg};

/// Registers whose values depend on memory, products or other warps.
#[derive(Debug, Default)]
pub(crate) struct Results(BTreeSet<Reg>);

impl Results {
    /// Follows an instruction. Returns whether the instruction only computes, from values that depend on none of these.
    pub(crate) fn follow(&mut self, i: &Inst) -> bool {
        let fetches = matches!(
            i.op.as_str(),
            "ld" | "ldu"
                | "ldmatrix"
                | "wgmma"
                | "mma"
                | "atom"
                | "shfl"
                | "vote"
                | "redux"
                | "match"
                | "elect"
                | "tcgen05"
                | "mbarrier"
                | "tex"
        ) && !i.has("param");
        let mut needs = fetches;
        i.guard.iter().for_each(|g| needs |= self.0.contains(&g.0));
        i.args_from(1).iter().for_each(|a| a.each_reg(&mut |r| needs |= self.0.contains(&r)));
        let mut written = Vec::new();
        writes(i, &mut |r| written.push(r));
        if i.op == "wgmma" {
            i.args.first().iter().for_each(|a| a.each_reg(&mut |r| written.push(r)));
        }
        for r in written {
            if needs {
                self.0.insert(r);
            } else {
                self.0.remove(&r);
            }
        }
        !needs
    }
}

/// Where instructions that need no result can go: behind the last product, if only waits, barriers and fences follow.
pub(crate) fn shadow(nodes: &[Node]) -> Option<usize> {
    for (i, n) in nodes.iter().enumerate().rev() {
        match &n.kind {
            Kind::Op(_, Effect::Wgmma { .. }) => return Some(i + 1),
            Kind::Op(_, Effect::Commit(_) | Effect::WaitGroup(..) | Effect::Bar(..) | Effect::Fence(_)) => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lift::tree::Stream;
    use crate::ptx::read;

    #[test]
    fn what_comes_from_a_load_or_a_product_stays_a_result_until_it_is_written_anew() {
        let text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
                    .reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
                    ld.param.b64 %rd1, [p];\nadd.s32 %r1, %r2, 1;\nld.global.b32 %r3, [%rd1];\nadd.s32 %r4, %r3, %r1;\n\
                    add.s32 %r5, %r4, 1;\nadd.s32 %r4, %r1, 1;\nadd.s32 %r6, %r4, 1;\nret;\n}\n";
        let mut results = Results::default();
        let code = &read(text).expect("PTX").entries[0].code;
        let free: Vec<bool> = code.iter().map(|i| results.follow(i)).collect();
        assert_eq!(free, [true, true, false, false, false, true, true, true]);
    }

    #[test]
    fn what_is_free_goes_behind_a_product_across_waits_and_barriers_but_not_across_copies() {
        let node = |e: Effect| Node { at: 1, part: 0, kind: Kind::Op(u32::MAX, e) };
        let product = || node(Effect::Wgmma { a: None, b: Vec::new(), acc: 1, n: 64, k: 32 });
        let (commit, wait) = (|| node(Effect::Commit(Stream::Wgmma)), || node(Effect::WaitGroup(Stream::Wgmma, 0)));
        let bar = || node(Effect::Bar(0, 128, true));
        assert_eq!(shadow(&[commit(), product(), commit(), wait(), bar()]), Some(2));
        assert_eq!(shadow(&[product(), wait(), node(Effect::Use(3)), bar()]), None);
        assert_eq!(shadow(&[wait(), bar()]), None);
    }
}
