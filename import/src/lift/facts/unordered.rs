//! Uses of an mbarrier that no way through the text orders behind its `init`.
//!
//! ```text
//!   fence.mbarrier_init.release.cluster
//!   mbarrier.init [b], 128                    (warp 0: the fence comes too early for it)
//!   barrier.cluster.arrive.relaxed            (orders no memory)
//!   barrier.cluster.wait
//!   mbarrier.arrive [b]                       (warp 1)
//! ```
//!
//! What a thread wrote is in order with another thread's use if the first one releases it and the second one acquires. A
//! relaxed arrival at the cluster's barrier releases only what a fence of its thread covers. In the text above, no fence
//! follows the `init`, and nothing else orders threads ahead of the use. No argument and no word of memory changes that.

use crate::flow::Flow;
use crate::ptx::{Entry, Inst};

use super::unwaited::{predecessors, reached, successors};

/// Whether no way through the text orders a use of an mbarrier behind its `init` by a thread of another warp. Both are
/// given by their lines.
pub fn never_ordered_behind_init(entry: &Entry, init: u32, usage: u32) -> bool {
    let Ok(flow) = Flow::of(entry) else { return false };
    let size = entry.code.len();
    let at = |line: u32, is_init: bool| -> Vec<usize> {
        let is = |i: &Inst| i.line == line && i.op == "mbarrier" && i.has("init") == is_init;
        (0..size).filter(|n| is(&entry.code[*n])).collect()
    };
    let (inits, uses) = (at(init, true), at(usage, false));
    let before = predecessors(entry, &flow);
    let behind_init = reached((&inits, size), |n| successors(entry, &flow, n), |_| false);
    let ahead_of_use = reached((&uses, size), |n| before[n].clone(), |_| false);
    let orders = |n: usize| match Order::of(&entry.code[n]) {
        Order::None => false,
        Order::Fence => behind_init[n],
        Order::Threads => true,
    };
    uses.iter().any(|n| behind_init[*n]) && !(0..size).any(|n| ahead_of_use[n] && orders(n))
}

/// What an instruction can order.
enum Order {
    None,
    /// What its own thread did, for an arrival behind it.
    Fence,
    /// What threads of different warps do.
    Threads,
}

impl Order {
    fn of(i: &Inst) -> Order {
        match i.op.as_str() {
            "fence" | "membar" => Order::Fence,
            "barrier" if i.has("cluster") && (i.has("wait") || i.has("relaxed")) => Order::None,
            "bar" if i.has("warp") => Order::None,
            "mbarrier" if i.has("init") => Order::None,
            "bar" | "barrier" | "mbarrier" | "atom" | "red" | "call" => Order::Threads,
            "ld" | "st" if ["acquire", "release", "relaxed", "volatile", "mmio"].iter().any(|m| i.has(m)) => {
                Order::Threads
            }
            _ => Order::None,
        }
    }
}
