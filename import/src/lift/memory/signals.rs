//! What copies bring to barriers, and what barriers expect.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::tree::Effect;
use crate::symbolic::{Arena, Term};

use super::barriers::addresses;
use super::sizes::deliveries;

/// The address of a barrier, and its CTA.
pub(super) type Signalled = (Term, u32);

/// Copies by the place that they go to: the CTA that issues each, and the CTA that gets it.
pub(super) type Copies = BTreeMap<Term, BTreeSet<(u32, u32)>>;

/// Copies and expectations of the barriers of a kernel.
#[derive(Default)]
pub(super) struct Signals {
    /// The copies that signal each barrier.
    pub(super) copies: BTreeMap<Signalled, Copies>,
    /// The bytes that each barrier expects.
    pub(super) expected: BTreeMap<Signalled, BTreeSet<Term>>,
    /// Where copies go, and barriers.
    starts: BTreeSet<i64>,
}

impl Signals {
    /// Adds an operation of a CTA. Returns the barrier of an operation that expects bytes, and these bytes.
    pub(super) fn add(&mut self, a: &Arena, rank: u32, e: &Effect) -> Option<(Term, Term)> {
        match e {
            Effect::BulkLoad { to, bar, multicast, cta, .. } => {
                self.starts.extend(addresses(a, *to).unwrap_or_default());
                for (dest, signalled) in deliveries(a, rank, *multicast, *cta) {
                    let all = self.copies.entry((*bar, signalled)).or_default();
                    all.entry(*to).or_default().insert((rank, dest));
                }
                None
            }
            Effect::Arrive { bar, expect: Some(n), cta, .. } | Effect::Expect { bar, bytes: n, cta } => {
                let cta = cta.and_then(|t| a.constant(t)).and_then(|c| u32::try_from(c).ok()).unwrap_or(rank);
                self.expected.entry((*bar, cta)).or_default().insert(*n);
                Some((*bar, *n))
            }
            Effect::Init(bar, _) => {
                self.starts.extend(a.constant(*bar));
                None
            }
            _ => None,
        }
    }

    /// The bytes from a place up to where the next copy goes. The last copy of a ring may have other memory behind it, so
    /// of several places the fewest bytes count.
    pub(super) fn room(&self, places: &[i64]) -> Option<i64> {
        let room = |x: &i64| self.starts.range(x + 1..).next().map(|next| next - x);
        places.iter().filter_map(room).min()
    }
}
