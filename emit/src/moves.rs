//! Copies by threads, between global memory, shared memory and registers.

use warpline_sim::ir::{Class, MoveKind, Op, Pc, Place, Selection};

use crate::expr;
use crate::registers::{RegisterKind, extent};
use crate::writer::{Ends, Target, Writer, name};
use crate::{Unsupported, place::Corner};

impl<T: Target> Writer<'_, T> {
    pub(crate) fn move_op(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, src, dst, crew, dequant, .. } = op else { return Ok(()) };
        if self.reference {
            return if T::noted_move(self, pc, op)? { Ok(()) } else { self.reference_move(pc, *how, src, dst, *crew) };
        }
        match how {
            MoveKind::Load => self.load(pc, src, dst, *crew, *dequant),
            MoveKind::Ldg => {
                let from = self.corner(src, *crew);
                self.part(pc, &from, src.obj)?;
                let at = self.addresses(pc, Some(src), None, *crew);
                let to = self.raw(pc, dst)?;
                self.chunks_from(at.lane, format!("{to} = {};", T::ldg(&at.global)));
                Ok(())
            }
            MoveKind::Sts if matches!(op, Op::Move { signals: Some(_), .. }) => {
                self.unsupported(pc, crate::writer::ASYNC_STORE)
            }
            MoveKind::Sts => self.sts(pc, src, dst, *crew, *dequant),
            MoveKind::Lds => self.lds(pc, src, dst, *dequant),
            MoveKind::Store => self.store(pc, src, dst, *crew),
            MoveKind::CpAsync
            | MoveKind::LdsDma
            | MoveKind::TmaLoad
            | MoveKind::TmaStore
            | MoveKind::TmemLd
            | MoveKind::TmemSt => T::copy(self, pc, op),
        }
    }

    /// A copy through registers to shared memory; all loads are issued before the first store.
    fn load(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64, dequant: bool) -> Result<(), Unsupported> {
        let to = self.corner(dst, crew);
        self.part(pc, &to, dst.obj)?;
        if dequant {
            return self.load_unpacked(pc, src, dst, crew);
        }
        let at = self.addresses(pc, Some(src), Some(dst), crew);
        self.line("wl::word4 v[P::each];");
        self.chunks_from(at.lane, format!("v[j] = {};", T::load(&at.global)));
        self.chunks_from(at.lane, format!("wl::sts16({}, v[j]);", at.shared));
        Ok(())
    }

    /// The same for packed elements, which are unpacked on the way.
    fn load_unpacked(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64) -> Result<(), Unsupported> {
        let (from, to) = (self.corner(src, crew), self.corner(dst, crew));
        let pitch = self.matrix_address("from", &from, src.obj);
        self.slot_address("s", dst);
        self.in_slot(&to, dst.obj);
        let at = format!("B_{}::at(s, r0 + r, b0 + b)", name(&self.prog.objects[dst.obj as usize].name));
        let value = T::unpacked(&format!("wl::ldg4(from + (wl::i64)r * {pitch} + b / 4)"));
        let Some(value) = value.filter(|_| (self.bits(src.obj), self.bits(dst.obj)) == (4, 16)) else {
            return self.unsupported(pc, "elements unpacked on their way to shared memory");
        };
        self.line("wl::word4 v[P::each];");
        self.chunks(format!("v[j] = {value};"));
        self.chunks(format!("wl::sts16({at}, v[j]);"));
        Ok(())
    }

    /// A chunk of a register object that is copied on.
    fn raw(&self, pc: Pc, p: &Place) -> Result<String, Unsupported> {
        match self.register(p.obj) {
            Some(r) if r.kind == RegisterKind::Raw && !r.sunk => {
                Ok(format!("{}[{}][j]", self.reg(p.obj), self.slot(p)))
            }
            _ => self.unsupported(pc, "these registers hold operands of a matrix instruction"),
        }
    }

    /// The warps that share a store. For a sum that four warps hold together, each warp stores its rows.
    pub(crate) fn shares(&self, src: &Place, crew: u64) -> u64 {
        match self.register(src.obj).map(|r| r.kind) {
            Some(RegisterKind::Acc { group: true }) if crew.count_ones() == 4 => 0,
            _ => crew,
        }
    }

    fn sts(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64, dequant: bool) -> Result<(), Unsupported> {
        let to = self.corner(dst, self.shares(src, crew));
        let at = format!("B_{}::at(s, r0 + r, b0 + b)", name(&self.prog.objects[dst.obj as usize].name));
        let Some(register) = self.register(src.obj).copied() else {
            return self.unsupported(pc, "registers that nothing writes");
        };
        if dequant {
            return self.sts_unpacked(pc, src, dst, &to);
        }
        let suffix = if dst.cta.is_some() { "_cluster" } else { "" };
        match register.kind {
            RegisterKind::Acc { .. } | RegisterKind::Row => T::sum_to_shared(self, pc, &Ends { src, dst, at: to }),
            RegisterKind::MadeUp => {
                self.part(pc, &to, dst.obj)?;
                self.slot_address("s", dst);
                self.in_slot(&to, dst.obj);
                let reg = self.reg(src.obj);
                self.chunks(format!("wl::sts16{suffix}({at}, wl::made_up({}, warp, {reg}_n, r << 12 | b));", src.obj));
                self.line(format!("{reg}_n++;"));
                Ok(())
            }
            _ => {
                self.part(pc, &to, dst.obj)?;
                let at = self.addresses(pc, None, Some(dst), self.shares(src, crew));
                let from = self.raw(pc, src)?;
                self.chunks_from(at.lane, format!("wl::sts16{suffix}({}, {from});", at.shared));
                Ok(())
            }
        }
    }

    /// Packed chunks of a register object, each as four chunks of 16-bit elements.
    fn sts_unpacked(&mut self, pc: Pc, src: &Place, dst: &Place, to: &Corner) -> Result<(), Unsupported> {
        let raw = self.raw(pc, src)?;
        let (bits, buffer) =
            ((self.bits(src.obj), self.bits(dst.obj)), name(&self.prog.objects[dst.obj as usize].name));
        let value = T::unpacked(&format!("{raw}[q]")).filter(|_| bits == (4, 16));
        let Some(value) = value else {
            return self.unsupported(pc, "registers unpacked on their way to shared memory");
        };
        self.part(pc, to, src.obj)?;
        self.slot_address("s", dst);
        self.in_slot(to, dst.obj);
        self.chunks(format!(
            "for (int q = 0; q < 4; q++) wl::sts16(B_{buffer}::at(s, r0 + r, b0 + b * 4 + q * 16), {value});"
        ));
        Ok(())
    }

    fn lds(&mut self, pc: Pc, src: &Place, dst: &Place, dequant: bool) -> Result<(), Unsupported> {
        let from = self.corner(src, 0);
        let buffer = format!("B_{}", name(&self.prog.objects[src.obj as usize].name));
        let Some(register) = self.register(dst.obj).copied() else { return Ok(()) };
        let (reg, slot) = (self.reg(dst.obj), self.slot(dst));
        match register.kind {
            RegisterKind::Raw | RegisterKind::MadeUp => {
                self.part(pc, &from, src.obj)?;
                self.slot_address("s", src);
                self.in_slot(&from, src.obj);
                let suffix = if src.cta.is_some() { "_cluster" } else { "" };
                let read = format!("wl::lds16{suffix}({buffer}::at(s, r0 + r, b0 + b))");
                if register.sunk && self.target.late() {
                    let checked = src.tile.as_ref().and_then(|t| self.tile(t)).is_some();
                    self.chunks(format!("{reg}[{slot}][j] = {read};"));
                    self.line(format!("{reg}_due[{slot}] = {};", if checked { 1 } else { 2 }));
                } else if register.sunk {
                    // All are read before the first is checked, because it is one operation.
                    let word =
                        if src.tile.as_ref().and_then(|t| self.tile(t)).is_some() { "checked" } else { "unchecked" };
                    self.line("wl::word4 v[P::each] = {};");
                    self.chunks(format!("v[j] = {read};"));
                    self.line(format!("for (int j = 0; j < P::each; j++) a.{word} = wl::fold(a.{word}, v[j]);"));
                } else {
                    self.chunks(format!("{reg}[{slot}][j] = {read};"));
                }
                Ok(())
            }
            RegisterKind::Left | RegisterKind::Right => T::operand(self, pc, &Ends { src, dst, at: from }, dequant),
            _ => self.unsupported(pc, "registers of a matrix instruction filled in this way"),
        }
    }

    fn store(&mut self, pc: Pc, src: &Place, dst: &Place, crew: u64) -> Result<(), Unsupported> {
        let Some(register) = self.register(src.obj).copied() else {
            return self.unsupported(pc, "registers that nothing writes");
        };
        let to = self.corner(dst, self.shares(src, crew));
        let value = match register.kind {
            RegisterKind::Acc { .. } | RegisterKind::Row => return T::store_sum(self, pc, &Ends { src, dst, at: to }),
            RegisterKind::Raw => self.raw(pc, src)?,
            RegisterKind::MadeUp => format!("wl::made_up({}, warp, {}_n, r << 12 | b)", src.obj, self.reg(src.obj)),
            _ => return self.unsupported(pc, "operands of a matrix instruction stored"),
        };
        self.part(pc, &to, dst.obj)?;
        let pitch = self.matrix_address("to", &to, dst.obj);
        self.chunks(T::stg(&format!("to + (wl::i64)r * {pitch} + b"), &value));
        if register.kind == RegisterKind::MadeUp {
            let reg = self.reg(src.obj);
            self.line(format!("{reg}_n++;"));
        }
        Ok(())
    }

    /// Whether a move is of a whole accumulator, to a place of its size.
    pub(crate) fn whole_sum(&self, src: &Place, to: &Corner) -> bool {
        [to.rows, to.cols] == extent(self.prog, src, 0) && src.sel == Selection::default()
    }

    /// Words of shared memory that carry a value.
    pub(crate) fn mailbox(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        match op {
            Op::Put { dst, value } if !self.reference => {
                if dst.cta.is_some() {
                    return self.unsupported(pc, "a word in another CTA");
                }
                let (offset, slot, value) = (self.layout.offset[dst.obj as usize], self.slot(dst), self.c(value));
                let guard = if self.elect { "" } else { "if (lane == 0) " };
                self.line(format!("{guard}wl::sts4(pool + {offset} + 16 * ({slot}), {value});"));
            }
            Op::Get { src, var } => {
                let v = expr::variable(self.prog, *var);
                let version = src.tile.as_ref().and_then(|t| t.at.first()).map(|e| self.c(e));
                if let Some(answer) = T::asked(self, src) {
                    // The machine decides whose tile it is. The reference starts all clusters, so that none gets
                    // another's.
                    self.line(format!("{v} = {}; (void){v};", if self.reference { "-1" } else { &answer }));
                    return Ok(());
                } else if self.reference {
                    // The word is its version in all kernels that state one.
                    match version {
                        Some(e) => self.line(format!("{v} = {e};")),
                        None => return self.unsupported(pc, "a word whose value is not stated"),
                    }
                } else {
                    let (offset, slot) = (self.layout.offset[src.obj as usize], self.slot(src));
                    self.line(format!("{v} = (int)wl::lds4(pool + {offset} + 16 * ({slot}));"));
                }
                self.line(format!("a.checked = wl::mix(a.checked ^ (wl::u32){v});"));
            }
            _ => {}
        }
        Ok(())
    }

    /// A type definition for each shared buffer: its offset and layout.
    pub(crate) fn buffers(&self) -> String {
        let shared = self.prog.objects.iter().enumerate().filter(|(_, o)| o.class == Class::Shared);
        shared
            .map(|(o, object)| {
                format!(
                    "typedef wl::Buffer<{}, {}, {}, {}, {}, {}> B_{};\n",
                    self.layout.offset[o],
                    self.layout.stride[o],
                    object.rows,
                    object.cols,
                    object.dtype.bits(),
                    object.swizzle,
                    name(&object.name)
                )
            })
            .collect()
    }
}
