//! Operands: which object, which slot or block, which part of it.

use warpline_sim::ir::{BarRef, Class, Expr, Part, Place, Sel, TileRef, Where};

use super::header::axis_name;
use super::shape::{Agree, Foot};
use super::{Facts, Lower, Meaning, Mentions};
use crate::ast::{self, Axis, BarAt, Ident, SelKind, Selector, Span};
use crate::suggest::did_you_mean;

/// What an operand must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want<'a> {
    /// The memories it may live in.
    pub(super) classes: &'a [Class],
    /// It is written: registers need no declaration.
    pub(super) write: bool,
    /// The axis and number of pieces of the other operand, for `.0` of something without pieces.
    pub(super) partner: Option<(u32, Axis)>,
}

/// An operand and what it covers.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) place: Place,
    pub(super) foot: Foot,
}

/// A selection being built.
struct Selecting {
    sel: Sel,
    foot: Foot,
    partner: Option<(u32, Axis)>,
}

impl Lower<'_> {
    /// The pieces of the object a place names, if it has any.
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
            sel: Sel::default(),
            foot: Foot { obj, div: [1, 1], fixed: None, span: p.span.clone() },
            partner: want.partner,
        };
        if let Some(e) = &p.piece {
            self.piece(&mut s, e)?;
        }
        self.selectors(&mut s, &p.sels)?;
        let at = self.coordinates(p, obj, at?)?;
        let Selecting { sel, foot, .. } = s;
        self.note_cuts(&foot);
        let tile = match &p.tile {
            Some(t) => Some(self.tile(t, p, &sel, &foot)?),
            None => None,
        };
        Some(Spot { place: Place { obj, at, elements: p.elements, sel, cta, tile }, foot })
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

    /// The slot or the block: as many expressions as the object has dimensions to choose in.
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

    fn selectors(&mut self, s: &mut Selecting, sels: &[Selector]) -> Option<()> {
        for sel in sels {
            match &sel.kind {
                SelKind::Part(axis, index, of) => {
                    let of = match (of, self.ctx.members) {
                        (Some(e), _) => self.bounded(e, "the number of parts", 1, 1 << 16)?,
                        (None, Some(m)) => m.count as i64,
                        (None, None) => {
                            let word = if *axis == Axis::Rows { "rows" } else { "cols" };
                            let d = self
                                .diag(
                                    &sel.span,
                                    "no role with members stands around this",
                                    "how many parts there are is not known",
                                )
                                .help(format!("write `.{word}(i, n)`: part i of n"));
                            self.error(d);
                            return None;
                        }
                    };
                    let index = self.expr(index)?;
                    self.part(s, *axis, index, of, &sel.span)?;
                }
                SelKind::Half(e) => {
                    let index = self.expr(e)?;
                    self.part(s, Axis::Rows, index, 2, &sel.span)?;
                }
                SelKind::Block(r, c) => {
                    let (r, c) = (self.expr(r)?, self.expr(c)?);
                    let whole = self.extent(&s.foot);
                    for (axis, index) in [(Axis::Rows, r), (Axis::Cols, c)] {
                        let have = whole.map(|w| w[axis as usize]);
                        let of = have.map_or(1, |h| h / 8);
                        if let Some(h) = have
                            && h % 8 != 0
                        {
                            let message = format!("{h} {} do not divide into blocks of 8", axis_name(axis));
                            let d = self.diag(&sel.span, message, "a multiple of 8 was expected");
                            self.value_error(d);
                            return None;
                        }
                        self.part(s, axis, index, of, &sel.span)?;
                    }
                    s.foot.fixed = Some([8, 8]);
                }
                SelKind::Digits(digits) => self.digits(s, digits, &sel.span)?,
            }
        }
        Some(())
    }

    /// `.0`, `.01`: pieces where they are declared; two digits cut rows and columns in two.
    fn digits(&mut self, s: &mut Selecting, digits: &str, span: &Span) -> Option<()> {
        let (object, facts) = self.object(s.foot.obj);
        let (name, class) = (object.name.clone(), object.class);
        let index: i64 = digits.parse().unwrap_or(i64::MAX);
        if let Some((n, axis)) = facts.pieces {
            return self.part(s, axis, Expr::Const(index), n as i64, span);
        }
        if class == Class::Shared {
            let d = self
                .diag(span, format!("`{name}` has no pieces"), "a buffer with pieces was expected")
                .help(format!("declare `shared {name}... pieces 2 rows`, or write `.rows({index}, 2)`"));
            self.error(d);
            return None;
        }
        if digits.len() == 2 {
            for (axis, digit) in [(Axis::Rows, index / 10), (Axis::Cols, index % 10)] {
                self.part(s, axis, Expr::Const(digit), 2, span)?;
            }
            return Some(());
        }
        let (n, axis) = s.partner.unwrap_or((2, Axis::Rows));
        self.part(s, axis, Expr::Const(index), n as i64, span)
    }

    /// A second bracket: a piece chosen by an expression.
    fn piece(&mut self, s: &mut Selecting, e: &ast::Expr) -> Option<()> {
        let index = self.expr(e)?;
        let (object, facts) = self.object(s.foot.obj);
        let Some((n, axis)) = facts.pieces else {
            let name = object.name.clone();
            let d = self
                .diag(&e.span, format!("`{name}` has no pieces"), "a second index chooses a piece")
                .help(format!("declare it with `pieces n rows` or `pieces n cols`: `shared {name}... pieces 4 cols`"));
            self.error(d);
            return None;
        };
        self.part(s, axis, index, n as i64, &e.span)
    }

    /// Cuts what is selected so far into `of` equal parts and takes one.
    fn part(&mut self, s: &mut Selecting, axis: Axis, index: Expr, of: i64, span: &Span) -> Option<()> {
        let name = self.program.objects[s.foot.obj as usize].name.clone();
        let of = of.max(1);
        if let Some(have) = self.extent(&s.foot).map(|e| e[axis as usize])
            && (have % of != 0 || have < of)
        {
            let message = format!("{have} {} of `{name}` do not divide into {of} equal parts", axis_name(axis));
            let d = self.diag(span, message, format!("a divisor of {have} was expected"));
            self.value_error(d);
            return None;
        }
        if let Some(v) = index.constant()
            && !(0..of).contains(&v)
        {
            let message = format!("part {v} of `{name}`, which is cut into {of}");
            let d = self.diag(span, message, format!("0 to {} were expected", of - 1));
            self.value_error(d);
            return None;
        }
        let part = Part { index, of: of as u32 };
        match axis {
            Axis::Rows => s.sel.rows.push(part),
            Axis::Cols => s.sel.cols.push(part),
        }
        s.foot.div[axis as usize] = s.foot.div[axis as usize].saturating_mul(of).min(1 << 40);
        if let Some(f) = &mut s.foot.fixed {
            f[axis as usize] = (f[axis as usize] / of).max(1);
        }
        Some(())
    }

    /// Notes the cuts that a part makes in a buffer.
    pub(super) fn note_cuts(&mut self, foot: &Foot) {
        if self.last_walk && !self.ctx.dead && self.facts[foot.obj as usize].shape.is_some() {
            for axis in 0..2 {
                if foot.div[axis] > 1 {
                    self.cuts.cut(foot.obj, axis, foot.div[axis]);
                }
            }
        }
    }

    /// The tile a read expects. As large as what is read, it is exactly that; larger, the place's own parts
    /// (those beyond the number written on the tile) cut it as they cut the slot.
    fn tile(&mut self, t: &ast::Tile, p: &ast::Place, sel: &Sel, foot: &Foot) -> Option<TileRef> {
        let partner = self.facts[foot.obj as usize].pieces;
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
            sel: Sel::default(),
            foot: Foot { obj, div: [1, 1], fixed: None, span: t.span.clone() },
            partner,
        };
        self.selectors(&mut s, &t.sels)?;
        if self.extent(&s.foot) != self.extent(foot) {
            if t.sels.is_empty() {
                s.sel = sel.clone();
                s.foot.div = foot.div;
                s.foot.fixed = foot.fixed;
            } else {
                let written = t.sels.len() - p.piece.is_some() as usize;
                self.selectors(&mut s, p.sels.get(written..).unwrap_or(&[]))?;
            }
        }
        if !global {
            self.note_cuts(&s.foot);
        }
        self.agree(Agree::Tile(foot.clone(), s.foot));
        Some(TileRef { obj, at, sel: s.sel })
    }

    /// A mailbox slot, with its version as the tile.
    pub(super) fn mailbox(&mut self, p: &ast::Place, version: Option<&ast::Expr>, write: bool) -> Option<Place> {
        let want = Want { classes: &[Class::Mailbox], write, partner: None };
        let mut place = self.place(p, want)?.place;
        if let Some(v) = version {
            let at = vec![self.expr(v)?];
            place.tile = Some(TileRef { obj: place.obj, at, sel: Sel::default() });
        }
        Some(place)
    }

    /// An mbarrier.
    pub(super) fn bar(&mut self, b: &ast::Bar) -> Option<BarRef> {
        let id = self.mbar(&b.name)?;
        let stages = self.program.mbars[id as usize].stages;
        let stage = match &b.index {
            Some(e) => {
                let stage = self.expr(e)?;
                if let Some(v) = stage.constant()
                    && !(0..stages as i64).contains(&v)
                {
                    let message = format!("barrier {v} of `{}`, which has {stages}", b.name.text);
                    let d = self.diag(&e.span, message, format!("0 to {} were expected", stages - 1));
                    self.value_error(d);
                }
                stage
            }
            None if stages > 1 => {
                let d = self
                    .diag(
                        &b.span,
                        format!("`{}` is an array of {stages}, and none is named", b.name.text),
                        "an index was expected",
                    )
                    .help(format!("write `{}[i % {stages}]`", b.name.text));
                self.error(d);
                return None;
            }
            None => Expr::Const(0),
        };
        let at = match &b.at {
            BarAt::Own => Where::Own,
            BarAt::Cta(e) => Where::Cta(self.expr(e)?),
            BarAt::Ctas(e) => Where::Ctas(self.expr(e)?),
        };
        Some(BarRef { bar: id, stage, at })
    }

    /// An array of mbarriers by its name.
    pub(super) fn mbar(&mut self, name: &Ident) -> Option<u16> {
        if !self.names.contains_key(&name.text) && !self.skipped.contains(&name.text) {
            let bars = self.program.mbars.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
            let mut d = self.diag(&name.span, format!("unknown name `{}`", name.text), "an mbarrier was expected here");
            d.help = did_you_mean(&name.text, bars.iter().map(String::as_str))
                .or_else(|| Some(format!("declare it: `mbar {}[stages] (1)`", name.text)));
            self.error(d);
            return None;
        }
        match self.lookup(&name.text, &name.span, "an mbarrier", |m| matches!(m, Meaning::Mbar(_)))? {
            Meaning::Mbar(id) => Some(id),
            _ => None,
        }
    }

    /// What a place mentions of the agent's coordinates.
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

/// A memory in words.
pub(super) fn memory_name(class: Class) -> &'static str {
    match class {
        Class::Global => "global memory",
        Class::Shared => "shared memory",
        Class::Tmem => "tensor memory",
        Class::Reg => "registers",
        Class::Mailbox => "a mailbox",
    }
}
