//! Verifies a subject and keeps what the displays need of it.

use std::collections::BTreeMap;
use std::time::Instant;

use warpline_scenarios::Expect;
use warpline_sim::ir::Program;
use warpline_sim::report::FindingKind;
use warpline_verify::{Options, Outcome, Redundancy, Suggested, Trips, Value, Verdict, Witness};

use crate::cli::{Orders, Proof, Subject};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::load::{self, Loaded};
use crate::progress::Progress;
use crate::simulate::refused;
use crate::trips::trips;

/// A subject and its verdict.
pub(crate) struct Verified {
    pub(crate) subject: Loaded,
    pub(crate) verdict: Verdict,
    /// The parameter that was varied.
    pub(crate) varied: Option<Varied>,
    /// The kernel at the trip count of its violation.
    pub(crate) broken: Option<Program>,
    /// How its fault is met.
    pub(crate) witness: Option<Witness>,
    /// What would mend it.
    pub(crate) suggested: Option<Suggested>,
    pub(crate) wall_s: f64,
}

/// The parameter that sets the trip count.
pub(crate) struct Varied {
    pub(crate) name: String,
    /// `k = n x 64`.
    pub(crate) meaning: String,
    /// The value that sets the turns of the loop around the main loop, and how: `jobs = t x 132`.
    pub(crate) turns: Option<(String, String)>,
}

impl Varied {
    fn of(trips: &Trips) -> Varied {
        let turns = trips.turns_name().map(str::to_string).zip(trips.turns_meaning());
        Varied { name: trips.name.clone(), meaning: trips.meaning(), turns }
    }
}

/// How a verdict was reached, in words.
pub(crate) fn engine(v: &Verdict) -> &'static str {
    if v.searched.is_some() { "search of every order" } else { "one run, happens-before" }
}

impl Verified {
    /// How the turns of the loop around the main loop were varied, where the verdict is for all of them, or a fault was
    /// found so.
    pub(crate) fn turned(&self) -> Option<&str> {
        let turns = self.verdict.turns.or_else(|| self.verdict.violation.as_ref()?.turns);
        turns.and_then(|_| self.varied.as_ref()?.turns.as_ref()).map(|(_, how)| how.as_str())
    }

