//! Slots, their pieces, and the pieces that a place covers.
//!
//! A slot is partitioned into pieces: the coarsest partition that every access of the kernel respects. A footprint is
//! a slot and a set of pieces. What a piece holds is in `memory`.

use smallvec::SmallVec;

use crate::code::Code;
use crate::ir::{Class, Expr, ObjId, Object, Part, Place, Program, Selection, TileRef, Writes, share};

use super::overlay::{self, Alias};
use super::vocabulary::{AgentId, Fault, FormId, Number};
use super::world::World;

/// Bytes of a line of memory.
const LINE: i64 = 128;

/// The identity of the tile that a piece holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileKey {
    /// The object of the tile: the global object that it comes from, the register object that was stored, or the
    /// mailbox.
    pub obj: ObjId,
    /// Block coordinates; member of the role for registers; version for mailboxes.
    pub at: [i64; 2],
    /// Rows and columns from a position in the slot to the position in the tile; zero where the two agree.
    pub shift: [i32; 2],
    /// Dependence of the coordinates on the place of the CTA; zero where this is not followed.
    pub forms: [FormId; 2],
}

/// The memory that a place covers, evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Footprint {
    /// The object.
    pub obj: ObjId,
    /// The CTA whose copy of the object it is.
    pub cta: u32,
    /// Slot; 0 for global objects.
    pub slot: u32,
    /// Block coordinates of a global tile, or element coordinates of its corner.
    pub at: [i64; 2],
    /// Dependence of these coordinates on the place of the CTA; zero where this is not followed.
    pub forms: [FormId; 2],
    /// First row inside the slot or block, and one past the last.
    pub rows: (i64, i64),
    /// First column, and one past the last.
    pub cols: (i64, i64),
    /// The pieces, as bits; empty for global objects.
    pub pieces: u64,
    /// Which writes of the footprint do not race with each other.
    pub writes: Writes,
}

impl Footprint {
    /// Elements covered.
    pub fn elements(&self) -> i64 {
        (self.rows.1 - self.rows.0) * (self.cols.1 - self.cols.0)
    }

    /// Rows and columns to the corner of another footprint.
    fn shift_to(&self, to: &Footprint) -> [i32; 2] {
        [(self.rows.0 - to.rows.0) as i32, (self.cols.0 - to.cols.0) as i32]
    }
}

/// Layout of the pieces of one object in a world: `base + ((copy * slots) + slot) * pieces + piece`. A copy is a CTA's,
/// or for registers a warp's.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) base: u32,
    pub(super) pieces: u32,
    pub(super) slots: u32,
    /// Pieces of other objects that share storage with each piece, by slot and piece.
    pub(super) aliases: Vec<Vec<Alias>>,
}

/// Lays out the pieces of all on-chip objects; returns layouts and the number of pieces.
pub(super) fn layouts(prog: &Program) -> (Vec<Layout>, usize) {
    let mut list: Vec<Layout> = Vec::new();
    let mut next = 0usize;
    for o in &prog.objects {
        let pieces = o.pieces().max(1);
        let copies = match o.class {
            Class::Global => 0,
            Class::Shared | Class::Tmem | Class::Mailbox => prog.cluster as usize,
            Class::Reg => (prog.cluster * prog.warps) as usize,
        };
        list.push(Layout { base: next as u32, pieces: pieces as u32, slots: o.slots, aliases: Vec::new() });
        next += copies * o.slots as usize * pieces;
    }
    for (l, aliases) in list.iter_mut().zip(overlay::aliases(&prog.objects)) {
        l.aliases = aliases;
    }
    (list, next)
}

