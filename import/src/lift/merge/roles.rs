//! Roles: warps that take different parts in a pipeline, named by what they do.
//!
//! PTX has no roles. Warps belong to one role if they issue the same kinds of operations and use the same barriers. A
//! kernel whose warps all take part in the products alike has one role, `all`, also where one of them issues the copies.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Instr, MbarId, MmaKind, MoveKind, Op, Program, Role};

/// Most roles that are told apart.
const MOST: usize = 8;

/// The kinds of operations that some warps issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Kinds {
    /// Copies from global into shared memory.
    loads: bool,
    /// Products that one thread issues (`tcgen05.mma`).
    issues: bool,
    /// Products of a warpgroup.
    products: bool,
    /// Loads and stores of tensor memory.
    reads_tensor: bool,
    writes_tensor: bool,
    /// Loads and stores of shared memory.
    reads_shared: bool,
    writes_shared: bool,
    /// Copies from shared into global memory.
    stores: bool,
    /// Waits for and arrivals at barriers.
    signals: bool,
}

impl Kinds {
    fn note(&mut self, op: &Op) {
        match op {
            Op::Move { how, .. } => match how {
                MoveKind::Load | MoveKind::CpAsync | MoveKind::LdsDma | MoveKind::TmaLoad => self.loads = true,
                MoveKind::TmaStore => self.stores = true,
                MoveKind::TmemLd => self.reads_tensor = true,
                MoveKind::TmemSt => self.writes_tensor = true,
                MoveKind::Lds => self.reads_shared = true,
                MoveKind::Sts => self.writes_shared = true,
                MoveKind::Ldg | MoveKind::Store => {}
            },
            Op::Mma { kind: MmaKind::Umma | MmaKind::UmmaPair, .. } => self.issues = true,
            Op::Mma { kind: MmaKind::Wgmma, .. } => self.products = true,
            Op::MbarWait { .. } | Op::Arrive { .. } | Op::Expect { .. } => self.signals = true,
            _ => {}
        }
    }

    /// The name of a role whose warps do this. `others_issue` says whether any warps issue products.
    fn name(self, others_issue: bool) -> &'static str {
        match self {
            _ if self.issues => "mma",
            _ if self.products => "math",
            _ if self.reads_tensor && self.writes_tensor => "vector",
            _ if self.reads_tensor => "epilogue",
            _ if self.reads_shared && self.writes_shared && others_issue => "transform",
            _ if self.loads => "load",
            _ if self.stores => "store",
            _ if self.reads_shared && !others_issue => "math",
            _ if self.signals || self.reads_shared || self.writes_shared => "helper",
            _ => "idle",
        }
    }
}

/// The barriers that an operation waits for, arrives at or lets a copy signal. Their set-up does not count.
fn barriers(op: &Op, list: &mut BTreeSet<MbarId>) {
    match op {
        Op::Move { signals: Some(b), .. }
        | Op::Arrive { bar: b, .. }
        | Op::Expect { bar: b, .. }
        | Op::MbarWait { bar: b, .. }
        | Op::CpArrive { bar: b, .. } => {
            list.insert(b.bar);
        }
        Op::CommitUmma(bars) => list.extend(bars.iter().map(|b| b.bar)),
        _ => {}
    }
}

/// The roles of a program, in order of their first warps; `None` where all warps have one.
pub(crate) fn roles(prog: &Program) -> Option<Vec<Role>> {
    let executing = prog.warps_at();
    let of = |w: u32| {
        let (mut kinds, mut used) = (Kinds::default(), BTreeSet::new());
        for (i, warps) in prog.code.iter().zip(&executing) {
            if let Instr::Op { op, .. } = i
                && warps >> w & 1 == 1
            {
                kinds.note(op);
                barriers(op, &mut used);
            }
        }
        (kinds, used)
    };
    let mut groups: BTreeMap<(Kinds, BTreeSet<MbarId>), u64> = BTreeMap::new();
    for w in 0..prog.warps.min(64) {
        *groups.entry(of(w)).or_default() |= 1 << w;
    }
    let others_issue = groups.keys().any(|(k, _)| k.issues || k.products);
    // One warp of a warpgroup often signals for all four.
    let mut named: Vec<(u64, &str)> = Vec::new();
    for ((kinds, _), warps) in &groups {
        let name = kinds.name(others_issue);
        match named.iter_mut().find(|(other, n)| *n == name && share_a_group(*warps, *other)) {
            Some((other, _)) => *other |= warps,
            None => named.push((*warps, name)),
        }
    }
    // Warps are apart only where some take no part in the products, and do something else.
    let apart = named.iter().any(|(_, n)| !matches!(*n, "math" | "idle")) && named.len() > 1;
    if !apart || named.len() > MOST {
        return None;
    }
    named.sort_by_key(|(warps, _)| warps.trailing_zeros());
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let role = |(warps, name): (u64, &'static str)| {
        let n = seen.entry(name).or_default();
        *n += 1;
        let name = if *n == 1 { name.to_string() } else { format!("{name}{n}") };
        Role { name, warps, members: 1 }
    };
    Some(named.into_iter().map(role).collect())
}

/// Whether a warpgroup has warps of both sets.
fn share_a_group(a: u64, b: u64) -> bool {
    (0..16).map(|group| 0xf << (4 * group)).any(|group: u64| a & group != 0 && b & group != 0)
}
