//! Accesses to global memory, in a program that is timed: matrices of the launch, and the blocks that accesses cover.

use std::collections::BTreeMap;

use warpline_sim::ir::{
    Binary, Class, Dtype, Expr, Instructions, MmaKind, MoveKind, ObjId, Object, Op as IrOp, Operand, Part,
};
use warpline_sim::ir::{IssueCount, Place, Selection, Writes};

use crate::lift::build::{LEFT, LOADED, STORED};
use crate::lift::launch::{Argument, Array, ParamField, TensorMap};
use crate::lift::memory::intervals::united;
use crate::lift::memory::objects::UNKNOWN_GLOBAL;
use crate::lift::merge::Set;
use crate::lift::timed::{SHARED_LOAD, sample};
use crate::lift::tree::{Effect, Global, GlobalAccess};
use crate::ptx::Error;
use crate::symbolic::Term;

use super::Emit;
use super::places::{moved, whole};

/// The rectangle of a matrix that the warps of a CTA access together.
#[derive(Clone, Debug)]
pub(super) struct Block {
    source: Option<ParamField>,
    /// The first row and the first element in the row; `None` where the address is not known.
    at: Option<[Expr; 2]>,
    rows: i64,
    cols: i64,
    /// Warps that share it, as bits; 0 for one warp.
    pub(super) crew: u64,
    /// Machine instructions of a warp.
    pub(super) instructions: u32,
}

/// The layout of an array: bits of an element, elements of a row, rows.
#[derive(Clone, Copy, Debug)]
struct Layout {
    dtype: Dtype,
    cols: i64,
    rows: i64,
}

impl Layout {
    fn of(array: &Array) -> Layout {
        let size = |n: Option<&u64>| n.map_or(1, |n| *n as i64).max(1);
        let cols = size(array.shape.last());
        let all: i64 = array.shape.iter().map(|n| *n as i64).product();
        Layout { dtype: dtype(&array.dtype), cols, rows: (all / cols).max(1) }
    }

    fn bits(self) -> i64 {
        i64::from(self.dtype.bits())
    }

    /// Bytes of a row.
    fn pitch(self) -> i64 {
        (self.cols * self.bits() / 8).max(1)
    }

    /// Elements in some bytes.
    fn elements(self, bytes: i64) -> i64 {
        (bytes * 8 / self.bits()).max(1)
    }
}

fn dtype(name: &str) -> Dtype {
    match name {
        "float64" | "int64" | "uint64" => Dtype::F64,
        "float16" | "int16" | "uint16" => Dtype::F16,
        "bfloat16" => Dtype::Bf16,
        "float8_e4m3fn" | "float8_e5m2" => Dtype::Fp8,
        "int8" | "uint8" | "bool" => Dtype::I8,
        "float4_e2m1" => Dtype::Fp4,
        "int32" | "uint32" => Dtype::I32,
        _ => Dtype::F32,
    }
}

fn total(list: &[(i64, i64)]) -> i64 {
    list.iter().map(|(a, b)| b - a).sum()
}