impl World<'_> {
    /// The object that a piece is part of.
    pub fn object_of(&self, piece: u32) -> ObjId {
        // Objects without pieces begin where the next object does.
        self.spec.layouts.iter().rposition(|l| l.base <= piece).unwrap_or(0) as ObjId
    }

    /// Evaluates a place for an agent; `crew` as in [`crate::ir::Op::Move`] narrows it to the warp's share.
    pub(super) fn footprint(&self, a: AgentId, place: &Place, crew: u64) -> Result<Footprint, Fault> {
        let o = &self.prog.objects[place.obj as usize];
        let who = self.spec.info[a as usize];
        let cta = match &place.cta {
            Some(e) => self.in_cluster(self.eval(a, e)?)?,
            None => who.cta,
        };
        let (height, width) = size(o);
        let mut forms = [0; 2];
        let (slot, at) = if o.class == Class::Global {
            let mut at = [0i64; 2];
            for ((v, form), e) in at.iter_mut().zip(&mut forms).zip(&place.at) {
                Number { v: *v, form: *form } = self.placed(a, e)?;
            }
            (0, at)
        } else {
            let slot = match place.at.first() {
                Some(e) => {
                    let ring = self.ring_of_object(place.obj);
                    let slot = self.slot(a, e, ring)?;
                    self.access(ring, cta, slot);
                    slot.slot
                }
                None => 0,
            };
            if slot < 0 || slot >= o.slots as i64 {
                return Err(Fault::Slot { obj: place.obj, slot });
            }
            (slot as u32, [slot, 0])
        };
        let mut rows = (0, height);
        let mut cols = (0, width);
        self.narrow(a, who.cta, &place.sel, [&mut rows, &mut cols])?;
        if crew != 0 && crew.count_ones() > 1 {
            let n = crew.count_ones() as i64;
            let i = share(o.class, crew, who.warp);
            let height = rows.1 - rows.0;
            // Warps of a compiled kernel that copy more parts of a block than it has rows each copy a part of one row.
            let down = match height % n {
                0 => n,
                _ if o.class == Class::Global && self.prog.opaque_globals => common_divisor(height, n),
                _ => 1,
            };
            cut(&mut rows, i / (n / down), down);
            cut(&mut cols, i % (n / down), n / down);
        }
        let mut pieces = if o.class == Class::Global { 0 } else { pieces_of(&o.row_cuts, &o.col_cuts, rows, cols) };
        if let [all, ..] = place.sel.exact.as_slice() {
            let exact = place.sel.exact.get(who.warp as usize).unwrap_or(all);
            let (height, width) = lines(o, exact.elements as i64);
            (rows, cols) = ((0, height), (0, width));
            pieces = if o.class == Class::Global { 0 } else { exact.pieces };
        }
        Ok(Footprint { obj: place.obj, cta, slot, at, forms, rows, cols, pieces, writes: place.sel.writes })
    }

    /// Cuts rows and columns to the selected parts, with the coordinates of a CTA of the agent's cluster.
    fn narrow(&self, a: AgentId, cta: u32, sel: &Selection, [rows, cols]: [&mut (i64, i64); 2]) -> Result<(), Fault> {
        for (axis, parts) in [(rows, &sel.rows), (cols, &sel.cols)] {
            for p in parts {
                let i = self.eval_in(a, cta, &p.index)?;
                if i < 0 || i >= p.of as i64 {
                    return Err(Fault::Part { index: i, of: p.of });
                }
                cut(axis, i, p.of as i64);
            }
        }
        Ok(())
    }

    pub(super) fn in_cluster(&self, cta: i64) -> Result<u32, Fault> {
        if cta < 0 || cta >= self.prog.cluster as i64 { Err(Fault::Cta(cta)) } else { Ok(cta as u32) }
    }

    /// Indices of the pieces of a footprint.
    pub(super) fn each_piece(&self, a: AgentId, f: &Footprint) -> impl Iterator<Item = usize> + use<> {
        let o = &self.prog.objects[f.obj as usize];
        let l = &self.spec.layouts[f.obj as usize];
        let copy =
            if o.class == Class::Reg { f.cta * self.prog.warps + self.spec.info[a as usize].warp } else { f.cta };
        let first = (l.base + (copy * l.slots + f.slot) * l.pieces) as usize;
        let mut bits = f.pieces;
        std::iter::from_fn(move || {
            (bits != 0).then(|| {
                let i = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                first + i
            })
        })
    }

    /// The tile that a place holds; of several pieces, the tile of the first. A global place holds its own tile.
    pub(super) fn held(&self, a: AgentId, f: &Footprint) -> Option<TileKey> {
        if self.prog.objects[f.obj as usize].class == Class::Global {
            return Some(TileKey { obj: f.obj, at: f.at, shift: [0, 0], forms: f.forms });
        }
        self.each_piece(a, f).next().and_then(|p| self.memory[p].holds)
    }

    /// The tile that a copy from one place puts into another. Registers and buffers pass on the global tile that they
    /// hold. A result of arithmetic is named after the register and the member that owns it.
    pub(super) fn copied(&self, a: AgentId, src: &Footprint, dst: &Footprint) -> TileKey {
        let [r, c] = src.shift_to(dst);
        match self.held(a, src) {
            Some(k) if self.prog.objects[src.obj as usize].class != Class::Reg || self.is_global(k.obj) => {
                TileKey { shift: [k.shift[0] + r, k.shift[1] + c], ..k }
            }
            _ => TileKey { obj: src.obj, at: [self.member(a), 0], shift: [r, c], forms: [0; 2] },
        }
    }

    pub(super) fn is_global(&self, obj: ObjId) -> bool {
        self.prog.objects[obj as usize].class == Class::Global
    }

    /// Index of an agent's role member; the agent's warp where the role has no members.
    pub(super) fn member(&self, a: AgentId) -> i64 {
        let warp = self.spec.info[a as usize].warp;
        match self.prog.role_of(warp) {
            Some(r) if r.members > 1 => {
                let size = r.warps.count_ones() / r.members;
                let rank = (r.warps & ((1u64 << warp) - 1)).count_ones();
                (rank / size.max(1)) as i64
            }
            _ => warp as i64,
        }
    }

    /// Holds a read to finding the tile that its place expects.
    pub(super) fn expect_tile(&mut self, a: AgentId, pc: u32, place: &Place, f: &Footprint) -> Result<(), Fault> {
        self.expect_tile_of(self.spec.info[a as usize].cta, a, pc, place, f)
    }

    /// [`Self::expect_tile`] with the coordinates of a CTA of the agent's cluster: each CTA of a pair expects its own.
    pub(super) fn expect_tile_of(
        &mut self,
        cta: u32,
        a: AgentId,
        pc: u32,
        place: &Place,
        f: &Footprint,
    ) -> Result<(), Fault> {
        self.results.count_read(place.tile.is_some());
        let Some(t) = &place.tile else { return Ok(()) };
        let want = self.wanted(a, cta, t, f)?;
        let bad = self.each_piece(a, f).find_map(|p| {
            let held = self.memory[p].holds;
            let here = held.map(|k| TileKey { forms: want.forms, ..k });
            if here == Some(want) {
                self.same_forms(pc, held, &want);
            }
            (here != Some(want) && !self.unwritten(f.obj, p)).then_some((held, self.memory[p].trace.write))
        });
        if let Some((held, write)) = bad {
            let found = held.map_or("nothing written yet".to_string(), |k| self.tile_name(&k));
            let message = format!("reads {} from {} and finds {found}", self.tile_name(&want), self.footprint_name(f),);
            let other = write.map(|w| (w.pc, "what it finds was written here".to_string()));
            self.find(Code::Stale, a, pc, message, other);
        }
        Ok(())
    }

    /// Holds tiles that are equal in the representative of a cell to being equal in all its CTAs.
    fn same_forms(&self, pc: u32, held: Option<TileKey>, want: &TileKey) {
        if let (Some(place), Some(held)) = (&self.spec.place, held) {
            for i in (0..2).filter(|i| held.forms[*i] != want.forms[*i]) {
                place.fixed(pc, 0, place.minus(held.forms[i], want.forms[i]));
            }
        }
    }

    fn wanted(&self, a: AgentId, cta: u32, t: &TileRef, f: &Footprint) -> Result<TileKey, Fault> {
        let o = &self.prog.objects[t.obj as usize];
        let (mut at, mut forms) = ([0; 2], [0; 2]);
        for ((v, form), e) in at.iter_mut().zip(&mut forms).zip(&t.at) {
            Number { v: *v, form: *form } = self.placed_in(a, cta, e)?;
        }
        if t.sel == Selection::default() {
            // The tile begins where the place does, which may be a part of its slot.
            return Ok(TileKey { obj: t.obj, at, shift: [-f.rows.0 as i32, -f.cols.0 as i32], forms });
        }
        let (height, width) = size(o);
        let (mut rows, mut cols) = ((0, height), (0, width));
        self.narrow(a, cta, &t.sel, [&mut rows, &mut cols])?;
        Ok(TileKey { obj: t.obj, at, shift: Footprint { rows, cols, ..*f }.shift_to(f), forms })
    }

    /// The pieces of other objects that share a footprint's storage.
    pub(super) fn aliased(&self, f: &Footprint) -> Vec<(Footprint, usize)> {
        let l = &self.spec.layouts[f.obj as usize];
        let first = f.slot * l.pieces;
        let named = (0..l.pieces).filter(|i| f.pieces >> i & 1 == 1);
        let mut shared: SmallVec<[Alias; 4]> = SmallVec::new();
        for alias in named.flat_map(|i| l.aliases.get((first + i) as usize).into_iter().flatten()) {
            match shared.iter_mut().find(|x| (x.obj, x.slot) == (alias.obj, alias.slot)) {
                Some(x) => x.pieces |= alias.pieces,
                None => shared.push(*alias),
            }
        }
        let mut list = Vec::new();
        for Alias { obj, slot, pieces } in shared {
            let o = &self.prog.objects[obj as usize];
            let g = Footprint {
                obj,
                cta: f.cta,
                slot,
                at: [slot as i64, 0],
                forms: [0; 2],
                rows: (0, o.rows),
                cols: (0, o.cols),
                pieces,
                writes: Writes::Exclusive,
            };
            list.extend(self.each_piece(0, &g).map(|p| (g, p)));
        }
        list
    }

    /// A footprint's name for messages.
    pub(super) fn footprint_name(&self, f: &Footprint) -> String {
        let o = &self.prog.objects[f.obj as usize];
        let mut s = o.name.clone();
        if o.class == Class::Global {
            s += &format!("[{}, {}]", f.at[0], f.at[1]);
        } else if o.slots > 1 {
            s += &format!("[{}]", f.slot);
        }
        let (h, w) = size(o);
        if f.rows != (0, h) {
            s += &format!(" rows {}..{}", f.rows.0, f.rows.1);
        }
        if f.cols != (0, w) {
            s += &format!(" columns {}..{}", f.cols.0, f.cols.1);
        }
        if self.prog.cluster > 1 {
            s += &format!(" of CTA {}", f.cta);
        }
        s
    }

    /// A tile's name for messages and labels. [`PART`] stands behind the name of the whole tile.
    pub fn tile_name(&self, k: &TileKey) -> String {
        let o = &self.prog.objects[k.obj as usize];
        let part = match k.shift {
            [0, 0] => String::new(),
            [r, c] => format!("{PART} {r}, column {c}"),
        };
        match o.class {
            Class::Global if o.dims[1].is_empty() => format!("{}[{}]{part}", o.name, k.at[0]),
            Class::Global => format!("{}[{}, {}]{part}", o.name, k.at[0], k.at[1]),
            Class::Mailbox => format!("{} version {}", o.name, k.at[0]),
            _ => format!("{}({}){part}", o.name, k.at[0]),
        }
    }
}

