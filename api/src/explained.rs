//! What follows from a verdict: a schedule that leads to its fault, and a change that repairs the kernel.

use warpline_sim::code::Code;
use warpline_sim::fences::Level;
use warpline_sim::ir::Program;
use warpline_verify::{Outcome, RepairReport, TrialSteps, Value, Violation};

use crate::load::Subject;
use crate::repair;
use crate::verify::{Decided, ProofOptions, Varied, Verification, trips, verdict};

/// Largest number of steps for what a kernel does apart from its missing fences after `init`: the verdict is known.
const SECOND_LOOK: u64 = 400_000;

impl Decided {
    /// The verdict with what follows from it: a schedule that leads to its fault, and a repair.
    pub(crate) fn explained(self, given: &Subject, options: &ProofOptions) -> Verification {
        let Decided { subject, verdict, start } = self;
        let rules = subject.rules();
        let only_init = verdict.violation.as_ref().is_some_and(only_init_fences);
        let compiled = Some(given).filter(|s| s.imported.is_some());
        let without_init = compiled.filter(|s| only_init && s.fences.init == Level::Error).cloned().map(|mut s| {
            s.fences.init = Level::Note;
            let max_steps = options.max_steps.min(SECOND_LOOK);
            self::verdict(&mut s, &ProofOptions { max_steps, ..*options })
        });
        let trips = trips(&subject);
        let (faulty, witness, suggested, repair) = {
            let x = verdict.violation.as_ref();
            let faulty = x.and_then(|x| repair::at_fault(&subject, x));
            let fault = x.zip(faulty.as_ref());
            let witness = fault.and_then(|(x, p)| warpline_verify::witness(p, rules, x, options.max_steps));
            // A fence as a repair is a proof that takes at least the steps of the second look.
            let lasts = without_init.as_ref().is_some_and(|v| matches!(v.outcome, Outcome::GaveUp { .. }));
            let (suggested, repair) = match fault.filter(|_| options.suggest && !lasts) {
                Some(fault) => {
                    let steps = &mut TrialSteps::of(subject.symbolic(), options.limits());
                    let (mut suggested, mut repair) = repair::search(&subject, fault, &one_stage_more(&subject), steps);
                    if suggested.found.is_none()
                        && let Some((found, text)) = repair::condition(given, fault, steps)
                    {
                        let tried = suggested.tried + found.tried;
                        (suggested, repair) = (RepairReport { tried, ..found }, Some(text));
                    }
                    let repair = repair.or_else(|| {
                        // The change holds already; its text is verified with steps of its own.
                        let steps = &mut TrialSteps::of(subject.symbolic(), options.limits());
                        repair::spelled(&subject, fault.1, suggested.found.as_ref()?, steps)
                    });
                    (Some(suggested), repair)
                }
                None => (None, None),
            };
            (faulty, witness, suggested, repair)
        };
        let varied = trips.as_ref().map(|trips| Varied::of(trips).with_others(&verdict));
        Verification {
            subject,
            verdict,
            limits: options.limits(),
            without_init,
            varied,
            faulty,
            witness,
            suggested,
            repair,
            wall_s: start.elapsed().as_secs_f64(),
        }
    }
}

/// Whether every fault is a missing fence after the `init` of an mbarrier. Compilers omit it everywhere, and the kernels
/// work, so other faults are of interest.
fn only_init_fences(x: &Violation) -> bool {
    x.hang.is_empty() && x.findings.iter().all(|f| f.note || f.code == Code::InitFence)
}

/// Largest number of buffers to which one more stage adds a slot. A problem size adds slots to more buffers.
const MAX_STAGE_BUFFERS: u64 = 8;

/// The kernel with one more stage, for each parameter whose next value adds one slot to a buffer.
fn one_stage_more(subject: &Subject) -> Vec<Value> {
    let slots = |p: &Program| p.objects.iter().map(|o| o.slots as u64).sum::<u64>();
    let more = |(name, value): &(String, i64)| {
        // The value 0 is a switch that is off, not a count.
        let (name, new) = (name.as_str(), value.checked_add(1).filter(|n| *n > 1)?);
        let given = subject.program_with(&[(name, new)])?;
        let added = slots(&given).checked_sub(slots(&subject.program));
        let is_stage = added.is_some_and(|n| n > 0 && n <= MAX_STAGE_BUFFERS);
        if !is_stage || warpline_sim::engine::admit(&given, &subject.machine).is_err() {
            return None;
        }
        let given = subject.symbolic_with(&[(name, new)]).unwrap_or(given);
        Some(Value { words: format!("{name} = {new} instead of {value}"), given })
    };
    subject.program.params.iter().filter_map(more).collect()
}
