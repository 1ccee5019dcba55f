//! Stores of output: inside their matrix, each block completely, each element once.

use crate::code::Code;
use crate::ir::{Binary, Expr, Object, Place, Program};
use crate::words::of;

use super::Stored;
use crate::protocol::footprint::Footprint;
use crate::protocol::vocabulary::{AgentId, Decision, Fault, FormId};
use crate::protocol::world::World;

impl World<'_> {
    /// Holds a block that threads access without a mask to having a part inside its matrix. These instructions do not
    /// check where the matrix ends, as TMA and masked accesses do.
    pub(in crate::protocol) fn inside(
        &mut self,
        a: AgentId,
        pc: u32,
        f: &Footprint,
        place: &Place,
    ) -> Result<(), Fault> {
        // A search gives numbers other values, and so does a proof over turns.
        if self.order.is_off() || !self.prog.compares_ends() {
            return Ok(());
        }
        let o = &self.prog.objects[f.obj as usize];
        let (by, ends) = (if place.elements { [1, 1] } else { o.block }, [o.rows, o.cols]);
        let mut f = *f;
        for (i, e) in place.inside.iter().flatten().enumerate() {
            // A remainder is inside where the largest remainder is.
            let largest = match e {
                Expr::Binary(Binary::Rem, p) => self.prog.launch_value(&p.1).filter(|n| *n > 0).map(|n| n - 1),
                _ => None,
            };
            f.at[i] = match largest.filter(|n| n.saturating_mul(by[i]) < ends[i]) {
                Some(n) => n,
                None => self.placed(a, e)?.v,
            };
        }
        for i in (0..2).filter(|i| place.begins_inside[*i]) {
            (f.at[i], f.forms[i]) = (0, FormId::default());
        }
        let f = &f;
        let first = [f.at[0].saturating_mul(by[0]), f.at[1].saturating_mul(by[1])];
        let reached = &mut self.memory.coverage.reached[f.obj as usize];
        (0..2).for_each(|i| reached[i] = reached[i].max(first[i]));
        if let Some(place) = &self.spec.place {
            for i in 0..2 {
                place.sign(pc, f.at[i].saturating_mul(2).saturating_add(1), place.times(f.forms[i], 2));
                let past = first[i].saturating_sub(ends[i]).saturating_mul(2).saturating_add(1);
                place.sign(pc, past, place.times(f.forms[i], by[i].saturating_mul(2)));
            }
        }
        for i in 0..2 {
            self.judge(Decision::Op(Binary::Lt, f.at[i], 0));
            self.judge(Decision::End { obj: f.obj, axis: i as u8, first: first[i], end: ends[i] });
        }
        let Some(i) = (0..2).find(|i| first[*i] >= ends[*i] || f.at[*i] < 0) else { return Ok(()) };
        if !self.met(Code::Outside, pc, None) {
            let unit = ["row", "column"][i];
            let blocks = if by[i] > 1 { format!(" (blocks have {})", of(by[i], unit)) } else { String::new() };
            let message = format!(
                "{} begins at {unit} {}{blocks}, and {} has {}: memory that is not the matrix's",
                self.footprint_name(f),
                first[i],
                self.prog.objects[f.obj as usize].name,
                of(ends[i], unit),
            );
            self.find(Code::Outside, a, pc, message, None);
        }
        Ok(())
    }

    /// Remembers a store to a global matrix and looks for another of the same elements.
    pub(in crate::protocol) fn store_once(&mut self, a: AgentId, pc: u32, f: &Footprint, elements: bool) {
        if self.prog.opaque_globals {
            return;
        }
        let o = &self.prog.objects[f.obj as usize];
        let by = if elements { [1, 1] } else { o.block };
        let (top, left) = (f.at[0].saturating_mul(by[0]), f.at[1].saturating_mul(by[1]));
        let clip = |(lo, hi): (i64, i64), by: i64, end: i64| {
            (lo.saturating_add(by).clamp(0, end), hi.saturating_add(by).clamp(0, end))
        };
        let rows = clip(f.rows, top, o.rows);
        let cols = clip(f.cols, left, o.cols);
        let block = if elements { [-1, -1] } else { f.at };
        let forms = f.forms;
        let new = Stored { obj: f.obj, block, forms, rows, cols, agent: a, pc, read: false };
        self.stores_apart(pc, &new);
        let meets = |s: &&Stored| {
            s.obj == new.obj
                && !s.read
                && s.rows.0 < rows.1
                && rows.0 < s.rows.1
                && s.cols.0 < cols.1
                && cols.0 < s.cols.1
        };
        if let Some(s) = self.memory.coverage.stored.iter().find(meets).copied() {
            let what = format!(
                "stores rows {}..{}, columns {}..{} of {}, which {} stores too",
                rows.0,
                rows.1,
                cols.0,
                cols.1,
                o.name,
                self.agent_name(s.agent),
            );
            let other = Some((s.pc, "the other store".to_string()));
            // The same statement in another CTA stores the same values: twice the work, but no fault.
            if s.pc == pc && self.spec.info[s.agent as usize].cta != self.spec.info[a as usize].cta {
                self.note(Code::Redundant, a, pc, format!("{what}, from the same statement: redundant work"), other);
            } else {
                self.find(Code::StoredTwice, a, pc, what, other);
            }
        }
        self.memory.coverage.stored.push(new);
    }

    /// Whether another store overlaps this store is decided in the representative of a cell, so the answer must hold in
    /// all its CTAs.
    fn stores_apart(&self, pc: u32, new: &Stored) {
        let Some(place) = &self.spec.place else { return };
        let block = self.prog.objects[new.obj as usize].block;
        for old in self.memory.coverage.stored.iter().filter(|s| s.obj == new.obj && s.forms != new.forms) {
            let blocks = new.block[0] >= 0 && old.block[0] >= 0;
            let by = if blocks { block } else { [1, 1] };
            let away = |(lo, hi): (i64, i64), (first, last): (i64, i64), i: usize| {
                let (least, most) = place.spread(new.forms[i], old.forms[i], by[i]);
                lo.saturating_add(least) >= last || hi.saturating_add(most) <= first
            };
            let apart = away(new.rows, old.rows, 0)
                || away(new.cols, old.cols, 1)
                || blocks && place.different((new.block, new.forms), (old.block, old.forms));
            if !apart {
                let i = usize::from(new.forms[0] == old.forms[0]);
                place.fixed(pc, 0, place.minus(new.forms[i], old.forms[i]));
            }
        }
    }

    /// Whether another program, whose matrices may end elsewhere, stores the same so far, with all accesses inside its
    /// matrices.
    pub fn stored_as_by(&self, prog: &Program) -> bool {
        let ends = |end: i64, own: i64, other: i64| end <= other && (other <= own || end < own);
        let inside = |(first, o): (&[i64; 2], &Object)| first[0] < o.rows && first[1] < o.cols;
        let same = self.prog.objects == prog.objects;
        (same || self.memory.coverage.reached.iter().zip(&prog.objects).all(inside))
            && self.memory.coverage.stored.iter().all(|s| {
                let (own, other) = (&self.prog.objects[s.obj as usize], &prog.objects[s.obj as usize]);
                own == other || ends(s.rows.1, own.rows, other.rows) && ends(s.cols.1, own.cols, other.cols)
            })
    }

    /// At the end: every block that was stored in part must be stored completely.
    pub(in crate::protocol) fn check_stores(&mut self) {
        let mut list = std::mem::take(&mut self.memory.coverage.stored);
        list.sort();
        let mut i = 0;
        while i < list.len() {
            let first = list[i];
            let group = list[i..].iter().take_while(|s| s.obj == first.obj && s.block == first.block).count();
            if first.block[0] >= 0 {
                let o = &self.prog.objects[first.obj as usize];
                let side = |b: i64, len: i64, end: i64| ((b + 1) * len).min(end) - (b * len).min(end);
                let whole = side(first.block[0], o.block[0], o.rows) * side(first.block[1], o.block[1], o.cols);
                let area: i64 = list[i..i + group].iter().map(|s| (s.rows.1 - s.rows.0) * (s.cols.1 - s.cols.0)).sum();
                if area < whole {
                    let message = format!(
                        "of {}[{}, {}], {area} of {whole} elements are stored",
                        o.name, first.block[0], first.block[1]
                    );
                    self.find(Code::NotStored, first.agent, first.pc, message, None);
                }
            }
            i += group;
        }
    }
}
