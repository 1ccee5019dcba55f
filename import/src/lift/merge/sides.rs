//! Branches whose sides do the same. A tile inside of a matrix and one at its edge may differ only in the rows that they
//! store in global memory. The condition decides nothing then.

use crate::lift::tree::Effect;

use super::{Merged, MergedKind};

/// The tree without conditions of branches whose sides do the same. The first side stands for both.
pub(crate) fn without_equal(list: Vec<Merged>) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => {
                let (a, b) = (without_equal(a), without_equal(b));
                if !a.is_empty() && same_lists(&a, &b) {
                    out.extend(a);
                    continue;
                }
                MergedKind::If(c, a, b)
            }
            MergedKind::For(h, count, body) => MergedKind::For(h, count, without_equal(body)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

fn same_lists(a: &[Merged], b: &[Merged]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}

/// Whether the text of an operation states how many bytes it copies. By tensor maps, two equal ones can copy other sizes.
fn states_bytes(e: &Effect) -> bool {
    !matches!(e, Effect::BulkLoad { bytes: None, .. } | Effect::BulkStore { bytes: None, .. })
}

/// Whether nodes do the same, at whatever instructions.
fn same(x: &Merged, y: &Merged) -> bool {
    x.warps == y.warps
        && match (&x.kind, &y.kind) {
            (MergedKind::Op(p), MergedKind::Op(q)) => p == q && p.iter().all(|(_, _, e)| states_bytes(e)),
            (MergedKind::If(c, a, b), MergedKind::If(d, e, f)) => c == d && same_lists(a, e) && same_lists(b, f),
            (MergedKind::For(h, n, a), MergedKind::For(g, m, b)) => (h, n) == (g, m) && same_lists(a, b),
            (MergedKind::Set(v, t), MergedKind::Set(w, u)) => (v, t) == (w, u),
            _ => false,
        }
}
