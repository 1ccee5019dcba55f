//! The shape of a block that a text does not say: from bounds, from instructions that need a warpgroup, and from how the
//! text numbers its threads.

use rustc_hash::FxHashMap;

use crate::ptx::{Arg, Entry, Inst, Reg};

use super::slice::{acts, only_global, writes};

/// A number `k + x tid.x + y tid.y + z tid.z + w (tid.x / 32)`: `k`, then the factors.
type Form = [i64; 5];

/// The largest number of threads of a block.
const MOST_THREADS: u32 = 1024;
/// Threads of a warpgroup.
const WARPGROUP: i64 = 128;

/// Threads of a block: as the text says, within the bound that it gives, or as its instructions need. Threads may be told
/// apart by two coordinates. A bound is then no shape, unless the text uses them only with the shape that it asks for.
pub(crate) fn block(entry: &Entry) -> Option<[u32; 3]> {
    match entry.block {
        Some(bound) if entry.block_is_bound => {
            let stated = entry.block.filter(|b| b[1..] != [1, 1] || has_one_coordinate(entry));
            numbered(entry, bound.iter().product()).or(stated).or_else(|| rows_of_warps(entry))
        }
        None => implied(entry),
        block => block,
    }
}

/// Whether a text uses `%tid.y` and `%tid.z` in two ways alone: for the number of a thread in its block, or to tell the
/// first thread from the others. The number `(z * %ntid.y + y) * %ntid.x + x` is the form for every shape.
fn has_one_coordinate(entry: &Entry) -> bool {
    let of = |names: &[&str]| -> Vec<Reg> {
        let moves = entry.code.iter().filter(|i| i.op == "mov");
        let from = moves.filter(|i| matches!(i.arg(1), Arg::Name(n) if names.contains(&n.as_str())));
        from.filter_map(|i| if let Arg::Reg(r) = i.arg(0) { Some(*r) } else { None }).collect()
    };
    let (others, sizes) = (of(&["%tid.y", "%tid.z"]), of(&["%ntid.x", "%ntid.y"]));
    let any = |i: &Inst, list: &[Reg]| i.args_from(1).iter().any(|a| matches!(a, Arg::Reg(r) if list.contains(r)));
    let scaled = |i: &Inst| matches!(i.op.as_str(), "mul" | "mad") && any(i, &sizes);
    entry.code.iter().all(|i| !any(i, &others) || scaled(i) || only_compared(entry, i, 3))
}

/// Whether an instruction compares with 0 or another register, or computes what such a comparison reads and nothing else.
fn only_compared(entry: &Entry, i: &Inst, depth: u32) -> bool {
    match (i.op.as_str(), i.arg(0)) {
        ("setp", _) => (i.has("eq") || i.has("ne")) && !i.args.iter().any(|a| matches!(a, Arg::Int(v) if *v != 0)),
        ("add" | "or" | "neg", Arg::Reg(r)) if depth > 0 => {
            let mut users = entry.code.iter().filter(|u| u.args_from(1).iter().any(|a| a == &Arg::Reg(*r)));
            users.all(|u| only_compared(entry, u, depth - 1))
        }
        _ => false,
    }
}

/// Whether neither a text nor its instructions say how many threads a block has, and the number of threads would say which
/// shape it has.
pub fn leaves_block_open(entry: &Entry) -> bool {
    let open = entry.block.is_none() && block(entry).is_none();
    open && (block_of(entry, MOST_THREADS).is_some() || may_have_rows_of_warps(entry))
}

/// Whether a text without a size of its block tells threads apart by two coordinates, and has no number over both. The first
/// one may be the lane.
pub fn may_have_rows_of_warps(entry: &Entry) -> bool {
    entry.block.is_none() && block_of(entry, MOST_THREADS).is_none() && tells_rows_apart(entry)
}

/// Whether a text reads two coordinates of a thread, and no size of the block.
fn tells_rows_apart(entry: &Entry) -> bool {
    reads(entry, "%tid.y") && !["%tid.z", "%ntid.x", "%ntid.y"].iter().any(|n| reads(entry, n))
}

/// The block with this number of threads: a row, or the shape that follows from how the text numbers its threads.
pub fn block_of(entry: &Entry, threads: u32) -> Option<[u32; 3]> {
    let row = !["%tid.y", "%tid.z"].iter().any(|n| reads(entry, n));
    if row { Some([threads, 1, 1]) } else { numbered(entry, threads) }
}

/// The block whose rows are warps, of as many threads as the text allows. A text that tells threads apart by two
/// coordinates, without a number over both, takes the first one for the lane. `None` for other texts.
pub(crate) fn rows_of_warps(entry: &Entry) -> Option<[u32; 3]> {
    let bound = entry.block.filter(|_| entry.block_is_bound)?;
    let threads = bound.iter().product::<u32>();
    let rows = bound[1..] == [1, 1]
        && threads.is_multiple_of(32)
        && tells_rows_apart(entry)
        && numbered(entry, threads).is_none();
    rows.then_some([32, threads / 32, 1])
}

/// The block of a text that says nothing: a warpgroup where instructions need one, any size where threads only access
/// global memory. A barrier of more threads than a warpgroup needs more, but how many stay outside of it is not known.
fn implied(entry: &Entry) -> Option<[u32; 3]> {
    let group = |i: &Inst| i.op == "wgmma" || i.op == "tcgen05" && i.has("ld");
    if entry.code.iter().any(group) {
        return (most_at_barriers(entry) <= WARPGROUP).then_some([WARPGROUP as u32, 1, 1]);
    }
    (!entry.code.iter().any(|i| acts(i) && !only_global(i))).then_some([32, 1, 1])
}

