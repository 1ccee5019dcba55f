//! One binary for all tests across the crates: a module a subject.
#![allow(clippy::unwrap_used, missing_docs)]

mod accuracy;
mod bad_input;
mod cli;
mod cli_files;
mod docs;
mod emit;
mod engine;
mod explain;
mod facts;
mod faults;
mod gate;
mod hardware;
mod museum;
mod mutation;
mod properties;
mod schedule;
mod semantics;
mod suggest;
mod verify;
mod viewer;
mod witness;
