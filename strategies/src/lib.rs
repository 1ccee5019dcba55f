//! [proptest](https://docs.rs/proptest) strategies for GPU pipeline protocols.
//!
//! ```text
//!   Bounds ──protocols()──▶ Protocol ──text()──▶ kernel text ──program()──▶ Program
//!              │               correct at every trip count
//!              └─mutants()──▶ Mutant: a protocol with one mutation
//! ```
//!
//! # Tour
//!
//! Use the strategies to test a checker of barrier protocols, a compiler pass that inserts synchronization, or a simulator.
//! [`Protocol`] is [`Arbitrary`](proptest::arbitrary::Arbitrary): a kernel that is correct at every trip count. Its [`Family`] says
//! how data moves: mbarrier rings with TMA bytes, `cp.async` groups, `wgmma` groups, bulk groups, numbered, CTA and cluster
//! barriers, AMD counters, Metal barriers, the register scoreboard. A cluster has 1 to 3 CTAs. [`Mutant`] is a protocol with one
//! mutation. Both give text and program.
//!
//! ```
//! use proptest::prelude::*;
//! use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
//! use warpline_strategies::{Bounds, Family, Mutant, Protocol};
//! use warpline_verify::{Options, Outcome, verify, walk};
//!
//! // The verdict on a protocol, for every trip count.
//! fn outcome(p: &Protocol) -> Outcome {
//!     verify(&p.symbolic(), p.rules(), Options::default()).outcome
//! }
//!
//! // A property of all protocols of two families; `any::<Protocol>()` draws from all.
//! let bounds = Bounds { families: vec![Family::Loads, Family::Tma], stages: 1..=3, tiles: 0..=8, ..Bounds::default() };
//! let runner = || {
//!     let config = ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() };
//!     TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
//! };
//! runner()
//!     .run(&any_with::<Protocol>(bounds), |p| {
//!         prop_assert_eq!(outcome(&p), Outcome::Proved, "{}", p.text());
//!         // One random schedule, chosen by a seed.
//!         prop_assert!(walk(&p.program(), p.rules(), 0, 7, 100_000).clean());
//!         Ok(())
//!     })
//!     .unwrap();
//!
//! // A failing case shrinks field by field: fewer stages, tiles and warps, an earlier line of the text.
//! let last = runner().run(&any_with::<Mutant>(Bounds::tiny()), |m| {
//!     let Some(program) = m.at(m.protocol.tiles) else { return Ok(()) };
//!     let v = verify(&program, m.protocol.rules(), Options::default());
//!     prop_assert!(v.outcome != Outcome::Violated, "{}\n{}", m.edit.words, m.protocol.text());
//!     Ok(())
//! });
//! println!("{}", last.unwrap_err());
//! ```
//!
//! In tests, use the macro: `proptest! { #[test] fn law(p in any::<Protocol>()) { ... } }`. `PROPTEST_CASES=10000` runs more
//! cases, and `proptest-regressions/` keeps the seeds of failures.
//!
//! Each field is an independent choice and no strategy is built from the value of another, so that a failing case shrinks
//! quickly. A combination that a [`Family`] does not have (three producers of 128 rows) is rounded to one that it has.

mod bodies;
mod family;
mod protocol;
mod strategy;

pub use family::Family;
pub use protocol::Protocol;
pub use strategy::{Bounds, Mutant, mutants, protocols};
