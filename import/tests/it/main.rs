//! Kernels that real compilers made, their mutants, and damaged texts.

mod corpus;
mod damage;
mod damaged;
mod kernels;
mod mutants;
mod mutation;
