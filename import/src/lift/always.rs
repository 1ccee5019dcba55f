//! Accesses behind conditions that would otherwise not be decided, such as the rows of a tile that a size cuts off.
//!
//! If a branch only accesses shared memory, and orders nothing that other code does, its accesses can be taken to happen
//! always. Every run then has the order of the run in which all happen, with fewer accesses. So a proof holds for all
//! outcomes.
//! A fault may be one of accesses that never happen together. It counts only if it remains without all of these accesses.

use crate::symbolic::Term;

use super::merge::{Merged, MergedKind};
use super::tree::{Effect, Fence};

/// What becomes of the accesses behind a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Accesses {
    /// They happen where the condition holds.
    #[default]
    Conditional,
    /// They happen always.
    Done,
    /// They never happen.
    LeftOut,
}

/// The tree without conditions of branches that only access memory, where `keeps` is false for the condition. Returns the
/// first such branch, too.
pub(super) fn always(
    tree: Vec<Merged>,
    accesses: Accesses,
    keeps: &mut dyn FnMut(Term) -> bool,
) -> (Vec<Merged>, Option<usize>) {
    let mut first = None;
    if accesses == Accesses::Conditional {
        return (tree, first);
    }
    let tree = in_list(tree, accesses, keeps, &mut first);
    (tree, first)
}

fn in_list(
    list: Vec<Merged>,
    accesses: Accesses,
    keeps: &mut dyn FnMut(Term) -> bool,
    first: &mut Option<usize>,
) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) if only_accesses(&a) && only_accesses(&b) && !keeps(c) => {
                first.get_or_insert(n.at);
                if accesses == Accesses::Done {
                    out.extend(plain(a));
                    out.extend(plain(b));
                }
                continue;
            }
            MergedKind::If(c, a, b) => {
                MergedKind::If(c, in_list(a, accesses, keeps, first), in_list(b, accesses, keeps, first))
            }
            MergedKind::For(h, count, body) => MergedKind::For(h, count, in_list(body, accesses, keeps, first)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

fn is_plain_order(e: &Effect) -> bool {
    matches!(e, Effect::WarpSync | Effect::Elect | Effect::Fence(Fence::Cta))
}

/// Whether nodes only access shared memory, and order no other code.
fn only_accesses(list: &[Merged]) -> bool {
    list.iter().all(|n| match &n.kind {
        MergedKind::Op(ops) => ops.iter().all(|(_, _, e)| matches!(e, Effect::Touch(..)) || is_plain_order(e)),
        MergedKind::If(_, a, b) => only_accesses(a) && only_accesses(b),
        MergedKind::For(_, _, body) => only_accesses(body),
        MergedKind::Set(..) | MergedKind::End => false,
    })
}

/// Nodes without conditions, and without operations that only order lanes of a warp.
fn plain(list: Vec<Merged>) -> Vec<Merged> {
    let mut out = Vec::new();
    for n in list {
        match n.kind {
            MergedKind::Op(mut ops) => {
                ops.retain(|(_, _, e)| !is_plain_order(e));
                if !ops.is_empty() {
                    out.push(Merged { kind: MergedKind::Op(ops), ..n });
                }
            }
            MergedKind::If(_, a, b) => {
                out.extend(plain(a));
                out.extend(plain(b));
            }
            MergedKind::For(h, count, body) => {
                let body = plain(body);
                if !body.is_empty() {
                    out.push(Merged { kind: MergedKind::For(h, count, body), ..n });
                }
            }
            MergedKind::Set(..) | MergedKind::End => {}
        }
    }
    out
}
