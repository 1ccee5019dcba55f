//! Numbers of tiles, in order of their first request.

use rustc_hash::FxHashMap;

use crate::ir::Object;

/// A part of a matrix's blocks: object, rows, columns.
type Part = (u16, (i64, i64), (i64, i64));

/// Largest number of blocks of a matrix that are numbered in a table.
const TABLE: i64 = 1 << 22;

/// No number yet.
const NONE: u32 = u32::MAX;

/// The numbers of one part of a matrix's blocks.
#[derive(Debug, Default)]
struct Blocks {
    /// Blocks of the matrix along its rows and columns, as far as the table has them.
    extent: [i64; 2],
    /// Row by row.
    table: Vec<u32>,
    /// Blocks outside of the table.
    others: FxHashMap<[i64; 2], u32>,
}

/// Numbers of tiles.
#[derive(Debug, Default)]
pub(super) struct Names {
    parts: FxHashMap<Part, usize>,
    blocks: Vec<Blocks>,
    /// The part of the last tile, with its index.
    last: Option<(Part, usize)>,
    next: u32,
}

impl Names {
    /// The number of a tile. `object` is the tile's matrix, and `at` its coordinates in blocks or elements.
    pub(super) fn number(&mut self, part: Part, at: [i64; 2], object: &Object) -> u32 {
        let blocks = match self.last {
            Some((last, i)) if last == part => i,
            _ => self.part(part, object),
        };
        self.last = Some((part, blocks));
        let b = &mut self.blocks[blocks];
        let inside = (0..2).all(|i| (0..b.extent[i]).contains(&at[i]));
        let number = if inside {
            &mut b.table[(at[0] * b.extent[1] + at[1]) as usize]
        } else {
            b.others.entry(at).or_insert(NONE)
        };
        if *number == NONE {
            *number = self.next;
            self.next += 1;
        }
        *number
    }

    /// How many tiles have numbers.
    pub(super) fn count(&self) -> u32 {
        self.next
    }

    fn part(&mut self, part: Part, object: &Object) -> usize {
        if let Some(i) = self.parts.get(&part) {
            return *i;
        }
        let along = |size: i64, block: i64| (size + block.max(1) - 1) / block.max(1);
        let extent = [along(object.rows, object.block[0]), along(object.cols, object.block[1])];
        let fits = extent[0].checked_mul(extent[1]).is_some_and(|n| (0..=TABLE).contains(&n));
        let extent = if fits { extent } else { [0; 2] };
        let table = vec![NONE; (extent[0] * extent[1]) as usize];
        self.blocks.push(Blocks { extent, table, others: FxHashMap::default() });
        self.parts.insert(part, self.blocks.len() - 1);
        self.blocks.len() - 1
    }
}
