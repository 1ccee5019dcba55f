//! Tests of charts, the terminal viewer and traces: one binary, a module for each subject.

mod gantt;
mod random;
mod synth;
mod trace;
mod tui;
