//! Addresses of the chunks of a copy by threads: computed where they are used, or carried by the loop around them
//! (`carried`).

use warpline_sim::ir::{Pc, Place};

use crate::writer::{Target, Writer, name};

/// The chunks of a copy: the lane that they are counted from, and the address of each chunk in a matrix and in a slot.
/// A chunk has a row `r` and a byte `b` in the part `P`.
pub(crate) struct Chunks {
    pub(crate) lane: &'static str,
    pub(crate) global: String,
    pub(crate) shared: String,
}

impl<T: Target> Writer<'_, T> {
    /// Addresses of the chunks of a copy, with declarations for the operation.
    pub(crate) fn addresses(&mut self, pc: Pc, global: Option<&Place>, shared: Option<&Place>, crew: u64) -> Chunks {
        if let Some(c) = self.carried_addresses(pc, global, shared, crew) {
            return c;
        }
        let mut c = Chunks { lane: "lane", global: String::new(), shared: String::new() };
        if let Some(p) = global {
            let at = self.corner(p, crew);
            let pitch = self.matrix_address("from", &at, p.obj);
            c.global = format!("from + (wl::i64)r * {pitch} + b");
        }
        if let Some(p) = shared {
            let at = self.corner(p, crew);
            self.slot_address("s", p);
            self.in_slot(&at, p.obj);
            c.shared = format!("B_{}::at(s, r0 + r, b0 + b)", name(&self.prog.objects[p.obj as usize].name));
        }
        c
    }

    /// The same from each lane's first chunk, kept since before the loop. The others are a constant number of rows
    /// and bytes further, so lanes must share rows, or a row lanes, evenly.
    fn carried_addresses(
        &mut self,
        pc: Pc,
        global: Option<&Place>,
        shared: Option<&Place>,
        crew: u64,
    ) -> Option<Chunks> {
        let (lanes, any) = (T::LANES as i64, shared.or(global)?);
        let (part, bits) = (self.corner(any, crew), self.bits(any.obj));
        let wide = part.cols * bits / 128;
        let even = lanes % wide == 0 || wide % lanes == 0;
        if self.elect || self.reference || !even || part.rows * wide % lanes != 0 {
            return None;
        }
        // Rows added to a lane's own row change no bit that the swizzle uses.
        let sparse = part.rows % 8 == 0 || part.rows.count_ones() == 1;
        // The places as they are before the loop, and the advance of the matrix place in each iteration.
        let (from, to) = {
            let loops = self.loops.borrow();
            let l = loops.last()?;
            let parts_stay = global.iter().chain(&shared).all(|p| l.stays(&p.sel));
            let kept = |p: &Place| p.cta.is_none() && (sparse || self.prog.objects[p.obj as usize].swizzle == 0);
            if !parts_stay || !shared.is_none_or(kept) {
                return None;
            }
            let from = match global.map(|p| l.known_place(p)) {
                Some(p) => Some((l.advance_of(self.prog, &p)?, p)),
                None => None,
            };
            (from, shared.map(|p| l.known_place(p)))
        };
        let (row, byte) = (format!("lane / {wide}"), format!("lane % {wide} * 16"));
        let mut c = Chunks { lane: "0", global: String::new(), shared: String::new() };
        let site = self.prog.site(pc);
        let (mut before, mut after) = (vec![format!("// {}: {}", site.line, site.text)], None);
        if let Some((advance, p)) = from {
            let (start, pitch) = self.matrix_start(&self.corner(&p, crew), p.obj);
            before.push(format!("{} from{pc} = {start} + (wl::i64)({row}) * {pitch} + {byte};", T::GLOBAL));
            after = (advance != 0).then(|| format!("from{pc} += {advance};"));
            c.global = format!("from{pc} + (wl::i64)r * {pitch} + b");
        }
        if let Some(p) = to {
            let (at, buffer, bits) =
                (self.corner(&p, crew), name(&self.prog.objects[p.obj as usize].name), self.bits(p.obj));
            before.push(format!(
                "const {} to{pc} = wl::keep(B_{buffer}::at(pool, {} + {row}, ({}) * {bits} / 8 + {byte}));",
                T::SLOT,
                at.row,
                at.col
            ));
            self.slot_from("s", shared?, &format!("to{pc}"));
            c.shared = format!("wl::beyond<B_{buffer}>(s, r, b)");
        }
        let l = self.loops.get_mut().last_mut()?;
        l.before.extend(before);
        l.after.extend(after);
        Some(c)
    }
}
