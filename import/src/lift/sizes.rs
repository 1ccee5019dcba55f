//! Bytes of copies by tensor map. The text does not say them: they follow from where the copies of one phase go and from how
//! many bytes their barrier expects.

use std::collections::{BTreeMap, BTreeSet};

use crate::symbolic::{Arena, Term};

use super::barriers::addresses;
use super::merge::{Merged, each_op};
use super::tree::{Effect, Touch};

/// Bytes of each copy, by instruction, address and barrier.
pub(super) type Sizes = BTreeMap<(usize, Term, Term), u32>;

/// A phase of a barrier: bytes expected, and the copies of the phase.
#[derive(Debug, Default)]
struct Group {
    expect: Option<i64>,
    copies: Vec<(usize, Term)>,
}

/// Finds the bytes of each copy; an error is an instruction and what is wrong.
pub(super) fn loads(a: &Arena, tree: &[Merged]) -> Result<Sizes, (usize, String)> {
    let mut groups: BTreeMap<Term, Vec<Group>> = BTreeMap::new();
    let mut sizes = Sizes::new();
    let mut starts: BTreeSet<i64> = BTreeSet::new();
    let mut bad = None;
    each_op(tree, &mut |at, (_, _, e)| match e {
        Effect::BulkLoad { to, bar, bytes, .. } => {
            match addresses(a, *to) {
                Some(list) => starts.extend(list),
                None => bad = bad.take().or(Some((at, "where this copy goes has no bounds".to_string()))),
            }
            if let Some(n) = bytes.and_then(|t| a.constant(t)) {
                sizes.insert((at, *to, *bar), n as u32);
            }
            let list = groups.entry(*bar).or_default();
            if list.is_empty() {
                list.push(Group::default());
            }
            if let Some(g) = list.last_mut()
                && !g.copies.contains(&(at, *to))
            {
                g.copies.push((at, *to));
            }
        }
        Effect::Arrive { bar, expect: Some(n), .. } | Effect::Expect(bar, n) => {
            let list = groups.entry(*bar).or_default();
            let n = a.constant(*n);
            match list.last_mut() {
                // A copy may come before what expects it.
                Some(g) if g.expect.is_none() => g.expect = n,
                // Several that expect, and then the copies.
                Some(g) if g.copies.is_empty() => g.expect = g.expect.zip(n).map(|(x, y)| x + y),
                _ => list.push(Group { expect: n, copies: Vec::new() }),
            }
        }
        Effect::Init(bar, _) => starts.extend(a.constant(*bar)),
        _ => {}
    });
    if let Some(bad) = bad {
        return Err(bad);
    }
    for (bar, list) in &groups {
        for g in list.iter().filter(|g| !g.copies.is_empty()) {
            settle(a, *bar, g, &starts, &mut sizes)?;
        }
    }
    Ok(sizes)
}

fn settle(a: &Arena, bar: Term, g: &Group, starts: &BTreeSet<i64>, sizes: &mut Sizes) -> Result<(), (usize, String)> {
    let first = g.copies[0].0;
    let known: i64 = g.copies.iter().filter_map(|(at, to)| sizes.get(&(*at, *to, bar))).map(|n| *n as i64).sum();
    let mut open: Vec<(i64, usize, Term, Option<i64>)> = Vec::new();
    for (at, to) in g.copies.iter().filter(|(at, to)| !sizes.contains_key(&(*at, *to, bar))) {
        let all = addresses(a, *to).unwrap_or_default();
        let gap = |x: &i64| starts.range(x + 1..).next().map(|next| next - x);
        let gap = all.iter().filter_map(gap).min();
        open.push((all.iter().min().copied().unwrap_or(0), *at, *to, gap));
    }
    if open.is_empty() {
        return Ok(());
    }
    open.sort_unstable();
    let Some(expect) = g.expect else {
        return Err((first, "no `expect_tx` with a constant says how many bytes this copy brings".into()));
    };
    let left = expect - known;
    let n = open.len();
    let before: i64 = open[..n - 1].iter().filter_map(|o| o.3).sum();
    let last = left - before;
    let fits = |size: i64, gap: Option<i64>| size > 0 && size % 16 == 0 && gap.is_none_or(|g| size <= g);
    if fits(last, open[n - 1].3) {
        for (i, (_, at, to, gap)) in open.iter().enumerate() {
            let size = if i + 1 == n { last } else { gap.unwrap_or(0) };
            sizes.insert((*at, *to, bar), size as u32);
        }
        return Ok(());
    }
    let each = left / n as i64;
    if left % n as i64 == 0 && open.iter().all(|o| fits(each, o.3)) {
        for (_, at, to, _) in &open {
            sizes.insert((*at, *to, bar), each as u32);
        }
        return Ok(());
    }
    Err((first, format!("the bytes of {n} copies cannot be told from the {expect} bytes that their barrier expects")))
}

/// Bytes of stores by tensor map: what threads have written from their address on, up to the next such address.
pub(super) fn stores(a: &Arena, tree: &[Merged]) -> Result<BTreeMap<(usize, Term), u32>, (usize, String)> {
    let mut written: Vec<(i64, i64)> = Vec::new();
    let mut starts: BTreeSet<i64> = BTreeSet::new();
    let mut list = Vec::new();
    let mut sizes = BTreeMap::new();
    each_op(tree, &mut |at, (_, _, e)| match e {
        Effect::Touch(Touch::Write | Touch::Copy, runs) => {
            for (t, n) in runs {
                let (low, high) = a.range(*t);
                written.push((low, high + *n as i64));
            }
        }
        Effect::BulkLoad { to, .. } => starts.extend(addresses(a, *to).unwrap_or_default()),
        Effect::BulkStore { from, bytes } => {
            starts.extend(addresses(a, *from).unwrap_or_default());
            match bytes.and_then(|t| a.constant(t)) {
                Some(n) => drop(sizes.insert((at, *from), n as u32)),
                None => list.push((at, *from)),
            }
        }
        _ => {}
    });
    written.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (low, high) in written {
        match joined.last_mut() {
            Some((_, end)) if low <= *end => *end = (*end).max(high),
            _ => joined.push((low, high)),
        }
    }
    for (at, from) in list {
        let Some(all) = addresses(a, from) else { return Err((at, "where this copy comes from has no bounds".into())) };
        let size = |x: &i64| {
            let (_, end) = joined.iter().find(|(low, high)| low <= x && x < high)?;
            Some(starts.range(x + 1..).next().map_or(*end, |s| (*s).min(*end)) - x)
        };
        let n = all.iter().filter_map(size).min();
        let Some(n) = n else { return Err((at, "nothing is written where this copy reads".into())) };
        sizes.insert((at, from), n as u32);
    }
    Ok(sizes)
}
