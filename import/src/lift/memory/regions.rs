//! Shared memory as objects with slots, and the bytes of accesses as sets of pieces.
//!
//! Intervals of addresses that overlap form one object. The size of its slots is the greatest common divisor of its
//! ring strides. Bytes of a slot that no write separates form one piece. A read of a byte of a piece races with the same
//! writes as a read of all of it.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::gcd;

use crate::lift::effects::tensor::{COLUMN, TENSOR};
use crate::symbolic::{Arena, Term};

use super::intervals::{Interval, united, without};

/// A part of an access: the object, the slot as a symbolic term, and the first and last byte in the slot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub(crate) object: usize,
    /// Slot of a constant address.
    pub(crate) slot: i64,
    /// Slots added, as terms and multiples.
    pub(crate) ring: Vec<(Term, i64)>,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// An object in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) base: i64,
    pub(crate) end: i64,
    pub(crate) slot: i64,
    pub(crate) slots: i64,
    /// A ring runs through it, so that slots divide its stride.
    pub(crate) ring: bool,
    /// First byte and class of each run of bytes of a slot that belong together; the class is `None` if no access
    /// covers them.
    pub(crate) classes: Vec<(u32, Option<u8>)>,
    /// Bytes of each class.
    pub(crate) sizes: Vec<u32>,
}

/// The largest number of slots of an object.
pub(crate) const MOST_SLOTS: i64 = 512;
/// The largest number of places in a slot that one access can have.
const MOST_PLACES: usize = 64;

/// All objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    pub(crate) list: Vec<Region>,
}

/// Bounds of an address: the first byte and one past the last; `None` if it has no bounds.
fn bounds(a: &Arena, t: Term, length: u32) -> Option<(i64, i64)> {
    let few = a.noted_points(t).and_then(|all| Some((*all.first()?, *all.last()?)));
    let (low, high) = few.unwrap_or_else(|| a.range(t));
    (low >= 0 && high < 1 << 20).then_some((low, high + length as i64))
}

/// The bytes `from..to` of an object, cut where slots begin; `ring` is added to each slot.
fn cut((object, r): (usize, &Region), (from, to): (i64, i64), ring: &[(Term, i64)]) -> Vec<Part> {
    let mut out = Vec::new();
    let (mut at, end) = (from - r.base, to - r.base);
    while at < end {
        let slot = at.div_euclid(r.slot);
        let stop = end.min((slot + 1) * r.slot);
        let (from, to) = ((at - slot * r.slot) as u32, (stop - slot * r.slot) as u32);
        out.push(Part { object, slot, ring: ring.to_vec(), from, to });
        at = stop;
    }
    out
}

/// The interval of overlapping accesses, with their strides and the constants of their addresses.
struct Span {
    low: i64,
    end: i64,
    /// Constant and strides of each access with strides.
    rings: BTreeSet<(i64, Vec<i64>)>,
}

impl Span {
    /// The object of these accesses. Strides may make too many slots. Those that leave the least remainders in other
    /// strides then make the slots, and remainders are places inside of a slot.
    fn region(&self) -> Region {
        let strides: BTreeSet<i64> = self.rings.iter().flat_map(|(_, strides)| strides).copied().collect();
        let all = strides.iter().fold(0, |g, s| gcd(g, *s));
        let many = |stride: i64| stride > 0 && (self.end - self.low) / stride > MOST_SLOTS;
        let rest = |stride: i64| strides.iter().map(|s| slots_of(*s, stride).1.abs()).sum::<i64>();
        let fewer = strides.iter().copied().filter(|stride| !many(*stride)).min_by_key(|stride| rest(*stride));
        let stride = if many(all) { fewer.unwrap_or(all) } else { all };
        let of_slots = |strides: &[i64]| stride > 0 && strides.iter().any(|s| slots_of(*s, stride).0 != 0);
        let from = self.rings.iter().filter(|(_, strides)| of_slots(strides)).map(|(k, _)| *k).min();
        let (low, end) = (self.low, self.end);
        let (base, slot) = match from {
            Some(k) => (k - (k - low + stride - 1).max(0) / stride * stride, stride),
            None => (low, end - low),
        };
        let base = base.min(low);
        let slots = (end - base + slot - 1) / slot;
        Region { base, end, slot, slots, ring: from.is_some(), classes: Vec::new(), sizes: Vec::new() }
    }
}

