//! mbarriers: initialized addresses, grouped into arrays for ring accesses.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::effects_of::barrier_of;
use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Term};

/// An array of mbarriers.
#[derive(Clone, Debug)]
pub(crate) struct Barriers {
    pub(crate) base: i64,
    pub(crate) stride: i64,
    pub(crate) stages: u32,
    pub(crate) count: u32,
}

/// The values that an address can have; `None` if it has no bounds or too many values.
pub(crate) fn addresses(a: &Arena, t: Term) -> Option<Vec<i64>> {
    if let Some(all) = a.noted_points(t) {
        return Some(all.to_vec());
    }
    let (k, parts) = a.parts(t);
    let mut list = vec![k];
    for (t, c) in parts.iter() {
        let (low, high) = a.range(*t);
        if low < 0 || high > 256 {
            return None;
        }
        list = list.iter().flat_map(|x| (low..=high).map(move |v| x + c * v)).collect();
        if list.len() > 1024 {
            return None;
        }
    }
    Some(list)
}

/// Arrays for the barriers with these counts that are used at these addresses, which are barriers. An error has the
/// barriers that uses join and that form no array.
pub(crate) fn arrays(counts: &BTreeMap<i64, u32>, uses: &[Vec<i64>]) -> Result<Vec<Barriers>, Vec<i64>> {
    let at: Vec<i64> = counts.keys().copied().collect();
    let mut group: Vec<usize> = (0..at.len()).collect();
    let index = |x: i64| at.binary_search(&x).map_err(|_| vec![x]);
    for list in uses {
        let mut first = None;
        for x in list {
            let g = group[index(*x)?];
            match first {
                None => first = Some(g),
                Some(f) if f != g => group.iter_mut().filter(|y| **y == g).for_each(|y| *y = f),
                Some(_) => {}
            }
        }
    }
    let mut out = Vec::new();
    let mut done: Vec<usize> = Vec::new();
    for (i, g) in group.iter().enumerate() {
        if done.contains(g) {
            continue;
        }
        done.push(*g);
        let members: Vec<i64> = (0..at.len()).filter(|j| group[*j] == *g).map(|j| at[j]).collect();
        let stride = members.get(1).map_or(8, |x| x - members[0]);
        if members.windows(2).any(|w| w[1] - w[0] != stride) || members.iter().any(|x| counts[x] != counts[&members[0]])
        {
            return Err(members);
        }
        out.push(Barriers { base: at[i], stride, stages: members.len() as u32, count: counts[&at[i]] });
    }
    Ok(out)
}

/// The number of the array with an mbarrier at an address.
pub(crate) fn array_at(arrays: &[Barriers], x: i64) -> Option<usize> {
    let inside =
        |b: &Barriers| x >= b.base && (x - b.base) % b.stride == 0 && (x - b.base) / b.stride < b.stages as i64;
    arrays.iter().position(inside)
}

/// The arrays that are initialized in parts: a warp initializes some stages only, or a barrier is used in between. The
/// others are initialized by one statement.
pub(crate) fn in_parts(a: &Arena, tree: &[Merged], arrays: &[Barriers]) -> BTreeSet<usize> {
    let mut begun: BTreeMap<(usize, u32), BTreeSet<i64>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let is_part = |(i, seen): (usize, &BTreeSet<i64>)| seen.len() < arrays[i].stages as usize;
    each_op(tree, &mut |_, (w, _, e)| {
        let first = |t: Term| addresses(a, t)?.first().copied();
        if let Effect::Init(t, _) = e {
            if let Some((i, x)) = first(*t).and_then(|x| Some((array_at(arrays, x)?, x))) {
                begun.entry((i, *w)).or_default().insert(x);
            }
        } else if let Some(i) = barrier_of(e).and_then(first).and_then(|x| array_at(arrays, x)) {
            found.extend(begun.iter().any(|((j, _), seen)| *j == i && is_part((i, seen))).then_some(i));
            // What is initialized behind it begins anew.
            begun.retain(|(j, _), _| *j != i);
        }
    });
    found.extend(begun.iter().filter(|((i, _), seen)| is_part((*i, seen))).map(|((i, _), _)| *i));
    found
}

/// A turn of a loop.
fn turn(s: &mut Shared<'_>, h: u32, body: &[Merged], i: i64) -> Vec<Merged> {
    let (counter, i) = (s.arena.atom(Atom::Counter(h)), s.arena.int(i));
    let with = FxHashMap::from_iter([(counter, i)]);
    let mut memo = FxHashMap::default();
    let mut at = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    body.iter().map(|n| replaced(s, n, &mut at)).collect()
}

/// Unrolls loops that initialize barriers, and loops of a turn or two of which a condition decides the second one.
pub(crate) fn unrolled(s: &mut Shared<'_>, list: Vec<Merged>) -> Vec<Merged> {
    let mut out = Vec::new();
    for n in list {
        let inits = |body: &[Merged]| {
            let mut any = false;
            each_op(body, &mut |_, o| any |= matches!(o.2, Effect::Init(..) | Effect::Inval(_)));
            any
        };
        match n.kind {
            MergedKind::For(h, count, body) if inits(&body) && s.arena.constant(count).is_some_and(|c| c <= 64) => {
                for i in 0..s.arena.constant(count).unwrap_or(0) {
                    let turn = turn(s, h, &body, i);
                    out.extend(unrolled(s, turn));
                }
            }
            MergedKind::For(h, count, body)
                if s.timing.is_none() && s.arena.constant(count).is_none() && s.arena.range(count) == (1, 2) =>
            {
                let (first, second) = (turn(s, h, &body, 0), turn(s, h, &body, 1));
                let (first, second) = (unrolled(s, first), unrolled(s, second));
                // 0 or 1.
                let further = s.arena.plus(count, -1);
                out.extend(first);
                out.push(Merged { kind: MergedKind::If(further, second, Vec::new()), ..n });
            }
            MergedKind::For(h, count, body) => {
                let body = unrolled(s, body);
                out.push(Merged { kind: MergedKind::For(h, count, body), ..n });
            }
            MergedKind::If(c, a, b) => {
                let (a, b) = (unrolled(s, a), unrolled(s, b));
                out.push(Merged { kind: MergedKind::If(c, a, b), ..n });
            }
            _ => out.push(n),
        }
    }
    out
}
