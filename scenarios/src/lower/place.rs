//! Operands: object, slot or block, and part.

use warpline_sim::ir::{Class, Expr, Place, Selection, TileRef};

use super::part::Selecting;
use super::shape::{Agree, Extent};
use super::{Facts, Lower, Meaning, Mentions};
use crate::ast::{self, Axis, Ident, SelKind};

/// The requirements on an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want<'a> {
    /// The allowed memories.
    pub(super) classes: &'a [Class],
    /// Whether the operand is written; registers then need no declaration.
    pub(super) write: bool,
    /// The axis and number of pieces of the other operand, for `.0` of an object without pieces.
    pub(super) partner: Option<(u32, Axis)>,
}

/// An operand and its extent.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) place: Place,
    pub(super) extent: Extent,
}

impl Lower<'_> {
    /// The pieces of the object that a place names, if the object has pieces.
    pub(super) fn pieces_of(&self, name: &str) -> Option<(u32, Axis)> {
        match self.names.get(name) {
            Some((Meaning::Object(id), _)) => self.facts[*id as usize].pieces,
            _ => None,
        }
    }

    /// An operand in memory.
    pub(super) fn place(&mut self, p: &ast::Place, want: Want) -> Option<Spot> {
        let obj = self.place_object(&p.name, want)?;
        let at: Option<Vec<Expr>> = p.at.iter().map(|e| self.expr(e)).collect();
        let cta = match &p.cta {
            Some(e) => Some(self.expr(e)?),
            None => None,
        };
        let mut s = Selecting {
            sel: Selection::default(),
            extent: Extent { obj, div: [1, 1], fixed: None, span: p.span.clone() },
            partner: want.partner,
        };
        if let Some(e) = &p.piece {
            self.piece(&mut s, e)?;
        }
        self.selectors(&mut s, &p.sels)?;
        let at = self.coordinates(p, obj, at?)?;
        let Selecting { sel, extent, .. } = s;
        self.note_cuts(&extent);
        let tile = match &p.tile {
            Some(t) => Some(self.tile(t, p, &sel, &extent)?),
            None => None,
        };
        Some(Spot {
            place: Place { obj, at, elements: p.elements, sel, cta, tile, inside: None, begins_inside: [false; 2] },
            extent,
        })
    }

    fn place_object(&mut self, name: &Ident, want: Want) -> Option<u16> {
        let registers = want.write && want.classes.contains(&Class::Reg);
        if registers && !self.names.contains_key(&name.text) && self.find_local(&name.text).is_none() {
            if self.ctx.dead {
                self.unborn.insert(name.text.clone());
                return None;
            }
            if self.skipped.contains(&name.text) {
                return None;
            }
            let facts = Facts {
                span: name.span.clone(),
                shape: None,
                origin: None,
                dtype: None,
                pieces: None,
                used: true,
                vector: false,
            };
            let id = self.new_object(&name.text, Class::Reg, facts)?;
            self.define(&name.text, &name.span, Meaning::Object(id));
            return Some(id);
        }
        if self.ctx.dead && self.unborn.contains(&name.text) && !self.names.contains_key(&name.text) {
            return None;
        }
        let words: Vec<&str> = want.classes.iter().map(|c| memory_name(*c)).collect();
        let wanted = format!("a place in {}", words.join(" or "));
        let Meaning::Object(id) = self.lookup(&name.text, &name.span, &wanted, |m| matches!(m, Meaning::Object(_)))?
        else {
            return None;
        };
        let class = self.program.objects[id as usize].class;
        if !want.classes.contains(&class) {
            let at = self.facts[id as usize].span.clone();
            let message = format!("`{}` is in {}, not in {}", name.text, memory_name(class), words.join(" or "));
            let mut d = self.diag(&name.span, message, format!("{wanted} was expected"));
            d = d.also(at, "declared here");
            self.error(d);
            return None;
        }
        if !self.ctx.dead {
            self.facts[id as usize].used = true;
        }
        Some(id)
    }

    /// The slot or the block: one expression for each dimension that the object has.
    fn coordinates(&mut self, p: &ast::Place, obj: u16, at: Vec<Expr>) -> Option<Vec<Expr>> {
        let (object, facts) = self.object(obj);
        let (name, slots, global, vector) =
            (object.name.clone(), object.slots, object.class == Class::Global, facts.vector);
        if p.elements && !global {
            let d = self
                .diag(
                    &p.span,
                    format!("`.at` counts elements of a global matrix, and `{name}` is on the chip"),
                    "a global matrix was expected",
                )
                .help("parts of a buffer are `.rows(i, n)`, `.cols(i, n)`, `.block(r, c)`");
            self.error(d);
            return None;
        }
        if global {
            let dims = if vector { 1 } else { 2 };
            if at.len() != dims {
                let message =
                    format!("`{name}` has {dims} dimension{}, not {}", if vector { "" } else { "s" }, at.len());
                let example = if vector { "cta.m" } else { "cta.m, i" };
                let d = self
                    .diag(&p.span, message, "block coordinates were expected")
                    .help(format!("name a block: `{name}[{example}]`"));
                self.error(d);
                return None;
            }
            for (e, value) in p.at.iter().zip(&at) {
                if let Some(v) = value.constant()
                    && v < 0
                {
                    let d = self.diag(&e.span, format!("block {v} of `{name}`"), "0 or more was expected");
                    self.value_error(d);
                }
            }
            return Some(at);
        }
        if at.len() > 1 || (at.is_empty() && slots > 1) {
            let message = match at.len() {
                0 => format!("`{name}` has {slots} slots, and none is named"),
                n => format!("`{name}` has one index, its slot, not {n}"),
            };
            let d = self
                .diag(&p.span, message, "one slot was expected")
                .help(format!("name a slot: `{name}[i % {slots}]`"));
            self.error(d);
            return None;
        }
        if let Some(v) = at.first().and_then(Expr::constant)
            && !(0..slots as i64).contains(&v)
        {
            let message = format!("slot {v} of `{name}`, which has {slots}");
            let label = if slots == 1 { "0 was expected".into() } else { format!("0 to {} were expected", slots - 1) };
            let d = self.diag(&p.at[0].span, message, label);
            self.value_error(d);
        }
        Some(at)
    }

    /// Records the cuts that a part makes in a buffer.
    pub(super) fn note_cuts(&mut self, extent: &Extent) {
        if self.last_walk && !self.ctx.dead && self.facts[extent.obj as usize].shape.is_some() {
            for axis in 0..2 {
                if extent.div[axis] > 1 {
                    self.cuts.cut(extent.obj, axis, extent.div[axis]);
                }
            }
        }
    }

    /// The tile that a read expects. If the tile is as large as the place, it is the whole expectation. A larger tile
    /// is cut by the place's own parts (those beyond the number written on the tile), as the slot is.
    fn tile(&mut self, t: &ast::Tile, p: &ast::Place, sel: &Selection, extent: &Extent) -> Option<TileRef> {
        let partner = self.facts[extent.obj as usize].pieces;
        let want = Want { classes: &[Class::Global, Class::Reg], write: false, partner };
        let obj = self.place_object(&t.name, want)?;
        let (global, vector) = {
            let (o, f) = self.object(obj);
            (o.class == Class::Global, f.vector)
        };
        let at: Option<Vec<Expr>> = t.at.iter().map(|e| self.expr(e)).collect();
        let mut at = at?;
        let dims = match (global, vector) {
            (true, true) => 1,
            (true, false) => 2,
            (false, _) => 0,
        };
        if at.len() != dims || (t.member.is_some() && global) {
            let message = if global {
                format!("`{}` has {dims} dimensions, not {}", t.name.text, at.len())
            } else {
                format!("`{}` is a register object: it has members, not blocks", t.name.text)
            };
            let d = self
                .diag(&t.span, message, "a tile was expected")
                .help("a tile is a block `A[cta.m, i]`, or a member's registers `acc(self)`");
            self.error(d);
            return None;
        }
        if let Some(m) = &t.member {
            at.push(self.expr(m)?);
        }
        let mut s = Selecting {
            sel: Selection::default(),
            extent: Extent { obj, div: [1, 1], fixed: None, span: t.span.clone() },
            partner,
        };
        self.selectors(&mut s, &t.sels)?;
        if self.extent(&s.extent) != self.extent(extent) {
            if t.sels.is_empty() {
                s.sel = sel.clone();
                s.extent.div = extent.div;
                s.extent.fixed = extent.fixed;
            } else {
                let written = t.sels.len() - p.piece.is_some() as usize;
                self.selectors(&mut s, p.sels.get(written..).unwrap_or(&[]))?;
            }
        }
        if !global {
            self.note_cuts(&s.extent);
        }
        self.agree(Agree::Tile(extent.clone(), s.extent));
        Some(TileRef { obj, at, sel: s.sel })
    }

    /// The agent's own coordinates that a place reads.
    pub(super) fn place_mentions(&self, p: &ast::Place) -> Mentions {
        let mut all = Mentions::default();
        let tile = p.tile.as_ref();
        let sels = p.sels.iter().chain(tile.into_iter().flat_map(|t| &t.sels));
        let parts = sels.flat_map(|s| match &s.kind {
            SelKind::Part(_, i, _) | SelKind::Half(i) => vec![i],
            SelKind::Block(r, c) => vec![r, c],
            SelKind::Digits(_) => vec![],
        });
        let members = tile.into_iter().flat_map(|t| t.member.iter().chain(&t.at));
        for e in p.at.iter().chain(&p.piece).chain(&p.cta).chain(parts).chain(members) {
            all = all.or(self.mentions(e));
        }
        all
    }
}

/// The name of a memory.
pub(super) fn memory_name(class: Class) -> &'static str {
    match class {
        Class::Global => "global memory",
        Class::Shared => "shared memory",
        Class::Tmem => "tensor memory",
        Class::Reg => "registers",
        Class::Mailbox => "a mailbox",
    }
}
