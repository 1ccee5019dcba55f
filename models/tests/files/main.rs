//! Tests of the machine files and their loader: one binary, a module for each subject.

mod machines;
mod malformed;
