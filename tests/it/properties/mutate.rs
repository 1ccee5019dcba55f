//! Changes to a ring that are certain to break it.

use warpline_strategies::{Family, Protocol};

/// One change: a name, what is replaced, and by what.
pub(super) struct Mutation {
    pub(super) name: &'static str,
    from: &'static str,
    to: &'static str,
    /// Every place, rather than the first.
    all: bool,
}

impl Mutation {
    /// The kernel with the change.
    pub(super) fn apply(&self, text: &str) -> String {
        assert!(text.contains(self.from), "{}: no `{}` in\n{text}", self.name, self.from);
        if self.all { text.replace(self.from, self.to) } else { text.replacen(self.from, self.to, 1) }
    }
}

const fn first(name: &'static str, from: &'static str, to: &'static str) -> Mutation {
    Mutation { name, from, to, all: false }
}

const WAIT_EMPTY: &str = "wait empty[i % stages] for i / stages - 1\n";
const WAIT_FULL: &str = "wait full[i % stages] for i / stages\n";

/// Changes that break any ring of two stages or more with more tiles than two rounds.
pub(super) fn mutations(ring: &Protocol) -> Vec<Mutation> {
    use Family::*;
    let mut list = Vec::new();
    let mbarriers = matches!(ring.family, Tma | TmaWgmma | TmaUmma | CpMbar);
    if mbarriers {
        list.extend([
            first("producers do not wait", WAIT_EMPTY, "warp.sync\n"),
            first("consumers do not wait", WAIT_FULL, "let nothing = 0\n"),
            first("producers wait for a phase too late", WAIT_EMPTY, "wait empty[i % stages] for i / stages\n"),
            first("producers wait for a phase too early", WAIT_EMPTY, "wait empty[i % stages] for i / stages - 2\n"),
            first("consumers wait for a phase too late", WAIT_FULL, "wait full[i % stages] for i / stages + 1\n"),
            first("consumers wait for a phase too early", WAIT_FULL, "wait full[i % stages] for i / stages - 1\n"),
            first("consumers wait on the next slot", WAIT_FULL, "wait full[(i + 1) % stages] for i / stages\n"),
            first("producers fill the next slot", "-> a[i % stages]", "-> a[(i + 1) % stages]"),
        ]);
    }
    match ring.family {
        Tma | TmaWgmma | TmaUmma => {
            list.extend([
                first("a copy without its signal's barrier", "signals full[i % stages]", "signals full[0]"),
                first("too many bytes expected", "expect ", "expect 16 + "),
                first("too few bytes expected", "expect ", "expect -16 + "),
            ]);
            let (released, once) = match ring.family {
                Tma => ("arrive empty[i % stages] per warp", "if i == 0: arrive empty[i % stages] per warp"),
                TmaUmma => ("commit umma -> empty[i % stages]", "if i == 0: commit umma -> empty[i % stages]"),
                _ => ("if i > 0: arrive", "if i == 1: arrive"),
            };
            list.push(first("only the first tile is released", released, once));
            if ring.family == TmaWgmma {
                list.push(first("a product too many in flight", "wait wgmma <= 1", "wait wgmma <= 2"));
            }
        }
        CpMbar => list.push(first("only the first copies arrive", "cp.arrive full", "if i == 0: cp.arrive full")),
        CpGroups => {
            list.push(first("a group too many in flight", "wait cp <= stages - 2", "wait cp <= stages - 1"));
            list.push(first("a tile further ahead", "i + stages - 1\n", "i + stages\n"));
        }
        Named => list.extend([
            first(
                "a count too large",
                "if i >= stages: bar sync empty[i % stages] (all_of)",
                "if i >= stages: bar sync empty[i % stages] (all_of + 32)",
            ),
            first(
                "consumers do not release",
                "if i + stages < tiles: bar arrive empty[i % stages] (all_of)",
                "warp.sync",
            ),
            first("producers do not wait", "if i >= stages: bar sync empty[i % stages] (all_of)", "warp.sync"),
            first("producers do not wait for their copies", "wait cp <= 0", "warp.sync"),
        ]),
        Registers => list.push(first("a slot further", "sts ra -> a[(i + 1) % stages]", "sts ra -> a[i % stages]")),
        // Their mutants are those of `warpline_strategies::mutants`.
        Bulk | Multicast | Neighbors => {}
        Loads => list.push(first("a tile further ahead", "i + stages - 1\n", "i + stages\n")),
        Dma => list.extend([
            first("an instruction too many in flight", "- i - 1) * q", "- i - 1) * q + 1"),
            first("a tile further ahead", "i + stages - 1\n", "i + stages\n"),
            first("registers are not waited for", "wait lgkm <= 0", "warp.sync"),
        ]),
    }
    // The barrier of a step stands alone on a line of the loop; the first of a kernel does not matter.
    if matches!(ring.family, CpGroups | Registers | Loads | Dma) && ring.warps() > 1 {
        list.push(first("no barrier in the loop", "      barrier\n", ""));
    }
    list
}
