//! Bytes that a barrier expects of elements of 4 or 6 bits which a product reads padded to 8.
//!
//! A tensor map of the types `16U4_ALIGN16B` and `16U6_ALIGN16B` spreads 16 elements over 16 bytes of shared memory. The
//! copy signals the bytes without the padding, and Triton's kernels expect these. A program counts the bytes that a copy
//! fills. So a barrier expects these here, if what the text says is exactly the sum without the padding.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Term};

use super::barriers::addresses;
use super::signals::{Copies, Signals};

/// Bytes that products read as an operand, and the bits of its elements.
type Operand = (i64, i64, u32);

/// The tree in which barriers expect the bytes that copies of padded elements fill. A CTA has `warps` warps.
pub(crate) fn filled(s: &mut Shared<'_>, tree: Vec<Merged>, warps: u32) -> Vec<Merged> {
    if s.element_bits.values().flatten().all(|bits| *bits == 8) {
        return tree;
    }
    let (found, at) = expected(s, &tree, warps);
    let Some(at) = at else { return tree };
    let line = s.entry.code[at.min(s.entry.code.len() - 1)].line;
    s.assume(line, "copies of elements of 4 or 6 bits that are padded to 8 signal their bytes without the padding");
    in_list(s, tree, &found)
}

/// What the barriers expect instead of the number that the text says, by barrier and this number. Also an instruction
/// that expects one.
fn expected(s: &Shared<'_>, tree: &[Merged], warps: u32) -> (BTreeMap<(Term, Term), i64>, Option<usize>) {
    let a = &s.arena;
    let mut signals = Signals::default();
    let mut operands: Vec<Operand> = Vec::new();
    let mut first: BTreeMap<Term, usize> = BTreeMap::new();
    each_op(tree, &mut |at, (w, _, e)| {
        if let Some((bar, _)) = signals.add(a, w / warps, e) {
            first.entry(bar).or_insert(at);
        }
        if let Effect::TensorProduct { a: left, b: right, .. } = e {
            let bits = s.element_bits.get(&at).copied().unwrap_or([8, 8]);
            for (runs, bits) in [left, right].into_iter().zip(bits) {
                let of = |(t, n): &(Term, u32)| (addresses(a, *t).unwrap_or_default(), i64::from(*n));
                let all = runs.iter().map(of).flat_map(|(l, n)| l.into_iter().map(move |x| (x, x + n, bits)));
                operands.extend(all);
            }
        }
    });
    operands.sort_unstable();
    operands.dedup();
    let mut found: BTreeMap<(Term, Term), Option<i64>> = BTreeMap::new();
    let mut line = None;
    for ((bar, cta), terms) in &signals.expected {
        let sums = signals.copies.get(&(*bar, *cta)).and_then(|all| sums(a, all, &signals, &operands));
        for n in terms {
            // Barriers of several CTAs expect the same, or nothing is changed.
            let new = sums.filter(|(filled, signalled)| a.constant(*n) == Some(*signalled) && filled != signalled);
            let new = new.filter(|_| terms.len() == 1).map(|(filled, _)| filled);
            let known = found.entry((*bar, *n)).or_insert(new);
            *known = known.filter(|k| Some(*k) == new);
            line = line.or(known.and(first.get(bar).copied()));
        }
    }
    let found: BTreeMap<(Term, Term), i64> = found.into_iter().filter_map(|(key, new)| Some((key, new?))).collect();
    let line = line.filter(|_| !found.is_empty());
    (found, line)
}

/// The bytes that copies fill, each up to where the next one goes, and those without padding. `None` where these are not
/// known.
fn sums(a: &Arena, copies: &Copies, signals: &Signals, operands: &[Operand]) -> Option<(i64, i64)> {
    let (mut filled, mut signalled) = (0, 0);
    for (to, issued) in copies {
        let all = addresses(a, *to)?;
        let gap = signals.room(&all)?;
        let read = operands.iter().filter(|(low, high, _)| all.iter().any(|x| *low < x + gap && x < high));
        let bits: BTreeSet<u32> = read.map(|(.., bits)| *bits).collect();
        let bits = match (bits.len(), bits.first()) {
            (0, _) => 8,
            (1, Some(bits)) => i64::from(*bits),
            _ => return None,
        };
        filled += gap * issued.len() as i64;
        signalled += gap * bits / 8 * issued.len() as i64;
    }
    Some((filled, signalled))
}

fn in_list(s: &mut Shared<'_>, list: Vec<Merged>, found: &BTreeMap<(Term, Term), i64>) -> Vec<Merged> {
    let one = |n: Merged| {
        let kind = match n.kind {
            MergedKind::If(c, x, y) => MergedKind::If(c, in_list(s, x, found), in_list(s, y, found)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, in_list(s, body, found)),
            MergedKind::Op(mut ops) => {
                for (_, _, e) in &mut ops {
                    if let Effect::Arrive { bar, expect: Some(n), .. } | Effect::Expect { bar, bytes: n, .. } = e
                        && let Some(new) = found.get(&(*bar, *n))
                    {
                        *n = s.arena.int(*new);
                    }
                }
                MergedKind::Op(ops)
            }
            same => same,
        };
        Merged { kind, ..n }
    };
    list.into_iter().map(one).collect()
}
