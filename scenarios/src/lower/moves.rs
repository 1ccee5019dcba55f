//! Moves: source, destination, element type, and the warps that share the work.

use warpline_sim::ir::{Class, Cost, Dtype, Executors, Instr, IssueCount, MoveKind, Op, TENSOR_LANES, reach_all_lanes};

use super::names::Meaning;
use super::place::{Spot, Want};
use super::shape::Agree;
use super::{Context, Lower};
use crate::ast::{Axis, Move, SelKind, Span};

/// The word of a move, and the memories it reads from and writes to.
pub(crate) fn ends(how: MoveKind) -> (&'static str, Class, Class) {
    match how {
        MoveKind::Load => ("load", Class::Global, Class::Shared),
        MoveKind::Ldg => ("ldg", Class::Global, Class::Reg),
        MoveKind::Sts => ("sts", Class::Reg, Class::Shared),
        MoveKind::Lds => ("lds", Class::Shared, Class::Reg),
        MoveKind::Store => ("store", Class::Reg, Class::Global),
        MoveKind::CpAsync => ("cp", Class::Global, Class::Shared),
        MoveKind::LdsDma => ("dma", Class::Global, Class::Shared),
        MoveKind::TmaLoad => ("tma", Class::Global, Class::Shared),
        MoveKind::TmaStore => ("tma.store", Class::Shared, Class::Global),
        MoveKind::TmemLd => ("tmem.ld", Class::Tmem, Class::Reg),
        MoveKind::TmemSt => ("tmem.st", Class::Reg, Class::Tmem),
    }
}

/// Whether the executing warps share the work of this kind of move.
fn shared_out(how: MoveKind) -> bool {
    matches!(
        how,
        MoveKind::Load | MoveKind::Ldg | MoveKind::Sts | MoveKind::Store | MoveKind::CpAsync | MoveKind::LdsDma
    )
}

