//! One binary for all tests across the crates: a module a subject.
#![allow(clippy::unwrap_used, missing_docs)]

mod bad_input;
mod cli;
mod cli_files;
mod docs;
mod engine;
mod facts;
mod faults;
mod museum;
mod properties;
mod semantics;
mod verify;
mod viewer;
