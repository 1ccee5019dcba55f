//! The reference of a kernel in tensor memory, in three passes over the same text (`notes.cuh`): tiles of copies,
//! tiles of each product, everything else.
//!
//! The n-th use of a slot takes the n-th record. So each use must be one statement, and its data must come from one
//! thread. Other kernels have no reference.

use std::collections::BTreeSet;

use warpline_sim::ir::{Class, Executors, MmaKind, MoveKind, ObjId, Op, Pc, Place, Selection};

use super::Writer;
use crate::Unsupported;
use crate::registers::{extent, ops};
use crate::tree::{Node, tree};
use crate::writer::{name, padded, type_name};

/// What the reference records.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Accumulators that threads read.
    sums: BTreeSet<ObjId>,
    /// Buffers whose products name no tiles, with the copies into them.
    fills: BTreeSet<ObjId>,
    /// Buffers that rows of tensor memory pass through, with the copies out of them.
    drains: BTreeSet<ObjId>,
}

impl Notes {
    pub(super) fn passes(&self) -> u32 {
        if self.sums.is_empty() { 1 } else { 3 }
    }
}

/// Whether one warp executes all of some statements; false if there are none.
fn one_warp(nodes: &[Node<'_>], all: u64, of: &[Pc]) -> bool {
    fn walk(nodes: &[Node<'_>], mask: u64, of: &[Pc], seen: &mut u64) {
        for n in nodes {
            match n {
                Node::Op(pc, _) if of.contains(pc) => *seen |= mask,
                Node::Only { who: Executors::Warps(m), body } => walk(body, mask & m, of, seen),
                Node::Only { body, .. } | Node::Loop { body, .. } => walk(body, mask, of, seen),
                Node::If { then, otherwise, .. } => {
                    walk(then, mask, of, seen);
                    walk(otherwise, mask, of, seen);
                }
                Node::Op(..) | Node::Set(..) | Node::End => {}
            }
        }
    }
    let mut seen = 0;
    walk(nodes, all, of, &mut seen);
    seen.count_ones() == 1
}

impl Writer<'_> {
    /// What the reference has to record, or why it cannot be written.
    pub(super) fn notes(&self) -> Result<Notes, &'static str> {
        let (prog, mut notes) = (self.prog, Notes::default());
        let (nodes, all) = (tree(prog), u64::MAX >> (64 - prog.warps));
        let one = |of: &[Pc]| one_warp(&nodes, all, of);
        for (_, op) in ops(prog) {
            match op {
                Op::Move { how: MoveKind::TmemLd, src, .. } if !notes.sums.insert(src.obj) => {
                    return Err("several statements read one accumulator");
                }
                Op::Move { how: MoveKind::TmemSt, .. } => return Err("threads write to tensor memory"),
                _ => {}
            }
        }
        let products = |o: ObjId| ops(prog).filter(move |(_, op)| matches!(op, Op::Mma { acc, .. } if acc.obj == o));
        for &sum in &notes.sums {
            let by: Vec<Pc> = products(sum).map(|(pc, _)| pc).collect();
            if !one(&by) {
                return Err("several warps multiply into one accumulator, or none does");
            }
            for (_, op) in products(sum) {
                let Op::Mma { a, b, acc, .. } = op else { continue };
                if acc.sel != Selection::default() || prog.objects[a.obj as usize].class != Class::Shared {
                    return Err("a product of tensor memory, or into a part of an accumulator");
                }
                for p in [a, b].into_iter().filter(|p| self.named(p).is_none()) {
                    if !notes.fills.insert(p.obj) {
                        return Err("several products that name no tile read one buffer");
                    }
                }
            }
        }
        for &buffer in &notes.fills {
            let copies: Vec<(Pc, &Op)> = ops(prog).filter(|(_, op)| is_move(op, |_, d| d.obj == buffer)).collect();
            let whole = |op: &Op| match op {
                Op::Move { how: MoveKind::TmaLoad, src, dst, multicast: None, .. } => {
                    plain(dst) && !self.stored(src.obj)
                }
                _ => false,
            };
            let by: Vec<Pc> = copies.iter().map(|(pc, _)| *pc).collect();
            if !copies.iter().all(|(_, op)| whole(op)) || !one(&by) {
                return Err("a product names no tile, and its operand is not the whole of what one warp copies by TMA");
            }
        }
        for (_, op) in ops(prog) {
            let Op::Move { how: MoveKind::Sts, src, dst, .. } = op else { continue };
            if !self.is_row(src.obj) {
                continue;
            }
            let stores: Vec<(Pc, &Op)> = ops(prog).filter(|(_, op)| is_move(op, |s, _| s.obj == dst.obj)).collect();
            let whole = |op: &Op| matches!(op, Op::Move { how: MoveKind::TmaStore, src, .. } if plain(src));
            let by: Vec<Pc> = stores.iter().map(|(pc, _)| *pc).collect();
            if !notes.drains.insert(dst.obj) || !stores.iter().all(|(_, op)| whole(op)) || !one(&by) {
                return Err("rows of tensor memory pass through a buffer that one warp does not store as a whole");
            }
        }
        Ok(notes)
    }

    /// The pass of the reference that an operation belongs to; `None` if it belongs to all.
    pub(super) fn pass_of(&self, op: &Op) -> Option<u32> {
        let notes = self.target.notes.as_ref().ok().filter(|n| n.passes() > 1)?;
        match op {
            Op::Move { how: MoveKind::TmaLoad, dst, .. } if notes.fills.contains(&dst.obj) => Some(0),
            Op::Move { how: MoveKind::TmaStore, src, .. } if notes.drains.contains(&src.obj) => Some(0),
            Op::Mma { kind: MmaKind::Umma | MmaKind::UmmaPair, .. } => Some(1),
            Op::Zero(p) if self.prog.objects[p.obj as usize].class == Class::Tmem => Some(1),
            Op::Get { .. } => None,
            _ => Some(2),
        }
    }

    /// Declares counters of uses of each slot, and which slots start a new sum.
    pub(super) fn declare_notes(&mut self) {
        let Ok(notes) = &self.target.notes else { return };
        let mut lines = Vec::new();
        for (kind, all) in
            [("used", &notes.sums), ("used", &notes.fills), ("used", &notes.drains), ("begun", &notes.sums)]
        {
            for o in all {
                let o = &self.prog.objects[*o as usize];
                lines.push(format!("int {kind}_{}[{}] = {{}};", name(&o.name), o.slots));
                if kind == "begun" {
                    lines.push(format!("wl::u32 t_{} = ~0u;", name(&o.name)));
                }
            }
        }
        lines.into_iter().for_each(|l| self.line(l));
    }

    /// Whether the reference follows a sum in tensor memory.
    pub(super) fn follows(&self, sum: ObjId) -> bool {
        self.target.notes.as_ref().is_ok_and(|n| n.sums.contains(&sum))
    }

    /// A move that is recorded, or that uses a record.
    pub(super) fn noted_move(&mut self, pc: Pc, how: MoveKind, src: &Place, dst: &Place) -> Result<bool, Unsupported> {
        let Ok(notes) = &self.target.notes else { return Ok(false) };
        match how {
            MoveKind::TmaLoad if notes.fills.contains(&dst.obj) => self.note_tile(dst, src),
            MoveKind::TmaStore if notes.drains.contains(&src.obj) => self.note_tile(src, dst),
            MoveKind::TmemLd if notes.sums.contains(&src.obj) => self.reference_row(src, dst),
            MoveKind::Sts if notes.drains.contains(&dst.obj) => self.row_to_noted(pc, src, dst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Records the block of a matrix that is copied to or from a slot.
    fn note_tile(&mut self, slot: &Place, block: &Place) {
        let (c, m) = (self.corner(block, 0), self.matrix(block.obj));
        let (pitch, n) = (padded(&self.prog.objects[block.obj as usize])[1], self.slot(slot));
        let guard = if self.elect { "" } else { "if (lane == 0) " };
        self.line(format!(
            "{guard}wl::note(common, cta, {{{}, wl::u32({n}), 0, {{g.m[{m}], {}, {}, {pitch}}}}});",
            slot.obj, c.row, c.col
        ));
    }

    /// The tile that an operand names.
    fn named(&self, p: &Place) -> Option<String> {
        p.tile.as_ref().and_then(|t| self.tile(t))
    }

    /// The tiles of an operand in some CTAs: what it names, or what was copied into its slot there.
    fn tiles(&mut self, p: &Place, at: &str, ctas: &[&str]) -> Vec<String> {
        if let Some(t) = self.named(p) {
            return vec![t; ctas.len()];
        }
        let (buffer, slot, c) = (name(&self.prog.objects[p.obj as usize].name), self.slot(p), self.corner(p, 0));
        self.line(format!("const int {at} = used_{buffer}[{slot}]++;"));
        let part = if p.sel == Selection::default() { String::new() } else { format!(".part({}, {})", c.row, c.col) };
        ctas.iter().map(|cta| format!("wl::noted(common, {cta}, {}, {slot}, {at}){part}", p.obj)).collect()
    }

    /// Records the tiles of a product, in each CTA that gets rows of it.
    pub(super) fn note_product(&mut self, op: &Op) {
        let Op::Mma { kind, a, b, acc } = op else { return };
        if !self.follows(acc.obj) {
            return;
        }
        let (sum, slot) = (name(&self.prog.objects[acc.obj as usize].name), self.slot(acc));
        self.line(format!("const int s = {slot};"));
        self.line(format!("begun_{sum}[s] += t_{sum} >> s & 1, t_{sum} &= ~(1u << s);"));
        // In a pair, each CTA has its rows of the left operand and half of the columns.
        let pair = *kind == MmaKind::UmmaPair;
        let (to, halves): (_, &[&str]) = if pair { ("c", &["cta & ~1", "cta | 1"]) } else { ("cta", &["cta"]) };
        let (x, mut y) = (self.tiles(a, "i", &[to]).concat(), self.tiles(b, "j", halves));
        y.resize(2, "{}".to_string());
        let [cols, depth] = extent(self.prog, b, 0);
        let note = format!(
            "wl::note(common, {to}, {{{}, wl::u32(s), wl::u32(begun_{sum}[s] - 1), {x}, {{{}}}, {cols}, {depth}}});",
            acc.obj,
            y.join(", ")
        );
        if pair {
            self.line("for (int c = cta & ~1; c <= (cta | 1); c++)");
            self.line(format!("    {note}"));
        } else {
            self.line(note);
        }
    }

    /// A lane's row of the sum that is read.
    fn reference_row(&mut self, src: &Place, dst: &Place) {
        let o = &self.prog.objects[src.obj as usize];
        let part = self.select(&Selection { cols: src.sel.cols.clone(), ..Selection::default() }, [o.rows, o.cols]);
        let types = ops(self.prog).find_map(|(_, op)| match op {
            Op::Mma { a, b, acc, .. } if acc.obj == src.obj => {
                let t = |p: &Place| type_name(self.prog.objects[p.obj as usize].dtype);
                Some((t(a), t(b)))
            }
            _ => None,
        });
        let (Some((ta, tb)), sum, slot) = (types, name(&o.name), self.slot(src)) else { return };
        let (reg, to) = (self.reg(dst.obj), self.slot(dst));
        self.line(format!(
            "wl::reference_row<wl::{ta}, wl::{tb}>({reg}[{to}][0], common, cta, {}, {slot}, used_{sum}[{slot}]++, warp % 4 * 32 + \
             lane, {});",
            src.obj, part.col
        ));
    }

    /// Stores a lane's row to where the copy out of the buffer brings it.
    fn row_to_noted(&mut self, pc: Pc, src: &Place, dst: &Place) -> Result<(), Unsupported> {
        let to = self.corner(dst, 0);
        let o = &self.prog.objects[dst.obj as usize];
        if o.dtype.bits() != 16 || to.rows != 32 {
            return self.unsupported(pc, "rows of tensor memory stored to shared memory in this type");
        }
        let (buffer, slot, t) = (name(&o.name), self.slot(dst), type_name(o.dtype));
        let (reg, from) = (self.reg(src.obj), self.slot(src));
        self.line(format!("const wl::Tile t = wl::noted(common, cta, {}, {slot}, used_{buffer}[{slot}]++);", dst.obj));
        self.line(format!(
            "wl::byte* to = (wl::byte*)t.base + ((wl::i64)(t.row + {} + lane) * t.pitch + t.col + {}) * 2;",
            to.row, to.col
        ));
        self.line(format!(
            "for (int i = 0; t.base && i < {}; i += 8) *(uint4*)(to + i * 2) = wl::pack8<wl::{t}>({reg}[{from}][0] + i);",
            to.cols
        ));
        Ok(())
    }
}

fn is_move(op: &Op, which: impl Fn(&Place, &Place) -> bool) -> bool {
    matches!(op, Op::Move { src, dst, .. } if which(src, dst))
}

/// Whether a place is a whole slot of the own CTA.
fn plain(p: &Place) -> bool {
    p.sel == Selection::default() && p.cta.is_none()
}
