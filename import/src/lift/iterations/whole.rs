//! Products of tensor cores that follow each other.

use crate::lift::merge::{Merged, MergedKind};
use crate::lift::tree::{Effect, Run};

/// The tree with products that follow each other, of one accumulator, as one product of all their operands.
pub(crate) fn with_whole_products(list: Vec<Merged>) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    // Products before which only products come, back to this place.
    let mut from = 0;
    for n in list {
        let kind = match n.kind {
            MergedKind::Op(ops) if ops.iter().all(|(.., e)| is_product(e)) => {
                let whole = out[from..].iter_mut().find_map(|old| {
                    let MergedKind::Op(old) = &mut old.kind else { return None };
                    *old = joined(old, &ops)?;
                    Some(())
                });
                if whole.is_none() {
                    out.push(Merged { kind: MergedKind::Op(ops), ..n });
                }
                continue;
            }
            MergedKind::If(c, a, b) => MergedKind::If(c, with_whole_products(a), with_whole_products(b)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, with_whole_products(body)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
        from = out.len();
    }
    out
}

fn is_product(e: &Effect) -> bool {
    matches!(e, Effect::Wgmma { .. } | Effect::TensorProduct { .. })
}

/// The operations of one warp or several: warp, lanes, effect.
type Ops = Vec<(u32, u32, Effect)>;

/// Two products of the same warps into one accumulator, as one.
fn joined(a: &Ops, b: &Ops) -> Option<Ops> {
    let more = |x: &[Run], y: &[Run]| {
        let mut all = [x, y].concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    let one = |(x, y): (&(u32, u32, Effect), &(u32, u32, Effect))| {
        if (x.0, x.1) != (y.0, y.1) {
            return None;
        }
        let e = match (&x.2, &y.2) {
            (Effect::Wgmma { a, b, acc, n, k }, Effect::Wgmma { a: c, b: d, acc: acc2, n: n2, k: k2 })
                if (acc, n, k) == (acc2, n2, k2) =>
            {
                let a = match (a, c) {
                    (Some(a), Some(c)) => Some(more(a, c)),
                    (None, None) => None,
                    _ => return None,
                };
                Effect::Wgmma { a, b: more(b, d), acc: *acc, n: *n, k: *k }
            }
            (
                Effect::TensorProduct { a, at, b, d, pair, shape },
                Effect::TensorProduct { a: a2, at: at2, b: b2, d: d2, pair: pair2, shape: shape2 },
            ) if (d, pair, shape) == (d2, pair2, shape2) => Effect::TensorProduct {
                a: more(a, a2),
                at: more(at, at2),
                b: more(b, b2),
                d: d.clone(),
                pair: *pair,
                shape: *shape,
            },
            _ => return None,
        };
        Some((x.0, x.1, e))
    };
    if a.len() != b.len() {
        return None;
    }
    a.iter().zip(b).map(one).collect()
}