/// What begins the place of a part in the name of a tile.
pub const PART: &str = " from row";

/// Rows and columns of the part of an object that a place names; all parts of an object have the same size.
pub(super) fn extent(prog: &Program, place: &Place) -> (i64, i64) {
    let (rows, cols) = size(&prog.objects[place.obj as usize]);
    let cut = |len, parts: &[Part]| parts.iter().fold(len, |len, p| len / p.of as i64);
    (cut(rows, &place.sel.rows), cut(cols, &place.sel.cols))
}

/// Rows and columns of elements that no shape is known of: whole lines of memory, where they are some.
fn lines(o: &Object, elements: i64) -> (i64, i64) {
    let line = LINE * 8 / i64::from(o.dtype.bits());
    match o.class {
        Class::Global | Class::Shared if elements % line == 0 => (elements / line, line),
        Class::Global | Class::Shared => (1, elements),
        _ => (elements, 1),
    }
}

/// Rows and columns of a block in global memory, or of a slot on the chip.
pub(super) fn size(o: &Object) -> (i64, i64) {
    if o.class == Class::Global { (o.block[0], o.block[1]) } else { (o.rows, o.cols) }
}

/// Narrows an extent to part `i` of `n`.
fn cut(axis: &mut (i64, i64), i: i64, n: i64) {
    let len = (axis.1 - axis.0) / n;
    *axis = (axis.0 + i * len, axis.0 + (i + 1) * len);
}

