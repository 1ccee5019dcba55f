//! The features that a kernel needs of a machine. A missing feature is an error before anything runs.

use crate::fences::Fences;
use crate::ir::{CounterAct, Expr, Fence, Instr, MmaKind, MoveKind, Op, Order, Program, Queue, SiteId};
use crate::machine::{Machine, Vendor};
use crate::protocol::Rules;
use crate::report::RunError;

/// An architecture as vendor and position, for comparisons within a vendor's line.
fn age(arch: &str) -> Option<(Vendor, u32)> {
    if let Some(n) = arch.strip_prefix("sm_") {
        return n.trim_end_matches(['a', 'f']).parse().ok().map(|n| (Vendor::Nvidia, n));
    }
    if let Some(n) = arch.strip_prefix("apple") {
        return n.parse().ok().map(|n| (Vendor::Apple, n));
    }
    // CDNA 2, 3 and 4, from old to new; the names are hexadecimal steppings.
    let order = ["gfx90a", "gfx942", "gfx950"];
    order.iter().position(|g| *g == arch).map(|i| (Vendor::Amd, i as u32))
}

/// Whether a machine of architecture `has` runs code for `wants`.
pub fn satisfies(has: &str, wants: &str) -> bool {
    // The suffix `a` means architecture-specific: code for sm_90a does not run on sm_100a.
    if wants.ends_with('a') && wants.starts_with("sm_") {
        return has == wants;
    }
    match (age(has), age(wants)) {
        (Some((v, x)), Some((w, y))) => v == w && x >= y,
        _ => false,
    }
}

/// The need of an operation: words for the message, and whether an architecture has the feature.
struct Need {
    what: &'static str,
    needs: &'static str,
    holds: fn(Vendor, u32) -> bool,
}

const fn need(what: &'static str, needs: &'static str, holds: fn(Vendor, u32) -> bool) -> Need {
    Need { what, needs, holds }
}

fn nvidia(v: Vendor, n: u32, from: u32) -> bool {
    v == Vendor::Nvidia && n >= from
}

/// tcgen05 and tensor memory: sm_100 to sm_110. sm_120, for workstations, has a higher number and only `mma.sync`.
fn tcgen05(v: Vendor, n: u32) -> bool {
    v == Vendor::Nvidia && (100..120).contains(&n)
}

