//! How many loads are in flight at once where registers are few: an estimate of what the assembler does.
//!
//! ptxas gives a thread fewer registers than all loads of a stretch of code would need, and issues some of them only
//! when others are used. How it chooses the number is not published. Once the number is known, the loads in flight
//! follow: their results share the registers that no other value occupies. This was compared with the machine code of 42
//! kernels that Triton 3.5 compiled for `sm_90a`: decoding, norms, losses, matrix times vector. They have 66 stretches of
//! code with several loads. In 42 of these, ptxas issues as many loads before the first use as is estimated here. In 14 the
//! numbers differ by one, and in 10 ptxas issues up to five fewer.
//!
//! Values that need no register of a thread are left out. Parameters are operands in the constant bank, and numbers that
//! are equal in all threads are in uniform registers. A sum with a constant is the offset of an address. Two values of
//! 16 bits share a register.
//!
//! An address that is computed for one load occupies an aligned pair of registers until the load is issued. A result of one
//! register takes half of this pair, and the other half is no pair for the next address. So each of these loads in flight
//! takes a pair. The machine code of three split-K products shows this. Each loads 32 elements of 16 bits a step, with two
//! to nine loads in flight. Nearly each of these has a pair of its own.
//!
//! Where such an address is a sum of values that stay behind the load, ptxas computes it at the load, into the registers of
//! the result. Triton computes the addresses of a step at its begin; they need no registers before their loads.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::flow::{Flow, Live};
use crate::lift::facts::slice::{reads, writes};
use crate::ptx::{Arg, Entry, Error, Inst, Reg};
use crate::sass::{LoadOrder, loads_by_use};

/// Loads that issue only after others are used, in an entry whose threads have this many registers.
///
/// # Errors
/// A branch without a target.
pub fn load_order(entry: &Entry, registers: u32) -> Result<LoadOrder, Error> {
    let mut order = LoadOrder::default();
    // ptxas issues first what is used first.
    let loads = loads_by_use(entry);
    if loads.is_empty() {
        return Ok(order);
    }
    let (values, flow) = (Values::of(entry), Flow::of(entry)?);
    let after = values.live_after(&flow);
    for (block, mut live) in flow.blocks.iter().zip(after) {
        // Backward, because what is live is known behind the block.
        let mut end = block.end;
        while end > block.first {
            let before = (block.first..end - 1).rev().find(|at| orders_memory(&entry.code[*at]));
            let start = before.map_or(block.first, |at| at + 1);
            let loads: Vec<usize> = loads.iter().copied().filter(|at| (start..end).contains(at)).collect();
            let in_flight = values.in_flight(start..end, block.first, &loads, &mut live, registers);
            // Each later load takes the registers of one that was used.
            let later = loads.iter().enumerate().skip(in_flight);
            order.uses.extend(later.map(|(n, at)| (*at as u32, (n + 1 - in_flight) as u32)));
            end = start;
        }
    }
    Ok(order)
}

/// Whether no load moves across an instruction.
fn orders_memory(i: &Inst) -> bool {
    matches!(i.op.as_str(), "bar" | "barrier" | "mbarrier" | "fence" | "membar")
        || i.mods.iter().any(|m| m.contains("wait"))
}

/// Most offsets of offsets that are followed.
const LONGEST_CHAIN: usize = 16;

/// Registers of PTX, by number.
type Set = FxHashSet<Reg>;

/// What the instructions of an entry read and write.
struct Values {
    reads: Vec<Set>,
    writes: Vec<Set>,
    /// Halves of a register of the machine that each value occupies.
    halves: Vec<u32>,
    /// The instruction that computes each value that is a sum and that one instruction reads.
    sums: FxHashMap<Reg, usize>,
}

impl Values {
    fn of(entry: &Entry) -> Values {
        let (mut reads, written): (Vec<Set>, Vec<Set>) = entry.code.iter().map(accesses).unzip();
        let mut times_written = vec![0u32; entry.widths.len()];
        written.iter().flatten().for_each(|r| times_written[*r as usize] += 1);
        let offsets = offsets(entry, &times_written);
        // Damaged text may have a sum that is its own offset.
        let base = |r: Reg| {
            let chain = std::iter::successors(Some(r), |r| offsets[*r as usize]);
            chain.take(LONGEST_CHAIN).last().unwrap_or(r)
        };
        reads.iter_mut().for_each(|list| *list = list.iter().map(|r| base(*r)).collect());
        let mut halves: Vec<u32> =
            entry.widths.iter().map(|w| u32::from(*w).div_ceil(16) * u32::from(*w > 1)).collect();
        for (r, n) in halves.iter_mut().enumerate() {
            if offsets[r].is_some() {
                *n = 0;
            }
        }
        uniform(entry, &reads, &written).into_iter().for_each(|r| halves[r as usize] = 0);
        let mut times_read = vec![0u32; entry.widths.len()];
        reads.iter().flatten().for_each(|r| times_read[*r as usize] += 1);
        let once = |r: &Reg| times_written[*r as usize] == 1 && times_read[*r as usize] == 1;
        let adds =
            entry.code.iter().zip(&written).enumerate().filter(|(_, (i, _))| matches!(i.op.as_str(), "add" | "mad"));
        let sums = adds.flat_map(|(at, (_, w))| w.iter().copied().filter(once).map(move |r| (r, at))).collect();
        Values { reads, writes: written, halves, sums }
    }