/// The greatest common divisor of two positive numbers.
fn common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a.max(1) } else { common_divisor(b, a % b) }
}

/// The pieces that a rectangle overlaps, as bits.
fn pieces_of(row_cuts: &[u32], col_cuts: &[u32], rows: (i64, i64), cols: (i64, i64)) -> u64 {
    if row_cuts.len() == 2 && col_cuts.len() == 2 {
        return 1;
    }
    let span = |cuts: &[u32], (lo, hi): (i64, i64)| {
        let first = cuts.partition_point(|&c| (c as i64) <= lo) - 1;
        let end = cuts.partition_point(|&c| (c as i64) < hi);
        (first, end)
    };
    let (r0, r1) = span(row_cuts, rows);
    let (c0, c1) = span(col_cuts, cols);
    let width = col_cuts.len() - 1;
    let line = (((1u128 << (c1 - c0)) - 1) << c0) as u64;
    (r0..r1).fold(0, |bits, r| bits | line << (r * width))
}

/// Whether an expression depends on the place of the CTA in the grid, so that CTAs may behave differently.
pub(super) fn mentions_grid(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |x| {
        use crate::ir::Env::*;
        if let Expr::Env(CtaM | CtaN | CtaZ | CtaId | ClusterM | ClusterN | ClusterId) = x {
            found = true;
        }
    });
    found
}
