//! What a core's own cache (L1) has of what its clusters load to registers.

use rustc_hash::FxHashMap;

/// An array that all clusters load stays in a core's own cache if it takes at most this share. What else passes between
/// two loads of the array seldom fills the rest.
pub(super) const KEPT: f64 = 0.25;

/// A core's own cache, which loads to registers and stores pass. It drops lines at random.
#[derive(Debug)]
pub(super) struct OwnCache {
    bytes: f64,
    /// Bytes that pass for each loaded byte: CTAs of a core store while others load.
    passing: f64,
    /// Bytes that the simulated unit's clusters have loaded, and those up to this step.
    loaded: f64,
    before: f64,
    /// By tile and group of clusters: `before` at the last load.
    last: FxHashMap<(u8, u32, u32), f64>,
}

impl OwnCache {
    /// An empty cache; `stored_share` is the number of bytes that clusters store for each byte that they load.
    pub(super) fn new(bytes: f64, stored_share: f64) -> Self {
        OwnCache { bytes, passing: 1.0 + stored_share, loaded: 0.0, before: 0.0, last: FxHashMap::default() }
    }

    /// Begins a step: clusters are side by side, so that all loads of a step are as far from those of another.
    pub(super) fn step(&mut self) {
        self.before = self.loaded;
    }

    /// Loads a tile for a group of clusters, `own` if the simulated unit has one of them. Returns the share of the bytes
    /// that the cache does not have.
    pub(super) fn load(&mut self, of: (u8, u32, u32), bytes: u32, own: bool) -> f64 {
        let last = self.last.insert(of, self.before);
        let lost = last.map_or(1.0, |at| 1.0 - (-(self.before - at) * self.passing / self.bytes).exp());
        if own && last.is_none() {
            self.loaded += f64::from(bytes);
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_lost_with_what_passes_until_it_is_loaded_once_more() {
        let round =
            |l1: &mut OwnCache| (0..8).map(|group| l1.load((3, group, 7), 16 << 10, true)).collect::<Vec<f64>>();
        // Eight clusters load 16 KB each, and store as much.
        let mut l1 = OwnCache::new(f64::from(224 << 10), 1.0);
        assert_eq!(round(&mut l1), [1.0; 8]);
        l1.step();
        let lost = round(&mut l1);
        assert!(lost.iter().all(|l| (0.63..0.70).contains(l)), "{lost:?}");
        // Without stores less passes, and a cluster of another core makes nothing pass here.
        let mut l1 = OwnCache::new(f64::from(224 << 10), 0.0);
        assert_eq!(l1.load((3, 0, 7), 16 << 10, true), 1.0);
        assert_eq!(l1.load((3, 1, 7), 16 << 10, false), 1.0);
        l1.step();
        assert!((0.06..0.08).contains(&l1.load((3, 0, 7), 16 << 10, true)));
    }
}
