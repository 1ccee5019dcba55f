//! Accesses behind conditions that would otherwise not be decided, such as the rows of a tile that a size cuts off.
//!
//! If a branch only accesses shared memory, and orders nothing that other code does, its accesses can be taken to happen
//! always. Every run then has the order of the run in which all happen, with fewer accesses. So a proof holds for all
//! outcomes. Accesses to tensor memory and waits for them may be among these accesses. Then nothing of a warp may be open
//! before such a branch, and no side may leave anything open. So the waits of a side are for accesses of that side only.
//! A fault may be one of accesses that never happen together. It counts only if it remains without all of these accesses.

use crate::lift::merge::{Merged, MergedKind, Set};
use crate::lift::tree::{Effect, Fence};
use crate::symbolic::Term;

/// What becomes of the accesses behind a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Accesses {
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
pub(crate) fn always(
    tree: Vec<Merged>,
    accesses: Accesses,
    keeps: &mut dyn FnMut(Term) -> bool,
) -> (Vec<Merged>, Option<usize>) {
    let mut first = None;
    if accesses == Accesses::Conditional {
        return (tree, first);
    }
    let mut pass = Pass { accesses, keeps, first: &mut first };
    let tree = pass.in_list(tree, Open::default());
    (tree, first)
}

/// The warps whose accesses to tensor memory may not be complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    loads: Set,
    stores: Set,
}

impl Open {
    fn or(self, other: Open) -> Open {
        Open { loads: self.loads | other.loads, stores: self.stores | other.stores }
    }

    /// Whether nothing of these warps is open.
    fn is_empty(self, warps: Set) -> bool {
        (self.loads | self.stores) & warps == 0
    }

    /// What may be open behind a node.
    fn behind(mut self, n: &Merged) -> Open {
        match &n.kind {
            MergedKind::Op(ops) => {
                for (warp, _, e) in ops {
                    let warp: Set = 1 << *warp;
                    match e {
                        Effect::TensorLoad(_) => self.loads |= warp,
                        Effect::TensorStore(_) => self.stores |= warp,
                        Effect::TensorWait(true) => self.loads &= !warp,
                        Effect::TensorWait(false) => self.stores &= !warp,
                        _ => {}
                    }
                }
                self
            }
            MergedKind::If(_, a, b) => self.behind_all(a).or(self.behind_all(b)),
            MergedKind::For(_, _, body) => self.or(self.behind_all(body)),
            MergedKind::Set(..) | MergedKind::End => self,
        }
    }

    fn behind_all(self, list: &[Merged]) -> Open {
        list.iter().fold(self, Open::behind)
    }
}

/// One pass over the tree.
struct Pass<'p> {
    accesses: Accesses,
    keeps: &'p mut dyn FnMut(Term) -> bool,
    first: &'p mut Option<usize>,
}

impl Pass<'_> {
    /// A list before which accesses may be open.
    fn in_list(&mut self, list: Vec<Merged>, mut open: Open) -> Vec<Merged> {
        let mut out = Vec::with_capacity(list.len());
        for n in list {
            let before = open;
            open = open.behind(&n);
            let alone = only_accesses(std::slice::from_ref(&n), before);
            let kind = match n.kind {
                MergedKind::If(c, a, b) if alone && !(self.keeps)(c) => {
                    self.first.get_or_insert(n.at);
                    if self.accesses == Accesses::Done {
                        out.extend(plain(a));
                        out.extend(plain(b));
                    }
                    continue;
                }
                MergedKind::If(c, a, b) => MergedKind::If(c, self.in_list(a, before), self.in_list(b, before)),
                // `open` has what the iteration before leaves open, too.
                MergedKind::For(h, count, body) => MergedKind::For(h, count, self.in_list(body, open)),
                kind => kind,
            };
            out.push(Merged { kind, ..n });
        }
        out
    }
}

fn is_plain_order(e: &Effect) -> bool {
    matches!(e, Effect::WarpSync | Effect::Elect | Effect::Fence(Fence::Cta))
}

/// Whether nodes wait for accesses to tensor memory.
fn waits(list: &[Merged]) -> bool {
    list.iter().any(|n| match &n.kind {
        MergedKind::Op(ops) => ops.iter().any(|(_, _, e)| matches!(e, Effect::TensorWait(_))),
        MergedKind::If(_, a, b) => waits(a) || waits(b),
        MergedKind::For(_, _, body) => waits(body),
        MergedKind::Set(..) | MergedKind::End => false,
    })
}

/// Whether nodes only access shared memory and tensor memory, and order no other code, also where the outcome of each of
/// their branches changes. Before them, accesses may be open.
fn only_accesses(list: &[Merged], mut open: Open) -> bool {
    list.iter().all(|n| {
        let before = open;
        open = open.behind(n);
        let apart = |side: &[Merged]| before.is_empty(n.warps) && before.behind_all(side).is_empty(n.warps);
        match &n.kind {
            MergedKind::Op(ops) => ops.iter().all(|(_, _, e)| {
                let tensor = matches!(e, Effect::TensorLoad(_) | Effect::TensorStore(_) | Effect::TensorWait(_));
                tensor || matches!(e, Effect::Touch(..)) || is_plain_order(e)
            }),
            MergedKind::If(_, a, b) => {
                let waits = waits(a) || waits(b);
                (!waits || apart(a) && apart(b)) && only_accesses(a, before) && only_accesses(b, before)
            }
            MergedKind::For(_, _, body) => (!waits(body) || apart(body)) && only_accesses(body, open),
            MergedKind::Set(..) | MergedKind::End => false,
        }
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
