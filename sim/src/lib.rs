//! The operations of GPU software pipelines, their semantics, and a discrete-event engine that times them.

pub mod align;
pub mod chain;
pub mod code;
pub mod diag;
pub mod engine;
pub mod fences;
pub mod ir;
pub mod machine;
pub mod protocol;
pub mod report;
pub mod schedule;
pub mod timeline;
pub mod words;

pub use engine::run;
pub use report::{Report, RunError, RunOptions};
