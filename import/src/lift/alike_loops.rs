//! The function that a loop without operations computes, by the text of its instructions.
//!
//! Roles may have copies of one loop, with other registers. What a loop leaves in a register is named by the instructions
//! that the register depends on, with registers numbered in the order in which they appear. So copies of a loop compute one
//! function, and equal values before them give equal results.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::flow::{Ending, Flow, ending};
use crate::ptx::{Arg, Entry, Inst, Reg};

use super::slice::{reads, writes};

/// What a register holds behind a loop.
pub(super) struct Leaves {
    /// The text of the instructions.
    pub(super) name: String,
    /// The registers before the loop that it depends on, in the order of their numbers in the text.
    pub(super) read: Vec<Reg>,
    /// Special registers and variables that it reads.
    pub(super) names: Vec<Arg>,
}

/// What loop `l` leaves in register `r`. `needed` says which instructions are followed.
pub(super) fn leaves(entry: &Entry, flow: &Flow, l: usize, r: Reg, needed: impl Fn(&Inst) -> bool) -> Leaves {
    let body: Vec<usize> = (0..flow.blocks.len()).filter(|b| flow.loops[l].body[*b]).collect();
    let code = |b: usize| &entry.code[flow.blocks[b].first..flow.blocks[b].end];
    let is_branch = |i: &Inst| matches!(ending(i), Ending::Branch | Ending::Exit);
    let all = || body.iter().flat_map(|b| code(*b));
    // All that the register and the branches of the loop depend on.
    let mut set = BTreeSet::from([r]);
    let add = |set: &mut BTreeSet<Reg>, i: &Inst| {
        let before = set.len();
        reads(i, &mut |x| set.extend([x]));
        set.len() > before
    };
    all().filter(|i| is_branch(i)).for_each(|i| reads(i, &mut |x| set.extend([x])));
    let written = |i: &Inst| {
        let mut list = Vec::new();
        writes(i, &mut |x| list.push(x));
        list
    };
    let mut more = true;
    while more {
        more = false;
        for i in all().filter(|i| needed(i)) {
            if written(i).iter().any(|x| set.contains(x)) {
                more |= add(&mut set, i);
            }
        }
    }
    let mut numbers: Vec<Reg> = Vec::new();
    let mut found = Leaves { name: String::new(), read: Vec::new(), names: Vec::new() };
    let mut inputs = BTreeSet::new();
    for b in &body {
        let mut known = BTreeSet::new();
        found.name.push_str("; ");
        for i in code(*b).iter().filter(|i| is_branch(i) || written(i).iter().any(|x| set.contains(x))) {
            reads(i, &mut |x| inputs.extend((!known.contains(&x)).then_some(x)));
            if i.guard.is_none() {
                known.extend(written(i));
            } else {
                inputs.extend(written(i));
            }
            let _ = write!(found.name, "{} ", i.name());
            if let Some((p, not)) = i.guard {
                let _ = write!(found.name, "@{}{} ", number(&mut numbers, p), not);
            }
            for a in &i.args {
                shown(a, &mut numbers, &mut |label| place(entry, flow, &body, label), &mut found.name);
                if let Arg::Name(_) = a
                    && !i.has("param")
                {
                    found.names.push(a.clone());
                }
            }
        }
        let next = flow.blocks[*b].next.iter().map(|n| body.iter().position(|b| b == n).unwrap_or(body.len()));
        let _ = write!(found.name, "{:?} ", next.collect::<Vec<_>>());
        // A loop of several blocks may be left before it sets the register.
        if body.len() > 1 {
            inputs.insert(r);
        }
    }
    let _ = write!(found.name, "= {}", number(&mut numbers, r));
    found.read = numbers.into_iter().filter(|x| inputs.contains(x)).collect();
    found
}

/// The number of a register, in the order of appearance.
fn number(numbers: &mut Vec<Reg>, r: Reg) -> usize {
    numbers.iter().position(|x| *x == r).unwrap_or_else(|| {
        numbers.push(r);
        numbers.len() - 1
    })
}

/// The block of a label as a place in the loop, or the number of blocks for one outside.
fn place(entry: &Entry, flow: &Flow, body: &[usize], label: u32) -> usize {
    let at = entry.labels.get(label as usize).copied().flatten();
    let is_at = |b: &usize| at.is_some_and(|at| (flow.blocks[*b].first..flow.blocks[*b].end).contains(&at));
    body.iter().position(is_at).unwrap_or(body.len())
}

fn shown(a: &Arg, numbers: &mut Vec<Reg>, label: &mut impl FnMut(u32) -> usize, out: &mut String) {
    let _ = match a {
        Arg::Reg(r) => write!(out, "r{} ", number(numbers, *r)),
        Arg::Not(r) => write!(out, "!r{} ", number(numbers, *r)),
        Arg::Label(l) => write!(out, "to {} ", label(*l)),
        Arg::Int(_) | Arg::Float(_) | Arg::Name(_) | Arg::Sink => write!(out, "{a:?} "),
        Arg::Pair(x, y) => {
            shown(x, numbers, label, out);
            shown(y, numbers, label, out);
            write!(out, "| ")
        }
        Arg::List(l) | Arg::Group(l) => {
            l.iter().for_each(|x| shown(x, numbers, label, out));
            write!(out, "}} ")
        }
        Arg::Mem { base, offset, extra } => {
            shown(base, numbers, label, out);
            extra.iter().for_each(|x| shown(x, numbers, label, out));
            write!(out, "+ {offset}] ")
        }
    };
}
