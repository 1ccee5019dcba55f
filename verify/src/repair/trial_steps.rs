//! The steps that a search for repairs may take.
//!
//! Every trial of a search has a limit of its own, and all trials share one. So a search ends after seconds, also where
//! each changed kernel takes long. The limits are steps and not seconds, so that a result does not depend on the machine.

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

use crate::counterexample::BYTES_A_STEP;
use crate::{Options, Verdict, counted};

/// Number of changes that are verified at a time, fixed so that the result does not depend on the number of threads.
const VERIFIED_AT_ONCE: usize = 4;

/// The steps of agents that a search for repairs may still take, in all of its trials together.
#[derive(Clone, Debug)]
pub struct TrialSteps {
    options: Options,
    /// Steps of one proof.
    proof: u64,
    /// Steps of all short runs that may still be taken.
    runs: u64,
    left: u64,
    /// Whether worlds count, too: those of a compiled kernel take as long as many steps.
    worlds: bool,
}

impl TrialSteps {
    /// Steps of all trials: about ten seconds of work.
    const ALL: u64 = 8_000_000;
    /// The same for a compiled kernel, whose steps take longer and whose verdict is to come within a second or two.
    const COMPILED: u64 = 600_000;
    /// Steps of all short runs of a compiled kernel, so that some are left for a proof.
    const COMPILED_RUNS: u64 = 200_000;
    /// Steps of one proof. The proofs of the scenarios take up to 0.6 million.
    const PROOF: u64 = 2_000_000;
    /// The same for a compiled kernel.
    const COMPILED_PROOF: u64 = 400_000;
    /// Steps of one run at the fault's trip count.
    const RUN: u64 = 200_000;

    /// The steps of one search within the limits of a verification of this kernel.
    pub fn of(program: &Program, options: Options) -> TrialSteps {
        let worlds = program.opaque_globals;
        let (all, proof, runs) = match worlds {
            true => (Self::COMPILED, Self::COMPILED_PROOF, Self::COMPILED_RUNS),
            false => (Self::ALL, Self::PROOF, Self::ALL),
        };
        TrialSteps { options, proof, runs, left: options.max_steps.min(all), worlds }
    }

    /// Whether another trial may start.
    pub fn remain(&self) -> bool {
        self.left > 0
    }

    /// Whether another short run may start.
    pub(super) fn runs_remain(&self) -> bool {
        self.remain() && self.runs > 0
    }

    /// The steps of a run with a world of this size.
    pub(super) fn of_world(&self, used: u64, bytes: u64) -> u64 {
        used + if self.worlds { bytes / BYTES_A_STEP } else { 0 }
    }

    /// Takes the steps of short runs.
    pub(super) fn take_runs(&mut self, used: u64) {
        self.runs = self.runs.saturating_sub(used);
        self.take(used);
    }

    /// Number of changes that are verified at a time. A compiled kernel has one after the other, as the first one that
    /// holds is mostly the repair.
    pub(super) fn at_once(&self) -> usize {
        if self.worlds { 1 } else { VERIFIED_AT_ONCE }
    }

    /// Verifies a changed kernel. `None` where no steps are left.
    pub fn verify(&mut self, program: &Program, rules: Rules) -> Option<Verdict> {
        let (verdict, used) = counted(program, rules, self.of_a_proof()?);
        self.take(used);
        Some(verdict)
    }

    /// Takes the steps of a trial.
    pub(super) fn take(&mut self, used: u64) {
        self.left = self.left.saturating_sub(used);
    }

    /// The limits of one proof. `None` where no steps are left.
    pub(super) fn of_a_proof(&self) -> Option<Options> {
        self.remain().then(|| self.at_most(self.proof))
    }

    /// The limits of one run.
    pub(super) fn of_a_run(&self) -> Options {
        self.at_most(Self::RUN)
    }

    fn at_most(&self, steps: u64) -> Options {
        Options { max_steps: self.options.max_steps.min(steps), ..self.options }
    }
}
