//! Which pieces of objects that lie over each other share storage.

use crate::ir::{Class, ObjId, Object, TENSOR_LANES};

/// Bits of a column of tensor memory, which is written as a whole.
const COLUMN: i64 = 32;

/// The pieces of one slot that share storage with a piece of another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alias {
    pub(super) obj: ObjId,
    pub(super) slot: u32,
    /// The pieces, as bits.
    pub(super) pieces: u64,
}

/// A slot's number, its rows and its columns.
type Part = (i64, (i64, i64), (i64, i64));

/// For each object, the aliases of each piece of each slot; empty for an object that nothing lies over.
pub(super) fn aliases(objects: &[Object]) -> Vec<Vec<Vec<Alias>>> {
    let base = |x: usize| objects[x].overlay.map_or(x, |b| b as usize);
    let each = objects.iter().enumerate();
    let mut list: Vec<Vec<Vec<Alias>>> = vec![Vec::new(); objects.len()];
    for (x, o) in each.clone().filter(|(_, o)| o.class != Class::Global) {
        for (y, p) in each.clone() {
            if x == y || base(x) != base(y) || o.class != p.class {
                continue;
            }
            list[x].resize(o.slots as usize * o.pieces(), Vec::new());
            let others: Vec<(usize, Part)> = parts(p).collect();
            for (piece, part) in parts(o) {
                for (i, _) in others.iter().filter(|(_, other)| overlap((o, part), (p, *other))) {
                    let (slot, bit) = ((i / p.pieces()) as u32, 1u64 << (i % p.pieces()));
                    match list[x][piece].last_mut() {
                        Some(alias) if (alias.obj, alias.slot) == (y as ObjId, slot) => alias.pieces |= bit,
                        _ => list[x][piece].push(Alias { obj: y as ObjId, slot, pieces: bit }),
                    }
                }
            }
        }
    }
    list
}

/// The pieces of all slots, numbered from those of the first slot on.
fn parts(o: &Object) -> impl Iterator<Item = (usize, Part)> + '_ {
    let lines =
        |cuts: &[u32]| -> Vec<(i64, i64)> { cuts.windows(2).map(|w| (i64::from(w[0]), i64::from(w[1]))).collect() };
    let (rows, cols) = (lines(&o.row_cuts), lines(&o.col_cuts));
    let of_slot = move |slot| {
        let cols = cols.clone();
        let of_row = move |row: (i64, i64)| cols.clone().into_iter().map(move |col| (slot, row, col));
        rows.clone().into_iter().flat_map(of_row)
    };
    (0..i64::from(o.slots)).flat_map(of_slot).enumerate()
}

/// Whether two pieces may share storage. Both objects begin at one place.
fn overlap((o, (s, rows, cols)): (&Object, Part), (p, (t, other_rows, other_cols)): (&Object, Part)) -> bool {
    let meet = |a: (i64, i64), b: (i64, i64)| a.0 < b.1 && b.0 < a.1;
    if o.class == Class::Tmem {
        // Rows are lanes if there are as many. Other layouts in the lanes are not known.
        let all = o.rows == TENSOR_LANES && p.rows == TENSOR_LANES;
        return meet(columns(o, s, cols), columns(p, t, other_cols)) && (!all || meet(rows, other_rows));
    }
    let bytes = |o: &Object, slot: i64| (slot * o.slot_bytes(), (slot + 1) * o.slot_bytes());
    if !meet(bytes(o, s), bytes(p, t)) {
        return false;
    }
    // Slots of one layout at one place have each element at the same bytes. Of other layouts, the whole slot counts.
    let layout = |o: &Object| (o.rows, o.cols, o.dtype.bits(), o.swizzle);
    s != t || layout(o) != layout(p) || (meet(rows, other_rows) && meet(cols, other_cols))
}

/// The columns of tensor memory that a part of a slot takes.
fn columns(o: &Object, slot: i64, (from, to): (i64, i64)) -> (i64, i64) {
    let bits = i64::from(o.dtype.bits());
    let first = slot * ((o.cols * bits + COLUMN - 1) / COLUMN);
    (first + from * bits / COLUMN, first + (to * bits + COLUMN - 1) / COLUMN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Dtype;

    fn tensor(dtype: Dtype, slots: u32, [row_cuts, col_cuts]: [&[u32]; 2]) -> Object {
        let mut o = Object::whole("x".into(), Class::Tmem, dtype, [128, 128]);
        (o.slots, o.row_cuts, o.col_cuts) = (slots, row_cuts.to_vec(), col_cuts.to_vec());
        o
    }

    #[test]
    fn pieces_in_tensor_memory_meet_by_lane_and_column() {
        let scores = tensor(Dtype::F32, 2, [&[0, 32, 64, 96, 128], &[0, 64, 128]]);
        let mut weights = tensor(Dtype::Bf16, 4, [&[0, 32, 64, 96, 128], &[0, 128]]);
        weights.overlay = Some(0);
        let list = aliases(&[scores, weights]);
        // Slot 1 of the weights lies in columns 64 to 127, which is the second half of slot 0 of the scores.
        assert_eq!(list[1][4], [Alias { obj: 0, slot: 0, pieces: 0b10 }]);
        assert_eq!(list[1][4 + 3], [Alias { obj: 0, slot: 0, pieces: 0b1000_0000 }]);
        assert_eq!(list[0][8], [Alias { obj: 1, slot: 2, pieces: 0b1 }]);
    }
}
