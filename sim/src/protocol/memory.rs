//! The state of memory: for each piece its tile, its accesses and its value; allocations of tensor memory.
//!
//! Which pieces a place covers is in `footprint`. The order of accesses is checked in `races`, the sums and stores of
//! output in `coverage`.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use crate::ir::ObjId;

use super::coverage::Coverage;
use super::fence::LastTouch;
use super::footprint::TileKey;
use super::order::{Access, Trace};
use super::peers::Visit;
use super::vocabulary::{FormId, Number};

/// The tile of a piece, and its accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub(super) holds: Option<TileKey>,
    pub(super) trace: Trace,
}

/// The sizes that a state of memory has.
pub(super) struct MemorySize {
    /// Number of pieces.
    pub(super) pieces: usize,
    /// Number of objects.
    pub(super) objects: usize,
    /// CTAs of the cluster.
    pub(super) ctas: usize,
    /// Whether the forms of words in mailboxes are followed.
    pub(super) forms: bool,
    /// Whether `wgmma.fence` is checked.
    pub(super) register_fences: bool,
}

/// The memory of a cluster: registers, shared memory and tensor memory. An index is that of a piece.
#[derive(Debug)]
pub(super) struct Memory {
    pieces: Vec<Piece>,
    /// Number of loads in flight into a register piece.
    filling: Vec<u32>,
    /// The words of mailboxes, by piece.
    mail: Vec<i64>,
    /// How each word depends on the place of the CTA; empty where this is not followed.
    mail_forms: Vec<FormId>,
    /// For each piece of a register object, its last use since its warp's last `wgmma.fence`. Empty where that rule is
    /// off or the program has no `wgmma`.
    unfenced: Vec<LastTouch>,
    /// Accesses to the memory of each CTA by agents of other CTAs, the newest load and the newest
    /// other access of each component.
    visits: Vec<Vec<Visit>>,
    /// Tensor-memory objects allocated, by object and CTA.
    tensor: FxHashMap<(ObjId, u32), Access>,
    /// The sums in accumulators, and the stores of output.
    pub(super) coverage: Coverage,
}

clone_by_field!(Memory { pieces, filling, mail, mail_forms, unfenced, visits, tensor, coverage });

impl Memory {
    /// Memory before the first step.
    pub(super) fn new(size: &MemorySize) -> Memory {
        Memory {
            pieces: vec![Piece::default(); size.pieces],
            filling: vec![0; size.pieces],
            mail: vec![0; size.pieces],
            mail_forms: vec![0; if size.forms { size.pieces } else { 0 }],
            unfenced: vec![LastTouch::Other; if size.register_fences { size.pieces } else { 0 }],
            visits: vec![Vec::new(); size.ctas],
            tensor: FxHashMap::default(),
            coverage: Coverage::new(size.pieces, size.objects),
        }
    }

    /// All pieces.
    #[inline]
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// For each piece, the number of loads in flight into it.
    pub(super) fn fills(&self) -> &[u32] {
        &self.filling
    }

    /// Whether a load into a piece is in flight.
    #[inline]
    pub(super) fn filling(&self, piece: usize) -> bool {
        self.filling[piece] > 0
    }

    /// A load into a piece starts.
    pub(super) fn begin_fill(&mut self, piece: usize) {
        self.filling[piece] += 1;
    }

    /// A load into a piece has landed.
    pub(super) fn end_fill(&mut self, piece: usize) {
        self.filling[piece] = self.filling[piece].saturating_sub(1);
    }

    /// Sets the number of loads in flight into a piece.
    pub(super) fn set_fills(&mut self, piece: usize, loads: u32) {
        self.filling[piece] = loads;
    }

    /// The words of all mailboxes, by piece.
    pub(super) fn words(&self) -> &[i64] {
        &self.mail
    }

    /// The forms of these words; empty where forms are not followed.
    pub(super) fn word_forms(&self) -> &[FormId] {
        &self.mail_forms
    }

