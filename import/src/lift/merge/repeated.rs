//! Leaves out accesses of warps that repeat the accesses before and behind them.
//!
//! In a series of loads, stores and `__syncwarp` of a whole warp, nothing acquires or releases for other warps. So what is
//! ordered with one access is ordered with all of them, and accesses of the same pieces race with the same ones. The
//! first and the last access of each kind stay. So does one of several `__syncwarp` with nothing in between.

use std::collections::BTreeMap;

use crate::lift::memory::regions::Regions;
use crate::lift::tree::{Effect, Touch};
use crate::lift::walk::shared::Shared;
use crate::symbolic::Term;

use super::{Merged, MergedKind};

/// The pieces that a warp accesses, by object and slot.
type Pieces = BTreeMap<(usize, i64, Vec<(Term, i64)>), u64>;

/// What warps do at a node of a series: their accesses, or `None` for `__syncwarp`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Access(Vec<(u32, Option<(Touch, Pieces)>)>);

impl Access {
    fn syncs(&self) -> bool {
        self.0.iter().all(|(_, access)| access.is_none())
    }
}

/// Nodes without repeated accesses.
pub(crate) fn without_repeated(s: &Shared<'_>, regions: &Regions, list: Vec<Merged>) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    let mut series: Vec<Merged> = Vec::new();
    for n in list {
        if of_series(&n) {
            series.push(n);
            continue;
        }
        out.extend(shortened(s, regions, std::mem::take(&mut series)));
        let kind = match n.kind {
            MergedKind::If(c, a, b) => {
                MergedKind::If(c, without_repeated(s, regions, a), without_repeated(s, regions, b))
            }
            MergedKind::For(h, count, body) => MergedKind::For(h, count, without_repeated(s, regions, body)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out.extend(shortened(s, regions, series));
    out
}

/// Whether whole warps load, store or execute `__syncwarp` at a node.
fn of_series(n: &Merged) -> bool {
    let access = |e: &Effect| matches!(e, Effect::Touch(Touch::Read | Touch::Write, _) | Effect::WarpSync);
    matches!(&n.kind, MergedKind::Op(ops) if ops.iter().all(|(_, lanes, e)| *lanes == u32::MAX && access(e)))
}

/// A series without the accesses that have an equal one before and behind them.
fn shortened(s: &Shared<'_>, regions: &Regions, series: Vec<Merged>) -> Vec<Merged> {
    if series.len() < 3 {
        return series;
    }
    let keys: Vec<Access> = series.iter().map(|n| access(s, regions, n)).collect();
    let mut ends: BTreeMap<&Access, (usize, usize)> = BTreeMap::new();
    for (i, key) in keys.iter().enumerate() {
        ends.entry(key).and_modify(|(_, last)| *last = i).or_insert((i, i));
    }
    let inner = |i: usize| ends.get(&keys[i]).is_some_and(|(first, last)| *first < i && i < *last);
    let kept: Vec<usize> = (0..series.len()).filter(|i| keys[*i].syncs() || !inner(*i)).collect();
    // Warps that wait for their lanes twice, and do nothing in between.
    let twice = |k: &usize| *k > 0 && keys[kept[*k]].syncs() && keys[kept[*k - 1]] == keys[kept[*k]];
    let kept: Vec<usize> = (0..kept.len()).filter(|k| !twice(k)).map(|k| kept[k]).collect();
    let mut kept = kept.into_iter().peekable();
    let stays = |(i, n): (usize, Merged)| kept.next_if_eq(&i).map(|_| n);
    series.into_iter().enumerate().filter_map(stays).collect()
}

fn access(s: &Shared<'_>, regions: &Regions, n: &Merged) -> Access {
    let MergedKind::Op(ops) = &n.kind else { return Access(Vec::new()) };
    let one = |e: &Effect| {
        let Effect::Touch(what, runs) = e else { return None };
        let mut pieces = Pieces::new();
        for (t, length) in runs {
            for p in regions.parts(&s.arena, *t, *length) {
                *pieces.entry((p.object, p.slot, p.ring)).or_default() |= regions.pieces(p.object, p.from, p.to);
            }
        }
        Some((*what, pieces))
    };
    Access(ops.iter().map(|(w, _, e)| (*w, one(e))).collect())
}