impl Emit<'_, '_, '_> {
    /// The accesses of warps to global memory at one instruction.
    pub(super) fn far(&mut self, at: usize, ops: &[(u32, u32, Effect)], now: Set) -> Result<(), Error> {
        let mut by_rank: BTreeMap<u32, Vec<(u32, u32, &Global)>> = BTreeMap::new();
        for (w, lanes, e) in ops.iter().filter(|(w, ..)| now >> w & 1 == 1) {
            if let Effect::Global(g) = e {
                by_rank.entry(w / self.warps).or_default().push((w % self.warps, *lanes, g));
            }
        }
        self.sources.clear();
        for (rank, list) in by_rank {
            let set = list.iter().fold(0, |s: Set, (w, ..)| s | 1 << (rank * self.warps + w));
            let how = list[0].2.how;
            let one = list.iter().all(|(_, lanes, _)| lanes.count_ones() == 1);
            let block = match how {
                GlobalAccess::BoxLoad | GlobalAccess::BoxStore => self.box_of(at, list[0].2)?,
                _ => self.block(at, &list)?,
            };
            let (kind, src, dst) = match how {
                GlobalAccess::Load(number) => {
                    let to = self.loaded(number);
                    (MoveKind::Ldg, self.block_place(&block), whole(to))
                }
                GlobalAccess::Store => (MoveKind::Store, whole(STORED), self.block_place(&block)),
                GlobalAccess::Atomic => {
                    let mut dst = self.block_place(&block);
                    dst.sel.writes = Writes::Atomic;
                    (MoveKind::Store, whole(STORED), dst)
                }
                GlobalAccess::Copy | GlobalAccess::BoxLoad | GlobalAccess::BoxStore => {
                    self.sources.insert(rank, block);
                    continue;
                }
            };
            let mut op = moved(kind, src, dst, None, None);
            if let IrOp::Move { crew, issue, .. } = &mut op {
                (*crew, *issue) = (block.crew, IssueCount::Instructions(block.instructions));
            }
            self.by(at, set, now, one, &op)?;
        }
        Ok(())
    }

    /// The object for the registers that a load writes.
    fn loaded(&mut self, number: u32) -> ObjId {
        if number == SHARED_LOAD {
            return LOADED;
        }
        if let Some(o) = self.registers.get(&number) {
            return *o;
        }
        let line = self.s.entry.code.get(number as usize).map_or(0, |i| i.line);
        let o = self.object(Object::whole(format!("loaded_{line}"), Class::Reg, Dtype::I8, [1, 1]));
        self.registers.insert(number, o);
        o
    }

    fn object(&mut self, o: Object) -> ObjId {
        self.objects.push(o);
        self.first_object + self.objects.len() as ObjId - 1
    }

    /// The layout of an array.
    fn layout(&self, source: Option<ParamField>) -> Option<Layout> {
        match self.s.argument(source?)? {
            Argument::Array(a) => Some(Layout::of(a)),
            Argument::Map(m) => Some(Layout::of(&m.array)),
            _ => None,
        }
    }

    /// The place of a block in its matrix.
    pub(super) fn block_place(&mut self, b: &Block) -> Place {
        let unknown = Layout { dtype: Dtype::I8, cols: b.cols.max(128), rows: b.rows.max(1) };
        let layout = self.layout(b.source).filter(|_| b.at.is_some()).unwrap_or(unknown);
        let key = (b.source, b.at.is_some(), b.rows, b.cols);
        let obj = match self.matrices.get(&key) {
            Some(o) => *o,
            None => {
                // An array that the launch does not give keeps its name.
                let known = b.source.filter(|_| b.at.is_some() || self.layout(b.source).is_none());
                let name = known.map_or(UNKNOWN_GLOBAL.to_string(), |f| f.to_string());
                let matrix = Object::whole(name, Class::Global, layout.dtype, [layout.rows, layout.cols]);
                let o = self.object(Object { block: [b.rows, b.cols], ..matrix });
                self.matrices.insert(key, o);
                o
            }
        };
        let at = b.at.clone().map_or_else(|| vec![Expr::Const(0); 2], Vec::from);
        Place { at, elements: true, ..whole(obj) }
    }

    /// Part `j` of `n` of a block, by rows or else by columns.
    pub(super) fn part_of(&mut self, b: &Block, j: usize, n: usize) -> Place {
        let place = self.block_place(b);
        let part = || vec![Part { index: Expr::Const(j as i64), of: n as u32 }];
        let sel = if n < 2 {
            Selection::default()
        } else if b.rows % n as i64 == 0 {
            Selection { rows: part(), ..Selection::default() }
        } else if b.cols % n as i64 == 0 {
            Selection { cols: part(), ..Selection::default() }
        } else {
            Selection::default()
        };
        Place { sel, ..place }
    }

    /// The block that threads access.
    fn block(&mut self, at: usize, list: &[(u32, u32, &Global)]) -> Result<Block, Error> {
        let first = list[0].2;
        let layout = self.layout(first.source);
        let start = first.at.first().copied().and_then(|t| Some((t, sample(&mut self.s.arena, t)?)));
        let mut all: Vec<(i64, i64)> = Vec::new();
        for (_, _, g) in list {
            let shift = match (start, g.at.first()) {
                (Some((t, _)), Some(x)) => {
                    let d = self.s.arena.sub(*x, t);
                    sample(&mut self.s.arena, d)
                }
                _ => Some(0),
            };
            let shift = shift.unwrap_or(0);
            all.extend(g.lanes.iter().map(|(o, n)| (o + shift, o + shift + i64::from(*n))));
        }
        let all = united(all);
        let unique = total(&all);
        let warps = list.iter().fold(0u64, |s, (w, ..)| s | 1 << w);
        // Requests of a core for one line that is under way meet in its first-level cache. So warps that access the
        // same data share it, too.
        let crew = if list.len() > 1 { warps } else { 0 };
        // An atomic access asks for each sector by itself.
        let instructions = if first.how == GlobalAccess::Atomic { first.sectors } else { first.instructions };
        let (Some(layout), Some((t, from))) = (layout, start) else {
            let cols = if unique % 128 == 0 { 128 } else { unique };
            return Ok(Block { source: first.source, at: None, rows: unique / cols.max(1), cols, crew, instructions });
        };
        let pitch = layout.pitch();
        let mut rows: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for (a, b) in all {
            let mut a = a + from;
            let b = b + from;
            while a < b {
                let row = a.div_euclid(pitch);
                let end = b.min((row + 1) * pitch);
                let span = rows.entry(row).or_insert((a - row * pitch, a - row * pitch));
                *span = (span.0.min(a - row * pitch), span.1.max(end - row * pitch));
                a = end;
            }
        }
        let left = rows.values().map(|r| r.0).min().unwrap_or(0);
        let top = rows.keys().next().copied().unwrap_or(0);
        let height = rows.len() as i64;
        let width = (unique / height.max(1)).max(1);
        let corner = self.s.arena.plus(t, top * pitch + left - from);
        let corner = self.row_and_column(at, corner, layout)?;
        Ok(Block {
            source: first.source,
            at: Some(corner),
            rows: height,
            cols: layout.elements(width),
            crew,
            instructions,
        })
    }

    /// Row and first element of an address in bytes.
    fn row_and_column(&mut self, at: usize, t: Term, layout: Layout) -> Result<[Expr; 2], Error> {
        let pitch = layout.pitch();
        let by = self.s.arena.int(pitch);
        let (row, column) = (self.s.arena.div(t, by), self.s.arena.rem(t, by));
        let row = if layout.rows == 1 { Expr::Const(0) } else { self.expr(at, row)? };
        let column = if layout.rows == 1 { t } else { column };
        let bytes = self.expr(at, column)?;
        let (bits, bytes) = (layout.bits(), bytes);
        let column = match bits {
            8 => bytes,
            4 => Expr::binary(Binary::Mul, bytes, Expr::Const(2)),
            bits => Expr::binary(Binary::Div, bytes, Expr::Const(bits / 8)),
        };
        Ok([row, column])
    }

    /// The box of a copy by tensor map.
    fn box_of(&mut self, at: usize, g: &Global) -> Result<Block, Error> {
        let unknown = Block { source: g.source, at: None, rows: 1, cols: 128, crew: 0, instructions: 1 };
        let map = match g.source.and_then(|f| self.s.argument(f)) {
            Some(Argument::Map(m)) => m.clone(),
            _ => return Ok(unknown),
        };
        let TensorMap { array, tile, .. } = map;
        let Some((cols, outer)) = tile.split_last() else { return Ok(unknown) };
        let rows: i64 = outer.iter().map(|n| i64::from(*n)).product();
        let cols = i64::from(*cols);
        if g.at.len() != array.shape.len() {
            return Ok(Block { rows, cols, ..unknown });
        }
        // Coordinates are innermost first, sizes outermost first.
        let mut row = self.s.arena.int(0);
        for (n, c) in array.shape.iter().zip(g.at.iter().rev()).take(array.shape.len() - 1) {
            row = self.s.arena.scale(row, *n as i64);
            row = self.s.arena.add(row, *c);
        }
        let at = Some([self.expr(at, row)?, self.expr(at, g.at[0])?]);
        Ok(Block { source: g.source, at, rows, cols, crew: 0, instructions: 1 })
    }

    /// The source or destination of a bulk copy of so many bytes, if the launch says which it is.
    pub(super) fn bulk_block(&mut self, rank: u32, bytes: u32) -> Option<Block> {
        let block = self.sources.get(&rank)?.clone();
        let layout = self.layout(block.source)?;
        // The box that the map has is as wide as its swizzle allows; a kernel's tile may be several boxes.
        let cols = layout.elements(i64::from(bytes)) / block.rows.max(1);
        Some(Block { cols: cols.max(1), ..block })
    }

    /// Instructions that only compute.
    pub(super) fn work(&mut self, at: usize, w: Instructions) {
        self.alu(at, Vec::new(), Some(w));
    }

    fn alu(&mut self, at: usize, reads: Vec<Place>, mix: Option<Instructions>) {
        self.op(at, IrOp::Alu { unit: "int".into(), count: Expr::Const(0), reads, writes: Vec::new(), mix });
    }

    /// A use of registers that a load wrote.
    pub(super) fn used(&mut self, at: usize, number: u32) {
        let reads = vec![whole(self.loaded(number))];
        self.alu(at, reads, None);
    }

    /// `mma.sync` of one warp, `count` times.
    pub(super) fn warp_product(&mut self, at: usize, [m, n, k, bits]: [u32; 4], count: u32) {
        let operand = |rows: u32| {
            let operand =
                Some(Operand { rows: rows.min(u32::from(u16::MAX)) as u16, depth: k as u16, bits: bits as u8 });
            Place { sel: Selection { operand, ..Selection::default() }, ..whole(LEFT) }
        };
        let (a, b) = (operand(m), operand(n * count));
        self.op(at, IrOp::Mma { kind: MmaKind::Warp, a, b, acc: whole(LEFT) });
    }
}
