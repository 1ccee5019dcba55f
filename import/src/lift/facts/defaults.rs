//! Counts that memory gives in place of a number: `n = lengths == 0 ? 8 : lengths[i]`. Shared memory has room for the
//! number. Where the addresses of a loop over such a count have no bounds otherwise, the count is taken to be at most
//! the number.

use std::collections::BTreeMap;

use crate::flow::{BlockId, Flow};
use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::ptx::{Arg, Entry, Inst, Reg};
use crate::symbolic::Op;

use super::slice::{reads, writes};

/// The largest such number.
const MOST: i64 = 1024;

/// The instructions that set a register to a count in place of a number, each with the number. The two set the register
/// once and outside of loops, and a comparison in a loop reads it.
pub(crate) fn defaults(entry: &Entry, flow: &Flow) -> BTreeMap<usize, i64> {
    let mut written: BTreeMap<Reg, Vec<(usize, BlockId)>> = BTreeMap::new();
    let mut compared = vec![false; entry.regs.len()];
    for (b, block) in flow.blocks.iter().enumerate() {
        let inside = flow.loops.iter().any(|l| l.body[b]);
        for at in block.first..block.end {
            let i = &entry.code[at];
            writes(i, &mut |r| written.entry(r).or_default().push((at, b)));
            if inside && i.op == "setp" {
                reads(i, &mut |r| compared[r as usize] = true);
            }
        }
    }
    let mut found = BTreeMap::new();
    for (_, list) in written.iter().filter(|(r, list)| compared[**r as usize] && list.len() == 2) {
        let [(x, of_x), (y, of_y)] = [list[0], list[1]];
        let looped = |b: BlockId| flow.loops.iter().any(|l| l.body[b]);
        let is_guarded = |at: usize| entry.code[at].guard.is_some();
        if looped(of_x) || looped(of_y) || is_guarded(x) || is_guarded(y) {
            continue;
        }
        let (most, number, count) = match (number(&entry.code[x]), number(&entry.code[y])) {
            (Some(n), None) => (n, of_x, (y, of_y)),
            (None, Some(n)) => (n, of_y, (x, of_x)),
            _ => continue,
        };
        if number != count.1 && !flow.dominates(count.1, number) {
            found.insert(count.0, most);
        }
    }
    found
}

/// The number that an instruction sets a register to.
fn number(i: &Inst) -> Option<i64> {
    match i.args.as_slice() {
        [_, Arg::Int(n)] if i.op == "mov" && (1..=MOST).contains(n) => Some(*n),
        _ => None,
    }
}

impl Walk<'_, '_> {
    /// Bounds the count that an instruction has set its register to, where it is one in place of a number.
    pub(crate) fn at_most_default(&mut self, at: usize) {
        let Some(most) = self.s.defaults.get(&at).copied() else { return };
        let i = self.inst(at);
        let Some(Arg::Reg(r)) = i.args.first() else { return };
        let Some(Val::Uni(count)) = self.regs[*r as usize].clone() else { return };
        if !self.s.arena.reads_memory(count) || self.opaque(count) {
            return;
        }
        self.s.assume(i.line, format!("a count that memory gives in place of {most} is 0 to {most}"));
        let a = &mut self.s.arena;
        let (least, most) = (a.int(0), a.int(most));
        let capped = a.op(Op::Min, &[count, most]);
        self.regs[*r as usize] = Some(Val::Uni(a.op(Op::Max, &[capped, least])));
    }
}
