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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use warpline_scenarios::{Inputs, Text};

    use super::*;
    use crate::{RepairReport, suggest, verify};

    /// Looks for a repair of a wait that is one phase early.
    fn searched(max_steps: u64) -> RepairReport {
        let text = "\
kernel t(tiles = 3)
  needs sm_90
  grid 1   warps 2
  global A: f16[64, 16 * (tiles + 1)]
  shared a[2]: f16[64, 16]
  mbar full[2] (1)   mbar empty[2] (32)
  all:
    warp 0: elect: init full, empty;  fence mbarrier_init
    barrier
  warp 0: elect:
    for i in 0..tiles:
      wait empty[i % 2] for i / 2 - 2
      arrive full[i % 2] expect bytes(a)
      tma A[0, i] -> a[i % 2] signals full[i % 2]
  warp 1:
    for i in 0..tiles:
      wait full[i % 2] for i / 2
      lds a[i % 2] : A[0, i] -> r
      arrive empty[i % 2]
";
        let none = BTreeMap::new();
        let program = Text::read("t.pipe", text).compile_symbolic(&Inputs { set: &none, cores: None });
        let program = program.expect("a kernel");
        let rules = warpline_sim::engine::rules(&warpline_models::embedded("h200").expect("a machine"));
        let violation = verify(&program, rules, Options::default()).violation.expect("a fault");
        let options = Options { max_steps, ..Options::default() };
        let trips = crate::Trips::find(&program).expect("a trip count");
        let broken = violation.trips.and_then(|n| trips.at(n)).expect("the faulty kernel").bind();
        let steps = &mut TrialSteps::of(&program, options);
        suggest((&program, &broken), rules, &violation, &[], &|_| true, steps)
    }

    #[test]
    fn a_search_ends_when_its_steps_are_taken() {
        let (all, some) = (searched(Options::MAX_STEPS), searched(100));
        assert!(all.found.is_some(), "{all:?}");
        assert!(some.found.is_none() && some.limited && some.tried <= all.tried, "{some:?}");
    }
}
