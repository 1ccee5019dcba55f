//! Tests of the kernel language, its checks, its formatter and the built-in scenarios: one binary, a module for each subject.

mod any_input;
mod bad;
mod compile;
mod format;
mod library;
mod symbolic;
