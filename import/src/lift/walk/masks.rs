//! Bit masks with a meaning, and answers of `clusterlaunchcontrol`.

use crate::lift::tree::Val;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::{Atom, Node, Op, Term};

use super::Walk;

/// Where the answers of `clusterlaunchcontrol` are placed in the address range of global memory.
const ANSWERS: i64 = 1 << 60;
/// Bytes of an answer.
const ANSWER: i64 = 16;

impl Walk<'_, '_> {
    /// A mask that clears the lowest CTA bit of an address in the cluster's window. The result is the address in the
    /// pair's leader CTA.
    pub(crate) fn leader_mask(&self, i: &Inst) -> Option<i64> {
        i.args_from(1).iter().find_map(|a| match a {
            Arg::Int(v) if *v as u64 >> 32 == u32::MAX as u64 || *v as u64 >> 32 == 0 => {
                (*v as u32 >> 24 == 0xfe).then_some(*v as i32 as i64)
            }
            _ => None,
        })
    }

    /// The address in the pair's leader.
    pub(crate) fn leader(&mut self, i: &Inst) -> Result<(), Error> {
        let mask = self.leader_mask(i).unwrap_or(-1) | 1 << 24;
        let from = if matches!(i.arg(1), Arg::Int(_)) { i.arg(2) } else { i.arg(1) };
        let v = self.operand(from)?;
        let (rank, pair) = (self.s.rank as i64, self.s.ctas() > 1);
        let v = self.each(
            &[v],
            |a, x| {
                let mask = a.int(mask);
                let t = a.and(x[0], mask);
                Some(if pair { a.plus(t, crate::lift::REMOTE * ((rank & !1) + 1)) } else { t })
            },
            "an address in the pair's leader",
        );
        self.set_arg(i.arg(0), v);
        Ok(())
    }

    /// A number whose sign and low bits a mask clears: the compiler knew that the number is not negative.
    pub(crate) fn masked(&mut self, i: &Inst) -> Result<(), Error> {
        let from = if matches!(i.arg(1), Arg::Int(_)) { i.arg(2) } else { i.arg(1) };
        let v = self.operand(from)?;
        let lane = self.lanes.trailing_zeros().min(31) as usize;
        let mask = match positive_mask(i) {
            Some(mask) => mask,
            None => self.upper_mask(i, v.at(lane)).unwrap_or(-1),
        };
        if self.s.arena.range(v.at(lane)).0 < 0 {
            self.s.assume(i.line, "a number of which a mask clears the sign and low bits is not negative");
        }
        let v = self.each(
            &[v],
            |a, x| {
                let mask = a.int(mask);
                Some(a.and(x[0], mask))
            },
            "a mask",
        );
        self.set_arg(i.arg(0), v);
        Ok(())
    }

    /// Whether [`upper_mask`](Self::upper_mask) finds the mask of an instruction.
    pub(crate) fn has_upper_mask(&mut self, i: &Inst) -> bool {
        if !matches!(i.arg(2), Arg::Int(1..=0x3fff_ffff)) {
            return false;
        }
        let v = self.operand(i.arg(1)).ok();
        v.and_then(|v| v.uniform(self.lanes)).is_some_and(|t| self.upper_mask(i, t).is_some())
    }

    /// A mask that clears low bits of a quotient of an argument, as one that keeps all other bits. The compiler knew that the
    /// bits above the mask are zero: `(n >> 8) & 0x7ffffc`.
    pub(crate) fn upper_mask(&self, i: &Inst, t: Term) -> Option<i64> {
        if self.s.arena.constant(t).is_some() {
            return None;
        }
        i.args_from(1).iter().find_map(|a| match a {
            Arg::Int(v @ 1..=0x3fff_ffff) if i.has("b32") && v % 2 == 0 => {
                let low = 1i64 << v.trailing_zeros();
                let most = v + low - 1;
                let fits = (most + 1) & most == 0 && self.most(t).is_some_and(|n| n <= most);
                fits.then_some(-low)
            }
            _ => None,
        })
    }

    /// The largest value of a number that a shift, or a type of 32 bits, bounds.
    fn most(&self, t: Term) -> Option<i64> {
        if let Some(most) = self.s.arena.most_shifted(t) {
            return Some(most);
        }
        match self.s.arena.node(t) {
            Node::Const(v) => Some(*v),
            Node::Sum(k, parts) => match **parts {
                [(x, c)] if c > 1 && *k == 0 => self.most(x)?.checked_mul(c),
                _ => None,
            },
            Node::Atom(Atom::Param(p, o)) => (self.s.cases.bytes.get(&(*p, *o)) == Some(&4)).then_some(i32::MAX.into()),
            Node::Op(Op::Div | Op::DivZero, args) => {
                let by = self.s.arena.constant(args[1]).filter(|by| *by > 0)?;
                Some(self.most(args[0])? / by)
            }
            Node::Op(Op::Max, args) => Some(self.most(args[0])?.max(self.most(args[1])?)),
            _ => None,
        }
    }

    /// The result of `clusterlaunchcontrol.query_cancel`. All roles read the answers in the same order and get the same
    /// values.
    pub(crate) fn answer(&mut self, i: &Inst) {
        self.s.assume(i.line, "each role reads the answers of `clusterlaunchcontrol` in order, one an iteration");
        let header = self.frames.last().map(|f| self.s.flow.loops[f.index].header as u32);
        let turn = match header {
            Some(h) => self.s.arena.atom(Atom::Counter(h)),
            None => self.s.arena.int(-1),
        };
        let kinds = ["is_canceled", "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"];
        let kind = kinds.iter().position(|k| i.has(k)).unwrap_or(4) as i64;
        let mut regs = Vec::new();
        i.arg(0).each_reg(&mut |r| regs.push(r));
        for (n, r) in regs.into_iter().enumerate() {
            let address = self.s.arena.scale(turn, ANSWER);
            let address = self.s.arena.plus(address, ANSWERS + kind + n as i64);
            let mut t = self.s.arena.op(Op::Load, &[address]);
            if kind == 0 {
                let zero = self.s.arena.eq(t);
                t = self.s.arena.not(zero);
            }
            self.set(r, Val::Uni(t));
        }
    }
}

/// Whether an address stands for an answer of `clusterlaunchcontrol`: whether it hands out the work of another CTA.
pub(crate) fn is_canceled(address: i64) -> bool {
    (ANSWERS..ANSWERS << 1).contains(&address) && (address - ANSWERS) % ANSWER == 0
}

/// A mask of all upper bits without the sign, as one with the sign.
pub(crate) fn positive_mask(i: &Inst) -> Option<i64> {
    i.args_from(1).iter().find_map(|a| match a {
        Arg::Int(v @ 1..=0x7fff_ffff) if i.has("b32") => {
            let all = *v - (1 << 31);
            (all as i32 as i64 == all && (-all as u64).is_power_of_two() && -all < 1 << 24).then_some(all)
        }
        _ => None,
    })
}