impl Regions {
    /// The objects for these accesses; an error is an address without bounds. `wide` are bytes that accesses at unknown
    /// places may touch, too: an object of their own has those that no other access touches. Bytes of `barriers` are
    /// in no such object, unless an access touches nothing else.
    pub(crate) fn of(
        a: &Arena,
        runs: &[(Term, u32)],
        (wide, barriers): (&[Interval], &[Interval]),
    ) -> Result<Regions, Term> {
        let mut spans: Vec<(i64, i64, Vec<i64>, i64)> = Vec::new();
        for (t, length) in runs {
            let (k, parts) = a.parts(*t);
            let (low, high) = bounds(a, *t, *length).ok_or(*t)?;
            // A slot of tensor memory begins with the first lane of a column.
            let first = if k >= TENSOR { k - (k - TENSOR) % COLUMN } else { k };
            spans.push((low, high, parts.iter().map(|(_, c)| c.abs()).collect(), first));
        }
        spans.sort();
        spans.dedup();
        let mut list: Vec<Span> = Vec::new();
        for (low, high, strides, first) in spans {
            let rings = if strides.is_empty() { BTreeSet::new() } else { BTreeSet::from([(first, strides)]) };
            match list.last_mut() {
                Some(span) if low < span.end => {
                    span.end = span.end.max(high);
                    span.rings.extend(rings);
                }
                // Small neighbors without a ring form one object.
                Some(span)
                    if span.rings.is_empty() && rings.is_empty() && low <= span.end + 16 && high - span.low <= 1024 =>
                {
                    span.end = span.end.max(high)
                }
                _ => list.push(Span { low, end: high, rings }),
            }
        }
        let mut list: Vec<Region> = list.iter().map(Span::region).collect();
        let mut gaps = Vec::new();
        for (low, high) in wide {
            let mut at = *low;
            for r in &list {
                if at < r.base.min(*high) {
                    gaps.push((at, r.base.min(*high)));
                }
                at = at.max(r.end);
            }
            if at < *high {
                gaps.push((at, *high));
            }
        }
        let gap = |(low, end)| Span { low, end, rings: BTreeSet::new() }.region();
        let only_barriers = wide.iter().any(|one| without(vec![*one], barriers).is_empty());
        let gaps = united(gaps);
        list.extend(if only_barriers { gaps } else { without(gaps, barriers) }.into_iter().map(gap));
        list.sort_by_key(|r| r.base);
        Ok(Regions { list })
    }

    /// The object of an address.
    fn object(&self, a: &Arena, t: Term, length: u32) -> Option<(usize, &Region)> {
        let (low, _) = bounds(a, t, length)?;
        let end = if a.constant(t).is_some() { low + i64::from(length) } else { low + 1 };
        // An access at an unknown place may begin in a barrier.
        self.list.iter().enumerate().find(|(_, r)| r.base < end && low < r.end)
    }

    /// The parts of a run of bytes, one for each slot that it covers; at its first place.
    pub(crate) fn parts(&self, a: &Arena, t: Term, length: u32) -> Vec<Part> {
        let Some((object, r)) = self.object(a, t, length) else { return Vec::new() };
        let (k, parts) = a.parts(t);
        // Of all objects that an access at an unknown place may touch.
        if parts.is_empty() && (k < r.base || k + i64::from(length) > r.end) {
            let inside = |(_, r): &(usize, &Region)| r.base < k + i64::from(length) && k < r.end;
            let each = self.list.iter().enumerate().filter(inside);
            let bytes = |r: &Region| (k.max(r.base), (k + i64::from(length)).min(r.end));
            return each.flat_map(|(n, r)| cut((n, r), bytes(r), &[])).collect();
        }
        let inside = inside(a, t, r.slot).and_then(|all| all.first().copied()).unwrap_or(0);
        parts_of(a, (object, r), (t, length), inside)
    }

    /// The parts of a run of bytes at each place inside of its slot; `None` if there are too many places.
    pub(crate) fn all_parts(&self, a: &Arena, t: Term, length: u32) -> Option<Vec<Vec<Part>>> {
        let Some((object, r)) = self.object(a, t, length) else { return Some(Vec::new()) };
        if a.constant(t).is_some() {
            return Some(vec![self.parts(a, t, length)]);
        }
        let all = inside(a, t, r.slot)?;
        Some(all.into_iter().map(|x| parts_of(a, (object, r), (t, length), x)).collect())
    }

    /// The object of an access that covers other pieces at some of its places inside of a slot.
    pub(crate) fn varies(&self, a: &Arena, t: Term, length: u32) -> Option<usize> {
        let (object, _) = self.object(a, t, length)?;
        let covered = |parts: &[Part]| -> BTreeMap<i64, u64> {
            let mut slots = BTreeMap::new();
            parts.iter().for_each(|p| *slots.entry(p.slot).or_default() |= self.pieces(object, p.from, p.to));
            slots
        };
        let Some(all) = self.all_parts(a, t, length) else { return Some(object) };
        let first = covered(all.first()?);
        all.iter().any(|parts| covered(parts) != first).then_some(object)
    }

