//! The operations of GPU software pipelines, their semantics, and a discrete-event engine that times them.
//!
//! The input is a [`Program`](ir::Program): the flat code of one kernel with every parameter bound. The crate reads no
//! file, draws nothing and starts no thread; the same input always gives the same result.
//!
//! ```text
//!            ir::Program        machine::Machine
//!                 │                    │
//!        ┌────────┴────────┐           │
//!        ▼                 ▼           ▼
//!  protocol::World ◀── engine::run (events, servers, caches)
//!   what each step          │
//!   means                   ▼
//!        │            report::Report ──▶ timeline::Timeline
//!        ▼             cycles, stalls     one span per stretch of work or stall
//!  findings: races,    and findings
//!  stale tiles, hangs
//! ```
//!
//! # Tour
//!
//! | module | contents |
//! | --- | --- |
//! | [`ir`] | objects, barriers, expressions and the instruction list of a kernel |
//! | [`machine`] | a table of numbers, each with unit, kind and source; there are no defaults |
//! | [`protocol`] | the state of one cluster and the meaning of each operation, with happens-before as vector clocks |
//! | [`engine`] | simulated time: issue slots, scoreboards, memory ports, tensor pipe, caches, occupancy |
//! | [`report`] | options and result of a run: cycles, stalls by cause, occupancy, findings |
//! | [`timeline`] | rows and spans of a run, for pictures |
//! | [`schedule`] | an order of moves that a run keeps to, such as a counterexample of the verifier |
//! | [`code`], [`fences`] | the stable codes of findings, and how strictly fences are asked for |
//! | [`diag`], [`words`] | messages about input files, and the vocabulary that displays share |
//! | [`align`], [`chain`] | matching operations of two runs, and the critical path of one run |
//!
//! [`protocol::World`] is the only implementation of the semantics. The engine chooses the next step by simulated time;
//! the verifier chooses the next step in every order. Both call [`World::step`](protocol::World::step) and
//! [`World::land`](protocol::World::land), which report to an [`Observer`](protocol::Observer). `protocol/op` has one file
//! for each family of instructions.
//!
//! # Example
//!
//! Two warps meet at a CTA barrier. Warp 0 computes for 100 cycles first, so warp 1 stalls at the barrier. Kernels are
//! usually written in the kernel language and lowered by the crate `warpline-scenarios`; here the code is built by hand.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use warpline_sim::RunOptions;
//! use warpline_sim::ir::{Cost, Expr, Forms, Grid, Instr, Op, Order, Program, Role, Site, Waits, Executors};
//! use warpline_sim::machine::{Kind, Machine, Param, Vendor};
//! use warpline_sim::report::Outcome;
//! use warpline_sim::timeline::Stall;
//!
//! let takes = |cycles| Cost { takes: Some(cycles), ..Cost::default() };
//! let alu = Op::Alu { unit: "fma".into(), count: Expr::Const(1), reads: vec![], writes: vec![], mix: None };
//! let code = vec![
//!     // Warp 1 skips the arithmetic.
//!     Instr::Only(Executors::Warps(0b01), 2),
//!     Instr::Op { op: alu, cost: takes(100.0) },
//!     Instr::Op { op: Op::Barrier(Order::None), cost: takes(1.0) },
//!     Instr::End,
//! ];
//! let role = |name: &str, warps| Role { name: name.into(), warps, members: 1 };
//! let program = Program {
//!     name: "two_warps".into(),
//!     file: "two_warps.pipe".into(),
//!     params: vec![],
//!     symbols: vec![],
//!     forms: Forms::default(),
//!     needs: vec![],
//!     grid: Grid { m: 1, n: 1, z: 1, group: 0 },
//!     cluster: 1,
//!     cooperative: false,
//!     atomic_order: vec![],
//!     warps: 2,
//!     regs: None,
//!     waits: Waits::Auto,
//!     objects: vec![],
//!     mbars: vec![],
//!     named: vec![],
//!     counters: vec![],
//!     roles: vec![role("math", 0b01), role("idle", 0b10)],
//!     tapes: vec![],
//!     vars: vec![],
//!     at: vec![0; code.len()],
//!     code,
//!     sites: vec![Site::default()],
//!     loops: vec![],
//!     lets: vec![],
//!     loose: false,
//!     opaque_globals: false,
//!     ended_leave: false,
//!     reads_checked: false,
//! };
//!
//! // A design on paper has only the numbers that this kernel needs.
//! let numbers = [
//!     ("core.count", 1.0),
//!     ("core.schedulers", 4.0),
//!     ("core.warp_size", 32.0),
//!     ("launch.cta", 0.0),
//!     ("limit.ctas_per_core", 1.0),
//!     ("limit.shared_per_cta", 65536.0),
//!     ("limit.shared_per_core", 65536.0),
//!     ("limit.regs_per_thread", 255.0),
//!     ("limit.warps_per_core", 8.0),
//!     ("limit.threads_per_cta", 256.0),
//! ];
//! let param = |value| Param {
//!     value,
//!     unit: String::new(),
//!     kind: Kind::Estimated,
//!     source: "example".into(),
//!     spread: None,
//! };
//! let params: BTreeMap<_, _> = numbers.map(|(key, value)| (key.to_string(), param(value))).into();
//! let machine = Machine {
//!     name: "paper".into(),
//!     title: "a design on paper".into(),
//!     vendor: Vendor::Paper,
//!     arch: "paper".into(),
//!     params,
//! };
//!
//! let options = RunOptions { timeline: Some(1000), ..RunOptions::default() };
//! let report = warpline_sim::run(&program, &machine, &options)?;
//! assert_eq!(report.outcome, Outcome::Finished);
//! assert!(report.findings.is_empty());
//! assert!(report.cycles >= 100.0);
//!
//! // Warp 1 does almost nothing but wait at the barrier.
//! let idle = report.roles.iter().find(|r| r.name == "idle").expect("a role of the program");
//! assert!(idle.stalls[&Stall::Barrier] > 0.9);
//!
//! // The timeline has one row per warp, and each cycle of a warp is work or one stall.
//! let timeline = report.timeline.expect("a timeline was asked for");
//! assert_eq!(timeline.rows.len(), 2);
//! # Ok::<(), warpline_sim::RunError>(())
//! ```

pub mod align;
pub mod alu;
pub mod chain;
pub mod code;
pub mod diag;
pub mod engine;
pub mod fences;
pub mod ir;
pub mod machine;
pub mod protocol;
pub mod range;
pub mod report;
pub mod schedule;
pub mod timeline;
pub mod words;

pub use engine::run;
pub use report::{Report, RunError, RunOptions};
