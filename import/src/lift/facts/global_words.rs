//! Words of global memory by which threads of a CTA may wait for each other.
//!
//! ```text
//!   a[i] = x                         while load(flag) != 1: ;
//!   store flag = 1, with release     y = a[i]
//! ```
//!
//! Global memory is not followed, so the program has no order between the two. A race of a kernel with such a store and such
//! a wait may be none.

use crate::flow::Flow;
use crate::lift::loops::strides::only_accesses;
use crate::ptx::Inst;

use super::pointers::Pointers;

/// The line of the first load that a loop repeats until another thread has stored a word, if the text also stores such
/// words.
pub(crate) fn waited_for(code: &[Inst], flow: &Flow, pointers: &Pointers) -> Option<u32> {
    let orders = |i: &Inst| {
        ["acquire", "release", "acq_rel", "relaxed", "volatile", "mmio"].iter().any(|m| i.has(m))
            || matches!(i.op.as_str(), "atom" | "red")
    };
    let far = |i: &Inst| orders(i) && pointers.far(i);
    // A loop around a compare-and-swap is an addition of numbers that have no atomic one.
    let waits = |i: &Inst| far(i) && i.op == "ld";
    let stores = |i: &Inst| far(i) && matches!(i.op.as_str(), "st" | "red" | "atom");
    let only_waits = |i: &Inst| only_accesses(i, pointers) || matches!(i.op.as_str(), "fence" | "membar");
    if !code.iter().any(stores) {
        return None;
    }
    let found = flow.loops.iter().filter_map(|l| {
        let blocks = || flow.blocks.iter().zip(&l.body).filter(|(_, inside)| **inside).map(|(b, _)| b);
        let code = || blocks().flat_map(|b| &code[b.first..b.end]);
        let first = code().filter(|i| waits(i)).map(|i| i.line).min()?;
        code().all(only_waits).then_some(first)
    });
    found.min()
}
