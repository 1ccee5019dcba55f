//! One binary for all tests across the crates: a module a subject.
#![allow(clippy::unwrap_used, missing_docs)]

mod bad_input;
mod cli;
mod cli_files;
mod docs;
mod engine;
mod explain;
mod facts;
mod faults;
mod gate;
mod museum;
mod mutation;
mod pictures;
mod properties;
mod report;
mod schedule;
mod semantics;
mod suggest;
mod verify;
mod viewer;
mod witness;
