//! Modifiers of instructions that synchronize or access memory. A misspelled one is an error: an instruction without its
//! modifier would be another instruction.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// The instructions whose modifiers are checked, by their first word, sorted.
const CHECKED: [&str; 20] = [
    "atom",
    "bar",
    "barrier",
    "clusterlaunchcontrol",
    "cp",
    "elect",
    "fence",
    "griddepcontrol",
    "ld",
    "ldmatrix",
    "mbarrier",
    "membar",
    "mma",
    "multimem",
    "red",
    "setmaxnreg",
    "st",
    "stmatrix",
    "tcgen05",
    "wgmma",
];

/// The words of their modifiers, by subject. Words with a digit (types, shapes, levels of caches) are not checked.
const WORDS: [&str; 9] = [
    // Barriers.
    "all aligned any arrive arrive_drop cluster cta inc dec init inval noComplete noinc parity pending_count popc red \
     read sync test_wait try_wait wait wait_all wait_group warp",
    // Memory orders, scopes and fences.
    "acq_rel acquire alias async cp_fenceproxy generic gl gpu mbarrier_init mmio noftz ftz proxy relaxed release sc \
     sync_restrict sys tensormap to volatile weak after_thread_sync before_thread_sync",
    // State spaces and caches.
    "ca cache_hint cg const cs cv entry evict_first evict_last evict_normal evict_unchanged func global level local lu nc \
     no_allocate param shared unified wb wt L2 L1 eviction_priority fractional",
    // Atomic operations.
    "add and cas exch max min or xor NaN abs acc ld_reduce reduce",
    // Copies.
    "bulk bulk_group bytes commit_group complete_tx cp_mask expect_tx ignore_oob mbarrier multicast prefetch tensor tile \
     w",
    // Tensor maps.
    "box_dim element_stride elemtype fill_mode global_address global_dim global_stride interleave_layout rank replace \
     swizzle_atomicity swizzle_mode",
    // Products.
    "a ashift b block block_scale buffer col collector discard fence fill kind lastuse mma mma_async ordered_metadata row \
     satfinite scale_vec sp use ws",
    // Tensor memory.
    "alloc commit cp cta_group dealloc down ld one pack relinquish_alloc_permit shift st trans unpack",
    // Launches.
    "cancel get_first_ctaid is_canceled launch_dependents query_cancel try_cancel x y z",
];

/// The words, to look them up.
static KNOWN: LazyLock<FxHashSet<&str>> = LazyLock::new(|| words().collect());

fn words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().flat_map(|line| line.split_ascii_whitespace())
}

/// The first word of a modifier that no instruction has, with the word that is probably meant.
pub(super) fn unknown<'m>(op: &str, mods: &'m [String]) -> Option<(&'m str, Option<&'static str>)> {
    CHECKED.binary_search(&op).ok()?;
    let typed = |word: &str| word == "pred" || word.bytes().any(|c| c.is_ascii_digit());
    let read = |word: &str| KNOWN.contains(word) || typed(word);
    let wrong =
        mods.iter().filter(|m| !KNOWN.contains(m.as_str())).flat_map(|m| m.split("::")).find(|word| !read(word))?;
    Some((wrong, words().find(|known| near(known, wrong))))
}

/// Whether one letter is missing, added or another, or two neighbors are exchanged.
fn near(known: &str, wrong: &str) -> bool {
    let (a, b) = (known.as_bytes(), wrong.as_bytes());
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    matches!((a, b), ([_], [_]) | ([], [_]) | ([_], [])) || matches!((a, b), ([x, y], [v, w]) if (x, y) == (w, v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<(String, Option<&'static str>)> {
        let mut parts = name.split('.').map(String::from);
        let op = parts.next()?;
        let mods: Vec<String> = parts.collect();
        unknown(&op, &mods).map(|(wrong, meant)| (wrong.to_string(), meant))
    }

    #[test]
    fn a_misspelled_modifier_is_found() {
        assert!(CHECKED.is_sorted());
        assert_eq!(of("bar.snyc"), Some(("snyc".into(), Some("sync"))));
        assert_eq!(of("st.sharde.u32"), Some(("sharde".into(), Some("shared"))));
        assert_eq!(of("fence.proxy.asnyc.shared::cta"), Some(("asnyc".into(), Some("async"))));
        assert_eq!(of("mbarrier.try_wait.parity.shared::ctaa.b64"), Some(("ctaa".into(), Some("cta"))));
        assert_eq!(of("cp.async.bulk.everything"), Some(("everything".into(), None)));
    }

    #[test]
    fn modifiers_of_ptx_are_known() {
        for name in [
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::1",
            "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v4.f32",
            "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.scale_vec::1X.collector::a::lastuse",
            "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2",
            "fence.acquire.sync_restrict::shared::cluster.cluster",
            "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128",
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
        assert_eq!(of("cvt.rn.unheard.f32"), None);
    }
}
