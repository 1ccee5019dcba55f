//! Which warps execute an instruction.

use super::{Executors, Instr, Program};

impl Program {
    /// For each instruction, bits of the warps that the heads around it name.
    pub fn warps_at(&self) -> Vec<u64> {
        let all = if self.warps == 64 { u64::MAX } else { (1 << self.warps) - 1 };
        let mut warps = vec![all; self.code.len()];
        for (pc, i) in self.code.iter().enumerate() {
            if let Instr::Only(Executors::Warps(named), to) = i {
                warps.iter_mut().take(*to as usize).skip(pc + 1).for_each(|warps| *warps &= named);
            }
        }
        warps
    }
}
