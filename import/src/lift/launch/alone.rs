//! Kernels whose threads do not meet: they access no shared memory, pass no barrier and exchange nothing between lanes.
//! Nothing is left to prove of them, whatever loops their lanes make and however many threads a block has.

use crate::flow::{Ending, ending};
use crate::lift::facts::slice::{acts, only_global, unread};
use crate::ptx::{Entry, Inst};

/// An entry without its work, if its threads do not meet: only its return is left.
pub(crate) fn without_work(entry: &Entry) -> Option<Entry> {
    let passed_over = |i: &Inst| only_global(i) || matches!(i.op.as_str(), "ld" | "st") && i.has("local");
    let meets = |i: &Inst| {
        !passed_over(i) && (acts(i) || unread(i) || matches!(i.op.as_str(), "call" | "mma" | "wmma" | "brx"))
    };
    if entry.code.iter().any(meets) {
        return None;
    }
    let last = entry.code.iter().rev().find(|i| ending(i) == Ending::Exit)?;
    let code = vec![Inst { guard: None, ..last.clone() }];
    Some(Entry { code, labels: vec![None; entry.labels.len()], ..entry.clone() })
}
