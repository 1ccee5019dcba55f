//! Linear forms over the place of a CTA: a number is a form plus its value in the representative.

use rustc_hash::FxHashMap;

use crate::ir::Binary;

use super::vocabulary::FormId;

/// The reason why a run is not the run of every CTA of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Obstacle {
    /// The instruction that decides.
    pub pc: u32,
    pub(super) value: i64,
    pub(super) form: FormId,
    /// Whether the number must only stay on one side of zero; else the number must be constant.
    pub(super) sign: bool,
}

/// An operator's result that has no linear form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Opaque {
    pub(super) op: Binary,
    pub(super) x: (i64, FormId),
    pub(super) y: (i64, FormId),
}

/// The forms of a cell, each kept once.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) forms: Vec<Vec<(u32, i64)>>,
    pub(super) ids: FxHashMap<Vec<(u32, i64)>, FormId>,
    pub(super) opaque: Vec<Opaque>,
    pub(super) opaque_ids: FxHashMap<Opaque, u32>,
    /// Smallest and largest deviation of each opaque term from its value in the representative.
    pub(super) ranges: Vec<(i64, i64)>,
    pub(super) obstacle: Option<Obstacle>,
}

impl Table {
    /// With the form of numbers that are the same for all CTAs.
    pub(super) fn new() -> Table {
        Table { forms: vec![Vec::new()], ids: FxHashMap::from_iter([(Vec::new(), 0)]), ..Table::default() }
    }

    pub(super) fn intern(&mut self, form: Vec<(u32, i64)>) -> FormId {
        if let Some(id) = self.ids.get(&form) {
            return *id;
        }
        let id = self.forms.len() as FormId;
        self.forms.push(form.clone());
        self.ids.insert(form, id);
        id
    }

    pub(super) fn sum(&mut self, x: FormId, y: FormId, sign: i64) -> FormId {
        if y == 0 {
            return x;
        }
        let mut form = self.forms[x as usize].clone();
        for (symbol, c) in &self.forms[y as usize] {
            match form.binary_search_by_key(symbol, |term| term.0) {
                Ok(i) => form[i].1 = form[i].1.saturating_add(c.saturating_mul(sign)),
                Err(i) => form.insert(i, (*symbol, c.saturating_mul(sign))),
            }
        }
        form.retain(|(_, c)| *c != 0);
        self.intern(form)
    }

    pub(super) fn scaled(&mut self, x: FormId, by: i64) -> FormId {
        if by == 0 {
            return 0;
        }
        let form = self.forms[x as usize].iter().map(|(s, c)| (*s, c.saturating_mul(by))).collect();
        self.intern(form)
    }

    pub(super) fn meets(&mut self, o: Obstacle) {
        self.obstacle.get_or_insert(o);
    }
}
