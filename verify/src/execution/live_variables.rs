//! The variables that an agent may still read. Others, such as the index of a loop that has ended, decide nothing.

use warpline_sim::ir::{Expr, Instr, Program, each};

/// For each instruction, the variables that an agent there may read before they are set again, a bit each.
#[derive(Clone, Debug)]
pub(crate) struct LiveVariables {
    words: usize,
    before: Vec<u64>,
}

impl LiveVariables {
    /// The variables that the code of a program reads.
    pub(crate) fn of(prog: &Program) -> LiveVariables {
        let (len, words) = (prog.code.len(), prog.vars.len().div_ceil(64).max(1));
        let mut reads = vec![0u64; len * words];
        for (pc, i) in prog.code.iter().enumerate() {
            each(prog, i, &mut |_, e| {
                e.visit(&mut |x| {
                    if let Expr::Var(v) = x {
                        reads[pc * words + *v as usize / 64] |= 1 << (*v % 64);
                    }
                });
            });
        }
        let mut live = LiveVariables { words, before: reads.clone() };
        // Each round follows the code backwards, but for jumps back to the heads of loops.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for pc in (0..len).rev() {
                changed |= live.flows(prog, pc, &reads);
            }
        }
        live
    }

    /// Adds what is live behind an instruction to what is live before it. Returns whether that is more than before.
    fn flows(&mut self, prog: &Program, pc: usize, reads: &[u64]) -> bool {
        let instr = &prog.code[pc];
        let next = (!matches!(instr, Instr::Jump(_) | Instr::End)).then_some(pc + 1);
        let behind = [next, instr.target().map(|to| to as usize)];
        let mut changed = false;
        for word in 0..self.words {
            let all = behind.iter().flatten().filter(|to| **to < prog.code.len());
            let mut live = all.fold(0, |all, to| all | self.before[to * self.words + word]);
            // An operation may leave a variable as it is.
            if let Instr::Set(v, _) = instr
                && *v as usize / 64 == word
            {
                live &= !(1 << (*v % 64));
            }
            let at = pc * self.words + word;
            live |= reads[at];
            changed |= self.before[at] != live;
            self.before[at] = live;
        }
        changed
    }

    /// Whether two ways of an agent come to one instruction, with the same values of all variables that it may read there.
    pub(crate) fn one_place(&self, a: Option<&(u32, Vec<i64>)>, b: Option<&(u32, Vec<i64>)>) -> bool {
        let (Some((pc, vars)), Some((other, others))) = (a, b) else { return a.is_none() && b.is_none() };
        let live = |v: usize| self.before[*pc as usize * self.words + v / 64] >> (v % 64) & 1 == 1;
        pc == other
            && vars.len() == others.len()
            && vars.iter().zip(others).enumerate().all(|(v, (x, y))| x == y || !live(v))
    }
}
