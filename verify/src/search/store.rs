//! States, each once.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::cells::Id;

/// States seen, one behind the other.
pub(super) struct Store {
    width: usize,
    rows: Vec<Id>,
    /// By state: the one it came from, and by which move.
    pub(super) from: Vec<(u32, u16)>,
    /// Open addressing over indices of states; 0 is free, else one more than the index.
    slots: Vec<u32>,
}

impl Store {
    pub(super) fn new(width: usize) -> Store {
        Store { width, rows: Vec::new(), from: Vec::new(), slots: vec![0; 1 << 12] }
    }

    pub(super) fn len(&self) -> usize {
        self.from.len()
    }

    pub(super) fn row(&self, i: usize) -> &[Id] {
        &self.rows[i * self.width..(i + 1) * self.width]
    }

    /// Adds a state unless it is there.
    pub(super) fn add(&mut self, row: &[Id], from: (u32, u16)) {
        if 2 * self.len() >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(row) as usize & mask;
        while self.slots[at] != 0 {
            let i = self.slots[at] as usize - 1;
            if self.rows[i * self.width..(i + 1) * self.width] == *row {
                return;
            }
            at = (at + 1) & mask;
        }
        self.rows.extend_from_slice(row);
        self.from.push(from);
        self.slots[at] = self.from.len() as u32;
    }

    fn grow(&mut self) {
        let mut slots = vec![0; 2 * self.slots.len()];
        let mask = slots.len() - 1;
        for i in 0..self.len() {
            let mut at = hash(self.row(i)) as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = i as u32 + 1;
        }
        self.slots = slots;
    }
}

fn hash(row: &[Id]) -> u64 {
    let mut h = FxHasher::default();
    for four in row.chunks(4) {
        h.write_u64(four.iter().fold(0, |all, x| all << 16 | *x as u64));
    }
    let x = h.finish();
    x ^ x >> 29
}
