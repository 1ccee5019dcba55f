//! Rewrites loops of the merged tree until each one is a loop that the program can state.
//!
//! Each file rewrites one form that compilers give a loop. A rewritten tree has the same operations in the same order.
//!
//! | file | before | after |
//! |---|---|---|
//! | `rings`, `advance`, `joined`, `equal`, `counters` | a slot and a phase that roles carry from tile to tile | one running counter |
//! | `reroll`, `steps`, `next_step`, `periodic`, `whole` | an unrolled loop and its remainder | one loop of single steps |
//! | `residues`, `finer`, `own_count`, `within`, `positive` | comparisons with a quotient or the trip count | comparisons of the iteration |
//! | `thresholds`, `behind`, `last` | a comparison that holds up to some iteration | two loops, or a comparison with the trip count |
//! | `flat` | one loop over all steps of all tiles | a loop of steps in a loop of tiles |
//! | `by_iteration`, `kept` | a condition or a length that differs by tile | a part of a number of that tile |
//! | `data`, `orders`, `skipped`, `reset`, `uniform` | iterations that data decide | iterations between two barriers at which nothing is in flight |
//! | `paced` | a loop over every second iteration of another | a function of its trip count |
//! | `turns`, `nests` | turns of the CTAs of a cluster; loops with nothing beside them | one trip count |

pub(crate) mod advance;
pub(crate) mod behind;
pub(crate) mod by_iteration;
pub(crate) mod counters;
pub(crate) mod data;
pub(crate) mod equal;
pub(crate) mod finer;
pub(crate) mod flat;
pub(crate) mod joined;
pub(crate) mod kept;
pub(crate) mod last;
pub(crate) mod nests;
pub(crate) mod next_step;
pub(crate) mod orders;
pub(crate) mod own_count;
pub(crate) mod paced;
pub(crate) mod periodic;
pub(crate) mod positive;
pub(crate) mod reroll;
pub(crate) mod reset;
pub(crate) mod residues;
pub(crate) mod rings;
pub(crate) mod skipped;
pub(crate) mod steps;
pub(crate) mod thresholds;
pub(crate) mod turns;
pub(crate) mod uniform;
pub(crate) mod whole;
pub(crate) mod within;
