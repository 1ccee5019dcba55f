//! The operations of GPU software pipelines, their semantics, and a discrete-event engine that times them.

pub mod diag;
pub mod ir;
pub mod machine;
pub mod timeline;
