//! The number of CTAs that a core holds at a time.

use crate::ir::{COLUMN_BYTES, Class, Object, Program};
use crate::machine::{Machine, Vendor};
use crate::report::{Occupancy, RunError};

use super::support::supported;

/// Checks that a machine can run a kernel: every operation, the cluster, and the needs of one CTA. [`super::run()`]
/// calls the same functions, so a caller that decides something else about a kernel rejects what a run rejects.
///
/// # Errors
/// The first feature that the machine lacks, or the first limit that the kernel exceeds.
pub fn admit(prog: &Program, m: &Machine) -> Result<(), RunError> {
    supported(prog, m)?;
    not_empty(prog)?;
    occupancy(prog, m, 1).map(drop)
}

/// Checks that a grid has CTAs.
///
/// # Errors
/// An extent of the grid is not positive.
pub(super) fn not_empty(prog: &Program) -> Result<(), RunError> {
    let grid = &prog.grid;
    if grid.is_empty() { Err(RunError::EmptyGrid { m: grid.m, n: grid.n, z: grid.z }) } else { Ok(()) }
}

/// Resident CTAs of a core, by each limit alone and by all limits. `share` is the number of the grid's CTAs for one
/// core.
///
/// # Errors
/// Not even one CTA fits, or a limit is unknown.
pub fn occupancy(prog: &Program, m: &Machine, share: i64) -> Result<Occupancy, RunError> {
    let who = "occupancy";
    let warp = m.need("core.warp_size", who)?;
    let threads = prog.warps as f64 * warp;
    let shared = prog.shared_bytes();
    let mut by: Vec<(String, u32)> = Vec::new();
    let too_big = |limit: &str, message: String| Err(RunError::DoesNotFit { limit: limit.into(), message });

    let max_threads = m.need("limit.threads_per_cta", who)?;
    if threads > max_threads {
        return too_big("threads", format!("a CTA of {threads} threads is more than {}'s {max_threads}", m.name));
    }
    let per_cta = m.need("limit.shared_per_cta", who)?;
    if shared as f64 > per_cta {
        return too_big(
            "shared memory",
            format!("a CTA needs {shared} bytes of shared memory; {} gives one at most {per_cta}", m.name),
        );
    }
    if shared > 0 {
        let reserved = m.get("limit.shared_reserved").unwrap_or(0.0);
        let per_core = m.need("limit.shared_per_core", who)?;
        by.push(("shared memory".into(), (per_core / (shared as f64 + reserved)) as u32));
    }
    if let Some(regs) = prog.regs {
        let most = m.need("limit.regs_per_thread", who)?;
        // Registers are allocated by the granule: `setmaxnreg` may ask for 256 where code can name 255.
        let granule = m.get("limit.reg_granule").unwrap_or(1.0);
        if regs as f64 > (most / granule).ceil() * granule {
            return too_big("registers", format!("{regs} registers a thread are more than {}'s {most}", m.name));
        }
        // Registers of Apple cores come from one dynamic pool, so the kernel's register count alone limits nothing.
        if m.vendor != Vendor::Apple {
            let granule = m.need("limit.reg_granule", who)?;
            let per_thread = (regs as f64 / granule).ceil() * granule;
            let all = m.need("limit.regs_per_core", who)?;
            let fit = (all / (per_thread * threads)) as u32;
            if fit == 0 {
                return too_big(
                    "registers",
                    format!("{threads} threads of {regs} registers are more than {}'s {all} a core", m.name),
                );
            }
            by.push(("registers".into(), fit));
        }
    }
    by.push(("warps".into(), (m.need("limit.warps_per_core", who)? / prog.warps as f64) as u32));
    if let Some(slots) = m.get("limit.ctas_per_core") {
        by.push(("CTA slots".into(), slots as u32));
    }
    let columns = tmem_columns(prog);
    if columns > 0 {
        let all = m.need("limit.tmem_columns", who)?;
        if columns as f64 > all {
            return too_big(
                "tensor memory",
                format!("a CTA needs {columns} columns of tensor memory; {} has {all}", m.name),
            );
        }
        by.push(("tensor memory".into(), (all / columns as f64) as u32));
    }
    by.push(("grid".into(), share.clamp(0, u32::MAX as i64) as u32));
    let (limit, n) = by.iter().min_by_key(|(_, n)| *n).cloned().unwrap_or(("grid".into(), 0));
    if n == 0 && limit != "grid" {
        return too_big(&limit, format!("not even one CTA fits a core of {}: {limit}", m.name));
    }
    Ok(Occupancy { ctas_per_core: n, warps_per_core: n * prog.warps, limit, by })
}

/// Columns of tensor memory that a CTA allocates: for each object a power of two of at least 32 (PTX ISA,
/// tcgen05.alloc). The objects of a compiled kernel are parts of one allocation.
pub fn tmem_columns(prog: &Program) -> i64 {
    let allocated = |columns: i64| (columns.max(32) as u64).next_power_of_two() as i64;
    if prog.opaque_globals {
        let columns = |o: &Object| (o.rows * i64::from(o.slots) + COLUMN_BYTES - 1) / COLUMN_BYTES;
        let parts: i64 = prog.storage(Class::Tmem, columns).sum();
        return if parts == 0 { 0 } else { allocated(parts) };
    }
    // A column has 128 lanes of 32 bits; narrower elements are packed.
    let columns = |o: &Object| (o.cols * i64::from(o.slots) * i64::from(o.dtype.bits()) + 31) / 32;
    prog.storage(Class::Tmem, columns).map(allocated).sum()
}
