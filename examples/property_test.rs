//! Tests a checker of your own against protocols that nobody thought of.
//!
//! The checker here runs a kernel at one step of its main loop and looks for a fault. `warpline-strategies` draws correct
//! protocols and mutants, and the verifier knows the answer. The checker accepts every correct protocol, and misses the
//! faults that need more steps.
//!
//! ```text
//! $ cargo run --example property_test
//! accepts every correct protocol: true
//! faulty mutants: 20, of which one step misses 5
//! ```

use std::cell::Cell;
use std::error::Error;
use std::io::{self, Write};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;
use warpline_strategies::{Bounds, Mutant, Protocol};
use warpline_verify::{Options, Outcome, verify, walk};

fn main() -> Result<(), Box<dyn Error>> {
    example(&mut io::stdout())
}

/// The checker under test: one schedule of a kernel.
fn my_checker_accepts(kernel: &Program, rules: Rules) -> bool {
    let (cluster, seed, max_moves) = (0, 7, 100_000);
    walk(kernel, rules, cluster, seed, max_moves).clean()
}

/// The same cases in every run. A test of your own uses `proptest! { ... }` and new cases each time.
fn runner(cases: u32) -> TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// The example; a test compares its output with the header of this file.
pub fn example(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    // Property 1: the checker accepts every correct protocol.
    let accepted = runner(64).run(&any_with::<Protocol>(Bounds::tiny()), |protocol| {
        prop_assert!(my_checker_accepts(&protocol.program(), protocol.rules()), "{}", protocol.text());
        Ok(())
    });
    writeln!(out, "accepts every correct protocol: {}", accepted.is_ok())?;

    // Property 2 would be that it rejects every faulty one. It does not, so count.
    let (faulty, missed) = (Cell::new(0), Cell::new(0));
    runner(64).run(&any_with::<Mutant>(Bounds::tiny()), |mutant| {
        let (protocol, tiles) = (&mutant.protocol, mutant.protocol.tiles);
        let (Some(kernel), Some(one_step)) = (mutant.at(tiles), mutant.at(1)) else { return Ok(()) };
        if verify(&kernel, protocol.rules(), Options::default()).outcome == Outcome::Violated {
            faulty.set(faulty.get() + 1);
            if my_checker_accepts(&one_step, protocol.rules()) {
                missed.set(missed.get() + 1);
            }
        }
        Ok(())
    })?;
    writeln!(out, "faulty mutants: {}, of which one step misses {}", faulty.get(), missed.get())?;
    Ok(())
}
