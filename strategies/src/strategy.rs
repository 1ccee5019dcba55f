//! The strategies. Each field is an independent choice, so that each shrinks on its own.

use std::ops::RangeInclusive;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use warpline_verify::{Edit, edits};

use crate::Family::{self, *};
use crate::Protocol;

/// Bounds of generated protocols. A failing case shrinks to the least of each range.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Families to draw from, the simplest first.
    pub families: Vec<Family>,
    /// CTAs of a cluster, for families with clusters; at most 3.
    pub ctas: RangeInclusive<i64>,
    /// Warps that fill slots; at most 4.
    pub producers: RangeInclusive<i64>,
    /// Warps, or warpgroups, that read slots; at most 4.
    pub consumers: RangeInclusive<i64>,
    /// Slots; at most 7, because a CTA has 16 numbered barriers.
    pub stages: RangeInclusive<i64>,
    /// Trip counts of the main loop.
    pub tiles: RangeInclusive<i64>,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            families: Family::ALL.to_vec(),
            ctas: 1..=3,
            producers: 1..=4,
            consumers: 1..=4,
            stages: 1..=6,
            tiles: 0..=40,
        }
    }
}

impl Bounds {
    /// Bounds small enough for an explicit search.
    pub fn tiny() -> Bounds {
        Bounds { ctas: 1..=2, producers: 1..=1, consumers: 1..=1, stages: 1..=2, tiles: 0..=3, ..Bounds::default() }
    }
}

/// Correct protocols within bounds.
pub fn protocols(bounds: Bounds) -> impl Strategy<Value = Protocol> + Clone {
    let Bounds { families, ctas, producers, consumers, stages, tiles } = bounds;
    (select(families), any::<Index>(), ctas, producers, consumers, stages, tiles, any::<bool>()).prop_map(
        |(family, machine, ctas, producers, consumers, stages, tiles, other)| Protocol {
            family,
            machine: machine.get::<&str>(family.machines()),
            ctas: if family.in_clusters() { ctas } else { 1 },
            // The tensor core has one consumer: the lane that issues to it.
            consumers: if family == TmaUmma { 1 } else { consumers },
            // Its 128 rows do not divide by three. In a cluster, one thread of a CTA loads.
            producers: match family {
                TmaUmma if producers == 3 => 4,
                Multicast => 1,
                _ => producers,
            },
            stages,
            tiles,
            // A producer that skips a whole round of the ring cannot tell two phases apart.
            other: other || (family == Tma && producers > stages),
        },
    )
}

/// A protocol with one mutation, which may or may not matter.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The original protocol.
    pub protocol: Protocol,
    /// The mutation.
    pub edit: Edit,
}

impl Mutant {
    /// The mutated program with another number of tiles; `None` if no kernel can express it.
    pub fn at(&self, tiles: i64) -> Option<warpline_sim::ir::Program> {
        self.edit.apply(&self.protocol.at(tiles)?).ok()
    }
}

/// Protocols within bounds, each with one mutation that the kernel language can express ([`warpline_verify::edits`]).
/// A failing case shrinks toward the simpler protocol and the earlier line.
pub fn mutants(bounds: Bounds) -> impl Strategy<Value = Mutant> + Clone {
    (protocols(bounds), any::<Index>()).prop_filter_map("there is nothing to change", |(protocol, at)| {
        // A kernel without a step has less to mutate than one with a few.
        let long = protocol.at(protocol.tiles.max(2))?;
        let list: Vec<Edit> = edits(&long).into_iter().filter(|e| e.apply(&long).is_ok()).collect();
        (!list.is_empty()).then(|| Mutant { edit: at.get(&list).clone(), protocol })
    })
}

impl Arbitrary for Protocol {
    type Parameters = Bounds;
    type Strategy = BoxedStrategy<Protocol>;

    fn arbitrary_with(bounds: Bounds) -> Self::Strategy {
        protocols(bounds).boxed()
    }
}

impl Arbitrary for Mutant {
    type Parameters = Bounds;
    type Strategy = BoxedStrategy<Mutant>;

    fn arbitrary_with(bounds: Bounds) -> Self::Strategy {
        mutants(bounds).boxed()
    }
}
