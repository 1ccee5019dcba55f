//! Facts of a kernel's text, found before any warp is walked. They hold for every launch.
//!
//! | file | fact |
//! |---|---|
//! | `slice` | the registers that operations, branches and addresses depend on; all others are not followed |
//! | `natural`, `pointers` | registers that are never negative; addresses that are never in shared memory |
//! | `threads` | the shape of a block, if the text does not state it |
//! | `room` | the most threads that declared arrays have room for |
//! | `headers` | searches whose loop begins where the loop around them begins, as loops of their own |
//! | `idle` | branches between whose sides nothing happens but arithmetic |
//! | `liveness` | the registers whose values are read behind a place |
//! | `loop_parts`, `shape` | the part of a loop that a register depends on; what a term computes of lane and registers |
//! | `defaults` | counts that memory gives in place of a number |
//! | `global_words` | words of global memory by which threads of a CTA may wait for each other |
//! | `in_flight` | accesses to registers of a product that no wait orders |
//! | `unordered` | uses of mbarriers that nothing orders behind their `init` |
//! | `unwaited` | stores to tensor memory behind loads that no wait covers |
//! | `maps`, `map_fences` | tensor maps of copies, and the fences that a changed map needs |

pub(crate) mod defaults;
pub(crate) mod global_words;
pub(crate) mod headers;
pub(crate) mod idle;
pub(crate) mod in_flight;
pub(crate) mod liveness;
pub(crate) mod loop_parts;
pub(crate) mod map_fences;
pub(crate) mod maps;
pub(crate) mod natural;
pub(crate) mod pointers;
pub(crate) mod room;
pub(crate) mod shape;
pub(crate) mod slice;
pub(crate) mod threads;
pub(crate) mod unordered;
pub(crate) mod unwaited;
