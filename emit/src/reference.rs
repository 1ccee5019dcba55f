//! Moves in the reference: a read names its tile, a store writes what the registers are known to hold. Also products
//! of targets whose accumulators are square blocks.

use warpline_sim::ir::{MoveKind, Pc, Place};

use crate::Unsupported;
use crate::registers::RegisterKind;
use crate::writer::{Ends, Product, Target, Writer, padded};

impl<T: Target> Writer<'_, T> {
    /// A move of the reference: a read names its tile, a store writes what the registers are known to hold.
    pub(crate) fn reference_move(
        &mut self,
        pc: Pc,
        how: MoveKind,
        src: &Place,
        dst: &Place,
        crew: u64,
    ) -> Result<(), Unsupported> {
        match how {
            MoveKind::Ldg => {
                let o = &self.prog.objects[src.obj as usize];
                let (c, pitch, m) = (self.corner(src, crew), padded(o)[1], self.matrix(src.obj));
                if !self.stored(src.obj) {
                    let (reg, slot) = (self.reg(dst.obj), self.slot(dst));
                    self.line(format!("{reg}[{slot}] = wl::Tile{{g.m[{m}], {}, {}, {pitch}}};", c.row, c.col));
                }
                Ok(())
            }
            MoveKind::Lds => {
                let Some(register) = self.register(dst.obj).copied() else { return Ok(()) };
                let Some(tile) = src.tile.as_ref().and_then(|t| self.tile(t)) else {
                    if !matches!(register.kind, RegisterKind::Acc { .. } | RegisterKind::GroupLeft) {
                        let (reg, slot) = (self.reg(dst.obj), self.slot(dst));
                        self.line(format!("{reg}[{slot}] = wl::Tile{{}};"));
                    }
                    return Ok(());
                };
                let (reg, slot) = (self.reg(dst.obj), self.slot(dst));
                self.line(format!("{reg}[{slot}] = {tile};"));
                if register.sunk {
                    let from = self.corner(src, 0);
                    let bits = self.bits(src.obj);
                    self.part(pc, &from, src.obj)?;
                    self.line("wl::word4 v[P::each] = {};");
                    self.chunks(format!("v[j] = {reg}[{slot}].chunk<{bits}>(r, b);"));
                    self.line("for (int j = 0; j < P::each; j++) a.checked = wl::fold(a.checked, v[j]);");
                }
                Ok(())
            }
            MoveKind::Store if self.has_reference() => {
                let to = self.corner(dst, self.shares(src, crew));
                match self.register(src.obj).map(|r| r.kind) {
                    Some(RegisterKind::Acc { .. } | RegisterKind::Row) => {
                        T::store_sum(self, pc, &Ends { src, dst, at: to })
                    }
                    Some(RegisterKind::Raw) => {
                        self.part(pc, &to, dst.obj)?;
                        let pitch = self.matrix_address("to", &to, dst.obj);
                        let (reg, slot, bits) = (self.reg(src.obj), self.slot(src), self.bits(dst.obj));
                        self.line(format!("if ({reg}[{slot}].base)"));
                        self.chunks(T::stg(
                            &format!("to + (wl::i64)r * {pitch} + b"),
                            &format!("{reg}[{slot}].chunk<{bits}>(r, b)"),
                        ));
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
            MoveKind::TmaStore => {
                let Some(tile) = src.tile.as_ref().and_then(|t| self.tile(t)) else { return Ok(()) };
                let to = self.corner(dst, 0);
                let bits = self.bits(dst.obj);
                self.part(pc, &to, dst.obj)?;
                let pitch = self.matrix_address("to", &to, dst.obj);
                self.line(format!("const wl::Tile t = {tile};"));
                self.chunks(T::stg(&format!("to + (wl::i64)r * {pitch} + b"), &format!("t.chunk<{bits}>(r, b)")));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A product into the named part of an accumulator, in square blocks of `side` elements.
    pub(crate) fn reference_blocks(&self, p: &Product<'_>, side: i64) -> String {
        let part = self.sum_part(p.acc);
        let (reg, slot, (ta, tb), (x, y)) = (self.reg(p.acc.obj), self.slot(p.acc), p.types, p.tiles);
        format!(
            "wl::reference_mma<wl::{ta}, wl::{tb}, {}, {}, {}>({reg}[{slot}], ({}) / {side}, ({}) / {side}, {x}, {y}, {}, lane);",
            p.kn,
            part.rows / side,
            part.cols / side,
            part.row,
            part.col,
            p.depth
        )
    }
}
