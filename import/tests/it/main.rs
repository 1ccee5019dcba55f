//! Kernels that real compilers made, their mutants, damaged texts, and small kernels for single forms.

mod advances;
mod asserted;
mod calls;
mod choices;
mod common;
mod corpus;
mod counts;
mod damage;
mod damaged;
mod families;
mod far;
mod habits;
mod idle_loops;
mod iterations;
mod kernels;
mod known;
mod memory;
mod mutants;
mod mutation;
mod pipelines;
mod producers;
mod sass;
mod states;
mod tails;
mod thresholds;
mod values;
