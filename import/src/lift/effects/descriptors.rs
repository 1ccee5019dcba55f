//! Fields of matrix descriptors.
//!
//! The address of an operand is in the lowest 14 bits, in units of 16 bytes. Where the mode of the leading dimension is
//! absolute, the next field is an address too. It is that of the atom in which rows of the first atom go on. Both fields
//! may then depend on a loop counter. A coefficient is split into its part of each field, and the split is exact
//! where both fields stay in their bits.

use crate::lift::walk::Walk;
use crate::ptx::{Error, Inst};
use crate::symbolic::Term;

/// Values of a field, in units of 16 bytes.
const FIELD: i64 = 1 << 14;
/// The position of the field of the leading dimension.
const LEADING: i64 = 1 << 16;
/// The bit that says whether the leading dimension is an address.
const ABSOLUTE: i64 = 1 << 52;

/// A matrix descriptor.
pub(crate) struct Descriptor {
    /// Bytes from the start of shared memory.
    pub(crate) address: Term,
    /// The constant bits.
    pub(crate) constant: i64,
    /// The address of the atom in which rows go on, if the descriptor names one.
    pub(crate) next: Option<Term>,
}

impl Descriptor {
    /// Bytes between two atoms along k or along the rows of a transposed operand.
    pub(crate) fn leading(&self) -> u32 {
        (self.constant >> 16 & (FIELD - 1)) as u32 * 16
    }

    /// Bytes between two atoms along the other dimension.
    pub(crate) fn stride(&self) -> u32 {
        (self.constant >> 32 & (FIELD - 1)) as u32 * 16
    }

    /// Bytes of a row of an atom.
    pub(crate) fn swizzle(&self) -> u32 {
        match self.constant >> 62 & 3 {
            1 => 128,
            2 => 64,
            3 => 32,
            _ => 16,
        }
    }
}

impl Walk<'_, '_> {
    /// The fields of a descriptor.
    pub(crate) fn descriptor(&mut self, i: &Inst, d: Term) -> Result<Descriptor, Error> {
        self.fields(d).or_else(|| self.by_value(d)).ok_or_else(|| {
            let shown = self.s.arena.show(d);
            self.s.error(
                i,
                format!("the address in a descriptor is not followed: {shown}"),
                "an address over arguments and loop counters",
            )
        })
    }

    fn fields(&mut self, d: Term) -> Option<Descriptor> {
        let (mut constant, parts) = self.s.arena.parts(d);
        let (mut near, mut far) = (Vec::new(), Vec::new());
        if constant & ABSOLUTE == 0 {
            near.extend_from_slice(&parts);
        } else {
            for (t, c) in parts.iter().copied() {
                let low = (c + LEADING / 2).rem_euclid(LEADING) - LEADING / 2;
                near.push((t, low));
                far.push((t, (c - low) / LEADING));
            }
            near.retain(|(_, c)| *c != 0);
            far.retain(|(_, c)| *c != 0);
        }
        let low = constant & (FIELD - 1);
        let address = self.field(low, &near).or_else(|| {
            // The constant may be less than the address by a slot of a ring that does not begin at zero.
            let lower = self.field(low - FIELD, &near)?;
            constant += FIELD;
            Some(lower)
        })?;
        let next = match constant & ABSOLUTE {
            0 => None,
            _ => Some(self.field(constant >> 16 & (FIELD - 1), &far)?),
        };
        Some(Descriptor { address, constant, next })
    }

    /// The fields of a descriptor that is a sequence, from each of its values. The other bits must be the same in all.
    fn by_value(&mut self, d: Term) -> Option<Descriptor> {
        let (index, mut all, cycle) = self.s.arena.as_sequence(d)?;
        let before = all.len();
        all.extend(cycle);
        // Entries that the index does not reach have the value of the next one that it reaches.
        let reached = self.s.arena.reached(index, all.len());
        let all: Vec<i64> = (0..all.len()).map(|n| all[n.clamp(reached.start, reached.end - 1)]).collect();
        let constant = *all.first()?;
        let fields = if constant & ABSOLUTE == 0 { FIELD - 1 } else { (FIELD - 1) * (LEADING + 1) };
        if all.iter().any(|v| v & !fields != constant & !fields) {
            return None;
        }
        let mut field = |shift: u32| {
            let mut bytes: Vec<i64> = all.iter().map(|v| (v >> shift & (FIELD - 1)) * 16).collect();
            let cycle = bytes.split_off(before);
            self.s.arena.table(index, bytes, cycle)
        };
        let address = field(0);
        let next = (constant & ABSOLUTE != 0).then(|| field(LEADING.trailing_zeros()));
        Some(Descriptor { address, constant, next })
    }

    /// A field in bytes, if its value stays in its bits.
    fn field(&mut self, constant: i64, parts: &[(Term, i64)]) -> Option<Term> {
        let t = self.s.arena.sum(constant, parts.to_vec());
        let (least, most) = self.s.arena.range(t);
        (least >= 0 && most < FIELD && !self.opaque(t)).then(|| self.s.arena.scale(t, 16))
    }
}
