//! The store of visited states.

use std::ops::Range;

use super::cells::Id;

/// The previous state and the move from it.
pub(super) type From = (u32, u32);

/// Visited states, one after the other.
pub(super) struct Store {
    width: usize,
    rows: Vec<Id>,
    /// For each state, its predecessor.
    pub(super) from: Vec<From>,
    /// A hash table with open addressing over indices of states. A slot has the upper half of the state's hash, which
    /// gives its position, and the index plus one; 0 is free.
    slots: Vec<u64>,
    /// Hashes of the states being added.
    hashes: Vec<u64>,
}

impl Store {
    pub(super) fn new(width: usize) -> Store {
        Store { width, rows: Vec::new(), from: Vec::new(), slots: vec![0; 1 << 12], hashes: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.from.len()
    }

    /// Bytes of the states.
    pub(super) fn bytes(&self) -> u64 {
        let rows = self.rows.capacity() * size_of::<Id>();
        let from = self.from.capacity() * size_of::<From>();
        (rows + from + self.slots.capacity() * size_of::<u64>()) as u64
    }

    pub(super) fn row(&self, i: usize) -> &[Id] {
        self.rows(i..i + 1)
    }

    /// The states in a range, one after the other.
    pub(super) fn rows(&self, of: Range<usize>) -> &[Id] {
        &self.rows[of.start * self.width..of.end * self.width]
    }

    /// Adds states in order, without those already present.
    pub(super) fn add(&mut self, rows: &[Id], from: &[From]) {
        while 2 * (self.len() + from.len()) >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let shift = 64 - self.slots.len().trailing_zeros();
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.clear();
        hashes.extend(rows.chunks_exact(self.width).map(hash));
        // Consecutive states have distant slots. Prefetching all slots first waits for memory once, not once for each
        // state.
        let likely = |hash: u64| {
            let slot = self.slots[(hash >> shift) as usize];
            let row = (slot as u32 as usize).saturating_sub(1) * self.width;
            if slot != 0 && (slot ^ hash) >> 32 == 0 { self.rows[row] as u64 } else { slot }
        };
        std::hint::black_box(hashes.iter().fold(0, |all, hash| all ^ likely(*hash)));
        for ((row, &hash), from) in rows.chunks_exact(self.width).zip(&hashes).zip(from) {
            let mut at = (hash >> shift) as usize;
            loop {
                let slot = self.slots[at];
                if slot == 0 {
                    self.rows.extend_from_slice(row);
                    self.from.push(*from);
                    self.slots[at] = hash >> 32 << 32 | self.from.len() as u64;
                    break;
                }
                if (slot ^ hash) >> 32 == 0 && self.row(slot as u32 as usize - 1) == row {
                    break;
                }
                at = (at + 1) & mask;
            }
        }
        self.hashes = hashes;
    }

    /// Doubles the slots. States move in the order of their hashes, which needs no search.
    fn grow(&mut self) {
        let mut slots = vec![0; 2 * self.slots.len()];
        let (mask, shift) = (slots.len() - 1, 64 - slots.len().trailing_zeros());
        for slot in self.slots.iter().filter(|s| **s != 0) {
            let mut at = (slot >> shift) as usize;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

/// A hash that is good in its upper half. Both halves of a product are folded into one word, so each bit of a state
/// affects all bits; the lower half alone does not do this.
fn hash(row: &[Id]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let product = (hash ^ word ^ 0x2d35_8dcc_aa6c_78a5) as u128 * 0x9e37_79b9_7f4a_7c15;
        product as u64 ^ (product >> 64) as u64
    };
    let (fours, rest) = row.as_chunks::<4>();
    let word = |ids: &[Id]| ids.iter().fold(0, |all, x| all << 16 | *x as u64);
    mix(fours.iter().fold(0, |hash, four| mix(hash, word(four))), word(rest))
}