/// The largest number of threads that a barrier states.
fn most_at_barriers(entry: &Entry) -> i64 {
    let mut numbers: FxHashMap<Reg, i64> = FxHashMap::default();
    let mut most = 0;
    for i in &entry.code {
        match (i.op.as_str(), i.arg(0), i.arg(1)) {
            ("mov", Arg::Reg(to), Arg::Int(v)) => drop(numbers.insert(*to, *v)),
            ("bar" | "barrier", _, Arg::Int(v)) => most = most.max(*v),
            ("bar" | "barrier", _, Arg::Reg(r)) => most = most.max(numbers.get(r).copied().unwrap_or(0)),
            _ => {}
        }
    }
    most
}

fn reads(entry: &Entry, name: &str) -> bool {
    entry.code.iter().any(|i| i.args.iter().any(|a| matches!(a, Arg::Name(n) if n == name)))
}

/// The shape of a block of at most `threads` threads, from how a text numbers them. A number `x + X (y + Y z)` says the
/// sizes `X` and `Y`; the third is what is left. So does the number of a warp, which is a part of it. `None` where the
/// text has no such number, or several that differ.
fn numbered(entry: &Entry, threads: u32) -> Option<[u32; 3]> {
    let (reads_y, reads_z) = (reads(entry, "%tid.y"), reads(entry, "%tid.z"));
    if !reads_y && !reads_z {
        return None;
    }
    let (mut shapes, mut without_y): (Vec<[u32; 3]>, Vec<[u32; 3]>) = Default::default();
    for [k, x, y, z, w] in forms(entry) {
        // The number of a warp counts 32 threads each.
        let (x, y, z) = if (x, w) == (0, 1) { (1, 32 * y, 32 * z) } else { (x, y, z) };
        let rows = match (y, z) {
            (0, z) => [z, 1],
            (y, 0) if y > 0 && !reads_z => [y, i64::from(threads) / y],
            (y, z) if y > 0 && z % y == 0 => [y, z / y],
            _ => continue,
        };
        let [x_size, y_size] = rows.map(|n| u32::try_from(n).unwrap_or(0));
        let layer = x_size.saturating_mul(y_size);
        // Numbers of smaller groups of threads have smaller factors.
        if k == 0 && x == 1 && x_size > 1 && layer > 0 && threads.is_multiple_of(layer) {
            let list = if y == 0 && reads_y { &mut without_y } else { &mut shapes };
            list.push([x_size, y_size, threads / layer]);
        }
    }
    // A number without `tid.y` may be a part of one with it. On its own, it leaves `tid.y` no other value than 0.
    let shapes = if shapes.is_empty() { without_y } else { shapes };
    let first = *shapes.first()?;
    shapes.iter().all(|s| *s == first).then_some(first)
}

/// The numbers that instructions compute from the coordinates of a thread, each in a register that one instruction writes.
fn forms(entry: &Entry) -> Vec<Form> {
    let mut writers: FxHashMap<Reg, u32> = FxHashMap::default();
    entry.code.iter().for_each(|i| writes(i, &mut |r| *writers.entry(r).or_default() += 1));
    let mut known: FxHashMap<Reg, Form> = FxHashMap::default();
    let mut list = Vec::new();
    for i in entry.code.iter().filter(|i| i.guard.is_none()) {
        let mut to = None;
        i.arg(0).each_reg(&mut |r| to = to.or(Some(r)));
        let Some(to) = to else { continue };
        let of = |n: usize| match i.args.get(n)? {
            Arg::Int(v) => Some([*v, 0, 0, 0, 0]),
            Arg::Reg(r) => known.get(r).copied(),
            Arg::Name(name) => match name.as_str() {
                "%tid.x" => Some([0, 1, 0, 0, 0]),
                "%tid.y" => Some([0, 0, 1, 0, 0]),
                "%tid.z" => Some([0, 0, 0, 1, 0]),
                _ => None,
            },
            _ => None,
        };
        let form = match i.op.as_str() {
            // Lanes of a warp have one number.
            "mov" | "shfl" => of(1),
            "shr" => of(1).filter(|x| *x == [0, 1, 0, 0, 0] && *i.arg(2) == Arg::Int(5)).map(|_| [0, 0, 0, 0, 1]),
            "add" => sum(of(1), of(2)),
            "shl" => {
                of(2).filter(|s| s[1..] == [0; 4] && (0..32).contains(&s[0])).and_then(|s| times(of(1), 1 << s[0]))
            }
            "mul" if i.has("lo") => product(of(1), of(2)),
            "mad" if i.has("lo") => sum(product(of(1), of(2)), of(3)),
            _ => None,
        };
        if let Some(form) = form.filter(|_| writers.get(&to) == Some(&1)) {
            known.insert(to, form);
            list.push(form);
        }
    }
    list
}

fn times(a: Option<Form>, by: i64) -> Option<Form> {
    let mut a = a?;
    for x in &mut a {
        *x = x.checked_mul(by)?;
    }
    Some(a)
}

fn product(a: Option<Form>, b: Option<Form>) -> Option<Form> {
    let number = |x: Form| (x[1..] == [0; 4]).then_some(x[0]);
    match (number(a?), number(b?)) {
        (Some(by), _) => times(b, by),
        (_, Some(by)) => times(a, by),
        _ => None,
    }
}

fn sum(a: Option<Form>, b: Option<Form>) -> Option<Form> {
    let (a, b) = (a?, b?);
    let mut all = [0; 5];
    for (all, (a, b)) in all.iter_mut().zip(a.into_iter().zip(b)) {
        *all = a.checked_add(b)?;
    }
    Some(all)
}