    /// Parameters that were not varied, with their values: the verdict is for these.
    pub(crate) fn bound(&self) -> BTreeMap<&str, i64> {
        let turned = self.turned().is_some();
        let varied = |name: &str| {
            self.varied
                .as_ref()
                .is_some_and(|v| v.name == name || turned && v.turns.as_ref().is_some_and(|(turns, _)| turns == name))
        };
        let all = self.subject.program.params.iter().map(|(name, value)| (name.as_str(), *value));
        all.filter(|(name, _)| !varied(name)).collect()
    }

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
pub(crate) const ASSUMPTIONS: [&str; 4] = [
    "operations of one ordered queue complete in order, and so do the arrivals of one thread's commits",
    "not modelled: global memory that other clusters use, too, dependent launches (`grid.wait` orders nothing), other grids",
    "not held to: lanes of a warp that no `elect:` splits (DEVIATIONS.md 16)",
    "trip counts and values known only at run time are those the kernel gives, and tiles that `clc` hands out follow each other (DEVIATIONS.md 8, 27)",
];

fn subject(name: &str, proof: &Proof) -> Result<Loaded, Failure> {
    supported(&Subject {
        machine: proof.machine.clone(),
        set: proof.set.clone(),
        fence: proof.fence.clone(),
        ..Subject::named(name)
    })
}

/// Loads it and holds its machine to what it needs.
pub(crate) fn supported(subject: &Subject) -> Result<Loaded, Failure> {
    let subject = load::load(subject)?;
    warpline_sim::engine::admit(&subject.program, &subject.machine).map_err(|e| refused(&subject, e))?;
    Ok(subject)
}

/// The verdict on a subject that is loaded.
pub(crate) fn of(subject: &Loaded) -> Verdict {
    warpline_verify::verify(subject.symbolic(), subject.rules(), Options::default())
}

/// What becomes of each synchronisation of a subject that is loaded.
pub(crate) fn sifted(subject: &Loaded) -> Redundancy {
    warpline_verify::redundancy(subject.symbolic(), subject.rules(), Options::default(), &|| {})
}

pub(crate) fn options(proof: &Proof) -> Options {
    let Proof { max_trips, max_steps, max_memory, .. } = *proof;
    Options { max_trips, max_steps, max_memory, ..Options::default() }
}

/// Verifies what a command line names, with a sign of life; with `mend`, looks for a change that mends a fault.
pub(crate) fn verify(
    console: &Console,
    name: &str,
    (proof, orders): (&Proof, Orders),
    mend: bool,
) -> Result<Verified, Failure> {
    let _progress = Progress::start(console.look.progress, format!("verifying {name}"));
    decide(name, proof, orders, mend)
}

/// Verifies a scenario or kernel; with `mend`, looks for a change that mends a fault.
pub(crate) fn decide(name: &str, proof: &Proof, orders: Orders, mend: bool) -> Result<Verified, Failure> {
    let mut subject = subject(name, proof)?;
    let start = Instant::now();
    let rules = subject.rules();
    let options = options(proof);
    let (engine, max_states) = (orders.engine.into(), orders.max_states as usize);
    let asked = Options { engine, max_states, ..options };
    let verdict = worst(&mut subject, asked);
    let verdict = possible(&subject, verdict);
    let trips = trips(&subject);
    let (broken, witness, suggested) = {
        let x = verdict.violation.as_ref();
        let broken = x.and_then(|x| match (x.trips, x.turns) {
            (Some(n), Some(t)) => trips.as_ref()?.turned(n, t).map(|p| p.bind()),
            (Some(n), None) => trips.as_ref()?.at(n).map(|p| p.bind()),
            (None, _) => Some(subject.program.clone()),
        });
        let witness =
            x.zip(broken.as_ref()).and_then(|(x, p)| warpline_verify::witness(p, rules, x, options.max_steps));
        let allowed = |p: &Program| warpline_sim::engine::admit(p, &subject.machine).is_ok();
        let suggested = x.zip(broken.as_ref()).filter(|_| mend).map(|(x, p)| {
            let values = one_stage_more(&subject);
            warpline_verify::suggest((subject.symbolic(), p), rules, options, x, &values, &allowed)
        });
        (broken, witness, suggested)
    };
    let varied = trips.as_ref().map(Varied::of);
    Ok(Verified { subject, verdict, varied, broken, witness, suggested, wall_s: start.elapsed().as_secs_f64() })
}

/// A fault of a compiled kernel that needs values of symbols which may not be possible together decides nothing.
fn possible(subject: &Loaded, mut v: Verdict) -> Verdict {
    let related = subject.imported.as_ref().and_then(|i| i.related.as_ref());
    if let (Some(related), Outcome::Violated, Some(x)) = (related, &v.outcome, &v.violation) {
        let fault = x.findings.first().map_or("a hang".to_string(), |f| f.message.clone());
        let why =
            format!("a fault was found ({fault}), and {related}, so that its values may not be possible together");
        (v.outcome, v.violation) = (Outcome::GaveUp { why }, None);
    }
    v
}

/// The verdict on a kernel; of a compiled one the worst over the outcomes of conditions that nothing decides. The subject is
/// left with that outcome.
fn worst(subject: &mut Loaded, options: Options) -> Verdict {
    let rules = subject.rules();
    let rank = |v: &Verdict| match v.outcome {
        Outcome::Proved => 0,
        Outcome::Bounded { .. } => 1,
        Outcome::GaveUp { .. } => 2,
        Outcome::Violated => 3,
    };
    let variants = subject.imported.as_mut().map(|i| std::mem::take(&mut i.variants)).unwrap_or_default();
    let mut found: Option<(Verdict, Program)> = None;
    for p in variants {
        let mut v = warpline_verify::verify(&p, rules, options);
        v.steps += found.as_ref().map_or(0, |(f, _)| f.steps);
        if found.as_ref().is_none_or(|(f, _)| rank(&v) > rank(f)) {
            found = Some((v, p));
        }
        if found.as_ref().is_some_and(|(f, _)| rank(f) == 3) {
            break;
        }
    }
    match found {
        Some((v, p)) => {
            subject.keep(p);
            v
        }
        None => warpline_verify::verify(subject.symbolic(), rules, options),
    }
}

/// The kernel with one stage more, for each parameter of which one more is one slot more of a buffer.
fn one_stage_more(subject: &Loaded) -> Vec<Value> {
    let slots = |p: &Program| p.objects.iter().map(|o| o.slots as u64).sum::<u64>();
    let more = |(name, value): &(String, i64)| {
        // A switch that is off is no count.
        let (name, new) = (name.as_str(), value.checked_add(1).filter(|n| *n > 1)?);
        let given = subject.with(name, new)?;
        let grew = slots(&given).checked_sub(slots(&subject.program)).is_some_and(|n| n > 0 && n <= STAGES);
        if !grew || warpline_sim::engine::admit(&given, &subject.machine).is_err() {
            return None;
        }
        let given = subject.symbolic_with(&[(name, new)]).unwrap_or(given);
        Some(Value { words: format!("{name} = {new} instead of {value}"), given })
    };
    subject.program.params.iter().filter_map(more).collect()
}

/// Buffers that one stage more can give a slot each; a size of the problem gives more.
const STAGES: u64 = 8;

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
    let rules = subject.rules();
    // One verdict on every outcome is not the verdict without a statement on every outcome.
    if subject.imported.as_ref().is_some_and(|i| i.variants.len() > 1) {
        return Err(Failure::with_help(
            format!("`{name}`: conditions over the launch decide operations of this compiled kernel"),
            "`barriers` looks at kernels without such conditions; `warpline verify` decides every outcome of them",
        ));
    }
    let result = warpline_verify::redundancy(subject.symbolic(), rules, options(proof), &|| {});
    let varied = trips(&subject).as_ref().map(Varied::of);
    drop(progress);
    Ok(Sifted { subject, result, varied, wall_s: start.elapsed().as_secs_f64() })
}