    /// Divides slots into pieces: `accesses` has the bytes of each access in each object that is told apart. Other reads
    /// cover whole pieces. Returns false if there are more than 64 pieces.
    pub(crate) fn divide(&mut self, accesses: &[(usize, Vec<(u32, u32)>)]) -> Vec<bool> {
        let mut fits = Vec::new();
        for (object, r) in self.list.iter_mut().enumerate() {
            let mut marks: BTreeMap<u32, u128> = BTreeMap::from([(0, 0), (r.slot as u32, 0)]);
            let mut seed = 0x9e37_79b9_7f4a_7c15_u128;
            for (_, runs) in accesses.iter().filter(|(o, _)| *o == object) {
                seed = seed.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851_f42d_4c95_7f2d);
                let id = seed ^ (seed >> 61);
                for (from, to) in runs {
                    *marks.entry(*from).or_default() ^= id;
                    *marks.entry(*to).or_default() ^= id;
                }
            }
            let mut classes: Vec<(u32, Option<u8>)> = Vec::new();
            let mut known: BTreeMap<u128, u8> = BTreeMap::new();
            let (mut sizes, mut now, mut fit) = (Vec::new(), 0u128, true);
            let list: Vec<(u32, u128)> = marks.into_iter().collect();
            for pair in list.windows(2) {
                now ^= pair[0].1;
                let class = if now == 0 {
                    None
                } else {
                    let next = known.len();
                    fit &= next < 64 || known.contains_key(&now);
                    let class = *known.entry(now).or_insert(next.min(255) as u8);
                    if class as usize == sizes.len() {
                        sizes.push(0);
                    }
                    sizes[(class as usize).min(next)] += pair[1].0 - pair[0].0;
                    Some(class)
                };
                classes.push((pair[0].0, class));
                if !fit {
                    break;
                }
            }
            (r.classes, r.sizes) = (classes, sizes);
            fits.push(fit);
        }
        fits
    }

    /// Halves the size of slots and doubles their number; false if that is impossible.
    pub(crate) fn halve(&mut self, object: usize) -> bool {
        let r = &mut self.list[object];
        // Slots up to the end of shared memory are equal parts: none is beyond it.
        let equal = r.ring || r.end == super::anywhere::SHARED && r.slot % 2 == 0;
        let smaller = if equal { r.slot / 2 } else { ((r.slot - 1) as u64 + 1).next_power_of_two() as i64 / 2 };
        let can = (!r.ring || r.slot % 2 == 0) && smaller >= 32 && r.slots <= 256;
        if can {
            r.slot = smaller;
            r.slots = (r.end - r.base + smaller - 1) / smaller;
        }
        can
    }

    /// The pieces that bytes of a slot overlap, as bits.
    pub(crate) fn pieces(&self, object: usize, from: u32, to: u32) -> u64 {
        let r = &self.list[object];
        let first = r.classes.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        let hit = r.classes[first..].iter().take_while(|(at, _)| *at < to);
        hit.filter_map(|(_, c)| *c).fold(0, |bits, c| bits | 1 << c)
    }
}

/// A stride as whole slots and a remainder, the nearest to zero.
fn slots_of(stride: i64, slot: i64) -> (i64, i64) {
    let slots = (stride + slot / 2).div_euclid(slot);
    (slots, stride - slots * slot)
}

/// What the remainders of strides add to an address; `None` if that can be too many numbers.
fn inside(a: &Arena, t: Term, slot: i64) -> Option<Vec<i64>> {
    if a.constant(t).is_some() {
        return Some(vec![0]);
    }
    let (_, parts) = a.parts(t);
    let mut list = BTreeSet::from([0]);
    for (x, c) in parts.iter().map(|(x, c)| (x, slots_of(*c, slot).1)).filter(|(_, rest)| *rest != 0) {
        let (low, high) = a.range(*x);
        if high.checked_sub(low).is_none_or(|n| n >= MOST_PLACES as i64) {
            return None;
        }
        list = list.iter().flat_map(|k| (low..=high).map(move |v| k + c * v)).collect();
        if list.len() > MOST_PLACES {
            return None;
        }
    }
    Some(list.into_iter().collect())
}

/// The parts of a run of bytes, of which `inside` is the place in the slot.
fn parts_of(a: &Arena, (object, r): (usize, &Region), (t, length): (Term, u32), inside: i64) -> Vec<Part> {
    let (k, parts) = a.parts(t);
    let ring = parts.iter().map(|(t, c)| (*t, slots_of(*c, r.slot).0));
    let ring: Vec<(Term, i64)> = ring.filter(|(_, slots)| *slots != 0).collect();
    let from = k + inside;
    cut((object, r), (from, from + i64::from(length)), &ring)
}
