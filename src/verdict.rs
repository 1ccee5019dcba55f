//! Verifies a subject and keeps what the displays need of it.

use std::time::Instant;

use warpline_scenarios::Expect;
use warpline_sim::report::FindingKind;
use warpline_verify::{Options, Outcome, Redundancy, Verdict};

use crate::cli::{Proof, Subject};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::load::{self, Loaded};
use crate::progress::Progress;
use crate::simulate::refused;
use crate::trips::Trips;

/// A subject and its verdict.
pub(crate) struct Verified {
    pub(crate) subject: Loaded,
    pub(crate) verdict: Verdict,
    /// The parameter that was varied.
    pub(crate) varied: Option<Varied>,
    pub(crate) wall_s: f64,
}

/// The parameter that sets the trip count.
pub(crate) struct Varied {
    pub(crate) name: String,
    /// `k = n x 64`.
    pub(crate) meaning: String,
}

/// How a verdict was reached, in words.
pub(crate) const ENGINE: &str = "one run, happens-before";

impl Verified {
    /// The exit status: of the verdict, or where the scenario expects one, whether it is that. Nothing decided is never
    /// what was expected.
    pub(crate) fn status(&self) -> Status {
        let status = status(&self.verdict);
        match self.as_expected() {
            Some(true) => Status::Holds,
            Some(false) => status.and(Status::Violated),
            None => status,
        }
    }

    /// Whether the verdict is the one the scenario expects; `None` where it expects none, or nothing is decided.
    pub(crate) fn as_expected(&self) -> Option<bool> {
        let violated = self.verdict.violation.as_ref();
        let met = match self.subject.expect.as_ref()?.what {
            _ if matches!(self.verdict.outcome, Outcome::GaveUp { .. }) => return None,
            Expect::Proved => self.verdict.outcome == Outcome::Proved,
            Expect::Violated => violated.is_some(),
            Expect::Fault(kind) => violated.is_some_and(|x| {
                let hangs = kind == FindingKind::Deadlock && !x.hang.is_empty();
                hangs || x.findings.iter().any(|f| f.kind == kind)
            }),
        };
        Some(met)
    }
}

/// The exit status of a verdict.
pub(crate) fn status(v: &Verdict) -> Status {
    match v.outcome {
        Outcome::Proved | Outcome::Bounded { .. } => Status::Holds,
        Outcome::Violated => Status::Violated,
        Outcome::GaveUp { .. } => Status::GaveUp,
    }
}

/// The word for an outcome.
pub(crate) fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Proved => "proved",
        Outcome::Bounded { .. } => "bounded",
        Outcome::Violated => "violated",
        Outcome::GaveUp { .. } => "gave_up",
    }
}

/// What the proofs take for granted, and what they leave out; `DEVIATIONS.md` has the whole list.
pub(crate) const ASSUMPTIONS: [&str; 7] = [
    "operations of one ordered queue complete in order, and so do the arrivals of one thread's commits",
    "a fence anywhere between a write and an asynchronous read counts, whichever thread executes it (DEVIATIONS.md 17)",
    "compiled kernels that were compared stand for longer ones: the text computes with its trip count as it does there",
    "not modelled: semaphores in global memory, dependent launches (`grid.wait` orders nothing), other grids",
    "not held to: `wgmma.fence`, `tcgen05.fence`, lanes of a warp that no `elect:` splits, numbered barriers whose generations mix warps (DEVIATIONS.md 10 to 14, 16)",
    "sums are not followed through shared memory: of a staged epilogue coverage is not known (DEVIATIONS.md 15)",
    "trip counts, tiles and values known only at run time are those the kernel gives (DEVIATIONS.md 8)",
];

fn subject(name: &str, proof: &Proof) -> Result<Loaded, Failure> {
    let subject = load::load(&Subject {
        scenario: name.to_string(),
        machine: proof.machine.clone(),
        set: proof.set.clone(),
        no_skip: false,
        max_events: None,
    })?;
    warpline_sim::engine::supported(&subject.program, &subject.machine).map_err(|e| refused(&subject, e))?;
    Ok(subject)
}

fn options(proof: &Proof) -> Options {
    Options { max_trips: proof.max_trips as i64, max_steps: proof.max_steps }
}

/// Verifies what a command line names, with a sign of life.
pub(crate) fn verify(console: &Console, name: &str, proof: &Proof) -> Result<Verified, Failure> {
    let _progress = Progress::start(console.look.progress, format!("verifying {name}"));
    decide(name, proof)
}

/// Verifies a scenario or kernel.
pub(crate) fn decide(name: &str, proof: &Proof) -> Result<Verified, Failure> {
    let subject = subject(name, proof)?;
    let start = Instant::now();
    let rules = warpline_sim::engine::rules(&subject.machine);
    let (verdict, varied) = {
        let trips = Trips::find(&subject);
        let at = |n| trips.as_ref().and_then(|t| t.at(n));
        let at: Option<warpline_verify::AtTrips<'_>> = if trips.is_some() { Some(&at) } else { None };
        let verdict = warpline_verify::verify(&subject.program, at, rules, options(proof));
        (verdict, trips.as_ref().map(|t| Varied { name: t.name.clone(), meaning: t.meaning() }))
    };
    Ok(Verified { subject, verdict, varied, wall_s: start.elapsed().as_secs_f64() })
}

/// A subject and what became of each of its synchronisations.
pub(crate) struct Sifted {
    pub(crate) subject: Loaded,
    pub(crate) result: Redundancy,
    pub(crate) varied: Option<Varied>,
    pub(crate) wall_s: f64,
}

/// Takes out each synchronisation of what a command line names.
pub(crate) fn sift(console: &Console, name: &str, proof: &Proof) -> Result<Sifted, Failure> {
    let subject = subject(name, proof)?;
    let progress = Progress::start(console.look.progress, format!("looking at the barriers of {}", subject.name));
    let start = Instant::now();
    let rules = warpline_sim::engine::rules(&subject.machine);
    let (result, varied) = {
        let trips = Trips::find(&subject);
        let at = |n| trips.as_ref().and_then(|t| t.at(n));
        let at: Option<warpline_verify::AtTrips<'_>> = if trips.is_some() { Some(&at) } else { None };
        let result = warpline_verify::redundancy(&subject.program, at, rules, options(proof), &|| {});
        (result, trips.as_ref().map(|t| Varied { name: t.name.clone(), meaning: t.meaning() }))
    };
    drop(progress);
    Ok(Sifted { subject, result, varied, wall_s: start.elapsed().as_secs_f64() })
}
