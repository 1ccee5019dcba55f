//! From a few trip counts to all of them.
//!
//! ```text
//!   trip_count          which symbols set trip counts, and the kernel at any other one
//!     slope               how much a number grows with a symbol
//!   while_loops, running_counters, pipeline_states, refined_indices    normal forms of loops and indices
//!   carry_over          the period, where it begins, and what ends a region
//!   self_composition    a run beside the same run with one period more: lemma 5
//!     lockstep            both step together, but for the inserted period
//!     shift_invariance    each decision comes out alike however many periods are inserted
//!     loop_counter        when a loop makes a step
//!     loop_bounds         bounds that read variables: which parameters, and how much they grow
//!     periods             the period that divisors ask for
//!   nested_loops        trip counts of two nested loops: lemma 8
//!     outer_turns, common_prefix, instruction_log       runs of many outer trip counts as one
//!   sequential_loops    trip counts of two loops that follow each other: lemma 8
//!   row_classes         CTAs of a row whose outer loops differ by one iteration at most
//!     job_values          values that some number of jobs may have in its own way
//!   uneven_jobs         CTAs of a row that behave differently, and share out any number of jobs
//!   wide_grid           one grid for all trip counts that set it: lemma 13
//!   refused             trip counts that the kernel refuses
//!   tickets             jobs that all CTAs draw from one counter: lemma 21
//!   named_blocks        values that only name blocks of inputs: lemma 19
//!   remainders          values of the parameter that give the same trip count
//! ```

use warpline_sim::ir::Program;

pub(crate) mod carry_over;
pub(crate) mod common_prefix;
pub(crate) mod family;
pub(crate) mod fixed_parameters;
pub(crate) mod grid_size;
pub(crate) mod instruction_log;
pub(crate) mod job_values;
pub(crate) mod jobs;
pub(crate) mod lockstep;
pub(crate) mod loop_bounds;
pub(crate) mod loop_counter;
pub(crate) mod named_blocks;
pub(crate) mod nested_loops;
pub(crate) mod outer_turns;
pub(crate) mod periods;
pub(crate) mod pipeline_states;
pub(crate) mod refined_indices;
pub(crate) mod refused;
pub(crate) mod remainders;
pub(crate) mod row_classes;
pub(crate) mod running_counters;
pub(crate) mod self_composition;
pub(crate) mod sequential_loops;
pub(crate) mod shift_invariance;
mod slope;
pub(crate) mod tickets;
pub(crate) mod trip_count;
pub(crate) mod uneven_jobs;
pub(crate) mod while_loops;
pub(crate) mod wide_grid;

/// The kernel in the form that inductions need: counting loops have an index and a bound, and running counters are
/// variables.
pub(crate) fn normal_form(prog: &Program) -> Program {
    running_counters::counters(&while_loops::counted(prog))
}