    /// The word of a mailbox piece.
    #[inline]
    pub(super) fn word(&self, piece: usize) -> Number {
        Number { v: self.mail[piece], form: self.mail_forms.get(piece).copied().unwrap_or(0) }
    }

    /// Sets the word of a mailbox piece.
    pub(super) fn set_word(&mut self, piece: usize, x: Number) {
        self.mail[piece] = x.v;
        if let Some(form) = self.mail_forms.get_mut(piece) {
            *form = x.form;
        }
    }

    /// Sets the word of a mailbox piece that an operation in flight brings. Its form is unchanged.
    pub(super) fn post_word(&mut self, piece: usize, v: i64) {
        self.mail[piece] = v;
    }

    /// Whether `wgmma.fence` is checked.
    pub(super) fn checks_register_fences(&self) -> bool {
        !self.unfenced.is_empty()
    }

    /// The last use of each register piece since its warp's last `wgmma.fence`.
    pub(super) fn last_touches(&self) -> &[LastTouch] {
        &self.unfenced
    }

    /// Records a use of a register piece, where `wgmma.fence` is checked.
    #[inline]
    pub(super) fn touch(&mut self, piece: usize, by: LastTouch) {
        if let Some(last) = self.unfenced.get_mut(piece) {
            *last = by;
        }
    }

    /// Accesses to the memory of a CTA by other CTAs.
    pub(super) fn visits(&self, cta: u32) -> &[Visit] {
        &self.visits[cta as usize]
    }

    /// Accesses to the memory of a CTA by other CTAs, to be changed.
    pub(super) fn visits_mut(&mut self, cta: u32) -> &mut [Visit] {
        &mut self.visits[cta as usize]
    }

    /// Remembers an access to the memory of a CTA, in the place of an earlier one of its kind and component.
    pub(super) fn note_visit(&mut self, cta: u32, x: Visit) {
        let list = &mut self.visits[cta as usize];
        match list.iter_mut().find(|v| v.load == x.load && v.access.epoch.comp == x.access.epoch.comp) {
            Some(v) => *v = x,
            None => list.push(x),
        }
    }

    /// Takes the accesses to the memory of a CTA by other CTAs.
    pub(super) fn take_visits(&mut self, cta: u32) -> Vec<Visit> {
        std::mem::take(&mut self.visits[cta as usize])
    }

    /// Allocates a tensor-memory object. Returns whether it was allocated before.
    pub(super) fn allocate(&mut self, obj: ObjId, cta: u32, x: Access) -> bool {
        self.tensor.insert((obj, cta), x).is_some()
    }

    /// Gives a tensor-memory object back. Returns whether it was allocated.
    pub(super) fn deallocate(&mut self, obj: ObjId, cta: u32) -> bool {
        self.tensor.remove(&(obj, cta)).is_some()
    }

    /// The allocation of a tensor-memory object.
    pub(super) fn allocation(&self, obj: ObjId, cta: u32) -> Option<&Access> {
        self.tensor.get(&(obj, cta))
    }

    /// All allocated tensor-memory objects with their CTAs, in order.
    pub(super) fn allocations(&self) -> Vec<(ObjId, u32)> {
        let mut list: Vec<_> = self.tensor.keys().copied().collect();
        list.sort_unstable();
        list
    }

    /// Makes these tensor-memory objects the allocated ones.
    pub(super) fn set_allocations(&mut self, list: &[(ObjId, u32)], x: Access) {
        self.tensor = list.iter().map(|key| (*key, x)).collect();
    }
}

impl Index<usize> for Memory {
    type Output = Piece;

    #[inline]
    fn index(&self, piece: usize) -> &Piece {
        &self.pieces[piece]
    }
}

impl IndexMut<usize> for Memory {
    #[inline]
    fn index_mut(&mut self, piece: usize) -> &mut Piece {
        &mut self.pieces[piece]
    }
}
