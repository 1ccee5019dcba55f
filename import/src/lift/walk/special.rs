//! Special registers and the addresses of variables.

use crate::lift::tree::Val;
use crate::symbolic::{Atom, Node, Place};

use super::Walk;

/// Stands in place of an offset for the address of a parameter.
const ADDRESS: u32 = 1 << 31;

impl Walk<'_, '_> {
    /// The parameter and the offset in bytes that an address names.
    pub(crate) fn parameter_at(&self, v: &Val) -> Option<(u16, i64)> {
        let (offset, parts) = self.s.arena.parts(v.uniform(self.lanes)?);
        let [(t, 1)] = *parts else { return None };
        match self.s.arena.node(t) {
            Node::Atom(Atom::Param(p, ADDRESS)) => Some((*p, offset)),
            _ => None,
        }
    }

    /// The value of a name that is not a register.
    pub(crate) fn special(&mut self, name: &str) -> Val {
        let [x, y, _] = self.s.block;
        let warp = self.warp;
        let axis: usize = match name.rsplit_once('.').map(|(_, d)| d) {
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
        let (size, rank) = (self.s.cluster, self.s.rank);
        let inside = match axis {
            0 => rank % size[0],
            1 => rank / size[0] % size[1],
            _ => rank / (size[0] * size[1]),
        } as i64;
        let size = size[axis] as i64;
        let ctas = self.s.ctas();
        let grid = self.grid(axis);
        let map = self.map_named(name);
        let parameter = self.s.entry.params.iter().position(|p| p.name == name);
        let a = &mut self.s.arena;
        // Along an axis on which clusters have one CTA, a CTA is a cluster.
        let of = |alone: fn(u8) -> Place, many: fn(u8) -> Place| {
            Atom::Place(if size == 1 { alone(axis as u8) } else { many(axis as u8) })
        };
        match stem {
            "%tid" => Val::of(std::array::from_fn(|l| a.int(thread(l as u32) as i64))),
            "%laneid" => Val::of(std::array::from_fn(|l| a.int(l as i64))),
            "%ntid" => Val::Uni(a.int(self.s.block[axis] as i64)),
            "%warpid" => Val::Uni(a.int(warp as i64)),
            "%nctaid" if grid.is_some() => Val::Uni(a.int(grid.unwrap_or_default())),
            "%ctaid" | "%nctaid" => {
                let t = a.atom(if stem == "%ctaid" {
                    of(Place::Cta, Place::Cluster)
                } else {
                    of(Place::Ctas, Place::Clusters)
                });
                let t = a.scale(t, size);
                Val::Uni(if stem == "%ctaid" { a.plus(t, inside) } else { t })
            }
            "%clusterid" => Val::Uni(a.atom(of(Place::Cta, Place::Cluster))),
            "%nclusterid" => Val::Uni(a.atom(of(Place::Ctas, Place::Clusters))),
            "%cluster_ctarank" => Val::Uni(a.int(rank as i64)),
            "%cluster_nctarank" => Val::Uni(a.int(ctas as i64)),
            "%cluster_ctaid" => Val::Uni(a.int(inside)),
            "%cluster_nctaid" => Val::Uni(a.int(size)),
            "%is_explicit_cluster" => Val::Uni(a.int((ctas > 1) as i64)),
            _ => match (self.s.addresses.get(name), map) {
                (Some(at), _) => Val::Uni(a.int(*at)),
                // The address of a tensor map stands for the map.
                (None, Some(p)) => Val::Uni(a.atom(Atom::Param(p, 0))),
                (None, None) if parameter.is_some() => {
                    Val::Uni(a.atom(Atom::Param(parameter.unwrap_or_default() as u16, ADDRESS)))
                }
                (None, None) => Val::Uni(a.opaque(format!("`{name}`"))),
            },
        }
    }
}