impl Lower<'_> {
    pub(super) fn move_op(&mut self, m: &Move, cost: Cost, span: &Span) {
        let mentions = self.place_mentions(&m.src).or(self.place_mentions(&m.dst)).or(self.ctx.guard);
        // The operand reports `self` outside of a role.
        let members = self.ctx.members.filter(|_| mentions.member);
        let mut groups: Vec<u64> = match members {
            Some(p) if p.size > 1 => {
                let one = if p.size >= 64 { u64::MAX } else { (1u64 << p.size) - 1 };
                (0..p.count).map(|i| self.ctx.mask & (one << (p.first + i * p.size))).filter(|g| *g != 0).collect()
            }
            Some(_) => vec![],
            None => vec![self.ctx.mask],
        };
        let quarters = |warps: &u64| warps.count_ones() == 4 && reach_all_lanes(*warps);
        let shared = shared_out(m.how) || self.moves_all_lanes(m) && groups.iter().all(quarters);
        if !shared || self.ctx.elect || mentions.warp {
            groups.clear();
        }
        match groups.as_slice() {
            [] => self.one_move(m, 0, cost, span),
            [all] => self.one_move(m, *all, cost, span),
            // A crew is a set of warps, so every member gets its own move.
            several => {
                let was = self.ctx;
                for g in several {
                    let branch = self.emit_branch(|to| Instr::Only(Executors::Warps(*g), to));
                    self.ctx = Context { mask: *g, ..was };
                    self.one_move(m, *g, cost, span);
                    self.ctx = was;
                    self.land(branch);
                }
            }
        }
    }

    /// Whether a move names all lanes of tensor memory.
    fn moves_all_lanes(&self, m: &Move) -> bool {
        let tensor = match m.how {
            MoveKind::TmemLd => &m.src,
            MoveKind::TmemSt => &m.dst,
            _ => return false,
        };
        let Some((Meaning::Object(id), _)) = self.names.get(&tensor.name.text) else { return false };
        self.program.objects[*id as usize].rows == TENSOR_LANES
            && tensor.sels.iter().all(|s| matches!(s.kind, SelKind::Part(Axis::Cols, ..)))
    }

    fn one_move(&mut self, m: &Move, crew: u64, cost: Cost, span: &Span) {
        let (name, from, to) = ends(m.how);
        let (src_pieces, dst_pieces) = (self.pieces_of(&m.src.name.text), self.pieces_of(&m.dst.name.text));
        let src = self.place(&m.src, Want { classes: &[from], write: false, partner: dst_pieces });
        let dst = self.place(&m.dst, Want { classes: &[to], write: true, partner: src_pieces });
        let batch = m.batch.as_ref().and_then(|e| self.bounded(e, "the batch", 1, 1 << 16));
        let signals = m.signals.as_ref().map(|b| self.bar(b));
        if let Some(Some(b)) = &signals {
            self.arrived.insert(b.bar);
        }
        let multicast = m.multicast.as_ref().map(|e| self.expr(e));
        if let Some(t) = &m.dst.tile {
            let d = self
                .diag(
                    &t.span,
                    "a tile is expected of what is read, not of what is written",
                    "nothing was expected here",
                )
                .help("write `: tile` behind the source");
            self.error(d);
        }
        let (Some(src), Some(dst)) = (src, dst) else { return };
        self.move_types(m, name, &src, &dst, span);
        self.agree(Agree::Same(src.extent.clone(), dst.extent.clone()));
        let crew = if crew.count_ones() > 1 { crew } else { 0 };
        self.split(&src, &dst, crew, span);
        let op = Op::Move {
            how: m.how,
            src: src.place,
            dst: dst.place,
            crew,
            issue: batch.map_or(IssueCount::FromBytes, |b| IssueCount::InFlight(b as u32)),
            dequant: m.dequant,
            masked: m.masked,
            signals: match signals {
                Some(None) => return,
                Some(b) => b,
                None => None,
            },
            multicast: match multicast {
                Some(None) => return,
                Some(e) => e,
                None => None,
            },
        };
        self.emit(Instr::Op { op, cost });
    }

    /// Cuts both ends of a shared move by rows, or by columns where the rows are not divisible.
    fn split(&mut self, src: &Spot, dst: &Spot, crew: u64, span: &Span) {
        if crew == 0 || !self.last_walk {
            return;
        }
        let n = crew.count_ones() as i64;
        let Some([rows, cols]) = self.extent(&dst.extent) else { return };
        let axis = if rows % n == 0 {
            0
        } else if cols % n == 0 {
            1
        } else {
            let d = self
                .diag(
                    span,
                    format!("a part of {rows} x {cols} can't be shared by {n} warps"),
                    format!("{n} warps execute this, and each moves an equal part of it"),
                )
                .help("let fewer warps execute it, or select each one's part with `.rows(self)`");
            self.value_error(d);
            return;
        };
        for extent in [&src.extent, &dst.extent] {
            let mut part = extent.clone();
            part.div[axis] = part.div[axis].saturating_mul(n);
            self.note_cuts(&part);
        }
    }

    /// Checks that the element types agree, unless the move converts.
    fn move_types(&mut self, m: &Move, name: &str, src: &Spot, dst: &Spot, span: &Span) {
        let (so, d_o) = (src.place.obj as usize, dst.place.obj as usize);
        let from = self.facts[so].dtype;
        let arrives = if m.dequant && from.is_none_or(|d| d.bits() <= 8) { Some(Dtype::F16) } else { from };
        if self.facts[d_o].dtype.is_none() && self.program.objects[d_o].class == Class::Reg && !self.ctx.dead {
            self.facts[d_o].dtype = arrives;
        }
        let (Some(x), Some(y)) = (from, self.facts[d_o].dtype) else { return };
        // The vector unit converts registers on their way out; the other moves copy bits.
        let converts = m.dequant || matches!(m.how, MoveKind::Store | MoveKind::Sts);
        let alike = |a: Dtype| if a == Dtype::Tf32 { Dtype::F32 } else { a };
        if converts || alike(x) == alike(y) {
            return;
        }
        let (a, b) = (self.program.objects[so].name.clone(), self.program.objects[d_o].name.clone());
        let d = self
            .diag(
                span,
                format!("`{a}` is {}, `{b}` is {}, and `{name}` copies bits", x.name(), y.name()),
                "the same element type was expected on both sides",
            )
            .help(if matches!(m.how, MoveKind::Load | MoveKind::Ldg | MoveKind::Lds) {
                "write `via dequant` if it converts on the way"
            } else {
                "declare both with one element type, or go through registers"
            });
        self.value_error(d);
    }
}
