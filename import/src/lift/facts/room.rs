//! The largest number of threads that the arrays of a text have room for, where the text says no size of a block.

use rustc_hash::FxHashMap;

use crate::flow::Flow;
use crate::lift::walk::values::bytes_of;
use crate::ptx::{Arg, Entry, Inst, Module, Reg};

use super::slice::writes;

/// The largest depth of a sum of registers.
const DEEPEST: u32 = 12;

/// A place that each thread computes: the array, its first byte, and the bytes from one thread to the next one.
#[derive(Clone, Debug, Default)]
struct Place {
    array: Option<String>,
    first: i64,
    step: i64,
}

/// The most threads for which each stores inside of an array of a known size. Only stores beside a barrier of all threads
/// count: all threads do them. `None` where threads have several coordinates.
pub fn room_of(module: &Module, entry: &Entry) -> Option<u32> {
    let other = |a: &Arg| matches!(a, Arg::Name(n) if n == "%tid.y" || n == "%tid.z");
    if entry.code.iter().any(|i| i.args.iter().any(other)) {
        return None;
    }
    let flow = Flow::of(entry).ok()?;
    let mut writers: FxHashMap<Reg, Vec<&Inst>> = FxHashMap::default();
    entry.code.iter().for_each(|i| writes(i, &mut |r| writers.entry(r).or_default().push(i)));
    let arrays = || module.shared.iter().chain(&entry.shared);
    let mut most: Option<u32> = None;
    for block in &flow.blocks {
        let code = &entry.code[block.first..block.end];
        if !code.iter().any(is_barrier) {
            continue;
        }
        for i in code.iter().filter(|i| i.op == "st" && i.has("shared") && i.guard.is_none()) {
            let Arg::Mem { base, offset, .. } = i.arg(0) else { continue };
            let Some(place) = place(&writers, base, DEEPEST) else { continue };
            let Some(name) = place.array.filter(|_| place.step > 0) else { continue };
            let Some(bytes) = arrays().find(|v| v.name == name).map(|v| v.bytes as i64).filter(|n| *n > 0) else {
                continue;
            };
            let threads = (bytes - i64::from(bytes_of(i)) - place.first - offset).div_euclid(place.step) + 1;
            let threads = u32::try_from(threads).unwrap_or(0);
            most = Some(most.map_or(threads, |n| n.min(threads)));
        }
    }
    most
}

/// Whether an instruction is a barrier of all threads.
fn is_barrier(i: &Inst) -> bool {
    let all = matches!(i.op.as_str(), "bar" | "barrier") && i.has("sync") && i.guard.is_none();
    all && i.args.len() == 1 && *i.arg(0) == Arg::Int(0)
}

fn place(writers: &FxHashMap<Reg, Vec<&Inst>>, a: &Arg, depth: u32) -> Option<Place> {
    let of = |a: &Arg| place(writers, a, depth.checked_sub(1)?);
    match a {
        Arg::Int(v) => Some(Place { first: *v, ..Place::default() }),
        Arg::Name(n) if n == "%tid.x" => Some(Place { step: 1, ..Place::default() }),
        Arg::Name(n) if !n.starts_with('%') => Some(Place { array: Some(n.clone()), ..Place::default() }),
        Arg::Reg(r) => {
            let [i] = writers.get(r)?.as_slice() else { return None };
            let narrow =
                |m: &String| matches!(m.as_str(), "u8" | "s8" | "b8" | "u16" | "s16" | "b16") || m.starts_with('f');
            if i.guard.is_some() || i.mods.iter().any(narrow) {
                return None;
            }
            match i.op.as_str() {
                "mov" | "cvt" => of(i.arg(1)),
                "add" => sum(of(i.arg(1))?, of(i.arg(2))?),
                "shl" => match i.arg(2) {
                    Arg::Int(s @ 0..=16) => times(of(i.arg(1))?, 1 << s),
                    _ => None,
                },
                "mul" if !i.has("hi") => product(of(i.arg(1))?, of(i.arg(2))?),
                "mad" if !i.has("hi") => sum(product(of(i.arg(1))?, of(i.arg(2))?)?, of(i.arg(3))?),
                _ => None,
            }
        }
        _ => None,
    }
}

fn sum(x: Place, y: Place) -> Option<Place> {
    let array = match (x.array, y.array) {
        (Some(_), Some(_)) => return None,
        (x, y) => x.or(y),
    };
    Some(Place { array, first: x.first + y.first, step: x.step + y.step })
}

fn times(x: Place, by: i64) -> Option<Place> {
    let numbers = x.array.is_none();
    numbers.then_some(Place { array: None, first: x.first.checked_mul(by)?, step: x.step.checked_mul(by)? })
}

fn product(x: Place, y: Place) -> Option<Place> {
    match (x.step, y.step) {
        (0, _) if x.array.is_none() => times(y, x.first),
        (_, 0) if y.array.is_none() => times(x, y.first),
        _ => None,
    }
}
