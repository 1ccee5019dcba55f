//! What the reader understood of a kernel, for people.

use std::fmt::Write;

use warpline_sim::ir::{Class, Executors, Instr, Op, Phase};
use warpline_sim::words::of;

use super::{bar_written, written};
use crate::lift::Lifted;

/// Most sets of warps that are listed.
const SETS: usize = 16;

/// What was recovered: roles, loops, rings, barriers, symbols, assumptions. The kernel is called `name`.
pub fn explain(l: &Lifted, name: &str) -> String {
    let p = &l.program;
    let (size, statements) = (of(i64::from(p.warps), "warp"), of(p.code.len() as i64, "statement"));
    let mut s = format!("{name} of {}: {size}, {statements}\n", p.file);
    let _ = writeln!(s, "\nRoles");
    for r in &p.roles {
        let _ = writeln!(s, "  {}: {}", r.name, named(r.warps));
    }
    let _ = writeln!(s, "\nSets of warps that execute code of their own");
    let mut sets: Vec<u64> = Vec::new();
    for i in &p.code {
        if let Instr::Only(Executors::Warps(w), _) = i
            && !sets.contains(w)
        {
            sets.push(*w);
        }
    }
    none(&mut s, sets.is_empty(), "all warps do the same");
    for w in sets.iter().take(SETS) {
        let _ = writeln!(s, "  {}", named(*w));
    }
    if sets.len() > SETS {
        let _ = writeln!(s, "  and {} more", sets.len() - SETS);
    }
    let _ = writeln!(s, "\nLoops");
    none(&mut s, p.loops.is_empty(), "no loop has an operation of the protocol");
    for x in &p.loops {
        let bound = x.bound.as_ref().map_or(String::new(), |e| written(p, e, true));
        let _ = writeln!(s, "  line {}: {bound} times", p.site(x.head).line);
    }
    let shared = || p.objects.iter().filter(|o| o.class == Class::Shared);
    let _ = writeln!(s, "\nShared memory");
    none(&mut s, shared().next().is_none(), "the kernel accesses none");
    for o in shared() {
        let (slots, pieces) = (of(i64::from(o.slots), "slot"), of(o.pieces() as i64, "piece"));
        let _ = writeln!(s, "  {}: {slots} of {} bytes, {pieces}", o.name, o.rows);
    }
    barriers(l, &mut s);
    let _ = writeln!(s, "\nSymbols");
    none(&mut s, l.meaning.is_empty(), "no count depends on the launch");
    for (name, meaning) in &l.meaning {
        let free = l.free.iter().any(|f| p.symbols[f.symbol as usize].name == *name);
        let capped = l.capped.iter().any(|c| p.symbols[c.symbol as usize].name == *name);
        let tried = match (free, capped) {
            (true, _) => " (both outcomes are tried)",
            (_, true) => " (every value is tried)",
            _ => "",
        };
        let _ = writeln!(s, "  {name}: {meaning}{tried}");
    }
    let _ = writeln!(s, "\nAssumed");
    for (what, line) in &l.assumptions {
        let _ = writeln!(s, "  {what} (line {line})");
    }
    s
}

/// The barriers, and the waits for mbarriers.
fn barriers(l: &Lifted, s: &mut String) {
    let p = &l.program;
    let _ = writeln!(s, "\nBarriers");
    none(s, p.mbars.is_empty() && p.named.is_empty(), "no mbarriers and no numbered barriers");
    for b in &p.mbars {
        let (stages, count) = (of(i64::from(b.stages), "stage"), of(i64::from(b.count), "arrival"));
        let _ = writeln!(s, "  {}: {stages}, {count} a phase", b.name);
    }
    for (pc, i) in p.code.iter().enumerate() {
        let Instr::Op { op: Op::MbarWait { bar: b, phase }, .. } = i else { continue };
        let phase = match phase {
            Phase::Parity(e) | Phase::Absolute(e) => format!("parity {}", written(p, e, true)),
            Phase::State(s) => format!("state {s}"),
        };
        let _ = writeln!(s, "    line {}: wait {} {phase}", p.site(pc as u32).line, bar_written(p, b, true));
    }
    for b in &p.named {
        let _ = writeln!(s, "  {}: number {}", b.name, b.first);
    }
}

/// A line for a section without entries.
fn none(s: &mut String, empty: bool, why: &str) {
    if empty {
        let _ = writeln!(s, "  none: {why}");
    }
}

/// A set of warps in words: `warp 4`, `warps 0, 4 to 7`.
fn named(mask: u64) -> String {
    let mut list: Vec<(u32, u32)> = Vec::new();
    for w in (0..u64::BITS).filter(|w| mask >> w & 1 == 1) {
        match list.last_mut() {
            Some((_, last)) if *last + 1 == w => *last = w,
            _ => list.push((w, w)),
        }
    }
    let range = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        _ => format!("{first} to {last}"),
    };
    let ranges: Vec<String> = list.iter().map(range).collect();
    format!("{} {}", if mask.count_ones() == 1 { "warp" } else { "warps" }, ranges.join(", "))
}
