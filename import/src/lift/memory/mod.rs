//! Objects of the program: shared memory with slots and pieces, tensor memory, barriers.
//!
//! | file | what it does |
//! |---|---|
//! | `regions`, `pieces`, `intervals` | shared memory as objects with slots; the bytes of accesses as sets of pieces |
//! | `barriers`, `selected`, `wait_scopes` | arrays of mbarriers; waits that select from several; scopes of waits |
//! | `sizes`, `signals`, `expected`, `counted`, `padded`, `swizzled`, `split_phases` | bytes of copies by tensor map, which the text does not state |
//! | `places`, `chosen` | accesses whose place an iteration or a condition chooses |
//! | `anywhere`, `always` | accesses at places that are not known, and behind conditions that are not decided |
//! | `objects`, `unfilled` | declarations of the program; bytes that nothing writes |

pub(crate) mod always;
pub(crate) mod anywhere;
pub(crate) mod barriers;
pub(crate) mod chosen;
mod counted;
pub(crate) mod expected;
pub(crate) mod intervals;
pub(crate) mod objects;
pub(crate) mod padded;
pub(crate) mod pieces;
pub(crate) mod places;
pub(crate) mod regions;
pub(crate) mod selected;
mod signals;
pub(crate) mod sizes;
mod split_phases;
pub(crate) mod swizzled;
pub(crate) mod unfilled;
pub(crate) mod wait_scopes;
