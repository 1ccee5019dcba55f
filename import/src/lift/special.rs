//! Special registers and the addresses of variables.

use crate::symbolic::{Atom, Place};

use super::tree::Val;
use super::walk::Walk;

impl Walk<'_, '_> {
    /// The value of a name that is no register.
    pub(super) fn special(&mut self, name: &str) -> Val {
        let [x, y, _] = self.s.block;
        let warp = self.warp;
        let axis = match name.rsplit_once('.').map(|(_, d)| d) {
            Some("y") => 1,
            Some("z") => 2,
            _ => 0,
        };
        let thread = |lane: u32| {
            let n = warp * 32 + lane;
            match axis {
                0 => n % x,
                1 => n / x % y,
                _ => n / (x * y),
            }
        };
        let stem = name.split('.').next().unwrap_or(name);
        let a = &mut self.s.arena;
        match stem {
            "%tid" => Val::of(std::array::from_fn(|l| a.int(thread(l as u32) as i64))),
            "%laneid" => Val::of(std::array::from_fn(|l| a.int(l as i64))),
            "%ntid" => Val::Uni(a.int(self.s.block[axis] as i64)),
            "%warpid" => Val::Uni(a.int(warp as i64)),
            "%ctaid" => Val::Uni(a.atom(Atom::Place(Place::Cta(axis as u8)))),
            "%nctaid" => Val::Uni(a.atom(Atom::Place(Place::Ctas(axis as u8)))),
            "%clusterid" => Val::Uni(a.atom(Atom::Place(Place::Cluster(axis as u8)))),
            "%nclusterid" => Val::Uni(a.atom(Atom::Place(Place::Clusters(axis as u8)))),
            "%cluster_ctarank" if self.s.cluster == 1 => Val::Uni(a.int(0)),
            "%cluster_nctarank" => Val::Uni(a.int(self.s.cluster as i64)),
            "%cluster_ctaid" if self.s.cluster == 1 => Val::Uni(a.int(0)),
            "%cluster_nctaid" if self.s.cluster == 1 => Val::Uni(a.int(1)),
            "%cluster_ctarank" => Val::Uni(a.atom(Atom::Place(Place::Rank))),
            _ => match self.s.addresses.get(name) {
                Some(at) => Val::Uni(a.int(*at)),
                None => Val::Uni(a.opaque(format!("`{name}`"))),
            },
        }
    }
}
