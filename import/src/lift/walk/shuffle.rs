//! Values that lanes of a warp exchange by `shfl`, and products of all lanes.

use crate::lift::tree::{Effect, Val};
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::{Op, Term};

use super::Walk;

/// Lanes of a warp.
const LANES: i64 = 32;

impl Walk<'_, '_> {
    /// A product of all lanes of a warp: it needs the operands that each lane loaded. Only arrivals by single lanes can
    /// tell, and stores before it stay without an order.
    ///
    /// # Errors
    /// Data decide whether it is executed.
    pub(crate) fn multiplied(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let whole = self.lanes == u32::MAX && self.unsure == 0 && self.timing().is_none();
        if whole && self.apart && !self.wrote && self.s.signals {
            self.s.assume(
                i.line,
                "lanes that multiply by `mma.sync` have completed their loads of shared memory before it",
            );
            self.push(at, 0, Effect::WarpSync)?;
        }
        Ok(())
    }

    /// `shfl`: the value of another lane, and the predicate that says whether that lane exists.
    ///
    /// # Errors
    /// An operand cannot be read.
    pub(crate) fn shuffle(&mut self, i: &Inst, to: &Arg) -> Result<(), Error> {
        let v = self.operand(i.arg(1))?;
        let v = if matches!(v, Val::Uni(_)) { v } else { self.shuffled(i, &v)? };
        match to {
            Arg::Pair(d, p) => {
                let yes = self.s.arena.int(1);
                self.set_arg(d, v);
                self.set_arg(p, Val::Uni(yes));
            }
            to => self.set_arg(to, v),
        }
        Ok(())
    }

    /// The value that each lane receives, where lanes have different ones.
    fn shuffled(&mut self, i: &Inst, v: &Val) -> Result<Val, Error> {
        let index = self.operand(i.arg(2))?.uniform(self.lanes);
        let clamp = self.operand(i.args.get(3).unwrap_or(&Arg::Sink))?.uniform(self.lanes);
        let whole = clamp.is_some_and(|t| self.s.arena.constant(t) == Some(LANES - 1));
        match index {
            Some(t) if i.has("idx") => match self.s.arena.constant(t) {
                Some(lane @ 0..LANES) => return Ok(Val::Uni(v.at(lane as usize))),
                None if whole && !self.opaque(t) => return Ok(Val::Uni(self.of_lane(t, v))),
                _ => {}
            },
            Some(t) if i.has("bfly") && whole => {
                if let Some(mask @ 0..LANES) = self.s.arena.constant(t) {
                    let other = self.opaque_lanes("another lane's value");
                    let from = |lane: usize| lane ^ mask as usize;
                    let known = |lane: usize| self.lanes >> from(lane) & 1 == 1;
                    return Ok(Val::of(std::array::from_fn(|l| if known(l) { v.at(from(l)) } else { other.at(l) })));
                }
            }
            _ => {}
        }
        Ok(self.opaque_lanes("another lane's value"))
    }

    /// The value of the lane with a number that is a term.
    fn of_lane(&mut self, number: Term, v: &Val) -> Term {
        let (low, high) = self.s.arena.range(number);
        let (low, high, number) = if low >= 0 && high < LANES {
            (low, high, number)
        } else {
            let all = self.s.arena.int(LANES);
            (0, LANES - 1, self.s.arena.rem(number, all))
        };
        // Lanes with values at equal distances, such as the descriptors of a ring's slots.
        let at = |lane: i64| v.at(lane as usize);
        if high > low {
            let step = self.s.arena.sub(at(low + 1), at(low));
            let even = (low + 1..high).all(|lane| self.s.arena.sub(at(lane + 1), at(lane)) == step);
            if let (true, Some(step)) = (even, self.s.arena.constant(step)) {
                let offset = self.s.arena.plus(number, -low);
                let offset = self.s.arena.scale(offset, step);
                return self.s.arena.add(at(low), offset);
            }
        }
        // What lanes found in memory, by the place of one that a vote picked.
        if (low..=high).any(|lane| self.s.arena.reads_memory(at(lane))) {
            let id = self.s.function_id("shfl.idx".into());
            let all = self.s.arena.lanes(&std::array::from_fn(|lane| v.at(lane)));
            let name = self.s.arena.int(id);
            return self.s.arena.op(Op::Load, &[name, all, number]);
        }
        let mut all = at(high);
        for lane in (low..high).rev() {
            let d = self.s.arena.plus(number, -lane);
            let this = self.s.arena.eq(d);
            all = self.s.arena.op(Op::If, &[this, at(lane), all]);
        }
        all
    }
}
