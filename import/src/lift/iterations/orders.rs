//! Branches by data behind which threads only order what they do.
//!
//! ```text
//!   for each tile:                                  for each tile:
//!     ..                                      ─▶      ..
//!     if atomic counter says "last one":
//!       fence; set a flag in global memory
//! ```
//!
//! A fence and a `__syncwarp` of all lanes only take schedules away. So the schedules of a program without them are those of
//! the kernel and others: a proof holds for the kernel, whatever the data are. A fault may be one of the other schedules.

use std::collections::BTreeSet;

use crate::lift::merge::{Merged, MergedKind, Set};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::ptx::Error;

use super::data;

/// Cuts the loops of a tree that depend on data (`data.rs`). Where that fails, branches by data that only order are left out.
pub(crate) fn cut(s: &mut Shared<'_>, tree: Vec<Merged>, everyone: Set) -> Result<(Vec<Merged>, Option<u32>), Error> {
    let assumed = s.assumed.clone();
    let e = match data::cut(s, tree.clone(), everyone) {
        Err(e) => e,
        result => return result,
    };
    let vars = data::data_vars(s, &tree);
    let mut first = None;
    let tree = without(s, tree, &vars, &mut first);
    let Some(at) = first else { return Err(e) };
    s.assumed = assumed;
    let done = data::cut(s, tree, everyone).map_err(|_| e)?;
    let line = s.entry.code.get(at).map_or(0, |i| i.line);
    s.approximates.get_or_insert(format!("fences behind a branch by data, such as at line {line}, are left out"));
    Ok(done)
}

/// The tree without branches by data that only order. `first` gets the first of them.
fn without(s: &Shared<'_>, list: Vec<Merged>, vars: &BTreeSet<u32>, first: &mut Option<usize>) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) if data::is_data(s, c, vars) && orders_only(&a) && orders_only(&b) => {
                first.get_or_insert(n.at);
                continue;
            }
            MergedKind::If(c, a, b) => MergedKind::If(c, without(s, a, vars, first), without(s, b, vars, first)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, without(s, body, vars, first)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

/// Whether nodes only order what other nodes do.
fn orders_only(list: &[Merged]) -> bool {
    list.iter().all(|n| match &n.kind {
        MergedKind::Op(ops) => ops.iter().all(|(_, lanes, e)| match e {
            Effect::Fence(_) => true,
            Effect::WarpSync => *lanes == u32::MAX,
            _ => false,
        }),
        MergedKind::If(_, a, b) => orders_only(a) && orders_only(b),
        MergedKind::For(..) | MergedKind::Set(..) | MergedKind::End => false,
    })
}