/// The need of an operation; `None` where every machine has it.
fn need_of(op: &Op) -> Option<Need> {
    Some(match op {
        Op::Move { how: MoveKind::Sts, signals: Some(_), .. } => {
            need("sts ... signals", "sm_90 or later", |v, n| nvidia(v, n, 90))
        }
        Op::Move { how, .. } => match how {
            MoveKind::CpAsync => need("cp", "sm_80 or later", |v, n| nvidia(v, n, 80)),
            MoveKind::LdsDma => need("dma", "gfx90a or later", |v, _| v == Vendor::Amd),
            MoveKind::TmaLoad => need("tma", "sm_90 or later", |v, n| nvidia(v, n, 90)),
            MoveKind::TmaStore => need("tma.store", "sm_90 or later", |v, n| nvidia(v, n, 90)),
            MoveKind::TmemLd => need("tmem.ld", "sm_100a to sm_110a", tcgen05),
            MoveKind::TmemSt => need("tmem.st", "sm_100a to sm_110a", tcgen05),
            _ => return None,
        },
        Op::Mma { kind, .. } => match kind {
            MmaKind::Warp => return None,
            MmaKind::Wgmma => need("wgmma", "sm_90a", |v, n| v == Vendor::Nvidia && n == 90),
            MmaKind::Umma => need("umma", "sm_100a to sm_110a", tcgen05),
            MmaKind::UmmaPair => need("umma.pair", "sm_100a to sm_110a", tcgen05),
        },
        Op::CommitUmma(_) => need("commit umma", "sm_100a to sm_110a", tcgen05),
        Op::Commit(q) | Op::Wait(q, _) => match q {
            Queue::Cp => need("cp groups", "sm_80 or later", |v, n| nvidia(v, n, 80)),
            Queue::Wgmma => need("wgmma groups", "sm_90a", |v, n| v == Vendor::Nvidia && n == 90),
            Queue::Bulk | Queue::BulkRead => need("bulk groups", "sm_90 or later", |v, n| nvidia(v, n, 90)),
            Queue::Vm => need("wait vm", "a gfx9 machine", |v, _| v == Vendor::Amd),
            Queue::Lgkm => need("wait lgkm", "a gfx9 machine", |v, _| v == Vendor::Amd),
            Queue::TmemLd | Queue::TmemSt => need("tmem waits", "sm_100a to sm_110a", tcgen05),
        },
        Op::CpArrive { .. } => need("cp.arrive", "sm_80 or later", |v, n| nvidia(v, n, 80)),
        Op::Init(_) | Op::Inval(_) | Op::MbarWait { .. } => {
            need("an mbarrier", "sm_80 or later", |v, n| nvidia(v, n, 80))
        }
        Op::Arrive { expect: None, .. } => need("arrive", "sm_80 or later", |v, n| nvidia(v, n, 80)),
        Op::Arrive { .. } | Op::Expect { .. } => need("expect", "sm_90 or later", |v, n| nvidia(v, n, 90)),
        Op::Barrier(Order::Shared) => return None,
        Op::Barrier(Order::None | Order::Device) => {
            need("a barrier with memory flags", "Metal", |v, _| v == Vendor::Apple || v == Vendor::Amd)
        }
        Op::Named { .. } => need("a numbered barrier", "sm_70 or later", |v, n| nvidia(v, n, 70)),
        Op::ClusterArrive { .. } | Op::ClusterWait => need("a cluster", "sm_90 or later", |v, n| nvidia(v, n, 90)),
        Op::Fence(Fence::Cta | Fence::Gpu) | Op::Counter { .. } => return None,
        Op::Fence(Fence::TmemBefore | Fence::TmemAfter) => need("tmem.fence", "sm_100a to sm_110a", tcgen05),
        Op::Fence(_) => need("a proxy fence", "sm_90 or later", |v, n| nvidia(v, n, 90)),
        Op::TmemAlloc { .. } | Op::TmemDealloc { .. } => need("tensor memory", "sm_100a to sm_110a", tcgen05),
        Op::Regs { .. } => need("regs", "sm_90a or later", |v, n| nvidia(v, n, 90)),
        Op::NextTile { .. } => need("clc", "sm_100a or later", |v, n| nvidia(v, n, 100)),
        Op::GridWait => need("grid.wait", "sm_90 or later", |v, n| nvidia(v, n, 90)),
        Op::Zero(_) | Op::Alu { .. } | Op::WarpSync | Op::Elect | Op::Put { .. } | Op::Get { .. } => return None,
    })
}

/// Operations that each executing thread starts for itself, so they belong under `elect:`.
fn by_thread(op: &Op) -> Option<&'static str> {
    match op {
        Op::Move { how: MoveKind::TmaLoad, .. } => Some("tma"),
        Op::Move { how: MoveKind::TmaStore, .. } => Some("tma.store"),
        Op::Mma { kind: MmaKind::Umma, .. } => Some("umma"),
        Op::Mma { kind: MmaKind::UmmaPair, .. } => Some("umma.pair"),
        Op::CommitUmma(_) => Some("commit umma"),
        Op::NextTile { .. } => Some("clc"),
        Op::Counter { act: CounterAct::Add, .. } => Some("red.add"),
        Op::Counter { act: CounterAct::Fetch(_), .. } => Some("atom.add"),
        Op::Counter { act: CounterAct::Set, .. } => Some("st"),
        _ => None,
    }
}

