//! The order of loads and of their first uses.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::{Loaded, loads_global};
use crate::ptx::Entry;

use super::{Inst, Kernel, registers};

/// For each load of global memory in the PTX, how many loads are first used before the assembler issues it. They count
/// since the last barrier, branch or branch target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOrder {
    /// By the position of the load among the entry's instructions. Loads that wait for no use are absent.
    pub uses: BTreeMap<u32, u32>,
}

impl LoadOrder {
    /// The order in which the machine code issues the loads of an entry.
    ///
    /// The load that is used first in one text is that which is used first in the other, and so on: both texts must have
    /// as many loads.
    ///
    /// # Errors
    /// The numbers of loads differ, as where the assembler unrolled a loop or joined loads: both numbers, in words.
    pub fn of(entry: &Entry, kernel: &Kernel) -> Result<LoadOrder, String> {
        let (loads, machine) = (loads_by_use(entry), machine_loads_by_use(kernel));
        if loads.len() != machine.len() {
            return Err(format!("the PTX has {} loads of global memory and the SASS {}", loads.len(), machine.len()));
        }
        let uses = loads.into_iter().zip(machine).filter(|(_, n)| *n > 0).map(|(at, n)| (at as u32, n)).collect();
        Ok(LoadOrder { uses })
    }
}

/// A load and the instruction that first uses its result, which for a load without uses is behind the last one.
type Used<T> = (T, usize);

/// Puts loads in the order of their first uses; loads with one use keep their order.
fn by_use<T>(mut loads: Vec<Used<T>>) -> Vec<T> {
    loads.sort_by_key(|(_, first_use)| *first_use);
    loads.into_iter().map(|(load, _)| load).collect()
}

/// The loads of global memory of PTX, by position, in the order of their first uses.
pub(crate) fn loads_by_use(entry: &Entry) -> Vec<usize> {
    let mut loads: Vec<Used<usize>> = Vec::new();
    let mut pending = Loaded::default();
    for (at, i) in entry.code.iter().enumerate() {
        pending.used(i).into_iter().for_each(|n| loads[n as usize].1 = at);
        if loads_global(i) {
            pending.load(i, loads.len() as u32);
            loads.push((at, usize::MAX));
        }
    }
    by_use(loads)
}

/// For each load of global memory of the machine code, in the order of first uses: the loads that are first used between
/// the last barrier or branch and it.
fn machine_loads_by_use(kernel: &Kernel) -> Vec<u32> {
    let mut loads: Vec<Used<u32>> = Vec::new();
    // The load whose result a register has and that nothing has used yet.
    let mut pending: BTreeMap<u32, usize> = BTreeMap::new();
    let mut uses = 0;
    for (at, i) in kernel.code.iter().enumerate() {
        if kernel.targets.contains(&i.address) {
            uses = 0;
        }
        let used: BTreeSet<usize> = reads(i).filter_map(|r| pending.get(&r).copied()).collect();
        used.iter().for_each(|n| loads[*n].1 = at);
        pending.retain(|_, n| !used.contains(n));
        uses += used.len() as u32;
        if matches!(i.op(), "BAR" | "BRA" | "BRX" | "CALL" | "RET" | "EXIT") {
            uses = 0;
        }
        let loaded = (i.op() == "LDG").then(|| {
            loads.push((uses, usize::MAX));
            loads.len() - 1
        });
        for r in written(i) {
            match loaded {
                Some(n) => pending.insert(r, n),
                None => pending.remove(&r),
            };
        }
    }
    by_use(loads)
}

/// The position of the result among the operands. Stores have none; a shuffle has a predicate before it.
fn result(i: &Inst) -> Option<usize> {
    match i.op() {
        "STG" | "STS" | "STL" | "ST" | "STSM" | "RED" | "REDG" | "REDS" | "LDGSTS" | "R2UR" | "SYNCS" => None,
        "SHFL" => Some(1),
        _ => Some(0),
    }
}

/// Registers that an instruction reads, each by its first word.
fn reads(i: &Inst) -> impl Iterator<Item = u32> + '_ {
    let result = result(i);
    let sources = i.operands.iter().enumerate().filter(move |(n, o)| Some(*n) != result || o.contains('['));
    sources.flat_map(|(_, o)| registers(o))
}

/// Registers that an instruction writes.
fn written(i: &Inst) -> impl Iterator<Item = u32> + '_ {
    let operand = result(i).and_then(|n| i.operands.get(n)).filter(|o| !o.contains('['));
    let first = operand.and_then(|o| registers(o).next());
    first.into_iter().flat_map(|r| r..r + i.width())
}
