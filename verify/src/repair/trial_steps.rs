//! The steps that a search for repairs may take.
//!
//! Every trial of a search has a limit of its own, and all trials share one. So a search ends after seconds, also where
//! each changed kernel takes long. The limits are steps and not seconds, so that a result does not depend on the machine.

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

use crate::{Options, Verdict, counted};

/// The steps of agents that a search for repairs may still take, in all of its trials together.
#[derive(Clone, Debug)]
pub struct TrialSteps {
    options: Options,
    /// Steps of one proof.
    proof: u64,
    left: u64,
}

impl TrialSteps {
    /// Steps of all trials: about ten seconds of work.
    const ALL: u64 = 8_000_000;
    /// The same for a compiled kernel, whose steps take longer and whose verdict is to come within a second or two.
    const COMPILED: u64 = 1_200_000;
    /// Steps of one proof. The proofs of the scenarios take up to 0.6 million.
    const PROOF: u64 = 2_000_000;
    /// The same for a compiled kernel.
    const COMPILED_PROOF: u64 = 400_000;
    /// Steps of one run at the fault's trip count.
    const RUN: u64 = 200_000;

    /// The steps of one search within the limits of a verification of this kernel.
    pub fn of(program: &Program, options: Options) -> TrialSteps {
        let (all, proof) = match program.opaque_globals {
            true => (Self::COMPILED, Self::COMPILED_PROOF),
            false => (Self::ALL, Self::PROOF),
        };
        TrialSteps { options, proof, left: options.max_steps.min(all) }
    }

    /// Whether another trial may start.
    pub fn remain(&self) -> bool {
        self.left > 0
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