/// Checks every operation and every `needs` of a kernel against a machine.
///
/// # Errors
/// The first feature that the machine lacks, with its place.
pub fn supported(prog: &Program, m: &Machine) -> Result<(), RunError> {
    if m.vendor == Vendor::Paper {
        return Ok(());
    }
    for (wants, site) in &prog.needs {
        if age(wants).is_none() {
            let message = format!(
                "`needs {wants}` names no line of machines, such as `sm_90a`, `apple7` or `gfx942`; {} is {}",
                m.name, m.arch
            );
            return Err(RunError::Misplaced { message, site: *site });
        }
        if !satisfies(&m.arch, wants) {
            let why = if wants.ends_with('a') { " (features with an `a` are of that one generation)" } else { "" };
            return Err(unsupported(format!("the kernel needs {wants}; {} is {}{why}", m.name, m.arch), *site));
        }
    }
    let Some((vendor, n)) = age(&m.arch) else {
        return Err(RunError::Unsupported {
            message: format!("machine `{}` has an unknown architecture: {}", m.name, m.arch),
            site: None,
        });
    };
    let elected = crate::protocol::elected_code(prog);
    for (pc, i) in prog.code.iter().enumerate() {
        let Instr::Op { op, .. } = i else { continue };
        // In a compiled kernel, all lanes of a warp may start the same store: the bytes are the same.
        let same = prog.opaque_globals && matches!(op, Op::Move { how: MoveKind::TmaStore, .. });
        if let (Some(what), false) = (by_thread(op), elected[pc] || same) {
            let message =
                format!("every thread that executes `{what}` starts one, 32 by a warp; put it under `elect:`");
            return Err(RunError::Misplaced { message, site: prog.at[pc] });
        }
        if let Some(need) = need_of(op)
            && !(need.holds)(vendor, n)
        {
            return Err(unsupported(
                format!("`{}` needs {}; {} ({}) has none", need.what, need.needs, m.name, m.arch),
                prog.at[pc],
            ));
        }
        // Ranges that the instruction encodes.
        if let Op::Wait(q, e) = op
            && let Some(v) = largest(e)
        {
            let key = match q {
                Queue::Vm => "limit.vmcnt",
                Queue::Lgkm => "limit.lgkmcnt",
                _ => continue,
            };
            if let Some(limit) = m.get(key)
                && v as f64 > limit
            {
                let message = format!("waits for at most {v} outstanding, and {} counts to {limit}", m.name);
                return Err(unsupported(message, prog.at[pc]));
            }
        }
    }
    if prog.cooperative {
        let cores = m.need("core.count", "a cooperative launch")?;
        if prog.cluster as f64 > cores {
            return Err(RunError::DoesNotFit {
                limit: "grid".into(),
                message: format!(
                    "a cooperative launch of {} CTAs is more than the {cores} cores of {}, and one CTA runs on each",
                    prog.cluster, m.name
                ),
            });
        }
    } else if prog.cluster > 1 {
        let limit = m.need("limit.cluster", "a kernel with clusters")?;
        if prog.cluster as f64 > limit {
            return Err(RunError::DoesNotFit {
                limit: "cluster".into(),
                message: format!("a cluster of {} CTAs is more than {}'s {limit}", prog.cluster, m.name),
            });
        }
    }
    Ok(())
}

/// The meaning of operations that differ between vendors, for this machine.
pub fn rules(m: &Machine) -> Rules {
    let whole = |key| m.get(key).unwrap_or(0.0) as u32;
    Rules {
        warp_size: whole("core.warp_size"),
        exit_releases: m.vendor == Vendor::Amd,
        bare_barrier_orders: m.vendor == Vendor::Amd,
        bytes_per_lane: whole("memory.bytes_per_lane"),
        dma_bytes_per_lane: whole("limit.dma_bytes_per_lane"),
        fences: Fences::default(),
    }
}

fn unsupported(message: String, site: SiteId) -> RunError {
    RunError::Unsupported { message, site: Some(site) }
}

/// The largest value of a count that is a constant or a choice of constants.
fn largest(e: &Expr) -> Option<i64> {
    match e {
        Expr::If(parts) => largest(&parts.1).max(largest(&parts.2)),
        _ => e.constant(),
    }
}
