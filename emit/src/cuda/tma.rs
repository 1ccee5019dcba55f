//! Copies by the tensor memory accelerator.

use warpline_sim::ir::{BarrierCta, MoveKind, Op, Pc};

use super::{Box, Writer};
use crate::Unsupported;
use crate::writer::name;

impl Writer<'_> {
    pub(super) fn tma(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, src, dst, signals, multicast, .. } = op else { return Ok(()) };
        let load = *how == MoveKind::TmaLoad;
        let (global, shared) = if load { (src, dst) } else { (dst, src) };
        let (from, to) = (self.corner(global, 0), self.corner(shared, 0));
        let o = self.prog.objects[shared.obj as usize].clone();
        let bits = o.dtype.bits() as i64;
        // A box is as wide as a panel of the buffer, and at most 256 elements in each direction.
        let panel = if o.swizzle > 0 { o.swizzle as i64 * 8 / bits } else { o.cols };
        let wide = panel.min(to.cols);
        if (wide != panel && o.cols > wide) || wide > 256 || to.cols % wide != 0 || wide * bits % 128 != 0 {
            return self.unsupported(pc, format!("boxes of {wide} columns"));
        }
        let tall = (1..=to.rows.min(256)).rev().find(|h| to.rows % h == 0).unwrap_or(1);
        let map = self.tensor_map(Box { obj: global.obj, rows: tall, cols: wide, swizzle: o.swizzle });
        let buffer = name(&o.name);
        self.slot_address("s", shared);
        let mut pair = String::new();
        let bar = match signals {
            Some(b) => {
                let own = self.bar_address(b);
                // The barrier of either CTA of the pair (`.cta_group::2`).
                if let BarrierCta::Cta(e) = &b.at {
                    pair = format!("_pair<{}>", tall * wide * bits / 8);
                    format!("wl::in_cta({own}, {})", self.c(e))
                } else if matches!(b.at, BarrierCta::Ctas(_)) {
                    return self.unsupported(pc, "a copy signals one barrier in each CTA it goes to");
                } else {
                    shared.cta.as_ref().map_or(own.clone(), |e| format!("wl::in_cta({own}, {})", self.c(e)))
                }
            }
            None => String::new(),
        };
        if !self.elect {
            self.line("if (lane == 0)");
        }
        self.line(
            "for (int p = 0; p < ".to_string()
                + &format!("{}; p++) for (int h = 0; h < {}; h++) {{", to.cols / wide, to.rows / tall),
        );
        self.indent += 1;
        let at = format!("B_{buffer}::at(s, {}, ({}) * {bits} / 8)", to.row, to.col);
        self.line(format!("const wl::u32 at = {at} + p * B_{buffer}::panel_bytes + h * {tall} * B_{buffer}::panel;"));
        self.line(format!("const int col = {} + p * {wide}, row = {} + h * {tall};", from.col, from.row));
        self.line(match (load, multicast) {
            (true, Some(m)) => format!("wl::tma_multicast{pair}(at, &maps.m[{map}], col, row, {bar}, {});", self.c(m)),
            (true, None) => format!("wl::tma_load{pair}(at, &maps.m[{map}], col, row, {bar});"),
            (false, _) => format!("wl::tma_store(&maps.m[{map}], col, row, at);"),
        });
        self.indent -= 1;
        self.line("}");
        Ok(())
    }

    pub(super) fn tensor_map(&mut self, b: Box) -> usize {
        self.target.boxes.iter().position(|x| *x == b).unwrap_or_else(|| {
            self.target.boxes.push(b);
            self.target.boxes.len() - 1
        })
    }
}