    /// The values that are live behind each block.
    fn live_after(&self, flow: &Flow) -> Vec<Set> {
        let each = |set: &Set, f: &mut dyn FnMut(Reg)| set.iter().for_each(|r| f(*r));
        let live =
            Live::of(flow, self.halves.len(), |at, f| each(&self.reads[at], f), |at, f| each(&self.writes[at], f));
        (0..flow.blocks.len()).map(|b| live.behind(flow, b).collect()).collect()
    }

    fn step_back(&self, at: usize, live: &mut Set) {
        self.writes[at].iter().for_each(|r| {
            live.remove(r);
        });
        live.extend(&self.reads[at]);
    }

    fn size<'a>(&self, list: impl IntoIterator<Item = &'a Reg>) -> u32 {
        list.into_iter().map(|r| self.halves[*r as usize]).sum()
    }

    /// Halves of a register of the address that is computed for this load alone, in the block that begins at `first`.
    fn own_address(&self, at: usize, first: usize) -> u32 {
        let own = |r: &&Reg| self.sums.get(*r).is_some_and(|sum| (first..at).contains(sum));
        self.size(self.reads[at].iter().filter(own))
    }

    /// Whether a value is a sum that this code computes from values that are all live `behind` a later stretch.
    fn computed_late(&self, r: Reg, code: Range<usize>, behind: &Set) -> bool {
        let sum = self.sums.get(&r).filter(|sum| code.contains(sum));
        sum.is_some_and(|sum| self.reads[*sum].is_subset(behind))
    }

    /// How many of the loads of a stretch of code, in order, the registers have room for before one of them is used. The
    /// block of the stretch begins at `first`. `live` is what is live behind the stretch, and becomes what is live before
    /// it.
    fn in_flight(&self, stretch: Range<usize>, first: usize, loads: &[usize], live: &mut Set, registers: u32) -> usize {
        let addresses: Set = loads.iter().flat_map(|at| self.reads[*at].iter().copied()).collect();
        let first_load = loads.iter().min();
        let behind = live.clone();
        let mut others = 0;
        for at in stretch.clone().rev() {
            self.step_back(at, live);
            if first_load == Some(&at) {
                others = self.size(live.difference(&addresses));
            }
        }
        let results: Vec<u32> = loads.iter().map(|at| self.size(&self.writes[*at]).max(2)).collect();
        if others + results.iter().sum::<u32>() <= 2 * registers {
            return loads.len();
        }
        // What addresses are computed from stays until the load is issued, whose result then takes its place. A result
        // that is smaller than the load's own address takes a place of this size.
        let own: Vec<u32> = loads.iter().map(|at| self.own_address(*at, first)).collect();
        let places = loads.iter().zip(&results).zip(&own).filter(|((_, result), own)| own <= result);
        let place = places.map(|((at, _), _)| self.size(&self.reads[*at])).max().unwrap_or(0);
        let late = |r: &&Reg| addresses.contains(*r) && self.computed_late(**r, first..stretch.start, &behind);
        let early = self.size(live.iter().filter(|r| !late(r)));
        let room = (2 * registers + place).saturating_sub(others.max(early));
        let mut taken = 0;
        let fits = results.iter().zip(&own).take_while(|(result, own)| {
            taken += *(*result).max(own);
            taken <= room
        });
        fits.count().max(1)
    }
}

/// What an instruction reads and writes.
fn accesses(i: &Inst) -> (Set, Set) {
    let (mut read, mut written) = (Set::default(), Set::default());
    reads(i, &mut |r| _ = read.insert(r));
    writes(i, &mut |r| _ = written.insert(r));
    // A product adds to its result.
    if i.op == "wgmma" {
        read.extend(&written);
    }
    (read, written)
}

/// For each value that is a sum of another value and a constant, the other value.
fn offsets(entry: &Entry, times_written: &[u32]) -> Vec<Option<Reg>> {
    let mut bases = vec![None; entry.widths.len()];
    for i in entry.code.iter().filter(|i| i.op == "add" && i.guard.is_none()) {
        if let [Arg::Reg(to), Arg::Reg(from), Arg::Int(_)] = i.args.as_slice()
            && times_written[*to as usize] == 1
            && times_written[*from as usize] == 1
        {
            bases[*to as usize] = Some(*from);
        }
    }
    bases
}

/// The values that are equal in all threads, and those that need no register for another reason.
fn uniform(entry: &Entry, reads: &[Set], written: &[Set]) -> Set {
    let mut other = Set::default();
    loop {
        let before = other.len();
        for ((i, read), written) in entry.code.iter().zip(reads).zip(written) {
            if differs(i) || read.iter().any(|r| other.contains(r) && !written.contains(r)) {
                other.extend(written);
            }
        }
        if other.len() == before {
            return (0..entry.widths.len() as Reg).filter(|r| !other.contains(r)).collect();
        }
    }
}

/// Whether the result of an instruction differs from thread to thread even where its operands do not, or needs a
/// register all the same: uniform registers have no floating-point arithmetic.
fn differs(i: &Inst) -> bool {
    let threads = |a: &Arg| matches!(a, Arg::Name(n) if n.starts_with("%tid") || n.starts_with("%lane") || n.starts_with("%warp"));
    match i.op.as_str() {
        "ld" | "ldu" => !i.has("param"),
        "mov" => i.args.iter().any(threads),
        "atom" | "shfl" | "vote" | "redux" | "mma" | "wgmma" | "ldmatrix" | "tex" | "match" | "elect" => true,
        _ => i
            .mods
            .iter()
            .any(|m| m.starts_with('f') || m.starts_with("bf") || m.starts_with("e4m") || m.starts_with("e5m")),
    }
}
